"""What a file says about the policy, and what it can name as a query."""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, cast

from pydantic import Field, TypeAdapter, model_validator

from sievert.constraints import PublicKnowledge
from sievert.errors import FileError, QueryError
from sievert.kinds import ConfigType, Finite, Positive, PublicPath, Section, Value, variant
from sievert.numerics import abbreviated, did_you_mean
from sievert.policies._additive import Count, Histogram, Sum
from sievert.policies._policy import Policy
from sievert.policies._query import Query
from sievert.policies._query_forms import QueryForm, Record, TabulatedQuery, as_number
from sievert.policies._statistic import (
    Statistic,
    statistic_of_cells,
    statistic_of_groups,
    statistic_of_values,
)
from sievert.spaces import KnownLabels, LabelledTable, Secrets, ValuesConfig, label, label_in, worded

if TYPE_CHECKING:
    from sievert.policies._statistic_configs import GridConfig

__all__ = [
    "PolicyModel",
    "QueryConfig",
    "QueryTable",
    "column_index",
    "grouped",
    "number_at",
    "require_parts",
]


class PolicyModel(Section):
    """[policy]: what must stay hidden."""

    values: Annotated[ValuesConfig | None, Field(description="what a record can be")] = None
    secrets: Annotated[
        Secrets, Field(description="which values must not be told apart, or how far apart they are")
    ] = Field(default_factory=lambda: Secrets.resolve("complete"))
    records: Annotated[Positive, Field(description="how many records a database has")] = 1
    adjacency: Annotated[
        Literal["replace", "add-remove"],
        Field(
            description="neighbours differ in one record's value, or (a record may be absent) in its presence"
        ),
    ] = "replace"
    person_records: Annotated[
        Positive,
        Field(
            description="how many records may belong to one person; it multiplies the total ε, and "
            "`[accept]` is about them all"
        ),
    ] = 1
    permitted: Annotated[PublicKnowledge | None, Field(description="what everybody knows already")] = None

    def policy(self) -> Policy:
        """The policy that the table describes."""
        built = self._unconstrained()
        if self.permitted is None:
            return built
        return dataclasses.replace(built, permitted=self.permitted.constraints(built.values, built.records))

    def _unconstrained(self) -> Policy:
        """The policy before public knowledge."""
        found = Policy(self.secrets.over(self.values), self.records, person_records=self.person_records)
        if self.adjacency == "replace":
            return found
        if not self.secrets.allows_absence:
            raise FileError('adjacency: "add-remove" goes with secrets = "complete"')
        return Policy.differential(found.values, self.records, self.adjacency, self.person_records)


# ── Queries ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclasses.dataclass(frozen=True)
class QueryTable:
    """A table that a query adds up over all records, one of several perhaps.

    Attributes
    ----------
    words : what it is
    statistic : what each value adds to which cell
    part : of the query's share of ε
    order : for a quantile, where its values lie on its grid
    mean : for the sum of a mean over a private number of records: what was taken from every value, the least
        and the greatest value; the number of records is the next table
    """

    words: str
    statistic: Statistic
    part: Fraction = Fraction(1)
    order: GridConfig | None = None
    mean: tuple[Fraction, Fraction, Fraction] | None = None


