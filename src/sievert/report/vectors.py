"""Answers about users' vectors in words and as pages: audit, preview, release and the other questions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch

from sievert.files import VectorsScenario
from sievert.numerics import in_nats, in_percent, number
from sievert.questions.match import Match
from sievert.questions.vectors import VectorsAnswer, VectorsAudit
from sievert.release import VectorsPreview, VectorsRelease
from sievert.report import plots
from sievert.report._page import Page, Picture, Sections, page_html, page_of_answer
from sievert.report.release import near
from sievert.results import Result
from sievert.vectors import NoisyHash, distance_text, loss_curve

__all__ = ["content", "lines", "match_lines", "page"]


def page(found: Result, scenario: VectorsScenario, command: str = "") -> str:
    """The answer as one self-contained page, working offline."""
    return page_html(content(found, scenario, command))


def content(found: Result, scenario: VectorsScenario, command: str = "") -> Page:
    """What the page says."""
    return page_of_answer(found, scenario, lines(found), list(_pictures(found, scenario)), command)


@singledispatch
def lines(found: Result) -> Sections:
    """Headings and the sentences below them."""
    raise TypeError(f"{type(found).__name__} is no answer about vectors")


@singledispatch
def _pictures(found: Result, scenario: VectorsScenario) -> Iterator[Picture]:
    """What can be seen at a glance; nothing, for most."""
    return iter(())


@_pictures.register
def _of_audit(found: VectorsAudit, scenario: VectorsScenario) -> Iterator[Picture]:
    mechanism, hashing = scenario.mechanism, scenario.hashing
    # The angle is the probability that a bit differs under hyperplanes alone.
    if isinstance(mechanism, NoisyHash) and hashing.kind == "hyperplane" and found.delta > 0:
        yield Picture(
            "By distance",
            "Nats that two users at an angle are told apart by, exactly and by the paper's bounds.",
            plots.loss_by_distance(loss_curve(found.bits, mechanism.eps, found.delta, list(found.curve))),
        )


@_pictures.register
def _of_preview(found: VectorsPreview, scenario: VectorsScenario) -> Iterator[Picture]:
    return _of_audit(found.audit, scenario)


@_pictures.register
def _of_answer(found: VectorsAnswer, scenario: VectorsScenario) -> Iterator[Picture]:
    headings = {"breach": "How well two users are told apart", "design": "How well users are ranked"}
    levels, values = [level for level, _ in found.curve], [value for _, value in found.curve]
    if found.question in headings:
        yield Picture(
            headings[found.question],
            "The chance that a guess is right, against one half without looking.",
            plots.guess_curve(levels, values, 0.5, axis=found.axis),
        )


@lines.register
def audit_lines(found: VectorsAudit) -> Sections:
    """What is promised at several distances, by which account, and what to know."""
    kind = "exact" if found.exact else "an upper bound"
    promised = [
        f"{found.mechanism} (sampler = {found.sampler!r}).",
        f"{found.hash}.",
        f"{in_nats(found.xi, 6)} at {distance_text(found.measured, found.distance)} and δ = {found.delta:g} "
        f"({kind}; the observer sees {found.view}, {found.quantifier}).",
        f"Any two users, under this very hash and without δ: {in_nats(found.worst, 6)}.",
        f"A guess which of two such users it is rises from 50.0% to {in_percent(found.guess)} at most.",
    ]
    sections = [
        ("What is promised", promised),
        (
            "By distance",
            [
                f"{distance_text(found.measured, d)}: {in_nats(xi)} but for δ = {found.delta:g}"
                for d, xi in found.curve.items()
            ],
        ),
    ]
    if found.threat is not None:
        how = (
            "every output was looked at"
            if found.threat.exact
            else f"simulated, ± {found.threat.deviation:.2g}"
        )
        sections.append(("An attacker who knows people", [f"{str(found.threat).capitalize()} ({how})."]))
    if found.bounds is not None:
        sections.append(("Beside the paper's bounds", [f"{found.bounds}."]))
    if found.failed:
        sections.append(("Not accepted", list(found.failed)))
    return [*sections, ("Mind", list(found.notes))]


@lines.register
def preview_lines(found: VectorsPreview) -> Sections:
    """The audit, and what it would cost."""
    left = (
        "no budget was read"
        if found.remaining is None
        else f"{number(found.remaining)} of the budget is left"
    )
    cost = [f"Each person is charged {in_nats(number(found.cost))}; {left}."]
    return [("What it costs", cost), *audit_lines(found.audit)]


@lines.register
def release_lines(found: VectorsRelease) -> Sections:
    """What was written."""
    drawn = "by integers, exactly" if found.arithmetic == "exact" else "in floating point"
    return [
        (
            "Written",
            [
                f"{found.users} codes of {found.bits} bits, noise drawn {drawn}.",
                f"{near(found.output)}: the noisy codes.",
                f"{near(found.sidecar)}: the identity of the hash, what was done, and what it promises.",
                f"Note the ledger's hash elsewhere: {found.head}.",
            ],
        )
    ]


@lines.register
def answer_lines(found: VectorsAnswer) -> Sections:
    """What else to know."""
    return [("In numbers", list(found.lines))] if found.lines else []


def match_lines(found: Match) -> Sections:
    """The first few users, and what the distances are worth."""
    shown = [
        f"{user}: {', '.join(others[:5])}{', …' if len(others) > 5 else ''}"
        for user, others in zip(found.users[:10], found.neighbours, strict=False)
    ]
    mind = ["Ties are broken at random: another run may name others that are as near."]
    if found.deviation is None:
        mind.append("The noise has no single flip rate, so distances are not debiased.")
    return [("Nearest", shown), ("Mind", mind)]
