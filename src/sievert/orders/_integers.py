"""A rational pair as a system in integers, and the exact linear algebra that deciding it needs.

Row x of A and of B is written over one denominator d_x, so that AR = B iff aR = b for integer matrices.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from sievert.arrays import ObjectArray

__all__ = [
    "Integers",
    "flint_matrix",
    "fraction_of",
    "independent_solution",
    "is_solution",
    "part_of",
    "pivots",
    "solve_square",
    "table_of",
]
# Any 62-bit prime: independent modulo a prime means independent.
PRIME = 4611686018427387847


class Integers:
    """A and B with each row over its own denominator."""

    def __init__(self, less_safe: ObjectArray, safer: ObjectArray) -> None:
        self.shape = (*less_safe.shape, safer.shape[1])
        both = [[*a, *b] for a, b in zip(less_safe.tolist(), safer.tolist(), strict=True)]
        self.scales = [math.lcm(*(value.denominator for value in row)) for row in both]
        rows = [
            [value.numerator * (scale // value.denominator) for value in row]
            for row, scale in zip(both, self.scales, strict=True)
        ]
        m = less_safe.shape[1]
        self.a = flint.fmpz_mat([row[:m] for row in rows])
        self.b = flint.fmpz_mat([row[m:] for row in rows])


def flint_matrix(table: ObjectArray) -> flint.fmpq_mat:
    entries = [flint.fmpq(v.numerator, v.denominator) for v in table.ravel()]
    return flint.fmpq_mat(int(table.shape[0]), int(table.shape[1]), entries)


def fraction_of(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def table_of(matrix: flint.fmpq_mat) -> ObjectArray:
    table = np.empty((matrix.nrows(), matrix.ncols()), dtype=object)
    table.ravel()[:] = [fraction_of(value) for value in matrix.entries()]
    return table


def pivots(matrix: flint.fmpz_mat) -> tuple[list[int], list[int]]:
    """Rows and columns of a largest minor that is invertible modulo a prime, hence invertible."""

    def leading(table: flint.fmpz_mat) -> list[int]:
        entries = [int(value) % PRIME for value in table.entries()]
        reduced, rank = flint.nmod_mat(table.nrows(), table.ncols(), entries, PRIME).rref()
        found: list[int] = []
        for i in range(rank):
            start = found[-1] + 1 if found else 0
            found.append(next(j for j in range(start, table.ncols()) if int(reduced[i, j])))
        return found

    columns = leading(matrix)
    rows = leading(part_of(matrix, range(matrix.nrows()), columns).transpose())
    return rows, columns


def part_of(matrix: flint.fmpz_mat, rows: Any, columns: Any) -> flint.fmpz_mat:
    return flint.fmpz_mat([[matrix[i, j] for j in columns] for i in rows])


def solve_square(square: flint.fmpz_mat, right: flint.fmpz_mat) -> flint.fmpq_mat:
    solved: Any = square.solve(right)
    return flint.fmpq_mat(solved)


def is_solution(system: Integers, post: ObjectArray) -> bool:
    if (post < 0).any() or any(sum(row) != 1 for row in post.tolist()):
        return False
    return bool(flint.fmpq_mat(system.a) * flint_matrix(post) == flint.fmpq_mat(system.b))


def independent_solution(system: Integers, support: list[int], w: int) -> ObjectArray | None:
    """The combination of A's columns on a support that is column w of B; None if there is none or many."""
    n, m, _ = system.shape
    column = np.full(m, Fraction(0), dtype=object)
    if not support:
        return column if all(int(system.b[x, w]) == 0 for x in range(n)) else None
    part = part_of(system.a, range(n), support)
    rows, columns = pivots(part)
    if len(columns) < len(support):
        return None
    solved = solve_square(part_of(part, rows, range(len(support))), part_of(system.b, rows, [w]))
    if flint.fmpq_mat(part) * solved != flint.fmpq_mat(part_of(system.b, range(n), [w])):
        return None
    column[support] = table_of(solved)[:, 0]
    return column
