"""Backwards from an accuracy, and what a total affords (budgets and statistics, §6)."""

import math
from fractions import Fraction as F

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

import sievert as sv
from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, total_error
from sievert.cli.app import app
from sievert.errors import SievertError
from sievert.mechanisms import Accuracy, largest_scale, least_level

FILE = """version = 1
[policy]
values = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"]
secrets = "complete"
records = 240
{more}
[query]
kind = "{query}"
[mechanism]
kind = "{kind}"
{parameter}
"""


def written(folder, parameter, kind="geometric", query="histogram", more=""):
    path = folder / "file.toml"
    path.write_text(FILE.format(parameter=parameter, kind=kind, query=query, more=more), encoding="utf-8")
    return path


def geometric(eps):
    return GeometricLaw(EpsilonOrAlpha(float(eps), None, exact_eps=eps))


@pytest.mark.parametrize(
    ("asked", "cells", "digits"),
    [
        ({"within": 10.0}, 1, "0.284348512"),
        ({"within": 10.0, "of": "all"}, 12, "0.516594673"),
        ({"within": 40.0, "of": "total"}, 12, "0.238673219"),
    ],
)
def test_geometric_numbers(asked, cells, digits):
    """§6's ε′, by what is forwards just kept: a little less is not enough."""
    accuracy = Accuracy(**asked)
    eps = least_level(accuracy, cells, F(1), geometric)
    assert f"{float(eps):.9f}" == digits
    assert accuracy.kept(geometric(eps), cells, F(1))
    assert not accuracy.kept(geometric(eps * F("0.99999999")), cells, F(1))


def test_closed_forms():
    """2α^(w+1)/(1+α) = β of a cell; all cells with 1 - (1-β)^(1/k)."""
    for cells, of in ((1, "cell"), (12, "all")):
        alpha = math.exp(-least_level(Accuracy(within=10.0, of=of), cells, F(1), geometric))
        missed = 1 - 0.95 ** (1 / cells)
        assert math.isclose(2 * alpha**11 / (1 + alpha), missed, rel_tol=1e-9)


@pytest.mark.parametrize(("of", "cells", "sigma"), [("cell", 1, 5.365011387), ("all", 12, 3.685387279)])
def test_gaussian_numbers(of, cells, sigma):
    accuracy = Accuracy(within=10.0, of=of)
    found = largest_scale(accuracy, cells, F(1), GaussianLaw)
    assert math.isclose(float(found), sigma, abs_tol=1e-9)
    assert accuracy.kept(GaussianLaw(found), cells, F(1))
    if of == "cell":  # ρ of a replaced record in a histogram
        assert math.isclose(1 / found**2, 0.034742311, abs_tol=5e-10)


def test_files(tmp_path):
    """The file's table is audited and released with the least ε, which keeps what was asked."""
    found = sv.audit(written(tmp_path, "accuracy = { within = 10, confidence = 0.95 }"))
    assert found.satisfied and math.isclose(found.epsilon.nats, 0.568697025, abs_tol=1e-9)
    scenario = sv.load(written(tmp_path, 'accuracy = { within = 40, of = "total" }'))
    assert total_error(scenario.channel.law, 12).radius == 40
    normal = sv.load(written(tmp_path, 'accuracy = { within = 10, of = "all" }', "gaussian"))
    assert math.isclose(float(normal.channel.law.sigma), 3.685387279, abs_tol=1e-9)
    assert normal.claimed_rho == 1 / normal.channel.law.variance


@pytest.mark.parametrize(
    ("parameter", "more", "words"),
    [
        ("accuracy = { within = -1 }", {}, "accuracy.within"),
        ("accuracy = { within = 10, confidence = 1 }", {}, "accuracy.confidence"),
        ('accuracy = { within = 10, of = "row" }', {}, "accuracy.of"),
        ("accuracy = { withn = 10 }", {}, "within"),
        ("accuracy = { within = 10 }\neps = 1", {}, "exactly one of eps, alpha"),
        ("accuracy = { within = 10 }", {"query": "record"}, "row by row"),
    ],
)
def test_bad_input(tmp_path, parameter, more, words):
    with pytest.raises(SievertError, match=words):
        _ = sv.load(written(tmp_path, parameter, **more)).channel


