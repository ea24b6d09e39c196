"""What every question asks of a mechanism, and the bounds on a guess that need nothing but its ε or ρ."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import (
    Channel,
    Epsilon,
    NoiseChannel,
    TableNoise,
)
from sievert.errors import SievertError, TooLargeError
from sievert.files import PolicyScenario
from sievert.limits import guess_allowed_by_epsilon, guess_upper_bound
from sievert.limits.promises import LARGEST_RELEASES, ApproximateClaim, Claim, ZeroConcentratedClaim
from sievert.measures import (
    Capacity,
    GainFunction,
    Identity,
    RecordLeakage,
    gains,
    record_leakage,
)
from sievert.observations import (
    RecordGain,
    RecordLikelihood,
    ReleasesWithin,
    RepeatedGuess,
    SimulatedVulnerability,
)
from sievert.policies import Answers
from sievert.proofs import Proof, verify
from sievert.questions.acceptance import CLAIM_TOLERANCE, ROUNDED, is_within, record_belief
from sievert.spaces import Metric

__all__ = [
    "ABOVE",
    "BY_PROMISE",
    "BY_RHO",
    "EXACT",
    "SEED",
    "SHARE",
    "Analysis",
    "EpsilonAtDelta",
    "belief_of",
    "clamping_loses_answers",
    "guess_at_epsilon",
    "largest_drawn",
    "leakage_bits",
    "worst_context_guess",
]

# The seed of every simulation, and the part of the work of the first that each further one takes.
SEED, SHARE = 0, 4
EXACT = "exact: one record seen through the noise"
ABOVE = "bound: one record seen through the noise"
BY_PROMISE = "bound: what any mechanism of this ε allows after all releases"
BY_RHO = "bound: what any mechanism of this ρ allows after all releases"
BY_SUM = "bound: ε adds up over the releases"
# Beyond this many values their distances are not listed.
LARGEST_PAIRS = 5_000
# Columns of a channel that are proportional up to 1e-12 count as one, in each of up to a thousand releases.
UNRESOLVED = 1e-9


class EpsilonAtDelta(NamedTuple):
    """ε at some δ, exactly or at most."""

    nats: float
    exact: bool


class Analysis(ABC):
    """What every question asks of a mechanism."""

    def __init__(self, scenario: PolicyScenario) -> None:
        self.scenario = scenario
        self._repeated: dict[int, RepeatedGuess] = {}
        self._simulated: dict[int, SimulatedVulnerability | None] = {}
        # What questions found and ask for again.
        self.kept: dict[str, Any] = {}

    @property
    def epsilon(self) -> Epsilon:
        """The smallest ε for which the mechanism keeps the policy."""
        return self.scenario.epsilon

    @property
    def words(self) -> str:
        """The mechanism in words."""
        return self.scenario.mechanism.words()

    listed: bool = True
    promise_method: str = BY_PROMISE
    # What a list has no need of: how far one record moves the table, ε as a fraction, and its certificate.
    steps: Fraction | None = None
    exact_eps: Fraction | None = None
    certificate: Proof | None = None

    @cached_property
    def proved(self) -> bool | None:
        """Whether the certificate of the noise was verified; None where there is none."""
        return None if self.certificate is None else bool(verify(self.certificate))

    def neighbours(self, releases: int = 1) -> tuple[Channel, Answers | Metric] | None:
        """A channel that tells neighbours apart as so many releases do, and who they are; None: no list."""
        return None

    def level_at(self, delta: float) -> EpsilonAtDelta | None:
        """The ε that one release keeps at a δ, where that does not need a list; None: not known."""
        return None

    @property
    def rho(self) -> Fraction | None:
        """What one release costs in ρ, where it is several tables; None: not known."""
        return None

    @property
    @abstractmethod
    def database(self) -> Capacity | None:
        """What the whole database gives away whatever is believed; None where that is not known."""

    @property
    @abstractmethod
    def guess_limit(self) -> float | None:
        """The best guess about one record after infinitely many releases; None where it is not known."""

    @abstractmethod
    def releases_within(self, limit: float) -> ReleasesWithin | None:
        """How many releases keep the best guess within a limit; None where that is not known."""

    @property
    @abstractmethod
    def uniform_bits(self) -> float | None:
        """Bits that one release leaks about a record of any value, all equally likely; None: not known."""

    @abstractmethod
    def gain(self, adversary: GainFunction, releases: int = 1) -> RecordGain:
        """What an adversary gains about one record when all others are known."""

    def simulated(self, releases: int) -> SimulatedVulnerability | None:
        """The best guess after so many releases by simulation; None where it is exact, or too large."""
        if releases not in self._simulated:
            exact = self.repeated(releases).exact
            identity = gains.identity(self.scenario.policy.values)
            self._simulated[releases] = None if exact else self._drawn(identity, releases, 1)
        return self._simulated[releases]

    def simulated_gain(self, adversary: GainFunction, releases: int) -> SimulatedVulnerability | None:
        """What an adversary gains by simulation; None where it is too large for one."""
        if isinstance(adversary, Identity):
            return self.simulated(releases) or self._drawn(adversary, releases, 1)
        # Some of the work of one simulation, since a file may name several adversaries.
        return self._drawn(adversary, releases, SHARE)

    @abstractmethod
    def _drawn(self, adversary: GainFunction, releases: int, share: int) -> SimulatedVulnerability | None:
        """A gain about one record by a part of the work of one simulation; None: too large."""

    @abstractmethod
    def _own_record(self) -> RecordLeakage:
        """The guess about one record after one release, from the mechanism itself."""

    @abstractmethod
    def _own_repeated(self, count: int) -> RepeatedGuess | None:
        """The guess after several releases, from the mechanism itself; None where it is not known."""

    @cached_property
    def record(self) -> RecordLeakage:
        """The guess about one record after one release, never above what any mechanism of this ε allows."""
        record = self._own_record()
        if not record.is_bound:
            return record
        allowed = self._allowed(1, record.before, record.after)
        if allowed >= record.after:
            return record
        method = record.method if self.promise_method == BY_PROMISE else self.promise_method
        return replace(record, after=allowed, bits=math.log2(allowed / record.before), method=method)

    def repeated(self, count: int) -> RepeatedGuess:
        """The guess after several releases: the mechanism's own, or the least of the bounds on it."""
        if count not in self._repeated:
            self._repeated[count] = self._least_repeated(count)
        return self._repeated[count]

    def _least_repeated(self, count: int) -> RepeatedGuess:
        record = self.record
        if count == 1:
            return RepeatedGuess(record.before, record.after, not record.is_bound, count, record.method)
        found = self._own_repeated(count)
        if found is None:
            faded = guess_at_epsilon(self.scenario, self.epsilon.nats * count)
            found = RepeatedGuess(record.before, faded, False, count, BY_SUM)
        if self._is_unresolved(found):
            faded = guess_at_epsilon(self.scenario, self.epsilon.nats * count)
            found = replace(found, guess=faded, exact=False, method=BY_SUM)
        if not found.exact:
            allowed = self._allowed(count, found.before, found.guess)
            if allowed < found.guess:
                found = replace(found, guess=allowed, method=self.promise_method)
        if not record.is_bound and found.before == record.before and found.guess < record.after:
            # More releases never help less; rounding may say so by 1e-16.
            found = replace(found, guess=record.after)
        return found

    def person_guess(self, people: int, count: int) -> RepeatedGuess:
        """At most how well all records of a person with so many are guessed: what their joint ε allows."""
        record = self.record
        least, allowed = self.repeated(count).guess, 1.0
        claim = self._claim(count)
        with suppress(SievertError):
            if claim is not None:
                allowed = guess_upper_bound(
                    claim.of_group(people), self.scenario.policy, record_belief(self.scenario)
                )
        return RepeatedGuess(record.before, max(least, allowed), False, count, self.promise_method)

    def person_releases_within(self, people: int, limit: float) -> ReleasesWithin:
        """How many releases surely keep the guess about a person with so many records within a limit."""

        def kept(count: int) -> bool:
            return is_within(self.person_guess(people, count).guess, limit)

        if not kept(1):
            return ReleasesWithin(limit, 0, False, "one person")
        high = 2
        while high < LARGEST_RELEASES and kept(high):
            high = min(2 * high, LARGEST_RELEASES)
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if kept(middle) else (low, middle)
        return ReleasesWithin(limit, low, False, "one person")

    def _claim(self, count: int) -> Claim | None:
        """What so many releases keep, as a claim about one record; None: nothing is known."""
        eps, rho = self.epsilon.nats, self.scenario.claimed_rho
        if math.isfinite(eps):
            # So many are not composed one by one: ε adds up.
            total = math.nextafter(eps * count, math.inf)
            return ApproximateClaim(eps, 0.0, count) if count <= LARGEST_RELEASES else ApproximateClaim(total)
        return None if rho is None else ZeroConcentratedClaim(math.nextafter(float(count * rho), math.inf))

    def _allowed(self, count: int, before: float, enough: float) -> float:
        """What any mechanism of this ε allows after so many releases, where that is less than `enough`."""
        scenario, eps = self.scenario, self.epsilon.nats
        claimed = scenario.claimed_eps
        if claimed is not None and claimed * (1 - CLAIM_TOLERANCE) <= eps <= claimed * (1 + ROUNDED):
            eps = claimed  # a promise that is used up is asked about too, and answered once for both
        return guess_allowed_by_epsilon(scenario.policy, eps, count, record_belief(scenario), before, enough)

    def _is_unresolved(self, found: RepeatedGuess) -> bool:
        """Whether a guess that does grow has grown by less than sums of rounded terms can tell."""
        small = found.guess - found.before <= UNRESOLVED * found.before
        return small and self.epsilon.nats > 0 and self.guess_limit != found.before


