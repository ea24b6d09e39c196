"""The audit: does the mechanism keep the policy's promise, and what does it give away?"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import partial, singledispatch
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from sievert.channels import Channel, Epsilon, NoiseChannel, PlanarNoise
from sievert.errors import SievertError, TooLargeError
from sievert.files import Described, Scenario, load_scenario, text_scenario
from sievert.limits import WorstLeakage, worst_leakage
from sievert.measures import (
    Adversary,
    Capacity,
    Gain,
    Identity,
    RecordLeakage,
    Unit,
    WithinGain,
    adversary_title,
    leakage,
    posterior_vulnerability,
    record_leakage,
)
from sievert.mechanisms import randomised_response
from sievert.numerics import brief, in_bits, in_percent
from sievert.observations import PlaneView, RecordGain, ReleasesWithin, SimulatedGain
from sievert.policies import Policy
from sievert.questions._accept import Check, Promise, checks, kept_promise
from sievert.questions._seen import Seen, belief_of, seen
from sievert.questions._standing import Standing, standing
from sievert.questions.infer import Inference, infer
from sievert.questions.interval import IntervalFacts, interval_facts
from sievert.results import Result
from sievert.spaces import Metric

if TYPE_CHECKING:
    from sievert.files import TextScenario
    from sievert.questions.documents import DocumentsAudit

__all__ = [
    "Audit",
    "Finding",
    "IntervalAudit",
    "LeakageCurves",
    "Unanswered",
    "audit",
    "findings",
    "leakage_curves",
]


@dataclass(frozen=True)
class Audit(Result):
    """Everything an audit found; what does not apply, or is not known, is None.

    Attributes
    ----------
    epsilon : smallest ε for which the mechanism keeps the policy, with its witness
    claimed_eps : ε the file claims (None: no claim, or one that is not a pure ε)
    promise : what the file claims, and whether and how the mechanism keeps it (None: no claim)
    satisfied : whether the claim is kept; where it is a pure ε, or there is none, whether ε is finite too
    leakages : for each gain of the file, about the mechanism's input; where that is not listed, about one
        record when all others are known
    record : one record when all others are known
    database : the whole database, whatever the prior (None: no closed form is known)
    radii : for metric policies, distances and how much the odds between two values so far apart change; on a
        map (`on_map`) metres on the ground between two places, wherever in their cells they lie
    observations : how many releases of the same data
    repeated_eps : total ε of them all for one person, who may own several records
    repeated_guess : best guess about one record after them all, exactly or (`repeated_exact` False) at most
    worst : what any mechanism with this ε could leak about the database (None: ε is infinite, or the policy
        is too large for it)
    checks : the limits of [accept]
    guess_limit : best guess about one record after infinitely many releases (None: not known)
    releases_within : how many releases keep the guess limit of [accept] (None: no such limit, or not known)
    listed : whether answers and outputs were listed; else the mechanism was seen as noise on a table or map
    steps : how far one record moves the table for one unit of the policy's distance (None: listed)
    exact_eps : ε as a release charges it, never below the true one (None: listed, or ε is infinite)
    proved : whether the certificate that the noise is enough was verified (None: listed, or nothing moves)
    standing : what this mechanism, its promise and any mechanism give away, side by side
    simulated : the best guess after all releases by simulation, beside a bound (None: the guess is exact, or
        there is no simulation); an estimate with a 99.9 % interval, never a bound
    unanswered : adversaries of the file whose gain is not known, each with the reason
    inference : what the release tells about the secret of [inference] (None: the file has no such table)
    """

    title: str
    policy: str
    query: str
    mechanism: str
    epsilon: Epsilon
    claimed_eps: float | None
    promise: Promise | None
    satisfied: bool
    leakages: tuple[Finding, ...]
    record: RecordLeakage
    database: Capacity | None
    database_bits: float
    records: int
    radii: tuple[tuple[float, float], ...]
    person_records: int
    observations: int
    repeated_eps: float
    repeated_guess: float
    repeated_exact: bool
    worst: WorstLeakage | None
    checks: tuple[Check, ...]
    guess_limit: float | None = None
    releases_within: ReleasesWithin | None = None
    on_map: bool = False
    listed: bool = True
    steps: Fraction | None = None
    exact_eps: Fraction | None = None
    proved: bool | None = None
    standing: Standing = field(default_factory=Standing)
    simulated: SimulatedGain | None = None
    unanswered: tuple[Unanswered, ...] = ()
    inference: Inference | None = None

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; a file without [inference] has no such key."""
        found = super().to_dict()
        if self.inference is None:
            del found["inference"]
        return found

    @property
    def passed(self) -> bool:
        """Whether the claim and every limit hold; where there are limits, no adversary is left open."""
        return self.satisfied and all(check.passed for check in self.checks) and not self._left_open

    @property
    def _left_open(self) -> bool:
        """Whether something is to be accepted and what an adversary gains is not known."""
        return bool(self.checks and self.unanswered)

    @property
    def record_is_bound(self) -> bool:
        """Whether the guess about one record is only an upper bound."""
        return self.record.is_bound

    def __str__(self) -> str:
        found = self.epsilon.nats
        if (
            math.isinf(found)
            and not self.satisfied
            and (self.promise is None or self.claimed_eps is not None)
        ):
            return "The mechanism keeps no promise: no ε is large enough."
        if self.promise is not None and not self.promise.kept:
            return (
                f"The mechanism does not keep its promise: it claims {self.promise.claim} but only satisfies "
                f"{self.promise.satisfied}."
            )
        promise = "keeps its promise" if self.promise is not None else f"satisfies ε = {found:.6g}"
        failed = [check for check in self.checks if not check.passed]
        if failed:
            return f"The mechanism {promise} but is not acceptable: {failed[0]}."
        if self._left_open:
            open_ = self.unanswered[0]
            return (
                f"The mechanism {promise} and is within every limit of the file, but is not shown to be "
                f"acceptable: what the adversary “{open_.name}” gains is not known."
            )
        accepted = " and is within every limit of the file" if self.checks else ""
        subject = "the value" if self.records == 1 else "one record"
        return f"The mechanism {promise}{accepted}: {subject} is guessed with probability {self._guesses()}."

    def _guesses(self) -> str:
        most = "at most " if self.record_is_bound else ""
        before, after = in_percent(self.record.before), f"{most}{in_percent(self.record.after)}"
        if self.observations == 1:
            return f"{before} before and {after} after"
        repeated = f"{'' if self.repeated_exact else 'at most '}{in_percent(self.repeated_guess)}"
        return f"{before} before, {after} after one release and {repeated} after {self.observations}"


