"""Extended pseudo-metrics: what is accepted, what is refused, and the named ones."""

import math
from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given

import sievert as sv
from sievert import testing
from sievert.errors import GraphError, MetricError, TooLargeError
from sievert.spaces import Edges, closure, shortest_paths

inf = math.inf


@given(testing.metrics(extended=True))
def test_generated_metrics_are_metrics(metric: sv.Metric) -> None:
    sv.Metric(metric.matrix)


@given(testing.metrics(extended=True))
def test_closure_of_a_metric_is_itself(metric: sv.Metric) -> None:
    assert np.array_equal(closure(metric.matrix), metric.matrix)


def test_zero_and_infinite_distances_are_legal() -> None:
    metric = sv.Metric([[0, 0, inf], [0, 0, inf], [inf, inf, 0]], points=["a", "b", "c"])
    assert metric.distance("a", "b") == 0
    assert metric.distance("a", "c") == inf
    assert metric.diameter == inf
    assert metric.component_of.tolist() == [0, 0, 1]
    assert metric.within("a", 5) == ["a", "b"]


def test_one_point() -> None:
    metric = sv.Metric([[0]])
    assert metric.diameter == 0
    assert metric.uniform_distance is None


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0, 1], [1]], "ragged or not numeric"),
        ([["a"]], "ragged or not numeric"),
        ([], r"has shape \(0,\); it must be square and not empty"),
        ([[0, 1, 2], [1, 0, 1]], r"has shape \(2, 3\); it must be square"),
        ([[0, math.nan], [math.nan, 0]], "the distance nan from 0 to 1 is not a number"),
        ([[0, -1], [-1, 0]], "the distance -1 from 0 to 1 is negative; distances are numbers ≥ 0 or inf"),
        ([[1, 2], [2, 0]], "the distance 1 from 0 to 0 is on the diagonal"),
        ([[0, 1], [2, 0]], "the distance 1 from 0 to 1 differs from the reverse distance 2; a metric is sym"),
        (
            [[0, 1, 3], [1, 0, 1], [3, 1, 0]],
            r"triangle inequality fails: d\(0, 2\) = 3 > d\(0, 1\) \+ d\(1, 2\) = 2; pass close=True",
        ),
        ([[0, 1, inf], [1, 0, 1], [inf, 1, 0]], r"d\(0, 2\) = inf > d\(0, 1\)"),
    ],
)
def test_bad_matrices_are_refused(matrix: Any, message: str) -> None:
    with pytest.raises(MetricError, match=message):
        sv.Metric(matrix)


def test_triangle_violation_names_the_labels() -> None:
    with pytest.raises(
        MetricError, match=r"d\('home', 'shop'\) = 9 > d\('home', 'work'\) \+ d\('work', 'shop'\)"
    ):
        sv.Metric([[0, 1, 9], [1, 0, 2], [9, 2, 0]], points=["home", "work", "shop"])


def test_closure_on_request() -> None:
    assert sv.Metric([[0, 1, 9], [1, 0, 2], [9, 2, 0]], close=True).distance(0, 2) == 3


def test_rounding_of_square_roots_is_no_violation() -> None:
    points = np.random.default_rng(0).random((30, 1)) * 1e6
    sv.Metric(sv.metrics.euclidean(np.column_stack([points, points])).matrix)


def test_matrix_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        sv.metrics.line(3).matrix[0, 1] = 7


def test_scaling_conventions() -> None:
    metric = sv.Metric([[0, 0, 2, inf], [0, 0, 2, inf], [2, 2, 0, inf], [inf, inf, inf, 0]])
    assert metric.scaled(0).matrix[0].tolist() == [0, 0, 0, inf]
    assert metric.scaled(3).matrix[0].tolist() == [0, 0, 6, inf]
    assert metric.scaled(inf).matrix[0].tolist() == [0, 0, inf, inf]
    assert sv.metrics.line(3).scaled(0.5).edges.lengths.tolist() == [0.5, 0.5]  # type: ignore[union-attr]
    for factor in (-1, math.nan):
        with pytest.raises(MetricError, match=r"factor is .*; it must be a number ≥ 0"):
            metric.scaled(factor)


