"""What the release changes for each adversary of the file, in the adversary's own unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels import Channel, NoiseChannel, PlanarNoise
from sievert.errors import TooLargeError
from sievert.files import PolicyScenario
from sievert.measures import Gain, GainFunction, Identity, Unit, WithinGain, gain_title, leakage
from sievert.numerics import abbreviated, in_bits
from sievert.observations import (
    PlanarLikelihood,
    RecordGain,
    SimulatedVulnerability,
    repeated_gain,
    simulated_gain,
)
from sievert.questions._seen import SEED, SHARE, Analysis, belief_of
from sievert.results import Result

__all__ = ["AttackerResult", "UnansweredAttacker", "attacker_results"]

EVERY_OUTPUT = "exact: every output"
# Bounds this close to each other, as a share of the upper one, say more than a simulation.
NARROW = 0.02


@dataclass(frozen=True)
class AttackerResult(Result):
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
    releases : how many releases of the same data the file speaks of
    repeated : expected gain (or loss) after all of them
    repeated_exact : whether `repeated` is exact; otherwise the adversary gains at most that
    method, repeated_method : how `after` and `repeated` were found, or which bounds they are
    least, repeated_least : where these are not exact, the other ends between which the gain certainly lies
    simulated : `repeated` by simulation, where it is not nearly exact (None: not simulated); an estimate with
        a 99.9 % interval, never a bound
    simulated_once : the same of `after`
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
    releases: int = 1
    repeated: Any = 0.0
    repeated_exact: bool = True
    method: str = ""
    repeated_method: str = ""
    least: Any = None
    repeated_least: Any = None
    simulated: SimulatedVulnerability | None = None
    simulated_once: SimulatedVulnerability | None = None

    @property
    def title(self) -> str:
        """What tables and pictures call the adversary."""
        return gain_title(self.name)

    def __str__(self) -> str:
        growth = "" if self.bits is None else f" ({in_bits(self.bits)})"
        return f"{self.name}: {float(self.before):.6g} before, {float(self.after):.6g} after{growth}"


@dataclass(frozen=True)
class UnansweredAttacker(Result):
    """An adversary of the file whose gain is not known, and why."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: not known, because {self.reason}"


Findings = tuple[tuple[AttackerResult, ...], tuple[UnansweredAttacker, ...]]


def attacker_results(view: Analysis) -> Findings:
    """One finding for each gain of the file, and the gains that are not known.

    What they are about is said by the file (`Scenario.gains_about`), never by how many answers there are.
    """
    scenario = view.scenario
    if scenario.gains_about == "record":
        return _about_record(view)
    return _about_answer(scenario.channel, view)


def _about_record(view: Analysis) -> Findings:
    """About one record when all others are known."""
    scenario = view.scenario

    def found(place: int, model: Gain) -> AttackerResult:
        gain = scenario.gain_about_record(place)
        return _record_finding(
            gain, partial(view.gain, gain), model.unit, view, partial(view.simulated_gain, gain)
        )

    return _answered(scenario, found)


@singledispatch
def _about_answer(channel: Channel, view: Analysis) -> Findings:
    """About the channel's input."""
    scenario = view.scenario
    # Fractions beside rounded entries gain nothing and cost much.
    belief = scenario.prior if channel.form == "exact" else scenario.prior.astype(np.float64)
    models = scenario.document.adversary.gains
    found = (
        _finding(channel, belief, gain, model.unit, view)
        for model, gain in zip(models, scenario.gains, strict=True)
    )
    return tuple(found), ()


@_about_answer.register
def _about_unlisted_answer(channel: NoiseChannel, view: Analysis) -> Findings:
    """No list holds the answers."""
    reason = 'no list holds the answers; about = "record" asks about one record when all others are known'
    models = view.scenario.document.adversary.gains
    return (), tuple(UnansweredAttacker(_name(model), reason) for model in models)


def _answered(scenario: PolicyScenario, found: Callable[[int, Gain], AttackerResult]) -> Findings:
    """What was found of each gain; of one whose table would be too large, that it was not."""
    known, unknown = [], []
    for place, model in enumerate(scenario.document.adversary.gains):
        try:
            known.append(found(place, model))
        except TooLargeError as problem:
            unknown.append(UnansweredAttacker(_name(model), problem.in_file()))
    return tuple(known), tuple(unknown)


def _name(model: Gain) -> str:
    """What to call a gain that was not built: its name, or how the file spells it."""
    spelled = model.spelled()
    if isinstance(spelled, str):
        return gain_title(spelled)
    given = getattr(model, "name", None)
    if given:
        return str(given)
    return ", ".join(
        f"{key} {value:g}" if isinstance(value, int | float) else f"{key} {abbreviated(value)}"
        for key, value in spelled.items()
    )


