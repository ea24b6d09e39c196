"""Undirected simple graphs on labelled nodes."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sievert.errors import GraphError, MetricError
from sievert.numerics import abbreviated, instance, require_size, taken
from sievert.spaces._labels import LARGEST_LISTED, Labels, iterable, label, labels_or_range, shown, worded
from sievert.spaces._metric import Edges, Metric

__all__ = ["Graph", "graph_of", "metric_of", "product_edges", "product_neighbours"]

LARGEST_PAIRS = 10_000_000


def node_list(nodes: object) -> list[Any]:
    """Nodes one by one, refused when there are too many."""
    if not iterable(nodes):
        raise GraphError(f"nodes is {abbreviated(nodes)}; give a list of labels")
    if isinstance(nodes, Sequence):
        require_size(len(nodes), LARGEST_LISTED, "a list of nodes", "group the nodes first")
    return taken("nodes", nodes, GraphError, "nodes")


class Graph:
    """An undirected simple graph: labelled nodes and edges between different ones.

    Parameters
    ----------
    nodes : sequence
        Distinct labels.
    edges : iterable of pairs of labels
        Each edge once or in both directions; loops are refused.

    Examples
    --------
    >>> Graph(["a", "b", "c"], [("a", "b")]).components()
    [['a', 'b'], ['c']]
    """

    # Graphs whose Cartesian product this one is, the first varying slowest; none where unknown.
    factors: tuple[Graph, ...] = ()

    def __init__(self, nodes: Iterable[object], edges: Iterable[tuple[object, object]] = ()):
        items = node_list(nodes)
        if not items:
            raise GraphError("nodes is empty; a graph needs at least one node")
        self.nodes: Labels = labels_or_range(items, len(items), "nodes", GraphError)
        self.edges: NDArray[np.intp] = self._indices(edges)

    @classmethod
    def _of_indices(cls, nodes: Labels, edges: NDArray[np.intp], **attributes: Any) -> Self:
        """A graph from index pairs known to be valid and distinct."""
        graph = cls.__new__(cls)
        graph.nodes = nodes
        graph.edges = edges.reshape(-1, 2)
        for name, value in attributes.items():
            setattr(graph, name, value)
        return graph

    @classmethod
    def from_edges(
        cls, edges: Iterable[tuple[object, object]], nodes: Iterable[object] | None = None
    ) -> Graph:
        """A graph of the nodes named by its edges (in order of first mention) or of the given nodes."""
        if isinstance(edges, str) or not iterable(edges):
            raise GraphError(f"edges is {abbreviated(edges)}; give pairs of nodes")
        pairs = taken("edges", edges, GraphError, "pairs of nodes")
        if nodes is not None:
            return Graph(nodes, pairs)
        try:
            named = dict.fromkeys(label(end) for pair in pairs for end in pair)
        except TypeError as problem:
            raise GraphError(f"edges: give pairs of nodes ({problem})") from None
        return Graph(named, pairs)

    @classmethod
    def complete(cls, nodes: Iterable[object]) -> Graph:
        """Every two nodes joined."""
        items = node_list(nodes)
        way = "sv.secrets.complete(values) needs no list"
        require_size(len(items) * (len(items) - 1) // 2, LARGEST_PAIRS, "the pairs of nodes", way)
        return Graph(items, combinations(items, 2))

    @classmethod
    def path(cls, nodes: Iterable[object]) -> Graph:
        """Each node joined to the next."""
        items = node_list(nodes)
        return Graph(items, pairwise(items))

    @classmethod
    def cycle(cls, nodes: Iterable[object]) -> Graph:
        """Each node joined to the next, and the last to the first."""
        items = node_list(nodes)
        closing = [(items[-1], items[0])] if len(items) > 2 else []
        return Graph(items, [*pairwise(items), *closing])

    def _indices(self, edges: Iterable[tuple[object, object]]) -> NDArray[np.intp]:
        position = self.position
        if isinstance(edges, str) or not iterable(edges):
            raise GraphError(f"edges is {abbreviated(edges)}; give pairs of nodes")
        found: set[tuple[int, int]] = set()
        for edge in edges:
            ends = []
            try:
                a, b = edge
            except (TypeError, ValueError):
                raise GraphError(f"edges: {abbreviated(edge)} is not a pair of nodes") from None
            for end in (a, b):
                try:
                    ends.append(position[label(end)])
                except (KeyError, TypeError):
                    raise GraphError(
                        f"edges: {abbreviated(end)} in the edge ({abbreviated(a)}, {abbreviated(b)}) is "
                        f"not one of the nodes " + shown(self.nodes)
                    ) from None
            if ends[0] == ends[1]:
                raise GraphError(
                    f"edges: ({abbreviated(a)}, {abbreviated(b)}) joins a node to itself; loops are not "
                    f"allowed"
                )
            found.add((min(ends), max(ends)))
        return np.array(sorted(found), dtype=np.intp).reshape(-1, 2)

    @cached_property
    def position(self) -> dict[Hashable, int]:
        """Index of each node."""
        return {node: i for i, node in enumerate(self.nodes)}

    @property
    def size(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def labelled_edges(self) -> list[tuple[Hashable, Hashable]]:
        """Edges as pairs of labels."""
        return [(self.nodes[i], self.nodes[j]) for i, j in self.edges.tolist()]

    def is_edge(self, a: object, b: object) -> bool:
        """Whether two labelled nodes are joined."""
        i, j = self.index(a), self.index(b)
        return (min(i, j), max(i, j)) in self._edge_set

    @cached_property
    def _edge_set(self) -> frozenset[tuple[int, int]]:
        return frozenset((int(i), int(j)) for i, j in self.edges)

    def index(self, node: object) -> int:
        """Index of a labelled node."""
        try:
            return self.position[label(node)]
        except (KeyError, TypeError):
            raise GraphError(
                f"node: {abbreviated(node, worded)} is not one of the nodes {shown(self.nodes)}"
            ) from None

    def metric(self) -> Metric:
        """Shortest-path distance (number of edges; inf between components)."""
        found = Metric.from_edges(Edges(self.edges, np.ones(len(self.edges))), self.nodes, self.size)
        found.factors = tuple(part.metric() for part in self.factors)
        return found

    @cached_property
    def component_of(self) -> NDArray[np.intp]:
        """Component number of each node."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ends = (self.edges[:, 0], self.edges[:, 1])
        matrix = coo_array((np.ones(len(self.edges)), ends), shape=(self.size, self.size))
        return np.asarray(connected_components(matrix, directed=False)[1], dtype=np.intp)

    def components(self) -> list[list[Hashable]]:
        """Labels of each connected component."""
        groups: list[list[Hashable]] = [[] for _ in range(int(self.component_of.max()) + 1)]
        for node, component in zip(self.nodes, self.component_of, strict=True):
            groups[component].append(node)
        return groups

    def to_dict(self) -> dict[str, Any]:
        """Nodes and edges as plain data."""
        return {"nodes": list(self.nodes), "edges": self.labelled_edges()}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} nodes, {len(self.edges)} edges)"


