"""The named metrics: line, discrete, cycle, grid, Hamming, Manhattan, Euclidean, graph distance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sievert.errors import GraphError, MetricError, TooLargeError
from sievert.numerics import abbreviated, non_negative, require_size, taken, whole
from sievert.spaces._graph import Graph
from sievert.spaces._labels import Labels, iterable, label, labels_of, labels_or_range, listed, shown
from sievert.spaces._metric import Edges, Metric, least_lengths, uniform_matrix
from sievert.spaces._tabular import floats, table_of

__all__ = [
    "cycle",
    "discrete",
    "euclidean",
    "from_graph",
    "grid",
    "hamming",
    "line",
    "manhattan",
]


def __dir__() -> list[str]:
    return sorted(__all__)


LARGEST_EXPLICIT = 20_000
LARGEST_CELLS = 2_000_000


def line(n: int | Sequence[float]) -> Metric:
    """|x - y| on 0…n-1, or on the given numbers.

    Parameters
    ----------
    n : number of points 0…n-1, or the numbers themselves

    Returns
    -------
    Metric

    Notes
    -----
    Cost: O(n); distances are computed when one asks for them.

    Examples
    --------
    >>> line([0, 1, 5]).distance(1, 5)
    4.0
    """
    labels = listed(labels_of(n, "n", "points", MetricError), "points")
    rule = "the points of a line must be finite numbers"
    positions = _of_range(n) if isinstance(n, range) else floats(labels, "n", MetricError, rule)
    if positions.ndim != 1 or not np.isfinite(positions).all():
        raise MetricError(f"n is {shown(labels)}; {rule}")
    lengths = np.diff(positions)
    if bool((lengths > 0).all()):
        pairs = np.repeat(np.arange(len(positions)), 2)[1:-1].reshape(-1, 2)
    else:
        order = np.argsort(positions)
        pairs, lengths = np.column_stack([order[:-1], order[1:]]), np.diff(positions[order])
    edges = Edges(pairs, lengths)
    return Metric._known(labels, partial(_along_line, positions), edges, positions=positions)


def _of_range(numbers: range) -> NDArray[np.float64]:
    return np.arange(len(numbers), dtype=np.float64) * numbers.step + numbers.start


def _along_line(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(positions[:, None] - positions[None, :])


def discrete(n: int | Iterable[object]) -> Metric:
    """1 between any two different points (n of them, or the given labels).

    Parameters
    ----------
    n : number of points, or their labels

    Returns
    -------
    Metric

    Notes
    -----
    Cost: O(n); distances are computed when one asks for them.

    Examples
    --------
    >>> discrete(["yes", "no"]).distance("yes", "no")
    1.0
    """
    labels = labels_of(n, "n", "points", MetricError)
    size = len(labels)
    return Metric._known(labels, partial(uniform_matrix, size), uniform=1.0)


def cycle(n: int) -> Metric:
    """Steps around a cycle of n points.

    Parameters
    ----------
    n : number of points

    Returns
    -------
    Metric

    Notes
    -----
    Cost: O(n); distances are computed when one asks for them.

    Examples
    --------
    >>> cycle(6).matrix[0].tolist()
    [0.0, 1.0, 2.0, 3.0, 2.0, 1.0]
    """
    labels = listed(labels_of(whole("n", n, MetricError), "n", "points", MetricError), "points")
    size = len(labels)
    index = np.arange(size - 1)
    closing = [[0, size - 1]] if size > 2 else np.empty((0, 2), dtype=np.intp)
    pairs = np.concatenate([np.column_stack([index, index + 1]), closing]).astype(np.intp)
    return Metric.from_edges(Edges(pairs, np.ones(len(pairs))), labels, size)


def grid(rows: int, columns: int) -> Metric:
    """Manhattan distance on the cells (row, column) of a grid.

    Parameters
    ----------
    rows, columns : size of the grid

    Returns
    -------
    Metric
        On the cells (row, column).

    Notes
    -----
    Cost: O(cells); distances are computed when one asks for them.

    Examples
    --------
    >>> grid(2, 3).distance((0, 0), (1, 2))
    3.0
    """
    height, width = whole("rows", rows, MetricError), whole("columns", columns, MetricError)
    require_size(height * width, LARGEST_CELLS, "the cells of the grid", "use larger cells")
    index = np.arange(height * width).reshape(height, width)
    down = np.column_stack([index[:-1].ravel(), index[1:].ravel()])
    across = np.column_stack([index[:, :-1].ravel(), index[:, 1:].ravel()])
    pairs = np.concatenate([down, across])
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    cells = tuple(product(range(height), range(width)))
    positions = np.array(cells, dtype=np.float64)
    edges = Edges(pairs, np.ones(len(pairs)))
    found = Metric._known(cells, partial(_between, positions, "cityblock"), edges)
    found.factors = line(height), line(width)
    return found


def hamming(length: int, values: int) -> Metric:
    """Number of differing entries between the tuples of `length` entries 0…values-1.

    Parameters
    ----------
    length : entries of a tuple
    values : how many values an entry may have

    Returns
    -------
    Metric
        On the values^length tuples.

    Notes
    -----
    Cost: O(values^length·length·values), at most 20,000 tuples.

    Examples
    --------
    >>> hamming(3, 2).distance((0, 0, 1), (1, 0, 0))
    2.0
    """
    length, values = whole("length", length, MetricError), whole("values", values, MetricError)
    size = values**length if length < 64 and length * math.log2(values) < 63 else 2**63
    if size > LARGEST_EXPLICIT:
        raise TooLargeError(
            f"hamming({abbreviated(length)}, {abbreviated(values)}) has too many points to store (at most "
            f"{LARGEST_EXPLICIT}); use sv.Policy.differential(values, records), which stays implicit",
            size=size,
        )
    points = list(product(range(values), repeat=length))
    array = np.array(points, dtype=np.float64)
    steps = np.array([values**i for i in range(length)][::-1], dtype=np.intp)
    index = np.arange(size)
    pairs = [
        np.column_stack([index, index + d * steps[i]])[array[:, i] + d < values]
        for i in range(length)
        for d in range(1, values)
    ]
    joined = np.concatenate(pairs) if pairs else np.empty((0, 2), dtype=np.intp)
    edges = Edges(joined, np.ones(len(joined)))
    found = Metric._known(tuple(points), partial(_differing, array), edges)
    if length > 1:
        found.factors = (discrete(values),) * length
    return found


def _differing(tuples: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.spatial.distance import cdist

    return np.asarray(np.rint(tuples.shape[1] * cdist(tuples, tuples, "hamming")))


def manhattan(points: ArrayLike, labels: Iterable[object] | None = None) -> Metric:
    """Sum of coordinate differences between points given as rows of coordinates.

    Parameters
    ----------
    points : one row of coordinates a point
    labels : of the points; by default the coordinates themselves

    Returns
    -------
    Metric

    Notes
    -----
    Cost: O(n); distances are computed when one asks for them.

    Examples
    --------
    >>> manhattan([[0, 0], [3, 4]]).distance((0, 0), (3, 4))
    7.0
    """
    names, places = _coordinates(points, labels)
    return Metric._known(names, partial(_between, places, "cityblock"))


def euclidean(points: ArrayLike, labels: Iterable[object] | None = None) -> Metric:
    """Straight-line distance between points given as rows of coordinates.

    Parameters
    ----------
    points : one row of coordinates a point
    labels : of the points; by default the coordinates themselves

    Returns
    -------
    Metric

    Notes
    -----
    Cost: O(n); distances are computed when one asks for them.

    Examples
    --------
    >>> euclidean([[0, 0], [3, 4]], labels=["home", "work"]).distance("home", "work")
    5.0
    """
    names, places = _coordinates(points, labels)
    return Metric._known(names, partial(_between, places, "euclidean"), coordinates=places)


def from_graph(edges: Iterable[tuple[object, ...]], nodes: Iterable[object] | None = None) -> Metric:
    """Shortest-path distance between nodes of an undirected graph (inf when not connected).

    Parameters
    ----------
    edges : pairs of nodes, each one step long, or triples of two nodes and a length (finite and ≥ 0)
    nodes : all nodes; by default those of the edges

    Returns
    -------
    Metric

    Notes
    -----
    An edge longer than a way round it counts as long as the way; of parallel edges the shortest counts.

    Cost: O(nodes + edges); distances by breadth-first search, with lengths by Dijkstra's, when one asks.

    Examples
    --------
    >>> from_graph([("a", "b"), ("b", "c")], nodes=["a", "b", "c", "d"]).matrix[0].tolist()
    [0.0, 1.0, 2.0, inf]
    >>> from_graph([("home", "shop", 2.5), ("shop", "work", 1), ("home", "work", 9)]).matrix[0].tolist()
    [0.0, 2.5, 3.5]
    """
    if isinstance(edges, str) or not iterable(edges):
        raise GraphError(f"edges is {abbreviated(edges)}; give pairs of nodes, or triples with a length")
    listed_edges = taken("edges", edges, GraphError, "pairs of nodes")
    if not any(isinstance(edge, list | tuple) and len(edge) == 3 for edge in listed_edges):
        return Graph.from_edges(listed_edges, nodes).metric()
    for edge in listed_edges:
        if not isinstance(edge, list | tuple) or len(edge) != 3:
            raise GraphError(
                f"edges: {abbreviated(edge)} has no length, but others have; give each as (node, node, "
                f"length)"
            )
    graph = Graph.from_edges([edge[:2] for edge in listed_edges], nodes)
    lengths = [
        non_negative(f"edges: the length of {abbreviated(tuple(edge[:2]))}", edge[2], GraphError)
        for edge in listed_edges
    ]
    place = graph.position
    pairs = [sorted((place[label(first)], place[label(second)])) for first, second, _ in listed_edges]
    joined = Edges(np.array(pairs, dtype=np.intp).reshape(-1, 2), np.array(lengths, dtype=np.float64))
    return Metric.from_edges(least_lengths(joined, graph.size), graph.nodes, graph.size)


def _between(positions: NDArray[np.float64], kind: Literal["euclidean", "cityblock"]) -> NDArray[np.float64]:
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(positions, positions, kind), dtype=np.float64)


def between_points(labels: Labels, places: NDArray[np.float64]) -> Metric:
    """Straight lines between points whose labels are known to be good."""
    return Metric._known(labels, partial(_between, places, "euclidean"), coordinates=places)


def _coordinates(points: ArrayLike, labels: Iterable[object] | None) -> tuple[Labels, NDArray[np.float64]]:
    """The names of the points, and a row of coordinates each."""
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
    return names, array
