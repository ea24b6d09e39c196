"""What the file's family would leak at other ε, for a picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sievert.channels import Channel
from sievert.errors import SievertError
from sievert.files import PolicyScenario
from sievert.measures import GainFunction, Identity, posterior_vulnerability, record_leakage
from sievert.mechanisms import randomised_response
from sievert.observations import record_gain
from sievert.questions._attackers import AttackerResult
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


def leakage_curves(scenario: PolicyScenario, audit: Audit) -> LeakageCurves:
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


def _shown_family(scenario: PolicyScenario, channel: Channel) -> tuple[str, Callable[[float], Channel]]:
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


def _curve_bits(scenario: PolicyScenario, audit: Audit, channel: Channel) -> dict[str, float]:
    """Bits leaked about one record, and to each adversary whose leakage is measured in bits."""
    gains = list(_gains(scenario, audit))
    found = {}
    if not any(isinstance(gain, Identity) for gain, _ in gains) or (
        audit.records > 1 and audit.secret == "answer"
    ):
        # A picture has no need of fractions.
        belief = scenario.record_prior.astype(np.float64)
        record = record_leakage(channel, scenario.answers, prior=belief)
        found["the value" if audit.records == 1 else "one record"] = record.bits
    after = _after_record if audit.secret == "record" else _after_answer
    for gain, item in gains:
        if gain.bits(float(item.before), float(item.before)) is not None:
            bits = gain.bits(float(item.before), after(scenario, channel, gain))
            assert bits is not None
            found[CURVE_NAMES.get(item.name, item.title)] = bits
    return found


def _gains(scenario: PolicyScenario, audit: Audit) -> Iterator[tuple[GainFunction, AttackerResult]]:
    """The adversaries whose gain was found, about what the findings are about."""
    found = {item.name: item for item in audit.leakages}
    about_record = audit.secret == "record"
    for place in range(len(scenario.document.adversary.gains)):
        gain = scenario.gain_about_record(place) if about_record else scenario.gains[place]
        if gain.name in found:
            yield gain, found[gain.name]


def _after_record(scenario: PolicyScenario, channel: Channel, gain: GainFunction) -> float:
    return record_gain(channel, scenario.answers, gain, 1, scenario.record_prior).after


def _after_answer(scenario: PolicyScenario, channel: Channel, gain: GainFunction) -> float:
    return float(posterior_vulnerability(channel, scenario.prior.astype(np.float64), gain))
