"""Sums of independent likelihood ratios, enclosed in convex order.

The belief in a block of cells is Σ π_v·ρ_v, a sum with too many values to list. Merging neighbouring values
into their mean makes every convex function smaller on average, moving them to the ends of their bin with the
same mean makes it larger (Jensen), and both survive adding what is independent. What is gained is a convex
function, so the two coarse laws enclose it, with an error of the square of a bin's width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sievert.arrays import BoolArray, FloatArray
from sievert.numerics import log_binomial
from sievert.observations._max_of_ratios import Enclosed, Weights
from sievert.observations._ratios import LikelihoodRatioLaw

__all__ = ["SumLaw", "coarser", "expected_excess", "expected_maximum", "weighted_sum"]

# Values that a coarse law keeps, and different beliefs in one sum.
SIZE = 400
MOST_WEIGHTS = 8
# The least share of the largest value that is told from 0.
TINY = 1e-250
# Pairs of values of two coarse laws that are added one by one; of two that are known, and values they keep.
MOST_PRODUCTS = 4 * SIZE * SIZE
MOST_EXACT_PRODUCTS, MOST_EXACT = 400_000, 40_000


@dataclass(frozen=True, eq=False)
class SumLaw:
    """Two laws between which the true one lies in convex order; the same object where it is known.

    Each is (values, increasing; chances).
    """

    lower: tuple[FloatArray, FloatArray]
    upper: tuple[FloatArray, FloatArray]

    @staticmethod
    def constant(value: float) -> SumLaw:
        """Always the same number."""
        law = np.array([value]), np.ones(1)
        return SumLaw(law, law)

    def plus(self, other: SumLaw) -> SumLaw:
        """The sum of two that are independent."""
        products = len(self.lower[0]) * len(other.lower[0])
        known = self.lower is self.upper and other.lower is other.upper
        if products > (MOST_EXACT_PRODUCTS if known else MOST_PRODUCTS):
            return self.coarse().plus(other.coarse())
        if known:
            law = _sum(self.lower, other.lower)
            return SumLaw(law, law) if len(law[0]) <= MOST_EXACT else SumLaw(_merged(*law), _split(*law))
        return SumLaw(
            _merged(*_sum(self.lower, other.lower)),
            _split(*_sum(self.upper, other.upper)),
        )

    def coarse(self) -> SumLaw:
        """With few values."""
        if self.lower is self.upper and len(self.lower[0]) <= SIZE:
            return self
        return SumLaw(_merged(*self.lower), _split(*self.upper))

    def scaled(self, factor: float) -> SumLaw:
        """Times a number, which may be negative."""
        step = -1 if factor < 0 else 1
        lower = self.lower[0][::step] * factor, self.lower[1][::step]
        if self.lower is self.upper:
            return SumLaw(lower, lower)
        return SumLaw(lower, (self.upper[0][::step] * factor, self.upper[1][::step]))


def _sum(
    first: tuple[FloatArray, FloatArray], second: tuple[FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray]:
    values = np.add.outer(first[0], second[0]).ravel()
    chances = np.multiply.outer(first[1], second[1]).ravel()
    order = np.argsort(values, kind="stable")
    values, chances = values[order], chances[order]
    starts = np.concatenate([[True], np.diff(values) > 1e-14 * np.abs(values[1:])])
    places = np.flatnonzero(starts)
    return values[places], np.add.reduceat(chances, places)


def coarser(
    values: FloatArray, chances: FloatArray, size: int, count: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Laws of at most so many values, smaller and larger in convex order: values, chances, values, chances.

    They are finest where the largest of `count` draws lies.
    """
    below = np.concatenate([[0.0], np.cumsum(chances)])
    with np.errstate(divide="ignore"):
        top = np.diff(np.exp(count * np.log(np.minimum(below, 1.0))))
    return (*_merged(values, chances, size, top), *_split(values, chances, size // 2, top))


def _bins(values: FloatArray, chances: FloatArray, size: int, top: FloatArray | None) -> BoolArray:
    """Where a new bin begins: even by chance, by chance times value, half way between the two, and far out.

    Beliefs of nearly the same size matter: there neither the one nor the other is large, but their mean is.
    Of many draws it is the `top` that matters.
    """
    half = np.sqrt(np.abs(values)) * chances
    parts = [chances, half, half, np.abs(values) * chances]
    if top is not None:
        parts += [top, top, np.abs(values) * top, np.abs(values) * top]
    shares = sum(np.cumsum(part) / (part.sum() or 1.0) for part in parts)
    far = np.arcsinh(values / max(float(half.sum()) ** 2, float(np.abs(values).max()) * TINY or 1.0))
    shares = (shares + (far - far[0]) / (far[-1] - far[0] or 1.0)) / (len(parts) + 1)
    place = np.minimum(shares * size, size - 1).astype(np.int64)
    return np.concatenate([[True], np.diff(place) > 0])


def _merged(
    values: FloatArray, chances: FloatArray, size: int = SIZE, top: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Each bin at its mean: smaller in convex order."""
    if len(values) <= size:
        return values, chances
    starts = np.flatnonzero(_bins(values, chances, size, top))
    total = np.add.reduceat(chances, starts)
    sums = np.add.reduceat(chances * values, starts)
    used = total > 0
    return sums[used] / total[used], total[used]


def _split(
    values: FloatArray, chances: FloatArray, size: int = SIZE, top: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Each bin at its ends with the same mean: larger in convex order."""
    if len(values) <= size:
        return values, chances
    starts = np.flatnonzero(_bins(values, chances, size, top))
    ends = np.append(starts[1:], len(values)) - 1
    total = np.add.reduceat(chances, starts)
    low, high = values[starts], values[ends]
    offset = values - np.repeat(low, np.diff(np.append(starts, len(values))))
    width = np.where(high > low, high - low, 1.0)
    up = np.minimum(np.add.reduceat(chances * offset, starts) / width, total)
    both = np.column_stack([low, high]).ravel(), np.column_stack([total - up, up]).ravel()
    kept = both[1] > 0
    return both[0][kept], both[1][kept]


def weighted_sum(ratios: LikelihoodRatioLaw, weights: Weights, sign: float = 1.0) -> SumLaw:
    """The law of Σ_v w_v·ρ_v over cells of these weights."""
    if not len(weights.values):
        return SumLaw.constant(0.0)
    once = Powers(ratios.trimmed())
    if len(weights.values) <= MOST_WEIGHTS:
        return _total(once, weights, sign)
    low = _total(once, weights.averaged(MOST_WEIGHTS), sign)
    return SumLaw(low.lower, _total(once, weights.spread(MOST_WEIGHTS // 2), sign).upper)


class Powers:
    """Sums of so many draws of one ratio; what was added up before serves again."""

    def __init__(self, ratios: LikelihoodRatioLaw) -> None:
        chances = np.exp(ratios.log_pmf)
        self._values, self._chances = np.exp(ratios.logs), chances / chances.sum()
        law = self._values, self._chances
        self._squares = [SumLaw(law, law)]

    def times(self, count: int) -> SumLaw:
        """The law of the sum; of two values it is binomial."""
        if len(self._values) == 2:
            return self._binomial(count)
        result: SumLaw | None = None
        for place in range(count.bit_length()):
            if place == len(self._squares):
                self._squares.append(self._squares[-1].plus(self._squares[-1]))
            if count >> place & 1:
                part = self._squares[place]
                result = part if result is None else result.plus(part)
        assert result is not None
        return result

    def _binomial(self, count: int) -> SumLaw:
        with np.errstate(divide="ignore"):
            hit, miss = np.log(self._chances[::-1]).tolist()
        hits, chances = np.arange(count + 1.0), np.exp(log_binomial(count, hit - miss))
        law = (count - hits) * self._values[0] + hits * self._values[1], chances / chances.sum()
        return SumLaw(law, law)


def _total(once: Powers, weights: Weights, sign: float) -> SumLaw:
    result: SumLaw | None = None
    for weight, count in zip(weights.values * sign, weights.counts.tolist(), strict=True):
        part = once.times(count).scaled(float(weight))
        result = part if result is None else result.plus(part)
    assert result is not None
    return result


def expected_excess(law: SumLaw) -> Enclosed:
    """E max(0, X)."""
    return _enclosed([law], lambda laws: float(np.maximum(laws[0][0], 0.0) @ laws[0][1]))


def expected_maximum(laws: Sequence[tuple[SumLaw, int]]) -> Enclosed:
    """E of the largest of independent draws, so many of each law, none negative."""
    counts = [count for _, count in laws]
    return _enclosed([law for law, _ in laws], lambda chosen: _maximum(chosen, counts))


def _enclosed(
    laws: Sequence[SumLaw], function: Callable[[Sequence[tuple[FloatArray, FloatArray]]], float]
) -> Enclosed:
    lower = function([law.lower for law in laws])
    if all(law.lower is law.upper for law in laws):
        return Enclosed(lower, lower)
    upper = function([law.upper for law in laws])
    return Enclosed(min(lower, upper), upper)


def _maximum(laws: Sequence[tuple[FloatArray, FloatArray]], counts: Sequence[int]) -> float:
    """∫ P(max ≥ x) dx, from logarithms of the chances to stay below."""
    levels = np.unique(np.concatenate([values for values, _ in laws]))
    stays = np.zeros(len(levels))
    for (values, chances), count in zip(laws, counts, strict=True):
        above = np.append(np.cumsum(chances[::-1])[::-1], 0.0)
        below = np.concatenate([[0.0], np.cumsum(chances)])
        place = np.searchsorted(values, levels)
        with np.errstate(divide="ignore"):
            logs = np.where(
                above[place] < 0.5,
                np.log1p(-np.minimum(above[place], 0.5)),
                np.log(np.minimum(below[place], 1.0)),
            )
        stays += count * logs
    gaps = np.diff(levels, prepend=0.0)
    return float(gaps @ -np.expm1(stays))