class QueryConfig(ConfigType, noun="query"):
    """What is computed before noise."""

    tables_only = True
    takes_several = True
    default = "record"
    homes = ("sievert.policies._config", "sievert.policies._statistic_configs")
    elsewhere: ClassVar[Mapping[str, str]] = {
        "average": 'it is called "mean" here',
        "median": 'use kind = "quantile" with q = 0.5',
    }
    # What is known of its form without the data: nothing, where it is any function.
    form: ClassVar[type[QueryForm]] = TabulatedQuery

    name: Annotated[str | None, Field(description="among several queries: what its rows are called")] = None
    share: Annotated[
        str | float | int | None,
        Field(
            description="among several queries: its share of ε; all add up to 1, and are equal unless given"
        ),
    ] = None

    @classmethod
    def resolve(cls, raw: Any, context: Any = None) -> Self:
        """The kind that a table names; a list of tables is several queries at once."""
        if isinstance(raw, list) and cls is QueryConfig:
            from sievert.policies._statistic_configs import QueryListConfig

            # pydantic says which of the tables is wrong.
            parts = TypeAdapter(list[QueryConfig]).validate_python(raw, context=context)
            return cast("Self", QueryListConfig(parts=parts))
        return super().resolve(raw, context)

    @property
    def is_unlisted(self) -> bool:
        """Whether its answers are never listed: it is released, and asked about, as noise."""
        return False

    @property
    def is_one_table(self) -> bool:
        """Whether its answer is one table with noise in its cells, and nothing else."""
        return self.is_table

    def tables(self, policy: Policy, columns: Sequence[str], drops: bool = False) -> list[QueryTable]:
        """The tables over all records that it adds up; rows may be left out where the release drops some."""
        found = self.query(policy, columns).statistic(policy)
        if found is None:
            raise QueryError(
                'query: is not computed over data; use kind = "count", "sum", "mean", "quantile" or '
                '"histogram"'
            )
        return [QueryTable(found.words, found)]

    @property
    def is_record(self) -> bool:
        """Whether the answer is the record itself."""
        return self.form.is_record

    @property
    def is_histogram(self) -> bool:
        """Whether the answer is how many records have each value."""
        return self.form.is_histogram

    @property
    def is_total(self) -> bool:
        """Whether the answer is a number that each record adds to."""
        return self.form.is_total

    @property
    def is_table(self) -> bool:
        """Whether all records add up to the answer: a count, a sum or a histogram."""
        return self.is_total or self.is_histogram

    def query(self, policy: Policy, columns: Sequence[str] = ()) -> Query:
        """The query; `columns` names the parts of a record whose values are lists."""
        require_parts(policy, columns)
        return self.over(policy, columns)

    @abstractmethod
    def over(self, policy: Policy, columns: Sequence[str]) -> Query:
        """The query over the databases of a policy, with a part of each value for each column."""

    def counted_by(self, columns: Sequence[str]) -> list[str]:
        """The columns by which records are counted."""
        return list(columns)

    @property
    def names_columns(self) -> bool:
        """Whether it says itself by which columns records are counted."""
        return False


def require_parts(policy: Policy, columns: Sequence[str]) -> None:
    """Where [data] names several columns, each value is a list with an entry for each of them."""
    if len(columns) < 2:
        return
    values: Sequence[Any] = policy.values
    if set(map(type, values)) == {tuple} and set(map(len, values)) == {len(columns)}:
        return
    for value in policy.values:
        if not isinstance(value, tuple) or len(value) != len(columns):
            if value == policy.absent:
                continue
            raise FileError(
                f"data.column names {len(columns)} columns ({', '.join(columns)}) but policy.values has "
                f"{abbreviated(value)}; write the values of each column, values = {{ product = [[…], "
                f"[…]] }}, or "
                "lists with an entry for each column"
            )


def column_index(name: str, columns: Sequence[str], key: str, others: Sequence[str] = ()) -> int:
    """The position of a column among those of [data]; `others` could stand in its place."""
    if name not in columns:
        raise FileError(
            f"{key}: {abbreviated(name)} is not one of the columns of [data] "
            f"({', '.join(columns) or 'none'}); "
            f"name it there under column{did_you_mean(name, [*columns, *others])}"
        )
    return list(columns).index(name)


@variant(QueryConfig, "record")
class RecordQueryConfig(QueryConfig):
    """The record itself: each row is released for itself."""

    form = Record

    def over(self, policy: Policy, columns: Sequence[str]) -> Query:
        return Query.record()


class Bounds(Section):
    """Numbers within bounds, these included."""

    at_least: Annotated[Finite | None, Field(description="the least number")] = None
    at_most: Annotated[Finite | None, Field(description="the greatest number")] = None

    @model_validator(mode="after")
    def _some_bound(self) -> Self:
        if self.at_least is None and self.at_most is None:
            raise ValueError("give at_least, at_most or both: which values are counted?")
        return self

    def query(self) -> Query:
        """How many records are within the bounds; only numbers can be compared with them."""
        low = -math.inf if self.at_least is None else self.at_least
        high = math.inf if self.at_most is None else self.at_most
        counted = partial(_between, low, high)
        given = (("at least", self.at_least), ("at most", self.at_most))
        words = " and ".join(f"{name} {bound:g}" for name, bound in given if bound is not None)
        return dataclasses.replace(Query.count(counted), words=f"the number of records that are {words}")


