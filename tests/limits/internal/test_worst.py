"""What is remembered of spaces that are solved."""

import pytest

import sievert as sv
from sievert.limits import _worst as worst
from sievert.limits import worst_leakage
from sievert.policies import Policy

TOWN = """
version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 52.50, west = 13.36, north = 52.52, east = 13.40, cell = 500 }
[mechanism]
kind = "planar-geometric"
eps = 0.005
[adversary]
gains = ["identity", { within = 300 }, { tries = 3 }]
"""


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


def test_what_the_policy_allows_is_solved_once(tmp_path, monkeypatch):
    """The database, the promise and the bound on the guess ask the same of one space."""
    solved, climb = [], worst.solve_component
    monkeypatch.setattr(worst, "solve_component", lambda *given: solved.append(given) or climb(*given))
    (tmp_path / "town.toml").write_text(TOWN)
    found = sv.audit(tmp_path / "town.toml")
    assert found.worst is not None and found.worst.exact is not None
    assert len(solved) == 1
