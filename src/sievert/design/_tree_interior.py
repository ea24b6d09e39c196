"""The interior point on a tree: points are eliminated from the leaves, and so nothing is ever of order n³.

Eliminating what hangs behind an edge leaves a remainder ≥ 0 at its other end: a sum of products of positive
numbers, without cancellation. The diagonal of a column's inverse V is 1/Σ of the remainders that arrive at a
point, and along the tree V[i,j] is V[j,j] times ratios of neighbours. So for points on two sides of a third,
c, V[i,j] = b_i·b_j with b_i = V[i,c]/√V[c,c] ≤ √V[i,i], and the sum of all inverses is one product of
matrices for every c that halves what is left of the tree: nothing overflows. A line is a tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csr_array

from sievert.arrays import FloatArray, IndexArray
from sievert.design._closed_forms import Candidate
from sievert.design._columns import Arrays, Breakdown
from sievert.design._exact import majorant, with_reserve
from sievert.design._interior import Search, climbed
from sievert.design._problem import DesignComponent
from sievert.proofs import Multipliers

__all__ = ["tree_interior_point"]


def tree_interior_point(piece: DesignComponent, gap: float, floor: float = 0.0) -> Candidate:
    """`interior_point` for points on a line or a tree.

    Notes
    -----
    Cost: n² operations for each action and step, all of them in products of matrices; n floats for each
    action.
    """
    return climbed(_TreeSearch(piece, floor), gap)


class _Neighbours:
    """Constraints between a point and its parent, [direction, action, point but the root].

    Points are numbered with parents first; the actions of a point lie together.
    """

    def __init__(self, factor: FloatArray, parent: IndexArray) -> None:
        self.factor = factor
        edges = np.arange(len(parent))
        self._parent: Any = slice(0, -1) if (parent == edges).all() else parent
        self._gather = csr_array(
            (np.ones(len(parent)), (parent, edges)), shape=(len(parent) + 1, len(parent))
        )

        self.degree = np.bincount(parent, minlength=len(parent) + 1) + (np.arange(len(parent) + 1) > 0)

    def ends(self, m: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What stands at the parent and at the point itself."""
        return m.T[self._parent].T, m[:, 1:]

    def slack(self, m: FloatArray) -> FloatArray:
        """G m: m_x - a·m_z and m_z - a·m_x for each point z with parent x."""
        near, far = self.ends(m)
        found = np.empty((2, *far.shape[::-1])).transpose(0, 2, 1)
        np.subtract(near, self.factor * far, out=found[0])
        np.subtract(far, self.factor * near, out=found[1])
        return found

    def spread(self, t: FloatArray) -> FloatArray:
        """Gᵀt."""
        found = np.zeros((t.shape[2] + 1, t.shape[1])).T
        found[:, 1:] = t[1] - self.factor * t[0]
        upward = t[0] - self.factor * t[1]
        if isinstance(self._parent, slice):
            found[:, self._parent] += upward
            return found
        return np.asarray(found + (self._gather @ upward.T).T)


@dataclass(frozen=True, eq=False)
class _Split:
    """A point c that parts others in two: those to walk to, each from the one before, and both sides.

    A step is (place in the walk to come from, edge, whether the edge leads up to where one comes from).
    """

    centre: int
    steps: list[tuple[int, int, bool]]
    first: IndexArray  # places in the walk of one side and c, and which points they are
    second: IndexArray
    rows: IndexArray
    columns: IndexArray


