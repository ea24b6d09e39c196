"""A claim in a file is what is held against its mechanism; two that disagree are an error."""

import json
import math
from pathlib import Path

import pytest
from scipy.stats import norm
from typer.testing import CliRunner

import sievert as sv
from sievert.cli.app import app
from sievert.errors import FileError, NotAcceptedError

POLICY = 'version = 1\n[policy]\nvalues = ["a", "b", "c"]\n'
TWO = 'version = 1\n[policy]\nvalues = ["a", "b"]\n'
BY_RATIO = '[mechanism]\nkind = "randomised-response"\nalpha = "1/3"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "file.toml"
    path.write_text(POLICY + text, encoding="utf-8")
    return path


def test_two_promises_that_disagree(tmp_path: Path) -> None:
    mechanism = '[mechanism]\nkind = "randomised-response"\neps = 1.0986\n'
    path = written(tmp_path, f"[claim]\neps = 0.0001\n{mechanism}")
    with pytest.raises(FileError, match="must agree"):
        sv.audit(path)
    for command in ("audit", "explain"):
        assert isinstance(CliRunner().invoke(app, [command, str(path)]).exception, FileError)
    assert sv.audit(written(tmp_path, f"[claim]\neps = 1.0986\n{mechanism}")).passed


@pytest.mark.parametrize(
    ("claim", "kept"),
    [
        ("eps = 1.0", False),
        ("eps = 1.0987", True),
        ("eps = 0.9\ndelta = 0.3", True),
        ("eps = 0.9\ndelta = 1e-6", False),
        ("rho = 0.5", True),
        ("rho = 0.05", False),
        ("sigma = 1.0", False),
        ("sigma = 0.5", True),
        ("sigma = 10", False),
    ],
)
def test_every_kind_of_claim_is_checked(tmp_path: Path, claim: str, kept: bool) -> None:
    path = written(tmp_path, f"[claim]\n{claim}\n{BY_RATIO}")
    found = sv.audit(path)
    assert found.promise is not None and found.promise.kept == found.passed == kept
    done = CliRunner().invoke(app, ["audit", str(path)])
    assert done.exit_code == (0 if kept else 1), done.output
    assert ("NO: it claims" in done.output) == (not kept)


def test_a_claim_beside_a_matrix(tmp_path: Path) -> None:
    (tmp_path / "rr.csv").write_text(",x,y\na,0.7,0.3\nb,0.3,0.7\nc,0.5,0.5\n", encoding="utf-8")
    path = written(tmp_path, '[claim]\neps = 0.8\n[mechanism]\nmatrix = "rr.csv"\n')
    assert not sv.audit(path).passed
    path = written(tmp_path, '[claim]\neps = 0.85\n[mechanism]\nmatrix = "rr.csv"\n')
    assert sv.audit(path).passed and sv.audit(path).claimed_eps == 0.85
    assert math.log(7 / 3) < 0.85


@pytest.mark.parametrize("claim", ["eps = 0.8\ndelta = 0.1", "rho = 0.5", "sigma = 0.5"])
def test_the_eps_of_a_matrix_is_judged_beside_another_claim(tmp_path: Path, claim: str) -> None:
    (tmp_path / "rr.csv").write_text(",x,y\na,0.7,0.3\nb,0.3,0.7\nc,0.5,0.5\n", encoding="utf-8")
    for eps, kept in (("0.5", False), ("0.85", True)):
        path = written(tmp_path, f'[claim]\n{claim}\n[mechanism]\nmatrix = "rr.csv"\neps = {eps}\n')
        found = sv.audit(path)
        assert found.promise is not None and found.promise.kept == found.passed == kept
        assert found.promise.claim.endswith(f"and, under [mechanism], ε = {eps}")
        assert found.promise.satisfied.endswith("and ε = 0.847298")
        done = CliRunner().invoke(app, ["explain", str(path)])
        assert done.exit_code == (0 if kept else 1), done.output


def test_the_divergences_of_a_promise_in_rho(tmp_path: Path) -> None:
    """D_α/α of randomised response, largest over α > 1, is what ρ must not be below."""
    found = sv.audit(written(tmp_path, f"[claim]\nrho = 0.5\n{BY_RATIO}")).promise
    assert found is not None
    rho = float(found.satisfied.removeprefix("ρ = "))
    assert 0 < rho <= math.log(3) ** 2 / 2


def test_noise_in_every_cell(tmp_path: Path) -> None:
    text = (
        'records = 10\n[query]\nkind = "histogram"\n[mechanism]\nkind = "geometric"\nalpha = "1/2"\n'
        '[data]\ninput = "data.csv"\ncolumn = "answer"\n'
    )
    path = written(tmp_path, f"{text}[claim]\neps = 0.01\n")
    done = CliRunner().invoke(app, ["audit", str(path)])
    assert done.exit_code == 1 and "does not keep its promise" in " ".join(done.output.split()), done.output
    path = written(tmp_path, f"{text}[claim]\neps = 1.5\n")
    assert CliRunner().invoke(app, ["audit", str(path)]).exit_code == 0


