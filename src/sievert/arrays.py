"""The arrays this code computes with, by what their entries are."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "AnyArray",
    "BoolArray",
    "FloatArray",
    "IndexArray",
    "IntArray",
    "ObjectArray",
    "WordArray",
]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]  # positions in a list
IntArray = NDArray[np.int64]
WordArray = NDArray[np.uint64]  # bits, 64 to a word
BoolArray = NDArray[np.bool_]
ObjectArray = NDArray[np.object_]  # fractions
AnyArray = NDArray[Any]  # of floats or of fractions