def test_python_is_checked_too():
    with pytest.raises(ValidationError):
        Accuracy(within=-1.0)
    with pytest.raises(SievertError, match="all noise keeps"):
        least_level(Accuracy(within=1e12), 1, F(1), geometric)


# ── What a total affords ────────────────────────────────────────────────────────────────────────────────────


def test_each_of_52(tmp_path):
    """§6: each of 52 from (1, 10^-6), by the standard deviation of a histogram."""
    found = sv.release.afford(written(tmp_path, "eps = 1"), eps=1, delta=1e-6, releases=52)
    rows = {(option.noise, option.way): option for option in found.options}
    assert f"{rows['geometric', 'pure'].sd:.2f}" == "147.08"
    assert f"{rows['geometric', 'rho'].sd:.2f}" == "65.34"
    assert f"{rows['geometric', 'plan'].sd:.2f}" == "60.08"
    assert f"{float(rows['geometric', 'plan'].value):.8f}" == "0.04707999"
    assert f"{rows['gaussian', 'rho'].sd:.2f}" == "46.21"
    assert f"{rows['gaussian', 'plan'].sd:.2f}" == "43.08"
    assert found.best is rows["gaussian", "plan"] and "as a plan" in str(found)


def test_how_many_fit(tmp_path):
    """§6: tables of ε = .05 in (3, 10^-6): 60 by Σε, 296 by Σρ, 337 in a plan."""
    found = sv.release.afford(written(tmp_path, "eps = 0.05"), eps=3, delta="1e-6")
    assert {option.way: option.releases for option in found.options} == {"pure": 60, "rho": 296, "plan": 337}
    guesses = [option.guess for option in found.options]
    assert guesses == sorted(guesses, reverse=True)


def test_other_totals(tmp_path):
    path = written(tmp_path, "rho = 0.01", "gaussian")
    found = sv.release.afford(path, rho="1/8")
    assert [(option.way, option.releases) for option in found.options] == [("rho", 12)]
    assert set(found.missing) == {"pure", "plan"}
    two = written(tmp_path, "eps = 0.05", more="person_records = 2")
    assert sv.release.afford(two, eps=3).best.releases == 30


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "exactly one of eps"),
        ({"eps": 1, "rho": 1}, "exactly one of eps"),
        ({"eps": -1}, "eps is -1"),
        ({"eps": math.inf}, "eps is inf"),
        ({"eps": 1, "delta": 1}, "delta is 1"),
        ({"eps": 1, "releases": 0}, "releases is 0"),
        ({"eps": "0.01"}, "no release fits"),
    ],
)
def test_bad_totals(tmp_path, options, words):
    with pytest.raises(SievertError, match=words):
        sv.release.afford(written(tmp_path, "eps = 0.05"), **options)


def test_the_command_line(tmp_path):
    run = CliRunner().invoke
    said = " ".join(run(app, ["explain", "--accuracy", "10", "--cells", "12"]).output.split())
    assert "ε = 0.568697025" in said and "σ ≤ 5.36501138 (ρ = 0.0347423112)" in said
    file = str(written(tmp_path, "eps = 1"))
    said = " ".join(run(app, ["explain", file, "--accuracy", "40", "--of", "total"]).output.split())
    assert "ε = 0.477346438" in said
    for wrong in (["--accuracy", "10", "--eps", "1"], ["--cells", "3"], ["--accuracy", "10", "--of", "row"]):
        assert isinstance(run(app, ["explain", *wrong]).exception, SievertError)
    assert isinstance(run(app, ["explain", file, "--accuracy", "1", "--cells", "2"]).exception, SievertError)
