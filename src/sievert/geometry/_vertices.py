"""Vertices of the Lipschitz polytope {u : |u_x - u_z| ≤ d(x,z)} of a connected metric with whole distances.

A private posterior p ∝ e^u is extreme iff the pairs with |u_x - u_z| = d(x,z) connect all points, whatever ε
is, so vertices are enumerated in whole numbers and exponentiated afterwards. Three facts make it fast. On a
tree every edge is tight, so vertices are sign patterns. On a bipartite graph with equal edges neighbours
differ by exactly one edge, and by McShane's extension every partial assignment that respects all distances
can be completed: no branch is lost. In general a vertex has a point whose removal leaves the rest tightly
connected, and that point is at the least or at the greatest value the others allow.
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

__all__ = ["Component", "irreducible", "is_tight"]

Shape = Literal[
    "point", "tree", "uniform", "odd cycle", "even cycle", "complete bipartite", "bipartite", "general"
]
# Partial assignments that are extended at once.
BLOCK = 1 << 16
# Points up to which all subsets of a general metric are walked through.
LARGEST_GENERAL = 12
# Whole-number functions that are tried on a graph that is not bipartite.
LARGEST_SEARCH = 30_000_000


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
            return "general"
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
        return self.shape == "general" and self.size > LARGEST_GENERAL and not self._searchable

    @property
    def _searchable(self) -> bool:
        equal = len(np.unique(self._lengths)) == 1
        return equal and 3 ** (self.size - 1) <= LARGEST_SEARCH

    def _raw_blocks(self, partial: bool) -> Iterator[AnyArray]:
        if self.shape == "point":
            yield np.zeros((1, 1), dtype=np.int64)
        elif self.shape == "tree":
            yield from _tree(self.distances, self.edges)
        elif self.shape == "uniform":
            yield from _uniform(self.size, int(self.distances[0, 1]))
        elif self.shape in ("even cycle", "complete bipartite", "bipartite"):
            yield from self._graph(2)
        elif self.shape == "odd cycle":
            yield from self._odd_cycle()
        elif self.size <= LARGEST_GENERAL:
            yield _general(self.distances)
        elif self._searchable:
            for block in self._graph(1):
                yield block[is_tight(block, self.distances, self.edges)]
        elif partial:
            yield from _some(self.distances)
        else:
            raise TooLargeError(
                f"the vertices of a general metric on {self.size} points are not listed; {LARGEST_GENERAL} "
                "points are the limit here, give a limit for some of them",
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

    def _graph(self, step: int) -> Iterator[AnyArray]:
        """Functions that change by 0, ±1 edges (step 1), or by exactly one (step 2), between neighbours."""
        length = int(self._lengths[0])
        hops = self.distances // length
        order = self._breadth_first()
        back = np.argsort(order)
        small = np.int8 if hops.max() < 60 else np.int64
        wide = np.int8 if hops.max() * length < 60 else np.int64
        first = np.zeros((1, 1), dtype=small)
        waiting = [first]
        hops = hops[np.ix_(order, order)].astype(small)
        while waiting:
            part = waiting.pop()
            k = len(part)
            if k == self.size:
                yield np.multiply(np.ascontiguousarray(part[back].T), length, dtype=wide)
                continue
            low = (part - hops[k, :k, None]).max(axis=0)
            high = (part + hops[k, :k, None]).min(axis=0)
            grown = [np.concatenate([part, low[None]])]
            for more in (1, 2) if step == 1 else (2,):
                open_ = low + small(more) <= high
                grown.append(np.concatenate([part[:, open_], (low[open_] + small(more))[None]]))
            joined = np.concatenate(grown, axis=1)
            pieces = -(-joined.shape[1] // BLOCK)
            waiting += np.array_split(joined, pieces, axis=1) if pieces > 1 else [joined]

    def _breadth_first(self) -> IndexArray:
        order, seen = [0], {0}
        for v in order:
            for w in self._neighbours[v]:
                if w not in seen:
                    seen.add(w)
                    order.append(w)
        return np.array(order, dtype=np.intp)


def irreducible(distances: IntArray) -> IndexArray:
    """Pairs x < z at finite distance without a third point y such that d(x,y) + d(y,z) = d(x,z)."""
    first, second = np.triu_indices(len(distances), 1)
    lengths = distances[first, second]
    keep = np.ones(len(first), dtype=bool)
    for y in range(len(distances)):
        between = distances[y, first] + distances[y, second] == lengths
        keep &= ~(between & (first != y) & (second != y))
    return np.column_stack([first[keep], second[keep]]).astype(np.intp)


def is_tight(levels: AnyArray, distances: IntArray, edges: IndexArray) -> BoolArray:
    """Whether the tight edges of each function connect all points."""
    home = np.broadcast_to(np.arange(levels.shape[1]), levels.shape).copy()
    first, second = edges.T
    tight = np.abs(levels[:, first] - levels[:, second]) == distances[first, second]
    while True:
        before = home.copy()
        for e, (a, b) in enumerate(edges.tolist()):
            least = np.minimum(home[:, a], home[:, b])
            home[:, a] = np.where(tight[:, e], least, home[:, a])
            home[:, b] = np.where(tight[:, e], least, home[:, b])
        if (home == before).all():
            return np.asarray((home == 0).all(axis=1))


def _tree(distances: IntArray, edges: IndexArray) -> Iterator[IntArray]:
    """Every pattern of signs on the edges; a point's value is the sum on its way from the first point."""
    n = len(distances)
    way = np.zeros((n - 1, n), dtype=np.int64)
    for e, (a, b) in enumerate(edges.tolist()):
        # A point is behind the edge if the edge's far end lies on its way.
        near, far = (a, b) if distances[0, a] < distances[0, b] else (b, a)
        way[e] = distances[0] == distances[0, near] + distances[near, far] + distances[far]
        way[e] *= distances[a, b]
    for start in range(0, 2 ** (n - 1), BLOCK):
        pattern = np.arange(start, min(start + BLOCK, 2 ** (n - 1)))
        signs = 2 * ((pattern[:, None] >> _shifts(n - 1)) & 1) - 1
        yield signs @ way


def _uniform(n: int, length: int) -> Iterator[IntArray]:
    """High on a proper subset that is not empty, low elsewhere."""
    for start in range(1, 2**n - 1, BLOCK):
        pattern = np.arange(start, min(start + BLOCK, 2**n - 1))
        yield ((pattern[:, None] >> _shifts(n)) & 1) * length


def _shifts(bits: int) -> IntArray:
    """Places of the bits of a pattern; nobody waits for one beyond 2^62."""
    return np.minimum(np.arange(bits), 62)


def _general(distances: IntArray) -> IntArray:
    """All vertices, by growing those of subsets that contain the first point."""
    n = len(distances)
    rows = sum(comb(n - 1, k) * k * 2 * comb(2 * k, k) for k in range(1, n))
    require_size(rows, 200_000_000, "the subsets of the metric", "give a limit for some of its vertices")
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
