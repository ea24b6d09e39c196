"""Queries over columns: counts with conditions on them, and histograms by some of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Hashable, Sequence
from typing import Any

from sievert.errors import FileError, QueryError
from sievert.files._document import WhereModel
from sievert.numerics import brief, did_you_mean
from sievert.policies import Query
from sievert.spaces import label

__all__ = ["build_count", "column_place", "histogram_by", "sum_of"]


def build_count(where: Any, columns: Sequence[str]) -> Query:
    """How many records satisfy a condition on the value, or conditions on columns that all hold."""
    if isinstance(where, WhereModel):
        return _bounded_count(where)
    if not isinstance(where, dict):
        return Query.count([label(value) for value in where] if isinstance(where, list) else where)
    conditions = {column_place(name, columns, "where"): build_count(part, ()) for name, part in where.items()}

    def counted(value: Any) -> bool:
        parts = value if len(columns) > 1 else (value,)
        return all(query.contribution(parts[i]) for i, query in conditions.items())  # type: ignore[misc]

    described = (
        f"{columns[i]} {query.words.removeprefix('the number of records that are ')}"
        for i, query in conditions.items()
    )
    words = f"the number of records with {' and '.join(described)}"
    return dataclasses.replace(Query.count(counted), words=words)


def column_place(name: str, columns: Sequence[str], key: str) -> int:
    """The position of a column among those of [data]."""
    if name not in columns:
        raise FileError(
            f"{key}: {brief(name)} is not one of the columns of [data] ({', '.join(columns) or 'none'}); "
            f"name it there under column{did_you_mean(name, columns)}"
        )
    return list(columns).index(name)


def histogram_by(by: Sequence[str], columns: Sequence[str]) -> Query:
    """How many records have each combination of some of their columns."""
    places = [column_place(name, columns, "by") for name in by]
    if places == list(range(len(columns))):
        return dataclasses.replace(Query.histogram(), words=f"how many records there are by {', '.join(by)}")

    def table(database: Any) -> Hashable:
        raise QueryError(
            f"by: a histogram by {', '.join(by)} of records with the columns {', '.join(columns)} can be "
            "released, but its answers are not listed; to audit it, describe these columns alone"
        )

    return dataclasses.replace(
        Query.from_table(table), words=f"how many records there are by {', '.join(by)}"
    )


def sum_of(of: str | None, columns: Sequence[str]) -> Query:
    """The sum of one of the columns of a record."""
    if of is None and len(columns) > 1:
        raise FileError(
            f"query: a sum needs of where records have the columns {', '.join(columns)}: which one is "
            f'summed? Add of = "{columns[-1]}"'
        )
    query, place = Query.sum(), 0 if of is None else column_place(of, columns, "of")
    number = query.contribution
    assert number is not None

    def contribution(value: Any) -> Any:
        return number(value[place] if len(columns) > 1 else value)

    return dataclasses.replace(query, contribution=contribution, words=f"the sum of {columns[place]}")


def _bounded_count(where: WhereModel) -> Query:
    """How many records are within bounds; only numbers can be compared with them."""
    low = -math.inf if where.at_least is None else where.at_least
    high = math.inf if where.at_most is None else where.at_most

    def counted(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise QueryError(
                f"where: the value {value!r} is not a number, so at_least and at_most cannot be compared "
                "with it; list the values that are counted instead"
            )
        return low <= value <= high

    given = (("at least", where.at_least), ("at most", where.at_most))
    words = " and ".join(f"{name} {bound:g}" for name, bound in given if bound is not None)
    return dataclasses.replace(Query.count(counted), words=f"the number of records that are {words}")
