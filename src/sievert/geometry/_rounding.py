"""Distances as whole numbers of a unit, without losing which sums are equal."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sievert.arrays import FloatArray, IndexArray, IntArray
from sievert.errors import MetricError
from sievert.numerics import abbreviated, as_fraction, require_size

__all__ = ["whole_distances"]

# Digits of a distance beyond which it is no decimal that somebody wrote, but a rounded irrational number.
MOST_DIGITS = 12
INFINITE = -1
# Bits of the sum of all distances of a tree in units.
FINEST = 58


def whole_distances(
    table: FloatArray, pairs: IndexArray, tolerance: Fraction | None, down: bool = False
) -> tuple[IntArray, Fraction]:
    """Distances as multiples of a unit: shortest paths over the irreducible pairs.

    Rounded `down` none grows, so what is private for them is private. Where pairs form trees no two paths
    can be equally long by chance, so that any lengths will do, as fine as they fit.
    """
    given = [float(table[a, b]) for a, b in pairs.tolist()]
    if tolerance is None and any(_is_irrational(length) for length in given) and _is_forest(table, pairs):
        tolerance = Fraction(2) ** (math.frexp(math.fsum(given))[1] - FINEST)
    lengths = [_rational(length, tolerance, down) for length in given]
    if not lengths:
        return np.where(np.isfinite(table), 0, INFINITE).astype(np.int64), Fraction(1)
    scale = math.lcm(*(value.denominator for value in lengths))
    steps = [int(value * scale) for value in lengths]
    divisor = math.gcd(*steps)
    n = len(table)
    total = sum(steps) // divisor
    require_size(total, 2**60, "the sum of the distances, in units", "round them to a coarser tolerance")
    far = total + 1
    result = np.full((n, n), far, dtype=np.int64)
    np.fill_diagonal(result, 0)
    for (a, b), step in zip(pairs.tolist(), steps, strict=True):
        result[a, b] = result[b, a] = step // divisor
    for k in range(n):
        np.minimum(result, result[:, k, None] + result[None, k, :], out=result)
    result[result >= far] = INFINITE
    return result, Fraction(divisor, scale)


def _rational(length: float, tolerance: Fraction | None, down: bool) -> Fraction:
    """A distance as a fraction: as it is written, or rounded to a multiple of the tolerance."""
    if tolerance is not None:
        steps = Fraction(length) / tolerance
        rounded = (math.floor(steps) if down else round(steps)) * tolerance
        if rounded == 0:
            raise MetricError(
                f"tolerance is {abbreviated(str(tolerance))}; the distance {length:g} would be rounded to 0, "
                "give a smaller one"
            )
        return rounded
    if _is_irrational(length):
        raise MetricError(
            f"metric: the distance {length!r} is a rounded irrational number, and which ratios meet exactly "
            "decides what the vertices are; give tolerance=1e-6 to round distances, or distances as short "
            "decimals"
        )
    return as_fraction(_decimal(length))


def _decimal(length: float) -> str:
    return f"{length:.{MOST_DIGITS}g}"


def _is_irrational(length: float) -> bool:
    """Whether a distance is no short decimal; a difference such as 0.3 - 0.1 is off its by an ulp or two."""
    return abs(float(_decimal(length)) - length) > 4 * math.ulp(length)


def _is_forest(table: FloatArray, pairs: IndexArray) -> bool:
    """Whether the pairs, which join all points at finite distance, have no cycle."""
    components = len({tuple(row) for row in np.isfinite(table).tolist()})
    return len(pairs) == len(table) - components