def _record_finding(
    gain: GainFunction,
    gained: Callable[[int], RecordGain],
    unit: Unit | None,
    view: Analysis,
    drawn: Callable[[int], SimulatedVulnerability | None],
) -> AttackerResult:
    """After one release and after all of them; what is gained, and what a simulation says of it."""
    once, count = gained(1), view.scenario.observations
    before, after = once.before, _unless_rounding(once.before, once.after)
    better = before - after if gain.is_loss else after - before
    above, below = (before, after) if gain.is_loss else (after, before)
    repeated = _after_all(gain, gained(count), view) if count > 1 else once
    return AttackerResult(
        once.gain,
        unit or gain.unit,
        before,
        after,
        above / below if below > 0 else None,
        better,
        gain.bits(before, after),
        None,
        once.exact,
        count,
        _unless_rounding(repeated.before, repeated.after),
        repeated.exact,
        once.method,
        repeated.method,
        _other_end(once),
        _other_end(repeated),
        None if _is_narrow(repeated) else drawn(count),
        None if _is_narrow(once) else drawn(1),
    )


def _other_end(found: RecordGain) -> float | None:
    """The end of the interval that is not shown; None where there is one number."""
    return None if found.exact else found.lower if found.after == found.upper else found.upper


def _is_narrow(found: RecordGain) -> bool:
    """Whether a simulation would say less than the bounds do."""
    return found.exact or found.upper - found.lower <= NARROW * abs(found.upper)


def _after_all(gain: GainFunction, found: RecordGain, view: Analysis) -> RecordGain:
    """What is found after all releases; a guess in one try never above the least bound on it."""
    if found.exact or not isinstance(gain, Identity) or found.gain != gain.name:
        return found
    least = view.repeated(found.releases)
    if least.before != found.before or least.guess >= found.after:
        return found
    ends = (least.guess if least.exact else min(found.lower, least.guess), least.guess)
    return replace(
        found, after=least.guess, exact=least.exact, lower=ends[0], upper=ends[1], method=least.method
    )


def _unless_rounding(before: float, after: float) -> float:
    """What differs in the last digits alone is rounding."""
    return before if math.isclose(before, after, rel_tol=1e-13) else after


@_about_answer.register
def _about_place(channel: PlanarNoise, view: Analysis) -> Findings:
    """About one place, without all pairs of cells where the gain needs none."""
    scenario = view.scenario
    plane = PlanarLikelihood(channel, belief_of(scenario))
    return _answered(scenario, lambda _, model: _place_finding(model, plane, view))


@singledispatch
def _place_finding(model: Gain, plane: PlanarLikelihood, view: Analysis) -> AttackerResult:
    scenario = view.scenario
    gain = model.adversary(scenario.policy.values, scenario.record_distance)
    return _record_finding(
        gain, partial(plane.gain, gain), model.unit, view, partial(_drawn_places, plane, gain)
    )


def _drawn_places(
    plane: PlanarLikelihood, gain: GainFunction, releases: int, metres: float | None = None
) -> SimulatedVulnerability | None:
    """A gain about a place by simulation; None where its action is no set of cells, or it takes too long."""
    with suppress(TooLargeError):
        return plane.simulated(releases, SEED, adversary=gain, metres=metres, share=SHARE)
    return None


@_place_finding.register
def _place_within(model: WithinGain, plane: PlanarLikelihood, view: Analysis) -> AttackerResult:
    # A gain of one's own is a table of all pairs of cells, which distances on a map do not need.
    drawn = partial(_drawn_places, plane, plane.identity, metres=model.within)
    return _record_finding(plane.identity, partial(plane.within, model.within), model.unit, view, drawn)


def _finding(
    channel: Channel, belief: NDArray[Any], gain: GainFunction, unit: Unit | None, view: Analysis
) -> AttackerResult:
    releases, repeated = view.scenario.observations, None
    if releases > 1:
        repeated = repeated_gain(channel, gain, belief.astype(np.float64), releases)
        if view.scenario.gains_about == "value":
            repeated = _after_all(gain, repeated, view)
    found = leakage(channel, belief, gain, kind="additive")
    factor = found.factor
    drawn = None
    if repeated is not None and not _is_narrow(repeated):
        with suppress(TooLargeError):
            share = min(SHARE, len(view.scenario.gains))
            drawn = simulated_gain(channel, gain, belief.astype(np.float64), releases, SEED, share)
    return AttackerResult(
        gain.name,
        unit or gain.unit,
        found.prior,
        found.posterior,
        factor,
        found.difference,
        gain.bits(float(found.prior), float(found.posterior)),
        gain.sole_best(belief.astype(np.float64)),
        True,
        releases,
        found.posterior if repeated is None else repeated.after,
        repeated is None or repeated.exact,
        EVERY_OUTPUT,
        EVERY_OUTPUT if repeated is None else repeated.method,
        None,
        None if repeated is None else _other_end(repeated),
        drawn,
    )
