"""The interior point on a line: the matrix of a column is tridiagonal, and so nothing is ever of order n³.

Eliminating points from one end leaves at each a remainder e ≥ 0, from the other end f: both are sums and
products of positive numbers, without cancellation, and the diagonal of the inverse V is 1/(e + f). Along the
line V[i,j] is V[j,j] times ratios of neighbours. So the sum of all inverses is one product of matrices for
every block of points, and ratios are multiplied over a block only: nothing overflows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sievert.arrays import FloatArray
from sievert.design._closed_forms import Candidate
from sievert.design._columns import Arrays, Breakdown
from sievert.design._exact import with_reserve
from sievert.design._interior import Search, climbed
from sievert.design._problem import Piece
from sievert.proofs import Multipliers

__all__ = ["line_interior_point"]

# Points whose ratios are multiplied, each time so many more, and the largest exponent of their product.
BLOCK, TIMES, LARGEST_EXPONENT = 8, 8, 300.0


def line_interior_point(piece: Piece, gap: float) -> Candidate:
    """`interior_point` for points on a line.

    Notes
    -----
    Cost: n² operations for each action and step, all of them in one product; n floats for each action.
    """
    return climbed(_LineSearch(piece), gap)


class _Neighbours:
    """Constraints between neighbours of a line, [direction, action, gap]; a gap's actions lie together."""

    def __init__(self, factor: FloatArray) -> None:
        self.factor = factor

    def slack(self, m: FloatArray) -> FloatArray:
        """G m: m_x - a·m_z and m_z - a·m_x for each pair of neighbours."""
        near, far = m[:, :-1], m[:, 1:]
        found = np.empty((2, *near.shape[::-1])).transpose(0, 2, 1)
        np.subtract(near, self.factor * far, out=found[0])
        np.subtract(far, self.factor * near, out=found[1])
        return found

    def spread(self, t: FloatArray, shape: tuple[int, int]) -> FloatArray:
        """Gᵀt."""
        found = np.zeros(shape[::-1]).T
        found[:, :-1] = t[0] - self.factor * t[1]
        found[:, 1:] += t[1] - self.factor * t[0]
        return found


class _Tridiagonal(Arrays):
    """The tridiagonal matrices of all columns, as what is left when points are eliminated from either end."""

    def __init__(self, factor: FloatArray) -> None:
        self._factor = factor
        steepest = float(-np.log(factor.min(initial=1.0)))
        self._most = max(1, int(LARGEST_EXPONENT / max(steepest, 1e-9)))

    def put(self, array: Any) -> Any:
        """The actions of a point lie together in memory, as recursions along the line want them."""
        return np.asfortranarray(array) if np.ndim(array) == 2 else np.asarray(array)

    def get(self, array: Any) -> Any:
        """As it is."""
        return array

    def invert(self, weight: FloatArray) -> None:
        """Factor all matrices GᵀWG, and add up their inverses."""
        a = self._factor[:, None]
        p, q = weight[0].T, weight[1].T
        first, last, inner = p + a * a * q, a * a * p + q, p * q * (1 - a * a) ** 2
        count, size = p.shape[1], len(p) + 1
        left, right = np.zeros((size, count)), np.zeros((size, count))
        self._ahead, self._back = np.empty_like(p), np.empty_like(p)
        aside = a * (p + q)
        self._pivots = np.empty((size, count))
        for x in range(size - 1):
            pivot = left[x] + first[x]
            self._pivots[x] = pivot
            left[x + 1] = (last[x] * left[x] + inner[x]) / pivot
            self._ahead[x] = aside[x] / pivot
        self._pivots[-1] = left[-1]
        for x in range(size - 2, -1, -1):
            pivot = right[x + 1] + last[x]
            right[x] = (first[x] * right[x + 1] + inner[x]) / pivot
            self._back[x] = aside[x] / pivot
        self._sum = self._added(1 / (left + right))
        try:
            self._factored = cho_factor(self._sum, lower=True, check_finite=False)
        except LinAlgError:
            raise Breakdown from None

    def _added(self, diagonal: FloatArray) -> FloatArray:
        """Σ V over the columns: near the diagonal point by point, elsewhere by blocks within blocks."""
        size, block = len(diagonal), min(BLOCK, self._most)
        found = np.zeros((size, size))
        # V[j-k, j] = V[j-k+1, j]·ahead[j-k].
        entry = diagonal.copy()
        for offset in range(min(block, size)):
            place = np.arange(offset, size)
            found[place - offset, place] = entry.sum(axis=1)
            entry = entry[1:] * self._ahead[: size - offset - 1] if offset + 1 < size else entry
        while block < size:
            wider = block * TIMES if block * TIMES <= self._most else size
            for start in range(0, size, wider):
                self._blocks(found, diagonal, block, range(start, min(start + wider, size)))
            block = wider
        upper = np.triu(found, 1)
        return upper + upper.T + np.diag(found.diagonal())

    def _blocks(self, found: FloatArray, diagonal: FloatArray, block: int, points: range) -> None:
        """Entries of some points, from each block to what follows it."""
        for start in points[:-block:block]:
            end, stop = start + block - 1, points.stop
            # From the block to its last point, and from there on.
            ratios = np.cumprod(self._ahead[start:end][::-1], axis=0)[::-1]
            ratios = np.concatenate([ratios, np.ones((1, diagonal.shape[1]))])
            beyond = diagonal[end] * np.cumprod(self._back[end : stop - 1], axis=0)
            found[start : end + 1, end + 1 : stop] = ratios @ beyond.T

    def product(self, right: FloatArray) -> FloatArray:
        """Every inverse times its row."""
        found = np.array(right.T, order="C")
        for x in range(len(found) - 1):
            found[x + 1] += self._ahead[x] * found[x]
        found /= self._pivots
        for x in range(len(found) - 2, -1, -1):
            found[x] += self._ahead[x] * found[x + 1]
        return found.T

    def prices(self, wanted: FloatArray) -> FloatArray:
        """The solution for the sum of the inverses, refined once."""
        first = cho_solve(self._factored, wanted, check_finite=False)
        return np.asarray(first + cho_solve(self._factored, wanted - self._sum @ first, check_finite=False))


