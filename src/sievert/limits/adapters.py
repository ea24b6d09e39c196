"""Explain what other libraries promise: an OpenDP measurement, or an event or loss distribution of
dp-accounting.

Neither package is needed by anything else; they are looked at only when one of their objects is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from sievert.errors import MechanismError
from sievert.limits.claims import (
    ApproximateClaim,
    Claim,
    ProfileClaim,
    RenyiClaim,
    ZeroConcentratedClaim,
    checked_releases,
)
from sievert.limits.explain import Explanation, explain_claim

__all__ = ["claim_of_event", "claim_of_measurement", "explain_dp_accounting", "explain_opendp"]

ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)


def explain_opendp(
    measurement: object,
    d_in: object = 1,
    values: int | Iterable[object] | None = None,
    prior: object = None,
    releases: int = 1,
) -> Explanation:
    """What an OpenDP measurement promises one person.

    Parameters
    ----------
    measurement : an OpenDP measurement; its privacy map and output measure say what it promises
    d_in : how far apart neighbouring inputs are in its input metric
    values, prior, releases : as for `sv.explain`

    Pure, approximate and zero-concentrated measures, Rényi divergence and smoothed maximum divergence (a
    curve) are understood.
    """
    claim = claim_of_measurement(measurement, d_in, releases)
    return explain_claim(claim, values=values, prior=prior)


def claim_of_measurement(measurement: Any, d_in: object = 1, releases: int = 1) -> Claim:
    """The claim that a measurement's map makes at a distance of its inputs."""
    count = checked_releases(releases)
    if not hasattr(measurement, "map") or not hasattr(measurement, "output_measure"):
        raise MechanismError(f"measurement is {measurement!r}; give an OpenDP measurement")
    measure = str(measurement.output_measure)
    promised: Any = measurement.map(d_in)
    if measure == "MaxDivergence":
        return ApproximateClaim(float(promised), 0.0, count)
    if measure == "ZeroConcentratedDivergence":
        return ZeroConcentratedClaim(float(promised), count)
    if measure == "Approximate(MaxDivergence)":
        eps, delta = promised
        return ApproximateClaim(float(eps), float(delta), count)
    if measure == "RenyiDivergence":
        return RenyiClaim(ORDERS, tuple(float(promised(order)) for order in ORDERS), count)
    if measure == "SmoothedMaxDivergence":
        _once(count, measure)
        return ProfileClaim(_limited(promised.delta), "an OpenDP measurement with a curve δ(ε)")
    raise MechanismError(
        f"measurement has the output measure {measure}; understood are MaxDivergence, "
        "Approximate(MaxDivergence), ZeroConcentratedDivergence, RenyiDivergence and SmoothedMaxDivergence"
    )


def explain_dp_accounting(
    event_or_pld: object,
    values: int | Iterable[object] | None = None,
    prior: object = None,
    releases: int = 1,
) -> Explanation:
    """What an event, a loss distribution or an accountant of dp-accounting promises one person.

    The loss distribution is pessimistic, so the explanation is an upper bound up to its discretisation.
    """
    claim = claim_of_event(event_or_pld, releases)
    return explain_claim(claim, values=values, prior=prior)


def claim_of_event(given: Any, releases: int = 1) -> Claim:
    """The curve δ(ε) of a DpEvent, a PrivacyLossDistribution or an accountant of dp-accounting."""
    count = checked_releases(releases)
    if hasattr(given, "get_delta_for_epsilon"):
        composed = given if count == 1 else given.self_compose(count)
        profile = _limited(composed.get_delta_for_epsilon)
        return ProfileClaim(profile, "a privacy loss distribution", releases=count)
    if hasattr(given, "get_delta") and hasattr(given, "compose"):
        _once(count, "an accountant")
        return ProfileClaim(_limited(given.get_delta), "a dp-accounting accountant")
    try:
        accounting = import_module("dp_accounting")
        accountant_class = import_module("dp_accounting.pld").PLDAccountant
    except ImportError:
        raise MechanismError(
            "event_or_pld needs the package dp-accounting, which is not installed; install it, or give eps "
            "and delta to sv.explain"
        ) from None
    if not isinstance(given, accounting.DpEvent):
        raise MechanismError(
            f"event_or_pld is {given!r}; give a DpEvent, a loss distribution or an accountant"
        )
    accountant = accountant_class()
    try:
        accountant.compose(given, count)
    except Exception as problem:
        raise MechanismError(f"event_or_pld is {given!r}, which dp-accounting refuses: {problem}") from None
    source = f"{type(given).__name__} of dp-accounting"
    return ProfileClaim(_limited(accountant.get_delta), source, releases=count)


def _once(releases: int, what: str) -> None:
    if releases != 1:
        raise MechanismError(f"releases is {releases}; {what} is composed before it is explained")


def _limited(profile: Callable[[float], Any]) -> Callable[[float], float]:
    """The curve as a float that is 1 where the other library has no answer."""

    def at(eps: float) -> float:
        found = float(profile(eps))
        return 1.0 if math.isnan(found) else found

    return at
