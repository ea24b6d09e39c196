"""How questions see the mechanism of a file: through the list of its answers, or as noise without one.

Every question asks the same things: the true ε, whether the promise is kept, how well one record is guessed
now and after many releases, and what the whole database gives away. A list answers by looking at its entries.
Noise that is the same everywhere answers by closed forms, whatever the number of answers: ε by the
sensitivity, with a certificate that is verified here, and guesses by what one record shows through the noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import Any, NamedTuple

import numpy as np

from sievert.arrays import BoolArray, FloatArray
from sievert.channels import (
    CellNoise,
    Channel,
    Epsilon,
    NoiseChannel,
    QuantileNoise,
    SeveralNoise,
    SumNoise,
    TableNoise,
)
from sievert.errors import FileError, SievertError, TooLargeError
from sievert.files import Scenario, added_noise
from sievert.limits import allowed_guess, planned_claim, policy_guess, worst_leakage
from sievert.limits.promises import ZeroConcentratedClaim
from sievert.measures import (
    Adversary,
    Capacity,
    Identity,
    RecordLeakage,
    capacity,
    noise_capacity,
    record_leakage,
)
from sievert.observations import (
    OneRecord,
    RecordGain,
    RecordView,
    ReleasesWithin,
    RepeatedGuess,
    SimulatedGain,
    guess_limit,
    ratios_after,
    record_gain,
    record_view,
    releases_within,
    repeated_guess,
)
from sievert.policies import Answers, Policy
from sievert.proofs import JointNoiseProof, NoiseProof, Proof, verify
from sievert.questions._accept import CLAIM_TOLERANCE, ROUNDED, record_belief
from sievert.spaces import Metric, metrics

__all__ = ["SEED", "SHARE", "Seen", "belief_of", "one_record_of", "seen"]

EXACT = "exact: one record seen through the noise"
ABOVE = "bound: one record seen through the noise"
BY_PROMISE = "bound: what any mechanism of this ε allows after all releases"
BY_RHO = "bound: what any mechanism of this ρ allows after all releases"
BY_SUM = "bound: ε adds up over the releases"
# Beyond this many values their distances are not listed.
LARGEST_PAIRS = 5_000
# Entries of a list that are looked at one by one where the law of the noise says the same.
LARGEST_LOOKED_AT = 50_000
SEED = 0
# Each further simulation takes this part of the first, and is left out where it would draw fewer records.
SHARE, FEWEST = 4, 200
# Columns of a channel that are proportional up to 1e-12 count as one, in each of up to a thousand releases.
UNRESOLVED = 1e-9


class Level(NamedTuple):
    """ε at some δ, exactly or at most."""

    nats: float
    exact: bool


def seen(scenario: Scenario) -> Seen:
    """How to see the mechanism of a file; the file keeps the view, and the view what was found."""
    if "view" not in scenario.kept:
        scenario.kept["view"] = _seen(scenario.channel, scenario)
    view: Seen = scenario.kept["view"]
    return view


class Seen(ABC):
    """What every question asks of a mechanism."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._repeated: dict[int, RepeatedGuess] = {}
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

    def level_at(self, delta: float) -> Level | None:
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
    def gain(self, adversary: Adversary, releases: int = 1) -> RecordGain:
        """What an adversary gains about one record when all others are known."""

    def simulated(self, releases: int) -> SimulatedGain | None:
        """The best guess after so many releases by simulation; None where nobody needs it, or too large."""
        return None

    def simulated_gain(self, adversary: Adversary, releases: int) -> SimulatedGain | None:
        """What an adversary gains by simulation; None where it is not simulated, or too large."""
        return None

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
        allowed = self._allowed(1, record.before)
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
            faded = _faded(self.scenario, self.epsilon.nats * count)
            found = RepeatedGuess(record.before, faded, False, count, BY_SUM)
        if self._is_unresolved(found):
            faded = _faded(self.scenario, self.epsilon.nats * count)
            found = replace(found, guess=faded, exact=False, method=BY_SUM)
        if not found.exact:
            allowed = self._allowed(count, found.before)
            if allowed < found.guess:
                found = replace(found, guess=allowed, method=self.promise_method)
        if not record.is_bound and found.before == record.before and found.guess < record.after:
            # More releases never help less; rounding may say so by 1e-16.
            found = replace(found, guess=record.after)
        return found

    def _allowed(self, count: int, before: float) -> float:
        """What any mechanism of this ε allows after so many releases."""
        scenario, eps = self.scenario, self.epsilon.nats
        claimed = scenario.claimed_eps
        if claimed is not None and claimed * (1 - CLAIM_TOLERANCE) <= eps <= claimed * (1 + ROUNDED):
            eps = claimed  # a promise that is used up is asked about too, and answered once for both
        return allowed_guess(scenario.policy, eps, count, record_belief(scenario), before)

    def _is_unresolved(self, found: RepeatedGuess) -> bool:
        """Whether a guess that does grow has grown by less than sums of rounded terms can tell."""
        small = found.guess - found.before <= UNRESOLVED * found.before
        return small and self.epsilon.nats > 0 and self.guess_limit != found.before


