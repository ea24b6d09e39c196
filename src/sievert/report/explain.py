"""A claim of privacy in sentences: what it lets anybody do to one person, and whether that is accepted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from sievert.channels.divergences import delta_curve, renyi_curve, smallest_epsilon
from sievert.channels.privacy import epsilon
from sievert.errors import FileError, TooLargeError
from sievert.files import Scenario
from sievert.files.schema import AcceptModel, ClaimModel
from sievert.leakage.repeats import repeated_guess
from sievert.limits.backwards import SYMBOLS, Unknown, WeakestClaim, weakest_claim
from sievert.limits.claims import ApproximateClaim, Claim, claim_of
from sievert.limits.explain import Explanation, explain_claim
from sievert.limits.guesses import MEETS
from sievert.release.acceptance import has_noise_in_cells
from sievert.release.guess_bounds import record_belief
from sievert.release.promises import CLAIM_TOLERANCE, Promise, kept_promise
from sievert.report.audit import Check
from sievert.report.words import bits, probability, times
from sievert.results import Result
from sievert.spaces.metric import Metric

__all__ = [
    "OTHER_NUMBERS",
    "ClaimReport",
    "MechanismCurve",
    "explain_file",
    "explanation_lines",
    "report_of",
    "stated_claim",
    "weakest_for_file",
    "weakest_report",
]

FALSE_ALARMS = (0.01, 0.05, 0.1)
# δ at which a mechanism's own curve is read off.
READ_DELTAS = (1e-3, 1e-6)
LARGEST_CURVE = 20_000_000
OTHER_NUMBERS = "The best guess at other strengths of the promise"


@dataclass(frozen=True)
class MechanismCurve(Result):
    """The file's own mechanism between neighbouring inputs, exactly.

    `eps` is its smallest pure ε, `eps_at` the smallest ε at some δ, `distinguishing` the total variation at
    worst, `kullback` the largest Kullback-Leibler divergence in nats.
    """

    eps: float
    eps_at: tuple[tuple[float, float], ...]
    distinguishing: float
    kullback: float


@dataclass(frozen=True)
class ClaimReport(Result):
    """An explanation with the limits it is held against and, for a file, the mechanism's own curve.

    `answer` is the sentence to begin with where the question was not what the claim means, `promise` the
    file's claim held against its own mechanism.
    """

    title: str
    explanation: Explanation
    checks: tuple[Check, ...] = ()
    mechanism: MechanismCurve | None = None
    answer: str | None = None
    promise: Promise | None = None

    @property
    def passed(self) -> bool:
        """Whether the file's mechanism keeps the claim, and every limit holds."""
        return self.kept and all(check.passed for check in self.checks)

    @property
    def kept(self) -> bool:
        """Whether no mechanism of the file is known to break the claim."""
        return self.promise is None or self.promise.kept

    def __str__(self) -> str:
        if self.promise is not None and not self.promise.kept:
            return (
                f"The mechanism of this file does not keep the promise: it claims {self.promise.claim} but "
                f"only satisfies {self.promise.satisfied}. What follows is about the claim alone."
            )
        failed = [check for check in self.checks if not check.passed]
        if failed:
            return f"Not acceptable: {failed[0]}."
        if self.answer is not None:
            return f"{self.answer} {headline(self.explanation)}"
        accepted = " This is within every limit of the file." if self.checks else ""
        return headline(self.explanation) + accepted


def report_of(explanation: Explanation, accept: AcceptModel | None = None) -> ClaimReport:
    """An explanation of a bare claim."""
    title = f"What does “{explanation.claim}” mean?"
    return ClaimReport(title, explanation, _checks(explanation, accept, None))


def explain_file(
    scenario: Scenario,
    releases: int | None = None,
    within: float | None = None,
    centre: object = None,
    **options: Any,
) -> ClaimReport:
    """Explain the claim of a file for its own policy, held against its [accept].

    The claim is what the options say, else [claim], else the ε of [mechanism]; releases default to the
    adversary's observations.
    """
    count = scenario.observations if releases is None else releases
    claim = _claim(scenario, count, options)
    policy = scenario.policy
    explanation = explain_claim(
        claim, prior=record_belief(scenario), policy=policy, within=within, centre=_value(scenario, centre)
    )
    curve = _mechanism_curve(scenario)
    explanation = _with_own_guess(scenario, explanation, claim, curve)
    checks = _checks(explanation, scenario.accept, claim, policy.person_records)
    promise = None if curve is None or _states_claim(options) else kept_promise(scenario, curve.eps)
    return ClaimReport(scenario.title, explanation, checks, curve, promise=promise)


