"""Refinement of rational channels decided over the rationals, so that boundary cases are right.

Float results only propose: a witness is rounded and its gap evaluated exactly; with full column rank the
unique R is solved exactly; an R with room to spare is repaired exactly; otherwise the linear program's vertex
is rebuilt in fractions. Row x of A and of B is written over one denominator d_x, so that AR = B is a system
in integers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import flint
import numpy as np
from numpy.typing import NDArray

from sievert.numerics.exact_programs import ExactProgram, ExactVertex
from sievert.orders.decisions import Decision
from sievert.orders.zoom import exact_optimum

__all__ = [
    "ExactDecision",
    "Integers",
    "cone_program",
    "decide_exactly",
    "decide_program",
    "distance_vertex",
    "exact_gap",
    "independent_solution",
    "rational_witness",
]

ObjectArray = NDArray[np.object_]
FloatArray = NDArray[np.float64]
Distance = Literal["sum", "worst", "cone"]
LARGEST_EXACT_PROGRAM = 400
# Any 62-bit prime: independent modulo a prime means independent.
PRIME = 4611686018427387847


@dataclass(frozen=True, eq=False)
class ExactDecision:
    """A proved answer: R with AR = B exactly, or G with a positive gap exactly."""

    holds: bool
    post: ObjectArray | None
    witness: ObjectArray | None
    method: str


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


def exact_gap(witness: ObjectArray, less_safe: ObjectArray, safer: ObjectArray) -> Fraction:
    """<G,B> - Σ_y max_w (AᵀG)[y,w], exactly."""
    scores = _flint(less_safe.T) * _flint(witness)
    best = [max(scores[y, w] for w in range(scores.ncols())) for y in range(scores.nrows())]
    total = sum((_fraction(value) for value in best), Fraction(0))
    return sum((g * b for g, b in zip(witness.ravel(), safer.ravel(), strict=True)), Fraction(0)) - total


def rational_witness(witness: FloatArray) -> ObjectArray:
    """A float witness scaled to at most 1 and rounded to 52 binary digits."""
    scaled = witness / max(float(np.abs(witness).max()), 1e-300)
    table = np.empty(witness.shape, dtype=object)
    table.ravel()[:] = [Fraction(round(value * 2**52), 2**52) for value in scaled.ravel().tolist()]
    return table


def decide_exactly(less_safe: ObjectArray, safer: ObjectArray, guess: Decision) -> ExactDecision | None:
    """A proof either way, or None when the exact methods decline."""
    system = Integers(less_safe, safer)
    if guess.witness is not None and guess.lower > 0:
        witness = _evaluated(system, guess.witness)
        if witness is not None:
            return ExactDecision(False, None, witness, "witness evaluated exactly")
    rows, columns = _pivots(system.a)
    if len(columns) == less_safe.shape[1]:
        unique = _unique(system, rows)
        if unique is not None:
            return unique
    elif guess.holds is not False and guess.post is not None:
        repaired = _repaired(system, rows, columns, guess.post)
        if repaired is None:
            repaired = _rigid(system, guess.post)
        if repaired is not None:
            return ExactDecision(True, repaired, None, "post-processing made exact")
    return decide_program(less_safe, safer)


def _evaluated(system: Integers, witness: FloatArray) -> ObjectArray | None:
    """The witness with entries Γ/2^(52+s)·d_x, its gap evaluated in integers; None unless positive."""
    n, m, k = system.shape
    shift = max(scale.bit_length() for scale in system.scales)
    scaled = witness / max(float(np.abs(witness).max()), 1e-300)
    whole = [
        [((round(value * 2**52) << shift) // scale) for value in row]
        for row, scale in zip(scaled.tolist(), system.scales, strict=True)
    ]
    table = flint.fmpz_mat(whole)
    scores = system.a.transpose() * table
    best = sum(max(scores[y, w] for w in range(k)) for y in range(m))
    value = sum(whole[x][w] * system.b[x, w] for x in range(n) for w in range(k))
    if not value > best:
        return None
    # Γ weighs rows that were multiplied by d_x, so the gain on A itself is Γ·d_x.
    result = np.empty((n, k), dtype=object)
    unit = 1 << (52 + shift)
    for x, scale in enumerate(system.scales):
        result[x] = [Fraction(value * scale, unit) for value in whole[x]]
    return result


def _flint(table: ObjectArray) -> flint.fmpq_mat:
    entries = [flint.fmpq(v.numerator, v.denominator) for v in table.ravel()]
    return flint.fmpq_mat(int(table.shape[0]), int(table.shape[1]), entries)


def _fraction(value: Any) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _table(matrix: flint.fmpq_mat) -> ObjectArray:
    table = np.empty((matrix.nrows(), matrix.ncols()), dtype=object)
    table.ravel()[:] = [_fraction(value) for value in matrix.entries()]
    return table


def _pivots(matrix: flint.fmpz_mat) -> tuple[list[int], list[int]]:
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
    rows = leading(_part(matrix, range(matrix.nrows()), columns).transpose())
    return rows, columns


def _part(matrix: flint.fmpz_mat, rows: Any, columns: Any) -> flint.fmpz_mat:
    return flint.fmpz_mat([[matrix[i, j] for j in columns] for i in rows])


def _solve(square: flint.fmpz_mat, right: flint.fmpz_mat) -> flint.fmpq_mat:
    solved: Any = square.solve(right)
    return flint.fmpq_mat(solved)


def _unique(system: Integers, rows: list[int]) -> ExactDecision | None:
    """Full column rank: the only candidate R decides. None when some column of B is outside A's range."""
    m, k = system.shape[1:]
    square = _part(system.a, rows, range(m))
    solved = _solve(square, _part(system.b, rows, range(k)))
    if len(rows) < system.shape[0] and flint.fmpq_mat(system.a) * solved != flint.fmpq_mat(system.b):
        return None
    post = _table(solved)
    negative = np.argwhere(np.asarray(post < 0, dtype=bool))
    if not len(negative):
        return ExactDecision(True, post, None, "unique post-processing, solved exactly")
    y, w = map(int, negative[np.argmin(post[tuple(negative.T)])])
    # aᵀg = -e_y: every score under A is 0 or -1.
    unit = flint.fmpz_mat(m, 1)
    unit[y, 0] = -1
    direction = _solve(square.transpose(), unit)
    witness = np.full((system.shape[0], k), Fraction(0), dtype=object)
    for i, x in enumerate(rows):
        witness[x, w] = _fraction(direction[i, 0]) * system.scales[x]
    return ExactDecision(False, None, witness, "unique post-processing has a negative entry")


