"""The audit: does the mechanism keep the policy's promise, and what does it give away?"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sievert.channels.privacy import Epsilon, epsilon
from sievert.files import Scenario
from sievert.leakage.capacity import Capacity, capacity
from sievert.leakage.measures import Leakage, leakage
from sievert.leakage.records import RecordLeakage, record_leakage, repeated_guess_bound
from sievert.results import Result
from sievert.spaces.metric import Metric

__all__ = ["Audit", "Check", "audit"]

# A family's ε is recomputed from rounded logarithms; a claim is not broken by the last few digits.
CLAIM_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Check(Result):
    """One limit of [accept]: what it limits, the limit, the value found and whether it holds."""

    name: str
    limit: float
    value: float
    passed: bool

    def __str__(self) -> str:
        relation = "within" if self.passed else "EXCEEDS"
        return f"{self.name}: {self.value:.4g} {relation} the limit {self.limit:g}"


@dataclass(frozen=True)
class Audit(Result):
    """Everything an audit found.

    Attributes
    ----------
    epsilon : smallest ε for which the mechanism keeps the policy, with its witness
    claimed_eps : ε the file claims (None: no claim); satisfied says whether the claim holds
    leakages : for each gain of the file, about the mechanism's input
    record : one record when all others are known
    database : the whole database, whatever the prior
    radii : for metric policies, how much the odds change for someone who knows the value to within a radius
    observations, repeated_eps, repeated_guess : after that many releases, at worst
    checks : the limits of [accept]
    """

    title: str
    policy: str
    query: str
    mechanism: str
    epsilon: Epsilon
    claimed_eps: float | None
    satisfied: bool
    leakages: tuple[Leakage, ...]
    record: RecordLeakage
    database: Capacity
    database_bits: float
    records: int
    radii: tuple[tuple[float, float], ...]
    person_records: int
    observations: int
    repeated_eps: float
    repeated_guess: float
    checks: tuple[Check, ...]

    @property
    def passed(self) -> bool:
        """Whether the claim and every limit hold."""
        return self.satisfied and all(check.passed for check in self.checks)


def audit(scenario: Scenario) -> Audit:
    """Audit the mechanism of a file against its policy, adversaries and limits."""
    channel, answers = scenario.channel, scenario.answers
    found = epsilon(channel, answers)
    claimed = scenario.claimed_eps
    satisfied = (
        math.isfinite(found.nats) if claimed is None else found.nats <= claimed * (1 + CLAIM_TOLERANCE)
    )
    record = record_leakage(channel, answers, scenario.record_prior)
    observations = scenario.observations
    repeated = record.after
    if observations > 1:
        repeated = max(
            record.after, repeated_guess_bound(channel, answers, observations, scenario.record_prior)
        )
    total = found.nats * observations * scenario.policy.person_records
    return Audit(
        title=scenario.title,
        policy=scenario.policy.describe(),
        query=scenario.query.words,
        mechanism=describe_mechanism(scenario),
        epsilon=found,
        claimed_eps=claimed,
        satisfied=satisfied,
        leakages=tuple(leakage(channel, scenario.prior, gain) for gain in scenario.gains),
        record=record,
        database=capacity(channel),
        database_bits=scenario.policy.records * math.log2(len(scenario.policy.values)),
        records=scenario.policy.records,
        radii=_radii(scenario, found),
        person_records=scenario.policy.person_records,
        observations=observations,
        repeated_eps=total,
        repeated_guess=repeated,
        checks=_checks(scenario, record, repeated, total),
    )


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


def _checks(scenario: Scenario, record: RecordLeakage, repeated: float, total: float) -> tuple[Check, ...]:
    accept = scenario.accept
    if accept is None:
        return ()
    bits = math.log2(repeated / record.before)
    after = f"after {scenario.observations} releases" if scenario.observations > 1 else "after the release"
    limits = (
        (f"best guess about one record {after}", accept.guess, repeated),
        (f"bits about one record {after}", accept.bits, bits),
        (f"total ε {after}", accept.eps, total),
    )
    return tuple(
        Check(name, limit, value, value <= limit * (1 + CLAIM_TOLERANCE))
        for name, limit, value in limits
        if limit is not None
    )


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
