"""The upper end alone: never above what is proved, never below what a mechanism reaches."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.limits import allowed_guess, policy_guess, upper_guess
from sievert.limits._grids import Grid, _weights
from sievert.limits._methods import climb, is_only_packed
from sievert.limits._space import space_of
from sievert.limits._upper import is_by_programs
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
    proved, before = policy_guess(claim, target, belief)
    found = upper_guess(claim, target, belief)
    assert max(before, proved.lower) * (1 - 1e-9) <= found <= proved.upper * (1 + 1e-9)


@pytest.mark.parametrize("delta", [0.01, 0.3])
@pytest.mark.parametrize("uneven", [False, True])
@pytest.mark.parametrize("name", ["path", "star"])
def test_with_delta_the_closed_form_is_the_program_on_a_star_and_bounds_it_on_a_path(
    name: str, uneven: bool, delta: float
) -> None:
    belief = UNEVEN if uneven else None
    claim = ApproximateClaim(0.7, delta)
    proved, _ = policy_guess(claim, TARGETS[name], belief)
    found = upper_guess(claim, TARGETS[name], belief)
    assert found >= proved.lower * (1 - 1e-9)
    if name == "star" or not uneven:
        assert found == pytest.approx(proved.upper, rel=1e-7)


def test_many_releases_on_a_long_path_are_bounded_without_a_program() -> None:
    policy = sv.Policy(sv.secrets.line(range(200)))
    allowed = allowed_guess(policy, 0.1, 10, None, 1 / 200)
    # 1 + Σ of the total variation of ten releases over the 199 steps.
    claim = ApproximateClaim(0.1, 0.0, 10)
    assert allowed == pytest.approx((1 + 199 * float(claim.delta(np.zeros(1))[0])) / 200, rel=1e-12)
    assert allowed < policy_guess(ApproximateClaim(1.0), policy, None)[0].upper


def test_whoever_has_a_bound_is_told_only_of_a_better_one() -> None:
    policy = sv.Policy(metrics.line(range(30)))
    belief = np.arange(1.0, 31.0) / 465
    best = allowed_guess(policy, 0.5, 1, belief, float(belief.max()))
    for enough in (0.5 * best, 2 * best):
        found = allowed_guess(policy, 0.5, 1, belief, float(belief.max()), enough)
        assert found >= enough if enough < best else found == pytest.approx(best)


@pytest.mark.parametrize(("rows", "columns"), [(6, 6), (5, 8), (1, 7), (3, 1)])
def test_mirrored_cells_share_a_weight(rows: int, columns: int) -> None:
    """One unknown for up to four cells gives the weights of the whole system."""
    place = np.array([(r, c) for r in range(rows) for c in range(columns)], dtype=float)
    kernel = np.exp(-0.6 * np.linalg.norm(place[:, None] - place, axis=2))
    whole = np.linalg.solve(kernel + 1e-10 * np.eye(len(kernel)), np.ones(len(kernel)))
    found = _weights(0.6, tuple(range(rows)), tuple(range(columns)))
    np.testing.assert_allclose(found.ravel(), np.maximum(whole, 0.0), atol=1e-12)


def test_a_map_without_its_proof_bounds_what_is_proved() -> None:
    grid = Grid(40, 45, 1.0)
    belief = np.random.default_rng(7).random(1800)
    belief /= belief.sum()
    for eps in (Fraction(1, 10), Fraction(1), Fraction(3)):
        low, high, _ = grid.guess(eps, belief)
        assert low <= grid.upper(eps, belief) <= high * (1 + 1e-9)
        assert math.isclose(grid.upper(eps, belief), high, rel_tol=0.03)


@pytest.mark.parametrize(
    ("values", "threshold", "packed"),
    # One class for each value around the first half of them: 20,000 are looked at.
    [(301, 20, True), (201, 20, True), (199, 20, False), (120, 20, False)],
)
def test_corners_are_carried_over_where_packing_is_all_that_is_known(
    values: int, threshold: int, packed: bool
) -> None:
    space = space_of(sv.secrets.threshold(range(values), threshold))
    assert is_only_packed(space) == packed
    assert is_by_programs(sv.secrets.threshold(range(values), threshold)) == packed
    if packed:
        assert climb(space, Fraction(1, 2)).method == "packing bound"
