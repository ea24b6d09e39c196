"""Laws of the orders as properties."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert import deficiency, testing
from sievert.orders import refines

ORDERS = ("average", "max", "privacy")
exact_channels = testing.channels(form="exact", sparse=True)


@given(exact_channels)
def test_reflexive(channel):
    for order in ORDERS:
        assert refines(channel, channel, order).holds


@settings(max_examples=40)
@given(st.data())
def test_post_processing_refines_in_every_order(data):
    before, after = data.draw(testing.degraded_pairs(form="exact", sparse=True))
    for order in ORDERS:
        verdict = refines(before, after, order)
        assert verdict.holds and verdict.exact
        assert verdict.certificate is None or verdict.certificate.verify()
    # Transitive on a constructed triple.
    last = after.then(data.draw(testing.channels(after.shape[1], form="exact", sparse=True)))
    for order in ORDERS:
        assert refines(after, last, order).holds and refines(before, last, order).holds


@settings(max_examples=80)
@given(st.data())
def test_average_implies_max_implies_privacy(data):
    n = data.draw(st.integers(2, 4))
    a = data.draw(testing.channels(n, (1, 4), form="exact", sparse=True))
    b = data.draw(testing.channels(n, (1, 4), form="exact", sparse=True))
    average, maximum, privacy = (refines(a, b, order) for order in ORDERS)
    assert not average.holds or maximum.holds
    assert not maximum.holds or privacy.holds
    for verdict, case in ((average, "average"), (maximum, "max")):
        if verdict.holds is False:
            witness = verdict.witness
            values = [
                sv.posterior_vulnerability(c, witness.prior, witness.gain, case=case).value for c in (a, b)
            ]
            assert values[1] > values[0]
    # The deficiency is zero exactly when refined, and bounds every advantage.
    worst = deficiency(a, b)
    assert (worst.exact == 0) == (average.holds is True)
    if average.holds is False:
        assert F(average.witness.after) - F(average.witness.before) <= worst.exact + F(1, 10**12)


@given(st.data())
def test_refined_means_every_measure_is_smaller(data):
    n = data.draw(st.integers(1, 4))
    before, after = data.draw(testing.degraded_pairs(n, form="exact", sparse=True))
    prior = data.draw(testing.priors(n, exact=True))
    gain = data.draw(testing.gain_matrices(n))
    for case in ("average", "max"):
        values = [sv.posterior_vulnerability(c, prior, gain, case=case).value for c in (before, after)]
        assert values[1] <= values[0]


@settings(max_examples=30)
@given(st.data())
def test_composition_with_a_query(data):  # Thm 4.6, and the same for the stronger orders
    before, after = data.draw(testing.degraded_pairs((1, 3), form="exact", sparse=True))
    answers = data.draw(st.lists(st.integers(0, before.shape[0] - 1), min_size=1, max_size=5))
    query = dict(enumerate(answers))
    for order in ORDERS:
        assert refines(before.after(query), after.after(query), order).holds


def test_composition_with_a_query_fails_for_one_metric():
    # R and TG at the same ε for |x - x'|: a query that keeps only the ends tells them apart.
    less_safe, safer = sv.mechanisms.randomised_response(3, 1.0), sv.mechanisms.truncated_geometric(3, 1.0)
    line = sv.metrics.line(3)
    assert refines(less_safe, safer, "privacy", metric=line).holds
    ends = {0: 0, 1: 2}
    assert not refines(less_safe.after(ends), safer.after(ends), "privacy", metric=sv.metrics.line(2)).holds


@settings(max_examples=30)
@given(st.data())
def test_float_and_exact_agree_away_from_the_boundary(data):
    n = data.draw(st.integers(2, 4))
    a = data.draw(testing.channels(n, (1, 4), form="exact", sparse=True))
    b = data.draw(testing.channels(n, (1, 4), form="exact", sparse=True))
    floats = refines(sv.Channel(a.matrix), sv.Channel(b.matrix))
    exact = refines(a, b)
    distance = deficiency(a, b, "uniform").exact
    if distance == 0 or distance > F(1, 10**6):
        assert floats.holds == exact.holds
    bracket = deficiency(sv.Channel(a.matrix), sv.Channel(b.matrix))
    value = float(deficiency(a, b).exact)
    assert bracket.lower <= value + 1e-9 and value <= bracket.upper + 1e-9
    assert bracket.upper - bracket.lower <= 1e-8
    assert np.isclose(float(bracket), value, atol=1e-8)


def test_interior_point_closes_the_bracket():
    rng = np.random.default_rng(6)
    for n, m, k in ((20, 20, 20), (20, 30, 20), (40, 15, 12)):
        a, b = sv.Channel(rng.dirichlet(np.ones(m), n)), sv.Channel(rng.dirichlet(np.ones(k), n))
        for prior in ("worst", "uniform"):
            found = deficiency(a, b, prior)
            assert 0 <= found.upper - found.lower <= 1e-8
            values = [float(sv.posterior_vulnerability(c, found.prior, found.gain)) for c in (a, b)]
            assert values[1] - values[0] >= found.lower - 1e-9
            assert found.gain.min() >= 0 and found.gain.max() <= 1 + 1e-12


def test_degenerate_pairs_are_decided():
    rng = np.random.default_rng(7)
    for sparse in (1, 3, 5):
        a, post = np.zeros((20, 30)), np.zeros((30, 20))
        for row in (*a, *post):
            row[rng.choice(len(row), sparse, replace=False)] = rng.random(sparse) + 0.1
            row /= row.sum()
        pair = (sv.Channel(a, normalise=True), sv.Channel(a @ post, normalise=True))
        verdict = refines(*pair)
        assert verdict.holds and verdict.certificate.verify()
