"""Drawn tables: a column of each type that a table can have, its cells, and what a file says about it.

A batch is one table of many drawn columns, each with values, missing texts and rules of its own, so that one
file and one question to a server hold hundreds of drawn tables.
"""

import csv
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sievert.errors import DataError
from sievert.files import ReleaseModel
from sievert.release import DROPPED, Domain, Tally
from sievert.tables import Batch, Meaning

TEXTS = [
    "",
    " ",
    "north",
    " north ",
    "North",
    "NORTH",
    "é",
    "e\u0301",
    "\u00a0x\u3000",
    "x",
    "\ufeffx",
    "x\u200b",
]
TEXTS += [
    "1",
    "01",
    "1.0",
    "1e0",
    " 1",
    "+1",
    "-0",
    "0",
    "-0.0",
    "99",
    "99.0",
    "099",
    "9.9e1",
    "1_0",
    "१",
    "½",
]
TEXTS += [
    "NaN",
    "nan",
    "inf",
    "-inf",
    "Infinity",
    "None",
    "NULL",
    "null",
    "true",
    "True",
    "TRUE",
    "false",
    "1/2",
]
TEXTS += [
    "2024-02-29",
    "2024-02-29 12:30:00",
    "a,b",
    'q"q',
    '"q"',
    ' "q"',
    "'x",
    "\\'x",
    "\t",
    "a\nb",
    "a\r\nb",
]
TEXTS += [
    "0x10",
    "1e400",
    "1e-400",
    "9007199254740993",
    "9007199254740992",
    "9007199254740993.0",
    "0.1",
    "0.10",
]
TEXTS += [
    "0.30000000000000004",
    "-1",
    "ß",
    "SS",
    "\x1c7\x1f",
    "12,5",
    "=1+1",
    "7.5",
    "7,5",
    ".5",
    "5.",
    "--",
    "-",
]
LABELS: list[list[Any]] = [
    ["north", "North", "1", "01", "true", "é", "99", "2024-02-29", "x", "-0.0", "1.0", "0.5", '"q"', "a\nb"],
    [
        "2024-02-29",
        "2024-02-29 12:30:00",
        "2024-02-29 12:30:00.5",
        "12:30:00",
        "12:30:00.25",
        "1.50",
        "7",
        "0",
    ],
    [0, 1, 7, 99, -1],
    [0.1, 0.5, 1.5, 7.5, 0, 99],
    [2**53, 2**53 + 1, -1, 0],
    [True, False],
    [1, True, "x", "1.5"],
    list(range(0, 100, 9)),
]
MISSING = ["99", "-1", "?", "NA", "1e0", "north", "true", "0", "inf", "2024-02-29", "1.50", " x ", "NaN"]
PLUS2 = timezone(timedelta(hours=2))
MOMENTS = [
    datetime(2024, 2, 29, 12, 30),
    datetime(2024, 2, 29),
    datetime(2024, 2, 29, 12, 30, 0, 500000),
    datetime(1969, 12, 31, 23, 59, 59, 1),
]
WHOLE = [0, 1, 7, 99, -1, 2, 50, 100]


@dataclass(frozen=True)
class Kind:
    """A type of columns: of Arrow and of Postgres (None: none), its cells, and whether Spark has it."""

    arrow: Any
    postgres: str | None
    cells: list[Any]
    spark: bool = True


def kinds() -> dict[str, Kind]:
    """Every type of columns."""
    import pyarrow as arrow

    zoned = [moment.replace(tzinfo=UTC).astimezone(PLUS2) for moment in MOMENTS]
    floats = [
        0.0,
        -0.0,
        1.0,
        99.0,
        0.1,
        0.30000000000000004,
        1e20,
        2.0**53,
        7.5,
        float("nan"),
        float("inf"),
        1e-9,
    ]
    halves = [float(np.float32(x)) for x in (0.1, 0.5, 16777216, -0.0, 99, 7.5, float("nan"), 1e-3)]
    decimals = [Decimal(x) for x in ("1.50", "0.10", "99.00", "-1.00", "0.00", "1234567.89")]
    words = ["north", "North", " north", "é", "1", "99", "", "x"]
    big = [*WHOLE, 2**53, 2**53 + 1, -(2**62)]
    return {
        "text": Kind(arrow.string(), "TEXT", TEXTS),
        "large text": Kind(arrow.large_string(), "VARCHAR", TEXTS),
        "code": Kind(arrow.dictionary(arrow.int32(), arrow.string()), "TEXT", words),
        "int64": Kind(arrow.int64(), "BIGINT", big),
        "int8": Kind(arrow.int8(), "SMALLINT", WHOLE),
        "uint32": Kind(arrow.uint32(), "BIGINT", [x for x in WHOLE if x >= 0]),
        "uint64": Kind(arrow.uint64(), "NUMERIC(20, 0)", [x for x in big if x >= 0] + [2**64 - 1]),
        "float": Kind(arrow.float64(), "DOUBLE PRECISION", floats),
        "float32": Kind(arrow.float32(), "REAL", halves),
        "decimal": Kind(arrow.decimal128(9, 2), "NUMERIC(9, 2)", decimals),
        "loose": Kind(arrow.decimal128(9, 2), "NUMERIC", decimals),
        "bool": Kind(arrow.bool_(), "BOOLEAN", [True, False]),
        "day": Kind(arrow.date32(), "DATE", [date(2024, 2, 29), date(1969, 12, 31), date(1, 1, 1)]),
        "moment": Kind(arrow.timestamp("us"), "TIMESTAMP", MOMENTS),
        "seconds": Kind(arrow.timestamp("ms"), "TIMESTAMP", MOMENTS[:3]),
        "fine": Kind(arrow.timestamp("ns"), None, MOMENTS, spark=False),
        "zoned": Kind(arrow.timestamp("us", "Europe/Paris"), "TIMESTAMPTZ", zoned),
        "time": Kind(
            arrow.time64("us"), "TIME", [time(12, 30), time(12, 30, 0, 250000), time(0)], spark=False
        ),
        "nothing": Kind(arrow.null(), None, [None], spark=False),
    }


