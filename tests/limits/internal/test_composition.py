"""Several releases: exact totals by other means, and agreement with dp-accounting within its own error."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import sievert as sv
from sievert.errors import SievertError
from sievert.limits import gaussian_delta
from sievert.limits._composition import (
    composed_delta,
    composed_points,
    from_profile,
    gaussian_epsilon,
    gaussian_tradeoff,
    repeated_response,
    response_tradeoff,
    zcdp_delta,
)


def exact_delta(alpha: Fraction, lost: Fraction, releases: int, growth: Fraction) -> Fraction:
    """δ at e^ε = growth, over the rationals: outcomes of releases that reveal, or respond with ratio 1/α."""
    right, wrong = 1 / (1 + alpha), alpha / (1 + alpha)
    total = Fraction(0)
    for mistakes in range(releases + 1):
        ways = math.comb(releases, mistakes)
        first = ways * right ** (releases - mistakes) * wrong**mistakes
        second = ways * wrong ** (releases - mistakes) * right**mistakes
        total += max(Fraction(0), first - growth * second)
    given_away = 1 - (1 - lost) ** releases
    return given_away + (1 - given_away) * total


@pytest.mark.parametrize("releases", [1, 2, 3, 9, 40])
def test_composed_delta_over_the_rationals(releases: int) -> None:
    alpha, lost = Fraction(2, 3), Fraction(1, 1000)
    for growth in (Fraction(1), Fraction(5, 4), Fraction(3), Fraction(27, 8)):
        exact = exact_delta(alpha, lost, releases, growth)
        found = composed_delta(math.log(1.5), 0.001, releases, math.log(growth))[0]
        assert found == pytest.approx(float(exact), rel=1e-11, abs=1e-15)


def test_theorem_of_kairouz_oh_and_viswanath() -> None:
    """δ_i of Theorem 3.3 at ε_i = (k-2i)ε, by its printed formula."""
    eps, delta, releases = 0.7, 0.01, 7
    levels, found = composed_points(eps, delta, releases)
    for level, value in zip(levels, found, strict=True):
        i = round((releases - level / eps) / 2)
        if not math.isclose(level, (releases - 2 * i) * eps):
            continue
        inner = sum(
            math.comb(releases, j)
            * (math.exp((releases - j) * eps) - math.exp((releases - 2 * i + j) * eps))
            / (1 + math.exp(eps)) ** releases
            for j in range(i)
        )
        assert value == pytest.approx(1 - (1 - delta) ** releases * (1 - inner), rel=1e-12)


def test_enumerated_product_of_responses() -> None:
    """k-fold randomised response listed outcome by outcome."""
    eps, releases = 0.6, 6
    p = math.exp(eps) / (1 + math.exp(eps))
    advantage = 0.0
    for word in itertools.product([0, 1], repeat=releases):
        right = math.prod(p if w == 0 else 1 - p for w in word)
        other = math.prod(1 - p if w == 0 else p for w in word)
        advantage += max(0.0, right - other)
    assert composed_delta(eps, 0.0, releases, 0.0)[0] == pytest.approx(advantage, rel=1e-12)
    assert response_tradeoff(eps, 0.0, releases).advantage == pytest.approx(advantage, rel=1e-12)


def test_many_releases_keep_their_mass() -> None:
    for releases in (1_000, 100_000):
        first, loss = repeated_response(0.01, releases)
        assert first.sum() == pytest.approx(1, abs=1e-12)
        # Where the first is too small for a float, the second is the mirror outcome's first.
        second = np.exp(np.log(first[first > 0]) - loss[first > 0])
        assert second.sum() == pytest.approx(1, abs=1e-9)
    # Central limit: nearly Gaussian with μ = ε√k.
    assert sv.explain(eps=0.01, releases=100_000).after == pytest.approx(
        norm.cdf(0.01 * 316.22777 / 2), abs=1e-3
    )


def test_totals_are_ordered() -> None:
    for eps, delta, releases in ((0.1, 0.0, 100), (0.3, 1e-8, 20), (1.0, 0.0, 3), (0.01, 1e-9, 1000)):
        found = sv.promises.composed_claim(eps, releases=releases, delta=delta, total_delta=1e-5)
        assert found.optimal <= min(found.basic, found.advanced) * (1 + 1e-12)
        total = composed_delta(eps, delta, releases, found.optimal)[0]
        assert total <= 1e-5 * (1 + 1e-9)
    assert sv.promises.composed_claim(1.0, releases=5).basic == 5
    assert math.isinf(sv.promises.composed_claim(1.0, releases=5, delta=0.1, total_delta=0.2).optimal)
    with pytest.raises(SievertError):
        sv.promises.composed_claim(1.0, releases=5, total_delta=2)


def test_tradeoff_of_a_claim() -> None:
    eps, delta = 1.3, 0.04
    curve = response_tradeoff(eps, delta)
    assert curve.advantage == pytest.approx((math.exp(eps) - 1 + 2 * delta) / (math.exp(eps) + 1))
    for a in np.linspace(0, 1, 23):
        line = max(0, 1 - delta - math.exp(eps) * a, math.exp(-eps) * (1 - delta - a))
        assert float(curve.at(a)) == pytest.approx(line, abs=1e-12)
    same = from_profile([eps], [delta])
    assert np.allclose(same.at(curve.false_alarm), curve.miss, atol=1e-9)


@pytest.mark.parametrize("releases", [1, 4, 13])
def test_tradeoff_and_delta_are_dual(releases: int) -> None:
    curve = response_tradeoff(0.4, 0.003, releases)
    for eps in (0.0, 0.3, 1.0, 2.5):
        dual = np.max(1 - curve.miss - math.exp(eps) * curve.false_alarm)
        assert composed_delta(0.4, 0.003, releases, eps)[0] == pytest.approx(dual, abs=1e-12)


def test_gaussian_tradeoff_and_delta() -> None:
    curve = gaussian_tradeoff(1.7)
    assert curve.advantage == pytest.approx(2 * norm.cdf(0.85) - 1, rel=1e-12)
    for eps in (0.0, 0.5, 2.0):
        assert gaussian_delta(1.7, eps)[0] == pytest.approx(
            np.max(1 - curve.miss - math.exp(eps) * curve.false_alarm), abs=1e-3
        )
    assert gaussian_delta(1.7, gaussian_epsilon(1.7, 1e-5))[0] == pytest.approx(1e-5, rel=1e-9)
    assert gaussian_delta(0.0, 1.0)[0] == 0
    assert gaussian_epsilon(1.0, 0.0) == math.inf


def test_gaussian_delta_by_integration() -> None:
    grid = np.linspace(-15, 16, 600_001)
    density = [np.exp(-((grid - m) ** 2) / 2) / math.sqrt(2 * math.pi) for m in (1.0, 0.0)]
    for eps in (0.0, 1.0, 2.0):
        exact = np.trapezoid(np.maximum(density[0] - math.exp(eps) * density[1], 0), grid)
        assert gaussian_delta(1.0, eps)[0] == pytest.approx(exact, abs=1e-9)


def test_zcdp_bounds_the_gaussian_it_comes_from() -> None:
    for mu in (0.05, 0.5, 1.0, 3.0):
        eps = np.linspace(0, 8, 60)
        assert (zcdp_delta(mu**2 / 2, eps) >= gaussian_delta(mu, eps) - 1e-15).all()


def test_claims_as_epsilon_and_delta() -> None:
    gaussian = dict(sv.explain(sigma=2, releases=4).equivalents)
    zcdp = dict(sv.explain(rho=1 / 8, releases=4).equivalents)
    curve = {order: order / 8 for order in np.linspace(1.1, 60, 200).tolist()}
    renyi = dict(sv.explain(renyi=curve, releases=4).equivalents)
    for delta in (1e-3, 1e-6, 1e-9):
        assert gaussian_delta(1.0, gaussian[delta])[0] == pytest.approx(delta, rel=1e-6)
        assert gaussian[delta] < zcdp[delta] <= renyi[delta] + 1e-9
        # Bun and Steinke, Prop 1.3, is looser than the conversion used here.
        assert zcdp[delta] <= 0.5 + 2 * math.sqrt(0.5 * math.log(1 / delta))
    assert sv.explain(eps=1).equivalents == ()


def test_agrees_with_dp_accounting(oracle) -> None:  # type: ignore[no-untyped-def]
    accounting = oracle("dp_accounting")
    pld = oracle("dp_accounting.pld.privacy_loss_distribution")
    # The discretisation is pessimistic: never below, and above by no more than a fine grid explains.
    for eps, releases in ((0.5, 10), (1.0, 3), (0.1, 50)):
        loss = pld.from_randomized_response(2 / (1 + math.exp(eps)), 2, value_discretization_interval=1e-4)
        composed = loss.self_compose(releases)
        for level in (0.0, eps, 2 * eps):
            theirs = composed.get_delta_for_epsilon(level)
            ours = composed_delta(eps, 0.0, releases, level)[0]
            assert ours <= theirs + 1e-9
            assert theirs <= ours + 1e-4 * releases
    for sigma, releases in ((1.0, 1), (2.0, 4), (5.0, 25)):
        accountant = accounting.pld.PLDAccountant(value_discretization_interval=1e-4)
        accountant.compose(accounting.GaussianDpEvent(sigma), releases)
        mu = math.sqrt(releases) / sigma
        for level in (0.0, 0.5, 1.5):
            assert accountant.get_delta(level) == pytest.approx(gaussian_delta(mu, level)[0], abs=2e-4)
    # Their Rényi accountant: ours uses every order, so it is at least as good, and never below the truth.
    for rho in (0.01, 0.1, 1.0):
        accountant = accounting.rdp.RdpAccountant()
        accountant.compose(accounting.ZCDpEvent(rho))
        for level in (0.5, 1.0, 3.0):
            assert zcdp_delta(rho, level)[0] <= accountant.get_delta(level) * (1 + 1e-9)


def test_an_implied_trade_off_is_on_the_safe_side() -> None:
    """Between the points of a convex curve a chord lies above it: misses would be overstated."""
    levels = np.linspace(0, 3, 4)
    delta = np.array([0.5, 0.3, 0.1, 0.02])
    curve = from_profile(levels, delta)
    shares = np.linspace(0, 1, 7919)
    lines = [
        np.maximum(1 - d - np.exp(e) * shares, (1 - d - shares) * np.exp(-e))
        for e, d in zip(levels, delta, strict=True)
    ]
    assert curve.at(shares) == pytest.approx(np.maximum(0, np.max(lines, axis=0)), abs=1e-15)
    assert curve.advantage == pytest.approx(float(np.max(1 - shares - curve.at(shares))), abs=1e-4)


def test_a_composed_delta_never_underflows_to_nothing() -> None:
    """e^ε·Q with a Q below every float: leaving Q out raises δ, leaving all out would lower it."""
    levels = np.linspace(0, 2000 * 3.0, 1200)
    many = composed_delta(3.0, 0.0, 2000, levels)
    assert (np.diff(many) <= 1e-12).all()
    for index in (0, 300, 600, 900):
        assert many[index] >= composed_delta(3.0, 0.0, 2000, levels[index])[0] - 1e-12


@pytest.mark.parametrize("eps", [1e-12, 1e-9, 1e-5, 1e-2, 1.0, 10.0, 60.0, 350.0, 700.0])
def test_advantage_of_a_profile_of_one_point(eps: float) -> None:
    assert from_profile([eps], [0.0]).advantage == pytest.approx(math.tanh(eps / 2), rel=1e-9)
