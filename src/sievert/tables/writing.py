"""Tables out, a batch at a time: CSV without extras, Parquet and Arrow with pyarrow.

A writer leaves a file that is complete and on disk when it is closed; giving it its name is the ledger's
work. CSV can be continued after an interruption at any size that was on disk.
"""

from __future__ import annotations

import csv
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from sievert.errors import FileError
from sievert.numerics.checks import brief
from sievert.tables.atomic import create, reopen, write_all

__all__ = ["TableWriter", "require_writable", "table_bytes", "table_writer"]

# File systems allow 255 bytes; the names of the sidecar and of unfinished files are longer than the output's.
LONGEST_NAME = 150
ARROW_SUFFIXES = (".parquet", ".arrow", ".feather", ".ipc")


class TableWriter(ABC):
    """Writes batches of columns to a new file."""

    resumable = False

    @abstractmethod
    def write(self, columns: Sequence[Sequence[Any]]) -> None:
        """Append rows, given by column."""

    @abstractmethod
    def sync(self) -> int:
        """Wait until all rows so far are on disk; the size of the file then."""

    @abstractmethod
    def close(self) -> None:
        """Finish the file and wait until it is on disk."""

    @abstractmethod
    def discard(self) -> None:
        """Let the file go as it is."""


def table_writer(path: Path, target: Path, names: Sequence[str], size: int = 0) -> TableWriter:
    """A writer to `path`, in the format of the name `target`; CSV goes on after `size` bytes."""
    suffix = target.suffix.lower()
    if suffix == ".csv":
        return _CsvWriter(path, names, size)
    if suffix in ARROW_SUFFIXES:
        return _ArrowWriter(path, suffix, names)
    raise FileError(_no_such_format(target))


def require_writable(target: Path) -> None:
    """Refuse a name in whose format nothing can be written here, before anything is done for it."""
    length = len(os.fsencode(target.name))
    if length > LONGEST_NAME or any(letter < " " for letter in str(target)):
        raise FileError(
            f"output is {brief(str(target))}, whose name has {length} bytes; give a name of at most "
            f"{LONGEST_NAME} bytes without control characters"
        )
    suffix = target.suffix.lower()
    if suffix in ARROW_SUFFIXES:
        _ArrowWriter(io.BytesIO(), suffix, [])
    elif suffix != ".csv":
        raise FileError(_no_such_format(target))


def _no_such_format(target: Path) -> str:
    ending = target.suffix or "a bare name"
    return f"{target}: a release is written to .csv, .parquet or .arrow, not {ending}"


def table_bytes(target: Path, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> bytes:
    """A small table as the bytes of a file in the format of the name `target`."""
    if target.suffix.lower() == ".csv":
        return (_csv_text([names]) + _csv_text(list(zip(*columns, strict=True)))).encode()
    stream = io.BytesIO()
    writer = _ArrowWriter(stream, target.suffix.lower(), names)
    writer.write(columns)
    writer.finish()
    return stream.getvalue()


def _csv_text(rows: Sequence[Sequence[Any]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(rows)
    return stream.getvalue()


class _CsvWriter(TableWriter):
    resumable = True

    def __init__(self, path: Path, names: Sequence[str], size: int) -> None:
        self._descriptor = reopen(path) if size else create(path)
        os.ftruncate(self._descriptor, size)
        os.lseek(self._descriptor, size, os.SEEK_SET)
        self._size = size
        self._width = len(names)
        if not size:
            self._append(_csv_text([names]).encode())

    def _append(self, content: bytes) -> None:
        write_all(self._descriptor, content)
        self._size += len(content)

    def write(self, columns: Sequence[Sequence[Any]]) -> None:
        if self._width == 1 and not any(map(_needs_quotes, set(columns[0]))):
            text = "\n".join(map(str, columns[0]))
            self._append((text + "\n").encode() if len(columns[0]) else b"")
        else:
            self._append(_csv_text(list(zip(*columns, strict=True))).encode())

    def sync(self) -> int:
        os.fsync(self._descriptor)
        return self._size

    def close(self) -> None:
        try:
            self.sync()
        finally:
            self.discard()

    def discard(self) -> None:
        os.close(self._descriptor)


def _needs_quotes(value: Any) -> bool:
    return isinstance(value, str) and (not value or any(letter in value for letter in ',"\r\n'))


class _ArrowWriter(TableWriter):
    def __init__(self, path: Path | BinaryIO, suffix: str, names: Sequence[str]) -> None:
        try:
            import pyarrow
        except ImportError:
            raise FileError(f"output {suffix}: needs pyarrow; install sievert[data], or write CSV") from None
        self._arrow = pyarrow
        self._stream: Any = os.fdopen(create(path), "w+b") if isinstance(path, Path) else path
        self._suffix, self._names = suffix, list(names)
        self._writer: Any = None

    def write(self, columns: Sequence[Sequence[Any]]) -> None:
        if not len(columns[0]):
            return  # a batch without rows has no types
        arrays = [self._arrow.array(list(column)) for column in columns]
        table = self._arrow.Table.from_arrays(arrays, self._names)
        if self._writer is None:
            # A column that begins with a batch of nothing is one of texts.
            arrow = self._arrow
            fields = [
                (f.name, arrow.string() if arrow.types.is_null(f.type) else f.type) for f in table.schema
            ]
            self._writer = self._opened(arrow.schema(fields))
        self._writer.write_table(table.cast(self._writer_schema))

    def _opened(self, schema: Any) -> Any:
        self._writer_schema = schema
        if self._suffix == ".parquet":
            from pyarrow import parquet

            return parquet.ParquetWriter(self._stream, schema)
        from pyarrow import ipc

        return ipc.new_file(self._stream, schema)

    def finish(self) -> None:
        """Write what ends the format."""
        if self._writer is None:
            empty = self._arrow.schema([(name, self._arrow.string()) for name in self._names])
            self._writer = self._opened(empty)
        self._writer.close()

    def sync(self) -> int:
        return 0

    def close(self) -> None:
        self.finish()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()

    def discard(self) -> None:
        with suppress(OSError):  # the file is given up, whatever of it was on disk
            self._stream.close()
