"""Samples of a black box as they are given: lists, arrays, frames, of numbers, labels or vectors of either.

Whatever is a number stays one, so that outputs near each other can be pooled. A coordinate that is sometimes
something else (a text, None, no entry at all) becomes two columns: its number, and what it is instead. Equal
outputs stay equal, and different ones stay different, but for numbers beyond the digits of a float.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence, Sized
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.errors import ChannelError
from sievert.numerics import abbreviated, holds_masked, taken
from sievert.spaces import iterable, label

__all__ = ["Column", "Outputs", "outputs_of", "rows_as_codes", "runs_of"]
# Entries of a table of vectors; beyond, vectors of unequal lengths are taken whole, as labels.
MOST_CELLS = 100_000_000
A_NUMBER, ABSENT = "a number", "absent"


@dataclass(frozen=True)
class Column:
    """A column of outputs: of which coordinate (None: the output itself), and the words of its codes."""

    coordinate: int | None
    meanings: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """What it is called in the words of an event."""
        return "output" if self.coordinate is None else f"coordinate {self.coordinate}"


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs of runs: a list of labels, or a table of floats with a row a run."""

    rows: list[Hashable] | FloatArray
    columns: tuple[Column, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, index: NDArray[np.intp]) -> Outputs:
        """The outputs of some of the runs."""
        if isinstance(self.rows, np.ndarray):
            return Outputs(self.rows[index], self.columns)
        return Outputs([self.rows[i] for i in index.tolist()])

    def codes(self) -> NDArray[np.intp]:
        """A number for each run, equal where the outputs are."""
        if isinstance(self.rows, np.ndarray):
            return np.asarray(np.unique(rows_as_codes(self.rows), return_inverse=True)[1], dtype=np.intp)
        position: dict[Hashable, int] = {}
        numbers = [position.setdefault(item, len(position)) for item in self.rows]
        return np.array(numbers, dtype=np.intp)


def rows_as_codes(table: FloatArray) -> NDArray[Any]:
    """Each row as one item that sorts by its bytes; the two zeros are equal, and so is every nan."""
    plain = np.where(np.isnan(table), np.nan, table + 0.0)
    wide = np.ascontiguousarray(plain, dtype=np.float64).reshape(len(table), -1)
    return wide.view(np.dtype((np.void, 8 * wide.shape[1]))).ravel()


def outputs_of(*given: tuple[str, object]) -> list[Outputs]:
    """Samples, each with the name of its argument, read as outputs of one and the same kind."""
    sides = [_listed(name, value) for name, value in given]
    sizes = np.cumsum([len(side) for side in sides])[:-1]
    table = _plain_table(sides)
    if table is not None:
        columns = (Column(None),) if table.ndim == 1 else tuple(map(Column, range(table.shape[1])))
        wide = table.reshape(len(table), -1)
        return [Outputs(part, columns) for part in np.split(wide, sizes)]
    items = [item for side in sides for item in _items(side)]
    read = _mixed_table(items)
    if read is None:
        labels = [_hashable(item, given[0][0]) for item in items]
        ends = [0, *sizes.tolist(), len(labels)]
        return [Outputs(labels[a:b]) for a, b in pairwise(ends)]
    whole, columns = read
    return [Outputs(part, columns) for part in np.split(whole, sizes)]


def _listed(name: str, given: object) -> Any:
    """An array or list with one entry for each run."""
    if callable(convert := getattr(given, "to_numpy", None)) and not isinstance(given, type):
        # Arrow gives texts and missing values only as a copy.
        given = convert(zero_copy_only=False) if hasattr(given, "to_pylist") else convert()
    if isinstance(given, str | bytes | dict) or not isinstance(given, Sized) or not iterable(given):
        raise ChannelError(
            f"{name} is {abbreviated(given)}; give a list or array of outputs, one for each run"
        )
    items: Any = given if isinstance(given, np.ndarray) else taken(name, given, ChannelError, "outputs")
    if isinstance(items, np.ndarray) and items.dtype.kind == "c":
        raise ChannelError(
            f"{name} is {abbreviated(given)}; outputs are numbers, labels or vectors, not complex"
        )
    if holds_masked(items):
        raise ChannelError(f"{name} is {abbreviated(given)}; a masked output is missing, leave it out")
    if len(items) == 0:
        raise ChannelError(f"{name} is empty; give one output for each run")
    return items


