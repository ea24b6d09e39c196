"""A reader of ledger, logs or backups: what they hold, and what copying or rolling them back achieves."""

import errno
import hashlib
import hmac
import itertools
import json
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sievert as sv
from sievert.errors import BudgetError, FileError, LedgerError, SievertError
from sievert.ledger import Budget, Chain, Ledger, Totals

COUNT = """version = 1
policy = {{ values = ["n", "s"], records = 10{policy} }}
query = {{ kind = "count", where = ["n"] }}
mechanism = {{ kind = "geometric", eps = {eps} }}
data = {{ input = "{data}", column = "ward"{person} }}
release = {{ ledger = "{budget}", output = "{name}.csv"{release} }}
"""


def counting(
    folder: Path,
    name: str = "out",
    *,
    policy: str = "",
    person: bool = False,
    eps: object = 1.0,
    data: str = "visits.csv",
    budget: str = "budget.toml",
    release: str = "",
) -> Path:
    """A file that counts the ten visits of six people, of whom ann has five."""
    if not (folder / "visits.csv").exists():
        rows = [f"{'n' if i % 2 else 's'},{'ann' if i < 5 else f'p{i}'}" for i in range(10)]
        (folder / "visits.csv").write_text("\n".join(["ward,patient", *rows]) + "\n")
    if not (folder / budget).exists():
        (folder / budget).write_text("person = 100\n")
    named = ', person = "patient"' if person else ""
    text = COUNT.format(
        policy=policy, person=named, name=name, eps=eps, data=data, budget=budget, release=release
    )
    (folder / f"{name}.toml").write_text(text)
    return folder / f"{name}.toml"


def spent(folder: Path, budget: str = "budget.toml") -> Fraction:
    return sv.release.account(folder / budget).spent


def kept(folder: Path) -> dict[str, bytes]:
    """Everything in a ledger's folder."""
    return {path.name: path.read_bytes() for path in (folder / "budget.ledger").iterdir()}


# ── what the ledger says ────────────────────────────────────────────────────────────────────────────

HISTOGRAM = """version = 1
policy = { values = ["very low", "low", "middle", "high", "very high"], records = 7 }
query = { kind = "histogram" }
mechanism = { kind = "truncated-geometric", eps = 0.01 }
data = { input = "people.csv", column = "income" }
release = { ledger = "budget.toml", output = "out.csv", test_seed = 3 }
"""


def test_the_ledger_is_the_same_whatever_the_records(tmp_path: Path) -> None:
    """Formerly salt and SHA-256(salt ‖ data): with the other records known, one was recovered exactly."""
    records = []
    for name, income in (("a", "very high"), ("b", "low")):
        folder = tmp_path / name
        folder.mkdir()
        people = ["low", "high", "middle", "very low", "low", "high", income]
        (folder / "people.csv").write_text("income\n" + "\n".join(people) + "\n")
        (folder / "budget.toml").write_text("person = 1.0\n")
        (folder / "file.toml").write_text(HISTOGRAM)
        sv.release.run(folder / "file.toml", id="same")
        lines = (folder / "budget.ledger" / "ledger.jsonl").read_text().splitlines()
        records.append([json.loads(line)["b"] for line in lines])
    for first, second in zip(*records, strict=True):
        public = {"salt", "sha256", "targets"}  # random, of what is published, and where that is
        assert {k: v for k, v in first.items() if k not in public} == {
            k: v for k, v in second.items() if k not in public
        }
        assert "fingerprint" not in first
    assert [set(record) & {"sha256"} for record in records[0]] == [set(), set(), {"sha256"}]


def test_what_the_ledger_says_of_remembered_places_is_no_number_of_people(tmp_path: Path) -> None:
    sv.release.run(mapped(tmp_path, [f"p{i}" for i in range(7)]))
    content = (tmp_path / "budget.ledger" / "ledger.jsonl").read_text()
    (places,) = [r["places"] for r in map(body, content.splitlines()) if "places" in r]
    assert set(places) == {"number", "head"} and places["number"] == 1


