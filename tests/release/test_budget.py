"""What is charged: for which pairs, for which data, and never a second draw for one charge."""

import csv
import errno
import json
import os
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sievert as sv
from sievert.errors import DataError, FileError, LedgerError, OutputError
from sievert.files import PolicyScenario, load_policy_scenario
from sievert.ledger import Chain, Ledger, Reservation

AGES = """version = 1
[policy]
values = { range = [0, 9] }
%s
[query]
kind = "%s"%s
[mechanism]
kind = "%s"
eps = 0.5
[data]
input = "data.csv"
column = "age"
[release]
ledger = "budget.toml"
output = "out.csv"
"""
PLACES = """version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 48.85, west = 2.30, north = 48.86, east = 2.32, cell = 100 }
[mechanism]
kind = "planar-geometric"
eps = 0.01
[data]
input = "data.csv"
column = ["lat", "lon"]
person = "who"
[release]
ledger = "budget.toml"
output = "out.csv"
stable = true
keep = ["who"]
"""


def ages(policy: str = "", kind: str = "record", more: str = "", noise: str = "truncated-geometric") -> str:
    return AGES % (policy, kind, more, noise)


COUNT = ages("records = 4", "count", "\nwhere = { at_least = 5 }")
ABSENT = ages('records = 4\nadjacency = "add-remove"', "count", "\nwhere = { at_least = 5 }", "geometric")
LINE_SUM = ages('secrets = "line"\nrecords = 4', "sum")


def scenario(
    folder: Path, text: str, rows: list[Any], header: str = "age", budget: str = "person = 100.0"
) -> PolicyScenario:
    with (folder / "data.csv").open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header.split(","))
        writer.writerows(row if isinstance(row, list | tuple) else [row] for row in rows)
    (folder / "budget.toml").write_text(budget)
    (folder / "file.toml").write_text(text, encoding="utf-8")
    return load_policy_scenario(folder / "file.toml")


def spent(folder: Path) -> Fraction:
    return Ledger.look(folder / "budget.ledger").spent


# ── one relation ─────────────────────────────────────────────────────────────────────────────────


def test_a_ledger_adds_up_one_promise(tmp_path: Path) -> None:
    """Against any two of 100 ages a sum whose ε is for neighbouring ages costs 99 times as much."""
    hundred = LINE_SUM.replace("[0, 9]", "[0, 99]")
    rows = [1, 7, 3, 9]
    sv.release.run(scenario(tmp_path, COUNT.replace("[0, 9]", "[0, 99]"), rows), output=tmp_path / "1.csv")
    third = scenario(tmp_path, hundred, rows)
    assert sv.release.preview(third).eps == Fraction("49.5")
    done = sv.release.run(third)
    assert (done.eps, done.about) == (Fraction("49.5"), "any two values of one person's records")
    assert spent(tmp_path) == 50
    records = Ledger.look(tmp_path / "budget.ledger").chain.records
    assert (records[-2]["cost"], records[-2]["eps"]) == ("99/2", "1/2")


def test_absence_costs_what_it_tells_about_two_values(tmp_path: Path) -> None:
    """Somebody who comes, or is replaced, moves a count by one; replacing moves a histogram by two."""
    rows = [1, 7, 3, 9]
    sv.release.run(scenario(tmp_path, COUNT, rows), output=tmp_path / "1.csv")
    assert sv.release.run(scenario(tmp_path, ABSENT, rows), output=tmp_path / "2.csv").eps == Fraction(1, 2)
    histogram = ages('records = 4\nadjacency = "add-remove"', "histogram", "", "geometric")
    assert sv.release.run(scenario(tmp_path, histogram, rows), output=tmp_path / "3.csv").eps == 1
    assert spent(tmp_path) == 2


