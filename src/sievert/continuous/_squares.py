"""The expected square of the error: the variance of what is believed after each output, integrated.

∫ (S₂ - S₁²/S₀) dy with S_k(y) = ∫ (x - m)^k·π·e^(-ε|x-y|) dx about the mean m of a cell's middle. Each S_k is
a power series on the cell, and S₀ has no zero on an ellipse around it, where the integrand is bounded: so
Gauss–Legendre misses a known amount, which shrinks geometrically with the nodes.
"""

from __future__ import annotations

import numpy as np

from sievert.arrays import FloatArray
from sievert.continuous._mesh import RATES, Groups, Mesh, evaluated, legendre, missed_by_gauss

__all__ = ["squares"]


def squares(cells: Mesh) -> tuple[float, FloatArray]:
    """E(x - w)² of the best guesses w over [0, 1], and what is missed in each cell."""
    below, above = cells.groups
    ends = (above.spread[0] + below.spread[-1]) / 2
    if cells.eps == 0:
        return float(ends), np.zeros(len(cells.centres))
    series = _about_means(cells, below.at(slice(1, None, 2)), above.at(slice(1, None, 2)))
    nodes, weights = legendre()
    zero, one, two = (evaluated(part, nodes) for part in series)
    variance = two - np.divide(one * one, zero, out=np.zeros_like(one), where=zero > 0)
    scale = cells.eps / 2 * cells.halves
    inner = scale * (np.maximum(variance, 0.0) @ weights)
    return float(ends + inner.sum()), scale * _missed(series)


def _about_means(cells: Mesh, below: Groups, above: Groups) -> list[FloatArray]:
    """S₀, S₁ and S₂ as series about the mean that is believed at each cell's middle."""
    total = below.weight + above.weight
    share = np.divide(above.weight, total, out=np.zeros_like(total), where=total > 0)
    mean = np.where(below.weight > 0, below.mean + share * (above.mean - below.mean), above.mean)
    off, table, found = cells.centres - mean, cells.table, []
    for power in range(3):
        sides = [
            side.weight * (side.mean - mean) ** power + (side.spread if power == 2 else 0.0)
            for side in (below, above)
        ]
        found.append(cells.series(sides[0], sides[1], table))
        # (x - mean)·π, one power more.
        wider = np.zeros((len(table), table.shape[1] + 1))
        wider[:, :-1] = off[:, None] * table
        wider[:, 1:] += cells.halves[:, None] * table
        table = wider
    return found


def _missed(series: list[FloatArray]) -> FloatArray:
    """What Gauss–Legendre misses on each cell, from the best of several ellipses."""
    best = np.full(len(series[0]), np.inf)
    for rate in RATES:
        reach = (rate + 1 / rate) / 2
        zero, one, two = (np.abs(part) @ reach ** np.arange(part.shape[1]) for part in series)
        least = 2 * series[0][:, 0] - zero
        largest = two + np.divide(one * one, least, out=np.full_like(one, np.inf), where=least > 0)
        best = np.minimum(best, missed_by_gauss(largest, rate))
    return np.where(series[0][:, 0] > 0, best, 0.0)
