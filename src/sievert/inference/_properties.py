"""Properties of records: what is secret and what is of use, as a file names them.

A property turns the rows of a table into labels: the entries of a column, whether a condition on columns
holds, the interval that a number falls into, or how many of several columns hold a value.
"""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError

from sievert.arrays import BoolArray, IndexArray
from sievert.errors import PolicyError
from sievert.kinds import ConfigType, Finite, Section, Value, variant
from sievert.numerics import abbreviated, did_you_mean
from sievert.spaces import label, shown

__all__ = ["Columns", "Property", "property_of", "ranked"]

Columns = Mapping[str, Sequence[Any]]
# A property of each row: the labels there are, and the position of each row's own.
Labelled = tuple[tuple[Hashable, ...], IndexArray]


class Range(Section):
    """Which numbers of a column are meant: all that keep every limit given."""

    least: Annotated[Finite | None, Field(description="this number or more")] = None
    most: Annotated[Finite | None, Field(description="this number or less")] = None
    above: Annotated[Finite | None, Field(description="more than this number")] = None
    below: Annotated[Finite | None, Field(description="less than this number")] = None

    def holds(self, values: Sequence[Any], column: str) -> BoolArray:
        """Which entries lie in the range."""
        numbers = _numbers(values, column)
        found = np.ones(len(numbers), dtype=bool)
        if self.least is not None:
            found &= numbers >= self.least
        if self.most is not None:
            found &= numbers <= self.most
        if self.above is not None:
            found &= numbers > self.above
        if self.below is not None:
            found &= numbers < self.below
        return found


class Property(ConfigType, noun="property"):
    """What is secret, or of use, about a record."""

    text_key = "column"
    text_words = "the name of a column"

    @abstractmethod
    def labelled(self, columns: Columns) -> Labelled:
        """The labels that occur, in their order, and which of them each row has."""

    @abstractmethod
    def words(self) -> str:
        """What reports call it."""


@variant(Property, key="column")
class ColumnProperty(Property):
    """The entry of a column, or with `bins` the interval it lies in."""

    column: Annotated[str, Field(description="the column")]
    bins: Annotated[
        list[Finite] | None,
        Field(description="numbers at which intervals begin, rising; the last one begins what is above"),
    ] = None

    def labelled(self, columns: Columns) -> Labelled:
        values = _column(columns, self.column)
        if self.bins is None:
            return ranked(values)
        edges = np.asarray(self.bins, dtype=np.float64)
        if len(edges) < 1 or (np.diff(edges) <= 0).any():
            raise PolicyError(
                f"bins is {abbreviated(self.bins)}; give rising numbers at which intervals begin"
            )
        numbers = _numbers(values, self.column)
        place = np.searchsorted(edges, numbers, side="right")
        shown_edges = [_edge(edge) for edge in self.bins]
        names = [f"below {shown_edges[0]}"]
        names += [f"{low} to below {high}" for low, high in itertools.pairwise(shown_edges)]
        names.append(f"{shown_edges[-1]} or more")
        used = np.unique(place)
        return tuple(names[i] for i in used.tolist()), np.searchsorted(used, place)

    def words(self) -> str:
        return self.column


@variant(Property, key="where")
class WhereProperty(Property):
    """Whether every condition on the columns holds: yes or no."""

    where: Annotated[
        dict[str, bool | Value | Range],
        Field(description="for each column a value, a list of values, or a range of numbers"),
    ]
    name: Annotated[str | None, Field(description="what reports call it")] = None

    def labelled(self, columns: Columns) -> Labelled:
        if not self.where:
            raise PolicyError("where names no column; give a condition, such as where = { age = 65 }")
        found: BoolArray | None = None
        for column, wanted in self.where.items():
            holds = _holds(_column(columns, column), wanted, column)
            found = holds if found is None else found & holds
        assert found is not None
        if not found.any() or found.all():
            which = "nothing" if not found.any() else "every row"
            raise PolicyError(
                f"where = {abbreviated(self.spelled()['where'])} matches {which}, so that there is "
                f"nothing to "
                "guess; "
                "give a condition that some rows have and others do not"
            )
        return ("no", "yes"), found.astype(np.intp)

    def words(self) -> str:
        return self.name or " and ".join(_condition(*item) for item in self.where.items())


