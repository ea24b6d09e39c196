"""Matrices in proofs: fractions or floats as they were found, read exactly, written as texts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.proofs.reading import fractions

__all__ = [
    "ROUNDING",
    "exact_rows",
    "normalised",
    "require_channels",
    "require_prior",
    "require_small",
    "rows_from",
    "texts_of",
    "unevenness",
]

ObjectArray = NDArray[np.object_]
AnyArray = NDArray[Any]  # of floats or of fractions
# What rows of float channels may miss from 1.
ROUNDING = Fraction(1, 10**9)
# What proofs about float channels may leave open.
LARGEST_TOLERANCE = 4 * ROUNDING


def exact_rows(matrix: AnyArray) -> ObjectArray:
    """A matrix of fractions: floats are taken at their exact binary value."""
    if matrix.dtype == object:
        return matrix
    table = np.empty(matrix.shape, dtype=object)
    table.ravel()[:] = [Fraction(value) for value in matrix.ravel().tolist()]
    return table


def rows_from(data: Any) -> ObjectArray:
    """Fractions back from texts."""
    rows = [fractions(row) for row in data]
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("a matrix of the proof is empty or ragged")
    table = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        table[i] = row
    return table


def texts_of(table: AnyArray) -> list[list[str]]:
    """A matrix of fractions as texts, ready for JSON."""
    return [[str(value) for value in row] for row in exact_rows(table).tolist()]


def require_channels(*channels: tuple[str, ObjectArray], rounding: Fraction) -> None:
    """Entries ≥ 0, rows that sum to 1 within `rounding`, and as many rows everywhere."""
    for name, table in channels:
        if any(value < 0 for value in table.ravel()):
            raise ValueError(f"{name} has a negative entry")
        if any(abs(sum(row) - 1) > rounding for row in table.tolist()):
            raise ValueError(f"a row of {name} does not sum to 1")
    if len({len(table) for _, table in channels}) > 1:
        raise ValueError("the channels have different numbers of inputs")


def require_prior(prior: ObjectArray, size: int) -> None:
    """A probability for each input, with the sum 1."""
    if prior.shape != (size,):
        raise ValueError("the prior needs one probability for each input")
    if any(value < 0 for value in prior) or sum(prior) != 1:
        raise ValueError("the prior is not a distribution")


def unevenness(*tables: ObjectArray) -> Fraction:
    """The most that rows miss 1 by, added up over the matrices: what rounding may hide in a comparison."""
    return sum((max(abs(sum(row) - 1) for row in table.tolist()) for table in tables), Fraction(0))


def normalised(table: ObjectArray) -> ObjectArray:
    """Rows divided by their sums: the channel that float rows stand for."""
    return np.asarray(table / table.sum(axis=1)[:, None])


def require_small(tolerance: Fraction) -> None:
    """A tolerance that only covers rounding: a larger one would prove nothing."""
    if not 0 <= tolerance <= LARGEST_TOLERANCE:
        raise ValueError(
            f"the tolerance is {float(tolerance):.3g}; at most {float(LARGEST_TOLERANCE):.3g} is rounding"
        )
