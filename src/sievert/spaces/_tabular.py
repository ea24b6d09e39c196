"""Counts, priors and matrices as people hold them: lists, arrays, mappings, pandas, polars and Arrow tables.

One rule for all of them. What carries labels (a mapping, a pandas index, named columns, a first column of
texts) is read by label, whatever its order; a label that is missing, unknown or there twice is an error that
names it. What carries none (a list, an array, a polars or Arrow column) is read by position. A pandas index
0, 1, 2, … that pandas made up counts as none, unless the labels it is read against are whole numbers too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.errors import SievertError
from sievert.numerics import abbreviated, count_of, holds_masked, require_size, taken
from sievert.spaces._labels import Labels, iterable, label, shown, worded

__all__ = ["Column", "DataTable", "by_label", "column_of", "floats", "frame", "pandas_axis", "table_of"]

LARGEST_RANGE = 10_000_000
BY_POSITION = "to give it by position, pass .to_numpy() or a list"


@dataclass(frozen=True, eq=False)
class Column:
    """Values with a label each, or, where `labels` is None, in the order in which they stand.

    `made_up` labels are an index that pandas made; in `sparse` ones, a Counter, what is missing counts 0.
    """

    values: Sequence[Any] | NDArray[Any]
    labels: tuple[Hashable, ...] | None = None
    made_up: bool = False
    sparse: bool = False

    @property
    def named(self) -> bool:
        """Whether somebody gave the labels."""
        return self.labels is not None and not self.made_up


@dataclass(frozen=True, eq=False)
class DataTable:
    """Rows of values, with names of the rows and columns where the table has them."""

    entries: Any
    rows: tuple[Hashable, ...] | None = None
    columns: tuple[Hashable, ...] | None = None

    def ordered(
        self,
        rows: Iterable[object] | None,
        columns: Iterable[object] | None,
        names: tuple[str, str],
        error: type[SievertError],
    ) -> tuple[Any, Any, Any]:
        """Entries, row names and column names; names that are asked for put the table's own in order."""
        entries, row_names, column_names = self.entries, self.rows, self.columns
        if rows is not None and row_names is not None:
            wanted = taken(names[0], rows, error, "labels")
            entries = _picked(entries, _order(wanted, row_names, names[0], error), 0)
            row_names = tuple(label(item) for item in wanted)
        if columns is not None and column_names is not None:
            wanted = taken(names[1], columns, error, "labels")
            entries = _picked(entries, _order(wanted, column_names, names[1], error), 1)
            column_names = tuple(label(item) for item in wanted)
        return (
            entries,
            rows if row_names is None else row_names,
            columns if column_names is None else column_names,
        )


def by_label(
    given: Any, labels: Labels | int, argument: str, error: type[SievertError]
) -> Sequence[Any] | NDArray[Any]:
    """One value for each label, in their order; a number of labels stands for 0, 1, 2, …

    >>> by_label({"no": 2, "yes": 1}, ("yes", "no"), "counts", SievertError)
    [1, 2]
    """
    column = column_of(given, argument, error)
    size = labels if isinstance(labels, int) else len(labels)
    named = column.labels is not None
    if column.made_up:
        named = not isinstance(labels, int) and all(type(item) is int for item in labels[:1000])
    if not named:
        if len(column.values) != size:
            raise error(
                f"{argument} has {len(column.values)} entries but {size} are needed"
                + (f", one for each of {shown(labels)}" if not isinstance(labels, int) else "")
            )
        return column.values
    assert column.labels is not None
    require_size(size, LARGEST_RANGE, f"the labels of {argument}", "group them, or " + BY_POSITION[3:])
    labels = range(labels) if isinstance(labels, int) else labels
    if column.sparse:
        return _counted(column, labels, argument, error)
    if column.labels == labels:
        return column.values
    order = _order(labels, column.labels, argument, error)
    if isinstance(column.values, np.ndarray):
        return column.values[order]
    return [column.values[i] for i in order]


def column_of(given: Any, argument: str, error: type[SievertError]) -> Column:
    """Values and their labels from a list, an array, a mapping, a series or a table of two columns."""
    if isinstance(given, Column):
        return given
    if isinstance(given, np.ndarray):
        if given.ndim != 1:
            raise error(f"{argument} has shape {given.shape}; it must be one row of numbers")
        return Column(_unmasked(given, argument, error))
    if isinstance(given, Mapping):
        return Column(list(given.values()), _names(given, argument, error), sparse=isinstance(given, Counter))
    if isinstance(given, range):
        require_size(count_of(given), LARGEST_RANGE, f"the numbers of {argument}", "take fewer")
    if isinstance(given, list | tuple | range):
        return Column(given)
    found = None if isinstance(given, str | bytes) else _narwhals(given, argument, error)
    if found is not None and found[0] == "series":
        names, made_up = _index(found[1], argument, error)
        return Column(_values(found[1]), names, made_up)
    if found is not None:
        return _column_of_frame(found[1], argument, error)
    if hasattr(given, "to_pylist"):
        return Column(given.to_pylist())
    if isinstance(given, str | bytes) or not iterable(given):
        raise error(
            f"{argument} is {abbreviated(given)}; give numbers: a list, a mapping from label, or a table"
        )
    return Column(taken(argument, given, error, "numbers"))