class _LineSearch(Search):
    """The search where constraints are those of neighbours, all of them from the start."""

    complete = True
    columns: Any
    pairs: Any

    def _begin(self) -> None:
        piece = self.piece
        self.order, _, through = piece.outward
        self.gaps = through[self.order[1:]]
        factor = np.exp(-piece.exponents[self.gaps])
        self.columns, self.pairs = _Tridiagonal(factor), _Neighbours(factor)
        self.cost = self.columns.put(piece.cost[self.order].T)
        self.arcs = 2 * len(factor) * self.shape[0]

    def _carrying(self, wanted: FloatArray) -> FloatArray:
        a = self.pairs.factor
        degree = np.full(self.shape[1], 2.0)
        degree[[0, -1]] = 1.0
        own = wanted / degree
        forth, back = own[:, :-1] / (1 - a * a), own[:, 1:] / (1 - a * a)
        found = np.empty((2, *forth.shape[::-1])).transpose(0, 2, 1)
        found[0], found[1] = forth + a * back, back + a * forth
        return found

    def _invert(self, weight: FloatArray) -> None:
        self.columns.invert(weight)

    def repair(self) -> None:
        """Two passes along the line make the least private channel above the columns."""
        a, m = self.pairs.factor, np.maximum(self.m, 0.0).T.copy()
        for x in range(len(a)):
            np.maximum(m[x + 1], a[x] * m[x], out=m[x + 1])
        for x in range(len(a) - 1, -1, -1):
            np.maximum(m[x], a[x] * m[x + 1], out=m[x])
        smooth = np.empty_like(m)
        smooth[self.order] = m
        self.keep(with_reserve(self.piece, smooth, int(np.argmin(self.piece.cost.sum(axis=0)))))

    def inside(self) -> FloatArray:
        return self.channel[:, self.order]

    def add_violated(self, least: float) -> bool:
        """No pair is without its constraints."""
        return False

    def multipliers(self) -> Multipliers:
        count, gaps = self.shape[0], len(self.gaps)
        edge, w = np.tile(self.gaps, count), np.repeat(np.arange(count), gaps)
        start, end = np.tile(self.order[:-1], count), np.tile(self.order[1:], count)
        arcs = np.concatenate([self.piece.arc_from(edge, start), self.piece.arc_from(edge, end)])
        value = np.concatenate([part.ravel() for part in self.best_y])
        return Multipliers(arcs, np.concatenate([w, w]), value)
