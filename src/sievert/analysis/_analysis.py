"""The one protocol of "what is released, analysed": every question asks these few things.

Privacy parameters are worst cases over neighbouring databases; vulnerability is what one attacker gains after
some releases; capacity what any prior and gain function could. What is only bounded says so, and by what.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from sievert.analysis._attacker import Attacker
from sievert.analysis._enclosure import Enclosure, Vulnerability
from sievert.analysis._measurement import CLAIM_TOLERANCE, ROUNDED, Measurement, is_within
from sievert.channels import Channel, Epsilon
from sievert.errors import SievertError
from sievert.limits import guess_allowed_by_epsilon, guess_upper_bound
from sievert.limits.promises import LARGEST_RELEASES, ApproximateClaim, Claim, ZeroConcentratedClaim
from sievert.measures import Capacity, GainFunction, Identity, gains, record_leakage
from sievert.observations import ReleasesWithin, SimulatedVulnerability
from sievert.policies import Answers
from sievert.proofs import Proof, verify
from sievert.spaces import Metric

__all__ = [
    "BY_PROMISE",
    "BY_RHO",
    "SEED",
    "SHARE",
    "Analysis",
    "EpsilonAtDelta",
    "largest_drawn",
]

BY_PROMISE = "bound: what any mechanism of this ε allows after all releases"
BY_RHO = "bound: what any mechanism of this ρ allows after all releases"
BY_SUM = "bound: ε adds up over the releases"
# Beyond this many values their distances are not listed.
LARGEST_PAIRS = 5_000
# Columns of a channel that are proportional up to 1e-12 count as one, in each of up to a thousand releases.
UNRESOLVED = 1e-9

BEST_GUESS = Attacker()
# The seed of every simulation, and the part of the work of the first that each further one takes.
SEED, SHARE = 0, 4


class EpsilonAtDelta(NamedTuple):
    """ε at some δ, exactly or at most."""

    nats: float
    exact: bool


class Analysis(ABC):
    """What one measurement reveals."""

    is_listed: bool = True
    promise_method: str = BY_PROMISE
    # Where ε follows from the sensitivity: steps of the largest move, ε as a fraction, its certificate.
    steps: Fraction | None = None
    exact_eps: Fraction | None = None
    certificate: Proof | None = None

    def __init__(self, measurement: Measurement) -> None:
        self.measurement = measurement
        self._guesses: dict[int, Vulnerability] = {}
        self._simulated: dict[int, SimulatedVulnerability | None] = {}

    # ── Privacy parameters ──────────────────────────────────────────────────────────────────────────────────

    @property
    def epsilon(self) -> Epsilon:
        """The smallest ε for which the mechanism is private, with the pair that attains it."""
        return self.measurement.epsilon

    @cached_property
    def is_verified(self) -> bool | None:
        """Whether the certificate of ε was verified; None where there is none."""
        return None if self.certificate is None else bool(verify(self.certificate))

    def epsilon_at(self, delta: float) -> EpsilonAtDelta | None:
        """The ε of one release at a δ, where that does not need a list; None: not known."""
        return None

    @property
    def rho(self) -> Fraction | None:
        """The zero-concentrated parameter of one release; None: not known."""
        return None

    def dominating_pair(self, releases: int = 1) -> tuple[Channel, Answers | Metric] | None:
        """A channel whose neighbours are as distinguishable as neighbouring databases; None: no list."""
        return None

    # ── Vulnerability ───────────────────────────────────────────────────────────────────────────────────────

    def vulnerability(self, attacker: Attacker = BEST_GUESS, releases: int = 1) -> Vulnerability:
        """What an attacker gains; a guess of the value is never above what any mechanism of this ε allows."""
        if attacker.records > 1:
            return self._group_guess(attacker.records, releases)
        if attacker.gain is not None:
            return self._gain(attacker, releases)
        if releases not in self._guesses:
            self._guesses[releases] = self._first_guess() if releases == 1 else self._later_guess(releases)
        return self._guesses[releases]

    @property
    @abstractmethod
    def vulnerability_limit(self) -> float | None:
        """The best guess about one record after infinitely many releases; None where it is not known."""

    @abstractmethod
    def _releases_within(self, limit: float) -> ReleasesWithin | None:
        """How many releases keep the best guess within a limit; None where that is not known."""

    def releases_within(self, limit: float, attacker: Attacker = BEST_GUESS) -> ReleasesWithin | None:
        """How many releases keep what an attacker guesses within a limit; None where that is not known."""
        if attacker.records == 1:
            return self._releases_within(limit)
        last = last_within(lambda count: is_within(self.vulnerability(attacker, count).value, limit))
        return ReleasesWithin(limit, last, False, "one person")

    def simulate(self, attacker: Attacker = BEST_GUESS, releases: int = 1) -> SimulatedVulnerability | None:
        """The vulnerability by simulation, an estimate; None where a guess is exact, or it takes too long."""
        gain = attacker.gain
        if gain is None:
            if releases not in self._simulated:
                exact = self.vulnerability(releases=releases).is_exact
                identity = gains.identity(self.measurement.policy.values)
                self._simulated[releases] = None if exact else self._drawn(identity, releases, 1)
            return self._simulated[releases]
        if isinstance(gain, Identity):
            return self.simulate(releases=releases) or self._drawn(gain, releases, 1)
        # Some of the work of one simulation, since a file may name several attackers.
        return self._drawn(gain, releases, SHARE)

    @abstractmethod
    def _drawn(self, gain: GainFunction, releases: int, share: int) -> SimulatedVulnerability | None:
        """A gain about one record by a part of the work of one simulation; None: too large."""

    @property
    @abstractmethod
    def uniform_bits(self) -> float | None:
        """Bits that one release leaks about a record of any value, all equally likely; None: not known."""

    # ── Capacity ────────────────────────────────────────────────────────────────────────────────────────────

    @property
    @abstractmethod
    def capacity(self) -> Capacity | None:
        """Bayes capacity about the whole database; None where that is not known."""

    # ── Words ───────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def description(self) -> str:
        """The mechanism in words."""
        return self.measurement.description

    # ── What each form of mechanism has of its own ──────────────────────────────────────────────────────────

    @abstractmethod
    def _own_first_guess(self) -> tuple[Vulnerability, float]:
        """The guess after one release from the mechanism itself, and its bits with all digits."""

    @abstractmethod
    def _own_guess(self, releases: int) -> Vulnerability | None:
        """The guess after several releases from the mechanism itself; None where it is not known."""

    @abstractmethod
    def _gain(self, attacker: Attacker, releases: int) -> Vulnerability:
        """What an attacker with any gain function gains."""

    # ── The least of all bounds ─────────────────────────────────────────────────────────────────────────────

    @cached_property
    def _first(self) -> tuple[Vulnerability, float]:
        found, bits = self._own_first_guess()
        if found.is_exact:
            return found, bits
        allowed = self._allowed(1, found.prior, found.value)
        if allowed >= found.value:
            return found, bits
        method = found.posterior.method if self.promise_method == BY_PROMISE else self.promise_method
        return found.tightened(allowed, method), math.log2(allowed / found.prior)

    @property
    def first_bits(self) -> float:
        """Bits of the guess after one release, with all digits where it grows by little."""
        return self._first[1]

    def _first_guess(self) -> Vulnerability:
        return self._first[0]

    def _later_guess(self, count: int) -> Vulnerability:
        first, found = self._first[0], self._own_guess(count)
        if found is None or self._is_unresolved(found):
            prior = first.prior if found is None else found.prior
            sum_of_eps = Enclosure.at_most(
                guess_at_eps(self.measurement, self.epsilon.nats * count), BY_SUM, prior
            )
            found = Vulnerability(prior, sum_of_eps, count)
        if not found.is_exact:
            found = found.tightened(self._allowed(count, found.prior, found.value), self.promise_method)
        if first.is_exact and found.prior == first.prior and found.value < first.value:
            # More releases never help less; rounding may say so by 1e-16.
            found = replace(found, posterior=replace(found.posterior, upper=first.value))
        return found

    def _group_guess(self, records: int, count: int) -> Vulnerability:
        """At most how well all records of a person are guessed: what their joint ε allows (group privacy)."""
        prior, least, allowed = self._first[0].prior, self.vulnerability(releases=count).value, 1.0
        claim = self._claim(count)
        with suppress(SievertError):
            if claim is not None:
                allowed = guess_upper_bound(
                    claim.of_group(records), self.measurement.policy, self.measurement.informative_prior
                )
        return Vulnerability(prior, Enclosure.at_most(max(least, allowed), self.promise_method, prior), count)

    def _claim(self, count: int) -> Claim | None:
        """What so many releases satisfy, as a claim about one record; None: nothing is known."""
        eps, rho = self.epsilon.nats, self.measurement.claimed_rho
        if math.isfinite(eps):
            # So many are not composed one by one: ε adds up.
            total = math.nextafter(eps * count, math.inf)
            return ApproximateClaim(eps, 0.0, count) if count <= LARGEST_RELEASES else ApproximateClaim(total)
        return None if rho is None else ZeroConcentratedClaim(math.nextafter(float(count * rho), math.inf))

    def _allowed(self, count: int, before: float, enough: float) -> float:
        """What any mechanism of this ε allows after so many releases, where that is less than `enough`."""
        measurement, eps = self.measurement, self.epsilon.nats
        claimed = measurement.claimed_eps
        if claimed is not None and claimed * (1 - CLAIM_TOLERANCE) <= eps <= claimed * (1 + ROUNDED):
            eps = claimed  # a promise that is used up is asked about too, and answered once for both
        return guess_allowed_by_epsilon(
            measurement.policy, eps, count, measurement.informative_prior, before, enough
        )

    def _is_unresolved(self, found: Vulnerability) -> bool:
        """Whether a guess that does grow has grown by less than sums of rounded terms can tell."""
        small = found.value - found.prior <= UNRESOLVED * found.prior
        return small and self.epsilon.nats > 0 and self.vulnerability_limit != found.prior


def last_within(keeps: Callable[[int], bool]) -> int:
    """The last number of releases that keeps something monotone, by doubling and halving; 0: none does."""
    if not keeps(1):
        return 0
    high = 2
    while high < LARGEST_RELEASES and keeps(high):
        high = min(2 * high, LARGEST_RELEASES)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if keeps(middle) else (low, middle)
    return low


def largest_drawn(found: Sequence[SimulatedVulnerability], is_loss: bool = False) -> SimulatedVulnerability:
    """The simulation of the context that gains most, with the interval for the largest of all of them."""
    best = min if is_loss else max
    ends = best(item.lower for item in found), best(item.upper for item in found)
    most = best(found, key=lambda item: item.value)
    return replace(most, lower=ends[0], upper=ends[1], samples=sum(item.samples for item in found))


def guess_at_eps(measurement: Measurement, eps: float) -> float:
    """What this ε alone allows one to guess about a record (Alvim et al., Prop 21); 1 where it says nothing.

    1/Σ_u e^(-ε·d(v, u)) at the worst of very many values of equal prior, without listing their distances.
    """
    policy = measurement.policy
    if policy.constrained or math.isinf(eps):
        return 1.0
    if len(policy.values) <= LARGEST_PAIRS or policy.record_metric.uniform_distance is not None:
        return record_leakage(eps, policy, prior=measurement.record_prior).after
    return 1.0
