"""Geometric and Gaussian noise side by side at equal guess (budgets and statistics, §2)."""

import math
from fractions import Fraction as F

import numpy as np
import pytest

from sievert.channels import GaussianLaw, HistogramNoise
from sievert.design import noise_for
from sievert.observations import likelihood_of
from sievert.policies import Policy, Query


@pytest.mark.parametrize(
    ("cells", "eps", "releases", "guess", "sds", "near", "far"),
    [
        (12, 0.25, 1, 0.106960164, (5.642, 6.307), (12, 12), (37, 25)),
        (12, 0.25, 52, 0.575237886, (5.642, 4.016), (12, 8), (37, 16)),
        (5, 0.5, 1, 0.310266806, (2.799, 2.374), (6, 5), (18, 9)),
        (100, 1.0, 1, 0.027182818, (1.357, 2.317), (3, 5), (9, 9)),
    ],
)
def test_equal_guess(cells, eps, releases, guess, sds, near, far):
    """§2's table: standard deviation, 95 % and 99.99 % radius of both."""
    policy = Policy.differential(range(cells), 1000)
    found = noise_for(policy, 2 * eps, Query.histogram(), releases=releases)
    options = {option.name.partition(",")[0]: option for option in found.options}
    both = [options["geometric"], options["discrete Gaussian"]]
    assert f"{both[0].repeated:.9f}" == f"{guess:.9f}"
    for option, sd, radius, wide in zip(both, sds, near, far, strict=True):
        assert math.isclose(option.repeated, guess, rel_tol=2e-5)
        assert math.isclose(option.sd, sd, abs_tol=6e-4)
        assert option.radius == radius and option.noise.law.radius(0.9999) == wide


@pytest.mark.parametrize(
    ("cells", "variance", "releases", "guess"),
    [(12, 10, 1, 0.134666811), (3, 1, 1, 0.621505432), (2, 1, 2, 0.836261024)],
)
def test_one_record_exactly(cells, variance, releases, guess):
    """V_n of §2, the last by brute force there."""
    policy = Policy.differential(range(cells), 50)
    noise = HistogramNoise(Query.histogram().statistic(policy), GaussianLaw.of_variance(F(variance)))
    found = likelihood_of(noise, np.full(cells, 1 / cells)).guess(releases)
    assert found.exact and f"{found.guess:.9f}" == f"{guess:.9f}"


def test_a_sum_of_draws_is_no_discrete_gaussian():
    """n = 2, σ = 1: c(s mod 2) = .282124, .282066 against e^(-s²/4)."""
    z = np.arange(-60.0, 61.0)
    once = np.exp(GaussianLaw(F(1)).log_pmf(z))
    twice = np.convolve(once, once)
    middle = len(twice) // 2
    assert f"{twice[middle]:.6f}" == "0.282124"
    assert f"{twice[middle + 1] / math.exp(-1 / 4):.6f}" == "0.282066"
