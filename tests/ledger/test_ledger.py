"""The budget ledger: exact, locked, and right after a kill at any step."""

import errno
import importlib.util
import multiprocessing
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sievert.errors import BudgetError, FileError, LedgerError, OutputError
from sievert.ledger import ADD_REMOVE, REPLACE, Budget, Chain, Ledger, amount, file_hash

_spec = importlib.util.spec_from_file_location("faults", Path(__file__).parents[1] / "faults.py")
assert _spec is not None and _spec.loader is not None
faults = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(faults)

HALF = Fraction(1, 2)
BUDGET = Budget(Fraction(3), {"income": Fraction(1)})
needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked child")


@pytest.fixture(autouse=True)
def instant_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kill loses nothing that was written, synced or not; the real disk is waited for in tests/release."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def release(
    folder: Path,
    name: str,
    eps: Fraction = HALF,
    columns: tuple[str, ...] = ("income",),
    ledger_name: str = "budget",
) -> None:
    with Ledger.hold(folder / ledger_name, BUDGET) as ledger:
        held = ledger.reserve(eps, columns, [folder / f"{name}.json", folder / f"{name}.csv"], id=name)
        held.write(0, b"{}\n")
        held.write(1, f"noisy,{name}\n".encode())
        held.commit()


def spent(folder: Path) -> Fraction:
    return Ledger.look(folder / "budget", BUDGET).spent


def test_a_release_is_charged_and_published(tmp_path: Path) -> None:
    release(tmp_path, "first")
    ledger = Ledger.look(tmp_path / "budget", BUDGET)
    assert ledger.spent == HALF
    assert ledger.remaining(["income", "age"]) == {None: Fraction(5, 2), "income": HALF}
    assert [entry.finished for entry in ledger.entries] == [True]
    commit = ledger.chain.records[-1]
    assert commit["sha256"][1] == file_hash(tmp_path / "first.csv")
    assert not list(tmp_path.glob(".*"))


