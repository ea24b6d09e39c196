"""The first sentence of an audit, before the rest of it is known.

A page that answers while a slider moves shows this at once; the whole audit says the same sentence.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

from sievert.analysis import Analysis
from sievert.channels import Epsilon
from sievert.files import PolicyScenario
from sievert.measures import RecordLeakage
from sievert.numerics import in_percent
from sievert.observations import SimulatedVulnerability
from sievert.questions._attackers import Findings, UnansweredAttacker, attacker_results
from sievert.questions._beside import guess_beside
from sievert.questions._one_row import one_row, rows_of_person
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
    view = scenario.analysis
    parts = AuditParts.of(scenario)
    repeated = view.vulnerability(releases=scenario.observations)
    return AuditHeadline(
        scenario.title,
        view.epsilon,
        scenario.claimed_eps,
        parts.promise,
        parts.satisfied,
        view.vulnerability().as_record(view.first_bits),
        scenario.policy.records,
        scenario.observations,
        repeated.value,
        repeated.is_exact,
        parts.checks,
        parts.findings[1] if parts.checks else (),
        view.simulate(releases=scenario.observations),
        view.simulate(),
        rows_of_person(scenario),
    )


class AuditParts:
    """What an audit is made of beside what is seen, each part when it is first asked for."""

    def __init__(self, scenario: PolicyScenario) -> None:
        self.scenario = scenario

    @classmethod
    def of(cls, scenario: PolicyScenario) -> AuditParts:
        """The parts of a scenario's audit, as long as its analysis lives."""
        if scenario.analysis not in _PARTS:
            _PARTS[scenario.analysis] = cls(scenario)
        return _PARTS[scenario.analysis]

    @cached_property
    def promise(self) -> Promise | None:
        """The claims of the file, held against its mechanism."""
        return kept_promise(self.scenario)

    @cached_property
    def satisfied(self) -> bool:
        """Whether the claim is kept; a claim of a pure ε, or none, needs one that is finite."""
        promise, scenario = self.promise, self.scenario
        pure = promise is None or scenario.claimed_eps is not None
        kept = (promise is None or promise.kept) and (not pure or math.isfinite(scenario.epsilon.nats))
        return scenario.analysis.is_verified is not False and kept

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """The limits of [accept]."""
        return check_limits(self.scenario)

    @cached_property
    def findings(self) -> Findings:
        """What each adversary of the file gains."""
        return attacker_results(self.scenario)


_PARTS: WeakKeyDictionary[Analysis, AuditParts] = WeakKeyDictionary()
