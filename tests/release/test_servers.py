"""One table on real servers: whatever DuckDB, Postgres, Spark and the reader of CSV are given, they agree.

Each server is started once, for one test: tests that share it would be spread over workers, a server each.
"""

import csv
import os
import pwd
import random
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sievert as sv
from sievert.errors import DataError, FileError, OutputError
from sievert.files import ReleaseModel
from sievert.release import DROPPED, Domain
from sievert.tables import Batch, Meaning, Source, Warehouse, given_warehouse, open_rows
from tests.release.internal.test_central_of_tables_there import FILE, REJECT, ROWS, described, totals
from tests.tables.drawn import Column, arrow_table, drawn, kinds, people

pytest.importorskip("ibis")

# Each column: its type on DuckDB, Postgres and Spark, values of the policy, and texts as a CSV file has them.
HORRORS: dict[str, tuple[tuple[str, str, str], list[Any], list[str]]] = {
    "letters": (
        ("VARCHAR COLLATE NOCASE", "TEXT COLLATE nocase", "STRING COLLATE UTF8_LCASE"),
        ["North", "north", "NORTH", "o'x", "é", "e\u0301", "NaN", "None", "7", "true"],
        ["North", "north", "NORTH", " north ", "\tnorth", "o'x", "é", "e\u0301", "", "  ", "NaN", "None"],
    ),
    "plain": (
        ("VARCHAR", "VARCHAR(9)", "STRING"),
        [7, 2, 0.5],
        ["7", "07", "7.0", " 7", "7e0", "½", "NaN", ".5"],
    ),
    "whole": (("BIGINT", "BIGINT", "BIGINT"), [7, 2**53, 2**53 + 1], ["7", str(2**53 + 1), "-7", ""]),
    "small": (("SMALLINT", "SMALLINT", "SMALLINT"), ["7", "8"], ["7", "", "8"]),
    "float": (
        ("DOUBLE", "DOUBLE PRECISION", "DOUBLE"),
        [0, 0.1, 1e20, 0.30000000000000004, 7],
        ["0", "-0.0", "0.1", "1e20", "0.30000000000000004", "NaN", "", "7", "0.3", "Infinity"],
    ),
    "half": (("FLOAT", "REAL", "FLOAT"), [0.1, 0.5, 16777216], ["0.1", "0.5", "NaN", "16777216", "1e-3"]),
    "price": (
        ("DECIMAL(9, 2)", "NUMERIC(9, 2)", "DECIMAL(9, 2)"),
        [1.5, 2, 1234567.89],
        ["1.50", "2.00", "1234567.89", "", "0.10"],
    ),
    "loose": (("DECIMAL(9, 3)", "NUMERIC", "DECIMAL(9, 3)"), [1.5, 2], ["1.5", "1.50", "2.000", ""]),
    "yes": (("BOOLEAN", "BOOLEAN", "BOOLEAN"), ["true", "false"], ["true", "false", "", "true"]),
    "day": (("DATE", "DATE", "DATE"), ["2024-02-29", "1969-12-31"], ["2024-02-29", "", "1969-12-31"]),
    "moment": (
        ("TIMESTAMP", "TIMESTAMP", "TIMESTAMP_NTZ"),
        ["2024-02-29 12:30:00", "2024-02-29 12:30:00.5", "2024-02-29 00:00:00"],
        ["2024-02-29 12:30:00", "2024-02-29 12:30:00.5", "2024-02-29 00:00:00", ""],
    ),
    "zoned": (
        ("TIMESTAMPTZ", "TIMESTAMPTZ", "TIMESTAMP"),
        ["2024-02-29 12:30:00", "2024-03-31 00:30:00"],
        ["2024-02-29 14:30:00+02:00", "2024-03-31 00:30:00+00:00", ""],
    ),
}
UTC = {"2024-02-29 14:30:00+02:00": "2024-02-29 12:30:00", "2024-03-31 00:30:00+00:00": "2024-03-31 00:30:00"}
LENGTH = max(len(texts) for _, _, texts in HORRORS.values())


def literal(text: str, place: int) -> str:
    """A text in SQL; for Spark two quotes are the end of one text and the beginning of the next."""
    return "'" + text.replace("'", "\\'" if place == 2 else "''") + "'"


