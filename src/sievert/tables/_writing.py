"""What is written: tables a batch at a time, whole files at once, and one guard for all of them.

A writer (CSV without extras, Parquet and Arrow with pyarrow) leaves a file that is complete and on disk when
it is closed; giving it its name is the ledger's work. CSV can be continued after an interruption at any size
that was on disk.

The guard (`Outputs`) claims files before any work is done, so that a wrong name costs no time, and checks
once more when they are written. An earlier result is replaced only if that was asked for (`--force`); what
the run reads, folders, links, devices and pipes never are.
"""

from __future__ import annotations

import glob
import io
import os
import secrets
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, BinaryIO

from sievert.errors import FileError, OutputError
from sievert.numerics import abbreviated
from sievert.tables._dictionary_encoding import DictionaryColumn, csv_bytes, csv_text

__all__ = [
    "NO_LINKS",
    "Outputs",
    "TableWriter",
    "create",
    "fits",
    "give_name",
    "is_inside",
    "is_text",
    "matching",
    "reopen",
    "require_plain",
    "require_writable",
    "table_bytes",
    "table_writer",
    "write_all",
    "write_bytes",
    "write_text",
]

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
            f"output is {abbreviated(str(target))}, whose name has {length} bytes; give a name of at most "
            f"{LONGEST_NAME} bytes without control characters"
        )
    whole = os.path.abspath(target)
    if not is_text(whole):
        # The ledger and the file beside the table hold it as text.
        raise FileError(f"output is {abbreviated(whole)}, a path that is not UTF-8; name another one")
    suffix = target.suffix.lower()
    if suffix in ARROW_SUFFIXES:
        _ArrowWriter(io.BytesIO(), suffix, [])
    elif suffix != ".csv":
        raise FileError(_no_such_format(target))


def is_text(name: str) -> bool:
    """Whether a name can stand in a text file: bytes of a file's name need not be UTF-8."""
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _no_such_format(target: Path) -> str:
    ending = target.suffix or "a bare name"
    return f"{target}: a release is written to .csv, .parquet or .arrow, not {ending}"


