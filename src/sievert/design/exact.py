"""Optimal mechanisms in fractions, for small problems where everything given is rational.

On lines the geometric mechanism and its certificate are computed over the rationals. Otherwise a float
program's basis says which constraints are tight; solving those equations exactly gives the mechanism and its
multipliers, and both are checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from sievert.design.closed_forms import line_form
from sievert.design.problem import Piece, Problem, inward
from sievert.numerics.exact_programs import ExactProgram, exact_vertex
from sievert.numerics.linear_programs import LinearProgram, solve
from sievert.numerics.rationals import fractions_of
from sievert.proofs.decay import Decay
from sievert.proofs.design import costs
from sievert.proofs.exact_design import ExactDesignProof
from sievert.spaces.metric import Metric

__all__ = ["ExactOptimum", "solve_exactly"]

ObjectArray = NDArray[np.object_]
# Unknowns of a program that is rebuilt in fractions; a 16 by 16 channel takes a few seconds.
LARGEST_PROGRAM = 150
# Entries of a line's channel in fractions.
LARGEST_LINE = 2_500


@dataclass(frozen=True, eq=False)
class ExactOptimum:
    """An exactly optimal mechanism with its proof."""

    channel: ObjectArray
    value: Fraction
    method: str
    proof: ExactDesignProof


def solve_exactly(
    metric: Metric, decay: Decay, prior: NDArray[Any], loss: NDArray[Any]
) -> ExactOptimum | None:
    """The exact optimum, or None when the problem is too large or the basis does not hold exactly."""
    assert decay.alpha is not None
    table = fractions_of(loss.tolist())
    cost = prior[:, None] * table.T
    if cost.size > LARGEST_LINE:
        return None
    problem = Problem.of(metric, decay, costs(prior, loss), np.asarray(loss, dtype=np.float64))
    pieces = problem.pieces()
    if len(pieces) == 1 and pieces[0].size == metric.size and pieces[0].shape == "line":
        found = _line(problem, pieces[0], decay.alpha, cost)
        proof = ExactDesignProof(problem.space, decay.alpha, prior, table, *found)
        if proof.bound() == (value := proof.value()):
            name = "two inputs (Fernandes, Thm 6.14)" if metric.size == 2 else "line, geometric mechanism"
            reason = "" if metric.size == 2 else " (Theorem SC: single-crossing losses)"
            return ExactOptimum(found[0], value, f"{name}{reason}, in fractions", proof)
    if all(piece.size == 1 for piece in pieces) and (decay.alpha == 1 or not problem.space.lengths.any()):
        found = _constants(problem, cost)
        proof = ExactDesignProof(problem.space, decay.alpha, prior, table, *found)
        words = "nothing may be told" if len(pieces) == 1 else f"{len(pieces)} groups that may be told apart"
        return ExactOptimum(
            found[0], proof.value(), f"{words}: the best answer for each, in fractions", proof
        )
    if cost.size > LARGEST_PROGRAM:
        return None
    return _program(problem, decay.alpha, prior, table, cost)


Multiplied = tuple[ObjectArray, tuple[tuple[int, int, Fraction], ...]]


def _line(problem: Problem, piece: Piece, alpha: Fraction, cost: ObjectArray) -> Multiplied:
    order, _, through = piece.outward
    edges = through[order[1:]]
    lengths = [int(problem.space.lengths[piece.edges[edge]]) for edge in edges.tolist()]
    position = np.concatenate([[0], np.cumsum(np.array(lengths, dtype=np.int64))])
    powers = {
        k: Fraction(alpha**k) for k in {abs(a - b) for a in position.tolist() for b in position.tolist()}
    }
    kernel = np.array(
        [[powers[abs(a - b)] for b in position.tolist()] for a in position.tolist()], dtype=object
    )
    t = np.array([powers[k] for k in lengths], dtype=object)
    # Group g of the piece is point groups[g] here, where nothing is merged.
    places = piece.groups[order]
    ordered, right, left = line_form(cost[places].T, t, t / (1 - t * t), kernel)
    channel = np.empty_like(ordered)
    channel[places] = ordered
    multipliers = [
        (int(arc), int(w), Fraction(values[w, k]))
        for arcs, values in (
            (piece.arc_from(edges, order[:-1]), right),
            (piece.arc_from(edges, order[1:]), left),
        )
        for k, arc in enumerate(arcs.tolist())
        for w in range(len(values))
        if values[w, k] > 0
    ]
    return channel, tuple(multipliers)


def _constants(problem: Problem, cost: ObjectArray) -> Multiplied:
    """Groups of points that must be alike, free of each other: the best constant answer for each group."""
    bracket = cost.copy()
    multipliers = []
    for point, parent, edge in inward(problem):
        # What a point spares over its least is carried towards the first point of its group.
        surplus = bracket[point] - bracket[point].min()
        bracket[parent] = bracket[parent] + surplus
        arc = 2 * edge + int(problem.space.pairs[edge, 0] != point)
        multipliers += [(arc, w, Fraction(value)) for w, value in enumerate(surplus.tolist()) if value > 0]
    channel = np.full(cost.shape, Fraction(0), dtype=object)
    for group in range(int(problem.group_of.max()) + 1):
        members = np.flatnonzero(problem.group_of == group)
        channel[members, int(np.argmin(cost[members].sum(axis=0)))] = Fraction(1)
    return channel, tuple(multipliers)


def _program(
    problem: Problem, alpha: Fraction, prior: NDArray[Any], table: ObjectArray, cost: ObjectArray
) -> ExactOptimum | None:
    n, m = cost.shape
    pairs, lengths = problem.space.pairs, problem.space.lengths
    arcs = 2 * len(pairs)
    left = np.column_stack([pairs[:, 0], pairs[:, 1]]).ravel()
    right = np.column_stack([pairs[:, 1], pairs[:, 0]]).ravel()
    factor = np.array([Fraction(alpha ** int(length)) for length in np.repeat(lengths, 2)], dtype=object)
    row = np.arange(arcs * m)
    arc, w = np.divmod(row, m)
    rows = np.concatenate([row, row, arcs * m + np.repeat(np.arange(n), m)])
    columns = np.concatenate([left[arc] * m + w, right[arc] * m + w, np.arange(n * m)])
    values = np.concatenate([np.full(len(row), Fraction(1)), -factor[arc], np.full(n * m, Fraction(1))])
    shape = (arcs * m + n, n * m)
    matrix = coo_array((values.astype(np.float64), (rows, columns)), shape=shape).tocsc()
    lower = np.concatenate([np.zeros(arcs * m), np.ones(n)])
    upper = np.concatenate([np.full(arcs * m, np.inf), np.ones(n)])
    program = LinearProgram(
        cost.ravel().astype(np.float64), matrix, lower, upper, np.zeros(n * m), np.full(n * m, np.inf)
    )
    solution = solve(program, "simplex", tolerance=1e-10)
    if not solution.optimal:
        return None
    exact = np.full(shape, Fraction(0), dtype=object)
    exact[rows, columns] = values
    sides: list[Fraction | None] = [Fraction(0) for _ in range(arcs * m)]
    sides += [Fraction(1) for _ in range(n)]
    vertex = exact_vertex(
        ExactProgram(
            cost.ravel(),
            exact,
            sides,
            [None] * (arcs * m) + [Fraction(1)] * n,
            [Fraction(0)] * (n * m),
            [None] * (n * m),
        ),
        solution,
    )
    if vertex is None:
        return None
    multipliers = tuple(
        (int(arc[k]), int(w[k]), Fraction(vertex.dual[k])) for k in range(arcs * m) if vertex.dual[k] > 0
    )
    channel = vertex.primal.reshape(n, m)
    proof = ExactDesignProof(problem.space, alpha, prior, table, channel, multipliers)
    return ExactOptimum(channel, vertex.value, f"linear program in fractions, {n * m} unknowns", proof)
