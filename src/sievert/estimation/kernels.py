"""Recursions of truncated geometric noise, compiled where numba is installed (extra `speed`).

Forward and backward sums have only positive terms, so that every entry keeps its digits; a Fourier
transform would lose those below 1e-16 of the largest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.spaces.tree_kernels import COMPILED, compiled

__all__ = ["COMPILED", "geometric_rounds", "response_rounds", "two_sided"]

FloatArray = NDArray[np.float64]
# Below this a weight is 0: smaller ones would become denormal and slow every later step down.
SMALLEST = 1e-300


@compiled
def two_sided(values: FloatArray, decay: Any, out: FloatArray) -> None:
    """out[y] = Σ_x values[x]·decay^|x-y|."""
    running = 0.0
    for i in range(len(values)):
        running = running * decay + values[i]
        out[i] = running
    running = 0.0
    for i in range(len(values) - 1, -1, -1):
        out[i] += running
        running = (running + values[i]) * decay
        if running < SMALLEST:
            running = 0.0


@compiled
def geometric_rounds(p: FloatArray, shares: FloatArray, decay: Any, rounds: Any) -> float:
    """IBU in place for truncated geometric noise; the largest factor of the last round."""
    expected = np.empty(len(p))
    ratio = np.empty(len(p))
    factor = np.empty(len(p))
    largest = 0.0
    for _ in range(rounds):
        two_sided(p, decay, expected)
        for j in range(len(p)):
            ratio[j] = shares[j] / expected[j] if shares[j] > 0.0 else 0.0
        two_sided(ratio, decay, factor)
        largest = 0.0
        for i in range(len(p)):
            largest = max(largest, factor[i])
            moved = p[i] * factor[i]
            p[i] = moved if moved > SMALLEST else 0.0
    return largest


@compiled
def response_rounds(p: FloatArray, shares: FloatArray, lie: Any, rounds: Any) -> float:
    """IBU in place for randomised response with lie/(truth - lie) = `lie`; the largest last factor."""
    largest = 0.0
    for _ in range(rounds):
        total = 0.0
        for i in range(len(p)):
            if shares[i] > 0.0:
                total += shares[i] / (lie + p[i])
        largest = 0.0
        for i in range(len(p)):
            factor = lie * total + (shares[i] / (lie + p[i]) if shares[i] > 0.0 else 0.0)
            largest = max(largest, factor)
            moved = p[i] * factor
            p[i] = moved if moved > SMALLEST else 0.0
    return largest
