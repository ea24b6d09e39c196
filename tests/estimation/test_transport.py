"""Kantorovich distances: against peers, by duality, with infinite distances; the multiplicative one."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

import sievert as sv
from sievert.errors import MetricError


def check(found: sv.results.Transport, p: np.ndarray, q: np.ndarray, distances: np.ndarray) -> None:
    """The plan moves p to q at the value's cost, the potentials prove that no plan is cheaper."""
    plan = found.plan.toarray()
    assert (plan >= 0).all()
    assert plan.sum(axis=1) == pytest.approx(p, abs=1e-12)
    assert plan.sum(axis=0) == pytest.approx(q, abs=1e-12)
    finite = np.isfinite(distances)
    assert plan[~finite].sum() == 0
    scale = max(1.0, distances[finite].max())
    assert (plan[finite] * distances[finite]).sum() == pytest.approx(found.value, abs=1e-12 * scale)
    steps = np.abs(found.potentials[:, None] - found.potentials[None, :])
    assert (steps[finite] <= distances[finite] + 1e-12 * scale).all()
    assert found.potentials @ (p - q) == pytest.approx(found.value, abs=1e-11 * scale)
    assert found.gap <= 1e-11 * scale


def random_pair(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    p, q = (rng.dirichlet(np.full(size, 0.4)) * (rng.random(size) < 0.7) + 1e-300 for _ in range(2))
    return p / p.sum(), q / q.sum()


@given(st.integers(0, 10**6))
def test_any_metric(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 12))
    p, q = random_pair(rng, size)
    points = rng.integers(0, 4, (size, 2)).astype(float)  # ties and zero distances
    metrics = [
        sv.metrics.euclidean(points, labels=range(size)),
        sv.metrics.line(np.cumsum(rng.random(size)).tolist()),
        sv.metrics.line(rng.permutation(size).tolist()),
        sv.metrics.discrete(size),
    ]
    for metric in metrics:
        check(sv.kantorovich(p, q, metric), p, q, metric.matrix)


def test_against_pot(oracle) -> None:
    ot = oracle("ot")
    rng = np.random.default_rng(0)
    for size in (2, 17, 60, 150):
        metric = sv.metrics.euclidean(rng.random((size, 3)))
        p, q = random_pair(rng, size)
        assert sv.kantorovich(p, q, metric).value == pytest.approx(ot.emd2(p, q, metric.matrix), abs=1e-13)


def test_against_qif(oracle) -> None:
    qif = oracle("qif")
    rng = np.random.default_rng(1)
    for size in (2, 5, 9):
        p, q = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(size))
        for metric in (sv.metrics.line(size), sv.metrics.euclidean(rng.random((size, 2)))):
            table = metric.matrix
            peer = qif.metric.kantorovich(lambda i, j, d=table: float(d[i, j]))
            # qif is off by up to 1e-5 on larger problems (issue 10); on these it has more digits.
            assert sv.kantorovich(p, q, metric).value == pytest.approx(peer(p, q), abs=1e-6)
            peer = qif.metric.mult_kantorovich(lambda i, j, d=table: float(d[i, j]))
            found = sv.estimation.multiplicative_kantorovich(p, q, metric)
            assert found.value == pytest.approx(peer(p, q), abs=1e-7)
            assert found.upper - found.value < 1e-9


def test_line_is_the_distance_of_distribution_functions() -> None:
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.ones(50)), rng.dirichlet(np.ones(50))
    expected = np.abs(np.cumsum(p - q))[:-1].sum()
    assert float(sv.kantorovich(p, q, sv.metrics.line(50))) == pytest.approx(expected)


def test_discrete_is_total_variation() -> None:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.3, 0.6])
    assert sv.kantorovich(p, q, sv.metrics.discrete(3)).value == pytest.approx(0.4)
    assert sv.kantorovich(p, q, sv.metrics.discrete(3).scaled(5)).value == pytest.approx(2.0)


def test_a_large_graph_is_a_flow_along_its_edges() -> None:
    metric = sv.metrics.grid(38, 40)
    p, q = random_pair(np.random.default_rng(3), metric.size)
    found = sv.kantorovich(p, q, metric)
    assert found.method == "graph flow"
    check(found, p, q, metric.matrix)
    dense = sv.kantorovich(p, q, sv.Metric._known(metric.points, lambda: metric.matrix))
    assert dense.method == "network simplex"
    assert found.value == pytest.approx(dense.value, abs=1e-10)


