"""Errors of added noise in closed form, against 420 digits."""

from __future__ import annotations

from fractions import Fraction

import pytest
from mpmath import exp, mp, mpf, sinh, sqrt

import sievert as sv
from sievert.mechanisms import geometric_table_noise
from sievert.release._accuracy import errors
from tests.laws.test_precision_claims import EPSILONS

ONE_NUMBER = sv.Query.count([1]).statistic(sv.Policy.differential([0, 1], 10))


@pytest.fixture(autouse=True)
def digits(many_digits):
    """A probability next to 1 is e^-700 away from it."""
    with mp.workdps(420):
        yield


@pytest.mark.parametrize("eps", EPSILONS)
def test_errors_of_added_noise(agrees, eps):
    step = Fraction(str(eps))
    found = errors(geometric_table_noise(ONE_NUMBER, Fraction(1), step), 0.95)
    agrees(found.sd, 1 / (sqrt(2) * sinh(mpf(str(eps)) / 2)))
    agrees(found.mean, 1 / sinh(mpf(str(eps))))
    decay = exp(-mpf(str(eps)))
    # P(|Z| > q) is within what is left, and at one less it is not.
    tails = [2 * decay ** (q + 1) / (1 + decay) for q in (int(found.radius), int(found.radius) - 1)]
    left = 1 - mpf(0.95)
    assert tails[0] <= left * (1 + mpf("1e-9"))
    assert found.radius == 0 or tails[1] > left * (1 - mpf("1e-9"))
