"""The sender of a file: hosts, paths, SQL, engines, patterns and sizes that a hostile file names."""

import ast
import csv
import json
import os
import pty
import re
import socket
import sqlite3
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import sievert as sv
from sievert.errors import FileError, OutputError
from sievert.files import as_python
from sievert.spaces import label_text, read_label
from sievert.tables import asking_about_hosts, count_reports
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


def quoted(text: str) -> str:
    return text.replace("'", "''")


def refused_on_postgres(folder: Path, source: str) -> None:
    """Tables and functions of the system, in data.table and data.sql."""
    for name in ("pg_catalog.pg_authid", "information_schema.tables", "pg_authid", "pg_stat_activity"):
        with pytest.raises(sv.SievertError, match=r"is no table or view of the database"):
            released(written(folder, source.replace('"visits"', f'"{name}"'), []), "d.csv")
    for sql in (
        "SELECT ward, pg_read_file('/etc/passwd') AS patient FROM visits",
        "SELECT rolname AS ward, rolpassword AS patient FROM pg_authid",
        "SELECT ward, patient FROM visits WHERE set_config('role', 'x', false) = 'x'",
        "SELECT ward, patient FROM visits WHERE lower(ward) = pg_sleep(1)::text",
    ):
        view = source.replace('table = "visits"', f"sql = {json.dumps(sql)}")
        with pytest.raises(sv.SievertError, match=r"may call|is no table or view"):
            released(written(folder, view, []), "d.csv")


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
        source = 'source = "postgres://ann@/postgres"\ntable = "visits"'
        assert released(written(tmp_path, source, ["ann\\", "south'"]), "a.csv") == [2, 2]
        with pytest.raises(sv.SievertError, match=r"name nobody|names nobody"):
            released(written(tmp_path, source, TEXTS), "b.csv")
        sql = f"SELECT ward, patient FROM visits WHERE ward <> 'a\\' AND patient <> '{quoted(TEXTS[0])}'"
        view = source.replace('table = "visits"', f"sql = {json.dumps(sql)}")
        assert released(written(tmp_path, view, []), "c.csv") == [2, 1]
        refused_on_postgres(tmp_path, source)
        assert base.execute("SELECT * FROM canary").fetchall() == [(1,)]


LIMITED = """
version = 1
policy = { values = ["0", "1", "2"], records = 9, adjacency = "add-remove" }
query = { kind = "histogram" }
mechanism = { kind = "geometric", eps = 0.9 }
data = { source = "duckdb://t.db", SOURCE, column = "COLUMN", fit = { unknown = 1, dropped = 1 } }
release = { ledger = "budget.toml", output = "out.csv", unknown = "drop", missing = "drop" }
"""


