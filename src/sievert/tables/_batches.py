"""Rows of any number, a batch at a time: CSV, Parquet, Arrow, or a data frame in memory.

Only the named columns of one batch are held. CSV needs nothing installed; Parquet and Arrow need pyarrow,
data frames narwhals (the extra `data`). A file names the place of its records as a `Source`.
"""

from __future__ import annotations

import csv
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sievert.errors import DataError, FileError, SievertError
from sievert.kinds import ConfigType, Positive, PrivatePath, Probability, Section, variant
from sievert.numerics import abbreviated, several
from sievert.tables._cells import Meaning, refusal
from sievert.tables._delimited import csv_rows
from sievert.tables._dictionary_encoding import DictionaryColumn, arrow_or_none, coded, coded_list
from sievert.tables._driver_words import class_of, whole
from sievert.tables._folders import files_in, is_several
from sievert.tables._reading import existing

if TYPE_CHECKING:
    from sievert.tables._warehouse import Warehouse

__all__ = [
    "BATCH_ROWS",
    "Batch",
    "FitModel",
    "Rows",
    "Source",
    "data_files",
    "open_rows",
    "parquet_groups",
]

BATCH_ROWS = 65_536
CHUNK_ROWS = 2048
# Python's own limit for a field; a longer one is read by Python.
BLOCK_BYTES = 1 << 17
# Who reads a file, by its suffix.
READERS: dict[str, Callable[[Path], Rows]] = {}


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows: the number of the first one (from 1), and a list for each column."""

    first: int
    columns: dict[str, Sequence[Any]]
    size: int


class Rows(ABC):
    """A table that is read in batches, as often as needed."""

    name: str

    @property
    @abstractmethod
    def header(self) -> list[str]:
        """The names of the columns."""

    @abstractmethod
    def _batches(self, columns: Sequence[str], size: int) -> Iterator[dict[str, Sequence[Any]]]: ...

    @abstractmethod
    def fingerprint(self, salt: str) -> str:
        """A salted hash of the content, to see that it has not changed."""

    def _coded(self, name: str, column: Any) -> DictionaryColumn:
        """A column of Arrow or of a frame in code; the error for one without cells names it."""
        try:
            found = column if hasattr(column, "type") else _of_frame(column)
            return coded_list(found) if isinstance(found, list) else coded(found)
        except DataError as problem:
            raise DataError(f"{self.name}: the column {abbreviated(name)} {problem}") from None

    def batches(self, columns: Iterable[str], size: int = BATCH_ROWS) -> Iterator[Batch]:
        """The named columns, about `size` rows at a time; the same batches each time."""
        wanted = list(dict.fromkeys(columns))
        header = self.header
        for name in wanted:
            if name not in header:
                raise DataError(
                    f"{self.name}: has no column {abbreviated(name)}, but {several(header) or 'none'}"
                )
            if header.count(name) > 1:
                raise DataError(f"{self.name}: has the column {abbreviated(name)} twice; rename one of them")
        first = 1
        for found in self._sound(wanted, size):
            count = len(found[wanted[0]])
            yield Batch(first, found, count)
            first += count

    def _sound(self, columns: Sequence[str], size: int) -> Iterator[dict[str, Sequence[Any]]]:
        """The batches; what a reader says of a damaged table may quote it."""
        damages: tuple[type[Exception], ...] = (OSError, ValueError, ArithmeticError, *_of_arrow())
        try:
            yield from self._batches(columns, size)
        except SievertError:
            raise
        except damages as problem:
            raise DataError(
                f"{self.name}: is damaged, and cannot be read ({class_of(problem)})", private=whole(problem)
            ) from None
        except BaseException as problem:
            if type(problem).__name__ != "PanicException":  # of polars: no Exception
                raise
            raise DataError(f"{self.name}: is damaged, and cannot be read (PanicException)") from None


def _of_arrow() -> tuple[type[Exception], ...]:
    """What Arrow raises of its own."""
    arrow = arrow_or_none()
    return () if arrow is None else (arrow.ArrowException,)


def open_rows(source: Any, groups: tuple[int, int] | None = None) -> Rows:
    """The table at a path (.csv, .parquet, .arrow, .feather, .ipc), or a data frame.

    A folder or a pattern is its files, one after another; `groups` are the row groups of a Parquet file from
    the first up to before the second.
    """
    if not isinstance(source, str | Path):
        return _Frame(source)
    if is_several(source):
        return _Several(source, Path())
    path = existing(source, "; paths in the file are relative to its own folder")
    suffix = path.suffix.lower()
    if suffix not in READERS:
        *others, last = READERS
        raise FileError(
            f"{path}: data is read from {', '.join(others)} or {last}, not {suffix or 'a bare name'}"
        )
    found = READERS[suffix](path)
    return found if groups is None else _Parquet(path, groups)


def data_files(path: str | Path, folder: str | Path = ".") -> list[Path]:
    """The tables of a folder or pattern, in the order of their names."""
    return files_in(path, folder, READERS)


class _Several(Rows):
    """Tables with the same columns, one after another."""

    def __init__(self, path: str | Path, folder: Path) -> None:
        self.name = str(folder / path)
        self.parts = [open_rows(file) for file in data_files(path, folder)]

    @property
    def header(self) -> list[str]:
        return self.parts[0].header

    def fingerprint(self, salt: str) -> str:
        return hashlib.sha256("".join(part.fingerprint(salt) for part in self.parts).encode()).hexdigest()

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[dict[str, Sequence[Any]]]:
        for part in self.parts:
            for batch in part.batches(columns, size):
                yield batch.columns


class _File(Rows):
    """A file, whose class is registered under the suffixes that it reads."""

    def __init_subclass__(cls, *, suffixes: Sequence[str] = ()) -> None:
        super().__init_subclass__()
        READERS.update(dict.fromkeys(suffixes, cls))

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = str(path)

    def fingerprint(self, salt: str) -> str:
        digest = hashlib.sha256(salt.encode())
        with self.path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()


class _NotTaken(Exception):
    """What Arrow does not read, or not from here on."""


class _Csv(_File, suffixes=(".csv", ".txt")):
    delimiter = ","

    @property
    def header(self) -> list[str]:
        with self._reader() as lines:
            for line in lines:
                return [name.strip() for name in line]
        raise DataError(f"{self.path}: is empty; its first line must name the columns")

    @contextmanager
    def _reader(self) -> Iterator[Iterator[list[str]]]:
        try:
            with self.path.open(newline="", encoding="utf-8-sig") as stream:
                yield csv_rows(stream, self.delimiter)
        except (OSError, UnicodeDecodeError, csv.Error) as problem:
            raise DataError(
                f"{self.path}: cannot be read as CSV ({class_of(problem)}); save it as UTF-8 text",
                private=whole(problem),
            ) from None

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[dict[str, Sequence[Any]]]:
        """By Arrow where it is installed; from the first line on that it does not take, by Python."""
        given = 0
        try:
            for found in self._by_arrow(columns, size):
                given += len(found[columns[0]])
                yield found
        except _NotTaken:
            yield from self._by_python(columns, size, given)

    def _by_arrow(self, columns: Sequence[str], size: int) -> Iterator[dict[str, Sequence[Any]]]:
        """Every cell is a text, as for Python's own reader, and only a blank line is no row."""
        arrow = arrow_or_none()
        if arrow is None:
            raise _NotTaken
        from pyarrow import csv as arrow_csv

        header = self.header
        names = [str(place) for place in range(len(header))]
        chosen = [names[header.index(name)] for name in columns]
        try:
            with arrow_csv.open_csv(
                self.path,
                arrow_csv.ReadOptions(use_threads=False, block_size=BLOCK_BYTES, column_names=names),
                arrow_csv.ParseOptions(
                    delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=len(header) > 1
                ),
                arrow_csv.ConvertOptions(
                    column_types=dict.fromkeys(chosen, arrow.string()),
                    strings_can_be_null=False,
                    include_columns=chosen,
                ),
            ) as stream:
                # The line of names is read as a row: its fields may hold ends of lines.
                for part in _of_size(arrow, stream, size, skip=1):
                    yield {name: self._coded(name, part.column(i)) for i, name in enumerate(columns)}
        except (arrow.ArrowException, UnicodeEncodeError):  # also of a path that is not UTF-8
            raise _NotTaken from None

    def _by_python(self, columns: Sequence[str], size: int, skip: int) -> Iterator[dict[str, Sequence[Any]]]:
        with self._reader() as lines:
            header = [name.strip() for name in next(lines)]
            places = [header.index(name) for name in columns]
            read = 0
            found: list[list[str]] = [[] for _ in columns]
            # Few rows are whole at a time: lists that live long make Python's collector slow.
            while rows := list(islice(lines, CHUNK_ROWS)):
                if set(map(len, rows)) != {len(header)}:
                    rows = self._checked(rows, len(header), read + 1)
                read += len(rows)
                rows, skip = rows[skip:], max(0, skip - len(rows))
                for column, place in zip(found, places, strict=True):
                    column.extend(map(itemgetter(place), rows))
                if len(found[0]) >= size:
                    yield dict(zip(columns, found, strict=True))
                    found = [[] for _ in columns]
            if found[0]:
                yield dict(zip(columns, found, strict=True))

    def _checked(self, rows: list[list[str]], width: int, first: int) -> list[list[str]]:
        """Rows without blank lines; a column of one field may be empty and still be a row."""
        kept = [row if row else [""] for row in rows if row or width == 1]
        for number, row in enumerate(kept, start=first):
            if len(row) != width:
                raise DataError(
                    f"{self.path}: row {number} has {len(row)} fields but the header has {width}; quote "
                    "fields that contain the separator"
                )
        return kept