def body(line: str) -> dict[str, object]:
    return dict(json.loads(line)["b"])


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_the_ledgers_files_are_their_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        sv.release.run(mapped(tmp_path, ["ann"]))
    finally:
        os.umask(before)
    folder = tmp_path / "budget.ledger"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    names = {"ledger.jsonl", "ledger.lock", "places.sqlite"}
    assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == dict.fromkeys(
        names, 0o600
    )
    states = Path(os.environ["XDG_STATE_HOME"]) / "sievert"
    assert len(list(states.rglob("*.json"))) > 0
    for path in (states, *states.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


# ── copies, deletions and rollbacks ─────────────────────────────────────────────────────────────────


def keyed(folder: Path, name: str) -> Path:
    (folder / "secret.key").write_text("a secret of twenty bytes or more")
    return counting(folder, name, release=', ledger_key = "secret.key"')


@pytest.mark.parametrize("with_key", [False, True])
@pytest.mark.parametrize("lost", ["lock deleted", "whole folder older", "both deleted", "folder deleted"])
def test_a_ledger_that_is_rolled_back_or_deleted_is_refused(
    tmp_path: Path, lost: str, with_key: bool
) -> None:
    make = keyed if with_key else counting
    sv.release.run(make(tmp_path, "first"))
    ledger = tmp_path / "budget.ledger"
    shutil.copytree(ledger, tmp_path / "older")
    sv.release.run(make(tmp_path, "second"))
    if lost == "lock deleted":
        shutil.copy(tmp_path / "older" / "ledger.jsonl", ledger / "ledger.jsonl")
        (ledger / "ledger.lock").unlink()
    elif lost == "both deleted":
        for name in ("ledger.jsonl", "ledger.lock"):
            (ledger / name).unlink()
    else:
        shutil.rmtree(ledger)
        if lost == "whole folder older":
            (tmp_path / "older").rename(ledger)
    third = make(tmp_path, "third")
    with pytest.raises(LedgerError, match=r"older copy|was deleted or exchanged"):
        sv.release.run(third)
    assert not (tmp_path / "third.csv").exists()


def test_an_older_lock_with_an_older_ledger_is_refused_where_nothing_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine, or another user: without its notes a ledger with charges is taken by no one."""
    sv.release.run(counting(tmp_path, "first"))
    (tmp_path / "budget.ledger" / "ledger.lock").unlink()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "elsewhere"))
    with pytest.raises(LedgerError, match=r"ledger\.lock beside it is missing"):
        sv.release.run(counting(tmp_path, "second"))


def test_an_anchor_accepts_the_older_copy_that_it_names(tmp_path: Path) -> None:
    first = sv.release.run(counting(tmp_path, "first"))
    shutil.copytree(tmp_path / "budget.ledger", tmp_path / "older")
    later = sv.release.run(counting(tmp_path, "second"))
    shutil.rmtree(tmp_path / "budget.ledger")
    (tmp_path / "older").rename(tmp_path / "budget.ledger")
    with pytest.raises(LedgerError, match="older copy"):
        sv.release.run(counting(tmp_path, "third"), anchor=later.head)
    assert sv.release.run(counting(tmp_path, "third"), anchor=first.head).remaining == 98


def test_a_copied_budget_opens_no_second_ledger(tmp_path: Path) -> None:
    sv.release.run(counting(tmp_path, "first"))
    shutil.copy(tmp_path / "budget.toml", tmp_path / "copy.toml")
    with pytest.raises(LedgerError, match="the budget file is a copy"):
        sv.release.run(counting(tmp_path, "second", budget="copy.toml"))
    with pytest.raises(LedgerError, match="the budget file is a copy"):
        sv.release.account(tmp_path / "copy.toml")
    assert not (tmp_path / "second.csv").exists() and spent(tmp_path) == 1


def test_a_copied_budget_and_ledger_cannot_both_go_on(tmp_path: Path) -> None:
    sv.release.run(counting(tmp_path, "first"))
    shutil.copy(tmp_path / "budget.toml", tmp_path / "copy.toml")
    shutil.copytree(tmp_path / "budget.ledger", tmp_path / "copy.ledger")
    sv.release.run(counting(tmp_path, "second", budget="copy.toml"))
    with pytest.raises(LedgerError, match="older copy"):
        sv.release.run(counting(tmp_path, "third"))


@pytest.mark.parametrize("exchanged", ["folder", "lock", "ledger"])
def test_a_ledger_that_is_exchanged_while_it_is_held_is_charged_once(tmp_path: Path, exchanged: str) -> None:
    """Formerly two releases could hold one ledger, each by a lock file of its own, and both charge it."""
    folder, budget = tmp_path / "budget.ledger", Budget(Fraction(9))
    second = f"""
from fractions import Fraction
from sievert.ledger import Budget, Ledger
with Ledger.hold({str(folder)!r}, Budget(Fraction(9)), wait=0) as ledger:
    ledger.reserve(Fraction(9), [], [{str(tmp_path / "second.csv")!r}])
"""
    with Ledger.hold(folder, budget) as first:
        if exchanged == "folder":
            folder.rename(tmp_path / "moved")
            shutil.copytree(tmp_path / "moved", folder)
        elif exchanged == "lock":
            (folder / "ledger.lock").unlink()
        else:
            (folder / "ledger.jsonl").write_bytes((folder / "ledger.jsonl").read_bytes() + b'{"b":')
        if exchanged != "ledger":
            subprocess.run([sys.executable, "-c", second], check=True)
        with pytest.raises(LedgerError, match="moved, restored or written by others"):
            first.reserve(Fraction(9), [], [tmp_path / "first.csv"])
    assert Ledger.look(folder, budget).spent == (0 if exchanged == "ledger" else 9)


def write_forged(ledger: Path, bodies: list[dict[str, Any]]) -> None:
    """A ledger of these records, whose hashes are right: without a key everybody can write one."""
    head, lines = "0" * 64, []
    for body in bodies:
        text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        head = hashlib.sha256((head + text).encode()).hexdigest()
        lines.append(f'{{"b":{text},"h":"{head}"}}\n')
    ledger.write_text("".join(lines))
    with ledger.with_name("ledger.lock").open("a") as notes:
        notes.write(f"\n{head}\n")


def test_a_name_in_a_ledger_that_came_along_is_no_path(tmp_path: Path) -> None:
    """What an interrupted release left is deleted by its name: a forged one led to other folders."""
    (tmp_path / "sent").mkdir()
    file = counting(tmp_path / "sent")
    sv.release.run(file)
    ledger = file.with_name("budget.ledger") / "ledger.jsonl"
    bodies = [json.loads(line)["b"] for line in ledger.read_text().splitlines()]
    write_forged(
        ledger, [*bodies, bodies[1] | {"id": "a/../../thesis", "targets": [str(file.with_name("x"))]}]
    )
    file.with_name(".x.a").mkdir()
    mine = [tmp_path / "thesis.parts", tmp_path / "thesis.tmp"]
    mine[0].mkdir()
    mine[1].touch()
    with pytest.raises(LedgerError, match="use letters, digits"):
        sv.release.run(counting(tmp_path / "sent", "second"))
    assert all(path.exists() for path in mine)


@pytest.mark.parametrize("ended", ["interrupted", "committed"])
def test_a_target_in_a_ledger_that_came_along_is_no_file_of_yours(tmp_path: Path, ended: str) -> None:
    """Formerly `.notes.txt.draft.tmp` anywhere was deleted, or renamed, as what a release had left."""
    (tmp_path / "sent").mkdir()
    file = counting(tmp_path / "sent")
    sv.release.run(file)
    ledger = file.with_name("budget.ledger") / "ledger.jsonl"
    bodies = [json.loads(line)["b"] for line in ledger.read_text().splitlines()]
    mine = tmp_path / "home"
    (mine / ".notes.txt.draft.parts").mkdir(parents=True)
    (mine / ".notes.txt.draft.tmp").write_text("mine")
    before = sorted(mine.rglob("*"))
    forged = [bodies[1] | {"id": "draft", "targets": [str(mine / "notes.txt")]}]
    if ended == "committed":
        digest = hashlib.sha256(b"mine").hexdigest()
        forged.append({"kind": "commit", "id": "draft", "sha256": [digest]})
    write_forged(ledger, [*bodies, *forged])
    sv.release.run(counting(tmp_path / "sent", "second"))
    assert sorted(mine.rglob("*")) == before


OTHERS = [
    None,
    True,
    [],
    {},
    -1,
    1.5,
    "",
    "-1",
    "nan",
    "1/0",
    "1e999999999",
    "1e-999999999",
    "x" * 300,
    [["a"]],
]


@pytest.mark.parametrize("place", range(4))
def test_a_ledger_that_came_along_is_read_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    """Formerly `1e999999999` was written out without end, and an unknown kind of record ignored."""
    file = counting(tmp_path)
    sv.release.plan(file, 2)
    sv.release.run(file)
    ledger = tmp_path / "budget.ledger" / "ledger.jsonl"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
    bodies = [json.loads(line)["b"] for line in ledger.read_text().splitlines()]
    assert [body["kind"] for body in bodies] == ["open", "plan", "reserve", "commit"]
    refused = 0
    for key, value in itertools.product(bodies[place], OTHERS):
        write_forged(ledger, [body | ({key: value} if i == place else {}) for i, body in enumerate(bodies)])
        try:
            assert sv.release.account(tmp_path / "budget.toml").spent >= 0
            sv.release.preview(file)
        except SievertError:
            refused += 1
        else:
            assert key != "kind"
    assert refused > len(OTHERS)


def changed(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A record with another value at a path, or without the key there (`...`)."""
    body = json.loads(json.dumps(body))
    *way, last = path
    inner = body
    for key in way:
        inner = inner[key]
    if value is ...:
        del inner[last]
    else:
        inner[last] = value
    return body


def nested(times: int) -> Any:
    return [nested(times - 1)] if times else "deep"


FORGED: list[tuple[int, tuple[Any, ...], Any]] = [
    *((0, ("relation", "person_records"), value) for value in (10**400, True, 0)),
    *((1, ("pair",), value) for value in (..., [], "x", {}, {"moves": [[1]]}, {"moves": [], "noises": 1})),
    *((1, ("pair", "noise"), value) for value in (..., None, -1, 10**400, [], {}, {"law": []}, nested(900))),
    *((1, ("pair", "noise", "eps"), value) for value in ("1e999999999", 10**400, "1" * 400, -1, "x", None)),
    *((1, ("pair", "noise", "law"), value) for value in (..., [], {})),
    *((1, ("pair", "moves"), value) for value in (None, 1, "x", [None], [[-1]], [["a"]], [1], [[[1]]])),
    *((1, ("guess", "after"), value) for value in (..., 10**400, -1, float("nan"), "x")),
    *((1, (key,), ...) for key in ("id", "n", "cost", "eps", "unit", "columns")),
    *((1, ("n",), value) for value in (float("inf"), 10**400, 0.5, [])),
    *((1, ("values",), value) for value in (10**400, -1, "x", True)),
    *((2, (key,), ...) for key in ("id", "eps", "unit", "columns", "targets")),
    *((2, ("about",), value) for value in (None, "x")),
    *((2, ("targets",), value) for value in ([1], [None], [[]], "x")),
    *((2, ("cost",), value) for value in ("1" * 400, 1, None, [])),
    (2, ("more",), nested(900)),
    *((3, (key,), ...) for key in ("kind", "id", "sha256")),
    *((3, ("sha256",), value) for value in ([], ["a", "b", "c"], [1, 2], "x")),
    *((3, ("places",), value) for value in (1, [], {}, {"number": "1", "head": ""})),
]


@pytest.mark.parametrize("number", range(len(FORGED)))
def test_a_record_that_no_version_wrote_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Formerly many of them ended in a traceback, and one had an exponent written out without end."""
    place, path, value = FORGED[number]
    file = counting(tmp_path)
    sv.release.plan(file, 2)
    sv.release.run(file)
    ledger = tmp_path / "budget.ledger" / "ledger.jsonl"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another machine"))
    bodies = [json.loads(line)["b"] for line in ledger.read_text().splitlines()]
    bodies[place] = changed(bodies[place], path, value)
    write_forged(ledger, bodies)
    with pytest.raises(LedgerError):
        sv.release.account(tmp_path / "budget.toml")
    with pytest.raises(LedgerError):
        sv.release.run(file, output=tmp_path / "other.csv")


@pytest.mark.parametrize("body", [[], None, 1, "x"])
def test_a_record_that_is_no_table_is_refused(tmp_path: Path, body: Any) -> None:
    file = counting(tmp_path)
    sv.release.run(file)
    ledger = tmp_path / "budget.ledger" / "ledger.jsonl"
    bodies = [json.loads(line)["b"] for line in ledger.read_text().splitlines()]
    for forged in ([*bodies, body], [body, *bodies[1:]]):
        write_forged(ledger, forged)
        with pytest.raises(LedgerError):
            sv.release.account(tmp_path / "budget.toml")


@pytest.mark.parametrize("alias", ["link", "hard link"])
def test_a_budget_has_one_name(tmp_path: Path, alias: str) -> None:
    counting(tmp_path, "first")
    (tmp_path / "alias.toml").unlink(missing_ok=True)
    if alias == "link":
        (tmp_path / "alias.toml").symlink_to(tmp_path / "budget.toml")
    else:
        os.link(tmp_path / "budget.toml", tmp_path / "alias.toml")
    with pytest.raises(FileError, match=r"is a link|a hard link"):
        sv.release.run(counting(tmp_path, "second", budget="alias.toml"))
    assert not (tmp_path / "second.csv").exists()


def test_a_budget_is_bound_as_it_was_written(tmp_path: Path) -> None:
    """One line in front of it; comments, tables, the mode and what it means stay."""
    text = "# of the clinic\nperson = 9\n\n[columns]\nward = 2 # at most\n"
    file = counting(tmp_path)
    budget = tmp_path / "budget.toml"
    budget.write_text(text)
    budget.chmod(0o640)
    sv.release.run(file)
    line, rest = budget.read_text().split("\n", 1)
    assert line.startswith('ledger = "') and rest == text
    assert stat.S_IMODE(budget.stat().st_mode) == 0o640
    again = budget.read_bytes()
    assert sv.release.run(file, output=tmp_path / "2.csv").remaining == 7
    assert budget.read_bytes() == again


def test_a_budget_is_bound_to_a_ledger_on_another_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Formerly it was written in the ledger's folder, and could not be moved from there."""
    file = counting(tmp_path)
    (tmp_path / "disk").mkdir()
    (tmp_path / "budget.ledger").symlink_to(tmp_path / "disk")
    replace = os.replace

    def within(source: Path, target: Path) -> None:
        if Path(source).resolve().parent != Path(target).resolve().parent:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        replace(source, target)

    monkeypatch.setattr(os, "replace", within)
    assert sv.release.run(file).remaining == 99
    assert (tmp_path / "budget.toml").read_text().startswith('ledger = "')
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("step", ["written", "added up"])
def test_a_charge_that_is_interrupted_by_a_key_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Formerly this machine remembered the sums without the record: Ctrl-C gave budget back."""
    file = counting(tmp_path)
    sv.release.run(file)
    owner, name = (Chain, "_added") if step == "written" else (Totals, "_reserved")

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(owner, name, interrupted)
        sv.release.run(file, output=tmp_path / "2.csv")
    assert spent(tmp_path) == 2
    assert sv.release.run(file, output=tmp_path / "3.csv", fresh=True).remaining == 97


@pytest.mark.parametrize("cost", [Fraction(-1), -1, 0.5, float("nan"), float("inf"), None])
def test_what_is_no_amount_is_not_written(tmp_path: Path, cost: Any) -> None:
    """Formerly it was written first: a ledger that nobody could read any more."""
    counting(tmp_path)
    budget = Budget.read(tmp_path / "budget.toml")
    with (
        Ledger.hold(tmp_path / "budget.ledger", budget) as ledger,
        pytest.raises(LedgerError, match="exact amount"),
    ):
        ledger.reserve(cost, [], [tmp_path / "x.csv"])
    assert len((tmp_path / "budget.ledger" / "ledger.jsonl").read_bytes().splitlines()) == 1


# ── people in the ledger ────────────────────────────────────────────────────────────────────────────

MAP = """version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 52.505, west = 13.36, north = 52.53, east = 13.42, cell = 50 }
[mechanism]
kind = "planar-geometric"
eps = 0.01
[data]
input = "taxis.csv"
column = ["lat", "lon"]
person = "driver"
[release]
stable = true
ledger = "budget.toml"
output = "out.csv"
"""


def mapped(folder: Path, drivers: list[str], text: str = MAP) -> Path:
    """A file that releases one place for each driver."""
    rows = [f"52.5171234,13.3889234,{driver}" for driver in drivers]
    (folder / "taxis.csv").write_text("\n".join(["lat,lon,driver", *rows]) + "\n")
    if not (folder / "budget.toml").exists():
        (folder / "budget.toml").write_text("person = 1\n")
    (folder / "map.toml").write_text(text)
    return folder / "map.toml"


def test_pseudonyms_that_change_are_charged_each_time(tmp_path: Path) -> None:
    """Formerly sixty months of one driver's places were charged once."""
    for month in range(3):
        file = mapped(tmp_path, [f"ann-{month}"])
        done = sv.release.run(file, output=tmp_path / f"{month}.csv")
        assert done.eps == Fraction(1, 100) and any("ids that are new" in note for note in done.notes)
    assert spent(tmp_path) == Fraction(3, 100)
    again = sv.release.run(file, output=tmp_path / "again.csv")
    assert again.eps == 0 and not any("ids that are new" in note for note in again.notes)


