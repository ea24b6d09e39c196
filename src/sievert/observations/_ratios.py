"""The likelihood ratio that one cell with noise shows after several releases, and the largest of many.

Somebody knows all other records and subtracts them. Where a record adds c steps to a cell, the odds of "it is
there" against "nobody is" change by p(z - c)/p(z) for noise z, in every release independently. The law of
the logarithm of the product, under "nobody", is all that guesses need: noise is independent over cells, so
the largest of many ratios has the product of their distribution functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.channels import GeometricLaw, NoiseLaw
from sievert.numerics import log_sum, require_size

__all__ = ["Ratios", "expected_largest", "ratios_after"]

# Atoms of the law of one ratio.
LARGEST_LAW = 4_000_000
# Atoms of the laws of all different ratios together.
LARGEST_EVENTS = 20_000_000


@dataclass(frozen=True, eq=False)
class Ratios:
    """The law of a log-likelihood ratio after some releases.

    Attributes
    ----------
    logs : the values it takes, increasing; finite
    log_pmf : ln of their probabilities under "nobody"
    hidden : probability under "nobody" that the record is shown not to be there
    """

    logs: FloatArray
    log_pmf: FloatArray
    hidden: float = 0.0

    @property
    def log_shown(self) -> FloatArray:
        """ln of the probabilities where the record is there."""
        return np.asarray(self.log_pmf + self.logs)

    @property
    def shown(self) -> float:
        """Probability that a record which is there is shown for certain; by symmetry that of `hidden`."""
        return self.hidden

    def log_lower(self) -> FloatArray:
        """ln P(ratio ≤ each value) under "nobody", with its digits at both ends."""
        start = math.log(self.hidden) if self.hidden else -math.inf
        below = np.logaddexp.accumulate(np.concatenate([[start], self.log_pmf]))[1:]
        above = np.concatenate([np.logaddexp.accumulate(self.log_pmf[::-1])[::-1][1:], [-math.inf]])
        with np.errstate(divide="ignore"):
            from_above = np.log1p(-np.minimum(np.exp(above), 1.0))
        return np.asarray(np.where(above < math.log(0.5), from_above, below))


def ratios_after(law: NoiseLaw, steps: int, releases: int) -> Ratios:
    """The ratio of a record that adds so many steps to one cell, after independent releases."""
    return _ratios(law, abs(steps), releases)


@singledispatch
def _ratios(law: NoiseLaw, steps: int, releases: int) -> Ratios:
    raise NotImplementedError(f"the ratios of {law.words()}")


@_ratios.register
def _geometric(law: GeometricLaw, steps: int, releases: int) -> Ratios:
    """|z| - |z - c| runs from -c to c in twos; for one step it is ±1, and their number is binomial."""
    eps = law.level.eps
    require_size(releases * steps, LARGEST_LAW, "the law of the ratio", "ask for fewer releases")
    if steps == 1:
        hits = np.arange(releases + 1, dtype=np.float64)
        return Ratios(np.asarray(eps * (2 * hits - releases), dtype=np.float64), _binomial(releases, eps))
    # Noise z strictly between 0 and c shows 2z - c, noise at or beyond an end shows the end.
    ends = law.log_upper(np.array([0.0, steps]))
    once = np.concatenate([ends[:1], law.log_pmf(np.arange(1.0, steps)), ends[1:]])
    found = powers(np.exp(once), releases)
    with np.errstate(divide="ignore"):
        return Ratios(eps * (2 * np.arange(len(found), dtype=np.float64) - releases * steps), np.log(found))


def _binomial(count: int, eps: float) -> FloatArray:
    """ln of the binomial probabilities of 0…count hits of chance α/(1+α), each with all its digits."""
    hits = np.arange(float(count))
    steps = np.log((count - hits) / (hits + 1)) - eps
    # Added up from the likeliest outwards, so that errors stay small where the mass is.
    top = int(np.searchsorted(-steps, 0.0))
    down = -np.cumsum(steps[:top][::-1])[::-1]
    up = np.cumsum(steps[top:])
    logs = np.concatenate([down, [0.0], up])
    return np.asarray(logs - log_sum(logs, axis=0))


def powers(law: FloatArray, count: int) -> FloatArray:
    """The law of a sum of independent draws, by convolutions of positive numbers, which lose no digits."""
    result: FloatArray | None = None
    square = law
    while True:
        if count & 1:
            result = square if result is None else np.convolve(result, square)
        count >>= 1
        if not count:
            assert result is not None
            return result
        square = np.convolve(square, square)


def expected_largest(ratios: Ratios, log_beliefs: FloatArray, counts: IntArray, other: float = 0.0) -> float:
    """E max(other, max_v π_v·ρ_v) under "nobody", with what only shows where a record is there.

    Parameters
    ----------
    ratios : the law of each ρ_v, independent
    log_beliefs : ln of the different π_v
    counts : how many cells have each
    other : the belief in a value that changes no cell, whose ratio is 1
    """
    require_size(
        len(ratios.logs) * len(counts),
        LARGEST_EVENTS,
        "the values that beliefs may take",
        "round the beliefs",
    )
    lower = ratios.log_lower()
    # F(t)/F(t-1) = 1 + f(t)/F(t-1), whose logarithm keeps its digits where f is small.
    before = np.concatenate([[math.log(ratios.hidden) if ratios.hidden else -math.inf], lower[:-1]])
    with np.errstate(over="ignore", invalid="ignore"):
        growth = np.where(np.isneginf(before), -lower, np.log1p(np.exp(ratios.log_pmf - before)))
    values = (log_beliefs[:, None] + ratios.logs[None, :]).ravel()
    rises = (counts[:, None] * growth[None, :]).ravel()
    order = np.argsort(values, kind="stable")
    values, rises = values[order], rises[order]
    # ln Π F just after each value: the rises that are still to come, since the product ends at 1.
    after = -np.concatenate([np.cumsum(rises[::-1])[::-1][1:], [0.0]])
    chance = np.exp(after) * -np.expm1(-rises)
    if not ratios.hidden:
        # Before every cell has reached its least value the product is 0.
        first = np.flatnonzero((order % len(ratios.logs)) == 0)[-1]
        chance[:first] = 0.0
        chance[first] = math.exp(after[first])
    floor = math.log(other) if other > 0 else -math.inf
    total = float(np.exp(np.maximum(values, floor)) @ chance)
    certain = float(np.exp(log_beliefs) @ counts) * ratios.shown
    return float(total + certain + other * ratios.hidden ** int(counts.sum()))
