"""A table that stays where it is: only its distinct cells, and how many rows have each, come here.

Counts, histograms, sums, means and quantiles are functions of a record's value, so one question serves them
all: SELECT columns, COUNT(*) GROUP BY columns. What a cell means is said to the database by `_cells_there`.

Whose rows they are is counted in the database too. Of people with too many rows it keeps those with the
smallest HMAC-SHA256 of their number within the person, rows being numbered in the order of their values:
the same rows on every database and in `release._sample` for the same key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from sievert.arrays import IntArray
from sievert.errors import DataError, FileError, OutputError, SievertError
from sievert.numerics import abbreviated, did_you_mean, require_size, several
from sievert.tables._cells import PLAIN, Meaning
from sievert.tables._cells_there import names_nobody, person_there, text_from, value_there
from sievert.tables._databases import CODES, Database
from sievert.tables._driver_words import PRIVATE_WORDS, class_of, whole
from sievert.tables._relations import Relation

__all__ = ["DistinctRows", "PeopleThere", "Warehouse"]

# More distinct cells than this are no table to be counted but a column to be rounded.
LARGEST_CELLS = 1_000_000
Answer = TypeVar("Answer")
Ask = Callable[[], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class DistinctRows:
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

    def cells(self, columns: Sequence[str]) -> DistinctRows:
        """The distinct cells of some columns, and how many rows have each."""
        found = self._grouped(columns)
        kinds = [self._column(name).type() for name in columns]
        parts = list(zip(*found, strict=True)) or [()] * (len(columns) + 1)
        cells: dict[str, Sequence[Any]] = {
            name: self._texts(name, kind, texts)
            for name, kind, texts in zip(columns, kinds, parts, strict=False)
        }
        texts = [tuple("" if text is None else text for text in row[:-1]) for row in found]
        return DistinctRows(cells, np.array(parts[-1], dtype=np.int64), texts)

    def _texts(self, name: str, kind: Any, texts: Sequence[str | None]) -> list[str | None]:
        """The one text of each cell; a database may hold, or write, others than its type says."""
        try:
            return [text_from(kind, text) for text in texts]
        except DataError as problem:
            raise DataError(f"{self.name}: the column {abbreviated(name)} {problem}") from None
        except (ValueError, ArithmeticError):
            raise DataError(
                f"{self.name}: the column {abbreviated(name)} is of type {kind}, and holds a cell that "
                f"is not "
                "written as one; make a text or a number of it in a view (data.sql)"
            ) from None

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
                f"{self.name}: reads the view {abbreviated(sorted(found.unknown)[0])}, and from which "
                f"columns of "
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

    def most_rows(self, person: str, meaning: Meaning = PLAIN) -> tuple[int, int]:
        """The most rows of one person, and how many rows name nobody."""
        rows = self.table.select(p=self._person(person))
        people = rows.group_by("p").agg(n=lambda rows: rows.count())
        nobody = names_nobody(people.p, meaning)
        question = people.agg(largest=people.n.max(), nobody=nobody.ifelse(people.n, 0).sum())
        ((largest, without),) = self._noted(lambda: self.database.ask(question))
        return int(largest or 0), int(without or 0)

    def people(
        self,
        person: str,
        columns: Sequence[str],
        codes: Sequence[tuple[Any, ...]],
        most: int,
        meaning: Meaning = PLAIN,
    ) -> PeopleThere:
        """Whose the rows with these cells are; `codes` are texts of cells with the code of their value."""
        rows = self._coded(person, columns)
        nobody = names_nobody(rows.p, meaning)
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
                f"{self.name}: has no column {abbreviated(name)}, but "
                f"{several(header)}{did_you_mean(name, header)}"
            )
        return self.table[name]

    def _value(self, name: str) -> Any:
        """What rows are grouped by."""
        try:
            return value_there(self.database, self._column(name))
        except DataError as problem:
            raise DataError(
                f"{self.name}: the column {abbreviated(name)} {problem} in a view (data.sql)"
            ) from None

    def _person(self, name: str) -> Any:
        """Whom a row names, as `Meaning.person` writes it; names are checked once."""
        if name not in self._persons:
            column = self._column(name)
            found = person_there(self.database, column)
            if found is None:
                raise FileError(
                    f"data.person: the column {abbreviated(name)} is of type {column.type()}; people "
                    f"are named by "
                    "a text or a whole number: make one of it in a view (data.sql)"
                )
            for wrong, problem in found.wrong:
                self._refuse(wrong, f"the column {abbreviated(name)} {problem}")
            self._persons[name] = found.text
        return self._persons[name]

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
