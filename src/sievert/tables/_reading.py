"""Small public tables from CSV or Parquet: a header and labelled rows."""

from __future__ import annotations

import csv
import io
import os
import zipfile
import zlib
from collections.abc import Hashable, Iterable
from datetime import date, time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels import Channel
from sievert.errors import ChannelError, DataError, FileError, SievertError
from sievert.numerics import abbreviated, archive_problem, as_fraction, did_you_mean, file_path, require_size
from sievert.spaces import KnownLabels, LabelledTable, Labels, label, label_text, read_label
from sievert.tables._cells import cell_text
from sievert.tables._delimited import csv_rows
from sievert.tables._dictionary_encoding import coded
from sievert.tables._driver_words import class_of, whole
from sievert.tables._writing import write_bytes

__all__ = ["channel_bytes", "existing", "read_channel", "read_table", "write_channel"]


# Cells of a table that is held whole: a few bytes of Parquet may be any number of equal ones.
LARGEST_TABLE = 20_000_000


def existing(path: str | Path, hint: str = "") -> Path:
    """The path of a file that is there, or an error that says why it cannot be read."""
    target = file_path("path", path, FileError)
    try:
        is_folder, is_file, exists = target.is_dir(), target.is_file(), target.exists()
        of_system = exists and os.path.realpath(target).startswith("/proc/")
    except OSError as problem:
        raise FileError(f"{abbreviated(str(target))}: cannot be opened ({problem.strerror}){hint}") from None
    if is_folder:
        raise FileError(f"{target}: is a folder; name a file in it")
    if of_system:
        raise FileError(
            f"{target}: is what the system says of a process, and no file; name another one{hint}"
        )
    if exists and not is_file:
        raise FileError(f"{target}: is a device or a pipe; copy what it gives into a file{hint}")
    if not is_file:
        raise FileError(f"{target}: no such file{hint}{_neighbour(target)}")
    return target


def _neighbour(target: Path) -> str:
    """The file of the same folder that was probably meant."""
    try:
        return did_you_mean(target.name, (path.name for path in target.parent.iterdir() if path.is_file()))
    except OSError:
        return ""


def read_table(path: str | Path) -> LabelledTable:
    """Header and rows of a CSV (texts) or Parquet (values) file."""
    target = existing(path)
    if target.suffix == ".parquet":
        return _parquet(target)
    try:
        with target.open(newline="", encoding="utf-8-sig") as stream:
            lines = [line for line in csv_rows(stream) if any(field.strip() for field in line)]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise FileError(
            f"{target}: cannot be read as CSV ({class_of(problem)}); save it as UTF-8 text",
            private=whole(problem),
        ) from None
    if len(lines) < 2:
        raise FileError(f"{target}: has no rows below its header; give a header line and at least one row")
    header, *body = lines
    for number, line in enumerate(body, start=2):
        if len(line) != len(header):
            raise FileError(
                f"{target}: line {number} has {len(line)} fields but the header has {len(header)}"
            )
    return LabelledTable(
        target, [name.strip() for name in header], [list(line) for line in body], typed=False
    )


def _parquet(path: Path) -> LabelledTable:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise FileError(f"{path}: Parquet needs pyarrow; install sievert[data]") from None
    try:
        file = parquet.ParquetFile(path)
        groups = (file.metadata.row_group(number).num_rows for number in range(file.num_row_groups))
        size = max(file.metadata.num_rows, sum(groups)) * max(1, len(file.schema_arrow.names))
        require_size(size, LARGEST_TABLE, f"{path}: a table of all its cells", "name a smaller table")
        table = file.read()
    except SievertError:
        raise
    except Exception as problem:
        raise FileError(
            f"{path}: cannot be read as Parquet ({class_of(problem)})", private=whole(problem)
        ) from None
    columns = [_public_cells(path, table.column_names[i], table.column(i)) for i in range(table.num_columns)]
    return LabelledTable(
        path, list(table.column_names), [list(r) for r in zip(*columns, strict=True)], typed=True
    )


def _public_cells(path: Path, name: str, column: Any) -> list[Any]:
    """Texts, numbers and truth values as they are; days and moments as their texts."""
    try:
        cells = list(coded(column))
    except DataError as problem:
        raise FileError(f"{path}: the column {abbreviated(name)} {problem}") from None
    return [cell_text(cell) if isinstance(cell, date | time) else cell for cell in cells]


