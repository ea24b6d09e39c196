"""One meaning of a cell: whatever reads or counts a drawn table, every row has the same value.

SIEVERT_FUZZ_SECONDS goes on with new tables for longer; SIEVERT_FUZZ_SEED repeats them. Servers see the same
tables in `tests/release/test_servers.py`.
"""

import csv
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sievert.tables import Source, Warehouse, given_warehouse, open_rows
from tests.tables.drawn import Column, arrow_table, as_csv, drawn, write_csv

for needed in ("pyarrow", "duckdb", "ibis", "pandas", "polars"):
    pytest.importorskip(needed)

SECONDS = float(os.environ.get("SIEVERT_FUZZ_SECONDS", "0"))
SEED = int(os.environ.get("SIEVERT_FUZZ_SEED") or (random.SystemRandom().getrandbits(32) if SECONDS else 1))
# Drawn tables at once, their rows, and how often.
COLUMNS, ROWS, BATCHES = 100, 40, 20
Cells = dict[str, tuple[Sequence[Any], list[int] | None]]


def read(source: Any, columns: Sequence[Column]) -> Cells:
    """Row by row, in several batches."""
    names = [column.name for column in columns]
    found: dict[str, list[Any]] = {name: [] for name in names}
    for batch in open_rows(source).batches(names, 16):
        for name in names:
            found[name] += list(batch.columns[name])
    return {name: (cells, None) for name, cells in found.items()}


def counted(there: Warehouse, columns: Sequence[Column]) -> Cells:
    """Counted where it is, by one question."""
    with there:
        found = there.cells([column.name for column in columns])
    counts = found.counts.tolist()
    return {name: (cells, counts) for name, cells in found.columns.items()}


def everywhere(folder: Path, columns: Sequence[Column]) -> Iterator[tuple[str, Cells]]:
    """The same drawn tables in every form that can be read or counted here."""
    import duckdb
    import pandas
    import polars
    import pyarrow.feather
    import pyarrow.parquet

    table, lines = arrow_table(columns), as_csv(columns)
    for name, quoting, end in (("plain", csv.QUOTE_MINIMAL, "\n"), ("quoted", csv.QUOTE_ALL, "\r\n")):
        (folder / name).mkdir(exist_ok=True)
        write_csv(folder / name / "a.csv", lines, quoting, end)
        yield f"{name} CSV", read(folder / name / "a.csv", columns)
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, "pyarrow", None)
        yield "CSV by Python", read(folder / "plain" / "a.csv", columns)
    write_csv(folder / "plain" / "b.csv", lines[:1])
    there = given_warehouse(folder / "plain")
    assert there is not None
    yield "folder of CSV", counted(there, columns)
    path = folder / "a.parquet"
    pyarrow.parquet.write_table(table, path, row_group_size=17)
    yield "Parquet", read(path, columns)
    # A folder is counted however few rows it has.
    (folder / "one").mkdir(exist_ok=True)
    pyarrow.parquet.write_table(table, folder / "one" / "a.parquet", row_group_size=17)
    there = given_warehouse(folder / "one")
    assert there is not None
    yield "Parquet that is counted", counted(there, columns)
    pyarrow.feather.write_feather(table, folder / "a.arrow", compression="uncompressed")
    yield "Arrow file", read(folder / "a.arrow", columns)
    yield "Arrow", read(table, columns)
    yield (
        "pandas",
        read(pandas.DataFrame({c.name: pandas.Series(c.cells, dtype=_dtype(c)) for c in columns}), columns),
    )
    # Where a cell is missing, pandas makes floats of whole numbers.
    yield "pandas of Arrow", read(table.to_pandas(), columns)
    frame = polars.from_arrow(table)
    yield "polars", read(frame, columns)
    there = given_warehouse(frame.lazy())
    assert there is not None
    yield "lazy frame of polars", counted(there, columns)
    base = duckdb.connect()
    base.register("given", table)
    there = given_warehouse(base.sql("SELECT * FROM given"))
    assert there is not None
    yield "DuckDB relation", counted(there, columns)
    base.execute(
        f"ATTACH '{folder}/a.db' AS kept; CREATE OR REPLACE TABLE kept.t AS SELECT * FROM given; DETACH kept"
    )
    there = Source.resolve({"source": "duckdb://a.db", "table": "t"}).warehouse(folder)
    assert there is not None
    yield "DuckDB", counted(there, columns)


def _dtype(column: Column) -> Any:
    """Half of the kinds as pandas has them of its own; the others hold Python's objects."""
    own = {"int64": "Int64", "int8": "Int8", "bool": "boolean", "double": "float64", "float": "Float32"}
    return own.get(str(column.kind.arrow), object)


def differences(columns: Sequence[Column], found: Iterator[tuple[str, Cells]]) -> list[str]:
    """Where a column has another outcome than in the first form."""
    faults: list[str] = []
    expected: list[Any] = []
    for number, (name, cells) in enumerate(found):
        for place, column in enumerate(columns):
            if name == "pandas of Arrow" and any(type(x) is int and abs(x) > 2**53 for x in column.cells):
                continue
            outcome = column.outcome(*cells[column.name])
            if number == 0:
                expected.append(outcome)
            elif outcome != expected[place]:
                faults.append(f"{name}: {outcome}, not {expected[place]}\n  {column}")
    assert len(expected) == len(columns)
    return faults


@pytest.mark.slow
def test_every_reader_gives_drawn_tables_the_same_meaning(tmp_path: Path) -> None:
    """2,000 of them, or for as long as SIEVERT_FUZZ_SECONDS says."""
    print(f"SIEVERT_FUZZ_SEED={SEED}")
    rng, end, number = random.Random(SEED), time.monotonic() + SECONDS, 0
    while number < BATCHES or time.monotonic() < end:
        columns = drawn(rng, COLUMNS, ROWS)
        faults = differences(columns, everywhere(tmp_path, columns))
        assert not faults, f"seed {SEED}, batch {number}: {len(faults)} differ\n" + "\n".join(faults[:5])
        number += 1
