"""Noise on a map: a place is moved to another cell of a region, near ones more often than far ones.

P(z) is proportional to e^(-ε·|z|) on the integer plane, and what leaves the region is clamped to it. So the
chance of an output depends on how many rows and columns it is away, and on whether it lies inside, on a side
or in a corner of the region (`_plane_kernels`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from sievert.arrays import FloatArray, IntArray
from sievert.channels._channel import Channel
from sievert.channels._lattice import Lattice, LatticeSums, lattice_sums
from sievert.channels._laws import EpsilonOrAlpha
from sievert.channels._noise import NoiseChannel
from sievert.channels._plane_kernels import LogKernels
from sievert.channels._plane_products import PlaneProducts
from sievert.channels._structured import StructuredChannel
from sievert.errors import ChannelError, TooLargeError
from sievert.numerics import generator_of, require_size
from sievert.spaces import Region

__all__ = ["PlanarNoise", "PlaneChannel"]

# Cells of a region whose clamped planar noise is listed.
LARGEST_LISTED = 2000
# Cells of a region of which tables are made: some hundred megabytes.
LARGEST_REGION = 4_000_000
# Above this ε for a cell, all noise that is ever seen is simulated from a list.
SHORT = 0.25
# e^-40 of the noise lies beyond the square that is added up; a lattice whose square has more cells on half a
# side is as good as the plane.
TAIL, LARGEST_SUM = 40, 400


class PlanarNoise(NoiseChannel):
    """Noise of P(z) proportional to e^(-ε·|z|) on the cells of a region, clamped to it.

    Parameters
    ----------
    region : the cells
    eps : nats for each metre between the centres of cells
    """

    def __init__(self, region: Region, eps: Fraction) -> None:
        self.region, self.eps = region, eps
        super().__init__()
        step = eps * Fraction(str(region.cell))
        self.level = EpsilonOrAlpha(float(step), None, exact_eps=step)

    @property
    def written(self) -> tuple[str, Fraction]:
        """ε for a cell's width."""
        return self.level.written

    @property
    def sums(self) -> LatticeSums:
        """The chances to stay, to move straight and to move into a quadrant, before clamping."""
        return lattice_sums(self.written[1])

    @property
    def capacity(self) -> float:
        """Σ over outputs of the largest chance: the likeliest cell is the noisy one, clamped to the region.

        w·h·p(0) + 2·(w + h)·e + 4·c. No release multiplies any guess about the place by more.
        """
        rows, columns = self.region.shape
        found = self.sums
        return rows * columns * found.origin + 2 * (rows + columns) * found.edge + 4 * found.corner

    def lengths(self, confidence: float) -> tuple[float, float, float]:
        """Root mean square, mean and quantile of the length of the noise before clamping, in cells."""
        return planar_lengths(self.level.eps, confidence)

    @cached_property
    def lattice(self) -> Lattice:
        """Sums over parts of the plane; refused for ε = 0, where all noise is infinitely far away."""
        if self.level.eps == 0:
            raise ChannelError(
                "eps is 0: every output is as likely from any cell; there is no law to look up"
            )
        return Lattice(self.written[1])

    @cached_property
    def kernels(self) -> LogKernels:
        """The chances of outputs, by distance and by where they lie."""
        require_size(len(self.region), LARGEST_REGION, "the cells of the region", "use larger cells")
        return LogKernels(self.lattice, self.region.shape)

    @cached_property
    def products(self) -> PlaneProducts:
        """Products with the law, without a matrix."""
        return PlaneProducts(self.kernels)

    def rmatvec(self, x: Any) -> FloatArray:
        """The distribution of the outputs for one of the cells, both row by row."""
        given = np.asarray(x, dtype=np.float64).reshape(self.region.shape)
        if self.level.eps == 0:
            return (float(given.sum()) * self._of_nothing()).ravel()
        return self.products.forward(given).ravel()

    def matvec(self, x: Any) -> FloatArray:
        """For every cell the mean of something over its outputs, both row by row."""
        given = np.asarray(x, dtype=np.float64).reshape(self.region.shape)
        if self.level.eps == 0:
            return np.full(given.size, float((given * self._of_nothing()).sum()))
        return self.products.backward(given).ravel()

    def log_probability(self, answer: Any, output: Any) -> float:
        """ln P(output | answer) for cells (row, column) of the region."""
        first, second = self._cell(answer, "answer"), self._cell(output, "output")
        if self.level.eps == 0:
            return float(np.log(self._of_nothing()[second]))
        return float(self.kernels.of(*second)[abs(first[0] - second[0]), abs(first[1] - second[1])])

    def law(self, answer: Any) -> FloatArray:
        """The probability of every cell of the region, [rows, columns], for a place in one cell."""
        return np.exp(self.log_law(answer))

    def log_law(self, answer: Any) -> FloatArray:
        """ln of the probability of every cell of the region, [rows, columns], for a place in one cell."""
        row, column = self._cell(answer, "answer")
        if self.level.eps == 0:
            with np.errstate(divide="ignore"):
                return np.log(self._of_nothing())
        rows, columns = (np.arange(size) for size in self.region.shape)
        return self._entries(np.abs(rows - row), np.abs(columns - column))

    def _entries(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """ln P for outputs in all rows and columns, so many of each away."""
        found = self.kernels.inside[np.ix_(rows, columns)]
        for end in (0, -1):
            found[end] = self.kernels.side_row[rows[end], columns]
            found[:, end] = self.kernels.side_column[rows, columns[end]]
        for row in (0, -1):
            for column in (0, -1):
                found[row, column] = self.kernels.corner[rows[row], columns[column]]
        return found

    def _of_nothing(self) -> FloatArray:
        """ε = 0: a quarter of the plane clamps to each corner."""
        found = np.zeros(self.region.shape)
        for row in (0, -1):
            for column in (0, -1):
                found[row, column] += 0.25
        return found

    def _cell(self, given: Any, argument: str) -> tuple[int, int]:
        found = np.asarray(given)
        if found.shape != (2,) or not self._holds(found):
            rows, columns = self.region.shape
            raise ChannelError(
                f"{argument} is {given!r}; give row and column of one of {rows} by {columns} cells"
            )
        return int(found[0]), int(found[1])

    def _holds(self, cells: NDArray[Any]) -> bool:
        """Whether all cells are of the region."""
        whole = cells.dtype.kind in "iu"
        return bool(whole and (cells >= 0).all() and (cells < np.array(self.region.shape)).all())

    def finite(self) -> Channel:
        """The clamped noise as a matrix over the cells, row by row (floats), for small regions."""
        size = len(self.region)
        if size > LARGEST_LISTED:
            raise TooLargeError(
                f"the region has {size} cells; all pairs of at most {LARGEST_LISTED} are listed: "
                "use larger cells",
                size=size,
            )
        labels = self.region.labels
        matrix = np.stack([self.law(cell).ravel() for cell in labels])
        return Channel(matrix, labels, labels)

    def over_cells(self) -> PlaneChannel:
        """The clamped noise as a channel from the cells to the cells, by its products, for any region."""
        return PlaneChannel(self)

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate noisy cells, [places, 2] (floating point; not for private releases)."""
        generator = generator_of(rng)
        cells = np.asarray(xs)
        if cells.ndim != 2 or cells.shape[1] != 2 or not self._holds(cells):
            cells = np.stack([self._cell(cell, "xs") for cell in xs])
        noise = simulated_noise(self.level.eps, len(cells), generator)
        return np.asarray(np.clip(cells + noise, 0, np.array(self.region.shape) - 1)).astype(np.int64)

    def words(self) -> str:
        """The noise in words."""
        cells = f"on cells of {self.region.cell:g} m, clamped to the region"
        return f"planar geometric noise, ε = {float(self.eps):g} for each metre, {cells}"


class PlaneChannel(StructuredChannel):
    """Planar noise on a region, its cells as inputs and outputs, row by row; no matrix unless asked for."""

    def __init__(self, noise: PlanarNoise) -> None:
        labels, size = noise.region.labels, len(noise.region)
        super().__init__("log", (size, size), labels, labels)
        self.noise = noise

    def _entries(self) -> NDArray[Any]:
        return np.stack([self.noise.log_law(cell).ravel() for cell in self.noise.region.labels])

    def row(self, item: object) -> FloatArray:
        """Output distribution of one cell."""
        return self.noise.law(item).ravel()

    def matvec(self, vector: Any) -> FloatArray:
        """C·v by Fourier transforms; off by no more than `PlaneProducts.error` says."""
        return self.noise.matvec(self._vector(vector, "outputs"))

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C by Fourier transforms; off by no more than `PlaneProducts.error` says."""
        return self.noise.rmatvec(self._vector(vector, "inputs"))

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate noisy cells, [places, 2] (floating point; not for private releases)."""
        return self.noise.sample(xs, rng)

    def __repr__(self) -> str:
        rows, columns = self.noise.region.shape
        return f"Channel({self.noise.words()}, {rows} by {columns} cells)"


def planar_lengths(eps: float, confidence: float) -> tuple[float, float, float]:
    """Root mean square, mean and quantile of the length of planar geometric noise, in cells.

    >>> planar_lengths(2.0, 0.95)
    (1.07766022708, 0.698125404373, 2.2360679775)
    """
    reach = math.ceil(TAIL / eps) if eps > TAIL / LARGEST_SUM else LARGEST_SUM + 1
    if reach > LARGEST_SUM:  # so fine a lattice is as good as the plane
        return math.sqrt(6) / eps, 2 / eps, float(gammaincinv(2, confidence)) / eps
    offsets = np.arange(-reach, reach + 1)
    length = np.hypot(*np.meshgrid(offsets, offsets)).ravel()
    length.sort()
    weights = np.exp(-eps * length)
    weights /= weights.sum()
    place = int(np.searchsorted(np.cumsum(weights), confidence - 1e-12))
    return math.sqrt(weights @ length**2), float(weights @ length), float(length[place])


def simulated_noise(eps: float, count: int, generator: np.random.Generator) -> FloatArray:
    """Displacements [count, 2] of planar noise, in floating point; by a list where the noise is short."""
    if eps == 0:
        return generator.choice([-np.inf, np.inf], (count, 2))
    if eps < SHORT:
        return _rejected(eps, count, generator)
    reach = math.ceil(45 / eps) + 1
    offsets = np.arange(-reach, reach + 1)
    weights = np.exp(-eps * np.hypot(offsets[:, None], offsets[None, :])).ravel()
    drawn = generator.choice(weights.size, count, p=weights / weights.sum())
    cells = np.stack(np.unravel_index(drawn, (len(offsets), len(offsets))), axis=1)
    return np.asarray(cells - reach, dtype=np.float64)


def _rejected(eps: float, count: int, generator: np.random.Generator) -> FloatArray:
    """By rejection from noise on the plane.

    A point x is at most √½ from the lattice point z it is rounded to: e^(-ε·|z|) ≤ e^(ε·√½)·e^(-ε·|x|), and x
    is kept with the ratio of the two sides.
    """
    found, kept = np.empty((count, 2)), 0
    while kept < count:
        size = 2 * (count - kept) + 16
        length = generator.gamma(2.0, 1 / eps, size)
        angle = generator.uniform(0, 2 * np.pi, size)
        cell = np.rint(np.stack([length * np.cos(angle), length * np.sin(angle)], axis=1))
        ratio = np.exp(eps * (length - np.hypot(cell[:, 0], cell[:, 1]) - math.sqrt(0.5)))
        taken = cell[generator.random(size) < ratio][: count - kept]
        found[kept : kept + len(taken)] = taken
        kept += len(taken)
    return found
