"""Generators, orders and orbits of automorphism groups, against brute force and networkx."""

import math
from collections.abc import Callable
from itertools import permutations
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.errors import GraphError, TooLargeError
from sievert.spaces import Automorphisms, Graph, automorphisms, graphs

Oracle = Callable[[str], ModuleType]


def random_graph(size: int, density: float, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    pairs = np.column_stack(np.triu_indices(size, 1))
    return graphs.of_pairs(pairs[rng.random(len(pairs)) < density], size)


densities = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])


def every_automorphism(graph: Graph, colours: np.ndarray) -> list[tuple[int, ...]]:
    edges = set(map(tuple, graph.edges.tolist()))
    return [
        image
        for image in permutations(range(graph.size))
        if all((min(image[a], image[b]), max(image[a], image[b])) in edges for a, b in edges)
        and np.array_equal(colours[list(image)], colours)
    ]


def generated(group: Automorphisms) -> set[tuple[int, ...]]:
    """Every product of generators."""
    found = {tuple(range(group.size))}
    fresh = list(found)
    while fresh:
        images = {tuple(g[list(p)].tolist()) for p in fresh for g in group.generators}
        fresh = list(images - found)
        found |= images
    return found


@given(st.integers(1, 6), densities, st.integers(0, 10**6), st.integers(1, 3))
def test_generators_generate_the_group(size: int, density: float, seed: int, shades: int) -> None:
    graph = random_graph(size, density, seed)
    colours = np.random.default_rng(seed + 1).integers(shades, size=size)
    group = automorphisms(graph, colours)
    truth = every_automorphism(graph, colours)
    assert group.order == len(truth)
    assert generated(group) == set(truth)
    orbits = [min(image[v] for image in truth) for v in range(size)]
    assert all(
        (orbits[u] == orbits[v]) == (group.orbits[u] == group.orbits[v])
        for u in range(size)
        for v in range(size)
    )


@given(st.integers(1, 6), densities, st.integers(0, 10**6))
def test_order_agrees_with_networkx(oracle: Oracle, size: int, density: float, seed: int) -> None:
    isomorphism = oracle("networkx").algorithms.isomorphism
    graph = random_graph(size, density, seed)
    peer = oracle("networkx").Graph(graph.edges.tolist())
    peer.add_nodes_from(range(size))
    matcher = isomorphism.GraphMatcher(peer, peer)
    assert automorphisms(graph).order == sum(1 for _ in matcher.isomorphisms_iter())


@given(st.integers(1, 30), st.sampled_from([0.05, 0.1, 0.9]), st.integers(0, 10**6))
def test_generators_keep_edges_and_relabelling_keeps_the_order(size: int, density: float, seed: int) -> None:
    graph = random_graph(size, density, seed)
    group = automorphisms(graph)
    edges = set(map(tuple, graph.edges.tolist()))
    for image in group.generators:
        assert set(map(tuple, np.sort(image[graph.edges], axis=1).tolist())) == edges
        assert sorted(image.tolist()) == list(range(size))
    order = np.random.default_rng(seed + 1).permutation(size)
    moved = automorphisms(graphs.of_pairs(order[graph.edges], size))
    assert moved.order == group.order
    assert sorted(np.bincount(moved.orbits)) == sorted(np.bincount(group.orbits))


@pytest.mark.parametrize(
    ("graph", "order", "orbits"),
    [
        (graphs.triangular(8), 40320, 1),
        (graphs.chang(1), 384, 2),
        (graphs.chang(2), 96, 2),
        (graphs.chang(3), 360, 2),
        (graphs.truncated_tetrahedron(), 24, 1),
        (graphs.petersen(), 120, 1),
        (graphs.hypercube(4), 384, 1),
        (graphs.hamming(3, 3), 6**3 * 6, 1),
        (graphs.binary_tree(3), 2**7, 4),
        (graphs.grid(3, 3), 8, 3),
        (graphs.grid(2, 5), 4, 3),
        (graphs.path(1), 1, 1),
        (graphs.of_pairs([], 5), 120, 1),
        (graphs.theorem_five(4), 24 * 2**3 * 6, 2),
        (graphs.star(200), math.factorial(199), 2),
    ],
    ids=repr,
)
def test_known_groups(graph: Graph, order: int, orbits: int) -> None:
    group = automorphisms(graph)
    assert (group.order, group.orbit_count) == (order, orbits)


@pytest.mark.parametrize("m", [3, 4, 5, 6, 17])
def test_edwards_example_5(m: int) -> None:
    """Aut(C_m) is dihedral of order 2m, Aut(K_m) is Sym(m) of order m!."""
    assert automorphisms(graphs.cycle(m)).order == 2 * m
    assert automorphisms(graphs.complete(m)).order == math.factorial(m)


def test_a_vertex_of_its_own_colour_is_fixed() -> None:
    """Orbit and stabiliser (Edwards et al., Lem 2–5): |Γ| = |Γ(u)|·|Γ_u|."""
    for graph in (graphs.petersen(), graphs.chang(1), graphs.grid(3, 4), graphs.binary_tree(3)):
        group = automorphisms(graph)
        for vertex in group.representatives:
            colours = np.zeros(graph.size)
            colours[vertex] = 1
            fixed = automorphisms(graph, colours)
            assert (fixed.generators[:, vertex] == vertex).all()
            assert group.order == fixed.order * int((group.orbits == group.orbits[vertex]).sum())


def test_twins_need_two_generators() -> None:
    group = automorphisms(graphs.star(2000))
    assert len(group.generators) == 2
    assert group.orbits.tolist() == [0] + [1] * 1999
    assert str(group) == "about 10^5732 automorphisms, 2 orbits on 2000 vertices"


def test_refusals() -> None:
    with pytest.raises(GraphError, match="one colour for each of 3 vertices"):
        automorphisms(graphs.path(3), colours=[0, 1])
    with pytest.raises(TooLargeError, match="of 5000 vertices are not searched for"):
        automorphisms(graphs.cycle(5000))
    assert automorphisms(graphs.cycle(5000), largest=5000).order == 10000
