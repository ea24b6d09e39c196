"""Vectors as rows: dense or sparse, finite, none of them zero where an angle is asked for."""

from __future__ import annotations

import math
from collections.abc import Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sievert.arrays import BoolArray, FloatArray
from sievert.errors import VectorError
from sievert.numerics import abbreviated, count_of, holds_masked, require_size

__all__ = [
    "Rows",
    "dense",
    "lengths",
    "nonzero",
    "ordinary",
    "piece",
    "read_array",
    "read_rows",
    "refuse_zeros",
    "stored",
]

# Items of a list; an array that is there already has no limit.
LARGEST_ARRAY = 10**8

Rows = NDArray[Any] | sparse.csr_array  # one vector a row; floats


def read_rows(argument: str, given: Any, dimension: int | None = None) -> Rows:
    """Finite real vectors as rows of an array, or compressed by rows where they came sparse."""
    found = _sparse(argument, given) if sparse.issparse(given) else _dense(argument, given)
    if dimension is not None and found.shape[1] != dimension:
        raise VectorError(
            f"{argument} has {found.shape[1]} coordinates and the hash was made for {dimension}; give "
            "vectors over the same items in the same order"
        )
    values = stored(found)
    bad = ~np.isfinite(values)
    if bad.any():
        place = int(np.flatnonzero(bad.ravel())[0])
        row = (
            int(np.searchsorted(found.indptr, place, side="right")) - 1
            if isinstance(found, sparse.csr_array)
            else place // found.shape[1]
        )
        raise VectorError(
            f"{argument}: row {row} holds {values.ravel()[place]}; every entry must be a finite number, "
            "0 for what is missing"
        )
    return found


def _sparse(argument: str, given: Any) -> sparse.csr_array:
    found = sparse.csr_array(given)
    if found.dtype.kind not in "fiub":
        raise VectorError(f"{argument} has entries of type {found.dtype}; give real numbers")
    if not found.has_canonical_format:
        found = found.copy()  # the caller's own stays as it is
        found.sum_duplicates()
    return found if found.dtype in (np.float32, np.float64) else found.astype(np.float64)


def read_array(argument: str, given: Any, words: str, kinds: str = "fiub") -> NDArray[Any]:
    """An array of numbers of some kinds, none of them masked; `words` say what to give."""
    masked = isinstance(given, np.ma.MaskedArray) or holds_masked(given)
    try:
        if isinstance(given, Sized) and not isinstance(given, np.ndarray):
            require_size(count_of(given), LARGEST_ARRAY, f"the items of {argument}", "take fewer")
        found = np.empty(0, object) if masked else np.asarray(given)
    except (TypeError, ValueError):
        found = np.empty(0, object)
    if found.dtype.kind not in kinds:
        raise VectorError(f"{argument} is {abbreviated(given)}; give {words}, none masked")
    return found


def _dense(argument: str, given: Any) -> NDArray[Any]:
    found = read_array(argument, given, "vectors of one length as rows of real numbers")
    if found.ndim == 1:
        found = found[None, :]
    if found.ndim != 2 or not found.shape[1] or not found.shape[0]:
        raise VectorError(f"{argument} has shape {found.shape}; give one vector, or a row for each vector")
    return found if found.dtype in (np.float32, np.float64) else found.astype(np.float64)


def stored(rows: Rows) -> NDArray[Any]:
    """The entries that are stored: all of a dense array, the non-zero ones of a sparse one."""
    return rows.data if isinstance(rows, sparse.csr_array) else rows


def piece(rows: Rows, start: int, stop: int) -> Rows:
    """Some neighbouring rows, without a copy of their entries."""
    if not isinstance(rows, sparse.csr_array):
        return rows[start:stop]
    pointers = rows.indptr[start : stop + 1]
    low, high = int(pointers[0]), int(pointers[-1])
    shape = (len(pointers) - 1, rows.shape[1])
    return sparse.csr_array((rows.data[low:high], rows.indices[low:high], pointers - low), shape=shape)


def dense(rows: Rows, part: slice | NDArray[Any] = slice(None)) -> FloatArray:
    """Some rows as a dense array of doubles."""
    piece = rows[part]
    if isinstance(piece, sparse.csr_array):
        piece = piece.toarray()
    return np.asarray(piece, dtype=np.float64)


def lengths(rows: Rows) -> FloatArray:
    """The Euclidean length of every row, safe from overflow and underflow."""
    found = np.sqrt(_sums_of_squares(rows))
    # Squares of entries between 1e-150 and 1e150 are ordinary numbers; other rows are scaled first.
    for i in np.flatnonzero(~((found > 1e-140) & (found < 1e140))).tolist():
        row = dense(rows, slice(i, i + 1))[0]
        peak = np.abs(row).max()
        with np.errstate(over="ignore"):
            found[i] = np.linalg.norm(row / peak) * peak if peak > 0 else 0.0
    return np.asarray(found)


def ordinary(rows: Rows, norm: FloatArray) -> Rows:
    """The same directions; rows of tiny or huge entries are scaled by a power of two, which is exact."""
    far = np.flatnonzero((norm != 0) & ~((norm > 1e-140) & (norm < 1e140))).tolist()
    if not far:
        return rows
    power = np.zeros(len(norm), dtype=np.int64)
    for i in far:
        power[i] = -math.frexp(np.abs(dense(rows, slice(i, i + 1))).max())[1]
    if isinstance(rows, sparse.csr_array):
        data = np.ldexp(rows.data.astype(np.float64), np.repeat(power, np.diff(rows.indptr)))
        return sparse.csr_array((data, rows.indices, rows.indptr), rows.shape)
    return np.asarray(np.ldexp(rows.astype(np.float64), power[:, None]))


def _sums_of_squares(rows: Rows) -> FloatArray:
    with np.errstate(over="ignore", under="ignore"):
        if not isinstance(rows, sparse.csr_array):
            wide = rows.astype(np.float64, copy=False)
            return np.asarray(np.einsum("ij,ij->i", wide, wide))
        sums = np.zeros(rows.shape[0])
        full = np.diff(rows.indptr) > 0
        if full.any():
            starts = rows.indptr[:-1][full]
            sums[full] = np.add.reduceat(np.square(rows.data, dtype=np.float64), starts)
        return sums


def nonzero(rows: Rows) -> BoolArray:
    """Which rows have an entry that is not zero."""
    if isinstance(rows, sparse.csr_array):
        counts = np.diff(rows.indptr)
        if np.count_nonzero(rows.data) == len(rows.data):
            return np.asarray(counts > 0)
        found = np.zeros(rows.shape[0], dtype=np.bool_)
        found[np.repeat(np.arange(rows.shape[0]), counts)[rows.data != 0]] = True
        return found
    return np.asarray((rows != 0).any(axis=1))


def refuse_zeros(argument: str, rows: Rows, way_out: str = "leave such rows out") -> None:
    """A zero vector has no angle."""
    empty = np.flatnonzero(~nonzero(rows))
    if len(empty):
        raise VectorError(
            f"{argument}: row {empty[0]} is zero ({len(empty)} such rows), and has no angle: its "
            f"hash would be the same whatever the hyperplanes, so anybody would recognise it; {way_out}"
        )
