"""The audit in sentences, one screen long."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import singledispatch
from pathlib import Path

from sievert.channels import LARGEST_DENSE
from sievert.errors import FileError
from sievert.files import Scenario
from sievert.numerics import belief_growth, guess_words, in_bits, in_percent, number, times
from sievert.questions.audit import Audit, Finding, LeakageCurves, leakage_curves
from sievert.questions.noise import NoiseAudit
from sievert.questions.samples import SamplesAudit
from sievert.report import plots
from sievert.report._page import Page, Picture, Table, page_html
from sievert.report.infer import inference_lines, tradeoff_picture
from sievert.results import Result
from sievert.spaces.secrets import SecretGraph

__all__ = ["lines", "page", "page_of", "pictures"]


@singledispatch
def lines(result: Result) -> Iterator[tuple[str, list[str]]]:
    """Headings and the sentences below them, of an audit of any kind."""
    raise TypeError(f"{type(result).__name__} is no audit")


@lines.register
def _(audit: Audit) -> Iterator[tuple[str, list[str]]]:
    yield "What is protected", [audit.policy, f"Released: {audit.query}, through {audit.mechanism}."]
    yield "Does the mechanism keep the promise?", _promise(audit)
    yield ("The value" if audit.records == 1 else "One record"), _record(audit)
    if audit.leakages:
        secret = "the value" if audit.records == 1 else "the true answer"
        yield f"Guessing {secret}", [_finding(item) for item in audit.leakages]
    yield (
        ("Any adversary" if audit.records == 1 else "The whole database"),
        [_database(audit), *_worst(audit)],
    )
    if audit.inference is not None:
        yield "Inference", [*inference_lines(audit.inference), str(audit.inference)]
    if audit.checks:
        yield "Accepted?", [f"{check.name[0].upper()}{str(check)[1:]}." for check in audit.checks]


def _promise(audit: Audit) -> list[str]:
    found = audit.epsilon
    if math.isinf(found.nats):
        answer = "NO: no ε is large enough."
    elif audit.promise is None:
        answer = f"The file claims no ε; the smallest one that holds is {found.nats:.6g}."
    elif not audit.promise.kept:
        answer = f"NO: it claims {audit.promise.claim} but only satisfies {audit.promise.satisfied}."
    elif audit.claimed_eps is None:
        answer = f"Yes: it claims {audit.promise.claim} and satisfies {audit.promise.satisfied}."
    elif found.nats < audit.claimed_eps * (1 - 1e-6):
        answer = f"Yes, and better than claimed: true ε = {found.nats:.6g}, claimed {audit.claimed_eps:.6g}."
    else:
        value = f"ln({found.exact}) = " if found.exact is not None and found.distance == 1 else ""
        answer = f"Yes: it satisfies ε = {value}{found.nats:.6g}, as claimed, and no smaller one."
    return [answer] if found.pair is None or found.nats == 0 else [answer, _witness(audit)]


def _witness(audit: Audit) -> str:
    found = audit.epsilon
    assert found.pair is not None
    likely, unlikely = found.pair
    apart = "" if found.distance == 1 else f" (distance {found.distance:.4g})"
    if math.isinf(found.nats):
        return f"Witness: output {found.output!r} can occur for {likely!r} but never for {unlikely!r}{apart}."
    ratio = times(found.odds(found.distance))
    return f"Witness: output {found.output!r} is {ratio} as likely for {likely!r} as for {unlikely!r}{apart}."


def _record(audit: Audit) -> list[str]:
    record = audit.record
    before, after = in_percent(record.before), in_percent(record.after)
    most = "at most " if audit.record_is_bound else ""
    growth = "no more than before" if record.after == record.before else in_bits(record.bits, 3)
    if audit.records == 1:
        lines = [
            f"It is guessed with probability {before} now and {most}{after} after the release ({growth})."
        ]
    else:
        lines = [
            f"Someone who knows everything except one record guesses it with probability {before} "
            f"now and {most}{after} after the release ({growth})."
        ]
    if audit.radii and audit.epsilon.nats > 0:
        lines.append(belief_growth("places" if audit.on_map else "values", audit.radii, " m" * audit.on_map))
    if audit.person_records > 1:
        lines.append(
            f"One person may own {audit.person_records} records: together they are protected by ε = "
            f"{audit.epsilon.nats * audit.person_records:.4g}; the guesses here are about one of them, "
            "the others known."
        )
    if audit.observations > 1:
        lines.append(
            f"After {audit.observations} independent releases of the same data: "
            f"{'exactly' if audit.repeated_exact else 'at most'} {in_percent(audit.repeated_guess)} "
            f"(total ε = {audit.repeated_eps:.4g})."
        )
    return lines + _budget(audit)


def _budget(audit: Audit) -> list[str]:
    """How far releases of the same data can go."""
    limit = audit.guess_limit
    if limit is None or limit == audit.record.before:
        return []
    ever = f"However often the same data is released, the guess stays at or below {in_percent(limit)}."
    lines = [ever] if limit < 1 else []
    kept = audit.releases_within
    if kept is not None and kept.releases is not None:
        many = "No release keeps" if kept.releases == 0 else "One release keeps"
        if kept.releases > 1:
            many = f"{'Up to' if kept.exact else 'At least'} {kept.releases} releases keep"
        lines.append(f"{many} the limit of {in_percent(kept.limit)}.")
    return lines


# Opening words for the adversaries that the file names by a word.
OPENINGS = {
    "identity": "Exactly",
    "closeness": "Closeness (1 is exact, 0 as far as possible)",
    "bayes risk": "Chance of a wrong guess",
    "shannon": "Uncertainty",
    "guessing": "Guesses needed on average",
}


def _finding(item: Finding) -> str:
    name = OPENINGS.get(item.name, item.name[0].upper() + item.name[1:])
    before, after = _amount(item, float(item.before)), _amount(item, float(item.after))
    sentence = f"{name}: {before} before, {after} after{_growth(item)}"
    if item.blind_guess is not None:
        sentence += f"; best blind guess: {guess_words(item.blind_guess)}"
    return sentence + "."


def _amount(item: Finding, value: float) -> str:
    if item.unit in ("probability", "risk"):
        return in_percent(value)
    return in_bits(value, 3) if item.unit == "bits" else f"{value:.4g}"


def _growth(item: Finding) -> str:
    if float(item.difference) == 0:
        return ", no change"
    if item.unit in ("probability", "closeness", "gain"):
        if item.bits is None or item.factor is None:
            return f" ({float(item.difference):.4g} more)"
        return f" ({times(float(item.factor))}, {in_bits(item.bits, 3)})"
    return ""


def _database(audit: Audit) -> str:
    factor, amount = float(audit.database.factor), in_bits(audit.database.bits, 3)
    if audit.records == 1:
        whoever = "Whatever somebody believes and wants to know about the value"
        if factor == 1:
            return f"{whoever}, the release tells nothing."
        return f"{whoever}, no guess becomes more than {times(factor)} as likely on average ({amount})."
    if factor == 1:
        return f"Of {audit.database_bits:.4g} bits in the database, the release gives away nothing."
    return (
        f"Of {audit.database_bits:.4g} bits in the database, the release gives away at most {amount}: no "
        f"guess about it becomes more than {times(factor)} as likely on average."
    )


def _worst(audit: Audit) -> list[str]:
    """What any mechanism of the same ε could give away, and how much of that this one does."""
    worst = audit.worst
    if worst is None or worst.upper.bits <= 0:
        return []
    share = audit.database.bits / worst.upper.bits
    reached = (
        "some mechanism does"
        if worst.exact is not None
        else f"some gives away {in_bits(worst.lower.bits, 3)}"
    )
    certified = "" if worst.certificate is None else ", certified"
    each = ((worst.diameter, "diameter"), (worst.radius, "radius"), (worst.packing, "packing"))
    bounds = ", ".join(f"{in_bits(bound.bits, 3)} ({name})" for bound, name in each)
    last = "exactly" if worst.exact is not None else "at most"
    return [
        f"Mechanisms with the same ε could give away up to {in_bits(worst.upper.bits, 3)} ({reached}); this "
        f"one uses {share:.0%} of that.",
        f"Bounds on all of them: {bounds}; {last} {in_bits(worst.upper.bits, 3)}{certified}.",
    ]


# ── The audit as one self-contained HTML page: sentences, pictures, a table, the file itself ────────────────

# More values than this make a graph that nobody can read.
LARGEST_GRAPH = 30


@singledispatch
def page_of(result: Result, scenario: Scenario) -> Callable[[], str]:
    """How the page of an audit of any kind is made."""
    raise TypeError(f"{type(result).__name__} is no audit")


@page_of.register
def _page_of_list(result: Audit, scenario: Scenario) -> Callable[[], str]:
    return lambda: page(result, scenario, leakage_curves(scenario, result))


@page_of.register
def _page_of_noise(result: NoiseAudit, scenario: Scenario) -> Callable[[], str]:
    def refuse() -> str:
        raise FileError(
            "--report draws what each input is released as, and a table with too many answers to list has "
            "too many inputs for that; leave --report out, or keep the answer with --json"
        )

    return refuse


def page(audit: Audit, scenario: Scenario, curves: LeakageCurves) -> str:
    """The whole page, working offline."""
    header = ("adversary", "before", "after", "factor", "bits", "difference")
    rows = [
        (
            item.title,
            item.before,
            item.after,
            item.factor,
            item.bits,
            item.difference,
        )
        for item in audit.leakages
    ]
    source = Path(scenario.source).name
    return page_html(
        Page(
            title=audit.title,
            made_by=f"Audit of {source}",
            headline=str(audit),
            sections=list(lines(audit)),
            good=audit.passed,
            tables=[Table("Leakage by adversary", header, rows)] if rows else [],
            pictures=pictures(audit, scenario, curves),
            proofs=[
                f"`sievert audit {source}` recomputes every number of this page; `sievert limits {source} "
                "--proof proof.json` saves a proof of what the policy allows, and `sievert verify "
                "proof.json` checks it without a solver."
            ],
            text=scenario.to_toml(),
        )
    )


def pictures(audit: Audit, scenario: Scenario, curves: LeakageCurves) -> list[Picture]:
    """The channel, belief before and after, leakage against ε; for small policies, what must stay hidden."""
    drawn = [*_matrix_pictures(scenario), _curve(curves)]
    if audit.inference is not None:
        drawn.append(tradeoff_picture(audit.inference))
    secrets = scenario.policy.secrets
    if audit.records == 1 and isinstance(secrets, SecretGraph) and secrets.size <= LARGEST_GRAPH:
        pair = audit.epsilon.pair
        shown = pair if pair is not None and all(value in secrets.position for value in pair) else None
        marked = "" if shown is None else "; the red line joins the two that are easiest to tell apart"
        drawn.append(
            Picture(
                "What must not be told apart",
                f"Values that are joined must not be told apart{marked}.",
                plots.policy_graph(secrets, witness=shown),
            )
        )
    return drawn


def _matrix_pictures(scenario: Scenario) -> list[Picture]:
    """What is drawn from the whole matrix; nothing where it is only known by its rule."""
    channel = scenario.channel
    if channel.is_rule_beyond(LARGEST_DENSE):
        return []
    return [
        Picture(
            "What the mechanism does",
            "Each row is a true value; the darker a cell, the likelier that output.",
            plots.channel_heatmap(channel),
        ),
        Picture(
            "Belief before and after the most revealing output",
            "What an adversary believes before the release, and after the output that makes some value "
            "likeliest.",
            plots.beliefs(channel, scenario.prior),
        ),
    ]


def _curve(curves: LeakageCurves) -> Picture:
    figure = plots.leakage_curve(curves.eps, curves.bits, here=curves.here, limit=curves.limit)
    caption = f"Leakage of one release through {curves.family} as ε varies; the upright line is this file."
    return Picture("Leakage against ε", caption, figure)


# ── Noise in cells, and runs of a black box ─────────────────────────────────────────────────────────────────


@lines.register
def _(found: NoiseAudit) -> Iterator[tuple[str, list[str]]]:
    yield "What is protected", [found.policy]
    yield "What is released", [f"{found.query[:1].upper()}{found.query[1:]}, through {found.mechanism}."]
    proof = "One record moves nothing in the table."
    if found.proved is not None:
        enough = "was verified to be enough" if found.proved else "is NOT enough"
        proof = (
            f"ε = {number(found.eps)}: one record moves the table by at most {number(found.steps)} for a "
            f"unit of distance, and the noise {enough} for it."
        )
    kept = []
    if found.claim is not None:
        verdict = "implies it" if found.claim.kept else "is NOT shown to be enough for it"
        kept = [f"The file claims {found.claim.claim}; {found.claim.satisfied} {verdict}."]
    yield "Does it keep its promise?", [found.promise, proof, *kept]
    most = "at most " if found.record.is_bound else ""
    record = [
        "Someone who knows every other record guesses the remaining one with probability "
        f"{in_percent(found.record.before)} now and {most}{in_percent(found.record.after)} after the "
        "release."
    ]
    if found.observations > 1:
        record.append(
            f"After {found.observations} independent releases of the same data: at most "
            f"{in_percent(found.repeated.guess)} (total ε = {found.repeated_eps:g})."
        )
    yield "One record, when all others are known", record
    if found.checks:
        yield "Limits", [f"{str(check)[:1].upper()}{str(check)[1:]}." for check in found.checks]
    yield (
        "How good it is",
        ["`sievert release FILE --preview` says how far off the numbers will be."],
    )


@lines.register
def _(found: SamplesAudit) -> Iterator[tuple[str, list[str]]]:
    guess = str(found.guess)
    yield "Guessing the input", [f"{guess[0].upper()}{guess[1:]}."]
    if found.any_two and found.inputs > 2:
        yield (
            "Neighbours",
            ["Any two inputs were taken for neighbours; a policy file beside --samples says which are."],
        )