def table_bytes(target: Path, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> bytes:
    """A small table as the bytes of a file in the format of the name `target`."""
    if target.suffix.lower() == ".csv":
        return (csv_text([names]) + csv_text(list(zip(*columns, strict=True)))).encode()
    stream = io.BytesIO()
    writer = _ArrowWriter(stream, target.suffix.lower(), names)
    writer.write(columns)
    writer.finish()
    return stream.getvalue()


class _CsvWriter(TableWriter):
    resumable = True

    def __init__(self, path: Path, names: Sequence[str], size: int) -> None:
        self._descriptor = reopen(path) if size else create(path)
        os.ftruncate(self._descriptor, size)
        os.lseek(self._descriptor, size, os.SEEK_SET)
        self._size = size
        if not size:
            self._append(csv_text([names]).encode())

    def _append(self, content: bytes) -> None:
        write_all(self._descriptor, content)
        self._size += len(content)

    def write(self, columns: Sequence[Sequence[Any]]) -> None:
        self._append(csv_bytes(columns))

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
        arrays = [self._array(column) for column in columns]
        table = self._arrow.Table.from_arrays(arrays, self._names)
        if self._writer is None:
            # A column that begins with a batch of nothing is one of texts.
            arrow = self._arrow
            fields = [
                (f.name, arrow.string() if arrow.types.is_null(f.type) else f.type) for f in table.schema
            ]
            self._writer = self._opened(arrow.schema(fields))
        self._writer.write_table(table.cast(self._writer_schema))

    def _array(self, column: Sequence[Any]) -> Any:
        if isinstance(column, DictionaryColumn):
            return column.values.arrow.take(self._arrow.array(column.codes))
        return self._arrow.array(list(column))

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


# ── Writing files all or nothing: a reader sees the old file or the whole new one ───────────────────────────

# A link planted at a name must not lead elsewhere.
NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


def write_bytes(path: str | Path, content: bytes, *, replace: bool = True) -> Path:
    """Write to a temporary file beside the target, flush it to disk, then rename it over the target.

    A new file has the permissions that the umask leaves; one that is replaced keeps its own. Only plain
    files are replaced, and none unless `replace`.
    """
    target = Path(path)
    there = require_plain(target)
    temporary = target.with_name(f".sievert-{secrets.token_hex(8)}")
    try:
        descriptor = create(temporary, 0o600 if there else 0o666)
        try:
            if there:  # before a byte is written: what is private must not be open meanwhile
                temporary.chmod(stat.S_IMODE(os.lstat(target).st_mode))
            write_all(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        _give_name(temporary, target, replace)
    except OSError as problem:
        raise OutputError(
            f"{target}: cannot write there ({problem.strerror}); check that the folder exists and can be "
            "written to"
        ) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return target


def _give_name(temporary: Path, target: Path, replace: bool) -> None:
    if replace:
        os.replace(temporary, target)
        return
    try:
        give_name(temporary, target)
    except FileExistsError:
        raise FileError(f"{target}: is there already; it is not replaced") from None


def give_name(temporary: Path, target: Path) -> None:
    """Give a file that is whole another name, at which there is none yet."""
    try:
        os.link(temporary, target)  # unlike a renaming, it fails where there is a file
    except FileExistsError:
        raise
    except OSError as problem:
        if os.path.lexists(target):
            raise FileExistsError(*problem.args) from None
        os.replace(temporary, target)  # a file system without links


def create(path: str | Path, mode: int = 0o666) -> int:
    """A descriptor of a new file of ours; what lies at its name is removed, and no link is followed."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_LINKS, mode)


def reopen(path: str | Path) -> int:
    """A descriptor of a file that `create` made; anything else at its name is refused."""
    descriptor = os.open(path, os.O_RDWR | NO_LINKS)
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1:
        os.close(descriptor)
        raise OutputError(f"{path}: is not the file that an interrupted run left; a person has to look at it")
    return descriptor


def write_all(descriptor: int, content: bytes) -> None:
    """Write every byte, however many calls it takes."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def write_text(path: str | Path, content: str) -> Path:
    """`write_bytes` for text in UTF-8."""
    return write_bytes(path, content.encode())


def same_file(first: str | Path, second: str | Path) -> bool:
    """Whether two paths lead to one file, through links of either kind; also where it is not there yet."""
    try:
        return os.path.samefile(first, second)
    except (OSError, ValueError):  # one of them does not exist: compare where they lead
        return os.path.realpath(first) == os.path.realpath(second)


def matching(pattern: str | Path, folder: str | Path) -> list[Path]:
    """The files that a path or pattern names from a folder, sorted; the folder's own name is no pattern."""
    return sorted(Path(folder) / name for name in glob.glob(str(pattern), root_dir=folder, recursive=True))


def fits(pattern: str | Path, folder: str | Path, path: str | Path) -> bool:
    """Whether a path is one that the pattern names from a folder, there already or not.

    >>> [fits("*.csv", "in", path) for path in ("in/a.csv", "in/b/a.csv", "a.csv")]
    [True, False, False]
    >>> fits("**/*.csv", "in", "in/b/a.csv")
    True
    """
    root = os.path.realpath(folder)
    names = os.path.relpath(os.path.realpath(path), root).split(os.sep)
    wanted = os.path.relpath(os.path.normpath(os.path.join(root, pattern)), root).split(os.sep)
    return _fits(wanted, names)


def _fits(wanted: list[str], names: list[str]) -> bool:
    if not wanted:
        return not names
    if wanted[0] == "**":
        return any(_fits(wanted[1:], names[skipped:]) for skipped in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], wanted[0]) and _fits(wanted[1:], names[1:])


def is_inside(path: str | Path, folder: str | Path) -> bool:
    """Whether a path lies in a folder, or in one below it."""
    return Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents


def require_plain(target: Path) -> bool:
    """Whether the file is there; refuse a folder, a device, a pipe or a link."""
    try:
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        return False
    except (OSError, ValueError) as problem:
        words = getattr(problem, "strerror", None) or problem
        raise FileError(f"{target}: cannot write there ({words}); name another file") from None
    if stat.S_ISDIR(mode):
        raise FileError(f"{target}: is a folder; name a file in it")
    if not stat.S_ISREG(mode):
        kind = "a link" if stat.S_ISLNK(mode) else "a device or a pipe"
        raise FileError(f"{target}: is {kind}, not a file; results are written to plain files only")
    return True


class Outputs:
    """What a run may write.

    Parameters
    ----------
    reads : the files that the run reads; a folder stands for everything in it, a pattern for every match
    force : whether an earlier result may be replaced
    """

    def __init__(self, reads: Iterable[str | Path] = (), force: bool = False) -> None:
        self.reads = [Path(path) for path in reads]
        self.force = force
        self._claimed: dict[str, Path] = {}

    def claim(self, what: str, path: str | Path | None) -> Path | None:
        """Check that a file may be written; `what` names the option, or whatever the file is."""
        if path is None:
            return None
        target = Path(path)
        self._check(target)
        for other, claimed in self._claimed.items():
            if same_file(claimed, target):
                raise FileError(f"{target}: is named twice, by {other} and by {what}; name two files")
        self._claimed[what] = target
        return target

    def write_text(self, path: str | Path, content: str) -> Path:
        """Write a text in UTF-8, all or nothing."""
        return self.write_bytes(path, content.encode())

    def write_bytes(self, path: str | Path, content: bytes) -> Path:
        """Write a file, all or nothing."""
        target = Path(path)
        self._check(target)
        return write_bytes(target, content, replace=self.force)

    def _check(self, target: Path) -> None:
        there = require_plain(target)
        if not target.parent.is_dir():
            raise FileError(f"{target}: the folder {target.parent} is not there; make it first")
        for read in self.reads:
            if same_file(read, target) or (os.path.isdir(read) and is_inside(target, read)):
                raise FileError(f"{target}: is read by this very run, and would be lost; name another file")
            if _matches(read, target):
                raise FileError(
                    f"{target}: the pattern {read.name} would read it as an input the next time; name "
                    "a file that it does not match"
                )
        if there and not self.force:
            raise FileError(f"{target}: is there already; name another file, or say --force to replace it")


def _matches(pattern: Path, target: Path) -> bool:
    """Whether a pattern such as "reports-*.csv" names a file, there already or not; ** is any folders."""
    if not any(letter in str(pattern) for letter in "*?["):
        return False
    wanted, parts = (Path(os.path.abspath(path)).parts for path in (pattern, target))
    return _parts_match(wanted, parts)


def _parts_match(wanted: tuple[str, ...], parts: tuple[str, ...]) -> bool:
    if not wanted or not parts:
        return (not wanted and not parts) or wanted == ("**",)
    if wanted[0] == "**":
        return _parts_match(wanted[1:], parts) or _parts_match(wanted, parts[1:])
    return fnmatchcase(parts[0], wanted[0]) and _parts_match(wanted[1:], parts[1:])
