"""Columns in code: every different cell once, and for each row which of them it holds.

A record has few different values and many rows. What is done to a value (matching it to the policy, writing
it as text) is done once for each of them, and rows are arrays of numbers. Arrow codes a column where it is
installed (extra `data`); to whoever reads it cell by cell a coded column is a sequence like any other.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.spaces import csv_cell
from sievert.tables._cells import arrow_cells, arrow_values, refusal

__all__ = [
    "DictionaryColumn",
    "DictionaryValues",
    "arrow_or_none",
    "coded",
    "coded_list",
    "combined",
    "csv_bytes",
    "csv_text",
    "in_code",
]

# Numbers in a range this wide are told apart by one pass, more by sorting them.
WIDEST = 1 << 20
Places = NDArray[Any]  # whole numbers of some width


class DictionaryValues:
    """Different cells, and how they are written; that is made once for all batches."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = list(items)

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def objects(self) -> NDArray[np.object_]:
        """The cells as an array."""
        found = np.empty(len(self.items), dtype=object)
        found[:] = self.items
        return found

    @cached_property
    def digest(self) -> bytes:
        """A hash of the cells, in order."""
        return hashlib.sha256(repr(self.items).encode(errors="surrogatepass")).digest()

    @cached_property
    def arrow(self) -> Any:
        """The cells as Arrow holds them, typed by what they are."""
        return _arrow().array(self.items)

    @cached_property
    def alone(self) -> Any:
        """Each cell as a line of CSV of its own."""
        return self._lines(lambda cell: csv_text([[cell]]), "\n")

    @cached_property
    def inner(self) -> Any:
        """Each cell as CSV before others of its line."""
        return self._lines(lambda cell: csv_text([[cell, 0]])[:-2], ",")

    @cached_property
    def last(self) -> Any:
        """Each cell as the last of a line of CSV."""
        return self._lines(lambda cell: csv_text([[0, cell]])[2:], "\n")

    def _lines(self, quoted: Any, end: str) -> Any:
        texts = [f"{cell}{end}" if _is_plain(cell) else quoted(cell) for cell in self.items]
        return _arrow().array(texts, _arrow().large_string())


def _is_plain(cell: Any) -> bool:
    """Whether a cell is written to CSV as its own text."""
    if isinstance(cell, str):
        return bool(cell) and not any(letter in cell for letter in ',"\r\n') and csv_cell(cell) is cell
    return type(cell) is int or type(cell) is float


class DictionaryColumn(Sequence[Any]):
    """A column: which of its values each row holds.

    >>> column = DictionaryColumn(np.array([1, 0, 1]), DictionaryValues(["no", "yes"]))
    >>> list(column), column[1], len(column)
    (['yes', 'no', 'yes'], 'no', 3)
    """

    def __init__(self, codes: Places, values: DictionaryValues) -> None:
        self.codes, self.values = codes, values

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return DictionaryColumn(self.codes[place], self.values)
        return self.values.items[self.codes[place]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.objects[self.codes].tolist())

    def meant(self, texts: Iterable[str | None]) -> DictionaryColumn:
        """The same rows, given a text in place of each value."""
        return DictionaryColumn(self.codes, DictionaryValues(texts))

    def take(self, rows: Places) -> DictionaryColumn:
        """The cells of some rows, by their places or a mask."""
        return DictionaryColumn(self.codes[rows], self.values)

    def mapped(self, found: Places) -> Places:
        """What each row's cell leads to, given that for each value."""
        return np.asarray(found[self.codes])

    def digest(self) -> bytes:
        """A hash of all cells, in order."""
        whole = hashlib.sha256(self.values.digest)
        whole.update(np.ascontiguousarray(self.codes, dtype="<i4").tobytes())
        return whole.digest()


def coded(column: Any) -> DictionaryColumn:
    """A column of Arrow in code; DataError where it holds no cells."""
    dictionary = arrow_cells(column).dictionary_encode(null_encoding="encode")
    if hasattr(dictionary, "num_chunks"):
        dictionary = dictionary.combine_chunks() if dictionary.num_chunks != 1 else dictionary.chunk(0)
    codes = dictionary.indices.to_numpy(zero_copy_only=False)
    return DictionaryColumn(codes, DictionaryValues(arrow_values(dictionary.dictionary)))


