"""Places on a map: noise on the cells of a region, and the best guess about where one really was.

Latitude and longitude go to a plane in metres and there to a cell. Planar geometric noise on the lattice of
cells is exactly ε·d-private for the distance d between cell centres (Fernandes 3.13; on the whole lattice the
normaliser is the same everywhere), and clamping to the region costs nothing. Any channel on the cells will
do as well. A remap replaces the noisy cell by the one that is nearest to the truth on average, under a public
prior; it is post-processing, so it costs nothing either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from sievert.arrays import FloatArray, IntArray
from sievert.errors import DataError, FileError
from sievert.files import ReleaseModel, Scenario
from sievert.numerics import brief
from sievert.release._domain import is_missing
from sievert.release._errors import Errors, Randomiser, finite_eps, randomiser
from sievert.sampling import Sampler, planar_geometric
from sievert.spaces import Region, as_float
from sievert.tables import Batch, read_table

__all__ = ["PlaceNoise", "Places", "clamped_planar", "place_noise"]
LARGEST_REMAP = 2000
# Noise further than this many times 1/ε has a probability below 1e-15.
TAIL = 40
LARGEST_WINDOW = 4000
# ε for a cell's width that the exact sampler takes.
LEAST_STEP = Fraction(1, 2**24)
LARGEST_STEP = 700
# Noise that reaches further than this many cells is measured in the plane instead of on the lattice.
LARGEST_SUM = 400


@dataclass(frozen=True)
class PlaceNoise:
    """Noise on the cells of a region: planar geometric, or a channel on the cells."""

    region: Region
    eps: Fraction
    channel: Randomiser | None
    population: FloatArray | None = field(default=None, repr=False)

    @property
    def step_eps(self) -> Fraction:
        """ε for one cell's width."""
        return self.eps * Fraction(str(self.region.cell))

    def sampler(self, timing: Any = "fixed", insecure_rng: object = None) -> Sampler:
        """Cells (row, column) to cells for the planar noise; positions to positions for a channel."""
        if self.channel is not None:
            return self.channel.sampler(timing, insecure_rng)
        rows, columns = self.region.shape
        bounds = ((0, rows - 1), (0, columns - 1))
        return planar_geometric(self.step_eps, bounds=bounds, timing=timing, insecure_rng=insecure_rng)

    def draw(self, sampler: Sampler, cells: IntArray) -> IntArray:
        """Noisy cells for true cells, both as arrays [places, 2]."""
        if not len(cells):
            return cells
        width = self.region.shape[1]
        if self.channel is None:
            noisy = np.asarray(sampler.draw(cells), dtype=np.int64)
        else:
            flat = sampler.draw(cells[:, 0] * width + cells[:, 1])
            noisy = np.stack(np.divmod(flat, width), axis=1)
        if self.remapped is None:
            return noisy
        flat = self.remapped[noisy[:, 0] * width + noisy[:, 1]]
        return np.stack(np.divmod(flat, width), axis=1)

    @cached_property
    def remapped(self) -> IntArray | None:
        """For each noisy cell, the cell at the least expected distance from the truth under the prior."""
        if self.population is None:
            return None
        if len(self.region) > LARGEST_REMAP:
            raise FileError(
                f"release.remap: the region has {len(self.region)} cells; a remap compares all pairs of "
                f"at most {LARGEST_REMAP}: use larger cells"
            )
        likelihood = self._matrix()
        joint = (self.population / self.population.sum())[:, None] * likelihood
        best = np.asarray((self._distances() @ joint).argmin(axis=0), dtype=np.int64)
        possible = joint.sum(axis=0) > 0
        return np.where(possible, best, np.arange(len(best)))

    def _matrix(self) -> FloatArray:
        if self.channel is not None:
            assert self.channel.channel is not None
            return np.asarray(self.channel.channel.matrix, dtype=np.float64)
        return clamped_planar(self.region.shape, float(self.step_eps))

    def errors(self, confidence: float) -> Errors:
        """Metres from a cell to the released one; `radius` adds half a diagonal, for places inside a cell.

        Planar noise is summed before clamping, which only brings it closer. A channel is taken at its worst
        cell, a remap on average over its public weights.
        """
        kept = None if self.channel is None else self.channel.errors(confidence).kept
        if self.channel is None and self.population is None:
            scale, mean, reach = _planar_errors(float(self.step_eps), confidence)
        elif len(self.region) <= LARGEST_REMAP:
            scale, mean, reach = self._matrix_errors(confidence)
        else:
            return Errors(None, None, None, kept)
        cell = self.region.cell
        radius = Fraction(math.ceil((reach + math.sqrt(0.5)) * cell))
        return Errors(scale * cell, mean * cell, radius, kept if self.population is None else None)

    def _matrix_errors(self, confidence: float) -> tuple[float, float, float]:
        """Root mean square, mean and quantile of the distance, in cells."""
        matrix, size = self._matrix(), len(self.region)
        released = np.arange(size) if self.remapped is None else self.remapped
        distance = self._distances()[:, released]
        if self.population is not None:  # one row: a place drawn by the weights, and its release
            matrix = (self.population[:, None] / self.population.sum() * matrix).reshape(1, -1)
            distance = distance.reshape(1, -1)
        order = np.argsort(distance, axis=1)
        mass = np.cumsum(np.take_along_axis(matrix, order, axis=1), axis=1)
        first = (mass < confidence - 1e-12).sum(axis=1).clip(max=distance.shape[1] - 1)
        reach = np.take_along_axis(distance, order, axis=1)[np.arange(len(distance)), first]
        squares = (matrix * distance**2).sum(axis=1).max()
        return math.sqrt(squares), float((matrix * distance).sum(axis=1).max()), float(reach.max())

    def _distances(self) -> FloatArray:
        rows, columns = np.divmod(np.arange(len(self.region)), self.region.shape[1])
        return np.hypot(np.subtract.outer(rows, rows), np.subtract.outer(columns, columns))

    def describe(self) -> str:
        """In words."""
        where = f"on cells of {self.region.cell:g} m"
        after = "" if self.population is None else ", then moved to the likeliest neighbourhood (remap)"
        if self.channel is not None:
            return f"{self.channel.words} {where}{after}"
        noise = f"planar geometric noise, ε = {float(self.eps):g} for each metre"
        return f"{noise}, {where}, clamped to the region{after}"


