"""What a cell means: one definition for every reader, frame and database.

A cell means what its text means, and there is one text for every cell of every type: a typed cell has the
text that a CSV file of the same table would have. So a reader, a frame and a database agree because each
only has to say the text of its cells:

- text: itself without blanks around it; its letters are as they are (case, accents, normalisation);
- yes or no: `true`, `false`; they are no numbers;
- whole numbers, those in a column of floats too: their digits; decimals: written out with their own zeros;
  other floats: the shortest text that is read back as the same float, of a 32-bit one as the same 32-bit one;
- days `2024-02-29`; moments `2024-02-29 12:30:00.5`, with a time zone in UTC; times of day `12:30:00`;
- NULL, None, NaN, NaT and blank texts: no text, the cell is *missing*.

Whatever else a table can hold (lists, structures, bytes, durations) is no cell and is refused by name.

A `Meaning` adds what the file says: which texts stand for a missing value, as a text or as the same number.
From the text on, everything is the same for all: a declared label is meant by its text or as the same exact
number (`spaces.KnownLabels`), a person by `Meaning.person`. `_cells_there` says the same to a database.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any
from uuid import UUID

import numpy as np

from sievert.errors import DataError
from sievert.spaces import exact_number

__all__ = [
    "AFTER",
    "BEFORE",
    "BLANKS",
    "DECIMAL",
    "EXPONENT",
    "LARGEST_WHOLE",
    "PLAIN",
    "Meaning",
    "arrow_cells",
    "arrow_values",
    "cell_text",
    "moment_text",
    "refusal",
]

# What Python's str.strip takes away, for engines that ask which characters are blank.
BLANKS = "".join(
    map(chr, [*range(9, 14), *range(28, 33), 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239])
)
BLANKS += "\u205f\u3000"
# How people are numbered: digits with a point; in patterns that every engine reads alike.
DIGITS = "([0-9]+([.][0-9]*)?|[.][0-9]+)"
DECIMAL, EXPONENT = f"^[+-]?{DIGITS}$", f"^[+-]?{DIGITS}[eE][+-]?[0-9]+$"
IS_DECIMAL, HAS_EXPONENT = re.compile(DECIMAL), re.compile(EXPONENT)
# Whole numbers that a float tells apart.
LARGEST_WHOLE = 2.0**53
# A decimal or whole number with more digits is no cell that is ever written out.
MOST_DIGITS = 4000
MOST_BITS = int(MOST_DIGITS * 3.32)
# Days and moments that not every reader has: years as Arrow, DuckDB, Postgres and Spark write them.
ANY_DAY = date(2000, 1, 1)
BEFORE, AFTER = "before 0001-01-01", "after 9999-12-31"
OUTSIDE = re.compile(
    r"(?P<before>-|0000-|<value out of range: -|.* ?\(?BC\b)|\+|infinity|<value out of range|[0-9]{5,}-"
)
ALLOWED = "a text, a number, yes or no, a day or a moment"


@dataclass(frozen=True)
class Meaning:
    """What the cells of a column mean: `missing` texts stand for no value, as a text or as the same number.

    A text that is `declared` as a value is that value: it is missing only where it is that very text.

    >>> ages = Meaning(("99", "?"))
    >>> [ages.text(cell) for cell in (" 7", 7, True, None, float("nan"), "?", 99, 99.0, "099", "x99")]
    ['7', '7', 'true', None, None, None, None, None, None, 'x99']
    """

    missing: tuple[str, ...] = ()
    declared: frozenset[str] = frozenset()

    @cached_property
    def texts(self) -> frozenset[str]:
        """The texts that stand for a missing value."""
        return frozenset(text.strip() for text in self.missing)

    @cached_property
    def numbers(self) -> frozenset[Fraction]:
        """The numbers that stand for a missing value."""
        found = (exact_number(text) for text in self.texts)
        return frozenset(number for number in found if number is not None)

    @cached_property
    def nobody(self) -> frozenset[str]:
        """The persons that stand for nobody, as `person` writes them."""
        return frozenset(_person(text) for text in self.texts if not HAS_EXPONENT.fullmatch(text))

    def for_values(self, values: Iterable[Any]) -> Meaning:
        """The same where these values are declared."""
        return Meaning(self.missing, frozenset(v.strip() for v in values if isinstance(v, str)))

    def text(self, cell: Any) -> str | None:
        """The one text of a cell; None where it is missing. DataError for what is no cell."""
        text = cell_text(cell)
        if text is None or text in self.texts:
            return None
        if self.numbers and text not in self.declared and exact_number(text) in self.numbers:
            return None
        return text

    def texts_of(self, cells: Sequence[Any], name: str) -> list[str | None]:
        """The texts of different cells of a column, which an error names."""
        try:
            return [self.text(cell) for cell in cells]
        except DataError as problem:
            raise DataError(f"the column {name!r} {problem}") from None

    def person(self, cell: Any) -> str | None:
        """Whom a cell names, as one text for all who count; None where it names nobody.

        A person is a text, a whole number or a day; equal numbers are one person however they are written.

        >>> [Meaning(("0",)).person(cell) for cell in (" ann", "01.50", 7.0, "-0", None, "3/2")]
        ['ann', '1.5', '7', None, None, '3/2']
        """
        text = cell_text(cell)
        if text is None:
            return None
        if isinstance(cell, bool | np.bool_ | datetime | time | Moment):
            raise DataError(
                f"names people by {type(cell).__name__.lower()}; people are named by a text or a whole number"
            )
        if isinstance(cell, float | np.floating):
            if float(cell) != np.floor(float(cell)) or abs(float(cell)) > LARGEST_WHOLE:
                raise DataError(
                    "names people by numbers that are not whole; write them out as texts, so that one person "
                    "is one text"
                )
        elif HAS_EXPONENT.fullmatch(text):
            raise DataError(
                "names people by numbers with an exponent, such as 1e5; write them out, so that one person "
                "is one text"
            )
        found = _person(text)
        return None if found in self.nobody else found

    def people(self, cells: Sequence[Any], name: str) -> list[str | None]:
        """Whom different cells of a column name."""
        try:
            return [self.person(cell) for cell in cells]
        except DataError as problem:
            raise DataError(f"the column {name!r} {problem}") from None


# What cells mean where no file says more.
PLAIN = Meaning()


def _person(text: str) -> str:
    """A person's text: a decimal number as it is written shortest."""
    if not IS_DECIMAL.fullmatch(text):
        return text
    body = text.lstrip("+-").lstrip("0")
    if "." in body:
        body = body.rstrip("0").removesuffix(".")
    whole = "0" + body if not body or body.startswith(".") else body
    return "-" + whole if text.startswith("-") and whole != "0" else whole


