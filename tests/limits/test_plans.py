"""Plans of releases composed exactly: worked numbers, brute force over outputs, and dp-accounting."""

import itertools
import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, NoiseLaw, StaircaseLaw, law_from_data
from sievert.errors import MechanismError
from sievert.limits import PlannedClaim, keeps, largest_epsilon, planned_claim, planned_claim_of_any
from sievert.limits.promises import ApproximateClaim

WEEKLY = GeometricLaw(EpsilonOrAlpha(0.25, None))
ROOT_TEN = GaussianLaw(Fraction(math.isqrt(10 * 10**24), 10**12))


@pytest.mark.parametrize(("weeks", "exact"), [(12, 5.467687544), (52, 14.322647414)])
def test_a_table_every_week(weeks: int, exact: float) -> None:
    """Budgets and statistics, 1.4: a plan of tables is response at ε′, twice a week."""
    plan = planned_claim([(WEEKLY, 1), (WEEKLY, 1)], weeks)
    assert plan.exact and plan.tight
    assert plan.epsilon(1e-6) == pytest.approx(exact, abs=5e-10)
    response = ApproximateClaim(0.25, 0.0, 2 * weeks)
    levels = np.array([0.0, 1.0, 4.9, weeks / 2 - 0.1])
    assert plan.delta(levels) == pytest.approx(response.delta(levels), rel=1e-11)
    assert plan.epsilon(1e-40) == pytest.approx(response.epsilon(1e-40), rel=1e-12)
    assert plan.pure == weeks / 2 and plan.epsilon(0.0) == weeks / 2
    for first in (0.5, 0.7):
        assert plan.between_two(first) == pytest.approx(response.between_two(first), rel=1e-11)


def test_any_releases_of_the_same_epsilon_lose_more() -> None:
    assert ApproximateClaim(0.5, 0.0, 12).epsilon(1e-6) == pytest.approx(5.9997044, abs=5e-8)
    assert ApproximateClaim(0.5, 0.0, 52).epsilon(1e-6) == pytest.approx(20.893795382, abs=5e-10)


def test_discrete_gaussian_noise() -> None:
    """1.3 and 8: a table with σ² = 10, and one with σ = 4 every week."""
    once = planned_claim([(ROOT_TEN, 1), (ROOT_TEN, 1)], 1)
    assert float(once.delta(np.ones(1))[0]) == pytest.approx(0.003087919, abs=5e-10)
    assert once.epsilon(1e-6) == pytest.approx(1.991236185, abs=5e-10)
    four = GaussianLaw(Fraction(4))
    assert planned_claim([(four, 1), (four, 1)], 52).epsilon(1e-6) == pytest.approx(14.8065, abs=5e-5)
    cell = planned_claim([(GaussianLaw(Fraction(21, 5)), 1)], 1)
    assert float(cell.delta(np.ones(1))[0]) == pytest.approx(1.0820e-6, abs=5e-11)
    wide = GaussianLaw(Fraction(4224678889, 10**9))
    assert float(planned_claim([(wide, 1)], 1).delta(np.ones(1))[0]) == pytest.approx(1.019663e-6, abs=5e-13)
    assert cell.pure == math.inf


def by_brute_force(cells: list[tuple[NoiseLaw, int]], releases: int, level: float, reach: int) -> float:
    """Σ over all outputs of max(0, P - e^ε·Q)."""
    noise = np.arange(-reach, reach + 1.0)
    rows = [(law.log_pmf(noise - steps), law.log_pmf(noise)) for law, steps in cells] * releases
    first = second = np.zeros(1)
    for there, nobody in rows:
        first = np.add.outer(first, there).ravel()
        second = np.add.outer(second, nobody).ravel()
    return float(np.maximum(0.0, np.exp(first) - math.exp(level) * np.exp(second)).sum())


@pytest.mark.parametrize(
    ("cells", "releases", "reach"),
    [
        ([(GeometricLaw(EpsilonOrAlpha(1.5, None)), 1), (GeometricLaw(EpsilonOrAlpha(1.5, None)), 2)], 2, 16),
        ([(GeometricLaw(EpsilonOrAlpha(1.0, None)), 4)], 3, 40),
        ([(GaussianLaw(Fraction(1)), 1), (GaussianLaw(Fraction(1)), 2)], 2, 9),
        ([(GaussianLaw(Fraction(3, 2)), 2), (GeometricLaw(EpsilonOrAlpha(1.0, None)), 1)], 1, 30),
        ([(StaircaseLaw(Fraction(2), 3), 2)], 2, 70),
    ],
)
def test_every_output_of_small_plans(cells: list[tuple[NoiseLaw, int]], releases: int, reach: int) -> None:
    plan = planned_claim(cells, releases)
    for level in (0.0, 0.7, 2.0):
        found = float(plan.delta(np.array([level]))[0])
        expected = by_brute_force(cells, releases, level, reach)
        assert found == pytest.approx(expected, rel=1e-9 if plan.exact else 1e-6)
        assert plan.exact or found >= expected * (1 - 1e-9)