def test_a_period_in_which_ids_do_not_change_is_charged_once(tmp_path: Path) -> None:
    def run(name: str, drivers: list[str], period: str) -> Fraction | None:
        text = MAP.replace("stable = true", f'stable = {{ period = "{period}" }}')
        return sv.release.run(mapped(tmp_path, drivers, text), output=tmp_path / f"{name}.csv").eps

    each = Fraction(1, 100)
    assert run("1", ["ann", "bob"], "2026") == each
    assert run("2", ["ann", "bob", "eve"], "2026") == 0, "a newcomer, as the file states"
    assert run("3", ["a1", "a2", "a3"], "2026") == each, "all ids are new: they have changed"
    assert run("4", ["ann", "bob", "zoe"], "2027") == each, "another period"
    assert run("5", ["ann", "zoe"], "2027") == 0
    assert spent(tmp_path) == 3 * each


def test_a_row_that_names_no_one_has_no_stable_place(tmp_path: Path) -> None:
    for nobody in ("", "  ", "?"):
        text = MAP.replace('person = "driver"', 'person = "driver"\nmissing_values = ["?"]')
        with pytest.raises(SievertError, match="names nobody"):
            sv.release.run(mapped(tmp_path, ["ann", nobody, nobody], text))
    assert not (tmp_path / "out.csv").exists()