def _with_own_guess(
    scenario: Scenario, found: Explanation, claim: Claim, curve: MechanismCurve | None
) -> Explanation:
    """The file's own mechanism, where it keeps the claim, is one that reaches what it lets anybody guess."""
    if found.exact or curve is None or not isinstance(claim, ApproximateClaim):
        return found
    if curve.eps > claim.eps * (1 + CLAIM_TOLERANCE):
        return found
    try:
        own = repeated_guess(scenario.channel, scenario.answers, found.releases, scenario.record_prior)
    except TooLargeError:
        return found
    if not own.exact or not math.isclose(own.before, found.before, rel_tol=1e-9):
        return found
    reached = min(found.after, max(found.reached, own.guess))
    return replace(found, reached=reached, exact=found.after - reached <= MEETS)


def weakest_for_file(
    scenario: Scenario, guess: float, solve: Unknown, releases: int | None = None, **options: Any
) -> WeakestClaim:
    """The weakest claim that keeps a guess within a limit, for the policy and prior of a file.

    Releases default to the adversary's observations. Where a number of releases or a δ is looked for and the
    options state no claim, it is the file's.
    """
    count = scenario.observations if releases is None else releases
    if solve == "releases":
        count = 1 if releases is None else releases
    given = dict(options)
    if solve in ("releases", "delta") and not _states_claim(options):
        given = {**stated_claim(scenario), **options}
        if solve == "delta":
            given.pop("delta", None)
    prior = record_belief(scenario)
    return weakest_claim(guess, solve, **given, prior=prior, releases=count, policy=scenario.policy)


def _value(scenario: Scenario, centre: object) -> object:
    """A centre given as text on the command line is the value that reads so."""
    if not isinstance(centre, str):
        return centre
    return next((value for value in scenario.policy.values if str(value) == centre), centre)


def _claim(scenario: Scenario, releases: int, options: dict[str, Any]) -> Claim:
    given = options if _states_claim(options) else {**stated_claim(scenario), **options}
    return claim_of(**given, releases=releases)


def _states_claim(options: dict[str, Any]) -> bool:
    return any(options.get(name) is not None for name in ("eps", "rho", "sigma"))


def stated_claim(scenario: Scenario) -> dict[str, Any]:
    """The claim that a file states or whose mechanism makes it, as arguments."""
    stated: ClaimModel | None = scenario.document.claim
    if stated is not None:
        return stated.model_dump(exclude_none=True)
    if scenario.document.mechanism is None:
        raise FileError(
            f"{scenario.source}: has neither [claim] nor [mechanism] to take a claim from; add [claim] "
            "with eps, or pass --eps"
        )
    level = scenario.claimed_eps
    if level is None:
        level = epsilon(scenario.channel, scenario.answers).nats
    return {"eps": level}


def _mechanism_curve(scenario: Scenario) -> MechanismCurve | None:
    """The mechanism's own curve, where there is one small enough to look at every pair of neighbours."""
    if scenario.document.mechanism is None or isinstance(scenario.policy.secrets, Metric):
        return None
    if has_noise_in_cells(scenario):
        return None
    try:
        answers = scenario.answers
        # Every answer has a neighbour: what is too large already for one each is not listed.
        if len(answers.labels) ** 2 > LARGEST_CURVE:
            return None
        channel = scenario.channel.finite()
        if len(answers.edges.pairs) * channel.shape[1] > LARGEST_CURVE:
            return None
        return MechanismCurve(
            epsilon(channel, answers).nats,
            tuple((delta, smallest_epsilon(channel, answers, delta)) for delta in READ_DELTAS),
            float(delta_curve(channel, answers, [0.0]).delta[0]),
            float(renyi_curve(channel, answers, [1.0]).nats[0]),
        )
    except TooLargeError:
        return None


