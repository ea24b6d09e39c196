"""Results as data: numbers are numbers, and what is exact is said beside them."""

import json
import re
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.results import Result, cell_text, exact_texts


@dataclass(frozen=True)
class Sample(Result):
    value: Any
    exact: Any = None


def test_fractions_are_floats_with_an_exact_text_beside_them() -> None:
    assert Sample(Fraction(1, 3)).to_dict() == {"value": 1 / 3, "value_exact": "1/3", "exact": None}
    assert Sample(0.5).to_dict() == {"value": 0.5, "exact": None}
    assert Sample(0.5, exact=Fraction(3)).to_dict() == {"value": 0.5, "exact": "3"}
    prior = np.array([Fraction(1, 2), Fraction(1, 2)], dtype=object)
    assert Sample(prior).to_dict()["value"] == [0.5, 0.5]
    assert Sample(prior).to_dict()["value_exact"] == ["1/2", "1/2"]
    assert Sample(Fraction(10) ** 400).to_dict()["value"] == "inf"


def test_labels_are_not_taken_for_exact_numbers() -> None:
    assert "value_exact" not in Sample((1, 2)).to_dict()
    assert "value_exact" not in Sample(("a", Fraction(1, 2))).to_dict()
    assert exact_texts([]) is None
    assert exact_texts(np.ones(2)) is None


def test_leakage_in_json_is_all_numbers() -> None:
    survey = sv.mechanisms.randomised_response(["yes", "no"], alpha="1/3")
    data = json.loads(json.dumps(sv.leakage(survey).to_dict()))
    for name in ("prior", "posterior", "factor", "difference", "bits"):
        assert isinstance(data[name], float)
    assert data["posterior_exact"] == "3/4"
    assert sv.epsilon(survey, sv.Policy.local(["yes", "no"])).to_dict()["exact"] == "3"


def test_tables_escape_labels() -> None:
    wild = sv.Channel([[1, 0], [0, 1]], inputs=["<b>", "&"], outputs=["<script>", "x"])
    page = wild._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;b&gt;" in page
    assert "<script>" not in sv.leakage(wild, gain=sv.gains.identity(["<b>", "&"]))._repr_html_()


WILD = ["<script>", "&"]


def main_results() -> dict[str, Any]:
    """Every main result, about labels that must be escaped."""
    response = sv.mechanisms.randomised_response(WILD, alpha="1/3")
    policy = sv.Policy.local(WILD)
    shown = sv.Channel.identity(WILD)
    worst = sv.worst_leakage(policy, 1.0)
    assert worst.certificate is not None
    return {
        "Audit": sv.audit("examples/census-count.toml"),
        "BreachCurve": sv.observations.breach_curve(
            response, predicate=WILD[:1], level=0.5, observations=200
        ),
        "Breaches": sv.breaches(response, predicate=WILD[:1], level=0.5, policy_or_metric=policy),
        "Candidates": sv.candidates(sv.metrics.discrete(WILD), 1.0),
        "Capacity": sv.capacity(response),
        "Channel": shown,
        "Comparison": sv.compare(response, shown),
        "Epsilon": sv.epsilon(response, policy),
        "Explanation": sv.explain(eps=1.0, policy=policy),
        "Frontier": sv.frontier([0.5, 0.3, 0.2], sv.losses.absolute(3), points=50),
        "Hyper": response.hyper(),
        "Leakage": sv.leakage(response),
        "OptimalMechanism": sv.optimal_mechanism(sv.metrics.discrete(WILD), 1.0),
        "Policy": policy,
        "Preview": sv.release.preview("examples/release/ages.toml"),
        "Rates": sv.observations.rates(response),
        "RecordLeakage": sv.record_leakage(response, policy),
        "Scenario": sv.load("examples/census-count.toml"),
        "SuccessCurve": sv.observations.success_curve(response),
        "Verdict": sv.refines(response, shown),
        "Verification": worst.certificate.verify(),
        "WorstLeakage": worst,
    }


def test_every_main_result_is_small_in_a_notebook() -> None:
    for name, result in main_results().items():
        page = result._repr_html_()
        assert "<script>" not in page, name
        assert len(page) < 6000, name
        assert page.count("<tr>") <= 30, name
        for tag in ("p", "table", "tr", "th", "td", "pre"):
            assert len(re.findall(rf"<{tag}[ >]", page)) == page.count(f"</{tag}>"), (name, tag)
        if isinstance(result, Result):
            assert page.startswith(f"<p>{escape(str(result))}</p>"), name


def test_large_results_are_not_written_out() -> None:
    large = sv.Channel(np.full((60, 60), 1 / 60))
    assert "<table>" not in large._repr_html_()
    assert "<table>" not in sv.Channel.identity(60).hyper()._repr_html_()
    page = sv.optimal_mechanism(sv.metrics.discrete(list(range(40))), 1.0)._repr_html_()
    assert len(page) < 1000
    curve = sv.observations.success_curve(sv.mechanisms.warner(), observations=range(1, 200))
    assert curve._repr_html_().count("<tr>") == 8
    assert "<td style='text-align:left'>0.75</td>" in curve._repr_html_()
    assert "(199 in all)" in Sample(curve.points)._repr_html_()


def test_cells_are_short() -> None:
    row = Sample([1.23456789, Fraction(1, 3), None, True])._repr_html_()
    assert "1.23457, 1/3, None, True" in row
    assert Sample("x" * 1000)._repr_html_().count("…") == 1
    assert "3 × 4 numbers" in Sample(np.zeros((3, 4)))._repr_html_()
    assert cell_text(Fraction(10**40 + 1, 10**41)) == "0.1"
    assert (cell_text(1.0), cell_text(1 - 1e-9)) == ("1", "almost 1")
    assert cell_text({"a": 0.5, "b": [1, 2]}) == "a: 0.5, b: 1, 2"
    assert cell_text(sv.worst_leakage(sv.Policy.local(2), 1.0).certificate) == "WorstLeakageProof"
    assert "<td" not in Sample(None)._repr_html_()


def test_a_scenario_shows_its_file() -> None:
    scenario = sv.load("examples/census-count.toml")
    assert repr(scenario) == "PolicyScenario('examples/census-count.toml')"
    assert "<pre>version = 1" in scenario._repr_html_()


@pytest.mark.parametrize(("old", "new"), [("Finding", "AttackOutcome"), ("Promise", "DocumentGuarantee")])
def test_a_result_of_an_earlier_name_says_what_it_is_called_now(old: str, new: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute '{old}'; it is called {new} now"):
        getattr(sv.results, old)
    assert getattr(sv.results, new).__name__ == new
