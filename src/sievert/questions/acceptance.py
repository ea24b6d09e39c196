"""The limits of `[accept]`, and whether a mechanism keeps the ε, (ε, δ) or ρ that the file claims for it."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

from sievert.analysis._measurement import CLAIM_TOLERANCE, ROUNDED, is_within
from sievert.arrays import BoolArray, FloatArray
from sievert.channels import Channel
from sievert.channels.divergences import delta_curve, renyi_curve, smallest_epsilon
from sievert.errors import FileError, TooLargeError
from sievert.limits import composed_epsilon, gaussian_delta, odds_growth
from sievert.limits.promises import ZeroConcentratedClaim, claim_of
from sievert.numerics import amount, at_most_percent, in_percent
from sievert.results import Result
from sievert.spaces import Metric

if TYPE_CHECKING:
    from sievert.analysis import Analysis
    from sievert.files import ClaimModel, PolicyScenario
    from sievert.policies import Answers

__all__ = [
    "CLAIM_TOLERANCE",
    "ROUNDED",
    "Check",
    "Promise",
    "check_limits",
    "is_within",
    "kept_promise",
    "record_belief",
]


# Limits that are probabilities, and differences of two.
UNITS = {"guess": "%", "inference": "%", "advantage": " percentage points"}


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
        value, limit = self._amounts()
        if self.exact:
            relation = "within" if self.passed else "EXCEEDS"
            return f"{self.name}: {value} {relation} the limit {limit}"
        relation = "within" if self.passed else "NOT SHOWN to be within"
        return f"{self.name}: at most {value}, {relation} the limit {limit}"

    def _amounts(self) -> tuple[str, str]:
        """Value and limit as the other sentences write them; with more digits where they would look alike."""
        unit = UNITS.get(self.key)
        if unit is None:
            return amount(self.value), f"{self.limit:g}"
        value = in_percent(self.value) if self.exact else at_most_percent(self.value)
        limit = in_percent(self.limit)
        if value == limit:
            value, limit = f"{100 * self.value:.10g}%", f"{100 * self.limit:.10g}%"
        return value.replace("%", unit), limit.replace("%", unit)


def check_limits(scenario: PolicyScenario, people: int | None = None) -> tuple[Check, ...]:
    """Compare what a mechanism gives away with the limits of [accept], about a person with all records.

    `people` is how many records a person may own, where that is not what the policy says. Under public
    knowledge guesses are about one record.
    """
    view, accept = scenario.analysis, scenario.accept
    if accept is None:
        return ()
    first, repeated = view.vulnerability(), view.vulnerability(releases=scenario.observations)
    first_bits = view.first_bits
    after = f"after {scenario.observations} releases" if scenario.observations > 1 else "after the release"
    people = scenario.policy.person_records if people is None else people
    whose = "" if people == 1 else f" for a person with {people} records"
    about = "one record"
    if people > 1 and not scenario.policy.constrained:
        from sievert.analysis import Attacker

        about, repeated = "one person", view.vulnerability(Attacker(records=people), scenario.observations)
        first = repeated
    compared = []
    limits: tuple[tuple[str, str, float | None, float, float], ...] = (
        ("guess", "best guess", accept.guess, first.value, repeated.value),
        ("bits", "bits", accept.bits, first_bits, repeated.bits),
        (
            "advantage",
            "advantage",
            accept.advantage,
            first.advantage,
            repeated.advantage,
        ),
        (
            "odds",
            "growth of the odds",
            accept.odds,
            odds_growth(first.prior, first.value),
            odds_growth(repeated.prior, repeated.value),
        ),
    )
    for key, what, limit, single, value in limits:
        if limit is None:
            continue
        one_release_is_too_many = first.is_exact and not is_within(single, limit)
        if not repeated.is_exact and one_release_is_too_many:
            compared.append(Check(key, f"{what} about {about} after one release", limit, single, False))
        else:
            passed = is_within(value, limit)
            name = f"{what} about {about} {after}"
            compared.append(Check(key, name, limit, value, passed, repeated.is_exact))
    if accept.eps is not None:
        at, value = "", view.epsilon.nats * scenario.observations * people
        if accept.delta is not None:
            at, value = f" at δ = {accept.delta:g}", _total_at(scenario, people, accept.delta)
        compared.append(
            Check("eps", f"total ε{whose}{at} {after}", accept.eps, value, is_within(value, accept.eps))
        )
    if accept.inference is not None or accept.loss_factor is not None:
        from sievert.questions.infer import inference_checks

        compared += inference_checks(scenario)
    return tuple(compared)


def _total_at(scenario: PolicyScenario, people: int, delta: float) -> float:
    """The smallest total ε that is known at a δ: exactly, or by optimal composition of several releases."""
    view, count = scenario.analysis, scenario.observations
    total = view.epsilon.nats * count * people
    if people > 1 or scenario.policy.is_metric or total == 0:
        return total
    if count > 1 and math.isfinite(total):
        total = min(total, composed_epsilon(total / count, 0.0, count, delta))
    with suppress(TooLargeError):
        neighbours = view.dominating_pair(count)
        if neighbours is not None:
            return min(total, smallest_epsilon(*neighbours, delta))
    return total


def record_belief(scenario: PolicyScenario) -> NDArray[np.float64] | None:
    """The belief about one record; None where it is uniform."""
    return scenario.informative_prior


# ── Does the mechanism of a file keep what [claim] promises? ────────────────────────────────────────────────

# Orders α at which Rényi divergences are compared with α·ρ first, and levels ε at which two curves δ(ε)
# are; then intervals between them are halved where what holds at their ends leaves open what does between.
ORDERS = np.concatenate([[1.0], 1 + np.geomspace(1e-3, 1.0, 16), np.geomspace(2.2, 1e3, 24)])
LEVELS = 64
HALVINGS = 60
MOST_ORDERS = 1000
# The δ at which a promise is read where the file names none.
READ_DELTA = 1e-6
# How much smaller than the tolerance of a claim the doubt about it is.
DOUBT = 0.1


@dataclass(frozen=True)
class Promise(Result):
    """A claim in words, whether the mechanism keeps it, and what it satisfies of the same kind."""

    claim: str
    kept: bool
    satisfied: str


def kept_promise(scenario: PolicyScenario) -> Promise | None:
    """The file's claims held against its mechanism; None without a claim.

    An ε that [mechanism] promises is judged beside what [claim] says of another kind.
    """
    eps, stated = scenario.epsilon.nats, scenario.document.claim
    if stated is None and scenario.claimed_rho is not None:
        return _by_noise(scenario, scenario.claimed_rho)
    if stated is None or (stated.eps is not None and not stated.delta):
        return _pure(scenario.claimed_eps, eps)
    found, own = _stated(scenario, stated), _pure(scenario.mechanism.promised, eps)
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
    kept = eps <= claimed * (1 + CLAIM_TOLERANCE) + ROUNDED
    claim, satisfied = (f"ε = {level:.6g}" for level in (claimed, eps))
    if not kept and claim == satisfied:
        claim, satisfied = (f"ε = {level:.17g}" for level in (claimed, eps))
    return Promise(claim, kept, satisfied)


def _by_noise(scenario: PolicyScenario, rho: Fraction) -> Promise:
    """What noise that keeps no ε promises: its ρ, an exact fraction, and ε at the δ of the file or 10^-6."""
    view = scenario.analysis
    neighbours = view.dominating_pair()
    words = claim_of(**(scenario.claimed or {})).words
    stated = scenario.mechanism.approximate
    delta = READ_DELTA if stated is None else stated[1]
    level = view.epsilon_at(delta)
    if level is not None:
        found, how = level.nats, "and exactly" if level.exact else "and at most"
    elif neighbours is None:
        found, how = ZeroConcentratedClaim(float(rho)).epsilon(delta), "which implies"
    else:
        found, how = smallest_epsilon(*neighbours, delta), "and exactly"
    kept = stated is None or found <= stated[0] * (1 + CLAIM_TOLERANCE)
    return Promise(words, kept, f"ρ = {float(rho):.6g}, {how} ε = {found:.6g} at δ = {delta:g}")


def _stated(scenario: PolicyScenario, stated: ClaimModel) -> Promise:
    """What [claim] says, where it is more than a pure ε."""
    view = scenario.analysis
    words = claim_of(**stated.model_dump(exclude_none=True)).words
    if stated.eps is None and scenario.policy.is_metric:
        raise FileError(
            f"{scenario.source}, claim: on a metric a claim is an ε per unit of distance; give eps"
        )
    neighbours = view.dominating_pair()
    if neighbours is None:
        return _of_several(view, stated, words) or _implied(stated, view.epsilon.nats, words)
    if stated.eps is not None:
        found = smallest_epsilon(*neighbours, stated.delta)
        kept = found <= stated.eps * (1 + CLAIM_TOLERANCE)
        return Promise(words, kept, f"ε = {found:.6g} at δ = {stated.delta:g}")
    if stated.rho is not None:
        rho = concentration(*neighbours)
        return Promise(words, rho <= stated.rho * (1 + CLAIM_TOLERANCE), f"ρ = {rho:.6g}")
    return _gaussian(neighbours, stated, view.epsilon.nats, words)


def _of_several(view: Analysis, stated: ClaimModel, words: str) -> Promise | None:
    """A claim held against what several tables keep at a δ, or in ρ; None where that is not known."""
    level = None if stated.eps is None or not stated.delta else view.epsilon_at(stated.delta)
    if level is not None and stated.eps is not None:
        kept = level.nats <= stated.eps * (1 + CLAIM_TOLERANCE)
        most = "" if level.exact else "at most "
        return Promise(words, kept, f"{most}ε = {level.nats:.6g} at δ = {stated.delta:g}")
    if stated.rho is None or view.rho is None:
        return None
    kept = view.rho <= stated.rho * (1 + CLAIM_TOLERANCE)
    return Promise(words, kept, f"ρ = {float(view.rho):.6g}")


def _implied(stated: ClaimModel, eps: float, words: str) -> Promise:
    """A claim held against a pure ε alone, where neighbours are not listed: what it implies is kept."""
    found = f"ε = {eps:.6g}"
    if stated.eps is not None:
        return Promise(words, eps <= stated.eps * (1 + CLAIM_TOLERANCE), found)
    # What keeps ε has D_a ≤ a·ε·tanh(ε/2), which binary response reaches (Bun and Steinke have ε²/2).
    rho = eps * math.tanh(eps / 2)
    if stated.rho is not None:
        return Promise(
            words, rho <= stated.rho * (1 + CLAIM_TOLERANCE), f"{found}, which implies ρ = {rho:.6g}"
        )
    return Promise(words, False, f"{found}, which implies no such curve")


def concentration(channel: Channel, answers: Answers | Metric) -> float:
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


def _gaussian(
    neighbours: tuple[Channel, Answers | Metric], stated: ClaimModel, eps: float, words: str
) -> Promise:
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
        own = delta_curve(*neighbours, levels).delta
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