def _of_size(arrow: Any, blocks: Iterable[Any], size: int, skip: int) -> Iterator[Any]:
    """Blocks of Arrow as others of so many rows each, the first rows left out."""
    held: list[Any] = []
    rows = 0
    for block in blocks:
        held.append(block)
        rows += block.num_rows
        if rows - skip < size:
            continue
        whole, start = arrow.Table.from_batches(held), skip
        while rows - start >= size:
            yield whole.slice(start, size).combine_chunks()
            start += size
        held, rows, skip = whole.slice(start).to_batches(), rows - start, 0
    if rows > skip:
        yield arrow.Table.from_batches(held).slice(skip).combine_chunks()


class _TabSeparated(_Csv, suffixes=(".tsv",)):
    delimiter = "\t"


class _Parquet(_File, suffixes=(".parquet",)):
    def __init__(self, path: Path, groups: tuple[int, int] | None = None) -> None:
        super().__init__(path)
        self.groups = groups

    @property
    def header(self) -> list[str]:
        return list(self._open().schema_arrow.names)

    def _open(self) -> Any:
        parquet = _import("pyarrow.parquet", self.path)
        try:
            # Whole days of Spark's old moments go beyond nanoseconds, which would wrap around.
            return parquet.ParquetFile(self.path, coerce_int96_timestamp_unit="us")
        except Exception as problem:
            raise DataError(
                f"{self.path}: cannot be read as Parquet ({class_of(problem)})", private=whole(problem)
            ) from None

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[dict[str, Sequence[Any]]]:
        with self._open() as stream:
            groups = None if self.groups is None else list(range(*self.groups))
            found = stream.iter_batches(
                batch_size=size, row_groups=groups, columns=list(columns), use_threads=False
            )
            for batch in found:
                if batch.num_rows:
                    yield {name: self._coded(name, batch.column(name)) for name in columns}

    @property
    def group_sizes(self) -> list[int]:
        """How many rows each row group has."""
        with self._open() as stream:
            return [stream.metadata.row_group(i).num_rows for i in range(stream.metadata.num_row_groups)]