@singledispatch
def _seen(channel: Channel, scenario: Scenario) -> Seen:
    return Listed(scenario)


@_seen.register
def _without_list(channel: NoiseChannel, scenario: Scenario) -> Seen:
    return Unlisted(scenario, channel)


@_seen.register
def _on_several(channel: SeveralNoise, scenario: Scenario) -> Seen:
    return OnSeveral(scenario, channel)


@_seen.register
def _on_table(channel: TableNoise, scenario: Scenario) -> Seen:
    return OnTable(scenario, channel)


class Listed(Seen):
    """Answers and outputs are listed, and all entries are looked at."""

    def neighbours(self, releases: int = 1) -> tuple[Channel, Answers | Metric] | None:
        return None if releases > 1 else (self.scenario.channel, self.scenario.answers)

    @property
    def database(self) -> Capacity:
        return capacity(self.scenario.channel)

    @cached_property
    def guess_limit(self) -> float | None:
        if self._view is not None:
            # Beliefs that add up to 1 but for rounding.
            return 1.0 if self._view.limit > 1 - 1e-12 else self._view.limit
        with suppress(TooLargeError):
            return guess_limit(self.scenario.channel, self.scenario.answers, self.scenario.record_prior)
        return None

    def releases_within(self, limit: float) -> ReleasesWithin | None:
        scenario = self.scenario
        with suppress(TooLargeError):
            if self._view is not None:
                return self._view.releases_within(limit)
        with suppress(TooLargeError):
            return releases_within(scenario.channel, scenario.answers, limit, scenario.record_prior)
        return None

    @cached_property
    def _view(self) -> OneRecord | None:
        """One record seen through noise of a known law, that looks alike whatever the others are."""
        scenario = self.scenario
        if scenario.policy.constrained:
            return None
        noise = added_noise(scenario)
        if not isinstance(noise, TableNoise):
            return None
        view = record_view(noise, belief_of(scenario), _is_narrow(noise, scenario))
        return None if view.is_cut else view

    def gain(self, adversary: Adversary, releases: int = 1) -> RecordGain:
        """By the law of the noise where it has one, else in every situation of the others."""
        if self._view is not None:
            return self._view.gain(adversary, releases)
        scenario = self.scenario
        return record_gain(scenario.channel, scenario.answers, adversary, releases, scenario.record_prior)

    @property
    def uniform_bits(self) -> float:
        return float(record_leakage(self.scenario.channel, self.scenario.answers).bits)

    def _own_record(self) -> RecordLeakage:
        scenario = self.scenario
        if self._view is not None and len(scenario.answers.labels) ** 2 > LARGEST_LOOKED_AT:
            found = _worst((self._view,), 1)
            if found is not None and found.exact:
                return RecordLeakage(found.before, found.guess, _bits(found), (), EXACT)
        return record_leakage(scenario.channel, scenario.answers, prior=scenario.record_prior)

    def _own_repeated(self, count: int) -> RepeatedGuess | None:
        """By the law of the noise where that is exact, else in every situation of the others."""
        by_law = None if self._view is None else _worst((self._view,), count)
        if by_law is not None and by_law.exact:
            return by_law
        scenario = self.scenario
        with suppress(TooLargeError):
            listed = repeated_guess(scenario.channel, scenario.answers, count, scenario.record_prior)
            return listed if by_law is None or listed.guess <= by_law.guess else by_law
        return by_law


