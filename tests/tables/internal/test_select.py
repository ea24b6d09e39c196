"""What a SELECT of a file may ask: hostile ones are refused, and honest ones are what they say."""

import re
from collections import Counter
from typing import Any

import pytest

from sievert.errors import FileError
from sievert.tables._select import understood
from tests.tables.selects import ENGINES, REASONS, hostile, look

pytest.importorskip("sqlglot")


@pytest.mark.parametrize("engine", ENGINES)
def test_hostile_selects_are_refused_for_their_reason(engine: str) -> None:
    mine = [(reason, text) for name, reason, text in hostile() if name == engine]
    assert len(mine) > 200
    wrong = []
    for reason, text in mine:
        with pytest.raises(FileError) as refused:
            understood(text, engine, look)
        if not re.search(REASONS[reason], str(refused.value)):
            wrong.append((text, reason, str(refused.value)))
    assert not wrong


# One SELECT a line, the engines that take it, the columns it gives and those of tables that they are made of.
HONEST = [
    ("SELECT * FROM visits", "all", "visits.patient visits.ward visits.income visits.day"),
    (
        "SELECT ward AS w, income + 1 AS i FROM visits WHERE day >= DATE '2026-01-01'",
        "all",
        "visits.ward visits.income visits.day",
    ),
    ('SELECT v."ward" FROM main.visits AS v -- all of them', "duckdb postgres", "visits.ward"),
    (
        "SELECT CASE WHEN income > 9 THEN 'high' WHEN income IS NULL THEN 'no' ELSE 'x' END AS k FROM visits",
        "all",
        "visits.income",
    ),
    (
        "SELECT CAST(income AS VARCHAR(9)) AS a, COALESCE(NULLIF(ward, ''), 'x') AS b FROM visits",
        "all",
        "visits.income visits.ward",
    ),
    ("SELECT TRY_CAST(ward AS INT) AS a FROM visits", "duckdb spark", "visits.ward"),
    ("SELECT date_trunc('month', day) AS m, extract(year FROM day) AS y FROM visits", "all", "visits.day"),
    ("SELECT day + INTERVAL '1' DAY AS d FROM visits", "all", "visits.day"),
    (
        "SELECT upper(trim(ward)) || '-' || left(patient, 1) AS a, length(ward) AS n FROM visits",
        "all",
        "visits.ward visits.patient",
    ),
    (
        "SELECT replace(ward, 'a', 'b') AS a, substring(ward, 1, 2) AS b, concat(ward, 'x') AS c FROM visits",
        "all",
        "visits.ward",
    ),
    (
        "SELECT floor(income / 9) * 9 AS a, round(income, 0) AS b, abs(-income) c, income % 7 d FROM visits",
        "all",
        "visits.income",
    ),
    (
        "SELECT ward FROM visits WHERE ward LIKE 'n%' AND NOT (income BETWEEN 1 AND 2 OR ward IN ('a', 'b'))",
        "all",
        "visits.ward visits.income",
    ),
    (
        "SELECT v.ward, w.name FROM visits v LEFT JOIN wards w ON w.ward = v.ward AND w.name <> 'x'",
        "all",
        "visits.ward wards.name wards.ward",
    ),
    (
        "SELECT ward, town FROM visits JOIN people USING (patient)",
        "all",
        "visits.ward people.town visits.patient people.patient",
    ),
    ("SELECT v.ward FROM visits v CROSS JOIN wards w WHERE w.ward = v.ward", "all", "visits.ward wards.ward"),
    (
        "WITH c AS (SELECT ward w, patient FROM visits), d(x) AS (SELECT w FROM c) SELECT x AS ward FROM d",
        "all",
        "visits.ward",
    ),
    (
        "SELECT patient, count(*) AS n, max(income) AS m FROM visits GROUP BY patient HAVING count(*) > 1",
        "all",
        "visits.patient visits.income",
    ),
    (
        "SELECT patient, sum(income) AS s FROM visits GROUP BY 1 HAVING s > 3 OR s = 1",
        "duckdb spark",
        "visits.patient visits.income",
    ),
    (
        "SELECT patient AS p, count(DISTINCT ward) AS n FROM visits GROUP BY p",
        "all",
        "visits.patient visits.ward",
    ),
    (
        "SELECT n, p FROM (SELECT income i, patient p, count(*) n FROM visits GROUP BY ((1)), patient) s",
        "all",
        "visits.patient visits.income",
    ),
    ("SELECT DISTINCT patient, ward FROM visits", "all", "visits.patient visits.ward"),
    ("SELECT ward FROM visits UNION ALL SELECT name FROM wards", "all", "visits.ward wards.name"),
    ("(SELECT ward FROM visits) EXCEPT (SELECT ward FROM wards)", "all", "visits.ward wards.ward"),
    (
        "SELECT a.ward FROM (SELECT ward FROM (SELECT * FROM visits) AS b) AS a ORDER BY 1",
        "all",
        "visits.ward",
    ),
    (
        "SELECT ward FROM visits v WHERE EXISTS (SELECT 1 FROM wards w WHERE w.ward = v.ward)",
        "all",
        "visits.ward wards.ward",
    ),
    ("SELECT ward FROM visits WHERE ward IN (SELECT ward FROM wards)", "all", "visits.ward wards.ward"),
    ("SELECT ward, (SELECT max(name) FROM wards) AS m FROM visits", "all", "visits.ward wards.name"),
    ("SELECT 'it''s' AS a, ward FROM visits WHERE ward <> 'a\\b'", "duckdb postgres", "visits.ward"),
    (
        "SELECT greatest(income, 2) AS g, year(day) AS y FROM visits",
        "duckdb spark",
        "visits.income visits.day",
    ),
    ("SELECT to_char(day, 'YYYY-MM') AS m FROM visits", "postgres", "visits.day"),
    (
        "SELECT strftime(day, '%Y-%m') m, date_diff('day', day, day) d FROM visits",
        "duckdb",
        "visits.day",
    ),
    ("SELECT date_format(day, 'yyyy-MM') AS m, trunc(day, 'MM') AS t FROM visits", "spark", "visits.day"),
    ("SELECT income FILTER_ FROM visits", "duckdb postgres spark", "visits.income"),
]