def _checks(
    found: Explanation, accept: AcceptModel | None, claim: Claim | None, people: int = 1
) -> tuple[Check, ...]:
    """Limits on what any mechanism with the claim allows; a value that is only a bound may fail a limit that
    holds, and says so."""
    if accept is None:
        return ()
    after = "after the release" if found.releases == 1 else f"after {found.releases} releases"
    limits = (
        ("best guess about one person", accept.guess, found.after),
        ("bits about one person", accept.bits, found.bits),
        ("advantage about one person", accept.advantage, found.advantage),
        ("growth of the odds about one person", accept.odds, found.odds),
    )
    checks = [
        Check(f"{name} {after}", limit, value, value <= limit * (1 + CLAIM_TOLERANCE), found.exact)
        for name, limit, value in limits
        if limit is not None
    ]
    if accept.eps is not None and claim is not None:
        at = "" if accept.delta is None else f" at δ = {accept.delta:g}"
        total = claim.of_group(people).epsilon(accept.delta or 0.0)
        whose = "" if people == 1 else f" for a person with {people} records"
        passed = total <= accept.eps * (1 + CLAIM_TOLERANCE)
        checks.append(
            Check(f"total ε{whose}{at} {after}", accept.eps, total, passed, claim.tight and people == 1)
        )
    return tuple(checks)


def headline(found: Explanation) -> str:
    """The answer in one sentence."""
    if found.before >= 1:
        return "Nothing can be learned: the person's value is certain already."
    after = "the release" if found.releases == 1 else f"{found.releases} releases"
    most = "" if found.exact else "at most "
    return (
        f"Someone who knows everything else guesses {found.guessed} with probability "
        f"{probability(found.before)} before and {most}{probability(found.after)} after {after}."
    )


