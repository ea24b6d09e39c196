"""Tables that stay where they are: counted by DuckDB, with the same outcome as when they are read."""

import hashlib
import hmac
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import DataError, FileError, OutputError, SievertError
from sievert.files import load_policy_scenario
from sievert.release import make_plan
from sievert.release._table_release import chosen_tables, computed
from sievert.tables import PLAIN, Rows, Source, Warehouse, given_warehouse, open_rows

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("ibis")

FILE = """
version = 1
[policy]
values = { product = [["north", "south"], [1, 2, 3]] }
records = 400
adjacency = "add-remove"
person_records = 2
[[query]]
name = "by region"
kind = "histogram"
by = ["region"]
[[query]]
name = "young"
kind = "count"
where = [["north", 1], ["south", 1]]
[[query]]
name = "spent"
kind = "sum"
of = "amount"
[[query]]
name = "mean"
kind = "mean"
of = "amount"
[[query]]
name = "median"
kind = "quantile"
of = "amount"
q = 0.5
grid = [1, 2, 3]
[mechanism]
kind = "geometric"
eps = 4000.0
[data]
SOURCE
column = ["region", "amount"]
person = "id"
fit = { unknown = 1, dropped = 1 }
[release]
output = "noisy.csv"
ledger = "budget.toml"
missing = "drop"
out_of_range = "clamp"
too_many = "sample"
"""
ROWS = [
    (region, amount, person)
    for number, person in enumerate(["ann", " ann", "1", "01.0", "bob", "zoë", "eve "] * 7)
    for region, amount in [(("north", "south", " north ")[number % 3], (1, 2, 3, 9, None)[number % 5])]
]
TABLE = "CREATE TABLE visits (region VARCHAR, amount INTEGER, id VARCHAR)"


def described(folder: Path, source: str, text: str = FILE) -> Path:
    (folder / "budget.toml").write_text("person = 1e9\n")
    (folder / "file.toml").write_text(text.replace("SOURCE", source), encoding="utf-8")
    return folder / "file.toml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows as a DuckDB file, a folder of Parquet, one of CSV, and a CSV file."""
    tmp_path = tmp_path_factory.mktemp("warehouse")
    with duckdb.connect(str(tmp_path / "clinic.db")) as base:
        base.execute(TABLE)
        base.executemany("INSERT INTO visits VALUES (?, ?, ?)", ROWS)
        for name in ("parquet", "csv"):
            (tmp_path / name).mkdir()
            for part in (0, 1):
                chosen = f"SELECT * FROM visits WHERE rowid % 2 = {part}"
                base.execute(f"COPY ({chosen}) TO '{tmp_path}/{name}/part{part}.{name}'")
        base.execute(f"COPY visits TO '{tmp_path}/visits.csv'")
    (tmp_path / "parquet" / "_SUCCESS").write_text("")
    return tmp_path


@contextmanager
def opened(plan: Any, data: Any) -> Iterator[Rows | Warehouse]:
    """The records where they are counted, or as they are read."""
    there = plan.data.warehouse(plan.scenario.folder) if data is None else given_warehouse(data)
    if there is None:
        yield plan.data.rows(plan.scenario.folder) if data is None else open_rows(data)
    else:
        with there:
            yield there


def duckdb_kind(folder: Path) -> Any:
    """The class that asks a DuckDB file."""
    there = Source.resolve({"source": "duckdb://clinic.db", "table": "visits"}).warehouse(folder)
    assert there is not None
    there.database.close()
    return next(kind for kind in type(there.database).__mro__ if "ask" in vars(kind))


def totals(file: Path, data: Any = None, key: bytes = b"k" * 32) -> list[list[int]]:
    """The exact tables that a release would draw noise for."""
    plan = make_plan(load_policy_scenario(file))
    with opened(plan, data) as rows:
        return [table.tolist() for table in chosen_tables(plan, computed(plan, rows), key)]


REJECT = FILE.replace('"sample"', '"reject"').replace("person_records = 2", "person_records = 400")
SOURCES = [
    'source = "duckdb://clinic.db"\ntable = "visits"',
    'source = "duckdb://clinic.db"\nsql = "SELECT * FROM visits; -- all"',
    'input = "parquet"',
    'input = "parquet/*.parquet"',
    'input = "csv"',
]


