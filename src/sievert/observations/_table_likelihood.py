"""One record seen through noise that no list holds: a table, a count or a sum, after any number of releases.

Somebody knows all other records. Values that add the same to the same cell are never told apart, so of each
such class only the likeliest value is guessed. Over the cells of a histogram the guess is the largest of
independent likelihood ratios; on one number it is the upper envelope of shifted laws.
"""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.channels import (
    GeometricLaw,
    GroupedSumNoise,
    HistogramNoise,
    JointNoise,
    NoiseChannel,
    NoiseLaw,
    PlanarNoise,
    ScalarNoise,
    TableNoise,
)
from sievert.errors import GainError, TooLargeError
from sievert.measures import GainFunction
from sievert.numerics import instance, whole
from sievert.observations._contribution_classes import (
    ContributionClasses,
    Found,
    RecordGain,
    SimulatedVulnerability,
    prior_value,
    value_given_class,
)
from sievert.observations._error_bounds import RISK
from sievert.observations._histogram_gains import histogram_gain
from sievert.observations._likelihood import RecordLikelihood
from sievert.observations._max_of_ratios import Enclosed
from sievert.observations._planar_likelihood import PlanarLikelihood
from sievert.observations._posterior_samples import (
    drawn_ratios,
    gains_on_even_line,
    logs_of_cells,
    logs_on_line,
)
from sievert.observations._ratios import LikelihoodRatioLaw, likelihood_ratio_law, log_affinity
from sievert.observations._record_repeats import RepeatedGuess
from sievert.observations._scalar_gains import neighbours_named, scalar_gain
from sievert.observations._scalar_grid import Line
from sievert.observations._simulations import (
    AT_ONCE,
    FEWEST,
    MOST,
    SIMULATED,
    Plan,
    posterior_gains,
    simulation,
)
from sievert.observations._table_samples import simulated_tables
from sievert.observations._types import observation_count

__all__ = ["HistogramLikelihood", "ScalarLikelihood", "TableLikelihood", "likelihood_of"]

HIDDEN = "exact: noise this wide shows nothing"
BARE = "exact: noise this rare hides nothing"
# ln of a ratio that no float of a gain notices.
UNSEEN = 1e-20
LARGEST_FLOAT = Fraction(sys.float_info.max)
# Numbers that one series takes.
WORK_OF_SERIES = 10
# Numbers of the fewest records that are drawn: some ten seconds.
LARGEST_SIMULATION = 10 * SIMULATED


