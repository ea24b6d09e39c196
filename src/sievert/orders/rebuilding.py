"""An exact post-processing from a float one that is nearly right.

An R with room to spare is moved onto AR = B and R1 = 1 as it stands. Otherwise its zeros are kept: each
column is solved on its support up to a few free entries, which the row sums then determine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import flint
import numpy as np
from numpy.typing import NDArray

from sievert.numerics.rationals import exact_matmul, exact_solve
from sievert.orders.integers import (
    Integers,
    is_solution,
    part_of,
    pivots,
    solve_square,
    table_of,
)

__all__ = ["rebuilt"]

ObjectArray = NDArray[np.object_]
FloatArray = NDArray[np.float64]
# Entries of a float R above one of these count as its support.
CUTS = (1e-7, 1e-5)
# Free entries beyond which the row sums are not solved exactly.
MOST_FREE = 1_500
UNIT = 1 << 60


def rebuilt(system: Integers, guess: FloatArray) -> ObjectArray | None:
    """R with AR = B exactly near a float one, or None where none was found."""
    if guess.min() > 0:
        post = _repaired(system, guess)
        if post is not None:
            return post
    supports = {(guess > cut).tobytes(): guess > cut for cut in CUTS}
    for support in supports.values():
        post = _on_support(system, support, guess)
        if post is not None:
            return post
    return None


def _repaired(system: Integers, guess: FloatArray) -> ObjectArray | None:
    """A strictly positive float R moved onto AR = B and R1 = 1 exactly; None if an entry turns negative."""
    k = system.shape[2]
    rows, columns = pivots(system.a)
    rounded = flint.fmpz_mat([[round(value * UNIT) for value in row] for row in guess.tolist()])
    missing = UNIT * system.b - system.a * rounded
    moved = solve_square(part_of(system.a, rows, columns), part_of(missing, rows, range(k)))
    post = np.empty(guess.shape, dtype=object)
    post.ravel()[:] = [Fraction(int(value), UNIT) for value in rounded.entries()]
    post[columns] += table_of(moved) / UNIT
    # The row sums miss 1 by a vector of A's null space, so spreading it evenly keeps AR = B.
    post -= ((post.sum(axis=1) - 1) / k)[:, None]
    return post if is_solution(system, post) else None


@dataclass(frozen=True, eq=False)
class _Column:
    """Column w of R on its support: R[bound] = start - slope·z for free entries z = R[free]."""

    bound: list[int]
    free: list[int]
    start: ObjectArray
    slope: ObjectArray


def _on_support(system: Integers, support: NDArray[np.bool_], guess: FloatArray) -> ObjectArray | None:
    """R with these zeros: columns up to their free entries, then the free entries by the row sums."""
    columns = [_column(system, np.flatnonzero(part).tolist(), w) for w, part in enumerate(support.T)]
    count = sum(len(column.free) for column in columns)
    if count > MOST_FREE:
        return None
    m, k = guess.shape
    sums = np.full((m, count), Fraction(0), dtype=object)
    missing = np.full(m, Fraction(1), dtype=object)
    first = 0
    for column in columns:
        last = first + len(column.free)
        missing[column.bound] -= column.start
        sums[column.bound, first:last] -= column.slope
        sums[column.free, np.arange(first, last)] += 1
        first = last
    near = [guess[y, w] for w, column in enumerate(columns) for y in column.free]
    free = _solved_near(sums, missing, near)
    post = np.full((m, k), Fraction(0), dtype=object)
    first = 0
    for w, column in enumerate(columns):
        last = first + len(column.free)
        post[column.bound, w] = column.start
        if last > first:
            post[column.bound, w] -= exact_matmul(column.slope, free[first:last, None])[:, 0]
        post[column.free, w] = free[first:last]
        first = last
    return post if is_solution(system, post) else None


def _column(system: Integers, support: list[int], w: int) -> _Column:
    part = part_of(system.a, range(system.shape[0]), support) if support else flint.fmpz_mat(0, 0)
    rows, places = pivots(part)
    others = [j for j in range(len(support)) if j not in set(places)]
    bound, free = [support[j] for j in places], [support[j] for j in others]
    if not places:
        nothing = np.empty(0, dtype=object)
        return _Column([], free, nothing, np.empty((0, len(free)), dtype=object))
    right = [[system.b[x, w], *(part[x, j] for j in others)] for x in rows]
    solved = table_of(solve_square(part_of(part, rows, places), flint.fmpz_mat(right)))
    return _Column(bound, free, solved[:, 0], solved[:, 1:])


def _solved_near(matrix: ObjectArray, right: ObjectArray, near: list[float]) -> ObjectArray:
    """z with matrix·z = right where the pivots allow it, other entries rounded from floats."""
    free = np.empty(len(near), dtype=object)
    free[:] = [Fraction(round(value * UNIT), UNIT) for value in near]
    if not near:
        return free
    scales = [math.lcm(*(value.denominator for value in row)) for row in matrix.tolist()]
    whole = flint.fmpz_mat(
        [[int(value * scale) for value in row] for row, scale in zip(matrix.tolist(), scales, strict=True)]
    )
    rows, places = pivots(whole)
    if not places:
        return free
    free[places] = Fraction(0)
    rest = right[rows] - exact_matmul(matrix[rows], free[:, None])[:, 0]
    free[places] = exact_solve(matrix[np.ix_(rows, places)], rest[:, None])[:, 0]
    return free
