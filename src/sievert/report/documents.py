"""Answers about documents in words: audit, preview, release, attack and the other questions."""

from __future__ import annotations

from sievert.numerics import in_percent, number
from sievert.questions.documents import DocumentsAnswer, DocumentsAudit
from sievert.release import DocumentsPreview, DocumentsRelease
from sievert.report.release import near
from sievert.text import AttackBench

__all__ = ["answer_lines", "attack_lines", "audit_lines", "preview_lines", "release_lines"]

Sections = list[tuple[str, list[str]]]


def audit_lines(found: DocumentsAudit) -> Sections:
    """What is promised, what becomes of words, and what to know."""
    promised = [
        f"{found.mechanism} (sampler = {found.sampler!r}).",
        f"Exchanging one word for its nearest neighbour: {found.word_nats:.4g} nats at most.",
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


def preview_lines(found: DocumentsPreview) -> Sections:
    """The audit, and what it would cost."""
    left = (
        "no budget was read"
        if found.remaining is None
        else f"{number(found.remaining)} of the budget is left"
    )
    cost = [f"Each person is charged ε = {number(found.cost)} per unit of distance; {left}."]
    return [("What it costs", cost), *audit_lines(found.audit)]


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


def attack_lines(found: AttackBench) -> Sections:
    """Every attacker at every ε, and the promise."""
    promised = [
        f"ε = {eps:g}: {nats:.4g} nats between two documents; {in_percent(found.unchanged[eps])} of words "
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


def answer_lines(found: DocumentsAnswer) -> Sections:
    """What else to know."""
    return [("In numbers", list(found.lines))] if found.lines else []
