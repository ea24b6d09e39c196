"""Distance-regularity and distance counts (Alvim et al., Prop 5 and 11 to 14)."""

import math
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import GraphError, TooLargeError
from sievert.spaces import Graph, graphs, secrets
from sievert.spaces import _regularity as regularity
from sievert.spaces._regularity import (
    IntersectionArray,
    common_distance_counts,
    distance_counts,
    intersection_array,
    is_distance_regular,
    product_distance_counts,
)

Oracle = Callable[[str], ModuleType]


def circulant(size: int, steps: tuple[int, ...]) -> Graph:
    index = np.arange(size)
    pairs = [np.column_stack([index, (index + step) % size]) for step in steps if step % size]
    return graphs.of_pairs(np.concatenate(pairs) if pairs else [], size)


regular_and_other = st.one_of(
    st.builds(circulant, st.integers(1, 12), st.tuples(st.integers(1, 6), st.integers(1, 6))),
    st.builds(graphs.random_tree, st.integers(1, 9), st.integers(0, 99)),
)


@given(regular_and_other)
def test_agreement_with_networkx(oracle: Oracle, graph: Graph) -> None:
    networkx = oracle("networkx")
    peer = networkx.Graph(graph.edges.tolist())
    peer.add_nodes_from(range(graph.size))
    ours = intersection_array(graph)
    if len(graph.components()) > 1:
        assert ours is None
        return
    assert (ours is not None) == networkx.is_distance_regular(peer)
    if ours is not None:
        assert (list(ours.b), list(ours.c)) == tuple(map(list, networkx.intersection_array(peer)))
        assert ours.counts == common_distance_counts(graph)


@pytest.mark.parametrize(("u", "v"), [(1, 2), (1, 5), (2, 3), (3, 3), (4, 2), (2, 7), (5, 3)])
def test_hamming_graphs(u: int, v: int) -> None:
    """Alvim et al., Prop 13 and 14: b_d = (u-d)(v-1), c_d = d, n_d = C(u,d)(v-1)^d, diameter u."""
    found = intersection_array(graphs.hamming(u, v))
    assert found is not None
    assert found.b == tuple((u - d) * (v - 1) for d in range(u))
    assert found.c == tuple(range(1, u + 1))
    counts = tuple(math.comb(u, d) * (v - 1) ** d for d in range(u + 1))
    assert found.counts == counts
    assert found.diameter == u
    assert product_distance_counts((1, v - 1), u) == counts
    assert distance_counts(graphs.hamming(u, v)) == counts


@pytest.mark.parametrize("k", [1, 2, 3])
def test_chang_graphs_have_the_array_of_t8(k: int) -> None:
    assert intersection_array(graphs.chang(k)) == intersection_array(graphs.triangular(8))
    assert str(intersection_array(graphs.chang(k))) == "{12,5;1,4}"
    counts = common_distance_counts(graphs.chang(k))
    assert counts == (1, 12, 15)
    assert 28 / sum(n * math.exp(-d) for d, n in enumerate(counts)) == pytest.approx(3.761124, abs=5e-7)


def test_truncated_tetrahedron_has_counts_but_no_array() -> None:
    graph = graphs.truncated_tetrahedron()
    assert intersection_array(graph) is None
    counts = common_distance_counts(graph)
    assert counts == (1, 3, 4, 4)
    assert 12 / sum(n * math.exp(-d) for d, n in enumerate(counts)) == pytest.approx(4.219220, abs=5e-7)


def test_degenerate_graphs() -> None:
    assert intersection_array(graphs.path(1)) == IntersectionArray((), ())
    assert common_distance_counts(graphs.path(1)) == (1,)
    assert intersection_array(graphs.path(2)) == IntersectionArray((1,), (1,))
    apart = graphs.of_pairs([], 3)
    assert not is_distance_regular(apart)
    assert common_distance_counts(apart) == (1,)
    pairs = graphs.of_pairs([[0, 1], [2, 3]])
    assert not is_distance_regular(pairs)
    assert common_distance_counts(pairs) == (1, 1)  # erratum 5: ∞ does not count
    union = graphs.disjoint_union(graphs.cycle(4), graphs.cycle(5))
    assert common_distance_counts(union) is None


def test_a_complete_secret_graph_needs_no_edges() -> None:
    graph = secrets.complete(10**6)
    assert intersection_array(graph) == IntersectionArray((10**6 - 1,), (1,))
    assert common_distance_counts(graph) == (1, 10**6 - 1) == distance_counts(graph, 7)
    assert intersection_array(secrets.complete(1)) == IntersectionArray((), ())
    assert common_distance_counts(secrets.complete(1)) == (1,)


def test_one_vertex_of_each_orbit_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regularity, "LARGEST_WORK", 1000)
    graph = graphs.hypercube(8)
    with pytest.raises(TooLargeError, match=r"not refuted from 64 vertices.*pass orbits="):
        intersection_array(graph)
    found = intersection_array(graph, orbits=np.zeros(graph.size))
    assert found is not None
    assert found.counts == tuple(math.comb(8, d) for d in range(9))
    assert intersection_array(circulant(200, (1, 7))) is None  # told from the first vertices


@given(st.lists(st.integers(0, 5), max_size=3), st.integers(1, 4))
def test_products_of_distance_counts(rest: list[int], records: int) -> None:
    expected = np.array([1], dtype=object)
    for _ in range(records):
        expected = np.convolve(expected, np.array([1, *rest], dtype=object))
    while len(expected) > 1 and expected[-1] == 0:
        expected = expected[:-1]
    assert product_distance_counts((1, *rest), records) == tuple(expected.tolist())


def test_product_counts_agree_with_the_explicit_product() -> None:
    cycle = graphs.cycle(5)
    product = sv.Policy.of_graph(cycle).blowfish(secrets.cycle(5), records=3).adjacency()
    assert product_distance_counts(distance_counts(cycle), 3) == common_distance_counts(product)


def test_product_counts_of_many_records_are_exact() -> None:
    counts = product_distance_counts((1, 9), 1000)
    assert sum(counts) == 10**1000
    assert counts[500] == math.comb(1000, 500) * 9**500
    with pytest.raises(TooLargeError, match="to the power 1000000"):
        product_distance_counts((1, 9), 10**6)


@pytest.mark.parametrize("counts", [(), (2, 1), (1, -1)])
def test_counts_start_with_one(counts: tuple[int, ...]) -> None:
    with pytest.raises(GraphError, match="n_0 = 1"):
        product_distance_counts(counts, 2)


def test_counts_from_a_named_node() -> None:
    assert distance_counts(Graph.path("abcd"), "a") == (1, 1, 1, 1)
    with pytest.raises(GraphError, match="'z' is not one of the nodes"):
        distance_counts(Graph.path("abcd"), "z")


@pytest.mark.parametrize("n", [2, 3, 10])
def test_the_family_of_theorem_five_is_not_distance_regular(n: int) -> None:
    assert not is_distance_regular(graphs.theorem_five(n))
