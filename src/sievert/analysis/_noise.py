"""A mechanism without a list: noise that is the same everywhere.

ε comes by the sensitivity, guesses by what one record shows through the noise, with any number of answers.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, singledispatch

import numpy as np

from sievert.analysis._analysis import (
    BY_PROMISE,
    BY_RHO,
    SEED,
    Analysis,
    EpsilonAtDelta,
    guess_at_eps,
    largest_drawn,
)
from sievert.analysis._attacker import Attacker
from sievert.analysis._enclosure import Enclosure, Vulnerability
from sievert.analysis._measurement import Measurement
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
from sievert.errors import SievertError, TooLargeError
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
from sievert.spaces import Metric, metrics

__all__ = [
    "EXACT",
    "JointNoiseAnalysis",
    "NoiseAnalysis",
    "TableNoiseAnalysis",
    "bits_of",
    "clamping_loses_answers",
    "largest_guess",
]

EXACT = "exact: one record seen through the noise"
ABOVE = "bound: one record seen through the noise"

# Situations of the other records that are simulated, each with its part of the work.
MOST_SITUATIONS = 32


class NoiseAnalysis(Analysis):
    """Noise of one law on every answer."""

    is_listed = False

    def __init__(self, measurement: Measurement, noise: NoiseChannel) -> None:
        super().__init__(measurement)
        self.noise = noise

    @property
    def description(self) -> str:
        return self.noise.words()

    @property
    def absence(self) -> bool:
        """Whether records may be left out."""
        return False

    @cached_property
    def capacity(self) -> Capacity | None:
        """By the noise; where that is a bound, never above what any mechanism of this ε gives away."""
        policy, eps, found = self.measurement.policy, self.epsilon.nats, None
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
    def prior(self) -> FloatArray:
        """About the value of one record."""
        self.measurement.require_record_prior()
        return self.measurement.float_record_prior

    @cached_property
    def likelihoods(self) -> tuple[RecordLikelihood, ...]:
        """One record, once for each set of values that the others may leave possible; none: not known."""
        return self._likelihoods(self.prior)

    def _likelihoods(self, belief: FloatArray) -> tuple[RecordLikelihood, ...]:
        try:
            masks = _possible(self.measurement.policy)
            beliefs = [belief] if masks is None else [_among(belief, mask) for mask in masks]
            narrow = clamping_loses_answers(self.noise, self.measurement)
            return tuple(likelihood_of(self.noise, found, narrow) for found in beliefs if found.any())
        except TooLargeError:
            return ()

    @property
    def uniform_bits(self) -> float | None:
        values = len(self.measurement.policy.values)
        found = largest_guess(self._likelihoods(np.full(values, 1 / values)), 1)
        return None if found is None or not found.exact else bits_of(found)

    def _gain(self, attacker: Attacker, releases: int) -> Vulnerability:
        """What an attacker gains about one record, in the context of the others that gains most."""
        gain = attacker.gain
        assert gain is not None
        found: list[RecordGain] = []
        try:
            found = [view.gain(gain, releases) for view in self.likelihoods]
        except TooLargeError:
            if self.measurement.policy.constrained:
                raise
        if not found:
            return self._bounded_gain(gain, releases)
        worst = (min if gain.is_loss else max)(found, key=lambda item: item.after)
        return Vulnerability.of_gain(worst, gain.is_loss)

    def _bounded_gain(self, gain: GainFunction, releases: int) -> Vulnerability:
        """What ε allows any attacker; a guess in one try at most what any bound on it says."""
        policy = self.measurement.policy
        if policy.constrained or not gain.is_convex:
            raise TooLargeError(f"one record under {self.noise.words()} is not listed", size=math.inf)
        if isinstance(gain, Identity):
            found = self.vulnerability(releases=releases)
            ends = found.posterior
            if not found.is_exact:
                ends = Enclosure(found.prior, found.value, ends.method)
            return Vulnerability(found.prior, ends, releases, gain.name)
        apart = 1.0 if policy.hides_any_two else _furthest(policy)
        nats = releases * apart * self.epsilon.nats if apart else 0.0
        return Vulnerability.of_gain(gain_within(gain, self.prior, nats, releases), gain.is_loss)

    def _drawn(self, gain: GainFunction, releases: int, share: int) -> SimulatedVulnerability | None:
        """In the context of the others where it is most, each with its part of the work and of the risk."""
        views = self.likelihoods
        if not views or len(views) > MOST_SITUATIONS:
            return None
        with suppress(TooLargeError):
            return largest_drawn(
                [view.simulated(releases, SEED, adversary=gain, share=share * len(views)) for view in views],
                gain.is_loss,
            )
        return None

    @cached_property
    def vulnerability_limit(self) -> float | None:
        return max((view.limit for view in self.likelihoods), default=None)

    def _releases_within(self, limit: float) -> ReleasesWithin | None:
        found = []
        with suppress(TooLargeError):
            found = [view.releases_within(limit) for view in self.likelihoods]
        return min(found, key=lambda kept: math.inf if kept.releases is None else kept.releases, default=None)

    def _own_first_guess(self) -> tuple[Vulnerability, float]:
        found = largest_guess(self.likelihoods, 1)
        if found is None:
            prior, after = float(self.prior.max()), guess_at_eps(self.measurement, self.epsilon.nats)
            record = RecordLeakage.at_most(prior, after, math.log2(after / prior))
        else:
            method = EXACT if found.exact else ABOVE
            bits = bits_of(found)
            record = RecordLeakage(found.before, found.guess, bits, (), method, is_bound=not found.exact)
        return Vulnerability.of_record(record), record.bits

    def _own_guess(self, releases: int) -> Vulnerability | None:
        found = largest_guess(self.likelihoods, releases)
        return None if found is None else Vulnerability.of_guess(found)


class TableNoiseAnalysis(NoiseAnalysis):
    """Noise in the cells of a table: ε comes from its sensitivity."""

    noise: TableNoise

    def __init__(self, measurement: Measurement, noise: TableNoise) -> None:
        super().__init__(measurement, noise)
        self.sensitivity = measurement.sensitivity
        self.steps = self.sensitivity.steps
        self.exact_eps = noise.eps_of(self.sensitivity) if noise.keeps_eps else None
        if self.exact_eps is not None:
            self.certificate = NoiseProof.of(noise, self.sensitivity)

    @property
    def absence(self) -> bool:
        return self.measurement.absence

    def dominating_pair(self, releases: int = 1) -> tuple[Channel, Answers | Metric] | None:
        """Two tables as far apart as one record moves them, told apart by their likelihood ratio alone."""
        policy, steps = self.measurement.policy, self.sensitivity.steps
        if policy.constrained or policy.is_metric or steps.denominator != 1 or steps == 0:
            return None
        with suppress(TooLargeError):
            return _pair(self.noise, int(steps), releases), metrics.discrete(2)
        return None


class JointNoiseAnalysis(NoiseAnalysis):
    """Several tables with noise of their own: ε is the largest sum over one pair of values."""

    noise: JointNoise

    def __init__(self, measurement: Measurement, noise: JointNoise) -> None:
        super().__init__(measurement, noise)
        self.exact_eps = noise.joint.cost if noise.keeps_eps else None
        self.certificate = JointNoiseProof.of(noise)
        self.promise_method = BY_PROMISE if noise.keeps_eps else BY_RHO

    @property
    def rho(self) -> Fraction | None:
        return None if self.measurement.policy.is_metric else self.noise.joint_rho.cost

    def epsilon_at(self, delta: float) -> EpsilonAtDelta | None:
        """The largest over the moves of one record that no other exceeds."""
        policy, noise = self.measurement.policy, self.noise
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
        if self.rho is None:
            return 1.0
        claim = ZeroConcentratedClaim(math.nextafter(float(count * self.rho), math.inf))
        with suppress(SievertError):
            return min(
                1.0, guess_upper_bound(claim, self.measurement.policy, self.measurement.informative_prior)
            )
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


def clamping_loses_answers(noise: NoiseChannel, measurement: Measurement) -> bool:
    """Whether noisy numbers are clamped to less than the true ones may be."""
    if not isinstance(noise, TableNoise) or noise.limits is None:
        return False
    least, greatest = noise.statistic.range(measurement.policy, measurement.absence)
    return noise.limits[0] > least or noise.limits[1] < greatest


def largest_guess(views: tuple[RecordLikelihood, ...], count: int) -> RepeatedGuess | None:
    """The guess in the context of the others where it grows most; None where it is not known."""
    found = []
    with suppress(TooLargeError):
        found = [view.guess(count) for view in views]
    return max(found, key=lambda guess: (guess.guess / guess.before, guess.guess), default=None)


def bits_of(found: RepeatedGuess) -> float:
    return math.log1p((found.guess - found.before) / found.before) / math.log(2)
