"""Symmetry of graphs and of implicit products: what is reported, pair orbits, orbit counts of products."""

import math
from itertools import combinations_with_replacement

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.errors import GraphError, TooLargeError
from sievert.policies import Policy
from sievert.spaces import Graph, automorphisms, graphs, secrets, symmetries
from sievert.spaces.symmetries import (
    is_vertex_transitive,
    pair_orbits,
    product_generators,
    product_orbit_size,
    product_symmetries,
)


def random_graph(size: int, density: float, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    pairs = np.column_stack(np.triu_indices(size, 1))
    return graphs.of_pairs(pairs[rng.random(len(pairs)) < density], size)


random_graphs = st.builds(
    random_graph, st.integers(1, 12), st.sampled_from([0.0, 0.1, 0.2, 0.5, 0.9, 1.0]), st.integers(0, 10**6)
)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_chang_graphs_are_distance_regular_and_not_vertex_transitive(k: int) -> None:
    found = symmetries.symmetries(graphs.chang(k))
    assert found.distance_regular
    assert not found.vertex_transitive
    assert found.orbits == 2
    assert found.order == {1: 384, 2: 96, 3: 360}[k]
    assert found.counts == (1, 12, 15)
    assert not is_vertex_transitive(graphs.chang(k))


def test_truncated_tetrahedron_is_vertex_transitive_and_not_distance_regular() -> None:
    found = symmetries.symmetries(graphs.truncated_tetrahedron())
    assert found.vertex_transitive
    assert not found.distance_regular
    assert found.counts == (1, 3, 4, 4)
    assert str(found) == "24 automorphisms; vertex-transitive; not distance-regular"
    assert found.to_dict()["intersection_array"] is None


def test_both_and_neither() -> None:
    both = symmetries.symmetries(graphs.petersen())
    assert both.vertex_transitive
    assert str(both.intersection_array) == "{3,2;1,1}"
    neither = symmetries.symmetries(graphs.theorem_five(4))
    assert not neither.vertex_transitive
    assert not neither.distance_regular
    assert neither.counts is None
    assert neither.components == 4


def test_degenerate_graphs() -> None:
    one = symmetries.symmetries(graphs.path(1))
    assert str(one) == "1 automorphism; vertex-transitive; distance-regular with intersection array {;}"
    apart = symmetries.symmetries(graphs.of_pairs([], 4))
    assert (apart.order, apart.vertex_transitive, apart.distance_regular) == (24, True, False)
    pairs = symmetries.symmetries(graphs.of_pairs([[0, 1], [2, 3], [4, 5]]))
    assert (pairs.order, pairs.vertex_transitive, pairs.counts) == (48, True, (1, 1))


def test_complete_secret_graph_stays_implicit() -> None:
    found = symmetries.symmetries(secrets.complete(3000))
    assert found.order == math.factorial(3000)
    assert found.vertex_transitive
    assert found.counts == (1, 2999)
    assert is_vertex_transitive(secrets.complete(10**6))


# ── pair orbits ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("graph", "variables"),
    [
        (graphs.cycle(50), 26),
        (graphs.hypercube(6), 7),
        (graphs.star(31), 5),
        (graphs.binary_tree(6), 140),
        (graphs.grid(8, 8), 528),
    ],
    ids=repr,
)
def test_variables_of_the_symmetrised_program(graph: Graph, variables: int) -> None:
    """The counts of beyond-exact-leakage.md, point 2."""
    found = pair_orbits(graph)
    assert found.count == variables
    assert found.sizes.sum() == graph.size**2


@given(random_graphs)
def test_pair_orbits_against_stabilisers(graph: Graph) -> None:
    """Orbits of pairs (u, ·) are the orbits of the stabiliser of u, and generators keep every label."""
    group = automorphisms(graph)
    found = pair_orbits(group)
    for image in group.generators:
        assert np.array_equal(found.labels[np.ix_(image, image)], found.labels)
    expected = 0
    for vertex in group.representatives:
        colours = np.zeros(graph.size)
        colours[vertex] = 1
        fixed = automorphisms(graph, colours)
        expected += fixed.orbit_count
        row = found.labels[vertex]
        assert len(set(zip(row.tolist(), fixed.orbits.tolist(), strict=True))) == len(set(row.tolist()))
    assert found.count == expected


