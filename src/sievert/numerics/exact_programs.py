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
from numpy.typing import NDArray

from sievert.numerics.linear_programs import Solution
from sievert.numerics.rationals import exact_solve

__all__ = ["ExactProgram", "ExactVertex", "exact_vertex"]

ObjectArray = NDArray[np.object_]


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
