"""The most that ε·distance allows on a map of very many cells: bounds without a list of distances.

Privacy gives K[i,j] ≥ e^(-ε·d(i,j))·K[j,j], so any y ≥ 0 with Σ_j e^(-ε·d(i,j))·y_j ≥ 1 for all cells i has
Σ y at least as large as any capacity (the packing bound). The weights of a small map, stretched to the large
one, are nearly best; a transform gives their sums at every cell, and the least of these scales them. From
below, planar geometric noise is a mechanism that keeps the promise, and its capacity is a closed sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.fft import irfft2, next_fast_len, rfft2

from sievert.arrays import FloatArray, IntArray
from sievert.channels import lattice_sums
from sievert.limits.bounds import Bound
from sievert.numerics import UNIT, require_size
from sievert.spaces import Metric

__all__ = ["LEAST_GRID", "Grid", "GridBounds", "grid_of"]

# Maps of fewer cells are solved by their list of distances.
LEAST_GRID = 1500
LARGEST_GRID = 20_000_000
# Sides of the small map whose weights are stretched.
SIDE = 33
# Coordinates of a grid are multiples of its step up to this.
EVEN = 1e-9


@dataclass(frozen=True)
class GridBounds:
    """Logarithms of bounds on any capacity, and of one that is reached."""

    diameter: float
    radius: float
    packing: float
    reached: float


@dataclass(frozen=True)
class Grid:
    """Square cells in rows and columns, row by row, with straight distances."""

    rows: int
    columns: int
    step: float

    def bounds(self, eps: Fraction) -> GridBounds:
        """Bounds by diameter, radius and packing, and what planar geometric noise reaches."""
        require_size(self.rows * self.columns, LARGEST_GRID, "the cells", "use larger cells")
        level = float(eps) * self.step
        most = math.log(self.rows * self.columns)
        found = lattice_sums(eps * Fraction(str(self.step)))
        reached = (
            self.rows * self.columns * found.origin
            + 2 * (self.rows + self.columns) * found.edge
            + 4 * found.corner
        )
        diameter = level * math.hypot(self.rows - 1, self.columns - 1)
        radius = level * math.hypot(self.rows // 2, self.columns // 2)
        # All weight in the middle is one packing: the radius is never below the packing bound.
        packing = max(0.0, min(most, radius, self._log_packing(level)))
        return GridBounds(diameter, radius, packing, min(packing, max(0.0, math.log(reached))))

    def _log_packing(self, level: float) -> float:
        """ln of Σ y over the least of Σ_j e^(-ε·d(i,j))·y_j, never below the packing bound."""
        found = math.inf
        for weights in (self._stretched(level), self._spread(level)):
            least = float(self._sums(weights, level).min())
            if least > 0:
                found = min(found, math.log(float(weights.sum()) / least) + 64 * UNIT)
        return found

    def _stretched(self, level: float) -> FloatArray:
        """The weights of a small map, each cell taking those of the cell as far from the borders."""
        high, wide = min(self.rows, SIDE), min(self.columns, SIDE)
        small = _weights(level, np.arange(high), np.arange(wide))
        return small[np.ix_(_nearest(self.rows, high), _nearest(self.columns, wide))]

    def _spread(self, level: float) -> FloatArray:
        """Weights on some cells all over the map alone, for noise that reaches across it."""
        row, column = (
            np.unique(np.linspace(0, size - 1, min(size, SIDE)).round().astype(np.int64))
            for size in (self.rows, self.columns)
        )
        weights = np.zeros((self.rows, self.columns))
        weights[np.ix_(row, column)] = _weights(level, row, column)
        return weights

    def _sums(self, weights: FloatArray, level: float) -> FloatArray:
        """Σ_j e^(-ε·d(i,j))·y_j at every cell, less what rounding may have added."""
        shape = tuple(next_fast_len(2 * size - 1, real=True) for size in (self.rows, self.columns))
        steps = [np.minimum(np.arange(size), size - np.arange(size)) for size in shape]
        around = np.exp(-level * np.hypot(steps[0][:, None].astype(np.float64), steps[1]))
        sums = irfft2(rfft2(weights, shape) * rfft2(around), shape)[: self.rows, : self.columns]
        # As in `channels._plane_products`: the transforms are off by a few units for each halving.
        size = float(np.sqrt((weights**2).sum()))
        error = 16 * UNIT * (math.log2(around.size) + 4) * size * float(np.sqrt((around**2).sum()))
        return np.asarray(sums - error)

    def guess(self, eps: Fraction, prior: FloatArray) -> tuple[float, float]:
        """Ends of the best guess for a prior over the cells: planar noise is at least as good as none."""
        found, before = self.bounds(eps), float(prior.max())
        upper = min(1.0, before * Bound(found.packing).factor)
        level = float(eps) * self.step
        given = prior.reshape(self.rows, self.columns)
        # ε adds up: no belief in x exceeds π_x / Σ_u π_u·e^(-ε·d(x,u)).
        around = np.maximum(self._sums(given, level), given)
        possible = given > 0
        return before, min(upper, float((given[possible] / around[possible]).max()))


def _weights(level: float, rows: IntArray, columns: IntArray) -> FloatArray:
    """w ≥ 0 with Σ_j e^(-ε·d(i,j))·w_j near 1 on some rows and columns of cells."""
    row, column = (part.ravel() for part in np.meshgrid(rows, columns, indexing="ij"))
    away = np.hypot(np.subtract.outer(row, row), np.subtract.outer(column, column))
    kernel = np.exp(-level * away)
    # Any weights give a bound: the diagonal keeps the system solvable where all cells are nearly alike.
    found = np.linalg.solve(kernel + 1e-10 * np.eye(len(kernel)), np.ones(len(kernel)))
    return np.asarray(np.maximum(found, 0.0).reshape(len(rows), len(columns)))


def _nearest(size: int, small: int) -> IntArray:
    """For each place of an axis the place of a shorter one that is as far from the nearer end."""
    place = np.arange(size)
    inward = np.minimum(np.minimum(place, size - 1 - place), small // 2)
    return np.where(place < size - 1 - place, inward, small - 1 - inward)


def grid_of(metric: object) -> Grid | None:
    """The grid whose cells are the points of a metric, row by row; None where they are none, or few."""
    places = metric.coordinates if isinstance(metric, Metric) else None
    if places is None or places.shape[1] != 2 or len(places) < LEAST_GRID:
        return None
    along = int(places[0, 0] == places[1, 0])  # the coordinate that changes within a row
    turned = np.flatnonzero(places[:, 1 - along] != places[0, 1 - along])
    columns = int(turned[0]) if len(turned) else len(places)
    step = float(places[1, along] - places[0, along])
    if len(places) % columns or step <= 0:
        return None
    row, column = np.divmod(np.arange(len(places)), columns)
    even = np.stack([column, row] if along == 0 else [row, column], axis=1) * step
    if np.abs(places - places[0] - even).max() > 8 * UNIT * np.abs(places).max():
        return None
    return Grid(len(places) // columns, columns, step)
