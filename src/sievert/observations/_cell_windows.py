"""Guesses within a radius over the cells of a table: the largest of overlapping sums of likelihood ratios.

P(no window above x) follows the cells from left to right, with the ratios of the last few cells as its state;
the largest sum is worth ∫ P(some window above x) dx. Where cells are alike, what is left after each step
settles, and a million cells cost as much as a hundred. Too many ratios are merged and split as in
`_sum_of_ratios`: a maximum of sums is convex in every ratio. Wide windows are bounded: sums that share cells
are associated (Esary, Proschan and Walkup), so that they exceed x less often than independent ones would, and
more often than those of them that share none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import reduce

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.observations._max_of_ratios import Enclosed, Weights
from sievert.observations._ratios import LikelihoodRatioLaw
from sievert.observations._sum_of_ratios import coarser, expected_maximum, weighted_sum

__all__ = ["largest_window"]

# Numbers looked at in all steps: a second or two; levels and states that are looked at together.
LARGEST_WORK, BLOCK = 15_000_000, 1_000_000
# Levels where the sums are too many to look at all of them, and first of all to see where they matter.
LEVELS, FIRST = 400, 60
# Ratios that are followed at least; fewer say less than bounds.
FEWEST = 6
# Steps after which alike cells have settled, and how far: nothing changes by more than rounding.
SETTLED, MOST_STEPS = 1e-15, 200
# Different windows whose sums are followed as if they were independent.
MOST_WINDOWS = 200
LARGEST_LOG = 600.0


def largest_window(ratios: LikelihoodRatioLaw, beliefs: FloatArray, width: int) -> Enclosed | None:
    """E max over windows of so many neighbouring cells of Σ π_c·ρ_c, enclosed; None where it is not known.

    Parameters
    ----------
    ratios : the law of each ρ_c, independent
    beliefs : of the cells, from left to right; at least as many as a window has
    width : cells of a window
    """
    law = ratios.trimmed()
    if ratios.hidden or float(law.logs[-1]) > LARGEST_LOG:
        return None
    even = bool(np.ptp(beliefs) <= 1e-15 * beliefs.max())
    atoms = _affordable(len(law.logs), width, len(beliefs), even)
    if atoms is None:
        return _independent(ratios, beliefs, width, even)
    values, chances = np.exp(law.logs), np.exp(law.log_pmf)
    chances /= chances.sum()
    if atoms >= len(values):
        return _followed(values, chances, values, chances, beliefs, width, even)
    return _followed(*coarser(values, chances, atoms, len(beliefs)), beliefs, width, even)


def _affordable(atoms: int, width: int, cells: int, even: bool) -> int | None:
    """So many ratios are followed; None where too few."""
    steps = min(cells, MOST_STEPS // 4 if even else cells)
    for kept in range(atoms, FEWEST - 1 if atoms > FEWEST else 1, -1):
        levels = math.comb(kept + width - 1, width) if even else min(LEVELS, cells * kept**width)
        if levels * kept ** max(1, width - 1) * steps <= LARGEST_WORK:
            return kept
    return None


def _followed(
    low: FloatArray,
    low_chances: FloatArray,
    high: FloatArray,
    high_chances: FloatArray,
    beliefs: FloatArray,
    width: int,
    even: bool,
) -> Enclosed:
    """From a law that is smaller in convex order and one that is larger; the same where it is known."""
    lower, upper = _Cells(low, low_chances, beliefs, width, even).ends()
    if low is not high:
        _, upper = _Cells(high, high_chances, beliefs, width, even).ends()
    return Enclosed(min(lower, upper), upper)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Cells in a row with ratios of few values."""

    values: FloatArray
    chances: FloatArray
    beliefs: FloatArray
    width: int
    even: bool

    def ends(self) -> tuple[float, float]:
        """∫ P(some window above x) dx between two sums; both the same where every level is looked at."""
        levels, complete = self._levels()
        above = self._above(levels)
        if not complete:
            levels, above = self._refined(levels, above)
        gaps = np.diff(levels)
        upper = float(levels[0]) + float(gaps @ above[:-1])
        return (upper, upper) if complete else (float(levels[0]) + float(gaps @ above[1:]), upper)

    def _levels(self) -> tuple[FloatArray, bool]:
        """Sums that a window may have, and whether they are all; the largest is never exceeded."""
        tops = np.convolve(self.beliefs, np.ones(self.width), "valid")
        least, most = self.values[0] * float(tops.max()), self.values[-1] * float(tops.max())
        if self.even:
            sums = reduce(lambda found, _: _added(found, self.values), range(self.width), np.zeros(1))
            return sums * float(self.beliefs.max()), True
        if len(tops) * len(self.values) ** self.width <= LEVELS:
            views = np.lib.stride_tricks.sliding_window_view(self.beliefs, self.width)
            parts = [reduce(lambda f, w: np.add.outer(f, w * self.values).ravel(), row, 0.0) for row in views]
            found = np.unique(np.concatenate([np.ravel(part) for part in parts]))
            # No maximum is below the least sum of the largest window.
            return _distinct(found[found >= least * (1 - 1e-14)]), True
        return np.geomspace(least, most, FIRST), False

    def _refined(self, levels: FloatArray, above: FloatArray) -> tuple[FloatArray, FloatArray]:
        """More levels where width times change is largest: what a sum over them may be off by."""
        share = np.sqrt(np.diff(levels) * np.maximum(-np.diff(above), 0.0))
        count = 1 + np.floor((LEVELS - FIRST) * share / (share.sum() or 1.0)).astype(np.int64)
        parts = [
            np.linspace(a, b, n, endpoint=False) for a, b, n in zip(levels, levels[1:], count, strict=False)
        ]
        finer = np.append(np.concatenate(parts), levels[-1])
        return finer, self._above(finer)

    def _above(self, levels: FloatArray) -> FloatArray:
        """P(some window above x) at every level, some of them at a time."""
        size = len(self.values) ** max(1, self.width - 1)
        step = max(1, BLOCK // size)
        parts = [self._exceeded(levels[start : start + step]) for start in range(0, len(levels), step)]
        return np.concatenate(parts)

    def _exceeded(self, levels: FloatArray) -> FloatArray:
        atoms, width, cells = len(self.values), self.width, len(self.beliefs)
        # [level, oldest ratio, the others]: the last width - 1 cells; fewer exceed nothing.
        alone = reduce(
            lambda found, _: np.multiply.outer(found, self.chances).ravel(), range(width - 1), np.ones(1)
        )
        state = np.tile(alone.reshape(atoms if width > 1 else 1, -1), (len(levels), 1, 1))
        log_kept, last = np.zeros(len(levels)), np.full(len(levels), -1.0)
        allowed: IntArray | None = None
        for step in range(cells - width + 1):
            if allowed is None or not self.even:
                allowed = self._allowed(levels, self.beliefs[step : step + width])
            state, exceeded = self._stepped(state, allowed)
            with np.errstate(divide="ignore"):
                log_kept += np.log1p(-np.minimum(exceeded, 1.0))
            if self.even and (np.abs(exceeded - last).max() <= SETTLED or step >= MOST_STEPS):
                # Every further cell takes the same share of what is left.
                with np.errstate(divide="ignore", invalid="ignore"):
                    further = (cells - width - step) * np.log1p(-np.minimum(exceeded, 1.0))
                log_kept += np.where(exceeded > 0, further, 0.0)
                break
            last = exceeded
        return np.asarray(-np.expm1(log_kept))

    def _allowed(self, levels: FloatArray, beliefs: FloatArray) -> IntArray:
        """[level, others, newest]: how many values of the oldest ratio keep the window within each level."""
        others = reduce(
            lambda found, w: np.add.outer(found, w * self.values).ravel(), beliefs[1:], np.zeros(1)
        )
        room = levels[:, None] * (1 + 1e-13) - others
        if self.width == 1:
            room = levels[:, None] * (1 + 1e-13)
        found = np.searchsorted(beliefs[0] * self.values, room.ravel(), side="right")
        return found.reshape(len(levels), -1, len(self.values) if self.width > 1 else 1)

    def _stepped(self, state: FloatArray, allowed: IntArray) -> tuple[FloatArray, FloatArray]:
        """The next cell: what is left, as shares, and the share that is above."""
        levels = len(state)
        if self.width == 1:
            upto = np.append(0.0, np.cumsum(self.chances))
            beyond = np.append(np.cumsum(self.chances[::-1])[::-1], 0.0)
            return state, np.where(upto[allowed] > 0, beyond[allowed], 1.0).reshape(levels)
        pad = np.zeros((levels, 1, state.shape[2]))
        kept = np.concatenate([pad, np.cumsum(state, axis=1)], axis=1)
        lost = np.concatenate([np.cumsum(state[:, ::-1], axis=1)[:, ::-1], pad], axis=1)
        # [level, others, newest] from [level, oldest, others].
        left = np.take_along_axis(kept, allowed.transpose(0, 2, 1), axis=1).transpose(0, 2, 1) * self.chances
        gone = np.take_along_axis(lost, allowed.transpose(0, 2, 1), axis=1).transpose(0, 2, 1) * self.chances
        total, exceeded = left.sum(axis=(1, 2)), gone.sum(axis=(1, 2))
        share = np.where(total > 0, exceeded / (total + exceeded), 1.0)
        left /= np.where(total > 0, total, 1.0)[:, None, None]
        return left.reshape(levels, len(self.values), -1), share


def _added(first: FloatArray, second: FloatArray) -> FloatArray:
    """All sums of one of each, those that differ in rounding once."""
    return _distinct(np.unique(np.add.outer(first, second).ravel()))


def _distinct(values: FloatArray) -> FloatArray:
    """Increasing values without those that differ from the one before in rounding only."""
    return np.asarray(values[np.concatenate([[True], np.diff(values) > 1e-13 * np.abs(values[1:])])])


def _independent(ratios: LikelihoodRatioLaw, beliefs: FloatArray, width: int, even: bool) -> Enclosed | None:
    """Windows that share no cell, and all of them as if they shared none."""
    count = len(beliefs) - width + 1
    if even:
        law = weighted_sum(ratios, Weights(beliefs[:1], np.array([width], dtype=np.int64)))
        apart = -(-count // width)
        return Enclosed(expected_maximum([(law, apart)]).lower, expected_maximum([(law, count)]).upper)
    if count > MOST_WINDOWS:
        return None
    laws = [(weighted_sum(ratios, Weights.of(beliefs[start : start + width])), 1) for start in range(count)]
    return Enclosed(expected_maximum(laws[::width]).lower, expected_maximum(laws).upper)
