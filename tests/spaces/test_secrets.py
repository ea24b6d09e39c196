"""Secret graphs: which values must not be told apart."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given

import sievert as sv
from sievert import testing
from sievert.errors import GraphError, TooLargeError


@pytest.mark.parametrize(
    ("graph", "edges"),
    [
        (sv.secrets.complete(3), [(0, 1), (0, 2), (1, 2)]),
        (sv.secrets.complete(["x"]), []),
        (sv.secrets.line(["lo", "mid", "hi"]), [("lo", "mid"), ("mid", "hi")]),
        (sv.secrets.line(1), []),
        (sv.secrets.cycle(4), [(0, 1), (1, 2), (2, 3), (0, 3)]),
        (sv.secrets.cycle(2), [(0, 1)]),
        (sv.secrets.threshold([0, 1, 5, 6.5], 1.5), [(0, 1), (5, 6.5)]),
        (sv.secrets.threshold(["a", "b"], 1, metric=lambda a, b: float(a != b)), [("a", "b")]),
        (sv.secrets.threshold(3, 0), []),
        (sv.secrets.partition([["a", "b"], ["c"], []]), [("a", "b")]),
        (sv.secrets.partition({"x": [1, 2], "y": [3, 4]}), [(1, 2), (3, 4)]),
        (sv.secrets.tree({"b": "a", "c": "a", "d": "c"}), [("b", "a"), ("c", "d"), ("c", "a")]),
        (sv.secrets.edges(["a", "b", "c"], [("b", "a"), ("a", "b")]), [("a", "b")]),
        (
            sv.secrets.product(sv.secrets.line(2), sv.secrets.complete(["x", "y"])),
            [((0, "x"), (1, "x")), ((0, "y"), (1, "y")), ((0, "x"), (0, "y")), ((1, "x"), (1, "y"))],
        ),
    ],
)
def test_kinds(graph: sv.secrets.SecretGraph, edges: list[tuple[object, object]]) -> None:
    assert set(map(frozenset, graph.labelled_edges())) == set(map(frozenset, edges))  # type: ignore[arg-type]
    assert len(graph.edges) == len(edges)
    assert "told apart" in graph.describe()


def test_threshold_matches_a_metric_by_label() -> None:
    metric = sv.Metric([[0, 1, 9], [1, 0, 9], [9, 9, 0]], points=["a", "b", "c"])
    assert sv.secrets.threshold(["c", "b", "a"], 1, metric).labelled_edges() == [("b", "a")]


def test_product_distance_adds_over_attributes() -> None:
    parts = [sv.secrets.line(3), sv.secrets.cycle(4), sv.secrets.complete(2)]
    joint = sv.secrets.product(*parts).metric()
    for a in joint.points:
        for b in joint.points:
            total = sum(part.metric().distance(u, v) for part, u, v in zip(parts, a, b, strict=True))
            assert joint.distance(a, b) == total


@given(testing.secret_graphs())
def test_every_kind_describes_itself_and_has_a_metric(graph: sv.secrets.SecretGraph) -> None:
    sv.Metric(graph.metric().matrix)
    assert graph.values == graph.nodes
    assert graph.describe()
    assert graph.to_dict()["nodes"] == list(graph.nodes)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: sv.secrets.complete(0),
            "values is 0; give the number of values or their labels, at least one",
        ),
        (lambda: sv.secrets.complete([]), "values is empty"),
        (lambda: sv.secrets.complete("yes"), "values is 'yes'; give the number of values"),
        (lambda: sv.secrets.complete(None), "values is None; give the number of values"),
        (lambda: sv.secrets.line(["a", "a"]), "values has the label 'a' twice"),
        (lambda: sv.secrets.threshold(3, -1), "theta is -1; it must be a number ≥ 0"),
        (lambda: sv.secrets.threshold(3, float("nan")), "theta is nan"),
        (lambda: sv.secrets.threshold(3, "1"), "theta is '1'"),
        (
            lambda: sv.secrets.threshold(["a", "b"], 1),
            r"values are not numbers, so \|u - v\| is undefined; pass m",
        ),
        (
            lambda: sv.secrets.threshold([1, 2], 1, sv.metrics.line(3)),
            "metric has 3 elements but 2 are needed",
        ),
        (
            lambda: sv.secrets.threshold([1, 2], 1, lambda a, b: a),
            "the distance 1 from 1 to 2 differs from the rev",
        ),
        (lambda: sv.secrets.partition([["a"], ["a"]]), "values has the label 'a' twice"),
        (lambda: sv.secrets.partition(3), "blocks is 3; give a list of lists of values"),
        (
            lambda: sv.secrets.tree({"a": "b", "b": "a"}),
            "'a' is its own ancestor through 'b'; a tree has no cycle",
        ),
        (lambda: sv.secrets.tree({"a": "a"}), "'a' is its own ancestor"),
        (lambda: sv.secrets.tree({}), "values is empty"),
        (lambda: sv.secrets.tree([1]), "parents is a list; give a mapping"),
        (lambda: sv.secrets.edges([1, 2], [(1, 3)]), r"3 in the edge \(1, 3\) is not one of the nodes"),
        (lambda: sv.secrets.edges([1, 2], [(1, 1)]), "joins a node to itself"),
        (sv.secrets.product, "product needs at least one secret graph"),
    ],
)
def test_bad_secrets_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(GraphError, match=message):
        build()


def test_too_large_graphs_say_their_size() -> None:
    with pytest.raises(TooLargeError, match="1000000 values have 499999500000 pairs") as caught:
        sv.secrets.complete(1_000_000).labelled_edges()
    assert caught.value.size == 499999500000
    with pytest.raises(TooLargeError, match="product has 1000000000 values; at most 20000"):
        sv.secrets.product(*[sv.secrets.line(1000)] * 3)


def test_numpy_numbers_are_numbers() -> None:
    assert sv.secrets.complete(np.int64(3)).values == (0, 1, 2)
    assert sv.secrets.line(np.arange(3)).values == (0, 1, 2)
