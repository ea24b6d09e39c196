"""Of several valid bounds the least is told: audit ≤ explain ≤ limits, and reached is really reached."""

from pathlib import Path

import pytest

import sievert as sv
from sievert.files import load_policy_scenario
from sievert.questions.explain import explain_file
from sievert.questions.limits import limits_of
from sievert.report.explain import lines

TABLE = """version = 1
[policy]
values = {values}
records = 50
[query]
kind = "histogram"
[mechanism]
kind = "geometric"
eps = {eps}
[adversary]
observations = {count}
{belief}
[data]
input = "data.csv"
column = "answer"
"""
RESPONSE = """version = 1
[policy]
values = ["a", "b", "c"]
[mechanism]
kind = "randomised-response"
eps = {eps}
[adversary]
observations = {count}
record_prior = [0.5, 0.3, 0.2]
"""


def written(folder: Path, text: str, **parts: object) -> Path:
    path = folder / "file.toml"
    path.write_text(text.format(**parts), encoding="utf-8")
    return path


@pytest.mark.parametrize("prior", [None, [0.4, 0.2, 0.2, 0.1, 0.1]])
@pytest.mark.parametrize("count", [2, 5, 30])
@pytest.mark.parametrize("eps", [0.05, 0.3, 1.0])
def test_a_repeated_table_is_no_looser_than_its_eps(
    tmp_path: Path, eps: float, count: int, prior: list[float] | None
) -> None:
    belief = "" if prior is None else f"record_prior = {prior}"
    path = written(tmp_path, TABLE, values=list("abcde"), eps=eps, count=count, belief=belief)
    found = sv.audit(path)
    explained = sv.explain(eps, values=5, prior=prior, releases=count).after
    added = sv.explain(eps * count, values=5, prior=prior).after
    assert found.record.after <= found.repeated_guess <= explained * (1 + 1e-12) <= added * (1 + 1e-9)
    assert count == 2 or prior is not None or found.repeated_guess < added


@pytest.mark.parametrize("count", [1, 2, 4, 9])
@pytest.mark.parametrize("eps", [0.3, 1.0, 2.0])
def test_what_is_reached_is_not_below_the_files_own_mechanism(tmp_path: Path, eps: float, count: int) -> None:
    scenario = load_policy_scenario(written(tmp_path, RESPONSE, eps=eps, count=count))
    own, report = sv.audit(scenario), explain_file(scenario)
    found = report.explanation
    assert own.repeated_exact
    assert own.repeated_guess <= found.after * (1 + 1e-12)
    assert found.exact or found.reached >= own.repeated_guess * (1 - 1e-12)
    assert "worst one" not in str(list(lines(report)))


def test_a_claim_the_mechanism_breaks_reaches_nothing(tmp_path: Path) -> None:
    text = RESPONSE.replace("eps = {eps}", 'alpha = "1/9"') + "[claim]\neps = {eps}\n"
    scenario = load_policy_scenario(written(tmp_path, text, eps=0.5, count=4))
    found = explain_file(scenario).explanation
    assert found.reached <= found.after < sv.audit(scenario).repeated_guess


POLICIES = {
    "complete": 'values = { range = [0, 5] }\nsecrets = "complete"\nrecords = 2000',
    "line": 'values = { range = [0, 5] }\nsecrets = "line"\nrecords = 2000',
    "threshold": "values = { range = [0, 5] }\nsecrets = { threshold = 2 }\nrecords = 2000",
    "add or remove": 'values = { range = [0, 5] }\nrecords = 2000\nadjacency = "add-remove"',
    "known total": 'values = [0, 1, 3]\nsecrets = "complete"\nrecords = 3\npermitted = { total = 4 }',
}
QUESTION = """version = 1
[policy]
{policy}
[query]
kind = "{query}"
[mechanism]
kind = "{mechanism}"
eps = 0.7
[adversary]
gains = ["identity", {{ tries = 2 }}]
observations = 3
"""


@pytest.mark.parametrize(
    ("policy", "query", "mechanism"),
    [
        *((policy, "histogram", "geometric") for policy in POLICIES),
        ("complete", "sum", "geometric"),
        ("threshold", "sum", "staircase"),
    ],
)
def test_audit_explain_and_limits_stand_in_order(
    tmp_path: Path, policy: str, query: str, mechanism: str
) -> None:
    """What this mechanism gives away, what its promise allows, what is there: through one file each."""
    path = written(tmp_path, QUESTION, policy=POLICIES[policy], query=query, mechanism=mechanism)
    scenario = load_policy_scenario(path)
    found = sv.audit(scenario)
    often, once = (explain_file(scenario, releases=n).explanation for n in (3, 1))
    allowed = limits_of(scenario)
    slack = 1 + 1e-9
    assert found.record.after <= once.after * slack
    assert found.record.after <= found.repeated_guess * slack
    assert found.repeated_guess <= often.after * slack
    assert once.after <= once.before * allowed.individual.upper.factor * slack
    assert found.database is None or found.database.bits <= allowed.database.upper.bits * slack
    for item in found.leakages:
        assert item.before <= item.after * slack and item.after <= item.repeated * slack
