"""What the file's family would leak at other ε, for a picture."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sievert.channels import Channel
from sievert.errors import SievertError
from sievert.files import Scenario
from sievert.measures import Adversary, Identity, posterior_vulnerability, record_leakage
from sievert.mechanisms import randomised_response
from sievert.results import Result

if TYPE_CHECKING:
    from sievert.questions.audit import Audit

__all__ = ["LeakageCurves", "leakage_curves"]

# Points of the curve beside ε = 0; fewer where one channel is large.
CURVE_POINTS, FEWER_POINTS = 24, 12
LARGE_CHANNEL = 250_000
CURVE_NAMES = {"shannon": "uncertainty removed"}


@dataclass(frozen=True)
class LeakageCurves(Result):
    """Bits that one release leaks as ε varies: one curve about a record, and one an adversary.

    `family` names the mechanisms, `here` is the file's own ε and `limit` what it accepts in bits.
    """

    family: str
    eps: tuple[float, ...]
    bits: dict[str, tuple[float, ...]]
    here: float | None
    limit: float | None


def leakage_curves(scenario: Scenario, audit: Audit) -> LeakageCurves:
    """Leakage of the file's family (or of randomised response beside a fixed matrix) around the file's ε."""
    here = audit.claimed_eps if audit.claimed_eps is not None else audit.epsilon.nats
    top = 4 * here if here and math.isfinite(here) else 4.0
    channel = scenario.channel.finite()
    name, family = _shown_family(scenario, channel)
    points = CURVE_POINTS if math.prod(channel.shape) <= LARGE_CHANNEL else FEWER_POINTS
    # Leakage bends most near 0, so the points are denser there.
    grid = top * np.linspace(0, 1, points + 1) ** 2
    members = [(eps, _member(family, eps)) for eps in grid.tolist()]
    rows = [(eps, _curve_bits(scenario, audit, member)) for eps, member in members if member is not None]
    return LeakageCurves(
        name,
        tuple(eps for eps, _ in rows),
        {curve: tuple(bits[curve] for _, bits in rows) for curve in (rows[0][1] if rows else ())},
        here if math.isfinite(here) else None,
        scenario.accept.bits if scenario.accept is not None and scenario.observations == 1 else None,
    )


def _shown_family(scenario: Scenario, channel: Channel) -> tuple[str, Callable[[float], Channel]]:
    """The file's family by ε; randomised response beside a mechanism that has no other ε."""
    if scenario.mechanism.with_eps(0.0) is not None:
        return scenario.mechanism.title(), scenario.with_eps
    return "randomised response on the same inputs", partial(randomised_response, channel.inputs)


def _member(family: Callable[[float], Channel], eps: float) -> Channel | None:
    """The family's channel at this ε, or None where the family has none (tight constraints)."""
    try:
        return family(eps)
    except SievertError:
        return None


def _curve_bits(scenario: Scenario, audit: Audit, channel: Channel) -> dict[str, float]:
    """Bits leaked about one record, and to each adversary whose leakage is measured in bits."""
    found = {}
    # With one record that is what the exact guess is about.
    if audit.records > 1 or not any(isinstance(gain, Identity) for gain in scenario.gains):
        record = record_leakage(channel, scenario.answers, prior=scenario.record_prior)
        found["the value" if audit.records == 1 else "one record"] = record.bits
    belief = scenario.prior.astype(np.float64)
    for item, gain in zip(audit.leakages, scenario.gains, strict=True):
        bits = _bits_at(channel, belief, gain, float(item.before))
        if bits is not None:
            found[CURVE_NAMES.get(item.name, item.title)] = bits
    return found


def _bits_at(channel: Channel, belief: NDArray[np.float64], gain: Adversary, before: float) -> float | None:
    """Bits that another channel on the same inputs leaks, the prior value being known."""
    if gain.bits(before, before) is None:
        return None
    return gain.bits(before, float(posterior_vulnerability(channel, belief, gain)))