def test_a_charge_reads_no_earlier_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums are kept beside the records: 515 releases made a charge 15 times as dear as the first."""
    read: list[Path] = []
    real = Chain.read.__func__  # type: ignore[attr-defined]

    def noted(kind: type[Chain], path: Path, *arguments: Any, **options: Any) -> Chain:
        read.append(path)
        found: Chain = real(kind, path, *arguments, **options)
        return found

    release(tmp_path, "first")
    monkeypatch.setattr(Chain, "read", classmethod(noted))
    for name in ("second", "third"):
        with Ledger.hold(tmp_path / "budget", BUDGET) as ledger:
            held = ledger.reserve(HALF, [], [tmp_path / name])
            held.write(0, b"1\n")
            held.commit()
    assert not read
    assert len(Ledger.look(tmp_path / "budget", BUDGET).entries) == 3 and read


def test_too_little_is_refused_with_the_numbers(tmp_path: Path) -> None:
    release(tmp_path, "first", Fraction(3, 4))
    with pytest.raises(
        BudgetError, match=r"asks for ε = 0\.5 through the column 'income' but 0\.25"
    ) as found:
        release(tmp_path, "second")
    assert (found.value.requested, found.value.remaining) == (HALF, Fraction(1, 4))
    assert found.value.difference == Fraction(1, 4)
    assert spent(tmp_path) == Fraction(3, 4)
    assert not (tmp_path / "second.csv").exists()
    release(tmp_path, "other", Fraction(9, 4), ("age",))
    with pytest.raises(BudgetError, match=r"for each person but 0 is left"):
        release(tmp_path, "last", Fraction(1, 10**30), ("age",))


def test_amounts_are_exact(tmp_path: Path) -> None:
    # Ten tenths as floats are less than 1, and three are more than 0.3.
    budget = Budget(amount(0.3, "person"))
    for i in range(3):
        with Ledger.hold(tmp_path, budget) as ledger:
            ledger.reserve(amount(0.1, "eps"), [], [tmp_path / f"{i}.csv"])
    assert Ledger.look(tmp_path).remaining() == {None: 0}


def test_ids_and_outputs_are_used_once(tmp_path: Path) -> None:
    release(tmp_path, "first", Fraction(1, 10))
    with pytest.raises(LedgerError, match="which this ledger has used"):
        release(tmp_path, "first", Fraction(1, 10))
    (tmp_path / "second.csv").write_text("mine")
    with pytest.raises(LedgerError, match="is there already"):
        release(tmp_path, "second", Fraction(1, 10))
    with pytest.raises(LedgerError, match="letters, digits"):
        release(tmp_path, "a/b", Fraction(1, 10))
    assert spent(tmp_path) == Fraction(1, 10)
    assert (tmp_path / "second.csv").read_text() == "mine"


def test_a_budget_cannot_be_raised(tmp_path: Path) -> None:
    release(tmp_path, "first")
    with (
        pytest.raises(LedgerError, match="opened with the budget person 3, income 1 but the file now says"),
        Ledger.hold(tmp_path / "budget", Budget(Fraction(9))),
    ):
        pass


def killed_in_every_state(
    tmp_path: Path, prepare: Callable[[Path], object], action: Callable[[Path], object]
) -> Iterator[Path]:
    """A prepared folder for each state of the disk that an action there can be killed in, killed there."""

    def prepared(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        prepare(folder)
        return folder

    rehearsal = prepared("rehearsal")
    found = faults.every_state(lambda: action(rehearsal), rehearsal)
    assert len(found) > 15
    for step, moment in found:
        folder = prepared(f"{step}-{moment}")
        assert faults.interrupted(lambda folder=folder: action(folder), step, moment)
        yield folder


@needs_fork
def test_killed_at_every_step(tmp_path: Path) -> None:
    """Charged from the whole reservation on; the output is there exactly from the whole commit on."""
    for folder in killed_in_every_state(
        tmp_path,
        lambda folder: release(folder, "before", Fraction(1, 4)),
        lambda folder: release(folder, "x"),
    ):
        with Ledger.hold(folder / "budget", BUDGET) as ledger:
            charged = ledger.spent - Fraction(1, 4)
            assert charged in (0, HALF)
            committed = any(entry.id == "x" and entry.finished for entry in ledger.entries)
        published = [(folder / name).exists() for name in ("x.json", "x.csv")]
        assert published == [committed, committed]
        assert not committed or charged == HALF
        assert not list(folder.glob(".*")), "nothing half-written stays"
        if committed:
            assert (folder / "x.csv").read_text() == "noisy,x\n"
        release(folder, "after", Fraction(1, 4))
        assert spent(folder) == HALF + charged


def opened(folder: Path) -> None:
    with Ledger.hold(folder / "budget", BUDGET):
        pass


def planned_release(folder: Path) -> None:
    """A plan of two, and the release in its first slot."""
    with Ledger.hold(folder / "budget", BUDGET) as ledger:
        plan = ledger.plans[0] if ledger.plans else ledger.plan(2, HALF, [], id="plan", pair={"mark": ""})
        held = ledger.reserve(HALF, [], [folder / "x.csv"], plan=plan.id)
        held.write(0, b"noisy\n")
        held.commit()


@needs_fork
def test_a_plan_and_its_slots_killed_at_every_step(tmp_path: Path) -> None:
    """The plan is charged whole or not at all; a slot is used from its reservation on, and once."""
    for folder in killed_in_every_state(tmp_path, opened, planned_release):
        with Ledger.hold(folder / "budget", BUDGET) as ledger:
            assert ledger.spent == (1 if ledger.plans else 0)
            used = ledger.plans[0].taken if ledger.plans else ()
            assert used == ((0,) if ledger.entries else ())
            assert (folder / "x.csv").exists() == any(entry.finished for entry in ledger.entries)
        (folder / "x.csv").unlink(missing_ok=True)
        planned_release(folder)
        ledger = Ledger.look(folder / "budget", BUDGET)
        assert ledger.spent == 1 and ledger.plans[0].taken == (*used, len(used))


@needs_fork
def test_killed_while_the_ledger_is_opened(tmp_path: Path) -> None:
    for folder in killed_in_every_state(tmp_path, lambda folder: None, lambda folder: release(folder, "x")):
        release(folder, "after")
        assert spent(folder) in (HALF, 2 * HALF)
        assert (folder / "after.csv").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="finds files by /proc")
@pytest.mark.parametrize("earlier", [True, False])
def test_power_lost_at_every_step(tmp_path: Path, earlier: bool) -> None:
    """Only what the disk confirmed is left: still every published file is charged and on record."""
    deep = "kept/apart/budget"
    lost = published = 0
    for step, _ in faults.every_step(("after",)):
        folder = tmp_path / str(step)
        folder.mkdir()
        if earlier:
            release(folder, "before", Fraction(1, 4), ledger_name=deep)
        if not faults.power_lost(lambda folder=folder: release(folder, "x", ledger_name=deep), folder, step):
            break
        lost += 1
        seen = (folder / "x.csv").exists()
        with Ledger.hold(folder / deep, BUDGET) as ledger:
            entries = {entry.id: entry for entry in ledger.entries}
            assert not earlier or entries["before"].finished
            assert not seen or entries["x"].finished
            assert (folder / "x.csv").exists() == ("x" in entries and entries["x"].finished)
            commits = {record["id"]: record for record in ledger.chain.records if record["kind"] == "commit"}
        if "x" in commits:
            published += 1
            assert file_hash(folder / "x.csv") == commits["x"]["sha256"][1]
        assert not list(folder.glob(".*.tmp"))
        release(folder, "after", Fraction(1, 4), ledger_name=deep)
    assert lost > 15 and published > 2


@needs_fork
def test_a_full_disk_at_every_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ENOSPC at any write: an error that says so, nothing published, the next release works."""
    real = os.write
    for failing in range(100):
        folder = tmp_path / str(failing)
        folder.mkdir()
        calls = iter(range(1000))

        def write(descriptor: int, content: bytes, calls: Any = calls, failing: int = failing) -> int:
            if next(calls) == failing:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(descriptor, content)

        with monkeypatch.context() as patch:
            patch.setattr(os, "write", write)
            try:
                release(folder, "x")
                assert failing > 3
                break
            except (LedgerError, OutputError) as problem:
                assert "No space left" in str(problem) and problem.exit_code == 3
        release(folder, "after", Fraction(1, 4))
        entries = Ledger.look(folder / "budget").entries
        # Where only the note after the commit failed, the next release finished this one.
        assert (folder / "x.csv").exists() == any(entry.id == "x" and entry.finished for entry in entries)
        assert spent(folder) in (Fraction(1, 4), Fraction(3, 4))


