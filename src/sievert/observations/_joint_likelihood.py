"""One record seen through several tables at once, or through sums by group: independent ratios multiply.

Where values are all combinations of the cells of the tables and belief is a product, so is the guess. Else
the states of all tables but the largest are gone through: for each of them the largest table's cells are
independent, and the guess is the mean of the largest of independent ratios. With too many states there is no
closed form, and the ε of all tables together bounds the guess.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sievert.arrays import BoolArray, FloatArray, IntArray
from sievert.channels import GroupedSumNoise, HistogramNoise, JointNoise, QuantileNoise, TableNoise
from sievert.errors import TooLargeError
from sievert.measures import GainFunction, Identity
from sievert.numerics import require_size
from sievert.observations._contribution_classes import RecordGain, SimulatedVulnerability
from sievert.observations._likelihood import RecordLikelihood
from sievert.observations._ratios import LikelihoodRatioLaw, likelihood_ratio_law, log_affinity
from sievert.observations._record_repeats import RepeatedGuess
from sievert.observations._table_likelihood import likelihood_of
from sievert.observations._table_samples import simulated_tables
from sievert.policies import cells_moved

__all__ = ["JointLikelihood"]

# States of the smaller tables, numbers over all of them, and numbers at once.
LARGEST_STATES, LARGEST_WORK, AT_ONCE = 1 << 20, 100_000_000, 2_000_000
# A belief whose parts multiply to it up to so much is a product.
SAME = 1e-12
BY_PRODUCT = "exact: a product over the tables"
BY_STATES = "exact: over the states of the smaller tables"


@dataclass(frozen=True, eq=False)
class JointLikelihood(RecordLikelihood):
    """What releases of several tables tell about one record."""

    noise: JointNoise | GroupedSumNoise

    @cached_property
    def parts(self) -> Sequence[TableNoise | QuantileNoise]:
        """The tables, each with noise of its own."""
        return self.noise.parts if isinstance(self.noise, JointNoise) else (self.noise,)

    @property
    def is_cut(self) -> bool:
        """Whether clamping hides some noise in a table."""
        return any(not isinstance(part, QuantileNoise) and part.limits is not None for part in self.parts)

    @cached_property
    def _kinds(self) -> IntArray:
        """[value, table]: which values a table never tells apart."""
        return np.stack([part.statistic.alike[1] for part in self.parts], axis=1)

    @cached_property
    def _profiles(self) -> tuple[IntArray, FloatArray]:
        """[profile, table] of values that some table tells apart, and the likeliest value of each."""
        rows, profile = np.unique(self._kinds, axis=0, return_inverse=True)
        weight = np.zeros(len(rows))
        np.maximum.at(weight, profile.ravel(), self.belief)
        return rows, weight

    @property
    def limit(self) -> float:
        """The best guess after infinitely many releases."""
        return min(1.0, float(self._profiles[1].sum()))

    def guess(self, releases: int = 1) -> RepeatedGuess:
        """The best guess after independent releases from the same data."""
        if any(isinstance(part, QuantileNoise) for part in self.parts) or self.is_cut:
            raise TooLargeError("a quantile, or what is clamped, has no closed form here", size=math.inf)
        if any(isinstance(part, GroupedSumNoise) for part in self.parts):
            raise TooLargeError("sums by group have no closed form here", size=math.inf)
        found = self._by_product(releases)
        if found is None:
            after = min(max(self._by_states(releases), self.before), self.limit)
            return RepeatedGuess(self.before, after, True, releases, BY_STATES)
        after, exact = found
        method = BY_PRODUCT if exact else "bound: a product over the tables"
        return RepeatedGuess(self.before, min(max(after, self.before), self.limit), exact, releases, method)

    def gain(self, adversary: GainFunction, releases: int = 1) -> RecordGain:
        """The guess in one try; other gains have no closed form here."""
        if not isinstance(adversary, Identity):
            raise TooLargeError(
                f"what “{adversary.name}” gains from several tables at once has no closed form", size=math.inf
            )
        found = self.guess(releases)
        lower = found.guess if found.exact else found.before
        return RecordGain(
            adversary.name, found.before, found.guess, found.exact, lower, found.guess, found.method, releases
        )

    def simulated(
        self,
        releases: int = 1,
        rng: int | np.random.Generator | None = None,
        samples: int | None = None,
        adversary: GainFunction | None = None,
        share: int = 1,
    ) -> SimulatedVulnerability:
        """The gain by simulation: all tables are drawn together, for a record that is the same in each."""
        chosen = self.identity if adversary is None else adversary
        return simulated_tables(self.parts, self.belief, chosen, releases, rng, samples, share)

    def affinity(self, first: int, second: int) -> float:
        """The sum over the cells of all tables, for their noise is independent."""
        pair = np.array([first]), np.array([second])
        return sum(
            log_affinity(part.law, int(steps[0]))
            for part in self.parts
            for steps in _moved(part, *pair)
            if steps[0]
        )

    def _by_product(self, releases: int) -> tuple[float, bool] | None:
        """The product of the tables' guesses, and whether it is exact; None where belief is no product."""
        rows, weight = self._profiles
        sizes = [int(column.max()) + 1 for column in rows.T]
        if len(rows) != math.prod(sizes) or not weight.sum():
            return None
        total = float(weight.sum())
        parts = [
            np.bincount(column, weight, size) / total for column, size in zip(rows.T, sizes, strict=True)
        ]
        together = np.prod([part[column] for part, column in zip(parts, rows.T, strict=True)], axis=0) * total
        if np.abs(together - weight).max() > SAME:
            return None
        after, exact = total, True
        for noise, part in zip(self.parts, parts, strict=True):
            belief = np.zeros(len(self.belief))
            belief[noise.statistic.alike[0]] = part
            found = likelihood_of(noise, belief).guess(releases)
            after, exact = after * found.guess, exact and found.exact
        return after, exact

    def _by_states(self, releases: int) -> float:
        """E max over the cells of the largest table, for every state of the others."""
        rows, weight = self._profiles
        laws = [self._ratios(place, releases) for place in range(len(self.parts))]
        largest = max(range(len(laws)), key=lambda place: int(rows[:, place].max()))
        others = [place for place in range(len(laws)) if place != largest]
        cells = [np.unique(rows[self._moves(place, rows), place]) for place in range(len(laws))]
        states = math.prod(len(laws[place].logs) ** len(cells[place]) for place in others)
        require_size(states, LARGEST_STATES, "the states of the smaller tables", "ask about the ε")
        kinds = int(rows[:, largest].max()) + 1
        work = states * max(len(rows), kinds * len(laws[largest].logs))
        require_size(work, LARGEST_WORK, "the numbers over all states", "ask about the ε")
        order = np.argsort(rows[:, largest], kind="stable")
        starts = np.searchsorted(rows[order, largest], np.arange(kinds))
        moving = np.isin(np.arange(kinds), cells[largest])
        with np.errstate(divide="ignore"):
            logs = np.log(weight)
        found = 0.0
        for chances, shown in self._states(others, cells, laws, rows, states):
            joint = (logs[None, :] + shown)[:, order]
            best = np.maximum.reduceat(joint, starts, axis=1)
            found += float(np.exp(chances) @ _largest(best, moving, laws[largest]))
        return found

    def _ratios(self, place: int, releases: int) -> LikelihoodRatioLaw:
        part = self.parts[place]
        if not isinstance(part, HistogramNoise):
            raise TooLargeError("several tables that are no histograms have no closed form", size=math.inf)
        found = likelihood_ratio_law(part.law, 1, releases)
        if found.hidden:
            raise TooLargeError("noise of bounded support has no closed form here", size=math.inf)
        return found

    def _moves(self, place: int, rows: IntArray) -> IntArray:
        """Which profiles add to a cell of a table."""
        statistic = self.parts[place].statistic
        amounts: IntArray = statistic.amount[statistic.alike[0]]
        return np.flatnonzero(amounts[rows[:, place]] != 0)

    def _states(
        self,
        others: list[int],
        cells: list[IntArray],
        laws: list[LikelihoodRatioLaw],
        rows: IntArray,
        states: int,
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Blocks of states: ln of their probabilities, and [state, profile] ln of the others' ratios."""
        block = max(1, AT_ONCE // max(1, len(rows)))
        for start in range(0, states, block):
            code = np.arange(start, min(start + block, states))
            chances, shown = np.zeros(len(code)), np.zeros((len(code), len(rows)))
            for place in others:
                law, width = laws[place], len(laws[place].logs)
                for cell in cells[place].tolist():
                    code, atom = np.divmod(code, width)
                    chances += law.log_pmf[atom]
                    shown[:, rows[:, place] == cell] += law.logs[atom][:, None]
            yield chances, shown


def _moved(part: TableNoise | QuantileNoise, first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    """Steps in the one or two cells of a table that two values move."""
    if not isinstance(part, TableNoise):
        raise TooLargeError(f"two values under {part.words()} have no closed form", size=math.inf)
    return cells_moved(part.statistic, first, second)


def _largest(best: FloatArray, moving: BoolArray, law: LikelihoodRatioLaw) -> FloatArray:
    """For each state, the mean of the largest of weights times independent ratios of their cells."""
    states, kinds = best.shape
    atoms = len(law.logs)
    values = np.where(moving[None, :, None], best[:, :, None] + law.logs, best[:, :, None])
    lower = law.log_lower()
    steps = np.diff(lower, prepend=0.0)
    steps[0] = lower[0]
    factors = np.where(moving[:, None], steps, 0.0)
    first = np.zeros((kinds, atoms))
    first[:, 0] = 1
    order = np.argsort(values.reshape(states, -1), axis=1, kind="stable")
    sorted_ = np.take_along_axis(values.reshape(states, -1), order, axis=1)
    logs = np.cumsum(factors.ravel()[order], axis=1)
    # Below the least value of some cell nothing is the largest.
    ready = np.cumsum(first.ravel()[order], axis=1) == kinds
    below = np.where(ready, np.exp(logs), 0.0)
    chance = np.diff(below, axis=1, prepend=0.0)
    return np.asarray((np.exp(sorted_) * chance).sum(axis=1))
