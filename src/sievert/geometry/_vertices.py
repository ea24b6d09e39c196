"""Vertices of the Lipschitz polytope {u : |u_x - u_z| ≤ d(x,z)} of a connected metric with whole distances.

A private posterior p ∝ e^u is extreme iff the pairs with |u_x - u_z| = d(x,z) connect all points, whatever ε
is, so vertices are enumerated in whole numbers and exponentiated afterwards. Three facts make it fast. On a
tree every edge is tight, so vertices are sign patterns. On a bipartite graph with equal edges neighbours
differ by exactly one edge, and by McShane's extension every partial assignment that respects all distances
can be completed: no branch is lost. On other graphs with equal edges neighbours differ by at most one edge,
and a branch is lost as soon as points that tight edges connect have no way out. In general a vertex has a
point whose removal leaves the rest tightly connected, and that point is at the least or at the greatest value
the others allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any, Literal

import numpy as np

from sievert.arrays import AnyArray, BoolArray, IndexArray, IntArray
from sievert.errors import TooLargeError
from sievert.numerics import advance, require_size

__all__ = ["Component", "irreducible"]

Shape = Literal[
    "point",
    "tree",
    "uniform",
    "odd cycle",
    "even cycle",
    "complete bipartite",
    "bipartite",
    "graph",
    "general",
]
# Partial assignments that are extended at once, of a bipartite graph and of any other, and the first patterns
# of a list, so that an iterator begins soon.
BLOCK, SMALL_BLOCK, FIRST_BLOCK = 1 << 16, 1 << 11, 1 << 6
# Points up to which all subsets of a general metric are walked through.
LARGEST_GENERAL = 12


@dataclass(frozen=True, eq=False)
class Component:
    """Points at finite distance of each other; distances are whole, and > 0 between different ones."""

    distances: IntArray

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.distances)

    @cached_property
    def edges(self) -> IndexArray:
        """Pairs that no third point lies between."""
        return irreducible(self.distances)

    @cached_property
    def _lengths(self) -> IntArray:
        return np.asarray(self.distances[self.edges[:, 0], self.edges[:, 1]])

    @cached_property
    def _sides(self) -> IntArray | None:
        """A side for each point such that every edge joins the two sides; None where there is none."""
        side = np.full(self.size, -1, dtype=np.int64)
        near = self._neighbours
        side[0] = 0
        queue = [0]
        for v in queue:
            for w in near[v]:
                if side[w] < 0:
                    side[w] = 1 - side[v]
                    queue.append(w)
                elif side[w] == side[v]:
                    return None
        return side

    @cached_property
    def _neighbours(self) -> list[list[int]]:
        near: list[list[int]] = [[] for _ in range(self.size)]
        for a, b in self.edges.tolist():
            near[a].append(b)
            near[b].append(a)
        return near

    @cached_property
    def shape(self) -> Shape:
        """What the edges look like: the form that decides how vertices are counted and listed."""
        n, m = self.size, len(self.edges)
        if n == 1:
            return "point"
        if m == n - 1:
            return "tree"
        if len(np.unique(self._lengths)) > 1:
            return "general"
        if m == n * (n - 1) // 2:
            return "uniform"
        if all(len(near) == 2 for near in self._neighbours):
            return "odd cycle" if n % 2 else "even cycle"
        if self._sides is None:
            return "graph"
        first = int((self._sides == 0).sum())
        return "complete bipartite" if m == first * (n - first) else "bipartite"

    def count(self) -> int | None:
        """The number of vertices by a formula; None where none is known."""
        n = self.size
        if self.shape == "complete bipartite":
            assert self._sides is not None
            first = int((self._sides == 0).sum())
            return int(2**first + 2 ** (n - first) - 2)
        formulas: dict[str, Callable[[], int]] = {
            "point": lambda: 1,
            "tree": lambda: int(2 ** (n - 1)),
            "uniform": lambda: int(2**n - 2),
            "even cycle": lambda: comb(n, n // 2),
            "odd cycle": lambda: n * comb(n - 1, (n - 1) // 2),
        }
        formula = formulas.get(self.shape)
        return None if formula is None else formula()

    def blocks(self, partial: bool = False) -> Iterator[AnyArray]:
        """All vertices [vertex, point] with the greatest value 0, a block at a time, each vertex once.

        With `partial` a metric too large for the general method gives some of its vertices, not all.
        """
        for block in self._raw_blocks(partial):
            yield (block - block.max(axis=1)[:, None]).astype(self.dtype, copy=False)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The smallest whole numbers that hold every level: vertices of a graph fit a byte each."""
        return np.dtype(np.min_scalar_type(-2 * int(self.distances.max()) - 1))

    @property
    def partial_only(self) -> bool:
        """Whether the metric is too large for all its vertices to be listed."""
        return self.shape == "general" and self.size > LARGEST_GENERAL

    def _raw_blocks(self, partial: bool) -> Iterator[AnyArray]:
        if self.shape == "point":
            yield np.zeros((1, 1), dtype=np.int64)
        elif self.shape == "tree":
            yield from _tree(self.distances, self.edges)
        elif self.shape == "uniform":
            yield from _uniform(self.size, int(self.distances[0, 1]))
        elif self.shape in ("even cycle", "complete bipartite", "bipartite"):
            yield from self._graph()
        elif self.shape == "odd cycle":
            yield from self._odd_cycle()
        elif self.shape == "graph":
            yield from self._tight_graph()
        elif self.size <= LARGEST_GENERAL:
            yield _general(self.distances)
        elif partial:
            yield from _some(self.distances)
        else:
            raise TooLargeError(
                f"the vertices of a general metric on {self.size} points are not listed; {LARGEST_GENERAL} "
                "points are the limit here, vertices(limit=…) lists some of them",
                size=self.size,
            )

    def _odd_cycle(self) -> Iterator[IntArray]:
        """One edge is flat; the others go up and down equally often."""
        n, length = self.size, int(self._lengths[0])
        order = [0]
        while len(order) < n:
            order.append(next(w for w in self._neighbours[order[-1]] if w not in order[-2:]))
        ups = np.array(list(combinations(range(n - 1), (n - 1) // 2)), dtype=np.intp)
        steps = np.full((len(ups), n - 1), -length, dtype=np.int64)
        np.put_along_axis(steps, ups, length, axis=1)
        for flat in range(n):
            full = np.insert(steps, flat, 0, axis=1)
            block = np.zeros((len(steps), n), dtype=np.int64)
            block[:, order[1:]] = np.cumsum(full, axis=1)[:, :-1]
            yield block

    def _graph(self) -> Iterator[AnyArray]:
        """Functions that change by exactly one edge between neighbours of a bipartite graph."""
        length = int(self._lengths[0])
        hops = self.distances // length
        order = self._breadth_first()
        back = np.argsort(order)
        small = np.int8 if hops.max() < 60 else np.int64
        wide = np.int8 if hops.max() * length < 60 else np.int64
        waiting = [np.zeros((1, 1), dtype=small)]
        hops = hops[np.ix_(order, order)].astype(small)
        while waiting:
            part = waiting.pop()
            k = len(part)
            if k == self.size:
                yield np.multiply(np.ascontiguousarray(part[back].T), length, dtype=wide)
                continue
            low = (part - hops[k, :k, None]).max(axis=0)
            high = (part + hops[k, :k, None]).min(axis=0)
            open_ = low + small(2) <= high
            grown = [
                np.concatenate([part, low[None]]),
                np.concatenate([part[:, open_], (low[open_] + small(2))[None]]),
            ]
            waiting += _pieces(np.concatenate(grown, axis=1), BLOCK)

    def _tight_graph(self) -> Iterator[AnyArray]:
        """Functions that change by at most one edge between neighbours and whose tight edges connect all.

        Beside the values stands the least point that tight edges connect each point to.
        """
        length, n = int(self._lengths[0]), self.size
        order = self._breadth_first()
        back = np.argsort(order)
        hops = (self.distances // length)[np.ix_(order, order)]
        near = [np.flatnonzero(hops[k, :k] == 1) for k in range(n)]
        last = [int(np.flatnonzero(hops[k] == 1).max()) for k in range(n)]
        waiting = [np.zeros((2, 1), dtype=np.int64)]
        while waiting:
            part = waiting.pop()
            k = len(part) // 2
            values, homes = part[:k], part[k:]
            if k == n:
                yield length * np.ascontiguousarray(values[back].T)
                continue
            low = (values - hops[k, :k, None]).max(axis=0)
            high = (values + hops[k, :k, None]).min(axis=0)
            grown = []
            for more in (0, 1, 2):
                fits = low + more <= high
                new = (low + more)[fits]
                joined = _joined(homes[:, fits], np.abs(values[:, fits] - new) == 1, near[k])
                alive = _connectable(joined, last)
                grown.append(np.concatenate([values[:, fits], new[None], joined])[:, alive])
            waiting += _pieces(np.concatenate(grown, axis=1), SMALL_BLOCK)

    def _breadth_first(self) -> IndexArray:
        order, seen = [0], {0}
        for v in order:
            for w in self._neighbours[v]:
                if w not in seen:
                    seen.add(w)
                    order.append(w)
        return np.array(order, dtype=np.intp)


def _pieces(part: AnyArray, block: int) -> list[AnyArray]:
    """Partial assignments [point, assignment] in blocks, so that the search needs little memory."""
    count = -(-part.shape[1] // block)
    return np.array_split(part, count, axis=1) if count > 1 else [part] if part.shape[1] else []


def _joined(homes: AnyArray, close: BoolArray, near: IndexArray) -> AnyArray:
    """Homes with one more point, which joins those of its neighbours that are one edge away."""
    k, count = homes.shape
    own = np.full((1, count), k, dtype=homes.dtype)
    touched = np.where(close[near], homes[near], k)
    least = np.minimum(touched.min(axis=0), k)
    homes = np.concatenate([homes, own])
    moved = np.zeros(homes.shape, dtype=bool)
    moved[k] = True
    for row in touched:
        moved |= (homes == row) & (row < k)
    return np.where(moved, least, homes)


def _connectable(homes: AnyArray, last: list[int]) -> BoolArray:
    """Whether every part that is not all has a point with a neighbour still to come."""
    k = len(homes)
    way_out = np.zeros(homes.shape, dtype=bool)
    columns = np.arange(homes.shape[1])
    for x in range(k):
        if last[x] >= k:
            way_out[homes[x], columns] = True
    used = homes == np.arange(k)[:, None]
    parts = used.sum(axis=0)
    return np.asarray((~used | way_out).all(axis=0) | (parts == 1))


def irreducible(distances: IntArray) -> IndexArray:
    """Pairs x < z at finite distance without a third point y such that d(x,y) + d(y,z) = d(x,z)."""
    first, second = np.triu_indices(len(distances), 1)
    lengths = distances[first, second]
    keep = np.ones(len(first), dtype=bool)
    for y in range(len(distances)):
        between = distances[y, first] + distances[y, second] == lengths
        keep &= ~(between & (first != y) & (second != y))
    return np.column_stack([first[keep], second[keep]]).astype(np.intp)


def _tree(distances: IntArray, edges: IndexArray) -> Iterator[IntArray]:
    """Every pattern of signs on the edges; a point's value is the sum on its way from the first point."""
    n = len(distances)
    way = np.zeros((n - 1, n), dtype=np.int64)
    for e, (a, b) in enumerate(edges.tolist()):
        # A point is behind the edge if the edge's far end lies on its way.
        near, far = (a, b) if distances[0, a] < distances[0, b] else (b, a)
        way[e] = distances[0] == distances[0, near] + distances[near, far] + distances[far]
        way[e] *= distances[a, b]
    for pattern in _patterns(0, 2 ** (n - 1)):
        signs = 2 * ((pattern[:, None] >> _shifts(n - 1)) & 1) - 1
        yield signs @ way


def _uniform(n: int, length: int) -> Iterator[IntArray]:
    """High on a proper subset that is not empty, low elsewhere."""
    for pattern in _patterns(1, 2**n - 1):
        yield ((pattern[:, None] >> _shifts(n)) & 1) * length


def _patterns(start: int, stop: int) -> Iterator[IntArray]:
    """Whole numbers in blocks that grow."""
    size = FIRST_BLOCK
    while start < stop:
        yield np.arange(start, min(start + size, stop))
        start, size = start + size, min(2 * size, BLOCK)


def _shifts(bits: int) -> IntArray:
    """Places of the bits of a pattern; nobody waits for one beyond 2^62."""
    return np.minimum(np.arange(bits), 62)


def _general(distances: IntArray) -> IntArray:
    """All vertices, by growing those of subsets that contain the first point."""
    n = len(distances)
    rows = sum(comb(n - 1, k) * k * 2 * comb(2 * k, k) for k in range(1, n))
    require_size(rows, 200_000_000, "the subsets of the metric", "vertices(limit=…) lists some")
    layer: dict[int, IntArray] = {1: np.zeros((1, 1), dtype=np.int64)}
    done = 0
    for size in range(2, n + 1):
        grown: dict[int, IntArray] = {}
        for chosen in combinations(range(1, n), size - 1):
            points = np.array((0, *chosen), dtype=np.intp)
            mask = int((1 << points).sum())
            grown[mask] = _distinct(_extended(layer, distances, points, mask))
            done += 1
            advance("subsets of the points", done, 2 ** (n - 1) - 1)
        layer = grown
    return next(iter(layer.values()))


def _extended(layer: dict[int, IntArray], distances: IntArray, points: IndexArray, mask: int) -> IntArray:
    """Vertices of a subset less one point, with that point at the least and at the greatest value allowed."""
    parts = []
    for place in range(1, len(points)):
        before = layer[mask & ~(1 << int(points[place]))]
        away = np.delete(distances[points[place], points], place)
        ends = ((before - away).max(axis=1), (before + away).min(axis=1))
        parts += [np.insert(before, place, value, axis=1) for value in ends]
    return np.concatenate(parts)


def _distinct(rows: IntArray) -> IntArray:
    """Each row once: by a hash of 64 bits, and exactly where two rows share one."""
    odd = np.random.default_rng(0).integers(1, 2**62, rows.shape[1], dtype=np.int64) * 2 + 1
    with np.errstate(over="ignore"):
        codes = rows @ odd
    _, first, home = np.unique(codes, return_index=True, return_inverse=True)
    if (rows == rows[first[home]]).all():
        return np.asarray(rows[first])
    return np.unique(rows, axis=0)


def _some(distances: IntArray) -> Iterator[IntArray]:
    """Vertices in which each point, in some order, is at an end of what those before it allow."""
    n = len(distances)
    seen: set[bytes] = set()
    for turn in range(n):
        order = np.roll(np.arange(n), -turn)
        back = np.argsort(order)
        waiting = [np.zeros((1, 1), dtype=np.int64)]
        while waiting:
            part = waiting.pop()
            k = part.shape[1]
            if k == n:
                levels = part[:, back] - part[:, back].max(axis=1)[:, None]
                new = [row for row in np.unique(levels, axis=0) if row.tobytes() not in seen]
                seen.update(row.tobytes() for row in new)
                if new:
                    yield np.array(new)
                continue
            away = distances[order[k], order[:k]]
            ends = ((part - away).max(axis=1), (part + away).min(axis=1))
            waiting += [
                np.column_stack([half, end])
                for rows in np.array_split(np.arange(len(part)), max(1, len(part) // 256))
                for half, end in ((part[rows], value[rows]) for value in ends)
            ]
