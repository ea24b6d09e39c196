"""Who must not be told apart from whom: a metric and ε as the edges that imply all the rest."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.errors import MechanismError
from sievert.numerics import read_eps, require_size
from sievert.proofs import Neighbours
from sievert.spaces import Labels, Metric

__all__ = ["is_line", "neighbours_of"]


def is_line(space: Neighbours) -> bool:
    """Whether each input has the one before and the one after as neighbours, and nobody else."""
    return space.form == "forest" and space.pairs == tuple((i, i + 1) for i in range(space.size - 1))


def neighbours_of(labels: Labels, metric: Metric | None, level: Any) -> Neighbours:
    """Who must not be told apart from whom, in the form that is checked fastest."""
    n = len(labels)
    if level is None or math.isinf(level.eps) or n == 1:
        return Neighbours("free", n)
    promise = (
        (None, level.alpha) if level.alpha is not None else (level.exact_eps or read_eps(level.eps), None)
    )
    if metric is None:
        return Neighbours("uniform", n, (), (Fraction(1),), *promise)
    if tuple(metric.points) != tuple(labels):
        metric = metric.restricted(labels)
    if metric.uniform_distance is not None and 0 < metric.uniform_distance < math.inf:
        return Neighbours("uniform", n, (), _lengths([metric.uniform_distance], promise), *promise)
    pairs, lengths = _edges(metric)
    if not pairs:
        return Neighbours("free", n)
    form = "forest" if len(pairs) < n else "graph"
    found = Neighbours(form, n, pairs, _lengths(lengths, promise), *promise)
    if form == "forest" and len(found.order) != len(pairs):
        found = Neighbours("graph", n, pairs, found.lengths, *promise)
    return found


def _lengths(lengths: Sequence[float], promise: tuple[Any, Any]) -> tuple[Fraction, ...]:
    found = tuple(Fraction(float(length)) for length in lengths)
    if promise[1] is not None and any(length.denominator != 1 for length in found):
        raise MechanismError("alpha goes with whole distances; give eps for a metric with others")
    return found


def _edges(metric: Metric) -> tuple[tuple[tuple[int, int], ...], list[float]]:
    """Edges whose shortest paths are the metric: those that no third point lies between."""
    if metric.edges is not None:
        pairs = tuple((int(a), int(b)) for a, b in metric.edges.pairs.tolist())
        return pairs, metric.edges.lengths.tolist()
    require_size(
        metric.size, 600, "the points of a metric without edges", "give a metric on a line or a graph"
    )
    distance = metric.matrix
    n = len(distance)
    needed = np.isfinite(distance) & np.triu(np.ones((n, n), dtype=bool), 1)
    for v in range(n):
        through = distance[:, v][:, None] + distance[v][None, :]
        near = through <= distance * (1 + 1e-12)
        # A point at distance 0 from an end is that end; the first of them stands for all.
        near[distance[:, v] == 0] = False
        near[:, distance[v] == 0] = False
        needed &= ~near
    zero = distance == 0
    first = zero.argmax(axis=0)
    for i, j in np.argwhere(needed).tolist():
        if distance[i, j] > 0 and (first[i] != i or first[j] != j):
            needed[i, j] = False
        if distance[i, j] == 0 and first[j] != i:
            needed[i, j] = False
    found = np.argwhere(needed).tolist()
    return tuple((int(i), int(j)) for i, j in found), [float(distance[i, j]) for i, j in found]
