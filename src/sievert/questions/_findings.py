"""What the release changes for each adversary of the file, in the adversary's own unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels import Channel, NoiseChannel, PlanarNoise
from sievert.errors import TooLargeError
from sievert.files import Scenario
from sievert.measures import Adversary, Gain, Unit, WithinGain, adversary_title, leakage
from sievert.numerics import brief, in_bits
from sievert.observations import PlaneView, RecordGain
from sievert.questions._seen import Seen, belief_of
from sievert.results import Result

__all__ = ["Finding", "Unanswered", "findings"]


@dataclass(frozen=True)
class Finding(Result):
    """What the release changes for one adversary.

    Attributes
    ----------
    name : what the file calls the adversary
    unit : what `before` and `after` are; "probability" where all gains are between 0 and 1, "bits" for
        Shannon uncertainty
    before, after : expected gain (or loss) without and with the release
    factor : after/before for gains, before/after for losses; None for gains whose prior value is not positive
    difference : improvement of the adversary in the unit
    bits : log2 of the factor for gains, bits of uncertainty taken away for Shannon; None for other losses
    blind_guess : the best action before the release; None where several are equally good
    exact : whether `after` is exact; otherwise the adversary gains at most that
    """

    name: str
    unit: Unit
    before: Any
    after: Any
    factor: Any
    difference: Any
    bits: float | None
    blind_guess: Hashable
    exact: bool = True

    @property
    def title(self) -> str:
        """What tables and pictures call the adversary."""
        return adversary_title(self.name)

    def __str__(self) -> str:
        growth = "" if self.bits is None else f" ({in_bits(self.bits)})"
        return f"{self.name}: {float(self.before):.6g} before, {float(self.after):.6g} after{growth}"


@dataclass(frozen=True)
class Unanswered(Result):
    """An adversary of the file whose gain is not known, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: not known, because {self.reason}"


Findings = tuple[tuple[Finding, ...], tuple[Unanswered, ...]]


def findings(view: Seen) -> Findings:
    """One finding for each gain of the file, and the gains that are not known."""
    return _findings(view.scenario.channel, view)


@singledispatch
def _findings(channel: Channel, view: Seen) -> Findings:
    """About the channel's input."""
    scenario = view.scenario
    # Fractions beside rounded entries gain nothing and cost much.
    belief = scenario.prior if channel.form == "exact" else scenario.prior.astype(np.float64)
    models = scenario.document.adversary.gains
    found = (
        _finding(channel, belief, gain, model.unit)
        for model, gain in zip(models, scenario.gains, strict=True)
    )
    return tuple(found), ()


@_findings.register
def _about_record(channel: NoiseChannel, view: Seen) -> Findings:
    """About one record when all others are known."""
    scenario = view.scenario

    def found(place: int, model: Gain) -> Finding:
        gain = scenario.gain_about_record(place)
        return _record_finding(gain, view.gain(gain), model.unit)

    return _answered(scenario, found)


def _answered(scenario: Scenario, found: Callable[[int, Gain], Finding]) -> Findings:
    """What was found of each gain; of one whose table would be too large, that it was not."""
    known, unknown = [], []
    for place, model in enumerate(scenario.document.adversary.gains):
        try:
            known.append(found(place, model))
        except TooLargeError as problem:
            unknown.append(Unanswered(_name(model), problem.in_file()))
    return tuple(known), tuple(unknown)


def _name(model: Gain) -> str:
    """What to call a gain that was not built: its name, or how the file spells it."""
    spelled = model.spelled()
    if isinstance(spelled, str):
        return adversary_title(spelled)
    given = getattr(model, "name", None)
    if given:
        return str(given)
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, int | float) else f"{key} {brief(value)}"
        for key, value in spelled.items()
    )


def _record_finding(gain: Adversary, found: RecordGain, unit: Unit | None) -> Finding:
    # What differs in the last digits alone is rounding.
    after = found.before if math.isclose(found.before, found.after, rel_tol=1e-13) else found.after
    before = found.before
    better = before - after if gain.is_loss else after - before
    above, below = (before, after) if gain.is_loss else (after, before)
    factor = above / below if below > 0 else None
    bits = gain.bits(before, after)
    return Finding(gain.name, unit or gain.unit, before, after, factor, better, bits, None, found.exact)


@_findings.register
def _about_place(channel: PlanarNoise, view: Seen) -> Findings:
    """About one place, without all pairs of cells where the gain needs none."""
    scenario = view.scenario
    plane = PlaneView(channel, belief_of(scenario))
    return _answered(
        scenario, lambda _, model: _place_finding(_place_gain(model, plane, scenario), model.unit)
    )


@singledispatch
def _place_gain(model: Gain, plane: PlaneView, scenario: Scenario) -> RecordGain:
    return plane.gain(model.adversary(scenario.policy.values, scenario.record_distance))


@_place_gain.register
def _place_within(model: WithinGain, plane: PlaneView, scenario: Scenario) -> RecordGain:
    return plane.within(model.within)


def _place_finding(gain: RecordGain, unit: Unit | None) -> Finding:
    before, after = gain.before, gain.after
    return Finding(
        gain.gain,
        unit or "probability",
        before,
        after,
        after / before,
        after - before,
        gain.bits,
        None,
        gain.exact,
    )


def _finding(channel: Channel, belief: NDArray[Any], gain: Adversary, unit: Unit | None) -> Finding:
    found = leakage(channel, belief, gain, kind="additive")
    factor = None if math.isnan(float(found.factor)) else found.factor
    return Finding(
        gain.name,
        unit or gain.unit,
        found.prior,
        found.posterior,
        factor,
        found.difference,
        gain.bits(float(found.prior), float(found.posterior)),
        gain.sole_best(belief.astype(np.float64)),
    )