@pytest.mark.parametrize("too_many", ["sample", "reject"])
def test_every_source_gives_what_the_reader_gives(folder: Path, too_many: str) -> None:
    text = FILE if too_many == "sample" else REJECT
    for key in (b"a" * 32, b"b" * 32):
        expected = totals(described(folder, 'input = "visits.csv"', text), key=key)
        assert sum(expected[0]) > 0
        for source in SOURCES:
            assert totals(described(folder, source, text), key=key) == expected, source


def test_tables_given_in_python(folder: Path) -> None:
    import ibis
    import polars

    file = described(folder, 'input = "visits.csv"')
    expected = totals(file)
    with duckdb.connect(str(folder / "clinic.db")) as base:
        relation = base.table("visits")
        frame = relation.pl()
        assert totals(file, relation) == expected
        assert totals(file, ibis.duckdb.from_connection(base).table("visits")) == expected
    for data in (frame, frame.lazy(), frame.to_pandas(), frame.to_arrow(), ibis.memtable(frame)):
        assert totals(file, data) == expected, type(data)
    assert totals(file, folder / "parquet") == expected
    assert isinstance(frame.lazy(), polars.LazyFrame)


def test_another_database_of_ibis(folder: Path) -> None:
    import sqlite3

    with sqlite3.connect(folder / "clinic.sqlite") as base:
        base.execute("CREATE TABLE IF NOT EXISTS visits (region TEXT, amount INTEGER, id INTEGER)")
        base.executemany("INSERT INTO visits VALUES (?, ?, ?)", [(r, a, 7) for r, a, _ in ROWS])
    source = 'source = "sqlite://clinic.sqlite"\ntable = "visits"'
    expected = totals(described(folder, 'input = "visits.csv"', REJECT))
    assert totals(described(folder, source, REJECT)) == expected
    with pytest.raises(FileError, match=r'too_many: "sample" is not written for sqlite'):
        totals(described(folder, source))


def test_a_release_from_a_database(folder: Path) -> None:
    file = described(folder, SOURCES[0], REJECT)
    assert sv.release.preview(file).eps == 400 * 4000
    done = sv.release.run(file)
    assert done.table is not None
    found = {row["query"]: row for row in done.table.rows if row["region"] is None}
    assert found["young"]["value"] == totals(file)[1][0]
    assert sv.release.account(folder / "budget.toml").releases[0].cost == 400 * 4000
    with pytest.raises(SievertError, match="is there already"):
        sv.release.run(file)


# ── What stays there, and what holds it still ───────────────────────────────────────────────────────────────


