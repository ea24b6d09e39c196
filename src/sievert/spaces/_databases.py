"""A list of databases as one array of value positions, labelled only where a label is asked for.

A hundred thousand databases of a dozen records are about a megabyte this way. Rows are distinct and in
the order of `Policy.databases()`: the first record varies slowest.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IndexArray
from sievert.errors import GraphError
from sievert.numerics import abbreviated
from sievert.spaces._graph import Graph
from sievert.spaces._labels import Labels, LazyLabels, label, shown, worded
from sievert.spaces._metric import Metric

__all__ = ["DatabaseGraph", "Databases", "Rows", "from_relation", "smallest_integers"]

Rows = NDArray[Any]  # [databases, records], positions in the list of values


def smallest_integers(values: int) -> Any:
    """The smallest integer type that holds positions among so many values."""
    return np.min_scalar_type(max(values - 1, 0))


class Databases(LazyLabels):
    """Distinct databases in order; an item is a tuple of values, made when it is asked for.

    Examples
    --------
    >>> pairs = Databases(np.array([[0, 1], [1, 1]]), ("a", "b"))
    >>> pairs[0], pairs.index(("b", "b")), ("b", "a") in pairs
    (('a', 'b'), 1, False)
    """

    def __init__(self, rows: Rows, values: Labels):
        self.rows: Rows = np.ascontiguousarray(rows, dtype=smallest_integers(len(values)))
        self.rows.setflags(write=False)
        self.values = values

    @property
    def records(self) -> int:
        """Number of records in each."""
        return int(self.rows.shape[1])

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, item: int) -> Hashable: ...
    @overload
    def __getitem__(self, item: slice) -> tuple[Hashable, ...]: ...
    def __getitem__(self, item: int | slice) -> Hashable:
        if isinstance(item, slice):
            return tuple(self._labelled(row) for row in self.rows[item].tolist())
        return self._labelled(self.rows[item].tolist())

    def __iter__(self) -> Iterator[Hashable]:
        for start in range(0, len(self), 4096):
            yield from self[start : start + 4096]

    def _labelled(self, row: list[int]) -> tuple[Hashable, ...]:
        return tuple(self.values[position] for position in row)

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Position of a database; ValueError when it is not listed."""
        try:
            row = [self._value_position[item] for item in label(value)]  # type: ignore[attr-defined]
            found = int(self.positions(np.array([row]))[0]) if len(row) == self.records else -1
        except (KeyError, TypeError):
            found = -1
        if not start <= found < (len(self) if stop is None else stop):
            raise ValueError(f"{abbreviated(value, worded)} is not one of the {len(self)} databases")
        return found

    def __contains__(self, item: object) -> bool:
        try:
            self.index(item)
        except ValueError:
            return False
        return True

    @cached_property
    def _value_position(self) -> dict[Hashable, int]:
        return {value: i for i, value in enumerate(self.values)}

    def positions(self, rows: Rows) -> NDArray[np.intp]:
        """Where each row stands in the list; -1 for rows that are not listed."""
        if not len(self):
            return np.full(len(rows), -1, dtype=np.intp)
        found = np.searchsorted(self._sorted_keys, self.keys(rows))
        found = self._key_order[np.minimum(found, len(self) - 1)]
        return np.where((self.rows[found] == rows).all(axis=1), found, -1)

    def keys(self, rows: Rows) -> NDArray[np.uint64]:
        """One integer for each row; different for different rows of this list."""
        return rows.astype(np.uint64) @ self.multipliers

    @cached_property
    def radix(self) -> bool:
        """Whether keys are the rows read as numbers in base (number of values): then all rows differ."""
        return bool(len(self.values) ** self.records < 2**63)

    @cached_property
    def multipliers(self) -> NDArray[np.uint64]:
        """Weight of each record in a key.

        Where a row read as a number has more than 63 bits, random weights modulo 2^64, drawn until the
        keys of this list differ (at 10^6 rows the first draw fails with probability below 10^-7).
        """
        if self.radix:
            powers = [len(self.values) ** i for i in range(self.records)][::-1]
            return np.array(powers, dtype=np.uint64)
        rng = np.random.default_rng(0)
        while True:
            drawn = rng.integers(2**64, size=self.records, dtype=np.uint64)
            keys = self.rows.astype(np.uint64) @ drawn
            if len(np.unique(keys)) == len(keys):
                return drawn

    @cached_property
    def _key_order(self) -> NDArray[np.intp]:
        if self.radix:
            return np.arange(len(self))
        return np.argsort(self.keys(self.rows))

    @cached_property
    def _sorted_keys(self) -> NDArray[np.uint64]:
        return self.keys(self.rows)[self._key_order]


# ── The graph of permitted databases: neighbour lists in two flat arrays, labels made when asked for ────────
# Definition 2 of Edwards et al. compares with one of the two databases only, so that D may be adjacent to
# D' without D' being adjacent to D. The undirected graph joins such one-way pairs too (the stronger
# promise); the directed one keeps them as they are.
Starts = NDArray[np.int32]
Ends = NDArray[np.int32]