class Unlisted(Seen):
    """Noise of one law on every answer."""

    listed = False

    def __init__(self, scenario: Scenario, noise: NoiseChannel) -> None:
        super().__init__(scenario)
        self.noise = noise
        self._drawn: dict[int, SimulatedGain | None] = {}

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
    def views(self) -> tuple[OneRecord, ...]:
        """One record, once for each set of values that the others may leave possible; none: not known."""
        return self._views(self.belief)

    def _views(self, belief: FloatArray) -> tuple[OneRecord, ...]:
        try:
            masks = _possible(self.scenario.policy)
            beliefs = [belief] if masks is None else [_among(belief, mask) for mask in masks]
            narrow = _is_narrow(self.noise, self.scenario)
            return tuple(record_view(self.noise, found, narrow) for found in beliefs if found.any())
        except TooLargeError:
            return ()

    @property
    def uniform_bits(self) -> float | None:
        values = len(self.scenario.policy.values)
        found = _worst(self._views(np.full(values, 1 / values)), 1)
        return None if found is None or not found.exact else _bits(found)

    def gain(self, adversary: Adversary, releases: int = 1) -> RecordGain:
        """What an adversary gains about one record, in the situation of the others that gains most."""
        found = [view.gain(adversary, releases) for view in self.views]
        if not found:
            raise TooLargeError(f"one record under {self.noise.words()} is not listed", size=math.inf)
        return (min if adversary.is_loss else max)(found, key=lambda item: item.after)

    def simulated(self, releases: int) -> SimulatedGain | None:
        """Beside a bound; not where what others leave possible differs, or clamping hides some noise."""
        if releases not in self._drawn:
            self._drawn[releases] = self._simulated(releases)
        return self._drawn[releases]

    def _simulated(self, releases: int) -> SimulatedGain | None:
        if len(self.views) != 1 or self.views[0].is_cut or self.repeated(releases).exact:
            return None
        with suppress(TooLargeError):
            return self.views[0].simulated(releases, SEED)
        return None

    def simulated_gain(self, adversary: Adversary, releases: int) -> SimulatedGain | None:
        view = self.views[0] if len(self.views) == 1 else None
        if not isinstance(view, RecordView) or view.is_cut:
            return None
        if isinstance(adversary, Identity):
            return self.simulated(releases)
        # Some of the work of one simulation, since a file may name several adversaries.
        samples = view.samples(adversary, releases) // SHARE
        if samples < FEWEST:
            return None
        with suppress(TooLargeError):
            return view.simulated(releases, SEED, samples, adversary)
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
        found = _worst(self.views, 1)
        if found is None:
            after = _faded(self.scenario, self.epsilon.nats)
            return RecordLeakage.at_most(
                float(self.belief.max()), after, math.log2(after / float(self.belief.max()))
            )
        method = EXACT if found.exact else ABOVE
        return RecordLeakage(found.before, found.guess, _bits(found), (), method, is_bound=not found.exact)

    def _own_repeated(self, count: int) -> RepeatedGuess | None:
        return _worst(self.views, count)


def _is_narrow(noise: NoiseChannel, scenario: Scenario) -> bool:
    """Whether noisy numbers are clamped to less than the true ones may be."""
    if not isinstance(noise, TableNoise) or noise.limits is None:
        return False
    least, greatest = noise.statistic.range(scenario.policy, scenario.tabulated.absence)
    return noise.limits[0] > least or noise.limits[1] < greatest


def one_record_of(view: Seen) -> Seen | None:
    """A mechanism with a list seen as noise on one record; None where it is no such noise."""
    noise = added_noise(view.scenario)
    if not isinstance(view, Listed) or view._view is None or not isinstance(noise, TableNoise):
        return None
    return OnTable(view.scenario, noise)


def belief_of(scenario: Scenario) -> FloatArray:
    """About the value of one record: where nothing is stated, without a fraction for each value."""
    if scenario.stated_record_prior is None:
        values = len(scenario.policy.values)
        return np.full(values, 1 / values)
    return np.asarray(scenario.record_prior.astype(np.float64))


def _worst(views: tuple[OneRecord, ...], count: int) -> RepeatedGuess | None:
    """The guess in the situation of the others where it grows most; None where it is not known."""
    found = []
    with suppress(TooLargeError):
        found = [view.guess(count) for view in views]
    return max(found, key=lambda guess: (guess.guess / guess.before, guess.guess), default=None)


