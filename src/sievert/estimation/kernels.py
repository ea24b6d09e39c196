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
def two_sided(values: FloatArray, decay: Any, left: FloatArray, out: FloatArray) -> None:
    """out[y] = Σ_x values[x]·decay^|x-y|; `left` is room to work in.

    Both recursions run in one loop, two steps at a time, so that the processor need not wait for one product
    after the other: nearly twice as fast as one recursion after the other.
    """
    size = len(values)
    square = decay * decay
    forward, backward = 0.0, 0.0
    for k in range(0, size - 1, 2):
        a, b = values[k], values[k + 1]
        left[k] = forward * decay + a
        forward = forward * square + (a * decay + b)
        left[k + 1] = forward
        i = size - 1 - k
        c, d = values[i], values[i - 1]
        out[i] = backward
        out[i - 1] = (backward + c) * decay
        backward = backward * square + (c * decay + d) * decay
        if forward < SMALLEST:
            forward = 0.0
        if backward < SMALLEST:
            backward = 0.0
    if size % 2 == 1:
        left[size - 1] = forward * decay + values[size - 1]
        out[0] = backward
    for i in range(size):
        out[i] += left[i]


@compiled
def geometric_rounds(p: FloatArray, shares: FloatArray, decay: Any, rounds: Any) -> float:
    """IBU in place for truncated geometric noise; the largest factor of the last round."""
    expected = np.empty(len(p))
    factor = np.empty(len(p))
    room = np.empty(len(p))
    largest = 0.0
    for _ in range(rounds):
        two_sided(p, decay, room, expected)
        for j in range(len(p)):
            # Where nothing was observed the share is 0; the added least number only avoids 0/0.
            expected[j] = shares[j] / (expected[j] + SMALLEST)
        two_sided(expected, decay, room, factor)
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