def horrors(place: int) -> str:
    """A SELECT of the table of horrors; an empty cell of what is no text is NULL."""
    lines = []
    for number in range(LENGTH):
        cells = []
        for name, (types, _, texts) in HORRORS.items():
            text = texts[number % len(texts)]
            empty = text == "" and (name != "letters" or number < len(texts))
            cells.append(
                f"CAST({'NULL' if empty else literal(text, place)} AS {types[place].split(' COLLATE')[0]})"
            )
        lines.append(
            f"SELECT {', '.join(f'{cell} AS {name}' for cell, name in zip(cells, HORRORS, strict=True))}"
        )
    return " UNION ALL ".join(lines)


def counted(cells: dict[str, Any], counts: list[int]) -> dict[str, Counter[int]]:
    """How many rows have each value of each column, by the rules of a release."""
    found = {}
    for name, (_, values, _) in HORRORS.items():
        rules = ReleaseModel(missing="drop", unknown="drop", out_of_range="drop", off_grid="drop")
        codes = Domain([name], values, rules).codes(Batch(1, {name: cells[name]}, len(counts)))
        assert DROPPED in codes
        tally: Counter[int] = Counter()
        for code, count in zip(codes.tolist(), counts, strict=True):
            tally[code] += count
        found[name] = tally
    return found


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counter[int]]:
    """What the reader of CSV makes of the table of horrors."""
    path = tmp_path_factory.mktemp("horrors") / "horrors.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(HORRORS)
        for number in range(LENGTH):
            cells = (texts[number % len(texts)] for _, _, texts in HORRORS.values())
            writer.writerow([UTC.get(cell, cell) for cell in cells])
    (batch,) = open_rows(path).batches(HORRORS)
    return counted(batch.columns, [1] * LENGTH)


def at(url: str, table: str, folder: Path) -> Warehouse:
    """A table of a server, as a file names it."""
    found = Source.resolve({"source": url, "table": table}).warehouse(folder)
    assert found is not None
    return found


def cells_of(there: Warehouse | None) -> dict[str, Counter[int]]:
    assert there is not None
    found = there.cells(list(HORRORS))
    return counted(found.columns, found.counts.tolist())


