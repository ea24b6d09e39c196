"""Discrete Gaussian noise by σ, ρ, or ε and δ (budgets and statistics, §1.3 and §2)."""

import importlib
import json
import math
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import sievert as sv
from sievert.channels import GaussianLaw
from sievert.cli.app import app
from sievert.errors import MechanismError, SievertError
from sievert.limits import gaussian_delta
from sievert.mechanisms._gaussian import GaussianNoiseSpec, squared_sensitivity
from sievert.policies import Policy, Query
from sievert.spaces import metrics

TWELVE = Policy.differential(range(12), 100)
FILE = """version = 1
[policy]
values = ["a", "b", "c"]
secrets = "complete"
records = 20
[query]
kind = "histogram"
[mechanism]
kind = "gaussian"
{}
"""


def law_of(policy, query, **given):
    statistic = query.statistic(policy)
    return GaussianNoiseSpec(**given).law(statistic, statistic.sensitivity(policy), None, None, policy=policy)


@pytest.mark.parametrize(
    ("sigma", "moves", "eps", "delta"),
    [
        (math.sqrt(10), (1, 1), 1.0, 0.003087919),
        (4.224678889, (1,), 1.0, 1.019663e-6),
        (4.2, (1,), 1.0, 1.0820e-6),
        (4.230778861, (1,), 1.0, 1e-6),
        (5.976641983, (1, 1), 1.0, 1e-6),
    ],
)
def test_exact_delta(sigma, moves, eps, delta):
    """§1.3's and §2's numbers, to the digits printed."""
    law = GaussianLaw.of_variance(F(10)) if sigma == math.sqrt(10) else GaussianLaw(F(str(sigma)))
    digits = 10 ** (math.floor(math.log10(delta)) - 4)
    assert abs(law.delta_of(moves, eps) - delta) < digits


def test_epsilon_of_a_histogram():
    """Replace histogram, σ² = 10: ε(10^-6) = 1.991236185."""
    law = GaussianLaw.of_variance(F(10))
    assert law.delta_of((1, 1), 1.991236184) > 1e-6 > law.delta_of((1, 1), 1.991236186)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 1.5, 2.5, 6.0])
@pytest.mark.parametrize("moves", [(1,), (3,), (1, 1), (2, 2), (3, 1)])
def test_delta_by_brute_force(sigma, moves):
    z = np.arange(-120.0, 121.0)
    weights = np.exp(-z * z / (2 * sigma**2))
    rows = [np.exp(-((z - d) ** 2) / (2 * sigma**2)) / weights.sum() for d in (0, *moves)]
    here, there = rows[0], rows[1]
    if len(moves) == 2:
        here, there = np.multiply.outer(rows[0], rows[0]), np.multiply.outer(rows[1], rows[2])
    law = GaussianLaw(F(str(sigma)))
    for eps in (0.0, 0.3, 1.0, 4.0):
        expected = np.maximum(here - math.exp(eps) * there, 0.0).sum()
        assert math.isclose(law.delta_of(moves, eps), expected, rel_tol=1e-9, abs_tol=1e-13)


def test_wide_moves_are_bounded_by_blocks():
    """Two cells that move by thousands: never below the Gaussian of the continuum, and close to it."""
    law = GaussianLaw(F(40_000))
    found = law.delta_of((10_000, 7_000), 1.0)
    whole = float(gaussian_delta(math.hypot(10_000, 7_000) / 40_000, [1.0])[0])
    assert whole <= found <= whole * 1.02
    assert law.delta_of((3, 2, 1), 1.0) is None and law.delta_of((), 1.0) == 0.0


def test_not_dominated_by_the_gaussian_of_equal_sigma():
    """TV at shift 1 is p(0) > 2Φ(1/2σ) - 1; at σ = 4.224678889 the Gaussian has δ(1) = 10^-6, ours more."""
    law = GaussianLaw(F(1))
    apart = law.delta_of((1,), 0.0)
    assert f"{apart:.9f}" == "0.398942278" and f"{(1 + apart) / 2:.9f}" == "0.699471139"
    assert f"{float(gaussian_delta(1.0, [0.0])[0]):.9f}" == "0.382924923"
    assert math.isclose(float(gaussian_delta(1 / 4.224678889, [1.0])[0]), 1e-6, rel_tol=1e-6)


def test_rho_is_exact():
    """σ² = L2²/2ρ, in fractions."""
    assert law_of(TWELVE, Query.histogram(), rho=F(1, 10)).variance == 10
    assert law_of(TWELVE, Query.count([1]), rho=F(1, 10)).variance == 5
    assert law_of(TWELVE, Query.sum(), rho=F(1, 2)).variance == 121


