"""The packing bound and the weights of a space.

Privacy gives K[i,j] ≥ Φ[i,j]·K[j,j]; summing a row, the diagonal z of any private channel satisfies Φz ≤ 1.
So capacity ≤ P = max{c·z : Φz ≤ 1, z ≥ 0} = min{Σy : Φy ≥ c, y ≥ 0}. If the solution of Φw = 1 is
non-negative, K[i,j] = Φ[i,j]·w_j attains the bound and P is the magnitude Σw of the space.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import csc_array

from sievert.limits.space import Space
from sievert.numerics.balls import kernel_weights
from sievert.numerics.linear_programs import LinearProgram, solved

__all__ = ["Packing", "packing", "weights"]

FloatArray = NDArray[np.float64]
# Weights this far below 0, relative to the largest, are rounding of a zero.
NEGATIVE = -1e-11
# Between this and 0 a float solution says nothing about the sign.
UNSURE = 1e-3
LARGEST_PRECISE = 64
# A solution that misses Φw = 1 by more is none: the kernel is singular.
RESIDUAL = 1e-8


@dataclass(frozen=True, eq=False)
class Packing:
    """Value of the packing bound, its covering vector y and a packing z."""

    value: float
    y: FloatArray
    z: FloatArray


def weights(space: Space, eps: float) -> FloatArray | None:
    """The solution of Φw = 1 when it is non-negative, else None."""
    kernel = space.kernel(eps)
    sums = kernel.sum(axis=1)
    if np.allclose(sums, sums[0], rtol=1e-14, atol=0.0):
        # Every point sees the same distances (vertex-transitive, distance-regular): Alvim et al., Thm 12.
        return np.full(space.size, 1 / sums[0])
    ones = np.ones(space.size)
    try:
        found = np.asarray(cho_solve(cho_factor(kernel), ones))
    except LinAlgError:
        try:
            found = np.asarray(np.linalg.solve(kernel, ones), dtype=np.float64)
        except np.linalg.LinAlgError:
            return None
    least = found.min() / np.abs(found).max()
    if -UNSURE < least < 0 and space.size <= LARGEST_PRECISE:
        # For tiny ε all columns look alike; 256 bits tell a weight near 0 from a negative one.
        precise = kernel_weights(space.distances, eps)
        if precise is None:
            return None
        found, least = precise, precise.min() / np.abs(precise).max()
    if least < NEGATIVE or np.abs(kernel @ np.maximum(found, 0.0) - 1).max() > RESIDUAL:
        return None
    return np.maximum(found, 0.0)


def packing(space: Space, eps: float, objective: FloatArray | None = None) -> Packing:
    """The packing bound by linear programming; `objective` weighs the points (a prior, say)."""
    size = space.size
    cost = np.ones(size) if objective is None else objective
    kernel = space.kernel(eps)
    program = LinearProgram(
        -cost,
        csc_array(kernel),
        np.full(size, -np.inf),
        np.ones(size),
        np.zeros(size),
        np.full(size, np.inf),
    )
    solution = solved(program, tolerance=1e-10)
    y = np.maximum(-solution.dual, 0.0)
    covered = kernel @ y
    counted = cost > 0
    least = float((covered[counted] / cost[counted]).min(initial=np.inf))
    if not least > 0:
        y, least = np.full(size, float(cost.max())), 1.0
    z = np.maximum(solution.primal, 0.0)
    return Packing(float(y.sum() / least), y, z / max(1.0, float((kernel @ z).max())))
