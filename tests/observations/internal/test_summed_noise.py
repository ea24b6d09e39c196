"""Inside `_summed_noise`: sums after many releases."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, StaircaseLaw
from sievert.observations._summed_noise import law_of_sum

LAWS = [
    GeometricLaw(EpsilonOrAlpha(0.3, None)),
    GeometricLaw(EpsilonOrAlpha(1.5, None)),
    GaussianLaw(Fraction(3, 4)),
    GaussianLaw(Fraction(5, 2)),
    StaircaseLaw(Fraction(1), 4),
    StaircaseLaw(Fraction(1, 2), 2, 1),
]


def test_the_sum_of_narrow_gaussians_is_listed() -> None:
    law = law_of_sum(LAWS[2], 3)
    assert law is not None
    once = np.exp(LAWS[2].log_pmf(np.arange(-20.0, 21)))
    often = np.convolve(np.convolve(once, once), once)
    assert np.exp(law.log_pmf(np.arange(-60.0, 61))) == pytest.approx(often, rel=1e-11, abs=1e-30)
    tails = np.exp(law.log_upper(np.array([-3.0, 0.0, 1.0, 4.0])))
    assert tails == pytest.approx([often[k:].sum() for k in (57, 60, 61, 64)], rel=1e-11)
    assert law.mean_error == pytest.approx(float(np.abs(np.arange(-60, 61)) @ often), rel=1e-11)
    drawn = law.simulated(np.random.default_rng(1), 20_000)
    # Five standard errors: a false alarm of 6e-7.
    assert abs(drawn.std() / law.deviation - 1) < 5 / math.sqrt(2 * 20_000)
    assert law.reach >= 18 and law.eps_of(Fraction(1)) is None and "3 draws" in law.words()
