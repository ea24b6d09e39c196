"""Extremes, kinds of input, sizes beyond every exact method, refusals."""

import math

import numpy as np
import pytest

import sievert as sv
from sievert.errors import PolicyError
from sievert.limits import guess_bounds, guess_upper_bound, worst_leakage
from sievert.limits.promises import ApproximateClaim
from sievert.policies import Policy
from sievert.spaces import Graph, Metric, graphs, metrics, secrets


def exact(target: object, eps: float) -> float:
    found = worst_leakage(target, eps)
    assert found.exact is not None, found.reason
    assert found.certificate.verify()
    return found.exact.factor


@pytest.mark.parametrize("eps", [0, 1e-9, 1e-3, 50, 500, 5000])
@pytest.mark.parametrize(
    "graph",
    [graphs.path(1), graphs.path(2), graphs.star(6), graphs.cycle(7), graphs.grid(3, 4), Graph(range(4), [])],
    ids=["single", "edge", "star", "cycle", "grid", "no edges"],
)
def test_every_eps_has_an_answer(graph: Graph, eps: float) -> None:
    components = int(graph.component_of.max()) + 1
    value = exact(graph, eps)
    if eps == 0 or len(graph.edges) == 0:
        assert value == pytest.approx(components)
    if eps >= 50:
        assert value == pytest.approx(graph.size)
    if eps == 1e-9:
        assert components <= value <= components + 1e-7
    mechanism = worst_leakage(graph, eps).mechanism
    assert sv.epsilon(mechanism, graph.metric()).nats <= eps * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("eps", [1e-9, 1e-6])
def test_tiny_eps_on_a_graph_without_symmetry_is_an_answer_in_any_case(eps: float) -> None:
    found = worst_leakage(Graph(range(6), [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (3, 5)]), eps)
    assert 1 <= found.lower.factor <= found.upper.factor <= math.exp(2 * eps) * (1 + 1e-12)
    assert found.certificate.verify()


def test_infinite_eps() -> None:
    found = worst_leakage(Policy.differential(3, 4), math.inf)
    assert found.exact.factor == pytest.approx(81)
    assert found.diameter.bits == math.inf
    assert worst_leakage(Graph(range(3), []), math.inf).diameter.factor == pytest.approx(3)
    assert worst_leakage(Policy.differential(3, 4), math.inf, individual=True).exact.factor == pytest.approx(
        3
    )


@pytest.mark.parametrize("eps", [-1, math.nan, -math.inf, "much"])
def test_a_bad_eps_is_named(eps: object) -> None:
    with pytest.raises(PolicyError, match="eps is"):
        worst_leakage(graphs.path(3), eps)  # type: ignore[arg-type]


def test_a_bad_target_is_named() -> None:
    with pytest.raises(PolicyError, match=r"give a sv\.Policy, a sv\.Metric or a sv\.Graph"):
        worst_leakage([[0, 1], [1, 0]], 1)  # type: ignore[arg-type]


def test_one_question_at_a_time() -> None:
    with pytest.raises(PolicyError, match="one of prior/gain, individual and outputs"):
        worst_leakage(graphs.path(3), 1, prior=[1, 0, 0], outputs=2)


def test_decimals_are_read_as_written() -> None:
    assert worst_leakage(graphs.path(3), 0.1).certificate.eps.denominator == 10


def test_irregular_points_on_a_line() -> None:
    points = [0.0, 0.3, 1.0, 4.5]
    gaps = np.diff(points)
    assert exact(metrics.line(points), 0.7) == pytest.approx(1 + np.tanh(0.35 * gaps).sum())


def test_metrics_and_graphs_agree() -> None:
    for graph in (graphs.grid(3, 3), graphs.star(5), graphs.cycle(6)):
        assert exact(graph.metric(), 0.4) == pytest.approx(exact(graph, 0.4), abs=1e-9)
        assert exact(Metric(graph.metric().matrix), 0.4) == pytest.approx(exact(graph, 0.4), abs=1e-9)
    scaled = graphs.star(5).metric().scaled(0.25)
    assert exact(scaled, 1.6) == pytest.approx(exact(graphs.star(5), 0.4), abs=1e-9)


def test_euclidean_points() -> None:
    points = np.random.default_rng(3).random((30, 2)) * 3
    found = worst_leakage(metrics.euclidean(points), 1)
    assert found.certificate.verify()
    assert found.exact is not None
    assert found.exact <= found.packing <= found.radius <= found.diameter
    assert found.mechanism is not None
    assert sv.epsilon(found.mechanism, metrics.euclidean(points)).nats <= 1 + 1e-9


def test_many_euclidean_points_are_a_metric_known_to_rounding() -> None:
    points = np.random.default_rng(4).random((400, 2)) * 400
    found = worst_leakage(metrics.euclidean(points), 1)
    assert found.exact is not None and "non-negative weights" in found.method
    statement = found.certificate.verify()
    assert statement and "a metric known to a relative 2^-48" in str(statement)