def place_noise(scenario: Scenario, rules: ReleaseModel) -> PlaceNoise:
    """The mechanism of a file whose policy is about a region."""
    model, region = scenario.document.mechanism, scenario.region
    assert model is not None and region is not None
    if len(scenario.columns) != 2:
        raise FileError('data.column: name two columns, latitude first: column = ["lat", "lon"]')
    if not scenario.document.query.is_record:
        raise FileError('query.kind: places on a map are released one by one; use kind = "record"')
    population = None if rules.remap is None else _population(scenario, rules.remap, region)
    if model.kind == "planar-geometric":
        if model.eps is None:
            raise FileError("mechanism: planar-geometric noise needs eps, nats for each metre")
        noise = PlaceNoise(region, finite_eps(model.eps), None, population)
        _require_drawable(noise)
        return noise
    channel = randomiser(scenario, None, Fraction(0))
    return PlaceNoise(region, channel.eps, channel, population)


def _require_drawable(noise: PlaceNoise) -> None:
    """Planar noise is drawn exactly where a cell's width is neither too much nor too little of ε."""
    if not LEAST_STEP <= noise.step_eps <= LARGEST_STEP:
        raise FileError(
            f"mechanism.eps is {float(noise.eps):g} for each metre, {float(noise.step_eps):.3g} for a cell "
            f"of {noise.region.cell:g} m; planar noise needs {float(LEAST_STEP):.1g} to {LARGEST_STEP} for a "
            "cell: choose another eps, or wider or narrower cells"
        )


def _population(scenario: Scenario, file: str, region: Region) -> FloatArray:
    """Public weights of the cells from a file of latitude, longitude and weight."""
    table = read_table(scenario.folder / file)
    if len(table.header) < 3:
        raise FileError(f"{file}: needs latitude, longitude and weight in each row")
    try:
        numbers = np.array([[float(cell) for cell in row[:3]] for row in table.rows])
    except ValueError as problem:
        raise FileError(f"{file}: {problem}; latitude, longitude and weight must be numbers") from None
    if not np.isfinite(numbers).all() or (numbers[:, 2] < 0).any():
        raise FileError(f"{file}: latitudes, longitudes and weights must be finite, and weights ≥ 0")
    inside = region.contains(numbers[:, 0], numbers[:, 1])
    cells = region.cells(numbers[inside, 0], numbers[inside, 1])
    flat = cells[:, 0] * region.shape[1] + cells[:, 1]
    weights = np.bincount(flat, numbers[inside, 2], minlength=len(region)).astype(np.float64)
    if not weights.sum() > 0:
        raise FileError(f"{file}: gives no weight to any place in the region")
    return weights


