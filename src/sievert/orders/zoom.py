"""An exactly optimal vertex where the float solver stops one basis short of it.

Near a boundary the solver's basis is right only up to its tolerance. Shifting the origin to the exact point
of that basis and magnifying what is violated makes the violation as large as 1, which the solver then sees;
its new basis is tried on the original program (iterative refinement of linear programs, Gleixner et al.).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csc_array

from sievert.numerics.exact_programs import ExactProgram, ExactVertex, exact_vertex
from sievert.numerics.linear_programs import LinearProgram, Solution, solve
from sievert.numerics.rationals import exact_matmul, exact_solve

__all__ = ["exact_optimum"]

ObjectArray = NDArray[np.object_]
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