@dataclass(frozen=True)
class Column:
    """A drawn table of one column, and what the file says about it."""

    name: str
    kind: Kind
    cells: list[Any]
    values: list[Any]
    missing: tuple[str, ...]
    rules: ReleaseModel

    @cached_property
    def domain(self) -> Domain:
        """What the file declares."""
        return Domain([self.name], self.values, self.rules, Meaning(self.missing))

    def outcome(self, cells: Sequence[Any], counts: Sequence[int] | None = None) -> tuple[Counter[int], str]:
        """How many rows have each value, and how the others fit."""
        tally, found = Tally(), Counter[int]()
        weights = None if counts is None else np.array(counts, dtype=np.int64)
        codes = self.domain.codes(Batch(1, {self.name: cells}, len(cells)), counts=weights, tally=tally)
        for code, count in zip(codes.tolist(), counts or [1] * len(cells), strict=True):
            found[code] += count
        assert set(found) <= {DROPPED, *range(len(self.values))}
        fit = tally.fit()
        return found, f"{sorted(fit.left_out.items())} {sorted(fit.replaced.items())} {fit.rows}"

    def __str__(self) -> str:
        return f"{self.kind.arrow}, values {self.values}, missing {self.missing}, {self.rules}, {self.cells}"


def drawn(rng: random.Random, columns: int, rows: int, which: Iterable[str] | None = None) -> list[Column]:
    """A batch of columns."""
    known = kinds()
    names = list(known) if which is None else list(which)
    return [_column(rng, f"c{i}", known[rng.choice(names)], rows) for i in range(columns)]


def _column(rng: random.Random, name: str, kind: Kind, rows: int) -> Column:
    cells = [None if rng.random() < 0.1 else rng.choice(kind.cells) for _ in range(rows)]
    values = rng.choice(LABELS)
    chosen = values if values == [*range(0, 100, 9)] else rng.sample(values, rng.randint(2, len(values)))
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in chosen)
    rules: dict[str, Any] = {"missing": "drop", "unknown": "drop", "out_of_range": "drop", "off_grid": "drop"}
    if numbers and rng.random() < 0.5:
        rules |= {"out_of_range": "clamp", "off_grid": "nearest"}
    if not isinstance(chosen[0], bool) and rng.random() < 0.3:
        rules["missing"] = {"use": chosen[0]}
    missing = tuple(rng.sample(MISSING, rng.choice([0, 1, 2, 4])))
    return Column(name, kind, cells, chosen, missing, ReleaseModel(**rules))


def arrow_table(columns: Sequence[Column]) -> Any:
    """The batch as a table of Arrow."""
    import pyarrow as arrow

    arrays = []
    for column in columns:
        made = arrow.string() if arrow.types.is_dictionary(column.kind.arrow) else column.kind.arrow
        array = arrow.array(column.cells, made, from_pandas=False)
        arrays.append(array.dictionary_encode() if made is not column.kind.arrow else array)
    return arrow.table(arrays, names=[column.name for column in columns])


def csv_cell(cell: Any) -> str:
    """A cell as a CSV file has it; written without what is tested."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, datetime):
        found = cell.astimezone(UTC).replace(tzinfo=None) if cell.tzinfo else cell
        return str(found).rstrip("0") if found.microsecond else str(found)
    if isinstance(cell, time):
        return str(cell).rstrip("0") if cell.microsecond else str(cell)
    if isinstance(cell, float) and cell.is_integer() and abs(cell) <= 2**53:
        return str(int(cell))
    return str(cell)


def as_csv(columns: Sequence[Column]) -> list[list[str]]:
    """Header and rows; a 32-bit number as it is written shortest."""
    cells = [
        [
            csv_cell(float(str(np.float32(x))) if str(c.kind.arrow) == "float" and x is not None else x)
            for x in c.cells
        ]
        for c in columns
    ]
    return [[c.name for c in columns], *map(list, zip(*cells, strict=True))]


def write_csv(
    path: Path, lines: Sequence[Sequence[str]], quoting: Any = csv.QUOTE_MINIMAL, end: str = "\n"
) -> None:
    """Lines as a file of CSV."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator=end, quoting=quoting).writerows(lines)


def people(cells: Sequence[Any], missing: tuple[str, ...]) -> list[str] | None:
    """Whom the cells name, sorted, "" for nobody; None where they are refused."""
    try:
        return sorted(text or "" for text in Meaning(missing).people(cells, "person"))
    except DataError:
        return None
