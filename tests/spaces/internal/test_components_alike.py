"""Inside `_components`: isomorphic components, and the isomorphisms between them."""

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.spaces import Graph, graphs, isomorphic_components
from sievert.spaces._components import ComponentClass, are_isomorphic, canonical_order, induced

Oracle = Callable[[str], ModuleType]


def shuffled(graph: Graph, seed: int) -> Graph:
    order = np.random.default_rng(seed).permutation(graph.size)
    return graphs.of_pairs(order[graph.edges], graph.size)


def random_graph(size: int, density: float, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    pairs = np.column_stack(np.triu_indices(size, 1))
    return graphs.of_pairs(pairs[rng.random(len(pairs)) < density], size)


def check(graph: Graph, found: list[ComponentClass], colours: np.ndarray | None = None) -> None:
    """Every component once, and every row of a class an isomorphic copy of the first."""
    assert sorted(k for one in found for k in one.components) == list(range(len(graph.components())))
    for one in found:
        first = induced(graph, one.vertices[0])
        edges = set(map(tuple, first.edges.tolist()))
        for component, row in zip(one.components, one.vertices, strict=True):
            assert sorted(row.tolist()) == np.flatnonzero(graph.component_of == component).tolist()
            assert set(map(tuple, induced(graph, row).edges.tolist())) == edges
            if colours is not None:
                assert np.array_equal(colours[row], colours[one.vertices[0]])


@given(st.integers(2, 40), st.sampled_from([0.02, 0.05, 0.08]), st.integers(0, 10**6))
def test_classes_of_random_graphs(oracle: Oracle, size: int, density: float, seed: int) -> None:
    networkx = oracle("networkx")
    graph = random_graph(size, density, seed)
    found = isomorphic_components(graph)
    check(graph, found)
    firsts = [networkx.Graph(induced(graph, one.vertices[0]).labelled_edges()) for one in found]
    for i, a in enumerate(firsts):
        assert not any(
            found[i].size == found[j].size and networkx.is_isomorphic(a, firsts[j]) for j in range(i)
        )


@given(st.integers(2, 24), st.integers(0, 10**6), st.integers(1, 3))
def test_colours_are_kept(size: int, seed: int, shades: int) -> None:
    graph = random_graph(size, 0.08, seed)
    colours = np.random.default_rng(seed + 1).integers(shades, size=size)
    found = isomorphic_components(graph, colours)
    check(graph, found, colours)
    assert len(found) >= len(isomorphic_components(graph))


@pytest.mark.parametrize(
    "part",
    [
        graphs.path(1),
        graphs.path(2),
        graphs.path(6),
        graphs.star(5),
        graphs.complete(4),
        graphs.cycle(7),
        graphs.chang(3),
        graphs.random_tree(12, rng=1),
        graphs.grid(3, 4),
    ],
    ids=repr,
)
def test_shuffled_copies_are_one_class(part: Graph) -> None:
    graph = shuffled(graphs.disjoint_union(*[shuffled(part, k) for k in range(5)]), 9)
    found = isomorphic_components(graph)
    assert [(one.count, one.size) for one in found] == [(5, part.size)]
    check(graph, found)


def test_same_degrees_different_graphs() -> None:
    """The Chang graphs and T(8) agree in every count that refinement sees."""
    parts = [graphs.triangular(8), graphs.chang(1), graphs.chang(2), graphs.chang(3)]
    graph = graphs.disjoint_union(*parts, shuffled(graphs.chang(2), 5))
    found = isomorphic_components(graph)
    assert [one.components.tolist() for one in found] == [[0], [1], [2, 4], [3]]
    check(graph, found)
    assert not are_isomorphic(parts[0], parts[1])
    assert are_isomorphic(parts[2], shuffled(parts[2], 8))
    prisms = graphs.disjoint_union(graphs.cycle(6)), graphs.disjoint_union(graphs.cycle(3), graphs.cycle(3))
    assert not are_isomorphic(*prisms)


@given(st.integers(1, 10), st.integers(0, 10**6), st.integers(0, 10**6))
def test_canonical_order_does_not_depend_on_the_numbering(size: int, seed: int, other: int) -> None:
    graph = random_graph(size, 0.4, seed)
    assert canonical_order(graph)[0] == canonical_order(shuffled(graph, other))[0]
    assert are_isomorphic(graph, shuffled(graph, other))