@pytest.fixture
def incomes(tmp_path: Path) -> Path:
    """A table with a column whose limit is spent by one release, and views of it."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "t.db")) as base:
        base.execute("CREATE TABLE t AS SELECT (i % 3)::TEXT AS income, i::TEXT AS id FROM range(9) r(i)")
        base.execute("CREATE TABLE other AS SELECT (i % 3)::VARCHAR AS k FROM range(9) r(i)")
        base.execute("CREATE VIEW renamed AS SELECT income AS i2, id FROM t")
        base.execute("CREATE VIEW again AS SELECT i2 AS i3 FROM renamed")
        base.execute("CREATE VIEW ranked AS SELECT rank() OVER (ORDER BY income)::VARCHAR AS r, id FROM t")
        base.execute('CREATE VIEW harmless AS SELECT k AS "income" FROM other')
    (tmp_path / "budget.toml").write_text("person = 100.0\n[columns]\nincome = 1.0\n")
    return tmp_path


def limited(folder: Path, source: str, column: str, name: str) -> str:
    """What a release says, or why it is refused."""
    file = folder / "file.toml"
    file.write_text(LIMITED.replace("SOURCE", source).replace("COLUMN", column))
    return str(sv.release.run(file, output=folder / name))


RENAMED = [
    ("sql = 'SELECT income AS i2 FROM t'", "i2"),
    ("sql = 'SELECT Income AS i2 FROM main.T AS x'", "i2"),
    ("sql = 'WITH c(z) AS (SELECT income FROM t) SELECT z AS i2 FROM c'", "i2"),
    ("sql = 'SELECT i2 FROM (SELECT right(income || id, 1) AS i2 FROM t)'", "i2"),
    ("sql = 'SELECT CASE WHEN income = 1 THEN id ELSE id END AS i2 FROM t'", "i2"),
    ("sql = 'SELECT id AS i2 FROM t WHERE income = 1'", "i2"),
    ("sql = 'SELECT i2 FROM renamed'", "i2"),
    ("sql = 'SELECT i3 AS income FROM again'", "income"),
    ("table = 'renamed'", "i2"),
    ("table = 'again'", "i3"),
]


@pytest.mark.parametrize(("source", "column"), RENAMED)
def test_a_limited_column_is_charged_under_every_name(incomes: Path, source: str, column: str) -> None:
    assert "0.1 through the column income" in limited(incomes, source, column, "a.csv")
    with pytest.raises(sv.SievertError, match=r"through the column 'income' but 0.1 is left"):
        limited(incomes, source, column, "b.csv")


def test_a_view_that_is_not_understood_is_refused_where_a_column_is_limited(incomes: Path) -> None:
    for source in ("table = 'ranked'", "sql = 'SELECT r FROM ranked'"):
        with pytest.raises(sv.SievertError, match=r"reads the view 'ranked'.*name the tables themselves"):
            limited(incomes, source, "r", "a.csv")
    (incomes / "budget.toml").write_text("person = 100.0\n")
    assert "Released" in limited(incomes, "table = 'ranked'", "r", "a.csv")
    assert not limited(incomes, "table = 'other'", "k", "b.csv").count("through")


def test_a_plan_does_not_pay_for_a_column_that_it_does_not_name(incomes: Path) -> None:
    file = incomes / "file.toml"
    text = LIMITED.replace("SOURCE", "sql = 'SELECT income AS i2 FROM t'").replace("COLUMN", "i2")
    file.write_text(text)
    sv.release.plan(file, 5)
    with pytest.raises(sv.SievertError, match=r"has not paid for the column 'income'"):
        sv.release.run(file)
    assert not (incomes / "out.csv").exists()


def test_without_a_person_it_is_said_to_be_about_a_row(incomes: Path) -> None:
    source, row = "sql = 'SELECT income AS i2 FROM t'", "row of this view"
    said = limited(incomes, source, "i2", "a.csv")
    assert f"for ε = 0.9 a {row};" in said
    assert "person" not in said
    found = sv.release.preview(incomes / "file.toml")
    assert f"each {row}" in str(found)
    assert "a person with k rows loses k times as much" in " ".join(found.warnings)
    assert found.to_dict()["per"] == row


JOINED = """
version = 1
[policy]
values = ["north", "south"]
records = 600
adjacency = "add-remove"
person_records = 2
[query]
kind = "histogram"
[mechanism]
kind = "geometric"
eps = 50.0
[data]
source = "duckdb://clinic.db"
sql = "SQL"
column = "ward"
fit = { unknown = 1, dropped = 1 }
MORE
[release]
ledger = "budget.toml"
output = "out.csv"
too_many = "sample"
unknown = "drop"
"""
# A SELECT, what more the file says, and how it ends; visits and people are of patients, wards of nobody.
BOTH = "tables = { visits = { person = 'patient' }, people = { person = 'patient' }, wards = 'public' }"
VIEWS = [
    ("SELECT a.ward, b.patient FROM visits a CROSS JOIN visits b", "person = 'patient'", "not on the person"),
    ("SELECT a.ward, b.patient FROM visits a, visits b", "person = 'patient'", "not on the person"),
    (
        "SELECT a.ward, a.patient FROM visits a JOIN visits b ON a.ward = b.ward",
        "person = 'patient'",
        "not on",
    ),
    ("SELECT a.ward, a.patient FROM visits a JOIN wards b ON a.ward = b.ward", "person = 'patient'", "whose"),
    ("SELECT ward, max(patient) AS patient FROM visits GROUP BY ward", "person = 'patient'", "GROUP BY"),
    ("SELECT DISTINCT ward, 'x' AS patient FROM visits", "person = 'patient'", "whose"),
    ("SELECT ward, patient || visit AS patient FROM visits", "person = 'patient'", "several columns"),
    (
        "SELECT ward, patient FROM visits UNION SELECT patient, ward FROM visits",
        "person = 'patient'",
        "several",
    ),
    (
        "SELECT (SELECT max(ward) FROM visits) AS ward, patient FROM visits",
        "person = 'patient'",
        "a subquery",
    ),
    (
        "SELECT ward, patient FROM visits WHERE ward IN (SELECT ward FROM visits)",
        "person = 'patient'",
        "a subquery",
    ),
    ("SELECT p.patient, v.ward FROM people p RIGHT JOIN visits v USING (patient)", BOTH, "."),
    ("SELECT a.ward FROM visits a CROSS JOIN visits b", "", "no column says whose row it is"),
    ("SELECT ward FROM visits UNION ALL SELECT ward FROM visits", "", "no column says whose row it is"),
    ("SELECT ward FROM visits GROUP BY ward", "", "no column says whose row it is"),
    ("SELECT ward FROM visits WHERE ward IN (SELECT ward FROM wards)", "", "no column says whose row it is"),
    ("SELECT DISTINCT ward FROM visits", "", "no column says whose row it is"),
    *(
        (f"SELECT ward, {made} AS who FROM visits", "person = 'who'", "'who' is not the column of the person")
        for made in ("length(patient)", "patient = patient", "trim(patient, patient)", "left(patient, 1)")
    ),
    (
        "SELECT max(ward) AS ward, patient = patient AS who FROM visits GROUP BY patient = patient",
        "person = 'who'",
        "GROUP BY",
    ),
    (
        "SELECT ward, patient, 1 AS a FROM visits GROUP BY a, patient, ward",
        "person = 'patient'",
        "the same in every row",
    ),
    *(
        (
            f"SELECT ward, patient FROM visits {kind} SELECT ward, {made} FROM visits",
            "person = 'patient'",
            "more than one way",
        )
        for kind, made in (
            ("UNION ALL", "patient || '2' AS patient"),
            ("UNION", "upper(patient) AS patient"),
            ("EXCEPT", "trim(patient) AS patient"),
            ("INTERSECT", "lower(patient) AS patient"),
        )
    ),
    (
        "SELECT a.ward, a.patient FROM visits a JOIN (SELECT lower(patient) AS p FROM visits) b "
        "ON a.patient = b.p",
        "person = 'patient'",
        "more than one way",
    ),
    (
        "SELECT a.ward, a.patient FROM (SELECT ward, patient, lower(patient) AS p FROM visits) a JOIN "
        "(SELECT lower(patient) AS p FROM visits) b ON a.p = b.p",
        "person = 'patient'",
        "more than one way",
    ),
    (
        "SELECT patient, (SELECT max(v.ward) FROM wards) AS ward FROM visits v",
        f"person = 'patient'\n{BOTH}",
        "an aggregate over a column of the query around it",
    ),
    ("SELECT ward, patient FROM visits WHERE visit > 0", "person = 'patient'", ""),
    (
        "SELECT a.ward, a.p FROM (SELECT ward, lower(patient) AS p FROM visits) a JOIN "
        "(SELECT lower(patient) AS p FROM people) b ON a.p = b.p",
        f"person = 'p'\n{BOTH}",
        "",
    ),
    (
        "SELECT ward, lower(patient) AS p FROM visits UNION ALL SELECT ward, lower(patient) FROM visits",
        "person = 'p'",
        "",
    ),
    ("SELECT ward, lower(patient) AS who FROM visits", "person = 'who'", ""),
    ("SELECT DISTINCT ward, patient FROM visits", "person = 'patient'", ""),
    ("SELECT min(ward) AS ward, patient FROM visits GROUP BY patient", "person = 'patient'", ""),
    ("SELECT ward, patient FROM visits UNION ALL SELECT ward, patient FROM visits", "person = 'patient'", ""),
    (
        "SELECT v.ward, p.patient FROM visits v JOIN people p USING (patient)",
        f"person = 'patient'\n{BOTH}",
        "",
    ),
    (
        "SELECT v.ward, v.patient FROM visits v LEFT JOIN wards w ON v.ward = w.ward",
        f"person = 'patient'\n{BOTH}",
        "",
    ),
    (
        "WITH c AS (SELECT ward, patient FROM visits) SELECT a.ward, b.patient FROM c a JOIN c b ON "
        "a.patient = b.patient",
        "person = 'patient'",
        "",
    ),
]


@pytest.mark.parametrize(("sql", "more", "reason"), VIEWS)
def test_rows_of_one_person_do_not_change_those_of_others(
    tmp_path: Path, sql: str, more: str, reason: str
) -> None:
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "clinic.db")) as base:
        base.execute("CREATE TABLE visits (ward VARCHAR, patient VARCHAR, visit INTEGER)")
        base.execute("CREATE TABLE people AS SELECT DISTINCT patient FROM visits")
        base.execute("CREATE TABLE wards AS SELECT 'north' AS ward")
        base.execute("INSERT INTO visits VALUES ('north', 'ann', 1), ('south', 'ann', 2), ('north', 'b', 3)")
        base.execute("INSERT INTO people VALUES ('ann'), ('b')")
    text = JOINED.replace("SQL", sql).replace("MORE", more)
    if "person" not in more:
        text = text.replace('too_many = "sample"\n', "").replace("person_records = 2\n", "")
    (tmp_path / "file.toml").write_text(text)
    (tmp_path / "budget.toml").write_text("person = 1000.0\n")
    if reason:
        with pytest.raises(sv.SievertError, match=reason):
            sv.release.run(tmp_path / "file.toml")
        assert not (tmp_path / "out.csv").exists()
        assert not (tmp_path / "budget.ledger").exists()
    else:
        done = sv.release.run(tmp_path / "file.toml")
        assert done.table is not None


@pytest.mark.parametrize(
    ("sql", "person"),
    [
        # SQLite takes an aggregate over a column of the query around for one of that query.
        (
            "SELECT patient, (SELECT count(*) FILTER (WHERE v.ward = 'north') FROM wards) || '' AS ward "
            "FROM visits v",
            "patient",
        ),
        # And whatever is no number for the UUID 0, so that all persons have one name.
        ("SELECT CAST(patient AS UUID) AS who, max(ward) AS ward FROM visits GROUP BY 1", "who"),
    ],
)
def test_rows_of_one_person_do_not_change_those_of_others_on_sqlite(
    tmp_path: Path, sql: str, person: str
) -> None:
    pytest.importorskip("ibis")
    with closing(sqlite3.connect(tmp_path / "clinic.db")) as base:
        base.execute("CREATE TABLE visits (ward TEXT, patient TEXT)")
        base.execute("CREATE TABLE wards AS SELECT 'north' AS ward")
        base.executemany("INSERT INTO visits VALUES (?, ?)", PATIENTS)
        base.commit()
    text = (
        JOINED.replace("SQL", sql).replace("duckdb://", "sqlite://").replace('"north"', '"north", "1", "2"')
    )
    tables = "tables = { visits = { person = 'patient' }, wards = 'public' }"
    (tmp_path / "file.toml").write_text(text.replace("MORE", f"person = '{person}'\n{tables}"))
    (tmp_path / "budget.toml").write_text("person = 1000.0\n")
    with pytest.raises(FileError, match="is not among what a file may ask"):
        sv.release.run(tmp_path / "file.toml")
    assert not (tmp_path / "out.csv").exists() and not (tmp_path / "budget.ledger").exists()


def test_what_a_database_does_not_have_is_said(tmp_path: Path) -> None:
    """Formerly "a mistake of Sievert"."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "clinic.db")) as base:
        base.execute("CREATE TABLE visits (ward TEXT, patient TEXT)")
    source = 'source = "duckdb://clinic.db"\nsql = "SELECT sha2(ward, 512) AS ward, patient FROM visits"'
    with pytest.raises(FileError, match="this database does not have what it asks"):
        released(written(tmp_path, source, []), "a.csv")


