"""The best mechanism on a line where nothing is limited but ε: geometric noise and the best guess from it.

No private mechanism tells the use better than the truncated geometric one with the best guess after it
(Ghosh, Roughgarden, Sundararajan 2009). Its columns are a basis, so that the prices of the inputs are the
solution of one system, whose inverse has three diagonals.
"""

from __future__ import annotations

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.inference._neighbours import is_line
from sievert.inference._program import AccuracyOptimum, AccuracyProgram
from sievert.inference._solver import missing

__all__ = ["unlimited"]

# Neighbours that are closer to alike than this leave no basis in floats.
ALIKE = 1 - 1e-6
# What prices may leave above 0 for the mechanism to count as the best.
LARGEST_MISS = 1e-10


def unlimited(problem: AccuracyProgram) -> tuple[AccuracyOptimum, FloatArray] | None:
    """The optimum without limits, and what it gives away about each secret; None where this is not it."""
    n, m = problem.shape
    factors = problem.factors
    if not is_line(problem.space) or n < 2 or factors.min() <= 0 or factors.max() > ALIKE:
        return None
    steps = np.concatenate([[0.0], np.cumsum(np.log(factors))])
    kernel = np.exp(-np.abs(steps[:, None] - steps[None, :]))
    heights = _inverse_times(factors, np.ones(n))
    noise = kernel * heights[None, :]
    worth = problem.value @ noise
    guesses = worth.argmax(axis=0)
    mechanism = np.zeros((n, m))
    np.add.at(mechanism.T, guesses, noise.T)
    prices = _inverse_times(factors, worth.max(axis=0) / heights)
    functionals = problem.value - prices[None, :]
    edges = _multipliers(problem, functionals, (functionals @ kernel).argmax(axis=1))
    if missing(problem, functionals, edges).sum() > LARGEST_MISS:
        return None
    weights = tuple(np.zeros((m, len(leak))) for leak in problem.leaks)
    value, taken = float(worth.max(axis=0).sum()), np.arange(m)
    given = np.array([(leak @ mechanism).max(axis=0).sum() for leak in problem.leaks])
    return AccuracyOptimum(value, mechanism, prices, weights, np.zeros(len(weights)), edges, taken), given


def _inverse_times(factors: FloatArray, right: FloatArray) -> FloatArray:
    """x with Σ_j e^(-ε·distance(i, j))·x_j = right_i."""
    rest = 1 / (1 - factors**2)
    found = right.copy()
    found[:-1] += factors * rest * (factors * right[:-1] - right[1:])
    found[1:] += factors * rest * (factors * right[1:] - right[:-1])
    return np.asarray(found)


def _multipliers(problem: AccuracyProgram, functionals: FloatArray, peaks: IndexArray) -> FloatArray:
    """Of the edges [edge, way, guess], from both ends of the line to the peak of each guess's column."""
    n, m = problem.shape
    found = np.zeros((n - 1, 2, m))
    for way, order in ((0, range(n - 1)), (1, range(n - 2, -1, -1))):
        held = functionals.copy()
        for edge in order:
            child, parent = (edge, edge + 1) if way == 0 else (edge + 1, edge)
            before = peaks > edge if way == 0 else peaks <= edge
            found[edge, way] = np.where(before, np.maximum(-held[:, child], 0.0), 0.0)
            held[:, parent] -= found[edge, way] * problem.factors[edge]
    return found
