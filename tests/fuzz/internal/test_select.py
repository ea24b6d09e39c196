"""Composed SELECTs: hostile pieces inside honest ones are refused, honest ones give what they say.

SIEVERT_FUZZ_SECONDS goes on for longer with a new seed; SIEVERT_FUZZ_SEED repeats one.
"""

import os
import random
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sievert.errors import FileError
from sievert.tables._select import understood
from tests.release.test_servers import postgres
from tests.tables.selects import ENGINES, hostile, look

pytest.importorskip("sqlglot")

__all__ = ["postgres"]

SECONDS = float(os.environ.get("SIEVERT_FUZZ_SECONDS", "0"))
SEED = os.environ.get("SIEVERT_FUZZ_SEED") or (str(random.SystemRandom().getrandbits(32)) if SECONDS else "1")
CASES = 400
# The functions of the hostile SELECTs that are called by name.
CALLED = re.compile(r"SELECT ([A-Za-z_0-9.]+)\(([^()]*)\) AS x FROM visits")


def goes_on(number: int, begun: float) -> bool:
    """Whether another case is asked for."""
    return number < CASES or time.monotonic() - begun < SECONDS / 3


class Hostile:
    """A hostile piece at a random place of an honest SELECT."""

    def __init__(self, engine: str, draw: random.Random) -> None:
        self.engine, self.draw = engine, draw
        mine = [
            text for name, reason, text in hostile() if name == engine and reason not in ("text", "statement")
        ]
        self.queries = [text for text in mine if re.match(r"(SELECT|WITH|FROM)\b", text) and "--" not in text]
        self.calls = [found.groups() for text in mine if (found := CALLED.fullmatch(text))]
        assert len(self.queries) > 150 and len(self.calls) > 25

    def select(self) -> str:
        made = self.around(self.draw.choice(self.queries)) if self.draw.random() < 0.5 else self.with_value()
        for _ in range(self.draw.randrange(3)):
            made = self.around(made)
        return made

    def blank(self) -> str:
        return self.draw.choice([" ", "\n", "\t", " /* x */ ", "/**/ ", " -- x\n"])

    def call(self) -> str:
        name, given = self.draw.choice(self.calls)
        name = "".join(self.draw.choice([letter.lower(), letter.upper()]) for letter in name)
        if self.engine != "spark" and "." not in name and self.draw.random() < 0.2:
            name = f'"{name.lower()}"'
        return f"{name}{self.draw.choice(['', ' ', '/**/'])}({given})"

    def value(self, depth: int) -> str:
        if depth == 0:
            return self.call()
        inner = self.value(depth - 1)
        return self.draw.choice(
            [
                f"CASE WHEN income > 3 THEN 1 ELSE {inner} END",
                f"CASE {inner} WHEN 1 THEN 2 END",
                f"COALESCE(ward,{self.blank()}{inner})",
                f"CAST({inner} AS VARCHAR(3))",
                f"CAST(CAST({inner} AS INT) AS DATE)",
                f"({inner})",
                f"({inner} = 1)",
                f"lower({inner})",
                f"concat('é', {inner})",
                f"NULLIF({inner},{self.blank()}'x')",
                f"(income IN (1, {inner}))",
                f"(NOT {inner} IS NULL)",
                f"({inner} BETWEEN 1 AND 2)",
                f"('a' || {inner})",
                f"(SELECT max({inner}) FROM wards)",
                f"EXISTS (SELECT {inner} AS y FROM wards)",
                f"date_trunc('month', {inner})",
                f"extract(year FROM {inner})",
                f"sum({inner})",
            ]
        )

    def with_value(self) -> str:
        value, blank = self.value(self.draw.randrange(4)), self.blank()
        return self.draw.choice(
            [
                f"SELECT{blank}{value} AS x, ward FROM visits",
                f"SELECT ward FROM visits WHERE{blank}{value} = 1",
                f"SELECT v.ward FROM visits v JOIN wards w ON w.ward = v.ward AND {value} = 1",
                f"SELECT ward FROM visits GROUP BY ward,{blank}{value}",
                f"SELECT ward FROM visits GROUP BY ward HAVING {value} > 1",
                f"SELECT ward FROM visits{blank}ORDER BY {value}",
                f"SELECT ward FROM visits LEFT JOIN people USING (patient) WHERE true AND ({value}) IS NULL",
            ]
        )

    def around(self, query: str) -> str:
        blank = self.blank()
        return self.draw.choice(
            [
                f"SELECT x.* FROM ({query}) AS x",
                f"SELECT 1 AS one FROM visits CROSS JOIN ({query}) AS x",
                f"WITH c AS ({query}) SELECT ward FROM{blank}visits",
                f"WITH a AS (SELECT ward FROM visits), c AS ({query}) SELECT c.* FROM c",
                f"SELECT ward FROM visits UNION ALL{blank}({query})",
                f"({query}) UNION ALL SELECT ward FROM visits",
                f"SELECT ward FROM visits WHERE ward IN ({query})",
                f"SELECT ward FROM visits WHERE NOT EXISTS ({query})",
                f"SELECT (({query})) AS x FROM visits",
                f"SELECT CASE WHEN ward = 'x' THEN ({query}) END AS x FROM visits",
                f"SELECT ward FROM visits WHERE ward = ({query})",
                f"(({query}))",
            ]
        )