class Watched:
    """Every question that a database is asked, and its answer."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.asked: list[tuple[str, list[tuple[Any, ...]]]] = []
        owner = duckdb_kind(folder)
        monkeypatch.setattr(owner, "ask", self._watched(owner.ask))

    def _watched(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        def watched(own: Any, question: Any, codes: Any = ()) -> Any:
            found = ask(own, question, codes)
            self.asked.append((own.sql(question, codes), found))
            return found

        return watched


@pytest.mark.parametrize("too_many", ["sample", "reject"])
def test_only_distinct_cells_and_counts_leave(
    folder: Path, monkeypatch: pytest.MonkeyPatch, too_many: str
) -> None:
    text = FILE if too_many == "sample" else REJECT
    watched = Watched(monkeypatch, folder)
    totals(described(folder, SOURCES[0], text))
    distinct = {row[:2] for row in ROWS}
    texts = {str(cell) for row in distinct for cell in row if cell is not None}
    assert len(watched.asked) == {"sample": 4, "reject": 3}[too_many]
    for sql, answer in watched.asked:
        assert "COUNT(" in sql or "SUM(" in sql
        assert len(answer) <= len(distinct)
        assert {cell for row in answer for cell in row if isinstance(cell, str)} <= texts


def test_all_questions_see_one_state_of_files(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = described(folder, 'input = "parquet"')
    part = folder / "parquet" / "part0.parquet"
    owner = duckdb_kind(folder)
    content, ask = part.read_bytes(), owner.ask

    def meddled(own: Any, question: Any, codes: Any = ()) -> Any:
        found = ask(own, question, codes)
        part.write_bytes(content)
        return found

    monkeypatch.setattr(owner, "ask", meddled)
    with pytest.raises(OutputError, match="changed while they were read; nothing was charged"):
        sv.release.run(file, output=folder / "meddled.csv", id="meddled")
    assert all(entry.id != "meddled" for entry in sv.release.account(folder / "budget.toml").releases)
    assert not (folder / "meddled.csv").exists()


def test_a_table_without_a_transaction_is_counted_twice(folder: Path) -> None:
    import ibis

    plan = make_plan(load_policy_scenario(described(folder, SOURCES[0], REJECT)))
    base = ibis.duckdb.connect()
    base.raw_sql(TABLE)
    base.raw_sql("INSERT INTO visits VALUES ('north', 1, 'ann')")
    with opened(plan, base.table("visits")) as there:
        most = there.most_rows  # type: ignore[union-attr]

        def meddled(*given: Any) -> tuple[int, int]:
            base.raw_sql("INSERT INTO visits VALUES ('south', 1, 'bob')")
            return most(*given)

        there.most_rows = meddled  # type: ignore[union-attr, method-assign]
        with pytest.raises(OutputError, match="the Ibis table: the table changed while it was read"):
            computed(plan, there)


def test_people_are_counted_twice_too(folder: Path) -> None:
    """The cells stay as they are, but not whose they are."""
    import ibis

    base = ibis.duckdb.connect()
    for text in (FILE, REJECT):
        plan = make_plan(load_policy_scenario(described(folder, SOURCES[0], text)))
        base.raw_sql(TABLE.replace("CREATE", "CREATE OR REPLACE"))
        base.raw_sql("INSERT INTO visits VALUES ('north', 1, 'ann'), ('north', 1, 'bob')")
        with opened(plan, base.table("visits")) as there:
            still = there.require_still  # type: ignore[union-attr]

            def meddled(still: Callable[[], None] = still) -> None:
                base.raw_sql("UPDATE visits SET id = 'eve'")
                still()

            there.require_still = meddled  # type: ignore[union-attr, method-assign]
            with pytest.raises(OutputError, match="the table changed while it was read"):
                computed(plan, there)


def test_a_row_that_names_nobody_is_refused_wherever_it_is_counted(tmp_path: Path) -> None:
    """It may be anybody's, beyond the rows that were promised."""
    text = REJECT.replace('person = "id"', 'person = "id"\nmissing_values = ["?"]')
    for nobody in ("", " ? "):
        shutil.rmtree(tmp_path / "lake", ignore_errors=True)
        (tmp_path / "lake").mkdir()
        (tmp_path / "lake" / "a.csv").write_text(f"region,amount,id\nnorth,1,ann\nsouth,1,{nobody}\n")
        for source, words in (("lake", "lake: one of 1 rows"), ("lake/a.csv", "a.csv: row 2")):
            with pytest.raises(DataError, match=f"{words} names nobody in the column 'id'"):
                totals(described(tmp_path, f'input = "{source}"', text))


def test_a_sample_of_another_table_is_not_drawn(folder: Path) -> None:
    import ibis

    plan = make_plan(load_policy_scenario(described(folder, SOURCES[0])))
    base = ibis.duckdb.connect()
    base.raw_sql(TABLE)
    base.raw_sql("INSERT INTO visits VALUES ('north', 1, 'ann')")
    with opened(plan, base.table("visits")) as there:
        found = computed(plan, there)
        base.raw_sql("INSERT INTO visits VALUES ('north', 1, 'bob')")
        with pytest.raises(OutputError, match="the table changed"):
            chosen_tables(plan, found, b"k" * 32)


