"""How many cells leave a database."""

import csv
from pathlib import Path

import pytest

import sievert as sv
from sievert.errors import TooLargeError
from sievert.tables import _warehouse as warehouse
from tests.release.internal.test_central_of_tables_there import ROWS, described

pytest.importorskip("duckdb")
pytest.importorskip("ibis")


def test_too_many_distinct_cells_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warehouse, "LARGEST_CELLS", 3)
    (tmp_path / "lake").mkdir()
    with (tmp_path / "lake" / "a.csv").open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([("region", "amount", "id"), *ROWS])
    with pytest.raises(TooLargeError, match=r"distinct cells of region, amount would .*round the values"):
        sv.release.run(described(tmp_path, 'input = "lake"'), output=tmp_path / "cells.csv")