def _plain_table(sides: Sequence[Any]) -> FloatArray | None:
    """All outputs as floats, where they are numbers or vectors of numbers of one length."""
    tables = []
    for side in sides:
        if not isinstance(side, np.ndarray) and isinstance(side[0], bool | str | bytes):
            return None
        try:
            table = np.asarray(side)
        except (TypeError, ValueError, OverflowError):
            return None
        if table.dtype.kind in "mM":
            table = table.astype(np.int64)
        if table.dtype.kind not in "biuf":
            return None
        tables.append(table.astype(np.float64).reshape(len(table), -1) if table.ndim > 1 else table)
    if len({table.shape[1:] for table in tables}) > 1 or 0 in tables[0].shape:
        return None
    return np.concatenate(tables).astype(np.float64)


def _items(side: Any) -> list[Any]:
    return side.tolist() if isinstance(side, np.ndarray) else list(side)


def _mixed_table(items: list[Any]) -> tuple[FloatArray, tuple[Column, ...]] | None:
    """Columns of numbers and of codes for the rest; None where outputs are labels and should stay so."""
    if all(isinstance(item, list | tuple | np.ndarray) for item in items):
        rows = [item.ravel().tolist() if isinstance(item, np.ndarray) else item for item in items]
        width = max(map(len, rows))
        if width == 0 or width * len(rows) > MOST_CELLS:
            return None
        columns = [[row[j] if j < len(row) else _Absent for row in rows] for j in range(width)]
        named: list[int | None] = list(range(width))
    else:
        if not any(_is_number(item) for item in items):
            return None
        columns, named = [items], [None]
    table: list[FloatArray] = []
    found: list[Column] = []
    for coordinate, column in zip(named, columns, strict=True):
        numbers, codes, meanings = _column(column)
        if numbers is not None:
            table.append(numbers)
            found.append(Column(coordinate))
        if codes is not None:
            table.append(codes)
            found.append(Column(coordinate, meanings))
    return np.column_stack(table), tuple(found)


class _Absent:
    """Stands for the entries that a shorter vector does not have."""


def _is_number(entry: object) -> bool:
    return isinstance(entry, Real | Decimal) and not isinstance(entry, bool)


def _column(entries: list[Any]) -> tuple[FloatArray | None, FloatArray | None, tuple[str, ...]]:
    """Its numbers (nan elsewhere), and codes of what is no number; None for what it does not have."""
    numbers = np.full(len(entries), np.nan)
    codes = np.zeros(len(entries))
    position: dict[Hashable, int] = {}
    meanings = [A_NUMBER]
    for row, entry in enumerate(entries):
        if type(entry) is float or type(entry) is int or isinstance(entry, Real | Decimal | np.bool_):
            try:
                numbers[row] = entry
                continue
            except (OverflowError, ValueError, TypeError):
                pass  # An integer beyond floats, or a signalling nan: it is a label like any other.
        key = _hashable(entry, "outputs")
        if key not in position:
            position[key] = len(meanings)
            meanings.append(ABSENT if entry is _Absent else abbreviated(entry))
        codes[row] = position[key]
    if not position:
        return numbers, None, ()
    return (None if (codes > 0).all() else numbers), codes, tuple(meanings)


def _hashable(item: Any, name: str) -> Hashable:
    try:
        hash(item)
        found: Hashable = item
        return found
    except TypeError:
        pass  # A list inside a vector, or the like: it is what it prints.
    try:
        return repr(item)
    except RecursionError:
        raise ChannelError(f"{name} holds one that is nested without end; give numbers or labels") from None


def runs_of(inputs: object) -> tuple[tuple[Hashable, ...], NDArray[np.intp]]:
    """Distinct inputs in order of first appearance, and the number of each run's input."""
    if isinstance(inputs, str) or not isinstance(inputs, Sized) or not iterable(inputs):
        raise ChannelError(
            f"inputs is {abbreviated(inputs)}; give a list or array with one input for each run"
        )
    items: Any = (
        inputs.tolist() if isinstance(inputs, np.ndarray) else taken("inputs", inputs, ChannelError, "inputs")
    )
    position: dict[Hashable, int] = {}
    try:
        named = [label(item) for item in items]
    except TypeError as problem:
        raise ChannelError(f"inputs: {problem}") from None
    numbers = [position.setdefault(item, len(position)) for item in named]
    return tuple(position), np.array(numbers, dtype=np.intp)
