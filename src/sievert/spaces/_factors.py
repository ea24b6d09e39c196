"""Is a graph the Cartesian product of smaller ones, and of which?

In a product every edge changes one coordinate. Edges that must change the same one are put together: the
sides of a triangle, opposite sides of a square without chords, and two edges at a point that span no square
or several (the unique square property). Where those classes do not make a product, edges that shortest paths
relate (Djoković-Winkler) join them; then the classes are the prime factors (Feder, 1992). Whatever the
classes, the product is checked edge by edge before it is believed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from sievert.arrays import FloatArray, IndexArray
from sievert.spaces._metric import Edges, shortest_paths

__all__ = ["Factors", "cartesian_factors"]

# Pairs of edges at one point that are looked at, and steps of the search by shortest paths.
MOST_WEDGES, MOST_STEPS = 20_000_000, 200_000_000


@dataclass(frozen=True, eq=False)
class Factors:
    """Graphs whose Cartesian product is a given one, and the place of each of its points in each of them."""

    sizes: tuple[int, ...]
    edges: tuple[Edges, ...]
    places: IndexArray  # [point, factor]


def cartesian_factors(size: int, edges: Edges) -> Factors | None:
    """The factors of a connected graph with lengths; None where there is but one, or none are found.

    Cost: O(Σ degree²), and where that does not decide O(points·edges).
    """
    pairs = np.sort(edges.pairs, axis=1)
    degrees = np.bincount(pairs.ravel(), minlength=size)
    # Of a product the degrees of every factor add up; an end of a tree has one edge, and no square.
    if size < 4 or len(pairs) < size or degrees.min() < 2:
        return None
    if int((degrees.astype(np.int64) ** 2).sum()) > MOST_WEDGES:
        return None
    class_of = _by_squares(size, pairs, degrees)
    found = _checked(size, pairs, edges.lengths, class_of)
    if found is None and class_of.max() > 0 and size * len(pairs) <= MOST_STEPS:
        found = _checked(size, pairs, edges.lengths, _by_paths(size, pairs, class_of))
    return found


def _by_squares(size: int, pairs: IndexArray, degrees: IndexArray) -> IndexArray:
    """The class of each edge by triangles and squares."""
    own, centre, other, first, second = _wedges(size, pairs, degrees)
    code = own * size + other
    order = np.argsort(code, kind="stable")
    code, first, second, centre = code[order], first[order], second[order], centre[order]
    fresh = np.concatenate([[True], code[1:] != code[:-1]])
    starts = np.flatnonzero(fresh)
    counts = np.diff(np.append(starts, len(code)))
    adjacent = np.isin(code, pairs[:, 0] * size + pairs[:, 1])
    # Exactly two centres, ends not joined: a square, whose opposite sides go together.
    square = (np.repeat(counts, counts) == 2) & ~adjacent
    here = np.flatnonzero(square & fresh)
    apart = np.flatnonzero(~square)
    links = [(first[apart], second[apart]), (first[here], second[here + 1]), (second[here], first[here + 1])]
    tails, heads = (np.concatenate(side) for side in zip(*links, strict=True))
    # Two centres that are joined make triangles with both ends, which relate all their sides.
    return _joined(len(pairs), tails, heads)


def _wedges(size: int, pairs: IndexArray, degrees: IndexArray) -> tuple[IndexArray, ...]:
    """Every two edges at one point: end, point, other end > end, and the numbers of both edges."""
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    number = np.tile(np.arange(len(pairs)), 2)
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    ends, number = ends[order], number[order]
    stops = np.cumsum(degrees)
    # Each arc meets those that follow it at its point.
    follow = stops[ends[:, 0]] - np.arange(len(ends)) - 1
    left = np.repeat(np.arange(len(ends)), follow)
    right = left + 1 + np.arange(len(left)) - np.repeat(np.cumsum(follow) - follow, follow)
    return ends[left, 1], ends[left, 0], ends[right, 1], number[left], number[right]


def _by_paths(size: int, pairs: IndexArray, class_of: IndexArray) -> IndexArray:
    """Classes joined where d(x,u) + d(y,v) ≠ d(x,v) + d(y,u) for an edge xy of a spanning tree and any uv."""
    away = shortest_paths(Edges(pairs, np.ones(len(pairs))), size)
    u, v = pairs.T
    links = coo_array((np.ones(len(pairs)), (u, v)), shape=(size, size)).tocsr()
    order, parent = breadth_first_order(links, 0, directed=False)
    number = {(int(a), int(b)): k for k, (a, b) in enumerate(pairs)}
    count = int(class_of.max()) + 1
    for x in order[1:].tolist():
        y = int(parent[x])
        own = class_of[number[min(x, y), max(x, y)]]
        related = np.unique(class_of[away[x, u] + away[y, v] != away[x, v] + away[y, u]])
        if len(related) > 1 or (len(related) and related[0] != own):
            name = _joined(count, np.full(len(related), own), related)
            class_of, count = name[class_of], int(name.max()) + 1
        if count == 1:
            break
    return class_of


def _joined(count: int, tails: IndexArray, heads: IndexArray) -> IndexArray:
    """Numbers of the classes that links make of so many things."""
    links = coo_array((np.ones(len(tails), dtype=np.int8), (tails, heads)), shape=(count, count))
    return np.asarray(connected_components(links, directed=False)[1], dtype=np.intp)


def _checked(size: int, pairs: IndexArray, lengths: FloatArray, class_of: IndexArray) -> Factors | None:
    """The product that classes of edges make, if they make one."""
    count = int(class_of.max()) + 1
    if count == 1 or count > np.log2(size):
        return None
    places = np.column_stack([_joined(size, *pairs[class_of != own].T) for own in range(count)])
    sizes = tuple(int(column.max()) + 1 for column in places.T)
    if int(np.prod(sizes, dtype=object)) != size:
        return None
    code = np.ravel_multi_index(tuple(places.T), sizes)
    if len(np.unique(code)) != size:
        return None
    parts = []
    for own, (least, column) in enumerate(zip(sizes, places.T, strict=True)):
        ends = np.sort(column[pairs[class_of == own]], axis=1)
        # Each of its edges stands once for every point of the other factors, always with the same length.
        kept, where, times = np.unique(ends[:, 0] * least + ends[:, 1], return_index=True, return_counts=True)
        known = lengths[class_of == own]
        same = known == known[where][np.searchsorted(kept, ends[:, 0] * least + ends[:, 1])]
        if (ends[:, 0] == ends[:, 1]).any() or (times != size // least).any() or not same.all():
            return None
        parts.append(Edges(ends[where], known[where]))
    return Factors(sizes, tuple(parts), places)