def test_infinite_distances_are_components() -> None:
    table = np.full((5, 5), np.inf)
    table[:2, :2], table[2:, 2:] = [[0, 2], [2, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    parts = 2 / (1 + math.exp(-2)) + 3 / (1 + 2 * math.exp(-1))
    assert exact(Metric(table), 1) == pytest.approx(parts)


TWICE = Metric([[0, 1, 0], [1, 0, 1], [0, 1, 0]], points=["a", "b", "c"])


def test_points_at_distance_0_are_taken_as_one() -> None:
    found = worst_leakage(TWICE, 1)
    assert found.exact.factor == pytest.approx(2 / (1 + math.exp(-1)))
    assert found.method.endswith("1 points at distance 0 from others are taken for these")
    assert (found.mechanism.matrix[0] == found.mechanism.matrix[2]).all()
    assert found.mechanism.matrix.max(axis=0).sum() == pytest.approx(found.exact.factor)
    assert found.certificate.verify().holds


def test_of_points_at_distance_0_the_likeliest_is_guessed() -> None:
    for prior in ([0.3, 0.5, 0.2], [0.1, 0.3, 0.6]):
        guess = guess_bounds(ApproximateClaim(1.0), TWICE, np.array(prior))[0]
        # Two points: randomised response, or the blind guess.
        best = max(prior[0], prior[2])
        reached = (best + prior[1]) / (1 + math.exp(-1))
        assert guess.upper == pytest.approx(max(best, prior[1], reached), rel=1e-6)
        quick = guess_upper_bound(ApproximateClaim(1.0), TWICE, np.array(prior))
        assert guess.upper == pytest.approx(quick, rel=1e-6)


def test_zero_distance_with_a_prior_is_refused_with_the_names() -> None:
    with pytest.raises(PolicyError, match="'a' and 'c' are at distance 0"):
        worst_leakage(TWICE, 1, prior=[0.2, 0.5, 0.3])


def test_a_million_records() -> None:
    policy = Policy.blowfish(secrets.line(4), records=10**6)
    found = worst_leakage(policy, 1)
    assert found.exact.bits == pytest.approx(1.254807e6, rel=1e-6)
    assert found.exact.factor == math.inf
    assert found.mechanism.shape[0] == 4**10**6 or found.mechanism is not None
    assert worst_leakage(policy, 1, individual=True).exact.bits == pytest.approx(1.254807, abs=6e-7)


def test_the_mechanism_of_a_product_is_a_product() -> None:
    found = worst_leakage(Policy.differential(2, 3), 1)
    assert found.mechanism.shape == (8, 8)
    assert sv.capacity(found.mechanism).bits == pytest.approx(found.exact.bits)
    assert sv.epsilon(found.mechanism, Policy.differential(2, 3)).nats == pytest.approx(1)


def test_ten_thousand_equal_components_are_solved_once() -> None:
    pairs = Graph(range(20_000), [(2 * k, 2 * k + 1) for k in range(10_000)])
    found = worst_leakage(pairs, 0.5)
    assert found.exact.factor == pytest.approx(10_000 * 2 / (1 + math.exp(-0.5)))
    assert len(found.certificate.upper["parts"]) == 1
    assert found.certificate.verify()


@pytest.mark.slow
def test_a_graph_beyond_every_exact_method_has_bounds_and_a_reason() -> None:
    # A grid that lacks the edge at a corner is no product.
    whole = graphs.grid(300, 300)
    found = worst_leakage(graphs.of_pairs(whole.edges[:-1], whole.size), 0.5)
    assert found.exact is None and "90000" in found.reason
    assert found.radius.log == pytest.approx(0.5 * 300)
    assert found.diameter.log == pytest.approx(0.5 * 598)
    assert found.lower.factor == pytest.approx(1 + 598 * math.tanh(0.25))
    assert found.upper.factor <= 90_000
    assert found.mechanism is None
    assert found.certificate.verify()


def test_large_graphs_of_small_blocks_are_exact() -> None:
    # Triangles in a row, too many points for a table of distances.
    count = 2100
    edges = [(2 * k + a, 2 * k + b) for k in range(count) for a, b in ((0, 1), (1, 2), (0, 2))]
    found = worst_leakage(Graph(range(2 * count + 1), edges), 0.5)
    assert found.exact is not None, found.reason
    assert "blocks" in found.method and found.mechanism is None


def test_results_speak_and_become_data() -> None:
    found = worst_leakage(graphs.cycle(5), 1)
    assert str(found).startswith("at most a factor of 2.49199")
    assert float(found) == found.upper.bits
    data = found.to_dict()
    assert data["exact"]["bits"] == found.exact.bits and data["reason"] is None


def test_constrained_policies_use_the_adjacency_of_their_databases() -> None:
    policy = Policy.blowfish(
        secrets.complete(3), records=2, permitted=[(a, b) for a in range(3) for b in range(a, 3)]
    )
    found = worst_leakage(policy, 1)
    assert found.exact.factor == pytest.approx(exact(policy.adjacency(), 1))
    assert found.records == 1


@pytest.mark.parametrize("count", [400, 20_000])
def test_very_many_values(count: int) -> None:
    found = worst_leakage(Policy.differential(count, 10), 1)
    assert found.exact.factor == pytest.approx((count / (1 + (count - 1) / math.e)) ** 10)


def test_the_proof_of_a_symmetric_tree_has_few_numbers() -> None:
    """A million edges that symmetry exchanges have a few numbers, each a word; in a file they are lists."""
    found = worst_leakage(graphs.binary_tree(9), 0.5)
    assert found.exact is not None and found.certificate.verify()
    for side in ("there", "back"):
        listed = found.certificate.lower[side]
        assert len(listed) == 1022
        assert len(set(listed.tolist())) <= 30
        assert listed.nbytes == 8 * 1022
        assert found.certificate.to_dict()["lower"][side] == listed.tolist()
