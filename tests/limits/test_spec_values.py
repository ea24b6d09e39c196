"""Every number of the spec that belongs to limits: the exact maximum by the ladder, with its bounds."""

import math
import tracemalloc

import numpy as np
import pytest

import sievert as sv
from papers import blowfish
from sievert.limits import worst_leakage
from sievert.limits.bounds import complete_capacity, cycle_capacity, path_capacity, regular_capacity
from sievert.policies import Policy
from sievert.spaces import Graph, graphs, secrets

FORK = Graph(range(5), [(0, 1), (1, 2), (0, 3), (0, 4)])
TREE9 = Graph(range(9), [(0, 5), (0, 2), (1, 6), (2, 4), (2, 3), (3, 7), (4, 6), (7, 8)])
SPIDER = Graph(range(8), [(0, 1), (0, 2), (2, 3), (0, 4), (4, 5), (0, 6), (6, 7)])
DOUBLE_STAR = Graph(range(9), [(0, 1), (0, 2), *((1, k) for k in (3, 4, 5)), *((2, k) for k in (6, 7, 8))])
K23 = Graph(range(5), [(a, b) for a in (0, 1) for b in (2, 3, 4)])


def exact(target: object, eps: float, digits: int = 6) -> float:
    found = worst_leakage(target, eps)
    assert found.exact is not None, found.reason
    assert found.certificate.verify()
    return round(found.exact.factor, digits)


CAPACITIES = [
    ("path4", graphs.path(4), 1, 2.386351),
    ("path4 × path4", graphs.grid(4, 4), 1, 5.694673),
    ("C5", graphs.cycle(5), 1, 2.491989),
    ("K4", graphs.complete(4), 1, 1.901468),
    ("star 6", graphs.star(6), 0.5, 1.648721),
    ("star 6", graphs.star(6), 2, 4.807971),
    ("K23", K23, 0.1, 1.105171),
    ("K23", K23, 0.3, 1.349859),
    ("Petersen", graphs.petersen(), 1, 3.429767),
    ("C5 ∪ K3", graphs.disjoint_union(graphs.cycle(5), graphs.complete(3)), 1, 4.220340),
    ("8×8 grid", graphs.grid(8, 8), 0.5, 7.368134),
    ("15×15 grid", graphs.grid(15, 15), 0.5, 19.614812),
    ("C50", graphs.cycle(50), 0.5, 12.245979),
    ("fork", FORK, 0.5, 1.893640),
    ("fork × fork", None, 0.5, 3.619058),
    ("9-vertex tree", TREE9, 0.5, 2.873315),
    ("spider", SPIDER, 0.6, 2.696057),
    ("double star", DOUBLE_STAR, 0.8, 3.451082),
    ("binary tree, depth 4", graphs.binary_tree(4), 0.5, 6.245096),
    ("binary tree, depth 6", graphs.binary_tree(6), 0.5, 16.975932),
    ("T(8)", graphs.triangular(8), 1, 3.761124),
    ("Chang 1", graphs.chang(1), 1, 3.761124),
    ("Chang 2", graphs.chang(2), 1, 3.761124),
    ("Chang 3", graphs.chang(3), 1, 3.761124),
    ("truncated tetrahedron", graphs.truncated_tetrahedron(), 1, 4.219220),
]


def cartesian(first: Graph, second: Graph) -> Graph:
    nodes = [(a, b) for a in first.nodes for b in second.nodes]
    edges = [((a, c), (b, c)) for a, b in first.labelled_edges() for c in second.nodes]
    edges += [((c, a), (c, b)) for a, b in second.labelled_edges() for c in first.nodes]
    return Graph(nodes, edges)


@pytest.mark.parametrize(("name", "graph", "eps", "value"), CAPACITIES, ids=[c[0] for c in CAPACITIES])
def test_exact_values_of_the_spec(name: str, graph: Graph | None, eps: float, value: float) -> None:
    assert exact(cartesian(FORK, FORK) if graph is None else graph, eps) == value


@pytest.mark.parametrize(
    ("graph", "eps", "values"),
    [
        (TREE9, 0.5, (2.873315, 2.925497, 4.481689, 20.085537)),
        (graphs.binary_tree(4), 0.5, (6.245096, 6.552754, 7.389056, 54.598150)),
        (graphs.binary_tree(6), 0.5, (16.975932, 17.812233, None, None)),
        (SPIDER, 0.6, (2.696057, 2.862367, None, None)),
        (DOUBLE_STAR, 0.8, (3.451082, 3.703382, None, None)),
    ],
)
def test_the_four_bounds_side_by_side(graph: Graph, eps: float, values: tuple[float | None, ...]) -> None:
    found = worst_leakage(graph, eps)
    for bound, value in zip((found.exact, found.packing, found.radius, found.diameter), values, strict=True):
        assert value is None or bound.factor == pytest.approx(value, abs=6e-7)


@pytest.mark.parametrize(
    ("n", "delta", "bound", "leakage", "maximum"),
    [
        (2, 1, 2.000000, 1.415037, 1.552541),
        (2, 0.1, 1.137504, 1.067114, 1.084602),
        (2, 0.001, 1.001442, 1.000721, 1.000901),
        (5, 1, 3.321928, 2.736966, 2.793549),
        (50, 0.001, 5.645298, 5.644577, 5.644584),
    ],
)
def test_theorem_five(n: int, delta: float, bound: float, leakage: float, maximum: float) -> None:
    # Erratum: ε(δ) is ln(1+δ), not 1+δ.
    found = worst_leakage(graphs.theorem_five(n), math.log1p(delta))
    assert found.diameter.bits == pytest.approx(bound, abs=6e-7)
    assert found.exact.bits == pytest.approx(maximum, abs=6e-7)
    channel = blowfish.theorem_five(n, delta)
    assert sv.capacity(channel).bits == pytest.approx(leakage, abs=6e-7)
    assert "components" in found.method


