"""Whose row it is: one person however the name is written, in the count of rows and in stable places."""

from pathlib import Path

import pytest

import sievert as sv
from sievert.errors import DataError
from sievert.tables import person_key

COUNT = """
version = 1
[policy]
values = ["a", "b"]
records = 2
[query]
kind = "count"
where = ["a"]
[mechanism]
kind = "truncated-geometric"
eps = 1.0
[data]
input = "data.csv"
column = "letter"
person = "id"
[release]
output = "noisy.csv"
ledger = "budget.toml"
"""
SAME = [
    ("ann", "ann "),
    ("ann", " ann"),
    ("1", "1.0"),
    ("1", "01"),
    ("7", "7e0"),
    ("-2", "-2.00"),
    ("0.5", "1/2"),
]
DIFFERENT = [
    ("ann", "Ann"),
    ("1", "1a"),
    ("1", "2"),
    ("nan", "inf"),
    ("1_0", "10"),
    ("१", "1"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_one_person_written_in_two_ways(tmp_path: Path, first: str, second: str) -> None:
    assert person_key(first) == person_key(second)
    with pytest.raises(DataError, match="a person with 2 rows"):
        sv.release.run(_written(tmp_path, first, second))
    assert not (tmp_path / "noisy.csv").exists()


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_two_people(tmp_path: Path, first: str, second: str) -> None:
    assert person_key(first) != person_key(second)
    sv.release.run(_written(tmp_path, first, second))


def test_numbers_of_a_table_in_memory() -> None:
    assert person_key(1) == person_key(1.0) == person_key("1") != person_key(1.5)


def _written(folder: Path, first: str, second: str) -> Path:
    (folder / "data.csv").write_text(f'id,letter\n"{first}",a\n"{second}",b\n', encoding="utf-8")
    (folder / "budget.toml").write_text('person = "10"\n')
    path = folder / "release.toml"
    path.write_text(COUNT)
    return path
