"""What did not fit in private data is said to its owner's terminal only."""

import os
import pty
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sievert.cli import main

CODE = "import sys; from sievert.cli import main; main(sys.argv[1:])"
SECRET = "987654"
Sievert = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A census with one income that the policy does not know."""
    shutil.copytree("examples", tmp_path / "examples", ignore=shutil.ignore_patterns("*.ledger", "out"))
    data = tmp_path / "examples" / "data" / "census.csv"
    lines = data.read_text(encoding="utf-8").splitlines()
    fields = lines[1].split(",")
    lines[1] = ",".join([fields[0], SECRET, *fields[2:]])
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path / "examples" / "census-count.toml"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_log_learns_only_that_the_data_did_not_fit(
    sievert: Sievert, file: Path, options: tuple[str, ...]
) -> None:
    done = sievert("release", file, *options)
    written = done.stdout + done.stderr
    assert done.returncode == 4
    assert "the data did not fit; nothing was charged" in written and "--details" in written
    assert SECRET not in written and "row 1" not in written
    assert not list(file.parent.rglob("*.ledger")) and not list(file.parent.rglob("out/*"))


def test_the_owner_may_ask_for_the_details(sievert: Sievert, file: Path) -> None:
    done = sievert("release", file, "--details")
    assert done.returncode == 4 and SECRET in done.stderr


def test_a_terminal_shows_the_details(file: Path) -> None:
    master, terminal = pty.openpty()
    try:
        command = [sys.executable, "-c", CODE, "release", str(file)]
        assert subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, check=False).returncode == 4
        assert SECRET in os.read(master, 10_000).decode()
    finally:
        os.close(master)
        os.close(terminal)


def test_a_mistake_of_sievert_writes_no_value_into_a_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **options: object) -> int:
        raise KeyError(SECRET)

    monkeypatch.setattr("sievert.cli.app.app", fail)
    with pytest.raises(SystemExit) as ended:
        main([])
    written = capsys.readouterr().err
    assert ended.value.code == 3 and "KeyError" in written and "in fail" in written
    assert SECRET not in written
