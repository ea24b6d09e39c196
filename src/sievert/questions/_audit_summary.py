"""The first sentence of an audit, before the rest of it is known.

A page that answers while a slider moves shows this at once; the whole audit says the same sentence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from sievert.channels import Epsilon
from sievert.files import PolicyScenario
from sievert.measures import RecordLeakage
from sievert.numerics import in_percent
from sievert.observations import SimulatedVulnerability
from sievert.questions._attackers import Findings, UnansweredAttacker, attacker_results
from sievert.questions._beside import guess_beside
from sievert.questions._one_row import one_row, rows_of_person
from sievert.questions._seen import Analysis, analysis_of
from sievert.questions.acceptance import Check, Promise, check_limits, kept_promise
from sievert.results import Result

__all__ = ["AuditHeadline", "AuditParts", "AuditSummary", "audit_headline"]


class AuditSummary(Result):
    """What an audit says in one sentence, from the few fields that the sentence needs."""

    epsilon: Epsilon
    claimed_eps: float | None
    promise: Promise | None
    satisfied: bool
    record: RecordLeakage
    records: int
    observations: int
    repeated_guess: float
    repeated_exact: bool
    checks: tuple[Check, ...]
    unanswered: tuple[UnansweredAttacker, ...]
    simulated: SimulatedVulnerability | None
    simulated_once: SimulatedVulnerability | None
    rows_per_person: int

    @property
    def passed(self) -> bool:
        """Whether the claim and every limit hold; where there are limits, no adversary is left open."""
        return self.satisfied and all(check.passed for check in self.checks) and not self._left_open

    @property
    def _left_open(self) -> bool:
        """Whether something is to be accepted and what an adversary gains is not known."""
        return bool(self.checks and self.unanswered)

    @property
    def record_is_bound(self) -> bool:
        """Whether the guess about one record is only an upper bound."""
        return self.record.is_bound

    def __str__(self) -> str:
        found = self.epsilon.nats
        if (
            math.isinf(found)
            and not self.satisfied
            and (self.promise is None or self.claimed_eps is not None)
        ):
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
        if self._left_open:
            open_ = self.unanswered[0]
            return (
                f"The mechanism {promise} and is within every limit of the file, but is not shown to be "
                f"acceptable: what the adversary “{open_.name}” gains is not known."
            )
        accepted = " and is within every limit of the file" if self.checks else ""
        subject = "the value" if self.records == 1 else "one record"
        guessed = f"{subject} is guessed with probability {self._guesses()}.{one_row(self.rows_per_person)}"
        return f"The mechanism {promise}{accepted}: {guessed}"

    def _guesses(self) -> str:
        before = in_percent(self.record.before)
        if self.observations == 1:
            return f"{before} before and {self.guess_once} after"
        often = f"{self.guess_after_all} after {self.observations}"
        return f"{before} before, {self.guess_once} after one release and {often}"

    @property
    def guess_once(self) -> str:
        """The guess after one release in words, with the simulation beside a bound."""
        return guess_beside(self.record.after, not self.record_is_bound, self.simulated_once)

    @property
    def guess_after_all(self) -> str:
        """The guess after all releases in words, with the simulation beside a bound."""
        return guess_beside(self.repeated_guess, self.repeated_exact, self.simulated)


@dataclass(frozen=True)
class AuditHeadline(AuditSummary):
    """The sentence of an audit with the numbers in it, named as in the audit."""

    title: str
    epsilon: Epsilon
    claimed_eps: float | None
    promise: Promise | None
    satisfied: bool
    record: RecordLeakage
    records: int
    observations: int
    repeated_guess: float
    repeated_exact: bool
    checks: tuple[Check, ...]
    unanswered: tuple[UnansweredAttacker, ...]
    simulated: SimulatedVulnerability | None
    simulated_once: SimulatedVulnerability | None
    rows_per_person: int


def audit_headline(scenario: PolicyScenario) -> AuditHeadline:
    """What an audit says first: whether the promise holds, and the guess before and after.

    Findings about the file's adversaries are looked at only where something is to be accepted, since only
    then one that is not known changes the sentence.
    """
    view = analysis_of(scenario)
    parts = AuditParts.of(view)
    repeated = view.repeated(scenario.observations)
    return AuditHeadline(
        scenario.title,
        view.epsilon,
        scenario.claimed_eps,
        parts.promise,
        parts.satisfied,
        view.record,
        scenario.policy.records,
        scenario.observations,
        repeated.guess,
        repeated.exact,
        parts.checks,
        parts.findings[1] if parts.checks else (),
        view.simulated(scenario.observations),
        view.simulated(1),
        rows_of_person(scenario),
    )


class AuditParts:
    """What an audit is made of beside what is seen, each part when it is first asked for."""

    def __init__(self, view: Analysis) -> None:
        self.view = view

    @classmethod
    def of(cls, view: Analysis) -> AuditParts:
        """The parts of a view, which keeps them."""
        found: AuditParts = view.kept.setdefault("parts", cls(view))
        return found

    @cached_property
    def promise(self) -> Promise | None:
        """The claims of the file, held against its mechanism."""
        return kept_promise(self.view)

    @cached_property
    def satisfied(self) -> bool:
        """Whether the claim is kept; a claim of a pure ε, or none, needs one that is finite."""
        promise, scenario = self.promise, self.view.scenario
        pure = promise is None or scenario.claimed_eps is not None
        kept = (promise is None or promise.kept) and (not pure or math.isfinite(scenario.epsilon.nats))
        return self.view.proved is not False and kept

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The limits of [accept]."""
        return check_limits(self.view)

    @cached_property
    def findings(self) -> Findings:
        """What each adversary of the file gains."""
        return attacker_results(self.view)
