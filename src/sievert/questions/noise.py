"""The audit of a table with noise in every cell: where answers are too many to list, ε needs no list.

ε comes from the sensitivity, with a certificate that is verified here; the guess about one record, by someone
who knows all the others, is exact where a closed form is known, and otherwise bounded by ε alone (Alvim et
al., Prop 21).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sievert.channels import TableNoise
from sievert.errors import FileError, SievertError, TooLargeError
from sievert.files import Scenario
from sievert.measures import RecordLeakage, record_leakage
from sievert.numerics import in_percent
from sievert.observations import RepeatedGuess
from sievert.policies import Policy, promise_words
from sievert.proofs import NoiseProof, verify
from sievert.questions._accept import (
    Check,
    Promise,
    checks,
    has_noise_in_cells,
    least_record,
    least_repeated,
    promise_of_noise,
)
from sievert.results import Result
from sievert.spaces import SecretGraph

__all__ = ["NoiseAudit", "guessed", "is_listed", "noise_audit"]


@dataclass(frozen=True)
class NoiseAudit(Result):
    """What is known about a histogram with noise in every cell.

    Attributes
    ----------
    eps : what it promises for one record, and satisfies
    steps : how far one record moves the table (Manhattan distance, for one unit of the policy's distance)
    proved : whether the certificate of the noise was verified (None: one record moves nothing)
    record : one record when all others are known
    repeated_eps : total ε of all observations for one person
    repeated : best guess about one record after all observations
    checks : the limits of [accept]
    claim : what [claim] says, and whether ε implies it (None: no such table)
    """

    title: str
    policy: str
    query: str
    mechanism: str
    promise: str
    eps: Fraction
    steps: Fraction
    proved: bool | None
    record: RecordLeakage
    observations: int
    repeated_eps: float
    repeated: RepeatedGuess
    checks: tuple[Check, ...]
    claim: Promise | None = None

    @property
    def passed(self) -> bool:
        """Whether the promise and every limit hold."""
        kept = self.claim is None or self.claim.kept
        return self.proved is not False and kept and all(check.passed for check in self.checks)

    def __str__(self) -> str:
        if self.proved is False:
            return "The mechanism does not keep its promise: the noise is not enough for one record."
        if self.claim is not None and not self.claim.kept:
            return (
                f"The mechanism is not shown to keep its promise: it claims {self.claim.claim} and satisfies "
                f"{self.claim.satisfied}."
            )
        most = "at most " if self.record.is_bound else ""
        before, after = in_percent(self.record.before), in_percent(self.record.after)
        found = (
            "The mechanism keeps its promise: one record is guessed with probability "
            f"{before} before and {most}{after} after"
        )
        failed = sum(not check.passed for check in self.checks)
        if failed:
            limits = "one limit is" if failed == 1 else f"{failed} limits are"
            return f"{found}; but {limits} not shown to hold."
        return f"{found}."


def noise_audit(scenario: Scenario) -> NoiseAudit:
    """Audit a histogram with geometric noise in every cell, without listing its answers."""
    noise = _noise(scenario)
    policy, sensitivity = scenario.policy, scenario.tabulated.sensitivity
    eps = noise.eps_of(sensitivity)
    count, nats = scenario.observations, float(eps)
    record = least_record(scenario, guessed(scenario, nats), nats)
    repeated = RepeatedGuess(record.before, record.after, not record.is_bound, count)
    if count > 1:
        repeated = least_repeated(scenario, None, record, nats, count)
    certificate = NoiseProof.of(noise, sensitivity)
    total = nats * count * policy.person_records
    return NoiseAudit(
        scenario.title,
        policy.describe(),
        noise.statistic.words,
        noise.words(),
        promise_words(policy, eps, "database", policy.person_records),
        eps,
        sensitivity.steps,
        None if certificate is None else bool(verify(certificate)),
        record,
        count,
        total,
        repeated,
        checks(scenario, record, repeated, total),
        promise_of_noise(scenario, nats),
    )


def _noise(scenario: Scenario) -> TableNoise:
    """The noise on the file's table; what is wrong with it is said with the file's name."""
    source = scenario.source
    try:
        noise = scenario.noise
    except TooLargeError:
        raise
    except FileError as problem:
        text = str(problem)
        raise FileError(text if text.startswith(source) else f"{source}, {text}") from None
    except SievertError as problem:
        raise FileError(f"{source}: {problem.in_file()}") from None
    if not isinstance(noise, TableNoise):
        raise FileError(f"{source}, mechanism: adds no noise to a table over the data")
    return noise


CLOSED_FORM = "exact: by the likelihood ratios of the noise"
# Beyond this many pairs of a total and a value, the guess about one record is bounded by ε alone.
LARGEST_LISTED = 200_000
# Beyond this many values their distances are not listed.
LARGEST_PAIRS = 5_000


def is_listed(scenario: Scenario) -> bool:
    """Whether the file's own channel on the listed answers is what is drawn.

    Noise on all multiples of a step is listed where the step is whole: a channel on integers.
    """
    noise = scenario.noise
    if has_noise_in_cells(scenario):
        return False
    if not isinstance(noise, TableNoise):
        return True
    whole = noise.limits is not None or noise.statistic.step.denominator == 1
    return whole and not scenario.tabulated.absence


def guessed(scenario: Scenario, eps: float) -> RecordLeakage:
    """Best guess about one record: by the noise, by the listed channel where it is small, else by ε alone."""
    policy, noise = scenario.policy, scenario.noise
    prior = scenario.document.adversary.record_prior or scenario.document.adversary.prior
    uniform = prior is None or prior.is_uniform
    if isinstance(noise, TableNoise) and uniform:
        known = noise.record_guess(policy)
        if known is not None:
            before, after = known
            return RecordLeakage(before, after, math.log2(after / before), (), CLOSED_FORM)
    small = policy.constrained or policy.records * len(policy.values) ** 2 <= LARGEST_LISTED
    if small and is_listed(scenario):
        try:
            return record_leakage(scenario.channel, scenario.answers, prior=scenario.record_prior)
        except TooLargeError:
            pass  # the bound below needs no list
    if uniform and len(policy.values) > LARGEST_PAIRS:
        before, after = _uniform_bound(policy, eps)
        return RecordLeakage.at_most(before, after, math.log2(after / before))
    return record_leakage(eps, policy, prior=scenario.record_prior)


def _uniform_bound(policy: Policy, eps: float) -> tuple[float, float]:
    """1/Σ_u e^(-ε·d(v, u)) at the worst of very many values, without listing their distances.

    Where all are equally far apart the sum is 1 + (n - 1)·e^(-ε·d); on a line it is least at an end.
    """
    size = len(policy.values)
    apart = policy.record_metric.uniform_distance
    if apart is not None:
        spread = 1 + (size - 1) * math.exp(-eps * apart)
    elif isinstance(policy.secrets, SecretGraph) and policy.secrets.is_path:
        spread = float(size) if eps == 0 else math.expm1(-eps * size) / math.expm1(-eps)
    else:
        spread = 1.0
    return 1 / size, min(1.0, 1 / spread)
