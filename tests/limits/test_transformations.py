"""The papers' transformations keep rows, privacy and leakage, exactly on exact channels."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import sievert as sv
from sievert import testing
from sievert.errors import ChannelError
from sievert.limits.transformations import diagonalise, smooth_by_distance, symmetrise
from sievert.spaces import automorphisms, graphs

FEW = settings(max_examples=30, deadline=None)


def capacity(channel: sv.Channel) -> Fraction:
    return sum((max(column) for column in channel.exact.T), Fraction(0))


def worst_ratio(channel: sv.Channel, edges) -> Fraction | float:
    worst: Fraction | float = Fraction(1)
    for i, h in edges.tolist():
        for a, b in ((i, h), (h, i)):
            for x, y in zip(channel.exact[a], channel.exact[b], strict=True):
                if x:
                    worst = max(worst, float("inf") if y == 0 else x / y)
    return worst


@given(testing.channels(5, (1, 6), form="exact", sparse=True))
@FEW
def test_diagonalise(channel: sv.Channel) -> None:
    square = diagonalise(channel)
    edges = graphs.cycle(5).edges
    assert square.shape == (5, 5)
    assert all(sum(row) == 1 for row in square.exact)
    assert capacity(square) == capacity(channel)
    assert all(square.exact[k, k] == max(square.exact[:, k]) for k in range(5))
    assert worst_ratio(square, edges) <= worst_ratio(channel, edges)


@given(testing.channels(5, (1, 6), form="exact", sparse=True))
@FEW
def test_symmetrise(channel: sv.Channel) -> None:
    cycle = graphs.cycle(5)
    square = diagonalise(channel)
    even = symmetrise(square, automorphisms(cycle).generators.tolist())
    assert all(sum(row) == 1 for row in even.exact)
    assert capacity(even) == capacity(channel)
    assert len(set(np.diag(even.exact))) == 1
    assert all(even.exact[k, k] == max(even.exact[:, k]) for k in range(5))
    assert worst_ratio(even, cycle.edges) <= worst_ratio(square, cycle.edges)


@given(testing.channels(5, (1, 6), form="exact", sparse=True))
@FEW
def test_smoothing_by_distance_on_a_distance_regular_graph(channel: sv.Channel) -> None:
    cycle = graphs.cycle(5)
    square = diagonalise(channel)
    smooth = smooth_by_distance(square, cycle.metric())
    assert all(sum(row) == 1 for row in smooth.exact)
    assert capacity(smooth) == capacity(channel)
    assert len({smooth.exact[i, j] for i in range(5) for j in range(5)}) <= 3
    assert worst_ratio(smooth, cycle.edges) <= worst_ratio(square, cycle.edges)


def test_part_of_the_group_averages_over_its_own_orbits() -> None:
    channel = sv.Channel([["1/2", "1/4", "1/4"], ["1/4", "1/2", "1/4"], ["0", "1/4", "3/4"]])
    swapped = symmetrise(channel, [[1, 0, 2]])
    assert swapped.exact[0, 0] == swapped.exact[1, 1] == Fraction(1, 2)
    assert swapped.exact[2].tolist() == [Fraction(1, 8), Fraction(1, 8), Fraction(3, 4)]
    assert symmetrise(channel, []).exact.tolist() == channel.exact.tolist()


def test_floats_stay_floats_and_labels_stay() -> None:
    channel = sv.Channel([[0.7, 0.3], [0.2, 0.8]], inputs=["a", "b"])
    assert diagonalise(channel).inputs == ("a", "b")
    assert symmetrise(channel, [[1, 0]]).matrix.tolist() == [[0.75, 0.25], [0.25, 0.75]]


def test_shapes_and_permutations_are_checked() -> None:
    wide = sv.Channel([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]])
    with pytest.raises(ChannelError, match="diagonalise first"):
        symmetrise(wide, [])
    with pytest.raises(ChannelError, match="not a permutation"):
        symmetrise(diagonalise(wide), [[0, 0]])
    with pytest.raises(ChannelError, match="metric has 3 elements but 2 are needed"):
        smooth_by_distance(diagonalise(wide), sv.metrics.line(3))
