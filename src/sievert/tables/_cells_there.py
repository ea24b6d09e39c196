"""The same meaning of a cell (`_cells`), said to a database through Ibis.

A database groups rows by the *value* of a cell, an expression that is equal exactly where the text of the
cell is; what leaves is that value as the database writes it, and `text_from` reads from it the one text that
every reader has. Whose row it is must be the same text in the database itself, since no name leaves it:
`Person.text` writes what `Meaning.person` writes, and refuses what that refuses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from sievert.tables._cells import (
    AFTER,
    BEFORE,
    BLANKS,
    DECIMAL,
    EXPONENT,
    LARGEST_WHOLE,
    Meaning,
    cell_text,
    moment_text,
    refusal,
)
from sievert.tables._databases import Database

__all__ = ["Person", "names_nobody", "person_there", "text_from", "value_there"]


# A moment or a time of day with a time zone, and the day that a time is put on to be moved to UTC.
ZONED = re.compile(r"(\d{4}-\d\d-\d\d[ T])?(\d\d:\d\d:\d\d)(\.\d+)?([+-]\d\d(?::?\d\d){0,2})")
ANY_DAY = "2000-01-01 "
A_DAY = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"


def value_there(database: Database, column: Any) -> Any:
    """What rows are grouped by: equal exactly where the text of the cell is; DataError for no cell."""
    kind = column.type()
    if kind.is_string():
        return database.bytewise(column)
    if kind.is_floating():
        # NaN is missing, and −0 is 0.
        whole = (column == 0).ifelse(0.0, column).cast(kind)
        return column.isnan().ifelse(None, whole)
    if (kind.is_decimal() and kind.scale is None) or kind.is_unknown() or kind.is_uuid():
        return column.cast("string")  # 1.5 and 1.50 are equal, but other texts
    if kind.is_integer() or kind.is_decimal() or kind.is_boolean() or kind.is_temporal() or kind.is_null():
        return column
    raise refusal(str(kind))


def text_from(kind: Any, text: str | None) -> str | None:
    """The one text of a cell that left a database as its own text, None where it is missing."""
    if text is None:
        return None
    if kind.is_float32() or kind.is_float16():
        return cell_text(np.float32(text))
    if kind.is_floating():
        return cell_text(float(text))
    if kind.is_decimal():
        return cell_text(Decimal(text))
    if kind.is_boolean():
        return cell_text(text.lower() in ("true", "t", "1"))
    own = kind.is_unknown() and "TIMESTAMP" in str(kind.raw_type).upper()  # DuckDB's of nanoseconds in a zone
    return _moment(text) if kind.is_temporal() or own else cell_text(text)


def _moment(text: str) -> str:
    """A day, moment or time as the database writes it; one with a time zone in UTC."""
    zoned = ZONED.fullmatch(text)
    if zoned is None:
        return moment_text(text.replace("T", " "))
    day, moment, fraction, zone = zoned.groups(default="")
    try:
        found = datetime.fromisoformat(f"{day or ANY_DAY}{moment}{zone}").astimezone(UTC)
    except OverflowError:  # on the first or last day that there is
        return BEFORE if day.startswith("0001") else AFTER
    except ValueError:  # 24:00:00
        return text
    return moment_text(found.replace(tzinfo=None).isoformat(" ")[0 if day else len(ANY_DAY) :] + fraction)


@dataclass(frozen=True)
class Person:
    """Whom a row names, as `Meaning.person` writes it; rows with one of the `wrong` are refused, and why."""

    text: Any
    wrong: Sequence[tuple[Any, str]] = ()


def person_there(database: Database, column: Any) -> Person | None:
    """Whom each row names; None where the type of the column names nobody."""
    kind = column.type()
    if kind.is_integer() or kind.is_uuid():
        return Person(column.cast("string"))
    if kind.is_date():
        day = column.cast("string")
        return Person(day, [(~day.re_search(A_DAY), "names people by days outside of the years 1 to 9999")])
    if kind.is_decimal():
        return Person(_plain_number(column.cast("string").nullif("NaN")))
    if kind.is_string():
        text = database.stripped(database.bytewise(column), BLANKS)
        exponent = text.re_search(EXPONENT), "names people by numbers with an exponent, such as 1e5"
        return Person(text.re_search(DECIMAL).ifelse(_plain_number(text), text), [exponent])
    if kind.is_floating():
        there = column.isnan().ifelse(None, column)
        # Databases take the floor as a whole number of 64 bits, which a larger one is not.
        small = (there.abs() > LARGEST_WHOLE).ifelse(0.5, there)
        odd = small != small.floor()
        return Person(
            there.cast("int64").cast("string"), [(odd, "names people by numbers that are not whole")]
        )
    return None


def names_nobody(person: Any, meaning: Meaning) -> Any:
    """Whether a person's text names nobody."""
    return person.fill_null("").isin(["", *sorted(meaning.nobody)])


def _plain_number(text: Any) -> Any:
    """A decimal number as it is written shortest: no plus, no zeros around, no minus before nothing."""
    body = text.re_replace("^[+-]", "").re_replace("^0+", "")
    body = body.contains(".").ifelse(body.re_replace("[.]?0*$", ""), body)
    whole = ((body == "") | body.startswith(".")).ifelse("0" + body, body)
    return (text.startswith("-") & (whole != "0")).ifelse("-" + whole, whole)
