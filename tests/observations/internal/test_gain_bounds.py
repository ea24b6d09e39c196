"""Inside `_gain_bounds`: sums after many releases."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given

import sievert as sv
from sievert.measures import Closeness
from sievert.observations._contribution_classes import ContributionClasses, value_given_class
from tests.observations.windows import line, lines, windows


def test_nearness_is_closeness_without_a_table() -> None:
    rng = np.random.default_rng(2)
    positions = rng.permutation(np.cumsum(rng.integers(1, 5, size=8))).astype(float)
    metric = sv.metrics.line(positions.tolist())
    near, table = Closeness(metric.points, positions, "closeness"), sv.gains.closeness(metric)
    joint = rng.dirichlet(np.ones(8), size=5).T
    assert near.values(joint) == pytest.approx(table.values(joint), rel=1e-12)
    assert near.best(joint) == table.best(joint)
    assert near.matrix == pytest.approx(table.matrix)
    assert near.sole_best(joint[:, 0]) == table.sole_best(joint[:, 0])
    assert near.sole_best(np.full(8, 1 / 8)) is None
    shuffled = near.for_secrets(tuple(metric.points[::-1]))
    assert shuffled.values(joint[::-1]) == pytest.approx(table.values(joint), rel=1e-12)
    assert isinstance(sv.gains.closeness(sv.metrics.line(range(4000))), Closeness)
    place = np.array([0, 0, 1, 1, 1, 2, 3, 3])
    classes = ContributionClasses(np.zeros(4, np.int64), np.arange(4), place, joint[:, 0])
    for adversary in (near, sv.losses.shannon(8), sv.losses.guessing(8)):
        listed = float(adversary.values(classes.columns()).sum())
        assert value_given_class(adversary, classes) == pytest.approx(listed, rel=1e-12)


def test_what_is_told_by_a_class() -> None:
    """Values of one amount are never told apart: the limit is the best window of each amount."""
    view = line([0, 1, 0, 1, 0, 1], 0.5, [0.1, 0.3, 0.2, 0.1, 0.2, 0.1])
    for radius, limit in [(0, 0.5), (1, 0.8), (2, 1.0), (math.inf, 1.0)]:
        assert value_given_class(windows(range(6), radius), view.classes) == pytest.approx(limit, rel=1e-14)
        for releases in (1, 50):
            listed = view.gain(sv.gains.within(sv.metrics.line(6), radius), releases)
            found = view.gain(windows(range(6), radius), releases)
            assert found.exact and found.after == pytest.approx(listed.after, rel=1e-13)
        assert view.gain(windows(range(6), radius), 1000).after == pytest.approx(limit, rel=1e-9)


@given(lines())
def test_what_is_told_as_by_a_table(drawn: tuple[list[int], list[float], list[float], float]) -> None:
    amounts, positions, belief, radius = drawn
    classes = line(amounts, 0.5, belief).classes
    listed = value_given_class(sv.gains.within(sv.metrics.line(positions), radius), classes)
    assert value_given_class(windows(positions, radius), classes) == pytest.approx(listed, rel=1e-13)
