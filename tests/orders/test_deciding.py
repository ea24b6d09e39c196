"""Boundary cases, undecided answers, agreement with the exact program and with qif."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

import sievert as sv
from sievert.orders import refines

# A deficiency in floats up to this counts as none, as verdicts say.
TOLERANCE = 1e-9
TG, RR = sv.mechanisms.truncated_geometric, sv.mechanisms.randomised_response


def dense(channel):
    """The same channel as a plain matrix, so that no structured case applies."""
    return sv.Channel(channel.exact.tolist(), channel.inputs, channel.outputs)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("digits", [3, 5, 7, 9, 12, 30])
def test_boundary_is_decided_exactly(digits, plain):
    shape = dense if plain else lambda channel: channel
    a = shape(TG(5, alpha="1/2"))
    for sign in (-1, 1):
        t = sign * F(1, 10**digits)
        for order in ("average", "max"):
            verdict = refines(a, shape(RR(5, alpha=F(2, 3) - t)), order)
            assert verdict.holds is (t <= 0)
            assert verdict.exact
            assert verdict.certificate.verify()
    assert refines(a, shape(RR(5, alpha=F(2, 3)))).holds is True


def test_floats_answer_in_three_ways():
    a = TG(5, alpha="1/2").matrix
    for t, answer in ((1e-3, False), (-1e-3, True), (1e-6, False), (1e-13, True)):
        b = RR(5, alpha=F(2, 3) - F(t)).matrix
        assert refines(sv.Channel(a), sv.Channel(b)).holds is answer
    # Between rounding and the tolerance the bracket contains the tolerance.
    found = [
        refines(sv.Channel(a), sv.Channel(RR(5, alpha=F(2, 3) - F(t)).matrix))
        for t in np.geomspace(1e-9, 4e-8, 12)
    ]
    undecided = [verdict for verdict in found if verdict.holds is None]
    assert undecided and all(verdict.deficiency > TOLERANCE for verdict in undecided)
    with pytest.raises(sv.SievertError, match="undecided"):
        bool(undecided[0])


def test_privacy_order_boundary_is_exact():
    a = RR(4, alpha="1/3")
    tiny = F(1, 10**20)
    assert refines(a, RR(4, alpha=F(1, 3) + tiny), "privacy").holds
    verdict = refines(a, RR(4, alpha=F(1, 3) - tiny), "privacy")
    assert verdict.holds is False and verdict.certificate.verify()


def test_one_metric_boundary_is_exact():
    tiny = F(1, 10**40)
    discrete, line = sv.metrics.discrete(4), sv.metrics.line(4)
    for metric in (discrete, line):
        for step, answer in ((tiny, True), (F(0), True), (-tiny, False)):
            verdict = refines(RR(4, alpha="1/3"), RR(4, alpha=F(1, 3) + step), "privacy", metric=metric)
            assert verdict.holds is answer and verdict.exact and verdict.certificate.verify()
    # ln 9 over distance 2 against ln 3 over distance 1: equal slopes, told by powers.
    a = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    far = sv.Metric([[0, 2], [2, 0]])
    b = sv.Channel([["9/10", "1/10"], ["1/10", "9/10"]])
    near = refines(a, b, "privacy", metric=far)
    assert near.holds is False and near.certificate.verify()
    three = sv.Metric([[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    steps = sv.Channel([["9/13", "3/13", "1/13"], ["3/13", "7/13", "3/13"], ["1/13", "3/13", "9/13"]])
    again = refines(RR(3, alpha="1/3"), steps, "privacy", metric=three)
    assert again.holds and again.certificate.verify()
    assert refines(steps, RR(3, alpha=F(1, 3) - tiny), "privacy", metric=three).holds is False


# ── fuzz: seven kinds of small rational pairs ────────────────────────────────────────────────────

KINDS = ("random", "true", "sparse", "deterministic", "nudged", "low rank", "near null")


def _channel(rng, n, m, zero=0.0):
    while True:
        table = rng.integers(0 if zero else 1, 20, (n, m)) * (rng.random((n, m)) >= zero)
        if (table.sum(axis=1) > 0).all():
            break
    result = np.empty((n, m), dtype=object)
    for i, row in enumerate(table.tolist()):
        result[i] = [F(value, sum(row)) for value in row]
    return result


def _pair(rng, kind):
    n, m, k = (int(rng.integers(2, top)) for top in (7, 9, 7))
    a = _channel(rng, n, m, 0.5 if kind == "sparse" else 0.0)
    if kind == "random":
        return a, _channel(rng, n, k)
    if kind == "sparse":
        return a, a @ _channel(rng, m, k, 0.6) if rng.random() < 0.5 else _channel(rng, n, k, 0.5)
    if kind == "deterministic":
        post = np.full((m, k), F(0), dtype=object)
        post[np.arange(m), rng.integers(0, k, m)] = F(1)
        return a, a @ post
    if kind == "nudged":
        b = a @ _channel(rng, m, k, 0.5)
        x, (w, v) = rng.integers(n), rng.choice(k, 2, replace=False)
        step = min(F(1, 10 ** int(rng.integers(1, 16))), b[x, w])
        b[x, w] -= step
        b[x, v] += step
        return a, b
    if kind == "low rank":
        a = _channel(rng, n, 2) @ _channel(rng, 2, m)
        return a, a @ _channel(rng, m, k, 0.4) if rng.random() < 0.5 else _channel(rng, n, 2) @ _channel(
            rng, 2, k
        )
    if kind == "near null":
        step = F(1, 1000)
        a = (1 - step) * np.tile(_channel(rng, 1, m), (n, 1)) + step * a
        if rng.random() < 0.5:
            return a, (1 - step**2) * np.tile(_channel(rng, 1, k), (n, 1)) + step**2 * _channel(rng, n, k)
    return a, a @ _channel(rng, m, k)


@pytest.mark.parametrize("kind", KINDS)
def test_no_wrong_verdict(kind):
    rng = np.random.default_rng(KINDS.index(kind))
    undecided = 0
    for _ in range(75):
        a, b = _pair(rng, kind)
        exact = sv.Channel(a.tolist()), sv.Channel(b.tolist())
        judge = sv.deficiency(*exact, "uniform").exact
        verdict = refines(*exact)
        assert verdict.exact and verdict.certificate.verify()
        if judge is not None:
            assert verdict.holds is (judge == 0)
        in_floats = refines(
            sv.Channel(a.astype(float), normalise=True), sv.Channel(b.astype(float), normalise=True)
        )
        undecided += in_floats.holds is None
        if in_floats.holds is False:
            assert verdict.holds is False
        if in_floats.holds and not verdict.holds:
            assert judge is not None and float(judge) <= 2 * TOLERANCE
    assert undecided <= 3


@pytest.mark.parametrize("kind", KINDS)
def test_no_wrong_max_verdict(kind):
    from scipy.optimize import linprog

    rng = np.random.default_rng(100 + KINDS.index(kind))
    for _ in range(15):
        a, b = _pair(rng, kind)
        verdict = refines(sv.Channel(a.tolist()), sv.Channel(b.tolist()), "max")
        assert verdict.exact and verdict.certificate.verify()
        floats = a.astype(float)
        inside = [
            linprog(np.zeros(a.shape[1]), A_eq=floats, b_eq=column, bounds=(0, None)).status == 0
            for column in b.astype(float).T
        ]
        if all(inside) != verdict.holds:
            # The float program cannot see distances below its own tolerance.
            assert verdict.holds is False and kind == "nudged"


@pytest.mark.parametrize(("n", "m", "k"), [(8, 12, 6), (20, 30, 20), (15, 15, 15), (6, 4, 5)])
def test_general_flow_on_larger_exact_pairs(n, m, k):
    rng = np.random.default_rng(n)
    a = sv.Channel(_channel(rng, n, m).tolist())
    post = rng.integers(1, 9, (m, k)).tolist()
    b = a.then(sv.Channel(post, normalise=True))
    chosen = np.zeros((m, k), dtype=int)
    chosen[np.arange(m), rng.integers(0, k, m)] = 1
    for safer in (b, a.then(sv.Channel(chosen.tolist()))):
        verdict = refines(a, safer)
        assert verdict.holds and verdict.exact and verdict.certificate.verify()
    verdict = refines(a, sv.Channel(_channel(rng, n, k).tolist()))
    assert verdict.holds is False and verdict.exact and verdict.certificate.verify()


def test_agreement_with_qif(oracle):
    qif = oracle("qif")
    rng = np.random.default_rng(11)
    for i in range(60):
        n, m, k = rng.integers(2, 8, 3)
        a = rng.dirichlet(np.ones(m), n)
        b = a @ rng.dirichlet(np.ones(k), m) if i % 2 else rng.dirichlet(np.ones(k), n)
        first, second = sv.Channel(a), sv.Channel(b, normalise=True)
        assert refines(first, second).holds == qif.refinement.refined_by(a, b)
        assert refines(first, second, "max").holds == qif.refinement.max_refined_by(a, b)
        assert refines(first, second, "privacy").holds == qif.refinement.priv_refined_by(a, b)


# ── odd shapes ───────────────────────────────────────────────────────────────────────────────────


def test_degenerate_channels():
    null, identity = sv.Channel([[1], [1], [1]]), sv.Channel(np.eye(3, dtype=int).tolist())
    for order in ("average", "max", "privacy"):
        assert refines(identity, null, order).holds
        assert refines(identity, identity, order).holds
        assert refines(null, identity, order).holds is False
        assert refines(sv.Channel([[1]]), sv.Channel([["1/2", "1/2"]]), order).holds
    zero = sv.Channel([["1/2", 0, "1/2"], ["1/4", 0, "3/4"], ["1/4", 0, "3/4"]])
    for form in (zero, sv.Channel(zero.matrix)):
        verdict = refines(form, form)
        assert verdict.holds and verdict.certificate.verify()
        assert refines(form, null).holds and refines(null, form).holds is False


def test_labels_are_matched():
    a = sv.Channel([["1/2", "1/2"], ["1/4", "3/4"], [0, 1]], inputs=["x", "y", "z"])
    b = sv.Channel([[0, 1], ["1/2", "1/2"], ["1/4", "3/4"]], inputs=["z", "x", "y"])
    assert refines(a, b).holds and refines(b, a).holds
    with pytest.raises(sv.errors.ChannelError):
        refines(a, sv.Channel([[1], [1]]))
    with pytest.raises(sv.errors.ChannelError, match="order is 'best'"):
        refines(a, b, "best")
    with pytest.raises(sv.errors.ChannelError, match="metric belongs"):
        refines(a, b, metric=sv.metrics.line(3))


def test_logarithmic_channels_far_below_floats():
    a, b = TG(1001, 2.0), TG(1001, 1.0)
    assert refines(a, b, "privacy").holds
    assert refines(b, a, "privacy").holds is False
    assert refines(a, b).holds
    verdict = refines(b, a)
    assert verdict.holds is False
    assert len(verdict.witness.gain) == 2


# ── degenerate pairs: many post-processings, or one with forced zeros ────────────────────────────


def _rational(rng, n, m, entries):
    """A channel with so many non-zero entries a row, over one denominator."""
    table = np.zeros((n, m), dtype=int)
    for row in table:
        row[rng.choice(m, entries, replace=False)] = rng.multinomial(64 - entries, np.ones(entries) / entries)
    table[np.arange(n), table.argmax(axis=1)] += 64 - table.sum(axis=1)
    return sv.Channel(table.tolist(), normalise=True)


@pytest.mark.parametrize("kind", ["sparse", "low rank", "few a row"])
def test_degenerate_pairs_are_decided_exactly_beyond_the_exact_program(kind):
    rng = np.random.default_rng(21)
    n, m = 24, 36
    a = _rational(rng, n, m, 5 if kind == "sparse" else m)
    if kind == "low rank":
        a = _rational(rng, n, n // 2, n // 2).then(_rational(rng, n // 2, m, 6))
    b = a.then(_rational(rng, m, n, 3))
    verdict = refines(a, b)
    assert verdict.holds and verdict.exact and verdict.certificate.verify()
    floats = refines(sv.Channel(a.matrix), sv.Channel(b.matrix))
    assert floats.holds and floats.certificate.verify()


def test_sparse_pairs_that_fail_are_refused_with_a_full_witness():
    rng = np.random.default_rng(22)
    for _ in range(10):
        a, b = _rational(rng, 12, 18, 4), _rational(rng, 12, 10, 8)
        a = a.then(_rational(rng, 18, 18, 2))
        verdict = refines(sv.Channel(a.matrix), sv.Channel(b.matrix))
        assert verdict.holds is False and verdict.certificate.verify()


def test_a_column_just_outside_the_range_is_seen_exactly():
    rng = np.random.default_rng(23)
    a = _channel(rng, 30, 4)
    b = a @ _channel(rng, 4, 20)
    assert refines(sv.Channel(a.tolist()), sv.Channel(b.tolist())).holds
    tiny = F(1, 10**25)
    b[7, 0] += tiny
    b[7, 1] -= tiny
    verdict = refines(sv.Channel(a.tolist()), sv.Channel(b.tolist()))
    assert verdict.holds is False and verdict.exact and verdict.certificate.verify()


def test_just_outside_with_many_post_processings():
    rng = np.random.default_rng(24)
    a = _channel(rng, 8, 12)
    post = np.full((12, 5), F(0), dtype=object)
    post[np.arange(12), rng.integers(0, 5, 12)] = F(1)
    inside = a @ post
    step = F(1, 10**15) * a[:, 3]
    w = int(np.flatnonzero(post[3] == 1)[0])
    outside = inside.copy()
    outside[:, w] += step
    outside[:, (w + 1) % 5] -= step
    assert refines(sv.Channel(a.tolist()), sv.Channel(inside.tolist())).holds
    verdict = refines(sv.Channel(a.tolist()), sv.Channel(outside.tolist()))
    assert verdict.holds is False and verdict.exact and verdict.certificate.verify()


def test_a_yes_in_floats_says_how_far_it_goes() -> None:
    h = 1e-13
    first = sv.Channel([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    second = sv.Channel([[0.5 + h, 0.3 - h, 0.2], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    assert "up to 1e-09" in str(sv.refines(first, second))
    assert "against every adversary, up to 1e-09" in str(sv.compare(first, second))
    assert "floats" in str(sv.refines(first, second, "privacy"))
    exact = sv.Channel([["1/2", "1/2"], ["1/4", "3/4"]])
    assert "up to" not in str(sv.refines(exact, exact.then(exact)))


@pytest.mark.parametrize("size", [20, 40])
@pytest.mark.parametrize("prior", ["worst", "uniform"])
def test_the_deficiency_of_what_is_refined_is_nearly_nothing(size: int, prior: str) -> None:
    """Where no adversary gains anything there is no witness: the bracket is from 0."""
    rng = np.random.default_rng(size)
    first, then = (sv.Channel(rng.dirichlet(np.ones(size), size), normalise=True) for _ in range(2))
    found = sv.deficiency(first, first.then(then), prior)
    assert found.lower == 0 <= found.upper < 1e-9
    assert found.gain.min() >= 0
    assert sv.deficiency(first.then(then), first, prior).lower > 0.1
