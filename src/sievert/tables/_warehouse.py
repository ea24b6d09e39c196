"""A table that stays where it is: only its distinct cells, and how many rows have each, come here.

Counts, histograms, sums, means and quantiles are functions of a record's value, so one question serves them
all: SELECT columns, COUNT(*) GROUP BY columns. What a cell means is decided here, by the rules that hold for
rows of a file, so every database and every reader gives the same table:

- a cell leaves as text (a number as its shortest, a day as 2024-01-31, a moment in UTC), and NULL and NaN
  are missing wherever they stand;
- texts are told apart by their bytes, whatever the collation says.

Whose rows they are is counted in the database too. Of people with too many rows it keeps those with the
smallest HMAC-SHA256 of their number within the person, rows being numbered in the order of their values:
the same rows on every database and in `release._sample` for the same key.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np

from sievert.arrays import IntArray
from sievert.errors import DataError, FileError, OutputError, SievertError
from sievert.numerics import brief, did_you_mean, require_size
from sievert.tables._batches import plain_cell
from sievert.tables._databases import CODES, Database
from sievert.tables._driver_words import PRIVATE_WORDS, class_of, whole
from sievert.tables._relations import Relation

__all__ = ["Cells", "PeopleThere", "Warehouse"]

# More distinct cells than this are no table to be counted but a column to be rounded.
LARGEST_CELLS = 1_000_000
# What Python's str.strip takes away.
BLANKS = "".join(
    map(chr, [*range(9, 14), *range(28, 33), 133, 160, 5760, *range(8192, 8203), 8232, 8233, 8239])
)
BLANKS += "\u205f\u3000"
DIGITS = "([0-9]+([.][0-9]*)?|[.][0-9]+)"
DECIMAL, EXPONENT = f"^[+-]?{DIGITS}$", f"^[+-]?{DIGITS}[eE][+-]?[0-9]+$"
# Whole numbers that a float tells apart.
LARGEST_WHOLE = 2.0**53
Answer = TypeVar("Answer")
Ask = Callable[[], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class Cells:
    """Distinct cells, a list for each column; how many rows have each; and as which texts they came."""

    columns: dict[str, Sequence[Any]]
    counts: IntArray
    texts: list[tuple[str, ...]]


@dataclass(frozen=True)
class PeopleThere:
    """How many people there are, the most rows of one, and how many rows are left when each keeps `most`.

    `over` is how many persons have more, `nobody` how many rows name no person.
    """

    people: int
    largest: int
    kept: int
    nobody: int
    over: int


class Warehouse:
    """A table in a database."""

    def __init__(
        self,
        database: Database,
        table: Any,
        name: str,
        ours: bool = True,
        relation: Relation | None = None,
    ) -> None:
        self.database, self.table, self.name, self._ours = database, table, name, ours
        self._relation = relation
        self._asked: list[tuple[Ask, list[str]]] = []
        self._persons: dict[str, Any] = {}

    def __enter__(self) -> Warehouse:
        return self

    def __exit__(self, *problem: object) -> None:
        if self._ours:
            self.database.close()

    def cells(self, columns: Sequence[str]) -> Cells:
        """The distinct cells of some columns, and how many rows have each."""
        found = self._grouped(columns)
        kinds = [self._column(name).type() for name in columns]
        parts = list(zip(*found, strict=True)) or [()] * (len(columns) + 1)
        cells: dict[str, Sequence[Any]] = {
            name: [meant(kind, text) for text in texts]
            for name, kind, texts in zip(columns, kinds, parts, strict=False)
        }
        texts = [tuple("" if text is None else text for text in row[:-1]) for row in found]
        return Cells(cells, np.array(parts[-1], dtype=np.int64), texts)

    def through(self, columns: Sequence[str], limited: Iterable[str]) -> list[str]:
        """The columns whose limits these are charged to: they, and those of tables that they are made of.

        Raises
        ------
        FileError : a view whose definition is not understood, where columns have limits
        """
        if self._relation is None:
            return list(columns)
        found = self._relation.through(columns)
        limits = {name.casefold(): name for name in limited}
        if limits and found.unknown:
            raise FileError(
                f"{self.name}: reads the view {brief(sorted(found.unknown)[0])}, and from which columns of "
                f"tables it is made is not understood, but the budget limits {', '.join(limits.values())}; "
                "name the tables themselves, in data.table or data.sql"
            )
        names = [*columns, *sorted({column for _, column in found.bases})]
        return list(dict.fromkeys([*columns, *(limits.get(name.casefold(), name) for name in names)]))

    def require_still(self) -> None:
        """Refuse a table that changed while it was read."""
        self._answered(self.database.still)
        if self.database.one_state:
            return
        for ask, before in self._asked:
            if sorted(map(repr, self._answered(ask))) != before:
                raise OutputError(f"{self.name}: the table changed while it was read")

    def _noted(self, ask: Ask) -> list[tuple[Any, ...]]:
        """An answer that must be the same when it is asked for again."""
        found = self._answered(ask)
        if not self.database.one_state:
            self._asked.append((ask, sorted(map(repr, found))))
        return found

    def _grouped(self, columns: Sequence[str]) -> list[tuple[Any, ...]]:
        """The one question: each column as text, and the number of rows."""
        names = [f"k{place}" for place in range(len(columns))]
        values = {key: self._value(name) for key, name in zip(names, columns, strict=True)}
        counted = self.table.select(**values).group_by(names)
        counted = counted.agg(n=lambda rows: rows.count()).limit(LARGEST_CELLS + 1)
        question = counted.select(*(counted[key].cast("string").name(key) for key in names), counted.n)
        found = self._noted(lambda: self.database.ask(question))
        require_size(
            len(found),
            LARGEST_CELLS,
            f"{self.name}: distinct cells of {', '.join(columns)}",
            "round the values in a view (data.sql), or release fewer columns",
        )
        return found

    def most_rows(self, person: str, missing: Sequence[str] = ()) -> tuple[int, int]:
        """The most rows of one person, and how many rows name nobody."""
        rows = self.table.select(p=self._person(person))
        people = rows.group_by("p").agg(n=lambda rows: rows.count())
        nobody = people.p.fill_null("").isin(["", *missing])
        question = people.agg(largest=people.n.max(), nobody=nobody.ifelse(people.n, 0).sum())
        ((largest, without),) = self._noted(lambda: self.database.ask(question))
        return int(largest or 0), int(without or 0)

    def people(
        self,
        person: str,
        columns: Sequence[str],
        codes: Sequence[tuple[Any, ...]],
        most: int,
        missing: Sequence[str] = (),
    ) -> PeopleThere:
        """Whose the rows with these cells are.

        `codes` are texts of cells with the code of their value; texts that are `missing` name nobody.
        """
        rows = self._coded(person, columns)
        nobody = rows.p.fill_null("").isin(["", *missing])
        people = rows.mutate(nobody=nobody).group_by(["p", "nobody"]).agg(n=lambda rows: rows.count())
        small = (people.n < most).ifelse(people.n, most)
        question = people.agg(
            people=people.count(),
            largest=people.n.max(),
            kept=small.sum(),
            nobody=people.nobody.ifelse(people.n, 0).sum(),
            over=(people.n > most).ifelse(1, 0).sum(),
        )
        ((count, largest, kept, without, over),) = self._noted(lambda: self.database.ask(question, codes))
        return PeopleThere(int(count), int(largest or 0), int(kept or 0), int(without or 0), int(over or 0))

    def sampled(
        self, person: str, columns: Sequence[str], codes: Sequence[tuple[Any, ...]], most: int, key: bytes
    ) -> list[tuple[int, int, int]]:
        """Of every code, how many rows there are and how many are kept by the key."""
        import ibis

        rows = self._coded(person, columns)
        own = ibis.row_number().over(group_by=rows.p, order_by=rows.code)
        numbered = rows.mutate(number=own)
        named = self.database.keyed(key, numbered.number.cast("string") + ":" + numbered.p)
        hashed = numbered.mutate(hashed=named)
        place = ibis.row_number().over(group_by=hashed.p, order_by=hashed.hashed)
        ranked = hashed.mutate(kept=(place < most).ifelse(1, 0))
        question = ranked.group_by("code").agg(n=lambda rows: rows.count(), kept=lambda rows: rows.kept.sum())
        found = self._answered(lambda: self.database.ask(question, codes))
        return [(int(code), int(count), int(kept)) for code, count, kept in found]

    def _coded(self, person: str, columns: Sequence[str]) -> Any:
        """The person and the code of each row whose cells have one."""
        import ibis

        names = [f"k{place}" for place in range(len(columns))]
        texts = {
            key: self._value(name).cast("string").fill_null("")
            for key, name in zip(names, columns, strict=True)
        }
        rows = self.table.select(p=self._person(person), **texts)
        codes = ibis.table({**dict.fromkeys(names, "string"), "code": "int64"}, name=CODES)
        return rows.join(codes, names).select("p", "code")

    def _column(self, name: str) -> Any:
        header = list(self.table.columns)
        if name not in header:
            raise DataError(
                f"{self.name}: has no column {brief(name)}, but {', '.join(header)}"
                f"{did_you_mean(name, header)}"
            )
        return self.table[name]

    def _value(self, name: str) -> Any:
        """What rows are grouped by: equal exactly where the text of the cell will be."""
        column = self._column(name)
        kind = column.type()
        if kind.is_string():
            return self.database.bytewise(column)
        if kind.is_floating():
            # NaN is missing, and −0 is 0.
            whole = (column == 0).ifelse(0.0, column).cast(kind)
            return column.isnan().ifelse(None, whole)
        if (kind.is_decimal() and kind.scale is None) or kind.is_unknown() or kind.is_uuid():
            return column.cast("string")  # 1.5 and 1.50 are equal, but other texts
        if kind.is_integer() or kind.is_decimal() or kind.is_boolean() or kind.is_temporal():
            return column
        raise FileError(
            f"{self.name}: the column {brief(name)} is of type {kind}; a value is a text, a number, yes or "
            "no, a day or a moment: make one of it in a view (data.sql)"
        )

    def _person(self, name: str) -> Any:
        """Whom a row names, as `tables.person_text` writes it; names are checked once."""
        if name not in self._persons:
            self._persons[name] = self._checked_person(name)
        return self._persons[name]

    def _checked_person(self, name: str) -> Any:
        column = self._column(name)
        kind = column.type()
        if kind.is_integer() or kind.is_uuid() or kind.is_date():
            return column.cast("string")
        if kind.is_decimal():
            return _plain_number(column.cast("string"))
        if kind.is_string():
            return self._named(self.database.bytewise(column), name)
        if kind.is_floating():
            return self._whole(column, name)
        raise FileError(
            f"data.person: the column {brief(name)} is of type {kind}; people are named by a text or a whole "
            "number: make one of it in a view (data.sql)"
        )

    def _whole(self, column: Any, name: str) -> Any:
        """People numbered by whole numbers in a column of others, where some row names nobody."""
        there = column.isnan().ifelse(None, column)
        odd = (there != there.floor()) | (there.abs() > LARGEST_WHOLE)
        self._refuse(odd, f"the column {brief(name)} names people by numbers that are not whole")
        return there.cast("int64").cast("string")

    def _named(self, text: Any, name: str) -> Any:
        """Blanks around a name do not count, and equal numbers are one person however written."""
        stripped = self.database.stripped(text, BLANKS)
        self._refuse(
            stripped.re_search(EXPONENT),
            f"the column {brief(name)} names people by numbers with an exponent, such as 1e5",
        )
        return stripped.re_search(DECIMAL).ifelse(_plain_number(stripped), stripped)

    def _refuse(self, wrong: Any, problem: str) -> None:
        """Refuse names of people that are one person under several texts."""
        ((count,),) = self._answered(lambda: self.database.ask(wrong.ifelse(1, 0).sum().as_table()))
        if count:
            raise DataError(f"{self.name}: {problem}; write them out, so that one person is one text")

    def _answered(self, ask: Callable[[], Answer]) -> Answer:
        """An answer; whatever a driver raises says that the database stopped."""
        try:
            return ask()
        except DataError as problem:
            raise DataError(f"{self.name}: {problem}", private=problem.private) from None
        except SievertError:
            raise
        except Exception as problem:
            raise OutputError(
                f"{self.name}: the database stopped answering ({class_of(problem)}); see that the table fits "
                f"its question (data.sql, data.column), and that the database runs; {PRIVATE_WORDS}",
                private=whole(problem),
            ) from None


def _plain_number(text: Any) -> Any:
    """A decimal number as it is written shortest: no plus, no zeros around, no minus before nothing."""
    body = text.re_replace("^[+-]", "").re_replace("^0+", "")
    body = body.contains(".").ifelse(body.re_replace("[.]?0*$", ""), body)
    whole = ((body == "") | body.startswith(".")).ifelse("0" + body, body)
    return (text.startswith("-") & (whole != "0")).ifelse("-" + whole, whole)


def meant(kind: Any, text: str | None) -> Any:
    """What a cell is that came as text, as a reader of a typed file would see it."""
    if text is None:
        return None
    if kind.is_floating():
        number = float(text)
        return None if math.isnan(number) else number
    if kind.is_decimal():
        return None if text == "NaN" else text
    if kind.is_boolean():
        return text.lower() in ("true", "t", "1")
    return moment(text, kind.timezone is not None) if kind.is_timestamp() else text


def moment(text: str, zoned: bool) -> str:
    """A moment as `plain_cell` writes it."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return text  # infinity
    return str(plain_cell(found.replace(tzinfo=UTC) if zoned and found.tzinfo is None else found))