def _repaired(system: Integers, rows: list[int], columns: list[int], guess: FloatArray) -> ObjectArray | None:
    """A strictly positive float R moved onto AR = B and R1 = 1 exactly; None if an entry turns negative."""
    k = system.shape[2]
    if not guess.min() > 0:
        return None
    unit = 1 << 60
    rounded = flint.fmpz_mat([[round(value * unit) for value in row] for row in guess.tolist()])
    missing = unit * system.b - system.a * rounded
    moved = _solve(_part(system.a, rows, columns), _part(missing, rows, range(k)))
    post = np.empty(guess.shape, dtype=object)
    post.ravel()[:] = [Fraction(int(value), unit) for value in rounded.entries()]
    post[columns] += _table(moved) / unit
    # The row sums miss 1 by a vector of A's null space, so spreading it evenly keeps AR = B.
    post -= ((post.sum(axis=1) - 1) / k)[:, None]
    return post if _is_solution(system, post) else None


def _is_solution(system: Integers, post: ObjectArray) -> bool:
    if (post < 0).any() or any(sum(row) != 1 for row in post.tolist()):
        return False
    return bool(flint.fmpq_mat(system.a) * _flint(post) == flint.fmpq_mat(system.b))


def _rigid(system: Integers, guess: FloatArray) -> ObjectArray | None:
    """Columns of R determined by their support: solve each on it and check everything exactly."""
    m, k = guess.shape
    post = np.full((m, k), Fraction(0), dtype=object)
    for w in range(k):
        support = np.flatnonzero(guess[:, w] > 1e-7).tolist()
        column = independent_solution(system, support, w)
        if column is None:
            return None
        post[:, w] = column
    return post if _is_solution(system, post) else None


