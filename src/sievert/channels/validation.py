"""Reading a channel's matrix from user input: which form it has, and whether its rows are distributions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.errors import ChannelError
from sievert.numerics.checks import brief, instance
from sievert.numerics.logs import log_sum
from sievert.numerics.rationals import as_fraction, fractions_of, is_exact
from sievert.spaces.labels import Labels
from sievert.spaces.tabular import floats

__all__ = ["ROW_SUM_TOLERANCE", "Form", "checked", "read_logarithms", "read_matrix"]

Form = Literal["exact", "float", "log"]

# Rounding each entry to a double moves a row sum by about m·1e-16; 1e-9 admits a million outputs and
# refuses a matrix typed with too few digits.
ROW_SUM_TOLERANCE = 1e-9


def read_matrix(matrix: Any) -> tuple[NDArray[Any], Form]:
    """Entries and form of user input: fractions (or integers) if every entry is exact, else floats."""
    if isinstance(matrix, np.ndarray) and matrix.ndim == 2 and matrix.size and matrix.dtype.kind in "fiub":
        if matrix.dtype.kind == "f":
            return np.array(matrix, dtype=np.float64), "float"
        return np.array(matrix, dtype=np.int64), "exact"
    try:
        rows = [list(row) for row in matrix]
    except TypeError:
        raise ChannelError(
            f"matrix is {brief(matrix)}; give one row of probabilities for each input"
        ) from None
    if not rows or not rows[0]:
        raise ChannelError("matrix is empty; a channel needs at least one row and one column")
    exact = True
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ChannelError(
                f"row {i} of the channel has {len(row)} entries but row 0 has {len(rows[0])}; "
                "every row needs one entry for each output"
            )
        for j, value in enumerate(row):
            if is_exact(value):
                row[j] = _fraction(value, i, j)
            elif isinstance(value, float | np.floating):
                exact = False
            else:
                raise _not_a_number(value, i, j)
    return (fractions_of(rows), "exact") if exact else (np.array(rows, dtype=np.float64), "float")


def _fraction(value: Any, row: int, column: int) -> Fraction:
    try:
        return as_fraction(value)
    except ValueError:
        raise _not_a_number(value, row, column) from None


def _not_a_number(value: object, row: int, column: int) -> ChannelError:
    return ChannelError(
        f"row {row} of the channel has {brief(value)} in column {column}, which is not a finite number; "
        "entries are probabilities"
    )


def read_logarithms(log_matrix: Any) -> NDArray[np.float64]:
    """A two-dimensional array of logarithms."""
    data = floats(log_matrix, "log_matrix", ChannelError, "give one row of logarithms for each input")
    if data.ndim != 2 or 0 in data.shape:
        raise ChannelError(f"log_matrix has shape {data.shape}; it must have at least one row and one column")
    return data


def checked(data: NDArray[Any], form: Form, inputs: Labels, outputs: Labels, normalise: bool) -> NDArray[Any]:
    """Refuse entries that are not probabilities and rows that do not sum to 1, naming row and value.

    Integers become fractions once they have passed.
    """
    if form == "log":
        broken = np.isnan(data) | (data == np.inf)
        rule = "is not the logarithm of a probability"
    else:
        broken = ~(np.asarray(data >= 0, dtype=bool)) | (np.isinf(data) if form == "float" else False)
        rule = "is not a probability; entries must be numbers ≥ 0"
    if broken.any():
        i, j = map(int, np.argwhere(broken)[0])
        raise ChannelError(
            f"row {inputs[i]!r} of the channel has {data[i, j]} at output {outputs[j]!r}, which {rule}"
        )
    with np.errstate(over="ignore"):
        sums = np.exp(log_sum(data, axis=1)) if form == "log" else data.sum(axis=1)
    instance("normalise", normalise, bool, "True or False", ChannelError)
    if normalise:
        return _normalised(fractions_of(data) if data.dtype == np.int64 else data, sums, form, inputs)
    off = np.asarray(np.abs(sums - 1) > (0 if form == "exact" else ROW_SUM_TOLERANCE), dtype=bool)
    if off.any():
        i = int(np.flatnonzero(off)[0])
        value = str(sums[i]) if form == "exact" else f"{sums[i]:.12g}"
        exactly = "exactly" if form == "exact" else f"within {ROW_SUM_TOLERANCE:g}"
        raise ChannelError(
            f"row {inputs[i]!r} of the channel sums to {value}; rows must sum to 1 {exactly}",
            fix="pass normalise=True to rescale",
            file_fix="correct the row in the file",
        )
    return fractions_of(data) if data.dtype == np.int64 else data


def _normalised(data: NDArray[Any], sums: NDArray[Any], form: Form, inputs: Labels) -> NDArray[Any]:
    empty = np.asarray(sums == 0, dtype=bool)
    if empty.any():
        name = inputs[int(np.flatnonzero(empty)[0])]
        raise ChannelError(f"row {brief(name)} of the channel is all 0, so it cannot be rescaled to sum to 1")
    if form == "log":
        return np.asarray(data - log_sum(data, axis=1)[:, None])
    if form == "float":
        # Divide by the maximum first: a sum of huge entries may overflow.
        data = data / data.max(axis=1, keepdims=True)
        sums = data.sum(axis=1)
    return np.asarray(data / sums[:, None])
