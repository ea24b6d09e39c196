"""Exact coins: Bernoulli(p) for rational p, and Bernoulli(e^-γ) for rational γ ≥ 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IntArray
from sievert.errors import MechanismError
from sievert.numerics import abbreviated, whole
from sievert.sampling._base import LEVELS, BitSource, Sampler, Timing, integers
from sievert.sampling._lazy import (
    AtBits,
    Enclosure,
    LazyTable,
    ceiling,
    exp_neg,
    one_boundary,
    rational,
    resolved,
    unbounded,
)

__all__ = [
    "FRACTION_BITS",
    "WIDEST",
    "Coin",
    "ExponentialCoins",
    "accepted",
    "bernoulli",
    "bernoulli_exp",
    "bernoulli_exp_each",
    "fair_coin",
    "first_accepted",
    "fixed_point",
]
BLOCK = 2**16


def bernoulli(p: object, *, timing: Timing = "fixed", insecure_rng: object = None) -> Coin:
    """1 with rational probability p, else 0.

    Parameters
    ----------
    p : a rational probability
    timing : "fixed" (equal work whatever the noise) or "fast"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Sampler

    Notes
    -----
    Cost: 8 bytes a coin; exact: integers only.

    Examples
    --------
    >>> bernoulli("1/3", insecure_rng=1).noise(6)
    array([1, 0, 1, 0, 1, 1])
    """
    chance = rational(p, "p")
    if not 0 <= chance <= 1:
        raise MechanismError(f"p is {abbreviated(p)}; a probability is from 0 to 1")
    return Coin(
        "Bernoulli(p)", {"p": str(chance)}, _rational_coin(chance), float(chance), timing, insecure_rng
    )


def bernoulli_exp(gamma: object, *, timing: Timing = "fixed", insecure_rng: object = None) -> Coin:
    """1 with probability e^-γ, rational γ ≥ 0; else 0.

    Parameters
    ----------
    gamma : a rational number ≥ 0
    timing : "fixed" (equal work whatever the noise) or "fast"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Sampler

    Notes
    -----
    Cost: 8 bytes a coin; exact: integers only.

    Examples
    --------
    >>> bernoulli_exp("1/2", insecure_rng=1).noise(6)
    array([1, 1, 1, 1, 1, 1])
    """
    rate = unbounded(gamma, "gamma")
    if rate < 0:
        raise MechanismError(
            f"gamma is {abbreviated(gamma)}; it must be ≥ 0, for e^-gamma to be a probability"
        )
    table = _exponential_coin(rate)
    chance = math.exp(-float(min(rate, Fraction(800))))
    return Coin("Bernoulli(e^-γ)", {"gamma": str(rate)}, table, chance, timing, insecure_rng)


class Coin(Sampler):
    """0 or 1, independent of any input."""

    def __init__(
        self,
        kind: str,
        parameters: dict[str, Any],
        table: LazyTable,
        chance: float,
        timing: Timing = "fixed",
        insecure_rng: object = None,
    ) -> None:
        super().__init__(timing, insecure_rng)
        self.kind, self._parameters, self._table = kind, parameters, table
        self.chance = chance

    @property
    def parameters(self) -> dict[str, Any]:
        return self._parameters

    def noise(self, size: int) -> IntArray:
        """`size` independent tosses."""
        return self._table.draw(self.source.reserve(size), self.source, self.timing)

    def draw(self, inputs: Any) -> IntArray:
        """A toss for each input, which is otherwise ignored."""
        return self.noise(len(inputs))


def bernoulli_exp_each(
    denominator: int = 1, *, timing: Timing = "fixed", insecure_rng: object = None
) -> ExponentialCoins:
    """A coin for every input: 1 with probability e^-(k/denominator) for the integer k ≥ 0, else 0.

    Parameters
    ----------
    denominator : of γ, whose numerators are the inputs
    timing : "fixed" (equal work whatever the noise) or "fast"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Sampler

    Notes
    -----
    Cost: 4 bytes a coin and more where γ is large; exact: integers only.

    Examples
    --------
    >>> bernoulli_exp_each(2, insecure_rng=1).draw([0, 1, 2, 100])
    array([1, 1, 0, 0])
    """
    return ExponentialCoins(whole("denominator", denominator, MechanismError), timing, insecure_rng)


class ExponentialCoins(Sampler):
    """Coins with exponents of their own; see `bernoulli_exp_each`."""

    kind = "Bernoulli(e^-γ), a γ each"

    def __init__(self, denominator: int, timing: Timing = "fixed", insecure_rng: object = None) -> None:
        super().__init__(timing, insecure_rng)
        self.denominator = denominator

    @property
    def parameters(self) -> dict[str, Any]:
        return {"denominator": self.denominator}

    def draw(self, inputs: Any) -> IntArray:
        """A toss for each numerator of γ."""
        numerators = integers(inputs, 0)
        out = np.empty(len(numerators), dtype=np.int64)
        lanes = self.source.reserve(len(numerators))
        for start in range(0, len(numerators), BLOCK):
            part = numerators[start : start + BLOCK]

            def exact(lane: int, bits: int, part: IntArray = part) -> Enclosure:
                scaled = int(part[lane]) << bits
                return scaled // self.denominator, ceiling(scaled, self.denominator)

            # Both conversions and the quotient are each off by a unit of 2^-53 at most.
            g = part.astype(np.float64) / float(self.denominator)
            low, narrow = fixed_point(g, g * 2.0**-51)
            piece = lanes[start : start + BLOCK]
            out[start : start + BLOCK] = accepted(low, narrow, exact, piece, self.source, 0)
        return out


def rational_enclosure(value: Fraction) -> AtBits:
    """Bounds of a fraction at any number of bits."""

    def enclosure(bits: int) -> tuple[int, int]:
        scaled = value.numerator << bits
        return scaled // value.denominator, ceiling(scaled, value.denominator)

    return enclosure


@lru_cache(maxsize=64)
def _rational_coin(chance: Fraction) -> LazyTable:
    return one_boundary(rational_enclosure(chance))


@lru_cache(maxsize=64)
def _exponential_coin(rate: Fraction) -> LazyTable:
    return one_boundary(lambda bits: exp_neg(rate.numerator, rate.denominator, bits))


def fair_coin() -> LazyTable:
    """0 or 1 with equal probability."""
    return _rational_coin(Fraction(1, 2))


# ── Bernoulli(e^-g) with a g of its own for every lane: integer brackets decide, exact integers the rest ────
FRACTION_BITS = 40
# A bracket of g may be this many units of 2^-40 wide: e^-g then changes by less than 2^-32 of itself.
WIDEST = 2**8
# Beyond this g, 32 bits say "rejected" or nothing.
LARGEST = 2.0**20
PROPOSALS = 2**16


def fixed_point(g: NDArray[np.float64], error: NDArray[np.float64]) -> tuple[IntArray, NDArray[np.bool_]]:
    """Lower ends of the brackets of numbers known within `error`, and which brackets are narrow enough."""
    low = np.floor(np.clip(g - error, 0.0, LARGEST) * 2.0**FRACTION_BITS).astype(np.int64) - 1
    narrow = error * 2.0 ** (FRACTION_BITS + 1) + 3 <= WIDEST
    return np.maximum(low, 0), narrow


def accepted(
    low: IntArray,
    narrow: NDArray[np.bool_],
    exact: Callable[[int, int], Enclosure],
    lanes: range,
    source: BitSource,
    component: int,
) -> NDArray[np.bool_]:
    """True with probability e^-g for each lane, where low ≤ 2^40·g ≤ low + 2^8 on the narrow lanes.

    With u a 32-bit word and U ∈ [u, u+1)/2^32. Let k = ⌊2^14·low/2^40⌋ and ρ the rest of low/2^40, below
    2^-14. P = T1·T2/2^30 from tables of ⌊2^31·e^-x⌋ satisfies P ≤ 2^32·e^(-k/2^14) < P + 6, since either
    table is short by less than 1 and the other at most 2^31. With D = ⌊P·⌊2^30·ρ⌋/2^30⌋ and
    1 - ρ ≤ e^-ρ ≤ 1 - ρ + 2^-29:  P - D - 7 ≤ 2^32·e^-g ≤ P - D + 16. So u < P - D - 7 accepts and
    u ≥ P - D + 16 rejects; one lane in 10^8 is undecided. `exact(i, bits)` encloses the g of lane i.
    """
    words = source.words(component * LEVELS, lanes, np.uint32).astype(np.int64)
    coarse, fine = _tables()
    steps = low >> (FRACTION_BITS - 14)
    product = coarse[np.minimum(steps >> 12, len(coarse) - 1)] * fine[steps & 4095] >> 30
    rest = (low & ((1 << (FRACTION_BITS - 14)) - 1)) >> (FRACTION_BITS - 30)
    product -= product * rest >> 30
    result: NDArray[np.bool_] = words < product - 7
    # A lower end of g is enough to reject; to accept, the bracket must be narrow.
    undecided = (words < product + 16) & ~(result & narrow)
    for i in np.flatnonzero(undecided).tolist():

        def resolve(prefix: int, bits: int, lane: int = i) -> int | None:
            least, most = exact(lane, bits + 8)
            if prefix >= exp_neg(least, 1 << (bits + 8), bits)[1]:
                return 0
            return 1 if prefix + 1 <= exp_neg(most, 1 << (bits + 8), bits)[0] else None

        result[i] = resolved(int(words[i]), 32, resolve, source, component * LEVELS + 1, lanes[i]) == 1
    return result


def first_accepted(
    size: int, propose: Callable[[int], IntArray], nothing: IntArray, acceptance: float, timing: Timing
) -> IntArray:
    """The first `size` accepted proposals in order; `propose(count)` gives those accepted among `count`.

    How many are proposed depends on the batch alone, never on a value, so the law is that of one accepted
    proposal. In fixed work the spare proposals make a second round less likely than 2^-64 (Hoeffding: of m
    proposals with spare s, fewer than n are accepted with probability at most e^(-2·(0.7·s)²/m)).
    """
    found = nothing
    while len(found) < size:
        missing = size - len(found)
        spare = 8 * math.isqrt(missing) + 128 if timing == "fixed" else 16
        count = math.ceil(missing / acceptance) + spare
        parts = [propose(min(PROPOSALS, count - start)) for start in range(0, count, PROPOSALS)]
        found = np.concatenate([found, *parts])
    return found[:size]


@cache
def _tables() -> tuple[IntArray, IntArray]:
    """⌊2^31·e^(-j/4)⌋ until it is 0, and ⌊2^31·e^(-j/2^14)⌋ for j < 2^12."""
    coarse = [exp_neg(j, 4, 31)[0] for j in range(100)]
    assert coarse[-1] == 0
    fine = [exp_neg(j, 2**14, 31)[0] for j in range(2**12)]
    return np.array(coarse, dtype=np.int64), np.array(fine, dtype=np.int64)
