"""Diameter, radius and centre: exact against networkx and known graphs, certified when the budget ends."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert import testing
from sievert.errors import GraphError
from sievert.policies import Policy
from sievert.spaces import Graph, distances_to_nearest, extents, graphs, secrets
from sievert.spaces.secrets import SecretGraph

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


def preferential_attachment(size: int, links: int, seed: int) -> Graph:
    """Each new vertex is joined to `links` old ones, chosen by their degrees: a small world."""
    rng = np.random.default_rng(seed)
    ends = list(range(links))
    pairs = []
    for vertex in range(links, size):
        for old in {ends[k] for k in rng.integers(len(ends), size=links)}:
            pairs.append((old, vertex))
            ends += [old, vertex]
    return graphs.of_pairs(np.array(pairs), size)


def torus(rows: int, columns: int) -> Graph:
    index = np.arange(rows * columns).reshape(rows, columns)
    return graphs.of_pairs(
        np.concatenate([np.column_stack([index.ravel(), np.roll(index, 1, a).ravel()]) for a in (0, 1)])
    )


def broken_grid(side: int, kept: float, seed: int) -> Graph:
    edges = graphs.grid(side, side).edges
    return graphs.of_pairs(edges[np.random.default_rng(seed).random(len(edges)) < kept], side**2)


def check_against(oracle: Oracle, graph: Graph, found: Any) -> None:
    """Each extent is exact or its bounds hold; the centre's eccentricity is the radius' upper bound."""
    networkx = oracle("networkx")
    peer = networkx.Graph(graph.labelled_edges())
    peer.add_nodes_from(graph.nodes)
    components = graph.components()
    assert len(found) == len(components)
    for nodes, extent in zip(components, found, strict=True):
        eccentricity = networkx.eccentricity(peer.subgraph(nodes).copy())
        radius, diameter = min(eccentricity.values()), max(eccentricity.values())
        assert extent.size == len(nodes)
        assert extent.radius_bounds[0] <= radius <= extent.radius_bounds[1]
        assert extent.diameter_bounds[0] <= diameter <= extent.diameter_bounds[1]
        assert extent.radius in (None, radius)
        assert extent.diameter in (None, diameter)
        assert eccentricity[extent.centre] == extent.radius_bounds[1]


@given(random_graphs)
def test_exact_on_random_graphs(oracle: Oracle, graph: Graph) -> None:
    found = extents(graph)
    assert all(extent.is_exact for extent in found)
    check_against(oracle, graph, found)


@given(random_graphs, st.integers(1, 20))
def test_bounds_hold_whatever_the_budget(oracle: Oracle, graph: Graph, budget: int) -> None:
    found = extents(graph, budget=budget)
    check_against(oracle, graph, found)
    assert all(extent.searches <= budget for extent in found)


@given(testing.secret_graphs(size=(1, 9)))
def test_exact_on_secret_graphs(oracle: Oracle, graph: SecretGraph) -> None:
    found = extents(graph)
    assert all(extent.is_exact for extent in found)
    check_against(oracle, graph, found)


@given(random_graphs, st.randoms(use_true_random=False))
def test_extents_do_not_depend_on_the_numbering(graph: Graph, random: object) -> None:
    order = list(range(graph.size))
    random.shuffle(order)  # type: ignore[attr-defined]
    moved = graphs.of_pairs(np.array(order)[graph.edges], graph.size)
    widths = [sorted((e.size, e.radius, e.diameter) for e in extents(g)) for g in (graph, moved)]
    assert widths[0] == widths[1]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("budget", [None, 13, 40, 77])
def test_small_worlds_search_in_batches(oracle: Oracle, seed: int, budget: int | None) -> None:
    graph = preferential_attachment(250, 2, seed)
    found = extents(graph, budget=budget)
    check_against(oracle, graph, found)
    assert budget is not None or found[0].is_exact
    assert budget is None or found[0].searches <= budget


@pytest.mark.parametrize("seed", range(3))
def test_many_small_worlds_at_once(oracle: Oracle, seed: int) -> None:
    parts = [preferential_attachment(30 + 10 * k, 2, 10 * seed + k) for k in range(12)]
    graph = graphs.disjoint_union(*parts, graphs.path(200), graphs.cycle(9), graphs.star(40), graphs.path(1))
    found = extents(graph)
    assert all(extent.is_exact for extent in found)
    check_against(oracle, graph, found)


@pytest.mark.parametrize("kept", [0.3, 0.5, 0.8])
def test_broken_grids(oracle: Oracle, kept: float) -> None:
    graph = broken_grid(20, kept, seed=4)
    found = extents(graph)
    assert all(extent.is_exact for extent in found)
    check_against(oracle, graph, found)


def test_equal_eccentricities_leave_an_interval_unless_symmetry_is_known(oracle: Oracle) -> None:
    graph = torus(20, 22)
    few = extents(graph, budget=5)[0]
    assert few.diameter is None
    assert few.radius is None
    assert "between" in str(few)
    assert "the budget ended after 5 searches" in str(few)
    check_against(oracle, graph, [few])
    assert extents(graph)[0].diameter == extents(graph)[0].radius == 21
    known = extents(graph, orbits=np.zeros(graph.size, dtype=int))[0]
    assert (known.diameter, known.radius, known.searches) == (21, 21, 1)
    assert known.to_dict()["diameter_bounds"] == [21, 21]


def test_orbits_across_components() -> None:
    graph = graphs.disjoint_union(torus(8, 9), torus(8, 9), graphs.path(5))
    orbits = [0] * 144 + [1, 2, 3, 2, 1]
    found = extents(graph, orbits=orbits)
    assert [(e.diameter, e.radius) for e in found] == [(8, 8), (8, 8), (4, 2)]
    assert found[0].searches == 1


def test_isolated_single_edges_and_one_vertex() -> None:
    assert str(extents(graphs.path(1))[0]) == "1 vertex, diameter 0, radius 0 (around 0)"
    graph = Graph("abcde", [("b", "d")])
    assert [(e.size, e.diameter, e.radius, e.centre) for e in extents(graph)] == [
        (1, 0, 0, "a"),
        (2, 1, 1, "b"),
        (1, 0, 0, "c"),
        (1, 0, 0, "e"),
    ]


def test_edwards_example_1_thresholds_on_four_values() -> None:
    """Paths, paths with chords, complete: diameters 3, 2, 1 (the slopes of Fig. 2)."""
    assert [extents(secrets.threshold(4, theta))[0].diameter for theta in (1, 2, 3)] == [3, 2, 1]


@pytest.mark.parametrize("m", [3, 4, 5, 8, 9, 1000, 10**6])
def test_edwards_example_4_cycle_and_complete(m: int) -> None:
    around = extents(secrets.cycle(m))[0]
    assert around.diameter == around.radius == m // 2
    complete = extents(secrets.complete(m))[0]  # a million values: no edge is listed
    assert complete.diameter == complete.radius == 1
    assert extents(graphs.complete(min(m, 300)))[0].diameter == 1


@pytest.mark.parametrize("records", [1, 2, 3])
@pytest.mark.parametrize("theta", [1, 2, 3])
def test_edwards_theorem_3_diameters_add_over_records(records: int, theta: int) -> None:
    secret = secrets.threshold(4, theta)
    one, all_records = (extents(Policy(secret, n).adjacency())[0] for n in (1, records))
    assert one.diameter is not None
    assert one.radius is not None
    assert all_records.diameter == records * one.diameter
    assert all_records.radius == records * one.radius


def test_edwards_theorem_5_family() -> None:
    found = extents(graphs.theorem_five(7))
    assert [e.size for e in found] == [4, 2, 2, 2, 2, 2, 2]
    assert all(e.diameter == 1 for e in found)


@pytest.mark.parametrize(
    ("graph", "diameter", "radius"),
    [
        (graphs.path(11), 10, 5),
        (graphs.path(12), 11, 6),
        (graphs.star(50), 2, 1),
        (graphs.grid(7, 4), 9, 5),
        (graphs.hypercube(7), 7, 7),
        (graphs.hamming(3, 5), 3, 3),
        (graphs.petersen(), 2, 2),
        (graphs.binary_tree(6), 12, 6),
        (graphs.chang(2), 2, 2),
        (graphs.truncated_tetrahedron(), 3, 3),
    ],
    ids=repr,
)
def test_named_graphs(graph: Graph, diameter: int, radius: int) -> None:
    found = extents(graph)[0]
    assert (found.diameter, found.radius) == (diameter, radius)


@pytest.mark.parametrize("budget", [0, -1, 1.5, True])
def test_a_budget_is_a_number_of_searches(budget: object) -> None:
    with pytest.raises(GraphError, match="whole number of searches"):
        extents(graphs.path(3), budget=budget)  # type: ignore[arg-type]


def test_orbits_must_fit() -> None:
    with pytest.raises(GraphError, match="one class number for each of 3 vertices"):
        extents(graphs.path(3), orbits=[0, 1])


# ── a million vertices (algorithms-worst-leakage.md, section 4) ──────────────────────────────────


def test_million_vertex_grid() -> None:
    found = extents(graphs.grid(1000, 1000))[0]
    assert (found.diameter, found.radius) == (1998, 1000)
    assert found.centre in {(499, 499), (499, 500), (500, 499), (500, 500)}
    assert found.searches <= 9


def test_million_vertex_random_recursive_tree() -> None:
    graph = graphs.random_tree(10**6, rng=0)
    found = extents(graph)[0]
    # In a tree the farthest vertex from anywhere is an end of a longest path.
    end = int(distances_to_nearest(graph, [0]).argmax())
    diameter = int(distances_to_nearest(graph, [end]).max())
    assert (found.diameter, found.radius) == (diameter, (diameter + 1) // 2)
    assert found.searches <= 9