@needs_fork
def test_a_child_forked_under_the_lock_does_not_free_it(tmp_path: Path) -> None:
    import fcntl

    with Ledger.hold(tmp_path, BUDGET):
        child = os.fork()
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)
        other = os.open(tmp_path / "ledger.lock", os.O_RDWR)
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            os.close(other)


def test_every_prefix_loads_or_is_refused(tmp_path: Path) -> None:
    release(tmp_path, "first")
    path = tmp_path / "budget" / "ledger.jsonl"
    whole = path.read_bytes()
    lines = whole.split(b"\n")[:-1]
    cut = tmp_path / "cut.jsonl"
    for size in range(len(whole) + 1):
        cut.write_bytes(whole[:size])
        chain = Chain.read(cut, repair=True)
        complete = whole[:size].count(b"\n")
        # A record that lacks only the end of its line counts.
        complete += size < len(whole) and whole[size : size + 1] == b"\n"
        assert len(chain.records) == complete
        assert cut.read_bytes() == b"".join(line + b"\n" for line in lines[:complete])


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    release(tmp_path, "größe", columns=())
    path = tmp_path / "budget" / "ledger.jsonl"
    whole = path.read_bytes()
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(whole)
    # Byte by byte in place: to empty a file and fill it again is what takes a disk long.
    with damaged.open("r+b", buffering=0) as stream:
        for place, byte in enumerate(whole):
            for bit in range(8):
                stream.seek(place)
                stream.write(bytes([byte ^ 1 << bit]))
                with pytest.raises(LedgerError):
                    Chain.read(damaged, repair=True)
                assert damaged.read_bytes() == whole[:place] + bytes([byte ^ 1 << bit]) + whole[place + 1 :]
            stream.seek(place)
            stream.write(bytes([byte]))


def test_a_key_notices_a_rewritten_ledger(tmp_path: Path) -> None:
    with Ledger.hold(tmp_path, BUDGET, key=b"secret") as ledger:
        ledger.reserve(HALF, [], [tmp_path / "x.csv"])
    Ledger.look(tmp_path, key=b"secret")
    for key in (None, b"other"):
        with pytest.raises(LedgerError, match="does not follow"):
            Ledger.look(tmp_path, key=key)


