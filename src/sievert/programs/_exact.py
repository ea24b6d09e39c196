"""Rebuilding a linear program's vertex over the rationals, so that an optimum is exact and proved.

A float solver's basis says which constraints are tight. Solving those equations exactly gives a rational
point and rational multipliers; if both satisfy their own constraints they are optimal, whatever the solver
believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from sievert.arrays import ObjectArray
from sievert.numerics import exact_matmul, exact_solve
from sievert.programs._linear import LinearProgram, Solution, solve

__all__ = ["ExactProgram", "ExactVertex", "exact_optimum", "exact_vertex"]


@dataclass(frozen=True, eq=False)
class ExactProgram:
    """minimise cost·x, row_lower ≤ matrix·x ≤ row_upper, lower ≤ x ≤ upper, in fractions.

    Bounds hold Fractions, or None where there is no bound.
    """

    cost: ObjectArray
    matrix: ObjectArray
    row_lower: list[Fraction | None]
    row_upper: list[Fraction | None]
    lower: list[Fraction | None]
    upper: list[Fraction | None]


@dataclass(frozen=True, eq=False)
class ExactVertex:
    """An exactly optimal point, its multipliers (one a row) and its value."""

    primal: ObjectArray
    dual: ObjectArray
    value: Fraction


def exact_vertex(program: ExactProgram, solution: Solution) -> ExactVertex | None:
    """The exact optimum at the solver's basis, or None when that basis is not exactly optimal."""
    basic, tight = np.flatnonzero(solution.basic_columns), np.flatnonzero(~solution.basic_rows)
    if len(basic) != len(tight):
        return None
    fixed = _nonbasic(program, solution)
    sides = [
        side
        for i in tight
        if (side := _bound(program.row_lower[i], program.row_upper[i], solution.activity[i])) is not None
    ]
    if len(sides) != len(tight):
        return None
    primal = fixed.copy()
    multipliers = np.full(len(program.row_lower), Fraction(0), dtype=object)
    if len(basic):
        square = program.matrix[np.ix_(tight, basic)]
        right = np.array(
            [side - _dot(program.matrix[i], fixed) for i, side in zip(tight, sides, strict=True)]
        )
        try:
            primal[basic] = exact_solve(square, right[:, None])[:, 0]
            multipliers[tight] = exact_solve(square.T, program.cost[basic][:, None])[:, 0]
        except ZeroDivisionError:
            return None
    if not (_primal_feasible(program, primal) and _dual_feasible(program, primal, multipliers)):
        return None
    return ExactVertex(primal, multipliers, _dot(program.cost, primal))


def _dot(first: ObjectArray, second: ObjectArray) -> Fraction:
    return sum((a * b for a, b in zip(first, second, strict=True) if a and b), Fraction(0))


def _bound(lower: Fraction | None, upper: Fraction | None, value: float) -> Fraction | None:
    """The bound that a non-basic quantity sits at."""
    if lower is None or upper is None:
        return upper if lower is None else lower
    return lower if abs(float(lower) - value) <= abs(float(upper) - value) else upper


def _nonbasic(program: ExactProgram, solution: Solution) -> ObjectArray:
    """Every non-basic column at its bound and every basic one at 0; a free non-basic column is at 0."""
    values = np.full(len(program.cost), Fraction(0), dtype=object)
    for j in np.flatnonzero(~solution.basic_columns):
        bound = _bound(program.lower[j], program.upper[j], solution.primal[j])
        if bound is not None:
            values[j] = bound
    return values


def _primal_feasible(program: ExactProgram, primal: ObjectArray) -> bool:
    activity = [_dot(row, primal) for row in program.matrix]
    return all(
        (low is None or low <= value) and (high is None or value <= high)
        for value, low, high in [
            *zip(primal.tolist(), program.lower, program.upper, strict=True),
            *zip(activity, program.row_lower, program.row_upper, strict=True),
        ]
    )


def _dual_feasible(program: ExactProgram, primal: ObjectArray, multipliers: ObjectArray) -> bool:
    """Every multiplier pushes towards the bound its quantity sits at (complementary slackness)."""
    activity = [_dot(row, primal) for row in program.matrix]
    reduced = [
        c - _dot(column, multipliers) for c, column in zip(program.cost, program.matrix.T, strict=True)
    ]
    checks: list[tuple[Any, Any, Any, Any]] = [
        *zip(reduced, primal.tolist(), program.lower, program.upper, strict=True),
        *zip(multipliers.tolist(), activity, program.row_lower, program.row_upper, strict=True),
    ]
    return all(
        price == 0 or (price > 0 and value == low) or (price < 0 and value == high)
        for price, value, low, high in checks
    )