def independent_solution(system: Integers, support: list[int], w: int) -> ObjectArray | None:
    """The combination of A's columns on a support that is column w of B; None if there is none or many."""
    n, m, _ = system.shape
    column = np.full(m, Fraction(0), dtype=object)
    if not support:
        return column if all(int(system.b[x, w]) == 0 for x in range(n)) else None
    part = _part(system.a, range(n), support)
    rows, columns = _pivots(part)
    if len(columns) < len(support):
        return None
    solved = _solve(_part(part, rows, range(len(support))), _part(system.b, rows, [w]))
    if flint.fmpq_mat(part) * solved != flint.fmpq_mat(_part(system.b, range(n), [w])):
        return None
    column[support] = _table(solved)[:, 0]
    return column


def decide_program(less_safe: ObjectArray, safer: ObjectArray) -> ExactDecision | None:
    """Half the L1 distance of B from {AR}: the vertex of the float solver rebuilt over the rationals."""
    vertex = distance_vertex(less_safe, safer)
    return None if vertex is None else _decision(vertex, less_safe.shape, safer.shape[1])


def cone_program(less_safe: ObjectArray, safer: ObjectArray) -> ExactDecision | None:
    """Is every column of B in the cone of A's columns? The witness has AᵀG ≤ 0 and <G,B> > 0."""
    vertex = distance_vertex(less_safe, safer, "cone")
    return None if vertex is None else _decision(vertex, less_safe.shape, safer.shape[1])


def _decision(vertex: ExactVertex, shape: tuple[int, ...], k: int) -> ExactDecision:
    n, m = shape
    method = "linear program, vertex rebuilt exactly"
    if vertex.value == 0:
        return ExactDecision(True, vertex.primal[: m * k].reshape(m, k), None, method)
    return ExactDecision(False, None, vertex.dual[: n * k].reshape(n, k), method)


def distance_vertex(less_safe: ObjectArray, safer: ObjectArray, kind: Distance = "sum") -> ExactVertex | None:
    """The exactly optimal vertex of a distance of B from post-processings of A; None if not rebuilt.

    "sum": Σ_x TV(B_x, (AR)_x); "worst": the largest of them (Le Cam); "cone": Σ|B - AM| over any M ≥ 0.
    Variables are R (or M), then P and N with AR + P - N = B, then slacks of row distances and their bound.
    """
    n, m = less_safe.shape
    k = safer.shape[1]
    cells, unknown = n * k, m * k
    sums = 0 if kind == "cone" else m
    tops = n if kind == "worst" else 0
    rows = cells + sums + tops
    if rows > LARGEST_EXACT_PROGRAM:
        return None
    columns = unknown + 2 * cells + tops + (tops > 0)
    zero, one = Fraction(0), Fraction(1)
    matrix = np.full((rows, columns), zero, dtype=object)
    for row in range(cells):
        x, w = divmod(row, k)
        matrix[row, w:unknown:k] = less_safe[x]
        matrix[row, unknown + row], matrix[row, unknown + cells + row] = one, -one
    for y in range(sums):
        matrix[cells + y, y * k : (y + 1) * k] = one
    for x in range(tops):
        # Σ_w P[x,w] + slack = bound; with row sums the positive parts are the whole distance.
        matrix[cells + sums + x, unknown + x * k : unknown + (x + 1) * k] = -one
        matrix[cells + sums + x, unknown + 2 * cells + x], matrix[cells + sums + x, -1] = -one, one
    sides: list[Any] = [*safer.ravel().tolist(), *([one] * sums), *([zero] * tops)]
    cost = np.full(columns, zero, dtype=object)
    if kind == "worst":
        cost[-1] = one
    else:
        cost[unknown : unknown + (2 if kind == "cone" else 1) * cells] = one
    return exact_optimum(ExactProgram(cost, matrix, sides, sides, [zero] * columns, [None] * columns))