def test_a_database_that_stops(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the charge nothing is spent; after it the same command finishes at no further cost."""
    file = described(folder, SOURCES[0])
    asked = {"output": folder / "stopped.csv", "id": "stopped"}
    owner = duckdb_kind(folder)
    ask, calls = owner.ask, []

    def stopping(at: int) -> Callable[..., Any]:
        def stopped(own: Any, question: Any, codes: Any = ()) -> Any:
            calls.append(question)
            if len(calls) == at:
                raise ConnectionError("server closed the connection")
            return ask(own, question, codes)

        return stopped

    monkeypatch.setattr(owner, "ask", stopping(1))
    with pytest.raises(OutputError, match=r"stopped answering \(ConnectionError\).*nothing was charged"):
        sv.release.run(file, **asked)
    calls.clear()
    monkeypatch.setattr(owner, "ask", stopping(4))
    with pytest.raises(OutputError, match=r"stopped answering .* is charged .* and not published"):
        sv.release.run(file, **asked)
    monkeypatch.setattr(owner, "ask", ask)
    done = sv.release.run(file, **asked)
    assert done.resumed
    assert done.eps == 0


# ── Who a person is, and which of their rows are kept ───────────────────────────────────────────────────────

PEOPLE = [
    "ann",
    " ann\t",
    "\u00a0bob\u3000",
    "1",
    "01",
    "+1",
    "1.",
    "1.0",
    "-1",
    "-01.50",
    ".5",
    "0.50",
    "-0",
]
PEOPLE += [
    "+0.0",
    "000",
    "1a",
    "+",
    "-",
    ".",
    "1-2",
    "1.2.3",
    "1_0",
    "١",
    "Ann",
    "ann'b",
    "None",
    "3/2",
    "inf",
    "",
    "10",
]


@pytest.fixture(scope="module")
def people() -> Iterator[Any]:
    import ibis

    base = ibis.duckdb.connect()
    base.raw_sql("CREATE TABLE people (name VARCHAR COLLATE NOCASE, number DECIMAL(6, 2), part DOUBLE)")
    base.con.executemany("INSERT INTO people VALUES (?, ?, ?)", [(name, "-1.50", 7.0) for name in PEOPLE])
    yield given_warehouse(base.table("people"))
    base.disconnect()


def test_a_person_is_one_text_here_and_there(people: Any) -> None:
    def named(column: str) -> list[str]:
        return [row[0] for row in people.database.ask(people.table.select(p=people._person(column)))]

    assert named("name") == [PLAIN.person(name) or "" for name in PEOPLE]
    assert set(named("number")) == {PLAIN.person("-1.50")} == {"-1.5"}
    assert set(named("part")) == {PLAIN.person(7.0)} == {"7"}


@pytest.mark.parametrize(("column", "words"), [("name", "exponent"), ("part", "not whole")])
def test_people_of_several_texts_are_refused(column: str, words: str) -> None:
    import ibis

    base = ibis.duckdb.connect()
    base.raw_sql("CREATE TABLE people (name VARCHAR, part DOUBLE)")
    base.raw_sql("INSERT INTO people VALUES ('1e2', 0.5), ('x', NULL)")
    there = given_warehouse(base.table("people"))
    assert there is not None
    with pytest.raises(DataError, match=words):
        there.most_rows(column)


def test_the_hash_is_hmac(people: Any) -> None:
    """RFC 4231's second case, and keys of every length that HMAC treats apart."""
    import ibis

    text = "what do ya want for nothing?"
    for key in (b"Jefe", b"k" * 32, b"k" * 64, b"k" * 65):
        question = people.database.keyed(key, ibis.literal(text)).name("h").as_table()
        ((found,),) = people.database.ask(question)
        assert found == hmac.digest(key, text.encode(), hashlib.sha256).hex()
    assert hmac.digest(b"Jefe", text.encode(), "sha256").hex().startswith("5bdcc146bf60754e6a042426089575c7")


# ── What is refused ─────────────────────────────────────────────────────────────────────────────────────────

BAD = [
    ('source = "duckdb://clinic.db"', "exactly one of table and sql"),
    ('source = "duckdb://clinic.db"\ntable = "visit"', r"did you mean 'visits'\?"),
    ('source = "duckdb://missing.db"\ntable = "visits"', "missing.db: no such file"),
    ('source = "duckdb://visits.csv"\ntable = "visits"', "DuckDB cannot open it"),
    ('source = "duckbd://clinic.db"\ntable = "visits"', r"key data.source: .*did you mean 'duckdb'\?"),
    ('source = "clinic.db"\ntable = "visits"', "is no URL of a database"),
    ('source = "duckdb://clinic.db"\nsql = "SELECT region, id FROM visits"', "has no column 'amount'"),
    (
        'source = "duckdb://clinic.db"\nsql = "SELECT nothing FROM visits"',
        "no table in FROM has a column 'nothing'",
    ),
    ('source = "duckdb://clinic.db"\ninput = "visits.csv"\ntable = "visits"', "exactly one of"),
    ('source = "postgres://host/db?color=1"\ntable = "visits"', "'color' may not stand"),
    ('source = "postgres://localhost:1/none"\ntable = "visits"', "Postgres does not answer"),
    (
        'source = "duckdb://clinic.db"\nsql = "SELECT [region] AS region, amount, id FROM visits"',
        "'ARRAY'.* is not among the functions",
    ),
    ('input = "mixed"', "."),
    ('source = "postgres://host:a/db"\ntable = "visits"', "has no port that can be"),
    ('source = "postgres://host/db?port=1"\ntable = "visits"', "'port' may not stand"),
    ('source = "postgres://:5433/db"\ntable = "visits"', "a port and no host"),
    ('source = "postgres://elsewhere/db"\ntable = "visits"', "--allow-host"),
    ('input = "ragged"', r"ragged: b.csv: row 2 has 4 fields but the header has 3"),
    ('input = "hard"', "is the same file as .*would count twice"),
    ('input = "soft"', "is the same file as .*would count twice"),
]


@pytest.mark.parametrize(("source", "message"), BAD)
def test_bad_sources(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, message: str) -> None:
    (folder / "mixed").mkdir(exist_ok=True)
    for name in ("a.csv", "b.csv"):
        (folder / "mixed" / name).write_text(f"region,amount,id{name[0]}\n")
    for name, row in (("a.csv", "north,1,ann"), ("b.csv", "north,1,ann\nnorth,1,bob,7")):
        (folder / "ragged").mkdir(exist_ok=True)
        (folder / "ragged" / name).write_text(f"region,amount,id\n{row}\n")
    for name, link in (("hard", os.link), ("soft", os.symlink)):
        if not (folder / name).exists():
            (folder / name).mkdir()
            shutil.copy(folder / "parquet" / "part0.parquet", folder / name / "a.parquet")
            link(folder / name / "a.parquet", folder / name / "b.parquet")
    monkeypatch.setenv("SIEVERT_HOSTS", "postgres://host postgres://localhost:1")
    with pytest.raises(SievertError, match=message):
        totals(described(folder, source))


@pytest.mark.parametrize(
    "url",
    [
        "postgres://ann:hunter2@host/db",
        "postgres://host/db?password=hunter2",
        "snowflake://ann:hunter2@host/db",
        "bigquery://project?auth_token=hunter2",
        "postgres://ann:/hunter2@host/db",
        "postgres://ann:?hunter2@host/db",
        "mssql://host/db;PWD=hunter2",
    ],
)
def test_a_password_is_refused_and_not_repeated(folder: Path, url: str) -> None:
    with pytest.raises(FileError, match=r"data.source: holds a password.*PGPASSWORD") as problem:
        sv.load(described(folder, f'source = "{url}"\ntable = "visits"'))
    assert "hunter2" not in str(problem.value)


@pytest.mark.parametrize(
    "sql",
    [
        "DROP TABLE visits",
        "SELECT 1; DELETE FROM visits",
        "WITH gone AS (DELETE FROM visits RETURNING *) SELECT * FROM gone",
        "SELECT * INTO copy FROM visits",
        "COPY visits TO 'x.csv'",
        "INSTALL httpfs",
        "PRAGMA version",
        "EXPLAIN SELECT 1",
        "SELECT * FROM visits FOR UPDATE",
        "",
        "not sql at all ((",
    ],
)
def test_only_one_select_is_asked(folder: Path, sql: str) -> None:
    source = f"source = 'duckdb://clinic.db'\nsql = {json.dumps(sql)}"
    with pytest.raises(FileError, match=r"data\.sql"):
        totals(described(folder, source))


@pytest.mark.parametrize(
    "rest",
    [
        "LIMIT 5",
        "OFFSET 5",
        "FETCH FIRST 5 ROWS ONLY",
        "TABLESAMPLE BERNOULLI (5)",
        "WHERE random() < 0.5",
        "WHERE rand(3) < 0.5",
        "WHERE gen_random_uuid() > id",
    ],
)
def test_rows_are_not_chosen_by_others_or_by_chance(folder: Path, rest: str) -> None:
    for sql in (f"SELECT * FROM visits {rest}", f"(SELECT * FROM visits {rest})"):
        source = f'source = "duckdb://clinic.db"\nsql = {json.dumps(sql)}'
        with pytest.raises(FileError, match=r"data\.sql: .* (chooses which rows count|may call)"):
            totals(described(folder, source))


def test_a_select_may_end_as_people_write_it(folder: Path) -> None:
    expected = totals(described(folder, SOURCES[0]))
    for end in (";", " -- all of them", "; -- all"):
        assert totals(described(folder, SOURCES[1].replace("; -- all", end))) == expected


@pytest.mark.parametrize(
    ("data", "output"),
    [("lake", "lake/noisy.csv"), ("lake/*.csv", "lake/noisy.csv"), ("*/*.csv", "noisy.csv")],
)
def test_what_is_released_does_not_become_data(tmp_path: Path, data: str, output: str) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "a.csv").write_text("region,amount,id\nnorth,1,ann\n")
    text = FILE.replace("noisy.csv", output)
    with pytest.raises(FileError, match=r"release\.output: .* is a file that data\.input"):
        totals(described(tmp_path, f'input = "{data}"', text))