# ── Channels on disk: CSV, NPZ and Parquet, with labels ─────────────────────────────────────────────────────
# In CSV and Parquet the first column names the input and the other columns are the outputs. CSV entries may
# be fractions ("1/3") or decimals; they are read exactly when every row sums to exactly 1. Labels come back
# as they were, types included (`tables.label_texts`).

LARGEST_EXACT = 250_000
# Labels under this name of an NPZ array, or with it as the first column of a Parquet file, are JSON.
ENCODED = "_json"
# How a file of one array begins.
BARE = b"\x93NUMPY"
# What probabilities may miss from 1 when names are told from numbers.
ROUNDING = Fraction(1, 10**9)


def read_channel(path: str | Path, inputs: Iterable[Hashable] | None = None) -> Channel:
    """Read a channel from .csv, .npz or .parquet.

    Where the labels of its inputs are known already, `inputs` gives them and rows are matched by text.
    """
    target = existing(path)
    known = None if inputs is None else KnownLabels(inputs)
    read = {".csv": _read_entries, ".npz": _read_npz, ".parquet": _read_entries}.get(target.suffix)
    if read is None:
        raise FileError(
            f"{target}: a channel is read from .csv, .npz or .parquet, not {target.suffix or 'a bare name'}"
        )
    try:
        return read(target, known)
    except ChannelError as problem:
        raise FileError(f"{target}: {problem.in_file()}") from None


def _known(value: Any, known: KnownLabels | None, encoded: bool) -> Hashable:
    """The expected label that a cell means, else the label it reads as."""
    found = known.find(value) if known is not None else None
    if found is not None:
        return found
    return read_label(value) if encoded and isinstance(value, str) else label(value)


def _read_entries(path: Path, known: KnownLabels | None) -> Channel:
    table = read_table(path)
    header, rows = table.header, table.rows
    if len(header) < 2:
        raise FileError(f"{path}: needs a column of input labels and at least one output column")
    _require_labels(table)
    encoded = not table.typed or header[0].endswith(ENCODED)
    inputs = [_known(row[0], known, encoded) for row in rows]
    outputs = [read_label(name) for name in header[1:]]
    entries = [
        [_number(path, value, inputs[i], outputs[j]) for j, value in enumerate(row[1:])]
        for i, row in enumerate(rows)
    ]
    if len(rows) * len(outputs) <= LARGEST_EXACT and all(isinstance(v, str) for row in rows for v in row[1:]):
        exact = [[as_fraction(value.strip()) for value in row[1:]] for row in rows]
        if all(sum(row) == 1 for row in exact):
            return Channel(exact, inputs, outputs)
    return Channel(np.array(entries, dtype=np.float64), inputs, outputs)


def _require_labels(table: LabelledTable) -> None:
    """Refuse probabilities where the names of the outputs or of the inputs belong."""
    header, rows = table.header, table.rows
    # Our own header begins with "input"; its outputs may be named like probabilities.
    ours = header[0].startswith("input")
    if not ours and any(_sum_to_one(cells, whole=False) for cells in (header, header[1:])):
        missing = "line 1 holds probabilities where the names of the outputs belong"
    elif all(_sum_to_one(row) for row in rows) and not all(_sum_to_one(row[1:]) for row in rows):
        missing = "the first column holds probabilities where the names of the inputs belong"
    else:
        return
    raise FileError(
        f"{table.path}: {missing}; begin the file with a line such as input,yes,no and every other line with "
        "the name of its input"
    )


def _sum_to_one(cells: list[Any], whole: bool = True) -> bool:
    """Whether cells are probabilities of a distribution; without `whole`, not all of them 0 or 1."""
    try:
        values = [as_fraction(item.strip() if isinstance(item, str) else item) for item in cells]
    except ValueError:
        return False
    if not whole and all(value.denominator == 1 for value in values):
        return False
    total = sum(values, Fraction(0))
    return all(value >= 0 for value in values) and abs(total - 1) <= ROUNDING


def _number(path: Path, value: Any, row: object, column: object) -> float:
    try:
        return float(as_fraction(value.strip())) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, OverflowError):
        raise FileError(
            f"{path}: {abbreviated(value)} in row {row!r}, column {column!r} is not a number; write "
            f"0.25 or 1/4"
        ) from None