def table_of(given: Any, argument: str, error: type[SievertError]) -> DataTable:
    """Rows and names from a matrix, a mapping from row to its values, or a pandas, polars or Arrow table."""
    if isinstance(given, str | bytes | bytearray):
        raise error(f"{argument} is {abbreviated(given)}; give rows of numbers, or a data frame")
    if isinstance(given, np.ndarray):
        return DataTable(_unmasked(given, argument, error))
    if isinstance(given, list | tuple):
        return DataTable(given)
    if isinstance(given, Mapping):
        return _table_of_mapping(given, argument, error)
    found = _narwhals(given, argument, error)
    if found is None or found[0] == "series":
        return DataTable(given)
    return _table_of_frame(found[1], argument, error)


def _unmasked(given: NDArray[Any], argument: str, error: type[SievertError]) -> NDArray[Any]:
    """An array without a class of its own (np.matrix multiplies in its own way); none may be masked."""
    if holds_masked(given):
        raise error(f"{argument} is {abbreviated(given)}; a masked entry is missing, give every number")
    return np.asarray(given)


def floats(given: Any, argument: str, error: type[SievertError], rule: str) -> NDArray[np.float64]:
    """An array of real numbers of any shape; complex numbers, truth values and texts are refused."""
    if isinstance(given, range):
        require_size(count_of(given), LARGEST_RANGE, f"the numbers of {argument}", rule)
    if holds_masked(given):
        raise error(f"{argument} is {abbreviated(given)}; a masked entry is missing, {rule}")
    try:
        array = _unmasked(given, argument, error) if isinstance(given, np.ndarray) else np.asarray(given)
        if array.dtype.kind == "O":
            array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.empty(0, dtype=np.str_)
    if array.dtype.kind not in "iuf":
        raise error(f"{argument} is ragged or not numeric: {abbreviated(given)}; {rule}")
    return np.array(array, dtype=np.float64)


def frame(columns: Mapping[str, Any], library: Literal["pandas", "polars"]) -> Any:
    """A table of that library from columns; an error that says what to install where it is missing."""
    from importlib import import_module

    try:
        module = import_module(library)
    except ImportError:
        raise SievertError(f"{library} is not installed; run pip install {library}") from None
    return module.DataFrame(dict(columns))


def pandas_axis(labels: Labels) -> Any:
    """Labels as the index of a pandas table; tuples stay one label each."""
    from importlib import import_module

    return import_module("pandas").Index(list(labels), tupleize_cols=False)


def _order(
    wanted: Sequence[object], names: Sequence[Hashable], argument: str, error: type[SievertError]
) -> list[int]:
    """Position of each wanted label; the column names of polars and Arrow, always texts, match by text."""
    labels = [label(item) for item in wanted]
    position = {name: i for i, name in enumerate(names)}
    if not all(item in position for item in labels) and all(isinstance(name, str) for name in names):
        texts = [str(item) for item in labels]
        if len(set(texts)) == len(texts) and set(texts) == set(names):
            return [position[text] for text in texts]
    known = set(labels)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise error(
            f"{argument}: {abbreviated(unknown[0], worded)} is not one of the labels {shown(labels)}; "
            f"{BY_POSITION}"
        )
    missing = [item for item in labels if item not in position]
    if missing:
        raise error(
            f"{argument}: the label {abbreviated(missing[0])} is missing; give a value for each label"
        )
    return [position[item] for item in labels]


def _counted(column: Column, labels: Labels, argument: str, error: type[SievertError]) -> list[Any]:
    assert column.labels is not None
    known = dict(zip(column.labels, column.values, strict=True))
    wanted = set(labels)
    unknown = [name for name in known if name not in wanted]
    if unknown:
        raise error(f"{argument}: {abbreviated(unknown[0], worded)} is not one of the labels {shown(labels)}")
    return [known.get(item, 0) for item in labels]


def _picked(entries: Any, order: list[int], axis: int) -> Any:
    if isinstance(entries, np.ndarray):
        return entries.take(order, axis=axis)
    return [entries[i] for i in order] if axis == 0 else [[row[i] for i in order] for row in entries]


