"""What is to be designed: costs of reporting each action at each point, and which points must stay alike.

Points that cannot be told apart are merged, components at infinite distance are designed by themselves,
and what remains of the constraints are the pairs that no third point lies between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.arrays import FloatArray, IndexArray
from sievert.errors import TooLargeError
from sievert.proofs import Decay, ProofSpace
from sievert.spaces import Edges, Graph, Metric, automorphisms, by_first, shortest_paths

__all__ = ["DesignComponent", "Folding", "Problem", "Shape", "fold", "inward", "necessary"]
Shape = Literal["point", "line", "tree", "uniform", "general"]
# Closer than the first points are designed as one: telling them apart would gain nothing and cost precision.
# So are those closer than a share of the gap, up to the second: an interior point cannot part them.
MERGED, MOST_MERGED, MERGED_OF_GAP = 1e-9, 1e-7, 1e-3
# Rounding may move a point that lies between two others by this much, relatively.
BETWEEN = 1e-12


@dataclass(frozen=True, eq=False)
class Problem:
    """Minimise Σ cost[x,w]·C[x,w] over channels that shrink by at most e^(-ε·length) along every edge."""

    space: ProofSpace
    decay: Decay
    cost: FloatArray  # [point, action]
    loss: FloatArray  # [action, point]
    near: float = MERGED

    @classmethod
    def of(
        cls, metric: Metric, decay: Decay, cost: FloatArray, loss: FloatArray, gap: float = 0.0
    ) -> Problem:
        """The problem of a metric: its edges if it knows some, all pairs at finite distance otherwise.

        `gap` is the share of the loss that may stay open.
        """
        edges = metric.edges
        if edges is None or not _generates(metric, edges):
            rows, columns = np.triu_indices(metric.size, 1)
            lengths = metric.matrix[rows, columns]
            edges = Edges(np.column_stack([rows, columns]).astype(np.intp), lengths)
        finite = np.isfinite(edges.lengths)
        if decay.alpha == 0:
            finite &= edges.lengths == 0
        space = ProofSpace(metric.size, edges.pairs[finite], edges.lengths[finite])
        return cls(space, decay, cost, loss, max(MERGED, min(MOST_MERGED, MERGED_OF_GAP * gap)))

    @cached_property
    def exponents(self) -> FloatArray:
        """ε·length of each edge, as floats."""
        return self.decay.exponents(self.space.lengths)

    @cached_property
    def group_of(self) -> IndexArray:
        """Group of each point; points of one group are reported alike."""
        alike = self.exponents <= self.near
        if not alike.any():
            return np.arange(self.space.size)
        pairs = self.space.pairs[alike]
        joined = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(self.space.size,) * 2)
        return np.asarray(connected_components(joined, directed=False)[1], dtype=np.intp)

    def pieces(self) -> list[DesignComponent]:
        """The components that constraints leave, each with its points merged into groups."""
        groups = int(self.group_of.max()) + 1
        ends = self.group_of[self.space.pairs]
        low, high = ends.min(axis=1), ends.max(axis=1)
        counted = np.flatnonzero((low != high) & np.isfinite(self.exponents))
        # Of several edges between two groups the shortest implies the others.
        order = counted[np.lexsort((self.exponents[counted], high[counted], low[counted]))]
        codes = low[order] * groups + high[order]
        kept = order[np.concatenate([[True], codes[1:] != codes[:-1]])] if len(order) else order
        joined = coo_array((np.ones(len(kept)), (low[kept], high[kept])), shape=(groups, groups))
        count, component = connected_components(joined, directed=False)
        cost = np.zeros((groups, self.cost.shape[1]))
        np.add.at(cost, self.group_of, self.cost)
        if count == 1:
            return [self._piece(np.arange(groups), kept, cost)]
        home = component[low[kept]] if len(kept) else np.empty(0, dtype=np.intp)
        members = np.split(np.argsort(component, kind="stable"), np.cumsum(np.bincount(component))[:-1])
        order = np.argsort(home, kind="stable")
        edges = np.split(kept[order], np.searchsorted(home[order], np.arange(1, count)))
        return [self._piece(points, part, cost) for points, part in zip(members, edges, strict=True)]

    def _piece(self, groups: IndexArray, edges: IndexArray, cost: FloatArray) -> DesignComponent:
        place = np.full(len(cost), -1, dtype=np.intp)
        place[groups] = np.arange(len(groups))
        first = np.unique(self.group_of, return_index=True)[1]
        return DesignComponent(
            groups,
            place[self.group_of[self.space.pairs[edges]]],
            self.exponents[edges],
            edges,
            cost[groups],
            self.loss[:, first[groups]],
        )


def _generates(metric: Metric, edges: Edges) -> bool:
    """Whether a metric's edges are fewer than its pairs; all pairs are as well read off the matrix."""
    return len(edges) < metric.size * (metric.size - 1) // 2 or metric.size < 3


