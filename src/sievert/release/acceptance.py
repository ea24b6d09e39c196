"""[accept]: what the file's owner finds acceptable, compared with what a release gives away."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

from sievert.channels.divergences import smallest_epsilon
from sievert.channels.privacy import epsilon
from sievert.errors import FileError, NotAcceptedError, TooLargeError
from sievert.files import Scenario
from sievert.leakage.records import BOUND, RecordLeakage, record_leakage
from sievert.leakage.repeats import RepeatedGuess, repeated_guess
from sievert.limits.composition import composed_epsilon
from sievert.limits.explain import odds_growth
from sievert.release.guess_bounds import is_exact, least_record, least_repeated
from sievert.release.guessing import CLOSED_FORM, guesses
from sievert.release.places import PlaceNoise
from sievert.release.plan import Plan
from sievert.release.promises import CLAIM_TOLERANCE, Promise, kept_promise, promise_of_noise
from sievert.results import Result
from sievert.spaces.metric import Metric

__all__ = [
    "Check",
    "acceptance",
    "checks",
    "has_added_noise",
    "has_noise_in_cells",
    "repeated_record",
    "require_accepted",
    "require_promise",
]


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


def require_accepted(plan: Plan) -> None:
    """Refuse a release that exceeds a limit of the file's [accept]."""
    failed = [check for check in acceptance(plan) if not check.passed]
    if failed:
        raise NotAcceptedError(
            f"{plan.scenario.source}: {failed[0]}, which the file does not accept; nothing was released or "
            "charged. Lower eps or the number of observations, change [accept], or release it all the same "
            "with --despite-accept (despite_accept=True in Python)"
        )


def require_promise(plan: Plan) -> None:
    """Refuse a release that does not keep the file's [claim]."""
    promise = None if plan.scenario.document.claim is None else _promise(plan)
    if promise is not None and not promise.kept:
        raise FileError(
            f"{plan.scenario.source}, claim: says {promise.claim} but the mechanism only satisfies "
            f"{promise.satisfied}; nothing is released on a promise that does not hold (see sievert audit)"
        )


def _promise(plan: Plan) -> Promise | None:
    scenario = plan.scenario
    if not isinstance(plan.mechanism, PlaceNoise) and _listable(plan):
        with suppress(TooLargeError):
            return kept_promise(scenario, epsilon(scenario.channel, scenario.answers).nats)
    return promise_of_noise(scenario, float(plan.unit_eps))


def acceptance(plan: Plan) -> tuple[Check, ...]:
    """The limits of [accept], each with what this release gives away."""
    scenario = plan.scenario
    if scenario.accept is None:
        return ()
    people = plan.owned if not plan.central else scenario.policy.person_records
    if isinstance(plan.mechanism, PlaceNoise) or (scenario.policy.constrained and not _listable(plan)):
        return _by_eps_alone(plan, people)
    record, nats = _record(plan)
    repeated = _repeated(plan, record, nats)
    return checks(scenario, record, repeated, nats * scenario.observations * people, people)


def _by_eps_alone(plan: Plan, people: int) -> tuple[Check, ...]:
    """Where no guess about one record is known only ε is compared; other limits are not shown to hold."""
    scenario = plan.scenario
    before = 1 / len(scenario.policy.values if scenario.region is None else scenario.region)
    unknown = RecordLeakage(before, 1.0, -math.log2(before), (), BOUND)
    guess = RepeatedGuess(before, 1.0, False, scenario.observations)
    total = float(plan.unit_eps) * scenario.observations * people
    return checks(scenario, unknown, guess, total, people)


def _listable(plan: Plan) -> bool:
    """Whether the file's own channel on the listed answers is what is drawn."""
    return not has_noise_in_cells(plan.scenario) and not (plan.central and plan.domain().drops)


def _record(plan: Plan) -> tuple[RecordLeakage, float]:
    """Best guess about one record, and ε: from the channel where it can be listed, else from ε alone."""
    scenario = plan.scenario
    if _listable(plan):
        try:
            nats = epsilon(scenario.channel, scenario.answers).nats
            record = record_leakage(scenario.channel, scenario.answers, scenario.record_prior)
            return least_record(scenario, record, nats), nats
        except TooLargeError:
            pass  # the bound below needs no list
    before, after, is_bound = guesses(plan)
    assert before is not None and after is not None
    method = BOUND if is_bound else CLOSED_FORM
    return RecordLeakage(before, after, math.log2(after / before), (), method), float(plan.unit_eps)


def _repeated(plan: Plan, record: RecordLeakage, nats: float) -> RepeatedGuess:
    scenario, count = plan.scenario, plan.scenario.observations
    if count == 1 or _listable(plan):
        return repeated_record(scenario, record, nats)
    return least_repeated(scenario, None, record, nats, count)


def repeated_record(scenario: Scenario, record: RecordLeakage, nats: float) -> RepeatedGuess:
    """Best guess about one record after all releases."""
    count = scenario.observations
    if count == 1:
        return RepeatedGuess(record.before, record.after, is_exact(record), count)
    repeated = None
    with suppress(TooLargeError):
        repeated = repeated_guess(scenario.channel, scenario.answers, count, scenario.record_prior)
    return least_repeated(scenario, repeated, record, nats, count)


def has_added_noise(scenario: Scenario) -> bool:
    """Whether the file adds geometric noise to a table over its data: ε then needs no list of answers."""
    mechanism = scenario.document.mechanism
    noisy = mechanism is not None and mechanism.kind in ("geometric", "truncated-geometric")
    return noisy and bool(scenario.columns) and scenario.document.query.kind in ("count", "sum", "histogram")


def has_noise_in_cells(scenario: Scenario) -> bool:
    """Whether the file releases a histogram with geometric noise in every cell, which has no finite list."""
    mechanism = scenario.document.mechanism
    noisy = mechanism is not None and mechanism.kind in ("geometric", "truncated-geometric")
    return noisy and scenario.document.query.kind == "histogram"


def checks(
    scenario: Scenario,
    record: RecordLeakage,
    repeated: RepeatedGuess,
    total: float,
    people: int | None = None,
) -> tuple[Check, ...]:
    """Compare what was found with the limits of [accept]."""
    accept = scenario.accept
    if accept is None:
        return ()
    after = f"after {scenario.observations} releases" if scenario.observations > 1 else "after the release"
    people = scenario.policy.person_records if people is None else people
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