# ── hosts, passwords and engines ────────────────────────────────────────────────────────────────────

PASSWORD = "hunter2-prod"
Sievert = Callable[..., subprocess.CompletedProcess[str]]


class Thief:
    """A server that says it is a database, asks for the password in clear, and keeps what it is sent."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.connections, self.heard = 0, b""
        self.asks_for = struct.pack("!cII", b"R", 8, 3)  # AuthenticationCleartextPassword
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            with suppress(OSError, struct.error), connection:
                connection.settimeout(5)
                while True:
                    (length,) = struct.unpack("!I", connection.recv(4))
                    body = connection.recv(length - 4)
                    self.heard += body
                    if len(body) != 4:
                        break
                    connection.sendall(b"N")  # neither TLS nor GSS
                connection.sendall(self.asks_for)
                self.heard += connection.recv(1000)


@pytest.fixture
def thief() -> Iterator[Thief]:
    found = Thief()
    yield found
    found.socket.close()


@pytest.fixture
def owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an owner who has a password, and allows no host yet."""
    monkeypatch.setenv("SIEVERT_HOSTS", "")
    for name in ("PGHOST", "PGPORT", "PGSSLMODE", "PGREQUIREAUTH", "PGCHANNELBINDING"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def at(folder: Path, url: str) -> Path:
    return written(folder, f'source = "{url}"\ntable = "visits"', [])


@pytest.mark.parametrize(
    "url",
    [
        "postgres://curator@127.0.0.1:PORT/clinic",
        "postgresql://localhost:PORT/clinic",
        "postgres://127.0.0.1:PORT,db.example.org/clinic",
        "postgres://db.example.org@127.0.0.1:PORT/clinic",
        "postgres://db.example.org:5432@127.0.0.1:PORT/clinic",
        "mysql://127.0.0.1:PORT/clinic",
        "clickhouse://127.0.0.1:PORT/clinic",
        "spark://127.0.0.1:PORT",
        "spark://localhost:PORT",
        "spark://local://127.0.0.1:PORT",
    ],
)
def test_a_host_of_the_file_is_not_connected_to(
    sievert: Sievert, thief: Thief, owner: Path, url: str
) -> None:
    """Formerly PGPASSWORD went in clear to whatever host a file named."""
    file = at(owner, url.replace("PORT", str(thief.port)))
    os.environ["SIEVERT_HOSTS"] = "postgres://db.example.org postgres://127.0.0.1:5432"
    for options in ((), ("--preview",), ("--allow-host", f"postgres://127.0.0.1:{thief.port + 1}")):
        done = sievert("release", file, *options)
        assert "--preview" in options or done.returncode == 2, done.stderr
    sievert("audit", file)
    assert thief.connections == 0 and PASSWORD not in done.stderr
    assert not (owner / "budget.ledger").exists()


@pytest.mark.parametrize(
    "query",
    [
        *("host=127.0.0.1", "hostaddr=127.0.0.1", "port=PORT", "service=evil", "options=-crole%3Dx"),
        *("passfile=/tmp/x", "sslmode=disable", "sslrootcert=/tmp/x", "user=eve", "dbname=host%3D127.0.0.1"),
        *(
            "require_auth=password",
            "channel_binding=disable",
            "sslkey=/tmp/x",
            "HOST=127.0.0.1",
            "gssencmode=x",
        ),
    ],
)
def test_a_url_tells_the_driver_nothing_else(sievert: Sievert, thief: Thief, owner: Path, query: str) -> None:
    os.environ["SIEVERT_HOSTS"] = "postgres://localhost:5432 mysql://localhost"
    for scheme in ("postgres", "mysql"):
        file = at(owner, f"{scheme}://localhost/clinic?{query.replace('PORT', str(thief.port))}")
        done = sievert("release", file)
        assert done.returncode == 2
        assert "question mark" in done.stderr or "holds a password" in done.stderr
    assert thief.connections == 0


@pytest.mark.parametrize("asks_for", [(8, 3, b""), (12, 5, b"salt"), (8, 0, b"")])
def test_an_allowed_host_is_sent_no_password(
    sievert: Sievert, thief: Thief, owner: Path, asks_for: tuple[int, int, bytes]
) -> None:
    """Whether it asks for the password in clear, as an MD5 hash, or lets everybody in."""
    thief.asks_for = struct.pack("!cII", b"R", *asks_for[:2]) + asks_for[2]
    file = at(owner, f"postgres://curator@127.0.0.1:{thief.port}/clinic")
    done = sievert("release", file, "--allow-host", f"postgres://127.0.0.1:{thief.port}")
    assert done.returncode == 3 and thief.connections >= 1 and b"curator" in thief.heard
    assert PASSWORD.encode() not in thief.heard and b"md5" not in thief.heard
    assert "SCRAM-SHA-256" in done.stderr and PASSWORD not in done.stderr


def test_a_host_over_a_network_must_speak_tls(thief: Thief, owner: Path) -> None:
    """A name that is not this machine's, which here leads to it all the same."""
    file = at(owner, f"postgres://ann@127.0.0.1.example:{thief.port}/clinic")
    os.environ["SIEVERT_HOSTS"] = f"postgres://127.0.0.1.example:{thief.port}?hostaddr=127.0.0.1"
    with pytest.raises(OutputError, match="SSL"):
        sv.release.run(file)
    assert thief.connections >= 1 and b"ann" not in thief.heard


def test_a_terminal_is_asked_about_a_host_once(thief: Thief, owner: Path) -> None:
    url = f"postgres://127.0.0.1:{thief.port}"
    file = at(owner, f"{url}/clinic")
    allowed = owner / "config" / "sievert" / "hosts"
    for answer, asked, connected in (("no", True, False), ("yes", True, True), ("", False, True)):
        before = thief.connections
        master, terminal = pty.openpty()
        command = [sys.executable, "-m", "sievert", "release", str(file)]
        with subprocess.Popen(command, stdin=terminal, stdout=subprocess.DEVNULL, stderr=terminal) as running:
            os.write(master, f"{answer}\n".encode())
            running.wait()
        os.write(terminal, b"<end>")
        said = b""
        while b"<end>" not in said:
            said += os.read(master, 1 << 16)
        os.close(master)
        os.close(terminal)
        assert (b"Type yes" in said, thief.connections > before) == (asked, connected)
        assert allowed.exists() == connected
    assert allowed.read_text() == f"{url}\n"
    assert allowed.stat().st_mode & 0o077 == 0 and allowed.parent.stat().st_mode & 0o077 == 0


def test_a_list_that_others_write_allows_nothing(thief: Thief, owner: Path) -> None:
    allowed = owner / "config" / "sievert" / "hosts"
    allowed.parent.mkdir(parents=True)
    allowed.write_text(f"postgres://127.0.0.1:{thief.port}  # ours\n")
    file = at(owner, f"postgres://127.0.0.1:{thief.port}/clinic")
    allowed.chmod(0o666)
    with pytest.raises(FileError, match="others may write it"):
        sv.release.run(file)
    assert thief.connections == 0
    allowed.chmod(0o600)
    with pytest.raises(OutputError, match="does not answer"):
        sv.release.run(file)
    assert thief.connections > 0


ROWS_OF_FILES = """
version = 1
policy = { values = ["north", "south"], secrets = "complete" }
mechanism = { kind = "randomised-response", eps = 1.0 }
data = { input = "days", column = "ward" }
release = { ledger = "budget.toml", output = "out.csv", engine = "ENGINE" }
"""


def test_a_cluster_of_the_file_is_not_connected_to(thief: Thief, owner: Path) -> None:
    """Ray runs what its head answers, so a terminal is not asked about it either."""
    (owner / "budget.toml").write_text("person = 9\n")
    (owner / "days").mkdir()
    for day in range(2):
        (owner / "days" / f"{day}.csv").write_text("ward\nnorth\n")
    file = owner / "file.toml"
    file.write_text(ROWS_OF_FILES.replace("ENGINE", f"ray://127.0.0.1:{thief.port}"))
    with (
        asking_about_hosts(lambda address: True),
        pytest.raises(FileError, match=r"ray://127\.0\.0\.1.*allow"),
    ):
        sv.release.run(file)
    assert thief.connections == 0 and not (owner / "budget.ledger").exists()


# ── paths and outputs ───────────────────────────────────────────────────────────────────────────────

HOSTILE = "</script><script>document.title='pwn'+'ed'</script><img src=x onerror=alert(1)>"
SURVEY = """
version = 1
title = TITLE
policy = { values = ["yes", "no", TITLE] }
mechanism = { kind = "randomised-response", eps = 1.0 }
"""


COUNTS = """
version = 1
policy = { values = ["north", "south"], records = 3 }
query = { kind = "histogram" }
mechanism = { kind = "geometric", eps = 0.5 }
data = { input = "data.csv", column = "ward" }
release = { ledger = "budget.toml", output = "OUTPUT" }
"""


@pytest.mark.parametrize("output", ["out/noisy.csv", "out/deep/er/noisy.csv", "here/../out/noisy.csv"])
def test_an_output_of_the_file_stays_below_it(tmp_path: Path, sievert: Sievert, output: str) -> None:
    """An archive may bring a link along: the output would be written through it."""
    folder, victim = tmp_path / "sent", tmp_path / "victim"
    folder.mkdir()
    victim.mkdir()
    (folder / "out").symlink_to(victim)
    (folder / "inside").mkdir()
    (folder / "here").symlink_to("inside")
    (folder / "data.csv").write_text("ward\nnorth\nsouth\nnorth\n")
    (folder / "budget.toml").write_text("person = 9\n")
    file = folder / "file.toml"
    file.write_text(COUNTS.replace("OUTPUT", output))
    for options in (("--preview",), ()):
        done = sievert("release", file, *options)
        assert done.returncode == (1 if options and ".." not in output else 2)
        assert "own folder" in " ".join((done.stdout + done.stderr).split())
    assert not list(victim.iterdir()) and not (folder / "budget.ledger").exists()
    file.write_text(COUNTS.replace("OUTPUT", "here/noisy.csv"))
    assert sievert("release", file).returncode == 0 and (folder / "inside" / "noisy.csv").exists()
    assert sievert("release", file, "--output", victim / "chosen.csv").returncode == 0


FORMULAS = [
    "=cmd|' /C calc'!A0",
    *('+1+cmd|" "!A0', "-2+3", "@SUM(A1)", "\uff1d1+1", "a;=1+1", '"=1"', "-1", "- 5", "\t=1"),
]
LABELS = """
version = 1
policy = { values = VALUES, records = 12 }
query = { kind = "histogram" }
mechanism = { kind = "geometric", eps = 30.0 }
data = { input = "data.csv", column = "v" }
release = { ledger = "budget.toml", output = "out.csv" }
"""


@pytest.mark.parametrize("by_row", [False, True])
def test_a_label_is_no_formula_in_a_spreadsheet(tmp_path: Path, sievert: Sievert, by_row: bool) -> None:
    """And our own readers take it for what it was; numbers stay numbers."""
    labels = [*FORMULAS[:-1], "north"]
    (tmp_path / "budget.toml").write_text("person = 99\n")
    with (tmp_path / "data.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["v"], *([label] for label in labels), *([["north"]] * 2)])
    text = LABELS.replace("VALUES", json.dumps(labels, ensure_ascii=False))
    if by_row:
        text = text.replace('query = { kind = "histogram" }\n', "").replace(", records = 12", "")
        text = text.replace("geometric", "randomised-response")
    (tmp_path / "file.toml").write_text(text, encoding="utf-8")
    done = sievert("release", tmp_path / "file.toml", "--despite-accept")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert not [cell for cell in cells if re.match("[=+@\uff1d\t]|-[^0-9]|-2\\+", cell)]
    assert not [cell for cell in cells if ";=" in cell and not cell.startswith('"')] and "-1" in cells
    assert [read_label(label_text(label)) for label in labels] == labels
    if by_row:
        counted = count_reports([tmp_path / "out.csv"], labels=labels).counts
        assert counted == {**dict.fromkeys(labels, 1), "north": 3}
    else:
        assert sievert("estimate", tmp_path / "file.toml").returncode == 0


def test_channels_and_counts_are_no_formulas_either(tmp_path: Path) -> None:
    channel = sv.Channel([[0.5, 0.5], [0.25, 0.75]], inputs=FORMULAS[:2], outputs=FORMULAS[2:4])
    sv.save(channel, tmp_path / "c.csv")
    again = sv.load(tmp_path / "c.csv")
    assert again.inputs == channel.inputs and again.outputs == channel.outputs
    with (tmp_path / "c.csv").open(newline="", encoding="utf-8") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+-@"]


def test_the_name_of_a_file_may_be_no_text(tmp_path: Path, sievert: Sievert) -> None:
    """A page and a proof are written about a file whose name is not UTF-8."""
    text = SURVEY.replace("TITLE", '"maybe"')
    first, second = tmp_path / "a.toml", tmp_path / os.fsdecode(b"b\xff.toml")
    first.write_text(text)
    second.write_text(text)
    page, proof = tmp_path / "page.html", tmp_path / "proof.json"
    done = sievert("compare", first, second, "--proof", proof, "--report", page)
    assert done.returncode == 0, done.stderr
    assert "b?.toml" in page.read_text(encoding="utf-8")
    assert sievert("verify", proof, first, second).returncode == 0


COUNTED = """version = 1
policy = { values = ["yes", "no"], records = 2 }
query = { kind = "count", where = ["yes"] }
mechanism = { kind = "truncated-geometric", eps = 1 }
use = { loss = "absolute" }
data = { input = "data.csv", column = "answer" }
release = { ledger = "budget.toml", output = "out.csv" }
"""


@pytest.mark.parametrize(
    ("command", "folder", "output"),
    [("release", ".", "out\udcff.csv"), ("release", "\udcff", "out.csv"), ("design", ".", "out\udcff.toml")],
)
def test_a_path_that_is_no_text_is_refused_before_any_work(
    tmp_path: Path, sievert: Sievert, command: str, folder: str, output: str
) -> None:
    """A ledger, a sidecar and a designed file hold paths as text: it was "a mistake of Sievert"."""
    file = tmp_path / folder / "file.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(COUNTED)
    (file.parent / "data.csv").write_text("answer\nyes\nno\n")
    (file.parent / "budget.toml").write_text("person = 3\n")
    done = sievert(command, file, "--output", file.parent / output)
    assert done.returncode == 2, done.stderr
    assert "output is " in done.stderr and "not UTF-8; name another" in done.stderr
    assert not (file.parent / "budget.ledger").exists()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("input", '"pipe.csv"'),
        ("input", '"/dev/zero"'),
        ("input", '"/proc/self/mem"'),
        ("input", r'"\\\\host\\share\\data.csv"'),
        ("input", '"//host/share/data.csv"'),
        ("input", '"https://example.org/data.csv"'),
        ("input", '"s3://bucket/data.parquet"'),
        ("source", '"duckdb://md:clinic"'),
        ("source", '"duckdb://https://example.org/clinic.db"'),
        ("source", '"duckdb://pipe.csv"'),
    ],
)
def test_data_are_plain_files_of_this_machine(tmp_path: Path, sievert: Sievert, key: str, value: str) -> None:
    """Pipes and devices, which never end, and what lies elsewhere."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "budget.toml").write_text("person = 9\n")
    table = ', table = "visits"' if key == "source" else ""
    text = COUNTS.replace('input = "data.csv"', f"{key} = {value}{table}").replace("OUTPUT", "out.csv")
    (tmp_path / "file.toml").write_text(text)
    done = sievert("release", tmp_path / "file.toml")
    assert done.returncode == 2 and len(done.stderr) < 1000, done.stderr
    assert not (tmp_path / "out.csv").exists() and not (tmp_path / "budget.ledger").exists()


@pytest.mark.parametrize("by_link", [False, True])
def test_what_the_system_says_of_a_process_is_no_file(
    tmp_path: Path, sievert: Sievert, by_link: bool
) -> None:
    """A message quotes the header, a page the labels: formerly those of the environment."""
    place = "/proc/self/environ"
    if by_link:
        (tmp_path / "link.csv").symlink_to(place)
        place = "link.csv"
    survey = SURVEY.replace("TITLE", '"t"', 1)
    for command, text in (
        ("estimate", survey.replace("TITLE", '"maybe"') + f'[estimate]\nreports = "{place}"\n'),
        ("audit", survey.replace('["yes", "no", TITLE]', f'{{ file = "{place}" }}')),
    ):
        (tmp_path / "file.toml").write_text(text)
        done = sievert(command, tmp_path / "file.toml")
        assert done.returncode == 2 and "what the system says of a process" in done.stderr, done.stderr


@pytest.mark.parametrize("name", ["pipe.key", "/dev/zero", "large.key", "/proc/self/environ"])
def test_a_ledger_key_is_a_small_plain_file(tmp_path: Path, name: str) -> None:
    """Reading it waited for ever, or filled the memory."""
    os.mkfifo(tmp_path / "pipe.key")
    with (tmp_path / "large.key").open("wb") as stream:
        stream.truncate(2**40)  # a hole
    (tmp_path / "budget.toml").write_text("person = 9\n")
    (tmp_path / "data.csv").write_text("ward\nnorth\nsouth\nnorth\n")
    text = COUNTS.replace('output = "OUTPUT"', f'output = "out.csv", ledger_key = "{name}"')
    (tmp_path / "file.toml").write_text(text)
    with pytest.raises(FileError, match=r"device or a pipe|of a process|at most|at least"):
        sv.release.run(tmp_path / "file.toml")
    assert not (tmp_path / "out.csv").exists() and not (tmp_path / "budget.ledger").exists()


def test_a_text_of_the_file_steers_no_terminal(tmp_path: Path, sievert: Sievert) -> None:
    """Neither as sentences nor as JSON, which still holds what the file says."""
    title = "x\x1b[31m\x9b31m\x85\u202e\u2066\u200f\u061c\u2028 ok"
    file = tmp_path / "file.toml"
    file.write_text(SURVEY.replace("TITLE", json.dumps(title)), encoding="utf-8")
    said, told = sievert("audit", file), sievert("audit", file, "--json")
    for done in (said, told):
        assert done.returncode == 0, done.stderr
        assert not set(title[1:-3]) - set("[31m") & set(done.stdout + done.stderr)
    assert json.loads(told.stdout)["title"] == title


@pytest.mark.parametrize(
    "sql",
    [
        "EXPLAIN \u202e\u009b31m",
        # Formerly "a mistake of Sievert", an IndexError and an AttributeError of the parser.
        "SELECT ward -> '$.\u009b[?' AS x FROM visits",
        "FROM ward SELECT its |> LIMIT BY 1",
    ],
)
def test_a_parser_that_fails_or_warns_quotes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, sql: str
) -> None:
    """It repeats in a warning what it does not know, with what steers a terminal."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "clinic.db")) as base:
        base.execute("CREATE TABLE visits (ward TEXT, patient TEXT)")
    with pytest.raises(FileError, match=r"data\.sql") as refused:
        released(written(tmp_path, f'source = "duckdb://clinic.db"\nsql = {json.dumps(sql)}', []), "a.csv")
    assert not caplog.text and not set("\u202e\u009b") & set(str(refused.value))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("records = 3", "records = 1000000000000000000000000000000"),
        ("records = 3", f"records = {'9' * 5000}"),
        ('values = ["north", "south"]', "values = { range = [0, 1000000000000] }"),
        ('values = ["north", "south"]', "values = { range = [0, 1e308], step = 1e-308 }"),
        ('values = ["north", "south"]', f"values = {'[' * 5000}{']' * 5000}"),
        ('values = ["north", "south"]', f"values = {'{ a = ' * 3000}1{' }' * 3000}"),
        ("eps = 0.5", "eps = 1e400"),
        ("eps = 0.5", f"eps = '1/{'9' * 100_000}'"),
        ("eps = 0.5", "eps = '1e999999999'"),
        ("eps = 0.5", f"eps = '{'9' * 200_000}'"),
    ],
)
def test_what_is_too_large_is_refused_before_work(
    tmp_path: Path, sievert: Sievert, old: str, new: str
) -> None:
    (tmp_path / "budget.toml").write_text("person = 9\n")
    (tmp_path / "data.csv").write_text("ward\nnorth\n")
    text = COUNTS.replace("OUTPUT", "out.csv")
    assert old in text
    (tmp_path / "file.toml").write_text(text.replace(old, new))
    for command in ("audit", "release"):
        done = sievert(command, tmp_path / "file.toml")
        assert done.returncode in (0, 1, 2, 3, 4), done.stderr
        assert "mistake of Sievert" not in done.stderr and len(done.stderr) < 2000, done.stderr[:3000]
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("rule", ["pad", "sample"])
def test_a_document_is_not_brought_to_any_size(rule: str) -> None:
    """Formerly the memory was filled with the token, in a preview too."""
    table = sv.text.Embedding(["thing", "other"], [[0.0], [1.0]])
    with pytest.raises(sv.errors.TextError, match="brought to at most 1000000 words"):
        sv.text.obfuscate(["thing other"], table, 1.0, length=rule, size=10**12, token="thing")