class _Elimination(Arrays):
    """The matrices of all columns, as what is left when points are eliminated from the leaves on."""

    def __init__(self, factor: FloatArray, parent: IndexArray) -> None:
        self._factor = factor
        self._parent = [-1, *parent.tolist()]
        self._children: list[list[int]] = [[] for _ in self._parent]
        for k, p in enumerate(self._parent[1:], 1):
            self._children[p].append(k)
        self._splits = _splits(self._parent, self._children)

    def put(self, array: Any) -> Any:
        """The actions of a point lie together in memory, as recursions along the tree want them."""
        return np.asfortranarray(array) if np.ndim(array) == 2 else np.asarray(array)

    def get(self, array: Any) -> Any:
        """As it is."""
        return array

    def invert(self, weight: FloatArray) -> None:
        """Factor all matrices GᵀWG, and add up their inverses."""
        a = self._factor[:, None]
        p, q = weight[0].T, weight[1].T
        above, below, inner = p + a * a * q, a * a * p + q, p * q * (1 - a * a) ** 2
        aside = a * (p + q)
        size, count = len(self._parent), p.shape[1]
        rest, carried = np.zeros((size, count)), np.empty_like(p)
        self._pivots, self._up, self._down = np.empty((size, count)), np.empty_like(p), np.empty_like(p)
        for k in range(size - 1, 0, -1):
            pivot = np.add(rest[k], below[k - 1], out=self._pivots[k])
            np.divide(above[k - 1] * rest[k] + inner[k - 1], pivot, out=carried[k - 1])
            rest[self._parent[k]] += carried[k - 1]
            np.divide(aside[k - 1], pivot, out=self._up[k - 1])
        self._pivots[0] = rest[0]
        outer = np.zeros((size, count))
        for x, children in enumerate(self._children):
            for k, others in zip(children, _others(outer[x], carried, children), strict=True):
                pivot = others + above[k - 1]
                np.divide(below[k - 1] * others + inner[k - 1], pivot, out=outer[k])
                np.divide(aside[k - 1], pivot, out=self._down[k - 1])
        self._sum = self._added(1 / (rest + outer))
        try:
            self._factored = cho_factor(self._sum, lower=True, check_finite=False)
        except LinAlgError:
            raise Breakdown from None

    def _added(self, diagonal: FloatArray) -> FloatArray:
        """Σ V over the columns: a product of matrices for each split."""
        found = np.empty((len(diagonal), len(diagonal)))
        root, walk = np.sqrt(diagonal), np.empty_like(diagonal)
        for split in self._splits:
            walk[0] = root[split.centre]
            for place, (back, edge, upward) in enumerate(split.steps, 1):
                ratio = self._up[edge] if upward else self._down[edge]
                np.multiply(ratio, walk[back], out=walk[place])
            block = walk[split.first] @ walk[split.second].T
            found[split.rows[:, None], split.columns] = block
            found[split.columns[:, None], split.rows] = block.T
        np.fill_diagonal(found, diagonal.sum(axis=1))
        return found

    def product(self, right: FloatArray) -> FloatArray:
        """Every inverse times its row."""
        found = np.array(right.T, order="C")
        part = np.empty(found.shape[1])
        for k in range(len(found) - 1, 0, -1):
            found[self._parent[k]] += np.multiply(self._up[k - 1], found[k], out=part)
        found /= self._pivots
        for k in range(1, len(found)):
            found[k] += np.multiply(self._up[k - 1], found[self._parent[k]], out=part)
        return found.T

    def prices(self, wanted: FloatArray) -> FloatArray:
        """The solution for the sum of the inverses, refined once."""
        first = cho_solve(self._factored, wanted, check_finite=False)
        return np.asarray(first + cho_solve(self._factored, wanted - self._sum @ first, check_finite=False))


def _others(outer: FloatArray, carried: FloatArray, children: list[int]) -> list[FloatArray]:
    """What arrives at a point from all sides but each child; added up, never subtracted."""
    before, after = [outer], [np.zeros_like(outer)]
    for k in children[:-1]:
        before.append(before[-1] + carried[k - 1])
    for k in children[:0:-1]:
        after.append(after[-1] + carried[k - 1])
    return [a + b for a, b in zip(before, after[::-1], strict=True)][: len(children)]


# Points of a branch, nearest first, each with the one before it.
_Branch = list[tuple[int, int]]


def _splits(parent: list[int], children: list[list[int]]) -> list[_Split]:
    """Points that part the tree, then what they leave, until every two points have been parted."""
    near = [[*below, *([p] if p >= 0 else [])] for p, below in zip(parent, children, strict=True)]
    found, waiting = [], [list(range(len(parent)))]
    while waiting:
        points = waiting.pop()
        if len(points) < 2:
            continue
        centre = _middle(near, points)
        left = set(points) - {centre}
        sides: tuple[list[_Branch], list[_Branch]] = ([], [])
        for branch in sorted(
            (_branch(near, left, centre, w) for w in near[centre] if w in left), key=len, reverse=True
        ):
            min(sides, key=lambda side: sum(map(len, side))).append(branch)
        found.append(_split(parent, centre, sides))
        for side in sides:
            together = [v for branch in side for v, _ in branch]
            # Several branches hang together by the centre alone.
            waiting.append([centre, *together] if len(side) > 1 else together)
    return found