def parquet_groups(path: Path) -> list[int]:
    """How many rows each row group of a Parquet file has."""
    return _Parquet(path).group_sizes


class _Arrow(_File, suffixes=(".arrow", ".feather", ".ipc")):
    @property
    def header(self) -> list[str]:
        return list(self._open().schema.names)

    def _open(self) -> Any:
        arrow = _import("pyarrow", self.path)
        ipc = _import("pyarrow.ipc", self.path)
        # Not mapped into memory: a file that is cut off while it is read would end the process.
        try:
            return ipc.open_file(arrow.OSFile(str(self.path)))
        except (arrow.ArrowInvalid, UnicodeEncodeError):
            pass  # not the file format; perhaps the stream format
        try:
            return ipc.open_stream(arrow.OSFile(str(self.path)))
        except (arrow.ArrowInvalid, OSError, UnicodeEncodeError) as problem:
            raise DataError(
                f"{self.path}: cannot be read as Arrow ({class_of(problem)})", private=whole(problem)
            ) from None

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[dict[str, Sequence[Any]]]:
        stream = self._open()
        counted = hasattr(stream, "num_record_batches")
        whole = (stream.get_batch(i) for i in range(stream.num_record_batches)) if counted else iter(stream)
        for batch in whole:
            # Offsets that lead out of the file would be followed.
            batch.validate(full=True)
            for start in range(0, batch.num_rows, size):
                part = batch.slice(start, size)
                yield {name: self._coded(name, part.column(name)) for name in columns}


class _Frame(Rows):
    """A pandas, polars or pyarrow table in memory."""

    name = "the data frame"

    def __init__(self, frame: Any) -> None:
        try:
            import narwhals
        except ImportError:
            raise DataError("data frames need narwhals; install sievert[data]") from None
        try:
            self._frame = narwhals.from_native(frame, eager_only=True)
        except TypeError:
            raise DataError(
                f"data is a {type(frame).__name__}; give a path, or a pandas, polars or pyarrow table"
            ) from None
        except Exception as problem:  # narwhals has an error of its own for two columns of one name
            raise DataError(
                f"the data frame cannot be read ({class_of(problem)}); see that every column has "
                "a name of its own",
                private=whole(problem),
            ) from None

    @property
    def header(self) -> list[str]:
        return list(self._frame.columns)

    def fingerprint(self, salt: str) -> str:
        digest = hashlib.sha256(salt.encode())
        for batch in self.batches(self.header):
            digest.update(repr(batch.columns).encode())
        return digest.hexdigest()

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[dict[str, Sequence[Any]]]:
        for start in range(0, len(self._frame), size):
            part = self._frame[start : start + size]
            yield {name: self._coded(name, part[name]) for name in columns}


