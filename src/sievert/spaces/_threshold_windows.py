"""How far a threshold reaches among numbers: each one is joined to those at most θ from it.

Once sorted, the numbers joined to one of them are the next few on either side, so one position a number says
it all, and a shortest path goes as far as it can at every step. Nothing here lists the pairs but `pairs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ThresholdWindows", "reach_of"]
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ThresholdWindows:
    """Numbers by size, and how far each is joined.

    Attributes
    ----------
    order : places of the numbers, smallest first
    ends : for each of them in that order, the position after the last that it is joined to
    """

    order: Indices
    ends: Indices

    @property
    def pair_count(self) -> int:
        """How many pairs are joined."""
        return int((self.ends - np.arange(len(self.ends)) - 1).sum())

    @cached_property
    def starts(self) -> NDArray[np.bool_]:
        """Whether no smaller number is joined to each number but the first: there a component starts."""
        return np.asarray(self.ends[:-1] == np.arange(1, len(self.ends)))

    @cached_property
    def back(self) -> Indices:
        """For each number in order, the position of the first that is joined to it."""
        return np.searchsorted(self.ends, np.arange(len(self.ends)), side="right").astype(np.intp)

    @cached_property
    def steps(self) -> int | None:
        """How many positions each reaches, where all but those at the end reach as many; otherwise None."""
        n = len(self.ends)
        step = int(self.ends[0]) - 1
        even = np.minimum(np.arange(1, n + 1) + step, n)
        return step if np.array_equal(self.ends, even) else None

    @cached_property
    def hops(self) -> int:
        """Edges from the first number to the last, within one component."""
        n, place, count = len(self.ends), 0, 0
        if self.steps:
            return -(-(n - 1) // self.steps)
        ends = self.ends.tolist()
        while place < n - 1:
            place, count = max(ends[place] - 1, place + 1), count + 1
        return count

    def components(self) -> Indices:
        """Component number of each place."""
        found = np.empty(len(self.order), dtype=np.intp)
        found[self.order] = np.concatenate([[0], np.cumsum(self.starts)])
        return found

    def pairs(self) -> Indices:
        """All pairs of places, each sorted, in order."""
        counts = self.ends - np.arange(len(self.ends)) - 1
        first = np.repeat(np.arange(len(self.ends)), counts)
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        second = first + 1 + np.arange(len(first)) - starts
        return self._placed(first, second)

    def outer_pairs(self) -> Indices:
        """Each number with the next and with the farthest that it is joined to."""
        place = np.arange(len(self.ends))
        joined = self.ends - 1 > place
        near, far = place[joined], self.ends[joined] - 1
        return self._placed(np.concatenate([near, near]), np.concatenate([near + 1, far]))

    def _placed(self, first: Indices, second: Indices) -> Indices:
        pairs = np.sort(np.column_stack([self.order[first], self.order[second]]), axis=1)
        return np.asarray(pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))], dtype=np.intp)


def reach_of(numbers: NDArray[Any], theta: float) -> ThresholdWindows:
    """How far each of some finite numbers is joined to those at most θ larger."""
    order = np.argsort(numbers, kind="stable").astype(np.intp)
    ordered = numbers[order]
    ends = np.searchsorted(ordered, ordered + theta, side="right")
    # The sum above may be rounded over or under a number; the difference decides.
    last = np.minimum(ends, len(ordered) - 1)
    ends = np.where((ends < len(ordered)) & (ordered[last] - ordered <= theta), ends + 1, ends)
    ends = np.where(ordered[ends - 1] - ordered > theta, ends - 1, ends)
    return ThresholdWindows(order, ends.astype(np.intp))