# ── An exactly optimal vertex where the float solver stops one basis short of it ────────────────────────────
# Near a boundary the solver's basis is right only up to its tolerance. Shifting the origin to the exact
# point of that basis and magnifying what is violated makes the violation as large as 1, which the solver
# then sees; its new basis is tried on the original program (iterative refinement of linear programs,
# Gleixner et al.).
ROUNDS = 8
# Bounds beyond this are out of reach of any step of size 1.
FAR = 10**7
SECONDS = 20.0


def exact_optimum(program: ExactProgram) -> ExactVertex | None:
    """Solve in floats, rebuild in fractions, magnify what is wrong, and again.

    Rows must be equations and columns bounded by 0 below, so that moving the origin changes only right sides.
    """
    floats = _floats(program)
    solution = solve(floats, "simplex", tolerance=1e-10, time_limit=SECONDS)
    scale, price_scale = Fraction(1), Fraction(1)
    for _ in range(ROUNDS):
        if len(solution.basic_columns) != len(program.cost):
            return None
        vertex = exact_vertex(program, solution)
        if vertex is not None:
            return vertex
        point = _at_basis(program, solution)
        if point is None:
            return None
        primal, dual = point
        reduced = program.cost - exact_matmul(dual[None, :], program.matrix)[0]
        rest = _rest(program, primal)
        wrong = max(-min(primal.tolist()), *(abs(value) for value in rest))
        wrong_price = -min(reduced.tolist())
        # Scales only grow: forgetting one would let the solver step back to a basis already refused.
        scale = max(scale, 1 / wrong) if wrong > 0 else scale
        price_scale = max(price_scale, 1 / wrong_price) if wrong_price > 0 else price_scale
        sides = np.array([float(scale * value) for value in rest])
        magnified = LinearProgram(
            np.array([min(float(min(price_scale * value, 10**6)), 1e6) for value in reduced.tolist()]),
            floats.matrix,
            sides,
            sides,
            np.array([_lower(-scale * value) for value in primal.tolist()]),
            floats.upper,
        )
        solution = solve(magnified, "simplex", tolerance=1e-10, time_limit=SECONDS)
    return None


def _rest(program: ExactProgram, primal: ObjectArray) -> list[Fraction]:
    """What the equations still miss at a point: zero but for rows that the basis left out."""
    activity = exact_matmul(program.matrix, primal[:, None])[:, 0].tolist()
    return [
        Fraction(0) if side is None else side - a for side, a in zip(program.row_lower, activity, strict=True)
    ]


def _floats(program: ExactProgram) -> LinearProgram:
    count = len(program.cost)
    return LinearProgram(
        program.cost.astype(np.float64),
        csc_array(program.matrix.astype(np.float64)),
        np.array([-np.inf if v is None else float(v) for v in program.row_lower]),
        np.array([np.inf if v is None else float(v) for v in program.row_upper]),
        np.zeros(count),
        np.full(count, np.inf),
    )


def _at_basis(program: ExactProgram, solution: Solution) -> tuple[ObjectArray, ObjectArray] | None:
    """The exact point and multipliers of a basis, feasible or not."""
    basic, tight = np.flatnonzero(solution.basic_columns), np.flatnonzero(~solution.basic_rows)
    if len(basic) != len(tight) or not len(basic):
        return None
    sides = [program.row_upper[i] if program.row_lower[i] is None else program.row_lower[i] for i in tight]
    right = np.empty((len(tight), 1), dtype=object)
    right[:, 0] = sides
    square = program.matrix[np.ix_(tight, basic)]
    primal = np.full(len(program.cost), Fraction(0), dtype=object)
    dual = np.full(len(program.row_lower), Fraction(0), dtype=object)
    try:
        primal[basic] = exact_solve(square, right)[:, 0]
        dual[tight] = exact_solve(square.T, program.cost[basic][:, None])[:, 0]
    except ZeroDivisionError:
        return None
    return primal, dual


def _lower(value: Fraction) -> float:
    """A bound as a float; one out of reach is no bound."""
    return -np.inf if value < -FAR else float(value)