def _bits(found: RepeatedGuess) -> float:
    return math.log1p((found.guess - found.before) / found.before) / math.log(2)


class OnTable(Unlisted):
    """Noise in the cells of a table: ε comes from its sensitivity."""

    noise: TableNoise

    def __init__(self, scenario: Scenario, noise: TableNoise) -> None:
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


class OnSeveral(Unlisted):
    """Several tables with noise of their own: ε is the largest sum over one pair of values."""

    noise: SeveralNoise

    def __init__(self, scenario: Scenario, noise: SeveralNoise) -> None:
        super().__init__(scenario, noise)
        self.exact_eps = noise.joint.cost if noise.keeps_eps else None
        self.certificate = JointNoiseProof.of(noise)
        self.promise_method = BY_PROMISE if noise.keeps_eps else BY_RHO

    @property
    def rho(self) -> Fraction | None:
        return None if self.scenario.policy.is_metric else self.noise.joint_rho.cost

    def level_at(self, delta: float) -> Level | None:
        """The largest over the moves of one record that no other exceeds."""
        policy, noise = self.scenario.policy, self.noise
        if policy.constrained or policy.is_metric:
            return None
        if any(not isinstance(p, QuantileNoise) and not p.law.is_log_concave for p in noise.parts):
            return None
        found = [planned_claim(noise.cells(move), 1) for move in noise.moves]
        known = all(move.pair is not None for move in noise.moves)
        exact = known and not any(isinstance(p, QuantileNoise) for p in noise.parts)
        exact = exact and all(claim.exact for claim in found)
        return Level(max((claim.epsilon(delta) for claim in found), default=0.0), exact)

    def _allowed(self, count: int, before: float) -> float:
        """What any mechanism of this ε allows, or of this ρ where some noise keeps no ε."""
        if self.noise.keeps_eps:
            return super()._allowed(count, before)
        scenario = self.scenario
        if self.rho is None:
            return 1.0
        claim = ZeroConcentratedClaim(math.nextafter(float(count * self.rho), math.inf))
        with suppress(SievertError):
            return min(1.0, policy_guess(claim, scenario.policy, record_belief(scenario))[0].upper)
        return 1.0

    def gain(self, adversary: Adversary, releases: int = 1) -> RecordGain:
        """What an adversary gains; a guess in one try at most what the ε of all tables allows."""
        try:
            return super().gain(adversary, releases)
        except TooLargeError:
            if not isinstance(adversary, Identity):
                raise
        found = self.repeated(releases)
        return RecordGain(
            adversary.name,
            found.before,
            found.guess,
            False,
            found.before,
            found.guess,
            found.method,
            releases,
        )

    @property
    def absence(self) -> bool:
        return self.noise.absence


@singledispatch
def _pair(noise: TableNoise, steps: int, releases: int) -> Channel:
    raise TooLargeError(
        f"two tables under {noise.words()} have no law of their likelihood ratio", size=math.inf
    )


@_pair.register
def _pair_of_sums(noise: SumNoise, steps: int, releases: int) -> Channel:
    return _two_rows(noise, steps, releases)


@_pair.register
def _pair_of_tables(noise: CellNoise, steps: int, releases: int) -> Channel:
    """One step in each of so many cells is one step in one cell so many times, by symmetry of the noise."""
    return _two_rows(noise, 1, steps * releases)


def _two_rows(noise: TableNoise, steps: int, times: int) -> Channel:
    found = ratios_after(noise.law, steps, times)
    rows = np.stack([found.log_pmf, found.log_shown])
    if found.hidden > 0:
        certain = math.log(found.hidden)
        rows = np.concatenate([rows, [[certain, -math.inf], [-math.inf, certain]]], axis=1)
    return Channel.trusted(rows, "log")


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


def _faded(scenario: Scenario, eps: float) -> float:
    """What this ε alone allows one to guess about a record (Alvim et al., Prop 21); 1 where it says nothing.

    1/Σ_u e^(-ε·d(v, u)) at the worst of very many values of equal belief, without listing their distances.
    """
    policy = scenario.policy
    if policy.constrained or math.isinf(eps):
        return 1.0
    if len(policy.values) <= LARGEST_PAIRS or policy.record_metric.uniform_distance is not None:
        return record_leakage(eps, policy, prior=scenario.record_prior).after
    return 1.0