# Files of one table: with and without the column of people, with as many records of one as they state.
FILES = {
    "plain": {},
    "people": {"person": True, "policy": ", person_records = 5"},
    "stated": {"policy": ", person_records = 2"},
    "sampled": {
        "person": True,
        "policy": ', person_records = 3, adjacency = "add-remove"',
        "release": ', too_many = "sample"',
    },
    "finer": {"eps": "0.25"},
}


def total(folder: Path, order: tuple[str, ...], budget: str = "person = 100\n") -> Fraction:
    folder.mkdir()
    (folder / "budget.toml").write_text(budget)
    for name in order:
        sv.release.run(counting(folder, name, **FILES[name]))  # type: ignore[arg-type]
    found = sv.release.account(folder / "budget.toml")
    assert sum((entry.cost for entry in found.releases), Fraction(0)) == found.spent
    return found.spent


def test_the_total_does_not_depend_on_the_order(tmp_path: Path) -> None:
    """A file without `data.person` that ran first was charged for one record: 6 instead of 10."""
    assert total(tmp_path / "ba", ("people", "plain")) == 10
    assert total(tmp_path / "ab", ("plain", "people")) == 10
    draw = random.Random(36)
    for budget in ("person = 100\n", 'person = 100\nrelation = "replace"\nperson_records = 2\n'):
        for number in range(3):
            # What is about people being there or not comes after a ledger about any two values is open.
            chosen = ["plain", *draw.choices(sorted(FILES), k=3)]
            chosen = list(dict.fromkeys(chosen))
            orders = [o for o in itertools.permutations(chosen) if "relation" in budget or o[0] != "sampled"]
            few = draw.sample(orders, min(4, len(orders)))
            found = {total(tmp_path / f"{len(budget)}-{number}-{i}", o, budget) for i, o in enumerate(few)}
            assert len(found) == 1, (few, found)


