"""[accept] and [claim]: what the owner accepts and promises, compared with what a release gives away."""

from __future__ import annotations

from sievert.errors import NotAcceptedError
from sievert.questions import Check, Promise, check_limits, kept_promise
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
    return None if scenario.document.claim is None else kept_promise(scenario)


def acceptance(plan: Plan) -> tuple[Check, ...]:
    """The limits of [accept], each with what this release gives away."""
    people = plan.owned if not plan.central else plan.scenario.policy.person_records
    return check_limits(plan.scenario, people)