def test_losses_without_a_common_lattice_are_never_too_low() -> None:
    """Two different noises, whose losses no lattice holds: gathered, and a little above the truth."""
    cells: list[tuple[NoiseLaw, int]] = [
        (WEEKLY, 1),
        (GeometricLaw(EpsilonOrAlpha(math.sqrt(2) / 5, None)), 2),
    ]
    plan = planned_claim(cells, 1)
    assert not plan.exact and plan.between_two(0.5) is None
    for level in (0.0, 0.3, 0.8):
        expected = by_brute_force(cells, 1, level, 150)
        assert expected * (1 - 1e-12) <= float(plan.delta(np.array([level]))[0]) <= expected * (1 + 1e-5)


@given(st.integers(1, 30), st.sampled_from([(1,), (1, 1), (2, 1), (3,)]), st.floats(0.0, 3.0))
def test_more_or_larger_moves_lose_more(releases: int, steps: tuple[int, ...], level: float) -> None:
    """What a slot relies on: no move cell by cell larger, no greater loss."""
    law = GeometricLaw(EpsilonOrAlpha(0.5, None))
    at = np.array([level])
    found = float(planned_claim([(law, s) for s in steps], releases).delta(at)[0])
    more = float(planned_claim([(law, s) for s in steps], releases + 1).delta(at)[0])
    larger = float(planned_claim([(law, s) for s in (steps[0] + 1, *steps[1:])], releases).delta(at)[0])
    further = float(planned_claim([(law, s) for s in (*steps, 1)], releases).delta(at)[0])
    assert found <= min(more, larger, further) * (1 + 1e-9) + 1e-300


def test_one_cell_by_two_is_worse_than_two_by_one() -> None:
    """1.4: equal L1 is not enough for a slot."""
    law, at = GeometricLaw(EpsilonOrAlpha(0.5, None)), np.array([0.3])
    one = planned_claim([(law, 2)], 5).delta(at)[0]
    assert one > planned_claim([(law, 1), (law, 1)], 5).delta(at)[0] * 1.01


def test_a_plan_that_moves_nothing_and_bad_arguments() -> None:
    nothing = planned_claim([(WEEKLY, 0)], 3)
    assert nothing.epsilon(1e-6) == nothing.pure == 0 and float(nothing.delta(np.zeros(1))[0]) == 0
    for releases in (0, -1, 1.5, "52", None):
        with pytest.raises(MechanismError, match="releases is"):
            planned_claim([(WEEKLY, 1)], releases)  # type: ignore[arg-type]


def test_a_curve_of_many_levels_is_that_of_each() -> None:
    plan = planned_claim([(WEEKLY, 1), (WEEKLY, 1)], 52)
    levels = plan.levels()
    together = plan.delta(levels)
    assert (np.diff(together) <= 1e-15).all()
    for place in itertools.islice(range(len(levels)), 0, None, 40):
        assert together[place] == pytest.approx(float(plan.delta(levels[place : place + 1])[0]), rel=1e-7)