@pytest.mark.parametrize("budget", ["rho = 100\ndelta = 1e-6\n", "person = 100\n[columns]\nward = 100\n"])
def test_the_total_does_not_depend_on_the_order_in_rho_and_through_columns(
    tmp_path: Path, budget: str
) -> None:
    found = []
    for number, order in enumerate(itertools.permutations(["plain", "people", "stated"])):
        found.append(total(tmp_path / str(number), order, budget))
        through = sv.release.account(tmp_path / str(number) / "budget.toml").through
        assert all(through_spent == found[0] for _, _, through_spent in through)
    assert len(set(found)) == 1


def test_what_earlier_releases_cost_more_is_said_and_needs_budget(tmp_path: Path) -> None:
    (tmp_path / "budget.toml").write_text("person = 9.5\n")
    sv.release.run(counting(tmp_path, "plain"))
    with pytest.raises(BudgetError, match=r"ε = 9 for each person \(4 of it since it states more records"):
        sv.release.run(counting(tmp_path, "people", **FILES["people"]))  # type: ignore[arg-type]
    assert spent(tmp_path) == 1 and not (tmp_path / "people.csv").exists()
    other = tmp_path / "enough"
    other.mkdir()
    sv.release.run(counting(other, "plain"))
    file = counting(other, "people", **FILES["people"])  # type: ignore[arg-type]
    before = sv.release.preview(file)
    assert (before.eps, before.remaining_after) == (5, 90)
    assert any("ε = 4 more is charged" in warning for warning in before.warnings)
    done = sv.release.run(file)
    assert (done.eps, done.remaining) == (5, 90)
    assert "one owns 5 records at most" in sv.release.account(other / "budget.toml").about
    assert any("ε = 4 more is charged for releases that do not say" in note for note in done.notes)