@dataclass(frozen=True)
class IntervalAudit(Audit):
    """The audit of noise on an interval: what an audit finds, and what it means for real numbers.

    Attributes
    ----------
    interval : the loss to expect, the best one, guesses within a distance, and the pixels to use
    """

    interval: IntervalFacts | None = None


@overload
def audit(scenario: Scenario | str | Path) -> Audit: ...
@overload
def audit(scenario: TextScenario) -> DocumentsAudit: ...
def audit(scenario: Described | str | Path) -> Audit | Result:
    """Audit the mechanism of a file against its policy, adversaries and limits.

    Parameters
    ----------
    scenario : what `sievert.load` read from a file, or the file's path

    Returns
    -------
    Audit
        Whether the promise holds, what one record, the answer and the database give away, and whether each
        limit of `[accept]` is kept. A file with `[documents]` has a DocumentsAudit.

    Notes
    -----
    A table with noise in its cells, a sum or a place on a map may have more answers than any list holds: ε
    then comes from the sensitivity, with a verified certificate, and guesses from what one record shows
    through the noise, after any number of releases.

    Cost: O(inputs·outputs) for the channel of the file and each gain, or O(values) where it is noise without
    a list; and one `sv.worst_leakage` of its policy.

    Examples
    --------
    >>> import sievert as sv
    >>> found = sv.audit("examples/census-count.toml")
    >>> found.satisfied, round(found.record.after, 3)
    (True, 0.249)
    """
    if not isinstance(scenario, Scenario):
        texts = text_scenario(scenario)
        if texts is not None:
            from sievert.questions.documents import audit_documents

            return audit_documents(texts)
        assert isinstance(scenario, str | Path)
        scenario = load_scenario(scenario)
    view, policy = seen(scenario), scenario.policy
    found, promise = view.epsilon, kept_promise(view)
    repeated = view.repeated(scenario.observations)
    accepted = None if scenario.accept is None else scenario.accept.guess
    limit = view.guess_limit
    leakages, unanswered = findings(view)
    result = Audit(
        title=scenario.title,
        policy=policy.describe(),
        query=scenario.query.words,
        mechanism=view.words,
        epsilon=found,
        claimed_eps=scenario.claimed_eps,
        promise=promise,
        satisfied=view.proved is not False and _is_satisfied(scenario, promise),
        leakages=leakages,
        record=view.record,
        database=view.database,
        database_bits=_database_bits(policy),
        records=policy.records,
        radii=_radii(scenario, found),
        person_records=policy.person_records,
        observations=scenario.observations,
        repeated_eps=found.nats * scenario.observations * policy.person_records,
        repeated_guess=repeated.guess,
        repeated_exact=repeated.exact,
        worst=_worst(policy, found),
        checks=checks(view),
        guess_limit=limit,
        releases_within=None if limit is None or accepted is None else view.releases_within(accepted),
        on_map=scenario.region is not None,
        listed=view.listed,
        steps=view.steps,
        exact_eps=view.exact_eps,
        proved=view.proved,
        simulated=view.simulated(scenario.observations),
        unanswered=unanswered,
        inference=None if scenario.document.inference is None else infer(scenario),
    )
    result = replace(result, standing=standing(scenario, result))
    facts = interval_facts(scenario) if view.listed else None
    if facts is None:
        return result
    return IntervalAudit(**{part.name: getattr(result, part.name) for part in fields(result)}, interval=facts)


