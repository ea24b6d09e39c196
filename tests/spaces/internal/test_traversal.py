"""Inside `_traversal`: neighbour lists and breadth-first search, against networkx and against each other."""

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.errors import GraphError
from sievert.spaces import Graph, distances_to_nearest, graphs, neighbours
from sievert.spaces._traversal import UNREACHED, distances_from_each, part_of

Oracle = Callable[[str], ModuleType]


def random_graph(size: int, density: float, seed: int) -> Graph:
    """Each pair joined with probability `density`."""
    rng = np.random.default_rng(seed)
    pairs = np.column_stack(np.triu_indices(size, 1))
    return graphs.of_pairs(pairs[rng.random(len(pairs)) < density], size)


random_graphs = st.builds(
    random_graph, st.integers(1, 14), st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0]), st.integers(0, 10**6)
)


def test_a_part_is_renumbered_in_the_given_order() -> None:
    lists = part_of(neighbours(Graph(range(5), [(0, 1), (1, 2), (3, 4)])), np.array([2, 1, 0]))
    assert [lists.of(v).tolist() for v in range(3)] == [[1], [2, 0], [1]]


@given(random_graphs, st.data())
def test_distances_agree_with_networkx(oracle: Oracle, graph: Graph, data: st.DataObject) -> None:
    networkx = oracle("networkx")
    peer = networkx.Graph(graph.edges.tolist())
    peer.add_nodes_from(range(graph.size))
    truth = np.full((graph.size, graph.size), UNREACHED)
    for source, reached in networkx.all_pairs_shortest_path_length(peer):
        for target, steps in reached.items():
            truth[source, target] = steps
    assert np.array_equal(distances_from_each(graph, range(graph.size)), truth)
    sources = data.draw(st.lists(st.integers(0, graph.size - 1), min_size=1, max_size=4))
    rows = np.where(truth == UNREACHED, 10**6, truth)[sources].min(axis=0)
    assert np.array_equal(distances_to_nearest(graph, sources), np.where(rows == 10**6, UNREACHED, rows))


def test_more_than_a_word_of_sources() -> None:
    graph = random_graph(300, 0.01, seed=1)
    together = distances_from_each(graph, range(300))
    one_by_one = np.array([distances_to_nearest(graph, [v]) for v in range(300)])
    assert np.array_equal(together, one_by_one)
    assert (together == UNREACHED).any()


@pytest.mark.parametrize("length", [60, 61, 62, 122, 123, 130, 300])
def test_deep_graphs_do_not_overflow_a_byte(length: int) -> None:
    index = np.arange(length)
    for sources in (range(length), range(length // 2, length), range(0, length, 7)):
        found = distances_from_each(graphs.path(length), sources)
        assert np.array_equal(found, np.abs(np.array(sources)[:, None] - index))


def test_a_shallow_first_source_does_not_hide_a_deep_component() -> None:
    union = graphs.disjoint_union(graphs.complete(3), graphs.path(400))
    found = distances_from_each(union, [0, 3, 402])
    assert found[1, 402] == 399
    assert found[2, 3] == 399
    assert found[0, 3] == UNREACHED


@pytest.mark.parametrize("sources", [[5], [0, -1], []])
def test_sources_outside_the_graph_are_refused(sources: list[int]) -> None:
    for search in (distances_to_nearest, distances_from_each):
        with pytest.raises(GraphError, match="numbers from 0 to 2"):
            search(graphs.path(3), sources)
