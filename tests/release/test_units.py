"""Row by row over a folder of files: the same bytes whoever does the work, one answer a unit, one charge."""

import csv
import importlib
import json
import os
import shutil
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import DataError, FileError, LedgerError, OutputError, SievertError
from sievert.ledger import Ledger, file_hash
from sievert.release import _units as units
from sievert.tables import Contents, Unit, units_in
from sievert.tables import _engines as engines
from sievert.tables import _units as table_units

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


@pytest.fixture
def dying(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Work that dies where it was planted, in a module that workers can import."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    found = importlib.import_module("dying")
    monkeypatch.setattr(units, "draw_unit", found.draw_unit)
    return found


def plant(file: Path, *names: str) -> None:
    (file.parent / "dies").mkdir()
    for name in names:
        (file.parent / "dies" / name).touch()


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


def test_the_manifest_is_kept_before_the_charge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = prepared(tmp_path / "here")
    kept: list[Any] = []

    def looked(shared: Any, part: Any) -> int:
        (state,) = (file.parent / "budget.ledger").glob("*.state")
        kept.append(json.loads(state.read_text())["units"])
        assert oct(state.stat().st_mode)[-3:] == "600"
        return real(shared, part)

    real = units.draw_unit
    monkeypatch.setattr(units, "draw_unit", looked)
    sv.release.run(file)
    assert len(kept) == 3 and kept[0] == kept[2]
    assert [(unit["file"], unit["rows"]) for unit in kept[0]] == [(f"in/{i}.csv", ROWS) for i in range(3)]
    assert len({unit["sha256"] for unit in kept[0]}) == 3


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


def test_a_pool_gives_the_same_bytes_and_may_lose_workers(tmp_path: Path, expected: str, dying: Any) -> None:
    """Killed during and after the publication of a part: one answer a unit, one charge."""
    file = prepared(tmp_path / "here", with_engine('{ kind = "processes", workers = 2 }'))
    plant(file, "during-part-00000", "after-part-00001")
    sv.release.run(file)
    assert not list((file.parent / "dies").iterdir()), "every worker died that was to die"
    shutil.rmtree(file.parent / "dies")
    require_sound(file)
    assert file_hash(file.parent / "out.csv") == expected


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Ray with two workers, begun once."""
    if not os.environ.get("SIEVERT_REQUIRE_RAY"):
        pytest.importorskip("ray", reason="needs Ray (extra cluster)")
    import ray

    here = str(Path(__file__).parent)  # where workers find work that dies
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")  # beside other tests workers would wait for long
        patch.setenv("PYTHONPATH", os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])]))
        ray.init(
            address="local",
            num_cpus=2,
            include_dashboard=False,
            object_store_memory=80 * 2**20,
            log_to_driver=False,
            configure_logging=False,
        )
        yield ray
        ray.shutdown()


def test_ray_gives_the_same_bytes_and_may_lose_workers(
    tmp_path: Path, expected: str, dying: Any, cluster: Any
) -> None:
    file = prepared(tmp_path / "here", with_engine('"ray"'))
    plant(file, "before-part-00002", "during-part-00000", "after-part-00001")
    sv.release.run(file)
    assert cluster.is_initialized(), "a cluster that was there is left as it was"
    assert not list((file.parent / "dies").iterdir())
    shutil.rmtree(file.parent / "dies")
    require_sound(file)
    assert file_hash(file.parent / "out.csv") == expected
    (file.parent / "in" / "1.csv").write_text("age,who\n77,x\n")
    with pytest.raises(DataError, match=r"1\.csv: row 1 has '77'"):  # as said in one process
        sv.release.run(file, output=file.parent / "other.csv")


class Mortal(engines._Here):
    """Workers that die so often before each task."""

    deaths = 0

    def result(self, begun: Any) -> Any:
        if begun[1] == 3 and self.deaths:
            self.deaths -= 1
            raise engines.WorkerDied("killed")
        return super().result(begun)


def test_a_task_is_done_again_but_not_for_ever() -> None:
    workers = Mortal(10, 2)
    workers.deaths = engines.MOST_DEATHS - 1
    assert list(workers.map(lambda shared, task: shared * task, range(6))) == [0, 10, 20, 30, 40, 50]
    workers.deaths = engines.MOST_DEATHS
    with pytest.raises(OutputError, match="engine: a worker died 3 times on one task"):
        list(workers.map(lambda shared, task: shared * task, range(6)))


# ── What goes wrong, and going on ───────────────────────────────────────────────────────────────────────────


def test_whatever_dies_is_finished_by_another_engine(
    tmp_path: Path, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run ends between two parts: charged, said so, and finished with the same rows for free."""
    file = prepared(tmp_path / "here")
    real = units.draw_unit

    def gone(shared: Any, part: Any) -> int:
        if part.target.stem == "part-00001":
            raise OutputError("engine: Ray gave up (the head is gone)")
        return real(shared, part)

    with monkeypatch.context() as patch:
        patch.setattr(units, "draw_unit", gone)
        with pytest.raises(OutputError, match=r"gave up .* is charged .* and not published.* run the same"):
            sv.release.run(file)
    assert not (file.parent / "out.csv").exists()
    (file.parent / "file.toml").write_text(with_engine('"one"'))
    again = sv.release.run(file)
    assert again.resumed and again.eps == 0 and file_hash(file.parent / "out.csv") == expected
    require_sound(file)


def test_a_unit_that_changed_since_the_manifest_is_not_drawn(
    tmp_path: Path, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = prepared(tmp_path / "here")
    real, last = units.draw_unit, file.parent / "in" / "2.csv"
    before = last.read_bytes()

    def exchanged(shared: Any, part: Any) -> int:
        write(last, 7)
        return real(shared, part)

    with monkeypatch.context() as patch:
        patch.setattr(units, "draw_unit", exchanged)
        with pytest.raises(OutputError, match=r"2\.csv: changed since it was checked.*is charged") as found:
            sv.release.run(file)
    assert SECRET not in str(found.value) and not (file.parent / "out.csv").exists()
    assert len(list(file.parent.glob(".out.csv.*.tmp/*"))) == 2, "nothing of the changed unit"
    last.write_bytes(before)
    assert sv.release.run(file).resumed
    assert file_hash(file.parent / "out.csv") == expected
    require_sound(file)


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