def test_infinite_distances() -> None:
    apart = sv.metrics.from_graph([("a", "b"), ("c", "d"), ("d", "e")], nodes=list("abcde"))
    moved = sv.kantorovich([0.5, 0, 0.5, 0, 0], [0, 0.5, 0, 0, 0.5], apart)
    assert moved.value == pytest.approx(0.5 + 1.0)
    check(moved, np.array([0.5, 0, 0.5, 0, 0]), np.array([0, 0.5, 0, 0, 0.5]), apart.matrix)
    never = sv.kantorovich([1, 0, 0, 0, 0], [0, 0, 1, 0, 0], apart)
    assert math.isinf(never.value) and never.plan is None and "inf" in str(never)
    nothing_moves = sv.Metric([[0, math.inf], [math.inf, 0]])
    assert sv.kantorovich([0.3, 0.7], [0.3, 0.7], nothing_moves).value == 0
    assert math.isinf(sv.kantorovich([0.4, 0.6], [0.3, 0.7], nothing_moves).value)


def test_one_point_and_equal_distributions() -> None:
    assert sv.kantorovich([1], [1], sv.metrics.line(1)).value == 0
    p = np.random.default_rng(0).dirichlet(np.ones(6))
    for metric in (sv.metrics.line(6), sv.metrics.discrete(6), sv.metrics.cycle(6)):
        found = sv.kantorovich(p, p, metric)
        assert found.value == 0 and found.plan.toarray() == pytest.approx(np.diag(p))


def test_bad_input_is_named() -> None:
    with pytest.raises(MetricError, match=r"give a sv\.Metric"):
        sv.kantorovich([1], [1], "line")
    with pytest.raises(sv.SievertError, match="prior"):
        sv.kantorovich([0.5, 0.6], [1, 0], sv.metrics.line(2))


@given(st.integers(0, 10**6))
def test_multiplicative_distance_is_a_metric_below_the_diameter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 6))
    p, q, r = (rng.dirichlet(np.ones(size)) for _ in range(3))
    metric = sv.metrics.line(size)
    pq, pr, rq = (
        float(sv.estimation.multiplicative_kantorovich(a, b, metric)) for a, b in ((p, q), (p, r), (r, q))
    )
    assert pq <= metric.diameter + 1e-9
    assert pq <= pr + rq + 1e-9
    assert pq == pytest.approx(float(sv.estimation.multiplicative_kantorovich(q, p, metric)), abs=1e-9)
    # No more than the largest log ratio, the distance at which nothing is hidden.
    assert pq <= np.abs(np.log(p / q)).max() + 1e-9
    found = sv.estimation.multiplicative_kantorovich(p, q, metric)
    logs = found.log_function
    assert (np.abs(logs[:, None] - logs) <= metric.matrix + 1e-12).all()
    attained = math.log((p @ np.exp(logs)) / (q @ np.exp(logs)))
    assert abs(attained) == pytest.approx(found.value, abs=1e-12)


@pytest.mark.parametrize("size", [3, 12, 40])
def test_multiplicative_steps_that_are_left_out_do_not_bind(size: int) -> None:
    """Against the program with every pair, also where one side has no mass at most points."""
    rng = np.random.default_rng(size)
    metric = sv.metrics.euclidean(3 * rng.random((size, 2)))
    for thickness in (1.0, 0.1):
        p, q = (rng.dirichlet(np.full(size, thickness)) for _ in range(2))
        q[rng.permutation(size)[: size // 3]] = 0.0
        q /= q.sum()
        tails, heads = np.nonzero(~np.eye(size, dtype=bool))
        rows = np.zeros((len(tails), size))
        rows[np.arange(len(tails)), tails] = np.exp(-metric.matrix[tails, heads])
        rows[np.arange(len(tails)), heads] = -1.0
        values = [
            math.log(
                -linprog(
                    -a, A_ub=rows, b_ub=np.zeros(len(tails)), A_eq=b[None, :], b_eq=[1.0], method="highs"
                ).fun
            )
            for a, b in ((p, q), (q, p))
        ]
        found = sv.estimation.multiplicative_kantorovich(p, q, metric)
        assert found.value == pytest.approx(max(values), abs=1e-8)
        assert found.upper - found.value < 1e-8
        assert (np.abs(found.log_function[:, None] - found.log_function) <= metric.matrix + 1e-12).all()


def test_multiplicative_distance_with_infinite_distances() -> None:
    apart = sv.Metric([[0, math.inf], [math.inf, 0]])
    assert float(sv.estimation.multiplicative_kantorovich([0.25, 0.75], [0.5, 0.5], apart)) == pytest.approx(
        math.log(2)
    )
    assert math.isinf(float(sv.estimation.multiplicative_kantorovich([1, 0], [0, 1], apart)))
    assert float(
        sv.estimation.multiplicative_kantorovich([1, 0], [0, 1], sv.metrics.line([0, 2]))
    ) == pytest.approx(2)


def test_long_distances_lose_nothing() -> None:
    far = sv.metrics.line([0, 100])
    assert float(sv.estimation.multiplicative_kantorovich([1, 0], [0, 1], far)) == pytest.approx(100)
