"""A release that is killed, torn, refused by the disk or attacked at any moment.

Never a charge forgotten and never one too many; never a half-written file under its own name; never a true
value where it does not belong. CI takes some of the steps; SIEVERT_CRASH=long (`make fuzz`) takes them all.
"""

import csv
import errno
import importlib
import importlib.util
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sievert as sv
from sievert.errors import BudgetError, SievertError
from sievert.files import load_policy_scenario
from sievert.ledger import Ledger, Reservation, file_hash
from sievert.tables import Batch, Rows
from tests.batches import in_batches_of

_spec = importlib.util.spec_from_file_location("tracing", Path(__file__).with_name("tracing.py"))
assert _spec is not None and _spec.loader is not None
tracing = importlib.util.module_from_spec(_spec)
sys.modules["tracing"] = tracing  # its dataclass looks itself up
_spec.loader.exec_module(tracing)

LONG = os.environ.get("SIEVERT_CRASH") == "long"
# Every how many-th step is taken, so that kinds of faults share the steps in a short run.
STRIDE = 1 if LONG else 9
traced = pytest.mark.skipif(not tracing.SUPPORTED, reason="follows system calls of Linux on x86-64")

ROWS = """version = 1
[policy]
values = { range = [0, 9] }
[mechanism]
kind = "randomised-response"
eps = 0.5
[data]
input = "data.csv"
column = "age"
person = "who"
[release]
ledger = "budget.toml"
output = "out.csv"
"""
TABLE = ROWS.replace(
    "range = [0, 9] }", "range = [0, 9] }\nrecords = 28\n[query]\nkind = 'histogram'"
).replace("randomised-response", "geometric")
PLACES = """version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 48.85, west = 2.30, north = 48.86, east = 2.32, cell = 100 }
[mechanism]
kind = "planar-geometric"
eps = 0.5
[data]
input = "data.csv"
column = ["lat", "lon"]
person = "who"
[release]
ledger = "budget.toml"
output = "out.csv"
stable = true
"""
SEVERAL = TABLE.replace(
    "[query]\nkind = 'histogram'",
    "[[query]]\nkind = 'histogram'\n[[query]]\nkind = 'quantile'\nq = 0.5\n[[query]]\nkind = 'sum'",
)
KINDS = {
    "rows": ROWS,
    "table": TABLE,
    "places": PLACES,
    "parquet": ROWS.replace("out.csv", "out.parquet"),
    "several": SEVERAL,
}
# Rows of what is released: cells of a histogram, with a quantile and a sum, or records.
RELEASED = {"table": 10, "several": 12}
# Several tables take the same steps as one: they are killed at all of them, and fail as one does.
FEWER = [kind for kind in KINDS if kind != "several"]
HALF = Fraction(1, 2)
SECRET = "Clementine"  # the name of everybody, which nothing but the data may hold


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk in memory where there is one: waiting for it takes no time, and a kill loses nothing."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    place = Path(tempfile.mkdtemp(dir="/dev/shm"))
    yield place
    shutil.rmtree(place)


