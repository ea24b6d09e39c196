"""Cartesian products by their factors, against the plain program on the whole and networkx."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.limits import worst_leakage, worst_leakage_questions
from sievert.proofs import proof_from_dict
from sievert.spaces import Edges, Graph, Metric, SecretGraph, cartesian_factors, graphs, metrics, secrets

FORK = Graph(range(5), [(0, 1), (1, 2), (0, 3), (0, 4)])


def cartesian(first: Graph, second: Graph, seed: int = 0) -> Graph:
    """The product as a bare list of edges between shuffled numbers."""
    names = np.random.default_rng(seed).permutation(first.size * second.size).reshape(first.size, second.size)
    along = [names[first.edges[:, 0]].ravel(), names[first.edges[:, 1]].ravel()]
    across = [names[:, second.edges[:, 0]].ravel(), names[:, second.edges[:, 1]].ravel()]
    pairs = np.concatenate([np.column_stack(along), np.column_stack(across)])
    return graphs.of_pairs(pairs, first.size * second.size)


def factors_of(graph: Graph) -> list[int] | None:
    found = cartesian_factors(graph.size, Edges(graph.edges, np.ones(len(graph.edges))))
    return None if found is None else sorted(found.sizes)


@pytest.mark.parametrize(
    ("graph", "sizes"),
    [
        (cartesian(graphs.path(4), graphs.path(5)), [4, 5]),
        (cartesian(FORK, FORK), [5, 5]),
        (cartesian(graphs.cycle(5), graphs.complete(4)), [4, 5]),
        (cartesian(graphs.petersen(), graphs.star(4)), [4, 10]),
        (graphs.hypercube(5), [2] * 5),
        (cartesian(cartesian(FORK, graphs.path(3)), graphs.cycle(3)), [3, 3, 5]),
        # A square is two edges; a square with a diagonal is none.
        (graphs.cycle(4), [2, 2]),
        (Graph(range(4), [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]), None),
        (graphs.petersen(), None),
        (graphs.cycle(12), None),
        (graphs.complete(6), None),
        (Graph(range(6), [(a, b) for a in range(3) for b in range(3, 6)]), None),
        (graphs.of_pairs(graphs.grid(8, 8).edges[:-1], 64), None),
    ],
)
def test_factors_are_found(graph: Graph, sizes: list[int] | None) -> None:
    assert factors_of(graph) == sizes


@settings(max_examples=30)
@given(st.integers(0, 10**6))
def test_any_product_of_connected_graphs_factors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(2):
        n = int(rng.integers(2, 7))
        tree = graphs.random_tree(n, rng)
        more = [(a, b) for a in range(n) for b in range(a) if rng.random() < 0.3]
        parts.append(Graph(range(n), {tuple(sorted(e)) for e in [*tree.labelled_edges(), *more]}))
    whole = cartesian(*parts, seed)
    # Prime factors are unique (Sabidussi, Vizing).
    assert factors_of(whole) == sorted(size for part in parts for size in factors_of(part) or [part.size])


LOOSE = {"fork": FORK, "K2,3": Graph(range(5), [(a, b) for a in (0, 1) for b in (2, 3, 4)])}


def path_capacity(n: int, eps: float) -> float:
    return 1 + (n - 1) * math.tanh(eps / 2)


@pytest.mark.parametrize("make", [graphs.grid, metrics.grid])
def test_a_grid_is_the_product_of_its_paths(make) -> None:
    found = worst_leakage(make(40, 70), 0.5)
    assert found.exact.factor == pytest.approx(path_capacity(40, 0.5) * path_capacity(70, 0.5), rel=1e-12)
    assert found.diameter.log == pytest.approx(0.5 * 108)
    assert found.radius.log == pytest.approx(0.5 * 55)
    assert found.certificate.verify()
    again = proof_from_dict(found.certificate.to_dict())
    assert again.bounds() == found.certificate.bounds()


def test_very_many_cells_are_two_paths() -> None:
    found = worst_leakage(graphs.grid(1000, 100), 0.5)
    assert found.exact.factor == pytest.approx(path_capacity(1000, 0.5) * path_capacity(100, 0.5), rel=1e-9)
    assert found.mechanism is None
    assert found.certificate.verify()


def test_products_of_every_making() -> None:
    torus = cartesian(graphs.cycle(12), graphs.cycle(9))
    one, other = (worst_leakage(graphs.cycle(n), 0.7).exact.log for n in (12, 9))
    assert worst_leakage(torus, 0.7).exact.log == pytest.approx(one + other, rel=1e-10)
    bit = math.log(2 / (1 + math.exp(-0.3)))
    assert worst_leakage(graphs.hypercube(9), 0.3).exact.log == pytest.approx(9 * bit, rel=1e-10)
    assert worst_leakage(metrics.hamming(9, 2), 0.3).exact.log == pytest.approx(9 * bit, rel=1e-10)
    parts = secrets.line(10), secrets.product(secrets.cycle(5), secrets.complete(3))
    whole = secrets.product(*parts)
    for records in (1, 4):
        found = worst_leakage(sv.Policy(whole, records=records), 0.6)
        wanted = sum(worst_leakage(part, 0.6).exact.log for part in parts)
        assert found.exact.log == pytest.approx(records * wanted, rel=1e-10)
        assert found.certificate.verify()
    assert sv.epsilon(worst_leakage(whole, 0.6).mechanism, whole.metric()).nats == pytest.approx(0.6)


def test_lengths_must_fit_the_product_too() -> None:
    grid = graphs.grid(8, 9)
    down = np.where(grid.edges[:, 1] - grid.edges[:, 0] == 9, 2.0, 0.5)
    metric = Metric.from_edges(Edges(grid.edges, down), None, grid.size)
    found = worst_leakage(metric, 0.5)
    wanted = (1 + 7 * math.tanh(0.5)) * (1 + 8 * math.tanh(0.125))
    assert found.exact.factor == pytest.approx(wanted, rel=1e-10)
    assert "product of 2 factors" in found.method and found.certificate.verify()
    longer = down.copy()
    longer[0] = 3.0
    assert cartesian_factors(grid.size, Edges(grid.edges, longer)) is None


@pytest.mark.parametrize("eps", [0, 1e-9, 800])
def test_extreme_eps(eps: float) -> None:
    found = worst_leakage(graphs.grid(9, 10), eps)
    assert found.exact.factor == pytest.approx(path_capacity(9, eps) * path_capacity(10, eps), rel=1e-9)
    assert found.certificate.verify()
    assert sv.epsilon(found.mechanism, graphs.grid(9, 10).metric()).nats <= eps * (1 + 1e-9) + 1e-15


STRETCHED = Metric.from_edges(Edges(FORK.edges, np.array([1.0, 1.0, 2.0, 1.0])), range(5), 5)


@pytest.mark.parametrize(
    ("secret", "records"),
    [(secrets.edges(5, FORK.edges.tolist()), 2), (secrets.edges(5, FORK.edges.tolist()), 3), (STRETCHED, 2)],
)
def test_few_databases_are_one_space(secret: SecretGraph | Metric, records: int) -> None:
    """Capacities of a fork do not multiply, and its databases are a graph like any other."""
    policy = sv.Policy(secret, records)
    found = worst_leakage(policy, 0.5)
    whole = policy.adjacency() if isinstance(secret, SecretGraph) else policy.database_metric()
    assert found.exact is not None and found.records == 1
    assert found.exact.log == pytest.approx(worst_leakage(whole, 0.5).exact.log, rel=1e-8)
    one = worst_leakage(secret, 0.5)
    assert records * one.exact.log < found.exact.log < records * one.packing.log
    assert found.mechanism.inputs == tuple(policy.databases())
    assert found.certificate.verify()
    asked = worst_leakage_questions(found.certificate, policy, 0.5)
    assert found.certificate.question() in asked
    assert found.certificate.question() not in worst_leakage_questions(found.certificate, policy, 0.6)
    # About one record with the others known the secrets alone count.
    assert worst_leakage(policy, 0.5, individual=True).exact.log == pytest.approx(one.exact.log, rel=1e-9)


def test_databases_beyond_a_list_stay_an_interval() -> None:
    policy = sv.Policy(secrets.edges(5, FORK.edges.tolist()), 4)
    found = worst_leakage(policy, 0.5)
    assert found.exact is None and found.records == 4 and found.certificate.verify()
    assert "several records together" in found.reason


def test_a_product_of_loose_factors_is_solved_as_a_whole() -> None:
    """Made as a product it is the same graph as one made of its pairs."""
    made = cartesian(cartesian(FORK, FORK), FORK)
    plain = Graph(range(125), made.edges.tolist())
    assert worst_leakage(made, 0.5).exact.log == pytest.approx(worst_leakage(plain, 0.5).exact.log, rel=1e-8)
