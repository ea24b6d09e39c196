"""Staircase noise, P(z) ∝ e^(-ε·⌊(|z| + Δ - r)/Δ⌋), drawn with integers only (Geng and Viswanath 2016).

With b = e^-ε every tail is a fraction of b: P(Z ≥ m) = b^l·(left + b·(Δ - left))/D, where m lies on stair l
with `left` numbers of it from m on, and D = 2r - 1 + b·(2Δ - 2r + 1). So one lazily revealed uniform number
decides where the staircase is short. Where it is long, the side and the top are drawn first, then how many
stairs lie between, which is geometric, then the place on the stair, which is uniform.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

import numpy as np

from sievert.arrays import IntArray
from sievert.channels import StaircaseLaw
from sievert.errors import MechanismError
from sievert.numerics import abbreviated, whole
from sievert.sampling._base import FURTHEST, BitSource, NoiseSampler, Timing
from sievert.sampling._laplace import GeometricDigits
from sievert.sampling._lazy import Enclosure, LazyTable, Ratio, count_below, quotient, rational, unit_floor
from sievert.sampling._response import LARGEST_SPREAD_BITS, uniform_below

__all__ = ["StaircaseSampler", "staircase"]

# A staircase whose numbers of probability above 2^-64 are more than these is drawn by its parts.
LARGEST_TABLE = 4096
# Components of the bit source: the places on a stair stand clear of the digits of the stairs.
STAIRS, PLACE, TOP_PLACE = 1, 16, 17
# Noise of a larger scale Δ/ε does not fit 64-bit integers.
WIDEST = 2**50


def staircase(
    eps: object,
    sensitivity: int,
    *,
    top: int | None = None,
    timing: Timing = "fixed",
    insecure_rng: object = None,
) -> StaircaseSampler:
    """Exact staircase noise on the integers, ε-private for a query that moves by up to `sensitivity` steps.

    Parameters
    ----------
    eps : nats for a move of 1 to Δ steps, rational; a float is read as written
    sensitivity : Δ, the steps of a stair
    top : how many of the steps 0, 1, 2, … lie on the highest stair, 1 to Δ; by default those with the least
        mean absolute error
    timing : "fixed" (equal work whatever the noise) or "fast"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    NoiseSampler

    Notes
    -----
    Cost: 8 bytes a draw where Δ/ε is below 90, 40 otherwise; exact: integers only.

    Examples
    --------
    >>> staircase(3, 3, insecure_rng=1).noise(8)
    array([ 0,  0, -3,  0, -1,  0,  0,  0])
    """
    level = rational(eps, "eps")
    if level <= 0:
        raise MechanismError(
            f"eps is {abbreviated(eps)}; staircase noise on all integers needs an eps above 0"
        )
    width = whole("sensitivity", sensitivity, MechanismError, most=2 ** (LARGEST_SPREAD_BITS - 2))
    highest = 0 if top is None else whole("top", top, MechanismError, most=width)
    return StaircaseSampler(StaircaseLaw(level, width, highest), timing, insecure_rng)


class StaircaseSampler(NoiseSampler):
    """Noise that falls once in every Δ steps; see `staircase`."""

    kind = "staircase"

    def __init__(self, law: StaircaseLaw, timing: Timing = "fixed", insecure_rng: object = None) -> None:
        super().__init__(timing, insecure_rng)
        if law.eps <= 0:
            raise MechanismError("eps is 0; staircase noise on all integers needs an eps above 0")
        if law.sensitivity > WIDEST * law.eps or law.sensitivity > 2 ** (LARGEST_SPREAD_BITS - 2):
            raise MechanismError(
                f"stairs of {law.sensitivity} steps at ε = {law.eps} are too wide for 64-bit integers; "
                "measure in larger units"
            )
        self.law = law

    @property
    def parameters(self) -> dict[str, Any]:
        return {"eps": str(self.law.eps), "sensitivity": self.law.sensitivity, "top": self.law.top}

    @property
    def variance(self) -> float:
        """Σ z²·P(z)."""
        return self.law.deviation**2

    def noise(self, size: int) -> IntArray:
        """`size` independent draws."""
        lanes = self.source.reserve(size)
        if 45 * self.law.sensitivity <= LARGEST_TABLE * self.law.eps:
            return _table(self.law).draw(lanes, self.source, self.timing)
        return by_parts(self.law, lanes, self.source, self.timing)


def by_parts(law: StaircaseLaw, lanes: range, source: BitSource, timing: Timing) -> IntArray:
    """Side, stair and place, all drawn whatever the others are: the work tells nothing."""
    width, top = law.sensitivity, law.top
    side = _sides(law).draw(lanes, source, timing)
    stairs = _stairs(law).draw(lanes, source, timing, STAIRS)
    place = uniform_below(width).draw(lanes, source, timing, PLACE)
    on_top = uniform_below(2 * top - 1).draw(lanes, source, timing, TOP_PLACE) - (top - 1)
    # Further than any output; a sum beyond 64 bits is never formed.
    far = np.where(
        stairs > (FURTHEST - top - width) // width,
        FURTHEST,
        top + np.minimum(stairs, (FURTHEST - top - width) // width) * width + place,
    )
    return np.asarray(np.where(side == 0, on_top, side * far))


@lru_cache(maxsize=16)
def _stairs(law: StaircaseLaw) -> GeometricDigits:
    return GeometricDigits(Ratio(eps=law.eps))


@lru_cache(maxsize=4096)
def _power(law: StaircaseLaw, stairs: int, bits: int) -> Enclosure:
    return Ratio(eps=law.eps).power(stairs, bits)


def tail(law: StaircaseLaw, m: int, bits: int) -> Enclosure:
    """P(Z ≥ m) for m ≥ 1: b^l·(left + b·(Δ - left))/(2r - 1 + b·(2Δ - 2r + 1))."""
    width, top = law.sensitivity, law.top
    stairs = (m + width - top) // width
    left = top + stairs * width - m
    inner = bits + width.bit_length() + 16
    (low, high), (fallen, fallen_high) = _power(law, 1, inner), _power(law, stairs, inner)
    rest, below = width - left, 2 * width - 2 * top + 1
    above = (left << inner) + rest * low, (left << inner) + rest * high
    total = ((2 * top - 1) << inner) + below * low, ((2 * top - 1) << inner) + below * high
    part = fallen * above[0] >> inner, -((-fallen_high * above[1]) >> inner)
    return quotient(part, total, bits)


@lru_cache(maxsize=16)
def _table(law: StaircaseLaw) -> LazyTable:
    """Outcomes by both tails, as for Laplace noise."""

    def resolve(prefix: int, bits: int) -> int | None:
        upper = prefix >> (bits - 1)
        size = count_below((1 << bits) - 1 - prefix if upper else prefix, bits, partial(tail, law))
        if size is None:
            return None
        return min(size, FURTHEST) if upper else -min(size, FURTHEST)

    floors: list[int] = []
    # The first floor of 0 is kept: the word 0 stays undecided, and that is how the tail is reached.
    while not floors or floors[-1]:
        floors.append(unit_floor(partial(tail, law, len(floors) + 1)))
    words = np.array(floors, dtype=np.uint64)
    both = np.concatenate([words[::-1], np.uint64(2**64 - 2) - words])
    return LazyTable(both, np.arange(-len(floors), len(floors) + 1), resolve)


@lru_cache(maxsize=16)
def _sides(law: StaircaseLaw) -> LazyTable:
    """-1 below the top, 0 on it, 1 above it: P(Z ≥ r) on either side."""

    def resolve(prefix: int, bits: int) -> int | None:
        low, high = tail(law, law.top, bits)
        whole = 1 << bits
        if prefix + 1 <= low:
            return -1
        if prefix >= whole - low:
            return 1
        return 0 if prefix >= high and prefix + 1 <= whole - high else None

    floor = unit_floor(partial(tail, law, law.top))
    floors = np.array([floor, 2**64 - 2 - floor], dtype=np.uint64)
    return LazyTable(floors, np.array([-1, 0, 1]), resolve)
