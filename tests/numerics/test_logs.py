"""Logarithms of very small and very close numbers keep their digits."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sievert.numerics import log_binomial, log_fraction, log_matmul, log_of, log_ratio, log_sum


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Fraction(0), -math.inf),
        (Fraction(1), 0.0),
        (Fraction(2), math.log(2)),
        (Fraction(1, 3), math.log(1 / 3)),
        (1 + Fraction(1, 10**20), 1e-20),
        (1 - Fraction(1, 10**20), -1e-20),
        (Fraction(1, 2**5000), -5000 * math.log(2)),
        (Fraction(3**5000), 5000 * math.log(3)),
        (Fraction(7 * 10**1000 + 1, 10**1000), math.log(7)),
    ],
)
def test_log_fraction_to_the_last_digits(value: Fraction, expected: float) -> None:
    assert log_fraction(value) == pytest.approx(expected, rel=4e-16, abs=0)
    common = 6**700
    ratio = log_ratio(common * value.numerator, common * value.denominator)
    assert ratio == pytest.approx(expected, rel=4e-16, abs=0)


def test_log_of_zero_is_minus_infinity_without_a_warning() -> None:
    assert log_of(np.array([0.0, 1.0])).tolist() == [-math.inf, 0.0]


def test_log_sum_handles_empty_support_and_underflow() -> None:
    logs = np.array([[-2000.0, -2000.0], [-np.inf, -np.inf], [0.0, -np.inf]])
    expected = [-2000 + math.log(2), -math.inf, 0.0]
    assert log_sum(logs, axis=1) == pytest.approx(expected, rel=1e-15)


def test_log_matmul_agrees_with_floats_and_survives_underflow() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.dirichlet(np.ones(4), 3), rng.dirichlet(np.ones(5), 4)
    a[0, 1], b[2] = 0.0, np.array([1.0, 0, 0, 0, 0])
    with np.errstate(divide="ignore"):
        left, right = np.log(a), np.log(b)
        assert log_matmul(left, right) == pytest.approx(np.log(a @ b), abs=1e-14)
    tiny = np.array([[-3000.0, -10.0, -np.inf]])
    post = np.array([[0.0, -np.inf], [-4000.0, -np.inf], [0.0, 0.0]])
    assert log_matmul(tiny, post).tolist() == [[-3000.0, -math.inf]]
    mixed = log_matmul(np.array([[0.0, -900.0]]), np.array([[-np.inf, 0.0], [-1.0, -np.inf]]))
    assert mixed.tolist() == [[-901.0, 0.0]]


@pytest.mark.parametrize(
    ("count", "odds"), [(0, 1), (1, 3), (60, Fraction(1, 7)), (400, Fraction(11, 10)), (300, 10**9)]
)
def test_binomial_laws_keep_their_digits_at_both_ends(count: int, odds: Fraction) -> None:
    """Against fractions: every probability, however small."""
    odds = Fraction(odds)
    exact = [math.comb(count, hits) * odds**hits / (1 + odds) ** count for hits in range(count + 1)]
    found = log_binomial(count, log_fraction(odds))
    assert found == pytest.approx([log_fraction(chance) for chance in exact], rel=1e-13, abs=1e-13)


def test_binomial_laws_that_are_certain() -> None:
    assert log_binomial(2, math.inf).tolist() == [-math.inf, -math.inf, 0.0]
    assert log_binomial(2, -math.inf).tolist() == [0.0, -math.inf, -math.inf]
