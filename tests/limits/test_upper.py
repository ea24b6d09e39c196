"""The upper end alone: never above what is proved, never below what a mechanism reaches."""

from __future__ import annotations

import numpy as np
import pytest

import sievert as sv
from sievert.limits import guess_allowed_by_epsilon, guess_bounds, guess_upper_bound
from sievert.limits.promises import ApproximateClaim
from sievert.spaces import metrics

UNEVEN = np.array([0.05, 0.3, 0.1, 0.25, 0.2, 0.1])
TARGETS = {
    "path": sv.secrets.line(range(6)),
    "star": sv.secrets.presence(range(5)),
    "line": metrics.line([0.0, 0.5, 0.9, 2.0, 2.5, 4.0]),
    "plane": metrics.euclidean([(0.0, 0.0), (0.0, 1.0), (1.0, 0.2), (2.0, 2.0), (0.4, 1.3), (3.0, 0.0)]),
    "cycle": sv.secrets.cycle(range(6)),
}


@pytest.mark.parametrize("releases", [1, 5])
@pytest.mark.parametrize("eps", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("name", list(TARGETS))
def test_the_upper_end_lies_between_the_ends_of_the_proof(
    name: str, uneven: bool, eps: float, releases: int
) -> None:
    target, belief = TARGETS[name], UNEVEN if uneven else None
    claim = ApproximateClaim(eps, 0.0, releases)
    proved, before = guess_bounds(claim, target, belief)
    found = guess_upper_bound(claim, target, belief)
    assert max(before, proved.lower) * (1 - 1e-9) <= found <= proved.upper * (1 + 1e-9)


@pytest.mark.parametrize("delta", [0.01, 0.3])
@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("name", ["path", "star"])
def test_with_delta_the_closed_form_is_the_program_on_a_star_and_bounds_it_on_a_path(
    name: str, uneven: bool, delta: float
) -> None:
    belief = UNEVEN if uneven else None
    claim = ApproximateClaim(0.7, delta)
    proved, _ = guess_bounds(claim, TARGETS[name], belief)
    found = guess_upper_bound(claim, TARGETS[name], belief)
    assert found >= proved.lower * (1 - 1e-9)
    if name == "star" or not uneven:
        assert found == pytest.approx(proved.upper, rel=1e-7)


def test_many_releases_on_a_long_path_are_bounded_without_a_program() -> None:
    policy = sv.Policy(sv.secrets.line(range(200)))
    allowed = guess_allowed_by_epsilon(policy, 0.1, 10, None, 1 / 200)
    # 1 + Σ of the total variation of ten releases over the 199 steps.
    claim = ApproximateClaim(0.1, 0.0, 10)
    assert allowed == pytest.approx((1 + 199 * float(claim.delta(np.zeros(1))[0])) / 200, rel=1e-12)
    assert allowed < guess_bounds(ApproximateClaim(1.0), policy, None)[0].upper


def test_whoever_has_a_bound_is_told_only_of_a_better_one() -> None:
    policy = sv.Policy(metrics.line(range(30)))
    belief = np.arange(1.0, 31.0) / 465
    best = guess_allowed_by_epsilon(policy, 0.5, 1, belief, float(belief.max()))
    for enough in (0.5 * best, 2 * best):
        found = guess_allowed_by_epsilon(policy, 0.5, 1, belief, float(belief.max()), enough)
        assert found >= enough if enough < best else found == pytest.approx(best)
