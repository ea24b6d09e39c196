"""Refinement of rational channels decided over the rationals, so that boundary cases are right.

Float results only propose: a witness is rounded and its gap evaluated exactly; a column of B outside A's
range is a witness; with full column rank the unique R is solved exactly; a float R is made exact; otherwise
the linear program's vertex is rebuilt in fractions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import flint
import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, ObjectArray
from sievert.numerics import exact_matmul, exact_solve
from sievert.orders._decisions import Decision
from sievert.orders._integers import (
    Integers,
    fraction_of,
    is_solution,
    part_of,
    pivots,
    solve_square,
    table_of,
)
from sievert.orders._programs import allowed_cells, masked_entries, masked_program
from sievert.programs import ExactProgram, ExactVertex, exact_optimum

__all__ = [
    "ExactDecision",
    "cone_program",
    "decide_exactly",
    "decide_program",
    "distance_vertex",
    "rebuilt",
    "undecided_reason",
]
Distance = Literal["sum", "worst", "cone"]
# Rows of an exact program that a decision may cost (662 took 7 seconds), and that a measurement may.
LARGEST_DECISION, LARGEST_MEASUREMENT = 1_000, 400
# Coefficients up to which a float vertex is looked for when the first guess cannot be made exact.
LARGEST_FLOAT_PROGRAM = 400_000


@dataclass(frozen=True, eq=False)
class ExactDecision:
    """A proved answer: R with AR = B exactly, or G with a positive gap exactly."""

    holds: bool
    post: ObjectArray | None
    witness: ObjectArray | None
    method: str


def decide_exactly(less_safe: ObjectArray, safer: ObjectArray, guess: Decision) -> ExactDecision | None:
    """A proof either way, or None when the exact methods decline."""
    system = Integers(less_safe, safer)
    if guess.witness is not None and guess.lower > 0:
        witness = _evaluated(system, guess.witness)
        if witness is not None:
            return ExactDecision(False, None, witness, "witness evaluated exactly")
    rows, columns = pivots(system.a)
    outside = _outside_range(system, rows, columns)
    if outside is not None:
        return ExactDecision(False, None, outside, "an output outside the range of the less safe channel")
    if len(columns) == less_safe.shape[1]:
        return _unique(system, rows)
    if guess.holds is not False:
        post = _rebuilt(system, less_safe, safer, guess)
        if post is not None:
            return ExactDecision(True, post, None, "post-processing made exact")
    return decide_program(less_safe, safer)


def undecided_reason(less_safe: ObjectArray, safer: ObjectArray) -> str:
    """Why `decide_exactly` declined, for the reader of a verdict."""
    rows = safer.size + less_safe.shape[1]
    if rows <= LARGEST_DECISION:
        return "the exact linear program did not end at a vertex"
    return (
        "too near the boundary for floats, and the exact linear program has "
        f"{rows} rows where at most {LARGEST_DECISION} are solved"
    )


def _rebuilt(
    system: Integers, less_safe: ObjectArray, safer: ObjectArray, guess: Decision
) -> ObjectArray | None:
    """The guessed R made exact, or else the R of a vertex, whose zeros leave it no freedom."""
    post = None if guess.post is None else rebuilt(system, guess.post)
    if post is not None:
        return post
    a, b = less_safe.astype(np.float64), safer.astype(np.float64)
    allowed = allowed_cells(a, b)
    if not allowed.any(axis=1).all() or masked_entries(a, b, allowed) > LARGEST_FLOAT_PROGRAM:
        return None
    vertex = masked_program(a, b, allowed, np.arange(len(a))).post
    return None if vertex is None else rebuilt(system, vertex)


def _outside_range(system: Integers, rows: list[int], columns: list[int]) -> ObjectArray | None:
    """g with Aᵀg = 0 and g·b > 0 for some column b of B: one action g, the others nothing."""
    n, m, k = system.shape
    others = [x for x in range(n) if x not in set(rows)]
    if not others:
        return None
    square = part_of(system.a, rows, columns)
    # Row x of A is a combination of the pivot rows; B must be the same combination.
    combined = solve_square(square.transpose(), part_of(system.a, others, columns).transpose()).transpose()
    same, rest = (
        flint.fmpq_mat(part_of(table, others, range(width)))
        - combined * flint.fmpq_mat(part_of(table, rows, range(width)))
        for table, width in ((system.a, m), (system.b, k))
    )
    if any(same.entries()):
        return None  # the rank is larger than modulo the prime
    for i, x in enumerate(others):
        for w in range(k):
            value = fraction_of(rest[i, w])
            if value == 0:
                continue
            sign = 1 if value > 0 else -1
            witness = np.full((n, k), Fraction(0), dtype=object)
            witness[x, w] = Fraction(sign * system.scales[x])
            for j, y in enumerate(rows):
                witness[y, w] = -sign * fraction_of(combined[i, j]) * system.scales[y]
            return witness
    return None


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


def _unique(system: Integers, rows: list[int]) -> ExactDecision:
    """Full column rank, B in A's range: the only candidate R decides."""
    m, k = system.shape[1:]
    square = part_of(system.a, rows, range(m))
    solved = solve_square(square, part_of(system.b, rows, range(k)))
    post = table_of(solved)
    negative = np.argwhere(np.asarray(post < 0, dtype=bool))
    if not len(negative):
        return ExactDecision(True, post, None, "unique post-processing, solved exactly")
    y, w = map(int, negative[np.argmin(post[tuple(negative.T)])])
    # aᵀg = -e_y: every score under A is 0 or -1.
    unit = flint.fmpz_mat(m, 1)
    unit[y, 0] = -1
    direction = solve_square(square.transpose(), unit)
    witness = np.full((system.shape[0], k), Fraction(0), dtype=object)
    for i, x in enumerate(rows):
        witness[x, w] = fraction_of(direction[i, 0]) * system.scales[x]
    return ExactDecision(False, None, witness, "unique post-processing has a negative entry")