@pytest.mark.parametrize(
    ("policy", "query", "square"),
    [
        (Policy.differential(range(12), 9), Query.histogram(), 2),
        (Policy.differential(range(12), 9), Query.count([3]), 1),
        (Policy.differential(range(-2, 9), 9), Query.sum(), 100),
        (Policy.blowfish(metrics.line(5), records=9), Query.sum(), 1),
    ],
)
def test_squared_sensitivities(policy, query, square):
    """§2's table, and an edge of a policy divided by its length squared."""
    assert squared_sensitivity(policy, query.statistic(policy)) == square


@pytest.mark.parametrize(
    ("query", "sigma"), [(Query.count([1]), 4.230778861), (Query.histogram(), 5.976641983)]
)
def test_calibrated_by_the_noise_itself(query, sigma):
    """ε = 1, δ = 10^-6; through ρ it would be 4.530877 and 6.407628."""
    law = law_of(TWELVE, query, level=F(1), delta=F(1, 10**6))
    assert math.isclose(float(law.sigma), sigma, abs_tol=2e-9)
    moves = (1,) if sigma < 5 else (1, 1)
    assert law.delta_of(moves, 1.0) <= 1e-6 < GaussianLaw(law.sigma * F("0.999999")).delta_of(moves, 1.0)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("", "exactly one of sigma, rho"),
        ("sigma = 1\nrho = 1", "exactly one of sigma, rho"),
        ("rho = 0", "rho must be above 0"),
        ("rho = -1", "rho must be above 0"),
        ('rho = "x"', "finite number above 0"),
        ("rho = inf", "finite number above 0"),
        ("sigma = 0", "sigma must be above 0"),
        ("sigma = inf", "finite number above 0"),
        ("eps = 1", "eps and delta go together"),
        ("sigma = 1\ndelta = 0.1", "eps and delta go together"),
        ("eps = 1\ndelta = 1", "delta must be below 1"),
        ("eps = 0\ndelta = 0.1", "eps must be above 0"),
    ],
)
def test_bad_input(tmp_path, written, words):
    """§9: refused before data is read, with the key and the rule."""
    (tmp_path / "bad.toml").write_text(FILE.format(written), encoding="utf-8")
    with pytest.raises(SievertError, match=words):
        sv.load(tmp_path / "bad.toml")


def test_where_epsilon_and_delta_do_not_go():
    far = Policy.blowfish(metrics.line(5), records=9)
    with pytest.raises(MechanismError, match="on a metric give rho"):
        law_of(far, Query.sum(), level=F(1), delta=F(1, 10**6))
    with pytest.raises(MechanismError, match="rho is '1000000', a σ of"):
        law_of(TWELVE, Query.count([1]), rho=F(10**6))


@pytest.mark.parametrize("written", ["rho = 0.1", "eps = 1\ndelta = 1e-6", "sigma = 4"])
def test_audit_and_explain_read_the_noise(tmp_path, written):
    """An audit keeps the promise of ρ, and a claim's guess is that of ρ, or of ε and δ."""
    (tmp_path / "g.toml").write_text(FILE.format(written), encoding="utf-8")
    found = sv.audit(sv.load(tmp_path / "g.toml"))
    assert found.satisfied and found.rho is not None and "δ = 1e-06" in found.promise.satisfied
    promised = found.standing.rows[0].promise
    assert found.record.after <= promised.value < 1
    if written.startswith("rho"):
        assert found.rho == F(1, 10) and promised.exact
        assert math.isclose(promised.value, sv.explain(rho=0.1, values=3).after, rel_tol=1e-12)


def test_audit_json_fits_its_schema(tmp_path):
    """ρ is there as a number and as a fraction where the noise keeps no ε."""
    jsonschema = pytest.importorskip("jsonschema")
    (tmp_path / "g.toml").write_text(FILE.format("rho = 0.1"), encoding="utf-8")
    done = CliRunner().invoke(app, ["audit", str(tmp_path / "g.toml"), "--json"])
    answer = json.loads(done.output)
    assert answer["rho"] == 0.1 and answer["rho_exact"] == "1/10"
    schema = json.loads((Path(__file__).parents[2] / "docs/schemas/audit.json").read_text(encoding="utf-8"))
    jsonschema.validate(answer, schema)


def test_dp_accounting_rounds_losses_up(oracle):
    """§8: δ(1) at σ = 4.2 is 1.0820e-6; the peer's grid of losses has 1.0828e-6."""
    oracle("dp_accounting")
    peer = importlib.import_module("dp_accounting.pld.privacy_loss_distribution")
    found = peer.from_discrete_gaussian_mechanism(4.2).get_delta_for_epsilon(1.0)
    own = GaussianLaw(F("4.2")).delta_of((1,), 1.0)
    assert f"{found:.4e}" == "1.0828e-06" and own <= found <= own * 1.001
