"""Optimal transport along the edges of a sparse graph: a flow with a variable for either way of an edge."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, hstack
from scipy.sparse.linalg import splu

from sievert.numerics.linear_programs import LinearProgram, Solution, solved
from sievert.spaces.metric import Edges, least_lengths

__all__ = ["along_edges"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
Moves = tuple[IndexArray, IndexArray, FloatArray]
# Flow that is left over from rounding is not followed any further.
NOTHING = 1e-15
UNITS = 1e5


def along_edges(edges: Edges, surplus: FloatArray) -> tuple[Moves, FloatArray, float]:
    """Move surplus (sum 0 on each component) along finite edges: (from, to, mass), potentials, cost."""
    size = len(surplus)
    finite = np.isfinite(edges.lengths)
    simple = least_lengths(Edges(edges.pairs[finite], edges.lengths[finite]), size)
    count = len(simple)
    tails = np.concatenate([simple.pairs[:, 0], simple.pairs[:, 1]])
    heads = np.concatenate([simple.pairs[:, 1], simple.pairs[:, 0]])
    lengths = np.concatenate([simple.lengths, simple.lengths])
    columns = np.arange(2 * count)
    ones = np.ones(2 * count)
    matrix = csc_array(
        coo_array(
            (np.concatenate([ones, -ones]), (np.concatenate([tails, heads]), np.tile(columns, 2))),
            shape=(size, 2 * count),
        )
    )
    # The solver meets equations to 1e-10: counted in units this small, that is below rounding.
    scaled = surplus * (UNITS / max(float(np.abs(surplus).max()), 1e-300))
    program = LinearProgram(lengths, matrix, scaled, scaled, np.zeros(2 * count), np.full(2 * count, np.inf))
    found = solved(program)
    steps = found.dual[tails] - found.dual[heads]
    # The solver's potentials may be steeper than 1 by its tolerance; flattened they are 1-Lipschitz.
    steepest = float(np.max(steps[lengths > 0] / lengths[lengths > 0], initial=1.0))
    flow = _tree_flow(matrix, found, surplus)
    return _paths(size, tails, heads, flow, surplus), found.dual / steepest, float(lengths @ flow)


def _tree_flow(matrix: csc_array, found: Solution, surplus: FloatArray) -> FloatArray:
    """The flow of the optimal basis (a spanning forest) to the last digit; the solver's has about ten."""
    columns, slacks = np.flatnonzero(found.basic_columns), np.flatnonzero(found.basic_rows)
    size = len(surplus)
    assert len(columns) + len(slacks) == size
    units = coo_array((np.ones(len(slacks)), (slacks, np.arange(len(slacks)))), shape=(size, len(slacks)))
    basis = csc_array(hstack([matrix[:, columns], units]))
    flow = np.zeros(matrix.shape[1])
    flow[columns] = np.maximum(splu(basis).solve(surplus)[: len(columns)], 0.0)
    return flow


def _paths(size: int, tails: IndexArray, heads: IndexArray, flow: FloatArray, surplus: FloatArray) -> Moves:
    """Follow the flow from every surplus to deficits, as much as the thinnest edge on the way carries."""
    left = surplus.copy()
    leaving: list[list[int]] = [[] for _ in range(size)]
    for arc in np.flatnonzero(flow > NOTHING).tolist():
        leaving[int(tails[arc])].append(arc)
    carried = flow.copy()
    moves: list[tuple[int, int, float]] = []
    for start in np.flatnonzero(surplus > NOTHING).tolist():
        while left[start] > NOTHING:
            node, path = start, []
            while left[node] > -NOTHING or node == start:
                while leaving[node] and carried[leaving[node][-1]] <= NOTHING:
                    leaving[node].pop()
                if not leaving[node]:
                    break
                path.append(leaving[node][-1])
                node = int(heads[path[-1]])
            if node == start or left[node] > -NOTHING:
                break
            mass = min(left[start], -left[node], *(carried[arc] for arc in path))
            for arc in path:
                carried[arc] -= mass
            left[start] -= mass
            left[node] += mass
            moves.append((start, node, mass))
    if not moves:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
    table = np.array(moves)
    return table[:, 0].astype(np.intp), table[:, 1].astype(np.intp), table[:, 2]
