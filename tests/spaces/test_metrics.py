"""Distances along edges with lengths."""

from __future__ import annotations

import numpy as np
import pytest

from sievert import Metric, SievertError, metrics


def test_edges_with_lengths_give_the_shortest_way() -> None:
    town = metrics.from_graph([("a", "b", 2.5), ("b", "c", 1), ("a", "c", 9), ("b", "a", 4)], nodes="abcd")
    assert town.matrix.tolist() == [
        [0.0, 2.5, 3.5, np.inf],
        [2.5, 0.0, 1.0, np.inf],
        [3.5, 1.0, 0.0, np.inf],
        [np.inf, np.inf, np.inf, 0.0],
    ]


def test_lengths_draw_the_same_metric_as_their_closure() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        size = int(rng.integers(2, 8))
        pairs = [(i, j) for i in range(size) for j in range(i) if rng.random() < 0.6]
        lengths = rng.integers(0, 9, len(pairs)) / 4
        matrix = np.full((size, size), np.inf)
        np.fill_diagonal(matrix, 0.0)
        for (i, j), length in zip(pairs, lengths, strict=True):
            matrix[i, j] = matrix[j, i] = length
        drawn = metrics.from_graph([(i, j, d) for (i, j), d in zip(pairs, lengths, strict=True)], range(size))
        assert np.array_equal(drawn.matrix, Metric(matrix, close=True).matrix)


@pytest.mark.parametrize(
    ("edges", "words"),
    [
        ([("a", "b", -1)], "the length of ('a', 'b') is -1"),
        ([("a", "b", float("nan"))], "the length of ('a', 'b') is nan"),
        ([("a", "b", 1), ("b", "c")], "('b', 'c') has no length"),
        ("abc", "give pairs of nodes"),
        ([("a", "a", 1)], "a"),
    ],
)
def test_bad_lengths_are_named(edges: object, words: str) -> None:
    with pytest.raises(SievertError) as found:
        metrics.from_graph(edges)  # type: ignore[arg-type]
    assert words in str(found.value)