DATA = """
[data]
input = "data.csv"
column = "value"
[release]
ledger = "budget.toml"
output = "out.csv"
"""
COUNT = 'records = 3\n[query]\nkind = "count"\nwhere = ["a"]\n'
HISTOGRAM = 'records = 3\n[query]\nkind = "histogram"\n'
GEOMETRIC = '[mechanism]\nkind = "geometric"\nalpha = "1/3"\n'


@pytest.mark.parametrize(
    ("claim", "rest", "kept"),
    [
        ("eps = 1.0", BY_RATIO, False),
        ("eps = 1.0987", BY_RATIO, True),
        ("rho = 0.05", BY_RATIO, False),
        ("eps = 0.9\ndelta = 0.3", BY_RATIO, True),
        ("eps = 1.0", COUNT + GEOMETRIC, False),
        ("eps = 1.0987", COUNT + GEOMETRIC, True),
        ("eps = 2.0", HISTOGRAM + GEOMETRIC, False),
        ("eps = 2.2", HISTOGRAM + GEOMETRIC, True),
        ("rho = 0.3", HISTOGRAM + GEOMETRIC, False),
    ],
)
def test_audit_preview_and_release_agree_about_a_claim(
    tmp_path: Path, claim: str, rest: str, kept: bool
) -> None:
    path = written(tmp_path, f"{rest}[claim]\n{claim}\n{DATA}")
    (tmp_path / "data.csv").write_text("value\na\nb\nc\n")
    (tmp_path / "budget.toml").write_text("person = 30.0\n")
    code = 0 if kept else 1
    assert CliRunner().invoke(app, ["audit", str(path)]).exit_code == code
    previewed = CliRunner().invoke(app, ["release", str(path), "--preview"])
    assert previewed.exit_code == code
    assert ("does not keep [claim]" in " ".join(previewed.output.split())) == (not kept)
    if not kept:
        with pytest.raises(NotAcceptedError, match=r"does not keep \[claim\].*despite"):
            sv.release.run(path)
        assert not (tmp_path / "out.csv").exists() and not (tmp_path / "budget.ledger").exists()
        assert CliRunner().invoke(app, ["release", str(path)]).exit_code == 1
        assert CliRunner().invoke(app, ["release", str(path), "--preview", "--despite-accept"]).exit_code == 0
    done = CliRunner().invoke(app, ["release", str(path), *([] if kept else ["--despite-accept"])])
    assert done.exit_code == 0, done.output
    beside = json.loads((tmp_path / "out.csv.json").read_text(encoding="utf-8"))
    assert [limit["holds"] for limit in beside["accept"]] == ([] if kept else [False])


def test_explain_says_that_the_mechanism_breaks_the_claim(tmp_path: Path) -> None:
    path = str(written(tmp_path, f"[claim]\neps = 0.0001\n{BY_RATIO}"))
    done = CliRunner().invoke(app, ["explain", path])
    assert done.exit_code == 1
    assert "does not keep the promise: it claims ε = 0.0001 but only" in " ".join(done.output.split())
    assert CliRunner().invoke(app, ["explain", path, "--eps", "0.0001"]).exit_code == 0
    assert CliRunner().invoke(app, ["explain", str(written(tmp_path, BY_RATIO))]).exit_code == 0


def test_an_exponential_mechanism_states_its_own_promise(tmp_path: Path) -> None:
    line = POLICY.replace('["a", "b", "c"]', "[1, 2, 3]") + 'secrets = "line"\n'
    text = f'{line}[mechanism]\nkind = "exponential"\neps = 1.0\n%s[claim]\neps = 0.0001\n'
    path = tmp_path / "file.toml"
    for level in ("", 'level = "true"\n'):
        path.write_text(text % level)
        with pytest.raises(FileError, match="must agree"):
            sv.load(path)
    path.write_text(text % 'level = "nominal"\n')
    assert not sv.audit(path).passed


@pytest.mark.parametrize("eps", [1e-4, 0.1, 1.0, 5.0])
def test_a_claim_short_by_little_is_broken(tmp_path: Path, eps: float) -> None:
    """ρ of two answers is Kullback and Leibler's divergence; of the claim one part in 10^7 is left out."""
    told = math.tanh(eps / 2) * eps
    rest = f'[mechanism]\nkind = "randomised-response"\neps = {eps}\n'
    for share, kept in ((1 - 1e-7, False), (1 + 1e-8, True)):
        path = tmp_path / "file.toml"
        path.write_text(f"{TWO}{rest}[claim]\nrho = {share * told!r}\n", encoding="utf-8")
        promise = sv.audit(path).promise
        assert promise is not None and promise.kept is kept, promise


def test_gaussian_noise_that_is_hardly_enough(tmp_path: Path) -> None:
    """Two answers touch the curve of two Gaussians at ε = 0, where Φ(μ/2) - Φ(-μ/2) is tanh(ε/2)."""
    eps = 0.5
    mu = 2 * float(norm.ppf((1 + math.tanh(eps / 2)) / 2))
    rest = f'[mechanism]\nkind = "randomised-response"\neps = {eps}\n'
    for share, kept in ((1 - 1e-7, False), (1 + 1e-7, True)):
        path = tmp_path / "file.toml"
        path.write_text(f"{TWO}{rest}[claim]\nsigma = {1 / (mu * share)!r}\n", encoding="utf-8")
        promise = sv.audit(path).promise
        assert promise is not None and promise.kept is kept, promise
