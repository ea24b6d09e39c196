"""Extreme rays of {b ≥ 0 : A·b = 0} over the rationals, by double description.

The equations are met one after the other. A ray is its support (bits) and what the remaining equations say of
it (whole numbers of any size), so adjacency is a matter of bits and nothing is rounded. Two rays on different
sides of an equation give a new one iff no third lies in the face that they span; where the union of supports
has no more elements than that allows and comes from one pair only, the rank decides (Fukuda and Prodon).
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import Any

import numpy as np

from sievert.arrays import BoolArray, IntArray, ObjectArray, WordArray
from sievert.errors import TooLargeError
from sievert.numerics._progress import advance

__all__ = ["extreme_rays", "ray_blocks", "support_rows"]

# Pairs of rays that are joined at once.
BLOCK = 2_000_000
# Rays on the way to the last equation.
LARGEST_STEP = 1_000_000
# Bits of a word.
WORD = 64
# A prime near 2^31: a rank modulo it is never above the true one.
PRIME = 2_147_483_629


def extreme_rays(equations: ObjectArray, most: int | None = None) -> ObjectArray:
    """All extreme rays, one row each, as coprime whole numbers; the equations are rows of whole numbers.

    TooLargeError where there are more than `most` before the last equation.
    """
    blocks = [_solved(equations, words) for words in ray_blocks(equations, most)]
    if not blocks:
        return np.empty((0, equations.shape[1]), dtype=object)
    return np.concatenate(blocks)


def support_rows(words: WordArray, size: int) -> BoolArray:
    """Supports as truth values [ray, variable]."""
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little")
    return np.asarray(bits[:, :size], dtype=bool)


def ray_blocks(equations: ObjectArray, most: int | None = None) -> Iterator[WordArray]:
    """Supports of the extreme rays, as words of bits, a block at a time: the last equation is met lazily.

    Equations that follow from others are left out. They are met in the order that joins fewest pairs first.
    """
    rows = _independent(equations)
    m = equations.shape[1]
    words = np.zeros((m, -(-m // WORD)), dtype=np.uint64)
    words[np.arange(m), np.arange(m) // WORD] = np.uint64(1) << (np.arange(m) % WORD).astype(np.uint64)
    values = rows.T.copy()
    met: list[ObjectArray] = []
    while values.shape[1]:
        signs = np.asarray(np.sign(values), dtype=np.int8) if len(values) else np.zeros(values.shape, np.int8)
        joins = (signs > 0).sum(axis=0) * (signs < 0).sum(axis=0)
        k = int(joins.argmin())
        met.append(rows[k])
        rows = np.delete(rows, k, axis=0)
        step = _Step(words, values[:, k], np.delete(values, k, axis=1), np.array(met, dtype=object))
        if not len(rows):
            yield from step.supports()
            return
        words, values = step.rays(LARGEST_STEP if most is None else most)
        advance("equations of the kernels", len(met), len(met) + len(rows))
    yield words


class _Step:
    """One more equation: rays on it stay, rays on its two sides are joined."""

    def __init__(self, words: WordArray, value: ObjectArray, rest: ObjectArray, met: ObjectArray) -> None:
        self.words, self.value, self.rest, self.met = words, value, rest, met
        signs = np.asarray(np.sign(value), dtype=np.int8)
        self.on, self.above, self.below = (np.flatnonzero(signs == s) for s in (0, 1, -1))
        # A column of the equations modulo the prime, for ranks.
        self.residues = np.array([[int(v) % PRIME for v in row] for row in met.tolist()], dtype=np.int64)

    def supports(self) -> Iterator[WordArray]:
        """Supports of the rays of the new cone, those on the equation first."""
        if len(self.on):
            yield self.words[self.on]
        for _, _, joined in self._joins():
            if len(joined):
                yield joined

    def rays(self, most: int) -> tuple[WordArray, ObjectArray]:
        """The rays of the new cone with what the remaining equations say of them."""
        words, values = [self.words[self.on]], [self.rest[self.on]]
        count = len(self.on)
        for first, second, joined in self._joins():
            count += len(joined)
            if count > most:
                raise TooLargeError(
                    f"the search for extreme rays meets more than {most:,} on the way; take fewer inputs",
                    size=count,
                )
            up, down = self.value[first][:, None], -self.value[second][:, None]
            mixed = self.rest[first] * down + self.rest[second] * up
            words.append(joined)
            values.append(_reduced(mixed))
        return np.concatenate(words), np.concatenate(values)

    def _joins(self) -> Iterator[tuple[Any, Any, WordArray]]:
        """Pairs of adjacent rays on the two sides, with the union of their supports."""
        most = len(self.met) + 1
        step = max(1, BLOCK // max(1, len(self.below)))
        found = []
        for start in range(0, len(self.above), step):
            first, second, joined = self._small(self.above[start : start + step], most)
            found.append((first, second, joined))
        if not found:
            return
        first, second, joined = (np.concatenate([part[i] for part in found]) for i in range(3))
        alone = _once(joined)
        first, second, joined = first[alone], second[alone], joined[alone]
        for start in range(0, len(joined), BLOCK // 32):
            part = slice(start, start + BLOCK // 32)
            kept = self._extreme(joined[part])
            yield first[part][kept], second[part][kept], joined[part][kept]

    def _small(self, above: IntArray, most: int) -> tuple[IntArray, IntArray, WordArray]:
        """Pairs whose supports have at most so many elements together."""
        union = self.words[above][:, None, :] | self.words[self.below][None, :, :]
        sizes = np.bitwise_count(union).sum(axis=2, dtype=np.int64)
        i, j = np.nonzero(sizes <= most)
        return above[i], self.below[j], union[i, j]

    def _extreme(self, joined: WordArray) -> BoolArray:
        """Whether the equations met so far have one solution, up to scale, on each support."""
        m = self.residues.shape[1]
        inside = support_rows(joined, m)
        sizes = inside.sum(axis=1)
        result = np.zeros(len(joined), dtype=bool)
        for size in np.unique(sizes).tolist():
            rows = np.flatnonzero(sizes == size)
            columns = np.nonzero(inside[rows])[1].reshape(len(rows), size)
            ranks = _ranks(self.residues[:, columns].transpose(1, 0, 2))
            result[rows] = ranks == size - 1
            # A rank may only look smaller modulo the prime: those are decided by the rays themselves.
            doubtful = rows[ranks < size - 1]
            result[doubtful] = self._alone(joined[doubtful])
        return result

    def _alone(self, unions: WordArray) -> BoolArray:
        """Whether only two rays of the old cone lie in the face with each of these supports."""
        inside = np.zeros(len(unions), dtype=np.int64)
        # Most faces show a third ray among the first that are looked at.
        left, start = np.arange(len(unions)), 0
        while start < len(self.words) and len(left):
            words = self.words[start : start + max(16, BLOCK // (8 * len(left)))]
            beyond = ~unions[left]
            outside = words[:, 0] & beyond[:, :1]
            for word in range(1, unions.shape[1]):
                outside |= words[:, word] & beyond[:, word : word + 1]
            inside[left] += (outside == 0).sum(axis=1)
            left, start = left[inside[left] <= 2], start + len(words)
        return np.asarray(inside == 2)


def _once(joined: WordArray) -> BoolArray:
    """Unions that one pair only has: two pairs in a face make it more than an edge."""
    if joined.shape[1] == 1:
        _, home, counts = np.unique(joined[:, 0], return_inverse=True, return_counts=True)
    else:
        _, home, counts = np.unique(joined, axis=0, return_inverse=True, return_counts=True)
    return np.asarray(counts[home.ravel()] == 1)


def _ranks(matrices: IntArray) -> IntArray:
    """Ranks modulo the prime of a stack of matrices [stack, row, column].

    Rows are multiplied by the pivot instead of divided by it; those that have had a pivot are not read again.
    """
    work = matrices.copy()
    count, height, width = work.shape
    rank = np.zeros(count, dtype=np.int64)
    for column in range(width):
        done = int(rank.min(initial=height))
        # The pivot is the first non-zero entry at or below the rank so far.
        open_ = (work[:, done:, column] != 0) & (np.arange(done, height) >= rank[:, None])
        here = np.flatnonzero(open_.any(axis=1))
        if not len(here):
            continue
        top, low = rank[here], done + open_[here].argmax(axis=1)
        pivot = work[here, low, column:]
        work[here, low, column:] = work[here, top, column:]
        rest = work[here, done:, column:]
        cleared = rest[:, :, 1:] * pivot[:, None, :1] - rest[:, :, :1] * pivot[:, None, 1:]
        work[here, done:, column + 1 :] = cleared % PRIME
        rank[here] += 1
    return rank


def _reduced(rows: ObjectArray) -> ObjectArray:
    """Rows divided by the greatest common divisor of their entries."""
    for i, row in enumerate(rows.tolist()):
        divisor = gcd(*row) if row else 1
        if divisor > 1:
            rows[i] = [value // divisor for value in row]
    return rows


def _independent(equations: ObjectArray) -> ObjectArray:
    """Rows of which none follows from those before it, in whole numbers."""
    import flint

    rows, m = equations.shape
    if not rows:
        return equations
    matrix = flint.fmpz_mat(m, rows, [int(v) for v in equations.T.ravel()])
    reduced, _, rank = matrix.rref()
    pivots, column = [], 0
    for i in range(rank):
        while reduced[i, column] == 0:
            column += 1
        pivots.append(column)
    return equations[pivots]


def _solved(equations: ObjectArray, words: WordArray) -> ObjectArray:
    """The rays of some supports, as coprime whole numbers."""
    import flint

    m = equations.shape[1]
    result = np.full((len(words), m), 0, dtype=object)
    for i, inside in enumerate(support_rows(words, m)):
        columns = np.flatnonzero(inside)
        part = equations[:, columns]
        matrix = flint.fmpz_mat(part.shape[0], len(columns), [int(v) for v in part.ravel()])
        basis, nullity = matrix.nullspace()
        if nullity != 1:
            raise ValueError("a support with more than one ray")
        ray = [int(basis[k, 0]) for k in range(len(columns))]
        divisor = gcd(*ray)
        divisor = -divisor if ray[0] < 0 else divisor
        result[i, columns] = [value // divisor for value in ray]
    return result