def cell_text(cell: Any) -> str | None:
    """The one text of a cell of any type; None where it is missing. DataError for what is no cell.

    >>> cell_text(Decimal("1.50")), cell_text(date(2024, 1, 31)), cell_text(np.float32(0.1)), cell_text(-0.0)
    ('1.50', '2024-01-31', '0.1', '0')
    >>> cell_text(datetime(2024, 1, 31, 12, 30, 0, 500000)), cell_text(True), cell_text(" x "), cell_text(" ")
    ('2024-01-31 12:30:00.5', 'true', 'x', None)
    """
    if isinstance(cell, str):
        return _plain(str.strip(cell)) or None
    if cell is None or _is_no_value(cell):
        return None
    if isinstance(cell, np.generic):
        return _of_numpy(cell)
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int):
        if cell.bit_length() > MOST_BITS:
            raise DataError(f"holds a number of more than {MOST_DIGITS} digits; round it")
        return str(int(cell))
    if isinstance(cell, float):
        # A column of whole numbers becomes one of floats where a frame holds a missing one among them.
        return str(int(cell)) if cell.is_integer() and abs(cell) <= LARGEST_WHOLE else repr(float(cell))
    if isinstance(cell, Decimal):
        return _written_out(cell)
    if isinstance(cell, datetime):
        return _of_moment(cell)
    if isinstance(cell, time):
        return moment_text(_in_utc(cell).isoformat())
    if isinstance(cell, date):
        return cell.isoformat()
    if isinstance(cell, UUID | Fraction):
        return str(cell)
    raise refusal(type(cell).__name__)


def refusal(kind: str) -> DataError:
    """What is wrong with a column that holds no cells."""
    return DataError(f"is of type {kind}; a value is {ALLOWED}: make one of it")


def _is_no_value(cell: Any) -> bool:
    """Whether it is a NaN, NaT or NA of any library: they are not equal to themselves."""
    if type(cell).__name__ in ("NaTType", "NAType"):
        return True
    if isinstance(cell, Decimal):
        return cell.is_nan()  # one that signals is not compared
    if isinstance(cell, float | np.floating | np.datetime64 | np.timedelta64):
        return bool(cell != cell)
    return False


def _plain(text: str) -> str:
    """A text of Unicode; halves of a character cannot be written anywhere."""
    try:
        if not text.isascii():
            text.encode()
    except UnicodeEncodeError:
        raise DataError("holds a text that is not Unicode; save the table anew as UTF-8") from None
    return text


def _of_numpy(cell: np.generic) -> str | None:
    if isinstance(cell, np.float16 | np.float32):
        return cell_text(float(str(np.float32(cell))))
    if isinstance(cell, np.datetime64):
        return moment_text(str(cell).replace("T", " "))
    found = cell.item()
    if isinstance(found, np.generic) or isinstance(cell, np.timedelta64):
        raise refusal(type(cell).__name__)
    return cell_text(found)