@pytest.fixture(autouse=True)
def small_batches(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run has drawn row by row is noted every 16 batches: of rows there are more, else some.

    Places that are noted on the way are killed at every step in tests/release/internal/test_local.py.
    """
    given = getattr(request.node, "callspec", None)
    kind = "rows" if given is None else given.params.get("kind", "rows")
    in_batches_of(1 if kind == "rows" else 8, monkeypatch)


def prepared(folder: Path, kind: str, budget: str = "person = 5.0") -> Path:
    folder.mkdir(parents=True)
    with (folder / "data.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["age", "lat", "lon", "who"])
        for i in range(28):
            writer.writerow([i % 10, 48.8505 + 0.0003 * i, 2.3005 + 0.0006 * i, f"{SECRET}-{i}"])
    (folder / "budget.toml").write_text(budget)
    (folder / "file.toml").write_text(KINDS[kind])
    return folder / "file.toml"


def output_of(kind: str) -> str:
    return "out.parquet" if kind == "parquet" else "out.csv"


def steps(kind: str, folder: Path, first: int) -> Iterator[tuple[int, Path]]:
    """Every stride-th step of a release, each with a folder of its own; whoever uses it says when it ends."""
    stride = STRIDE if kind != "places" or LONG else 3 * STRIDE  # SQLite makes many calls
    for step in range(first, 10_000, stride):
        place = folder / f"{kind}-{step}"
        yield step, prepared(place, kind)
        shutil.rmtree(place)


def half_written(folder: Path, kind: str) -> list[bytes]:
    """What anybody could have seen under the table's temporary name, if it grows row by row."""
    if kind not in ("rows", "places"):
        return []
    return [path.read_bytes() for path in folder.glob(".out.csv.*.tmp") if ".json." not in path.name]


def require_sound(folder: Path, kind: str) -> None:
    """One charge, one published table that is whole and on record, nothing left over, no name anywhere."""
    ledger = Ledger.look(folder / "budget.ledger")
    assert [entry.finished for entry in ledger.entries] == [True] and ledger.spent == HALF
    commit = ledger.chain.records[-1]
    output = folder / output_of(kind)
    assert commit["sha256"] == [file_hash(Path(f"{output}.json")), file_hash(output)]
    beside = json.loads(Path(f"{output}.json").read_text(encoding="utf-8"))
    assert beside["output"] == {"file": output.name, "sha256": file_hash(output)}
    if output.suffix == ".csv":
        with output.open(newline="") as stream:
            assert len(list(csv.DictReader(stream))) == RELEASED.get(kind, 28)
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]
    left = {path.name for path in (folder / "budget.ledger").iterdir()} - {"places.sqlite"}
    assert left == {"ledger.jsonl", "ledger.lock"}, "the key of the random bits is gone"
    require_no_names(folder)


def require_no_names(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "data.csv":
            assert SECRET.encode() not in path.read_bytes(), path.name


def require_nothing_half(folder: Path, kind: str) -> bool:
    """Between a crash and what follows: every file under its own name is whole, charged and on record."""
    output = folder / output_of(kind)
    path = folder / "budget.ledger" / "ledger.jsonl"
    charged = path.exists() and b'"kind":"reserve"' in path.read_bytes()
    committed = path.exists() and b'"kind":"commit"' in path.read_bytes()
    for shown in (output, Path(f"{output}.json")):
        assert not shown.exists() or (charged and committed), shown.name
    require_no_names(folder)
    return output.exists()


@traced
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("moment", ["before", "torn", "after"])
def test_killed_at_every_system_call(disk: Path, kind: str, moment: str) -> None:
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    killed = 0
    for step, file in steps(kind, disk, {"before": 0, "torn": 1, "after": 2}[moment]):
        ended = tracing.stopped_at(lambda file=file: sv.release.run(file), step, moment)
        if not ended.reached:
            assert ended.code == 0, ended.words
            break
        killed += 1
        seen = half_written(file.parent, kind)
        if not require_nothing_half(file.parent, kind):
            sv.release.run(file)
            final = (file.parent / output_of(kind)).read_bytes()
            # What was drawn once comes out the same.
            assert all(final.startswith(part) for part in seen)
        else:
            with Ledger.hold(file.parent / "budget.ledger"):
                pass  # the last steps are made up for
        require_sound(file.parent, kind)
    assert killed > 20 // STRIDE


@pytest.mark.skipif(sys.platform != "linux", reason="forks what is loaded already")
@pytest.mark.parametrize("kind", ["rows", "table"])
@pytest.mark.parametrize("again", ["out.csv", "other.csv"])
@pytest.mark.parametrize(
    ("own", "name", "moment"),
    [
        (Ledger, "retarget", "before"),
        (Reservation, "discard", "before"),
        (Reservation, "discard", "after"),
        (Ledger, "append", "after"),
        (Ledger, "retarget", "after"),
    ],
)
def test_killed_while_it_takes_another_name(
    disk: Path, kind: str, again: str, own: type, name: str, moment: str
) -> None:
    """Begun as out.csv, interrupted, begun again as other.csv and killed there: formerly, after the record,
    temporary files with noisy values stayed under the first name."""
    file = prepared(disk / "place", kind)
    folder = file.parent

    def killed(own: type, name: str, moment: str, **options: Any) -> None:
        child = os.fork()
        if not child:
            with pytest.MonkeyPatch.context() as patched:
                _die_at(patched, own, name, moment)
                sv.release.run(file, **options)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9

    killed(Reservation, "commit", "before")
    assert list(folder.glob(".out.csv.*"))
    killed(own, name, moment, output=folder / "other.csv")
    assert not any(path.name in ("out.csv", "other.csv") for path in folder.iterdir())
    done = sv.release.run(file, output=folder / again)
    assert done.resumed and Path(done.output).name == again
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]
    ledger = Ledger.look(folder / "budget.ledger")
    assert [entry.finished for entry in ledger.entries] == [True] and ledger.spent == HALF


