"""How fast ln Z of the exponential on words changes from word to word, never said too low.

A word w' is drawn for w with probability e^(-r·d(w, w'))/Z(w), so the least ε that holds is r plus the
largest |ln Z - ln Z'|/d of two words. It is at most r (Z changes no faster than its terms), and one pass over
all pairs finds every Z and the distance of every word to the nearest other. Words are that far apart at
least: sorted by ln Z, only few pairs can be steeper than the steepest that is known, and only they are looked
at again.
"""

from __future__ import annotations

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.text._embedding import RoughDistances

__all__ = ["steepest"]

BLOCK = 512
# Pairs whose slope would be off by more than this are worked out by differences.
CLOSE = 1e-9
# So many such pairs are; more, and the slope is taken for the largest that is possible.
MOST_CLOSE = 2000
ROUNDING = 2.0**-52


def steepest(vectors: FloatArray, rate: float) -> float:
    """The largest |ln Z - ln Z'|/d of two words, from above and never more than the rate.

    Cost: O(words²·dimensions) for Z; of the pairs again only those that can be steeper.
    """
    rough = RoughDistances(vectors)
    logs, near, nearest = _sums(rough, rate)
    # What a sum of words terms, each off by rate·error, can be off by; twice for a difference.
    slack = 2 * (rate * rough.error + (len(vectors) + 8 + float(logs.max())) * ROUNDING)
    found = _Steepest(vectors, rate, logs, rough, slack)
    found.among(np.arange(len(vectors)), nearest)
    order = np.argsort(-logs, kind="stable")
    for start in range(0, len(order), BLOCK):
        rows = order[start : start + BLOCK]
        # A pair is d ≥ near apart, so it is steeper only where ln Z differs by more than slope·near.
        rows = rows[logs[rows] - found.slope * near[rows] + slack >= logs[order[-1]]]
        if not len(rows) or found.slope >= rate:
            continue
        least = (logs[rows] - found.slope * near[rows]).max() + slack
        later = order[start:]
        columns = later[
            (logs[later] <= least) & (logs[later] + found.slope * near[later] <= logs[rows].max() + slack)
        ]
        for part in np.split(columns, range(8 * BLOCK, len(columns), 8 * BLOCK)):
            found.between(rows, part)
    return min(rate, found.slope)


def _sums(rough: RoughDistances, rate: float) -> tuple[FloatArray, FloatArray, IndexArray]:
    """ln Z of every word, how far the nearest other one is at least, and which that is."""
    size = len(rough.vectors)
    sums, near, nearest = np.zeros(size), np.full(size, np.inf), np.arange(size)
    blocks = [np.arange(start, min(start + BLOCK, size)) for start in range(0, size, BLOCK)]
    for i, rows in enumerate(blocks):
        for columns in blocks[i:]:
            lengths = rough.rows(rows, columns)
            weights = np.exp(-rate * lengths)
            sums[rows] += weights.sum(axis=1)
            lengths[lengths <= 0] = np.inf
            _nearer(lengths, columns, near, nearest, rows)
            if columns is not rows:
                sums[columns] += weights.sum(axis=0)
                _nearer(lengths.T, rows, near, nearest, columns)
    return np.log(sums), np.maximum(near - rough.error, 0.0), nearest


def _nearer(
    lengths: FloatArray, others: IndexArray, near: FloatArray, nearest: IndexArray, places: IndexArray
) -> None:
    """Note which of some other words are nearer to the words at these places than any before."""
    best = lengths.argmin(axis=1)
    least = lengths[np.arange(len(best)), best]
    closer = least < near[places]
    near[places[closer]] = least[closer]
    nearest[places[closer]] = others[best[closer]]


class _Steepest:
    """The steepest pair so far."""

    def __init__(
        self, vectors: FloatArray, rate: float, logs: FloatArray, rough: RoughDistances, slack: float
    ) -> None:
        self.slope = 0.0
        self._vectors, self._rate, self._logs, self._rough, self._slack = vectors, rate, logs, rough, slack
        self._close = 0

    def among(self, first: IndexArray, second: IndexArray) -> None:
        """Look at some pairs, one by one."""
        lengths = np.linalg.norm(self._vectors[first] - self._vectors[second], axis=1)
        self._look(first, second, lengths)

    def between(self, rows: IndexArray, columns: IndexArray) -> None:
        """Look at all pairs of two lists that can be steeper."""
        lengths = self._rough.rows(rows, columns)
        steep = np.abs(self._logs[rows][:, None] - self._logs[columns][None]) + self._slack
        chosen = np.nonzero(steep > self.slope * (lengths - self._rough.error))
        self._look(rows[chosen[0]], columns[chosen[1]], lengths[chosen])

    def _look(self, first: IndexArray, second: IndexArray, lengths: FloatArray) -> None:
        apart = np.abs(self._logs[first] - self._logs[second]) + self._slack
        sure = lengths * CLOSE > self._slack
        slopes = apart[sure] / (lengths[sure] - self._rough.error)
        self.slope = max(self.slope, float(slopes.max(initial=0.0)) * (1 + 4 * ROUNDING))
        for a, b in zip(first[~sure].tolist(), second[~sure].tolist(), strict=True):
            if self.slope < self._rate and (self._vectors[a] != self._vectors[b]).any():
                self._close += 1
                close = self._by_differences(a, b) if self._close <= MOST_CLOSE else self._rate
                self.slope = max(self.slope, close)

    def _by_differences(self, a: int, b: int) -> float:
        """The slope of two words that nearly coincide.

        ln Z' - ln Z is the log of the mean of e^(-r·(d' - d)) as w draws words, and d' - d is
        (w' - w)·(w' + w - 2v)/(d' + d), in which nothing cancels.
        """
        one, other, rate = self._vectors[a], self._vectors[b], self._rate
        step = other - one
        length = float(np.linalg.norm(step))
        before = np.linalg.norm(self._vectors - one, axis=1)
        after = np.linalg.norm(self._vectors - other, axis=1)
        moved = (one + other - 2 * self._vectors) @ step / np.maximum(before + after, length)
        weights = np.exp(-rate * before)
        change = np.log1p((weights / weights.sum()) @ np.expm1(-rate * moved))
        error = 4 * (len(step) + len(before) + 16) * ROUNDING * rate
        return min(rate, abs(float(change)) / length * (1 + 8 * ROUNDING) + error)
