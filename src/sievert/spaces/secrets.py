"""Secret graphs: an edge between two values says "nobody may tell these apart" (Blowfish policies)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from itertools import product as cartesian
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import GraphError, TooLargeError
from sievert.numerics import abbreviated, instance, non_negative, require_size
from sievert.spaces._graph import Graph
from sievert.spaces._labels import CheckedLabels, Labels, align, label, labels_of, labels_or_range, listed
from sievert.spaces._metric import Edges, Metric, shortest_paths, uniform_matrix
from sievert.spaces._tabular import floats
from sievert.spaces._threshold_windows import ThresholdWindows, reach_of

__all__ = [
    "SecretGraph",
    "complete",
    "cycle",
    "edges",
    "line",
    "partition",
    "product",
    "threshold",
    "tree",
]


def __dir__() -> list[str]:
    return sorted(__all__)


# The value of a missing record.
ABSENT = "absent"
LARGEST_PRODUCT = 20_000
LARGEST_EDGES = 50_000_000
LARGEST_DISTANCES = 100_000_000


class SecretGraph(Graph):
    """Which values of one record must not be told apart; made by the functions of `sv.secrets`.

    Parameters
    ----------
    nodes : the values
    edges : pairs of values that must not be told apart

    Examples
    --------
    >>> SecretGraph(["low", "high"], [("low", "high")]).describe()
    'the listed pairs of values must not be told apart'
    """

    words: str = "the listed pairs of values must not be told apart"
    # The value of a missing record, where a record may be missing.
    absent: Hashable | None = None
    # Whether it joins any two values, or each with the next, by its definition.
    is_complete: bool = False
    is_path: bool = False
    # What a policy with these secrets is called, with one record and with more.
    presets: tuple[str, str] = ("blowfish", "blowfish")

    @property
    def values(self) -> Labels:
        """The values a record can take."""
        return self.nodes

    def diameter(self) -> int | None:
        """The most edges between two values, where that is known without distances."""
        return None

    def describe(self) -> str:
        """What the edges promise, in plain words."""
        return self.words


class CompleteGraph(SecretGraph):
    """All pairs of values joined; the edges are listed only when asked for."""

    words = "no two values may be told apart"
    is_complete = True
    presets = ("local", "differential")

    def __init__(self, nodes: Labels) -> None:
        self.nodes = nodes

    def diameter(self) -> int:
        """One edge, or none where there is one value."""
        return min(1, self.size - 1)

    @cached_property
    def edges(self) -> NDArray[np.intp]:  # type: ignore[override]
        """Every pair of values (refused when there are too many to list)."""
        _refuse_many_edges(self.size * (self.size - 1) // 2, self.size)
        return np.column_stack(np.triu_indices(self.size, 1))

    def metric(self) -> Metric:
        """1 between any two different values."""
        return Metric._known(self.nodes, partial(uniform_matrix, self.size), uniform=1.0)

    @cached_property
    def component_of(self) -> NDArray[np.intp]:
        """One component."""
        return np.zeros(self.size, dtype=np.intp)

    def __repr__(self) -> str:
        return f"SecretGraph({self.size} values, complete)"


class LineGraph(SecretGraph):
    """Each value joined to the next."""

    words = "neighbouring values may not be told apart"
    is_path = True

    def diameter(self) -> int:
        """From one end to the other."""
        return self.size - 1


class CycleGraph(SecretGraph):
    """Each value joined to the next, and the last to the first."""

    words = "neighbouring values around a cycle may not be told apart"

    def diameter(self) -> int:
        """Half the way around."""
        return self.size // 2


class PresenceGraph(SecretGraph):
    """A missing record joined to each value: neighbours differ by the presence of a record."""

    words = "whether a record is present, and with which value, may not be told"
    absent = ABSENT
    presets = ("differential (add-remove)", "differential (add-remove)")

    def diameter(self) -> int:
        """Out with one value and in with another."""
        return min(2, self.size - 1)


class ThresholdGraph(SecretGraph):
    """Each number joined to those at most so far from it; the edges are listed only when asked for."""

    def __init__(self, nodes: Labels, reach: ThresholdWindows, words: str) -> None:
        self.nodes = labels_or_range(nodes, len(nodes), "values", GraphError)
        self.reach = reach
        self.words = words

    def diameter(self) -> int | None:
        """From the least number to the greatest, as far as possible at a time."""
        return None if self.reach.starts.any() else self.reach.hops

    @cached_property
    def edges(self) -> NDArray[np.intp]:  # type: ignore[override]
        """Every pair of near numbers (refused when there are too many to list)."""
        _refuse_many_edges(self.reach.pair_count, self.size)
        return self.reach.pairs()

    def metric(self) -> Metric:
        """The number of edges between two values; listed only when asked for."""
        n = self.size
        whole = 1.0 if n > 1 and self.reach.pair_count == n * (n - 1) // 2 else None
        found = Metric._known(self.nodes, partial(_edge_counts, self), partial(_unit_edges, self), whole)
        if whole is None:
            found.__dict__["uniform_distance"] = None
        found.__dict__["component_of"] = self.component_of
        return found

    @cached_property
    def component_of(self) -> NDArray[np.intp]:
        """Numbers without a gap wider than the threshold between them."""
        return self.reach.components()

    def __repr__(self) -> str:
        return f"SecretGraph({self.size} values, {self.reach.pair_count} pairs)"


def _unit_edges(graph: SecretGraph) -> Edges:
    return Edges(graph.edges, np.ones(len(graph.edges)))


def _edge_counts(graph: SecretGraph) -> NDArray[np.float64]:
    return shortest_paths(_unit_edges(graph), graph.size)


def _secret(
    nodes: Iterable[object], pairs: NDArray[np.intp] | list[tuple[int, int]], words: str
) -> SecretGraph:
    return _of_pairs(SecretGraph, nodes, pairs, words=words)


def _of_pairs(
    form: type[SecretGraph],
    nodes: Iterable[object],
    pairs: NDArray[np.intp] | list[tuple[int, int]],
    **attributes: Any,
) -> SecretGraph:
    items = nodes if isinstance(nodes, range | CheckedLabels) else list(nodes)
    if not items:
        raise GraphError("values is empty; a record needs at least one value")
    labels = labels_or_range(items, len(items), "values", GraphError)
    return form._of_indices(labels, np.array(pairs, dtype=np.intp).reshape(-1, 2), **attributes)


def _values(values: object) -> Labels:
    return labels_of(values, "values", "values", GraphError)


def complete(values: int | Iterable[object]) -> SecretGraph:
    """Any two values must not be told apart (ordinary differential privacy).

    Parameters
    ----------
    values : how many values, or the values themselves

    Returns
    -------
    SecretGraph

    Notes
    -----
    Cost: O(n): edges are listed when one asks for them.

    Examples
    --------
    >>> complete(["yes", "no"]).labelled_edges()
    [('yes', 'no')]
    """
    return CompleteGraph(_values(values))


def presence(values: Iterable[object]) -> SecretGraph:
    """Whether a record is there, and with which value, must not be told: each value is next to "absent".

    >>> presence(["yes", "no"]).labelled_edges()
    [('absent', 'yes'), ('absent', 'no')]
    """
    items = listed(_values(values), "values")
    pairs = np.column_stack([np.zeros(len(items), np.intp), np.arange(1, len(items) + 1)])
    nodes = [ABSENT, *items]
    return _of_pairs(PresenceGraph, nodes if ABSENT in items else CheckedLabels(nodes), pairs)


def _refuse_many_edges(count: int, size: int) -> None:
    if count > LARGEST_EDGES:
        raise TooLargeError(
            f"values: {size} values have {count} pairs that must not be told apart; at most {LARGEST_EDGES} "
            "are stored; coarsen the values, or use a line, cycle or tree",
            size=count,
        )


def line(values: int | Iterable[object]) -> SecretGraph:
    """Each value must not be told apart from the next.

    Parameters
    ----------
    values : how many values, or the values themselves in order

    Returns
    -------
    SecretGraph

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> line(3).labelled_edges()
    [(0, 1), (1, 2)]
    """
    items = listed(_values(values), "values")
    index = np.arange(len(items) - 1)
    return _of_pairs(LineGraph, items, np.column_stack([index, index + 1]))


def cycle(values: int | Iterable[object]) -> SecretGraph:
    """As `line`, with the last value next to the first.

    Parameters
    ----------
    values : how many values, or the values themselves in order

    Returns
    -------
    SecretGraph

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> cycle(["N", "E", "S", "W"]).is_edge("W", "N")
    True
    """
    items = listed(_values(values), "values")
    index = np.arange(len(items) - 1)
    closing = [[0, len(items) - 1]] if len(items) > 2 else np.empty((0, 2), dtype=np.intp)
    pairs = np.concatenate([np.column_stack([index, index + 1]), closing])
    return _of_pairs(CycleGraph, items, pairs)


def threshold(
    values: int | Iterable[object],
    theta: float,
    metric: Metric | Callable[[object, object], float] | None = None,
) -> SecretGraph:
    """Values at distance at most theta must not be told apart.

    Parameters
    ----------
    values : how many values, or the values themselves
    theta : the distance
    metric : a `Metric` or a function of two values; by default |u - v|, for numbers

    Returns
    -------
    SecretGraph

    Notes
    -----
    Cost: O(n·log n) for numbers, whose edges are listed when one asks for them; O(n²) with a metric.

    References
    ----------
    Edwards et al., Ex. 1.

    Examples
    --------
    >>> len(threshold(4, 2).edges)
    5
    """
    items = listed(_values(values), "values")
    theta = non_negative("theta", theta, GraphError, infinite=True)
    words = f"values at distance at most {theta:g} may not be told apart"
    if metric is None:
        return ThresholdGraph(items, reach_of(_positions(items), theta), words)
    require_size(len(items) ** 2, LARGEST_DISTANCES, "the distances of all values", "group the values first")
    distances = _distances(items, metric)
    if not np.array_equal(distances, distances.T):
        i, j = map(int, np.argwhere(distances != distances.T)[0])
        raise GraphError(
            f"metric: the distance {distances[i, j]:g} from {items[i]!r} to {items[j]!r} differs from the "
            f"reverse distance {distances[j, i]:g} or is not a number; a distance is symmetric"
        )
    close = np.argwhere(np.triu(distances <= theta, 1))
    _refuse_many_edges(len(close), len(items))
    return _secret(items, close, words)


def _positions(items: Labels) -> NDArray[np.float64]:
    """The values as finite numbers."""
    rule = "so |u - v| is undefined"
    if not isinstance(items, range) and any(
        isinstance(item, bool | complex) or not isinstance(item, int | float | Fraction) for item in items
    ):
        raise GraphError(
            f"values are not numbers, {rule}",
            fix="pass metric= to say how far apart they are",
            file_fix="list the pairs that may not be told apart under edges instead",
        )
    numbers = np.array(items, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise GraphError(f"values are not all finite, {rule}")
    return numbers


def _distances(
    items: Sequence[object], metric: Metric | Callable[[object, object], float]
) -> NDArray[np.float64]:
    if isinstance(metric, Metric):
        labels = labels_or_range(items, len(items), "values", GraphError)
        order = align(labels, metric.points, "metric", GraphError)
        return metric.matrix if order is None else metric.matrix[np.ix_(order, order)]
    if not callable(metric):
        raise GraphError(f"metric is {abbreviated(metric)}; give a sv.Metric or a function of two values")
    try:
        rows = [[metric(a, b) for b in items] for a in items]
    except Exception as problem:
        raise GraphError(
            f"metric raised {type(problem).__name__}: {problem}; a function of two values must give a number"
        ) from problem
    return floats(rows, "metric", GraphError, "a function of two values must give a number")


def partition(blocks: Mapping[object, Iterable[object]] | Iterable[Iterable[object]]) -> SecretGraph:
    """Values of one block must not be told apart; the block itself is no secret.

    Parameters
    ----------
    blocks : lists of values, or a mapping from the name of a block to its list

    Returns
    -------
    SecretGraph

    Notes
    -----
    Cost: O(pairs of values in one block).

    Examples
    --------
    >>> partition({"ill": ["flu", "cold"], "well": ["none"]}).labelled_edges()
    [('flu', 'cold')]
    """
    try:
        groups = [list(block) for block in (blocks.values() if isinstance(blocks, Mapping) else blocks)]
    except TypeError:
        raise GraphError(f"blocks is {abbreviated(blocks)}; give a list of lists of values") from None
    items = [value for block in groups for value in block]
    _refuse_many_edges(sum(len(block) * (len(block) - 1) // 2 for block in groups), len(items))
    pairs: list[tuple[int, int]] = []
    start = 0
    for block in groups:
        stop = start + len(block)
        pairs += [(i, j) for i in range(start, stop) for j in range(i + 1, stop)]
        start = stop
    words = f"values of the same block (of {len(groups)}) may not be told apart"
    return _secret(items, pairs, words)


def tree(parents: Mapping[object, object]) -> SecretGraph:
    """A hierarchy: each value must not be told apart from its parent (the root's parent is None).

    Parameters
    ----------
    parents : from each value to its parent

    Returns
    -------
    SecretGraph

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> tree({"flu": "ill", "cold": "ill", "ill": None}).labelled_edges()
    [('flu', 'ill'), ('cold', 'ill')]
    """
    if not isinstance(parents, Mapping):
        raise GraphError(
            f"parents is a {type(parents).__name__}; give a mapping from each value to its parent"
        )
    try:
        names = {label(child): None if up is None else label(up) for child, up in parents.items()}
    except TypeError as problem:
        raise GraphError(f"parents: {problem}") from None
    nodes = list(dict.fromkeys([*names, *(p for p in names.values() if p is not None)]))
    position: dict[Hashable, int] = {node: i for i, node in enumerate(nodes)}
    _refuse_cycles(names)
    pairs = {
        (min(position[child], position[parent]), max(position[child], position[parent]))
        for child, parent in names.items()
        if parent is not None
    }
    return _secret(nodes, sorted(pairs), "a value and its parent may not be told apart")


def _refuse_cycles(parents: Mapping[Hashable, Hashable | None]) -> None:
    finished: set[Hashable] = set()
    for child in parents:
        path: dict[Hashable, None] = {}
        ancestor: Hashable | None = child
        while ancestor is not None and ancestor not in finished:
            if ancestor in path:
                raise GraphError(
                    f"parents: {abbreviated(ancestor)} is its own ancestor through {parents[ancestor]!r}; "
                    "a tree has no cycle; give one of them the parent None"
                )
            path[ancestor] = None
            ancestor = parents.get(ancestor)
        finished.update(path)


def edges(values: int | Iterable[object], edges: Iterable[tuple[object, object]]) -> SecretGraph:
    """The listed pairs of values must not be told apart.

    Parameters
    ----------
    values : how many values, or the values themselves
    edges : pairs of values

    Returns
    -------
    SecretGraph

    Notes
    -----
    Cost: O(values + edges).

    Examples
    --------
    >>> edges(["a", "b", "c"], [("a", "c")]).describe()
    '1 listed pair of values may not be told apart'
    """
    graph = Graph(_values(values), edges)
    count = len(graph.edges)
    words = f"{count} listed {'pair' if count == 1 else 'pairs'} of values may not be told apart"
    return _secret(graph.nodes, graph.edges, words)


def product(*parts: SecretGraph) -> SecretGraph:
    """Several attributes: tuples that differ in one attribute, by an edge of that attribute's graph.

    Parameters
    ----------
    parts : one secret graph for each attribute

    Returns
    -------
    SecretGraph
        On tuples of one value of each.

    Notes
    -----
    Cost: O(tuples·edges of the parts), at most 20,000 tuples.

    Examples
    --------
    >>> product(line(2), complete(["f", "m"])).size
    4
    """
    if not parts:
        raise GraphError("product needs at least one secret graph")
    for part in parts:
        instance("parts", part, SecretGraph, "secret graphs, such as sv.secrets.line(values)", GraphError)
    sizes = [part.size for part in parts]
    size = int(np.prod(sizes, dtype=object))
    if size > LARGEST_PRODUCT:
        raise TooLargeError(
            f"product has {size} values; at most {LARGEST_PRODUCT} are stored explicitly", size=size
        )
    nodes = tuple(cartesian(*(part.nodes for part in parts)))
    index = np.arange(size).reshape(sizes)
    pairs = [
        np.column_stack(
            [np.take(index, part.edges[:, 0], axis).ravel(), np.take(index, part.edges[:, 1], axis).ravel()]
        )
        for axis, part in enumerate(parts)
    ]
    words = "one attribute at a time: " + "; ".join(
        f"attribute {axis + 1}: {part.words}" for axis, part in enumerate(parts)
    )
    joined = np.sort(np.concatenate(pairs), axis=1)
    found = _secret(nodes, joined, words)
    if len(parts) > 1:
        found.factors = parts
    return found
