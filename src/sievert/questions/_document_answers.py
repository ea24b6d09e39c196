"""Every question about documents but the audit: explain, limits, breach, design, infer.

All rest on nats between public documents, ε·N·E: two or more references of the file, or without them one word
and its nearest. Where there are references, the answer carries the plans that prove it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sievert.arrays import IndexArray
from sievert.design import optimal_mechanism
from sievert.errors import FileError
from sievert.files import DocumentsScenario
from sievert.measures import losses
from sievert.numerics import exp_or_infinity, in_nats, in_percent, in_releases, positive, probability, whole
from sievert.proofs import Proof
from sievert.questions._answer_base import Answer
from sievert.questions._document_attack import equal_success
from sievert.questions._document_audit import (
    SEED,
    TRIED,
    guess_at_nats,
    nats_within,
    reference_nats,
    varied_nats,
)
from sievert.questions._max_level import max_level
from sievert.text import (
    MEANINGFUL,
    Embedding,
    WordFamily,
    capacity_bound,
    prove_promises,
    replacement_profile,
    verdict,
    word_channel,
)

__all__ = ["DocumentsAnswer", "about_documents"]

SMALLEST_GUESS = 2
# Vocabularies whose best channel is found by a linear program: words² variables.
LARGEST_PROGRAM = 40
# Vocabularies whose bounds are drawn at several ε: words² distances each.
LARGEST_CURVE = 2000
RELEASES = tuple(range(1, 11))
NO_REFERENCES = "there are no references in the file, between which something could be proved"


@dataclass(frozen=True)
class DocumentsAnswer(Answer):
    """The answer to one question about documents.

    Attributes
    ----------
    private : whether it was computed from private documents
    """

    private: bool = False


def about_documents(question: str, scenario: DocumentsScenario, **given: Any) -> DocumentsAnswer:
    """The answer to a question other than the audit, or a refusal that says why."""
    scenario.check()
    found: dict[str, Callable[..., DocumentsAnswer]] = {
        "explain": _explain,
        "limits": _limits,
        "breach": _breach,
        "design": _design,
        "infer": _infer,
    }
    return found[question](scenario, **given)


def _said(nats: float) -> str:
    return "No bound in nats" if math.isinf(nats) else in_nats(nats)


def _proof(scenario: DocumentsScenario, nats: float, releases: int = 1) -> tuple[Proof | None, str]:
    """The promise between the references with its plans, or why there is none."""
    if not scenario.references or len(scenario.references) < SMALLEST_GUESS:
        return None, NO_REFERENCES
    if math.isinf(nats):
        return None, "a release tells some of the references apart for certain"
    bags = [bag for _, bag in scenario.references]
    return prove_promises(bags, scenario.mechanism, scenario.length, releases), ""


def _explain(
    scenario: DocumentsScenario,
    eps: float | None = None,
    releases: int | None = None,
    guess: float | None = None,
) -> DocumentsAnswer:
    if guess is not None:
        return _weakest(scenario, probability("guess", guess), releases or 1)
    told = {"eps": eps, "releases": releases}
    asked = scenario if eps is None else scenario.with_eps(positive("eps", eps))
    many = 1 if releases is None else whole("releases", releases)
    once, candidates = reference_nats(asked)
    nats = many * once
    after = guess_at_nats(nats, candidates)
    about = "the references" if scenario.references else "two documents that differ in one near word"
    rows = {v: guess_at_nats(nats, v) for v in (2, 10, 100, 1000)}
    lines = [
        f"Among {v} authors, each as likely: {in_percent(1 / v)} before, {in_percent(p)} after at most."
        for v, p in rows.items()
    ]
    times = "" if many == 1 else f" after {many} releases"
    lines += [str(max_level(scenario))] if _is_solved(scenario, once) and many == 1 else []
    certificate, why = _proof(asked, nats, many)
    return DocumentsAnswer(
        "explain",
        scenario.title,
        f"{_said(nats)} between {about}{times}: a guess among {candidates} rises from "
        f"{in_percent(1 / candidates)} to {in_percent(after)} at most; {verdict(nats)}.",
        {
            "nats": nats,
            "candidates": candidates,
            "guess": after,
            "guesses": rows,
            "factor": exp_or_infinity(nats),
        },
        tuple(lines),
        nats <= MEANINGFUL,
        tuple((level, guess_at_nats(level, candidates)) for level in (0.1, 0.3, 1.0, 3.0, 5.0, 10.0)),
        "nats between two documents",
        certificate,
        why,
        told,
    )


def _is_solved(scenario: DocumentsScenario, nats: float) -> bool:
    """Whether [accept] has a limit that some ε keeps and another does not."""
    accept = scenario.document.accept
    limited = accept is not None and (accept.nats is not None or accept.guess is not None)
    return limited and bool(scenario.references) and 0 < nats < math.inf


def _weakest(scenario: DocumentsScenario, guess: float, releases: int) -> DocumentsAnswer:
    """Backwards: the largest ε at which nobody guesses better; nats are proportional to ε."""
    once, candidates = varied_nats(scenario)
    own = scenario.mechanism.eps
    eps = own * nats_within(guess, candidates, "--guess") / (releases * once)
    return DocumentsAnswer(
        "explain",
        scenario.title,
        f"ε = {eps:.6g} per unit of distance is the most at which nobody guesses which of {candidates} "
        f"documents it is with more than {in_percent(guess)}; the file has ε = {own:g}.",
        {"eps": eps, "guess": guess, "candidates": candidates, "releases": releases, "own": own},
        (
            f"`sv.text.replacement_profile(embedding, {eps:.3g})` says what is left of words there."
            if math.isfinite(eps)
            else "Every ε is enough.",
        ),
        own <= eps,
        told={"guess": guess, "releases": releases},
        unproved="an ε that is looked for has none; put it into the file and ask for its proof",
    )


def _limits(scenario: DocumentsScenario, eps: float | None = None) -> DocumentsAnswer:
    level = scenario.mechanism.eps if eps is None else positive("eps", eps)
    shown = scenario.mechanism.publishes
    if shown is not None:
        return _limits_of_clusters(scenario, level, shown, eps)
    found = capacity_bound(scenario.embedding, level)
    bits = math.log2(found.value)
    few = scenario.embedding.size <= LARGEST_CURVE
    levels = [level * factor for factor in (0.125, 0.25, 0.5, 1.0, 2.0)] if few else []
    return DocumentsAnswer(
        "limits",
        scenario.title,
        f"Any mechanism with ε = {level:g} leaks at most {bits:.4g} bits about one word, whoever guesses "
        f"({found.method}); about N independent words at most N times that.",
        {**found.to_dict(), "bits": bits, "eps": level},
        (
            f"By the neighbours of every word a factor of {found.by_neighbours:.6g}, by number and width "
            f"{found.by_number:.6g}, by the width alone {found.by_diameter:.6g} (Fernandes, Thm 9.11).",
            "The bounds hold for gains that are not negative.",
        ),
        curve=tuple((one, math.log2(float(capacity_bound(scenario.embedding, one)))) for one in levels),
        axis="ε per unit of distance",
        unproved=f"the bound is a sum over the distances of all {scenario.embedding.size} words, which the "
        "public embedding itself lists",
        told={"eps": eps},
    )


def _limits_of_clusters(
    scenario: DocumentsScenario, level: float, shown: IndexArray, eps: float | None
) -> DocumentsAnswer:
    """What clusters show adds up: the largest entries of a column lie in its cluster."""
    vectors = scenario.embedding.vectors
    parts = [vectors[shown == cluster] for cluster in np.unique(shown)]
    factor = math.fsum(
        float(capacity_bound(Embedding(map(str, range(len(part))), part), level)) for part in parts
    )
    return DocumentsAnswer(
        "limits",
        scenario.title,
        f"Any mechanism with ε = {level:g} within {len(parts)} public clusters leaks at most "
        f"{math.log2(factor):.4g} bits about one word, whoever guesses; the cluster alone "
        f"{math.log2(len(parts)):.4g} bits.",
        {"value": factor, "bits": math.log2(factor), "eps": level, "clusters": len(parts)},
        (
            "The sum of the bounds of the clusters, each by the neighbours of its words.",
            "The bounds hold for gains that are not negative.",
        ),
        unproved="the bound is a sum over the distances of the words of every cluster, which the public "
        "embedding itself lists",
        told={"eps": eps},
    )


def _breach(scenario: DocumentsScenario, observations: Sequence[int] | None = None) -> DocumentsAnswer:
    nats, candidates = reference_nats(scenario)
    counts = tuple(observations or RELEASES)
    guesses = {k: guess_at_nats(k * nats, candidates) for k in counts}
    until = next((k for k, guess in guesses.items() if guess >= 0.9), None)
    said = f"after {in_releases(until)}" if until else f"not within {in_releases(counts[-1])}"
    certificate, why = _proof(scenario, nats, counts[-1])
    return DocumentsAnswer(
        "breach",
        scenario.title,
        f"{_said(nats)} for each release of one document, and they add up: the bound on a guess among "
        f"{candidates} reaches 90 % {said}.",
        {"nats": nats, "guesses": guesses, "until": until, "candidates": candidates},
        tuple(
            f"{in_releases(k)}: {_said(k * nats)}, a guess of {in_percent(p)} at most"
            for k, p in list(guesses.items())[:20]
        ),
        until is None,
        tuple((float(k), p) for k, p in guesses.items()),
        "releases of one document",
        certificate,
        why,
        {"releases": counts[-1]},
    )


def _design(scenario: DocumentsScenario, eps: float | None = None) -> DocumentsAnswer:
    level, table = scenario.mechanism.eps if eps is None else positive("eps", eps), scenario.embedding
    families = _families(scenario, level)
    rows = {
        name: replacement_profile(table, level, kind=name, trials=TRIED, rng=SEED, **family.further)
        for name, family in families.items()
    }
    best = min(rows, key=lambda kind: rows[kind].moved[0])
    sentence = (
        f"At the same promise, ε = {level:g}, {best} moves words least: {rows[best].moved[0]:.3g} on average."
    )
    facts: dict[str, Any] = {kind: row.to_dict() for kind, row in rows.items()}
    lines = [f"{kind}: {row}." for kind, row in rows.items()]
    certificate = None
    why = (
        f"a linear program finds the best channel of at most {LARGEST_PROGRAM} words; there are {table.size}"
    )
    if table.size <= LARGEST_PROGRAM:
        metric = table.metric()
        found = optimal_mechanism(metric, level, loss=losses.distance(metric))
        certificate, why = found.certificate, ""
        own = float((word_channel(table, level, kind="word-exponential").matrix * metric.matrix).sum())
        facts["optimal"] = {"moved": float(found.loss), "at least": float(found.lower_bound)}
        sentence = (
            f"No mechanism with ε = {level:g} moves words, each as likely, by less than "
            f"{float(found.lower_bound):.4g} on average; the best found moves them by "
            f"{float(found.loss):.4g}, word-exponential by {own / table.size:.4g}."
        )
    equal = equal_success(scenario)
    if equal is not None:
        facts["equal success"] = equal
        lines += [
            f"At most {in_percent(equal['success'])} of authors found: {kind} may have ε = {row['eps']:.3g}, "
            f"{in_percent(row['unchanged'])} of words unchanged."
            if row["eps"] is not None
            else f"At most {in_percent(equal['success'])} of authors found: {kind} at no ε that was tried."
            for kind, row in equal["kinds"].items()
        ]
    else:
        lines.append(
            "The same promise is not the same obfuscation: words that move less tell attackers more; with "
            "success = 0.3 under [attack] mechanisms are compared where attackers find as many authors."
        )
    return DocumentsAnswer(
        "design",
        scenario.title,
        sentence,
        facts,
        tuple(lines),
        certificate=certificate,
        unproved=why,
        told={"eps": eps},
        private=equal is not None,
        chosen=scenario.with_mechanism(families[best]),
    )


def _families(scenario: DocumentsScenario, level: float) -> dict[str, WordFamily]:
    """The mechanisms of a file that promise ε for all words, by name."""
    found = [kind.usual(level, scenario.embedding) for kind in WordFamily.classes()]
    return {str(family.declared().name): family for family in found if family is not None}


def _infer(scenario: DocumentsScenario) -> DocumentsAnswer:
    raise FileError(
        f"{scenario.source}: [documents] has no [inference]; what a release tells about author or topic is "
        "shown by `sievert attack`, and bounded by `sievert explain`"
    )
