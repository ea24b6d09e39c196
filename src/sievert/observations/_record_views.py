"""One record seen through noise that no list holds: a table, a count or a sum, after any number of releases.

Somebody knows all other records. Values that add the same to the same cell are never told apart, so of each
such class only the likeliest value is guessed. Over the cells of a histogram the guess is the largest of
independent likelihood ratios; on one number it is the upper envelope of shifted laws.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.channels import CellNoise, NoiseChannel, PlanarNoise, SumNoise, TableNoise
from sievert.errors import GainError
from sievert.observations._line_envelope import envelope_mass
from sievert.observations._plane_view import PlaneView
from sievert.observations._ratios import Ratios, expected_largest, ratios_after
from sievert.observations._repeats import MOST_RELEASES, ReleasesWithin, RepeatedGuess
from sievert.observations._types import observation_count

__all__ = ["CellView", "LineView", "RecordView", "record_view"]


@dataclass(frozen=True, eq=False)
class RecordView(ABC):
    """What releases tell somebody who knows all other records about the remaining one.

    Attributes
    ----------
    noise : what is added
    belief : about the record's value before any release, in the order of the policy's values
    """

    noise: TableNoise
    belief: FloatArray

    @abstractmethod
    def value(self, releases: int) -> tuple[float, bool]:
        """The best guess after some releases, and whether it is exact (else an upper bound)."""

    @cached_property
    def classes(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Cell, amount and likeliest belief of each class of values that are never told apart."""
        statistic = self.noise.statistic
        # A value that adds nothing is in no cell.
        cells = np.where(statistic.amount == 0, -1, statistic.cell_of)
        table = np.stack([cells, statistic.amount])
        distinct, place = np.unique(table, axis=1, return_inverse=True)
        likeliest = np.zeros(distinct.shape[1])
        np.maximum.at(likeliest, place.ravel(), self.belief)
        return distinct[0], distinct[1], likeliest

    @property
    def before(self) -> float:
        """The best guess without a release."""
        return float(self.belief.max())

    @property
    def limit(self) -> float:
        """The best guess after infinitely many releases: values that are never told apart stay together."""
        return min(1.0, float(self.classes[2].sum()))

    def guess(self, releases: int = 1) -> RepeatedGuess:
        """The best guess after independent releases from the same data."""
        count = observation_count(releases, GainError)
        found, exact = self.value(count)
        return RepeatedGuess(self.before, min(max(found, self.before), self.limit), exact, count)

    def releases_within(self, limit: float, most: int = MOST_RELEASES) -> ReleasesWithin:
        """How many releases certainly keep the best guess within a limit, up to `most`."""
        # A limit is not exceeded by the last few digits.
        allowed = limit * (1 + 1e-9)
        if self.limit <= allowed:
            return ReleasesWithin(limit, None, True)
        if self.before > allowed:
            return ReleasesWithin(limit, 0, True)
        return _last_within(self.guess, limit, allowed, most)


def _last_within(
    guess: Callable[[int], RepeatedGuess], limit: float, allowed: float, most: int
) -> ReleasesWithin:
    """The last number of releases whose guess is allowed, by doubling and halving."""
    low, high = 0, 1
    while (found := guess(high)).guess <= allowed:
        if high >= most:
            return ReleasesWithin(limit, most, False)
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        tried = guess(middle)
        if tried.guess <= allowed:
            low = middle
        else:
            high, found = middle, tried
    return ReleasesWithin(limit, low, found.exact)


@dataclass(frozen=True, eq=False)
class CellView(RecordView):
    """A histogram: each value adds one step to a cell of its own, or nothing."""

    def value(self, releases: int) -> tuple[float, bool]:
        """E max over the cells of belief times ratio."""
        _, amount, likeliest = self.classes
        other = float(likeliest[amount == 0].sum())
        counted = likeliest[(amount != 0) & (likeliest > 0)]
        if not len(counted):
            return other, True
        beliefs, counts = np.unique(counted, return_counts=True)
        return expected_largest(self.ratios(releases), np.log(beliefs), counts, other), True

    def ratios(self, releases: int) -> Ratios:
        """The law of the likelihood ratio of one cell."""
        return ratios_after(self.noise.law, 1, releases)

    @property
    def rate(self) -> float:
        """Chernoff information between two cells, in nats: -2 ln Σ_z √(p(z)·p(z-1)), by symmetry."""
        once = self.ratios(1)
        return -2 * math.log(np.exp(once.log_pmf + once.logs / 2).sum())


@dataclass(frozen=True, eq=False)
class LineView(RecordView):
    """One number: values lie at the amounts that they add to it."""

    @cached_property
    def places(self) -> tuple[IntArray, FloatArray]:
        """Amounts that are possible, increasing, with the likeliest belief of each."""
        _, amount, likeliest = self.classes
        order = np.argsort(amount, kind="stable")
        amount, likeliest = amount[order], likeliest[order]
        return amount[likeliest > 0], likeliest[likeliest > 0]

    def value(self, releases: int) -> tuple[float, bool]:
        """One release by the envelope, two values by their ratio, few values by types; else a bound."""
        places, beliefs = self.places
        if len(places) == 1:
            return float(beliefs[0]), True
        if releases == 1:
            return envelope_mass(self.noise.law, places, np.log(beliefs)), True
        if len(places) == 2:
            return self._between_two(releases), True
        return min(1.0, self.value(1)[0] * self.growth ** (releases - 1)), False

    @cached_property
    def growth(self) -> float:
        """At most by how much one release multiplies any guess: the sum of the largest likelihoods."""
        places, _ = self.places
        return envelope_mass(self.noise.law, places, np.zeros(len(places)))

    def _between_two(self, releases: int) -> float:
        """Σ over ratios of the larger of the two beliefs times its chance."""
        places, beliefs = self.places
        found = ratios_after(self.noise.law, int(places[1] - places[0]), releases)
        logs = np.log(beliefs)
        both = np.maximum(logs[0] + found.log_pmf, logs[1] + found.log_shown)
        return float(np.exp(both).sum()) + found.hidden * float(beliefs.sum())


@singledispatch
def record_view(noise: NoiseChannel, belief: FloatArray) -> RecordView:
    """One record seen through the noise, for a belief about the policy's values."""
    raise NotImplementedError(f"one record seen through {noise.words()}")


@record_view.register
def _of_cells(noise: CellNoise, belief: FloatArray) -> RecordView:
    return CellView(noise, belief)


@record_view.register
def _of_sum(noise: SumNoise, belief: FloatArray) -> RecordView:
    return LineView(noise, belief)


@record_view.register
def _of_place(noise: PlanarNoise, belief: FloatArray) -> Any:
    return PlaneView(noise, belief)