def test_what_a_release_does_not_bound_is_refused(tmp_path: Path) -> None:
    rows = [1, 7, 3, 9]
    for number, (first, others) in enumerate(
        [
            (ABSENT, [COUNT, LINE_SUM, ages()]),
            (LINE_SUM, [ABSENT, LINE_SUM.replace('"line"', '"cycle"'), COUNT.replace("[0, 9]", "[0, 10]")]),
            (
                ages("records = 4\npermitted = { total = 20 }", "count", "\nwhere = { at_least = 5 }"),
                [COUNT, LINE_SUM],
            ),
        ]
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        sv.release.run(scenario(folder, first, rows), output=folder / "first.csv")
        before = spent(folder)
        for other in others:
            described = scenario(folder, other, rows)
            preview = sv.release.preview(described)
            assert not preview.possible and "promises nothing for those" in str(preview)
            with pytest.raises(LedgerError, match="promises nothing for those"):
                sv.release.run(described)
        assert spent(folder) == before
        sv.release.run(scenario(folder, first, rows))  # the same promise again


def test_any_two_values_include_those_that_are_joined(tmp_path: Path) -> None:
    rows = [1, 7, 3, 9]
    sv.release.run(scenario(tmp_path, LINE_SUM, rows), output=tmp_path / "1.csv")
    done = sv.release.run(scenario(tmp_path, COUNT, rows))
    assert done.eps == Fraction(1, 2)
    assert done.about.startswith("values of one person's records that are joined by the secrets")


def test_as_many_records_as_the_ledger_says_a_person_owns(tmp_path: Path) -> None:
    three = COUNT.replace("records = 4", "records = 4\nperson_records = 3")
    sv.release.run(scenario(tmp_path, three, [1, 7, 3, 9]), output=tmp_path / "1.csv")
    assert sv.release.run(scenario(tmp_path, COUNT, [1, 7, 3, 9])).eps == Fraction(3, 2)
    seen = COUNT.replace('column = "age"', 'column = "age"\nperson = "who"')
    rows = [(1, "a"), (7, "b"), (3, "c"), (9, "d")]
    done = sv.release.run(scenario(tmp_path, seen, rows, "age,who"), output=tmp_path / "2.csv")
    assert done.eps == Fraction(1, 2), "the data shows that nobody owns more than one"


def test_the_budget_file_may_state_the_relation(tmp_path: Path) -> None:
    stated = 'person = 100.0\nrelation = "replace"'
    done = sv.release.run(scenario(tmp_path, LINE_SUM, [1, 7, 3, 9], budget=stated))
    assert done.eps == Fraction("4.5")


def test_a_ledger_of_version_1_says_what_it_adds_up(tmp_path: Path) -> None:
    described = scenario(tmp_path, COUNT, [1, 7, 3, 9])
    (tmp_path / "budget.ledger").mkdir()
    opening = {"kind": "open", "version": 1, "salt": "00", "person": "100", "columns": {}}
    Chain.read(tmp_path / "budget.ledger" / "ledger.jsonl").append(opening)
    assert sv.release.run(described).about == "pairs that are neighbours in every release"
    again = scenario(tmp_path, LINE_SUM, [1, 7, 3, 9])
    assert sv.release.preview(again, output=tmp_path / "x.csv").about == (
        "pairs that are neighbours in every release"
    )
    assert sv.release.run(again, output=tmp_path / "x.csv").eps == Fraction(1, 2)


def test_rows_one_by_one_cannot_hide_who_is_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="shows how many rows there are"):
        sv.release.run(scenario(tmp_path, ages('adjacency = "add-remove"', noise="randomised-response"), [1]))


# ── what was checked is what is drawn ────────────────────────────────────────────────────────────


@pytest.mark.parametrize("changed", ["more of one person", "another value", "fewer", "none"])
def test_data_that_changes_after_the_check_is_not_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    text = ages("", noise="randomised-response").replace('column = "age"', 'column = "age"\nperson = "who"')
    rows = [(i % 10, f"p{i}") for i in range(40)]
    described = scenario(tmp_path, text, rows, "age,who")
    other = {
        "more of one person": rows + [(3, "p0")] * 1000,
        "another value": [(9, "p0"), *rows[1:]],
        "fewer": rows[:20],
        "none": [],
    }[changed]
    hold = Ledger.hold

    def exchanged(*arguments: Any, **options: Any) -> Any:
        scenario(tmp_path, text, other, "age,who")
        return hold(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "hold", exchanged)
        with pytest.raises(OutputError, match=r"data changed while it was read; the release .* is charged"):
            sv.release.run(described)
    assert not (tmp_path / "out.csv").exists() and spent(tmp_path) == Fraction(1, 2)
    # With the data that was checked it is finished; nothing else is drawn with its bits.
    scenario(tmp_path, text, rows, "age,who")
    done = sv.release.run(described)
    assert done.resumed and spent(tmp_path) == Fraction(1, 2)
    with (tmp_path / "out.csv").open() as stream:
        assert len(list(csv.DictReader(stream))) == 40