@pytest.mark.parametrize("engine", ENGINES)
def test_hostile_pieces_are_refused_wherever_they_are(engine: str) -> None:
    print(f"SIEVERT_FUZZ_SEED={SEED}")
    hostile_pieces, begun, number = Hostile(engine, random.Random(f"{SEED} {engine}")), time.monotonic(), 0
    while goes_on(number, begun):
        number += 1
        text = hostile_pieces.select()
        with pytest.raises(FileError):
            pytest.fail(
                f"understood (SIEVERT_FUZZ_SEED={SEED}): {text}\n{understood(text, engine, look).text}"
            )


class Honest:
    """A SELECT of what a file may ask, in words that DuckDB and Postgres share."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.depth = draw, 0

    def text(self, names: list[str], depth: int = 2) -> str:
        if depth == 0:
            return self.draw.choice([*names, "'north'", "'it''s'", "'a\\b'", "''"])
        inner, other = self.text(names, depth - 1), self.text(names, depth - 1)
        return self.draw.choice(
            [
                inner,
                f"upper({inner})",
                f"trim({inner})",
                f"substring({inner}, 1, 2)",
                f"({inner} || {other})",
                f"COALESCE({inner}, {other})",
                f"NULLIF({inner}, {other})",
                f"replace({inner}, 'o', 'é')",
                f"CASE WHEN {self.condition(names, depth - 1)} THEN {inner} ELSE {other} END",
                f"CAST({self.number(names, depth - 1)} AS VARCHAR)",
                f"concat({inner}, {other})",
            ]
        )

    def number(self, names: list[str], depth: int = 2) -> str:
        if depth == 0:
            return self.draw.choice(["3", "-1", "length('abc')"])
        inner, other = self.number(names, depth - 1), self.number(names, depth - 1)
        return self.draw.choice(
            [
                inner,
                f"length({self.text(names, depth - 1)})",
                f"({inner} + {other})",
                f"({inner} * {other} - 2)",
                f"abs({inner})",
                f"({inner} % 5)",
                f"greatest({inner}, {other})",
                f"COALESCE({inner}, 0)",
            ]
        )

    def condition(self, names: list[str], depth: int = 2) -> str:
        if depth == 0:
            return f"{self.draw.choice(names)} IS NOT NULL"
        inner, other = self.condition(names, depth - 1), self.condition(names, depth - 1)
        left, right = self.text(names, depth - 1), self.text(names, depth - 1)
        return self.draw.choice(
            [
                f"({inner} AND {other})",
                f"({inner} OR NOT {other})",
                f"{left} = {right}",
                f"{left} <> {right}",
                f"{left} LIKE 'n%'",
                f"{left} IN ({right}, 'south')",
                f"{self.number(names, depth - 1)} BETWEEN 1 AND 4",
                f"{left} IS NULL",
                f"{left} IS DISTINCT FROM {right}",
                "EXISTS (SELECT 1 FROM wards AS own WHERE own.ward = "
                f"{self.draw.choice(names)} AND name <> 'q')",
            ]
        )

    def select(self, depth: int = 2) -> tuple[str, list[str]]:
        """A SELECT that gives texts, and the names of its columns."""
        if depth == 0:
            return "SELECT patient, ward FROM visits", ["patient", "ward"]
        kind = self.draw.randrange(6)
        if kind == 0:
            (first, names), (second, others) = self.select(depth - 1), self.select(depth - 1)
            count = min(len(names), len(others))
            sides = [
                f"SELECT {', '.join(used[:count])} FROM ({text}) AS u"
                for text, used in ((first, names), (second, others))
            ]
            how = self.draw.choice(["UNION ALL", "UNION", "EXCEPT", "INTERSECT"])
            return f"{sides[0]} {how} {sides[1]}", names[:count]
        text, names = self.select(depth - 1)
        alias = f"s{self.draw.randrange(3)}"
        whole = [f"{alias}.{name}" for name in names]
        if kind == 1:
            made = f"WITH c AS ({text}) SELECT {{}} FROM c AS {alias}"
        elif kind == 2:
            side = self.draw.choice(["LEFT ", "", "INNER "])
            made = f"SELECT {{}} FROM ({text}) AS {alias} {side}JOIN wards AS w ON w.ward = {whole[-1]}"
            whole = [*whole, "w.name"]
        elif kind == 3:
            made = f"SELECT {{}} FROM ({text}) AS {alias} CROSS JOIN wards"
            whole = [*whole, "wards.name", "name"]
        elif kind == 4:
            key = self.text(whole, 1) + " || ''"
            where = f" WHERE {self.condition(whole)}" if self.draw.random() < 0.5 else ""
            return (
                f"SELECT {key} AS k, CAST(count(*) AS VARCHAR) AS n, max({self.draw.choice(whole)}) AS m "
                f"FROM ({text}) AS {alias}{where} GROUP BY {self.draw.choice(['1', 'k', key])} "
                f"HAVING count(*) > {self.draw.randrange(3)}",
                ["k", "n", "m"],
            )
        else:
            made = f"SELECT {{}} FROM ({text}) AS {alias}"
        fresh = [
            f"{self.draw.choice(['a', 'ward', 'B'])}{place}" for place in range(self.draw.randrange(1, 4))
        ]
        items = ", ".join(f"{self.text(whole)} AS {name}" for name in fresh)
        distinct = "DISTINCT " if self.draw.random() < 0.2 else ""
        where = f" WHERE {self.condition(whole)}" if self.draw.random() < 0.6 else ""
        order = " ORDER BY 1" if self.draw.random() < 0.1 else ""
        return made.format(distinct + items) + where + order, fresh


ROWS = [
    (f"p{n % 5}", ("north", "south", " a\\b ", None)[n % 4], n % 13, f"2026-01-{1 + n % 28:02}")
    for n in range(24)
]
TABLES = (
    "CREATE TABLE visits (patient TEXT, ward TEXT, income INTEGER, day DATE)",
    "CREATE TABLE people (patient TEXT, town TEXT)",
    "CREATE TABLE wards (ward TEXT, name TEXT)",
    "INSERT INTO wards VALUES ('north', 'n'), ('south', 'it''s'), ('north', 'x')",
)


def outcome(ask: Any, text: str) -> Any:
    """The rows of an answer, or that there is none."""
    try:
        return Counter(ask(text))
    except Exception as problem:
        return f"error: {type(problem).__name__}"


def test_honest_compositions_are_what_they_say(postgres: Path) -> None:
    """What is asked gives what was written, on DuckDB and on Postgres, and the same on both."""
    duckdb, psycopg = pytest.importorskip("duckdb"), pytest.importorskip("psycopg")
    print(f"SIEVERT_FUZZ_SEED={SEED}")
    here = duckdb.connect()
    there = psycopg.connect(host=str(postgres), user="ann", dbname="postgres", autocommit=True)
    for statement in TABLES:
        here.execute(statement)
        there.execute(statement)
    here.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", ROWS)
    with there.cursor() as cursor:
        cursor.executemany("INSERT INTO visits VALUES (%s, %s, %s, %s)", ROWS)
    there.execute("CREATE SCHEMA main")
    for table in ("visits", "people", "wards"):
        there.execute(f"ALTER TABLE {table} SET SCHEMA main")
    there.execute("SET search_path = main")
    asked = {
        "duckdb": lambda text: here.execute(text).fetchall(),
        "postgres": lambda text: there.execute(text).fetchall(),
    }
    honest, begun, number, answered = Honest(random.Random(SEED)), time.monotonic(), 0, 0
    while goes_on(number * 4, begun):
        number += 1
        text, _ = honest.select(honest.draw.randrange(1, 4))
        found = {}
        for engine, ask in asked.items():
            written = outcome(ask, text)
            found[engine] = outcome(ask, understood(text, engine, look).text)
            assert found[engine] == written, f"{engine} (SIEVERT_FUZZ_SEED={SEED}): {text}"
        if not any(isinstance(rows, str) for rows in found.values()):
            answered += 1
            assert found["duckdb"] == found["postgres"], f"SIEVERT_FUZZ_SEED={SEED}: {text}"
    assert answered > number / 2
    there.close()
