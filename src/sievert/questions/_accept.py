"""Of several bounds on the guess about one record, the least: the mechanism's own, and its ε alone."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from sievert.arrays import BoolArray, FloatArray
from sievert.channels import Channel
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
    from sievert.policies import Answers

__all__ = [
    "CLAIM_TOLERANCE",
    "Check",
    "Promise",
    "checks",
    "has_added_noise",
    "has_noise_in_cells",
    "is_within",
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
    """Whether the file adds geometric noise to a table over all records: ε then needs no list of answers."""
    return scenario.document.query.is_table and _adds_noise(scenario)


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
        one_release_is_too_many = not record.is_bound and not is_within(single, limit)
        if not repeated.exact and one_release_is_too_many:
            compared.append(Check(key, f"{what} about one record after one release", limit, single, False))
        else:
            passed = is_within(value, limit)
            name = f"{what} about one record {after}"
            compared.append(Check(key, name, limit, value, passed, repeated.exact))
    if accept.eps is not None:
        at, value = "", total
        if accept.delta is not None:
            at, value = f" at δ = {accept.delta:g}", _total_at(scenario, total, accept.delta)
        compared.append(
            Check("eps", f"total ε{whose}{at} {after}", accept.eps, value, is_within(value, accept.eps))
        )
    if accept.inference is not None or accept.loss_factor is not None:
        from sievert.questions.infer import inference_checks

        compared += inference_checks(scenario)
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


def is_within(value: float, limit: float) -> bool:
    """Whether a value keeps a limit, up to rounding."""
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
# Orders α at which Rényi divergences are compared with α·ρ first, and levels ε at which two curves δ(ε)
# are; then intervals between them are halved where what holds at their ends leaves open what does between.
ORDERS = np.concatenate([[1.0], 1 + np.geomspace(1e-3, 1.0, 16), np.geomspace(2.2, 1e3, 24)])
LEVELS = 64
HALVINGS = 60
MOST_ORDERS = 1000
# How much smaller than the tolerance of a claim the doubt about it is.
DOUBT = 0.1


@dataclass(frozen=True)
class Promise(Result):
    """A claim in words, whether the mechanism keeps it, and what it satisfies of the same kind."""

    claim: str
    kept: bool
    satisfied: str


def kept_promise(scenario: Scenario, eps: float) -> Promise | None:
    """The file's claims held against its mechanism, whose smallest pure ε is given; None without a claim.

    An ε that [mechanism] promises is judged beside what [claim] says of another kind.
    """
    stated = scenario.document.claim
    if stated is None or (stated.eps is not None and not stated.delta):
        return _pure(scenario.claimed_eps, eps)
    found, own = _stated(scenario, stated, eps), _pure(scenario.mechanism.promised, eps)
    if own is None:
        return found
    return Promise(
        f"{found.claim} and, under [mechanism], {own.claim}",
        found.kept and own.kept,
        f"{found.satisfied} and {own.satisfied}",
    )


def _pure(claimed: float | None, eps: float) -> Promise | None:
    if claimed is None:
        return None
    kept = eps <= claimed * (1 + CLAIM_TOLERANCE)
    return Promise(f"ε = {claimed:.6g}", kept, f"ε = {eps:.6g}")


def _stated(scenario: Scenario, stated: ClaimModel, eps: float) -> Promise:
    """What [claim] says, where it is more than a pure ε."""
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
    found = concentration(scenario.channel, scenario.answers)
    return Promise(words, found <= rho * (1 + CLAIM_TOLERANCE), f"ρ = {found:.6g}")


def concentration(channel: Channel, answers: Answers) -> float:
    """The least ρ with D_α ≤ α·ρ for every α ≥ 1, at most a tenth of a claim's tolerance above it.

    Where D_α/α hardly changes over many orders it is the largest of those looked at.
    """
    wanted = ORDERS
    nats = renyi_curve(channel, answers, [*wanted, math.inf]).nats
    nats, pure = nats[:-1], float(nats[-1])
    if not pure < math.inf or not nats.max() < math.inf:
        return math.inf
    if not nats.max() > 0:
        return 0.0
    # Beyond this order D_α/α, at most D_∞/α, is less than what is found already.
    last = max(2 * wanted[-1], pure / float((nats / wanted).max()))
    wanted = np.append(wanted, last)
    nats = np.append(nats, renyi_curve(channel, answers, [last]).nats)
    for _ in range(HALVINGS):
        best = float((nats / wanted).max())
        above = _between_orders(wanted, nats)
        open_ = np.flatnonzero(above > best * (1 + DOUBT * CLAIM_TOLERANCE))
        if not len(open_):
            return max(best, float(above.max()))
        if len(wanted) > MOST_ORDERS:
            break
        low, high = wanted[open_] - 1, wanted[open_ + 1] - 1
        middle = 1 + np.where(low > 0, np.sqrt(low * high), high / 16)
        wanted = np.concatenate([wanted, middle])
        nats = np.concatenate([nats, renyi_curve(channel, answers, middle).nats])
        order = np.argsort(wanted, kind="stable")
        wanted, nats = wanted[order], nats[order]
    return float((nats / wanted).max())


def _between_orders(orders: FloatArray, nats: FloatArray) -> FloatArray:
    """At most how large D_α/α is between two orders: (α - 1)·D_α is convex, so it lies below its chords."""
    a, b, first, last = orders[:-1], orders[1:], nats[:-1], nats[1:]
    slope = ((b - 1) * last - (a - 1) * first) / (b - a)
    start = (a - 1) * first - slope * a
    with np.errstate(invalid="ignore", divide="ignore"):
        # Where the derivative of (start + slope·α)/(α·(α - 1)) vanishes.
        turns = (np.sqrt(start * (start + slope)) * [[1.0], [-1.0]] - start) / slope
        inside = (turns > a) & (turns < b) & (a > 1)
        values = np.where(inside, (start + slope * turns) / (turns * (turns - 1)), 0.0)
    # D_α rises, so next to α = 1 it is at most what it is at the other end.
    ends = np.where(a > 1, np.maximum(first / a, last / b), last / a)
    return np.asarray(np.maximum(ends, values.max(axis=0)))


def _gaussian(scenario: Scenario, stated: ClaimModel, eps: float, words: str) -> Promise:
    """As private as Gaussian noise: δ(ε) is nowhere above that of two Gaussians.

    Both curves are convex in e^ε: between two levels the mechanism's lies below its chord, and the promised
    one above its tangents.
    """
    assert stated.sigma is not None
    if math.isinf(eps):
        return Promise(words, False, "no ε")
    mu = math.inf if stated.sigma == 0 else stated.sensitivity / stated.sigma
    if math.isinf(mu):
        return Promise(words, True, f"ε = {eps:.6g}")
    levels, kept = np.linspace(0.0, eps, LEVELS), f"ε = {eps:.6g}"
    for _ in range(HALVINGS):
        own = delta_curve(scenario.channel, scenario.answers, levels).delta
        allowed = gaussian_delta(mu, levels)
        over = own - allowed * (1 + CLAIM_TOLERANCE)
        worst = int(np.argmax(over))
        if over[worst] > 0:
            found = f"δ = {own[worst]:.4g} at ε = {levels[worst]:.4g}, where {allowed[worst]:.4g} is promised"
            return Promise(words, False, found)
        open_ = np.flatnonzero(_crosses(levels, own, mu))
        if not len(open_):
            return Promise(words, True, kept)
        levels = np.sort(np.append(levels, (levels[open_] + levels[open_ + 1]) / 2))
    return Promise(words, False, f"{kept}; two curves of δ are too close to be told apart")


def _crosses(levels: FloatArray, own: FloatArray, mu: float) -> BoolArray:
    """Whether a chord of one curve is anywhere above the tangent of the other in the middle below it."""
    middle = (levels[:-1] + levels[1:]) / 2
    height = gaussian_delta(mu, middle)
    if mu == 0:
        return np.asarray(np.maximum(own[:-1], own[1:]) > 0)
    # The slope in e^ε is -Φ(-ε/μ - μ/2).
    steep = np.exp(log_ndtr(-middle / mu - mu / 2) + middle)
    slack = 1 + CLAIM_TOLERANCE
    below = [height - steep * np.expm1(end - middle) for end in (levels[:-1], levels[1:])]
    return np.asarray((own[:-1] > below[0] * slack) | (own[1:] > below[1] * slack))
