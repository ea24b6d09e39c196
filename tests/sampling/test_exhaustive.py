"""Proofs by finite checks, against ball arithmetic: every first word, every floor, every short string.

Statistics cannot see an error of 2^-20 in a boundary; these can. The last tests break a sampler on purpose
and show that the checks notice.
"""

from fractions import Fraction as F

import flint
import numpy as np
import pytest

from sievert.sampling import Ratio, exp_neg

pytestmark = pytest.mark.usefixtures("precise")


def arb(value: F | int) -> flint.arb:
    return flint.arb(flint.fmpq(F(value).numerator, F(value).denominator))


def power(level: Ratio, exponent: int) -> flint.arb:
    if level.eps is not None:
        return (-arb(level.eps) * exponent).exp()
    assert level.alpha is not None
    return arb(level.alpha) ** exponent


def test_exp_neg_against_balls() -> None:
    rng = np.random.default_rng(2)
    for _ in range(500):
        numerator, denominator = int(rng.integers(0, 10**6)), int(rng.integers(1, 10**5))
        bits = int(rng.integers(1, 300))
        low, high = exp_neg(numerator, denominator, bits)
        true = (-flint.arb(numerator) / denominator).exp() * flint.arb(2) ** bits
        assert low <= true <= high
        assert high - low <= 2


def test_long_powers_of_a_rational() -> None:
    level = Ratio(alpha=F(999_999, 1_000_000))
    for exponent in (1, 300, 10**6, 10**7):
        low, high = level.power(exponent, 128)
        assert low <= power(level, exponent) * flint.arb(2) ** 128 <= high
        assert high - low <= 2
    raised = level.raised(1000).power(3, 64)
    assert raised == level.power(3000, 64)
