"""Thresholds among numbers, without a list of pairs."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert import Graph, Policy, Query
from sievert.errors import TooLargeError
from sievert.spaces import secrets

NUMBERS = st.lists(st.integers(0, 40), min_size=1, max_size=12, unique=True)


def listed(graph: secrets.SecretGraph) -> Graph:
    return Graph(graph.nodes, graph.labelled_edges())


@given(NUMBERS, st.integers(0, 20))
def test_threshold_is_the_graph_of_its_pairs(numbers: list[int], theta: int) -> None:
    graph = secrets.threshold(numbers, theta)
    joined = {frozenset((u, v)) for u in numbers for v in numbers if u != v and abs(u - v) <= theta}
    assert {frozenset(pair) for pair in graph.labelled_edges()} == joined
    assert graph.reach.pair_count == len(joined)
    expected = listed(graph).metric().matrix
    assert np.array_equal(graph.metric().matrix, expected)
    same = expected < np.inf
    assert np.array_equal(graph.component_of[:, None] == graph.component_of, same)
    assert graph.diameter() == (int(expected.max()) if same.all() else None)
    assert graph.metric().uniform_distance == (
        1 if len(joined) == len(numbers) * (len(numbers) - 1) / 2 and len(numbers) > 1 else None
    )


@given(NUMBERS, st.integers(0, 20), st.data())
def test_deciding_pairs_have_the_largest_change(numbers: list[int], theta: int, data: st.DataObject) -> None:
    near = Policy(secrets.threshold(numbers, theta), 3)
    plain = Policy(secrets.edges(numbers, near.secrets.labelled_edges()), 3)
    wanted = data.draw(st.sets(st.sampled_from(numbers), min_size=1))
    for query in (Query.sum(), Query.histogram(), Query.count(lambda value: value in wanted)):
        table = query.statistic(plain)
        assert table is not None
        assert table.sensitivity(near).steps == table.sensitivity(plain).steps


def test_wide_thresholds_need_no_pairs() -> None:
    graph = secrets.threshold(range(150_001), 10_000)
    policy = Policy(graph, 100)
    table = Query.sum().statistic(policy)
    assert table is not None
    assert table.sensitivity(policy).steps == Fraction(10_000)
    assert graph.diameter() == 15
    assert repr(pickle.loads(pickle.dumps(graph))) == "SecretGraph(150001 values, 1450005000 pairs)"
    with pytest.raises(TooLargeError, match="1450005000 pairs"):
        len(graph.metric().edges or ())
