"""Σ_y max over windows of Σ_{j in window} b_j·p(y - x_j), for geometric noise on a line, without a table.

Windows whose ends never decrease, and noise that falls away log-concavely, are totally positive of order 2,
and so is their product (Karlin). Hence the best window moves one way as the output does: between two outputs
whose best windows are known only the windows between those are compared. All outputs together take
O((windows + outputs)·log).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sievert.arrays import FloatArray, IntArray

__all__ = ["faded_sums", "windowed_mass"]


def windowed_mass(
    eps: float, amounts: IntArray, beliefs: FloatArray, starts: IntArray, stops: IntArray
) -> float:
    """The sum over all outputs, for amounts and windows [start, stop) of them that never decrease; ε > 0."""
    outputs = _Outputs(eps, amounts - amounts[0], beliefs)
    chosen = _best_windows(outputs, starts, stops)
    best = outputs.beliefs_in(starts[chosen], stops[chosen])
    # Beyond the first and the last amount all likelihoods fall alike.
    tails = (best[0] + best[-1]) / math.expm1(eps) if eps < 700 else 0.0
    return math.tanh(eps / 2) * (float(best.sum()) + float(tails))


def faded_sums(
    eps: float, amounts: IntArray, beliefs: FloatArray, starts: IntArray, stops: IntArray
) -> FloatArray:
    """Σ_{start ≤ j < stop} b_j·e^(-ε·(x_{stop-1} - x_j)) for every range, by doubling: no differences."""
    lengths, found = stops - starts, np.zeros(len(starts))
    end, chunk, size = stops - 1, beliefs, 1
    # `chunk` is the sum over the `size` entries that end at each.
    for _ in range(int(lengths.max()).bit_length()):
        taken = np.flatnonzero(lengths & size)
        at = end[taken]
        found[taken] += chunk[at] * np.exp(-eps * (amounts[stops[taken] - 1] - amounts[at]))
        end[taken] = at - size
        longer = chunk.copy()
        longer[size:] += chunk[:-size] * np.exp(-eps * (amounts[size:] - amounts[:-size]))
        chunk, size = longer, 2 * size
    return found


@dataclass(frozen=True, eq=False)
class _Outputs:
    """Every output from the first amount, which is 0, to the last.

    Likelihoods are relative to that of the nearest amount, so that the best window is never lost in 0.
    """

    eps: float
    amounts: IntArray
    beliefs: FloatArray

    @cached_property
    def places(self) -> IntArray:
        return np.arange(int(self.amounts[-1]) + 1, dtype=np.int64)

    @cached_property
    def split(self) -> IntArray:
        """How many amounts are at each output or to its left."""
        return np.searchsorted(self.amounts, self.places, side="right").astype(np.int64)

    @cached_property
    def _distances(self) -> tuple[FloatArray, FloatArray]:
        """To the next amount on the left and on the right."""
        amounts = np.append(self.amounts.astype(np.float64), np.inf)
        return self.places - amounts[self.split - 1], amounts[self.split] - self.places

    @cached_property
    def _sides(self) -> tuple[FloatArray, FloatArray]:
        """Likelihoods of those two amounts, relative to the nearer."""
        left, right = self._distances
        nearer = np.minimum(left, right)
        return np.exp(-self.eps * (left - nearer)), np.exp(-self.eps * (right - nearer))

    @cached_property
    def _left(self) -> tuple[FloatArray, IntArray]:
        """All belief up to each amount as seen from it, and where that is; nothing before the first."""
        size = len(self.amounts)
        zeros = np.zeros(size, dtype=np.int64)
        sums = faded_sums(self.eps, self.amounts, self.beliefs, zeros, np.arange(1, size + 1))
        return np.append(0.0, sums), np.append(self.amounts[:1], self.amounts)

    @cached_property
    def mirrored(self) -> _Outputs:
        """The same line from right to left."""
        return _Outputs(self.eps, self.amounts[-1] - self.amounts[::-1], self.beliefs[::-1])

    @cached_property
    def _right(self) -> tuple[FloatArray, IntArray]:
        """All belief from each amount on as seen from it; nothing after the last."""
        sums, places = self.mirrored._left
        return sums[::-1], self.amounts[-1] - places[::-1]

    def scores(self, outputs: IntArray, starts: IntArray, stops: IntArray) -> FloatArray:
        """Belief in windows at outputs, by differences of sums."""
        split = self.split[outputs]
        (sums, places), (left, right) = self._left, self._sides
        first, last, nearest = np.minimum(starts, split), np.minimum(stops, split), places[split]
        found = sums[last] * np.exp(-self.eps * (nearest - places[last]))
        found -= sums[first] * np.exp(-self.eps * (nearest - places[first]))
        found *= left[outputs]
        sums, places = self._right
        first, last, nearest = np.maximum(starts, split), np.maximum(stops, split), places[split]
        other = sums[first] * np.exp(-self.eps * (places[first] - nearest))
        other -= sums[last] * np.exp(-self.eps * (places[last] - nearest))
        return np.asarray(found + other * right[outputs])

    def beliefs_in(self, starts: IntArray, stops: IntArray) -> FloatArray:
        """Belief in one window at each output, without differences, times e^(-ε·distance)."""
        size, split = len(self.amounts), self.split
        sides = (
            (self, starts, stops, split, self._distances[0]),
            (self.mirrored, size - stops, size - starts, size - split, self._distances[1]),
        )
        found = np.zeros(len(self.places))
        for line, start, stop, here, distance in sides:
            some = np.flatnonzero(start < np.minimum(stop, here))
            last = np.minimum(stop[some], here[some])
            sums = faded_sums(self.eps, line.amounts, line.beliefs, start[some], last) if len(some) else 0.0
            away = line.amounts[here[some] - 1] - line.amounts[last - 1] + distance[some]
            found[some] += sums * np.exp(-self.eps * away)
        return found


def _best_windows(outputs: _Outputs, starts: IntArray, stops: IntArray) -> IntArray:
    """The best window at each output: first at every 2^j-th output, then half way between those."""
    size, last = len(outputs.places), len(starts) - 1
    best = np.zeros(size, dtype=np.int64)
    best[:1] = _between(
        outputs, starts, stops, np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([last])
    )
    step = 1 << max(0, (size - 1).bit_length() - 1)
    while step and size > 1:
        asked = np.arange(step, size, 2 * step, dtype=np.int64)
        after = asked + step
        highest = np.where(after < size, best[np.minimum(after, size - 1)], last)
        best[asked] = _between(outputs, starts, stops, asked, best[asked - step], highest)
        step //= 2
    return best


def _between(
    outputs: _Outputs, starts: IntArray, stops: IntArray, asked: IntArray, low: IntArray, high: IntArray
) -> IntArray:
    """The best of the windows low…high at each of the outputs asked."""
    counts = high - low + 1
    first = np.cumsum(counts) - counts
    window = np.arange(int(counts.sum())) + np.repeat(low - first, counts)
    scores = outputs.scores(np.repeat(asked, counts), starts[window], stops[window])
    hits = np.flatnonzero(scores == np.repeat(np.maximum.reduceat(scores, first), counts))
    return np.asarray(window[hits[np.searchsorted(hits, first)]])
