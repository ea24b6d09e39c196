"""Places on a map: noise on the cells of a region, and the best guess about where one really was.

Latitude and longitude go to a plane in metres and there to a cell. Planar geometric noise on the lattice of
cells is exactly ε·d-private for the distance d between cell centres (`channels.PlanarNoise`), and clamping to
the region costs nothing. Any channel on the cells will do as well. A remap replaces the noisy cell by the one
that is nearest to the truth on average, under a public prior; it is post-processing, so it costs nothing
either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IntArray
from sievert.channels import Channel, PlanarNoise
from sievert.errors import DataError, FileError, TooLargeError
from sievert.files import ReleaseModel, Scenario
from sievert.numerics import brief
from sievert.release._domain import is_missing
from sievert.release._errors import Errors, errors, reach_of
from sievert.release._fit import Tally, left_out, replaced
from sievert.sampling import Sampler
from sievert.spaces import Region, as_float
from sievert.tables import Batch, Coded, read_table

__all__ = ["OnMap", "Places", "population"]
LARGEST_REMAP = 2000
# Noise further than this many times 1/ε has a probability below 1e-15.
TAIL = 40
# Noise that reaches further than this many cells is measured in the plane instead of on the lattice.
LARGEST_SUM = 400
# Root mean square, mean and quantile of the distance of a released cell, in cells.
Lengths = tuple[float, float, float]


@dataclass(frozen=True)
class OnMap:
    """A channel on the cells of a region, and public weights of the cells where noisy ones are remapped."""

    region: Region
    channel: Channel
    population: FloatArray | None = field(default=None, repr=False)

    def draw(self, sampler: Sampler, cells: IntArray) -> IntArray:
        """Noisy cells for true cells, both as arrays [places, 2]."""
        if not len(cells):
            return cells
        width = self.region.shape[1]
        flat = sampler.draw_positions(cells[:, 0] * width + cells[:, 1])
        released = flat if self.remapped is None else self.remapped[flat]
        return np.stack(np.divmod(released, width), axis=1)

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
        joint = (self.population / self.population.sum())[:, None] * self.matrix
        best = np.asarray((self._distances() @ joint).argmin(axis=0), dtype=np.int64)
        possible = joint.sum(axis=0) > 0
        return np.where(possible, best, np.arange(len(best)))

    @cached_property
    def matrix(self) -> FloatArray:
        """The channel over the cells, row by row."""
        try:
            return self.channel.finite().matrix
        except TooLargeError as problem:
            raise FileError(f"release.remap: {problem}") from None

    def errors(self, confidence: float) -> Errors:
        """Metres from a cell to the released one; `radius` adds half a diagonal, for places inside a cell.

        Planar noise is summed before clamping, which only brings it closer. A channel is taken at its worst
        cell, a remap on average over its public weights.
        """
        kept = errors(self.channel, confidence).kept
        found = _lengths(self.channel, self, confidence)
        if found is None:
            return Errors(None, None, None, kept)
        scale, mean, reach = found
        cell = self.region.cell
        radius = Fraction(math.ceil((reach + math.sqrt(0.5)) * cell))
        return Errors(scale * cell, mean * cell, radius, kept if self.population is None else None)

    def matrix_lengths(self, confidence: float) -> Lengths | None:
        """By all pairs of cells, where these are few."""
        size = len(self.region)
        if size > LARGEST_REMAP:
            return None
        matrix = self.matrix
        released = np.arange(size) if self.remapped is None else self.remapped
        distance = self._distances()[:, released]
        if self.population is not None:  # one row: a place drawn by the weights, and its release
            matrix = (self.population[:, None] / self.population.sum() * matrix).reshape(1, -1)
            distance = distance.reshape(1, -1)
        squares = (matrix * distance**2).sum(axis=1).max()
        mean = float((matrix * distance).sum(axis=1).max())
        return math.sqrt(squares), mean, reach_of(matrix, distance, confidence)

    def _distances(self) -> FloatArray:
        rows, columns = np.divmod(np.arange(len(self.region)), self.region.shape[1])
        return np.hypot(np.subtract.outer(rows, rows), np.subtract.outer(columns, columns))

    def describe(self, channel: str) -> str:
        """In words; `channel` says which one."""
        after = "" if self.population is None else ", then moved to the likeliest neighbourhood (remap)"
        return f"{channel}{after}"


@singledispatch
def _lengths(channel: Channel, place: OnMap, confidence: float) -> Lengths | None:
    """How far a released cell lies from the true one."""
    return place.matrix_lengths(confidence)


@_lengths.register
def _of_planar(channel: PlanarNoise, place: OnMap, confidence: float) -> Lengths | None:
    if place.population is not None:
        return place.matrix_lengths(confidence)
    return channel.lengths(confidence)


def population(scenario: Scenario, file: str, region: Region) -> FloatArray:
    """Public weights of the cells from a file of latitude, longitude and weight."""
    return region.weights(read_table(scenario.folder / file), file)


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

    def cells(self, batch: Batch, tally: Tally | None = None) -> tuple[IntArray, NDArray[np.bool_]]:
        """Cells [kept rows, 2], and which rows are kept; `tally` adds up how they fit."""
        numbers = np.stack([self._numbers(batch, name) for name in self.columns])
        kept = np.asarray(np.isfinite(numbers).all(axis=0))
        fits = np.zeros(batch.size, dtype=np.int64)
        if tally is not None and not kept.all():
            fits[~kept] = [self._reason(batch, place) for place in np.flatnonzero(~kept).tolist()]
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
                fits[np.flatnonzero(kept)[~inside]] = replaced("out_of_range")
            else:
                fits[np.flatnonzero(kept)[~inside]] = left_out("out_of_range")
                kept[np.flatnonzero(kept)[~inside]] = False
                latitude, longitude = latitude[inside], longitude[inside]
        if tally is not None:
            tally.add(fits, None, lambda row: tuple(batch.columns[name][row] for name in self.columns))
        return self.region.cells(latitude, longitude), kept

    def _reason(self, batch: Batch, row: int) -> int:
        """Why a row that has no place is left out."""
        cells = [batch.columns[name][row] for name in self.columns]
        return left_out("missing" if any(map(self._is_missing, cells)) else "unknown")

    def _is_missing(self, cell: Any) -> bool:
        number = as_float(cell)
        return is_missing(cell, self.missing_texts) or (number is not None and math.isnan(number))

    def _numbers(self, batch: Batch, name: str) -> FloatArray:
        """Numbers of a column, NaN where the row is dropped."""
        cells = batch.columns[name]
        different = cells.values.items if isinstance(cells, Coded) else cells
        try:
            found = np.array(different, dtype=np.float64)
            if np.isfinite(found).all() and not any(isinstance(c, str) and "_" in c for c in different):
                return cells.mapped(found) if isinstance(cells, Coded) else found
        except (TypeError, ValueError):
            pass  # some cells are not numbers; said properly below
        return np.array([self._number(cell, batch.first + i, name) for i, cell in enumerate(cells)])

    def _number(self, cell: Any, row: int, name: str) -> float:
        number, missing = as_float(cell), self._is_missing(cell)
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
