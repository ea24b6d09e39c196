"""Of several bounds on the guess about one record, the least: the mechanism's own, and its ε alone."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sievert.errors import PolicyError, TooLargeError
from sievert.files import Scenario
from sievert.files.building import build_prior
from sievert.leakage.records import RecordLeakage, record_leakage
from sievert.leakage.repeats import RepeatedGuess
from sievert.limits.claims import LARGEST_RELEASES, ApproximateClaim
from sievert.limits.policy_guesses import policy_guess

__all__ = ["is_exact", "least_record", "least_repeated", "record_belief"]


def record_belief(scenario: Scenario) -> NDArray[np.float64] | None:
    """The belief about one record; None where it is uniform."""
    adversary = scenario.document.adversary
    given = adversary.record_prior
    if given is None and scenario.query.kind == "record":
        given = adversary.prior
    if given is None or given == "uniform":
        return None
    found = build_prior(given, scenario.policy.values, scenario.folder, scenario.policy.absent)
    return np.asarray(found, dtype=np.float64)


def is_exact(record: RecordLeakage) -> bool:
    """Whether the guess about one record is no mere bound."""
    return not record.method.startswith("bound")


def least_record(scenario: Scenario, record: RecordLeakage, eps: float) -> RecordLeakage:
    """The guess after one release, never above what any mechanism with this ε allows."""
    if is_exact(record):
        return record
    allowed = _allowed(scenario, eps, 1, record.before)
    if allowed >= record.after:
        return record
    return replace(record, after=allowed, bits=math.log2(allowed / record.before))


def least_repeated(
    scenario: Scenario, repeated: RepeatedGuess | None, record: RecordLeakage, eps: float, count: int
) -> RepeatedGuess:
    """The guess after several releases: a bound on it, or none yet, and what their ε alone allows."""
    if repeated is None:
        added = record_leakage(eps * count, scenario.policy, scenario.record_prior)
        repeated = RepeatedGuess(added.before, added.after, False, count)
    if not repeated.exact:
        allowed = _allowed(scenario, eps, count, repeated.before)
        repeated = replace(repeated, guess=min(repeated.guess, allowed))
    if is_exact(record) and repeated.before == record.before and repeated.guess < record.after:
        # More releases never help less; rounding may say so by 1e-16.
        repeated = replace(repeated, guess=record.after)
    return repeated


def _allowed(scenario: Scenario, eps: float, count: int, before: float) -> float:
    """What any mechanism with this ε allows in so many releases; 1 where that is not known."""
    if scenario.policy.constrained or math.isinf(eps):
        return 1.0
    try:
        # Of more releases than are composed one by one the ε is added up.
        claim = ApproximateClaim(eps, 0.0, count)
        if count > LARGEST_RELEASES:
            claim = ApproximateClaim(eps * count)
        found, blind = policy_guess(claim, scenario.policy, record_belief(scenario))
    except (PolicyError, TooLargeError):
        return 1.0
    return found.upper if math.isclose(blind, before, rel_tol=1e-9) else 1.0
