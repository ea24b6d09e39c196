"""The exponential mechanism over a public list, drawn exactly: P(g) proportional to e^(-ε'·d(g)).

Weights are enclosed between whole numbers of 2^-bits, the largest being 1; lower and upper sums then enclose
every boundary between two points, and a uniform number is revealed until it lies surely between two of them
(`_lazy`). Every point is worked at alike, whatever the data: no run of equal distances is skipped and nothing
is rejected, so that the time does not tell how far the points are. A weight below one unit keeps one unit as
its upper bound.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from sievert.arrays import IntArray
from sievert.errors import MechanismError
from sievert.numerics import require_size
from sievert.sampling._base import Sampler, Timing, integers
from sievert.sampling._lazy import Enclosure, exp_neg, resolved

__all__ = ["ScoreSampler"]

# Bits of the weights and of the uniform number at first; a draw needs more with a chance below 2^-100.
WEIGHT_BITS, FIRST_WORDS = 192, 3
LARGEST_POINTS = 10_000_000


class ScoreSampler(Sampler):
    """Points with probabilities that fall by e^-level for each unit of their score."""

    kind = "exponential mechanism"

    def __init__(self, level: Fraction, timing: Timing = "fixed", insecure_rng: object = None) -> None:
        super().__init__(timing, insecure_rng)
        if level < 0:
            raise MechanismError(f"level is {level}; it must be ≥ 0")
        self.level = level

    @property
    def parameters(self) -> dict[str, Any]:
        return {"level": str(self.level)}

    def draw(self, inputs: Any) -> IntArray:
        """One position, for the scores of all points: whole numbers ≥ 0."""
        scores = integers(inputs, 0)
        require_size(len(scores), LARGEST_POINTS, "the points of the grid", "use a coarser grid")
        if not len(scores):
            raise MechanismError("inputs is empty; give the score of every point")
        lane = self.source.reserve(1)[0]
        prefix = 0
        for word in range(FIRST_WORDS):
            prefix = prefix << 64 | self.source.extend(word, lane)
        decide = _Decided((scores - scores.min()).tolist(), self.level)
        found = decide(prefix, 64 * FIRST_WORDS)
        if found is None:
            found = resolved(prefix, 64 * FIRST_WORDS, decide, self.source, FIRST_WORDS, lane)
        return np.array([found], dtype=np.int64)


class _Decided:
    """The point in whose part of the unit interval a uniform number lies; None while that is open."""

    def __init__(self, scores: list[int], level: Fraction) -> None:
        self.scores, self.level, self.bits = scores, level, 0
        self.low: list[int] = []
        self.high: list[int] = []

    def __call__(self, prefix: int, bits: int) -> int | None:
        wanted = max(WEIGHT_BITS, bits)
        if wanted > self.bits:
            low, high = zip(*_weights(self.scores, self.level, wanted), strict=True)
            self.low, self.high, self.bits = list(accumulate(low)), list(accumulate(high)), wanted
        # U·Z lies in [prefix·Z_low, (prefix + 1)·Z_high)/2^bits.
        least, most = prefix * self.low[-1], (prefix + 1) * self.high[-1]
        place = bisect_left(self.low, -(-most >> bits))
        if place == len(self.low):
            return None
        return place if place == 0 or self.high[place - 1] << bits <= least else None


def _weights(scores: list[int], level: Fraction, bits: int) -> list[Enclosure]:
    """e^(-level·score) of every point, each by one multiplication of a fine and a coarse power."""
    if not level:
        return [(1 << bits, 1 << bits)] * len(scores)
    # From this score on a weight is below one unit.
    last = math.ceil((bits + 1) / level)
    width = math.isqrt(min(last, max(scores))) + 1
    guard = bits + 64
    one = exp_neg(level.numerator, level.denominator, guard)
    step = exp_neg(width * level.numerator, level.denominator, guard)
    lows, highs = _powers(one, width, guard)
    coarse_lows, coarse_highs = _powers(step, width + 1, guard)
    spare = 2 * guard - bits
    found = []
    for score in scores:
        coarse, rest = divmod(min(score, last), width)
        inside = score < last
        low = lows[rest] * coarse_lows[coarse] >> spare
        high = -(-(highs[rest] * coarse_highs[coarse]) >> spare)
        found.append((low if inside else 0, high if inside else 1))
    return found


def _powers(base: Enclosure, count: int, bits: int) -> tuple[list[int], list[int]]:
    """Powers 0, 1, … of an enclosed number; each rounding loses one unit of 2^-bits."""
    lows, highs = [1 << bits], [1 << bits]
    for _ in range(count):
        lows.append(lows[-1] * base[0] >> bits)
        highs.append(-(-(highs[-1] * base[1]) >> bits))
    return lows, highs
