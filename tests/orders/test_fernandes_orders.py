"""Every worked example of the orders, and the errata that can be computed (Fernandes, chapters 2 and 4)."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F

import numpy as np
import pytest

import sievert as sv
from sievert import deficiency
from sievert.numerics import exact_solve
from sievert.orders import Verdict, compare, refines
from sievert.testing import hull_distance, project

TG, RR = sv.mechanisms.truncated_geometric, sv.mechanisms.randomised_response


def exponential(n, alpha):
    return sv.mechanisms.exponential(sv.metrics.line(n), alpha=alpha)


def checked(verdict: Verdict, less_safe, safer) -> Verdict:
    """A verdict whose proof holds, and whose witness gains what it says, computed anew from both channels."""
    if verdict.certificate is not None:
        assert verdict.certificate.verify(), verdict.certificate.verify().statement
    if verdict.holds is False and verdict.order in ("average", "max"):
        witness = verdict.witness
        case = verdict.order
        before = sv.posterior_vulnerability(less_safe, witness.prior, witness.gain, case=case)
        after = sv.posterior_vulnerability(safer, witness.prior, witness.gain, case=case)
        assert after.value > before.value
        assert float(before) == pytest.approx(witness.before, rel=1e-9)
        assert float(after) == pytest.approx(witness.after, rel=1e-9)
        assert np.min(witness.gain) >= 0 and np.max(witness.gain) <= 1
    return verdict


def verdicts(less_safe, safer):
    """Answers in the average, max and privacy order."""
    orders = ("average", "max", "privacy")
    return tuple(checked(refines(less_safe, safer, order), less_safe, safer).holds for order in orders)


C1 = sv.Channel([["1/2", 0, "1/2"], [0, "1/2", "1/2"], ["1/2", "1/2", 0]])
C2 = sv.Channel([["1/2", 0, 0, "1/2"], [0, "1/2", "1/2", 0], ["1/2", "1/2", 0, 0]])
C3 = sv.Channel([["1/4", 0, 0, "3/4"], [0, "3/4", "1/4", 0], ["1/4", "3/4", 0, 0]])


def test_refinement_of_hypers():  # Ex 2.4
    channels = [C1, C2, C3]
    best = [[deficiency(a, b, "uniform").exact for b in channels] for a in channels]
    assert best == [[0, F(1, 6), F(1, 4)], [0, 0, F(1, 12)], [F(1, 12), F(1, 12), 0]]
    average = [[verdicts(a, b)[0] for b in channels] for a in channels]
    assert average == [[True, False, False], [True, True, False], [False, False, True]]
    # The Earth Move: the masses at the last two posteriors of C2 both go to the last of C1.
    assert refines(C2, C1).post.exact.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 1]]
    maximum = [[verdicts(a, b)[1] for b in channels] for a in channels]
    assert maximum == [[True, False, False], [True, True, True], [True, True, True]]


A8 = sv.Channel([["3/4", 0, "1/4", 0], ["3/4", "1/4", 0, 0], [0, "1/4", "1/4", "1/2"]])
B8 = sv.Channel([["1/2", 0, "1/2"], ["1/2", "1/2", 0], [0, "1/2", "1/2"]])


def test_max_but_not_average():  # Ex 4.2
    assert verdicts(A8, B8) == (False, True, True)
    # d_A and d_B are infinite everywhere, so only the stronger orders tell the other direction.
    assert verdicts(B8, A8) == (False, False, True)
    gains = [[1, 0, 0], [0, 1, 1], [1, 0, 1]]
    before, after = (sv.posterior_vulnerability(c, None, gains).value for c in (A8, B8))
    assert after - before == F(1, 12) == deficiency(A8, B8, "uniform").exact
    worst = deficiency(A8, B8)
    assert worst.exact == F(1, 8)
    assert deficiency(B8, A8).exact == deficiency(B8, A8, "uniform").exact == F(1, 6)
    # The adversary that comes with the value reaches it.
    before, after = (sv.posterior_vulnerability(c, worst.prior, worst.gain).value for c in (A8, B8))
    assert after - before == F(1, 8)


def test_projection_witness_is_weaker():  # Thm 4.12 on Ex 4.2; E16: it must be shifted to be a gain function
    projected = np.array([[F(1, 2), F(1, 8), F(3, 8)], [F(1, 2), F(3, 8), F(1, 8)], [F(0), F(1, 2), F(1, 2)]])
    difference = B8.exact - projected
    assert difference.min() < 0
    assert (difference**2).sum() == F(1, 16)
    shifted = difference - difference.min(axis=1)[:, None]
    before, after = (sv.posterior_vulnerability(c, None, shifted.T.tolist()).value for c in (A8, B8))
    assert after - before == F(1, 48)
    found = project(A8, B8)
    assert found.nearest.matrix == pytest.approx(projected.astype(float))
    assert found.distance**2 == pytest.approx(1 / 16)
    assert found.advantage == pytest.approx(1 / 48)
    assert project(B8, A8).distance ** 2 == pytest.approx(1 / 6)


def test_projection_is_an_adversary():  # Thm 4.12
    rng = np.random.default_rng(12)
    for n, m, k in ((3, 4, 3), (5, 3, 4), (6, 9, 6)):
        a, b = sv.Channel(rng.dirichlet(np.ones(m), n)), sv.Channel(rng.dirichlet(np.ones(k), n))
        found = project(a, b)
        before, after = (float(sv.posterior_vulnerability(c, None, found.gain)) for c in (a, b))
        assert after - before == pytest.approx(found.advantage, abs=1e-12)
        assert found.advantage >= found.distance**2 / n * (1 - 1e-6) > 0
        assert project(a, a.then(sv.Channel(rng.dirichlet(np.ones(k), m)))).distance < 1e-7


def test_distance_from_the_hull():  # Ex 4.5 and Lem 4.18: Euclidean distances of the posteriors outside
    for a, b in ((A10, B10), (B10, A10)):
        far = max(hull_distance(a, column / column.sum()) for column in b.matrix.T)
        assert far == pytest.approx(math.sqrt(2) / 12)
    a, b = TG(3, alpha="1/4", outputs=[0, 1]), TG(3, alpha="1/2", outputs=[0, 1])
    distances = [hull_distance(a, column / column.sum()) for column in b.matrix.T]
    assert sorted(distances) == pytest.approx([0.0280552, 0.0440867], abs=5e-8)
    with pytest.raises(sv.errors.ChannelError, match="posterior has 2 entries"):
        hull_distance(a, [0.5, 0.5])


A10 = sv.Channel([["4/5", "1/5"], ["2/5", "3/5"]])
B10 = sv.Channel([["2/5", "3/5"], ["4/5", "1/5"]])


def test_privacy_but_not_max():  # Ex 4.5
    assert verdicts(A10, B10) == verdicts(B10, A10) == (False, False, True)
    for a, b in ((A10, B10), (B10, A10)):
        assert deficiency(a, b, "uniform").exact == F(1, 20)
        assert deficiency(a, b).exact == F(1, 15)
    assert sorted(deficiency(A10, B10).prior) == [F(1, 3), F(2, 3)]


def test_geometric_against_response():  # Ex 4.3
    g, r = TG(3, alpha="1/2"), RR(3, alpha="1/3")
    assert verdicts(g, r) == verdicts(r, g) == (False, False, False)
    assert deficiency(g, r, "uniform").exact == F(2, 25)
    assert deficiency(g, r).exact == F(2, 15)
    assert deficiency(r, g, "uniform").exact == F(2, 45)
    assert deficiency(r, g).exact == F(2, 33)
    assert sorted(deficiency(r, g).prior) == [F(1, 11), F(5, 11), F(5, 11)]
    line, discrete = sv.metrics.line(3), sv.metrics.discrete(3)
    assert refines(r, g, "privacy", metric=line).holds and not refines(g, r, "privacy", metric=line).holds
    assert refines(g, r, "privacy", metric=discrete).holds
    assert not refines(r, g, "privacy", metric=discrete).holds


def test_given_witnesses_of_geometric_and_response():  # 3.11
    g, r = TG(3, alpha="1/2"), RR(3, alpha="1/3")
    table = [[1, 0, 1], ["3/5", 1, "3/5"]]
    values = [sv.posterior_vulnerability(c, None, table).value for c in (g, r)]
    assert values == [F(11, 15), F(61, 75)]
    table = [[1, 1, 0], ["4/5", "4/5", "4/5"], [0, 1, 1]]
    values = [sv.posterior_vulnerability(c, None, table).value for c in (r, g)]
    assert values == [F(4, 5), F(38, 45)]


def test_over_truncation_breaks_refinement():  # Lem 4.18
    a, b = TG(3, alpha="1/4", outputs=[0, 1]), TG(3, alpha="1/2", outputs=[0, 1])
    assert a.exact.tolist() == [[F(4, 5), F(1, 5)], [F(1, 5), F(4, 5)], [F(1, 20), F(19, 20)]]
    assert b.exact.tolist() == [[F(2, 3), F(1, 3)], [F(1, 3), F(2, 3)], [F(1, 6), F(5, 6)]]
    assert verdicts(a, b) == (False, False, True)
    assert deficiency(a, b, "uniform").exact == F(1, 45)
    worst = deficiency(a, b)
    assert worst.exact == F(1, 30)
    assert worst.prior.tolist() == [F(1, 10), F(1, 2), F(2, 5)]
    best = [["4/5", 1, "1/5"], [1, 0, 1]]
    values = [sv.posterior_vulnerability(c, None, best).value for c in (a, b)]
    assert values[1] - values[0] == F(1, 45)
    assert deficiency(b, a, "uniform").exact == F(23, 180)
    table = [["1/5", 0, "4/5"], [0, 1, 0]]
    assert [sv.posterior_vulnerability(c, None, table).value for c in (a, b)] == [F(1, 3), F(16, 45)]


def test_over_truncation_may_still_refine():  # E21: the lemma is not universal
    a, b = TG(2, alpha="1/2", outputs=[-1, 0]), TG(2, alpha="9/10", outputs=[-1, 0])
    assert a.exact.tolist() == [[F(1, 3), F(2, 3)], [F(1, 6), F(5, 6)]]
    assert b.exact.tolist() == [[F(9, 19), F(10, 19)], [F(81, 190), F(109, 190)]]
    assert verdicts(a, b) == (True, True, True)
    one = [TG(3, alpha=alpha, outputs=[1]) for alpha in ("1/4", "1/2")]
    assert verdicts(*one) == (True, True, True)


def test_exponential_against_response():  # Thm 4.22
    e, r = exponential(4, "1/4"), RR(4, alpha="5/12")
    line = sv.metrics.line(4)
    assert sv.epsilon(e, line).nats == pytest.approx(math.log(12 / 5))
    assert sv.epsilon(r, line).nats == pytest.approx(math.log(12 / 5))
    assert verdicts(e, r) == verdicts(r, e) == (False, False, False)
    assert float(deficiency(e, r, "uniform")) == pytest.approx(0.0514403, abs=5e-8)
    assert float(deficiency(r, e, "uniform")) == pytest.approx(0.108754, abs=5e-7)


def test_post_processings():  # 3.16
    found = refines(TG(3, alpha="1/3"), TG(3, alpha="1/2")).post
    assert found.exact.tolist() == [
        [F(5, 6), F(1, 12), F(1, 12)],
        [F(5, 24), F(7, 12), F(5, 24)],
        [F(1, 12), F(1, 12), F(5, 6)],
    ]
    assert (refines(RR(3, alpha="1/4"), RR(3, alpha="1/2")).post.exact == RR(3, alpha="1/4").exact).all()
    found = refines(exponential(3, "1/16"), exponential(3, "1/4")).post
    assert found.exact.tolist() == [
        [F(7, 10), F(1, 5), F(1, 10)],
        [F(7, 40), F(13, 20), F(7, 40)],
        [F(1, 10), F(1, 5), F(7, 10)],
    ]
    found = refines(TG(3, alpha="1/2"), RR(3, alpha="2/3")).post
    assert found.exact.tolist() == [
        [F(4, 7), F(1, 7), F(2, 7)],
        [F(0), F(1), F(0)],
        [F(2, 7), F(1, 7), F(4, 7)],
    ]


# ── tables 4.2 to 4.4 ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("eps", "smaller"), [(2.0, 0.5), (1.0, 0.9)])
def test_within_a_family(eps, smaller):  # Table 4.2
    line = sv.metrics.line(5)
    families = [
        lambda e: TG(5, e),
        lambda e: RR(5, e),
        lambda e: sv.mechanisms.geometric(5, e),
        lambda e: sv.mechanisms.exponential(line, e),
    ]
    for family in families:
        assert verdicts(family(eps).finite(), family(smaller).finite()) == (True, True, True)
    over = [TG(5, e, outputs=[0, 1, 2]) for e in (eps, smaller)]
    assert verdicts(*over) == (False, False, True)


PAIRS = {  # Table 4.3, for n ≥ 4
    ("TG", "R"): (False, False, True),
    ("R", "TG"): (False, False, False),
    ("TG", "E"): (False, False, True),
    ("E", "TG"): (False, False, False),
    ("R", "E"): (False, False, False),
    ("E", "R"): (False, False, False),
}


def family(name, n, eps):
    if name == "E":
        return sv.mechanisms.exponential(sv.metrics.line(n), eps, level="true")
    return TG(n, eps) if name == "TG" else RR(n, eps)


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("eps", [0.5, 2.0])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_across_families_at_the_same_epsilon(pair, n, eps):
    expected = PAIRS[pair]
    if n == 2:
        expected = (True, True, True)  # the three channels are identical
    elif n == 3 and pair == ("E", "R"):
        expected = (False, False, True)  # E22: the table needs n ≥ 4
    assert verdicts(family(pair[0], n, eps), family(pair[1], n, eps)) == expected


def test_larger_epsilon_promises_nothing_across_families():  # Table 4.4; E24: N means "not guaranteed"
    assert verdicts(TG(5, 1.0), RR(5, 0.9)) == (False, False, True)
    assert verdicts(TG(5, 1.0), RR(5, 0.7)) == (True, True, True)
    assert verdicts(RR(5, 4.0), TG(5, 0.9)) == (False, False, True)
    assert verdicts(RR(5, 4.0), TG(5, 0.88)) == (True, True, True)
    # Thm 4.25: at ε = 0 every family is the null channel.
    for name in ("TG", "R"):
        assert verdicts(family(name, 4, 1.0), RR(4, 0.0)) == (True, True, True)


def test_every_private_mechanism_is_safer_than_the_geometric_in_the_privacy_order():  # E25
    rng = np.random.default_rng(3)
    line = sv.metrics.line(4)
    for _ in range(20):
        channel = sv.Channel(rng.dirichlet(np.ones(4), size=4))
        eps = sv.epsilon(channel, line).nats
        assert refines(TG(4, eps * (1 + 1e-9)), channel, "privacy").holds


# ── errata ───────────────────────────────────────────────────────────────────────────────────────


def test_direction_of_the_order():  # E5: up is safer; the safer channel gives nobody more
    a = RR(3, alpha="1/3")
    b = a.then(a)
    assert refines(a, b).holds and not refines(b, a).holds
    assert sv.posterior_vulnerability(b).value <= sv.posterior_vulnerability(a).value


def test_hulls_need_the_same_average():  # E7: Lem 2.6 without equal averages fails
    # Posteriors of B in the hull of A's, A's independent, but not the same prior: V_g grows.
    a = sv.Channel([[1, 0], [0, 1]])
    prior_a, prior_b = [F(1, 2), F(1, 2)], [F(9, 10), F(1, 10)]
    g = [[1, 0], [0, 0]]
    null = sv.Channel([[1], [1]])
    assert (
        sv.posterior_vulnerability(null, prior_b, g).value > sv.posterior_vulnerability(a, prior_a, g).value
    )


def test_finite_metrics_do_not_characterise_the_privacy_order():  # E13
    a = sv.Channel([["1/2", "1/2", 0], ["1/2", "1/2", 0], [0, 0, 1]])
    b = sv.Channel([["3/5", "2/5"], ["2/5", "3/5"], ["1/2", "1/2"]])
    for metric in (sv.metrics.line(3), sv.metrics.discrete(3)):
        assert math.isinf(sv.epsilon(a, metric).nats)
        assert refines(a, b, "privacy", metric=metric).holds
    verdict = checked(refines(a, b, "privacy"), a, b)
    assert verdict.holds is False
    assert set(verdict.witness.pair) == {0, 1}
    assert verdict.witness.before == 0
    assert verdict.witness.after == pytest.approx(math.log(1.5))


def test_privacy_witness_is_the_metric_of_the_less_safe():  # E15
    a, b = sv.Channel([[1], [1]]), sv.Channel([["9/10", "1/10"], ["1/10", "9/10"]])
    assert refines(a, b, "privacy").holds is False
    theirs = sv.distinguishability(b)
    assert sv.epsilon(a, theirs).nats <= 1  # the thesis' metric d_B does not object
    mine = sv.distinguishability(a)
    assert sv.epsilon(a, mine).nats <= 1 < sv.epsilon(b, mine).nats  # d_A does


def test_post_processing_acts_on_outputs():  # E17
    with pytest.raises(sv.errors.ChannelError):
        TG(3, alpha="1/2").then(sv.Channel([[1, 0], [0, 1]]))


def test_antisymmetry_is_up_to_equivalence():  # E18
    a = sv.Channel([["1/2", "1/2"], ["1/4", "3/4"]])
    b = sv.Channel([["1/4", "1/4", "1/2"], ["1/8", "1/8", "3/4"]])
    assert verdicts(a, b)[0] and verdicts(b, a)[0]
    assert a.is_equivalent(b)


def test_exponential_is_not_monotone_off_the_line():  # 4.1: counterexamples to extensions of Conj 4.20
    cycle = sv.metrics.cycle(6)
    a, b = (sv.mechanisms.exponential(cycle, alpha=F(*root) ** 2) for root in ((1, 10), (3, 20)))
    verdict = checked(refines(a, b), a, b)
    assert verdict.holds is False and verdict.exact
    assert float(deficiency(a, b, "uniform")) == pytest.approx(7.43304e-5, rel=1e-5)
    only = exact_solve(a.exact, b.exact)
    assert only.min() == F(-89000, 874620747)
    assert refines(a, b, "privacy").holds
    for n in (3, 4, 5, 7):
        pair = [
            sv.mechanisms.exponential(sv.metrics.cycle(n), alpha=F(*root) ** 2) for root in ((1, 10), (3, 20))
        ]
        assert refines(*pair).holds
    line = sv.metrics.line([0, 1, 5])
    gap = [
        sv.mechanisms.exponential(line, alpha=F(*root) ** 2, inputs=[0, 1], outputs=[0, 5])
        for root in ((3, 20), (9, 10))
    ]
    assert refines(*gap).holds is False


def test_objections_name_both_channels():
    """Of A and B, the reader must know which one is meant by "before"."""
    a, b = sv.Channel([["1/2", "1/2"], ["1/2", "1/2"]]), sv.Channel([[1, 0], ["1/2", "1/2"]])
    told = refines(a, b, "privacy").witness
    assert told.sentence("A", "B").endswith("is certain at output 1 of A, against odds of 1 from B")
    assert str(told).endswith("is certain at output 1, against odds of 1 before")
    milder = refines(a, sv.Channel([["3/5", "2/5"], ["2/5", "3/5"]]), "privacy").witness
    assert milder.sentence("B", "A").endswith("by odds of 1.5 at output 0 of B, against 1 from A")
    bets = refines(a, b).witness
    assert bets.sentence("B", "A").endswith("gains 50.0% more from B than from A (0.75 against 0.5)")
    assert str(bets).endswith("gains 50.0% more (0.5 → 0.75)")
    tiny = replace(bets, before=0.25, after=0.25 + 2**-20)
    assert tiny.sentence("B", "A").endswith("gains 9.5e-07 more from B than the 0.25 from A")
    assert replace(bets, before=0.0).sentence("B", "A").endswith("0.75 from B instead of nothing from A")


def test_comparison_in_words():
    result = compare(TG(3, alpha="1/2"), RR(3, alpha="2/3"))
    assert result.strongest == "average"
    assert str(result).startswith("B can replace A against every adversary.")
    result = compare(TG(4, alpha="1/2"), RR(4, alpha="1/2"))
    assert result.strongest == "privacy"
    assert str(result).startswith("B is safer than A only in the privacy order: an adversary who may bet")
    assert "more from B" in str(result)
    assert all(isinstance(verdict.to_dict(), dict) for verdict in (*result.forward, *result.backward))
