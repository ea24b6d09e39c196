"""The nearest word of a noisy vector: exact, at the scale of a vocabulary.

argmax over words of z·v - |v|²/2 is one matrix product a block, on whichever device was asked for. It is
taken in single precision, whose error has a bound; where the second best word comes within the bound, the
candidates are compared in double precision, so that all devices answer alike. Approximate indexes are a trap
here: noisy vectors lie far from all words, where their recall collapses.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.numerics import Device, device

__all__ = ["Decoder"]

ULP = 2.0**-24
# In lengths of the longest vector.
FARTHEST = 2.0**60


class Decoder:
    """Nearest rows of a table; ties go to the lowest place, so that equal rows answer with the first."""

    def __init__(self, vectors: FloatArray) -> None:
        # By a power of two, which changes no digit, so that the longest vector has length about 1: squares
        # of any table fit into single precision.
        largest = float(np.abs(vectors).max(initial=0.0))
        self._scale = 2.0 ** -max(-1000, min(1000, math.frexp(largest)[1])) if largest else 1.0
        self.vectors = vectors = vectors * self._scale
        halves = (vectors**2).sum(axis=1) / 2
        # One more coordinate carries -|v|²/2, so that the product is the score.
        self._augmented = np.ascontiguousarray(
            np.concatenate([vectors, -halves[:, None]], axis=1).T, dtype=np.float32
        )
        self._largest = float(np.sqrt(2 * halves.max(initial=0.0)))
        self._tables: dict[str, Any] = {}

    def nearest(self, points: Any) -> IndexArray:
        """Places of the nearest rows."""
        points = np.asarray(points, dtype=np.float64) * self._scale
        found = np.empty(len(points), dtype=np.intp)
        where = device()
        if where.name not in self._tables:
            self._tables[where.name] = where.put(self._augmented)
        table = self._tables[where.name]
        step = where.rows(len(self.vectors))
        for start in range(0, len(points), step):
            part = points[start : start + step]
            found[start : start + len(part)] = self._block(part, table, where)
        return found

    def _block(self, points: FloatArray, table: Any, where: Device) -> IndexArray:
        # Scores far out are those of the direction: shrink what single precision has no room for.
        reach = np.maximum(np.abs(points).max(axis=1, initial=0.0, keepdims=True) / FARTHEST, 1.0)
        near = points / reach
        rows = np.concatenate([near, 1 / reach], axis=1, dtype=np.float32, casting="same_kind")
        scores = where.product(where.put(rows), table)
        best, top, second = where.leading(scores)
        # Rounding of factors, of n + 1 products and of their sums, of two scores.
        norms = np.linalg.norm(near, axis=1)
        length = points.shape[1] + 1
        margin = 2 * ULP * (length + 4) * self._largest * (norms + self._largest / 2)
        for i in np.flatnonzero(second >= top - margin).tolist():
            close = np.flatnonzero(where.get(scores[i]) >= top[i] - margin[i])
            candidates = np.sort(np.append(close, best[i]))
            best[i] = candidates[np.argmin(self._compared(candidates, near[i], float(reach[i, 0])))]
        return np.asarray(best)

    def _compared(self, candidates: IndexArray, point: FloatArray, reach: float) -> FloatArray:
        """What grows with the distance of candidates, in double precision."""
        vectors = self.vectors[candidates]
        if (
            np.abs(point).max(initial=0.0) > 4 * self._largest
        ):  # products keep what squares of a far point lose
            return np.asarray((vectors**2).sum(axis=1) / (2 * reach) - vectors @ point)
        # Differences first: their squares keep the digits that scores lose.
        return np.asarray(((vectors - point) ** 2).sum(axis=1))