# ── One record's graph over several records (Edwards et al., Thm 1): one record changes at a time ───────────


def product_edges(record: Edges, values: int, records: int) -> Edges:
    """Edges of the product, databases numbered with the first record varying slowest."""
    if values == 1:
        return record
    index = np.arange(values**records).reshape([values] * records)
    pairs = [
        np.column_stack([np.take(index, record.pairs[:, side], axis).ravel() for side in (0, 1)])
        for axis in range(records)
    ]
    lengths = [_lengths_along(record, values, records, axis) for axis in range(records)]
    return Edges(np.concatenate(pairs), np.concatenate(lengths))


def _lengths_along(record: Edges, values: int, records: int, axis: int) -> NDArray[np.float64]:
    shape, view = [values] * records, [1] * records
    shape[axis], view[axis] = 1, len(record)
    return (record.lengths.reshape(view) * np.ones(shape)).ravel()


def product_neighbours(record: Edges, row: NDArray[np.intp]) -> NDArray[np.intp]:
    """The rows with one record changed along an edge: by record, then by value."""
    both = np.concatenate([record.pairs, record.pairs[:, ::-1]])
    found = [np.empty((0, len(row)), dtype=np.intp)]
    for place, own in enumerate(row):
        others = np.unique(both[both[:, 0] == own, 1])
        changed = np.tile(row, (len(others), 1))
        changed[:, place] = others
        found.append(changed)
    return np.concatenate(found)


def metric_of(given: object, argument: str = "metric") -> Metric:
    """The metric a function was given."""
    words = "a sv.Metric, such as sv.metrics.line(n) or sv.Metric(distances)"
    found: Metric = instance(argument, given, Metric, words, MetricError)
    return found


def graph_of(given: object, argument: str = "graph") -> Graph:
    """The graph a function was given."""
    found: Graph = instance(argument, given, Graph, "a sv.Graph, such as sv.graphs.cycle(n)", GraphError)
    return found