def test_dp_accounting(oracle: Any) -> None:
    """8: it rounds losses up to a grid of 1e-4, so it is a little above."""
    oracle("dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution as pld

    def composed(law: Any, times: int) -> float:
        return float(law.self_compose(times).get_epsilon_for_delta(1e-6))

    laplace = pld.from_discrete_laplace_mechanism(0.25)
    assert composed(laplace, 104) == pytest.approx(14.322647416, abs=5e-9)
    ours = planned_claim([(WEEKLY, 1), (WEEKLY, 1)], 52).epsilon(1e-6)
    assert ours <= composed(laplace, 104) <= ours + 1e-8
    four = pld.from_discrete_gaussian_mechanism(4.0)
    ours = planned_claim([(GaussianLaw(Fraction(4)), 1)] * 2, 52).epsilon(1e-6)
    assert composed(four, 104) == pytest.approx(14.8117, abs=5e-5)
    assert ours < composed(four, 104) < ours + 0.006
    narrow = pld.from_discrete_gaussian_mechanism(4.2)
    assert narrow.get_delta_for_epsilon(1.0) == pytest.approx(1.0828e-6, abs=5e-11)


# ── releases that may make any of several moves ─────────────────────────────────────────────────────────────


def gaussian(sigma: int) -> GaussianLaw:
    return GaussianLaw(Fraction(sigma))


def test_the_move_that_tells_most_is_composed_exactly() -> None:
    """Formerly one that was as large as any in every cell: ε was above what ρ gives."""
    least, most = [(gaussian(1060), 99), (gaussian(2997), 198)], [(gaussian(8), 1), (gaussian(2997), 99)]
    alone = planned_claim(most, 12)
    for moves in ([least, most], [most, least]):
        found = planned_claim_of_any(moves, 12)
        assert found.epsilon(1e-6) == alone.epsilon(1e-6)
    widest = planned_claim([(gaussian(1060), 99), (gaussian(2997), 198), (gaussian(8), 1)], 12)
    assert alone.epsilon(1e-6) < 0.9 * widest.epsilon(1e-6)


@pytest.mark.parametrize("releases", [1, 2, 5])
def test_releases_may_make_different_moves(releases: int) -> None:
    """Curves that cross: bounded noise tells more near 0, unbounded noise more far out."""
    first = [(GeometricLaw(EpsilonOrAlpha(0.5, None)), 1)]
    second = [(gaussian(6), 2), (gaussian(9), 3)]
    found = planned_claim_of_any([first, second], releases)
    levels = np.array([0.0, 0.1, 0.3, 0.49, 0.7, 1.0, 1.5, 2.2])
    bound = found.delta(levels)
    assert not found.exact
    # Every mixture of the moves, each composed exactly, is below it.
    for number in range(releases + 1):
        mixed = planned_claim([*first * number, *second * (releases - number)], 1)
        assert (mixed.delta(levels) <= bound * (1 + 1e-9) + 1e-15).all()
    one = [planned_claim(cells, 1).delta(levels) for cells in (first, second)]
    if releases == 1:
        assert bound == pytest.approx(np.maximum(*one), rel=1e-3, abs=1e-14)
        assert (one[0] > one[1]).any() and (one[0] < one[1]).any()


def test_the_worst_of_many_moves_is_found_without_composing_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """One audit of five Gaussian queries composed 31 moves, one after another."""
    moves = [[(gaussian(12), 1), (gaussian(30), size)] for size in range(1, 25)]
    moves += [[(gaussian(12), 1), (GeometricLaw(EpsilonOrAlpha(0.05, None)), 1)]]
    every = [planned_claim(cells, 1).epsilon(1e-6) for cells in moves]
    claims: list[object] = []
    real = PlannedClaim.epsilon

    def counted(claim: PlannedClaim, delta: float) -> float:
        claims.append(claim)
        return real(claim, delta)

    monkeypatch.setattr(PlannedClaim, "epsilon", counted)
    found, exact = largest_epsilon(moves, 1e-6)
    assert found == max(every) and len(claims) == 1
    assert exact == planned_claim(moves[every.index(found)], 1).exact
    assert keeps(moves, found * 1.0001, 1e-6) and not keeps(moves, found * 0.9999, 1e-6)
    assert largest_epsilon([], 1e-6) == (0.0, True) and keeps([], 0.0, 1e-9)


def test_a_tilt_is_sought_among_the_atoms_alone() -> None:
    """Of half a million points of a fine lattice few have a probability: this took 3 s, and takes 0.2 s."""
    claim = planned_claim([(gaussian(12), 1), (gaussian(31), 7), (gaussian(47), 11)], 1)
    assert not claim.exact
    start = time.process_time()
    found = claim.delta(np.array([0.5, 1.0, 1.5]))
    assert time.process_time() - start < 1
    assert found == pytest.approx([0.012813042, 0.00022528247, 5.6934185e-07])


def test_levels_that_differ_beyond_all_exponents_of_floats_are_composed() -> None:
    """Formerly an OverflowError, where a forged ledger had planned an ε of 2^70 beside a small one."""
    big, small = (law_from_data({"law": "geometric", "eps": eps}) for eps in (str(2**70), "1/4"))
    assert planned_claim([(big, 1), (small, 1)], 2).epsilon(1e-6) >= 2.0**71
