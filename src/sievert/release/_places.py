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
from sievert.files import PolicyScenario, ReleaseModel
from sievert.numerics import abbreviated
from sievert.release._accuracy import AccuracySummary, errors, reach_of
from sievert.release._fit import Tally, left_out, replaced
from sievert.sampling import Sampler
from sievert.spaces import Region, as_float
from sievert.tables import PLAIN, Batch, DictionaryColumn, Meaning, in_code, read_table

__all__ = ["MapRelease", "Places", "population"]
LARGEST_REMAP = 2000
# Noise further than this many times 1/ε has a probability below 1e-15.
TAIL = 40
# Noise that reaches further than this many cells is measured in the plane instead of on the lattice.
LARGEST_SUM = 400
# Root mean square, mean and quantile of the distance of a released cell, in cells.
Lengths = tuple[float, float, float]


@dataclass(frozen=True)
class MapRelease:
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

    def errors(self, confidence: float) -> AccuracySummary:
        """Metres from a cell to the released one; `radius` adds half a diagonal, for places inside a cell.

        Planar noise is summed before clamping, which only brings it closer. A channel is taken at its worst
        cell, a remap on average over its public weights.
        """
        kept = errors(self.channel, confidence).kept
        found = _lengths(self.channel, self, confidence)
        if found is None:
            return AccuracySummary(None, None, None, kept)
        scale, mean, reach = found
        cell = self.region.cell
        radius = Fraction(math.ceil((reach + math.sqrt(0.5)) * cell))
        return AccuracySummary(scale * cell, mean * cell, radius, kept if self.population is None else None)

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
def _lengths(channel: Channel, place: MapRelease, confidence: float) -> Lengths | None:
    """How far a released cell lies from the true one."""
    return place.matrix_lengths(confidence)


@_lengths.register
def _of_planar(channel: PlanarNoise, place: MapRelease, confidence: float) -> Lengths | None:
    if place.population is not None:
        return place.matrix_lengths(confidence)
    return channel.lengths(confidence)


def population(scenario: PolicyScenario, file: str, region: Region) -> FloatArray:
    """Public weights of the cells from a file of latitude, longitude and weight."""
    return region.weights(read_table(scenario.folder / file), file)


class Places:
    """Cells of latitudes and longitudes, and what to do with those that do not fit."""

    def __init__(
        self, columns: Sequence[str], region: Region, rules: ReleaseModel, meaning: Meaning = PLAIN
    ) -> None:
        self.columns = list(columns)
        self.region, self.rules, self._meaning = region, rules, meaning
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
        texts = [self._meaning.text(batch.columns[name][row]) for name in self.columns]
        return left_out("missing" if any(map(_is_missing, texts)) else "unknown")

    def _numbers(self, batch: Batch, name: str) -> FloatArray:
        """Numbers of a column, NaN where the row is dropped."""
        cells = in_code(batch.columns[name])
        different = cells.values.items
        found = _plain_numbers(different) if not self._meaning.missing else None
        if found is not None:
            return np.asarray(cells.mapped(found))
        texts = self._meaning.texts_of(different, name)
        numbers = [None if text is None else as_float(text) for text in texts]
        found = np.array([math.nan if x is None or math.isinf(x) else x for x in numbers], dtype=np.float64)
        for what in ("missing", "unknown"):
            if getattr(self.rules, what) == "reject":
                empty = np.array([_is_missing(text) for text in texts], dtype=bool)
                wrong = np.isnan(found) & (empty if what == "missing" else ~empty)
                self._refuse_any(cells, wrong, what, batch.first, name)
        return np.asarray(cells.mapped(found))

    def _refuse_any(
        self, cells: DictionaryColumn, wrong: NDArray[np.bool_], what: str, first: int, name: str
    ) -> None:
        """Refuse the first row that has one of these values."""
        if not wrong.any():
            return
        row = int(np.flatnonzero(cells.mapped(wrong))[0])
        problem = (
            "has no value" if what == "missing" else f"has {abbreviated(cells[row])}, which is not a number,"
        )
        raise DataError(
            f"row {first + row} {problem} in the column {name!r}; nothing was released. Correct it, or "
            f'declare under [release] {what} = "drop"'
        )


def _is_missing(text: str | None) -> bool:
    """Whether a text is no number because there is none: where numbers belong, NaN says so too."""
    number = None if text is None else as_float(text)
    return text is None or (number is not None and math.isnan(number))


def _plain_numbers(cells: Sequence[Any]) -> FloatArray | None:
    """Finite numbers at once; None where some cell has to be looked at."""
    kinds = set(map(type, cells))
    if kinds == {str}:
        joined = "".join(cells)
        if "_" in joined or not joined.isascii():
            return None
    elif not kinds <= {int, float}:
        return None
    try:
        found = np.array(cells, dtype=np.float64)
    except (ValueError, OverflowError):
        return None
    return found if np.isfinite(found).all() else None
