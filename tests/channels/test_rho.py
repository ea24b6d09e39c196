"""ρ of noise and of listed channels: the spec's numbers, grids of orders, and what bounds what."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sievert import mechanisms
from sievert.channels import (
    Channel,
    EpsilonOrAlpha,
    GaussianLaw,
    GeometricLaw,
    ScalarNoise,
    StaircaseLaw,
    rho_of_channel,
    rho_of_eps,
    rho_of_response,
    rho_of_selection,
)
from sievert.errors import MechanismError
from sievert.policies import Policy, Query
from sievert.spaces import metrics

ORDERS = 1 + np.geomspace(1e-3, 1e4, 500)


def on_grid(first, second):
    """max D_a/a over a grid of orders, both ways, for rows without zeros."""
    found = 0.0
    for p, q in ((first, second), (second, first)):
        loss = np.log(p) - np.log(q)
        logs = np.log(p) + np.multiply.outer(ORDERS - 1, loss)
        top = logs.max(axis=1)
        moments = np.log(np.exp(logs - top[:, None]).sum(axis=1)) + top
        rates = moments / (ORDERS * (ORDERS - 1))
        found = max(found, float(rates.max()), float(p @ loss))
    return found


def geometric(eps):
    return GeometricLaw(EpsilonOrAlpha(float(F(eps)), None, exact_eps=F(eps)))


def window(law, steps, reach=400):
    z = np.arange(-float(reach), reach + steps + 1)
    return np.exp(law.log_pmf(z)), np.exp(law.log_pmf(z - steps))


@pytest.mark.parametrize(
    ("found", "digits"),
    [
        (lambda: rho_of_eps(F(1)), "0.462117157"),
        (lambda: geometric("1/4").rho_of(4), "0.374416332"),
        (lambda: 2 * geometric("1/2").rho_of(1), "0.244918662"),
        (lambda: 2 * geometric("1/4").rho_of(-1), "0.062176501"),
        (lambda: rho_of_response(12, F(1)), "0.131643654"),
        (lambda: rho_of_response(100, F(1)), "0.061138212"),
        (lambda: rho_of_selection(F(1)), "0.123301561"),
        (lambda: GaussianLaw(F(2)).rho_of(3), "1.125000000"),
    ],
)
def test_numbers(found, digits):
    """§1.2's table, each rounded up at 10^-12 and to the printed nine digits."""
    rho = found()
    assert f"{float(rho):.9f}" == digits
    assert (rho * 10**12).denominator == 1


def test_divergence_of_many_values_is_not_rho():
    """From 7 values on response of small ε has more ρ than divergence of Kullback and Leibler (§1.2).

    Of larger ε it takes more values: at ε = 1 seven are not enough.
    """
    for values, eps, above in ((2, 1, False), (6, 0.3, False), (7, 0.3, True), (7, 1, False), (12, 1, True)):
        kl = eps * math.expm1(eps) / (math.exp(eps) + values - 1)
        assert (float(rho_of_response(values, F(str(eps)))) > kl + 2e-12) is above
    assert math.isclose(math.expm1(1) / (math.e + 99), 0.016893, abs_tol=5e-7)


@settings(max_examples=15)
@given(st.fractions(F(1, 9), F(3), max_denominator=9), st.integers(1, 6), st.integers(1, 4))
def test_noise_against_a_grid_of_orders(eps, steps, width):
    """Never below any order looked at, and no more than their largest but for the grid."""
    for law in (geometric(eps), StaircaseLaw(eps, width)):
        grid = on_grid(*window(law, steps, law.beyond(-40.0)))
        rho = float(law.rho_of(steps))
        assert grid <= rho * (1 + 1e-7) + 1e-12
        assert rho <= grid * (1 + 1e-3) + 2e-12
        assert rho <= float(rho_of_eps(law.eps_of(F(steps)))) + 1e-12