def _is_satisfied(scenario: Scenario, promise: Promise | None) -> bool:
    """Whether the claim is kept; a claim of a pure ε, or none, needs one that is finite."""
    pure = promise is None or scenario.claimed_eps is not None
    return (promise is None or promise.kept) and (not pure or math.isfinite(scenario.epsilon.nats))


def _worst(policy: Policy, found: Epsilon) -> WorstLeakage | None:
    """What any mechanism of this ε could leak about the database."""
    if math.isinf(found.nats):
        return None
    with suppress(TooLargeError):
        return worst_leakage(policy, found.nats)
    return None


def _database_bits(policy: Policy) -> float:
    """log2 of the number of possible databases."""
    if policy.constrained:
        return math.log2(policy.size)
    return policy.records * math.log2(len(policy.values))


def _radii(scenario: Scenario, found: Epsilon) -> tuple[tuple[float, float], ...]:
    """Distance and odds factor for a metric policy: nearest neighbours, half way, everything."""
    metric, region = scenario.policy.secrets, scenario.region
    if not isinstance(metric, Metric) or math.isinf(found.nats):
        return ()
    if region is not None:
        least, greatest = region.cell, region.cell * math.hypot(*(side - 1 for side in region.shape))
        radii = sorted({least, greatest / 2, greatest}) if greatest > 0 else []
        return tuple((metres, found.odds(region.cells_apart(metres))) for metres in radii)
    nearest, furthest = _extremes(metric)
    radii = sorted({nearest, furthest / 2, furthest}) if furthest > 0 else []
    return tuple((radius, found.odds(radius)) for radius in radii)


def _extremes(metric: Metric) -> tuple[float, float]:
    """The least and the greatest positive distance; 0 where there is none, or they are too many to list."""
    try:
        matrix = metric.matrix
    except TooLargeError:
        return 0.0, 0.0
    positive = matrix[(matrix > 0) & (matrix < math.inf)]
    return (float(positive.min()), float(positive.max())) if positive.size else (0.0, 0.0)


# ── What the release changes for each adversary of the file, in the adversary's own unit ────────────────────


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


# ── What the file's family would leak at other ε, for a picture ─────────────────────────────────────────────

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
