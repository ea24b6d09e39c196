"""The distance of B from post-processings of A as a sparse linear program, solved in floats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array

from sievert.numerics.linear_programs import LinearProgram, solve
from sievert.orders.decisions import Decision
from sievert.orders.reflections import unmasked
from sievert.orders.witnesses import best_prior_gap, normalised_gap, residual, stochastic

__all__ = ["deficiency_program", "masked_entries", "masked_program"]

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
# Unknowns beyond which the simplex method gives way to an interior point.
SIMPLEX_UNKNOWNS = 6_000


def masked_entries(less_safe: FloatArray, safer: FloatArray, allowed: BoolArray) -> int:
    """Non-zero coefficients of the masked program."""
    used = np.count_nonzero(less_safe, axis=0) + 1
    return int(used @ np.count_nonzero(allowed, axis=1)) + int(np.count_nonzero(safer))


def masked_program(
    less_safe: FloatArray, safer: FloatArray, allowed: BoolArray, kept: NDArray[np.intp]
) -> Decision:
    """Is AR = B, on the rows `kept`, with R on the allowed cells? Sparse channels leave few unknowns.

    Every output of A needs an allowed cell. R is a vertex: it has about as many zeros as it can.
    """
    m, k = less_safe.shape[1], safer.shape[1]
    columns, goal = csc_array(less_safe[kept]), safer[kept]
    y, w = np.nonzero(allowed)
    x, v = np.nonzero(goal > 0)
    cell = np.full(goal.shape, -1)
    cell[x, v] = np.arange(len(x))
    counts = np.diff(columns.indptr)[y]
    unknown = np.repeat(np.arange(len(y)), counts)
    # Positions in `columns` of the entries of column y, for one unknown (y, w) after the other.
    offset = np.arange(len(unknown)) - np.repeat(np.cumsum(counts) - counts, counts)
    entry = columns.indptr[y][unknown] + offset
    post, over = len(y), len(x)
    # Row (x, w): Σ_y A[x,y] R[y,w] + P[x,w] ≥ B[x,w]; rows of AR and B have equal sums, so ΣP is half L1.
    rows = [cell[columns.indices[entry], w[unknown]], np.arange(over), over + y]
    places = [unknown, post + np.arange(over), np.arange(post)]
    values = [columns.data[entry], np.ones(over), np.ones(post)]
    matrix = coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(places))),
        shape=(over + m, post + over),
    ).tocsc()
    cost = np.concatenate([np.zeros(post), np.ones(over)])
    sides = np.concatenate([goal[x, v], np.ones(m)])
    tops = np.concatenate([np.full(over, np.inf), np.ones(m)])
    program = LinearProgram(cost, matrix, sides, tops, np.zeros(len(cost)), np.full(len(cost), np.inf))
    solution = solve(program, "simplex", tolerance=1e-10)
    found, witness = np.zeros((m, k)), np.zeros(safer.shape)
    found[y, w] = solution.primal[:post]
    witness[kept[x], v] = solution.dual[:over]
    method = "linear program"
    if not (np.isfinite(found).all() and np.isfinite(witness).all()):
        return Decision(0.0, 1.0, None, None, method)
    found, witness = stochastic(found), unmasked(witness, less_safe, safer, allowed)
    lower, upper = normalised_gap(witness, less_safe, safer), residual(found, less_safe, safer)
    return Decision(lower, upper, found, witness, method)


def deficiency_program(less_safe: FloatArray, safer: FloatArray, le_cam: bool = True) -> Decision:
    """Least distance of B from post-processings of A, with the best witness, by linear programming.

    `le_cam` minimises the largest row distance (Le Cam deficiency, worst prior); otherwise their sum
    (uniform prior). Dense masks are not used: the best approximation may use forbidden cells.
    """
    n, m = less_safe.shape
    k = safer.shape[1]
    post, over = m * k, n * k
    x, y = np.nonzero(less_safe)
    w = np.arange(k)
    # Row (x, w): Σ_y A[x,y] R[y,w] + P[x,w] ≥ B[x,w]; Σ_w P[x,w] is then at least TV(B_x, (AR)_x).
    rows = [(x[:, None] * k + w).ravel(), np.arange(over), over + np.repeat(np.arange(m), k)]
    columns = [(y[:, None] * k + w).ravel(), post + np.arange(over), np.arange(post)]
    values = [np.repeat(less_safe[x, y], k), np.ones(over), np.ones(post)]
    lower = [safer.ravel(), np.ones(m)]
    upper = [np.full(over, np.inf), np.ones(m)]
    cost = np.concatenate([np.zeros(post), np.ones(over)])
    count = over + m
    if le_cam:
        rows += [count + np.repeat(np.arange(n), k), count + np.arange(n)]
        columns += [post + np.arange(over), np.full(n, post + over)]
        values += [-np.ones(over), np.ones(n)]
        lower.append(np.zeros(n))
        upper.append(np.full(n, np.inf))
        cost = np.concatenate([np.zeros(post + over), [1.0]])
        count += n
    matrix = coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(count, len(cost))
    ).tocsc()
    program = LinearProgram(
        cost,
        matrix,
        np.concatenate(lower),
        np.concatenate(upper),
        np.zeros(len(cost)),
        np.full(len(cost), np.inf),
    )
    small = len(cost) <= SIMPLEX_UNKNOWNS
    solution = solve(program, "simplex" if small else "ipm", tolerance=1e-10, crossover=small)
    found = stochastic(solution.primal[:post].reshape(m, k))
    witness = solution.dual[:over].reshape(n, k)
    measure = best_prior_gap if le_cam else normalised_gap
    return Decision(
        measure(witness, less_safe, safer),
        residual(found, less_safe, safer),
        found,
        witness,
        "linear program",
    )