def _written_out(cell: Decimal) -> str:
    """A decimal without an exponent."""
    if not cell.is_finite():
        return str(cell)
    if len(cell.as_tuple().digits) + abs(int(cell.as_tuple().exponent)) > MOST_DIGITS:
        raise DataError(f"holds a number of more than {MOST_DIGITS} digits; round it")
    return format(cell, "f")


def _of_moment(cell: datetime) -> str:
    try:
        found = cell if cell.tzinfo is None else cell.astimezone(UTC).replace(tzinfo=None)
    except (OverflowError, ValueError):  # on the first or last day that there is
        return BEFORE if cell.year == 1 else AFTER
    return moment_text(found.isoformat(" "))


def _in_utc(cell: time) -> time:
    return cell if cell.utcoffset() is None else datetime.combine(ANY_DAY, cell).astimezone(UTC).time()


def moment_text(text: str) -> str:
    """A moment or time without the zeros behind its seconds; one text for all before year 1, after 9999.

    >>> moment_text("2024-02-29 12:30:00.500000"), moment_text("12:30:00.000"), moment_text("infinity")
    ('2024-02-29 12:30:00.5', '12:30:00', 'after 9999-12-31')
    """
    outside = OUTSIDE.match(text)
    if outside is not None:
        return BEFORE if outside["before"] else AFTER
    return re.sub(r"(:\d\d)(\.\d*?)0*$", lambda found: found[1] + found[2].rstrip("."), text)


# ── Arrow: columns of Parquet, Arrow and CSV ────────────────────────────────────────────────────────────────


def arrow_cells(column: Any) -> Any:
    """A column of Arrow in a type whose values are cells; DataError for what holds none."""
    import pyarrow as arrow
    from pyarrow import compute

    types, kind = arrow.types, column.type
    if types.is_dictionary(kind):
        return arrow_cells(_each(column, lambda part: part.dictionary_decode()))
    if types.is_run_end_encoded(kind):
        return arrow_cells(_each(column, compute.run_end_decode))
    if isinstance(kind, arrow.BaseExtensionType):
        if kind.extension_name == "arrow.uuid":
            return arrow.array([None if cell is None else str(cell) for cell in column.to_pylist()], "string")
        if kind.extension_name == "arrow.bool8":
            return column.cast("bool")
    elif is_small_decimal(kind):
        return column.cast(arrow.decimal128(kind.precision, kind.scale))
    elif types.is_float16(kind):
        return arrow_cells(column.cast("float"))
    elif types.is_float32(kind):
        return column.cast("string").cast("double")  # the number that it is written as
    elif any(test(kind) for test in _plain_types(types)):
        return column
    raise refusal(str(kind))


def is_small_decimal(kind: Any) -> bool:
    """Whether it is a decimal of 32 or 64 bits, with which Arrow does little."""
    return str(kind).startswith(("decimal32", "decimal64"))


def _plain_types(types: Any) -> Collection[Any]:
    return (
        types.is_null,
        types.is_boolean,
        types.is_integer,
        types.is_float64,
        types.is_decimal,
        types.is_string,
        types.is_large_string,
        types.is_string_view,
        types.is_date,
        types.is_time,
        types.is_timestamp,
    )


def _each(column: Any, made: Any) -> Any:
    """A function of an array, done to a whole column."""
    if not hasattr(column, "chunks"):
        return made(column)
    import pyarrow

    parts = [made(part) for part in column.chunks]
    return pyarrow.chunked_array(parts) if parts else pyarrow.nulls(0)


def arrow_values(values: Any) -> list[Any]:
    """Different values of such a column in Python; days and moments that Python does not have, as texts."""
    import pyarrow as arrow

    kind = values.type
    if arrow.types.is_time(kind):
        return _times(values)
    try:
        return list(values.to_pylist())
    except (OverflowError, ValueError):
        if arrow.types.is_timestamp(kind) and kind.tz is not None:
            values = values.cast(arrow.timestamp(kind.unit, "UTC")).cast(arrow.timestamp(kind.unit))
        return [None if text is None else Moment(moment_text(text)) for text in _as_texts(values)]


class Moment(str):
    """The text of a day, moment or time that Python does not have."""


def _times(values: Any) -> list[Any]:
    """Times of day; those finer than Python's, and the end of a day, as texts."""
    found: list[Any] = []
    for text in _as_texts(values):
        if text is not None and not re.fullmatch(r"[0-2][0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]+)?", text):
            if not re.fullmatch("<value out of range: 864000*>", text):
                raise DataError("holds a time that no day has")
            text = "24:00:00"
        try:
            exact = None if text is None else time.fromisoformat(moment_text(text))
        except ValueError:
            exact = None
        same = text is None or (exact is not None and cell_text(exact) == moment_text(text))
        found.append(exact if same else Moment(moment_text(str(text))))
    return found


def _as_texts(values: Any) -> list[str | None]:
    return list(values.cast("string").to_pylist())
