"""The sender of a file: hosts, paths, SQL, engines, patterns and sizes that a hostile file names."""

import json
from pathlib import Path
from typing import Any

import pytest

import sievert as sv
from tests.release.test_servers import postgres

__all__ = ["postgres"]

# ── SQL ─────────────────────────────────────────────────────────────────────────────────────────────

VISITS = """
version = 1
policy = { values = ["north", "south"], records = 100, adjacency = "add-remove" }
query = { kind = "histogram" }
mechanism = { kind = "geometric", eps = 60.0 }
[data]
SOURCE
column = "ward"
person = "patient"
missing_values = [MISSING]
[release]
ledger = "budget.toml"
output = "out.csv"
missing = "drop"
"""
# As a name of nobody and as a cell: texts that leave their quotes where a setting lets them, and go on.
TEXTS = [
    "\\') THEN 1 ELSE 0 END) AS nobody FROM (SELECT 1 AS n, CHR(65) AS p) AS t2; COMMIT; "
    "DELETE FROM canary; CREATE TABLE pwned AS SELECT * FROM visits; /*",
    "'); DELETE FROM canary; --",
    "\\",
    "${env:HOME}",
    "it's",
]
PATIENTS = [("north", "ann"), ("north", "bob"), ("south", TEXTS[0]), ("south", "eve")]


def written(folder: Path, source: str, missing: list[str]) -> Path:
    (folder / "budget.toml").write_text("person = 1e6\n")
    quoted = ", ".join(map(json.dumps, missing))
    (folder / "file.toml").write_text(VISITS.replace("SOURCE", source).replace("MISSING", quoted))
    return folder / "file.toml"


def released(file: Path, name: str) -> list[Any]:
    """The counts, practically without noise."""
    done = sv.release.run(file, output=file.parent / name)
    assert done.table is not None
    return done.table.column("value")


def test_a_text_of_the_file_stays_a_text_on_duckdb(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "clinic.db")) as base:
        base.execute("CREATE TABLE visits (ward TEXT, patient TEXT)")
        base.executemany("INSERT INTO visits VALUES (?, ?)", PATIENTS)
    source = 'source = "duckdb://clinic.db"\ntable = "visits"'
    assert released(written(tmp_path, source, ["ann\\", "south'"]), "a.csv") == [2, 2]
    with pytest.raises(sv.SievertError, match=r"name nobody|names nobody"):
        released(written(tmp_path, source, TEXTS), "b.csv")


def test_a_text_of_the_file_stays_a_text_on_postgres(postgres: Path, tmp_path: Path) -> None:
    """Also where a backslash ends no text any more, as a role may have it."""
    import psycopg

    with psycopg.connect(host=str(postgres), user="ann", dbname="postgres", autocommit=True) as base:
        base.execute("CREATE TABLE visits (ward TEXT, patient TEXT)")
        base.execute("CREATE TABLE canary (x INT)")
        base.execute("INSERT INTO canary VALUES (1)")
        base.execute("ALTER ROLE ann SET standard_conforming_strings = off")
        with base.cursor() as cursor:
            cursor.executemany("INSERT INTO visits VALUES (%s, %s)", PATIENTS)
        source = f'source = "postgres://ann@/postgres?host={postgres}"\ntable = "visits"'
        assert released(written(tmp_path, source, ["ann\\", "south'"]), "a.csv") == [2, 2]
        with pytest.raises(sv.SievertError, match=r"name nobody|names nobody"):
            released(written(tmp_path, source, TEXTS), "b.csv")
        assert base.execute("SELECT * FROM canary").fetchall() == [(1,)]


# ── hosts, passwords and engines ────────────────────────────────────────────────────────────────────

# ── paths and outputs ───────────────────────────────────────────────────────────────────────────────

# ── sizes and patterns ──────────────────────────────────────────────────────────────────────────────
