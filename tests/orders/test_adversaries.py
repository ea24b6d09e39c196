"""Refinement against some adversaries only."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest

import sievert as sv
from sievert.orders import refines

TG, RR = sv.mechanisms.truncated_geometric, sv.mechanisms.randomised_response


def checked(verdict, a, b):
    if verdict.certificate is not None:
        assert verdict.certificate.verify(), verdict.certificate.verify().statement
    if verdict.holds is False:
        values = [sv.posterior_vulnerability(c, verdict.witness.prior, verdict.witness.gain) for c in (a, b)]
        assert float(values[1]) > float(values[0])
    return verdict.holds


def test_all_generators_are_the_average_order():
    rng = np.random.default_rng(4)
    for _ in range(15):
        a, b = (sv.Channel(rng.integers(1, 6, (3, 3)).tolist(), normalise=True) for _ in range(2))
        everything = sv.adversaries.AdversaryClass("all", sv.gains.matrix(np.eye(3, dtype=int).tolist()))
        assert checked(refines(a, b, adversary=everything), a, b) == refines(a, b).holds
        b = a.then(b)
        assert checked(refines(a, b, adversary=everything), a, b) is True


def test_restricting_the_adversary_can_help():
    # Nobody who bets on "the secret is 0" or against it gains more, though somebody else does.
    a, b = sv.Channel([[1, 0], [0, 1], [0, 1]]), sv.Channel([["1/2", "1/2"], [0, 1], ["1/4", "3/4"]])
    assert refines(a, b).holds is False
    assert checked(refines(a, b, adversary=sv.adversaries.properties(3, [[0]])), a, b) is True
    assert checked(refines(a, b, adversary=sv.adversaries.properties(3, [[0], [1]])), a, b) is False


@pytest.mark.parametrize("exact", [True, False])
def test_metric_classes(exact):
    line = sv.metrics.line(4)
    a, b = TG(4, alpha="1/2"), RR(4, alpha="1/2")
    if not exact:
        a, b = sv.Channel(a.matrix), sv.Channel(b.matrix)
    strict = checked(refines(a, b, adversary=sv.adversaries.within(line, 0)), a, b)
    assert strict == refines(a, b).holds is False  # guessing exactly generates every gain
    for radius in (1, 2, 3):
        assert checked(refines(a, b, adversary=sv.adversaries.within(line, radius)), a, b) is not None
    assert (
        checked(refines(a, b, adversary=sv.adversaries.within(line, 3)), a, b) is True
    )  # everything is within 3
    # Each class contains the balls of one radius.
    if refines(a, b, adversary=sv.adversaries.monotone(line)).holds:
        assert refines(a, b, adversary=sv.adversaries.within(line, 1)).holds
    assert checked(refines(a, a, adversary=sv.adversaries.monotone(line)), a, a) is True


def test_given_prior():
    a = sv.Channel([["1/2", "1/2"], ["1/2", "1/2"], [0, 1]])
    b = sv.Channel([["3/5", "2/5"], ["2/5", "3/5"], ["1/2", "1/2"]])
    assert refines(a, b).holds is False
    only = sv.adversaries.prior([F(1, 2), 0, F(1, 2)])
    # Without secret 1 the first row against the third: a tells 0 from 2 better.
    assert checked(refines(a, b, adversary=only), a, b) is (refines(_rows(a, [0, 2]), _rows(b, [0, 2])).holds)
    assert checked(refines(a, b, adversary=sv.adversaries.prior([F(1, 2), F(1, 2), 0])), a, b) is False


def _rows(channel, rows):
    return sv.Channel(channel.exact[rows].tolist())


def test_given_gains():
    a, b = TG(3, alpha="1/2"), RR(3, alpha="1/3")
    gain = sv.gains.identity(3)
    verdict = refines(a, b, adversary=gain)
    values = [sv.posterior_vulnerability(c, None, gain).value for c in (a, b)]
    assert checked(verdict, a, b) is (values[1] <= values[0])
    listed = [sv.gains.identity(3), sv.gains.property(3, [1])]
    assert checked(refines(a, b, adversary=listed), a, b) is False
    assert refines(a, b, adversary=[sv.losses.absolute(3)]).holds is not None
    with pytest.raises(sv.errors.GainError, match="adversary is 'bayes'"):
        refines(a, b, adversary="bayes")
    with pytest.raises(sv.errors.ChannelError, match="adversary belongs"):
        refines(a, b, "max", adversary=gain)


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e-13, 1e-30])
def test_small_gains_object_as_large_ones_do(scale):
    blind, truth = sv.Channel([[0.5, 0.5], [0.5, 0.5]]), sv.Channel([[1.0, 0.0], [0.0, 1.0]])
    assert sv.refines(blind, truth, adversary=sv.adversaries.gains([scale * np.eye(2)])).holds is False
    assert sv.refines(truth, blind, adversary=sv.adversaries.gains([scale * np.eye(2)])).holds is True
    near = sv.metrics.line([0.0, scale])
    assert sv.refines(blind, truth, adversary=sv.adversaries.monotone(near)).holds is False