def test_an_older_copy_is_noticed_by_its_anchor(tmp_path: Path) -> None:
    release(tmp_path, "first", Fraction(1, 4))
    shutil.copytree(tmp_path / "budget", tmp_path / "older")
    noted = Ledger.look(tmp_path / "budget").head[:16]
    release(tmp_path, "second", Fraction(1, 4))
    newer = Ledger.look(tmp_path / "budget").head[:16]
    with Ledger.hold(tmp_path / "budget", BUDGET, anchor=noted):
        pass
    shutil.rmtree(tmp_path / "budget")
    (tmp_path / "older").rename(tmp_path / "budget")
    with Ledger.hold(tmp_path / "budget", BUDGET, anchor=noted):
        pass
    for anchor, message in ((newer, "it is an older copy"), ("abc", "at least 12 digits")):
        with (
            pytest.raises(LedgerError, match=message),
            Ledger.hold(tmp_path / "budget", BUDGET, anchor=anchor),
        ):
            pass


@pytest.mark.parametrize("lost", ["deleted", "emptied", "rolled back"])
def test_a_ledger_that_lost_records_is_refused(tmp_path: Path, lost: str) -> None:
    release(tmp_path, "first", Fraction(1, 4))
    path = tmp_path / "budget" / "ledger.jsonl"
    older = path.read_bytes()
    release(tmp_path, "second", Fraction(1, 4))
    if lost == "emptied":
        path.write_bytes(b"")
    elif lost == "rolled back":
        path.write_bytes(older)
    else:
        path.unlink()
    for use in (lambda: release(tmp_path, "third"), lambda: spent(tmp_path)):
        with pytest.raises(LedgerError, match="but releases have been charged here"):
            use()
    assert not (tmp_path / "third.csv").exists()


def test_what_a_lost_ledger_left_is_no_new_ledger(tmp_path: Path) -> None:
    (tmp_path / "budget").mkdir()
    (tmp_path / "budget" / "places.sqlite").write_bytes(b"")
    with pytest.raises(LedgerError, match=r"places\.sqlite of an earlier ledger is there"):
        release(tmp_path, "first")


def test_a_ledger_without_notes_is_adopted(tmp_path: Path) -> None:
    release(tmp_path, "first", Fraction(1, 4))
    lock = tmp_path / "budget" / "ledger.lock"
    lock.write_bytes(lock.read_bytes()[:40])  # nothing but a torn note
    release(tmp_path, "second", Fraction(1, 4))
    (tmp_path / "budget" / "ledger.jsonl").unlink()
    with pytest.raises(LedgerError, match="is missing or empty"):
        release(tmp_path, "third")


def test_a_planted_link_is_not_followed(tmp_path: Path) -> None:
    with Ledger.hold(tmp_path / "budget", BUDGET) as ledger:
        # A name that is planted before it is drawn bears that of the ledger.
        planted = tmp_path / f".x.csv.x.sievert{str(ledger.name)[:8]}.tmp"
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    planted.symlink_to(outside)
    with pytest.raises(LedgerError, match="is there already, and not of this ledger"):
        release(tmp_path, "x")
    planted.unlink()
    with Ledger.hold(tmp_path / "budget", BUDGET) as ledger:
        held = ledger.reserve(HALF, [], [tmp_path / "x.csv"], id="x")
        held.temporary(0).symlink_to(outside)  # after the charge
        held.write(0, b"noisy\n")
        held.commit()
    assert outside.read_text() == "mine"
    assert (tmp_path / "x.csv").read_bytes() == b"noisy\n" and not (tmp_path / "x.csv").is_symlink()
    (tmp_path / "elsewhere.jsonl").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "ledger.jsonl").symlink_to(tmp_path / "elsewhere.jsonl")
    with pytest.raises(FileError, match="is a link"), Ledger.hold(tmp_path / "other", BUDGET):
        pass


def test_what_cannot_be_written_is_not_charged(tmp_path: Path) -> None:
    with Ledger.hold(tmp_path / "budget", BUDGET) as ledger:
        for id, target, message in [
            ("n" * 300, "x.csv", "use at most 100"),
            ("x", "y" * 250 + ".csv", "the name is too long"),
            ("x", "no\0name.csv", "cannot be the name"),
            ("x", "nowhere/x.csv", "no such folder"),
        ]:
            with pytest.raises(LedgerError, match=message):
                ledger.reserve(HALF, [], [tmp_path / target], id=id)
        (tmp_path / "dangling.csv").symlink_to(tmp_path / "not there")
        with pytest.raises(LedgerError, match="is there already"):
            ledger.reserve(HALF, [], [tmp_path / "dangling.csv"], id="x")
    assert spent(tmp_path) == 0