def test_a_page_runs_our_scripts_alone(sievert: Sievert, tmp_path: Path, started_browser: Any) -> None:
    """What a file brings onto a page is text; and a script that got there in another way would not run."""
    (tmp_path / "file.toml").write_text(SURVEY.replace("TITLE", json.dumps(HOSTILE)))
    page = tmp_path / "page.html"
    assert sievert("audit", tmp_path / "file.toml", "--report", page).returncode == 0
    text = page.read_text(encoding="utf-8")
    assert text.index("Content-Security-Policy") < text.index("<script") and HOSTILE not in text
    added = "<script>document.title='pwn'+'ed'</script><img src='https://example.org/x'>"
    shown = started_browser.new_page()
    refused: list[str] = []
    asked: list[str] = []
    shown.on("console", lambda message: refused.append(message.text))
    shown.on("request", lambda request: asked.append(request.url))
    for changed in (False, True):
        page.write_text(text.replace("<main>", f"<main>{added}") if changed else text, encoding="utf-8")
        refused.clear()
        shown.goto(page.as_uri())
        shown.wait_for_function("document.querySelectorAll('.plotly-graph-div .main-svg').length > 0")
        assert "pwned" not in shown.title()
        assert any("Content Security Policy" in line for line in refused) == changed, refused
        assert changed or not refused, refused
    assert all(url.startswith(("file:", "data:")) for url in asked if "example.org" not in url)
    shown.close()