def decide_program(less_safe: ObjectArray, safer: ObjectArray) -> ExactDecision | None:
    """Half the L1 distance of B from {AR}: the vertex of the float solver rebuilt over the rationals."""
    vertex = distance_vertex(less_safe, safer, largest=LARGEST_DECISION)
    return None if vertex is None else _decision(vertex, less_safe.shape, safer.shape[1])


def cone_program(less_safe: ObjectArray, safer: ObjectArray) -> ExactDecision | None:
    """Is every column of B in the cone of A's columns? The witness has AᵀG ≤ 0 and <G,B> > 0."""
    vertex = distance_vertex(less_safe, safer, "cone", LARGEST_DECISION)
    return None if vertex is None else _decision(vertex, less_safe.shape, safer.shape[1])


def _decision(vertex: ExactVertex, shape: tuple[int, ...], k: int) -> ExactDecision:
    n, m = shape
    method = "linear program, vertex rebuilt exactly"
    if vertex.value == 0:
        return ExactDecision(True, vertex.primal[: m * k].reshape(m, k), None, method)
    return ExactDecision(False, None, vertex.dual[: n * k].reshape(n, k), method)


def distance_vertex(
    less_safe: ObjectArray, safer: ObjectArray, kind: Distance = "sum", largest: int = LARGEST_MEASUREMENT
) -> ExactVertex | None:
    """The exactly optimal vertex of a distance of B from post-processings of A.

    None if it was not rebuilt, or if the program has more rows than `largest`.

    "sum": Σ_x TV(B_x, (AR)_x); "worst": the largest of them (Le Cam); "cone": Σ|B - AM| over any M ≥ 0.
    Variables are R (or M), then P and N with AR + P - N = B, then slacks of row distances and their bound.
    """
    n, m = less_safe.shape
    k = safer.shape[1]
    cells, unknown = n * k, m * k
    sums = 0 if kind == "cone" else m
    tops = n if kind == "worst" else 0
    rows = cells + sums + tops
    if rows > largest:
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


# ── An exact post-processing from a float one that is nearly right ──────────────────────────────────────────
# An R with room to spare is moved onto AR = B and R1 = 1 as it stands. Otherwise its zeros are kept: each
# column is solved on its support up to a few free entries, which the row sums then determine.
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
