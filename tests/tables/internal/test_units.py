"""Parquet files are cut into units between row groups."""

from pathlib import Path

import pytest

import sievert as sv
from sievert.errors import DataError
from sievert.tables import _units as table_units
from sievert.tables import units_in
from tests.release.test_units import SEEDED, prepared


def test_row_groups_are_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = prepared(tmp_path / "here", SEEDED.replace("out.csv", "out.parquet"), 0)
    ages = [i % 10 for i in range(100)]
    table = arrow.table({"age": ages, "who": [f"p{i}" for i in range(100)]})
    parquet.write_table(table, file.parent / "in" / "x.parquet", row_group_size=30)
    monkeypatch.setattr(table_units, "UNIT_ROWS", 60)
    found = units_in("in", file.parent)
    assert [(unit.groups, unit.first) for unit in found] == [((0, 2), 1), ((2, 4), 61)]
    sv.release.run(file)
    sizes = [parquet.read_table(path).num_rows for path in sorted((file.parent / "out.parquet").iterdir())]
    assert sizes == [60, 40]
    table = table.set_column(0, "age", arrow.array([*ages[:70], 77, *ages[71:]]))
    parquet.write_table(table, file.parent / "in" / "x.parquet", row_group_size=30)
    with pytest.raises(DataError, match=r"x\.parquet: row 71 has '77'"):
        sv.release.run(file, output=file.parent / "other.parquet")
