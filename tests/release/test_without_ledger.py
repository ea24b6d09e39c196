"""Gaussian noise: drawn and published where no ledger is named, refused by a ledger in ε, with its claim."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.errors import FileError, LedgerError, NotAcceptedError

FILE = """version = 1
[policy]
values = ["a", "b", "c"]
records = 6
[query]
kind = "histogram"
[mechanism]
kind = "gaussian"
sigma = {sigma}
{claim}
[data]
input = "data.csv"
column = "x"
[release]
output = "out.csv"
{ledger}
"""
# σ² = 10, to 14 digits.
TEN = '"3.16227766016838"'


def written(folder: Path, sigma: str = "2", claim: str = "", ledger: str = "") -> Path:
    (folder / "data.csv").write_text("x\na\na\na\nb\nb\nc\n")
    (folder / "budget.toml").write_text("person = 3.0\n")
    path = folder / "file.toml"
    path.write_text(FILE.format(sigma=sigma, claim=claim, ledger=ledger), encoding="utf-8")
    return path


def test_without_a_ledger_nothing_is_released_unless_it_is_asked_for(tmp_path: Path) -> None:
    """Formerly three outputs of σ = 0.1, the data in all but name, and nothing charged."""
    path = written(tmp_path, "0.1")
    would = sv.release.preview(path)
    assert not would.possible and "names no ledger" in str(would.refusal)
    for name in ("a.csv", "b.csv", "c.csv"):
        with pytest.raises(LedgerError, match=r"names no ledger.*--without-ledger \(without_ledger=True"):
            sv.release.run(path, output=tmp_path / name)
        done = CliRunner().invoke(app, ["release", str(path), "--output", str(tmp_path / name)])
        assert isinstance(done.exception, LedgerError) and not list(tmp_path.glob(f"{name}*"))
    assert sv.release.run(path, without_ledger=True).remaining is None
    charged = written(tmp_path, ledger='ledger = "budget.toml"')
    with pytest.raises(LedgerError, match="leave it out"):
        sv.release.run(charged, without_ledger=True)


def test_it_is_released_and_no_ledger_adds_it_up(tmp_path: Path) -> None:
    path = written(tmp_path)
    would = sv.release.preview(path, without_ledger=True)
    assert would.possible and would.eps is None and would.remaining is None
    assert "keeps no ε" in str(would) and any("No ledger" in note for note in would.warnings)
    done = sv.release.run(path, without_ledger=True)
    assert done.eps is None and done.remaining is None and done.secure and done.table is not None
    assert "no ledger adds it up" in str(done) and any("Every further release" in note for note in done.notes)
    beside = json.loads((tmp_path / "out.csv.json").read_text())
    assert beside["eps"] is None and beside["ledger"] is None
    assert beside["mechanism"]["parameters"] == {"sigma_squared": "4"}
    assert beside["promise"].startswith("No ε is promised")
    assert beside["output"]["sha256"] and not list(tmp_path.glob("*.ledger"))
    with pytest.raises(FileError, match="is there already"):
        sv.release.run(path, without_ledger=True)
    assert not sv.release.preview(path, without_ledger=True).possible


def test_a_ledger_in_eps_refuses_it_and_says_why(tmp_path: Path) -> None:
    path = written(tmp_path, ledger='ledger = "budget.toml"')
    would = sv.release.preview(path)
    assert not would.possible and "keeps no ε" in str(would.refusal)
    with pytest.raises(LedgerError, match=r"a ledger in ε cannot add it up; use kind = .staircase."):
        sv.release.run(path)
    assert not (tmp_path / "out.csv").exists()


def test_the_claim_is_held_against_the_exact_curve(tmp_path: Path) -> None:
    """Spec budgets-and-statistics §1.3, histogram, σ² = 10: δ(1) = 0.003087919, ε(1e-6) = 1.991236185."""
    kept = sv.audit(written(tmp_path, TEN, "[claim]\neps = 1.9912363\ndelta = 1e-6"))
    assert kept.promise is not None and kept.promise.kept and kept.passed
    assert "ε = 1.99124 at δ = 1e-06" in kept.promise.satisfied
    broken = sv.audit(written(tmp_path, TEN, "[claim]\neps = 1.9912360\ndelta = 1e-6"))
    assert broken.promise is not None and not broken.promise.kept
    assert sv.audit(written(tmp_path, TEN, "[claim]\neps = 1.0\ndelta = 0.00308792")).passed
    path = written(tmp_path, TEN, "[claim]\neps = 1.0\ndelta = 0.00308791")
    assert not sv.audit(path).passed
    with pytest.raises(NotAcceptedError, match=r"does not keep .claim."):
        sv.release.run(path, without_ledger=True)


def test_the_audit_says_that_no_pure_eps_is_kept(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["audit", str(written(tmp_path))])
    said = " ".join(done.output.split())
    assert done.exit_code == 0 and "No pure ε is promised" in said and "and exactly ε =" in said


def test_the_guess_through_gaussian_noise(tmp_path: Path) -> None:
    """Spec budgets-and-statistics §2: 3 cells at σ = 1, one record of those: 0.621505432."""
    found = sv.audit(written(tmp_path, "1"))
    assert found.record.after == pytest.approx(0.621505432, abs=5e-10) and not found.record_is_bound


def test_the_command_line(tmp_path: Path) -> None:
    path = str(written(tmp_path))
    would = CliRunner().invoke(app, ["release", path, "--preview", "--without-ledger"])
    assert would.exit_code == 0 and "nothing limits further releases" in " ".join(would.output.split())
    done = CliRunner().invoke(app, ["release", path, "--without-ledger"])
    assert done.exit_code == 0 and "no ledger adds it up" in " ".join(done.output.split())