def test_a_table_is_computed_from_what_was_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = scenario(tmp_path, COUNT, [1, 7, 3, 9])
    hold = Ledger.hold

    def exchanged(*arguments: Any, **options: Any) -> Any:
        (tmp_path / "data.csv").write_text("age\n" + "9\n" * 1000)
        return hold(*arguments, **options)

    monkeypatch.setattr(Ledger, "hold", exchanged)
    assert sv.release.run(described).table is not None  # of the four rows that were checked


# ── the store of places ──────────────────────────────────────────────────────────────────────────


def places(count: int = 20) -> list[tuple[float, float, str]]:
    return [(48.8505 + 0.0004 * i, 2.3005 + 0.0008 * i, f"p{i % 7}") for i in range(count)]


HEADER = "lat,lon,who"


@pytest.mark.parametrize("lost", ["deleted", "emptied", "rolled back", "rows deleted", "garbage", "link"])
def test_lost_places_are_not_drawn_again(tmp_path: Path, lost: str) -> None:
    described = scenario(tmp_path, PLACES, places(), HEADER)
    store = tmp_path / "budget.ledger" / "places.sqlite"
    sv.release.run(described, output=tmp_path / "1.csv")
    older = store.read_bytes()
    described = scenario(tmp_path, PLACES, [*places(), (48.851, 2.301, "new")], HEADER)
    assert sv.release.run(described, output=tmp_path / "2.csv").eps == Fraction(1, 100), "an id is new"
    if lost == "deleted":
        store.unlink()
    elif lost == "emptied":
        store.write_bytes(b"")
    elif lost == "rolled back":
        store.write_bytes(older)
    elif lost == "garbage":
        store.write_bytes(b"not a database at all" * 100)
    elif lost == "link":
        store.rename(tmp_path / "elsewhere.sqlite")
        store.symlink_to(tmp_path / "elsewhere.sqlite")
    else:
        base = sqlite3.connect(store)
        with base:
            base.execute("DELETE FROM places WHERE rowid = 1")
        base.close()
    with pytest.raises((LedgerError, FileError), match=r"is missing|is damaged|is a link"):
        sv.release.run(described)
    assert not (tmp_path / "out.csv").exists()
    if lost == "deleted":
        assert not sv.release.preview(described).possible


def test_a_store_of_an_earlier_version_is_refused(tmp_path: Path) -> None:
    """Its names of people were hashes by what the ledger holds."""
    described = scenario(tmp_path, PLACES, places(), HEADER)
    sv.release.run(described, output=tmp_path / "1.csv")
    base = sqlite3.connect(tmp_path / "budget.ledger" / "places.sqlite")
    with base:
        base.execute("DROP TABLE secret")
    base.close()
    with pytest.raises(LedgerError, match="was written by an earlier version"):
        sv.release.run(described)


def test_a_ledger_older_than_its_places_is_refused(tmp_path: Path) -> None:
    described = scenario(tmp_path, PLACES, places(), HEADER)
    sv.release.run(described, output=tmp_path / "1.csv")
    ledger = tmp_path / "budget.ledger"
    shutil.copytree(ledger, tmp_path / "older")
    described = scenario(tmp_path, PLACES, [*places(), (48.851, 2.301, "new")], HEADER)
    sv.release.run(described, output=tmp_path / "2.csv")
    for name in ("ledger.jsonl", "ledger.lock"):
        shutil.copy(tmp_path / "older" / name, ledger / name)
    with pytest.raises(LedgerError, match="the ledger is an older copy"):
        sv.release.run(described)


def test_places_lost_before_anything_was_published_are_paid_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    described = scenario(tmp_path, PLACES, places(), HEADER)

    def fail(*_: object, **noted: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Reservation, "commit", fail)
        with pytest.raises(OutputError, match="is charged"):
            sv.release.run(described)
    (tmp_path / "budget.ledger" / "places.sqlite").unlink()
    assert sv.release.run(described, fresh=True).eps == Fraction(1, 100)
    assert spent(tmp_path) == Fraction(2, 100)


# ── the private data under another name ──────────────────────────────────────────────────────────


def _private(folder: Path, keys: str, text: str = COUNT) -> Path:
    (folder / "file.toml").write_text(text + keys)
    return folder / "file.toml"