def test_a_release_is_retargeted_and_recovered_there(tmp_path: Path) -> None:
    """What was charged for an output that cannot be written any more is finished elsewhere."""
    (tmp_path / "gone").mkdir()
    with Ledger.hold(tmp_path / "budget", BUDGET) as ledger:
        held = ledger.reserve(HALF, [], [tmp_path / "gone" / "x.csv"], id="x", state=b"key", file="f")
        held.write(0, b"half")
    shutil.rmtree(tmp_path / "gone")
    with Ledger.hold(tmp_path / "budget", BUDGET) as ledger:
        held = ledger.unfinished(file="f")
        assert held is not None and held.state.read_bytes() == b"key"
        moved = ledger.retarget(held, [tmp_path / "x.csv"])
        moved.write(0, b"whole")
        # As far as the commit, and no further.
        ledger.append({"kind": "commit", "id": "x", "sha256": [file_hash(moved.temporary(0))]})
    with Ledger.hold(tmp_path / "budget", BUDGET) as ledger:
        assert [done.id for done in ledger.recovered] == ["x"]
    assert (tmp_path / "x.csv").read_bytes() == b"whole"
    assert spent(tmp_path) == HALF


def test_a_release_that_cannot_be_named_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    with Ledger.hold(tmp_path / "budget", BUDGET) as ledger:
        held = ledger.reserve(HALF, [], [tmp_path / "gone" / "x.csv"], id="x", state=b"key")
        held.write(0, b"noisy")
        ledger.append({"kind": "commit", "id": "x", "sha256": [file_hash(held.temporary(0))]})

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with Ledger.hold(tmp_path / "budget", BUDGET) as ledger:
            assert [held.id for held in ledger.pending] == ["x"]
    release(tmp_path, "second", Fraction(1, 4))
    assert (tmp_path / "gone" / "x.csv").read_bytes() == b"noisy"


def test_a_ledger_of_version_1_is_still_charged(tmp_path: Path) -> None:
    folder = tmp_path / "budget"
    folder.mkdir()
    budget = Budget(Fraction(3))
    Chain.read(folder / "ledger.jsonl").append(
        {"kind": "open", "version": 1, "salt": "00", "person": "3", "columns": {}}
    )
    with Ledger.hold(folder, budget) as ledger:
        assert ledger.relation is None
        ledger.reserve(HALF, [], [tmp_path / "x.csv"])
        assert "cost" not in ledger.entries[0].record
    assert Ledger.look(folder, budget).spent == HALF
    stated = Budget(Fraction(3), relation=REPLACE)
    with pytest.raises(LedgerError, match="was opened for no stated relation"):
        Ledger.look(folder, stated)


def test_a_ledger_states_its_relation(tmp_path: Path) -> None:
    with Ledger.hold(tmp_path / "a", BUDGET, relation=ADD_REMOVE) as ledger:
        assert ledger.relation == ADD_REMOVE
        held = ledger.reserve(HALF, [], [tmp_path / "x.csv"], eps=Fraction(1, 4))
        assert held.id == ledger.entries[0].id and ledger.entries[0].cost == HALF
    opening, reserved = Ledger.look(tmp_path / "a").chain.records
    assert (opening["version"], opening["currency"], opening["limit"]) == (2, "eps", "3")
    assert (reserved["cost"], reserved["eps"]) == ("1/2", "1/4")
    assert Ledger.look(tmp_path / "a", relation=REPLACE).relation == ADD_REMOVE
    stated = Budget(Fraction(3), relation=REPLACE)
    with Ledger.hold(tmp_path / "b", stated, relation=ADD_REMOVE) as ledger:
        assert ledger.relation == REPLACE
    with pytest.raises(LedgerError, match='for the relation "replace" but the file now says "add-remove"'):
        Ledger.look(tmp_path / "b", Budget(Fraction(3), relation=ADD_REMOVE))