def test_slots_of_a_plan_grow_with_the_records_of_a_person(tmp_path: Path) -> None:
    sv.release.plan(counting(tmp_path, "plain"), 3)
    assert spent(tmp_path) == 3
    sv.release.run(counting(tmp_path, "people", **FILES["people"]))  # type: ignore[arg-type]
    assert spent(tmp_path) == 3 * 5 + 5
    done = sv.release.run(counting(tmp_path, "plain"))
    assert done.slot == 1 and spent(tmp_path) == 20
    found = sv.release.account(tmp_path / "budget.toml")
    assert (found.plans[0].each, found.plans[0].total) == (5, 15)
    assert found.guesses[0].guess > 0.99


ROWS = """version = 1
policy = {{ values = ["n", "s"] }}
mechanism = {{ kind = "randomised-response", eps = 1.0 }}
data = {{ input = "visits.csv", column = "ward", person = "patient", rows_per_person = {rows} }}
release = {{ ledger = "budget.toml", output = "{name}.csv" }}
"""


def test_a_slot_pays_for_no_more_rows_of_a_person_than_were_planned(tmp_path: Path) -> None:
    """Row by row, a slot was taken by name: one that had paid for a row of a person paid for twenty."""
    counting(tmp_path)
    for name, rows in (("few", 5), ("many", 20)):
        (tmp_path / f"{name}.toml").write_text(ROWS.format(name=name, rows=rows))
    sv.release.plan(tmp_path / "few.toml", 2)
    assert spent(tmp_path) == 10
    many = sv.release.run(tmp_path / "many.toml")
    assert (many.slot, many.eps, spent(tmp_path)) == (None, 20, 30)
    few = sv.release.run(tmp_path / "few.toml")
    assert (few.slot, spent(tmp_path)) == (1, 30)


