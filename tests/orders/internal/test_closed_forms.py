"""Inside `_closed_forms`: structured cases."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

import sievert as sv
from sievert import testing
from sievert.orders import refines
from sievert.orders._closed_forms import Member, curve, decide_binary, member_of

TG, RR = sv.mechanisms.truncated_geometric, sv.mechanisms.randomised_response


@given(testing.channels(2, (1, 6), form="exact", sparse=True))
def test_curves_of_two_secrets_are_concave(a):
    points = curve(a.exact)
    slopes = [(y1 - y0, x1 - x0) for (x0, y0), (x1, y1) in pairwise(points)]
    assert all(p[0] * q[1] >= q[0] * p[1] for p, q in pairwise(slopes))  # concave


def test_two_secrets_with_many_outputs():
    rng = np.random.default_rng(0)
    a = rng.dirichlet(np.ones(2000), 2)
    post = np.zeros((2000, 300))
    post[np.arange(2000), rng.integers(0, 300, 2000)] = 1
    found = decide_binary(a, a @ post)
    # Rounding may put a corner above the curve by its last digit; the transport must then still be right.
    assert found.holds or found.witness is not None
    assert refines(sv.Channel(a), sv.Channel(a @ post, normalise=True)).holds
    assert refines(sv.Channel(a @ post, normalise=True), sv.Channel(a)).holds is False


def exact_family(name, n, parameter):
    if name == "E":
        return sv.mechanisms.exponential(sv.metrics.line(n), alpha=parameter**2)
    return TG(n, alpha=parameter) if name == "TG" else RR(n, alpha=parameter)


@pytest.mark.parametrize("name", ["TG", "R", "E"])
def test_family_inverse(name):
    channel = exact_family(name, 6, F(2, 5))
    family = member_of(channel)
    assert isinstance(family, Member) and family.exact
    assert (family.inverse_times(channel.exact) == np.eye(6, dtype=int)).all()
    rows = np.array([family.inverse_row(y) for y in range(6)])
    assert (rows @ channel.exact == np.eye(6, dtype=int)).all()
    widths = [float(max(*row, 0) - min(*row, 0)) for row in rows.tolist()]
    assert family.spans() == pytest.approx(widths)


def test_other_channels_are_no_family():
    rng = np.random.default_rng(2)
    assert member_of(sv.Channel(rng.dirichlet(np.ones(4), 4))) is None
    assert member_of(sv.mechanisms.exponential(sv.metrics.cycle(6), 1.0)) is None
    assert member_of(TG(4, alpha=0)) is None and member_of(RR(4, alpha=1)) is None
