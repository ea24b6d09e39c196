"""What an adversary gains about one record: how it is written down, and what is certain without a law.

Values that add the same to the same cell are one class, which no release splits. So nobody gains more than
somebody who is told the class; and no release multiplies any gain that is never negative by more than the
capacity of the record's channel (the "miracle" theorem).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, singledispatch

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.measures import (
    Closeness,
    GainFunction,
    GainMatrix,
    Guessing,
    Identity,
    Shannon,
    Tries,
    WithinRadius,
)
from sievert.numerics import require_size
from sievert.observations._line_windows import faded_sums
from sievert.observations._max_of_ratios import Enclosed, Weights
from sievert.policies import Statistic
from sievert.results import Result

__all__ = [
    "ContributionClasses",
    "Found",
    "RecordGain",
    "SimulatedVulnerability",
    "class_weights",
    "gain_within",
    "prior_value",
    "value_given_class",
]

# Entries of a table of actions and classes.
LARGEST_TABLE = 50_000_000
BY_CLASS = "bound: what somebody gains who is told the record's contribution"
BY_ODDS = "bound: what ε leaves of the odds of any two values"
BY_CAPACITY = "bound: the capacity of the record's channel times the gain before"


@dataclass(frozen=True)
class RecordGain(Result):
    """What an adversary who knows all other records gains about the remaining one.

    Attributes
    ----------
    gain : what the adversary is called
    before : gain without a release
    after : gain after the releases; where not `exact`, the certain bound that is worse for the record
    exact : whether it is the gain itself, up to rounding
    lower, upper : certain bounds; equal where exact
    method : how it was found, or which bound it is
    releases : independent releases from the same data
    """

    gain: str
    before: float
    after: float
    exact: bool
    lower: float
    upper: float
    method: str
    releases: int

    @property
    def bits(self) -> float:
        """log2 of the growth; 0 where nothing was gained before."""
        return math.log2(self.after / self.before) if self.before > 0 and self.after > 0 else 0.0

    def __float__(self) -> float:
        return self.after

    def __str__(self) -> str:
        times = "1 release" if self.releases == 1 else f"{self.releases} releases"
        how = "" if self.exact else "at most " if self.after == self.upper else "at least "
        return f"{self.gain}: {self.before:.4g} before, {how}{self.after:.4g} after {times}"


@dataclass(frozen=True)
class SimulatedVulnerability(Result):
    """A gain by simulation: an estimate with its interval, never a bound.

    Attributes
    ----------
    gain : what the adversary is called
    value : mean over the samples
    lower, upper : interval that misses the gain with probability 0.1 % at most
    samples : records that were drawn, each with all releases
    releases : independent releases from the same data
    given : the one situation of the other records that was simulated, where it matters ("": all are alike)
    """

    gain: str
    value: float
    lower: float
    upper: float
    samples: int
    releases: int
    given: str = ""

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        times = "1 release" if self.releases == 1 else f"{self.releases} releases"
        return (
            f"{self.gain} after {times}: {self.value:.4g} by simulation "
            f"({self.lower:.4g} to {self.upper:.4g}, 99.9 % interval)"
        )


@dataclass(frozen=True)
class Found:
    """A gain, enclosed, and how it was found."""

    bounds: Enclosed
    method: str

    @staticmethod
    def exactly(value: float, method: str) -> Found:
        """One number."""
        return Found(Enclosed(value, value), method)

    def least(self, upper: float, method: str) -> Found:
        """With another upper bound, where that is less."""
        if self.bounds.exact or upper >= self.bounds.upper:
            return self
        return Found(Enclosed(min(self.bounds.lower, upper), upper), method)


@dataclass(frozen=True, eq=False)
class ContributionClasses:
    """Values that are never told apart.

    Attributes
    ----------
    cell : of each class; -1 where its values add nothing
    amount : steps that its values add
    place : class of each value
    belief : in each value
    """

    cell: IntArray
    amount: IntArray
    place: IntArray
    belief: FloatArray

    @staticmethod
    def of(statistic: Statistic, belief: FloatArray) -> ContributionClasses:
        """From what each value adds to which cell; the last are kept, for another ε asks for the same."""
        last: ContributionClasses | None = statistic.kept.get("classes")
        if last is not None and (last.belief is belief or np.array_equal(last.belief, belief)):
            return last
        first, place = statistic.alike
        amount = statistic.amount[first]
        found = ContributionClasses(
            np.where(amount == 0, -1, statistic.cell_of[first]), amount, place, belief
        )
        statistic.kept["classes"] = found
        return found

    @cached_property
    def likeliest(self) -> FloatArray:
        """The largest belief in each class."""
        found = np.zeros(len(self.cell))
        np.maximum.at(found, self.place, self.belief)
        return found

    @cached_property
    def total(self) -> FloatArray:
        """All belief in each class."""
        return np.asarray(np.bincount(self.place, self.belief, len(self.cell)))

    def split(self, weights: FloatArray) -> tuple[float, Weights]:
        """The weight of values that add nothing, whose ratio is 1, and those of the others."""
        still = self.amount == 0
        return float(weights[still].sum()), Weights.of(weights[~still])

    @cached_property
    def guessed(self) -> tuple[float, Weights]:
        """The largest beliefs, split."""
        return self.split(self.likeliest)

    @cached_property
    def possible(self) -> IntArray:
        """Classes of positive belief."""
        return np.flatnonzero(self.likeliest > 0)

    @cached_property
    def representative(self) -> IntArray:
        """The first value of each class."""
        found = np.zeros(len(self.cell), dtype=np.int64)
        found[self.place[::-1]] = np.arange(len(self.place))[::-1]
        return found

    def columns(self) -> FloatArray:
        """Belief [value, class], for classes that are possible."""
        require_size(
            len(self.belief) * len(self.possible), LARGEST_TABLE, "values times classes", "use fewer values"
        )
        return np.where(self.place[:, None] == self.possible, self.belief[:, None], 0.0)


def prior_value(adversary: GainFunction, belief: FloatArray) -> float:
    """What the adversary gains without a release."""
    return float(adversary.values(belief[:, None])[0])


def class_weights(table: FloatArray, classes: ContributionClasses) -> FloatArray:
    """[action, possible class]: gain of the action times belief, added up over the class; equal rows once."""
    size = len(classes.cell)
    require_size(len(table) * size, LARGEST_TABLE, "actions times cells", "use fewer actions or values")
    rows = [np.bincount(classes.place, row * classes.belief, size)[classes.possible] for row in table]
    return np.array(list({row.tobytes(): row for row in rows}.values()))


def gain_within(adversary: GainFunction, belief: FloatArray, nats: float, releases: int) -> RecordGain:
    """At most what an adversary gains where no output changes the odds of two values by more than e^nats.

    Parameters
    ----------
    adversary : a gain or loss over the values, in their order
    belief : in each value before the releases
    nats : of all releases together
    releases : how many they are, to be said

    Notes
    -----
    With gains in [0, 1] an action that is worth b comes to at most r·b/(1 - b + r·b), r = e^nats: likelihoods
    between 1 and r raise a mean most where they are r on the largest gains (for other bounds the gains are
    shifted and scaled). With m values, no gain that is never negative grows by more than m·r/(m - 1 + r), the
    capacity; and the uncertainty in bits falls by at most nats·tanh(nats/2)/ln 2 (the divergence of two
    laws so close). Nothing is gained beyond being told the value.
    """
    before = prior_value(adversary, belief)
    places = np.arange(len(belief))
    known = value_given_class(
        adversary, ContributionClasses(places, np.ones(len(belief), dtype=np.int64), places, belief)
    )
    ends, possible = adversary.bounds(), int((belief > 0).sum())
    found = [known]
    if isinstance(adversary, Shannon):
        found.append(before - nats * math.tanh(nats / 2) / math.log(2))
    elif ends is not None and ends[1] > ends[0] and math.isfinite(nats):
        low, width = float(ends[0]), float(ends[1]) - float(ends[0])
        share = (before - low) / width
        # In terms of the odds: no overflow, however large ε is.
        share = 1 - share if adversary.is_loss else share
        most = share / (share + (1 - share) * math.exp(-nats)) if share > 0 else 0.0
        found.append(low + width * (1 - most if adversary.is_loss else most))
        if low >= 0 and not adversary.is_loss:
            found.append(before * possible / (1 + (possible - 1) * math.exp(-nats)))
    if adversary.is_loss:
        after = min(before, max(found))
        return RecordGain(adversary.name, before, after, after == before, after, before, BY_ODDS, releases)
    after = max(before, min(found))
    return RecordGain(adversary.name, before, after, after == before, before, after, BY_ODDS, releases)


@singledispatch
def value_given_class(adversary: GainFunction, classes: ContributionClasses) -> float:
    """What the adversary gains who is told the record's class: the limit of many releases."""
    return float(adversary.values(classes.columns()).sum())