# Pairs handled at a time, 8 bytes each.
BLOCK = 4_000_000


class DatabaseGraph(Graph):
    """Databases that must not be told apart.

    Attributes
    ----------
    nodes : the databases
    starts, ends : the neighbours of database i are ``ends[starts[i]:starts[i + 1]]``, ascending
    one_way : [pairs, 2], where the first is adjacent to the second but not the second to the first
    directed : whether the lists hold the relation itself (False: one-way pairs count in both directions)
    """

    def __init__(
        self, nodes: Labels, starts: Starts, ends: Ends, one_way: NDArray[np.int32], directed: bool
    ) -> None:
        self.nodes = nodes
        self.starts = starts
        self.ends = ends
        self.one_way = one_way
        self.directed = directed

    @cached_property
    def edges(self) -> IndexArray:  # type: ignore[override]
        """Index pairs: each edge once, the smaller first; of a directed graph every ordered pair."""
        count = len(self.ends) if self.directed else len(self.ends) // 2
        pairs = np.empty((count, 2), dtype=np.intp)
        done = 0
        for first, last in self.row_blocks():
            rows = np.repeat(np.arange(first, last), np.diff(self.starts[first : last + 1]))
            columns = self.ends[self.starts[first] : self.starts[last]]
            kept = slice(None) if self.directed else rows < columns
            stop = done + len(rows[kept])
            pairs[done:stop, 0], pairs[done:stop, 1] = rows[kept], columns[kept]
            done = stop
        return pairs

    def row_blocks(self) -> list[tuple[int, int]]:
        """Ranges of databases whose lists fit comfortably in memory."""
        return _row_blocks(self.starts)

    @property
    def pairs(self) -> int:
        """Number of ordered pairs in the lists."""
        return len(self.ends)

    def neighbours(self, index: int) -> Ends:
        """The neighbours of one database, by index."""
        return self.ends[self.starts[index] : self.starts[index + 1]]

    def index(self, node: object) -> int:
        """Index of a labelled node."""
        if not isinstance(self.nodes, LazyLabels):
            return super().index(node)
        try:
            return self.nodes.index(node)
        except ValueError:
            raise GraphError(
                f"node: {abbreviated(node, worded)} is not one of the nodes {shown(self.nodes)}"
            ) from None

    def is_edge(self, a: object, b: object) -> bool:
        """Whether two labelled nodes are joined; in a directed graph, the first to the second."""
        i, j = self.index(a), self.index(b)
        others = self.neighbours(i)
        place = int(np.searchsorted(others, j))
        return place < len(others) and int(others[place]) == j

    def distances_from(self, index: int) -> NDArray[np.float64]:
        """Steps from one database (by index) to each; inf where there is no path. O(databases + pairs)."""
        last: tuple[int, NDArray[np.float64]] | None = self.__dict__.get("_last_distances")
        if last is not None and last[0] == index:
            return last[1]
        distances = np.full(self.size, np.inf)
        distances[index] = 0.0
        frontier = np.array([index])
        steps = 0.0
        while len(frontier):
            steps += 1.0
            reached = np.zeros(self.size, dtype=bool)
            for part in self._lists(frontier):
                reached[part] = True
            frontier = np.flatnonzero(reached & np.isinf(distances))
            distances[frontier] = steps
        distances.setflags(write=False)
        self.__dict__["_last_distances"] = (index, distances)
        return distances

    def metric(self) -> Metric:
        """Shortest-path distance (number of edges; inf between components)."""
        if self.directed:
            raise GraphError(
                "the directed adjacency has no metric: its distance differs by direction; use "
                "distances_from, or adjacency() whose one-way pairs count in both directions"
            )
        return super().metric()

    @cached_property
    def component_of(self) -> IndexArray:
        """Component number of each database (in a directed graph, ignoring directions)."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        if self.directed:
            pairs = self.edges
            matrix = coo_array(
                (np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(self.size, self.size)
            )
            return np.asarray(connected_components(matrix, directed=False)[1], dtype=np.intp)
        # SciPy would hold a float for every pair; a search from one database after the other needs none.
        found = np.full(self.size, -1, dtype=np.intp)
        number = 0
        for start in range(self.size):
            if found[start] >= 0:
                continue
            found[start] = number
            frontier = np.array([start])
            while len(frontier):
                fresh = []
                for part in self._lists(frontier):
                    fresh.append(np.unique(part[found[part] < 0]))
                    found[fresh[-1]] = number
                frontier = np.concatenate(fresh)
            number += 1
        return found

    def _lists(self, nodes: IndexArray) -> Iterator[Ends]:
        """The neighbours of some databases, a thousand at a time."""
        for begin in range(0, len(nodes), 1024):
            yield np.concatenate([self.neighbours(int(i)) for i in nodes[begin : begin + 1024]])

    def as_directed(self) -> DatabaseGraph:
        """The relation of Definition 2 itself."""
        if self.directed or not len(self.one_way):
            return DatabaseGraph(self.nodes, self.starts, self.ends, self.one_way, directed=True)
        kept = np.ones(len(self.ends), dtype=bool)
        for start, stop in self._slices(self.one_way[:, 1]):
            there, source = self.one_way[start:stop, 1], self.one_way[start:stop, 0]
            kept[self._places(there, source)] = False
        before = np.concatenate([[0], np.cumsum(kept, dtype=np.int32)])
        starts = before[self.starts].astype(np.int32)
        return DatabaseGraph(self.nodes, starts, self.ends[kept], self.one_way, directed=True)

    @staticmethod
    def _slices(items: NDArray[Any]) -> list[tuple[int, int]]:
        return [(start, min(start + BLOCK, len(items))) for start in range(0, len(items), BLOCK)]

    def _places(self, sources: Ends, targets: Ends) -> IndexArray:
        """Where in `ends` given pairs of the graph stand: a binary search in each list, all at once."""
        low = self.starts[sources].astype(np.intp)
        high = self.starts[sources + 1].astype(np.intp)
        while (low < high).any():
            middle = (low + high) >> 1
            below = self.ends[np.minimum(middle, len(self.ends) - 1)] < targets
            searching = low < high
            low, high = (
                np.where(searching & below, middle + 1, low),
                np.where(searching & ~below, middle, high),
            )
        return low

    def to_dict(self) -> dict[str, Any]:
        """Nodes, edges and one-way pairs as plain data."""
        ways = [(self.nodes[i], self.nodes[j]) for i, j in self.one_way.tolist()]
        return {**super().to_dict(), "directed": self.directed, "one_way": ways}

    def labelled_edges(self) -> list[tuple[Hashable, Hashable]]:
        """Edges as pairs of labels."""
        return [(self.nodes[i], self.nodes[j]) for i, j in self.edges.tolist()]

    def __repr__(self) -> str:
        kind = "directed, " if self.directed else ""
        count = len(self.ends) if self.directed else len(self.ends) // 2
        return f"DatabaseGraph({self.size} databases, {kind}{count} {'arcs' if self.directed else 'edges'})"


def from_relation(nodes: Labels, starts: Starts, ends: Ends, symmetric: bool) -> DatabaseGraph:
    """The undirected graph of a relation given by its neighbour lists; finds the one-way pairs.

    `symmetric` says that the relation is known to hold both ways, so that none are looked for.
    """
    from scipy.sparse import csr_array

    nobody = np.empty((0, 2), dtype=np.int32)
    if symmetric:
        return DatabaseGraph(nodes, starts, ends, nobody, directed=False)
    size = len(starts) - 1
    relation = csr_array((np.ones(len(ends), dtype=np.int8), ends, starts), shape=(size, size))
    reverse = relation.tocsc()  # its columns are the rows of the transpose, ascending
    if np.array_equal(reverse.indptr, starts) and np.array_equal(reverse.indices, ends):
        return DatabaseGraph(nodes, starts, ends, nobody, directed=False)
    return _union(nodes, starts, ends, reverse.indptr, reverse.indices)


def _union(nodes: Labels, starts: Starts, ends: Ends, back_starts: Starts, back_ends: Ends) -> DatabaseGraph:
    size = len(starts) - 1
    one_way, counts = [], []
    joined, done = np.empty(2 * len(ends), dtype=np.int32), 0  # what is not filled costs no memory
    for first, last in _row_blocks(starts):
        forth = _codes(first, last, starts, ends, size)
        back = _codes(first, last, back_starts, back_ends, size)
        # Twice the code, and one more for the way back: a pair held one way only is alone with its code.
        marked = np.sort(np.concatenate([2 * forth, 2 * back + 1]), kind="stable")
        both = marked >> 1
        new = np.concatenate([[True], both[1:] != both[:-1]]) if len(both) else np.zeros(0, dtype=bool)
        alone = new & np.concatenate([new[1:], [True]]) if len(both) else new
        only = both[alone & (marked & 1 == 0)]
        one_way.append(np.column_stack([only // size + first, only % size]).astype(np.int32))
        both = both[new]
        joined[done : done + len(both)] = both % size
        done += len(both)
        counts.append(np.bincount(both // size, minlength=last - first))
    all_starts = np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(np.int32)
    return DatabaseGraph(nodes, all_starts, joined[:done], np.concatenate(one_way), directed=False)


def _codes(first: int, last: int, starts: Starts, ends: Ends, size: int) -> NDArray[np.int64]:
    """row·size + column of the lists of some rows, rows counted from the first."""
    rows = np.repeat(np.arange(last - first, dtype=np.int64), np.diff(starts[first : last + 1]))
    return rows * size + ends[starts[first] : starts[last]]


def _row_blocks(starts: Starts) -> list[tuple[int, int]]:
    """Ranges of rows with about BLOCK pairs each."""
    size = len(starts) - 1
    cuts = np.searchsorted(starts, np.arange(BLOCK, int(starts[-1]), BLOCK))
    bounds = np.unique(np.concatenate([[0], cuts, [size]])).tolist()
    return list(pairwise(bounds))