def explanation_lines(report: ClaimReport) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them."""
    found = report.explanation
    if found.policy is not None:
        lines = [found.policy, f"Promised: {found.claim}."]
        if found.person is not None:
            lines[1] = (
                f"Promised for each record: {found.claim}. For all records of one person together this "
                f"means {found.person}; the answers below are about a person whose records all say the same."
            )
        yield "What is protected", lines
    yield "One person", _person(found)
    yield f"Telling {found.between} apart", _apart(found)
    if found.totals is not None:
        yield f"After {found.releases} releases", _releases(found)
    if found.equivalents:
        yield "As ε and δ", [_equivalents(found)]
    if found.near is not None:
        yield "Someone whose whereabouts are roughly known", _near(found)
    if found.database is not None:
        text = str(found.database)
        yield "The whole database", [f"{text[0].upper()}{text[1:]}."]
    if report.mechanism is not None:
        broken = [] if report.kept else ["It does NOT keep the promise."]
        yield "The mechanism of this file", [*broken, *_own(report.mechanism)]
    if found.table and found.before < 1:
        yield OTHER_NUMBERS, _table(found)
    if found.certificate is not None:
        checked = str(found.certificate.verify())
        yield "Certificate", [f"{checked[0].upper()}{checked[1:]}."]
    elif found.uncertified is not None:
        yield "Certificate", [f"None: {found.uncertified}."]
    if report.checks:
        lines = [f"{check.name[0].upper()}{str(check)[1:]}." for check in report.checks]
        if any(check.name.startswith("total ε") and math.isinf(check.value) for check in report.checks):
            lines.append(
                "This claim has no finite ε at that δ; say in [accept] at which δ the total ε is judged, for "
                "instance delta = 1e-6, with eps."
            )
        if report.mechanism is not None and not report.passed:
            lines.append(
                "Here the limits are held against every mechanism with the claim; `sievert audit` holds them "
                "against the mechanism of this file."
            )
        yield "Accepted?", lines


def _person(found: Explanation) -> list[str]:
    if found.before >= 1:
        return ["The value is certain before the release, so no release can tell more."]
    rise = f"A guess rises from {probability(found.before)} to "
    if found.exact:
        lines = [
            f"{rise}{probability(found.after)}: no mechanism that keeps the promise lets anybody guess "
            "better, and some mechanism reaches it."
        ]
    else:
        lines = [
            f"{rise}at most {probability(found.after)}: no mechanism that keeps the promise lets anybody "
            "guess better."
        ]
        if found.reached > found.before:
            lines[0] += f" Some mechanism that keeps it allows {probability(found.reached)}."
    lines.append(f"How it was found: {found.method}.")
    most = "" if found.exact else "at most "
    growth = "without limit" if math.isinf(found.odds) else f"{most}{times(found.odds)}"
    factor = times(found.after / found.before)
    if factor == "once":
        lines.append("The release tells nothing about the person.")
    else:
        lines.append(
            f"A right guess becomes {most}{factor} as likely ({bits(found.bits)}); its odds grow {growth}."
        )
    lines.append(
        "In the terms of data protection this bounds inference, the deduction of a person's value, "
        "whatever else the attacker knows. It does not speak of singling out or linkability."
    )
    return lines


def _apart(found: Explanation) -> list[str]:
    most = "" if found.curve.exact else "at most "
    lines = [
        "Whoever must tell from the output which of the two was used, and raises the alarm for one of them, "
        f"does so {most}{100 * found.distinguishing:.3g} percentage points more often when it was that one "
        "than when it was the other (the attacker's advantage)."
    ]
    least = "" if found.curve.exact else "at least "
    first, *others = ((f"{a:.0%}", f"{least}{probability(float(found.curve.at(a)))}") for a in FALSE_ALARMS)
    more = "; ".join(f"in {share}: {missed}" for share, missed in others)
    lines.append(
        f"Raising false alarms in {first[0]} of the cases they miss {first[1]} of the true ones ({more})."
    )
    return lines


def _releases(found: Explanation) -> list[str]:
    totals = found.totals
    assert totals is not None
    advanced = "says nothing here" if math.isinf(totals.advanced) else f"gives {totals.advanced:.4g}"
    return [
        f"At a total δ of {totals.total_delta:g} the exact total is ε = {totals.optimal:.4g}; adding up "
        f"gives {totals.basic:.4g}, advanced composition {advanced}. The guess above uses the exact total."
    ]


def _equivalents(found: Explanation) -> str:
    listed = [f"ε = {eps:.4g} at δ = {delta:g}" for delta, eps in found.equivalents if math.isfinite(eps)]
    if not listed:
        return "No finite ε follows from it at any small δ."
    together = "It implies" if found.releases == 1 else f"All {found.releases} releases together have"
    return f"{together} {', '.join(listed)}."


def _near(found: Explanation) -> list[str]:
    near = found.near
    assert near is not None
    most = "" if near.exact else "at most "
    return [
        f"Someone known to be within {near.radius:g} of {near.centre} ({near.points} places) is located "
        f"with probability {probability(near.before)} before and {most}{probability(near.after)} after.",
        f"Belief in {near.centre} itself grows at most {times(near.belief_factor)}; the odds between "
        f"two of the places change at most {times(near.odds_factor)}.",
    ]


def _own(curve: MechanismCurve) -> list[str]:
    at = ", ".join(f"{eps:.4g} at δ = {delta:g}" for delta, eps in curve.eps_at)
    pure = "no pure ε" if math.isinf(curve.eps) else f"ε = {curve.eps:.6g}"
    return [
        f"It satisfies {pure}; allowing a δ, ε = {at}.",
        f"Between neighbouring inputs: an advantage of at most {100 * curve.distinguishing:.3g} percentage "
        f"points, {curve.kullback:.4g} nats of Kullback-Leibler divergence.",
    ]


def _table(found: Explanation) -> list[str]:
    return [
        f"{SYMBOLS.get(name, name)} = {value:g}: {'' if found.exact else 'at most '}{probability(after)}"
        for name, value, after in found.table
    ]


def weakest_report(found: WeakestClaim) -> ClaimReport:
    """What the weakest acceptable claim means."""
    assert found.explanation is not None
    title = f"What keeps a guess at {found.guess:g} or below?"
    text = str(found)
    # A symbol keeps its case: Σ is not σ.
    opening = text[0].upper() if text[0].isascii() else text[0]
    return ClaimReport(title, found.explanation, answer=f"{opening}{text[1:]}.")