def agree_with_the_reader(folder: Path, source: str) -> None:
    """The same tables, and for every key the same rows of people with too many."""
    with (folder / "visits.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("region", "amount", "id"), *ROWS])
    for text in (FILE, REJECT):
        expected = totals(described(folder, 'input = "visits.csv"', text))
        assert totals(described(folder, source, text)) == expected


def test_duckdb(read: dict[str, Counter[int]]) -> None:
    import ibis

    base = ibis.duckdb.connect()
    names = ", ".join(f"{name} {types[0]}" for name, (types, _, _) in HORRORS.items())
    base.raw_sql(f"CREATE TABLE horrors ({names})")
    base.raw_sql(f"INSERT INTO horrors {horrors(0)}")
    assert cells_of(given_warehouse(base.table("horrors"))) == read


def test_typed_files(read: dict[str, Counter[int]], tmp_path: Path) -> None:
    """The reader of Parquet and the database see the same in one file."""
    duckdb = pytest.importorskip("duckdb")
    path = tmp_path / "one" / "horrors.parquet"
    path.parent.mkdir()
    duckdb.sql(horrors(0)).write_parquet(str(path))
    (batch,) = open_rows(path).batches(HORRORS)
    assert counted(batch.columns, [1] * LENGTH) == read
    there = given_warehouse(path.parent)  # a folder is counted however few rows it has
    assert there is not None
    with there:
        assert cells_of(there) == read


# ── Postgres ────────────────────────────────────────────────────────────────────────────────────────────────


def without(server: str, reason: str) -> None:
    """Skip, or fail where the server is asked for."""
    if os.environ.get(f"SIEVERT_REQUIRE_{server}") == "1":
        pytest.fail(f"{reason}; SIEVERT_REQUIRE_{server}=1 asks for it", pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def postgres(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A server of our own in a temporary folder, which is its socket's too; it refuses to run as root.

    PGHOST names the socket's folder, as its owner would.
    """
    pytest.importorskip("psycopg")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        without("POSTGRES", "no Postgres is installed (initdb)")
    with tempfile.TemporaryDirectory(prefix="sv-", dir="/tmp") as name:
        home, told = Path(name), {}
        if os.getuid() == 0:
            other = pwd.getpwnam("nobody")
            os.chown(home, other.pw_uid, other.pw_gid)
            told = {"user": other.pw_uid, "group": other.pw_gid, "extra_groups": []}

        def call(tool: str, *given: str) -> None:
            command = [str(found[-1].parent / tool), "-D", f"{home}/data", *given]
            subprocess.run(command, check=True, cwd=home, stdout=subprocess.DEVNULL, timeout=60, **told)  # type: ignore[call-overload]

        locale = ("--locale=C", "--lc-ctype=C.UTF-8")
        call("initdb", "-U", "ann", "-A", "trust", "-E", "UTF8", *locale, "--no-sync")
        settings = (
            f"-c listen_addresses='' -c unix_socket_directories={home} -c fsync=off -c log_statement=all"
        )
        call("pg_ctl", "-w", "-l", f"{home}/log", "-o", settings, "start")
        try:
            monkeypatch.setenv("PGHOST", str(home))
            yield home
        finally:
            call("pg_ctl", "-m", "immediate", "stop")


def test_postgres(
    postgres: Path,
    read: dict[str, Counter[int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import psycopg

    url = "postgres://ann@/postgres"
    with psycopg.connect(host=str(postgres), user="ann", dbname="postgres", autocommit=True) as base:
        base.execute(
            "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
        )
        names = ", ".join(f"{name} {types[1]}" for name, (types, _, _) in HORRORS.items())
        base.execute(f"CREATE TABLE horrors ({names})")
        base.execute(f"INSERT INTO horrors {horrors(1)}")
        base.execute("SET datestyle = 'German'")
        base.execute(
            "CREATE TABLE visits (region TEXT COLLATE nocase, amount INTEGER, id TEXT COLLATE nocase)"
        )
        with base.cursor() as cursor:
            cursor.executemany("INSERT INTO visits VALUES (%s, %s, %s)", ROWS)

        with at(url, "public.horrors", tmp_path) as there:
            assert cells_of(there) == read
        drawn_on_postgres(base, url, tmp_path)
        agree_with_the_reader(tmp_path, f'source = "{url}"\ntable = "visits"')
        agree_with_the_reader(tmp_path, f'source = "{url}"\nsql = "SELECT * FROM visits"')
        only_counts_were_asked(postgres / "log")
        one_state(base, tmp_path, url, monkeypatch)
        no_cell_is_quoted(tmp_path, f'source = "{url}"')
        a_view_quotes_no_cell(base, tmp_path, url)
        an_enum_is_a_text(base, tmp_path, url)
        stopped(base, tmp_path, url, monkeypatch)
    with pytest.raises(FileError, match=r"data\.table: 'visit' is no table or view .*did you mean 'visits'"):
        totals(described(tmp_path, f'source = "{url}"\ntable = "visit"'))


# Drawn tables that a server counts in one question, and their rows.
DRAWN, DRAWN_ROWS = 200, 40


def same_there(table: Warehouse, columns: list[Column]) -> None:
    """Every drawn column has the same values there, and names the same people, or is refused."""
    found = table.cells([column.name for column in columns])
    counts = found.counts.tolist()
    read = next(open_rows(arrow_table(columns)).batches(column.name for column in columns))
    for column in columns:
        here = column.outcome(read.columns[column.name])
        assert column.outcome(found.columns[column.name], counts) == here, str(column)
    for column in columns[:12]:
        named = people(column.cells, column.missing)
        try:
            most, nobody = table.most_rows(column.name, Meaning(column.missing))
        except (DataError, FileError) as problem:
            assert not isinstance(problem, OutputError), problem.private
            assert named is None, str(column)
        else:
            assert named is not None, str(column)
            assert nobody == named.count(""), str(column)
            assert nobody or most == max(Counter(named).values()), str(column)


def drawn_on_postgres(base: Any, url: str, folder: Path) -> None:
    import psycopg

    known = kinds()
    columns = drawn(random.Random(2), DRAWN, DRAWN_ROWS, [name for name in known if known[name].postgres])
    base.execute(f"CREATE TABLE drawn ({', '.join(f'{c.name} {c.kind.postgres}' for c in columns)})")
    places = ", ".join(["%s"] * len(columns))
    with base.cursor() as cursor:
        for row in zip(*(column.cells for column in columns), strict=True):
            cursor.execute(psycopg.sql.SQL(f"INSERT INTO drawn VALUES ({places})"), row)
    with at(url, "drawn", folder) as there:
        same_there(there, columns)


def drawn_on_spark(session: Any, folder: Path) -> None:
    from pyarrow import parquet

    known = kinds()
    columns = drawn(random.Random(3), DRAWN // 2, DRAWN_ROWS, [name for name in known if known[name].spark])
    parquet.write_table(arrow_table(columns), folder / "drawn.parquet")
    session.read.parquet(str(folder / "drawn.parquet")).createOrReplaceTempView("drawn")
    same_there(at("spark://local[2]", "drawn", folder), columns)


def only_counts_were_asked(log: Path) -> None:
    """In the log of the server: whatever was asked of the table is a count, or the types of its columns."""
    lines = re.split(r"statement: |execute \w+: ", log.read_text(encoding="utf-8"))
    asked = [line for line in lines if '"visits"' in line or "FROM visits" in line]
    assert len(asked) >= 10
    for line in asked:
        assert "COUNT(" in line or "SUM(" in line or "LIMIT 0" in line or "pg_catalog" in line, line


def no_cell_is_quoted(folder: Path, source: str) -> None:
    """What a server says of a cell that it cannot read is in no message."""
    for column in ("CAST(region AS INTEGER)", "amount / (amount - amount)", "CAST(id AS DATE)"):
        sql = f"SELECT {column} AS region, amount, id FROM visits"
        with pytest.raises(OutputError, match=r"stopped answering \([A-Za-z]+\)") as raised:
            sv.release.run(described(folder, f'{source}\nsql = "{sql}"'))
        assert not re.search("north|ann|bob|zero", str(raised.value).split("stopped answering")[1])
        assert raised.value.private and raised.value.__suppress_context__


def a_view_quotes_no_cell(base: Any, folder: Path, url: str) -> None:
    """A function that is said to be immutable is run while a question is planned, and may claim any error."""
    raised = "RAISE EXCEPTION 'cells: %', (SELECT string_agg(id, ',') FROM visits) USING ERRCODE = '42P01'"
    told = f"RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN {raised}; END $$"
    base.execute(f"CREATE FUNCTION leak() {told}")
    base.execute("CREATE VIEW hostile AS SELECT leak() AS region, amount, id FROM visits")
    sql = 'sql = "SELECT region, amount, id FROM hostile"'
    with pytest.raises(FileError, match=r"data\.sql: cannot be read \(UndefinedTable\)") as problem:
        sv.release.run(described(folder, f'source = "{url}"\n{sql}'))
    assert "ann" not in str(problem.value).split("cannot be read")[1] and "ann" in problem.value.private


def an_enum_is_a_text(base: Any, folder: Path, url: str) -> None:
    """Formerly refused, "the database stopped answering": an enum has no bytes."""
    base.execute("CREATE TYPE region AS ENUM ('south', 'north')")
    base.execute("CREATE TABLE typed (region region, who region)")
    base.execute("INSERT INTO typed VALUES ('north', 'south'), ('north', 'south'), (NULL, 'north')")
    found = at(url, "typed", folder)
    cells = found.cells(["region"])
    assert sorted(zip(map(str, cells.columns["region"]), cells.counts.tolist(), strict=True)) == [
        ("None", 1),
        ("north", 2),
    ]
    assert found.most_rows("who") == (2, 0)
    found.database.close()


def one_state(base: Any, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What others write while a run reads is of another state, and a run cannot write."""
    file = described(folder, f'source = "{url}"\ntable = "visits"', REJECT)
    before, there = totals(file), at(url, "visits", folder)
    there.database.close()
    postgres = type(there.database)
    ask = postgres.ask

    def meddled(own: Any, question: Any, codes: Any = ()) -> Any:
        base.execute("INSERT INTO visits VALUES ('north', 1, 'eve')")
        return ask(own, question, codes)

    with monkeypatch.context() as patched:
        patched.setattr(postgres, "ask", meddled)
        assert totals(file) == before
    assert sum(totals(file)[0]) == sum(before[0]) + 3
    database = at(url, "visits", folder).database
    with pytest.raises(Exception, match="read-only transaction"):
        database.connection.raw_sql("INSERT INTO visits VALUES ('north', 1, 'eve')")
    database.close()


def stopped(base: Any, folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server ends our connection: before the charge nothing is spent, after it the run is finished."""
    file = described(folder, f'source = "{url}"\ntable = "visits"')
    there = at(url, "visits", folder)
    there.database.close()
    postgres = type(there.database)
    ask: Callable[..., Any] = postgres.ask
    calls: list[Any] = []

    def ended(own: Any, question: Any, codes: Any = ()) -> Any:
        calls.append(question)
        if len(calls) in (1, 5):
            base.execute("SELECT pg_terminate_backend(%s)", (own.connection.con.info.backend_pid,))
        return ask(own, question, codes)

    with monkeypatch.context() as patched:
        patched.setattr(postgres, "ask", ended)
        with pytest.raises(OutputError, match=r"stopped answering .*nothing was charged"):
            sv.release.run(file)
        assert not sv.release.account(folder / "budget.toml").releases
        with pytest.raises(OutputError, match=r"is charged .* and not published"):
            sv.release.run(file)
    assert sv.release.run(file).resumed


# ── Spark ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_spark(read: dict[str, Counter[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = pytest.importorskip("pyspark.sql").SparkSession
    if not Path("/usr/bin/java").exists() and "JAVA_HOME" not in os.environ:
        without("SPARK", "Spark needs a Java runtime")
    builder = sessions.builder.master("local[2]").config("spark.driver.host", "127.0.0.1")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        # A few rows are not worth a compiler.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.warehouse.dir": str(tmp_path / "spark"),
        "spark.sql.session.timeZone": "America/New_York",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        with_collation = ", ".join(
            f"CAST({name} AS {types[2]}) AS {name}" if " COLLATE " in types[2] else name
            for name, (types, _, _) in HORRORS.items()
        )
        session.sql(f"CREATE TEMPORARY VIEW horrors AS SELECT {with_collation} FROM ({horrors(2)})")
        rows = ", ".join(
            f"({literal(region, 2)}, {'NULL' if amount is None else amount}, {literal(person, 2)})"
            for region, amount, person in ROWS
        )
        session.sql(f"CREATE TEMPORARY VIEW visits AS SELECT * FROM VALUES {rows} AS v(region, amount, id)")
        assert cells_of(at("spark://local[2]", "horrors", tmp_path)) == read
        agree_with_the_reader(tmp_path, 'source = "spark://local[2]"\ntable = "visits"')
        odd = ["it's", "a\\", "${env:HOME}", "${spark.app.name}", "é\n'"]
        session.createDataFrame(
            [("x", "1"), *((text, "1") for text in odd)], "a string, p string"
        ).createOrReplaceTempView("odd")
        there_ = at("spark://local[2]", "odd", tmp_path)
        assert there_.most_rows("a", Meaning(tuple(odd))) == (1, len(odd))
        assert [there_.most_rows("a", Meaning((text,)))[1] for text in odd] == [1] * len(odd)
        drawn_on_spark(session, tmp_path)
        session.sparkContext.setLogLevel("OFF")
        no_cell_is_quoted(tmp_path, 'source = "spark://local[2]"')
        read_by_sql(tmp_path)
        assert session.sql("SELECT 1").collect()  # a session of somebody else is left running
        changed(session, tmp_path, monkeypatch)
    finally:
        session.stop()


def read_by_sql(folder: Path) -> None:
    """A SELECT of Spark's own tables is read; files by their format and methods of Java are not."""
    source = 'source = "spark://local[2]"\n'
    sql = "SELECT region, amount, id FROM visits WHERE id IS NULL OR id <> '${env:HOME}'"
    agree_with_the_reader(folder, f'{source}sql = "{sql}"')
    for sql in (
        "SELECT value AS region, 1 AS amount, value AS id FROM text.`/etc/passwd`",
        "SELECT region, amount, java_method('java.lang.System', 'getenv', 'HOME') AS id FROM visits",
        "SELECT region, amount, id FROM other.visits",
        "SELECT region, amount, raise_error(id) AS id FROM visits",
    ):
        with pytest.raises(FileError, match=r"data\.sql: .*(may call|is no table or view)"):
            totals(described(folder, f'{source}sql = "{sql}"'))
    with pytest.raises(FileError, match=r"data\.table: .* is no table or view"):
        totals(described(folder, source + 'table = "text./etc/passwd"'))


def changed(session: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a transaction everything is counted twice, and a table that changed is refused."""
    most = Warehouse.most_rows

    def meddled(own: Any, *given: Any) -> tuple[int, int]:
        found = most(own, *given)
        session.sql(
            "CREATE OR REPLACE TEMPORARY VIEW visits AS SELECT 'north' AS region, 1 AS amount, '1' AS id"
        )
        return found

    monkeypatch.setattr(Warehouse, "most_rows", meddled)
    file = described(folder, 'source = "spark://local[2]"\ntable = "visits"', REJECT)
    with pytest.raises(OutputError, match="the table changed while it was read; nothing was charged"):
        sv.release.run(file)