@pytest.mark.parametrize(
    "keys",
    [
        '[use]\nprior = "%s"\n',
        '[use]\nloss = { matrix = "%s" }\n',
        '[adversary]\nprior = "%s"\n',
        '[adversary]\nrecord_prior = "%s"\n',
        '[adversary]\ngains = ["identity", { matrix = "%s" }]\n',
        '[estimate]\noriginal = "truth.csv"\n[adversary]\nprior = "truth.csv"\n',
    ],
)
@pytest.mark.parametrize("name", ["data.csv", "./data.csv", "soft.csv", "hard.csv", "sub/../data.csv"])
def test_nothing_public_is_the_private_data(tmp_path: Path, keys: str, name: str) -> None:
    scenario(tmp_path, COUNT, [1, 7, 3, 9])
    (tmp_path / "sub").mkdir()
    (tmp_path / "soft.csv").symlink_to("data.csv")
    os.link(tmp_path / "data.csv", tmp_path / "hard.csv")
    with pytest.raises(FileError, match="is the private data"):
        load_policy_scenario(_private(tmp_path, keys.replace("%s", name)))


@pytest.mark.parametrize(
    "policy",
    [
        'values = { file = "data.csv" }',
        'values = { product = [{ file = "data.csv" }, ["a", "b"]] }',
        'values = { product = [{ product = [{ file = "data.csv" }, [1]] }, ["a", "b"]] }',
        'values = [1, 2]\npermitted = { databases = "data.csv" }',
        'values = [1, 2]\npermitted = [{ total = 3 }, { databases = "data.csv" }]',
        'secrets = { metric = "euclidean", points = "data.csv" }',
    ],
)
def test_no_policy_is_the_private_data(tmp_path: Path, policy: str) -> None:
    scenario(tmp_path, COUNT, [1, 7, 3, 9])
    with pytest.raises(FileError, match=r"policy\..*is the private data"):
        load_policy_scenario(_private(tmp_path, "", COUNT.replace("values = { range = [0, 9] }", policy)))


def test_other_data_may_not_be_public_either(tmp_path: Path) -> None:
    described = scenario(tmp_path, COUNT + '[adversary]\nrecord_prior = "prior.csv"\n', [1, 7, 3, 9])
    (tmp_path / "prior.csv").write_text("age\n1\n7\n3\n9\n")
    with pytest.raises(FileError, match="is the private data"):
        sv.release.run(described, data=str(tmp_path / "prior.csv"))


@pytest.mark.parametrize("output", ["/tmp/x.csv", "../x.csv", "a/../../x.csv", "C:\\\\x.csv", "", "\\u0000"])
def test_a_file_writes_below_its_own_folder(tmp_path: Path, output: str) -> None:
    with pytest.raises(FileError, match=r"release\.output"):
        scenario(tmp_path, COUNT.replace('"out.csv"', f'"{output}"'), [1])


# ── a seed is a test ─────────────────────────────────────────────────────────────────────────────


def test_a_seed_needs_a_file_that_is_a_test(tmp_path: Path) -> None:
    described = scenario(tmp_path, COUNT, [1, 7, 3, 9])
    with pytest.raises(FileError, match="does not say that it is a test"):
        sv.release.run(described, insecure_rng=3)
    assert not (tmp_path / "budget.ledger").exists()
    described = scenario(tmp_path, COUNT + "test_seed = 3\n", [1, 7, 3, 9])
    assert any("NOT PRIVATE" in warning for warning in sv.release.preview(described).warnings)
    done = sv.release.run(described)
    assert not done.secure and "NOT PRIVATE" in str(done)
    with (tmp_path / "out.csv").open() as stream:
        (row,) = csv.DictReader(stream)
    assert row["not_private"] == "drawn from a test seed"
    assert json.loads((tmp_path / "out.csv.json").read_text())["mechanism"]["secure"] is False
    same = sv.release.run(described, output=tmp_path / "same.csv", insecure_rng=3)
    assert same.table == done.table
    taken = ages().replace('"age"', '"not_private"') + "test_seed = 3\n"
    with pytest.raises(FileError, match="marks a test"):
        sv.release.run(scenario(tmp_path, taken, [1], "not_private"))


def test_every_row_of_a_seeded_table_is_marked(tmp_path: Path) -> None:
    text = ages(noise="randomised-response") + "test_seed = 3\n"
    sv.release.run(scenario(tmp_path, text, [1, 2, 3]))
    with (tmp_path / "out.csv").open() as stream:
        assert [row["not_private"] for row in csv.DictReader(stream)] == ["drawn from a test seed"] * 3


# ── what fails after the charge ──────────────────────────────────────────────────────────────────


