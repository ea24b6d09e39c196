"""What is remembered of large spaces."""

import pytest

import sievert as sv
from sievert.limits import _worst as worst
from sievert.limits import worst_leakage
from sievert.policies import Policy


def test_the_last_answer_about_a_large_policy_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = Policy.differential(4, 4, permitted=sv.constraints.total(6))
    dense = worst_leakage(policy, 0.5)
    monkeypatch.setattr(worst, "LARGEST_DENSE", 20)
    found = worst_leakage(policy, 0.5)
    assert found is not dense
    assert found.lower.log <= dense.upper.log and dense.lower.log <= found.upper.log
    assert found.certificate.verify()
    assert found.diameter.log == pytest.approx(dense.diameter.log)
    assert worst_leakage(policy, 0.5) is found and worst_leakage(policy, 0.25) is not found
