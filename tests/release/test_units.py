"""Row by row over a folder of files: the same bytes whoever does the work, one answer a unit, one charge."""

import csv
import json
import shutil
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import DataError, FileError, LedgerError, OutputError, SievertError
from sievert.ledger import Ledger, file_hash
from sievert.tables import Contents, Unit

ROWS = 40
SECRET = "Clementine"
FILE = """version = 1
[policy]
values = { range = [0, 9] }
[mechanism]
kind = "randomised-response"
eps = 0.5
[data]
input = "in"
column = "age"
person = "who"
[release]
ledger = "budget.toml"
output = "out.csv"
"""
SEEDED = FILE + "test_seed = 5\n"


def prepared(folder: Path, text: str = SEEDED, files: int = 3) -> Path:
    """A folder of private files, a budget and a file."""
    (folder / "in").mkdir(parents=True)
    for i in range(files):
        write(folder / "in" / f"{i}.csv", i)
    (folder / "budget.toml").write_text("person = 100")
    (folder / "file.toml").write_text(text)
    return folder / "file.toml"


def write(path: Path, number: int, rows: int = ROWS) -> None:
    lines = [f"{(number + j) % 10},{SECRET}-{number}-{j}" for j in range(rows)]
    path.write_text("age,who\n" + "\n".join(lines) + "\n")


def with_engine(engine: str, text: str = SEEDED) -> str:
    return text + f"engine = {engine}\n"


