"""[accept] and [claim]: what the owner accepts and promises, compared with what a release gives away."""

from __future__ import annotations

import math

from sievert.channels import epsilon
from sievert.errors import NotAcceptedError, TooLargeError
from sievert.measures import RecordLeakage, record_leakage
from sievert.observations import RepeatedGuess
from sievert.questions import (
    Check,
    Promise,
    checks,
    guessed,
    is_listed,
    kept_promise,
    least_record,
    least_repeated,
    promise_of_noise,
    repeated_record,
)
from sievert.release._plan import Plan

__all__ = ["acceptance", "broken_claim", "require_accepted"]


DESPITE = "release it all the same with --despite-accept (despite_accept=True in Python)"


def require_accepted(plan: Plan) -> None:
    """Refuse a release that does not keep the file's [claim], or exceeds a limit of its [accept]."""
    broken = broken_claim(plan)
    if broken is not None:
        raise NotAcceptedError(
            f"{plan.scenario.source}: {broken}; nothing was released or charged. Correct [claim] or "
            f"[mechanism], or {DESPITE}"
        )
    failed = [check for check in acceptance(plan) if not check.passed]
    if failed:
        raise NotAcceptedError(
            f"{plan.scenario.source}: {failed[0]}, which the file does not accept; nothing was released or "
            f"charged. Lower eps or the number of observations, change [accept], or {DESPITE}"
        )


def broken_claim(plan: Plan) -> str | None:
    """Why the mechanism is not shown to keep the file's [claim]; None: it does, or there is none."""
    found = _promise(plan)
    if found is None or found.kept:
        return None
    return (
        f"the mechanism does not keep [claim]: {found.claim} is claimed, and it satisfies {found.satisfied}"
    )


def _promise(plan: Plan) -> Promise | None:
    scenario = plan.scenario
    if scenario.document.claim is None:
        return None
    if plan.places is None and is_listed(scenario):
        try:
            return kept_promise(scenario, epsilon(scenario.channel, scenario.answers).nats)
        except TooLargeError:
            pass  # what ε implies needs no list
    return promise_of_noise(scenario, float(plan.unit_eps))


def acceptance(plan: Plan) -> tuple[Check, ...]:
    """The limits of [accept], each with what this release gives away."""
    scenario = plan.scenario
    if scenario.accept is None:
        return ()
    people = plan.owned if not plan.central else scenario.policy.person_records
    if plan.places is not None or (scenario.policy.constrained and not is_listed(scenario)):
        return _by_eps_alone(plan, people)
    record, nats = _record(plan)
    repeated = _repeated(plan, record, nats)
    return checks(scenario, record, repeated, nats * scenario.observations * people, people)


def _by_eps_alone(plan: Plan, people: int) -> tuple[Check, ...]:
    """Where no guess about one record is known only ε is compared; other limits are not shown to hold."""
    scenario = plan.scenario
    before = 1 / len(scenario.policy.values if scenario.region is None else scenario.region)
    unknown = RecordLeakage.at_most(before, 1.0, -math.log2(before))
    guess = RepeatedGuess(before, 1.0, False, scenario.observations)
    total = float(plan.unit_eps) * scenario.observations * people
    return checks(scenario, unknown, guess, total, people)


def _record(plan: Plan) -> tuple[RecordLeakage, float]:
    """Best guess about one record, and ε: from the channel where it can be listed, else from ε alone."""
    scenario = plan.scenario
    if is_listed(scenario):
        try:
            nats = epsilon(scenario.channel, scenario.answers).nats
            record = record_leakage(scenario.channel, scenario.answers, prior=scenario.record_prior)
            return least_record(scenario, record, nats), nats
        except TooLargeError:
            pass  # the bound below needs no list
    return guessed(scenario, float(plan.unit_eps)), float(plan.unit_eps)


def _repeated(plan: Plan, record: RecordLeakage, nats: float) -> RepeatedGuess:
    scenario, count = plan.scenario, plan.scenario.observations
    if count == 1 or is_listed(scenario):
        return repeated_record(scenario, record, nats)
    return least_repeated(scenario, None, record, nats, count)
