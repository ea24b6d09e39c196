"""Small public tables from CSV or Parquet: labelled rows, with numbers recognised in text."""

from __future__ import annotations

import csv
from collections.abc import Hashable
from pathlib import Path
from typing import Any

from sievert.errors import FileError

__all__ = ["Row", "cell", "existing", "rows_of"]

Row = list[Any]


def existing(path: str | Path) -> Path:
    """The path, or an error that says it cannot be read."""
    target = Path(path)
    if not target.is_file():
        raise FileError(f"{target}: no such file; paths are relative to the folder of the TOML file")
    return target


def cell(text: str) -> Hashable:
    """A label from text: an integer or a decimal if it reads as one, else the text itself.

    >>> cell("12"), cell("0.5"), cell("A1")
    (12, 0.5, 'A1')
    """
    stripped = text.strip()
    for kind in (int, float):
        try:
            return kind(stripped)
        except ValueError:
            continue
    return stripped


def rows_of(path: str | Path) -> tuple[list[str], list[Row]]:
    """Header and rows of a CSV (texts) or Parquet (values) file."""
    target = existing(path)
    if target.suffix == ".parquet":
        return _parquet(target)
    try:
        with target.open(newline="", encoding="utf-8-sig") as stream:
            lines = [line for line in csv.reader(stream) if any(field.strip() for field in line)]
    except (OSError, UnicodeDecodeError, csv.Error) as problem:
        raise FileError(f"{target}: cannot be read as CSV ({problem}); save it as UTF-8 text") from None
    if len(lines) < 2:
        raise FileError(f"{target}: has no rows below its header; give a header line and at least one row")
    header, *body = lines
    for number, line in enumerate(body, start=2):
        if len(line) != len(header):
            raise FileError(
                f"{target}: line {number} has {len(line)} fields but the header has {len(header)}"
            )
    return [name.strip() for name in header], [list(line) for line in body]


def _parquet(path: Path) -> tuple[list[str], list[Row]]:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise FileError(f"{path}: Parquet needs pyarrow; install sievert[data]") from None
    try:
        table = parquet.read_table(path)
    except Exception as problem:
        raise FileError(f"{path}: cannot be read as Parquet ({problem})") from None
    columns = [table.column(i).to_pylist() for i in range(table.num_columns)]
    return list(table.column_names), [list(row) for row in zip(*columns, strict=True)]
