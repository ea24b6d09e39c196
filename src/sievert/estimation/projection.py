"""Moving an estimate that left the simplex back into it.

Neither way is the maximum likelihood: Fernandes' Prop 8.2 makes the inverse the maximum likelihood only when
it has no negative entry.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["clipped", "nearest_distribution"]

FloatArray = NDArray[np.float64]


def nearest_distribution(values: FloatArray) -> FloatArray:
    """Euclidean projection onto the simplex in O(n log n) (Held, Wolfe and Crowder, 1974).

    >>> nearest_distribution(np.array([1.4, 0.4, -0.8]))
    array([1., 0., 0.])
    """
    ordered = -np.sort(-values)
    count = np.arange(1, len(values) + 1)
    # Subtract t so that what stays positive sums to 1; the last count that keeps its smallest one positive.
    t = (np.cumsum(ordered) - 1) / count
    last = int(np.flatnonzero(ordered > t)[-1])
    return np.asarray(np.maximum(values - t[last], 0.0))


def clipped(values: FloatArray) -> FloatArray:
    """Negative entries set to 0, the rest rescaled.

    >>> clipped(np.array([1.4, 0.4, -0.8]))
    array([0.77777778, 0.22222222, 0.        ])
    """
    positive = np.maximum(values, 0.0)
    return np.asarray(positive / positive.sum())
