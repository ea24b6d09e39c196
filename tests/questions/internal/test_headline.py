"""Inside `_headline`: the first sentence of an audit, and the largest ε for the file's own mechanism."""

import pytest

import sievert as sv
from sievert.questions import audit_headline


def test_the_headline_asks_for_no_more_than_it_says(monkeypatch):
    scenario = sv.load("examples/commute-reports.toml").replaced({"accept": None})
    monkeypatch.setattr(
        "sievert.questions._audit_summary.attacker_results", lambda view: pytest.fail("asked")
    )
    monkeypatch.setattr("sievert.limits.worst_leakage", lambda *given: pytest.fail("asked"))
    assert "guessed with probability" in str(audit_headline(scenario))
