"""Symmetry of a design problem: which entries of an optimal channel may be taken equal.

Averaging an optimal channel over permutations that leave distances, costs and losses as they are keeps it
optimal and private, so one unknown for each orbit of (point, action) is enough. Candidates for permutations
come from the graph of shortest pairs; every one is then tested on the numbers themselves. A test within
rounding is enough: certificate and repair use the original numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.design.problem import Piece
from sievert.errors import TooLargeError
from sievert.spaces.automorphisms import automorphisms, by_first
from sievert.spaces.graph import Graph

__all__ = ["Folding", "fold"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
# Numbers that agree to this many digits are taken for equal.
DIGITS = 11
LARGEST_GROUP = 400


@dataclass(frozen=True, eq=False)
class Folding:
    """Orbits of (point, action) and of points.

    `entry[x, w]` is the orbit of an entry, `point[x]` of a point; `first_entry` and `first_point`
    are a member of each (entries as x·actions + w).
    """

    entry: IndexArray
    point: IndexArray
    first_entry: IndexArray
    first_point: IndexArray

    @property
    def entries(self) -> int:
        """Number of orbits of entries."""
        return len(self.first_entry)


def fold(piece: Piece, cost: FloatArray) -> Folding:
    """Orbits under the symmetries found; every entry by itself where there is none.

    Parameters
    ----------
    cost : [point, action] costs of the actions that are left
    """
    size, actions = cost.shape
    entry = np.arange(size * actions)
    point = np.arange(size)
    moves = _moves(piece, cost)
    if moves:
        before_points = np.concatenate([np.arange(size)] * len(moves))
        after_points = np.concatenate([points for points, _ in moves])
        point = _joined(before_points, after_points, size)
        after = [(points[:, None] * actions + acts[None, :]).ravel() for points, acts in moves]
        entry = _joined(np.concatenate([entry] * len(moves)), np.concatenate(after), size * actions)
    return Folding(
        entry.reshape(size, actions),
        point,
        np.unique(entry, return_index=True)[1],
        np.unique(point, return_index=True)[1],
    )


def _joined(before: IndexArray, after: IndexArray, count: int) -> IndexArray:
    edges = coo_array((np.ones(len(before), dtype=bool), (before, after)), shape=(count, count))
    return by_first(connected_components(edges, directed=False)[1].astype(np.intp))


def _moves(piece: Piece, cost: FloatArray) -> list[tuple[IndexArray, IndexArray]]:
    """Permutations of the points, each with the permutation of actions that keeps every cost."""
    if piece.size > LARGEST_GROUP:
        return []
    distances, rounded = _significant(piece.distances), _significant(cost)
    # Points may only go where they see the same distances and the same costs.
    seen = np.column_stack([np.sort(distances, axis=1), np.sort(rounded, axis=1)])
    colours = np.unique(seen, axis=0, return_inverse=True)[1].ravel()
    if len(np.unique(colours)) == piece.size:
        return []
    try:
        found = automorphisms(_short_pairs(piece), colours, LARGEST_GROUP).generators
    except TooLargeError:
        return []
    rows = {row.tobytes(): w for w, row in enumerate(np.ascontiguousarray(rounded.T))}
    moves = []
    for generator in found:
        points = generator.astype(np.intp)
        if (distances[np.ix_(points, points)] != distances).any():
            continue
        # cost[g(x), h(w)] = cost[x, w]: the column of h(w) at g(x) is the column of w at x.
        carried = np.empty_like(rounded)
        carried[points] = rounded
        images = [rows.get(np.ascontiguousarray(column).tobytes(), -1) for column in carried.T]
        if -1 not in images and len(set(images)) == len(images):
            moves.append((points, np.array(images, dtype=np.intp)))
    return moves


def _short_pairs(piece: Piece) -> Graph:
    """Points joined to their nearest ones: few edges that a symmetry must keep."""
    pairs, lengths = piece.pairs[piece.needed], piece.exponents[piece.needed]
    nearest = np.full(piece.size, np.inf)
    for end in (0, 1):
        np.minimum.at(nearest, pairs[:, end], lengths)
    reach = np.maximum(nearest[pairs[:, 0]], nearest[pairs[:, 1]]) * (1 + 1e-9)
    return Graph._of_indices(range(piece.size), pairs[lengths <= reach])


def _significant(values: FloatArray) -> FloatArray:
    """Values rounded so that rounding errors vanish; 0 stays 0."""
    top = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    if top == 0:
        return np.zeros_like(values)
    return np.asarray(np.round(values / top, DIGITS) + 0.0)