def require_sound(file: Path, files: int = 3) -> None:
    """One charge, one part for each unit, all on record; no key, nothing half, and no name left behind."""
    folder = file.parent
    ledger = Ledger.look(folder / "budget.ledger")
    assert [entry.finished for entry in ledger.entries] == [True] and ledger.spent == Fraction(1, 2)
    output = folder / "out.csv"
    assert ledger.chain.records[-1]["sha256"] == [file_hash(folder / "out.csv.json"), file_hash(output)]
    beside = json.loads((folder / "out.csv.json").read_text())["output"]
    assert beside["sha256"] == file_hash(output)
    assert [part["file"] for part in beside["parts"]] == [f"part-{i:05d}.csv" for i in range(files)]
    assert all(part["sha256"] == file_hash(output / part["file"]) for part in beside["parts"])
    for part in beside["parts"]:
        with (output / part["file"]).open(newline="") as stream:
            assert len(list(csv.DictReader(stream))) == ROWS
    assert {path.name for path in (folder / "budget.ledger").iterdir()} == {"ledger.jsonl", "ledger.lock"}
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]
    for path in folder.rglob("*"):
        if path.is_file() and path.parent.name != "in":
            assert SECRET.encode() not in path.read_bytes(), path.name


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The hash of what one process makes of the seed."""
    file = prepared(tmp_path_factory.mktemp("one"))
    done = sv.release.run(file)
    assert done.parts == 3 and "3 parts in the folder out.csv" in str(done) and not done.resumed
    require_sound(file)
    return file_hash(file.parent / "out.csv")


# ── Units, and what is fixed of them ────────────────────────────────────────────────────────────────────────


def test_a_pattern_names_the_same_units_as_its_folder(tmp_path: Path, expected: str) -> None:
    file = prepared(tmp_path / "here", SEEDED.replace('"in"', '"in/*.csv"'))
    sv.release.run(file)
    assert file_hash(file.parent / "out.csv") == expected
    other = prepared(tmp_path / "there")
    sv.release.run(other, data=str(tmp_path / "here" / "in"), output=other.parent / "out.csv")
    assert len(list((other.parent / "out.csv").iterdir())) == 3


def test_other_content_or_another_unit_has_other_bits() -> None:
    """Keys of units that differ in anything have nothing in common; the same unit has the same."""
    base = Contents(Unit("a.csv"), 2, (b"x" * 32,))
    others = [
        Contents(Unit("b.csv"), 2, (b"x" * 32,)),
        Contents(Unit("a.csv", (0, 1)), 2, (b"x" * 32,)),
        Contents(Unit("a.csv"), 2, (b"y" * 32,)),
        Contents(Unit("a.csv"), 3, (b"x" * 32,)),
        Contents(Unit("a.csv"), 2, (b"x" * 32, b"x" * 32)),
    ]
    key = b"k" * 32
    assert base.key(key) == Contents(Unit("a.csv"), 2, (b"x" * 32,)).key(key)
    assert len({base.key(key), base.key(b"l" * 32), *(other.key(key) for other in others)}) == 7


def test_the_law_is_that_of_one_table(tmp_path: Path) -> None:
    """Randomised response over 3 · 4000 rows: the share of truths, at a false alarm of 1e-6."""
    file = prepared(tmp_path / "here", FILE, 0)
    for i in range(3):
        write(file.parent / "in" / f"{i}.csv", i, 4000)
    sv.release.run(file)
    kept = 0
    for i in range(3):
        with (file.parent / "out.csv" / f"part-{i:05d}.csv").open(newline="") as stream:
            drawn = np.array([int(row["age"]) for row in csv.DictReader(stream)])
        kept += int((drawn == (i + np.arange(4000)) % 10).sum())
    share = np.exp(0.5) / (np.exp(0.5) + 9)
    assert abs(kept - 12000 * share) < 4.9 * np.sqrt(12000 * share * (1 - share))


def test_rows_of_one_person_are_counted_over_all_files(tmp_path: Path) -> None:
    file = prepared(tmp_path / "here")
    with (file.parent / "in" / "2.csv").open("a") as stream:
        stream.write(f"3,{SECRET}-0-7\n")
    with pytest.raises(DataError, match="a person with 2 rows") as found:
        sv.release.run(file)
    assert found.value.exit_code == 4 and not (file.parent / "budget.ledger").exists()


# ── Engines ─────────────────────────────────────────────────────────────────────────────────────────────────


# ── What goes wrong, and going on ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("planted", ["file", "link", "part"])
def test_nothing_planted_becomes_part_of_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    file = prepared(tmp_path / "here")
    real = Ledger.reserve

    def planting(ledger: Ledger, *arguments: Any, **options: Any) -> Any:
        held = real(ledger, *arguments, **options)
        place = held.temporary(1)
        if planted == "link":
            (tmp_path / "victim").mkdir()
            place.symlink_to(tmp_path / "victim")
        elif planted == "file":
            place.write_text("planted")
        else:
            place.mkdir()
            (place / "part-00007.csv").write_text("planted")
        return held

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "reserve", planting)
        with pytest.raises(OutputError, match=r"is not the folder|is not a part"):
            sv.release.run(file)
    assert not (file.parent / "out.csv").exists()
    assert planted != "link" or not list((tmp_path / "victim").iterdir())


BAD = {
    "empty folder": ('input = "in"', 'input = "none"', FileError, "is a folder without a file"),
    "no match": ('input = "in"', 'input = "in/*.parquet"', FileError, "no file matches this pattern"),
    "strange file": ('input = "in"', 'input = "mixed"', FileError, r"notes\.md: is in none.*\*\.csv"),
    "one file twice": ('input = "in"', 'input = "twice"', FileError, "is the same file as"),
    "no such engine": ("[release]", '[release]\nengine = "rey"', FileError, '"ray" nor the address'),
    "no host": ("[release]", '[release]\nengine = "ray://"', FileError, "nor the address"),
    "a password": (
        "[release]",
        '[release]\nengine = "ray://a:b@c:1"',
        FileError,
        "without a name or password",
    ),
    "no workers": (
        "[release]",
        "[release]\nengine = { kind = 'processes', workers = 0 }",
        FileError,
        "workers",
    ),
    "engine and one file": (
        'input = "in"\n',
        'input = "in/0.csv"\n',
        FileError,
        "release.engine: goes with a release row by row",
    ),
    "stable": ("[release]", "[release]\nstable = true", FileError, "stable"),
    "output there": ("out.csv", "there.csv", LedgerError, "is there already"),
    "cluster not there": (
        "[release]",
        '[release]\nengine = "ray://127.0.0.1:9"',
        OutputError,
        "nothing was charged",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_done_is_said_before_anything_is_charged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    old, new, error, words = BAD[case]
    text = FILE.replace(old, new)
    if case == "engine and one file":
        text = with_engine('"processes"', text)
    if case == "cluster not there":
        monkeypatch.setattr(pytest.importorskip("ray"), "is_initialized", lambda: False)
        monkeypatch.setenv("SIEVERT_HOSTS", "ray://127.0.0.1:9")
    file = prepared(tmp_path / "here", text)
    for name in ("none", "mixed", "twice", "there.csv"):
        (file.parent / name).mkdir()
    (file.parent / "mixed" / "notes.md").touch()
    shutil.copy(file.parent / "in" / "0.csv", file.parent / "twice" / "a.csv")
    (file.parent / "twice" / "b.csv").symlink_to(file.parent / "twice" / "a.csv")
    with pytest.raises(error, match=words):
        sv.release.run(file)
    assert (
        not (file.parent / "budget.ledger").exists() or not Ledger.look(file.parent / "budget.ledger").spent
    )


def test_ray_that_is_not_installed_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(FileError, match=r"install sievert\[cluster\]") as found:
        sv.release.run(prepared(tmp_path / "here", with_engine('"ray"')))
    assert isinstance(found.value, SievertError) and not (tmp_path / "here" / "budget.ledger").exists()
