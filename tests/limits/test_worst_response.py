"""The exact worst guess under ρ and under Rényi curves (budgets and statistics, §1.5)."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.limits import best_guess
from sievert.limits.promises import ZeroConcentratedClaim, claim_of
from sievert.proofs import proof_from_dict, save_proof


@pytest.mark.parametrize(
    ("rho", "values", "digits"),
    [
        (0.1, 2, "0.61087096"),
        (0.5, 2, "0.73954921"),
        (0.1, 12, "0.180388146"),
        (0.5, 12, "0.34453182"),
        (3.233178046, 12, "0.828852598"),
    ],
)
def test_numbers(rho, values, digits):
    """§1.5's table; the proof checks again from its file."""
    found = sv.explain(rho=rho, values=values)
    assert f"{found.after:.{len(digits) - 2}f}" == digits
    assert found.exact and found.certificate is not None
    assert sv.verify(proof_from_dict(json.loads(save_proof(found.certificate))))


def test_backwards():
    """Guess ≤ .3 of 12 ↔ ρ ≤ 0.367351347."""
    assert math.isclose(sv.weakest_claim(0.3, "rho", values=12).value, 0.367351347, abs_tol=5e-10)


def test_the_census_at_any_delta():
    """ρ = 2.63 at δ = 10^-10. The published 17.14 is read off the persons' ρ = 2.56, not off 2.63."""
    readings = dict(sv.explain(rho=2.63, delta=1e-10).equivalents)
    assert math.isclose(readings[1e-10], 17.4305845, abs_tol=1e-6)
    assert math.isclose(dict(sv.explain(rho=2.56, delta=1e-10).equivalents)[1e-10], 17.1583087, abs_tol=1e-6)
    assert set(readings) == {1e-3, 1e-6, 1e-9, 1e-10}


@settings(max_examples=20)
@given(st.integers(2, 4), st.integers(2, 6), st.integers(0, 2**32 - 1))
def test_no_mechanism_guesses_more(values, outputs, seed):
    """Channels at random, their ρ found by a grid of orders, and the guess that they allow."""
    rows = np.random.default_rng(seed).dirichlet(np.ones(outputs), values) + 1e-3
    rows /= rows.sum(axis=1, keepdims=True)
    orders = 1 + np.geomspace(1e-2, 1e2, 30)
    curve = sv.divergences.renyi_curve(sv.Channel(rows), sv.metrics.discrete(values), orders)
    guess = float(rows.max(axis=0).sum()) / values
    # D_a/a changes by less than the ratio of two orders between them.
    rho = float((curve.nats / orders).max()) * (orders[-1] / orders[-2])
    by_rho = best_guess(claim_of(rho=rho), values, None, upper_only=True).upper
    listed = dict(zip(orders.tolist(), curve.nats.tolist(), strict=True))
    by_curve = best_guess(claim_of(renyi=listed), values, None, upper_only=True).upper
    assert guess <= by_curve + 1e-12 and by_curve <= by_rho + 1e-12


def test_renyi_curves():
    """Each order alone bounds; the largest is pure ε."""
    curve = {2: 0.3, 8: 1.5, math.inf: 2.0}
    found = sv.explain(renyi=curve, values=5)
    assert found.exact and sv.verify(found.certificate)
    single = [sv.explain(renyi={a: d}, values=5).after for a, d in curve.items()]
    assert found.after == min(single)
    assert math.isclose(single[2], sv.explain(eps=2, values=5).after, rel_tol=1e-12)
    assert sv.verify(sv.explain(renyi={math.inf: 2.0}, values=5).certificate)


def test_several_releases_are_a_bound():
    """Σρ bounds what responses of ρ each reach; neither end is above what two tests of (ε, δ) say."""
    found = sv.explain(rho=0.05, values=12, releases=10)
    assert not found.exact and found.before < found.reached < found.after
    assert math.isclose(found.after, sv.explain(rho=0.5, values=12).after, rel_tol=1e-12)
    assert sv.verify(found.certificate)


def test_other_priors_keep_the_bound_of_the_curve():
    """A prior that is even on what is possible is exact; another is bounded through (ε, δ)."""
    even = best_guess(ZeroConcentratedClaim(0.5), 4, np.array([0.5, 0.0, 0.5, 0.0]))
    assert math.isclose(even.upper, 0.73954921, abs_tol=5e-9)
    skew = sv.explain(rho=0.5, prior=[0.5, 0.3, 0.2])
    assert not skew.exact and skew.certificate is None


@pytest.mark.parametrize(("rho", "values"), [(0.0, 3), (math.inf, 3), (1e-300, 2), (1e9, 5), (0.1, 10**18)])
def test_ends(rho, values):
    found = sv.explain(rho=rho, values=values)
    assert found.before <= found.after <= 1