# ── logs and reports ────────────────────────────────────────────────────────────────────────────────


def test_nothing_of_a_record_is_in_the_ledger_the_sidecar_or_what_is_printed(tmp_path: Path) -> None:
    """Names, ids and values of the data, plain or hashed without a key, in any file but the data."""
    names = ["Clementine", "Oblomov"]
    done = subprocess.run(
        [sys.executable, "-m", "sievert", "release", str(mapped(tmp_path, names)), "--report", "page.html"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    secret = [name.encode() for name in names] + [b"52.5171234", b"13.3889234"]
    for name in names:
        for digest in (hashlib.md5, hashlib.sha1, hashlib.sha256):
            found = digest(name.encode()).digest()
            secret += [found[:16], found.hex()[:32].encode()]
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path.name not in ("taxis.csv",)]
    assert {path.name for path in files} >= {"ledger.jsonl", "places.sqlite", "out.csv.json", "page.html"}
    contents = {path.name: path.read_bytes() for path in files}
    contents |= {"stdout": done.stdout.encode(), "stderr": done.stderr.encode()}
    for name, content in contents.items():
        assert not [text for text in secret if text in content], name


def test_the_key_of_the_random_bits_goes_with_the_release(tmp_path: Path) -> None:
    """An output that cannot be given its name leaves the state of the run; the next run takes it away."""
    file = counting(tmp_path)
    sv.release.run(file, output=tmp_path / "first.csv")
    code = (
        "import os, sys, sievert as sv\n"
        "def fail(*_): os._exit(9)\n"
        "real = os.replace\n"
        "os.replace = lambda a, b: fail() if str(b).endswith('second.csv') else real(a, b)\n"
        f"sv.release.run({str(file)!r}, output={str(tmp_path / 'second.csv')!r})\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    (state,) = (tmp_path / "budget.ledger").glob("*.state")
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    left = json.loads(state.read_text())
    secrets = [bytes.fromhex(left["key"]), left["key"].encode(), left["seen"].encode()]
    sv.release.run(file, output=tmp_path / "third.csv")
    assert (tmp_path / "second.csv").exists() and not list((tmp_path / "budget.ledger").glob("*.state*"))
    for path in [*tmp_path.rglob("*"), *Path(os.environ["XDG_STATE_HOME"]).rglob("*.json")]:
        if path.is_file():
            assert not [secret for secret in secrets if secret in path.read_bytes()], path.name


def test_names_of_people_need_the_key(tmp_path: Path) -> None:
    """One store, two keys of the ledger: the same people have other names."""
    (tmp_path / "secret.key").write_text("a secret of twenty bytes or more")
    text = MAP.replace("[release]", '[release]\nledger_key = "secret.key"')
    file = mapped(tmp_path, ["ann", "bob"], text)
    sv.release.run(file)
    store = tmp_path / "budget.ledger" / "places.sqlite"
    with sqlite3.connect(store) as base:
        (own,) = base.execute("SELECT key FROM secret").fetchone()
        kept_names = {name for (name,) in base.execute("SELECT person FROM places")}
    assert len(own) == 32 and len(kept_names) == 2
    salt = body((tmp_path / "budget.ledger" / "ledger.jsonl").read_text().splitlines()[0])["salt"]
    for key in (own, str(salt).encode(), own + str(salt).encode()):
        guessed = {hmac.digest(key, name, hashlib.sha256)[:16] for name in (b"ann", b"bob")}
        assert not guessed & kept_names
