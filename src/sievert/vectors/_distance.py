"""How far two vectors are apart: angles and chords, with full precision where they are small.

arccos forgets angles below 1e-8 and near π; Kahan's 2·atan2(|u - v|, |u + v|) for unit vectors keeps them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.errors import VectorError
from sievert.numerics import require_size
from sievert.results import guarded
from sievert.vectors._rows import Rows, dense, read_array, read_rows, refuse_zeros

__all__ = ["angular_block", "angular_distance", "chord_distance", "from_chord", "unit_rows"]

# Cosines nearer to ±1 than this are computed again: beyond it arccos keeps 14 digits.
NEAR_ONE = 0.01
LARGEST_MATRIX = 200_000_000
LARGEST_PIECE = 4_000_000


@guarded
def angular_distance(x: Any, y: Any = None) -> float | FloatArray:
    """Angle between vectors as a share of a half turn: 0 parallel, 1/2 orthogonal, 1 opposite.

    Parameters
    ----------
    x : one vector, or one a row (dense or sparse); none may be zero
    y : the same; every row of x is compared with every row of y. x itself unless given

    Returns
    -------
    float for two single vectors, else an array with a row for each of x and a column for each of y

    Notes
    -----
    Cost: one product of the matrices, in blocks; pairs near 0 and 1 once more by Kahan's formula, which is
    off by the rounding of the unit vectors, 1e-16, where arccos is off by 1e-8. Scale does not matter: x and
    2·x are at distance 0.

    Examples
    --------
    >>> angular_distance([1, 0], [1, 1e-9])
    3.1830988618e-10
    >>> angular_distance([[1, 0], [0, 1]]).tolist()
    [[0.0, 0.5], [0.5, 0.0]]
    """
    first = read_rows("x", x)
    second = first if y is None else read_rows("y", y)
    single = np.ndim(x) == 1 and (y is None or np.ndim(y) == 1)
    if second.shape[1] != first.shape[1]:
        raise VectorError(
            f"y has {second.shape[1]} coordinates and x has {first.shape[1]}; give vectors over one list"
        )
    refuse_zeros("x", first)
    refuse_zeros("y", second)
    size = first.shape[0] * second.shape[0]
    require_size(size, LARGEST_MATRIX, "the distances", "take fewer rows at a time")
    left = unit_rows(first)
    right = left if y is None else unit_rows(second)
    step = max(1, 20_000_000 // max(1, right.shape[0]))
    found = np.concatenate([angular_block(left[i : i + step], right) for i in range(0, len(left), step)])
    if y is None:
        np.fill_diagonal(found, 0.0)
    return float(found[0, 0]) if single else found


def unit_rows(rows: Rows) -> FloatArray:
    """Every row divided by its length, as a dense array."""
    found = dense(rows)
    scale = np.abs(found).max(axis=1, keepdims=True)
    found = found / scale  # no square overflows, none vanishes
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def angular_block(left: FloatArray, right: FloatArray) -> FloatArray:
    """Angles of unit rows against unit rows."""
    cosine = left @ right.T
    found: FloatArray = np.arccos(np.clip(cosine, -1.0, 1.0)) / np.pi
    rows, columns = np.nonzero(np.abs(cosine) > 1 - NEAR_ONE)
    step = max(1, LARGEST_PIECE // left.shape[1])
    for start in range(0, len(rows), step):
        i, j = rows[start : start + step], columns[start : start + step]
        u, v = left[i], right[j]
        found[i, j] = np.arctan2(np.linalg.norm(u - v, axis=1), np.linalg.norm(u + v, axis=1)) * (2 / np.pi)
    return found


def chord_distance(distance: Any) -> Any:
    """Euclidean distance of two unit vectors at an angular distance: 2·sin(π·d/2).

    Parameters
    ----------
    distance : angular distance, from 0 to 1, or an array of them

    Returns
    -------
    the same shape

    Notes
    -----
    Cost: one sine each; full relative precision near 0, where sqrt(2 - 2·cos) has none.

    Examples
    --------
    >>> chord_distance(0.05), chord_distance(1.0)
    (0.1569181914, 2.0)
    """
    values = _between("distance", distance, 1.0, "an angular distance is from 0 to 1")
    return _same(2 * np.sin(np.pi / 2 * values), distance)


def from_chord(chord: Any) -> Any:
    """Angular distance of two unit vectors at a Euclidean distance: the inverse of `chord_distance`.

    Parameters
    ----------
    chord : Euclidean distance, from 0 to 2, or an array of them

    Returns
    -------
    the same shape

    Notes
    -----
    Cost: one arcsine each.

    Examples
    --------
    >>> from_chord(chord_distance(0.25))
    0.25
    """
    values = _between("chord", chord, 2.0, "unit vectors are at most 2 apart")
    return _same(np.arcsin(values / 2) * (2 / np.pi), chord)


def _between(argument: str, given: Any, most: float, rule: str) -> FloatArray:
    values = read_array(argument, given, f"numbers: {rule}").astype(np.float64)
    wrong = ~((values >= 0) & (values <= most))
    if wrong.any():
        raise VectorError(f"{argument}: {values[wrong].ravel()[0]} is out of range; {rule}")
    return values


def _same(values: FloatArray, given: Any) -> Any:
    return float(values) if np.ndim(given) == 0 else values
