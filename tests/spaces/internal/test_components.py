"""Inside `_components`: diameter, radius and centre."""

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.spaces import Graph, graphs, neighbours
from sievert.spaces._components import component_extents, eccentricities

Oracle = Callable[[str], ModuleType]


def random_graph(size: int, density: float, seed: int) -> Graph:
    """Each pair joined with probability `density`."""
    rng = np.random.default_rng(seed)
    pairs = np.column_stack(np.triu_indices(size, 1))
    return graphs.of_pairs(pairs[rng.random(len(pairs)) < density], size)


random_graphs = st.builds(
    random_graph,
    st.integers(1, 20),
    st.sampled_from([0.0, 0.06, 0.1, 0.15, 0.3, 0.6, 1.0]),
    st.integers(0, 10**6),
)


def broken_grid(side: int, kept: float, seed: int) -> Graph:
    edges = graphs.grid(side, side).edges
    return graphs.of_pairs(edges[np.random.default_rng(seed).random(len(edges)) < kept], side**2)


@given(random_graphs)
def test_eccentricities(oracle: Oracle, graph: Graph) -> None:
    networkx = oracle("networkx")
    peer = networkx.Graph(graph.edges.tolist())
    peer.add_nodes_from(range(graph.size))
    truth = {}
    for nodes in networkx.connected_components(peer):
        truth.update(networkx.eccentricity(peer.subgraph(nodes)))
    assert eccentricities(graph).tolist() == [truth[v] for v in range(graph.size)]


@pytest.mark.slow
def test_million_vertex_broken_grid() -> None:
    graph = broken_grid(1000, 0.8, seed=0)
    found = component_extents(graph, graph.component_of)
    assert found.settled.all()
    assert len(found) > 1500
    largest = int(found.sizes.argmax())
    assert (found.diameter_upper[largest], found.radius_upper[largest]) == (1998, 1000)
    assert found.searches[largest] <= 9


def test_million_isolated_vertices_and_edges() -> None:
    pairs = np.arange(10**6).reshape(-1, 2)[: 3 * 10**5]
    graph = graphs.of_pairs(pairs, 10**6)
    found = component_extents(neighbours(graph), graph.component_of)
    assert found.settled.all()
    assert found.diameter_upper.sum() == 3 * 10**5
    assert np.array_equal(found.diameter_upper, found.sizes - 1)
