"""The floating-point attack (Mironov 2012): outputs that one input can produce and another cannot.

The textbook Laplace sampler computes x ± b·log(…) from a uniform number k·2^-53. Which doubles come out
depends on x, so many an output of x is impossible under x': seeing it reveals the input with certainty,
whatever ε was promised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sievert.numerics import generator_of
from sievert.results import Result
from sievert.sampling import DiscreteLaplace, ReplayedBits, laplace_noise

__all__ = ["SupportAttack", "TextbookLaplace", "float_support_attack"]

# The inverse of the textbook formula is off by a few units; every uniform number this near is tried.
WINDOW = 64


@dataclass(frozen=True)
class SupportAttack(Result):
    """How often an output of one input is impossible under another."""

    draws: int
    impossible: int
    x: float
    other: float

    @property
    def fraction(self) -> float:
        """Share of the outputs that reveal the input with certainty."""
        return self.impossible / self.draws

    def __float__(self) -> float:
        return self.fraction

    def __str__(self) -> str:
        if not self.impossible:
            return f"none of {self.draws} outputs of input {self.x} is impossible under input {self.other}"
        return (
            f"{self.impossible} of {self.draws} outputs of input {self.x} ({self.fraction:.1%}) are "
            f"impossible under input {self.other}: each reveals the input with certainty"
        )


class TextbookLaplace:
    """x + b·log(2u) or x - b·log(2-2u) with u = k·2^-53: what many libraries do."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def value(self, x: float, k: NDArray[np.int64]) -> NDArray[np.float64]:
        """The output for input x and uniform number k·2^-53, with every rounding of the program."""
        u = k.astype(np.float64) * 2.0**-53
        with np.errstate(divide="ignore"):
            below, above = np.log(2 * u), np.log(2 - 2 * u)
        return np.where(k < 2**52, x + self.scale * below, x - self.scale * above)

    def draw(self, x: float, size: int, rng: int | np.random.Generator | None = None) -> NDArray[np.float64]:
        """Outputs for one input."""
        return self.value(x, generator_of(rng).integers(1, 2**53, size))

    def possible(self, x: float, y: float) -> bool:
        """Whether any uniform number near the inverse of y gives exactly y from x."""
        z = (y - x) / self.scale
        u = np.exp(z) / 2 if z < 0 else 1 - np.exp(-z) / 2
        # A step of k moves the output by about 2^-53·b/u, and outputs are ulp(y) apart.
        spacing = 4 * np.spacing(max(abs(y), abs(x))) / self.scale * min(u, 1 - u) * 2.0**53
        reach = int(min(2**16, WINDOW + np.ceil(spacing)))
        k = np.clip(round(u * 2.0**53) + np.arange(-reach, reach + 1), 1, 2**53 - 1)
        return bool((self.value(x, k) == y).any())


def float_support_attack(
    sampler: TextbookLaplace | DiscreteLaplace,
    x: float,
    other: float,
    draws: int = 3000,
    rng: int | np.random.Generator | None = None,
) -> SupportAttack:
    """Draw outputs of x and count those that input `other` cannot produce.

    Against an exact sampler every output is traced back to bits that make the sampler itself produce it from
    `other`, by running it on them.

    Parameters
    ----------
    sampler : TextbookLaplace, or the exact noise of `sv.sampling.discrete_laplace`
    x : the input that is drawn for
    other : the input that is tried
    draws : how many outputs
    rng : seed of the textbook sampler

    Returns
    -------
    SupportAttack
        Which share of the outputs the other input cannot produce.

    Notes
    -----
    Cost: O(draws).

    Examples
    --------
    >>> from sievert.sampling._laplace import discrete_laplace
    >>> print(float_support_attack(discrete_laplace(1), 0, 1, draws=200))
    none of 200 outputs of input 0 is impossible under input 1
    >>> float_support_attack(TextbookLaplace(1.0), 0.0, 1.0, draws=200, rng=1).fraction > 0.5
    True
    """
    if isinstance(sampler, TextbookLaplace):
        outputs = sampler.draw(x, draws, rng)
        impossible = sum(not sampler.possible(other, y) for y in outputs.tolist())
    else:
        outputs = sampler.draw(np.full(draws, int(x)))
        reached = {y: _reproduced(sampler, int(other), y) for y in set(outputs.tolist())}
        impossible = sum(not reached[y] for y in outputs.tolist())
    return SupportAttack(draws, impossible, x, other)


def _reproduced(sampler: DiscreteLaplace, x: int, y: int) -> bool:
    """Whether the sampler gives y from x on bits made for it."""
    words = laplace_noise(sampler.level).words_for(y - x)
    replayed = DiscreteLaplace(sampler.level, "fixed", ReplayedBits(words))
    return bool(replayed.draw([x])[0] == y)
