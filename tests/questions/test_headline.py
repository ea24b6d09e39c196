"""The first sentence of an audit, and the largest ε for the file's own mechanism."""

import math
from pathlib import Path

import pytest

import sievert as sv
from sievert.errors import FileError, MechanismError
from sievert.files import PolicyScenario, scenario_from_text
from sievert.questions import audit_headline, max_epsilon

QUICK = ["census-count", "commute-reports", "daily-question", "survey-response", "weekly-visits"]


@pytest.mark.parametrize("name", QUICK)
def test_the_headline_is_what_the_audit_says(name):
    scenario = sv.load(f"examples/{name}.toml")
    first = audit_headline(scenario)
    found = sv.audit(scenario)
    assert str(first) == str(found)
    assert first.passed == found.passed
    assert {**found.to_dict(), **first.to_dict()} == found.to_dict()


def test_what_was_seen_stays_with_the_scenario():
    scenario = sv.load("examples/survey-response.toml")
    assert scenario.analysis is scenario.analysis
    assert scenario.replaced({"adversary.observations": 2}).analysis is not scenario.analysis


SURVEY = """
version = 1
[policy]
values = ["no", "yes"]
[mechanism]
kind = "randomised-response"
eps = 1.0
"""


@pytest.mark.parametrize(
    ("quantity", "limit", "eps"),
    [
        ("guess", 0.9, math.log(9)),
        ("bits", math.log2(1.8), math.log(9)),
        ("advantage", 0.25, math.log(3)),
        ("odds", 3.0, math.log(3)),
        ("guess", 0.5, 0.0),
    ],
)
def test_randomised_response_is_solved_backwards(quantity, limit, eps):
    # A guess of e^ε/(1 + e^ε), before one of 1/2.
    found = max_epsilon(scenario_from_text(SURVEY), limit, quantity)
    assert found.eps == pytest.approx(eps, rel=1e-8, abs=1e-11)
    assert found.value <= limit
    assert found.exact


@pytest.mark.parametrize("name", ["daily-question", "survey-response", "weekly-visits"])
def test_the_limit_is_kept_there_and_not_beyond(name):
    scenario = sv.load(f"examples/{name}.toml")
    limit = 0.8
    found = max_epsilon(scenario, limit)

    def after(eps):
        return sv.audit(scenario.at_eps(eps)).repeated_guess

    assert after(found.eps) <= limit < after(found.eps * (1 + 1e-6))
    assert f"{found.releases} releases" in str(found)


def test_what_no_noise_reveals_is_kept_at_every_eps():
    scenario = sv.load("examples/census-count.toml")
    found = max_epsilon(scenario, 0.5)
    assert math.isinf(found.eps)
    assert "at every ε" in str(found)


@pytest.mark.parametrize("limit", [0.2, -1, math.nan, "half", None])
def test_a_limit_that_cannot_be_kept_is_refused(limit):
    with pytest.raises(MechanismError, match="limit"):
        max_epsilon(scenario_from_text(SURVEY), limit)


def test_quantities_and_families_that_are_not_known_are_refused(tmp_path):
    with pytest.raises(MechanismError, match="did you mean 'bits'"):
        max_epsilon(scenario_from_text(SURVEY), 1, "bit")
    with pytest.raises(MechanismError, match="releases"):
        max_epsilon(scenario_from_text(SURVEY), 0.9, releases=0)
    Path(tmp_path / "own.csv").write_text("input,no,yes\nno,0.5,0.5\nyes,0.25,0.75\n")
    text = 'version = 1\n[policy]\nvalues = ["no", "yes"]\n[mechanism]\nmatrix = "own.csv"\n'
    with pytest.raises(FileError, match="no other ε"):
        max_epsilon(PolicyScenario.from_text(text, tmp_path), 0.9)
