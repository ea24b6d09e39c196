"""Releases of vectors that are interrupted, and run again."""

import shutil
from pathlib import Path

import pytest

import sievert as sv
from sievert.errors import OutputError
from sievert.ledger import Reservation


def test_an_interrupted_release_is_finished_at_no_further_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree("examples/users", tmp_path / "users")
    scenario = sv.load(tmp_path / "users" / "users.toml")

    def full(*_: object, **noted: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as broken:
        broken.setattr(Reservation, "commit", full)
        with pytest.raises(OutputError, match=r"is charged .* and not published"):
            sv.release.run(scenario)
    assert not (tmp_path / "users" / "out" / "codes.csv").exists()
    elsewhere = tmp_path / "elsewhere.csv"
    found = sv.release.run(scenario, output=elsewhere)
    assert found.resumed and found.eps == 0 and elsewhere.exists()
