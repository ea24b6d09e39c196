"""Conjecture 4.20 for a given n, by Sturm's theorem."""

from __future__ import annotations

from fractions import Fraction as F

import flint
import numpy as np
import pytest

import sievert as sv
from papers.conjecture_4_20 import check_exponential_monotone, roots_between_0_and_1
from sievert.orders import refines


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 13, 20])
def test_proved_on_the_line(n):
    found = check_exponential_monotone(n)
    assert found.holds is True
    assert str(found).startswith("proved")


def test_root_counting_against_floats():
    rng = np.random.default_rng(1)
    for _ in range(50):
        coefficients = rng.integers(-9, 10, int(rng.integers(2, 9))).tolist()
        polynomial = flint.fmpz_poly(coefficients)
        if polynomial.degree() < 1 or polynomial(0) == 0 or polynomial(1) == 0:
            continue
        roots = np.roots(coefficients[: polynomial.degree() + 1][::-1])
        near = [r.real for r in roots if abs(r.imag) < 1e-7 and 0 < r.real < 1]
        distinct = {round(value, 5) for value in near}
        assert roots_between_0_and_1(polynomial) == len(distinct)
    square = flint.fmpz_poly([1, -2]) ** 2
    assert roots_between_0_and_1(square) == 1  # a double root counts once


def test_the_conjecture_in_channels():
    line = sv.metrics.line(6)
    rng = np.random.default_rng(8)
    for _ in range(10):
        low, high = sorted(rng.integers(1, 40, 2).tolist())
        a, b = (sv.mechanisms.exponential(line, alpha=F(v, 40) ** 2) for v in (low, high))
        assert refines(a, b).holds


def test_refusal():
    for wrong in (0, True, 2.0):
        with pytest.raises(sv.errors.MechanismError):
            check_exponential_monotone(wrong)
