"""The most that ε·distance allows on a map of very many cells: bounds without a list of distances.

Privacy gives K[i,j] ≥ e^(-ε·d(i,j))·K[j,j], so any y ≥ 0 with Σ_j e^(-ε·d(i,j))·y_j ≥ 1 for all cells i has
Σ y at least as large as any capacity (the packing bound). The weights of a small map, stretched to the large
one, are nearly best; a transform gives their sums at every cell, and the least of these scales them. From
below, planar geometric noise is a mechanism that keeps the promise, and its capacity is a closed sum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np
from scipy.fft import irfft2, next_fast_len, rfft2

from sievert.arrays import FloatArray, IntArray
from sievert.channels import lattice_sums
from sievert.limits.bounds import Bound
from sievert.numerics import UNIT, require_size, rounded_to
from sievert.proofs import MapLeakageProof, Spread, map_products
from sievert.spaces import Metric

__all__ = ["LEAST_GRID", "Grid", "GridBounds", "grid_of"]

# Maps of fewer cells are solved by their list of distances.
LEAST_GRID = 1500
LARGEST_GRID = 20_000_000
# Sides of the small map whose weights are stretched.
SIDE = 33
# A proof is worth its check: products that it may take, how far sums reach at most, and by which share of a
# factor its bound may be above what transforms give.
MOST_PRODUCTS = 3 * 10**8
LARGEST_REACH = 400
AS_GOOD = 0.03
# Noise that falls more slowly than this is added up by Poisson's formula, else until e^-NEGLIGIBLE.
POISSON = Fraction(1, 2)
NEGLIGIBLE = 40
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

    @property
    def exact_step(self) -> Fraction:
        """The width of a cell as it is written."""
        return Fraction(str(self.step))

    def bounds(self, eps: Fraction) -> GridBounds:
        """Bounds by diameter, radius and packing, and what planar geometric noise reaches."""
        require_size(self.rows * self.columns, LARGEST_GRID, "the cells", "use larger cells")
        level = float(eps) * self.step
        most = math.log(self.rows * self.columns)
        diameter = level * math.hypot(self.rows - 1, self.columns - 1)
        radius = level * math.hypot(self.rows // 2, self.columns // 2)
        # All weight in the middle is one packing: the radius is never below the packing bound.
        packing = max(0.0, min(most, radius, self._log_packing(level)))
        return GridBounds(diameter, radius, packing, min(packing, self._log_reached(eps)))

    def _log_reached(self, eps: Fraction) -> float:
        """ln of the capacity of planar geometric noise, a mechanism that keeps the promise."""
        found = lattice_sums(eps * self.exact_step)
        reached = (
            self.rows * self.columns * found.origin
            + 2 * (self.rows + self.columns) * found.edge
            + 4 * found.corner
        )
        return max(0.0, math.log(reached))

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
        small = self._small(level)
        high, wide = small.shape
        return small[np.ix_(_nearest(self.rows, high), _nearest(self.columns, wide))]

    def _small(self, level: float) -> FloatArray:
        """The weights of the small map."""
        return _weights(level, tuple(range(min(self.rows, SIDE))), tuple(range(min(self.columns, SIDE))))

    def _spread(self, level: float) -> FloatArray:
        """Weights on some cells all over the map alone, for noise that reaches across it."""
        row, column = _evenly(self.rows), _evenly(self.columns)
        weights = np.zeros((self.rows, self.columns))
        weights[np.ix_(row, column)] = _weights(level, row, column)
        return weights

    def _sums(self, weights: FloatArray, level: float) -> FloatArray:
        """Σ_j e^(-ε·d(i,j))·y_j at every cell, less what rounding may have added."""
        shape = tuple(next_fast_len(2 * size - 1, real=True) for size in (self.rows, self.columns))
        steps = [np.minimum(np.arange(size), size - np.arange(size)) for size in shape]
        with np.errstate(over="ignore"):
            around = np.exp(-level * np.hypot(steps[0][:, None].astype(np.float64), steps[1]))
        sums = irfft2(rfft2(weights, shape) * rfft2(around), shape)[: self.rows, : self.columns]
        # As in `channels._plane_products`: the transforms are off by a few units for each halving.
        size = float(np.sqrt((weights**2).sum()))
        error = 16 * UNIT * (math.log2(around.size) + 4) * size * float(np.sqrt((around**2).sum()))
        return np.asarray(sums - error)

    def guess(self, eps: Fraction, prior: FloatArray) -> tuple[float, float, MapLeakageProof | None]:
        """Ends of the best guess for a prior over the cells, and their proof."""
        before, level = float(prior.max()), float(eps) * self.step
        given = prior.reshape(self.rows, self.columns)
        believed = self._believed(given, level)
        upper = self._grown(eps, before, believed)
        if believed < upper:
            reach = self._reach(given.shape, 1, level)
            options = [] if reach is None else [Spread((1, 1), None, reach)]
        else:
            options = list(self._spreads(level))
        proof = self._proof(eps, options, min(upper, believed), prior=given)
        if proof is None:
            # Planar noise is at least as good as none.
            return before, min(upper, believed), None
        lower, proved = proof.bounds()
        return rounded_to(lower, down=True), rounded_to(proved, down=False), proof

    def upper(self, eps: Fraction, prior: FloatArray, enough: float = 0.0) -> float:
        """The upper end of `guess` without the proof; any bound where all are at least `enough`."""
        believed = self._believed(prior.reshape(self.rows, self.columns), float(eps) * self.step)
        needed = min(believed, enough) if enough > 0 else believed
        return min(1.0, believed, self._grown(eps, float(prior.max()), needed))

    def _believed(self, given: FloatArray, level: float) -> float:
        """ε adds up: no belief in x exceeds π_x / Σ_u π_u·e^(-ε·d(x,u))."""
        around = np.maximum(self._sums(given, level), given)
        possible = given > 0
        return float((given[possible] / around[possible]).max())

    def _grown(self, eps: Fraction, before: float, enough: float) -> float:
        """The guess by the packing bound; 1 where that is at least what planar noise reaches, so no help."""
        require_size(self.rows * self.columns, LARGEST_GRID, "the cells", "use larger cells")
        if enough <= before * Bound(self._log_reached(eps)).factor:
            return 1.0
        return min(1.0, before * Bound(self.bounds(eps).packing).factor)

    def proof(self, eps: Fraction, packing: float, records: int = 1) -> MapLeakageProof | None:
        """The proof of both ends of the capacity; None where one as good as `packing` is too long."""
        found = _proof_of_one(self, eps, packing)
        return None if found is None else replace(found, copies=records)

    def _proof(
        self, eps: Fraction, options: list[Spread], most: float, prior: FloatArray | None = None
    ) -> MapLeakageProof | None:
        """The least of several proofs, where it is as good as what was computed."""
        step = self.exact_step
        terms = None if eps * step < POISSON else math.ceil(NEGLIGIBLE / (eps * step))
        proofs = [
            MapLeakageProof(eps, step, self.rows, self.columns, spread, terms, prior) for spread in options
        ]
        ends = []
        for proof in proofs:
            # Weights that leave a cell uncovered, or a prior with shares that are too small, prove nothing.
            with suppress(ValueError):
                ends.append((proof.bounds()[1], proof))
        best = min(ends, key=lambda pair: pair[0], default=None)
        return None if best is None or best[0] > most * (1 + AS_GOOD) else best[1]

    def _spreads(self, level: float) -> Iterator[Spread]:
        """Weights that may cover the map: of its cells, of some cells all over it, of the middle, of each."""
        yield Spread((self.rows, self.columns), np.ones((1, 1)), 0)
        yield Spread((1, 1), np.ones((1, 1)), 0)
        coarse = max(1, math.ceil((self.rows * self.columns) ** 0.5 / MOST_PRODUCTS**0.25))
        for every in sorted({1, coarse}):
            if every // 2 >= min(self.rows, self.columns) or (every > 1 and level * every / 2 > AS_GOOD):
                continue
            rows, columns = (1 + (size - 1 - every // 2) // every for size in (self.rows, self.columns))
            part = Grid(rows, columns, self.step * every)
            tables = [part._small(level * every)]
            tables += [part._spread(level * every)] if every == coarse else []
            for table in tables:
                reach = self._reach(table.shape, every, level)
                if reach is not None:
                    yield Spread((every, every), table, reach)

    def _reach(self, shape: tuple[int, ...], every: int, level: float) -> int | None:
        """How far sums reach in a check that is short enough; None where too much would be left out."""
        rows, columns = (1 + (size - 1 - every // 2) // every for size in (self.rows, self.columns))
        beyond = NEGLIGIBLE / (level * every) if level else math.inf
        reach = wanted = math.ceil(min(max(rows, columns), beyond, LARGEST_REACH))
        while reach and map_products(shape, (rows, columns), reach) > MOST_PRODUCTS:
            reach = reach * 9 // 10
        far = level * every * reach
        # ∫_r^∞ t²·ρ·e^(-t·ρ) dρ = (1 + t·r)·e^(-t·r)
        left_out = 0.0 if reach == wanted else (1 + far) * math.exp(-far)
        return reach if left_out <= AS_GOOD else None


@lru_cache(maxsize=16)
def _proof_of_one(grid: Grid, eps: Fraction, packing: float) -> MapLeakageProof | None:
    """The proof for one record: several parts of a question ask for it."""
    return grid._proof(eps, list(grid._spreads(float(eps) * grid.step)), Bound(packing).factor)


@lru_cache(maxsize=16)
def _weights(level: float, rows: tuple[int, ...], columns: tuple[int, ...]) -> FloatArray:
    """w ≥ 0 with Σ_j e^(-ε·d(i,j))·w_j near 1 on some rows and columns of cells, alike from either end.

    Mirrored cells have the same weight, so one unknown stands for up to four of them.
    """
    high, wide = (len(rows) + 1) // 2, (len(columns) + 1) // 2
    row, column = (part.ravel() for part in np.meshgrid(rows[:high], columns[:wide], indexing="ij"))
    across, along = np.array(rows)[::-1], np.array(columns)[::-1]
    other_row, other_column = (
        part.ravel() for part in np.meshgrid(across[:high], along[:wide], indexing="ij")
    )
    kernel = np.zeros((len(row), len(row)))
    for r, same_row in ((row, True), (other_row, False)):
        for c, same_column in ((column, True), (other_column, False)):
            # A cell on an axis is its own mirror image, and is counted once.
            counted = np.ones(len(row), dtype=bool)
            counted &= same_row | (r != row)
            counted &= same_column | (c != column)
            away = np.hypot(np.subtract.outer(row, r), np.subtract.outer(column, c))
            with np.errstate(over="ignore"):
                kernel += np.exp(-level * away) * counted
    # Any weights give a bound: the diagonal keeps the system solvable where all cells are nearly alike.
    found = np.linalg.solve(kernel + 1e-10 * np.eye(len(kernel)), np.ones(len(kernel)))
    part = np.maximum(found, 0.0).reshape(high, wide)
    below, right = (np.minimum(np.arange(len(side)), np.arange(len(side))[::-1]) for side in (rows, columns))
    weights = np.asarray(part[np.ix_(below, right)])
    weights.flags.writeable = False
    return weights


def _evenly(size: int) -> tuple[int, ...]:
    """Some places of an axis, evenly spaced and alike from either end."""
    first = np.linspace(0, size - 1, min(size, SIDE))[: (min(size, SIDE) + 1) // 2].round().astype(np.int64)
    return tuple(np.unique(np.concatenate([first, size - 1 - first])).tolist())


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
