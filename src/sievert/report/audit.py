"""The audit: does the mechanism keep the policy's promise, and what does it give away?"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sievert.channels.divergences import smallest_epsilon
from sievert.channels.privacy import Epsilon, epsilon
from sievert.errors import TooLargeError
from sievert.files import Scenario, load_scenario
from sievert.leakage.capacity import Capacity, capacity
from sievert.leakage.records import RecordLeakage, record_leakage
from sievert.leakage.repeats import (
    ReleasesWithin,
    RepeatedGuess,
    guess_limit,
    releases_within,
    repeated_guess,
)
from sievert.limits.composition import composed_epsilon
from sievert.limits.explain import odds_growth
from sievert.limits.worst import WorstLeakage, worst_leakage
from sievert.report.findings import Finding, findings
from sievert.report.guess_bounds import is_exact, least_record, least_repeated
from sievert.report.promises import CLAIM_TOLERANCE, Promise, kept_promise
from sievert.report.words import probability
from sievert.results import Result
from sievert.spaces.metric import Metric
from sievert.spaces.policy import Policy

__all__ = ["Audit", "Check", "audit", "checks", "has_noise_in_cells"]


@dataclass(frozen=True)
class Check(Result):
    """One limit of [accept]: what it limits, the limit, the value found and whether it holds.

    Where `exact` is False the value is an upper bound: within the limit it proves that the limit holds,
    above it nothing is known, and the check does not pass.
    """

    name: str
    limit: float
    value: float
    passed: bool
    exact: bool = True

    def __str__(self) -> str:
        if self.exact:
            relation = "within" if self.passed else "EXCEEDS"
            return f"{self.name}: {self.value:.4g} {relation} the limit {self.limit:g}"
        relation = "within" if self.passed else "NOT SHOWN to be within"
        return f"{self.name}: at most {self.value:.4g}, {relation} the limit {self.limit:g}"


@dataclass(frozen=True)
class Audit(Result):
    """Everything an audit found.

    Attributes
    ----------
    epsilon : smallest ε for which the mechanism keeps the policy, with its witness
    claimed_eps : ε the file claims (None: no claim, or one that is not a pure ε)
    promise : what the file claims, and whether and how the mechanism keeps it (None: no claim)
    satisfied : whether ε is finite and the claim is kept
    leakages : for each gain of the file, about the mechanism's input
    record : one record when all others are known
    database : the whole database, whatever the prior
    radii : for metric policies, how much the odds change for someone who knows the value to within a radius
    observations : how many releases of the same data
    repeated_eps : total ε of them all for one person, who may own several records
    repeated_guess : best guess about one record after them all, exactly or (`repeated_exact` False) at most
    worst : what any mechanism with this ε could leak about the database (None: ε is infinite)
    checks : the limits of [accept]
    guess_limit : best guess about one record after infinitely many releases (None: not known)
    releases_within : how many releases keep the guess limit of [accept] (None: no such limit, or not known)
    """

    title: str
    policy: str
    query: str
    mechanism: str
    epsilon: Epsilon
    claimed_eps: float | None
    promise: Promise | None
    satisfied: bool
    leakages: tuple[Finding, ...]
    record: RecordLeakage
    database: Capacity
    database_bits: float
    records: int
    radii: tuple[tuple[float, float], ...]
    person_records: int
    observations: int
    repeated_eps: float
    repeated_guess: float
    repeated_exact: bool
    worst: WorstLeakage | None
    checks: tuple[Check, ...]
    guess_limit: float | None = None
    releases_within: ReleasesWithin | None = None

    @property
    def passed(self) -> bool:
        """Whether the claim and every limit hold."""
        return self.satisfied and all(check.passed for check in self.checks)

    @property
    def record_is_bound(self) -> bool:
        """Whether the guess about one record is only an upper bound."""
        return not is_exact(self.record)

    def __str__(self) -> str:
        found = self.epsilon.nats
        if math.isinf(found):
            return "The mechanism keeps no promise: no ε is large enough."
        if self.promise is not None and not self.promise.kept:
            return (
                f"The mechanism does not keep its promise: it claims {self.promise.claim} but only satisfies "
                f"{self.promise.satisfied}."
            )
        promise = "keeps its promise" if self.promise is not None else f"satisfies ε = {found:.6g}"
        failed = [check for check in self.checks if not check.passed]
        if failed:
            return f"The mechanism {promise} but is not acceptable: {failed[0]}."
        accepted = " and is within every limit of the file" if self.checks else ""
        subject = "the value" if self.records == 1 else "one record"
        return f"The mechanism {promise}{accepted}: {subject} is guessed with probability {self._guesses()}."

    def _guesses(self) -> str:
        most = "at most " if self.record_is_bound else ""
        before, after = probability(self.record.before), f"{most}{probability(self.record.after)}"
        if self.observations == 1:
            return f"{before} before and {after} after"
        repeated = f"{'' if self.repeated_exact else 'at most '}{probability(self.repeated_guess)}"
        return f"{before} before, {after} after one release and {repeated} after {self.observations}"


def audit(scenario: Scenario | str | Path) -> Audit:
    """Audit the mechanism of a file against its policy, adversaries and limits.

    Parameters
    ----------
    scenario : what `sievert.load` read from a file, or the file's path
    """
    if not isinstance(scenario, Scenario):
        scenario = load_scenario(scenario)
    if has_noise_in_cells(scenario):
        raise TooLargeError(
            f"{scenario.source}: a histogram with noise in every cell has too many outputs to list; `sievert "
            "audit FILE` and sievert.report.release_audit.noise_audit answer from its sensitivity",
            size=math.inf,
        )
    policy = scenario.policy
    channel, answers = scenario.channel, scenario.answers
    found = epsilon(channel, answers)
    promise = kept_promise(scenario, found.nats)
    record = least_record(scenario, record_leakage(channel, answers, scenario.record_prior), found.nats)
    repeated = _repeated(scenario, record, found)
    total = found.nats * scenario.observations * policy.person_records
    return Audit(
        title=scenario.title,
        policy=policy.describe(),
        query=scenario.query.words,
        mechanism=describe_mechanism(scenario),
        epsilon=found,
        claimed_eps=scenario.claimed_eps,
        promise=promise,
        satisfied=math.isfinite(found.nats) and (promise is None or promise.kept),
        leakages=findings(scenario),
        record=record,
        database=capacity(channel),
        database_bits=_database_bits(policy),
        records=policy.records,
        radii=_radii(scenario, found),
        person_records=policy.person_records,
        observations=scenario.observations,
        repeated_eps=total,
        repeated_guess=repeated.guess,
        repeated_exact=repeated.exact,
        worst=worst_leakage(policy, found.nats) if math.isfinite(found.nats) else None,
        checks=checks(scenario, record, repeated, total),
        **_budget(scenario),
    )


def has_noise_in_cells(scenario: Scenario) -> bool:
    """Whether the file releases a histogram with geometric noise in every cell, which has no finite list."""
    mechanism = scenario.document.mechanism
    noisy = mechanism is not None and mechanism.kind in ("geometric", "truncated-geometric")
    return noisy and scenario.document.query.kind == "histogram"


def _database_bits(policy: Policy) -> float:
    """log2 of the number of possible databases."""
    if policy.constrained:
        return math.log2(policy.size)
    return policy.records * math.log2(len(policy.values))


def _repeated(scenario: Scenario, record: RecordLeakage, found: Epsilon) -> RepeatedGuess:
    """Best guess about one record after all releases."""
    count = scenario.observations
    if count == 1:
        return RepeatedGuess(record.before, record.after, is_exact(record), count)
    repeated = None
    with suppress(TooLargeError):
        repeated = repeated_guess(scenario.channel, scenario.answers, count, scenario.record_prior)
    return least_repeated(scenario, repeated, record, found.nats, count)


def _budget(scenario: Scenario) -> dict[str, Any]:
    """What any number of releases tells about one record, and how many keep the file's limit."""
    accepted = None if scenario.accept is None else scenario.accept.guess
    question = scenario.channel, scenario.answers
    try:
        limit = guess_limit(*question, scenario.record_prior)
        kept = None
        if accepted is not None:
            kept = releases_within(*question, accepted, scenario.record_prior)
    except TooLargeError:
        return {}
    return {"guess_limit": limit, "releases_within": kept}