def _planar_errors(eps: float, confidence: float) -> tuple[float, float, float]:
    """Root mean square, mean and quantile of the length of planar geometric noise, in cells.

    >>> _planar_errors(2.0, 0.95)
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


def clamped_planar(shape: tuple[int, int], eps: float) -> FloatArray:
    """Planar geometric noise on a grid, clamped to it, as a matrix over its cells row by row (floats).

    >>> matrix = clamped_planar((3, 3), 1.0)
    >>> matrix[4, [4, 1, 0]].tolist()  # the centre to itself, to an edge, to a corner
    [0.153674943737, 0.0894352376844, 0.122146026381]
    """
    rows, columns = shape
    reach = max(rows, columns) + math.ceil(TAIL / eps)
    if reach > LARGEST_WINDOW:
        raise FileError(
            f"release.remap: ε = {eps:.3g} for a cell's width spreads the noise over more than "
            f"{LARGEST_WINDOW} cells; use larger cells"
        )
    offsets = np.arange(-reach, reach + 1)
    weights = np.exp(-eps * np.hypot(*np.meshgrid(offsets, offsets, indexing="ij")))
    weights /= weights.sum()
    matrix = np.empty((rows, columns, rows, columns))
    for r in range(rows):
        by_row = _collapsed(weights, reach - r, rows)
        for c in range(columns):
            matrix[r, c] = _collapsed(by_row.T, reach - c, columns).T
    return matrix.reshape(rows * columns, rows * columns)


def _collapsed(weights: FloatArray, start: int, size: int) -> FloatArray:
    """`size` consecutive rows from `start`, the first and last with everything beyond them added."""
    if size == 1:
        return np.asarray(weights.sum(axis=0, keepdims=True))
    kept = weights[start : start + size].copy()
    kept[0] += weights[:start].sum(axis=0)
    kept[-1] += weights[start + size :].sum(axis=0)
    return kept


class Places:
    """Cells of latitudes and longitudes, and what to do with those that do not fit."""

    def __init__(
        self, columns: Sequence[str], region: Region, rules: ReleaseModel, missing_values: Sequence[str] = ()
    ) -> None:
        self.columns = list(columns)
        self.region, self.rules = region, rules
        self.missing_texts = frozenset(text.strip() for text in missing_values)
        for what in ("missing", "unknown"):
            if getattr(rules, what) not in ("reject", "drop"):
                raise FileError(f'release.{what}: for places it is "reject" or "drop"')

    def cells(self, batch: Batch) -> tuple[IntArray, NDArray[np.bool_]]:
        """Cells [kept rows, 2], and which rows are kept."""
        numbers = np.stack([self._numbers(batch, name) for name in self.columns])
        kept = np.asarray(np.isfinite(numbers).all(axis=0))
        latitude, longitude = numbers[0, kept], numbers[1, kept]
        inside = self.region.contains(latitude, longitude)
        if not inside.all():
            if self.rules.out_of_range == "reject":
                row = int(np.flatnonzero(kept)[np.flatnonzero(~inside)[0]])
                raise DataError(
                    f"row {batch.first + row} has a place outside the region; nothing was released. Correct "
                    'it, or declare under [release] out_of_range = "clamp"'
                )
            if self.rules.out_of_range == "clamp":
                latitude, longitude = self.region.clamp(latitude, longitude)
            else:
                kept[np.flatnonzero(kept)[~inside]] = False
                latitude, longitude = latitude[inside], longitude[inside]
        return self.region.cells(latitude, longitude), kept

    def _numbers(self, batch: Batch, name: str) -> FloatArray:
        """Numbers of a column, NaN where the row is dropped."""
        cells = batch.columns[name]
        try:
            found = np.array(cells, dtype=np.float64)
            if np.isfinite(found).all() and not any(isinstance(cell, str) and "_" in cell for cell in cells):
                return found
        except (TypeError, ValueError):
            pass  # some cells are not numbers; said properly below
        return np.array([self._number(cell, batch.first + i, name) for i, cell in enumerate(cells)])

    def _number(self, cell: Any, row: int, name: str) -> float:
        number = as_float(cell)
        missing = is_missing(cell, self.missing_texts) or (number is not None and math.isnan(number))
        if missing or number is None:
            number = math.nan
        if math.isfinite(number):
            return number
        what = "missing" if missing else "unknown"
        if getattr(self.rules, what) == "drop":
            return math.nan
        problem = "has no value" if missing else f"has {brief(cell)}, which is not a number,"
        raise DataError(
            f"row {row} {problem} in the column {name!r}; nothing was released. Correct it, or declare under "
            f'[release] {what} = "drop"'
        )