def clamping_loses_answers(noise: NoiseChannel, scenario: PolicyScenario) -> bool:
    """Whether noisy numbers are clamped to less than the true ones may be."""
    if not isinstance(noise, TableNoise) or noise.limits is None:
        return False
    least, greatest = noise.statistic.range(scenario.policy, scenario.tabulated.absence)
    return noise.limits[0] > least or noise.limits[1] < greatest


def belief_of(scenario: PolicyScenario) -> FloatArray:
    """About the value of one record: where nothing is stated, without a fraction for each value."""
    if scenario.stated_record_prior is None:
        return _even(len(scenario.policy.values))
    return np.asarray(scenario.record_prior.astype(np.float64))


@lru_cache(maxsize=4)
def _even(values: int) -> FloatArray:
    """All equally likely: one array for every level of ε."""
    found = np.full(values, 1 / values)
    found.flags.writeable = False
    return found


def largest_drawn(found: Sequence[SimulatedVulnerability], is_loss: bool = False) -> SimulatedVulnerability:
    """The simulation of the situation that gains most, with the interval for the largest of all of them."""
    best = min if is_loss else max
    ends = best(item.lower for item in found), best(item.upper for item in found)
    most = best(found, key=lambda item: item.value)
    return replace(most, lower=ends[0], upper=ends[1], samples=sum(item.samples for item in found))


def worst_context_guess(views: tuple[RecordLikelihood, ...], count: int) -> RepeatedGuess | None:
    """The guess in the situation of the others where it grows most; None where it is not known."""
    found = []
    with suppress(TooLargeError):
        found = [view.guess(count) for view in views]
    return max(found, key=lambda guess: (guess.guess / guess.before, guess.guess), default=None)


def leakage_bits(found: RepeatedGuess) -> float:
    return math.log1p((found.guess - found.before) / found.before) / math.log(2)


def guess_at_epsilon(scenario: PolicyScenario, eps: float) -> float:
    """What this ε alone allows one to guess about a record (Alvim et al., Prop 21); 1 where it says nothing.

    1/Σ_u e^(-ε·d(v, u)) at the worst of very many values of equal belief, without listing their distances.
    """
    policy = scenario.policy
    if policy.constrained or math.isinf(eps):
        return 1.0
    if len(policy.values) <= LARGEST_PAIRS or policy.record_metric.uniform_distance is not None:
        return record_leakage(eps, policy, prior=scenario.record_prior).after
    return 1.0