def _radii(scenario: Scenario, found: Epsilon) -> tuple[tuple[float, float], ...]:
    """Radius and odds factor e^(ε·radius) for a metric policy: nearest neighbours, half way, everything."""
    if not isinstance(scenario.policy.secrets, Metric) or math.isinf(found.nats):
        return ()
    matrix = scenario.policy.secrets.matrix
    positive = matrix[(matrix > 0) & (matrix < math.inf)]
    if not positive.size:
        return ()
    radii = sorted({float(positive.min()), float(positive.max()) / 2, float(positive.max())})
    return tuple((radius, found.odds(radius)) for radius in radii)


def checks(
    scenario: Scenario, record: RecordLeakage, repeated: RepeatedGuess, total: float
) -> tuple[Check, ...]:
    """Compare what was found with the limits of [accept]."""
    accept = scenario.accept
    if accept is None:
        return ()
    after = f"after {scenario.observations} releases" if scenario.observations > 1 else "after the release"
    people = scenario.policy.person_records
    whose = "" if people == 1 else f" for a person with {people} records"
    compared = []
    limits: tuple[tuple[str, float | None, float, float], ...] = (
        ("best guess", accept.guess, record.after, repeated.guess),
        ("bits", accept.bits, record.bits, repeated.bits),
    )
    limits += (
        (
            "advantage",
            accept.advantage,
            record.after - record.before,
            repeated.guess - repeated.before,
        ),
        (
            "growth of the odds",
            accept.odds,
            odds_growth(record.before, record.after),
            odds_growth(repeated.before, repeated.guess),
        ),
    )
    for what, limit, single, value in limits:
        if limit is None:
            continue
        one_release_is_too_many = is_exact(record) and not _is_within(single, limit)
        if not repeated.exact and one_release_is_too_many:
            compared.append(Check(f"{what} about one record after one release", limit, single, False))
        else:
            passed = _is_within(value, limit)
            compared.append(Check(f"{what} about one record {after}", limit, value, passed, repeated.exact))
    if accept.eps is not None:
        at, value = "", total
        if accept.delta is not None:
            at, value = f" at δ = {accept.delta:g}", _total_at(scenario, total, accept.delta)
        compared.append(
            Check(f"total ε{whose}{at} {after}", accept.eps, value, _is_within(value, accept.eps))
        )
    return tuple(compared)


