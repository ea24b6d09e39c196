"""Means, quantiles and several queries at once, as a file names them.

A mean over a public number of records is a sum in smaller steps; over a private number it is two tables, the
sum about the middle of the range and the number of records. A quantile is chosen on a public grid, by how far
the number of records on either side is from what it should be. Several queries share one ε.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Self

import numpy as np
from pydantic import ConfigDict, Field, field_validator, model_validator

from sievert.arrays import IntArray
from sievert.errors import FileError, QueryError
from sievert.kinds import variant
from sievert.numerics import abbreviated, as_fraction, several
from sievert.policies._config import (
    QueryConfig,
    QueryTable,
    grouped,
    number_at,
    present_values,
    summed_column,
)
from sievert.policies._policy import Policy
from sievert.policies._query import Query
from sievert.policies._query_forms import TabulatedQuery, as_number
from sievert.policies._statistic import Statistic, statistic_of_numbers
from sievert.spaces import ValuesConfig

__all__ = ["GridConfig", "MeanConfig", "QuantileConfig", "QueryListConfig"]

# By how much shares that are written as decimals may miss 1 together.
ROUNDED = Fraction(1, 10**12)


def _unlisted(words: str, database: Any) -> Hashable:
    raise QueryError(f"query: {words} can be released and audited, but its answers are not listed")


class _Computed(QueryConfig):
    """A query that is computed from its tables once they are noisy: released, and never listed."""

    @property
    def is_table(self) -> bool:
        return True

    @property
    def is_unlisted(self) -> bool:
        return True

    @property
    def is_one_table(self) -> bool:
        return False


@variant(QueryConfig, "mean")
class MeanConfig(_Computed):
    """The mean of the values, or of one column; in every group of other columns, where asked.

    Where the number of records is public it divides a noisy sum; where it is private (adjacency
    "add-remove", rows that are dropped, groups) the sum about the middle of the range and the number of
    records each get noise, and half of the ε.
    """

    of: Annotated[str | None, Field(description="the column whose mean is asked for")] = None
    by: Annotated[str | list[str] | None, Field(description="the columns whose groups have a mean each")] = (
        None
    )

    @property
    def names_columns(self) -> bool:
        return self.by is not None

    def counts_records(self, policy: Policy, drops: bool) -> bool:
        """Whether the number of records is private, and gets noise of its own."""
        return self.by is not None or policy.absent is not None or drops

    def over(self, policy: Policy, columns: Sequence[str]) -> Query:
        words = self._words(columns)
        return Query(words, TabulatedQuery(function=partial(_unlisted, words)))

    def tables(self, policy: Policy, columns: Sequence[str], drops: bool = False) -> list[QueryTable]:
        place, words = summed_column(self.of, columns, "mean", self.by), self._words(columns)
        numbers = [as_fraction(str(number_at(place, value))) for value in present_values(policy)]
        if not self.counts_records(policy, drops):
            return [QueryTable(words, _over_all(policy, [n / policy.records for n in numbers], words))]
        middle = (min(numbers) + max(numbers)) / 2
        half, about = Fraction(1, 2), f"sum of {self._of(columns)} - {middle}"
        mean = middle, min(numbers), max(numbers)
        tables: list[QueryTable] = []
        for what, added in (
            (about, [n - middle for n in numbers]),
            ("records", [Fraction(1)] * len(numbers)),
        ):
            if self.by is None:
                statistic = _over_all(policy, added, what)
            else:
                statistic = grouped(policy, columns, self.by, added, what)
            tables.append(QueryTable(what, statistic, half, mean=None if tables else mean))
        return tables

    def _of(self, columns: Sequence[str]) -> str:
        return columns[summed_column(self.of, columns, "mean", self.by)] if columns else "the values"

    def _words(self, columns: Sequence[str]) -> str:
        by = "" if self.by is None else f" by {', '.join([self.by] if isinstance(self.by, str) else self.by)}"
        return f"the mean of {self._of(columns)}{by}"


def _over_all(policy: Policy, numbers: Sequence[Fraction], words: str) -> Statistic:
    """A table of one cell to which each value of a record that is there adds its number."""
    found = [Fraction(0), *numbers] if policy.absent is not None else list(numbers)
    scale = math.lcm(*(number.denominator for number in found))
    whole = [number.numerator * (scale // number.denominator) for number in found]
    return statistic_of_numbers(whole, scale, policy.records, words)


@dataclass(frozen=True)
class GridConfig:
    """A quantile on a public grid.

    Attributes
    ----------
    q : which quantile
    grid : the numbers among which it is chosen, increasing
    below, upto : for each grid point, the first places of the table of positions that are not below it, and
        that are above it: sums of the table before them count the records below, and up to, the point
    """

    q: Fraction
    grid: tuple[Any, ...]
    below: IntArray
    upto: IntArray

    def scores(self, totals: IntArray) -> IntArray:
        """How far each grid point is from the quantile, in records times the denominator of q."""
        sums = np.concatenate([[0], np.cumsum(totals)])
        over = self.q.denominator
        wanted = self.q.numerator * int(sums[-1])
        behind = over * sums[self.below] - wanted
        ahead = wanted - over * sums[self.upto]
        return np.asarray(np.maximum(np.maximum(behind, ahead), 0))


@variant(QueryConfig, "quantile")
class QuantileConfig(_Computed):
    """A quantile of the values, or of one column, chosen on a public grid by the exponential mechanism."""

    q: Annotated[str | float | int, Field(description="which quantile, between 0 and 1: 0.5 is the median")]
    of: Annotated[str | None, Field(description="the column whose quantile is asked for")] = None
    grid: Annotated[
        ValuesConfig | None,
        Field(description="the public numbers among which it is chosen; the policy's values unless given"),
    ] = None

    @field_validator("q")
    @classmethod
    def _inside(cls, given: str | float | int) -> str | float | int:
        try:
            value = _exactly(given)
        except ValueError:
            value = Fraction(0)
        if not 0 < value < 1:
            raise ValueError("q must lie between 0 and 1, these excluded: 0.5 is the median")
        return given

    def over(self, policy: Policy, columns: Sequence[str]) -> Query:
        words = self._words(columns)
        return Query(words, TabulatedQuery(function=partial(_unlisted, words)))

    def tables(self, policy: Policy, columns: Sequence[str], drops: bool = False) -> list[QueryTable]:
        place, words = summed_column(self.of, columns, "quantile"), self._words(columns)
        numbers = [as_fraction(str(number_at(place, value))) for value in present_values(policy)]
        grid = self._points(numbers)
        exact = [as_fraction(str(point)) for point in grid]
        positions = _positions(numbers, exact)
        distinct, cell = np.unique(positions, return_inverse=True)
        places = np.arange(len(exact))
        order = GridConfig(
            _exactly(self.q),
            grid,
            np.searchsorted(distinct, 2 * places + 1),
            np.searchsorted(distinct, 2 * places + 1, side="right"),
        )
        cells = tuple((int(position),) for position in distinct)
        amounts = np.ones(len(cell), np.int64)
        if policy.absent is not None:
            cell, amounts = np.append(0, cell), np.append(0, amounts)
        found = Statistic(("position",), cells, cell.astype(np.int64), amounts, Fraction(1), words)
        return [QueryTable(words, found, order=order)]

    def _points(self, numbers: Sequence[Fraction]) -> tuple[Any, ...]:
        """The grid, which is public: increasing numbers, at least two."""
        if self.grid is None:
            found: tuple[Any, ...] = tuple(
                int(number) if number.denominator == 1 else float(number) for number in sorted(set(numbers))
            )
        else:
            found = tuple(as_number(point) for point in self.grid.labels())
        if len(found) < 2:
            raise FileError(f"grid: has {len(found)} point; a quantile is chosen among two or more")
        for first, second in pairwise(found):
            if not first < second:
                raise FileError(
                    f"grid: {abbreviated(second)} stands after {abbreviated(first)}; grid points must "
                    f"increase"
                )
        return found

    def _words(self, columns: Sequence[str]) -> str:
        of = columns[summed_column(self.of, columns, "quantile")] if columns else "the values"
        return f"the {self.q} quantile of {of}"


def _positions(numbers: Sequence[Fraction], grid: Sequence[Fraction]) -> IntArray:
    """Where numbers lie on a grid: 2i + 1 at its i-th point, even numbers between, before and after."""
    scale = math.lcm(*(n.denominator for n in (*numbers, *grid)))
    whole = [[n.numerator * (scale // n.denominator) for n in part] for part in (numbers, grid)]
    large = max(abs(n) for part in whole for n in part) >= 2**62
    values, points = (np.array(part, dtype=object if large else np.int64) for part in whole)
    left, right = (np.searchsorted(points, values, side=side) for side in ("left", "right"))
    return np.asarray(left + right, dtype=np.int64)


def _exactly(given: str | float | int) -> Fraction:
    """As the file writes it: 0.9 is nine tenths."""
    if isinstance(given, bool):
        raise ValueError("a truth value")
    return as_fraction(str(given) if isinstance(given, float) else given)


class QueryListConfig(_Computed):
    """Several queries of the same records on one ε: [[query]], each with its name and share."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    parts: list[Any]

    @model_validator(mode="after")
    def _named_and_shared(self) -> Self:
        if not self.parts:
            raise ValueError("[[query]] names no query")
        for part in self.parts:
            if not part.is_table:
                raise ValueError(
                    f'kind = "{part.declared()}" is not computed over all records, and several queries are; '
                    "release it by a file of its own"
                )
        names = self.titles
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise ValueError(f"two queries are called {twice[0]!r}; give each [[query]] a name of its own")
        given = [part.share for part in self.parts if part.share is not None]
        if given and len(given) < len(self.parts):
            raise ValueError("give every [[query]] a share, or none: shares add up to 1")
        if given:
            found = _shares(given)
            if sum(found) != 1:
                raise ValueError(
                    f"the shares {several(given)} add up to {float(sum(found)):.12g}; they must "
                    'add up to 1 (write thirds in quotes: share = "1/3")'
                )
        return self

    @property
    def titles(self) -> list[str]:
        """What the queries are called: their kinds, unless named."""
        return [part.name or str(part.declared()) for part in self.parts]

    @property
    def shares(self) -> list[Fraction]:
        """Of ε, each query's."""
        given = [part.share for part in self.parts if part.share is not None]
        return _shares(given) if given else [Fraction(1, len(self.parts))] * len(self.parts)

    @property
    def names_columns(self) -> bool:
        return True

    def over(self, policy: Policy, columns: Sequence[str]) -> Query:
        found = [part.over(policy, columns).words for part in self.parts]
        words = "; ".join(found)
        return Query(words, TabulatedQuery(function=partial(_unlisted, words)))

    def by_key(self, key: str) -> Iterator[tuple[str, object]]:
        for place, part in enumerate(self.parts, start=1):
            yield f"{key}, entry {place}", part

    def spelled(self, defaults: bool = False) -> Any:
        return [part.spelled(defaults) for part in self.parts]


def _shares(given: Sequence[str | float | int]) -> list[Fraction]:
    found = []
    for share in given:
        try:
            value = _exactly(share)
        except ValueError:
            value = Fraction(0)
        if not 0 < value <= 1:
            raise ValueError(
                f"share is {abbreviated(share)}; it must be a number above 0 and at most 1, or a "
                f"fraction in quotes"
            )
        found.append(value)
    total = sum(found, Fraction(0))
    # Decimals of sixteen digits miss what they stand for by their last one.
    return [share / total for share in found] if abs(total - 1) <= ROUNDED else found