def _read_npz(path: Path, known: KnownLabels | None) -> Channel:
    with path.open("rb") as stream:
        if stream.read(len(BARE)) == BARE:
            raise FileError(f"{path}: holds one bare array; write a .npz file with an array named matrix")
    wrong = archive_problem(path)
    if wrong:
        raise FileError(f"{path}: {wrong}")
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as problem:
        raise FileError(
            f"{path}: cannot be read as NPZ ({class_of(problem)}); see that it is whole and not empty",
            private=whole(problem),
        ) from None
    inputs = _stored_labels(arrays, "inputs", known)
    outputs = _stored_labels(arrays, "outputs", None)
    if "log_matrix" in arrays:
        return Channel.from_log(arrays["log_matrix"], inputs, outputs)
    if "matrix" not in arrays:
        raise FileError(f"{path}: has no array named matrix or log_matrix, but {sorted(arrays)}")
    matrix = arrays["matrix"]
    return Channel(matrix.tolist() if matrix.dtype.kind == "U" else matrix, inputs, outputs)


def _stored_labels(
    arrays: dict[str, NDArray[Any]], side: str, known: KnownLabels | None
) -> list[Hashable] | None:
    encoded = side + ENCODED in arrays
    if not encoded and side not in arrays:
        return None
    return [_known(item, known, encoded) for item in arrays[side + ENCODED if encoded else side].tolist()]


def write_channel(channel: Channel, path: str | Path) -> Path:
    """Write a channel to .csv, .npz or .parquet, in the form it has; nothing is lost."""
    return write_bytes(path, channel_bytes(channel, path))


def channel_bytes(channel: Channel, path: str | Path) -> bytes:
    """A channel as the content of a file of that name."""
    target = Path(path)
    made = {".csv": _csv_bytes, ".npz": _npz_bytes, ".parquet": _parquet_bytes}.get(target.suffix)
    if made is None:
        raise FileError(
            f"{target}: a channel is written to .csv, .npz or .parquet, not {target.suffix or 'a bare name'}"
        )
    return made(channel, target)


def _npz_bytes(channel: Channel, path: Path) -> bytes:
    name = "log_matrix" if channel.form == "log" else "matrix"
    data = channel.log_matrix if channel.form == "log" else channel.exact_or_float()
    if data.dtype == object:
        data = np.array([[str(value) for value in row] for row in data])
    arrays: dict[str, Any] = {name: data}
    for side in ("inputs", "outputs"):
        labels, encoded = _labels_to_store(getattr(channel, side))
        arrays[side + ENCODED if encoded else side] = labels
    stream = io.BytesIO()
    np.savez_compressed(stream, **arrays)
    return stream.getvalue()


def _labels_to_store(labels: Labels) -> tuple[NDArray[Any], bool]:
    """Labels of one plain type as an array of it; others as texts in JSON, which is then said."""
    kinds = {type(item) for item in labels}
    if kinds == {int} and all(abs(item) < 2**63 for item in labels):  # type: ignore[arg-type]
        return np.array(labels, dtype=np.int64), False
    # NumPy cuts zero bytes off the end of a text.
    if kinds == {float} or (kinds == {str} and not any(str(item).endswith("\0") for item in labels)):
        return np.array(labels), False
    return np.array([label_text(item) for item in labels]), True


def _csv_bytes(channel: Channel, path: Path) -> bytes:
    if channel.form == "log":
        raise FileError(f"{path}: CSV would round logarithms; write a .npz file instead")
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["input", *map(label_text, channel.outputs)])
    for name, row in zip(channel.inputs, channel.exact_or_float().tolist(), strict=True):
        writer.writerow([label_text(name), *(repr(v) if isinstance(v, float) else str(v) for v in row)])
    return stream.getvalue().encode()


def _parquet_bytes(channel: Channel, path: Path) -> bytes:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise FileError(f"{path}: Parquet needs pyarrow; install sievert[data]") from None
    if channel.form != "float":
        raise FileError(
            f"{path}: Parquet holds floats but the channel is {channel.form}; write a .npz file instead"
        )
    labels, encoded = _labels_to_store(channel.inputs)
    names = ["input" + ENCODED if encoded else "input", *map(label_text, channel.outputs)]
    columns = [arrow.array(labels.tolist()), *(arrow.array(column) for column in channel.matrix.T)]
    stream = io.BytesIO()
    parquet.write_table(arrow.Table.from_arrays(columns, names), stream)
    return stream.getvalue()