def coded_list(cells: Sequence[Any]) -> DictionaryColumn:
    """Cells of Python in code: equal ones of two types, such as 1 and True, are two.

    >>> [list(part) for part in (coded_list([1, True, 1]), coded_list([1, True, 1]).values.items)]
    [[1, True, 1], [1, True]]
    """
    kinds = set(map(type, cells))
    keys: Sequence[Any] = cells
    if Decimal in kinds:  # 1.5 and 1.50 are equal, and other texts
        keys = [(type(cell), str(cell) if isinstance(cell, Decimal) else cell) for cell in cells]
    elif len(kinds - {NoneType}) > 1:
        keys = list(zip(map(type, cells), cells, strict=True))
    try:
        places: dict[Any, int] = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    except TypeError:
        raise refusal(next((kind.__name__ for kind in kinds if kind.__hash__ is None), "tuple")) from None
    codes = np.fromiter(map(places.__getitem__, keys), np.int64, len(keys))
    _, first = np.unique(codes, return_index=True)
    return DictionaryColumn(codes, DictionaryValues(cells[place] for place in first.tolist()))


def in_code(column: Sequence[Any]) -> DictionaryColumn:
    """A column in code, however it was read."""
    return column if isinstance(column, DictionaryColumn) else coded_list(column)


def combined(columns: Sequence[DictionaryColumn]) -> DictionaryColumn:
    """Several columns as one of tuples, of which only those that occur are made.

    >>> letters = DictionaryColumn(np.array([1, 0, 1]), DictionaryValues("ab"))
    >>> pairs = combined([letters, DictionaryColumn(np.array([0, 0, 0]), DictionaryValues("x"))])
    >>> list(pairs)
    [('b', 'x'), ('a', 'x'), ('b', 'x')]
    """
    # One number for each combination of codes; they are made dense before they could pass 2^62.
    together = columns[0].codes.astype(np.int64)
    places = [np.arange(len(columns[0].values))]
    for column in columns[1:]:
        width = max(1, len(column.values))
        found, together = _dense(together * width + column.codes, len(places[0]) * width)
        places = [*(part[found // width] for part in places), found % width]
    parts = [column.values.objects[place].tolist() for column, place in zip(columns, places, strict=True)]
    return DictionaryColumn(together, DictionaryValues(zip(*parts, strict=True)))


def _dense(numbers: Places, most: int) -> tuple[Places, Places]:
    """The different numbers below `most`, and which of them each is."""
    if most > WIDEST:
        found, codes = np.unique(numbers, return_inverse=True)
        return found, codes.ravel()
    found = np.flatnonzero(np.bincount(numbers, minlength=1))
    codes = np.empty(most, np.int64)
    codes[found] = np.arange(len(found))
    return found, codes[numbers]


def arrow_or_none() -> Any:
    """pyarrow, where it is installed."""
    try:
        import pyarrow
    except ImportError:
        return None
    return pyarrow


def _arrow() -> Any:
    import pyarrow

    return pyarrow


def csv_text(rows: Sequence[Sequence[Any]]) -> str:
    """Rows as CSV, in which no spreadsheet takes a text for a formula."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([csv_cell(cell) for cell in row] for row in rows)
    return stream.getvalue()


def csv_bytes(columns: Sequence[Sequence[Any]]) -> bytes:
    """Columns as lines of CSV: those in code by Arrow, where it is installed, with the same bytes.

    >>> answers = DictionaryColumn(np.array([1, 0, 1]), DictionaryValues(["no", "a, b"]))
    >>> csv_bytes([answers, [1, 2, 3]]) == csv_text(list(zip(answers, [1, 2, 3]))).encode()
    True
    """
    if not any(isinstance(column, DictionaryColumn) for column in columns) or arrow_or_none() is None:
        return csv_text(list(zip(*columns, strict=True))).encode()
    if not len(columns[0]):
        return b""
    cells = [column if isinstance(column, DictionaryColumn) else _each(column) for column in columns]
    if len(cells) == 1:
        return _bytes_of(cells[0].values.alone.take(_arrow().array(cells[0].codes)))
    from pyarrow import compute

    *inner, last = cells
    texts = [cell.values.inner.take(_arrow().array(cell.codes)) for cell in inner]
    texts.append(last.values.last.take(_arrow().array(last.codes)))
    return _bytes_of(compute.binary_join_element_wise(*texts, _arrow().scalar("", _arrow().large_string())))


def _each(column: Sequence[Any]) -> DictionaryColumn:
    """A column whose cells are taken to differ."""
    return DictionaryColumn(np.arange(len(column)), DictionaryValues(column))


def _bytes_of(texts: Any) -> bytes:
    """All texts, one after the other: they lie so in memory."""
    _, offsets, content = texts.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[[texts.offset, texts.offset + len(texts)]]
    return memoryview(content)[int(ends[0]) : int(ends[1])].tobytes() if content is not None else b""
