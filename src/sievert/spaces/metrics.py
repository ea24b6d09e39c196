"""The named metrics: line, discrete, cycle, grid, Hamming, Manhattan, Euclidean, graph distance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist

from sievert.errors import MetricError, TooLargeError
from sievert.spaces.graph import Graph
from sievert.spaces.labels import labels_of, labels_or_range, shown, whole_number
from sievert.spaces.metric import Edges, Metric
from sievert.spaces.tabular import floats, table_of

__all__ = ["cycle", "discrete", "euclidean", "from_graph", "grid", "hamming", "line", "manhattan"]

LARGEST_EXPLICIT = 20_000


def line(n: int | Sequence[float]) -> Metric:
    """|x - y| on 0…n-1, or on the given numbers.

    >>> line([0, 1, 5]).distance(1, 5)
    4.0
    """
    labels = labels_of(n, "n", "points", MetricError)
    try:
        positions = np.array(labels, dtype=np.float64)
    except (TypeError, ValueError):
        positions = np.full(1, np.nan)
    if positions.ndim != 1 or not np.isfinite(positions).all():
        raise MetricError(f"n is {shown(labels)}; the points of a line must be finite numbers")
    lengths = np.diff(positions)
    if bool((lengths > 0).all()):
        pairs = np.repeat(np.arange(len(positions)), 2)[1:-1].reshape(-1, 2)
    else:
        order = np.argsort(positions)
        pairs, lengths = np.column_stack([order[:-1], order[1:]]), np.diff(positions[order])
    edges = Edges(pairs, lengths)
    return Metric._known(labels, lambda: np.abs(positions[:, None] - positions[None, :]), edges)


def discrete(n: int | Iterable[object]) -> Metric:
    """1 between any two different points (n of them, or the given labels).

    >>> discrete(["yes", "no"]).distance("yes", "no")
    1.0
    """
    labels = labels_of(n, "n", "points", MetricError)
    size = len(labels)
    return Metric._known(labels, lambda: 1.0 - np.eye(size), uniform=1.0)


def cycle(n: int) -> Metric:
    """Steps around a cycle of n points.

    >>> cycle(6).matrix[0].tolist()
    [0.0, 1.0, 2.0, 3.0, 2.0, 1.0]
    """
    return Graph.cycle(range(whole_number("n", n, MetricError))).metric()


def grid(rows: int, columns: int) -> Metric:
    """Manhattan distance on the cells (row, column) of a grid.

    >>> grid(2, 3).distance((0, 0), (1, 2))
    3.0
    """
    height, width = whole_number("rows", rows, MetricError), whole_number("columns", columns, MetricError)
    cells = list(product(range(height), range(width)))
    edges = [((r, c), (r + 1, c)) for r, c in cells if r + 1 < rows]
    edges += [((r, c), (r, c + 1)) for r, c in cells if c + 1 < columns]
    metric = Graph(cells, edges).metric()
    positions = np.array(cells, dtype=np.float64)
    return Metric._known(metric.points, lambda: cdist(positions, positions, "cityblock"), metric.edges)


def hamming(n: int, k: int) -> Metric:
    """Number of differing entries between the k^n tuples of n values 0…k-1.

    >>> hamming(3, 2).distance((0, 0, 1), (1, 0, 0))
    2.0
    """
    size = whole_number("k", k, MetricError) ** whole_number("n", n, MetricError)
    if size > LARGEST_EXPLICIT:
        raise TooLargeError(
            f"hamming({n}, {k}) has {k}^{n} points; at most {LARGEST_EXPLICIT} are stored explicitly; "
            "use sv.Policy.differential(values, records), which stays implicit",
            size=size,
        )
    points = list(product(range(k), repeat=n))
    array = np.array(points, dtype=np.float64)
    steps = np.array([k**i for i in range(n)][::-1], dtype=np.intp)
    index = np.arange(size)
    pairs = [
        np.column_stack([index, index + d * steps[i]])[array[:, i] + d < k]
        for i in range(n)
        for d in range(1, k)
    ]
    joined = np.concatenate(pairs) if pairs else np.empty((0, 2), dtype=np.intp)
    edges = Edges(joined, np.ones(len(joined)))
    return Metric._known(tuple(points), lambda: np.rint(n * cdist(array, array, "hamming")), edges)


def manhattan(points: ArrayLike, labels: Iterable[object] | None = None) -> Metric:
    """Sum of coordinate differences between points given as rows of coordinates.

    >>> manhattan([[0, 0], [3, 4]]).distance((0, 0), (3, 4))
    7.0
    """
    return _coordinates(points, labels, "cityblock")


def euclidean(points: ArrayLike, labels: Iterable[object] | None = None) -> Metric:
    """Straight-line distance between points given as rows of coordinates.

    >>> euclidean([[0, 0], [3, 4]], labels=["home", "work"]).distance("home", "work")
    5.0
    """
    return _coordinates(points, labels, "euclidean")


def from_graph(edges: Iterable[tuple[object, object]], nodes: Iterable[object] | None = None) -> Metric:
    """Number of steps between nodes of an undirected graph (inf when not connected).

    >>> from_graph([("a", "b"), ("b", "c")], nodes=["a", "b", "c", "d"]).matrix[0].tolist()
    [0.0, 1.0, 2.0, inf]
    """
    return Graph.from_edges(edges, nodes).metric()


def _coordinates(
    points: ArrayLike, labels: Iterable[object] | None, kind: Literal["euclidean", "cityblock"]
) -> Metric:
    rule = "points: give one row of finite coordinates for each point"
    table = table_of(points, "points", MetricError)
    entries, labels, _ = table.ordered(labels, None, ("labels", "coordinates"), MetricError)
    array = floats(entries, "points", MetricError, "give one row of finite coordinates for each point")
    if array.ndim != 2 or not array.size:
        raise MetricError(
            f"{rule}, not an array of shape {array.shape}; for single numbers use sv.metrics.line"
        )
    broken = np.argwhere(~np.isfinite(array))
    if len(broken):
        i, j = map(int, broken[0])
        raise MetricError(f"{rule}; row {i} has {array[i, j]} as coordinate {j}")
    rows = [tuple(row) for row in array.tolist()]
    if labels is None and len(set(rows)) < len(rows):
        twice = next(row for i, row in enumerate(rows) if row in rows[:i])
        raise MetricError(f"points has {twice} twice", fix="pass labels= to tell such points apart")
    names = labels_or_range(rows if labels is None else labels, len(rows), "labels", MetricError)
    return Metric._known(names, lambda: np.asarray(cdist(array, array, kind), dtype=np.float64))
