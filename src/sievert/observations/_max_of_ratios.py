"""The largest of many independent likelihood ratios, and the sum of the few largest.

Noise is independent over cells, so the largest of π_v·ρ_v has the product of their distribution functions,
and how many exceed a level is a sum of independent yes-or-no draws. Cells of equal belief are alike: they are
grouped. Where too many beliefs differ, they are moved together and apart within narrow bins: both guesses are
convex and symmetric functions of beliefs of alike cells, hence grow as beliefs are spread and fall as they
are averaged (Schur; Hardy, Littlewood and Pólya), and the two answers enclose the true one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sievert.arrays import BoolArray, FloatArray, IntArray
from sievert.numerics import require_size
from sievert.observations._ratios import LikelihoodRatioLaw

__all__ = ["Enclosed", "Weights", "expected_largest", "expected_top", "largest", "top", "top_of_kinds"]

# Pairs of a belief and a ratio that are sorted: a second.
LARGEST_EVENTS = 4_000_000
# Numbers looked at for the sum of the few largest: some seconds.
LARGEST_WORK = 40_000_000
# Below this e^x - 1 is x, and floats run out.
TINY = 1e-280
# More tries than this are bounded by all belief.
MOST_TRIES = 100
# Ratios beyond e^this are not added up.
LARGEST_LOG = 600.0
# Relative width below which two ends are one number.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Enclosed:
    """A number between two that are certain; `exact` where they are one up to rounding."""

    lower: float
    upper: float

    @property
    def exact(self) -> bool:
        """Whether the ends are one number, up to rounding."""
        return self.upper - self.lower <= ROUNDING * abs(self.upper)


@dataclass(frozen=True, eq=False)
class Weights:
    """Beliefs of cells that are otherwise alike: the different ones, increasing, and how often each is."""

    values: FloatArray
    counts: IntArray

    @staticmethod
    def of(beliefs: FloatArray) -> Weights:
        """Grouped, without those that are 0."""
        values, counts = np.unique(beliefs[beliefs > 0], return_counts=True)
        return Weights(values, counts.astype(np.int64))

    @property
    def total(self) -> float:
        """Sum of all beliefs."""
        return float(self.values @ self.counts)

    def above(self, least: float) -> Weights:
        """Only those above a belief."""
        kept = self.values >= least
        return Weights(self.values[kept], self.counts[kept])

    def averaged(self, levels: int) -> Weights:
        """Each bin's beliefs replaced by their mean: no guess grows."""
        place = self._bins(levels)
        counts = np.bincount(place, self.counts)
        sums = np.bincount(place, self.values * self.counts)
        return Weights(sums[counts > 0] / counts[counts > 0], counts[counts > 0].astype(np.int64))

    def spread(self, levels: int) -> Weights:
        """Each bin's beliefs moved to its ends, keeping their sum but for a part of one cell: none falls."""
        place = self._bins(levels)
        size = int(place.max()) + 1
        counts = np.bincount(place, self.counts, size)
        sums = np.bincount(place, self.values * self.counts, size)
        low, high = np.full(size, np.inf), np.zeros(size)
        np.minimum.at(low, place, self.values)
        np.maximum.at(high, place, self.values)
        used = counts > 0
        counts, sums, low, high = counts[used], sums[used], low[used], high[used]
        width = np.where(high > low, high - low, 1.0)
        # One cell more than needed goes up, so that no belief lies between the ends.
        up = np.where(
            high > low, np.minimum(counts, np.ceil((sums - counts * low) / width * (1 + 1e-12))), 0.0
        )
        values, back = np.unique(np.concatenate([low, high]), return_inverse=True)
        joined = np.bincount(back, np.concatenate([counts - up, up]))
        return Weights(values[joined > 0], joined[joined > 0].astype(np.int64))

    def _bins(self, levels: int) -> IntArray:
        """A bin for each belief, all of one width in logarithms."""
        logs = np.log(self.values)
        width = (logs[-1] - logs[0]) / levels or 1.0
        return np.asarray(np.minimum((logs - logs[0]) / width, levels - 1), dtype=np.int64)

    def enclosed(self, most: int, function: Callable[[Weights], float]) -> Enclosed:
        """A convex symmetric function of the beliefs, from at most so many different ones."""
        if len(self.values) <= most:
            found = function(self)
            return Enclosed(found, found)
        return Enclosed(function(self.averaged(most)), function(self.spread(max(1, most // 2))))


def largest(ratios: LikelihoodRatioLaw, weights: Weights, other: float = 0.0) -> Enclosed:
    """E max(other, max_v π_v·ρ_v), for any number of different beliefs."""
    kept, law = _relevant(ratios, weights, other, 1)
    if not len(kept.values):
        return Enclosed(other, other)
    most = max(1, LARGEST_EVENTS // len(law.logs))
    return kept.enclosed(most, lambda w: expected_largest(law, np.log(w.values), w.counts, other))


def top(ratios: LikelihoodRatioLaw, weights: Weights, tries: int, other: float = 0.0) -> Enclosed:
    """E of the sum of the few largest of all π_v·ρ_v and `other`."""
    if tries == 1:
        return largest(ratios, weights, other)
    everything = weights.total + other
    if tries >= int(weights.counts.sum()) + (other > 0):
        return Enclosed(everything, everything)
    if tries > MOST_TRIES:
        return Enclosed(top(ratios, weights, MOST_TRIES, other).lower, everything)
    kept, law = _relevant(ratios, weights, other, tries)
    most = max(1, math.isqrt(LARGEST_WORK // (len(law.logs) * tries**2)))
    return kept.enclosed(most, lambda w: expected_top(law, np.log(w.values), w.counts, tries, other))


def _relevant(
    ratios: LikelihoodRatioLaw, weights: Weights, other: float, tries: int
) -> tuple[Weights, LikelihoodRatioLaw]:
    """Without cells that are never among the few largest, and without ratios that are never seen."""
    law = ratios.trimmed()
    if ratios.hidden:
        return weights, law
    # So many cells are always above this.
    sizes = weights.counts[::-1].cumsum()
    place = int(np.searchsorted(sizes, tries))
    floor = -math.inf
    if place < len(sizes):
        floor = math.log(weights.values[::-1][place]) + law.logs[0]
    if tries == 1 and other > 0:
        floor = max(floor, math.log(other))
    never = floor - law.logs[-1]
    # A cell that just reaches the floor is kept.
    return weights.above(math.exp(never) * (1 - 1e-9) if never > -700 else 0.0), law


def expected_largest(
    ratios: LikelihoodRatioLaw, log_beliefs: FloatArray, counts: IntArray, other: float = 0.0
) -> float:
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
        5 * LARGEST_EVENTS,
        "the values that beliefs may take",
        "round the beliefs",
    )
    lower = ratios.log_lower()
    # F(t)/F(t-1) = 1 + f(t)/F(t-1), whose logarithm keeps its digits where f is small.
    before = np.concatenate([[math.log(ratios.hidden) if ratios.hidden else -math.inf], lower[:-1]])
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        growth = np.where(np.isneginf(before), -lower, np.log1p(np.exp(ratios.log_pmf - before)))
        log_growth = np.where(growth > TINY, np.log(growth), ratios.log_pmf - before)
    values = (log_beliefs[:, None] + ratios.logs[None, :]).ravel()
    order = np.argsort(values, kind="stable")
    values = values[order]
    rises = (counts[:, None] * growth[None, :]).ravel()[order]
    # ln Π F just after each value: the rises that are still to come, since the product ends at 1.
    after = -np.concatenate([np.cumsum(rises[::-1])[::-1][1:], [0.0]])
    # Logarithms are added first: a ratio may be too large for a float where its chance is as small.
    with np.errstate(divide="ignore"):
        log_rises = (np.log(counts)[:, None] + log_growth[None, :]).ravel()[order]
        log_chance = after + np.where(rises > TINY, np.log(-np.expm1(-rises)), log_rises)
    if not ratios.hidden:
        # Before every cell has reached its least value the product is 0.
        first = np.flatnonzero((order % len(ratios.logs)) == 0)[-1]
        log_chance[:first] = -math.inf
        log_chance[first] = after[first]
    floor = math.log(other) if other > 0 else -math.inf
    total = float(np.exp(np.maximum(values, floor) + log_chance).sum())
    certain = float(np.exp(log_beliefs) @ counts) * ratios.shown
    return float(total + certain + other * ratios.hidden ** int(counts.sum()))


def expected_top(
    ratios: LikelihoodRatioLaw, log_beliefs: FloatArray, counts: IntArray, tries: int, other: float = 0.0
) -> float:
    """E of the sum of the few largest: ∫ E min(tries, N(x)) dx, N(x) the number of cells above x.

    N is a sum of binomials, one for each belief, and changes at the values π_v·ρ_v only.
    """
    levels = np.unique((log_beliefs[:, None] + ratios.logs[None, :]).ravel())
    if other > 0:
        levels = np.unique(np.append(levels, math.log(other)))
    upper = np.append(ratios.log_upper(), -math.inf)
    # ln P(N = i) for i < tries, at every level; and ln P(N = 0) from logarithms that keep small chances.
    fewer = np.full((tries, len(levels)), -math.inf)
    fewer[0] = 0.0
    log_mean = np.full(len(levels), -math.inf)
    if other > 0:
        below = levels <= math.log(other) + ROUNDING
        _shift(fewer, below)
        log_mean = np.where(below, 0.0, -math.inf)
    for belief, count in zip(log_beliefs, counts, strict=True):
        # Equal levels may differ in their last digit.
        place = np.searchsorted(ratios.logs, levels - belief - ROUNDING * (1 + np.abs(levels)))
        fewer = _with_binomial(fewer, upper[place], int(count))
        log_mean = np.logaddexp(log_mean, upper[place] + math.log(count))
    with np.errstate(divide="ignore"):
        some = np.where(fewer[0] < -TINY, np.log(-np.expm1(fewer[0])), log_mean)
    chances = np.exp(fewer[1:] - some)
    weights = np.arange(tries - 1, 0, -1)
    # Σ_m P(N ≥ m) = tries·P(N ≥ 1) - Σ_i (tries - i)·P(N = i).
    expected = np.log(tries - weights @ np.where(np.isfinite(chances), chances, 0.0)) + some
    gaps = np.concatenate([[0.0], np.diff(levels)])
    with np.errstate(divide="ignore"):
        widths = levels + np.where(gaps > 0, np.log(-np.expm1(-gaps)), 0.0)
    certain = float(np.exp(log_beliefs) @ counts) * ratios.shown
    return float(np.exp(widths + expected).sum()) + certain


def _with_binomial(fewer: FloatArray, log_chance: FloatArray, count: int) -> FloatArray:
    """One more group of cells, each above with the same chance, to the law of their number, cut off."""
    with np.errstate(divide="ignore", invalid="ignore"):
        log_miss = np.where(log_chance > -1e-300, -np.inf, np.log1p(-np.exp(np.minimum(log_chance, -1e-300))))
        log_miss = np.where(log_chance > -0.6931, np.log(-np.expm1(np.minimum(log_chance, 0.0))), log_miss)
    result = np.full_like(fewer, -np.inf)
    for hits in range(min(len(fewer) - 1, count) + 1):
        ways = math.lgamma(count + 1) - math.lgamma(hits + 1) - math.lgamma(count - hits + 1)
        misses = (count - hits) * log_miss if count > hits else np.zeros_like(log_miss)
        reached = hits * log_chance if hits else np.zeros_like(log_chance)
        result[hits:] = np.logaddexp(result[hits:], fewer[: len(fewer) - hits] + ways + misses + reached)
    return result


def top_of_kinds(
    ratios: LikelihoodRatioLaw, kinds: list[tuple[FloatArray, int]], tries: int, other: FloatArray
) -> float | None:
    """E of the sum of the few largest π_v·ρ_{cell of v}, for cells with several values; None: too much work.

    Parameters
    ----------
    ratios : the law of each cell's ρ, independent; nothing is shown for certain
    kinds : the beliefs of the values of a cell, falling, and how many cells have these
    tries : how many of the largest
    other : beliefs in values that are in no cell, whose ratio is 1
    """
    law = ratios.trimmed()
    logs = np.concatenate([np.log(beliefs) for beliefs, _ in kinds])
    size = len(np.unique(logs)) * len(law.logs) + len(other)
    doublings = sum(2 * count.bit_length() for _, count in kinds)
    if ratios.hidden or float(law.logs[-1]) > LARGEST_LOG or size * doublings * tries**2 > LARGEST_WORK:
        return None
    levels = np.unique(np.concatenate([np.add.outer(logs, law.logs).ravel(), np.log(other)]))
    upper = np.append(np.exp(law.log_upper()), 0.0)
    # P(so many values are above each level), the last entry for all further ones: nothing is subtracted.
    number = np.zeros((tries + 1, len(levels)))
    number[0] = 1.0
    for beliefs, count in kinds:
        place = [
            np.searchsorted(law.logs, levels - belief - ROUNDING * (1 + np.abs(levels)))
            for belief in np.log(beliefs[:tries]).tolist()
        ]
        reached = np.stack([np.ones(len(levels)), *(upper[at] for at in place), np.zeros(len(levels))])
        once = np.zeros_like(number)
        once[: len(reached) - 1] = np.maximum(reached[:-1] - reached[1:], 0.0)
        number = _both(number, _power(once, count))
    for belief in np.log(other).tolist():
        certain = np.zeros_like(number)
        certain[1] = levels <= belief + ROUNDING * (1 + abs(belief))
        certain[0] = 1 - certain[1]
        number = _both(number, certain)
    heights = np.exp(levels)
    return float(np.diff(heights, prepend=0.0) @ (np.arange(tries + 1.0) @ number))


def _both(first: FloatArray, second: FloatArray) -> FloatArray:
    """The law of a sum of two numbers, cut off at the largest."""
    most = len(first) - 1
    found = np.zeros_like(first)
    for i, part in enumerate(second):
        found[i:] += first[: most + 1 - i] * part
        found[most] += first[most + 1 - i :].sum(axis=0) * part
    return found


def _power(once: FloatArray, count: int) -> FloatArray:
    """The law of a sum of so many."""
    result: FloatArray | None = None
    while True:
        if count & 1:
            result = once if result is None else _both(result, once)
        count >>= 1
        if not count:
            assert result is not None
            return result
        once = _both(once, once)


def _shift(fewer: FloatArray, at: BoolArray) -> None:
    """One more cell that is above for certain, at some levels."""
    moved = np.full_like(fewer, -np.inf)
    moved[1:] = fewer[:-1]
    fewer[:] = np.where(at, moved, fewer)