def _between(low: float, high: float, value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise QueryError(
            f"where: the value {value!r} is not a number, so at_least and at_most cannot be compared "
            "with it; list the values that are counted instead"
        )
    return low <= value <= high


Condition = Annotated[Value | list[Value] | Bounds, Field(union_mode="left_to_right")]


@variant(QueryConfig, "count")
class CountConfig(QueryConfig):
    """How many records satisfy a condition."""

    form = Count
    where: Annotated[
        Value | list[Value] | Bounds | Annotated[dict[str, Condition], Field(min_length=1)],
        Field(
            union_mode="left_to_right",
            description="the value or values that are counted, bounds, or a table of conditions on columns, "
            "all of which hold",
        ),
    ]

    def over(self, policy: Policy, columns: Sequence[str]) -> Query:
        if not isinstance(self.where, dict):
            return _count(self.where)
        bounds = tuple(Bounds.model_fields)
        # Beside a bound that is misspelt the other is no column either.
        for name in sorted(self.where, key=lambda name: name in bounds):
            column_index(name, columns, "where", bounds)
        conditions = {column_index(name, columns, "where"): _count(part) for name, part in self.where.items()}
        counts = {place: _contribution(query) for place, query in conditions.items()}
        counted = partial(_all_hold, counts, len(columns) > 1)
        described = (
            f"{columns[place]} {query.words.removeprefix('the number of records that are ')}"
            for place, query in conditions.items()
        )
        words = f"the number of records with {' and '.join(described)}"
        return dataclasses.replace(Query.count(counted), words=words)


def _all_hold(counts: Mapping[int, Callable[[Hashable], Any]], several: bool, value: Any) -> bool:
    parts = value if several else (value,)
    return all(count(parts[place]) for place, count in counts.items())


def _count(condition: Any) -> Query:
    """How many records satisfy a condition on the value."""
    if isinstance(condition, Bounds):
        return condition.query()
    listed = isinstance(condition, list)
    return Query.count([label(value) for value in condition] if listed else condition)


def _contribution(query: Query) -> Callable[[Hashable], Any]:
    assert isinstance(query.form, Count)
    return query.form.contribution


@variant(QueryConfig, "sum")
class SumConfig(QueryConfig):
    """The sum of the values, or of one column of them; in every group of other columns, where asked."""

    form = Sum
    of: Annotated[str | None, Field(description="the column that is summed, where there are several")] = None
    by: Annotated[
        str | list[str] | None, Field(description="the columns whose groups are summed each for itself")
    ] = None

    @property
    def is_total(self) -> bool:
        return self.by is None

    @property
    def is_table(self) -> bool:
        return True

    @property
    def is_unlisted(self) -> bool:
        return self.by is not None

    @property
    def names_columns(self) -> bool:
        return self.by is not None

    def over(self, policy: Policy, columns: Sequence[str]) -> Query:
        place = summed_column(self.of, columns, "sum", self.by)
        if self.by is not None:
            by = _listed_columns(self.by)
            words = f"the sum of {columns[place]} by {', '.join(by)}"
            return Query(words, TabulatedQuery(function=partial(_unlisted, "sum", tuple(by), tuple(columns))))
        if not columns:
            return Query.sum()
        part = partial(number_at, place) if len(columns) > 1 else as_number
        return Query(f"the sum of {columns[place]}", Sum(part))

    def tables(self, policy: Policy, columns: Sequence[str], drops: bool = False) -> list[QueryTable]:
        if self.by is None:
            return super().tables(policy, columns, drops)
        place = summed_column(self.of, columns, "sum", self.by)
        words = f"the sum of {columns[place]} by {', '.join(_listed_columns(self.by))}"
        numbers = [number_at(place, value) for value in present_values(policy)]
        return [QueryTable(words, grouped(policy, columns, self.by, numbers, words))]


def summed_column(
    of: str | None, columns: Sequence[str], what: str, by: str | list[str] | None = None
) -> int:
    """The place of the column that is added up."""
    if not columns:
        if of is not None:
            column_index(of, columns, "of")
        if by is not None:
            column_index(_listed_columns(by)[0], columns, "by")
        return 0
    if of is None and len(columns) > 1:
        raise FileError(
            f"a {what} needs of where records have the columns {', '.join(columns)}: which one is "
            f'{"summed" if what == "sum" else "meant"}? Add of = "{columns[-1]}"'
        )
    return 0 if of is None else column_index(of, columns, "of")


def number_at(place: int, value: Any) -> Any:
    """The number in one column of a value, or the value itself."""
    return as_number(value[place] if isinstance(value, tuple) else value)


def present_values(policy: Policy) -> Sequence[Hashable]:
    """The values of a record that is there."""
    return policy.values[policy.absent is not None :]


def _listed_columns(by: str | list[str]) -> list[str]:
    found = [by] if isinstance(by, str) else by
    twice = [name for name in found if found.count(name) > 1]
    if twice:
        raise FileError(f"by: {abbreviated(twice[0])} is there twice; name each column once")
    return found


def _cells_by(policy: Policy, columns: Sequence[str], by: str | list[str]) -> list[tuple[Hashable, ...]]:
    """For each value of a record that is there, its entries in some columns."""
    places = [column_index(name, columns, "by") for name in _listed_columns(by)]
    parts: Any = present_values(policy)
    parts = parts if len(columns) > 1 else zip(parts, strict=False)
    # Several places give a tuple, one or none only as a slice.
    first = min(places, default=0)
    chosen = itemgetter(*places) if len(places) > 1 else itemgetter(slice(first, first + len(places)))
    return list(map(chosen, parts))


def grouped(
    policy: Policy, columns: Sequence[str], by: str | list[str], numbers: Sequence[Any], words: str
) -> Statistic:
    """The sum of numbers, one for each value of a record that is there, in every group of some columns."""
    cells: list[tuple[Hashable, ...] | None] = [*_cells_by(policy, columns, by)]
    exact = [Fraction(number if type(number) in (int, Fraction) else str(number)) for number in numbers]
    if policy.absent is not None:
        cells, exact = [None, *cells], [Fraction(0), *exact]
    return statistic_of_groups(cells, exact, policy.records, tuple(_listed_columns(by)), words)


@variant(QueryConfig, "histogram")
class HistogramConfig(QueryConfig):
    """How many records have each value, or each combination of some columns."""

    form = Histogram
    by: Annotated[str | list[str] | None, Field(description="the columns it counts by; all unless given")] = (
        None
    )

    @property
    def names_columns(self) -> bool:
        return self.by is not None

    def counted_by(self, columns: Sequence[str]) -> list[str]:
        return list(columns) if self.by is None else [self.by] if isinstance(self.by, str) else self.by

    def over(self, policy: Policy, columns: Sequence[str]) -> Query:
        if self.by is None:
            return Query.histogram()
        by = self.counted_by(columns)
        twice = [name for name in by if by.count(name) > 1]
        if twice:
            raise FileError(f"by: {abbreviated(twice[0])} is there twice; name each column once")
        words = f"how many records there are by {', '.join(by)}"
        if [column_index(name, columns, "by") for name in by] == list(range(len(columns))):
            return Query(words, Histogram())
        return Query(
            words, TabulatedQuery(function=partial(_unlisted, "histogram", tuple(by), tuple(columns)))
        )

    def tables(self, policy: Policy, columns: Sequence[str], drops: bool = False) -> list[QueryTable]:
        if not columns:  # without data, by the values themselves
            return super().tables(policy, columns, drops)
        by = self.counted_by(columns)
        words = f"how many records there are by {', '.join(by)}"
        absent = policy.absent is not None
        if [column_index(name, columns, "query.by") for name in by] == list(range(len(columns))):
            present: Any = present_values(policy)
            cells = present if len(columns) > 1 else [(value,) for value in present]
            return [QueryTable(words, statistic_of_values(cells, absent, tuple(by), words))]
        found = [*([None] if absent else []), *_cells_by(policy, columns, by)]
        return [QueryTable(words, statistic_of_cells(found, tuple(by), words))]


def _unlisted(what: str, by: Sequence[str], columns: Sequence[str], database: Any) -> Hashable:
    raise QueryError(
        f"by: a {what} by {', '.join(by)} of records with the columns {', '.join(columns)} can be "
        "released, but its answers are not listed; to audit it, describe these columns alone"
    )


@variant(QueryConfig, "table")
class TableConfig(QueryConfig):
    """Any function of the database, in a public file."""

    table: Annotated[
        PublicPath, Field(description="a CSV with a column for each record and one for the answer")
    ]

    def over(self, policy: Policy, columns: Sequence[str]) -> Query:
        table: LabelledTable = self.table.table()
        if len(table.header) != policy.records + 1:
            raise FileError(
                f"{self.table}: has {len(table.header)} columns; it needs {policy.records} for the records "
                "and one for the answer"
            )
        known = KnownLabels(policy.values)
        answers: dict[Hashable, Hashable] = {}
        for row in table.rows:
            values = tuple(label_in(known, cell, policy.values, self.table) for cell in row[:-1])
            key = values[0] if policy.records == 1 else values
            if key in answers:
                raise FileError(
                    f"{self.table}: the database {abbreviated(key, worded)} is there twice; give one answer "
                    "for each"
                )
            answers[key] = table.value(row[-1])
        return Query.from_table(answers)
