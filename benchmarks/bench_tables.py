"""A table over all rows of a Parquet file, in processor seconds: counted by DuckDB, or read in two ways."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
from pyarrow import parquet

from benchmarks.harness import Row, compare
from sievert.files import load_policy_scenario
from sievert.release import make_plan
from sievert.release._domain import Fingerprints
from sievert.release._plan import Plan
from sievert.release._table_release import chosen_tables, computed
from sievert.tables import Rows, Warehouse, open_rows
from sievert.tables._databases import ParquetOrCsv

WARDS = ["surgery", "medicine", "maternity", "children"]
STAYS = """version = 1
[policy]
values = { product = [["surgery", "medicine", "maternity", "children"], { range = [1, 30] }] }
records = 1000000000
adjacency = "add-remove"
person_records = 4
[query]
kind = "histogram"
[mechanism]
kind = "geometric"
eps = 1.0
[data]
input = "stays.parquet"
column = ["ward", "nights"]
[release]
output = "out.csv"
ledger = "budget.toml"
"""
PEOPLE = (
    STAYS.replace('"nights"]\n', '"nights"]\nperson = "patient"\nfit = { dropped = 0.5 }\n')
    + 'too_many = "sample"\n'
)
KEY = b"k" * 32


class Lists(Rows):
    """A Parquet file as lists of Python objects, a cell each."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, str(path)

    @property
    def header(self) -> list[str]:
        return list(parquet.ParquetFile(self.path).schema_arrow.names)

    def fingerprint(self, salt: str) -> str:
        return salt

    def _batches(self, columns: Sequence[str], size: int) -> Iterator[dict[str, Sequence[Any]]]:
        with parquet.ParquetFile(self.path) as stream:
            for batch in stream.iter_batches(batch_size=size, columns=list(columns)):
                yield {name: batch.column(name).to_pylist() for name in columns}


def run() -> list[Row]:
    """The exact table before noise, and the hash of what was read."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "budget.toml").write_text("person = 1000000")
        path = folder / "stays.parquet"
        table = _plan(folder, STAYS)
        for size in (100_000, 1_000_000, 10_000_000):
            _data(path, size)
            for peer, reader in (("rows as lists", Lists), ("rows in code", open_rows)):
                rows.append(_row("count cells where they lie", size, table, path, peer, reader))
        people = _plan(folder, PEOPLE)
        for size in (30_000, 100_000, 300_000):
            _data(path, size)
            rows.append(_row("sample rows of people there", size, people, path, "rows as lists", Lists))
    return rows


def _plan(folder: Path, text: str) -> Plan:
    (folder / "file.toml").write_text(text)
    return make_plan(load_policy_scenario(folder / "file.toml"))


def _data(path: Path, size: int) -> None:
    rng = np.random.default_rng(1)
    wards = pyarrow.DictionaryArray.from_arrays(rng.integers(4, size=size).astype(np.int8), WARDS)
    columns = {
        "ward": wards.cast("string"),
        "nights": rng.integers(1, 31, size=size),
        "patient": rng.integers(size // 5, size=size),
    }
    parquet.write_table(pyarrow.table(columns), path)


def _row(name: str, size: int, plan: Plan, path: Path, peer: str, reader: Any) -> Row:
    def there() -> object:
        database = ParquetOrCsv([path])
        with Warehouse(database, database.parquet(), "stays") as data:
            return _made(plan, data)

    def here() -> object:
        return _made(plan, reader(path))

    assert str(there()) == str(here())
    return compare(name, size, there, peer, here, repeat=3, clock="cpu")


def _made(plan: Plan, data: Rows | Warehouse) -> list[list[int]]:
    found = computed(plan, data, None, Fingerprints(plan.columns))
    return [table.tolist() for table in chosen_tables(plan, found, KEY)]
