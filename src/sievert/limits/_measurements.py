"""Explain what an OpenDP measurement promises.

What neighbours are is the input metric's to say. Under SymmetricDistance or InsertDeleteDistance a person is
added or removed, so two values of a person are two steps apart; under ChangeOneDistance, HammingDistance and
DiscreteDistance a value is replaced; a distance between numbers or vectors says how far apart answers are.

OpenDP is needed by nothing else; it is looked at only when one of its objects is given.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from sievert.errors import MechanismError
from sievert.limits._composition import revealed
from sievert.limits._explain import PRESENCE, VALUE, Explanation, explain_claim
from sievert.limits._replacement import ReplacementClaim
from sievert.limits.promises import (
    ApproximateClaim,
    Claim,
    ProfileClaim,
    RenyiClaim,
    ZeroConcentratedClaim,
    checked_releases,
)
from sievert.numerics import abbreviated, choice, is_whole

__all__ = ["claim_of_measurement", "explain_about", "explain_opendp", "limited", "require_once"]

ORDERS = (1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
ADD_REMOVE = ("SymmetricDistance", "InsertDeleteDistance", "SymmetricIdDistance")
REPLACE = ("ChangeOneDistance", "HammingDistance", "ChangeOneIdDistance", "DiscreteDistance")
ANSWERS = ("AbsoluteDistance", "L1Distance", "L2Distance", "LInfDistance")
QUESTIONS = ("value", "presence")


def explain_opendp(
    measurement: object,
    d_in: object = 1,
    values: int | Iterable[object] | None = None,
    prior: object = None,
    *,
    releases: int = 1,
    about: str = "value",
) -> Explanation:
    """What an OpenDP measurement promises one person.

    Parameters
    ----------
    measurement : an OpenDP measurement; its input metric, privacy map and output measure say what it promises
    d_in : how far one person moves the input in its input metric: how many records one person adds, removes
        or changes, or how far apart the answers of two values may be
    values, prior, releases : as for `sv.explain`
    about : "value", which value the person has, or "presence", whether the person is in the data at all

    Returns
    -------
    Explanation

    Notes
    -----
    Under a metric that adds and removes records, a person whose value is replaced is 2·d_in away, and the map
    is read there too. Pure, approximate and zero-concentrated measures, Rényi divergence and smoothed maximum
    divergence (a curve) are understood.

    Cost: a few calls of the measurement's privacy map (a few hundred for a curve), and `sv.explain`.

    Examples
    --------
    >>> import opendp.prelude as dp
    >>> import sievert as sv
    >>> dp.enable_features("contrib")
    >>> space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    >>> noisy = space >> dp.t.then_count() >> dp.m.then_laplace(scale=1.0)
    >>> round(sv.adapters.explain_opendp(noisy, about="presence").after, 6)
    0.731059
    """
    choice("about", about, QUESTIONS, MechanismError)
    claim = claim_of_measurement(measurement, d_in, releases, about=about)
    metric = str(getattr(measurement, "input_metric", ""))
    between = None
    if metric.startswith(ANSWERS):
        between = f"two inputs at a distance of {abbreviated(d_in)} ({metric})"
    return explain_about(claim, about, values, prior, between)


def explain_about(
    claim: Claim,
    about: str,
    values: int | Iterable[object] | None,
    prior: object,
    between: str | None = None,
) -> Explanation:
    """Explain a claim as the answer to "which value?" or to "in the data or not?"."""
    if about == "value":
        between = "two values of one person" if isinstance(claim, ReplacementClaim) else between
        return explain_claim(claim, values=values, prior=prior, about=VALUE, between=between)
    if values is not None and (not isinstance(values, int) or values != 2):
        raise MechanismError(
            f'values is {abbreviated(values)}; about="presence" asks whether the person is in the data, '
            f"yes or no: "
            "leave values out"
        )
    between = "two databases, one with the person and one without"
    return explain_claim(claim, values=2, prior=prior, about=PRESENCE, between=between)


def claim_of_measurement(
    measurement: Any, d_in: object = 1, releases: int = 1, *, about: str = "value"
) -> Claim:
    """The claim that a measurement's map makes about a person's value, or about their presence."""
    count = checked_releases(releases)
    wanted = ("map", "output_measure", "input_metric", "input_domain")
    if not all(hasattr(measurement, name) for name in wanted):
        raise MechanismError(f"measurement is {abbreviated(measurement)}; give an OpenDP measurement")
    metric = str(measurement.input_metric).removeprefix("FrameDistance(")
    added = metric.startswith(ADD_REMOVE)
    if not added and not metric.startswith((*REPLACE, *ANSWERS)):
        raise MechanismError(
            f"measurement has the input metric {metric}; understood are "
            f"{', '.join((*ADD_REMOVE, *REPLACE, *ANSWERS))}, which say what a neighbour is"
        )
    if about == "presence":
        _require_absence(measurement, metric, added)
    if not added or about == "presence":
        return _promised(measurement, d_in, count)
    replaced = _promised(measurement, _twice(d_in), count)
    if not _may_be_absent(measurement):
        return replaced
    return ReplacementClaim(_promised(measurement, d_in, count), replaced)


def _may_be_absent(measurement: Any) -> bool:
    """Whether the data without the person are an input too; with a public size they are none."""
    domain = str(measurement.input_domain)
    return domain.startswith("VectorDomain(") and "size=" not in domain


def _require_absence(measurement: Any, metric: str, added: bool) -> None:
    if not added:
        raise MechanismError(
            f'about is "presence", but under {metric} values are replaced and nobody is absent; ask '
            'about="value"'
        )
    if not _may_be_absent(measurement):
        raise MechanismError(
            'about is "presence", but the measurement\'s input domain '
            f"{abbreviated(str(measurement.input_domain))} fixes the size of the data or part of it, so "
            f"the data "
            'without the person are no input; ask about="value"'
        )


def _twice(d_in: object) -> int | float:
    """The distance between two databases that differ in one person's value: removed, and added again."""
    if not is_whole(d_in) and not isinstance(d_in, float | np.floating):
        raise MechanismError(
            f"d_in is {abbreviated(d_in)}; where records are added and removed, give how many records "
            f"one person "
            "has as a number"
        )
    return 2 * d_in if isinstance(d_in, int | float) else 2 * d_in.item()


