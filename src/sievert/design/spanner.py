"""Fewer constraints at a price: a spanner whose shortest paths are not much longer than the distances.

With the measured dilation D = max d_H/d, a channel that is private for d_H/D is private for d, because
d_H/D ≤ d. What that costs is measured: a second program bounds what any channel private for d loses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sievert.design.closed_forms import Candidate
from sievert.design.problem import Piece
from sievert.design.programs import lazy_program
from sievert.spaces.metric import Edges, shortest_paths

__all__ = ["greedy_spanner", "spanner_programs"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


def greedy_spanner(pairs: IndexArray, lengths: FloatArray, size: int, stretch: float) -> IndexArray:
    """Positions of pairs whose shortest paths stretch no distance by more than `stretch`.

    Pairs are taken from the shortest on, each unless those taken already join its ends closely enough.
    """
    reach = np.full((size, size), np.inf)
    np.fill_diagonal(reach, 0.0)
    taken = []
    for position in np.argsort(lengths, kind="stable").tolist():
        a, b = pairs[position].tolist()
        length = lengths[position]
        if reach[a, b] <= stretch * length * (1 + 1e-12):
            continue
        taken.append(position)
        through = np.minimum(
            reach[:, a, None] + length + reach[None, b, :], reach[:, b, None] + length + reach[None, a, :]
        )
        np.minimum(reach, through, out=reach)
    return np.array(sorted(taken), dtype=np.intp)


def spanner_programs(piece: Piece, stretch: float) -> Iterator[Candidate]:
    """The optimum under the spanner's constraints, its dilation taken off the distances; then a bound.

    Without the dilation the same constraints are some of the true ones, so the multipliers of that program
    prove what no private channel goes below.
    """
    chosen = greedy_spanner(piece.pairs, piece.exponents, piece.size, stretch)
    spanned = shortest_paths(Edges(piece.pairs[chosen], piece.exponents[chosen]), piece.size)
    apart = piece.distances > 0
    dilation = float((spanned[apart] / piece.distances[apart]).max())
    thin = replace(
        piece, pairs=piece.pairs[chosen], exponents=piece.exponents[chosen], edges=piece.edges[chosen]
    )
    words = f"spanner with {len(chosen)} of {len(piece.pairs)} pairs, dilation {dilation:.4f}"
    for lengths in (thin.exponents / (dilation * (1 + 1e-12)), thin.exponents):
        for found in lazy_program(replace(thin, exponents=lengths)):
            yield replace(found, method=f"{words}; {found.method}")