def _total_at(scenario: Scenario, total: float, delta: float) -> float:
    """The smallest total ε that is known at a δ: exact for one release, by optimal composition for more."""
    people, count = scenario.policy.person_records, scenario.observations
    if people > 1 or math.isinf(total) or isinstance(scenario.policy.secrets, Metric):
        return total
    if count == 1 and has_noise_in_cells(scenario):
        return total
    if count > 1:
        return min(total, composed_epsilon(total / count, 0.0, count, delta))
    try:
        return smallest_epsilon(scenario.channel, scenario.answers, delta)
    except TooLargeError:
        return total


def _is_within(value: float, limit: float) -> bool:
    return value <= limit * (1 + CLAIM_TOLERANCE)


def describe_mechanism(scenario: Scenario) -> str:
    """The mechanism in words."""
    model = scenario.document.mechanism
    assert model is not None
    if model.matrix is not None:
        return f"the matrix in {model.matrix}"
    parameter = f"eps = {model.eps:g}" if model.eps is not None else f"alpha = {model.alpha}"
    if model.kind == "metric-channel":
        return "the channel whose distinguishability is the policy's distance"
    assert model.kind is not None
    level = " (true ε)" if model.level == "true" else " (nominal)" if model.kind == "exponential" else ""
    return f"{model.kind.replace('-', ' ')}, {parameter}{level}"
