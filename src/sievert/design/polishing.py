"""Multipliers of a scaled program made into a good bound: what rounding left over is carried to the peaks.

The program's multipliers are accurate in its own units. In units of the probabilities their errors are up to
e^(+d) larger, and the bound would collapse for large ε. Any multipliers ≥ 0 give a valid bound, so surplus is
moved to the point where an action is best, and what overshoots is scaled down, until nothing improves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rows", "polished"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
MOST_STEPS = 40


@dataclass(frozen=True, eq=False)
class Rows:
    """Constraints z_left ≥ e^(-defect)·z_right, and the edge, point and action each stands for.

    `rise` is how much nearer the right side is to the peak of its column.
    """

    left: IndexArray
    right: IndexArray
    defect: FloatArray
    edge: IndexArray
    length: FloatArray
    rise: FloatArray
    point: IndexArray
    action: IndexArray

    def only(self, chosen: IndexArray) -> Rows:
        """Some of the constraints."""
        return Rows(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


def polished(
    rows: Rows,
    listed: IndexArray,
    y: FloatArray,
    cost: FloatArray,
    target: FloatArray,
    weight: FloatArray,
    group: IndexArray,
) -> tuple[IndexArray, FloatArray]:
    """Constraints and multipliers with the best bound found.

    Parameters
    ----------
    listed, y : positions of the constraints in `rows` and their multipliers from the program
    cost : cost of each unknown; target : what the program says its reduced value should be
    weight : the bound is the sum over groups of the least reduced value / weight
    group : row (point) that each unknown belongs to
    """
    unknowns = len(cost)
    way = _ways(rows, unknowns)
    positions = np.concatenate([listed, way.row])
    left, right = rows.left[positions], rows.right[positions]
    coefficient = np.exp(-rows.defect[positions])
    values = np.concatenate([y, np.zeros(len(way.row))])
    best, kept = -np.inf, values.copy()
    count = int(group.max()) + 1
    for _ in range(MOST_STEPS):
        reduced = (
            cost - np.bincount(left, values, unknowns) + np.bincount(right, coefficient * values, unknowns)
        )
        moved = way.carried(reduced - target, coefficient[len(listed) :])
        values[len(listed) :] += moved
        reduced = (
            cost - np.bincount(left, values, unknowns) + np.bincount(right, coefficient * values, unknowns)
        )
        least = np.full(count, np.inf)
        np.minimum.at(least, group, reduced / weight)
        bound = float(least.sum())
        if bound > best:
            best, kept = bound, values.copy()
        missing = np.maximum(target - reduced, 0.0)
        missing[way.peak] = 0.0
        out = np.bincount(left, values, unknowns)
        short = (missing > 0) & (out > 0)
        if not short.any():
            break
        share = np.ones(unknowns)
        share[short] = 1 - np.minimum(1.0, missing[short] / out[short])
        values *= share[left]
    return positions, kept


@dataclass(frozen=True, eq=False)
class _Ways:
    """For each unknown that is not a peak the constraint along which surplus moves, farthest first."""

    row: IndexArray
    origin: IndexArray
    to: IndexArray
    levels: list[IndexArray]
    peak: IndexArray

    def carried(self, surplus: FloatArray, coefficient: FloatArray) -> FloatArray:
        """Multipliers that move every surplus ≥ 0, and what arrives on the way, to the peaks."""
        carried = surplus.copy()
        moved = np.zeros(len(self.row))
        for level in self.levels:
            part = np.maximum(carried[self.origin[level]], 0.0)
            moved[level] = part
            np.add.at(carried, self.to[level], coefficient[level] * part)
        return moved


def _ways(rows: Rows, unknowns: int) -> _Ways:
    """The constraint that leads from each unknown nearest along a geodesic to the peak of its column."""
    rising = np.flatnonzero(rows.rise > 0)
    order = rising[np.lexsort((rows.length[rising] - rows.rise[rising], rows.left[rising]))]
    owner = rows.left[order]
    first = order[np.concatenate([[True], owner[1:] != owner[:-1]])] if len(order) else order
    to = np.full(unknowns, -1, dtype=np.intp)
    row = np.full(unknowns, -1, dtype=np.intp)
    to[rows.left[first]], row[rows.left[first]] = rows.right[first], first
    depth = _depths(to)
    origin = np.flatnonzero(to >= 0)
    levels = [np.flatnonzero(depth[origin] == k) for k in range(int(depth.max(initial=0)), 0, -1)]
    return _Ways(row[origin], origin, to[origin], levels, np.flatnonzero(to < 0))


def _depths(to: IndexArray) -> IndexArray:
    """Number of steps from each unknown to the end of its way."""
    depth = np.zeros(len(to), dtype=np.intp)
    here = np.where(to >= 0, to, -1)
    active = np.flatnonzero(here >= 0)
    while len(active):
        depth[active] += 1
        here[active] = to[here[active]]
        active = active[here[active] >= 0]
    return depth
