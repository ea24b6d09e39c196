"""Geometric noise that stays in a range: truncated on consecutive integers, and on irregular points."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from sievert.arrays import IntArray
from sievert.errors import MechanismError
from sievert.numerics import abbreviated, require_size, taken, whole
from sievert.sampling._base import LARGEST_INPUT, Sampler, Timing, integers
from sievert.sampling._bernoulli import fair_coin
from sievert.sampling._laplace import DiscreteLaplace
from sievert.sampling._lazy import Enclosure, Ratio, exp_neg, quotient, ratio, rational
from sievert.sampling._rows import RowTables, enclosed_rows

__all__ = [
    "ClampedGeometric",
    "IrregularGeometric",
    "TruncatedGeometricSampler",
    "irregular_geometric",
    "truncated_geometric",
]
# Every pair of them is set up: half a minute.
MOST_POINTS = 1000


def truncated_geometric(
    n: int | None = None,
    eps: object = None,
    *,
    alpha: object = None,
    low: int | None = None,
    high: int | None = None,
    timing: Timing = "fixed",
    insecure_rng: object = None,
) -> TruncatedGeometricSampler:
    """Exact geometric noise clamped to 0…n-1, or to low…high.

    The N-geometric on the grid 0, 1/N, …, 1 is `truncated_geometric(N + 1, eps/N)`.

    Parameters
    ----------
    n : how many values 0…n-1
    eps, alpha : exactly one of ε (nats per unit, rational) and the rational ratio alpha = e^-ε
    low, high : instead of n, the range
    timing : "fixed" (equal work whatever the noise) or "fast"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Sampler

    Notes
    -----
    Cost: 8 bytes a draw at ε = 1; exact: integers only.

    Examples
    --------
    >>> truncated_geometric(3, alpha="1/2", insecure_rng=1).draw([0, 1, 2, 2])
    array([0, 1, 0, 2])
    """
    ends = [end for end in (low, high) if end is not None]
    if len(ends) != (2 if n is None else 0):
        raise MechanismError("give either n (noise clamped to 0…n-1), or both low and high")
    first = 0 if n is not None else whole("low", low, MechanismError, least=-LARGEST_INPUT)
    last = (
        whole("n", n, MechanismError) - 1
        if n is not None
        else whole("high", high, MechanismError, least=-LARGEST_INPUT)
    )
    if first > last:
        raise MechanismError(f"the outputs {first}…{last} are empty; give at least one")
    return TruncatedGeometricSampler(ratio(eps, alpha), first, last, timing, insecure_rng)


class TruncatedGeometricSampler(Sampler):
    """Two-sided geometric noise, then everything beyond the range moved to its ends."""

    kind = "truncated geometric"

    def __init__(
        self, level: Ratio, low: int, high: int, timing: Timing = "fixed", insecure_rng: object = None
    ) -> None:
        super().__init__(timing, insecure_rng)
        if max(abs(low), abs(high)) > LARGEST_INPUT:
            raise MechanismError(f"the outputs {low}…{high} reach beyond ±2^61; measure in larger units")
        self.level, self.low, self.high = level, low, high
        self._noise = None if level.is_one else DiscreteLaplace(level, timing, self.source)

    @property
    def parameters(self) -> dict[str, Any]:
        return {**self.level.to_dict(), "low": self.low, "high": self.high}

    def draw(self, inputs: Any) -> IntArray:
        """Integers plus noise, clamped to the outputs."""
        values = integers(inputs)
        if self._noise is None:
            # λ = 1: half of the noise lies beyond either end.
            lanes = self.source.reserve(len(values))
            coins = fair_coin().draw(lanes, self.source, self.timing)
            return np.where(coins == 1, self.low, self.high)
        noisy = self._noise.noise(len(values))
        noisy += values
        return np.clip(noisy, self.low, self.high, out=noisy)


class ClampedGeometric(Sampler):
    """Positions of given integers in, positions of the consecutive integers low…high out."""

    kind = "clamped geometric"

    def __init__(
        self,
        inputs: Sequence[int],
        outputs: tuple[int, int],
        level: Ratio,
        timing: Timing = "fixed",
        insecure_rng: object = None,
    ) -> None:
        super().__init__(timing, insecure_rng)
        self._inputs = np.array(inputs, dtype=np.int64)
        self._noisy = TruncatedGeometricSampler(level, *outputs, timing, self.source)

    @property
    def parameters(self) -> dict[str, Any]:
        return self._noisy.parameters

    def draw(self, inputs: Any) -> IntArray:
        """Output positions for input positions."""
        return self._noisy.draw(self._inputs[inputs]) - self._noisy.low


def irregular_geometric(
    points: Sequence[object],
    eps: object = None,
    *,
    alpha: object = None,
    timing: Timing = "fixed",
    insecure_rng: object = None,
) -> IrregularGeometric:
    """The geometric kernel on increasing rational points; positions in, positions out.

    The privacy between points x and x' is exactly ε·|x - x'|. Points need rational ε, or integer gaps.

    Parameters
    ----------
    points : increasing rational numbers
    eps, alpha : exactly one of ε (nats per unit, rational) and the rational ratio alpha = e^-ε
    timing : "fixed" (equal work whatever the noise) or "fast"
    insecure_rng : a seed, a numpy Generator or a `BitSource`, for tests only; by default the operating system

    Returns
    -------
    Sampler

    Notes
    -----
    Cost: under 0.1 ms for each pair of points for setting up, less where gaps repeat; 8 bytes a draw.

    Examples
    --------
    >>> irregular_geometric([0, 1, 5], alpha="1/2", insecure_rng=1).draw([0, 1, 2, 2])
    array([0, 1, 1, 2])
    """
    if isinstance(points, str):
        raise MechanismError(f"points is {abbreviated(points)}; give increasing numbers")
    given = taken("points", points, MechanismError, "increasing numbers")
    require_size(len(given), MOST_POINTS, "the points of the kernel", "take fewer")
    places = tuple(rational(point, "points") for point in given)
    if not places:
        raise MechanismError("points is empty; give at least one")
    for a, b in pairwise(places):
        if a >= b:
            raise MechanismError(f"points: {b} comes after {a}; points must increase")
    level = ratio(eps, alpha)
    whole = all((b - a).denominator == 1 for a, b in pairwise(places))
    if level.eps is None and not (whole or level.is_zero or level.is_one):
        raise MechanismError(
            f"points: their gaps are not integers, and alpha = {level.alpha} has no exact powers there; "
            "give eps instead"
        )
    return IrregularGeometric(places, level, timing, insecure_rng)


class IrregularGeometric(Sampler):
    """c_y·e^(-ε·|x-y|) on given points; see `irregular_geometric`."""

    kind = "irregular geometric"

    def __init__(
        self,
        points: tuple[Fraction, ...],
        level: Ratio,
        timing: Timing = "fixed",
        insecure_rng: object = None,
    ) -> None:
        super().__init__(timing, insecure_rng)
        self.points, self.level = points, level
        self._tables = None if level.is_zero or level.is_one else _irregular_tables(points, level)

    @property
    def parameters(self) -> dict[str, Any]:
        return {**self.level.to_dict(), "points": [str(point) for point in self.points]}

    def draw(self, inputs: Any) -> IntArray:
        """Positions of points for positions of points."""
        last = len(self.points) - 1
        rows = integers(inputs, 0, last)
        if self._tables is not None:
            return self._tables.draw(rows, self.source.reserve(len(rows)), self.source, self.timing)
        if self.level.is_zero:
            return rows.copy()
        coins = fair_coin().draw(self.source.reserve(len(rows)), self.source, self.timing)
        return coins * last


@lru_cache(maxsize=8)
def _irregular_tables(points: tuple[Fraction, ...], level: Ratio) -> RowTables:
    """P(Y ≤ x_k | x_j) = e^(-ε(x_j-x_k))/(1+e^(-ε·g_k)) for k < j, with g_k the gap after x_k; for k ≥ j it
    is 1 less the mirror image."""

    @lru_cache(maxsize=2**16)
    def power(distance: Fraction, bits: int) -> Enclosure:
        if level.eps is None:
            return level.power(int(distance), bits)
        exponent = level.eps * distance
        return exp_neg(exponent.numerator, exponent.denominator, bits)

    def below(j: int, k: int, bits: int) -> Enclosure:
        inner = bits + 8
        one = 1 << inner
        gap = power(points[k + 1] - points[k], inner)
        reach = points[j] - points[k] if k < j else points[k + 1] - points[j]
        low, high = quotient(power(reach, inner), (one + gap[0], one + gap[1]), bits)
        return (low, high) if k < j else ((1 << bits) - high, (1 << bits) - low)

    return enclosed_rows(len(points), len(points), below)
