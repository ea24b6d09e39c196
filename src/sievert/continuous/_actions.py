"""The loss of finitely many actions whose costs are constant on parts of the interval.

Every action's cost is a power series on a cell, so the least of them is integrated in closed form up to the
place where another becomes the least, and that place need not be known well: an error of δ costs δ² times the
slope. Cells in which more than two compete, or two cross more than once, are halved.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.continuous._mesh import Mesh, kernel_series, mesh
from sievert.continuous._shapes import Pieces, snapped
from sievert.numerics import require_size

__all__ = ["actions"]
# [action, half cell] entries that are held at once, halvings, and Newton's steps to a crossing.
MOST_COSTS, HALVINGS, NEWTON = 40_000_000, 40, 12
# A difference below this share of the cost is a tie; what rounding may do to a comparison.
TIE, ROUNDING = 1e-13, 1e-11


@dataclass(frozen=True)
class _Rivals:
    """Pairs of a cell's best action at its middle and another that may be better elsewhere in it."""

    cell: IndexArray
    excess: FloatArray  # the rival's cost less the best's, as series [pair, term]


def actions(
    model: Pieces, eps: float, inner: FloatArray, costs: FloatArray, halvings: int = HALVINGS
) -> tuple[float, float, Mesh]:
    """E of the least cost over [0, 1], what is missed, and the mesh; parts end at the inner places."""
    places = inner
    for halving in range(halvings + 1):
        cells = mesh(model, eps, places)
        size = len(costs) * 2 * len(cells.centres)
        require_size(size, MOST_COSTS, "the costs of all actions on a grid", "take fewer actions or parts")
        part = np.searchsorted(inner, cells.centres, side="right")
        below, above = cells.decayed(costs[:, part])
        ends = float(above[:, 0].min() + below[:, -1].min()) / 2
        if eps == 0:
            return ends, 0.0, cells
        best, rivals = _compared(cells, below[:, 1::2], above[:, 1::2], costs, part)
        gained, missed, open_cells = _crossed(rivals, best[:, 0], len(cells.centres))
        if halving == halvings or not open_cells.any():
            break
        places = np.concatenate([places, cells.edges, snapped(cells.centres[open_cells])])
    powers = 2.0 / np.arange(1, best.shape[1] + 1) * (np.arange(best.shape[1]) % 2 == 0)
    scale = eps / 2 * cells.halves
    return ends + float((scale * (best @ powers + gained)).sum()), float((scale * missed).sum()), cells


def _compared(
    cells: Mesh, below: FloatArray, above: FloatArray, costs: FloatArray, part: IndexArray
) -> tuple[FloatArray, _Rivals]:
    """The cost of the best action of each middle as a series, and the actions that may beat it nearby."""
    middle = below + above
    index = np.arange(middle.shape[1])
    best = middle.argmin(axis=0)
    least = cells.series(below[best, index], above[best, index], costs[best, part][:, None] * cells.table)
    # Within a cell no sum of what an action saves changes by more than e^(ε·half).
    factor = np.exp(2 * cells.eps * cells.halves)
    most = costs.max(axis=0)[part]
    dearest = np.add(*cells.decayed(most[None, :]))[0, 1::2]
    close = (dearest - middle) * factor >= (dearest - middle[best, index]) * (
        1 - ROUNDING
    ) - ROUNDING * dearest
    close[best, index] = False
    action, cell = np.nonzero(close)
    table = (costs[action, part[cell]] - costs[best[cell], part[cell]])[:, None] * cells.table[cell]
    sides = [side[action, cell] - side[best[cell], cell] for side in (below, above)]
    halves = cells.halves[cell]
    excess = kernel_series(cells.eps * halves, halves, sides[0], sides[1], table)
    # A rival that is dearer throughout the cell is none.
    beaten = 2 * excess[:, 0] - np.abs(excess).sum(axis=1) > 0
    return least, _Rivals(cell[~beaten], excess[~beaten])


def _crossed(rivals: _Rivals, least: FloatArray, size: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """What rivals save on each cell, what of it is unsure, and the cells that should be halved."""
    gained, missed = np.zeros(size), np.zeros(size)
    count = np.bincount(rivals.cell, minlength=size)
    excess = rivals.excess
    bound = np.abs(excess).sum(axis=1)
    slopes = np.abs(excess[:, 1]) - np.abs(excess[:, 2:]) @ np.arange(2, excess.shape[1])
    tied = bound <= TIE * least[rivals.cell]
    sure = (slopes > 0) & (count[rivals.cell] == 1) & ~tied
    np.add.at(missed, rivals.cell[~sure], 2 * bound[~sure])
    halved = np.zeros(size, dtype=bool)
    halved[rivals.cell[~sure & ~tied]] = True
    some, steep = excess[sure], slopes[sure]
    place, height = _roots(some)
    # ∫ of the excess over where it is negative: below the crossing where it grows, above where it falls.
    powers = np.arange(1, some.shape[1] + 1)
    end = np.where(some[:, 1] > 0, -1.0, 1.0)
    area = ((place[:, None] ** powers - end[:, None] ** powers) / powers * some).sum(axis=1)
    gained[rivals.cell[sure]] = np.minimum(0.0, np.where(some[:, 1] > 0, area, -area))
    inside = np.abs(place) < 1
    missed[rivals.cell[sure]] = np.where(inside, height**2 / steep, 0.0)
    return gained, missed, halved


def _roots(series: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Where monotone series cross 0 between -1 and 1, or the nearer end, and what they are there."""
    place = np.zeros(len(series))
    slopes = series[:, 1:] * np.arange(1, series.shape[1])
    for _ in range(NEWTON):
        place = np.clip(place - _at(series, place) / _at(slopes, place), -1.0, 1.0)
    return place, np.abs(_at(series, place))


def _at(series: FloatArray, place: FloatArray) -> FloatArray:
    """Each row's value at its own place."""
    return np.asarray((series * place[:, None] ** np.arange(series.shape[1])).sum(axis=1))
