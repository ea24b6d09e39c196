"""Inside `_ratios`: sums after many releases."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, StaircaseLaw
from sievert.observations import LikelihoodRatioLaw, likelihood_ratio_law
from sievert.observations._ratios import _by_convolution, likelihood_ratio_upper, log_affinity
from tests.observations.test_record_views import geometric


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_staircase_ratios_have_three_values(steps: int) -> None:
    for law in (
        StaircaseLaw(Fraction(1), 4),
        StaircaseLaw(Fraction(1, 3), 4, 1),
        StaircaseLaw(Fraction(2), 4, 4),
    ):
        found, listed = likelihood_ratio_law(law, steps, 1), _by_convolution(law, steps, 1)
        kept = listed.log_pmf > -60
        assert found.logs[np.isfinite(found.log_pmf)] == pytest.approx(listed.logs[kept], abs=1e-12)
        finite = np.isfinite(found.log_pmf)
        assert np.exp(found.log_pmf[finite]) == pytest.approx(np.exp(listed.log_pmf[kept]), rel=1e-11)


def test_coarse_ratios_are_larger_in_convex_order(monkeypatch: pytest.MonkeyPatch) -> None:
    law = GeometricLaw(EpsilonOrAlpha(0.004, None))
    fine = likelihood_ratio_law(law, 300, 20)
    monkeypatch.setattr("sievert.observations._ratios.LARGEST_FINE", 0)
    coarse = likelihood_ratio_upper(law, 300, 20)

    def excess(ratios: LikelihoodRatioLaw, level: float) -> float:
        return float(np.exp(ratios.log_pmf) @ np.maximum(np.exp(ratios.logs) - level, 0.0))

    for level in (0.0, 0.3, 1.0, 4.0):
        assert excess(fine, level) * (1 - 1e-12) <= excess(coarse, level) <= excess(fine, level) * 1.001


def test_a_sum_of_gaussians_is_one_from_two_on() -> None:
    """The closed form against convolutions, at σ = 2 where it is used first."""
    from sievert.observations._ratios import _by_convolution

    law = GaussianLaw(Fraction(2))
    for releases in (2, 3, 10):
        closed, added = likelihood_ratio_law(law, 1, releases), _by_convolution(law, 1, releases)
        place = np.searchsorted(closed.logs, added.logs - 1e-9)
        seen = (added.log_pmf > -30) & (added.log_shown > -30)
        assert closed.log_pmf[place][seen] == pytest.approx(added.log_pmf[seen], abs=1e-11)


def test_affinities() -> None:
    for eps in (1e-7, 0.5, 30.0):
        assert log_affinity(geometric(eps), 1) == pytest.approx(-math.log(math.cosh(eps / 2)), rel=1e-8)
    assert log_affinity(geometric(0.5), 0) == 0.0
    wide = GaussianLaw(Fraction(50))
    assert log_affinity(wide, 3) == pytest.approx(-9 / (8 * 2500), rel=1e-9)
    stairs = StaircaseLaw(Fraction(1), 3)
    assert log_affinity(stairs, 3) < log_affinity(stairs, 1) < 0
