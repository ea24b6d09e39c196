"""Types: how often each output was seen, whatever the order.

n independent observations matter only through their counts (k_1, …, k_m). Written by the tails
s_j = k_(j+1) + … + k_m and ordered by (s_1, s_2, …), the types of n observations are the first
C(n+m-1, m-1) of those of any larger number, and one more observation of the first output leaves a type
where it is. One table therefore serves a whole curve n = 1…N.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

__all__ = ["TypeTable", "curve_work", "log_add", "types_of"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# Types looked at together: small enough for a processor's cache.
BLOCK = 1 << 14


def types_of(outputs: int, observations: int) -> int:
    """Number of types: C(n+m-1, m-1)."""
    return math.comb(observations + outputs - 1, outputs - 1)


def curve_work(rows: int, outputs: int, observations: Iterable[int]) -> int:
    """Probabilities that are computed for types of each of these numbers of observations."""
    return rows * sum(types_of(outputs, n) for n in observations)


class TypeTable:
    """The types of up to `most` observations on the outputs of some rows.

    Parameters
    ----------
    logs : array [rows, outputs], logarithms of the probabilities
    most : the largest number of observations
    """

    def __init__(self, logs: FloatArray, most: int) -> None:
        self.logs = logs
        self.most = most
        self.outputs = logs.shape[1]
        tails = _tails(self.outputs, most)
        self._tails = tails
        # Counts of the outputs after the first, and how many observations they are together.
        self.counts = tails.copy()
        self.counts[:, :-1] -= tails[:, 1:]
        self.others = tails[:, 0] if tails.shape[1] else np.zeros(1, dtype=np.intp)
        self._starts = np.searchsorted(self.others, np.arange(most + 2))
        self._log_factorials = gammaln(np.arange(most + 1) + 1.0)
        self._partial = self._partial_logs()

    def _partial_logs(self) -> FloatArray:
        """log Π p_j^(k_j) / k_j! over the outputs after the first."""
        rest = self.logs[:, 1:]
        zero = np.isneginf(rest)
        counts = self.counts.astype(np.float64)
        found = np.where(zero, 0.0, rest) @ counts.T
        found -= self._log_factorials[self.counts].sum(axis=1)
        if zero.any():
            # 0·log 0 = 0: an output that was not seen may have been impossible.
            found[zero.astype(np.float64) @ counts.T > 0] = -np.inf
        return found

    def size(self, observations: int) -> int:
        """Number of types of so many observations."""
        return types_of(self.outputs, observations)

    def blocks(
        self, observations: int, log_weights: FloatArray | None = None
    ) -> Iterator[tuple[slice, FloatArray]]:
        """Blocks of types with log(weight · probability of the type) for each row."""
        first = self._first(observations, log_weights)
        size = self.size(observations)
        for start in range(0, size, BLOCK):
            part = slice(start, min(start + BLOCK, size))
            # Types come in order of s, so each s of the block is repeated.
            low, high = self.others[start], self.others[part.stop - 1]
            edges = np.clip(self._starts[low : high + 2], start, part.stop)
            repeats = edges[1:] - edges[:-1]
            logs = np.repeat(first[:, low : high + 1], repeats, axis=1)
            logs += self._partial[:, part]
            yield part, logs

    def _first(self, observations: int, log_weights: FloatArray | None) -> FloatArray:
        """[row, s]: log n! p_1^(n-s)/(n-s)!, what n-s observations of the first output add."""
        times = observations - np.arange(observations + 1)
        logs = self.logs[:, :1]
        found = np.where(np.isneginf(logs), 0.0, logs) * times
        found = np.where(np.isneginf(logs) & (times > 0), -np.inf, found)
        found = found + (self._log_factorials[observations] - self._log_factorials[times])
        return np.asarray(found if log_weights is None else found + log_weights[:, None])

    @cached_property
    def before(self) -> IndexArray:
        """[type, j]: where a type was before its last observation, if that was output j+1 (0 if it was not).

        The rank of a type is Σ_j C(s_j+m-1-j, m-j), whatever n is.
        """
        m, tails = self.outputs, self._tails
        ranks = [
            np.array([math.comb(s + m - 1 - j, m - j) for s in range(self.most + 1)], dtype=np.intp)
            for j in range(1, m)
        ]
        # One observation of output j+1 less lowers s_1, …, s_(j+1) by one each.
        lowered = np.zeros_like(tails)
        for j, rank in enumerate(ranks):
            lowered[:, j] = rank[np.maximum(tails[:, j] - 1, 0)] - rank[tails[:, j]]
        place = np.arange(len(tails))[:, None] + np.cumsum(lowered, axis=1)
        return np.where(self.counts > 0, place, 0)


def _tails(outputs: int, most: int) -> IndexArray:
    """All most ≥ s_1 ≥ s_2 ≥ … ≥ 0 in lexicographic order."""
    if outputs == 1:
        return np.zeros((1, 0), dtype=np.intp)
    found = np.arange(most + 1, dtype=np.intp)[:, None]
    for _ in range(outputs - 2):
        repeats = found[:, -1] + 1
        starts = np.repeat(np.cumsum(repeats) - repeats, repeats)
        last = np.arange(int(repeats.sum()), dtype=np.intp) - starts
        found = np.column_stack([np.repeat(found, repeats, axis=0), last])
    return found


def log_add(total: float, logs: FloatArray) -> float:
    """log(e^total + Σ e^logs)."""
    top = float(logs.max(initial=-np.inf))
    if top == -np.inf:
        return total
    return float(np.logaddexp(total, top + math.log(float(np.exp(logs - top).sum()))))
