"""Hulls of posteriors as cones of columns, in exact arithmetic.

A posterior is a column up to scale, so a hull is the cone of the columns. The intersection of two cones is
the image of {(λ, μ) ≥ 0 : Aλ = Bμ}, whose extreme rays the double description method lists one equation at a
time; lower-dimensional hulls need no special care.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.errors import ChannelError, TooLargeError
from sievert.numerics.exact_programs import ExactProgram
from sievert.orders.exact import cone_program
from sievert.orders.zoom import exact_optimum

__all__ = ["channel_with_posteriors", "extreme_columns", "intersection_rays"]

ObjectArray = NDArray[np.object_]
MOST_RAYS = 20_000


def _distinct(columns: ObjectArray) -> list[tuple[Fraction, ...]]:
    """Normalised non-zero columns, each once, in order."""
    found = {tuple(value / sum(column) for value in column) for column in columns.T.tolist() if any(column)}
    return sorted(found)


def _stacked(columns: list[tuple[Fraction, ...]]) -> ObjectArray:
    table = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        table[:, j] = column
    return table


def extreme_columns(columns: ObjectArray) -> ObjectArray:
    """The normalised columns that are no mixture of others."""
    kept = _distinct(columns)
    for column in list(kept):
        others = [other for other in kept if other != column]
        if not others:
            break
        found = cone_program(_stacked(others), _stacked([column]))
        if found is None:
            raise ChannelError("a posterior is too close to the hull of the others to be decided exactly")
        if found.holds:
            kept = others
    return _stacked(kept)


def intersection_rays(first: ObjectArray, second: ObjectArray) -> ObjectArray:
    """Columns whose cone is the intersection of two cones of columns (not all of them extreme)."""
    equations = _integer_rows(np.concatenate([first, -second], axis=1))
    size = first.shape[1] + second.shape[1]
    rays = [tuple(int(i == j) for j in range(size)) for i in range(size)]
    for equation in equations:
        rays = _cut(rays, equation)
    points = [first @ np.array(ray[: first.shape[1]], dtype=object) for ray in rays]
    return np.stack(points, axis=1)


def _integer_rows(table: ObjectArray) -> list[list[int]]:
    rows = []
    for row in table.tolist():
        scale = math.lcm(*(Fraction(value).denominator for value in row))
        rows.append([int(value * scale) for value in row])
    return rows


def _cut(rays: list[tuple[int, ...]], equation: list[int]) -> list[tuple[int, ...]]:
    """Extreme rays of a pointed cone cut by equation·ray = 0: mixtures of adjacent rays on either side."""
    values = [sum(e * r for e, r in zip(equation, ray, strict=True)) for ray in rays]
    supports = [sum(1 << i for i, entry in enumerate(ray) if entry) for ray in rays]
    kept = [ray for ray, value in zip(rays, values, strict=True) if value == 0]
    above = [i for i, value in enumerate(values) if value > 0]
    below = [i for i, value in enumerate(values) if value < 0]
    for i in above:
        for j in below:
            joint = supports[i] | supports[j]
            # Adjacent iff no third ray lives on their joint support.
            if any(s | joint == joint for t, s in enumerate(supports) if t not in (i, j)):
                continue
            mixed = [values[i] * q - values[j] * p for p, q in zip(rays[i], rays[j], strict=True)]
            factor = math.gcd(*mixed)
            kept.append(tuple(entry // factor for entry in mixed))
    if len(kept) > MOST_RAYS:
        raise TooLargeError(f"the hulls intersect in over {MOST_RAYS} candidate vertices", size=len(kept))
    return kept


def channel_with_posteriors(points: ObjectArray, inputs: Any) -> Channel:
    """A channel with exactly these posteriors under the uniform prior, which must lie inside their hull.

    The weights maximise the least of them, so that every posterior really occurs.
    """
    n, count = points.shape
    zero, one = Fraction(0), Fraction(1)
    # Variables w_1 … w_count, slacks s and t; Σ w_i p_i = uniform, w_i - s_i - t = 0; maximise t.
    matrix = np.full((n + count, 2 * count + 1), zero, dtype=object)
    matrix[:n, :count] = points
    for i in range(count):
        matrix[n + i, i], matrix[n + i, count + i], matrix[n + i, -1] = one, -one, -one
    sides: list[Any] = [Fraction(1, n)] * n + [zero] * count
    cost = np.array([zero] * (2 * count) + [-one], dtype=object)
    bounds: list[Any] = [zero] * (2 * count + 1)
    vertex = exact_optimum(ExactProgram(cost, matrix, sides, sides, bounds, [None] * (2 * count + 1)))
    if vertex is None or not vertex.primal[-1] > 0:
        raise ChannelError("the posteriors do not surround the uniform prior, so no channel has all of them")
    return Channel((points * vertex.primal[:count][None, :] * n).tolist(), inputs)
