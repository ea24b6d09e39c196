"""Channels on disk: CSV, NPZ and Parquet, with labels.

In CSV and Parquet the first column names the input and the other columns are the outputs. CSV
entries may be fractions ("1/3") or decimals; they are read exactly when every row sums to exactly 1.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from sievert.channels.channel import Channel, label_array
from sievert.errors import ChannelError, FileError
from sievert.numerics.rationals import as_fraction
from sievert.tables.atomic import write_bytes, write_text
from sievert.tables.reading import cell, existing, rows_of

__all__ = ["read_channel", "write_channel"]

LARGEST_EXACT = 250_000


def read_channel(path: str | Path) -> Channel:
    """Read a channel from .csv, .npz or .parquet."""
    target = existing(path)
    try:
        if target.suffix == ".npz":
            return _read_npz(target)
        if target.suffix in (".csv", ".parquet"):
            return _read_table(target)
    except ChannelError as problem:
        raise FileError(f"{target}: {problem}") from None
    raise FileError(
        f"{target}: a channel is read from .csv, .npz or .parquet, not {target.suffix or 'a bare name'}"
    )


def _read_table(path: Path) -> Channel:
    header, rows = rows_of(path)
    if len(header) < 2:
        raise FileError(f"{path}: needs a column of input labels and at least one output column")
    inputs = [cell(row[0]) if isinstance(row[0], str) else row[0] for row in rows]
    outputs = [cell(name) for name in header[1:]]
    entries = [
        [_number(path, value, inputs[i], outputs[j]) for j, value in enumerate(row[1:])]
        for i, row in enumerate(rows)
    ]
    if len(rows) * len(outputs) <= LARGEST_EXACT and all(isinstance(v, str) for row in rows for v in row[1:]):
        exact = [[as_fraction(value.strip()) for value in row[1:]] for row in rows]
        if all(sum(row) == 1 for row in exact):
            return Channel(exact, inputs, outputs)
    return Channel(np.array(entries, dtype=np.float64), inputs, outputs)


def _number(path: Path, value: Any, row: object, column: object) -> float:
    try:
        return float(as_fraction(value.strip())) if isinstance(value, str) else float(value)
    except (TypeError, ValueError, ZeroDivisionError):
        raise FileError(
            f"{path}: {value!r} in row {row!r}, column {column!r} is not a number; write 0.25 or 1/4"
        ) from None


def _read_npz(path: Path) -> Channel:
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, ValueError) as problem:
        raise FileError(f"{path}: cannot be read as NPZ ({problem})") from None
    labels = [arrays[name].tolist() if name in arrays else None for name in ("inputs", "outputs")]
    if "log_matrix" in arrays:
        return Channel.from_log(arrays["log_matrix"], *labels)
    if "matrix" not in arrays:
        raise FileError(f"{path}: has no array named matrix or log_matrix, but {sorted(arrays)}")
    matrix = arrays["matrix"]
    return Channel(matrix.tolist() if matrix.dtype.kind == "U" else matrix, *labels)


def write_channel(channel: Channel, path: str | Path) -> Path:
    """Write a channel to .csv, .npz or .parquet, in the form it has; nothing is lost."""
    target = Path(path)
    if target.suffix == ".csv":
        if channel.form == "log":
            raise FileError(f"{target}: CSV would round logarithms; write a .npz file instead")
        return write_text(target, _csv(channel))
    if target.suffix == ".npz":
        name = "log_matrix" if channel.form == "log" else "matrix"
        data = channel.log_matrix if channel.form == "log" else channel.exact_or_float()
        if data.dtype == object:
            data = np.array([[str(value) for value in row] for row in data])
        stream = io.BytesIO()
        np.savez_compressed(stream, **{name: data, **_stored_labels(channel)})
        return write_bytes(target, stream.getvalue())
    if target.suffix == ".parquet":
        return _write_parquet(channel, target)
    raise FileError(
        f"{target}: a channel is written to .csv, .npz or .parquet, not {target.suffix or 'a bare name'}"
    )


def _stored_labels(channel: Channel) -> dict[str, Any]:
    stored = {}
    for side in ("inputs", "outputs"):
        labels = getattr(channel, side)
        array = label_array(labels)
        if array.dtype == object:
            array = np.array([str(item) for item in labels])
        stored[side] = array
    return stored


def _csv(channel: Channel) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["input", *channel.outputs])
    for name, row in zip(channel.inputs, channel.exact_or_float().tolist(), strict=True):
        writer.writerow(
            [name, *(str(value) if not isinstance(value, float) else repr(value) for value in row)]
        )
    return stream.getvalue()


def _write_parquet(channel: Channel, path: Path) -> Path:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise FileError(f"{path}: Parquet needs pyarrow; install sievert[data]") from None
    if channel.form != "float":
        raise FileError(
            f"{path}: Parquet holds floats but the channel is {channel.form}; write a .npz file instead"
        )
    columns: dict[str, Any] = {"input": list(channel.inputs)}
    for j, name in enumerate(channel.outputs):
        columns[str(name)] = channel.matrix[:, j]
    stream = io.BytesIO()
    parquet.write_table(arrow.table(columns), stream)
    return write_bytes(path, stream.getvalue())
