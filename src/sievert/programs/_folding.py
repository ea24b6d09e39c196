"""Programs whose rows and columns look alike: one of each kind is solved.

Rows and columns fall into the coarsest classes in which any two of a class meet every other class alike. A
solution averaged over the classes is as good as any, and so are averaged multipliers (Grohe, Kersting,
Mladenov and Selman, Dimension reduction via colour refinement, Thm 4.1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from sievert.arrays import IndexArray
from sievert.programs._linear import LinearProgram, Method, Solution, solved

__all__ = ["solved_by_classes"]
Colours = NDArray[np.intp]


class _Classes(NamedTuple):
    """The class of each row and each column."""

    rows: Colours
    columns: Colours


def solved_by_classes(
    program: LinearProgram, method: Method = "choose", *, tolerance: float = 1e-9, crossover: bool = True
) -> Solution:
    """As `solved`, over one row and one column of each class; without a basis where some look alike.

    The method is that of a program in which all are different.
    """
    classes = _coarsest(program)
    sizes = np.bincount(classes.rows), np.bincount(classes.columns)
    if len(sizes[1]) == len(program.cost):
        return solved(program, method, tolerance=tolerance, crossover=crossover)
    found = solved(_quotient(program, classes, sizes[1]), tolerance=tolerance)
    return Solution(
        status=found.status,
        value=found.value,
        primal=found.primal[classes.columns],
        reduced=(found.reduced / sizes[1])[classes.columns],
        activity=found.activity[classes.rows],
        dual=(found.dual / sizes[0])[classes.rows],
        basic_columns=np.zeros(0, dtype=bool),
        basic_rows=np.zeros(0, dtype=bool),
    )


def _quotient(program: LinearProgram, classes: _Classes, sizes: IndexArray) -> LinearProgram:
    """One row of each class; columns of a class are one, with the sum of their entries."""
    _, row = np.unique(classes.rows, return_index=True)
    _, column = np.unique(classes.columns, return_index=True)
    kept = program.matrix.tocsr()[row].tocoo()
    entries = (kept.data, (kept.row, classes.columns[kept.col]))
    matrix = coo_array(entries, shape=(len(row), len(column))).tocsc()
    return LinearProgram(
        program.cost[column] * sizes,
        matrix,
        program.row_lower[row],
        program.row_upper[row],
        program.lower[column],
        program.upper[column],
    )


def _coarsest(program: LinearProgram) -> _Classes:
    """Refined from equal costs and bounds until nothing splits."""
    by_row, by_column = _coded(program.matrix.tocsr()), _coded(program.matrix.T.tocsr())
    rows = _colours(program.row_lower, program.row_upper)
    columns = _colours(program.cost, program.lower, program.upper)
    while True:
        before = rows.max(initial=0), columns.max(initial=0)
        columns = _refined(columns, by_column, rows)
        rows = _refined(rows, by_row, columns)
        if (rows.max(initial=0), columns.max(initial=0)) == before:
            return _Classes(rows, columns)


def _coded(matrix: csr_array) -> csr_array:
    """Numbers of its entries instead of the entries."""
    return csr_array((_colours(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)


def _colours(*parts: NDArray[np.float64] | NDArray[np.intp] | NDArray[np.uint64]) -> Colours:
    """Equal tuples get one number."""
    joined, *others = (np.unique(part, return_inverse=True)[1] for part in parts)
    for number in others:
        joined = _joined(joined, number)
    return joined


def _joined(first: Colours, second: Colours) -> Colours:
    """Equal pairs of numbers get one number, in their order."""
    return np.unique(first * (second.max(initial=0) + 1) + second, return_inverse=True)[1]


def _refined(own: Colours, matrix: csr_array, other: Colours) -> Colours:
    """Classes split by the multiset of (entry, class on the other side) along each row of the matrix."""
    met = _joined(matrix.data, other[matrix.indices])
    # A multiset is known by the sum of random numbers of its members, but for a chance of 2^-64 a pair.
    marks = np.random.default_rng(0).integers(0, 2**64, size=met.max(initial=0) + 1, dtype=np.uint64)
    running = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(marks[met], dtype=np.uint64)])
    return _joined(own, _colours(running[matrix.indptr[1:]] - running[matrix.indptr[:-1]]))
