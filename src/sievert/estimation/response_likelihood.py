"""The exact maximum likelihood of randomised response: one sort, no iterations.

With b = alpha/(1-alpha), the maximum of Σ q_j·ln(b + p_j) on the simplex fills like water:
p_j = max(0, q_j/λ - b), λ such that the sum is 1 (the conditions of Karush, Kuhn and Tucker).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["water_filling"]

FloatArray = NDArray[np.float64]


def water_filling(shares: FloatArray, lie: float, mass: FloatArray | float = 1.0) -> FloatArray:
    """The p ≥ 0 with Σ p = mass that maximises Σ_j q_j·ln(lie + p_j), in O(n log n).

    `shares` may have leading axes, one problem a row, and `mass` one entry for each of them. Without any
    share the mass is spread evenly.

    >>> (water_filling(np.array([0.6, 0.35, 0.05]), 1.0) * 19).round(9)
    array([17.,  2.,  0.])
    """
    q = np.asarray(shares, dtype=np.float64)
    room = np.expand_dims(np.asarray(mass, dtype=np.float64), -1)
    ordered = -np.sort(-q, axis=-1)
    count = np.arange(1, q.shape[-1] + 1)
    total = np.cumsum(ordered, axis=-1)
    # The r largest shares, were they the only ones above the water: λ_r = Σ q/(mass + r·b), and
    # p_j = q_j/λ - b = mass/r + (q_j - mean)/λ, which loses nothing to cancellation as b grows.
    with np.errstate(divide="ignore", invalid="ignore"):
        level = total / (room + count * lie)
        above = room / count + (ordered - total / count) / level > 0
    last = np.expand_dims(q.shape[-1] - 1 - np.argmax(above[..., ::-1], axis=-1), -1)
    top, water = (np.take_along_axis(table, last, axis=-1) for table in (total, level))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.maximum(0.0, room / (last + 1) + (q - top / (last + 1)) / water)
        found *= room / found.sum(axis=-1, keepdims=True)
    even = np.broadcast_to(room / q.shape[-1], found.shape)
    return np.where((total[..., -1:] > 0) & np.isfinite(found), found, even)
