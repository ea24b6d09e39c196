"""Row by row, in small batches: killed at every step, interrupted and resumed."""

import json
import os
from fractions import Fraction
from pathlib import Path

import pytest

import sievert as sv
from sievert.ledger import Ledger
from sievert.release import _row_release as local
from tests.batches import in_batches_of
from tests.release.test_local import (
    AGES,
    MAP,
    faults,
    killed_in_every_state,
    needs_fork,
    places,
    released,
    scenario,
)


def test_an_interrupt_by_the_keyboard_can_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_batches(monkeypatch)
    described = scenario(tmp_path, AGES, "age", list(range(10)) * 6)

    def stop(word: str, rows: int, total: int | None) -> None:
        if word == "drawing" and rows >= 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sv.release.run(described, progress=stop)
    assert not (tmp_path / "out.csv").exists()
    (before,) = half_written(tmp_path)
    done = sv.release.run(described)
    assert done.resumed and done.eps == 0 and done.remaining == 100 - Fraction(1, 2)
    assert (tmp_path / "out.csv").read_text().startswith(before)


def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    in_batches_of(8, monkeypatch)
    monkeypatch.setattr(local, "NOTED", 2)


def half_written(folder: Path) -> list[str]:
    """What lies under the table's temporary name."""
    return [path.read_text() for path in folder.glob(".out.csv.*.tmp") if ".json." not in path.name]


@needs_fork
def test_killed_at_every_step_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the step: charged once, and a row that was on disk once comes out the same in the end."""
    small_batches(monkeypatch)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # a kill loses nothing that was written
    values = [i % 10 for i in range(28)]
    kills = resumed = 0
    folder, described = tmp_path, scenario(tmp_path, AGES, "age", values, "person = 1")
    for _ in killed_in_every_state(described):
        kills += 1
        seen = half_written(folder)
        finished = (folder / "out.csv").exists()
        if not finished:
            done = sv.release.run(described)
            resumed += done.resumed
            if done.resumed:
                # What anybody could have seen half-written is the beginning of what was released.
                final = (folder / "out.csv").read_text()
                assert all(final.startswith(text) for text in seen)
        with Ledger.hold(folder / "budget.ledger") as ledger:
            pass
        entries = ledger.entries
        assert ledger.spent == Fraction(1, 2) * len(entries)
        assert len(entries) == 1 or (len(entries) == 2 and not entries[0].finished)
        assert len(released(folder)) == 28
        content = json.loads((folder / "out.csv.json").read_text())
        assert content["output"]["file"] == "out.csv"
        assert not list(folder.glob(".*"))
        left = {path.name for path in (folder / "budget.ledger").iterdir()}
        assert left == {"ledger.jsonl", "ledger.lock"}, "the sealed key is gone"
    assert kills > 40 and resumed > 10


@needs_fork
def test_an_interrupted_run_can_be_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_batches(monkeypatch)
    described = scenario(tmp_path, AGES, "age", list(range(10)) * 4)
    assert faults.interrupted(lambda: sv.release.run(described), 25, "after")
    done = sv.release.run(described, fresh=True)
    assert not done.resumed
    assert Ledger.look(tmp_path / "budget.ledger").spent == 1


@needs_fork
def test_changed_data_is_another_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_batches(monkeypatch)
    described = scenario(tmp_path, AGES, "age", list(range(10)) * 4)
    assert faults.interrupted(lambda: sv.release.run(described), 25, "after")
    done = sv.release.run(scenario(tmp_path, AGES, "age", list(range(9, -1, -1)) * 4))
    assert not done.resumed and done.eps == Fraction(1, 2)


@pytest.mark.slow
@needs_fork
def test_stable_places_killed_at_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_batches(monkeypatch)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    text = MAP.replace("rows_per_person = 2\n", "") + 'stable = true\nkeep = ["who"]\n'
    rows = [(a, b, f"p{i % 7}") for i, (a, b, _) in enumerate(places(40))]
    folder, described = tmp_path, scenario(tmp_path, text, "lat,lon,who", rows, "person = 0.02")
    for _ in killed_in_every_state(described):
        seen = half_written(folder)
        if not (folder / "out.csv").exists():
            sv.release.run(described)
        final = (folder / "out.csv").read_text()
        assert all(final.startswith(text) for text in seen)
        found: dict[str, tuple[str, str]] = {}
        for row in released(folder):
            assert found.setdefault(row["who"], (row["lat"], row["lon"])) == (row["lat"], row["lon"])