@given(random_graphs)
def test_pair_orbits_respect_distance_and_reversal(graph: Graph) -> None:
    found = pair_orbits(graph)
    distances = graph.metric().matrix
    for orbit in range(found.count):
        assert len(np.unique(distances[found.labels == orbit])) == 1
    first = found.representatives
    assert np.array_equal(found.labels[tuple(first.T)], np.arange(found.count))
    assert np.array_equal(found.reversed[found.labels], found.labels.T)
    assert len(set(found.vertices.tolist())) == automorphisms(graph).orbit_count


@given(random_graphs, st.randoms(use_true_random=False))
def test_relabelling_permutes_pair_orbits(graph: Graph, random: object) -> None:
    order = list(range(graph.size))
    random.shuffle(order)  # type: ignore[attr-defined]
    moved = pair_orbits(graphs.of_pairs(np.array(order)[graph.edges], graph.size))
    pulled = moved.labels[np.ix_(order, order)]
    found = pair_orbits(graph)
    both = set(zip(found.labels.ravel().tolist(), pulled.ravel().tolist(), strict=True))
    assert len(both) == found.count == moved.count


def test_chunks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pair_orbits(graphs.binary_tree(4))
    monkeypatch.setattr(symmetries, "CHUNK", 100)
    assert np.array_equal(pair_orbits(graphs.binary_tree(4)).labels, whole.labels)


def test_colours_refine_pair_orbits() -> None:
    assert pair_orbits(graphs.cycle(6), colours=[1, 0, 0, 0, 0, 0]).count == 20
    assert pair_orbits(graphs.cycle(6)).count == 4


def test_too_many_pairs() -> None:
    with pytest.raises(TooLargeError, match="6000 vertices have 36000000 ordered pairs"):
        pair_orbits(graphs.star(6000))


# ── products ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "secret",
    [secrets.line(3), secrets.cycle(5), secrets.line(1), secrets.edges(4, [(0, 1), (0, 2), (0, 3)])],
    ids=repr,
)
@pytest.mark.parametrize("records", [1, 2, 3])
def test_orbits_of_products_are_multisets(secret: secrets.SecretGraph, records: int) -> None:
    """Edwards et al., Thm 6 and Remark 2: counted, and found from explicit generators."""
    group = automorphisms(secret)
    counted = product_symmetries(secret, records)
    explicit = product_generators(group, records)
    assert counted.vertex_orbits == explicit.orbit_count
    found = pair_orbits(explicit)
    assert counted.pair_orbits == found.count
    assert counted.order_bits == pytest.approx(math.log2(explicit.order))
    factor = pair_orbits(group)
    sizes = [
        product_orbit_size(factor.sizes.tolist(), [kinds.count(k) for k in range(factor.count)])
        for kinds in combinations_with_replacement(range(factor.count), records)
    ]
    assert sorted(sizes) == sorted(found.sizes.tolist())
    product = Policy(secret, records).adjacency()
    edges = set(map(tuple, np.sort(product.edges, axis=1).tolist()))
    for image in explicit.generators:
        assert set(map(tuple, np.sort(image[product.edges], axis=1).tolist())) == edges
    assert counted.vertex_transitive == is_vertex_transitive(product) == group.is_transitive


def test_products_may_have_more_automorphisms() -> None:
    """The square of C4 is a hypercube: 384 automorphisms, of which record by record gives 128."""
    known = product_generators(automorphisms(graphs.cycle(4)), 2)
    assert known.order == 128
    assert automorphisms(Policy(secrets.cycle(4), 2).adjacency()).order == 384


def test_many_records_are_counted_not_listed() -> None:
    found = product_symmetries(secrets.line(4), 10**6)
    assert found.vertex_orbits == 10**6 + 1
    assert found.pair_orbits == math.comb(10**6 + 7, 7)
    complete = product_symmetries(secrets.complete(10**4), 1000)
    assert complete.vertex_transitive
    assert complete.pair_orbits == 1001
    assert str(complete) == "1000 records: vertex-transitive, 1001 orbits of pairs of databases"


def test_product_refusals() -> None:
    with pytest.raises(GraphError, match="records is 0"):
        product_symmetries(graphs.path(2), 0)
    with pytest.raises(GraphError, match="times has 1 entries"):
        product_orbit_size([1, 2], [1])
    with pytest.raises(TooLargeError, match=r"2\^40 databases"):
        product_generators(automorphisms(graphs.path(2)), 40)
