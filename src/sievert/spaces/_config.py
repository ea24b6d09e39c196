"""What a file can name as the values of a record, and as what must stay hidden about them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from itertools import product as cartesian
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from sievert.errors import FileError
from sievert.kinds import ConfigType, Finite, NonNegative, Positive, PublicPath, Section, Value, variant
from sievert.numerics import abbreviated, as_fraction, did_you_mean, require_size
from sievert.spaces import metrics, secrets
from sievert.spaces._known import KnownLabels
from sievert.spaces._labels import CheckedLabels, LabelledTable, Labels, Row, label, shown
from sievert.spaces._metric import Metric
from sievert.spaces._regions import Region
from sievert.spaces.secrets import SecretGraph

__all__ = ["MapRegion", "Secrets", "ValuesConfig", "label_in", "number_in"]

# A list of so many values is all that fits into a few GB with what is computed from it.
LARGEST_VALUES = 2_000_000
REGION = (
    "in place of points, `{ south = …, west = …, north = …, east = …, cell = … }`: a rectangle on a map, in "
    "degrees, and the width of its cells in metres; the cells are the values"
)
POINTS = "a public CSV with a label, which is the value, and coordinates in each row"


# ── Values ──────────────────────────────────────────────────────────────────────────────────────────────────


class ValuesConfig(ConfigType, noun="values"):
    """What a record can be."""

    list_key = "list"

    @abstractmethod
    def labels(self) -> Sequence[Hashable]:
        """The values, in the order that lists of the file follow."""


@variant(ValuesConfig, key="list")
class ListedValues(ValuesConfig):
    """The values one by one; a value of several columns is a list."""

    list: Annotated[
        list[Value], Field(description="the values one by one; a value of several columns is a list")
    ]

    def labels(self) -> Sequence[Hashable]:
        return [label(value) for value in self.list]


@variant(ValuesConfig, key="range")
class RangeValues(ValuesConfig):
    """Whole numbers in a range, both ends included."""

    range: Annotated[list[int], Field(description="the first and the last value")]
    step: Annotated[Positive | None, Field(description="every how many-th number is a value")] = None

    @model_validator(mode="after")
    def _reaches_its_end(self) -> Self:
        if len(self.range) != 2 or self.range[0] > self.range[1]:
            raise ValueError(f"range is {abbreviated(self.range)}; give [first, last] with first ≤ last")
        if self.step is not None and (self.range[1] - self.range[0]) % self.step:
            raise ValueError(
                f"range is {abbreviated(self.range)}, and step = {abbreviated(self.step)} does not "
                f"reach the end; "
                "give a last value that is a whole number of steps above the first"
            )
        return self

    def labels(self) -> Sequence[Hashable]:
        (first, last), step = self.range, self.step or 1
        _require_values((last - first) // step + 1, "range")
        return range(first, last + 1, step)


@variant(ValuesConfig, key="interval")
class IntervalValues(ValuesConfig):
    """Real numbers of an interval, on the grid of its equal cells: both ends and all borders."""

    interval: Annotated[
        list[Finite], Field(min_length=2, max_length=2, description="its two ends, such as `[0.0, 1.0]`")
    ]
    cells: Annotated[Positive, Field(description="how many equal cells; there is one value more")]

    @model_validator(mode="after")
    def _not_empty(self) -> Self:
        if self.interval[0] >= self.interval[1]:
            raise ValueError(
                f"interval is {abbreviated(self.interval)}, which is empty; give [least, greatest]"
            )
        return self

    def labels(self) -> Sequence[Hashable]:
        _require_values(self.cells + 1, "interval")
        low, high = (as_fraction(str(end)) for end in self.interval)
        found = [float(low + (high - low) * k / self.cells) for k in range(self.cells + 1)]
        if any(a >= b for a, b in pairwise(found)):
            raise FileError(
                f"cells: {self.cells} cells of the interval {abbreviated(self.interval)} are narrower "
                f"than floats "
                "tell apart; use fewer"
            )
        return found


@variant(ValuesConfig, key="file")
class CodebookValues(ValuesConfig):
    """The values in a column of a public codebook."""

    file: Annotated[PublicPath, Field(description="a CSV or Parquet file with a header")]
    column: Annotated[str | None, Field(description="its column; the first unless given")] = None

    def labels(self) -> Sequence[Hashable]:
        table: LabelledTable = self.file.table()
        place = 0
        if self.column is not None:
            if self.column not in table.header:
                raise FileError(
                    f"{self.file}: has no column {abbreviated(self.column)}, but {shown(table.header)}"
                    f"{did_you_mean(self.column, table.header)}"
                )
            place = table.header.index(self.column)
        return [table.value(row[place]) for row in table.rows]


@variant(ValuesConfig, key="product")
class ProductValues(ValuesConfig):
    """All combinations of the values of several columns."""

    product: Annotated[list[ValuesConfig], Field(min_length=1, description="the values of each column")]

    def labels(self) -> Sequence[Hashable]:
        parts = [part.labels() for part in self.product]
        _require_values(math.prod(map(len, parts)), "product")
        if any(len(set(part)) < len(part) for part in parts):
            return list(cartesian(*parts))  # refused with the value that is there twice
        return CheckedLabels.combined(parts)


def _require_values(count: int, rule: str) -> None:
    require_size(count, LARGEST_VALUES, f"values by {rule}", "so use coarser values (step = 1000 in a range)")


# ── Secrets ─────────────────────────────────────────────────────────────────────────────────────────────────


class Secrets(ConfigType, noun="secrets"):
    """Which values of one record must not be told apart, or how far apart they are."""

    elsewhere: ClassVar[Mapping[str, str]] = {
        "dp": 'differential privacy is secrets = "complete" with records'
    }
    # Whether a record may be absent: only where no two values may be told apart.
    allows_absence: ClassVar[bool] = False

    @abstractmethod
    def over(self, values: ValuesConfig | None) -> SecretGraph | Metric:
        """The graph or metric over the values that the file gives, or over those that it names itself."""

    def places(self) -> Region | None:
        """The part of the map whose cells are the values, where they are places."""
        return None


def _given(values: ValuesConfig | None) -> Sequence[Hashable]:
    if values is None:
        raise FileError("values is missing; list the values a record can take")
    return values.labels()


def _agreeing(graph: SecretGraph, values: ValuesConfig | None) -> SecretGraph:
    """A graph that names the values itself, in an order that lists of the file follow."""
    given = graph.nodes if values is None else values.labels()
    if list(given) != list(graph.nodes):
        raise FileError(
            f"values is {shown(given)} but the secrets name {shown(graph.nodes)}; leave values out, or list "
            "the same values in the same order"
        )
    return graph


@variant(Secrets, "complete")
class CompleteSecrets(Secrets):
    """No two values may be told apart: ordinary differential privacy."""

    allows_absence = True

    def over(self, values: ValuesConfig | None) -> SecretGraph:
        return secrets.complete(_given(values))


@variant(Secrets, "line")
class LineSecrets(Secrets):
    """A value and the next may not be told apart."""

    def over(self, values: ValuesConfig | None) -> SecretGraph:
        return secrets.line(_given(values))


@variant(Secrets, "cycle")
class CycleSecrets(Secrets):
    """A value and the next, and the last and the first, may not be told apart."""

    def over(self, values: ValuesConfig | None) -> SecretGraph:
        return secrets.cycle(_given(values))


@variant(Secrets, key="threshold")
class ThresholdSecrets(Secrets):
    """Numbers near each other may not be told apart."""

    threshold: Annotated[NonNegative, Field(description="how far apart such numbers are at most")]

    def over(self, values: ValuesConfig | None) -> SecretGraph:
        return secrets.threshold(_given(values), self.threshold)


@variant(Secrets, key="partition")
class PartitionSecrets(Secrets):
    """Values of the same block may not be told apart; which block is no secret. It names the values."""

    partition: Annotated[
        list[list[Value]] | dict[str, list[Value]],
        Field(description="the blocks, or a table of named blocks"),
    ]

    def over(self, values: ValuesConfig | None) -> SecretGraph:
        return _agreeing(secrets.partition(self.partition), values)


@variant(Secrets, key="edges")
class EdgeSecrets(Secrets):
    """The listed pairs of values may not be told apart."""

    edges: Annotated[
        list[Annotated[list[Value], Field(min_length=2, max_length=2)]], Field(description="the pairs")
    ]

    def over(self, values: ValuesConfig | None) -> SecretGraph:
        return secrets.edges(_given(values), [(label(first), label(second)) for first, second in self.edges])


@variant(Secrets, key="tree")
class TreeSecrets(Secrets):
    """A value and its parent in a hierarchy may not be told apart. It names the values."""

    tree: Annotated[dict[str, str], Field(description="the parent of each value, empty for the root")]

    def over(self, values: ValuesConfig | None) -> SecretGraph:
        graph = secrets.tree({child: parent or None for child, parent in self.tree.items()})
        return _agreeing(graph, values)


# ── Metrics: what is hidden about a value in proportion to a distance ───────────────────────────────────────


@variant(Secrets, key="metric")
class Distance(Secrets, noun="metric"):
    """Values are protected in proportion to their distance."""

    tag = "metric"
    tables_only = True


class MapRegion(Section):
    """Places on a map: a rectangle of latitudes and longitudes in square cells."""

    south: Annotated[float, Field(ge=-80, le=84, description="least latitude, in degrees")]
    west: Annotated[float, Field(ge=-180, le=180, description="least longitude, in degrees")]
    north: Annotated[float, Field(ge=-80, le=84, description="greatest latitude, in degrees")]
    east: Annotated[float, Field(ge=-180, le=180, description="greatest longitude, in degrees")]
    cell: Annotated[float, Field(gt=0, allow_inf_nan=False, description="width of a cell, in metres")]

    @model_validator(mode="after")
    def _a_rectangle(self) -> Self:
        if not self.south < self.north:
            raise ValueError(f"south is {self.south} and north is {self.north}; south must be less")
        if not self.west < self.east:
            raise ValueError(f"west is {self.west} and east is {self.east}; west must be less")
        return self

    def checked(self) -> Region:
        """The region, where its plane is a good map."""
        return Region.checked(**self.model_dump())


@variant(Distance, "euclidean")
class EuclideanDistance(Distance):
    """The straight line between points, or between the cells of a map. It names the values."""

    points: Annotated[PublicPath | None, Field(description=POINTS)] = None
    region: Annotated[MapRegion | None, Field(description=REGION)] = None

    @model_validator(mode="after")
    def _points_or_region(self) -> Self:
        if self.points is not None and self.region is not None:
            raise ValueError("region takes the place of points; give one of them")
        if self.points is None and self.region is None:
            raise ValueError(
                'metric = "euclidean" needs points = "file.csv" with a label and coordinates in each row'
            )
        return self

    def over(self, values: ValuesConfig | None) -> Metric:
        region = self.places()
        if region is not None:
            _refuse(values, "the cells of the region are the values")
            return region.metric()
        assert self.points is not None
        return metrics.euclidean(*_located(self.points, values))

    def places(self) -> Region | None:
        return None if self.region is None else self.region.checked()


@variant(Distance, "manhattan")
class ManhattanDistance(Distance):
    """Along the axes between points. It names the values."""

    points: Annotated[PublicPath, Field(description=POINTS)]

    def over(self, values: ValuesConfig | None) -> Metric:
        return metrics.manhattan(*_located(self.points, values))


@variant(Distance, "line")
class LineDistance(Distance):
    """The difference of two numbers."""

    def over(self, values: ValuesConfig | None) -> Metric:
        return metrics.line(_given(values))  # type: ignore[arg-type]


@variant(Distance, "discrete")
class DiscreteDistance(Distance):
    """1 between any two values."""

    def over(self, values: ValuesConfig | None) -> Metric:
        return metrics.discrete(_given(values))


@variant(Distance, "cycle")
class CycleDistance(Distance):
    """Steps around the cycle of the values."""

    def over(self, values: ValuesConfig | None) -> Metric:
        return secrets.cycle(_given(values)).metric()


def _refuse(values: ValuesConfig | None, named: str) -> None:
    if values is not None:
        raise FileError(f"values: {named}; leave values out")


def _located(file: PublicPath, values: ValuesConfig | None) -> tuple[list[list[float]], list[Hashable]]:
    """Coordinates and labels of the points in a file."""
    _refuse(values, "the points file already names the values")
    table: LabelledTable = file.table()
    if len(table.header) < 2:
        raise FileError(f"{file}: needs a label and at least one coordinate in each row")
    columns = range(1, len(table.header))
    rows = [[number_in(table, row, place, file) for place in columns] for row in table.rows]
    return rows, [table.value(row[0]) for row in table.rows]


def number_in(table: LabelledTable, row: Row, column: int, file: str) -> float:
    """The number in a cell of a public file, whose rows begin with a label."""
    try:
        number = float(row[column])
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise FileError(
            f"{file}: {abbreviated(row[column])} for {abbreviated(row[0])} in column "
            f"{abbreviated(table.header[column])} "
            "is not a number"
        )
    return number


def label_in(known: KnownLabels, cell: object, labels: Labels, file: str) -> Hashable:
    """The expected label that a cell of a public file means."""
    found = known.find(cell)
    if found is None:
        raise FileError(
            f"{file}: {abbreviated(cell)} is not one of {shown(labels)}{did_you_mean(cell, labels)}"
        )
    return found
