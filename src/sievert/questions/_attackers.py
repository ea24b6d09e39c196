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

from sievert.analysis import Analysis, Attacker, Vulnerability
from sievert.analysis._analysis import SEED, SHARE
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


def attacker_results(scenario: PolicyScenario) -> Findings:
    """One finding for each gain of the file, and the gains that are not known.

    What they are about is said by the file (`Scenario.gains_about`), never by how many answers there are.
    """
    if scenario.gains_about == "record":
        return _about_record(scenario)
    return _about_answer(scenario.channel, scenario)


def _about_record(scenario: PolicyScenario) -> Findings:
    """About one record when all others are known."""
    view = scenario.analysis

    def found(place: int, model: Gain) -> AttackerResult:
        gain = scenario.gain_about_record(place)
        attacker = Attacker(gain)
        return _record_finding(
            gain,
            partial(view.vulnerability, attacker),
            model.unit,
            scenario,
            partial(view.simulate, attacker),
        )

    return _answered(scenario, found)


@singledispatch
def _about_answer(channel: Channel, scenario: PolicyScenario) -> Findings:
    """About the channel's input."""
    # Fractions beside rounded entries gain nothing and cost much.
    belief = scenario.prior if channel.form == "exact" else scenario.prior.astype(np.float64)
    models = scenario.document.adversary.gains
    found = (
        _finding(channel, belief, gain, model.unit, scenario)
        for model, gain in zip(models, scenario.gains, strict=True)
    )
    return tuple(found), ()


@_about_answer.register
def _about_unlisted_answer(channel: NoiseChannel, scenario: PolicyScenario) -> Findings:
    """No list holds the answers."""
    reason = 'no list holds the answers; about = "record" asks about one record when all others are known'
    models = scenario.document.adversary.gains
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
    gained: Callable[[int], Vulnerability],
    unit: Unit | None,
    scenario: PolicyScenario,
    drawn: Callable[[int], SimulatedVulnerability | None],
) -> AttackerResult:
    """After one release and after all of them; what is gained, and what a simulation says of it."""
    once, count = gained(1), scenario.observations
    before, after = once.prior, _unless_rounding(once.prior, once.value)
    better = before - after if gain.is_loss else after - before
    above, below = (before, after) if gain.is_loss else (after, before)
    repeated = _after_all(gain, gained(count), scenario.analysis) if count > 1 else once
    return AttackerResult(
        once.gain,
        unit or gain.unit,
        before,
        after,
        above / below if below > 0 else None,
        better,
        gain.bits(before, after),
        None,
        once.is_exact,
        count,
        _unless_rounding(repeated.prior, repeated.value),
        repeated.is_exact,
        once.posterior.method,
        repeated.posterior.method,
        _other_end(once),
        _other_end(repeated),
        None if _is_narrow(repeated) else drawn(count),
        None if _is_narrow(once) else drawn(1),
    )


def _other_end(found: Vulnerability) -> float | None:
    """The end of the interval that is not shown; None where there is one number."""
    ends = found.posterior
    return None if found.is_exact else ends.lower if found.value == ends.upper else ends.upper


def _is_narrow(found: Vulnerability) -> bool:
    """Whether a simulation would say less than the bounds do."""
    ends = found.posterior
    return found.is_exact or ends.upper - ends.lower <= NARROW * abs(ends.upper)


def _after_all(gain: GainFunction, found: Vulnerability, view: Analysis) -> Vulnerability:
    """What is found after all releases; a guess in one try never above the least bound on it."""
    if found.is_exact or not isinstance(gain, Identity) or found.gain != gain.name:
        return found
    least = view.vulnerability(releases=found.releases)
    if least.prior != found.prior or least.value >= found.value:
        return found
    lower = least.value if least.is_exact else min(found.posterior.lower, least.value)
    return replace(found, posterior=replace(least.posterior, lower=lower))


def _unless_rounding(before: float, after: float) -> float:
    """What differs in the last digits alone is rounding."""
    return before if math.isclose(before, after, rel_tol=1e-13) else after


@_about_answer.register
def _about_place(channel: PlanarNoise, scenario: PolicyScenario) -> Findings:
    """About one place, without all pairs of cells where the gain needs none."""
    plane = PlanarLikelihood(channel, scenario.float_record_prior)
    return _answered(scenario, lambda _, model: _place_finding(model, plane, scenario))


@singledispatch
def _place_finding(model: Gain, plane: PlanarLikelihood, scenario: PolicyScenario) -> AttackerResult:
    gain = model.adversary(scenario.policy.values, scenario.record_distance)
    return _record_finding(
        gain,
        _of_gain(gain, partial(plane.gain, gain)),
        model.unit,
        scenario,
        partial(_drawn_places, plane, gain),
    )


def _drawn_places(
    plane: PlanarLikelihood, gain: GainFunction, releases: int, metres: float | None = None
) -> SimulatedVulnerability | None:
    """A gain about a place by simulation; None where its action is no set of cells, or it takes too long."""
    with suppress(TooLargeError):
        return plane.simulated(releases, SEED, adversary=gain, metres=metres, share=SHARE)
    return None


@_place_finding.register
def _place_within(model: WithinGain, plane: PlanarLikelihood, scenario: PolicyScenario) -> AttackerResult:
    # A gain of one's own is a table of all pairs of cells, which distances on a map do not need.
    drawn = partial(_drawn_places, plane, plane.identity, metres=model.within)
    gained = _of_gain(plane.identity, partial(plane.within, model.within))
    return _record_finding(plane.identity, gained, model.unit, scenario, drawn)


def _of_gain(gain: GainFunction, gained: Callable[[int], RecordGain]) -> Callable[[int], Vulnerability]:
    return lambda releases: Vulnerability.of_gain(gained(releases), gain.is_loss)


def _finding(
    channel: Channel, belief: NDArray[Any], gain: GainFunction, unit: Unit | None, scenario: PolicyScenario
) -> AttackerResult:
    releases, repeated = scenario.observations, None
    if releases > 1:
        listed = repeated_gain(channel, gain, belief.astype(np.float64), releases)
        repeated = Vulnerability.of_gain(listed, gain.is_loss)
        if scenario.gains_about == "value":
            repeated = _after_all(gain, repeated, scenario.analysis)
    found = leakage(channel, belief, gain, kind="additive")
    factor = found.factor
    drawn = None
    if repeated is not None and not _is_narrow(repeated):
        with suppress(TooLargeError):
            share = min(SHARE, len(scenario.gains))
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
        found.posterior if repeated is None else repeated.value,
        repeated is None or repeated.is_exact,
        EVERY_OUTPUT,
        EVERY_OUTPUT if repeated is None else repeated.posterior.method,
        None,
        None if repeated is None else _other_end(repeated),
        drawn,
    )