@settings(max_examples=15)
@given(st.fractions(F(1, 50), F(6), max_denominator=50), st.integers(2, 40))
def test_response_against_a_grid_of_orders(eps, values):
    found = float(rho_of_response(values, eps))
    row = np.full(values, 1 / (math.exp(eps) + values - 1))
    first, second = row.copy(), row.copy()
    first[0], second[1] = first[0] * math.exp(eps), second[1] * math.exp(eps)
    grid = on_grid(first, second)
    assert grid * (1 - 1e-7) - 1e-12 <= found <= grid * (1 + 1e-3) + 2e-12
    listed = mechanisms.randomised_response(values, eps=float(eps))
    assert math.isclose(rho_of_channel(listed, metrics.discrete(values)), found, rel_tol=1e-9, abs_tol=2e-12)


@settings(max_examples=15)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.floats(0.05, 5), st.data())
def test_selection_bounds_every_pair_of_scores(scores, eps, data):
    """Any two rows of an exponential mechanism whose scores moved by 1 at most are within its ρ."""
    first = np.array(scores)
    second = first + np.array(data.draw(st.lists(st.floats(-1, 1), min_size=len(first), max_size=len(first))))
    rows = [np.exp(eps / 2 * part) / np.exp(eps / 2 * part).sum() for part in (first, second)]
    level = F(str(eps))
    assert on_grid(*rows) <= float(rho_of_selection(level)) + 1e-9
    assert float(rho_of_selection(level)) <= eps**2 / 8 + 2e-12


def test_geometric_by_its_ratio():
    assert GeometricLaw(EpsilonOrAlpha(math.log(2), F(1, 2))).rho_of(3) >= geometric(str(math.log(2))).rho_of(
        3
    )
    with pytest.raises(MechanismError, match="alpha is 0"):
        GeometricLaw(EpsilonOrAlpha(math.inf, F(0))).rho_of(1)


@pytest.mark.parametrize("eps", ["1/1000000000000000000000", "1e-300", "100000", "1e300"])
def test_ends_of_the_range(eps):
    """Far from 1 the cost is an exact fraction, or one unit of rounding."""
    level = F(eps)
    for found in (rho_of_eps(level), rho_of_response(5, level), rho_of_selection(level)):
        assert found == F(1, 10**12) if level < 1 else level / 2 <= found <= level
    assert geometric(eps).rho_of(1) == (F(1, 10**12) if level < 1 else level)


def test_cells_add_up_and_a_variance_is_exact():
    policy = Policy.differential(range(4), 10)
    noise = ScalarNoise(Query.sum().statistic(policy), GaussianLaw.of_variance(F(10)))
    assert noise.rho_of([1, -1]) == F(1, 10)
    assert noise.law.written == ("variance", F(10))
    assert GaussianLaw.of_variance(F(9, 4)) == GaussianLaw(F(3, 2))


@settings(max_examples=12)
@given(st.integers(2, 5), st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_listed_channels(inputs, outputs, seed):
    """The worst pair of rows, never below any order, and never above what ε alone says."""
    rows = np.random.default_rng(seed).dirichlet(np.ones(outputs), inputs) + 0.01
    rows /= rows.sum(axis=1, keepdims=True)
    channel, metric = Channel(rows), metrics.discrete(inputs)
    grid = max(on_grid(rows[i], rows[j]) for i in range(inputs) for j in range(i))
    found = float(rho_of_channel(channel, metric))
    assert grid * (1 - 1e-7) <= found <= grid * (1 + 1e-3) + 2e-12
    # D_a ≤ a·ρ·d² at twice the distance.
    assert math.isclose(4 * rho_of_channel(channel, metric.scaled(2)), found, rel_tol=1e-9)


def test_rows_that_rule_out_have_no_rho():
    with pytest.raises(MechanismError, match="rules values out"):
        rho_of_channel(Channel([[1, 0], [0.5, 0.5]]), metrics.discrete(2))
