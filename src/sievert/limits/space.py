"""The space a channel must respect: points, edges with lengths, distances, connected pieces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.errors import PolicyError
from sievert.proofs.space import ProofSpace
from sievert.spaces.extents import extents
from sievert.spaces.graph import Graph
from sievert.spaces.isomorphism import isomorphic_components
from sievert.spaces.labels import Labels
from sievert.spaces.metric import Edges, Metric
from sievert.spaces.secrets import CompleteGraph

__all__ = ["LARGEST_DENSE", "Piece", "Space", "space_of"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
LARGEST_DENSE = 4000  # points whose distances are kept as a matrix
LARGEST_PRUNED = 300  # points of a metric whose unnecessary pairs are looked for, in n³ steps
LARGEST_KEPT = 1000  # points of a space that is remembered: a few MB


@dataclass(frozen=True, eq=False)
class Space:
    """Points 0…size-1 and edges; a private channel changes by at most e^(ε·length) along an edge.

    With `matrix`, the distances are those of a metric and the edges are all its finite pairs. `symmetries`
    are permutations of the points known to keep the edges.
    """

    size: int
    pairs: IndexArray
    lengths: FloatArray
    labels: Labels
    matrix: FloatArray | None = None
    symmetries: tuple[IndexArray, ...] = ()

    @cached_property
    def is_graph(self) -> bool:
        """Whether every edge has length 1."""
        return bool((self.lengths == 1).all())

    @cached_property
    def distances(self) -> FloatArray:
        """All shortest-path distances."""
        return self.proof.distances if self.matrix is None else self.matrix

    @cached_property
    def component_of(self) -> IndexArray:
        """Component number of each point."""
        joined = coo_array((np.ones(len(self.pairs)), tuple(self.pairs.T)), shape=(self.size,) * 2)
        return np.asarray(connected_components(joined, directed=False)[1], dtype=np.intp)

    @cached_property
    def degrees(self) -> IndexArray:
        """Number of edges at each point."""
        return np.bincount(self.pairs.ravel(), minlength=self.size)

    @property
    def is_tree(self) -> bool:
        """Whether the (connected) space has no cycle."""
        return len(self.pairs) == self.size - 1 and self.matrix is None

    def graph(self) -> Graph:
        """The points and edges, without lengths."""
        return Graph._of_indices(range(self.size), self.pairs)

    @cached_property
    def extent(self) -> tuple[float, float, int]:
        """Diameter and radius of a connected space (or upper bounds on them) and a point in the middle."""
        if self.size == 1:
            return 0.0, 0.0, 0
        if self.is_tree:
            # A point farthest from any other is an end of a longest path, whose middle is the centre.
            start = self._away(0).argmax()
            there = self._away(start)
            far = np.maximum(there, self._away(there.argmax()))
            return float(far.max()), float(far.min()), int(far.argmin())
        if self.size > LARGEST_DENSE and self.is_graph:
            # An upper bound on either gives a valid bound; on trees and grids the search ends exactly.
            (found,) = extents(self.graph())
            return float(found.diameter_bounds[1]), float(found.radius_bounds[1]), int(found.centre)  # type: ignore[call-overload]
        if self.size > LARGEST_DENSE:
            away = self._away(0)
            # One search bounds both: the way round by its source is at most twice as long.
            return 2 * float(away.max()), float(away.max()), 0
        far = self.distances.max(axis=1)
        return float(far.max()), float(far.min()), int(far.argmin())

    def _away(self, source: int | np.intp) -> FloatArray:
        """Distance of each point from one."""
        return self.proof.distances_from(np.array([source]))

    def pieces(self) -> list[Piece]:
        """The connected components, those that are the same up to names together."""
        count = int(self.component_of.max()) + 1
        if count == 1:
            return [Piece(np.arange(self.size)[None, :], self)]
        if self.is_graph and self.matrix is None:
            tables = [found.vertices for found in isomorphic_components(self.graph())]
        else:
            order = np.argsort(self.component_of, kind="stable")
            stops = np.cumsum(np.bincount(self.component_of))[:-1]
            tables = [points[None, :] for points in np.split(order, stops)]
        owner = np.full(self.size, -1, dtype=np.intp)
        for k, table in enumerate(tables):
            owner[table[0]] = k
        home = owner[self.pairs[:, 0]]
        order = np.argsort(home, kind="stable")
        starts = np.searchsorted(home[order], np.arange(len(tables) + 1))
        return [
            Piece(table, self.part(table[0], order[starts[k] : starts[k + 1]]))
            for k, table in enumerate(tables)
        ]

    def part(self, points: IndexArray, chosen: IndexArray) -> Space:
        """The space of some points, in their order, with the chosen edges."""
        place = np.full(self.size, -1, dtype=np.intp)
        place[points] = np.arange(len(points))
        labels = tuple(self.labels[int(i)] for i in points)
        matrix = None if self.matrix is None else self.matrix[np.ix_(points, points)]
        return Space(len(points), place[self.pairs[chosen]], self.lengths[chosen], labels, matrix)

    def kernel(self, eps: float) -> FloatArray:
        """Φ[i,j] = e^(-ε·d(i,j)), 0 at infinite distance."""
        with np.errstate(over="ignore"):
            return (
                np.exp(-eps * self.distances) if eps > 0 else np.isfinite(self.distances).astype(np.float64)
            )

    @cached_property
    def proof(self) -> ProofSpace:
        """The same space as proofs see it."""
        return ProofSpace(self.size, self.pairs, self.lengths, self.matrix is not None)


@dataclass(frozen=True, eq=False)
class Piece:
    """Components that are the same up to names: a row of points for each, in matching order; one's space."""

    points: IndexArray
    space: Space

    @property
    def count(self) -> int:
        """How many components there are."""
        return len(self.points)