def test_restriction_and_unknown_points() -> None:
    metric = sv.metrics.line([0, 1, 5]).restricted([5, 0])
    assert metric.points == (5, 0)
    assert metric.distance(5, 0) == 5
    for bad in (2, [1], {}):
        with pytest.raises(MetricError, match="is not one of the points 5, 0"):
            metric.index(bad)


@pytest.mark.parametrize(
    ("metric", "matrix"),
    [
        (sv.metrics.line(3), [[0, 1, 2], [1, 0, 1], [2, 1, 0]]),
        (sv.metrics.line([5, 0, 1]), [[0, 5, 4], [5, 0, 1], [4, 1, 0]]),
        (sv.metrics.line([Fraction(1, 2), 2]), [[0, 1.5], [1.5, 0]]),
        (sv.metrics.discrete(["a", "b", "c"]), [[0, 1, 1], [1, 0, 1], [1, 1, 0]]),
        (sv.metrics.cycle(4), [[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0]]),
        (sv.metrics.cycle(2), [[0, 1], [1, 0]]),
        (sv.metrics.grid(2, 2), [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]),
        (sv.metrics.hamming(2, 2), [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]),
        (sv.metrics.hamming(1, 1), [[0]]),
        (sv.metrics.euclidean([[0, 0], [3, 4]]), [[0, 5], [5, 0]]),
        (sv.metrics.manhattan([[0, 0], [3, 4]]), [[0, 7], [7, 0]]),
        (
            sv.metrics.from_graph([("a", "b")], nodes=["a", "b", "c"]),
            [[0, 1, inf], [1, 0, inf], [inf, inf, 0]],
        ),
    ],
)
def test_named_metrics(metric: sv.Metric, matrix: list[list[float]]) -> None:
    assert metric.matrix.tolist() == matrix
    sv.Metric(metric.matrix)


@pytest.mark.parametrize(
    "metric",
    [sv.metrics.line([9, 2, 4]), sv.metrics.cycle(5), sv.metrics.grid(3, 4), sv.metrics.hamming(3, 3)],
)
def test_edges_generate_the_metric(metric: sv.Metric) -> None:
    assert metric.edges is not None
    assert np.array_equal(shortest_paths(metric.edges, metric.size), metric.matrix)


def test_shortest_paths_take_the_least_of_repeated_edges_and_keep_zero_lengths() -> None:
    edges = Edges(np.array([[0, 1], [1, 0], [1, 2], [0, 0]]), np.array([5.0, 2.0, 0.0, 1.0]))
    assert shortest_paths(edges, 4).tolist() == [
        [0, 2, 2, inf],
        [2, 0, 0, inf],
        [2, 0, 0, inf],
        [inf, inf, inf, 0],
    ]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: sv.metrics.line(0), "n is 0; give the number of points or their labels, at least one"),
        (lambda: sv.metrics.line(True), "n is True"),
        (lambda: sv.metrics.line([]), "n is empty"),
        (lambda: sv.metrics.line(["a", "b"]), "the points of a line must be finite numbers"),
        (lambda: sv.metrics.line([0, inf]), "must be finite numbers"),
        (lambda: sv.metrics.line([1, 1]), "n has the label 1 twice"),
        (lambda: sv.metrics.discrete([]), "n is empty"),
        (lambda: sv.metrics.discrete(2.5), "n is 2.5; give the number of points"),
        (lambda: sv.metrics.cycle(-1), "n is -1"),
        (lambda: sv.metrics.grid(2, 0), "columns is 0"),
        (lambda: sv.metrics.hamming(2, 0), "values is 0"),
        (lambda: sv.metrics.euclidean([1, 2, 3]), "for single numbers use sv.metrics.line"),
        (lambda: sv.metrics.euclidean([[1, 2], [3]]), "points is ragged or not numeric"),
        (lambda: sv.metrics.euclidean([[0, math.nan]]), "row 0 has nan as coordinate 1"),
        (lambda: sv.metrics.euclidean([[0, 0], [0, 0]]), "twice; pass labels="),
        (lambda: sv.metrics.manhattan([[0], [1]], labels=["a"]), "labels has 1 labels but 2 are needed"),
        (lambda: sv.Metric.from_edges(Edges(np.array([[0, 1]]), np.array([-1.0])), None, 2), "number ≥ 0"),
    ],
)
def test_bad_arguments_of_named_metrics(build: Callable[[], object], message: str) -> None:
    with pytest.raises(MetricError, match=message):
        build()


