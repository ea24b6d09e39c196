"""The expected square of the error: the variance of what is believed after each output, integrated.

∫ (S₂ - S₁²/S₀) dy with S_k(y) = ∫ (x - m)^k·π·e^(-ε|x-y|) dx about the mean m of a cell's middle. Each S_k is
a power series on the cell, and S₀ has no zero on an ellipse around it, where the integrand is bounded: so
Gauss–Legendre misses a known amount, which shrinks geometrically with the nodes.
"""

from __future__ import annotations

import numpy as np

from sievert.arrays import FloatArray
from sievert.continuous._mesh import (
    RATES,
    Groups,
    Mesh,
    evaluated,
    kernel_series,
    legendre,
    missed_by_gauss,
)

__all__ = ["squares"]


def squares(cells: Mesh) -> tuple[float, FloatArray]:
    """E(x - w)² of the best guesses w over [0, 1], and what is missed in each cell."""
    below, above = cells.groups
    ends = (above.spread[0] + below.spread[-1]) / 2
    if cells.eps == 0:
        return float(ends), np.zeros(len(cells.centres))
    series = _about_means(cells, below.at(slice(1, None, 2)), above.at(slice(1, None, 2)))
    nodes, weights = legendre()
    zero, one, two = evaluated(series, nodes).reshape(3, len(cells.centres), -1)
    variance = two - np.divide(one * one, zero, out=np.zeros_like(one), where=zero > 0)
    scale = cells.eps / 2 * cells.halves
    inner = scale * (np.maximum(variance, 0.0) @ weights)
    return float(ends + inner.sum()), scale * _missed(series)


def _about_means(cells: Mesh, below: Groups, above: Groups) -> FloatArray:
    """S₀, then S₁, then S₂ of all cells as series about the mean that is believed at each cell's middle."""
    total = below.weight + above.weight
    share = np.divide(above.weight, total, out=np.zeros_like(total), where=total > 0)
    mean = np.where(below.weight > 0, below.mean + share * (above.mean - below.mean), above.mean)
    count, degree = cells.table.shape
    table = np.zeros((3, count, degree + 2))
    table[0, :, :-2] = cells.table
    for power in (1, 2):
        # (x - mean)·π, one power more.
        table[power] = (cells.centres - mean)[:, None] * table[power - 1]
        table[power, :, 1:] += cells.halves[:, None] * table[power - 1, :, :-1]
    sides = []
    for side in (below, above):
        off = side.mean - mean
        sides.append(np.concatenate([side.weight, side.weight * off, side.weight * off * off + side.spread]))
    halves = np.tile(cells.halves, 3)
    return kernel_series(cells.eps * halves, halves, sides[0], sides[1], table.reshape(3 * count, -1))


def _missed(series: FloatArray) -> FloatArray:
    """What Gauss–Legendre misses on each cell, from the best of several ellipses."""
    rates = np.array(RATES)
    middle = series[: len(series) // 3, :1]
    zero, one, two = evaluated(np.abs(series), (rates + 1 / rates) / 2).reshape(3, len(middle), -1)
    least = 2 * middle - zero
    largest = two + np.divide(one * one, least, out=np.full_like(one, np.inf), where=least > 0)
    return np.where(middle[:, 0] > 0, missed_by_gauss(largest, rates).min(axis=1), 0.0)
