"""Meets and joins: worked numbers, laws, and where they do not exist."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert import deficiency, testing
from sievert.orders import refines
from sievert.orders.lattice import NoBoundError, in_both_hulls, join, meet
from sievert.testing import project

X = sv.mechanisms.randomised_response(3, alpha="1/4")
Y = sv.Channel([["1/2", 0, "1/2"], ["1/2", "1/2", 0], [0, "1/2", "1/2"]])


def posteriors(channel):
    return {tuple(column / sum(column)) for column in channel.exact.T}


def test_max_join_is_a_hexagon():  # 3.9
    found = join(X, Y, "max")
    assert posteriors(found) == set(permutations([F(1, 2), F(1, 3), F(1, 6)]))
    assert all(sum(column) == F(1, 2) for column in found.exact.T)  # weight 1/6 each
    assert posteriors(meet(X, Y, "max")) == posteriors(X) | posteriors(Y)
    assert in_both_hulls(X, Y, [F(1, 2), F(1, 3), F(1, 6)])
    assert not in_both_hulls(X, Y, [F(2, 3), F(1, 6), F(1, 6)])


def test_no_average_join():  # Ex 4.6; E18: what is missing there is the supremum
    with pytest.raises(NoBoundError) as refusal:
        join(X, Y)
    error = refusal.value
    for bound in error.bounds:
        assert refines(error.first, bound).holds and refines(error.second, bound).holds
    first, second = error.bounds
    assert refines(first, second).holds is False and refines(second, first).holds is False
    assert (
        deficiency(first, second, "uniform").exact == deficiency(second, first, "uniform").exact == F(1, 12)
    )


def test_no_average_meet():
    with pytest.raises(NoBoundError) as refusal:
        meet(X, Y)
    error = refusal.value
    for bound in error.bounds:
        assert refines(bound, error.first).holds and refines(bound, error.second).holds
    first, second = error.bounds
    assert refines(first, second).holds is False and refines(second, first).holds is False
    assert refines(error.first, error.second).holds is False


def test_two_secrets():  # 3.10
    a = sv.Channel([["4/5", "1/5"], ["2/5", "3/5"]])
    b = sv.Channel([["2/5", "3/5"], ["4/5", "1/5"]])
    assert posteriors(join(a, b)) == {(F(1, 3), F(2, 3)), (F(2, 3), F(1, 3))}
    assert meet(a, b).is_equivalent(sv.Channel([["1/5", "1/5", "3/5"], ["3/5", "1/5", "1/5"]]))


def test_privacy_lattice():  # 3.11
    g, r = (
        sv.mechanisms.truncated_geometric(3, alpha="1/2"),
        sv.mechanisms.randomised_response(3, alpha="1/3"),
    )
    upper, lower = join(g, r, "privacy"), meet(g, r, "privacy")
    logs = np.log
    assert sv.distinguishability(upper).matrix[[0, 1, 0], [1, 2, 2]] == pytest.approx(logs([2, 2, 3]))
    assert sv.distinguishability(lower).matrix[[0, 1, 0], [1, 2, 2]] == pytest.approx(logs([3, 3, 4]))
    assert upper.matrix[0] == pytest.approx([0.12262648, 0.06131324, 0.04087549, 0.77518479], abs=5e-9)
    assert upper.matrix[1] == pytest.approx([0.06131324, 0.12262648, 0.06131324, 0.75474704], abs=5e-9)
    assert lower.matrix[0] == pytest.approx([0.12262648, 0.04087549, 0.03065662, 0.80584141], abs=5e-9)
    assert lower.matrix[1] == pytest.approx([0.04087549, 0.12262648, 0.04087549, 0.79562253], abs=5e-9)


def test_raw_minimum_is_no_metric():
    a = sv.Metric([[0, 1, 5], [1, 0, 5], [5, 5, 0]])
    b = sv.Metric([[0, 5, 5], [5, 0, 1], [5, 1, 0]])
    from sievert.orders.lattice import privacy_join_metric

    assert np.minimum(a.matrix, b.matrix)[0, 2] == 5
    assert privacy_join_metric(a, b).matrix[0, 2] == 2


@settings(max_examples=25)
@given(st.data())
def test_bounds_of_two_secrets(data):
    a, b, c = (data.draw(testing.channels(2, (1, 4), form="exact", sparse=True)) for _ in range(3))
    upper, lower = join(a, b), meet(a, b)
    for channel in (a, b):
        assert refines(channel, upper).holds and refines(lower, channel).holds
    if refines(a, c).holds and refines(b, c).holds:
        assert refines(upper, c).holds
    if refines(c, a).holds and refines(c, b).holds:
        assert refines(c, lower).holds


@settings(max_examples=12)
@given(st.data())
def test_bounds_in_the_max_order(data):
    n = data.draw(st.integers(2, 4))
    a, b = (data.draw(testing.channels(n, (1, 4), form="exact", sparse=True)) for _ in range(2))
    upper, lower = join(a, b, "max"), meet(a, b, "max")
    for channel in (a, b):
        assert refines(channel, upper, "max").holds and refines(lower, channel, "max").holds
    point = upper.exact[:, 0] / sum(upper.exact[:, 0])
    assert in_both_hulls(a, b, point)


def test_too_large_hulls_are_refused():
    big = sv.mechanisms.randomised_response(9, alpha="1/2")
    with pytest.raises(sv.errors.TooLargeError, match="in_both_hulls"):
        join(big, big, "max")
    assert in_both_hulls(big, big, [F(1, 9)] * 9)
    with pytest.raises(sv.errors.ChannelError, match="order is"):
        meet(X, Y, "best")
    with pytest.raises(sv.errors.ChannelError, match="same inputs"):
        join(X, sv.Channel([[1], [1]]))


def test_inputs_are_matched_by_label():
    a = sv.Channel([["4/5", "1/5"], ["2/5", "3/5"]], ["p", "q"])
    b = sv.Channel([["4/5", "1/5"], ["2/5", "3/5"]], ["q", "p"])
    swapped = sv.Channel(b.exact[::-1].tolist(), ["p", "q"], b.outputs)
    for order in ("average", "max"):
        for operation in (sv.lattice.join, sv.lattice.meet):
            found, expected = operation(a, b, order), operation(a, swapped, order)
            assert (found.exact == expected.exact).all()
            assert tuple(found.inputs) == ("p", "q")
    for function in (sv.deficiency, sv.lattice.join, sv.lattice.meet, project):
        with pytest.raises(sv.SievertError, match="the channels have 2 and 3 inputs"):
            function(a, sv.Channel([[1], [1], [1]]))
