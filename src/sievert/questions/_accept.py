"""Of several bounds on the guess about one record, the least: the mechanism's own, and its ε alone."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sievert.channels.divergences import delta_curve, renyi_curve, smallest_epsilon
from sievert.errors import FileError, PolicyError, TooLargeError
from sievert.limits import composed_epsilon, gaussian_delta, odds_growth
from sievert.limits.promises import LARGEST_RELEASES, ApproximateClaim, claim_of
from sievert.results import Result
from sievert.spaces import Metric

if TYPE_CHECKING:
    from sievert.files import ClaimModel, Scenario
    from sievert.measures import RecordLeakage
    from sievert.observations import RepeatedGuess

__all__ = [
    "CLAIM_TOLERANCE",
    "Check",
    "Promise",
    "checks",
    "has_added_noise",
    "has_noise_in_cells",
    "kept_promise",
    "least_record",
    "least_repeated",
    "promise_of_noise",
    "record_belief",
    "repeated_record",
]


@dataclass(frozen=True)
class Check(Result):
    """One limit of [accept]: its key, what it limits, the limit, the value found and whether it holds.

    Where `exact` is False the value is an upper bound: within the limit it proves that the limit holds,
    above it nothing is known, and the check does not pass.
    """

    key: str
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


def repeated_record(scenario: Scenario, record: RecordLeakage, nats: float) -> RepeatedGuess:
    """Best guess about one record after all releases."""
    from sievert.observations import RepeatedGuess, repeated_guess

    count = scenario.observations
    if count == 1:
        return RepeatedGuess(record.before, record.after, not record.is_bound, count)
    repeated = None
    with suppress(TooLargeError):
        repeated = repeated_guess(scenario.channel, scenario.answers, count, scenario.record_prior)
    return least_repeated(scenario, repeated, record, nats, count)


def has_added_noise(scenario: Scenario) -> bool:
    """Whether the file adds geometric noise to a table over its data: ε then needs no list of answers."""
    on_table = scenario.document.query.is_table
    return bool(scenario.columns) and on_table and _adds_noise(scenario)


def has_noise_in_cells(scenario: Scenario) -> bool:
    """Whether the file releases a histogram with geometric noise in every cell, which has no finite list."""
    return scenario.document.query.is_histogram and _adds_noise(scenario)


def _adds_noise(scenario: Scenario) -> bool:
    mechanism = scenario.document.mechanism
    return mechanism is not None and mechanism.added() is not None


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
    limits: tuple[tuple[str, str, float | None, float, float], ...] = (
        ("guess", "best guess", accept.guess, record.after, repeated.guess),
        ("bits", "bits", accept.bits, record.bits, repeated.bits),
        (
            "advantage",
            "advantage",
            accept.advantage,
            record.after - record.before,
            repeated.guess - repeated.before,
        ),
        (
            "odds",
            "growth of the odds",
            accept.odds,
            odds_growth(record.before, record.after),
            odds_growth(repeated.before, repeated.guess),
        ),
    )
    for key, what, limit, single, value in limits:
        if limit is None:
            continue
        one_release_is_too_many = not record.is_bound and not _is_within(single, limit)
        if not repeated.exact and one_release_is_too_many:
            compared.append(Check(key, f"{what} about one record after one release", limit, single, False))
        else:
            passed = _is_within(value, limit)
            name = f"{what} about one record {after}"
            compared.append(Check(key, name, limit, value, passed, repeated.exact))
    if accept.eps is not None:
        at, value = "", total
        if accept.delta is not None:
            at, value = f" at δ = {accept.delta:g}", _total_at(scenario, total, accept.delta)
        compared.append(
            Check("eps", f"total ε{whose}{at} {after}", accept.eps, value, _is_within(value, accept.eps))
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


def record_belief(scenario: Scenario) -> NDArray[np.float64] | None:
    """The belief about one record; None where it is uniform."""
    adversary = scenario.document.adversary
    given = adversary.record_prior
    if given is None and scenario.query.is_record:
        given = adversary.prior
    if given is None or given.is_uniform:
        return None
    return np.asarray(given.over(scenario.policy.values, scenario.policy.absent), dtype=np.float64)


def least_record(scenario: Scenario, record: RecordLeakage, eps: float) -> RecordLeakage:
    """The guess after one release, never above what any mechanism with this ε allows."""
    if not record.is_bound:
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
        from sievert.measures import record_leakage
        from sievert.observations import RepeatedGuess

        added = record_leakage(eps * count, scenario.policy, prior=scenario.record_prior)
        repeated = RepeatedGuess(added.before, added.after, False, count)
    if not repeated.exact:
        allowed = _allowed(scenario, eps, count, repeated.before)
        repeated = replace(repeated, guess=min(repeated.guess, allowed))
    if not record.is_bound and repeated.before == record.before and repeated.guess < record.after:
        # More releases never help less; rounding may say so by 1e-16.
        repeated = replace(repeated, guess=record.after)
    return repeated


def _allowed(scenario: Scenario, eps: float, count: int, before: float) -> float:
    """What any mechanism with this ε allows in so many releases; 1 where that is not known."""
    if scenario.policy.constrained or math.isinf(eps):
        return 1.0
    from sievert.limits import policy_guess

    try:
        # Of more releases than are composed one by one the ε is added up.
        claim = ApproximateClaim(eps, 0.0, count)
        if count > LARGEST_RELEASES:
            claim = ApproximateClaim(eps * count)
        found, blind = policy_guess(claim, scenario.policy, record_belief(scenario))
    except (PolicyError, TooLargeError):
        return 1.0
    return found.upper if math.isclose(blind, before, rel_tol=1e-9) else 1.0


# ── Does the mechanism of a file keep what [claim] promises? ────────────────────────────────────────────────

# A family's ε is recomputed from rounded logarithms; a claim is not broken by the last few digits.
CLAIM_TOLERANCE = 1e-9
# Orders α at which Rényi divergences are compared with α·ρ, and levels ε at which two curves δ(ε) are.
ORDERS = np.concatenate([1 + np.geomspace(1e-4, 1.0, 40), np.geomspace(2.1, 1e5, 120)])
LEVELS = 400


@dataclass(frozen=True)
class Promise(Result):
    """A claim in words, whether the mechanism keeps it, and what it satisfies of the same kind."""

    claim: str
    kept: bool
    satisfied: str


def kept_promise(scenario: Scenario, eps: float) -> Promise | None:
    """The file's claim held against its mechanism, whose smallest pure ε is given; None without a claim."""
    stated = scenario.document.claim
    if stated is None or (stated.eps is not None and not stated.delta):
        claimed = scenario.claimed_eps
        if claimed is None:
            return None
        kept = eps <= claimed * (1 + CLAIM_TOLERANCE)
        return Promise(f"ε = {claimed:.6g}", kept, f"ε = {eps:.6g}")
    words = claim_of(**stated.model_dump(exclude_none=True)).words
    if stated.eps is not None:
        found = smallest_epsilon(scenario.channel, scenario.answers, stated.delta)
        kept = found <= stated.eps * (1 + CLAIM_TOLERANCE)
        return Promise(words, kept, f"ε = {found:.6g} at δ = {stated.delta:g}")
    if isinstance(scenario.policy.secrets, Metric):
        raise FileError(
            f"{scenario.source}, claim: on a metric a claim is an ε per unit of distance; give eps"
        )
    if stated.rho is not None:
        return _concentrated(scenario, stated.rho, words)
    return _gaussian(scenario, stated, eps, words)


