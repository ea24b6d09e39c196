"""Whose row it is: one person however the name is written, in the count of rows and in stable places."""

from pathlib import Path

import numpy as np
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


def test_a_run_that_is_resumed_keeps_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sievert.release import _running as running
    from sievert.release._sample import Sampled

    kept, draw, choose = [], running.noisy_table, Sampled.chosen

    def chosen(self: Sampled, key: bytes) -> tuple[np.ndarray, np.ndarray]:
        codes, counts = choose(self, key)
        kept.append((codes.tolist(), counts.tolist()))
        return codes, counts

    def broken(*given: object) -> object:
        if len(kept) == 1:
            raise OSError(28, "no space left")
        return draw(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(Sampled, "chosen", chosen)
    monkeypatch.setattr(running, "noisy_table", broken)
    file = sampled_file(tmp_path, ["a,ann"] * 6 + ["b,ann"] * 6 + ["b,bob"])
    with pytest.raises(Exception, match="no space left"):
        sv.release.run(file)
    done = sv.release.run(file)
    assert len(kept) == 2
    assert kept[0] == kept[1]
    assert done.eps == 0  # it was charged by the run that broke off


def test_taking_a_person_away_changes_nothing_of_others() -> None:
    from sievert.release._sample import Sampled
    from sievert.tables import Batch

    rows = [(name, code) for name in ("ann", "bob", "eve") for code in range(6)]
    for key in (bytes([i]) * 32 for i in range(20)):
        found = []
        for without in (None, "ann"):
            some = [row for row in rows if row[0] != without]
            sampled = Sampled("id", 2)
            names, codes = [name for name, _ in some], np.array([code for _, code in some])
            sampled.add(Batch(1, {"id": names}, len(names)), codes, codes >= 0)
            found.append(np.repeat(*sampled.chosen(key)).tolist())
            assert sampled.size == len(found[-1])
        left = list(found[0])
        for code in found[1]:
            left.remove(code)
        assert len(left) == 2


def test_every_row_of_a_person_is_equally_likely_to_be_kept() -> None:
    from sievert.release._sample import Sampled
    from sievert.tables import Batch

    sampled = Sampled("id", 2)
    sampled.add(Batch(1, {"id": ["ann"] * 5}, 5), np.arange(5), np.ones(5, dtype=bool))
    kept = np.bincount(np.concatenate([sampled.chosen(i.to_bytes(32, "big"))[0] for i in range(1000)]))
    # 400 each with a standard deviation of 15.5: five of them away comes once in a million.
    assert np.abs(kept - 400).max() < 78


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