@variant(Property, key="count")
class CountProperty(Property):
    """How many of several columns hold a value: the tally of a database whose records are columns."""

    count: Annotated[list[str], Field(description="the columns that are counted")]
    of: Annotated[Value, Field(description="the value that counts, or a list of them")]

    def labelled(self, columns: Columns) -> Labelled:
        if not self.count:
            raise PolicyError("count names no column; give those that are counted")
        tally = sum(_holds(_column(columns, name), self.of, name).astype(np.intp) for name in self.count)
        return tuple(range(len(self.count) + 1)), np.asarray(tally, dtype=np.intp)

    def words(self) -> str:
        return f"how many of {shown(self.count)} are {abbreviated(self.of)}"


def _edge(value: float) -> str:
    """An edge of bins with as many digits as tell it from every other."""
    short = f"{value:g}"
    return short if float(short) == value else repr(float(value))


def property_of(given: object, argument: str) -> Property:
    """The property that a column's name, or a table as in a file, stands for."""
    raw = dict(given) if isinstance(given, Mapping) else given
    try:
        found: Property = Property.resolve(raw)
    except ValidationError as problem:
        detail = problem.errors()[0]
        place = ".".join(str(part) for part in detail["loc"])
        choices = detail.get("ctx", {}).get("choices") or ()
        last = detail["loc"][-1] if detail["loc"] else None
        why = detail["msg"] or f"there is no such key{did_you_mean(last, choices)}"
        raise PolicyError(
            f"{argument}{f', key {place}' if place else ''} is {abbreviated(detail['input'])}: {why}; give "
            'the name of a column, or a table such as {"where": {"age": {"least": 65}}}'
        ) from None
    return found


def ranked(values: Sequence[Any]) -> Labelled:
    """The distinct values, numbers in their order and texts as they first occur, and each row's place."""
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.dtype.kind in "iufb":
        distinct, place = np.unique(array, return_inverse=True)
        return tuple(label(item) for item in distinct.tolist()), np.asarray(place, dtype=np.intp)
    position: dict[Hashable, int] = {}
    place = np.empty(len(values), dtype=np.intp)
    for row, item in enumerate(values):
        if item is None:
            raise PolicyError(f"row {row + 1} has no value; leave rows out that do not say")
        place[row] = position.setdefault(label(item), len(position))
    names = tuple(position)
    if all(isinstance(name, int | float) for name in names):
        order = sorted(range(len(names)), key=lambda i: names[i])  # type: ignore[arg-type,return-value]
        moved = np.empty(len(names), dtype=np.intp)
        moved[order] = np.arange(len(names))
        return tuple(names[i] for i in order), moved[place]
    return names, place


def _column(columns: Columns, name: str) -> Sequence[Any]:
    if name not in columns:
        raise PolicyError(
            f"the table has no column {abbreviated(name)}{did_you_mean(name, columns)}; its columns are "
            f"{shown(list(columns))}"
        )
    return columns[name]


def _numbers(values: Sequence[Any], column: str) -> Any:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.array([np.nan])
    if not np.isfinite(array).all():
        raise PolicyError(
            f"column {abbreviated(column)} has entries that are no numbers; a range needs numbers"
        )
    return array


def _holds(values: Sequence[Any], wanted: Any, column: str) -> BoolArray:
    if isinstance(wanted, Range):
        return wanted.holds(values, column)
    members = {label(item) for item in wanted} if isinstance(wanted, list) else {label(wanted)}
    return np.fromiter((label(item) in members for item in values), dtype=bool, count=len(values))


def _condition(column: str, wanted: Any) -> str:
    if isinstance(wanted, Range):
        signs = {"least": "≥", "most": "≤", "above": ">", "below": "<"}
        limits = [(name, getattr(wanted, name)) for name in signs]
        return " and ".join(f"{column} {signs[name]} {at:g}" for name, at in limits if at is not None)
    if isinstance(wanted, list):
        return f"{column} is one of {', '.join(map(str, wanted))}"
    return f"{column} is {wanted}"
