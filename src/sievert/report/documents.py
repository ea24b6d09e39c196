"""Answers about documents in words and as pages: audit, preview, release, attack and the other questions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import singledispatch
from itertools import combinations

from sievert.files import DocumentsScenario
from sievert.numerics import in_nats, in_percent, number
from sievert.questions.documents import DocumentsAnswer, DocumentsAudit
from sievert.release import DocumentsPreview, DocumentsRelease
from sievert.report import plots
from sievert.report._page import Page, Picture, Sections, page_html, page_of_answer
from sievert.report.release import near
from sievert.results import Result
from sievert.text import AttackBench, Flow, distance

__all__ = ["content", "lines", "page"]


def page(found: Result, scenario: DocumentsScenario, command: str = "") -> str:
    """The answer as one self-contained page, working offline."""
    return page_html(content(found, scenario, command))


def content(found: Result, scenario: DocumentsScenario, command: str = "") -> Page:
    """What the page says."""
    return page_of_answer(found, scenario, lines(found), list(_pictures(found, scenario)), command)


@singledispatch
def lines(found: Result) -> Sections:
    """Headings and the sentences below them."""
    raise TypeError(f"{type(found).__name__} is no answer about documents")


@singledispatch
def _pictures(found: Result, scenario: DocumentsScenario) -> Iterator[Picture]:
    """What can be seen at a glance; nothing, for most."""
    return iter(())


@_pictures.register
def _of_audit(found: DocumentsAudit, scenario: DocumentsScenario) -> Iterator[Picture]:
    flow = _worst_flow(found, scenario)
    if flow is not None:
        yield Picture(
            "From one reference to the other",
            "The cheapest way to turn the words of one into those of the other, its longest parts; the sum "
            "of all ways times ε is what is promised in nats.",
            plots.document_flow(flow),
        )


@_pictures.register
def _of_preview(found: DocumentsPreview, scenario: DocumentsScenario) -> Iterator[Picture]:
    return _of_audit(found.audit, scenario)


def _worst_flow(found: DocumentsAudit, scenario: DocumentsScenario) -> Flow | None:
    """The plan between the two references that a release tells apart most."""
    bags = [scenario.length.applied(bag) for _, bag in scenario.references]
    pairs = [pair for pair in combinations(bags, 2) if all(bag.size for bag in pair)]
    if not pairs or len(pairs) != len(found.pairs):
        return None
    worst = max(range(len(pairs)), key=lambda place: found.pairs[place].promise.nats)
    return distance(*pairs[worst], scenario.embedding)


@_pictures.register
def _of_answer(found: DocumentsAnswer, scenario: DocumentsScenario) -> Iterator[Picture]:
    if not found.curve:
        return
    levels, values = [level for level, _ in found.curve], [value for _, value in found.curve]
    if found.question == "limits":
        yield Picture(
            "At other ε",
            "Bits about one word that any mechanism with this ε leaks at most.",
            plots.leakage_curve(levels, {"at most": values}),
        )
        return
    before = 1 / found.facts["candidates"]
    yield Picture(
        "How well it can be guessed",
        "The largest chance of guessing which document it is that the promise allows.",
        plots.guess_curve(levels, values, before, exact=[False] * len(levels), axis=found.axis),
    )


@_pictures.register
def _of_attack(found: AttackBench, scenario: DocumentsScenario) -> Iterator[Picture]:
    for who in ("author", "topic"):
        if any(one.attacker.startswith(who) and one.eps is not None for one in found.findings):
            yield Picture(
                f"What attackers found: the {who}",
                "Shares of documents with 95 % intervals, and on the same axis what the promise allows. The "
                "distance between the two is what nobody has proved.",
                plots.attack_success(found, who),
            )


@lines.register
def audit_lines(found: DocumentsAudit) -> Sections:
    """What is promised, what becomes of words, and what to know."""
    promised = [
        f"{found.mechanism} (sampler = {found.sampler!r}).",
        f"Exchanging a word for {found.neighbour}: {in_nats(found.word_nats)} at most, for the median word.",
        f"The length of a document is {found.length}.",
    ]
    if found.tight_eps is not None:
        promised.append(f"The least ε that holds is {found.tight_eps:.6g}.")
    if found.guess is not None:
        promised.append(f"Which of the references it is, is guessed with {in_percent(found.guess)} at most.")
    sections = [("What is promised", promised)]
    if found.pairs:
        sections.append(("Between the references", [f"{pair}" for pair in found.pairs[:12]]))
    sections.append(("What becomes of words (simulated on public ones)", [f"{found.profile}."]))
    if found.failed:
        sections.append(("Not accepted", list(found.failed)))
    return [*sections, ("Mind", list(found.notes))]


@lines.register
def preview_lines(found: DocumentsPreview) -> Sections:
    """The audit, and what it would cost."""
    left = (
        "no budget was read"
        if found.remaining is None
        else f"{number(found.remaining)} of the budget is left"
    )
    cost = [f"Each person is charged ε = {number(found.cost)} per unit of distance; {left}."]
    return [("What it costs", cost), *audit_lines(found.audit)]


@lines.register
def release_lines(found: DocumentsRelease) -> Sections:
    """What was written."""
    drawn = "by integers, exactly" if found.arithmetic == "exact" else "in floating point"
    return [
        (
            "Written",
            [
                f"{found.documents} documents, {found.words} words drawn {drawn}, in random order.",
                f"{near(found.output)}: the released words.",
                f"{near(found.sidecar)}: what was done, and what it promises.",
                f"Note the ledger's hash elsewhere: {found.head}.",
            ],
        )
    ]


@lines.register
def attack_lines(found: AttackBench) -> Sections:
    """Every attacker at every ε, and the promise."""
    promised = [
        f"ε = {eps:g}: {in_nats(nats)} between two documents; {in_percent(found.unchanged[eps])} of words "
        "unchanged."
        for eps, nats in found.nats.items()
    ]
    sections: Sections = [
        ("What attackers found (95 % intervals)", [f"{one}." for one in found.findings]),
        ("What is promised", promised),
    ]
    if found.left_out:
        sections.append(("Not run", list(found.left_out)))
    mind = "An attack that fails proves nothing: a better one may come. Only the nats are a promise."
    return [*sections, ("Mind", [mind])]


@lines.register
def answer_lines(found: DocumentsAnswer) -> Sections:
    """What else to know."""
    return [("In numbers", list(found.lines))] if found.lines else []
