"""`sievert audit` as a user runs it: output, exit codes, files."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def sievert(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sievert", *map(str, arguments)], capture_output=True, text=True, check=False
    )


def test_audit_speaks_and_writes_a_report(tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    done = sievert("audit", "examples/survey-response.toml", "--report", report)
    assert done.returncode == 0, done.stderr
    assert "guessed with probability 25.0% before and 50.0% after" in " ".join(done.stdout.split())
    assert report.read_text().startswith("<!doctype html>")


def test_json_is_json() -> None:
    done = sievert("audit", "examples/census-count.toml", "--json")
    result = json.loads(done.stdout)
    assert result["passed"] is True
    assert result["epsilon"]["nats"] == pytest.approx(0.5)


def test_exit_codes(tmp_path: Path) -> None:
    text = Path("examples/survey-response.toml").read_text()
    (tmp_path / "strict.toml").write_text(text.replace("guess = 0.95", "guess = 0.3"))
    refused = sievert("audit", tmp_path / "strict.toml")
    assert refused.returncode == 1
    assert "EXCEEDS the limit 0.3" in refused.stdout
    (tmp_path / "bad.toml").write_text(text.replace("[policy]", "[polcy]"))
    bad = sievert("audit", tmp_path / "bad.toml", "--report", tmp_path / "never.html")
    assert bad.returncode == 2
    assert "polcy" in bad.stderr
    assert "Traceback" not in bad.stderr
    assert not (tmp_path / "never.html").exists()
    assert sievert("audit", tmp_path / "missing.toml").returncode == 2


def test_version_and_help() -> None:
    assert sievert("--version").stdout.startswith("sievert ")
    shown = sievert("audit", "--help").stdout
    assert "--report" in shown
    assert "--json" in shown
