"""The laws of noise, against sums in 200-bit balls and against brute force."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import flint
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, NoiseLaw, StaircaseLaw

SIGMAS = [Fraction(1, 20), Fraction(2, 5), Fraction(1), Fraction("7.9"), Fraction(8), Fraction(40), 500]
STAIRS = [
    (Fraction(3), 3, 1),
    (Fraction(1, 2), 4, 3),
    (Fraction(2), 1, 1),
    (Fraction(1, 20), 20, 9),
    (Fraction(20), 7, 7),
]


def ball(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def gaussian_weight(law: GaussianLaw, z: int) -> flint.arb:
    return (-(flint.arb(z) ** 2) / (2 * ball(law.sigma) ** 2)).exp()


def stair_weight(law: StaircaseLaw, z: int) -> flint.arb:
    level = (abs(z) + law.sensitivity - law.top) // law.sensitivity
    return (-ball(law.eps) * level).exp()


@pytest.fixture(autouse=True)
def precision() -> object:
    old, flint.ctx.prec = flint.ctx.prec, 200
    yield
    flint.ctx.prec = old


def close(found: float, wanted: flint.arb, digits: float = 4e-15) -> bool:
    """Equal as numbers; the logarithm of a probability far out is as exact as its own digits."""
    wanted_float = float(wanted.mid())
    return abs(found - wanted_float) <= digits * max(1.0, abs(wanted_float))


def summed(weight: Callable[[int], flint.arb], start: int, until: float) -> flint.arb:
    """Σ_{z ≥ start}, to where a weight is below 2^-190 of the first."""
    total, z = flint.arb(0), start
    first = weight(start)
    while True:
        term = weight(z)
        total += term
        z += 1
        if float((term / first).mid()) < until:
            return total


def far(law: NoiseLaw) -> list[int]:
    wide = max(1, round(law.deviation))
    return sorted({1, 2, 3, wide, 3 * wide + 1, 10 * wide, 60 * wide})


@pytest.mark.parametrize("sigma", SIGMAS)
def test_gaussian_by_balls(sigma: Fraction) -> None:
    law = GaussianLaw(Fraction(sigma))
    reach = 12 * math.ceil(law.sigma) + 12
    upper = [gaussian_weight(law, z) for z in range(1, reach)]
    total = 1 + 2 * sum(upper, flint.arb(0))
    assert close(float(law.log_pmf(np.zeros(1))[0]), -total.log())
    squares = sum((2 * z * z * w for z, w in enumerate(upper, 1)), flint.arb(0)) / total
    assert close(law.deviation / float(squares.sqrt().mid()), flint.arb(1))
    mean = sum((2 * z * w for z, w in enumerate(upper, 1)), flint.arb(0)) / total
    assert close(law.mean_error / float(mean.mid()), flint.arb(1))
    for k in far(law):
        tail = summed(lambda z: gaussian_weight(law, z), k, 1e-50)
        assert close(float(law.log_upper(np.array([float(k)]))[0]), (tail / total).log())
    for k in (0, -1, -reach):
        tail = sum((gaussian_weight(law, z) for z in range(k, reach)), flint.arb(0))
        assert close(float(law.log_upper(np.array([float(k)]))[0]), (tail / total).log())


@pytest.mark.parametrize(("eps", "sensitivity", "top"), STAIRS)
def test_staircase_by_balls(eps: Fraction, sensitivity: int, top: int) -> None:
    law = StaircaseLaw(eps, sensitivity, top)
    reach = sensitivity * (math.ceil(120 / eps) + 8)
    upper = [stair_weight(law, z) for z in range(1, reach)]
    total = 1 + 2 * sum(upper, flint.arb(0))
    z = np.array([0.0, 1, top - 1, top, -sensitivity, 3 * sensitivity + 1])
    for place, found in zip(z, law.log_pmf(z), strict=True):
        assert close(float(found), (stair_weight(law, int(place)) / total).log())
    mean = sum((2 * z * w for z, w in enumerate(upper, 1)), flint.arb(0)) / total
    squares = sum((2 * z * z * w for z, w in enumerate(upper, 1)), flint.arb(0)) / total
    assert math.isclose(law.mean_error, float(mean.mid()), rel_tol=2e-14)
    assert math.isclose(law.deviation, float(squares.sqrt().mid()), rel_tol=2e-14)
    for k in (-2 * sensitivity, -1, 0, 1, top, top + 1, sensitivity, 5 * sensitivity + 2):
        tail = sum((stair_weight(law, z) for z in range(k, reach)), flint.arb(0))
        assert close(float(law.log_upper(np.array([float(k)]))[0]), (tail / total).log())
    # Far beyond any float of a probability.
    out = np.array([10.0**9])
    ahead = law.log_upper(out + sensitivity) - law.log_upper(out)
    assert math.isclose(float(ahead[0]), -float(eps), rel_tol=1e-6)


@given(
    st.fractions(Fraction(1, 100), 8, max_denominator=100),
    st.integers(1, 40),
    st.integers(1, 130),
    st.data(),
)
def test_a_staircase_keeps_eps_for_every_move(
    eps: Fraction, sensitivity: int, steps: int, data: st.DataObject
) -> None:
    law = StaircaseLaw(eps, sensitivity, data.draw(st.integers(1, sensitivity)))
    z = np.arange(-400.0, 400.0)
    losses = law.log_pmf(z) - law.log_pmf(z + steps)
    assert math.isclose(float(losses.max()), float(law.eps_of(Fraction(steps))), rel_tol=1e-9)
    assert math.isclose(float(-losses.min()), float(law.eps_of(Fraction(steps))), rel_tol=1e-9)


@given(st.fractions(Fraction(1, 100), 12, max_denominator=100), st.integers(1, 60))
def test_the_best_top_is_the_best(eps: Fraction, sensitivity: int) -> None:
    least = min(StaircaseLaw(eps, sensitivity, top).mean_error for top in range(1, sensitivity + 1))
    assert math.isclose(StaircaseLaw(eps, sensitivity).mean_error, least, rel_tol=1e-12)


@given(st.fractions(Fraction(1, 100), 12, max_denominator=100))
def test_a_staircase_of_single_steps_is_geometric(eps: Fraction) -> None:
    stairs, plain = StaircaseLaw(eps, 1), GeometricLaw(EpsilonOrAlpha(float(eps), None, exact_eps=eps))
    z = np.arange(-30.0, 31.0)
    assert np.allclose(stairs.log_pmf(z), plain.log_pmf(z), rtol=1e-12, atol=1e-12)
    assert np.allclose(stairs.log_upper(z), plain.log_upper(z), rtol=1e-12, atol=1e-12)
    assert math.isclose(stairs.deviation, plain.deviation, rel_tol=1e-12)
    assert math.isclose(stairs.mean_error, plain.mean_error, rel_tol=1e-12)


@given(st.fractions(Fraction(1, 4), 12, max_denominator=100), st.integers(1, 60))
def test_a_staircase_errs_no_more_than_geometric_noise(eps: Fraction, sensitivity: int) -> None:
    plain = GeometricLaw(EpsilonOrAlpha(float(eps / sensitivity), None, exact_eps=eps / sensitivity))
    assert StaircaseLaw(eps, sensitivity).mean_error <= plain.mean_error * (1 + 1e-12)


def test_far_wider_than_any_table() -> None:
    """σ of 2^40, and a sum over 150,001 values: the limits of the continuous laws."""
    law = GaussianLaw(Fraction(2**40))
    sigma = float(law.sigma)
    assert math.isclose(law.mean_error, sigma * math.sqrt(2 / math.pi), rel_tol=1e-12)
    assert math.isclose(float(law.log_upper(np.array([1.0]))[0]), math.log(0.5), rel_tol=1e-10)
    # Geng and Viswanath: e^(ε/2)/(e^ε - 1)·Δ, and the width e^(-ε/2)/(1 + e^(-ε/2)) of the top.
    stairs = StaircaseLaw(Fraction(3), 150_000)
    assert math.isclose(stairs.mean_error, 150_000 * math.exp(1.5) / math.expm1(3), rel_tol=1e-5)
    assert abs(stairs.top / 150_000 - 1 / (1 + math.exp(1.5))) < 1e-5


@pytest.mark.parametrize(
    ("law", "radius"),
    # Spec budgets-and-statistics §2 and §6: 95 % within ±10 at σ = 5.365011387, and not below it.
    [
        (GaussianLaw(Fraction("5.365011386")), 10),
        (GaussianLaw(Fraction("5.365011388")), 11),
        (GaussianLaw(Fraction("6.307")), 12),
        (GaussianLaw(Fraction("4.016")), 8),
    ],
)
def test_radius_of_the_gaussian(law: NoiseLaw, radius: int) -> None:
    assert law.radius(0.95) == radius


def test_total_variation_at_one_step_is_p0() -> None:
    """Spec budgets-and-statistics §1.3: 0.398942278 at σ = 1, above the continuous 0.382924923."""
    assert abs(math.exp(float(GaussianLaw(Fraction(1)).log_pmf(np.zeros(1))[0])) - 0.398942278) < 5e-10


def test_the_gaussian_keeps_no_eps() -> None:
    assert GaussianLaw(Fraction(1)).eps_of(Fraction(1)) is None
    assert GaussianLaw(Fraction(1)).eps_of(Fraction(0)) == 0


@pytest.mark.parametrize(
    "law",
    [
        GaussianLaw(Fraction(1, 2)),
        GaussianLaw(Fraction(9)),
        StaircaseLaw(Fraction(1), 5),
        StaircaseLaw(Fraction(1, 2), 4, 4),
    ],
)
def test_simulated_draws_have_the_law(law: NoiseLaw) -> None:
    """Chi-square over the middle 98 % in single numbers, at a false-alarm rate of 10^-6."""
    from scipy import stats

    drawn = law.simulated(np.random.default_rng(3), 200_000)
    reach = law.radius(0.98)
    z = np.arange(-reach, reach + 1.0)
    chances = np.exp(law.log_pmf(z))
    tail = math.exp(float(law.log_upper(np.array([reach + 1.0]))[0]))
    seen = [int((drawn == value).sum()) for value in z]
    observed = np.array([(drawn < -reach).sum(), *seen, (drawn > reach).sum()])
    expected = np.concatenate([[tail], chances, [tail]]) * len(drawn)
    assert stats.chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-6


def test_no_eps_is_no_law() -> None:
    law = StaircaseLaw(Fraction(0), 4)
    assert math.isinf(law.deviation) and math.isinf(law.mean_error)
    assert law.log_upper(np.array([3.0]))[0] == math.log(0.5)