def test_coinciding_points_with_labels_are_legal() -> None:
    assert sv.metrics.euclidean([[0, 0], [0, 0]], labels=["a", "b"]).distance("a", "b") == 0


def test_too_large_metrics_say_their_size() -> None:
    with pytest.raises(TooLargeError, match=r"hamming\(20, 3\) has too many points") as caught:
        sv.metrics.hamming(20, 3)
    assert caught.value.size == 3**20
    with pytest.raises(TooLargeError, match="10000000000 numbers"):
        _ = sv.metrics.discrete(100_000).matrix


def test_graph_distance_and_components_agree_with_networkx(oracle: Callable[[str], ModuleType]) -> None:
    networkx = oracle("networkx")
    for seed in range(12):
        graph = networkx.gnp_random_graph(12, 0.15, seed=seed)
        ours = sv.Graph(list(graph.nodes), list(graph.edges))
        expected = np.full((12, 12), inf)
        for source, lengths in networkx.all_pairs_shortest_path_length(graph):
            for target, length in lengths.items():
                expected[source, target] = length
        assert np.array_equal(ours.metric().matrix, expected)
        assert sorted(map(sorted, ours.components())) == sorted(  # type: ignore[type-var]
            map(sorted, networkx.connected_components(graph))
        )
        assert ours.metric().component_of.tolist() == ours.component_of.tolist()


def test_weighted_shortest_paths_agree_with_networkx(oracle: Callable[[str], ModuleType]) -> None:
    networkx = oracle("networkx")
    for seed in range(6):
        graph = networkx.gnp_random_graph(10, 0.3, seed=seed)
        rng = np.random.default_rng(seed)
        for a, b in graph.edges:
            graph[a][b]["weight"] = float(rng.integers(0, 5))
        pairs = np.array(list(graph.edges))
        lengths = np.array([graph[a][b]["weight"] for a, b in graph.edges])
        expected = np.asarray(networkx.floyd_warshall_numpy(graph))
        assert np.allclose(shortest_paths(Edges(pairs, lengths), 10), expected)


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ([], [], "nodes is empty"),
        ([1, 1], [], "nodes has the label 1 twice"),
        ([1, 2], [(1, 3)], r"edges: 3 in the edge \(1, 3\) is not one of the nodes 1, 2"),
        ([1, 2], [(1, 1)], r"edges: \(1, 1\) joins a node to itself; loops are not allowed"),
        ([1, 2], [(1, 2, 1)], r"edges: \(1, 2, 1\) is not a pair of nodes"),
        ([1, 2], [7], "edges: 7 is not a pair of nodes"),
        ([1, 2], [(1, {})], "is not one of the nodes"),
    ],
)
def test_bad_graphs_are_refused(nodes: list[object], edges: list[Any], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        sv.Graph(nodes, edges)


def test_graph_names_and_edges() -> None:
    graph = sv.Graph.from_edges([("b", "a"), ("a", "b"), ("b", "c")])
    assert graph.nodes == ("b", "a", "c")
    assert graph.labelled_edges() == [("b", "a"), ("b", "c")]
    assert graph.is_edge("c", "b")
    assert not graph.is_edge("a", "c")
    with pytest.raises(GraphError, match="'z' is not one of the nodes 'b', 'a', 'c'"):
        graph.is_edge("a", "z")
    assert len(sv.Graph.complete(range(5)).edges) == 10
    assert len(sv.Graph.path(range(5)).edges) == 4


def test_lengths_that_no_detour_shortens_are_their_own_closure() -> None:
    """From the least to twice it; one that is longer, or a way to oneself, is shortened as before."""
    rng = np.random.default_rng(4)
    for most in (2.0, 2.5):
        lengths = np.triu(rng.uniform(1, most, (9, 9)), 1)
        lengths += lengths.T
        brute = lengths.copy()
        for k, i, j in np.ndindex(9, 9, 9):
            brute[i, j] = min(brute[i, j], brute[i, k] + brute[k, j])
        assert (closure(lengths) == brute).all()
        assert (closure(lengths) == lengths).all() == (most == 2.0)
    assert closure(np.array([[0.0]])).tolist() == [[0.0]]
    assert closure(np.array([[0.0, np.inf], [np.inf, 0.0]])).tolist() == [[0.0, np.inf], [np.inf, 0.0]]