def _names(given: Iterable[Any], argument: str, error: type[SievertError]) -> tuple[Hashable, ...]:
    """Labels as plain Python, each there once."""
    try:
        names = tuple(label(item) for item in given)
    except TypeError as problem:
        raise error(f"{argument}: {problem}") from None
    seen: set[Hashable] = set()
    for name in names:
        if name in seen:
            raise error(f"{argument} has the label {abbreviated(name)} twice; labels must be distinct")
        seen.add(name)
    return names


def _narwhals(
    given: Any, argument: str, error: type[SievertError]
) -> tuple[Literal["series", "frame"], Any] | None:
    """The series or table behind an object of any library that narwhals reads; None for anything else."""
    import narwhals as nw

    try:
        found = nw.from_native(given, pass_through=True, allow_series=True)
    except nw.exceptions.NarwhalsError as problem:
        raise error(f"{argument} cannot be read as a table: {' '.join(str(problem).split())}") from None
    if isinstance(found, nw.LazyFrame):
        raise error(f"{argument} is a table that is not computed yet; call .collect() on it first")
    if isinstance(found, nw.Series):
        return "series", found
    return ("frame", found) if isinstance(found, nw.DataFrame) else None


def _values(series: Any) -> Sequence[Any] | NDArray[Any]:
    """Floats as an array; all else as Python objects, so that whole numbers and decimals stay exact."""
    if series.dtype.is_float() and not series.is_null().any():
        return np.asarray(series.to_numpy(), dtype=np.float64)
    return list(series.to_list())


def _index(native: Any, argument: str, error: type[SievertError]) -> tuple[tuple[Hashable, ...] | None, bool]:
    """Labels of a pandas index, and whether pandas made them up; None for libraries without an index."""
    import narwhals as nw

    index = nw.maybe_get_index(native)
    return (None, False) if index is None else _axis(index, argument, error)


def _axis(index: Any, argument: str, error: type[SievertError]) -> tuple[tuple[Hashable, ...], bool]:
    made_up = type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1
    return _names(index.tolist(), argument, error), made_up and index.name is None


def _column_of_frame(table: Any, argument: str, error: type[SievertError]) -> Column:
    """One column of numbers beside an index, or a column of labels and a column of numbers."""
    names, made_up = _index(table, argument, error)
    series = [table[:, j] for j in range(table.shape[1])]
    if len(series) == 1:
        return Column(_values(series[0]), names, made_up)
    if len(series) == 2 and (names is None or made_up):
        return Column(_values(series[1]), _names(series[0].to_list(), argument, error))
    raise error(
        f"{argument} is a table of {len(series)} columns; give one column of labels and one of numbers"
    )


def _table_of_mapping(given: Mapping[Any, Any], argument: str, error: type[SievertError]) -> DataTable:
    rows = _names(given, argument, error)
    parts = [column_of(row, f"{argument}: row {abbreviated(name)}", error) for name, row in given.items()]
    columns = parts[0].labels if parts else None
    if columns is None:
        return DataTable([list(part.values) for part in parts], rows)
    return DataTable(
        [
            list(by_label(row, columns, f"{argument}: row {abbreviated(name)}", error))
            for name, row in given.items()
        ],
        rows,
        columns,
    )


def _table_of_frame(table: Any, argument: str, error: type[SievertError]) -> DataTable:
    """The index, or else a first column that does not hold numbers, names the rows."""
    names, made_up = _index(table, argument, error)
    rows = None if made_up else names
    columns: tuple[Hashable, ...] | None = tuple(table.columns)
    native_columns = getattr(table.to_native(), "columns", None)
    if names is not None:
        columns, plain = _axis(native_columns, argument, error)
        columns = None if plain else columns
    series = [table[:, j] for j in range(table.shape[1])]
    if rows is None and len(series) > 1 and _holds_labels(series):
        rows = _names(series[0].to_list(), argument, error)
        series = series[1:]
        columns = None if columns is None else columns[1:]
    return DataTable(_entries(series, table.shape[0]), rows, columns)


def _holds_labels(series: list[Any]) -> bool:
    """Whether the first column names the rows: no numbers, though the others are or it cannot be read."""
    first, *others = series
    if first.dtype.is_numeric() or str(first.dtype) == "Unknown":
        return False
    if all(other.dtype.is_numeric() for other in others):
        return True
    from sievert.numerics import as_fraction

    try:
        for item in first.to_list():
            as_fraction(item)
    except ValueError:
        return True
    return False


def _entries(series: list[Any], rows: int) -> Any:
    columns = [_values(part) for part in series]
    if columns and all(isinstance(column, np.ndarray) for column in columns):
        return np.column_stack(columns)
    return [[_plain(column[i]) for column in columns] for i in range(rows)]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
