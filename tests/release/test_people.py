"""Whose row it is: one person however the name is written, in the count of rows and in stable places."""

from pathlib import Path

import pytest

import sievert as sv
from sievert.errors import DataError, SievertError
from sievert.tables import PLAIN

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
fit = { unknown = 1, dropped = 1 }
[release]
output = "noisy.csv"
ledger = "budget.toml"
"""
SAME = [
    ("ann", "ann "),
    ("ann", " ann"),
    ("1", "1.0"),
    ("1", "01"),
    ("-2", "-2.00"),
    ("0.5", ".50"),
]
DIFFERENT = [
    ("ann", "Ann"),
    ("1", "1a"),
    ("1", "2"),
    ("0.5", "1/2"),
    ("nan", "inf"),
    ("1_0", "10"),
    ("१", "1"),
]


@pytest.mark.parametrize(("first", "second"), SAME)
def test_one_person_written_in_two_ways(tmp_path: Path, first: str, second: str) -> None:
    assert PLAIN.person(first) == PLAIN.person(second)
    with pytest.raises(DataError, match="a person with 2 rows"):
        sv.release.run(_written(tmp_path, first, second))
    assert not (tmp_path / "noisy.csv").exists()


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_two_people(tmp_path: Path, first: str, second: str) -> None:
    assert PLAIN.person(first) != PLAIN.person(second)
    sv.release.run(_written(tmp_path, first, second))


def test_numbers_of_a_table_in_memory() -> None:
    assert PLAIN.person(1) == PLAIN.person(1.0) == PLAIN.person("1") == "1"
    for cell, problem in ((1.5, "not whole"), (2.0**60, "not whole"), ("7e0", "exponent"), (True, "bool")):
        with pytest.raises(DataError, match=problem):
            PLAIN.person(cell)


def _written(folder: Path, first: str, second: str) -> Path:
    (folder / "data.csv").write_text(f'id,letter\n"{first}",a\n"{second}",b\n', encoding="utf-8")
    (folder / "budget.toml").write_text('person = "10"\n')
    path = folder / "release.toml"
    path.write_text(COUNT)
    return path


# ── At most so many rows of a person, chosen at random ──────────────────────────────────────────────────────

SAMPLED = (
    COUNT.replace("records = 2\n", 'records = 20\nadjacency = "add-remove"\nperson_records = 2\n')
    .replace('kind = "count"\nwhere = ["a"]', 'kind = "histogram"')
    .replace('kind = "truncated-geometric"\neps = 1.0', 'kind = "geometric"\neps = 2000.0')
    .replace('ledger = "budget.toml"', 'ledger = "budget.toml"\ntoo_many = "sample"')
)


def sampled_file(folder: Path, rows: list[str], text: str = SAMPLED) -> Path:
    (folder / "data.csv").write_text("\n".join(["letter,id", *rows]) + "\n", encoding="utf-8")
    (folder / "budget.toml").write_text("person = 1e6\n")
    (folder / "file.toml").write_text(text, encoding="utf-8")
    return folder / "file.toml"


def test_no_person_counts_more_than_promised(tmp_path: Path) -> None:
    rows = ["a,ann"] * 5 + ["b,ann "] * 4 + ["b,bob", "a,eve", "b,eve"]
    done = sv.release.run(sampled_file(tmp_path, rows))
    assert done.table is not None
    assert sum(row["value"] for row in done.table.rows) == 2 + 1 + 2
    assert done.eps == 2 * 2000
    assert any("chosen at random" in note for note in done.notes)
    assert any("weigh less" in note for note in done.notes)


def test_rows_of_nobody_are_not_chosen_among(tmp_path: Path) -> None:
    """Rows without a name may be of several people, and be no one's to take away."""
    for nobody in (" ", "?"):
        text = SAMPLED.replace('person = "id"', 'person = "id"\nmissing_values = ["?"]')
        file = sampled_file(tmp_path, ["a,ann", f"b,{nobody}", f"b,{nobody}"], text)
        with pytest.raises(DataError, match="row 2 names nobody in the column 'id'"):
            sv.release.run(file)
        assert not sv.release.account(tmp_path / "budget.toml").releases


def test_means_and_quantiles_of_chosen_rows_are_noted_too(tmp_path: Path) -> None:
    queries = [
        f'[[query]]\nname = "{kind}"\nkind = "{kind}"\nof = "age"' for kind in ("mean", "quantile", "sum")
    ]
    queries[1] += "\nq = 0.5\ngrid = [1, 2, 3]"
    text = SAMPLED.replace('[query]\nkind = "histogram"', "\n".join(queries))
    text = text.replace('values = ["a", "b"]', "values = { range = [1, 3] }")
    text = text.replace('column = "letter"', 'column = "age"')
    file = sampled_file(tmp_path, ["1,ann", "2,ann", "3,ann", "2,bob"], text)
    (tmp_path / "data.csv").write_text((tmp_path / "data.csv").read_text().replace("letter", "age"))
    done = sv.release.run(file)
    assert done.table is not None
    assert [row["query"] for row in done.table.rows].count("quantile") == 1
    assert all("chosen at random" in row["note"] for row in done.table.rows)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('person = "id"\n', "", "data.person"),
        ('adjacency = "add-remove"\n', "", "add-remove"),
        ('kind = "histogram"', 'kind = "record"', "a table over all rows"),
    ],
)
def test_sampling_is_refused_for_other_relations(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in SAMPLED
    text = SAMPLED.replace(old, new)
    if "record" in new:
        text = text.replace("records = 20\n", "").replace(
            'adjacency = "add-remove"\nperson_records = 2\n', ""
        )
        text = text.replace('kind = "geometric"', 'kind = "randomised-response"')
    with pytest.raises(SievertError, match=message):
        sv.release.run(sampled_file(tmp_path, ["a,ann"], text))
