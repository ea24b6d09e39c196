"""The space a channel must respect: points, edges with lengths, distances, connected pieces.

Where a formula or a solution in ball arithmetic has it, `log_capacity` is the capacity of a connected space
to every digit: for small ε the certificates' floats enclose a factor next to 1, whose logarithm has few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from weakref import WeakKeyDictionary

import flint
import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import coo_array, csc_array
from scipy.sparse.csgraph import connected_components

from sievert.arrays import FloatArray, IndexArray
from sievert.errors import PolicyError
from sievert.numerics import kernel_weights
from sievert.programs import LinearProgram, Solution, Unsolved, solved
from sievert.proofs import ProofSpace, keeps_digits
from sievert.spaces import (
    DatabaseGraph,
    Edges,
    Factors,
    Graph,
    Labels,
    Metric,
    by_first,
    cartesian_factors,
    distances_to_nearest,
    extents,
    isomorphic_components,
    worded,
)
from sievert.spaces.secrets import CompleteGraph

__all__ = [
    "LARGEST_DENSE",
    "IsomorphicComponents",
    "Packing",
    "Space",
    "likeliest",
    "log_capacity",
    "packing",
    "packing_program",
    "space_of",
    "together",
    "weights",
]

LARGEST_DENSE = 4000  # points whose distances are kept as a matrix
LARGEST_PRUNED = 300  # points of a metric whose unnecessary pairs are looked for, in n³ steps
LARGEST_KEPT = 1000  # points of a space that is remembered: a few MB


@dataclass(frozen=True, eq=False)
class Space:
    """Points 0…size-1 and edges; a private channel changes by at most e^(ε·length) along an edge.

    With `matrix`, the distances are those of a metric and the edges are all its finite pairs; straight lines
    between `coordinates` where those are known. `symmetries` are permutations of the points known to keep
    the edges; `alike` numbers points so that a symmetry leads from each to every other of its number.
    """

    size: int
    pairs: IndexArray
    lengths: FloatArray
    labels: Labels
    matrix: FloatArray | None = None
    symmetries: tuple[IndexArray, ...] = ()
    coordinates: FloatArray | None = None
    alike: IndexArray | None = None
    lists: DatabaseGraph | None = None  # the same points and edges as neighbour lists, where they are known

    @cached_property
    def is_graph(self) -> bool:
        """Whether every edge has length 1."""
        return bool((self.lengths == 1).all())

    @cached_property
    def distances(self) -> FloatArray:
        """All shortest-path distances."""
        return self.proof.distances if self.matrix is None else self.matrix

    @property
    def arcs(self) -> tuple[IndexArray, IndexArray]:
        """Tail and head of every edge, in one direction and then in the other."""
        first, second = self.pairs.T
        return np.concatenate([first, second]), np.concatenate([second, first])

    @cached_property
    def component_of(self) -> IndexArray:
        """Component number of each point."""
        if self.lists is not None:
            return self.lists.component_of
        return self.proof.component_of

    @property
    def degrees(self) -> IndexArray:
        """Number of edges at each point."""
        return np.bincount(self.pairs.ravel(), minlength=self.size)

    @property
    def is_tree(self) -> bool:
        """Whether the (connected) space has no cycle."""
        return len(self.pairs) == self.size - 1 and self.matrix is None

    def graph(self) -> Graph:
        """The points and edges, without lengths."""
        if self.lists is not None:
            return DatabaseGraph(
                range(self.size), self.lists.starts, self.lists.ends, self.lists.one_way, directed=False
            )
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
            (found,) = extents(self.graph(), orbits=self.alike)
            return float(found.diameter_bounds[1]), float(found.radius_bounds[1]), int(found.centre)  # type: ignore[call-overload]
        if self.size > LARGEST_DENSE:
            away = self._away(0)
            # One search bounds both: the way round by its source is at most twice as long.
            return 2 * float(away.max()), float(away.max()), 0
        far = self.distances.max(axis=1)
        return float(far.max()), float(far.min()), int(far.argmin())

    def _away(self, source: int | np.intp) -> FloatArray:
        """Distance of each point from one."""
        if self.is_graph and self.is_tree:
            return distances_to_nearest(self.graph(), [int(source)]).astype(np.float64)
        return self.proof.distances_from(np.array([source]))

    def pieces(self) -> list[IsomorphicComponents]:
        """The connected components, those that are the same up to names together."""
        count = int(self.component_of.max()) + 1
        if count == 1:
            return [IsomorphicComponents(np.arange(self.size)[None, :], self)]
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
            IsomorphicComponents(table, self.part(table[0], order[starts[k] : starts[k + 1]]))
            for k, table in enumerate(tables)
        ]

    @cached_property
    def factors(self) -> Factors | None:
        """What a connected space with edges is the Cartesian product of, where that is found."""
        if self.matrix is not None or self.size < 4 or self.component_of.any():
            return None
        return cartesian_factors(self.size, Edges(self.pairs, self.lengths))

    def part(self, points: IndexArray, chosen: IndexArray) -> Space:
        """The space of some points, in their order, with the chosen edges."""
        place = np.full(self.size, -1, dtype=np.intp)
        place[points] = np.arange(len(points))
        labels = tuple(self.labels[int(i)] for i in points)
        moved = [place[image[points]] for image in self.symmetries]
        matrix = None if self.matrix is None else self.matrix[np.ix_(points, points)]
        return Space(
            len(points),
            place[self.pairs[chosen]],
            self.lengths[chosen],
            labels,
            matrix,
            tuple(image for image in moved if (image >= 0).all()),
            coordinates=None if self.coordinates is None else self.coordinates[points],
            alike=None if self.alike is None else self.alike[points],
        )

    def kernel(self, eps: float) -> FloatArray:
        """Φ[i,j] = e^(-ε·d(i,j)), 0 at infinite distance."""
        with np.errstate(over="ignore"):
            return (
                np.exp(-eps * self.distances) if eps > 0 else np.isfinite(self.distances).astype(np.float64)
            )

    @cached_property
    def proof(self) -> ProofSpace:
        """The same space as proofs see it."""
        return ProofSpace(self.size, self.pairs, self.lengths, self.matrix is not None, self.coordinates)


@dataclass(frozen=True, eq=False)
class IsomorphicComponents:
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
        lists = target if isinstance(target, DatabaseGraph) and not target.directed else None
        return Space(target.size, target.edges, np.ones(len(target.edges)), target.nodes, lists=lists)
    edges, matrix = target.edges, None
    if edges is None:
        edges = _all_pairs(target.matrix)
        matrix = target.matrix
    finite = np.isfinite(edges.lengths)
    if (edges.lengths[finite] == 0).any():
        i, j = edges.pairs[finite][np.argmin(edges.lengths[finite])]
        raise PolicyError(
            f"metric: {worded(target.points[int(i)])} and {worded(target.points[int(j)])} are at distance 0; "
            "they can never be told apart, so merge them into one point"
        )
    if matrix is not None and len(matrix) <= LARGEST_PRUNED:
        edges, matrix = _necessary(matrix), None
        finite = np.isfinite(edges.lengths)
    places = None if matrix is None else target.coordinates
    if places is not None and not keeps_digits(places, edges.lengths):
        places = None
    return Space(
        target.size, edges.pairs[finite], edges.lengths[finite], target.points, matrix, coordinates=places
    )


def together(metric: Metric) -> tuple[Metric, IndexArray] | None:
    """Points at distance 0 as one: the metric of the first of each, and which of them every point is.

    None where all points are apart.
    """
    edges = metric.edges if metric.edges is not None else _all_pairs(metric.matrix)
    alike = edges.pairs[edges.lengths == 0]
    if not len(alike):
        return None
    joined = coo_array((np.ones(len(alike)), tuple(alike.T)), shape=(metric.size,) * 2)
    group = by_first(connected_components(joined, directed=False)[1].astype(np.intp))
    first = np.unique(group, return_index=True)[1]
    return metric.restricted([metric.points[k] for k in first.tolist()]), group


def likeliest(metric: Metric, prior: FloatArray | None) -> tuple[Metric, FloatArray | None, float] | None:
    """The same guess on points that are apart: their metric, their prior, and its share of all belief.

    Of points at distance 0 only the likeliest is ever guessed. None where all are apart, or too many.
    """
    merged = together(metric) if metric.size <= LARGEST_DENSE else None
    if merged is None:
        return None
    most = np.zeros(merged[0].size)
    np.maximum.at(most, merged[1], np.full(metric.size, 1 / metric.size) if prior is None else prior)
    total = float(most.sum())
    return merged[0], None if prior is None else most / total, total


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


# ── The packing bound and the weights of a space ────────────────────────────────────────────────────────────
# Privacy gives K[i,j] ≥ Φ[i,j]·K[j,j]; summing a row, the diagonal z of any private channel satisfies Φz ≤
# 1. So capacity ≤ P = max{c·z : Φz ≤ 1, z ≥ 0} = min{Σy : Φy ≥ c, y ≥ 0}. If the solution of Φw = 1 is non-
# negative, K[i,j] = Φ[i,j]·w_j attains the bound and P is the magnitude Σw of the space.
# Weights this far below 0, relative to the largest, are rounding of a zero.
NEGATIVE = -1e-11
# Between this and 0 a float solution says nothing about the sign.
UNSURE = 1e-3
LARGEST_PRECISE = 64
# A solution that misses Φw = 1 by more is none: the kernel is singular.
RESIDUAL = 1e-8
# Entries of Φ below it change no digit beside the diagonal of 1; their products are numbers that processors
# are slow with.
NOTHING = 1e-140


@dataclass(frozen=True, eq=False)
class Packing:
    """Value of the packing bound, its covering vector y and a packing z."""

    value: float
    y: FloatArray
    z: FloatArray


def weights(space: Space, eps: float) -> FloatArray | None:
    """The solution of Φw = 1 when it is non-negative, else None."""
    kernel = _without_specks(space.kernel(eps))
    sums = kernel.sum(axis=1)
    if np.allclose(sums, sums[0], rtol=1e-14, atol=0.0):
        # Every point sees the same distances (vertex-transitive, distance-regular): Alvim et al., Thm 12.
        return np.full(space.size, 1 / sums[0])
    ones = np.ones(space.size)
    try:
        found = np.asarray(cho_solve(cho_factor(kernel), ones))
    except LinAlgError:
        try:
            found = np.asarray(np.linalg.solve(kernel, ones), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
    least = found.min() / np.abs(found).max()
    if -UNSURE < least < 0 and space.size <= LARGEST_PRECISE:
        # For tiny ε all columns look alike; 256 bits tell a weight near 0 from a negative one.
        precise = kernel_weights(space.distances, eps)
        if precise is None:
            return None
        found, least = precise, precise.min() / np.abs(precise).max()
    if least < NEGATIVE or np.abs(kernel @ np.maximum(found, 0.0) - 1).max() > RESIDUAL:
        return None
    return np.maximum(found, 0.0)


def _without_specks(kernel: FloatArray) -> FloatArray:
    return np.where(kernel < NOTHING, 0.0, kernel)


def packing(space: Space, eps: float, objective: FloatArray | None = None) -> Packing:
    """The packing bound by linear programming; `objective` weighs the points (a prior, say)."""
    size = space.size
    cost = np.ones(size) if objective is None else objective
    kernel = _without_specks(space.kernel(eps))
    solution = packing_program(space, eps, objective)
    y = np.maximum(-solution.dual, 0.0)
    covered = kernel @ y
    counted = cost > 0
    least = float((covered[counted] / cost[counted]).min(initial=np.inf))
    if not least > 0:
        y, least = np.full(size, float(cost.max())), 1.0
    z = np.maximum(solution.primal, 0.0)
    return Packing(float(y.sum() / least), y, z / max(1.0, float((kernel @ z).max())))


def packing_program(
    space: Space, eps: float, objective: FloatArray | None = None, limits: FloatArray | None = None
) -> Solution:
    """What the solver finds of max{c·z : Φz ≤ b, z ≥ 0}: z as variables, y as the multipliers of rows.

    `objective` is c and `limits` is b, 1 unless given.
    """
    size = space.size
    program = LinearProgram(
        -(np.ones(size) if objective is None else objective),
        csc_array(_without_specks(space.kernel(eps))),
        np.full(size, -np.inf),
        np.ones(size) if limits is None else limits,
        np.zeros(size),
        np.full(size, np.inf),
    )
    try:
        return solved(program, tolerance=1e-10)
    except Unsolved:
        # Whatever the multipliers, they are scaled until they cover every point.
        return solved(program, tolerance=1e-7)


# ε·diameter below which floats have too few digits for the weights, and points for which balls are quick.
SMALL = 1e-3
LARGEST_SOLVED = 80
# Bits of the balls: weights of order ε^k cost k·log2(1/ε) of them.
PRECISIONS = (512, 2048, 8192)


def log_capacity(space: Space, eps: Fraction) -> float | None:
    """ln of the most that any ε-private mechanism on the space multiplies a guess by; None where unknown.

    >>> from sievert.limits._space import space_of
    >>> from sievert.spaces.graphs import grid
    >>> log_capacity(space_of(grid(3, 3)), Fraction(1, 10**12))
    2e-12
    """
    level = float(eps)
    if space.is_tree:
        return _on_tree(space, level)
    if space.size > LARGEST_DENSE:
        return None
    even = _evenly_spaced(space, level)
    if even is None and 0 < level * space.extent[0] < SMALL and space.size <= LARGEST_SOLVED:
        return _by_weights(space, eps)
    return even


def _on_tree(space: Space, eps: float) -> float | None:
    """On a path 1 + Σ tanh(ε·length/2); on a star of k leaves with e^(ε·length) ≤ k - 1 the radius bound.

    The star's channel has the leaves as outputs: even at the centre, e^(ε·length) times that at the leaf.
    """
    degrees, lengths = np.bincount(space.pairs.ravel(), minlength=space.size), space.lengths
    if degrees.max() <= 2:
        return math.log1p(math.fsum(np.tanh(eps * lengths / 2).tolist()))
    star = len(lengths) == degrees.max() and bool((lengths == lengths[0]).all())
    reached = eps * float(lengths[0])
    return reached if star and reached <= math.log(len(lengths) - 1) else None


def _evenly_spaced(space: Space, eps: float) -> float | None:
    """n/Σ e^(-εd) where every point has others at the same distances.

    Even weights then cover every point, and the kernel divided by the sum is a channel.
    """
    totals = space.distances.sum(axis=1)
    if (totals != totals[0]).any():
        return None
    away = np.sort(space.distances, axis=1)
    if (away != away[0]).any():
        return None
    return -math.log1p(math.fsum(np.expm1(-eps * away[0]).tolist()) / space.size)


def _by_weights(space: Space, eps: Fraction) -> float | None:
    """Σ w for Φw = 1, where no weight is negative: w covers every point, and Φ·diag(w) is a channel."""
    rates = {float(d): eps * Fraction(float(d)) for d in np.unique(space.distances)}
    old = flint.ctx.prec
    try:
        for precision in PRECISIONS:
            flint.ctx.prec = precision
            powers = {d: (-flint.arb(flint.fmpq(r.numerator, r.denominator))).exp() for d, r in rates.items()}
            kernel = flint.arb_mat([[powers[d] for d in row] for row in space.distances.tolist()])
            try:
                found = kernel.solve(flint.arb_mat(space.size, 1, [flint.arb(1)] * space.size)).entries()
            except ZeroDivisionError:
                continue
            if any(weight < 0 for weight in found):
                return None
            value = sum(found, flint.arb(0)).log()
            if all(weight > 0 for weight in found) and value.rel_accuracy_bits() > 60:
                return float(value.mid())
        return None
    finally:
        flint.ctx.prec = old