def test_what_does_not_fit_into_memory_is_spilled_in_private(folder: Path) -> None:
    import polars

    file = described(folder, SOURCES[0])
    for data in (None, polars.LazyFrame({"id": [1]}), folder / "parquet"):
        with opened(make_plan(load_policy_scenario(file)), data) as there:
            ((place,),) = there.database.connection.con.execute(
                "SELECT current_setting('temp_directory')"
            ).fetchall()
            assert Path(place).stat().st_mode & 0o077 == 0
        assert not Path(place).exists()


def test_a_database_opens_no_other_file(folder: Path) -> None:
    source = f'source = "duckdb://clinic.db"\nsql = "SELECT * FROM read_csv(\'{folder}/visits.csv\')"'
    with pytest.raises(FileError, match=r"data\.sql: READ CSV in place of a table"):
        totals(described(folder, source))


def test_a_missing_driver_says_which_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setenv("SIEVERT_HOSTS", "postgres://host")
    for module, source, extra in (
        ("ibis", SOURCES[0], "sql"),
        ("psycopg", 'source = "postgres://host/db"\ntable = "visits"', "postgres"),
        ("pyspark.sql", 'source = "spark://local[1]"\ntable = "visits"', "spark"),
    ):
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, module, None)
            with pytest.raises(FileError, match=rf"install sievert\[{extra}\]"):
                totals(described(folder, source))