def _die_at(patched: pytest.MonkeyPatch, own: type, name: str, moment: str) -> None:
    """End the process before or after a call, as a kill would."""
    call = getattr(own, name)

    def dying(*given: Any, **told: Any) -> None:
        if moment == "after":
            call(*given, **told)
        os._exit(9)

    patched.setattr(own, name, dying)


@traced
@pytest.mark.parametrize("kind", FEWER)
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_every_system_call_may_fail(disk: Path, kind: str, error: int) -> None:
    """A full, broken or read-only disk: an answer with exit code 3, and the next run goes on for free."""
    if kind == "parquet":
        pytest.importorskip("pyarrow")
    failed = 0
    for step, file in steps(kind, disk, error % STRIDE):
        ended = tracing.stopped_at(lambda file=file: sv.release.run(file), step, "fail", error)
        if not ended.reached:
            assert ended.code == 0, ended.words
            break
        failed += ended.code != 0
        assert ended.code in (0, 3), (step, ended.words)
        assert SECRET not in ended.words
        spent = Ledger.look(file.parent / "budget.ledger").spent if _opened(file.parent) else 0
        assert ended.code == 0 or ("is charged" in ended.words) <= (spent == HALF)
        if not require_nothing_half(file.parent, kind):
            sv.release.run(file)
        else:
            with Ledger.hold(file.parent / "budget.ledger"):
                pass
        require_sound(file.parent, kind)
    assert failed > 15 // STRIDE


def _opened(folder: Path) -> bool:
    path = folder / "budget.ledger" / "ledger.jsonl"
    return path.exists() and b"\n" in path.read_bytes()


@traced
@pytest.mark.parametrize("kind", FEWER)
def test_a_disk_of_any_size(disk: Path, kind: str) -> None:
    """No file may grow beyond some bytes: refused or charged, never half; with room again it is finished."""
    resource = pytest.importorskip("resource")
    import signal

    if kind == "parquet":
        pytest.importorskip("pyarrow")

    def limited(file: Path, size: int) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        sv.release.run(file)

    for size in range(0, 6000, 150 if LONG else 750):
        file = prepared(disk / f"{kind}-{size}", kind)
        ended = tracing.stopped_at(lambda file=file, size=size: limited(file, size), 10**9, "none")
        assert ended.code in (0, 3), (size, ended.words)
        if not require_nothing_half(file.parent, kind):
            sv.release.run(file)
        require_sound(file.parent, kind)


PLANTED = [
    "out.csv",
    "out.csv.json",
    ".out.csv.mine.sievert.tmp",
    ".out.csv.json.mine.sievert.tmp",
    "budget.ledger/ledger.jsonl",
    "budget.ledger/ledger.lock",
    "budget.ledger/places.sqlite",
    "budget.ledger/mine.state",
    "budget.ledger/mine.state.new",
]


@pytest.mark.parametrize("name", PLANTED)
@pytest.mark.parametrize("planted", ["link", "dangling link", "hard link", "pipe", "folder", "file"])
def test_whatever_is_planted_at_a_name_is_neither_followed_nor_replaced(
    tmp_path: Path, name: str, planted: str
) -> None:
    file = prepared(tmp_path / "here", "places")
    if ".sievert." in name:
        # The name of a ledger is drawn when it is opened, and its files bear it.
        sv.release.run(file, output=file.with_name("first.csv"), id="first")
        owner = str(Ledger.look(file.with_name("budget.ledger")).name)[:8]
        name = name.replace(".sievert.", f".sievert{owner}.")
    victim = tmp_path / "victim"
    victim.write_text("mine")
    target = file.parent / name
    target.parent.mkdir(exist_ok=True)
    make: dict[str, Callable[[], object]] = {
        "link": lambda: target.symlink_to(victim),
        "dangling link": lambda: target.symlink_to(tmp_path / "nowhere"),
        "hard link": lambda: os.link(victim, target),
        "pipe": lambda: os.mkfifo(target),
        "folder": target.mkdir,
        "file": lambda: target.write_text("planted"),
    }
    make[planted]()
    if name.endswith("ledger.lock") and planted == "file":
        target.write_text("")  # a lock that is there already is the usual case
    try:
        sv.release.run(file, id="mine")
    except SievertError:
        assert not target.exists() or planted in ("link", "hard link", "pipe", "folder", "file")
        assert not (file.parent / "out.csv.json").is_file() or name == "out.csv.json"
    else:
        assert name.startswith("budget.ledger/") and (file.parent / "out.csv").is_file()
    if not (planted == "hard link" and name.endswith("ledger.lock")):  # it is the lock then
        assert victim.read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()


