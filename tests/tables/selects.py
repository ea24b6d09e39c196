"""What tests of SELECTs share: hostile ones, and a catalogue of three tables of a clinic."""

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

ENGINES = ("duckdb", "postgres", "spark")
COLUMNS = {
    "visits": ("patient", "ward", "income", "day"),
    "people": ("patient", "town"),
    "wards": ("ward", "name"),
}
# Why a SELECT is refused, as the message says it.
REASONS = {
    "rows": r"chooses which rows count",
    "function": r"is not among the functions",
    "table": r"is no table or view|in place of a table",
    "statement": r"is not one SELECT",
    "clause": r"is not among what a file may ask",
    "column": r"no table in FROM has a column|gives the column|is of \d tables",
    "text": r"is not understood|is not written in one way|control character|too deeply",
}


def look(parts: Sequence[str]) -> Any:
    """The clinic's tables, in its own schema."""
    *where, name = (part.lower() for part in parts)
    own = where in ([], ["main"], ["public"], ["default"]) and name in COLUMNS
    return SimpleNamespace(path=("main", name), columns=COLUMNS[name], definition=None) if own else None


def hostile() -> list[tuple[str, str, str]]:
    """Engine, reason and text of each of the hostile SELECTs."""
    lines = Path(__file__).with_name("hostile_selects.txt").read_text(encoding="utf-8").splitlines()
    found = [line.split(" ", 2) for line in lines if not line.startswith("#")]
    return [(engine, reason, json.loads(text)) for engine, reason, text in found]