def test_without_the_extra_files_are_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "ibis", None)
    assert given_warehouse(folder / "parquet") is None


def asking(kind: str, text: str = FILE) -> str:
    """The file with another query."""
    start, end = text.index("[[query]]"), text.index("[mechanism]")
    return text[:start] + f'[query]\nkind = "{kind}"\n' + text[end:]


def test_what_needs_every_record_says_so(folder: Path) -> None:
    source = SOURCES[0]
    local = asking("record").replace('adjacency = "add-remove"\n', "").replace('too_many = "sample"', "")
    local = local.replace('kind = "geometric"', 'kind = "randomised-response"')
    with pytest.raises(FileError, match=r"key data\.source goes with a table over all rows"):
        make_plan(load_policy_scenario(described(folder, source, local)))
    known = FILE.replace("records = 400", "records = 3\npermitted = { total = 5 }").replace(
        'adjacency = "add-remove"\nperson_records = 2', ""
    )
    known = known.replace('values = { product = [["north", "south"], [1, 2, 3]] }', "values = [1, 2, 3]")
    known = asking("histogram", known).replace('too_many = "sample"', "").replace('missing = "drop"', "")
    known = known.replace('column = ["region", "amount"]', 'column = "amount"')
    with pytest.raises(FileError, match=r"key policy\.permitted needs every record"):
        make_plan(load_policy_scenario(described(folder, source, known)))
    with (
        duckdb.connect() as base,
        pytest.raises(DataError, match="the DuckDB relation is counted where it is"),
    ):
        sv.release.run(described(folder, 'input = "visits.csv"', known), data=base.sql("SELECT 1 AS amount"))


def test_the_database_is_private(folder: Path) -> None:
    """A codebook taken from the private data is refused under whatever name it goes by."""
    for source, public in (
        ('source = "duckdb://clinic.db"\ntable = "visits"', "clinic.db"),
        ('input = "csv"', "csv/part0.csv"),
    ):
        text = FILE.replace(
            'values = { product = [["north", "south"], [1, 2, 3]] }',
            f'values = {{ file = "{public}", column = "region" }}',
        )
        with pytest.raises(FileError, match="is the private data"):
            sv.load(described(folder, source, text))


def test_a_scenario_saved_elsewhere_names_the_same_database(folder: Path) -> None:
    (folder / "elsewhere").mkdir(exist_ok=True)
    saved = sv.save(sv.load(described(folder, SOURCES[0])), folder / "elsewhere" / "file.toml")
    assert 'source = "duckdb://../clinic.db"' in saved.read_text()


def test_counts_of_rows_become_counts_of_cells() -> None:
    from sievert.policies import Statistic

    table = Statistic((), ((0,), (1,)), np.array([0, 1, 1]), np.array([1, 2, 3]), 1, "a sum")  # type: ignore[arg-type]
    counted, added = table.totals(), table.totals()
    table.add(counted, np.array([0, 1, 2]), np.array([5, 0, 2]))
    table.add(added, np.array([0] * 5 + [2] * 2))
    assert counted.tolist() == added.tolist() == [5, 6]
