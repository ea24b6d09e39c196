"""Does the mechanism of a file keep what [claim] promises?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sievert.channels.divergences import delta_curve, renyi_curve, smallest_epsilon
from sievert.errors import FileError
from sievert.files import Scenario
from sievert.files.schema import ClaimModel
from sievert.limits.claims import claim_of
from sievert.limits.composition import gaussian_delta
from sievert.results import Result
from sievert.spaces.metric import Metric

__all__ = ["CLAIM_TOLERANCE", "Promise", "kept_promise", "promise_of_noise"]

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