@dataclass(frozen=True, eq=False)
class TableLikelihood(RecordLikelihood):
    """What releases tell somebody who knows all other records about the remaining one.

    Attributes
    ----------
    noise : what is added
    belief : about the record's value before any release, in the order of the policy's values
    is_narrow : whether noisy answers are clamped to less than the true ones may be
    """

    noise: TableNoise
    is_narrow: bool = False

    @abstractmethod
    def gained(self, adversary: GainFunction, releases: int) -> Found:
        """What an adversary gains after some releases, enclosed."""

    @abstractmethod
    def logs(self, values: IndexArray, releases: int, generator: np.random.Generator) -> FloatArray:
        """[value, sample]: ln of the likelihood of releases that are drawn at random for records of `values`.

        Those of one sample are known up to a number of their own.
        """

    def work(self, adversary: GainFunction, releases: int) -> int:
        """Numbers that one simulated record takes."""
        return len(self.belief)

    def drawn_gains(
        self, adversary: GainFunction, releases: int, samples: int, generator: np.random.Generator
    ) -> FloatArray:
        """What the adversary gains about records drawn by belief, after releases that are drawn at random."""
        values = generator.choice(len(self.belief), samples, p=self.belief / self.belief.sum())
        return posterior_gains(adversary, self.belief, self.logs(values, releases, generator))

    @abstractmethod
    def drawn(self, true: IndexArray, generator: np.random.Generator) -> FloatArray:
        """[possible class, sample]: what one simulated release adds to the log-likelihood of each class."""

    @property
    @abstractmethod
    def log_ratio(self) -> float:
        """ln of the largest likelihood ratio of two possible values that any output shows; inf: none."""

    @abstractmethod
    def extreme_pairs(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Positions of two values that are told apart fastest, and slowest; None where none are."""

    @abstractmethod
    def hardest(self, inside: IndexArray, outside: IndexArray) -> tuple[int, int]:
        """Positions of two values, of possible classes on either side, that are told apart most slowly."""

    @abstractmethod
    def log_lift(self, releases: int) -> float:
        """ln of how much any output can raise any belief at most."""

    @cached_property
    def classes(self) -> ContributionClasses:
        """Values that are never told apart."""
        return ContributionClasses.of(self.noise.statistic, self.belief)

    @property
    def is_cut(self) -> bool:
        """Whether clamping hides something: beyond the range only geometric ratios are constant."""
        clamped = self.noise.limits is not None
        return clamped and (self.is_narrow or not isinstance(self.noise.law, GeometricLaw))

    @property
    def limit(self) -> float:
        """The best guess after infinitely many releases: values that are never told apart stay together."""
        return value_given_class(self.identity, self.classes)

    def guess(self, releases: int = 1) -> RepeatedGuess:
        """The best guess after independent releases from the same data."""
        found = self.gain(self.identity, releases)
        after = min(found.after, self.limit)
        return RepeatedGuess(found.before, after, found.exact, found.releases, found.method)

    def gain(self, adversary: GainFunction, releases: int = 1) -> RecordGain:
        """What an adversary gains about the record after independent releases from the same data.

        Parameters
        ----------
        adversary : a gain or loss over the policy's values, in their order
        releases : how many

        Returns
        -------
        RecordGain
            `after` with `exact`, `lower`, `upper` and the `method`; bounds are the least that are known.
        """
        instance("adversary", adversary, GainFunction, "what sv.gains and sv.losses build", GainError)
        if adversary.size != len(self.belief):
            raise GainError(
                f"adversary is about {adversary.size} values, but a record has {len(self.belief)}; "
                "give one column for each value"
            )
        count = observation_count(releases, GainError)
        before = prior_value(adversary, self.belief)
        found = self._plainly(adversary, count) or self.gained(adversary, count)
        if self.is_cut:
            kept = Enclosed(before, max(before, found.bounds.upper))
            found = Found(kept, f"bound: noise before it is clamped ({found.method})")
        # No release makes the best action worse on average; rounding must not say so.
        better = (min if adversary.is_loss else max) if adversary.is_convex else _first
        lower, upper = better(found.bounds.lower, before), better(found.bounds.upper, before)
        least, most = adversary.bounds() or (-math.inf, math.inf)
        lower, upper = min(max(lower, least), most), min(max(upper, least), most)
        exact, method = found.bounds.exact, found.method
        if exact and not method.startswith("exact"):
            method = f"exact: bounds meet ({method.removeprefix('bound: ')})"
        after = lower if adversary.is_loss and not exact else upper
        lower = after if exact else lower
        return RecordGain(adversary.name, before, after, exact, lower, upper, method, count)

    def _plainly(self, adversary: GainFunction, releases: int) -> Found | None:
        """Where floats know nothing but noise, or no noise at all."""
        if self.log_ratio * releases <= UNSEEN:
            return Found.exactly(prior_value(adversary, self.belief), HIDDEN)
        if self.noise.law.never_moves:
            return Found.exactly(value_given_class(adversary, self.classes), BARE)
        return None

    def simulated(
        self,
        releases: int = 1,
        rng: int | np.random.Generator | None = None,
        samples: int | None = None,
        adversary: GainFunction | None = None,
        share: int = 1,
    ) -> SimulatedVulnerability:
        """The gain by simulation, with its interval: an estimate beside a bound, never one itself."""
        chosen = self.identity if adversary is None else adversary
        if self.is_cut:
            return simulated_tables([self.noise], self.belief, chosen, releases, rng, samples, share)
        count = observation_count(releases, GainError)
        work = self.work(chosen, count)
        if FEWEST * work > LARGEST_SIMULATION:
            raise TooLargeError("so many releases take too long to be simulated", size=work)
        number = int(np.clip(SIMULATED // work, FEWEST * share, MOST)) // share
        if samples is not None:
            number = max(2, whole("samples", samples, GainError))
        return simulation(
            chosen,
            prior_value(chosen, self.belief),
            self.log_lift(count),
            lambda size, generator: self.drawn_gains(chosen, count, size, generator),
            Plan(number, max(1, AT_ONCE // work), count, rng, RISK / share),
        )


def _nats(law: NoiseLaw, steps: int) -> float:
    """ln of the largest likelihood ratio of two answers so many steps apart; inf: none, or no float."""
    nats = law.eps_of(Fraction(steps))
    return math.inf if nats is None or nats > LARGEST_FLOAT else float(nats)


def _first(found: float, before: float) -> float:
    return found


@dataclass(frozen=True, eq=False)
class HistogramLikelihood(TableLikelihood):
    """A histogram: each value adds one step to a cell of its own, or nothing."""

    def gained(self, adversary: GainFunction, releases: int) -> Found:
        """By the likelihood ratios of independent cells."""
        return histogram_gain(adversary, self.classes, self.ratios(releases))

    def ratios(self, releases: int) -> LikelihoodRatioLaw:
        """The law of the likelihood ratio of one cell."""
        return likelihood_ratio_law(self.noise.law, 1, releases)

    def logs(self, values: IndexArray, releases: int, generator: np.random.Generator) -> FloatArray:
        """By drawing the ratio of every cell."""
        return logs_of_cells(self.classes, self.ratios(releases), values, generator)

    def drawn(self, true: IndexArray, generator: np.random.Generator) -> FloatArray:
        """A ratio for every cell, the record's own where it is there."""
        return drawn_ratios(self.classes, self.ratios(1), self.classes.possible[true], generator)[
            self.classes.possible
        ]

    @cached_property
    def _steps(self) -> int:
        """Steps between two possible values that are furthest apart."""
        amounts = np.sort(np.abs(self.classes.amount[self.classes.possible]))
        return int(amounts[-2:].sum()) if len(amounts) > 1 else 0

    @property
    def log_ratio(self) -> float:
        """Of one step, or of one out of a cell and one into another."""
        return _nats(self.noise.law, self._steps)

    def extreme_pairs(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Two cells, and a cell against none."""
        chosen = self.classes.possible
        if len(chosen) < 2:
            return None
        # One value of each class, those that add nothing first.
        still_first = chosen[np.argsort(np.abs(self.classes.amount[chosen]), kind="stable")]
        order = self.classes.representative[still_first].tolist()
        return (order[-2], order[-1]), (order[0], order[1])

    def hardest(self, inside: IndexArray, outside: IndexArray) -> tuple[int, int]:
        """A value in no cell, if there is one on either side."""
        classes = self.classes
        sides = [classes.possible[side] for side in (inside, outside)]
        first, second = (side[int(np.argmin(np.abs(classes.amount[side])))] for side in sides)
        return int(classes.representative[first]), int(classes.representative[second])

    def log_lift(self, releases: int) -> float:
        """A record moves one step out of a cell and one into another."""
        return _nats(self.noise.law, 2) * releases

    def affinity(self, first: int, second: int) -> float:
        """The step goes into one cell and out of another, or into one only."""
        cells = self.noise.statistic.cell_of[[first, second]]
        amounts = np.abs(self.noise.statistic.amount[[first, second]])
        if (amounts == 0).all() or (cells[0] == cells[1] and amounts[0] == amounts[1]):
            return 0.0
        return float(amounts.sum()) * log_affinity(self.noise.law, 1)

    @property
    def rate(self) -> float:
        """Chernoff information between two cells, in nats: -2 ln Σ_z √(p(z)·p(z-1)), by symmetry."""
        return -2 * log_affinity(self.noise.law, 1)


@dataclass(frozen=True, eq=False)
class ScalarLikelihood(TableLikelihood):
    """One number: values lie at the amounts that they add to it."""

    @cached_property
    def line(self) -> Line:
        """The amounts that are possible."""
        return Line(self.noise.law, self.classes)

    def gained(self, adversary: GainFunction, releases: int) -> Found:
        """One release by its outputs, two amounts by their ratio, few by types; else a bound."""
        return scalar_gain(adversary, self.line, releases)

    @property
    def growth(self) -> float:
        """At most by how much one release multiplies any guess."""
        return self.line.growth

    def work(self, adversary: GainFunction, releases: int) -> int:
        """A series between two outputs stands for all values there, where their line is even."""
        if self._run(adversary) is not None:
            return WORK_OF_SERIES * (releases + 1)
        return len(self.belief) + releases

    def _run(self, adversary: GainFunction) -> int | None:
        """So many neighbouring values are the best action, where their line is even; else None."""
        law = self.noise.law
        if not isinstance(law, GeometricLaw) or law.level.eps == 0 or len(self.belief) < 2:
            return None
        return neighbours_named(adversary, self.line) if self.line.is_even else None

    def drawn_gains(
        self, adversary: GainFunction, releases: int, samples: int, generator: np.random.Generator
    ) -> FloatArray:
        """By series where the line is even."""
        law, run = self.noise.law, self._run(adversary)
        if isinstance(law, GeometricLaw) and run is not None:
            return gains_on_even_line(law, self.line, run, releases, samples, generator)
        return super().drawn_gains(adversary, releases, samples, generator)

    def logs(self, values: IndexArray, releases: int, generator: np.random.Generator) -> FloatArray:
        """By drawing noise around every record's amount."""
        return logs_on_line(self.noise.law, self.line, releases, values, generator)

    def drawn(self, true: IndexArray, generator: np.random.Generator) -> FloatArray:
        """Noise around the record's amount, and its likelihood around every amount."""
        line, place = self.line, np.argsort(np.argsort(self.classes.amount[self.classes.possible]))
        noise = self.noise.law.simulated(generator, len(true))
        return self.noise.law.log_pmf(line.places[place[true]] + noise - line.places[place][:, None])

    @property
    def log_ratio(self) -> float:
        """Of the two amounts furthest apart."""
        return _nats(self.noise.law, int(self.line.places[-1] - self.line.places[0]))

    def extreme_pairs(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """The ends, and two neighbours that are closest."""
        places = self.line.places
        if len(places) < 2:
            return None
        order = self.classes.representative[self.line.order].tolist()
        closest = int(np.argmin(np.diff(places)))
        return (order[0], order[-1]), (order[closest], order[closest + 1])

    def hardest(self, inside: IndexArray, outside: IndexArray) -> tuple[int, int]:
        """The two nearest amounts."""
        classes = self.classes
        sides = [classes.possible[side] for side in (inside, outside)]
        first, second = (side[np.argsort(classes.amount[side], kind="stable")] for side in sides)
        left, right = classes.amount[first], classes.amount[second]
        place = np.searchsorted(right, left)
        before, after = np.maximum(place - 1, 0), np.minimum(place, len(right) - 1)
        nearest = np.where(np.abs(right[before] - left) < np.abs(right[after] - left), before, after)
        best = int(np.argmin(np.abs(right[nearest] - left)))
        return int(classes.representative[first[best]]), int(classes.representative[second[nearest[best]]])

    def log_lift(self, releases: int) -> float:
        """-ln of the least Σ_u π_u·e^(-n·ε·|u - v|) over all amounts v."""
        return self.line.log_lift(releases)

    def affinity(self, first: int, second: int) -> float:
        """By the distance of the two amounts; symmetric noise has its Chernoff point at ½."""
        amounts = self.noise.statistic.amount
        return log_affinity(self.noise.law, int(amounts[first] - amounts[second]))


@singledispatch
def likelihood_of(noise: NoiseChannel, belief: FloatArray, is_narrow: bool = False) -> RecordLikelihood:
    """One record seen through the noise, for a belief about the policy's values.

    `is_narrow` says that noisy answers are clamped to less than the true ones may be: what is known of the
    noise is then a bound.
    """
    raise TooLargeError(f"one record seen through {noise.words()} has no closed form", size=math.inf)


@likelihood_of.register
def _of_cells(noise: HistogramNoise, belief: FloatArray, is_narrow: bool = False) -> RecordLikelihood:
    return HistogramLikelihood(noise, belief, is_narrow)


@likelihood_of.register
def _of_sum(noise: ScalarNoise, belief: FloatArray, is_narrow: bool = False) -> RecordLikelihood:
    return ScalarLikelihood(noise, belief, is_narrow)


@likelihood_of.register(JointNoise)
@likelihood_of.register(GroupedSumNoise)
def _of_several(
    noise: JointNoise | GroupedSumNoise, belief: FloatArray, is_narrow: bool = False
) -> RecordLikelihood:
    # It sees each table through this very function.
    from sievert.observations._joint_likelihood import JointLikelihood

    return JointLikelihood(noise, belief)


@likelihood_of.register
def _of_place(noise: PlanarNoise, belief: FloatArray, is_narrow: bool = False) -> RecordLikelihood:
    return PlanarLikelihood(noise, belief)
