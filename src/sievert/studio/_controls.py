"""The two sliders, ε and releases: what they show, how far they go, and which keys they move."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sievert.errors import FileError, SievertError
from sievert.files import PolicyScenario, Scenario
from sievert.numerics import abbreviated
from sievert.spaces import Metric

__all__ = ["QUANTITIES", "control_edits", "controls", "unit_of"]

Key = tuple[str | int, ...]
# What may be accepted at most, in the page's words.
QUANTITIES = (
    {"name": "guess", "title": "best guess about one record", "unit": "probability", "default": 0.5},
    {"name": "bits", "title": "bits by which that guess grows", "unit": "bits", "default": 1.0},
    {"name": "odds", "title": "growth of its odds", "unit": "times", "default": 3.0},
    {"name": "advantage", "title": "growth of that guess", "unit": "probability", "default": 0.1},
)
EPS: Key = ("mechanism", "eps")
RELEASES: Key = ("adversary", "observations")
MOST_RELEASES = 1000
# From hardly anything to hardly any privacy, for the furthest and the nearest two values.
LEAST_EPS, MOST_EPS = 0.01, 20.0
# Beyond this many values distances are not listed for the ends of a slider.
LARGEST_METRIC = 2_000


def controls(scenario: Scenario) -> dict[str, Any]:
    """What both sliders show; a slider that cannot be moved says why."""
    try:
        eps = _eps(scenario)
    except SievertError as problem:
        eps = {"value": None, "reason": problem.in_file()}
    return {"eps": eps, "releases": _releases(scenario)}


def _eps(scenario: Scenario) -> dict[str, Any]:
    here = _here(scenario)
    if here is None:
        return {"value": None, "reason": "this mechanism has no ε to move"}
    if here == math.inf:
        return {"value": None, "reason": "ε is infinite: nothing is hidden"}
    least, most = _ends(scenario)
    if 0 < here < math.inf:
        least, most = min(least, here), max(most, here)
    return {"value": here, "least": least, "most": most, "unit": unit_of(scenario), "path": list(EPS)}


def unit_of(scenario: Scenario) -> str:
    """The unit of ε: where secrets have distances, for each of them."""
    if not _is_metric(scenario):
        return "nats"
    on_map = isinstance(scenario, PolicyScenario) and scenario.region is not None
    return "nats per metre" if on_map else "nats per unit of distance"


def _here(scenario: Scenario) -> float | None:
    """The ε that the slider moves: the mechanism's own, where it has one."""
    family = scenario.document.mechanism
    written = getattr(family, "eps", None)
    if isinstance(written, int | float):
        return float(written)
    if not isinstance(scenario, PolicyScenario) or family is None:
        return None
    if getattr(family, "alpha", None) is None or scenario.mechanism.with_eps(1.0) is None:
        return None
    return scenario.claimed_eps


def _is_metric(scenario: Scenario) -> bool:
    return not isinstance(scenario, PolicyScenario) or isinstance(scenario.policy.secrets, Metric)


def _ends(scenario: Scenario) -> tuple[float, float]:
    """The ends of the slider, by the distances that ε is multiplied with: 1 where there are none."""
    nearest = furthest = 1.0
    if isinstance(scenario, PolicyScenario) and scenario.region is not None:
        region = scenario.region
        nearest, furthest = region.cell, region.cell * math.hypot(*region.shape)
    elif isinstance(scenario, PolicyScenario) and isinstance(scenario.policy.secrets, Metric):
        metric = scenario.policy.secrets
        if metric.size <= LARGEST_METRIC:
            known = metric.matrix[(metric.matrix > 0) & (metric.matrix < math.inf)]
            if known.size:
                nearest, furthest = float(known.min()), float(known.max())
    return _rounded(LEAST_EPS / furthest), _rounded(MOST_EPS / nearest)


def _rounded(value: float) -> float:
    """The nearest of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return min((power, 2 * power, 5 * power, 10 * power), key=lambda end: abs(math.log(end / value)))


def _releases(scenario: Scenario) -> dict[str, Any] | None:
    if not isinstance(scenario, PolicyScenario):
        return {"value": None, "reason": f"a file with [{scenario.table}] says nothing of releases"}
    count = scenario.observations
    return {"value": count, "least": 1, "most": max(MOST_RELEASES, count), "path": list(RELEASES)}


def control_edits(scenario: Scenario, control: str, value: Any) -> Iterator[tuple[Key, Any]]:
    """Which keys a slider changes: an ε takes the place of an alpha, and a claim goes along."""
    if control == "releases":
        yield RELEASES, value
        return
    if control != "eps":
        raise FileError(f"control is {abbreviated(control)}; there are eps and releases")
    found = controls(scenario)["eps"]
    if found["value"] is None:
        raise FileError(f"{scenario.source}: {found['reason']}", key=("mechanism",))
    if getattr(scenario.document.mechanism, "alpha", None) is not None:
        yield ("mechanism", "alpha"), None
    claim = getattr(scenario.document, "claim", None)
    if claim is not None and claim.eps is not None and not claim.delta:
        yield ("claim", "eps"), value
    yield EPS, value
