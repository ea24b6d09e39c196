"""A folder of files as units of work: each is read, drawn and written by itself, by whoever is free.

A unit is a file, or some row groups of a Parquet file, so that no unit is much longer than others. What it
holds is known by a hash of every batch of the columns that are read, fixed before anything is drawn; whoever
reads it again compares each batch before it is used.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sievert.tables._batches import Batch, Rows, data_files, open_rows, parquet_groups

__all__ = ["Contents", "Unit", "rows_about", "units_in"]

# Row groups are put together until a unit has so many rows.
UNIT_ROWS = 1 << 20
BYTES_OF_A_ROW = 8


@dataclass(frozen=True)
class Unit:
    """A part of the data: a file by its path from a folder, and which row groups of it (None: all).

    `first` is the number of its first row in the file, from 1; `also` are small files that go with it.
    """

    file: str
    groups: tuple[int, int] | None = None
    first: int = 1
    also: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What it is called, in errors and among the units of a release."""
        return (
            self.file if self.groups is None else f"{self.file}, row groups {self.groups[0]}-{self.groups[1]}"
        )

    def rows(self, folder: Path) -> Rows:
        """Its rows."""
        return open_rows(folder / self.file, self.groups)

    def batches(self, folder: Path, columns: Sequence[str]) -> Iterator[Batch]:
        """The named columns of its rows, numbered as in the file."""
        for batch in self.rows(folder).batches(columns):
            yield Batch(batch.first + self.first - 1, batch.columns, batch.size)


@dataclass(frozen=True)
class Contents:
    """What one reading of a unit found: how many rows, and a hash of each batch."""

    unit: Unit
    rows: int
    digests: tuple[bytes, ...]

    @property
    def sha256(self) -> bytes:
        """One hash of all."""
        return hashlib.sha256(self.rows.to_bytes(8, "big") + b"".join(self.digests)).digest()

    def key(self, sealed: bytes) -> bytes:
        """The unit's own key: SHA-256(key ‖ unit ‖ content); other content never has the same bits."""
        name = self.unit.name.encode(errors="surrogatepass")
        return hashlib.sha256(sealed + len(name).to_bytes(8, "big") + name + self.sha256).digest()

    def to_dict(self) -> dict[str, Any]:
        """An entry of the manifest."""
        groups = None if self.unit.groups is None else list(self.unit.groups)
        return {
            "file": self.unit.file,
            "groups": groups,
            "first": self.unit.first,
            "rows": self.rows,
            "sha256": self.sha256.hex(),
        }


def units_in(path: str | Path, folder: str | Path = ".") -> list[Unit]:
    """The units of a folder or pattern; Parquet files are cut between row groups."""
    found: list[Unit] = []
    for file in data_files(path, folder):
        name = os.path.relpath(file, folder)
        if file.suffix.lower() == ".parquet":
            found += _cut(name, parquet_groups(file))
        else:
            found.append(Unit(name))
    return found


def rows_about(units: Sequence[Unit], folder: Path) -> int:
    """About how many rows units have: counted where files say so, else by their bytes."""
    found = 0
    for name in dict.fromkeys(unit.file for unit in units):
        path = folder / name
        if path.suffix.lower() == ".parquet":
            found += sum(parquet_groups(path))
        else:
            found += path.stat().st_size // BYTES_OF_A_ROW
    return found


def _cut(name: str, sizes: Sequence[int]) -> Iterator[Unit]:
    """Units of a Parquet file, given how many rows each row group has."""
    start, first, rows = 0, 1, 0
    for place, size in enumerate(sizes):
        if rows and rows + size > UNIT_ROWS:
            yield Unit(name, (start, place), first)
            start, first, rows = place, first + rows, 0
        rows += size
    yield Unit(name, None if start == 0 else (start, len(sizes)), first)