def promise_of_noise(scenario: Scenario, eps: float) -> Promise | None:
    """[claim] held against a pure ε alone, where there is no channel: what ε implies is what is kept."""
    stated = scenario.document.claim
    if stated is None:
        return None
    words = claim_of(**stated.model_dump(exclude_none=True)).words
    found = f"ε = {eps:.6g}"
    if stated.eps is not None:
        return Promise(words, eps <= stated.eps * (1 + CLAIM_TOLERANCE), found)
    # Bun and Steinke, Prop 1.4: ε-privacy is ε²/2-zCDP.
    rho = eps**2 / 2
    if stated.rho is not None:
        return Promise(
            words, rho <= stated.rho * (1 + CLAIM_TOLERANCE), f"{found}, which implies ρ = {rho:.6g}"
        )
    return Promise(words, False, f"{found}, which implies no such curve")


def _concentrated(scenario: Scenario, rho: float, words: str) -> Promise:
    """ρ-zCDP: D_α ≤ α·ρ for every order α > 1."""
    curve = renyi_curve(scenario.channel, scenario.answers, ORDERS)
    found = float(np.max(curve.nats / ORDERS))
    return Promise(words, found <= rho * (1 + CLAIM_TOLERANCE), f"ρ = {found:.6g}")


def _gaussian(scenario: Scenario, stated: ClaimModel, eps: float, words: str) -> Promise:
    """As private as Gaussian noise: δ(ε) is nowhere above that of two Gaussians."""
    assert stated.sigma is not None
    if math.isinf(eps):
        return Promise(words, False, "no ε")
    mu = math.inf if stated.sigma == 0 else stated.sensitivity / stated.sigma
    levels = np.linspace(0.0, eps, LEVELS)
    own, allowed = delta_curve(scenario.channel, scenario.answers, levels).delta, gaussian_delta(mu, levels)
    over = own - allowed
    worst = int(np.argmax(over))
    kept = bool(over[worst] <= CLAIM_TOLERANCE)
    found = f"δ = {own[worst]:.4g} at ε = {levels[worst]:.4g}, where {allowed[worst]:.4g} is promised"
    return Promise(words, kept, f"ε = {eps:.6g}" if kept else found)
