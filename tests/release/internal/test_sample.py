"""Rows that a key chooses among those of a person."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.ledger import Reservation
from sievert.release._contribution_bounding import BoundedContributions
from sievert.tables import Batch
from tests.release.test_people import sampled_file


def test_a_run_that_is_resumed_keeps_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, commit, choose = [], Reservation.commit, BoundedContributions.chosen

    def chosen(self: BoundedContributions, key: bytes) -> tuple[np.ndarray, np.ndarray]:
        codes, counts = choose(self, key)
        kept.append((codes.tolist(), counts.tolist()))
        return codes, counts

    def broken(*given: Any, **noted: Any) -> object:
        if len(kept) == 1:
            raise OSError(28, "no space left")
        return commit(*given, **noted)

    monkeypatch.setattr(BoundedContributions, "chosen", chosen)
    monkeypatch.setattr(Reservation, "commit", broken)
    file = sampled_file(tmp_path, ["a,ann"] * 6 + ["b,ann"] * 6 + ["b,bob"])
    with pytest.raises(Exception, match="no space left"):
        sv.release.run(file)
    done = sv.release.run(file)
    assert len(kept) == 2
    assert kept[0] == kept[1]
    assert done.eps == 0  # it was charged by the run that broke off


def test_taking_a_person_away_changes_nothing_of_others() -> None:
    rows = [(name, code) for name in ("ann", "bob", "eve") for code in range(6)]
    for key in (bytes([i]) * 32 for i in range(20)):
        found = []
        for without in (None, "ann"):
            some = [row for row in rows if row[0] != without]
            sampled = BoundedContributions("id", 2)
            names, codes = [name for name, _ in some], np.array([code for _, code in some])
            sampled.add(Batch(1, {"id": names}, len(names)), codes, codes >= 0)
            found.append(np.repeat(*sampled.chosen(key)).tolist())
            assert sampled.size == len(found[-1])
        left = list(found[0])
        for code in found[1]:
            left.remove(code)
        assert len(left) == 2


def test_every_row_of_a_person_is_equally_likely_to_be_kept() -> None:
    sampled = BoundedContributions("id", 2)
    sampled.add(Batch(1, {"id": ["ann"] * 5}, 5), np.arange(5), np.ones(5, dtype=bool))
    kept = np.bincount(np.concatenate([sampled.chosen(i.to_bytes(32, "big"))[0] for i in range(1000)]))
    # 400 each with a standard deviation of 15.5: five of them away comes once in a million.
    assert np.abs(kept - 400).max() < 78