def bases(found: Any) -> set[str]:
    made = found.relation.through(list(found.relation.columns)).bases
    return {f"{table.removeprefix('main.')}.{column}" for table, column in made}


@pytest.mark.parametrize(("sql", "engines", "made"), HONEST)
def test_honest_selects_are_understood(sql: str, engines: str, made: str) -> None:
    for engine in ENGINES if engines == "all" else engines.split():
        found = understood(sql, engine, look)
        assert bases(found) == set(made.split())


@pytest.fixture(scope="module")
def clinic() -> Any:
    duckdb = pytest.importorskip("duckdb")
    base = duckdb.connect()
    base.execute("CREATE TABLE visits (patient TEXT, ward TEXT, income INTEGER, day DATE)")
    base.execute("CREATE TABLE people (patient TEXT, town TEXT)")
    base.execute("CREATE TABLE wards (ward TEXT, name TEXT)")
    base.execute(
        "INSERT INTO visits SELECT 'p' || i % 5, ['north', 'south', ' a\\b ', NULL][1 + i % 4], "
        "CASE WHEN i % 6 > 0 THEN i % 13 END, DATE '2025-12-30' + i::INT FROM range(40) AS r(i)"
    )
    base.execute("INSERT INTO people SELECT 'p' || i, 'town' || i % 2 FROM range(4) AS r(i)")
    base.execute("INSERT INTO wards VALUES ('north', 'n'), ('south', 'a'), ('north', 'x')")
    return base


@pytest.mark.parametrize(
    "sql", [sql for sql, engines, _ in HONEST if engines == "all" or "duckdb" in engines]
)
def test_what_is_asked_is_what_was_written(clinic: Any, sql: str) -> None:
    given, asked = clinic.sql(sql), clinic.sql(understood(sql, "duckdb", look).text)
    assert Counter(asked.fetchall()) == Counter(given.fetchall())
    assert given.types == asked.types


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ward FROM visits" + " WHERE ward = 'x'" + " OR ward = 'y'" * 3000,
        "SELECT " * 60 + "1",
        "SELECT ward FROM " + "(SELECT * FROM " * 50 + "visits" + ") AS x" * 50,
        "SELECT " + "(" * 400 + "ward" + ")" * 400 + " AS x FROM visits",
        "SELECT ward FROM visits" + " UNION ALL SELECT ward FROM visits" * 400,
        "SELECT ward FROM visits WHERE " + "NOT " * 3000 + "true",
        "SELECT '" + "x" * 30_000 + "' AS x FROM visits",
        "SELECT ward\0 FROM visits",
        "SELECT ward FROM " + "(SELECT ward || ward || ward AS ward FROM " * 9 + "visits" + ") AS x" * 9,
        "SELECT " + "replace(" * 4 + "ward" + f", 'n', '{'n' * 60}')" * 4 + " AS x FROM visits",
        "SELECT replace(ward, 'n', concat(" + ", ".join(["ward"] * 1001) + ")) AS x FROM visits",
    ],
)
def test_sizes_of_a_select_are_checked(sql: str) -> None:
    for engine in ENGINES:
        with pytest.raises(FileError, match=r"data\.sql"):
            understood(sql, engine, look)
