"""Values on a line, at the amounts that they add to one number, and the noise between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.channels import Channel, GeometricLaw, NoiseLaw
from sievert.measures import GainFunction, WithinRadius, envelope_mass
from sievert.observations._contribution_classes import ContributionClasses, Found
from sievert.observations._summed_noise import law_of_sum

__all__ = ["Line", "seen_windows"]

# A sum of noise stays within whole numbers that a float holds.
LARGEST_AMOUNT = 2**53
# ln of a probability that no gain notices.
NOTHING = -60.0
# Entries of a channel whose types may be few.
LARGEST_CHANNEL = 50_000


@dataclass(frozen=True, eq=False)
class Line:
    """The amounts that are possible, increasing, and the noise between them."""

    law: NoiseLaw
    classes: ContributionClasses

    @cached_property
    def guesses(self) -> dict[int, Found]:
        """Best guesses that are known, by the number of releases."""
        return {}

    @cached_property
    def onces(self) -> dict[int, tuple[GainFunction, Found]]:
        """What adversaries gain after one release, where that is known; each is kept with its answer."""
        return {}

    @cached_property
    def order(self) -> IntArray:
        """Possible classes by their amounts."""
        chosen = self.classes.possible
        return np.asarray(chosen[np.argsort(self.classes.amount[chosen], kind="stable")])

    @cached_property
    def places(self) -> IntArray:
        """Amounts, increasing."""
        return np.asarray(self.classes.amount[self.order])

    @cached_property
    def beliefs(self) -> FloatArray:
        """The likeliest belief at each amount."""
        return np.asarray(self.classes.likeliest[self.order])

    @cached_property
    def is_even(self) -> bool:
        """Whether all values are equally likely and add amounts of their own, at equal distances."""
        gaps, belief = np.diff(self.places), self.classes.belief
        alone = len(self.places) == len(belief)
        return alone and bool((gaps == gaps[:1]).all() and np.ptp(belief) <= 1e-15 * belief.max())

    @cached_property
    def by_amount(self) -> IntArray:
        """The values that are possible, by what they add."""
        chosen = np.flatnonzero(self.classes.belief > 0)
        return np.asarray(chosen[np.argsort(self.classes.amount[self.classes.place[chosen]], kind="stable")])

    @property
    def are_alone(self) -> bool:
        """Whether every value that is possible adds an amount of its own."""
        return len(self.by_amount) == len(self.places)

    @cached_property
    def is_uniform(self) -> bool:
        """Whether all values that are possible are equally likely."""
        belief = self.classes.belief[self.classes.belief > 0]
        return bool(np.ptp(belief) <= 1e-15 * belief.max())

    def summed(self, releases: int) -> Line | None:
        """The sum of all releases, where it tells as much as they do."""
        furthest = int(np.abs(self.places).max())
        law = law_of_sum(self.law, releases) if furthest * releases < LARGEST_AMOUNT else None
        if law is None:
            return None
        return Line(law, replace(self.classes, amount=self.classes.amount * releases))

    @cached_property
    def growth(self) -> float:
        """At most by how much one release multiplies a gain: the sum of the largest likelihoods."""
        return envelope_mass(self.law, self.places, np.zeros(len(self.places)))

    @property
    def outputs(self) -> int:
        """Outputs that a walk looks at."""
        inside = int(self.places[-1] - self.places[0]) + 1
        return inside if isinstance(self.law, GeometricLaw) else inside + 2 * self._beyond

    @cached_property
    def _beyond(self) -> int:
        """How far noise is followed beyond the first and the last amount."""
        return self.law.beyond(NOTHING) if math.isinf(self.law.reach) else int(self.law.reach)

    def likelihoods(self, start: int, stop: int) -> FloatArray:
        """[amount, output]: chances of the outputs from one place in the walk to another.

        Beyond the first and the last amount geometric noise shows nothing more, so that the outputs there are
        one; other noise is followed to where nothing is left of it.
        """
        first, last = int(self.places[0]), int(self.places[-1])
        if not isinstance(self.law, GeometricLaw):
            outputs = np.arange(start, stop, dtype=np.float64) + (first - self._beyond)
            return np.exp(self.law.log_pmf(outputs - self.places[:, None]))
        gap = np.arange(start, stop, dtype=np.float64) + first - self.places[:, None]
        found = np.exp(self.law.log_pmf(gap))
        if start == 0:
            found[:, 0] = np.exp(self.law.log_upper(-gap[:, 0]))
        if stop == last - first + 1:
            found[:, -1] = np.exp(self.law.log_upper(gap[:, -1]))
        return found

    def spread(self, releases: int) -> FloatArray:
        """Σ_u π_u·e^(-n·ε·|u - v|) at every amount v: releases divide the odds of two by no more."""
        total = np.asarray(self.classes.total[self.order])
        if not isinstance(self.law, GeometricLaw):
            return total
        gaps = np.exp(-releases * self.law.level.eps * np.diff(self.places)).tolist()
        left, right = total.tolist(), total.tolist()
        for i, gap in enumerate(gaps):
            left[i + 1] += left[i] * gap
        for i in range(len(gaps) - 1, -1, -1):
            right[i] += right[i + 1] * gaps[i]
        return np.asarray(np.array(left) + np.array(right) - total)

    def log_lift(self, releases: int) -> float:
        """ln of how much any output can raise any belief at most."""
        return -math.log(float(self.spread(releases).min()))

    def channel(self) -> Channel | None:
        """The record's channel, from possible amounts to outputs; None where it is not small."""
        if self.outputs * len(self.places) > LARGEST_CHANNEL:
            return None
        with np.errstate(divide="ignore"):
            return Channel.trusted(np.log(self.likelihoods(0, self.outputs)), "log")

    @cached_property
    def _index(self) -> IntArray:
        """For each value the place of its amount; any where it is impossible."""
        place = np.zeros(len(self.classes.cell), dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        return np.asarray(place[self.classes.place])

    def by_value(self, rows: FloatArray) -> FloatArray:
        """[value, …] from [amount, …]."""
        return np.asarray(rows[self._index])

    def joint(self, likelihoods: FloatArray) -> FloatArray:
        """[value, output]: belief times the likelihoods [amount, output]."""
        return np.asarray(self.classes.belief[:, None] * self.by_value(likelihoods))


def seen_windows(adversary: WithinRadius, line: Line) -> tuple[IntArray, FloatArray, IntArray, IntArray]:
    """Amounts and beliefs of the values that are possible, from left to right, and the windows of those."""
    classes = line.classes
    seen = classes.belief[adversary.order] > 0
    chosen = adversary.order[seen]
    before = np.append(0, np.cumsum(seen))
    starts, stops = (before[end] for end in adversary.ends)
    useful = starts < stops
    return classes.amount[classes.place[chosen]], classes.belief[chosen], starts[useful], stops[useful]