STYLED = [
    "<span style='cursor:url(URL/cursor),auto;mask:url(URL/mask);fill:url(URL/fill#a)'>yes</span>",
    "<a href='URL/link'>no</a>",
    "<!--<script>",
    "<pre>data:image/svg+xml,<svg>another picture",
]


def test_a_label_is_no_tag_of_a_picture(
    sievert: Sievert, tmp_path: Path, started_browser: Any, chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pictures know links and styles with addresses; what draws them would have asked."""
    monkeypatch.setenv("SIEVERT_BROWSER", chromium)
    asked: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *given: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        labels = [text.replace("URL", f"http://127.0.0.1:{server.server_port}") for text in STYLED]
        file, page = tmp_path / "file.toml", tmp_path / "page.html"
        text = SURVEY.replace('["yes", "no", TITLE]', json.dumps(labels))
        file.write_text(text.replace("TITLE", json.dumps(labels[0])))
        assert sievert("audit", file, "--report", page).returncode == 0
        shown = started_browser.new_page()
        shown.goto(page.as_uri())
        shown.wait_for_function("document.querySelectorAll('.plotly-graph-div .main-svg').length > 0")
        drawn = shown.evaluate(
            "[...document.querySelectorAll('.main-svg text')].map(item => item.textContent)"
        )
        assert not shown.evaluate("document.querySelectorAll('.main-svg a, .main-svg [style*=http]').length")
        stills = page.read_text(encoding="utf-8").count('src="data:image/svg+xml;base64,PHN2ZyBjbGFzcz0i')
        shown.close()
        server.shutdown()
    assert stills and any(text.startswith("<a href=") for text in drawn), drawn
    assert not asked


@pytest.mark.parametrize("title", ["coding: utf-7", "x\n# -*- coding: utf-7 -*-"])
def test_a_title_does_not_name_the_encoding_of_a_script(tmp_path: Path, title: str) -> None:
    """In UTF-7 a label of plain letters would end its text, and go on as Python."""
    label = "+ACIAXQB9AH0AKQAKAHAAdwBuAGUAZAAgAD0AIAAxACM-\u202e"
    text = SURVEY.replace("TITLE", json.dumps(title), 1).replace("TITLE", json.dumps(label))
    (tmp_path / "file.toml").write_text(text)
    script = as_python(sv.load(tmp_path / "file.toml"))
    tree = ast.parse(script.encode())
    assert label in {item.value for item in ast.walk(tree) if isinstance(item, ast.Constant)}
    assert "\u202e" not in script
    assert len(tree.body) == 3


# ── sizes and patterns ──────────────────────────────────────────────────────────────────────────────


# ── modules that came along ─────────────────────────────────────────────────────────────────────────

COMMAND = "import sys\nfrom sievert.cli import main\nif __name__ == '__main__':\n    sys.exit(main())\n"
SPREAD = """version = 1
policy = {{ values = ["n", "s"] }}
mechanism = {{ kind = "randomised-response", eps = 1.0 }}
data = {{ input = "wards", column = "ward" }}
release = {{ ledger = "budget.toml", output = "out.csv", engine = {{ kind = "{engine}", workers = 1 }} }}
"""


@pytest.mark.parametrize(
    ("engine", "module"),
    [("processes", "multiprocessing"), pytest.param("ray", "pydantic", marks=pytest.mark.slow)],
)
def test_a_worker_runs_no_module_that_came_along(tmp_path: Path, engine: str, module: str) -> None:
    """Formerly workers imported from the current folder first, as `python -c` does and Ray has them do."""
    if engine == "ray" and not os.environ.get("SIEVERT_REQUIRE_RAY"):
        pytest.importorskip("ray", reason="needs Ray (extra cluster)")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sievert").write_text(COMMAND)
    folder = tmp_path / "sent"
    (folder / "wards").mkdir(parents=True)
    (folder / "wards" / "1.csv").write_text("ward\nn\ns\n")
    (folder / "budget.toml").write_text("person = 9\n")
    (folder / "file.toml").write_text(SPREAD.format(engine=engine))
    (folder / f"{module}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w').close()\nraise SystemExit\n")
    command = [sys.executable, str(tmp_path / "bin" / "sievert"), "release", "file.toml"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert not (tmp_path / "ran").exists()
    assert done.returncode == 0 and (folder / "out.csv").is_dir(), done.stderr


@pytest.mark.parametrize("ask", [sv.audit, sv.load, sv.release.account])
def test_a_path_that_no_system_has_is_no_such_file(ask: Callable[[str], object]) -> None:
    """Where a link leads is asked only of what is there: NUL ended in a bare ValueError."""
    with pytest.raises(sv.SievertError, match="no such file"):
        ask("\0")