_KEPT: WeakKeyDictionary[Graph | Metric, Space] = WeakKeyDictionary()


def space_of(target: Graph | Metric) -> Space:
    """The space of a graph or a metric; points at distance 0 must be merged first.

    Small ones are kept while their graph or metric is in use, so that another ε finds distances and
    components at hand.
    """
    space = _KEPT.get(target)
    if space is None:
        space = _space_of(target)
        if space.size <= LARGEST_KEPT:
            _KEPT[target] = space
    return space


def _space_of(target: Graph | Metric) -> Space:
    if isinstance(target, CompleteGraph) and target.size > LARGEST_PRUNED:
        # Its distances are known without a search.
        apart = 1.0 - np.eye(target.size)
        return Space(target.size, target.edges, np.ones(len(target.edges)), target.nodes, apart)
    if isinstance(target, Graph):
        return Space(target.size, target.edges, np.ones(len(target.edges)), target.nodes)
    edges, matrix = target.edges, None
    if edges is None:
        edges = _all_pairs(target.matrix)
        matrix = target.matrix
    finite = np.isfinite(edges.lengths)
    if (edges.lengths[finite] == 0).any():
        i, j = edges.pairs[finite][np.argmin(edges.lengths[finite])]
        raise PolicyError(
            f"metric: {target.points[int(i)]!r} and {target.points[int(j)]!r} are at distance 0; "
            "they can never be told apart, so merge them into one point"
        )
    if matrix is not None and len(matrix) <= LARGEST_PRUNED:
        edges, matrix = _necessary(matrix), None
        finite = np.isfinite(edges.lengths)
    return Space(target.size, edges.pairs[finite], edges.lengths[finite], target.points, matrix)


def _all_pairs(matrix: FloatArray) -> Edges:
    """Every pair at finite distance."""
    rows, columns = np.nonzero(np.triu(np.isfinite(matrix), 1))
    return Edges(np.column_stack([rows, columns]), matrix[rows, columns])


def _necessary(matrix: FloatArray) -> Edges:
    """Pairs that no third point lies between (others follow from these by the triangle inequality).

    1e-12 is what rounding may do to collinear coordinates; the shortest paths that remain differ from the
    matrix by no more than that.
    """
    needed = np.isfinite(matrix) & ~np.eye(len(matrix), dtype=bool)
    for k in range(len(matrix)):
        through = matrix[:, k, None] + matrix[None, k, :]
        between = through <= matrix * (1 + 1e-12)
        between[k, :] = between[:, k] = False
        needed &= ~(between & np.isfinite(through))
    rows, columns = np.nonzero(np.triu(needed, 1))
    return Edges(np.column_stack([rows, columns]), matrix[rows, columns])
