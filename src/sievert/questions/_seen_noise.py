"""A mechanism without a list, seen as noise that is the same everywhere.

ε comes by the sensitivity, guesses by what one record shows through the noise, with any number of answers.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, singledispatch

import numpy as np

from sievert.arrays import BoolArray, FloatArray
from sievert.channels import (
    Channel,
    HistogramNoise,
    JointNoise,
    NoiseChannel,
    QuantileNoise,
    ScalarNoise,
    TableNoise,
)
from sievert.errors import FileError, SievertError, TooLargeError
from sievert.files import PolicyScenario
from sievert.limits import guess_upper_bound, largest_epsilon, worst_leakage
from sievert.limits.promises import ZeroConcentratedClaim
from sievert.measures import (
    Capacity,
    GainFunction,
    Identity,
    RecordLeakage,
    noise_capacity,
)
from sievert.observations import (
    RecordGain,
    RecordLikelihood,
    ReleasesWithin,
    RepeatedGuess,
    SimulatedVulnerability,
    gain_within,
    likelihood_of,
    likelihood_ratio_law,
)
from sievert.policies import Answers, Policy
from sievert.proofs import JointNoiseProof, NoiseProof
from sievert.questions._seen_base import (
    ABOVE,
    BY_PROMISE,
    BY_RHO,
    EXACT,
    SEED,
    Analysis,
    EpsilonAtDelta,
    belief_of,
    clamping_loses_answers,
    guess_at_epsilon,
    largest_drawn,
    leakage_bits,
    worst_context_guess,
)
from sievert.questions.acceptance import record_belief
from sievert.spaces import Metric, metrics

__all__ = ["JointNoiseAnalysis", "NoiseAnalysis", "TableNoiseAnalysis"]

# Situations of the other records that are simulated, each with its part of the work.
MOST_SITUATIONS = 32


class NoiseAnalysis(Analysis):
    """Noise of one law on every answer."""

    listed = False

    def __init__(self, scenario: PolicyScenario, noise: NoiseChannel) -> None:
        super().__init__(scenario)
        self.noise = noise

    @property
    def words(self) -> str:
        return self.noise.words()

    @property
    def absence(self) -> bool:
        """Whether records may be left out."""
        return False

    @cached_property
    def database(self) -> Capacity | None:
        """By the noise; where that is a bound, never above what any mechanism of this ε gives away."""
        policy, eps, found = self.scenario.policy, self.epsilon.nats, None
        with suppress(TooLargeError):
            found = noise_capacity(self.noise, policy, self.absence)
        if found is None or found.gap == 0 or math.isinf(eps) or not policy.constrained:
            return found
        with suppress(TooLargeError):
            most = worst_leakage(policy, eps).upper
            if most.factor < found.factor:
                return replace(found, factor=most.factor, bits=most.bits, gap=most.factor - 1)
        return found

    @cached_property
    def belief(self) -> FloatArray:
        """About the value of one record."""
        stated = self.scenario.document.adversary.prior
        if stated is not None and not stated.is_uniform and not self.scenario.query.is_record:
            raise FileError(
                f"{self.scenario.source}, adversary.prior: is a belief about the answer, and no list holds "
                "the answers; give record_prior, a belief about one record"
            )
        return belief_of(self.scenario)

    @cached_property
    def views(self) -> tuple[RecordLikelihood, ...]:
        """One record, once for each set of values that the others may leave possible; none: not known."""
        return self._views(self.belief)

    def _views(self, belief: FloatArray) -> tuple[RecordLikelihood, ...]:
        try:
            masks = _possible(self.scenario.policy)
            beliefs = [belief] if masks is None else [_among(belief, mask) for mask in masks]
            narrow = clamping_loses_answers(self.noise, self.scenario)
            return tuple(likelihood_of(self.noise, found, narrow) for found in beliefs if found.any())
        except TooLargeError:
            return ()

    @property
    def uniform_bits(self) -> float | None:
        values = len(self.scenario.policy.values)
        found = worst_context_guess(self._views(np.full(values, 1 / values)), 1)
        return None if found is None or not found.exact else leakage_bits(found)

    def gain(self, adversary: GainFunction, releases: int = 1) -> RecordGain:
        """What an adversary gains about one record, in the situation of the others that gains most."""
        found: list[RecordGain] = []
        try:
            found = [view.gain(adversary, releases) for view in self.views]
        except TooLargeError:
            if self.scenario.policy.constrained:
                raise
        if not found:
            return self._bounded_gain(adversary, releases)
        return (min if adversary.is_loss else max)(found, key=lambda item: item.after)

    def _bounded_gain(self, adversary: GainFunction, releases: int) -> RecordGain:
        """What ε allows any adversary; a guess in one try at most what any bound on it says."""
        policy = self.scenario.policy
        if policy.constrained or not adversary.is_convex:
            raise TooLargeError(f"one record under {self.noise.words()} is not listed", size=math.inf)
        if isinstance(adversary, Identity):
            least = self.repeated(releases)
            ends = least.guess if least.exact else least.before, least.guess
            return RecordGain(
                adversary.name, least.before, least.guess, least.exact, *ends, least.method, releases
            )
        apart = 1.0 if policy.hides_any_two else _furthest(policy)
        nats = releases * apart * self.epsilon.nats if apart else 0.0
        return gain_within(adversary, self.belief, nats, releases)

    def _drawn(self, adversary: GainFunction, releases: int, share: int) -> SimulatedVulnerability | None:
        """In the situation of the others where it is most, each with its part of the work and of the risk."""
        views = self.views
        if not views or len(views) > MOST_SITUATIONS:
            return None
        with suppress(TooLargeError):
            return largest_drawn(
                [
                    view.simulated(releases, SEED, adversary=adversary, share=share * len(views))
                    for view in views
                ],
                adversary.is_loss,
            )
        return None

    @cached_property
    def guess_limit(self) -> float | None:
        return max((view.limit for view in self.views), default=None)

    def releases_within(self, limit: float) -> ReleasesWithin | None:
        found = []
        with suppress(TooLargeError):
            found = [view.releases_within(limit) for view in self.views]
        return min(found, key=lambda kept: math.inf if kept.releases is None else kept.releases, default=None)

    def _own_record(self) -> RecordLeakage:
        found = worst_context_guess(self.views, 1)
        if found is None:
            after = guess_at_epsilon(self.scenario, self.epsilon.nats)
            return RecordLeakage.at_most(
                float(self.belief.max()), after, math.log2(after / float(self.belief.max()))
            )
        method = EXACT if found.exact else ABOVE
        return RecordLeakage(
            found.before, found.guess, leakage_bits(found), (), method, is_bound=not found.exact
        )

    def _own_repeated(self, count: int) -> RepeatedGuess | None:
        return worst_context_guess(self.views, count)


class TableNoiseAnalysis(NoiseAnalysis):
    """Noise in the cells of a table: ε comes from its sensitivity."""

    noise: TableNoise

    def __init__(self, scenario: PolicyScenario, noise: TableNoise) -> None:
        super().__init__(scenario, noise)
        self.sensitivity = scenario.tabulated.sensitivity
        self.steps = self.sensitivity.steps
        self.exact_eps = noise.eps_of(self.sensitivity) if noise.keeps_eps else None
        if self.exact_eps is not None:
            self.certificate = NoiseProof.of(noise, self.sensitivity)

    @property
    def absence(self) -> bool:
        return self.scenario.tabulated.absence

    def neighbours(self, releases: int = 1) -> tuple[Channel, Answers | Metric] | None:
        """Two tables as far apart as one record moves them, told apart by their likelihood ratio alone."""
        policy, steps = self.scenario.policy, self.sensitivity.steps
        if policy.constrained or policy.is_metric or steps.denominator != 1 or steps == 0:
            return None
        with suppress(TooLargeError):
            return _pair(self.noise, int(steps), releases), metrics.discrete(2)
        return None


class JointNoiseAnalysis(NoiseAnalysis):
    """Several tables with noise of their own: ε is the largest sum over one pair of values."""

    noise: JointNoise

    def __init__(self, scenario: PolicyScenario, noise: JointNoise) -> None:
        super().__init__(scenario, noise)
        self.exact_eps = noise.joint.cost if noise.keeps_eps else None
        self.certificate = JointNoiseProof.of(noise)
        self.promise_method = BY_PROMISE if noise.keeps_eps else BY_RHO

    @property
    def rho(self) -> Fraction | None:
        return None if self.scenario.policy.is_metric else self.noise.joint_rho.cost

    def level_at(self, delta: float) -> EpsilonAtDelta | None:
        """The largest over the moves of one record that no other exceeds."""
        policy, noise = self.scenario.policy, self.noise
        if policy.constrained or policy.is_metric:
            return None
        if any(not isinstance(p, QuantileNoise) and not p.law.is_log_concave for p in noise.parts):
            return None
        known = all(move.pair is not None for move in noise.moves)
        exact = known and not any(isinstance(p, QuantileNoise) for p in noise.parts)
        largest, attained = largest_epsilon([noise.cells(move) for move in noise.moves], delta)
        return EpsilonAtDelta(largest, exact and attained)

    def _allowed(self, count: int, before: float, enough: float) -> float:
        """What any mechanism of this ε allows, or of this ρ where some noise keeps no ε."""
        if self.noise.keeps_eps:
            return super()._allowed(count, before, enough)
        scenario = self.scenario
        if self.rho is None:
            return 1.0
        claim = ZeroConcentratedClaim(math.nextafter(float(count * self.rho), math.inf))
        with suppress(SievertError):
            return min(1.0, guess_upper_bound(claim, scenario.policy, record_belief(scenario)))
        return 1.0

    @property
    def absence(self) -> bool:
        return self.noise.absence


@singledispatch
def _pair(noise: TableNoise, steps: int, releases: int) -> Channel:
    raise TooLargeError(
        f"two tables under {noise.words()} have no law of their likelihood ratio", size=math.inf
    )


@_pair.register
def _pair_of_sums(noise: ScalarNoise, steps: int, releases: int) -> Channel:
    return _two_rows(noise, steps, releases)


@_pair.register
def _pair_of_tables(noise: HistogramNoise, steps: int, releases: int) -> Channel:
    """One step in each of so many cells is one step in one cell so many times, by symmetry of the noise."""
    return _two_rows(noise, 1, steps * releases)


def _two_rows(noise: TableNoise, steps: int, times: int) -> Channel:
    found = likelihood_ratio_law(noise.law, steps, times)
    rows = np.stack([found.log_pmf, found.log_shown])
    if found.hidden > 0:
        certain = math.log(found.hidden)
        rows = np.concatenate([rows, [[certain, -math.inf], [-math.inf, certain]]], axis=1)
    return Channel.trusted(rows, "log")


def _furthest(policy: Policy) -> float:
    """The largest distance of two values of one record; inf where some are not joined, or too many."""
    metric = policy.record_metric
    if metric.uniform_distance is not None:
        return float(metric.uniform_distance)
    with suppress(TooLargeError):
        return float(np.max(metric.matrix, initial=0.0))
    return math.inf


def _possible(policy: Policy) -> BoolArray | None:
    """Distinct sets of values that one record may have given the others; None: all values always."""
    if not policy.constrained:
        return None
    if policy.known_groups is not None:
        # The others leave one place, in one of the groups.
        group_of, counts = policy.known_groups
        return np.array([group_of == group for group in np.flatnonzero(counts)])
    rows = policy.permitted_databases.rows
    found = []
    for record in range(policy.records):
        _, situation = np.unique(np.delete(rows, record, axis=1), axis=0, return_inverse=True)
        mask = np.zeros((int(situation.max(initial=0)) + 1, len(policy.values)), dtype=bool)
        mask[situation.ravel(), rows[:, record]] = True
        found.append(np.unique(mask, axis=0))
    return np.unique(np.concatenate(found), axis=0)


def _among(belief: FloatArray, mask: BoolArray) -> FloatArray:
    """The belief when some values are ruled out."""
    kept = np.where(mask, belief, 0.0)
    total = kept.sum()
    return np.asarray(kept / total if total else kept)