@pytest.mark.parametrize(
    ("theta", "slope", "per_record"),
    [(1, 4.328085, 1.254807), (2, 2.885390, 1.028294), (3, 1.442695, 0.927113)],
)
@pytest.mark.parametrize("records", [1, 7, 1000])
def test_figure_two(theta: int, slope: float, per_record: float, records: int) -> None:
    policy = Policy.blowfish(secrets.threshold(range(1, 5), theta), records=records)
    found = worst_leakage(policy, 1)
    assert found.diameter.bits == pytest.approx(records * slope, rel=1e-6)
    assert found.exact.bits == pytest.approx(records * per_record, rel=1e-6)
    assert found.certificate.verify()


def test_products_are_an_interval_unless_the_packing_bound_is_attained() -> None:
    one, two = worst_leakage(FORK, 0.5), worst_leakage(cartesian(FORK, FORK), 0.5)
    assert one.exact.factor**2 == pytest.approx(3.585872, abs=6e-7)
    assert two.exact.factor == pytest.approx(3.619058, abs=6e-7)
    assert two.packing.factor == pytest.approx(3.749530, abs=6e-7)
    fork = secrets.edges(range(5), FORK.labelled_edges())
    assert worst_leakage(Policy.blowfish(fork, records=2), 0.5).exact.log == pytest.approx(two.exact.log)
    # Four records have too many databases to solve them as one space.
    four = worst_leakage(Policy.blowfish(fork, records=4), 0.5)
    assert four.exact is None and "several records" in four.reason
    assert four.lower.log == pytest.approx(4 * one.exact.log)
    assert four.upper.log == pytest.approx(2 * two.packing.log)
    assert four.lower.log < 2 * two.exact.log < four.upper.log


def test_the_certificate_of_a_product_claims_no_more_than_the_packing_bound() -> None:
    policy = Policy.blowfish(secrets.edges(range(5), FORK.labelled_edges()), records=4)
    proof = worst_leakage(policy, 0.5).certificate
    assert float(proof.bounds()[1]) ** 4 > 3.619058**2
    single = worst_leakage(FORK, 0.5).certificate
    false = type(proof)(single.space, single.eps, single.upper, single.lower, copies=4)
    assert not false.verify()  # the tree's own maximum does not multiply


@pytest.mark.parametrize("eps", [1.1, 2.0])
def test_every_tree_above_the_threshold_has_the_same_capacity(eps: float) -> None:
    tree = graphs.random_tree(40, rng=7)
    degree = int(np.bincount(tree.edges.ravel()).max())
    level = math.log(degree - 1) + eps
    assert exact(tree, level) == round(path_capacity(40, level).factor, 6)


def test_closed_forms_agree_with_the_ladder() -> None:
    for eps in (0.01, 0.5, 3):
        assert exact(graphs.path(6), eps) == round(path_capacity(6, eps).factor, 6)
        assert exact(graphs.complete(6), eps) == round(complete_capacity(6, eps).factor, 6)
        for n in (3, 6, 7):
            assert exact(graphs.cycle(n), eps) == round(cycle_capacity(n, eps).factor, 6)
    assert regular_capacity([1, 12, 15], 1).factor == pytest.approx(3.761124, abs=6e-7)


def test_signed_magnitude_is_no_bound() -> None:
    for graph, eps, magnitude, truth in (
        (K23, 0.3, 1.092873, 1.349859),
        (graphs.star(6), 0.5, 2.224593, 1.648721),
    ):
        kernel = np.exp(-eps * graph.metric().matrix)
        assert np.linalg.solve(kernel, np.ones(len(kernel))).sum() == pytest.approx(magnitude, abs=6e-7)
        assert exact(graph, eps) == truth


@pytest.mark.parametrize(("name", "value"), [("karate", 2.701245), ("random tree", None)])
def test_measured_graphs(name: str, value: float | None, oracle) -> None:
    networkx = oracle("networkx")
    if name == "karate":
        club = Graph(range(34), networkx.karate_club_graph().edges())
        assert exact(club, 0.5) == value
        return
    tree = graphs.random_tree(200, rng=5)
    found = worst_leakage(tree, 0.2)
    assert found.exact is not None and "tree" in found.method
    assert found.packing.factor > 1.02 * found.exact.factor


def test_row_sums_are_equalities() -> None:
    # Pitfall 1: with "≤ 1" the program would return the packing bound.
    found = worst_leakage(FORK, 0.5)
    assert found.exact.factor < found.packing.factor - 0.04
    assert np.allclose(found.mechanism.matrix.sum(axis=1), 1)


def test_isolated_databases_add_one() -> None:
    # Pitfall 8.
    alone = Graph(range(6), [(0, 1), (1, 2), (2, 3)])
    assert exact(alone, 1) == 4.386351
    assert worst_leakage(alone, 1).radius.factor == pytest.approx(2 + math.exp(2))


def test_a_large_tree_takes_arrays_and_no_lists() -> None:
    """Python numbers in lists took 1.5 kB a vertex: 1.7 GB for a depth of 20."""
    tree = graphs.binary_tree(14)
    worst_leakage(graphs.binary_tree(2), 0.5)  # what is imported does not count
    tracemalloc.start()
    try:
        found = worst_leakage(tree, 0.5)
        assert found.certificate.verify()
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.exact.factor == pytest.approx(926.8544725914303, abs=1e-9)
    assert most < 160 * tree.size
