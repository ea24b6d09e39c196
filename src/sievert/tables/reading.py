"""Small public tables from CSV or Parquet: a header and labelled rows."""

from __future__ import annotations

import csv
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sievert.errors import FileError
from sievert.numerics.checks import brief, did_you_mean
from sievert.spaces.labels import label
from sievert.tables.label_texts import cell

__all__ = ["Row", "Table", "existing", "read_table"]

Row = list[Any]


@dataclass(frozen=True)
class Table:
    """Header and rows of a file. In CSV every cell is text; Parquet (`typed`) knows what is a number."""

    path: Path
    header: list[str]
    rows: list[Row]
    typed: bool

    def value(self, item: Any) -> Hashable:
        """A cell as a value: in CSV a number where it is written like one, in Parquet what it is."""
        return label(item) if self.typed or not isinstance(item, str) else cell(item)


def existing(path: str | Path, hint: str = "") -> Path:
    """The path of a file that is there, or an error that says why it cannot be read."""
    target = Path(path)
    try:
        is_folder, is_file, exists = target.is_dir(), target.is_file(), target.exists()
    except OSError as problem:
        raise FileError(f"{brief(str(target))}: cannot be opened ({problem.strerror}){hint}") from None
    if is_folder:
        raise FileError(f"{target}: is a folder; name a file in it")
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


def read_table(path: str | Path) -> Table:
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
    return Table(target, [name.strip() for name in header], [list(line) for line in body], typed=False)


def _parquet(path: Path) -> Table:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise FileError(f"{path}: Parquet needs pyarrow; install sievert[data]") from None
    try:
        table = parquet.ParquetFile(path).read()
    except Exception as problem:
        raise FileError(f"{path}: cannot be read as Parquet ({problem})") from None
    columns = [table.column(i).to_pylist() for i in range(table.num_columns)]
    return Table(path, list(table.column_names), [list(r) for r in zip(*columns, strict=True)], typed=True)
