"""Vectors of users: a wide table, a long one of user, item and rating, or a sparse matrix in an .npz file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from sievert.errors import DataError, FileError, SievertError
from sievert.numerics import abbreviated, archive_problem, did_you_mean, require_size, several
from sievert.spaces import LabelledTable, as_float, exact_number
from sievert.tables._cells import PLAIN, cell_text
from sievert.tables._driver_words import class_of, whole
from sievert.tables._reading import existing, read_table

__all__ = ["UserVectors", "VectorSource"]

# Users, or items, of one matrix.
LARGEST_SIDE = 10_000_000


@dataclass(frozen=True)
class UserVectors:
    """A vector for each user: their names, and rows of numbers."""

    users: list[str]
    rows: Any


@dataclass(frozen=True)
class VectorSource:
    """Where vectors are, and how a table holds them.

    A wide table has a row for each user and a column for each item. A long one names three columns: `user`,
    `item` and `rating`; its items are whole numbers from 0, or the names of `items`.
    """

    path: Path
    user: str | None = None
    item: str | None = None
    rating: str | None = None
    items: tuple[str, ...] | int | None = None

    def read(self) -> UserVectors:
        """All vectors."""
        target = existing(self.path)
        if target.suffix == ".npz":
            return self._archive(target)
        table = read_table(target)
        return self._long(table) if self.item is not None else self._wide(table)

    def _archive(self, path: Path) -> UserVectors:
        if self.item is not None or self.user is not None:
            raise FileError(
                f"{path}: user, item and rating go with a table; a matrix has a row for each user"
            )
        wrong = archive_problem(path)
        if wrong:
            raise FileError(f"{path}: is no sparse matrix, and {wrong}")
        try:
            stored = sparse.load_npz(path)
            # Places that lie outside the matrix would be followed; one of coordinates may claim any shape.
            require_size(max(stored.shape), LARGEST_SIDE, f"{path}: a matrix", "use several files")
            if hasattr(stored, "check_format"):
                stored.check_format(full_check=True)
            rows = sparse.csr_array(stored)
        except SievertError:
            raise
        except Exception as problem:  # SciPy follows what the archive says, and raises errors of many classes
            raise FileError(
                f"{path}: is no sparse matrix ({class_of(problem)}); save one with scipy.sparse.save_npz",
                private=whole(problem),
            ) from None
        if rows.dtype.kind not in "biuf" or not np.isfinite(rows.data).all():
            raise DataError(f"{path}: an entry of a vector is no number; save a matrix of finite numbers")
        return UserVectors([str(i) for i in range(rows.shape[0])], rows)

    def _wide(self, table: LabelledTable) -> UserVectors:
        named = self.user is not None
        place = self._place(table, self.user) if named else -1
        users = _users(table, place) if named else [str(i) for i in range(len(table.rows))]
        rows = [[value for j, value in enumerate(row) if j != place] for row in table.rows]
        return UserVectors(users, _numbers(table, rows))

    def _long(self, table: LabelledTable) -> UserVectors:
        if self.user is None or self.rating is None or self.items is None:
            raise FileError(
                f"{table.path}: a table with item needs user, rating and items too: columns, and how many "
                "items there are (or a public table of their names)"
            )
        who, what, how = (self._place(table, name) for name in (self.user, self.item, self.rating))
        known = None if isinstance(self.items, int) else {name: j for j, name in enumerate(self.items)}
        size = self.items if isinstance(self.items, int) else len(self.items)
        users: dict[str, int] = {}
        place = np.empty((2, len(table.rows)), dtype=np.int64)
        for number, (row, user) in enumerate(zip(table.rows, _users(table, who), strict=True)):
            place[0, number] = users.setdefault(user, len(users))
            place[1, number] = _item(table, number, row[what], known, size)
        ratings = _numbers(table, [[row[how]] for row in table.rows])[:, 0]
        matrix = sparse.coo_array((ratings, (place[0], place[1])), shape=(len(users), size))
        if len(np.unique(place[0] * size + place[1])) < place.shape[1]:
            raise DataError(f"{table.path}: somebody rates one item twice; keep one rating of an item")
        return UserVectors(list(users), sparse.csr_array(matrix))

    def _place(self, table: LabelledTable, name: str | None) -> int:
        if name not in table.header:
            raise FileError(
                f"{table.path}: has no column {abbreviated(name)}{did_you_mean(name, table.header)}; "
                f"columns are "
                f"{several(table.header)}"
            )
        return table.header.index(str(name))


def _users(table: LabelledTable, place: int) -> list[str]:
    """Whose each row is, as one text for all who count."""
    found = []
    for number, row in enumerate(table.rows, start=1):
        try:
            user = PLAIN.person(row[place])
        except DataError as problem:
            raise DataError(f"{table.path}, row {number}: {problem}") from None
        if user is None:
            raise DataError(f"{table.path}, row {number}: names nobody; say whose vector it is")
        found.append(user)
    return found


def _item(table: LabelledTable, row: int, value: object, known: dict[str, int] | None, size: int) -> int:
    text = cell_text(value) or ""
    if known is not None:
        if text not in known:
            raise DataError(f"{table.path}, row {row + 1}: an item is not in the public list of items")
        return known[text]
    number = exact_number(text)
    found = -1 if number is None or number.denominator != 1 else number.numerator
    if not 0 <= found < size:
        raise DataError(f"{table.path}, row {row + 1}: an item is no whole number from 0 to {size - 1}")
    return found


def _number(cell: Any) -> float:
    """The number of a cell; what is missing is 0."""
    if type(cell) is float or type(cell) is int:
        return 0.0 if cell != cell else float(cell)
    text = cell_text(cell)
    number = 0.0 if text is None else as_float(text)
    if number is None:
        raise ValueError
    return number


def _numbers(table: LabelledTable, rows: list[list[Any]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Entries as numbers; an empty one is 0, what is missing."""
    try:
        found = np.array([[_number(cell) for cell in row] for row in rows], np.float64)
        if np.isfinite(found).all():
            return found
        raise ValueError
    except (TypeError, ValueError):
        raise DataError(
            f"{table.path}: an entry of a vector is no number; name the column of users with user"
        ) from None
