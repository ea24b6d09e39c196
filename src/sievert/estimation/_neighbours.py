"""Votes of the nearest outputs: one query of a tree of different outputs, equal ones merged.

Each point of the tree carries what its runs weigh for each input. A vote of k takes the nearest points until
they hold k runs, so that an output which occurred k times votes alone, as if it were counted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from sievert.arrays import FloatArray
from sievert.estimation._outputs import rows_as_codes

__all__ = ["Neighbours"]
# Rows asked at once, and entries of their table of votes.
BLOCK = 10_000
MOST_VOTES = 10_000_000


class Neighbours:
    """Different outputs, where they are, and what their runs weigh for each of the inputs."""

    def __init__(
        self, places: FloatArray, owners: NDArray[np.intp], weights: FloatArray, inputs: int, most: int
    ) -> None:
        _, first, index = np.unique(rows_as_codes(places), return_index=True, return_inverse=True)
        index = np.ravel(index)
        self.votes = sparse.csr_matrix((weights, (index, owners)), shape=(len(first), inputs))
        self.runs = np.bincount(index, minlength=len(first))
        self.most = min(most, len(first))
        self.tree = cKDTree(places[first])
        self.slack = _slack(places.shape[1])

    def scores(self, places: FloatArray, sizes: tuple[int, ...]) -> Iterator[tuple[slice, int, FloatArray]]:
        """For blocks of rows and each size of a vote, the weights of the inputs in it (one query a block)."""
        step = max(1, min(BLOCK, MOST_VOTES // self.votes.shape[1]))
        for start in range(0, len(places), step):
            rows = slice(start, min(start + step, len(places)))
            _, index = self.tree.query(places[rows], k=self.most, eps=self.slack)
            index = np.reshape(index, (-1, self.most))
            runs = self.runs[index]
            nearer = np.cumsum(runs, axis=1) - runs
            for size in sizes:
                yield rows, size, self._weighed(index, nearer < size)

    def _weighed(self, index: NDArray[np.intp], voting: NDArray[np.bool_]) -> FloatArray:
        ends = np.concatenate([[0], np.cumsum(voting.sum(axis=1))])
        chosen = sparse.csr_matrix(
            (np.ones(ends[-1]), index[voting], ends), shape=(len(index), self.votes.shape[0])
        )
        return np.asarray((chosen @ self.votes).toarray())


def _slack(width: int) -> float:
    """How much farther than the nearest a neighbour may be: in many coordinates all are about as far."""
    return 0.0 if width <= 3 else 0.5 if width <= 6 else 1.0 if width <= 10 else 2.0