def _of_frame(series: Any) -> Any:
    """A column of a frame: of Arrow as it is, else a list of cells; the kinds of no cell are refused."""
    native = series.to_native()
    if hasattr(native, "chunks") and hasattr(native, "combine_chunks"):
        return native
    kind = series.dtype
    arrow = arrow_or_none()
    if arrow is not None and hasattr(getattr(native, "dtype", None), "pyarrow_dtype"):
        return arrow.array(native)
    if kind.is_nested() or str(kind).startswith(("Binary", "Duration")):
        raise refusal(str(kind))
    if arrow is not None and kind.is_temporal() and hasattr(native, "to_arrow"):
        return native.to_arrow()  # polars would cut nanoseconds, and has no years after 9999
    cells = series.to_list()
    held = getattr(native, "dtype", None)  # of pandas: perhaps of categories
    if any(re.search("Float(16|32)", str(one), re.I) for one in (kind, held, _kind_of_categories(held))):
        return [np.float32(cell) if isinstance(cell, float) else cell for cell in cells]
    return list(cells)


def _kind_of_categories(held: Any) -> Any:
    return getattr(getattr(held, "categories", None), "dtype", None)


def _import(module: str, path: Path) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise FileError(f"{path}: needs pyarrow; install sievert[data], or save the data as CSV") from None


class FitModel(Section):
    """Which shares of the rows may fail to fit before a release stops, at no charge."""

    unknown: Probability = Field(
        0.01, description='share of rows with an unknown value that `unknown = "drop"` may leave out'
    )
    dropped: Probability = Field(0.2, description="share of rows that may be left out, for whatever reason")


class Source(ConfigType, noun="source"):
    """Where the records are."""

    tables_only = True
    default = "input"
    homes = ("sievert.tables._batches", "sievert.tables._sources")
    # Whether every record can be read, not only how many have which value.
    by_record: ClassVar[bool] = True

    column: Annotated[
        str | list[str] | None,
        Field(description="the private column or columns; for places `[latitude, longitude]`"),
    ] = None
    person: Annotated[str | None, Field(description="the column that says whose row it is")] = None
    rows_per_person: Annotated[
        Positive, Field(description="row by row: how many rows one person may have")
    ] = 1
    missing_values: list[str] = Field(
        default_factory=list,
        description="further texts, such as `NA`, that stand for a missing value; a number for every cell "
        "that is this number, whatever its type",
    )

    fit: FitModel = Field(
        default_factory=FitModel,
        description="`{ unknown = 0.01, dropped = 0.2 }`: shares of rows that may fail to fit; above them a "
        "release stops and charges nothing",
    )

    @property
    def meaning(self) -> Meaning:
        """What the cells of every column mean."""
        return Meaning(tuple(self.missing_values))

    @property
    def per(self) -> str:
        """Whom a promise of one record is for: a person, or a row where nothing says whose it is."""
        return "person"

    @property
    def columns(self) -> list[str]:
        """The columns that make up a record."""
        return [] if self.column is None else [self.column] if isinstance(self.column, str) else self.column

    def require_hosts(self) -> None:
        """Refuse a host that only the file allows, or ask about it."""

    @abstractmethod
    def rows(self, folder: Path) -> Rows:
        """The records, for a file that lies in this folder."""

    def several(self, folder: Path) -> str | Path | None:
        """The folder or pattern of files that the records are in; None where they are one table."""
        return None

    def warehouse(self, folder: Path) -> Warehouse | None:
        """What counts the records where they are; None where they are read."""
        return None


@variant(Source, key="input")
class FileSource(Source):
    """A table in a file."""

    input: Annotated[
        PrivatePath,
        Field(
            description="the data: `.csv`, `.tsv`, `.parquet`, `.arrow`, `.feather` or `.ipc`; a folder or a "
            "pattern such as `visits/*.parquet` is one table"
        ),
    ]

    def rows(self, folder: Path) -> Rows:
        if self.several(folder) is not None:
            return _Several(self.input, folder)
        return open_rows(folder / self.input)

    def several(self, folder: Path) -> str | Path | None:
        return self.input if is_several(self.input, folder) else None

    def warehouse(self, folder: Path) -> Warehouse | None:
        from sievert.tables._sources import counted_files

        return counted_files(self.input, folder)