def _spend(folder: Path, requests: int, results: "multiprocessing.Queue[int]") -> None:
    done = 0
    for number in range(requests):
        try:
            with Ledger.hold(folder / "budget", Budget(Fraction(10))) as ledger:
                held = ledger.reserve(
                    Fraction(1, 10),
                    [],
                    [folder / f"{os.getpid()}-{number}.csv"],
                    id=f"{os.getpid()}-{number}",
                )
                held.write(0, b"1\n")
                held.commit()
            done += 1
        except BudgetError:
            pass
    results.put(done)


def test_six_processes_share_one_budget(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    results = context.Queue()
    workers = [context.Process(target=_spend, args=(tmp_path, 40, results)) for _ in range(6)]
    for worker in workers:
        worker.start()
    total = sum(results.get() for _ in workers)
    for worker in workers:
        worker.join()
    assert total == 100
    assert len(list(tmp_path.glob("*.csv"))) == 100
    assert Ledger.look(tmp_path / "budget").spent == 10


def test_threads_wait_for_each_other(tmp_path: Path) -> None:
    running: list[int] = []
    most: list[int] = []

    def work() -> None:
        with Ledger.hold(tmp_path, BUDGET):
            running.append(1)
            most.append(len(running))
            running.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert max(most) == 1


def test_a_held_ledger_refuses_after_waiting(tmp_path: Path) -> None:
    with (
        Ledger.hold(tmp_path, BUDGET),
        pytest.raises(LedgerError, match="another release holds this ledger"),
        Ledger.hold(tmp_path, BUDGET, wait=0.05),
    ):
        pass


@needs_fork
def test_a_failing_disk_is_final(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release(tmp_path, "first", Fraction(1, 4))
    real = os.write

    def full(descriptor: int, content: bytes) -> int:
        return real(descriptor, content[: len(content) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(LedgerError, match="is the disk full"):
            release(tmp_path, "second", Fraction(1, 4))
    assert spent(tmp_path) == Fraction(1, 4)

    def broken(descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", broken)
        with pytest.raises(LedgerError, match="cannot be opened or repaired"):
            release(tmp_path, "third", Fraction(1, 4))
        # The torn record of the second could not be cut off; once it is, the third fails as it is charged.
        os.truncate(tmp_path / "budget" / "ledger.jsonl", _sound_size(tmp_path))
        with pytest.raises(LedgerError, match="cannot be written"):
            release(tmp_path, "third", Fraction(1, 4))
    assert not (tmp_path / "third.csv").exists()
    release(tmp_path, "fourth", Fraction(1, 4))
    # The third was written whole before the disk failed: charged, and nothing released.
    assert spent(tmp_path) == Fraction(3, 4)


def _sound_size(folder: Path) -> int:
    return (folder / "budget" / "ledger.jsonl").read_bytes().rindex(b"\n") + 1


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "budget").mkdir(mode=0o500)
    with pytest.raises(LedgerError, match="cannot be opened"):
        release(tmp_path, "first")


def test_a_published_file_that_was_exchanged_stops_everything(tmp_path: Path) -> None:
    with Ledger.hold(tmp_path / "budget", BUDGET) as ledger:
        held = ledger.reserve(HALF, [], [tmp_path / "x.csv"], id="x")
        held.write(0, b"1\n")
        ledger.chain.append({"kind": "commit", "id": "x", "sha256": [file_hash(held.temporary(0))]})
        held.temporary(0).write_bytes(b"2\n")
    with pytest.raises(LedgerError, match="is not the file whose hash"):
        release(tmp_path, "y")


def test_budget_files_name_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "budget.toml"
    for text, message in [
        ("columns = { a = 1 }", "key person is missing"),
        ("person = -1", "must be a number ≥ 0"),
        ("person = 'many'", "must be a number ≥ 0"),
        ("person = 1\npeople = 2", "key people is unknown"),
        ("person = 1\ncolumns = 3", "key columns must be a table"),
        ("person = ", "cannot be read as TOML"),
        ("person = 1\nrelation = 'line'", 'must be "replace" or "add-remove"'),
    ]:
        path.write_text(text)
        with pytest.raises((FileError, LedgerError), match=message):
            Budget.read(path)
    path.write_text("person = 3.0\n[columns]\nincome = 0.1\n")
    assert Budget.read(path) == Budget(Fraction(3), {"income": Fraction(1, 10)})
    path.write_text("person = 3.0\nrelation = 'add-remove'\n")
    assert Budget.read(path) == Budget(Fraction(3), {}, ADD_REMOVE)