def test_links_planted_while_it_runs_are_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the charge, and before the files are made."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    real = Ledger.reserve

    def planting(ledger: Ledger, *arguments: Any, **options: Any) -> Any:
        held = real(ledger, *arguments, **options)
        for index in (0, 1):
            held.temporary(index).symlink_to(victim)
        held.state.with_name(held.state.name + ".new").symlink_to(victim)
        return held

    for kind in ("rows", "table", "places"):
        file = prepared(tmp_path / kind, kind)
        with monkeypatch.context() as patch:
            patch.setattr(Ledger, "reserve", planting)
            sv.release.run(file)
        assert victim.read_text() == "mine"
        assert not (file.parent / "out.csv").is_symlink()
        require_sound(file.parent, kind)


def test_data_exchanged_at_any_batch_is_not_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_batches_of(8, monkeypatch)
    real = Rows.batches
    for kind in ("rows", "places"):
        for changed in range(4):
            file = prepared(tmp_path / f"{kind}-{changed}", kind)
            passes = iter(range(10))

            def exchanged(
                rows: Any, columns: Any, size: int = 8, changed: int = changed, passes: Any = passes
            ) -> Any:
                draws = next(passes) == 1
                for number, batch in enumerate(real(rows, columns, size)):
                    if draws and number == changed:
                        cells = {name: list(reversed(column)) for name, column in batch.columns.items()}
                        batch = Batch(batch.first, cells, batch.size)
                    yield batch

            with monkeypatch.context() as patch:
                patch.setattr(Rows, "batches", exchanged)
                with pytest.raises(SievertError, match="the data changed while it was read") as found:
                    sv.release.run(file)
            assert found.value.exit_code == 3 and SECRET not in str(found.value)
            assert not require_nothing_half(file.parent, kind)
            assert sv.release.run(file).resumed
            require_sound(file.parent, kind)


def _release(file: str, number: int, results: "multiprocessing.Queue[tuple[int, str]]") -> None:
    try:
        sv.release.run(load_policy_scenario(file), output=Path(file).parent / f"{number}.csv")
        results.put((number, "released"))
    except BudgetError:
        results.put((number, "refused"))
    except Exception as problem:
        results.put((number, repr(problem)))


@pytest.mark.skipif(sys.platform != "linux", reason="forks what is loaded already")
@pytest.mark.parametrize("kind", ["rows", "table"])
def test_eight_processes_share_a_budget_for_five(tmp_path: Path, kind: str) -> None:
    file = prepared(tmp_path / kind, kind, "person = 2.5")
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    workers = [context.Process(target=_release, args=(str(file), i, results)) for i in range(8)]
    for worker in workers:
        worker.start()
    found = dict(results.get() for _ in workers)
    for worker in workers:
        worker.join()
    assert sorted(found.values()) == ["refused"] * 3 + ["released"] * 5
    assert {f"{n}.csv" for n, how in found.items() if how == "released"} == {
        path.name for path in file.parent.glob("?.csv")
    }
    ledger = Ledger.look(file.parent / "budget.ledger")
    assert ledger.spent == Fraction(5, 2) and all(entry.finished for entry in ledger.entries)
    # Each drew bits of its own.
    tables = [path.read_bytes() for path in file.parent.glob("?.csv")]
    assert len(set(tables)) == 5
    require_no_names(file.parent)


def test_what_is_previewed_comes_from_the_file_alone(tmp_path: Path) -> None:
    for kind in FEWER:
        file = prepared(tmp_path / kind, kind)
        before = json.dumps(sv.release.preview(file).to_dict(), default=str)
        (file.parent / "data.csv").unlink()
        after = json.dumps(sv.release.preview(file).to_dict(), default=str)
        assert before == after and SECRET not in after
        assert not (file.parent / "budget.ledger").exists()