def test_a_failed_run_says_that_it_is_charged_and_goes_on_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in (COUNT, ages(noise="randomised-response")):
        folder = tmp_path / str(len(text))
        folder.mkdir()
        described = scenario(folder, text, [1, 7, 3, 9])
        (folder / "full").mkdir()
        real = os.fsync

        def full(descriptor: int, folder: Path = folder, real: Any = real) -> None:
            if os.readlink(f"/proc/self/fd/{descriptor}").startswith(str(folder / "full")):
                raise OSError(errno.ENOSPC, "No space left on device")
            real(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            for _ in range(2):
                with pytest.raises(OutputError, match=r"No space left.*is charged \(ε = 0\.5\)") as found:
                    sv.release.run(described, output=folder / "full" / "x.csv")
                assert found.value.exit_code == 3
            done = sv.release.run(described)
        assert done.resumed and Path(done.output).name == "out.csv"
        assert spent(folder) == Fraction(1, 2)
        assert not [path for path in folder.rglob("*") if path.name.startswith(".")]


def test_the_same_id_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    described = scenario(tmp_path, COUNT, [1, 7, 3, 9])

    def fail(*_: object, **noted: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Reservation, "commit", fail)
        with pytest.raises(OutputError, match="the release mine is charged"):
            sv.release.run(described, id="mine")
    assert sv.release.run(described, id="mine").resumed
    with pytest.raises(LedgerError, match="use at most 100"):
        sv.release.run(described, id="x" * 300, output=tmp_path / "2.csv")
    assert spent(tmp_path) == Fraction(1, 2)


def test_data_that_does_not_fit_costs_nothing_and_has_its_own_code(tmp_path: Path) -> None:
    with pytest.raises(DataError) as found:
        sv.release.run(scenario(tmp_path, COUNT, [1, 7, 3, 99]))
    assert found.value.exit_code == 4 and not (tmp_path / "budget.ledger").exists()


# ── what a file names under the same name ────────────────────────────────────────────────────────

MATRIX = """version = 1
policy = { values = ["a", "b"] }
mechanism = { matrix = "channel.csv" }
data = { input = "data.csv", column = "age" }
release = { ledger = "budget.toml", output = "out.csv" }
"""


def response(folder: Path, truth: float) -> None:
    (folder / "channel.csv").write_text(f",a,b\na,{truth},{1 - truth}\nb,{1 - truth},{truth}\n")


def test_an_interrupted_run_goes_on_with_the_same_channel_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    response(tmp_path, 0.6)
    described = scenario(tmp_path, MATRIX, ["a", "b", "a"])

    def fail(*_: object, **noted: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Reservation, "commit", fail)
        with pytest.raises(OutputError, match="is charged"):
            sv.release.run(described)
    begun = spent(tmp_path)
    response(tmp_path, 0.99)
    done = sv.release.run(load_policy_scenario(tmp_path / "file.toml"))
    assert not done.resumed and done.eps > 4
    assert spent(tmp_path) == begun + done.eps
    response(tmp_path, 0.6)
    assert sv.release.run(load_policy_scenario(tmp_path / "file.toml"), output=tmp_path / "2.csv").resumed


def test_stable_places_of_another_channel_are_paid_for(tmp_path: Path) -> None:
    text = PLACES.replace("cell = 100", "cell = 400").replace(
        'kind = "planar-geometric"\neps = 0.01', 'matrix = "channel.npz"'
    )
    for truth, who in ((0.2, "a"), (0.9, "b")):
        described = scenario(tmp_path, text, [(48.851, 2.301, who)], "lat,lon,who")
        assert described.region is not None
        cells = described.policy.values
        rest = (1 - truth) / (len(cells) - 1)
        rows = [[truth if i == j else rest for j in range(len(cells))] for i in range(len(cells))]
        sv.save(sv.Channel(rows, cells, cells), tmp_path / "channel.npz")
        done = sv.release.run(described, output=tmp_path / f"{who}.csv")
        assert done.eps > 0, "new people are drawn from the channel as it is"


def test_a_budget_has_one_name(tmp_path: Path) -> None:
    described = scenario(tmp_path, COUNT.replace('"budget.toml"', '"other.toml"'), [1, 7, 3, 9])
    (tmp_path / "other.toml").symlink_to("budget.toml")
    with pytest.raises(FileError, match="is a link; name the budget file itself"):
        sv.release.run(described)
    assert not list(tmp_path.glob("*.ledger"))
