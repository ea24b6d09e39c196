"""The polytope of private posteriors: constraints, membership, and all of its vertices (table 3.2)."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import MetricError, TooLargeError
from sievert.geometry._vertices import Component, _general
from sievert.numerics import progress_listener
from sievert.spaces import Edges

INF = math.inf


def graph(*edges: tuple[int, int]) -> sv.Metric:
    return sv.metrics.from_graph(edges, range(1 + max(map(max, edges))))


def bipartite(m: int, k: int) -> sv.Metric:
    return graph(*((a, m + b) for a in range(m) for b in range(k)))


COUNTS = [
    *((sv.metrics.line(n), 2 ** (n - 1)) for n in (2, 3, 5, 16)),
    (sv.metrics.line([0, 1, 5, 7, 11]), 16),
    (sv.metrics.from_graph([(0, 1), (0, 2), (0, 3), (3, 4)]), 16),
    *((sv.metrics.discrete(n), 2**n - 2) for n in (3, 5, 12)),
    *((sv.metrics.cycle(n), k) for n, k in ((3, 6), (4, 6), (5, 30), (6, 20), (8, 70), (9, 630), (10, 252))),
    (bipartite(2, 3), 10),
    (bipartite(3, 3), 14),
    *((sv.metrics.hamming(k, 2), m) for k, m in ((1, 2), (2, 6), (3, 38), (4, 990), (5, 395_094))),
    *((sv.metrics.grid(s, s), m) for s, m in ((2, 6), (3, 82), (4, 2604), (5, 193_662))),
    (graph((0, 1), (1, 2), (2, 3), (3, 0), (0, 2)), 12),  # K4 minus an edge
    (graph((0, 1), (1, 2), (2, 0), (2, 3)), 12),  # paw
    (graph(*((0, k) for k in (1, 2, 3, 4)), (1, 2), (2, 3), (3, 4), (4, 1)), 26),  # wheel
]


@pytest.mark.parametrize("metric, count", COUNTS, ids=lambda item: str(item) if isinstance(item, int) else "")
def test_table_of_vertex_counts(metric: sv.Metric, count: int) -> None:
    shape = sv.geometry.polytope(metric, alpha="1/2")
    found = shape.vertices()
    assert shape.count() == len(found) == count
    assert found.complete
    assert len({row.tobytes() for row in found.levels}) == count


def random_metric(n: int, rng: np.random.Generator) -> sv.Metric:
    table = np.triu(rng.integers(10**6, 2 * 10**6, (n, n)), 1)
    return sv.Metric(table + table.T)


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 8, 9])
def test_generic_metrics_reach_the_upper_bound(n: int) -> None:
    shape = sv.geometry.polytope(random_metric(n, np.random.default_rng(n)))
    assert shape.count() == math.comb(2 * n - 2, n - 1)


def by_spanning_trees(distances: np.ndarray[Any, Any]) -> set[tuple[int, ...]]:
    """Vertices from their definition: a tree of tight pairs, up or down, that respects all others."""
    n = len(distances)
    found = set()
    for tree in combinations(list(combinations(range(n), 2)), n - 1):
        for signs in product((1, -1), repeat=n - 1):
            u: dict[int, int] = {0: 0}
            for _ in range(n):
                for (a, b), sign in zip(tree, signs, strict=True):
                    if a in u and b not in u:
                        u[b] = u[a] + sign * int(distances[a, b])
                    elif b in u and a not in u:
                        u[a] = u[b] - sign * int(distances[a, b])
            if len(u) == n and all(abs(u[a] - u[b]) <= distances[a, b] for a, b in combinations(range(n), 2)):
                top = max(u.values())
                found.add(tuple(u[x] - top for x in range(n)))
    return found


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 5), st.integers(0, 10**6), st.sampled_from([2, 3, 9]))
def test_vertices_are_those_of_the_definition(n: int, seed: int, most: int) -> None:
    table = np.triu(np.random.default_rng(seed).integers(1, most + 1, (n, n)), 1).astype(float)
    metric = sv.Metric(table + table.T, close=True)
    found = sv.geometry.polytope(metric).vertices()
    unit = int(found.unit)
    assert {tuple(row) for row in (found.levels.astype(int) * unit).tolist()} == by_spanning_trees(
        metric.matrix
    )
    assert sv.geometry.polytope(metric).count() <= math.comb(2 * n - 2, n - 1)
    assert sv.geometry.polytope(metric).count() >= 2 * (n - 1)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6))
def test_vertices_are_private_tight_and_come_in_opposite_pairs(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a, b in combinations(range(n), 2) if rng.random() < 0.6] + [
        (k, k + 1) for k in range(n - 1)
    ]
    shape = sv.geometry.polytope(graph(*pairs), alpha="1/3")
    found = shape.vertices()
    rows = {tuple(row) for row in found.levels.tolist()}
    for row in rows:
        assert tuple(-k - max(-j for j in row) for k in row) in rows
    for vertex in found:
        assert shape.contains(vertex)
        assert sum(vertex) == 1
        tight = sum(vertex[a] == 3 * vertex[b] or vertex[b] == 3 * vertex[a] for a, b, _ in shape.edges)
        assert tight >= n - 1


def test_the_count_does_not_depend_on_epsilon() -> None:
    for alpha in ("1/100", "1/2", "99/100"):
        assert sv.geometry.polytope(sv.metrics.cycle(7), alpha=alpha).count() == 140
    assert sv.geometry.polytope(sv.metrics.cycle(7), 0).count() == 1
    assert sv.geometry.polytope(sv.metrics.cycle(7), INF).count() == 7


def test_euclidean_distances_keep_their_triangle_equalities() -> None:
    """Rounding every distance by itself breaks 2·√2 = √8, and gives vertices that are not there."""
    metric = sv.metrics.euclidean([(i, j) for i in range(3) for j in range(3)])
    counts = {sv.geometry.polytope(metric, tolerance=f"1e-{k}").count() for k in (4, 6, 8, 10)}
    assert counts == {4346}
    apart = np.rint(metric.matrix * 10**6).astype(np.int64)
    assert sum(len(block) for block in Component(apart).blocks()) == 4746  # what the spec's table lists
    found = sv.geometry.polytope(metric, tolerance=1e-6).vertices(exact=False)
    assert found.tolerance == F(1, 10**6)
    assert "rounded to 1e-06" in str(found)


def test_irrational_distances_without_a_tolerance_are_refused() -> None:
    with pytest.raises(MetricError, match="tolerance=1e-6"):
        sv.geometry.polytope(sv.metrics.euclidean([(0, 0), (1, 1), (2, 0)])).vertices()
    with pytest.raises(MetricError, match="rounded to 0"):
        sv.geometry.polytope(sv.metrics.euclidean([(0, 0), (1, 1), (2, 0)]), tolerance=10).vertices()
    for wrong in (0, -1, "x", float("nan")):
        with pytest.raises(MetricError, match="tolerance is"):
            sv.geometry.polytope(sv.metrics.line(3), tolerance=wrong)
    assert sv.geometry.polytope(sv.metrics.line([0, 0.1, 0.3])).count() == 4


@pytest.mark.parametrize(
    "metric",
    [
        sv.metrics.line([0, math.pi, 5, 5 + math.sqrt(2)]),
        sv.Metric.from_edges(
            Edges(np.array([[0, 1], [0, 2], [0, 3]]), np.array([math.sqrt(2), math.e * 1e-6, math.pi])),
            None,
            4,
        ),
    ],
    ids=["line", "tree"],
)
def test_lines_and_trees_may_have_any_lengths(metric: sv.Metric) -> None:
    """No two paths of a tree are equally long by chance: every pattern of steps is a vertex."""
    shape = sv.geometry.polytope(metric, 0.7)
    assert shape.count() == 8
    assert shape.shapes == ("tree",)
    place = {name: k for k, name in enumerate(metric.points)}
    ends = [(place[a], place[b]) for a, b, _ in shape.edges]
    gaps = np.array([[abs(math.log(p[a] / p[b])) for a, b in ends] for p in shape.vertices()])
    assert gaps == pytest.approx(0.7 * np.array([[length for *_, length in shape.edges]] * 8), rel=1e-8)
    assert len(np.unique(np.round(shape.vertices().matrix.astype(float), 9), axis=0)) == 8


def test_points_at_distance_zero_are_merged() -> None:
    shape = sv.geometry.polytope(sv.Metric([[0, 0, 1], [0, 0, 1], [1, 1, 0]], ["a", "b", "c"]), alpha="1/2")
    assert shape.merged == (("a", "b"),)
    assert shape.dimension == 1
    assert shape.vertices().matrix.tolist() == [[F(2, 5), F(2, 5), F(1, 5)], [F(1, 4), F(1, 4), F(1, 2)]]
    assert not shape.contains(["1/2", "1/4", "1/4"])
    words = "no private mechanism tells 'a' = 'b' apart, so they are taken as one"
    for said in (shape, shape.vertices(), sv.geometry.kernels(shape.metric, "1/2")):
        assert words in str(said)
    assert shape.vertices().to_dict()["merged"] == [["a", "b"]]
    assert "1 pair" in str(sv.geometry.polytope(sv.metrics.line(2)))
    assert "taken as one" not in str(sv.geometry.polytope(sv.metrics.line(2), None, "1/2"))


def test_components_have_vertices_of_their_own() -> None:
    metric = sv.Metric([[0, 1, INF], [1, 0, INF], [INF, INF, 0]])
    shape = sv.geometry.polytope(metric, alpha="1/2")
    assert shape.vertices().matrix.tolist() == [[F(2, 3), F(1, 3), 0], [F(1, 3), F(2, 3), 0], [0, 0, 1]]
    assert shape.count() == 3
    assert shape.contains([0, 0, 1])
    assert shape.contains(["1/6", "1/3", "1/2"])
    assert shape.contains([1, 0, 0]).pair == (0, 1)


def test_edges_are_the_irreducible_pairs() -> None:
    assert sv.geometry.polytope(sv.metrics.line(4)).edges == ((0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0))
    assert len(sv.geometry.polytope(sv.metrics.hamming(4, 2)).edges) == 32
    assert len(sv.geometry.polytope(sv.metrics.discrete(5)).edges) == 10
    assert sv.geometry.polytope(sv.metrics.hamming(3, 2)).dimension == 7


@given(st.integers(2, 6), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_membership_by_edges_is_membership_by_all_pairs(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    metric = sv.metrics.line(n) if seed % 2 else sv.metrics.cycle(max(3, n))
    weights = [int(k) for k in rng.integers(1, 9, metric.size)]
    posterior = [F(k, sum(weights)) for k in weights]
    distance = metric.matrix.astype(int)
    direct = all(
        posterior[x] <= 2 ** int(distance[x, z]) * posterior[z]
        for x in range(metric.size)
        for z in range(metric.size)
    )
    found = sv.geometry.polytope(metric, alpha="1/2").contains(posterior)
    assert found.holds == direct
    if not found:
        x, z = found.pair  # type: ignore[misc]
        assert posterior[x] > 2 ** int(distance[x, z]) * posterior[z]
    assert sv.geometry.polytope(metric, math.log(2)).contains([float(p) for p in posterior]).holds == direct


def test_a_limit_gives_a_part_and_says_so() -> None:
    found = sv.geometry.polytope(sv.metrics.line(100)).vertices(limit=7)
    assert (len(found), found.complete) == (7, False)
    assert "not all" in str(found)
    whole = sv.geometry.polytope(sv.metrics.line(4)).vertices(limit=8)
    assert (len(whole), whole.complete) == (8, True)
    large = sv.geometry.polytope(random_metric(20, np.random.default_rng(0)), 1e-6)
    some = large.vertices(exact=False, limit=50)
    assert (len(some), some.complete) == (50, False)
    assert all(large.contains(vertex) for vertex in some)
    for listing in (large.vertices, large.count):
        with pytest.raises(TooLargeError, match=r"vertices\(limit=…\) lists some"):
            listing()
    with pytest.raises(MetricError, match="limit is 0"):
        large.vertices(limit=0)


def king(rows: int, columns: int) -> sv.Metric:
    """Squares of a board, one move of a king apart."""
    squares = list(product(range(rows), range(columns)))
    moves = [(a, b) for a, b in combinations(squares, 2) if max(abs(a[0] - b[0]), abs(a[1] - b[1])) == 1]
    return sv.metrics.from_graph(moves, squares)


@settings(max_examples=30, deadline=None)
@given(st.integers(4, 7), st.integers(0, 10**6))
def test_graphs_with_odd_cycles_as_general_metrics(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [pair for pair in combinations(range(n), 2) if rng.random() < 0.5]
    part = Component(np.rint(graph(*pairs, *((k, k + 1) for k in range(n - 1))).matrix).astype(np.int64))
    rows = np.concatenate(list(part.blocks())).astype(int)
    general = _general(part.distances)
    expected = {tuple(row) for row in (general - general.max(axis=1)[:, None]).tolist()}
    assert len(rows) == len(expected)
    assert {tuple(row) for row in rows.tolist()} == expected


def test_graphs_with_odd_cycles_have_no_limit_of_points() -> None:
    board = sv.geometry.polytope(king(4, 4), alpha="1/2")
    assert board.count() == 112_992
    assert "a graph with equal edges" in str(board.vertices(limit=3))
    large = sv.geometry.polytope(king(6, 6), alpha="1/2")
    few = list(large.iter_vertices(limit=4))
    assert len(few) == 4
    assert all(large.contains(vertex) for vertex in few)


def test_an_iterator_gives_the_same_and_begins_at_once() -> None:
    for metric in (sv.metrics.line(5), sv.metrics.cycle(5), sv.Metric([[0, 2, 3], [2, 0, 4], [3, 4, 0]])):
        shape = sv.geometry.polytope(metric, alpha="1/2")
        listed = shape.vertices()
        assert [row.tolist() for row in shape.iter_vertices(limit=3)] == [
            listed[k].tolist() for k in range(3)
        ]
        assert sum(1 for _ in shape.iter_vertices(exact=False)) == len(listed)
    assert next(sv.geometry.polytope(sv.metrics.line(200), 1.0).iter_vertices()).shape == (200,)
    with pytest.raises(MetricError, match="limit is 0"):
        sv.geometry.polytope(sv.metrics.line(3)).iter_vertices(limit=0)


def test_listing_tells_how_far_it_is() -> None:
    heard: list[tuple[str, int, int]] = []
    with progress_listener(lambda *news: heard.append(news)):
        sv.geometry.polytope(sv.metrics.line(18)).vertices()
    assert heard[-1][1] == 2**17


def test_retracts() -> None:
    line = sv.geometry.polytope(sv.metrics.line(4))
    folded = line.retraction([0, 1])
    assert folded is not None
    assert set(folded.values()) == {0, 1}
    assert line.retraction([0, 2]) is None
    assert sv.geometry.polytope(sv.metrics.discrete(4)).retraction([1, 3]) is not None
    cube = sv.metrics.hamming(3, 2)
    found = sv.geometry.polytope(cube).retraction([(0, 0, 0), (1, 0, 0), (1, 1, 0), (1, 1, 1)])
    assert found is not None
    for a in cube.points:
        for b in cube.points:
            assert cube.distance(found[a], found[b]) <= cube.distance(a, b)
    assert sv.geometry.polytope(sv.metrics.cycle(6)).retraction([0, 2, 4]) is None
    with pytest.raises(MetricError, match="points is empty"):
        line.retraction([])


def test_worked_vertices_of_the_figures() -> None:
    line = sv.geometry.polytope(sv.metrics.line(3), alpha="1/2").vertices().matrix.tolist()
    printed = [["2/5", "1/5", "2/5"], ["4/7", "2/7", "1/7"], ["1/4", "1/2", "1/4"], ["1/7", "2/7", "4/7"]]
    assert sorted(line) == sorted([F(v) for v in row] for row in printed)
    discrete = sv.geometry.polytope(sv.metrics.discrete(3), alpha="1/2").vertices().matrix.tolist()
    high, low = {F(1, 2), F(1, 4)}, {F(1, 5), F(2, 5)}
    assert sorted(map(frozenset, discrete), key=sorted) == sorted(
        [frozenset(high)] * 3 + [frozenset(low)] * 3, key=sorted
    )
    assert sv.geometry.polytope(sv.metrics.line(2), alpha="1/2").vertices().matrix.tolist() == [
        [F(2, 3), F(1, 3)],
        [F(1, 3), F(2, 3)],
    ]


def test_tiny_and_huge_epsilon_keep_their_digits() -> None:
    shape = sv.geometry.polytope(sv.metrics.line(3), 400.0)
    rows = shape.vertices(exact=False).matrix
    assert rows[0].tolist() == pytest.approx([1.0, math.exp(-400), 0.0], rel=1e-12, abs=0)
    assert shape.vertices().to_dict()["levels"][0] == [0, -1, -2]
