"""What a file can name as public knowledge: `permitted` of [policy].

A table may hold several rules, and a list several tables; all of them hold. Values are named by their text,
as elsewhere in the file.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from sievert.constraints import _constraint as knowledge
from sievert.constraints._constraint import Constraint
from sievert.errors import FileError
from sievert.kinds import ConfigType, Count, Finite, PublicPath, variant
from sievert.numerics import abbreviated, did_you_mean
from sievert.spaces import KnownLabels, LabelledTable, Labels, shown, worded

__all__ = ["PublicKnowledge"]


class PublicKnowledge(ConfigType, noun="permitted"):
    """What everybody knows already: only databases that satisfy all of it are possible."""

    list_key = "tables"

    @abstractmethod
    def constraints(self, values: Labels, records: int) -> list[Constraint]:
        """What is known about databases of so many records with these values."""


@variant(PublicKnowledge, key="total")
class KnownTotal(PublicKnowledge):
    """What the values add up to."""

    total: Annotated[int | Finite, Field(description="the sum")]
    weights: Annotated[
        dict[str, int | Finite] | list[int | Finite] | None,
        Field(description="what each value counts, or a factor for each record"),
    ] = None

    def constraints(self, values: Labels, records: int) -> list[Constraint]:
        weights: Any = self.weights
        if isinstance(weights, dict):
            weights = _named(weights, values, "permitted.weights")
        return [knowledge.total(self.total, weights)]


Counts = Annotated[dict[str, Count], Field(min_length=1, description="how many records have each")]


@variant(PublicKnowledge, key="histogram")
class KnownHistogram(PublicKnowledge):
    """How many records have each value; values that are not named do not occur."""

    histogram: Counts

    def constraints(self, values: Labels, records: int) -> list[Constraint]:
        return [knowledge.histogram(_named(self.histogram, values, "permitted.histogram"))]


@variant(PublicKnowledge, key="counts")
class KnownCounts(PublicKnowledge):
    """How many records have some of the values, or some values of an attribute."""

    counts: Counts
    attribute: Annotated[
        Count | None, Field(description="which part of values that are lists is counted, from 0")
    ] = None

    def constraints(self, values: Labels, records: int) -> list[Constraint]:
        labels = values if self.attribute is None else _attribute(values, self.attribute)
        return [knowledge.marginals(_named(self.counts, labels, "permitted.counts"), self.attribute)]


@variant(PublicKnowledge, key="databases")
class KnownDatabases(PublicKnowledge):
    """The databases that are possible, in a public file."""

    databases: Annotated[
        PublicPath, Field(description="a row for each database, with a column for each record")
    ]

    def constraints(self, values: Labels, records: int) -> list[Constraint]:
        return [knowledge.listed(_databases(self.databases, values, records))]


@variant(PublicKnowledge, key="tables")
class ListedKnowledge(PublicKnowledge):
    """Several tables, all of which hold."""

    tables: Annotated[list[PublicKnowledge], Field(description="the tables")]

    def constraints(self, values: Labels, records: int) -> list[Constraint]:
        if not self.tables:
            raise FileError("permitted is an empty list; leave it out when nothing is known")
        return [found for table in self.tables for found in table.constraints(values, records)]


class JoinedKnowledge(PublicKnowledge):
    """Several rules of one table, all of which hold."""

    parts: list[PublicKnowledge]

    def constraints(self, values: Labels, records: int) -> list[Constraint]:
        return [found for part in self.parts for found in part.constraints(values, records)]

    def spelled(self, defaults: bool = False) -> dict[str, Any]:
        return {key: item for part in self.parts for key, item in part.spelled(defaults).items()}

    def by_key(self, key: str) -> Iterator[tuple[str, object]]:
        return ((key, part) for part in self.parts)


PublicKnowledge.joined = JoinedKnowledge


def _named(given: Mapping[str, Any], labels: Labels, key: str) -> dict[Hashable, Any]:
    """The mapping with the labels that its keys, texts in TOML, stand for."""
    known = KnownLabels(labels)
    result: dict[Hashable, Any] = {}
    for text, value in given.items():
        item = known.find(text)
        if item is None:
            raise FileError(
                f"{key}: {abbreviated(text)} is not one of {shown(labels)}{did_you_mean(text, labels)}"
            )
        if item in result:
            raise FileError(f"{key}: {abbreviated(item, worded)} is there twice")
        result[item] = value
    return result


def _attribute(values: Iterable[Hashable], attribute: int) -> Labels:
    for value in values:
        if not isinstance(value, tuple) or attribute >= len(value):
            raise FileError(
                f"permitted.attribute is {attribute} but the value {worded(value)} has no such part; values "
                "with attributes are lists, and attributes are numbered from 0"
            )
    return tuple(dict.fromkeys(value[attribute] for value in values))  # type: ignore[index]


def _databases(file: PublicPath, labels: Labels, records: int) -> list[tuple[Hashable, ...]]:
    table: LabelledTable = file.table()
    if len(table.header) != records:
        raise FileError(
            f"{file}: has {len(table.header)} columns but a database has {records} records; give a "
            "row for each permitted database with a value for each record"
        )
    known = KnownLabels(labels)
    rows = []
    for number, row in enumerate(table.rows, start=2):
        values = tuple(known.find(cell) for cell in row)
        if None in values:
            unknown = row[values.index(None)]
            raise FileError(f"{file}, line {number}: {abbreviated(unknown)} is not one of {shown(labels)}")
        rows.append(values)
    return rows
