"""Inside `_confidence`: claims."""

from __future__ import annotations

import pytest
from mpmath import (
    erfinv,
    mp,
    mpf,
)

import sievert as sv
from sievert.estimation._confidence import normal_reach


@pytest.fixture(autouse=True)
def digits(many_digits):
    """A probability next to 1 is e^-700 away from it."""
    with mp.workdps(420):
        yield


@pytest.mark.parametrize("level", [1e-300, 1e-12, 0.5, 0.95, 1 - 1e-9, 1 - 2**-52, 1 - 2**-53])
def test_levels_of_intervals(agrees, level):
    """z with P(|Z| ≤ z) = level, from which every normal interval is made."""
    agrees(normal_reach(level), mpf(2).sqrt() * erfinv(mpf(level)))
    estimate = sv.estimate_mean([50, 30, 20], sv.mechanisms.randomised_response(3, 1.0), confidence=level)
    assert estimate.interval[1] - estimate.value <= 8.3 * estimate.standard_error
