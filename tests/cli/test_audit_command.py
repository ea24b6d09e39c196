"""`sievert audit` as a user runs it: output, exit codes, files."""

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import sievert as sv
from sievert.errors import SievertError

Sievert = Callable[..., CompletedProcess[str]]


def test_audit_speaks_and_writes_a_report(sievert: Sievert, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    done = sievert("audit", "examples/survey-response.toml", "--report", report)
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert "guessed with probability 25.0% before, 50.0% after one release and 58.3% after 3" in said
    assert report.read_text().startswith("<!doctype html>")


def test_json_is_json(sievert: Sievert) -> None:
    done = sievert("audit", "examples/census-count.toml", "--json")
    result = json.loads(done.stdout)
    assert result["passed"] is True
    assert result["epsilon"]["nats"] == pytest.approx(0.5)


def test_exit_codes(sievert: Sievert, tmp_path: Path) -> None:
    text = Path("examples/survey-response.toml").read_text()
    (tmp_path / "strict.toml").write_text(text.replace("guess = 0.95", "guess = 0.3"))
    refused = sievert("audit", tmp_path / "strict.toml")
    assert refused.returncode == 1
    assert "EXCEEDS the limit 30.0%" in refused.stdout
    (tmp_path / "bad.toml").write_text(text.replace("[policy]", "[polcy]"))
    bad = sievert("audit", tmp_path / "bad.toml", "--report", tmp_path / "never.html")
    assert bad.returncode == 2
    assert "polcy" in bad.stderr
    assert "Traceback" not in bad.stderr
    assert not (tmp_path / "never.html").exists()


def test_what_is_not_a_file(sievert: Sievert, tmp_path: Path) -> None:
    missing = sievert("audit", tmp_path / "missing.toml")
    assert missing.returncode == 2
    assert (
        missing.stderr
        == f"sievert: {tmp_path / 'missing.toml'}: no such file; give the path of a TOML file\n"
    )
    folder = sievert("audit", tmp_path)
    assert folder.returncode == 2
    assert folder.stderr == f"sievert: {tmp_path}: is a folder; name a file in it\n"
    nowhere = sievert("audit", "examples/survey-response.toml", "--report", tmp_path)
    assert nowhere.returncode == 2
    assert "is a folder" in nowhere.stderr
    assert "Traceback" not in nowhere.stderr


def test_a_bet_does_not_end_the_audit(sievert: Sievert, tmp_path: Path) -> None:
    (tmp_path / "bet.csv").write_text("action,a,b\nheads,1,-1\ntails,-1,1\n")
    (tmp_path / "bet.toml").write_text(
        """
        version = 1
        policy = { values = ["a", "b"] }
        mechanism = { kind = "randomised-response", eps = 1.0 }
        adversary = { gains = [{ matrix = "bet.csv", name = "a bet" }] }
        """
    )
    done = sievert("audit", tmp_path / "bet.toml", "--report", tmp_path / "bet.html")
    assert done.returncode == 0, done.stderr
    assert "A bet: 0 before, 0.4621 after (0.4621 more)." in done.stdout


def test_version_and_help(sievert: Sievert) -> None:
    assert sievert("--version").stdout.startswith("sievert ")
    shown = sievert("audit", "--help").stdout
    assert "--report" in shown
    assert "--json" in shown


@pytest.mark.parametrize(
    "rest",
    [
        'values = [1e308, 1]\nrecords = 2\n[query]\nkind = "sum"\n',
        f"values = [1, 1{'0' * 400}]\n",
        f'values = [1, 1{"0" * 400}]\nrecords = 2\n[query]\nkind = "sum"\n',
        f'values = [1, 1{"0" * 400}]\nrecords = 2\nsecrets = "line"\n[query]\nkind = "sum"\n',
    ],
)
def test_values_beyond_the_largest_float_are_an_answer(tmp_path: Path, rest: str) -> None:
    path = tmp_path / "file.toml"
    text = f'version = 1\n[policy]\n{rest}[mechanism]\nkind = "geometric"\neps = 1.0\n'
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SievertError, match="beyond the largest float"):
        sv.audit(path)