@dataclass(frozen=True, eq=False)
class DesignComponent:
    """One connected component: points 0…k-1, edges with exponents ε·length, costs [point, action].

    `groups` and `edges` say which groups and edges of the whole problem they are.
    """

    groups: IndexArray
    pairs: IndexArray
    exponents: FloatArray
    edges: IndexArray
    cost: FloatArray
    loss: FloatArray

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.groups)

    @cached_property
    def distances(self) -> FloatArray:
        """ε·d between all points: shortest paths over the edges."""
        if len(self.pairs) == self.size * (self.size - 1) // 2:
            table = np.zeros((self.size, self.size))
            table[self.pairs[:, 0], self.pairs[:, 1]] = self.exponents
            table[self.pairs[:, 1], self.pairs[:, 0]] = self.exponents
            return table
        return shortest_paths(Edges(self.pairs, self.exponents), self.size)

    @cached_property
    def needed(self) -> IndexArray:
        """Positions of the edges that no third point lies between; the others follow from these."""
        if len(self.pairs) < self.size or self.is_uniform:
            return np.arange(len(self.pairs))
        return necessary(self.pairs, self.exponents, self.distances)

    @cached_property
    def is_uniform(self) -> bool:
        """Whether all points are equally far apart."""
        every = self.size * (self.size - 1) // 2
        return len(self.pairs) == every and bool((self.exponents == self.exponents[0]).all())

    @cached_property
    def shape(self) -> Shape:
        """What the constraints look like once only the needed ones are left."""
        if self.size == 1:
            return "point"
        if self.size > 2 and self.is_uniform:
            return "uniform"
        if len(self.needed) != self.size - 1:
            return "general"
        degrees = np.bincount(self.pairs[self.needed].ravel(), minlength=self.size)
        return "line" if degrees.max() <= 2 else "tree"

    @cached_property
    def outward(self) -> tuple[IndexArray, IndexArray, IndexArray]:
        """Of a line or tree: points with parents first, each one's parent, and the edge to it (-1: root).

        A line starts at an end, so that the order is the order of its points.
        """
        near: list[list[tuple[int, int]]] = [[] for _ in range(self.size)]
        for edge in self.needed.tolist():
            a, b = self.pairs[edge].tolist()
            near[a].append((b, edge))
            near[b].append((a, edge))
        root = next(v for v in range(self.size) if len(near[v]) <= 1)
        parent, through = np.full(self.size, -1, dtype=np.intp), np.full(self.size, -1, dtype=np.intp)
        order = [root]
        for v in order:
            for w, edge in near[v]:
                if w != parent[v]:
                    parent[w], through[w] = v, edge
                    order.append(w)
        return np.array(order, dtype=np.intp), parent, through

    def with_actions(self, actions: IndexArray) -> DesignComponent:
        """The same piece with some of the actions."""
        return replace(self, cost=self.cost[:, actions], loss=self.loss[actions])

    def ordered(self, order: IndexArray) -> DesignComponent:
        """The same piece with its points in another order; edges keep theirs."""
        place = np.empty(self.size, dtype=np.intp)
        place[order] = np.arange(self.size)
        found = replace(
            self,
            groups=self.groups[order],
            pairs=place[self.pairs],
            cost=self.cost[order],
            loss=self.loss[:, order],
        )
        found.__dict__["needed"] = self.needed
        return found

    def arc_from(self, edge: IndexArray, left: IndexArray) -> IndexArray:
        """The arc of the whole problem along an edge of this piece, with the given point on its left."""
        return 2 * self.edges[edge] + self._turned(edge, left)

    def _turned(self, edge: IndexArray, left: IndexArray) -> IndexArray:
        return np.asarray(self.pairs[edge, 0] != left, dtype=np.intp)


def necessary(pairs: IndexArray, lengths: FloatArray, distances: FloatArray) -> IndexArray:
    """Positions of the pairs (x, z) without a third point y such that d(x,y) + d(y,z) = d(x,z)."""
    keep = np.ones(len(pairs), dtype=bool)
    first, second = pairs.T
    limit = lengths * (1 + BETWEEN)
    for y in range(len(distances)):
        row = distances[y]
        between = row[first] + row[second] <= limit
        between &= (first != y) & (second != y)
        keep &= ~between
    return np.flatnonzero(keep)


def inward(problem: Problem) -> list[tuple[int, int, int]]:
    """Points of each group with the next one towards its first point and the edge there, farthest first."""
    pairs = problem.space.pairs
    inside = np.flatnonzero(
        (problem.group_of[pairs[:, 0]] == problem.group_of[pairs[:, 1]]) & (problem.exponents <= problem.near)
    )
    near: dict[int, list[tuple[int, int]]] = {}
    for edge in inside.tolist():
        a, b = pairs[edge].tolist()
        near.setdefault(a, []).append((b, edge))
        near.setdefault(b, []).append((a, edge))
    seen: set[int] = set()
    steps: list[tuple[int, int, int]] = []
    for root in np.unique(problem.group_of, return_index=True)[1].tolist():
        queue = [root]
        seen.add(root)
        for v in queue:
            for w, edge in near.get(v, ()):
                if w not in seen:
                    seen.add(w)
                    steps.append((w, v, edge))
                    queue.append(w)
    return steps[::-1]


# ── Symmetry of a design problem: which entries of an optimal channel may be taken equal ────────────────────
# Averaging an optimal channel over permutations that leave distances, costs and losses as they are keeps it
# optimal and private, so one unknown for each orbit of (point, action) is enough. Candidates for
# permutations come from the graph of shortest pairs; every one is then tested on the numbers themselves. A
# test within rounding is enough: certificate and repair use the original numbers.
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


def fold(piece: DesignComponent, cost: FloatArray) -> Folding:
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


def _moves(piece: DesignComponent, cost: FloatArray) -> list[tuple[IndexArray, IndexArray]]:
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


def _short_pairs(piece: DesignComponent) -> Graph:
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
