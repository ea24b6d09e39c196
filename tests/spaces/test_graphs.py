"""The named graphs against networkx, and the policy of any graph (Edwards et al., Thm 4)."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import sievert as sv
from sievert import testing
from sievert.errors import GraphError, TooLargeError
from sievert.spaces import Graph, graphs
from sievert.spaces.secrets import SecretGraph

Oracle = Callable[[str], ModuleType]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (graphs.path(7), lambda nx: nx.path_graph(7)),
        (graphs.path(1), lambda nx: nx.path_graph(1)),
        (graphs.cycle(9), lambda nx: nx.cycle_graph(9)),
        (graphs.cycle(2), lambda nx: nx.path_graph(2)),
        (graphs.complete(6), lambda nx: nx.complete_graph(6)),
        (graphs.star(8), lambda nx: nx.star_graph(7)),
        (graphs.grid(3, 5), lambda nx: nx.grid_2d_graph(3, 5)),
        (graphs.hypercube(4), lambda nx: nx.hypercube_graph(4)),
        (graphs.petersen(), lambda nx: nx.petersen_graph()),
        (graphs.truncated_tetrahedron(), lambda nx: nx.truncated_tetrahedron_graph()),
        (graphs.binary_tree(3), lambda nx: nx.balanced_tree(2, 3)),
        (graphs.binary_tree(0), lambda nx: nx.path_graph(1)),
        (graphs.triangular(8), lambda nx: nx.line_graph(nx.complete_graph(8))),
        (graphs.hamming(2, 4), lambda nx: nx.line_graph(nx.complete_bipartite_graph(4, 4))),
    ],
)
def test_agreement_with_networkx(oracle: Oracle, ours: Graph, theirs: Callable[[Any], Any]) -> None:
    networkx = oracle("networkx")
    peer = networkx.Graph(ours.labelled_edges())
    peer.add_nodes_from(ours.nodes)
    assert networkx.is_isomorphic(peer, theirs(networkx))
    assert (ours.edges[:, 0] < ours.edges[:, 1]).all()


def test_labels_say_where_a_vertex_is() -> None:
    assert graphs.grid(2, 3).is_edge((0, 1), (1, 1))
    assert graphs.hamming(2, 3).is_edge((0, 1), (2, 1))
    assert graphs.hypercube(2).nodes == ((0, 0), (0, 1), (1, 0), (1, 1))
    assert graphs.triangular(4).is_edge((0, 1), (1, 3))
    assert graphs.hamming(3, 1).size == 1


def test_theorem_five_family() -> None:
    """2n + 2 vertices, one K4 and n - 1 K2, neither regular nor distance-regular."""
    for n in (2, 3, 10):
        graph = graphs.theorem_five(n)
        assert graph.size == 2 * n + 2
        assert sorted(map(len, graph.components())) == [2] * (n - 1) + [4]
        assert len(graph.edges) == 6 + n - 1
        assert len(set(np.bincount(graph.edges.ravel()).tolist())) == 2


def test_random_trees_are_trees_and_repeat() -> None:
    tree = graphs.random_tree(500, rng=3)
    assert len(tree.edges) == 499
    assert len(tree.components()) == 1
    assert np.array_equal(tree.edges, graphs.random_tree(500, rng=3).edges)
    assert graphs.random_tree(1).size == 1


def test_pairs_are_deduplicated() -> None:
    graph = graphs.of_pairs([[2, 0], [0, 2], [1, 2]], size=4)
    assert graph.labelled_edges() == [(0, 2), (1, 2)]
    assert graph.size == 4
    assert graphs.of_pairs([], size=2).size == 2


def test_disjoint_union() -> None:
    union = graphs.disjoint_union(graphs.cycle(3), graphs.path(2))
    assert union.is_edge((1, 0), (1, 1))
    assert not union.is_edge((0, 0), (1, 1))
    assert [len(nodes) for nodes in union.components()] == [3, 2]


@given(testing.secret_graphs())
def test_policy_of_any_graph_has_that_adjacency(secret: SecretGraph) -> None:
    """Edwards et al., Thm 4."""
    for graph in (secret, Graph(secret.nodes, secret.labelled_edges())):
        policy = sv.Policy.of_graph(graph)
        assert policy.records == 1
        adjacency = policy.adjacency()
        assert adjacency.nodes == secret.nodes
        assert set(adjacency.labelled_edges()) == set(secret.labelled_edges())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: graphs.path(0), "n is 0; it must be a whole number"),
        (lambda: graphs.grid(2, 1.5), "columns is 1.5"),
        (lambda: graphs.chang(4), "k is .*; it must be a whole number from 1 to 3"),
        (lambda: graphs.triangular(1), "at least 2 things"),
        (lambda: graphs.binary_tree(-1), "depth is -1"),
        (lambda: graphs.theorem_five(1), "starts at n = 2"),
        (lambda: graphs.of_pairs([[0, 3]], size=3), r"pairs\[0\] is \[0, 3\]; vertices are 0…2"),
        (lambda: graphs.of_pairs([[0, 1], [2, 2]]), r"pairs\[1\] joins vertex 2 to itself"),
        (lambda: graphs.of_pairs([[0.5, 1]]), "rows of two vertices"),
        (lambda: graphs.of_pairs([]), "say how many vertices"),
        (graphs.disjoint_union, "at least one graph"),
        (lambda: sv.Policy.of_graph([(0, 1)]), "graph is .*; give a sv.Graph"),
    ],
)
def test_refusals(build: Callable[[], object], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        build()


@pytest.mark.parametrize(
    "build", [lambda: graphs.complete(10**5), lambda: graphs.hamming(30, 10), lambda: graphs.binary_tree(60)]
)
def test_too_large_says_how_large(build: Callable[[], object]) -> None:
    with pytest.raises(TooLargeError, match="50,000,000 is the limit") as caught:
        build()
    assert caught.value.size > 10**9