def _promised(measurement: Any, d_in: object, count: int) -> Claim:
    """What the measurement's map promises at a distance of its inputs."""
    try:
        promised = measurement.map(d_in)
    except Exception as problem:
        first = str(problem).strip().splitlines()[0:1]
        raise MechanismError(
            f"d_in is {abbreviated(d_in)}, which the measurement's map refuses: "
            f"{first[0] if first else problem!r}"
        ) from None
    return _claim_of(str(measurement.output_measure), promised, count)


def _claim_of(measure: str, promised: Any, count: int) -> Claim:
    """A promise in the terms of an output measure."""
    if measure in CLAIMS:
        return CLAIMS[measure](promised, count)
    if measure.startswith("Approximate("):
        inner, delta = promised
        return _with_failures(_claim_of(measure[len("Approximate(") : -1], inner, count), float(delta), count)
    raise MechanismError(
        f"measurement has the output measure {measure}; understood are MaxDivergence, "
        "ZeroConcentratedDivergence, RenyiDivergence and SmoothedMaxDivergence, and Approximate of each"
    )


def _of_curve(promised: Any, count: int) -> Claim:
    require_once(count, "SmoothedMaxDivergence")
    return ProfileClaim(limited(promised.delta), "an OpenDP measurement with a curve δ(ε)")


# What a measure's map gives, as a claim about so many releases.
CLAIMS: dict[str, Callable[[Any, int], Claim]] = {
    "MaxDivergence": lambda eps, count: ApproximateClaim(float(eps), 0.0, count),
    "Approximate(MaxDivergence)": lambda pair, count: ApproximateClaim(float(pair[0]), float(pair[1]), count),
    "ZeroConcentratedDivergence": lambda rho, count: ZeroConcentratedClaim(float(rho), count),
    "RenyiDivergence": lambda curve, count: RenyiClaim(ORDERS, tuple(float(curve(a)) for a in ORDERS), count),
    "SmoothedMaxDivergence": _of_curve,
}


def _with_failures(claim: Claim, delta: float, count: int) -> Claim:
    """A claim that fails with probability δ in each release."""
    if delta == 0:
        return claim
    lost = revealed(delta, count)

    def profile(eps: float) -> float:
        return lost + (1 - lost) * float(claim.delta(np.array([eps]))[0])

    return ProfileClaim(profile, f"{claim.words}, except with probability {delta:g}")


def require_once(releases: int, what: str) -> None:
    """A curve cannot be composed here."""
    if releases != 1:
        raise MechanismError(f"releases is {releases}; {what} is composed before it is explained")


def limited(profile: Callable[[float], Any]) -> Callable[[float], float]:
    """The curve as a float that is 1 where the other library has no answer."""

    def at(eps: float) -> float:
        found = float(profile(eps))
        return 1.0 if math.isnan(found) else found

    return at
