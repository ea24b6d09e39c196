"""Randomised response with all of ρ, by its own ρ."""

import math
from fractions import Fraction as F

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sievert.channels import rho_of_response
from sievert.limits._worst_response import divergence, response_of_rho


def test_two_values_in_closed_form():
    """(2s - 1)·ln(s/(1 - s)) = ρ."""
    for rho in (1e-9, 0.01, 1.0, 30.0):
        eps = response_of_rho(2, rho).eps
        assert math.isclose(math.tanh(eps / 2) * eps, rho, rel_tol=1e-12)


@settings(max_examples=20)
@given(st.floats(1e-6, 30.0), st.integers(2, 200))
def test_response_of_the_guess_keeps_rho(rho, values):
    """Forwards again by balls that share nothing: the response found has this ρ."""
    eps = response_of_rho(values, rho).eps
    assert math.isclose(float(rho_of_response(values, F(eps))), rho, rel_tol=1e-9, abs_tol=2e-12)


@pytest.mark.parametrize("values", [2, 3, 5, 10**18])
def test_response_without_eps_diverges_by_nothing(values):
    assert divergence(values, 0.0, 1.0) == 0.0