@value_given_class.register
def _identity(adversary: Identity, classes: ContributionClasses) -> float:
    return min(1.0, float(classes.likeliest.sum()))


@value_given_class.register
def _tries(adversary: Tries, classes: ContributionClasses) -> float:
    order = np.lexsort((-classes.belief, classes.place))
    place = classes.place[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(place) > 0]))
    rank = np.arange(len(place)) - np.repeat(starts, np.diff(np.append(starts, len(place))))
    return min(1.0, float(classes.belief[order][rank < adversary.tries].sum()))


@value_given_class.register
def _windows(adversary: WithinRadius, classes: ContributionClasses) -> float:
    """The best window of each class begins at one of its values: the furthest window that reaches that."""
    size, rank = len(classes.belief), np.empty(len(classes.belief), dtype=np.int64)
    rank[adversary.order] = np.arange(size)
    starts, stops = adversary.ends
    furthest = stops[np.searchsorted(starts, np.arange(size), side="right") - 1]
    order = np.lexsort((rank, classes.place))
    place, first = classes.place[order], np.arange(size)
    last = np.searchsorted(place * size + rank[order], place * size + furthest[rank[order]])
    sums = faded_sums(0.0, np.zeros(size, np.int64), classes.belief[order], first, last)
    best = np.zeros(len(classes.cell))
    np.maximum.at(best, place, sums)
    return min(1.0, float(best.sum()))