def _middle(near: list[list[int]], points: list[int]) -> int:
    """The point of a connected part whose largest branch is least."""
    walk = _branch(near, set(points), -1, points[0])
    below = dict.fromkeys(points, 1)
    largest = dict.fromkeys(points, 0)
    for v, back in reversed(walk):
        largest[v] = max(largest[v], len(points) - below[v])
        if back >= 0:
            below[back] += below[v]
            largest[back] = max(largest[back], below[v])
    return min(points, key=lambda v: largest[v])


def _branch(near: list[list[int]], inside: set[int], back: int, start: int) -> _Branch:
    """All that is reached from a point inside without going back."""
    found = [(start, back)]
    for v, before in found:
        found += [(w, v) for w in near[v] if w != before and w in inside]
    return found


def _split(parent: list[int], centre: int, sides: tuple[list[_Branch], list[_Branch]]) -> _Split:
    """How to walk from a centre to both sides."""
    place, steps = {centre: 0}, []
    for branch in (*sides[0], *sides[1]):
        for v, back in branch:
            upward = parent[v] == back
            steps.append((place[back], (v if upward else back) - 1, upward))
            place[v] = len(steps)
    rows, columns = ([centre, *(v for branch in side for v, _ in branch)] for side in sides)
    first, second = (np.array([place[v] for v in points]) for points in (rows, columns))
    return _Split(centre, steps, first, second, np.array(rows), np.array(columns))


class _TreeSearch(Search):
    """The search where constraints are those of neighbours, all of them from the start."""

    columns: Any
    pairs: Any

    def _begin(self) -> None:
        piece = self.piece
        self.order, parent, through = piece.outward
        place = np.empty(piece.size, dtype=np.intp)
        place[self.order] = np.arange(piece.size)
        self.parents, self.edges = parent[self.order[1:]], through[self.order[1:]]
        factor = np.exp(-piece.exponents[self.edges])
        upper = place[self.parents]
        self.columns, self.pairs = _Elimination(factor, upper), _Neighbours(factor, upper)
        self.cost = self.columns.put(piece.cost[self.order].T)
        self.arcs, self.codes = 2 * len(factor) * self.shape[0], np.empty(0, dtype=np.intp)

    def _carrying(self, wanted: FloatArray) -> FloatArray:
        a, (near, far) = self.pairs.factor, self.pairs.ends(wanted / self.pairs.degree)
        forth, back = near / (1 - a * a), far / (1 - a * a)
        found = np.empty((2, *forth.shape[::-1])).transpose(0, 2, 1)
        found[0], found[1] = forth + a * back, back + a * forth
        return found

    def _invert(self, weight: FloatArray) -> None:
        self.columns.invert(weight)

    def repair(self) -> float:
        """The least private channel above the columns, carried to the root and back."""
        smooth = np.empty(self.shape[::-1])
        smooth[self.order] = np.maximum(self.m, 0.0).T
        answer = int(np.argmin(self.piece.cost.sum(axis=0)))
        return self.keep(with_reserve(self.piece, majorant(self.piece, smooth), answer))

    def inside(self) -> FloatArray:
        return self.channel[:, self.order]

    def widen(self, target: float, stuck: bool) -> bool:
        """Nothing is out of reach."""
        return False

    def add_violated(self, least: float) -> bool:
        """No pair is without its constraints."""
        return False

    def multipliers(self) -> Multipliers:
        count, edges = self.shape[0], len(self.edges)
        edge, w = np.tile(self.edges, count), np.repeat(np.arange(count), edges)
        start, end = np.tile(self.parents, count), np.tile(self.order[1:], count)
        arcs = np.concatenate([self.piece.arc_from(edge, start), self.piece.arc_from(edge, end)])
        value = np.concatenate([part.ravel() for part in self.best[1]])
        return Multipliers(arcs, np.concatenate([w, w]), value)