@value_given_class.register
def _nearness(adversary: Closeness, classes: ContributionClasses) -> float:
    """The mean distance to a median of each class, from the belief on either side of every gap in it."""
    order = np.lexsort((adversary.positions, classes.place))
    place, belief = classes.place[order], classes.belief[order]
    below = np.cumsum(belief)
    starts = np.flatnonzero(np.diff(place, prepend=-1))
    # Belief up to each value within its class, without a difference where a class has one value.
    counts = np.diff(np.append(starts, len(place)))
    inside = below - np.repeat(below[starts] - belief[starts], counts)
    rest = np.repeat(np.add.reduceat(belief, starts), counts) - inside
    apart = np.diff(adversary.positions[order], append=0.0)
    last = np.append(np.diff(place) != 0, True)
    lost = np.where(last, 0.0, apart * np.maximum(np.minimum(inside, rest), 0.0))
    return float(classes.belief.sum()) - float(lost.sum()) / adversary.diameter


@value_given_class.register
def _shannon(adversary: Shannon, classes: ContributionClasses) -> float:
    """What is left of the uncertainty within each class."""
    some, total = classes.belief > 0, classes.total[classes.place]
    share = classes.belief[some] / total[some]
    return max(0.0, -float(classes.belief[some] @ np.log2(share)))


@value_given_class.register
def _guessing(adversary: Guessing, classes: ContributionClasses) -> float:
    """The likeliest value of the class first."""
    order = np.lexsort((-classes.belief, classes.place))
    starts = np.flatnonzero(np.diff(classes.place[order], prepend=-1))
    counts = np.diff(np.append(starts, len(order)))
    rank = np.arange(len(order)) - np.repeat(starts, counts) + 1
    return float(classes.belief[order] @ rank)


@value_given_class.register
def _matrix(adversary: GainMatrix, classes: ContributionClasses) -> float:
    table = np.asarray(adversary.table, dtype=np.float64)
    weights = class_weights(-table if adversary.is_loss else table, classes)
    found = float(weights.max(axis=0).sum())
    return -found if adversary.is_loss else found
