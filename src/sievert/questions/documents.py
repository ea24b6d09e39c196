"""Every question about a file with [documents]: what ε·N·E nats are worth, and what is left open.

An audit reads no private document. What is promised depends on how far two documents are apart, so it is said
for the public references of the file, and for one word that is exchanged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from sievert.errors import FileError
from sievert.files import TextScenario
from sievert.numerics import exp_or_infinity, in_percent, positive
from sievert.results import Result
from sievert.tables import TextSource
from sievert.text import (
    MEANINGFUL,
    AttackBench,
    Corpus,
    Profile,
    Promise,
    attack,
    capacity_bound,
    promise,
    read_corpus,
    replacement_profile,
    verdict,
    word_channel,
)

__all__ = [
    "DocumentsAnswer",
    "DocumentsAudit",
    "Pair",
    "about_documents",
    "attack_documents",
    "audit_documents",
    "compare_documents",
    "profile_of",
]

# Public words that are tried for a profile, and the seed of the trial: the same file has the same answer.
TRIED, SEED = 400, 1
LARGEST_CHANNEL, LARGEST_TIGHT = 400, 3000
SMALLEST_GUESS = 2


@dataclass(frozen=True)
class Pair(Result):
    """What is promised between two reference documents."""

    first: str
    second: str
    promise: Promise

    def __str__(self) -> str:
        return f"{self.first} and {self.second}: {self.promise}"


@dataclass(frozen=True)
class DocumentsAudit(Result):
    """What a file with [documents] promises, and what it does to words.

    Attributes
    ----------
    eps : nats per unit of the embedding's distance
    word_nats : the most that exchanging one word for a near one costs: ε times the median nearest distance
    pairs : for every two reference documents
    worst : the largest of them in nats (None: no references)
    guess : best guess which reference was released, each as likely before, at most (None: no references)
    profile : share of public words unchanged, and how far they move (simulated)
    exact : whether words are drawn exactly
    sampler : "exact" or "float"
    passed : whether every limit of [accept] holds
    """

    title: str
    mechanism: str
    embedding: str
    fingerprint: str
    eps: float
    tight_eps: float | None
    length: str
    word_nats: float
    pairs: tuple[Pair, ...]
    worst: float | None
    guess: float | None
    profile: Profile
    exact: bool
    passed: bool
    failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sampler: str = field(default="exact")

    def __str__(self) -> str:
        if self.worst is None:
            return (
                f"ε = {self.eps:g} nats per unit of distance: documents of N words at distance E are "
                f"{self.eps:g}·N·E nats apart at most. Name public references to see what that is worth."
            )
        if math.isinf(self.worst):
            return "No promise between some of the references: a release tells them apart for certain."
        return f"Between the references at most {self.worst:.4g} nats: {verdict(self.worst)}."


def audit_documents(scenario: TextScenario) -> DocumentsAudit:
    """What the file promises for its references, next to what it does to words."""
    scenario.check()
    mechanism, length = scenario.mechanism, scenario.length
    pairs = tuple(
        Pair(a, b, promise(first, second, mechanism, length))
        for (a, first), (b, second) in combinations(scenario.references, 2)
    )
    worst = max((pair.promise.nats for pair in pairs), default=None)
    guess = None if worst is None else _guess(worst, len(scenario.references))
    failed = _failed(scenario, worst, guess)
    return DocumentsAudit(
        scenario.title,
        mechanism.words(),
        mechanism.embedding.name,
        mechanism.embedding.fingerprint,
        mechanism.eps,
        _tight(scenario),
        _length_words(scenario),
        mechanism.eps * _near_word(scenario),
        pairs,
        worst,
        guess,
        profile_of(scenario),
        mechanism.exact,
        not failed,
        failed,
        _notes(scenario),
        "exact" if mechanism.exact else "float",
    )


def _guess(nats: float, candidates: int) -> float:
    """Which of several it is, each as likely before: e^L/(e^L + v - 1) at most."""
    return 1 / (1 + (candidates - 1) * math.exp(-nats))


def _failed(scenario: TextScenario, worst: float | None, guess: float | None) -> tuple[str, ...]:
    accept = scenario.document.accept
    if accept is None:
        return ()
    if worst is None or guess is None:
        return ("[accept] needs documents.references: two public documents or more",)
    found = []
    if accept.nats is not None and worst > accept.nats:
        found.append(f"{worst:.4g} nats between references, accepted are {accept.nats:g}")
    if accept.guess is not None and guess > accept.guess:
        found.append(f"a guess of {in_percent(guess)}, accepted is {in_percent(accept.guess)}")
    return tuple(found)


def _tight(scenario: TextScenario) -> float | None:
    """The least ε of a small vocabulary, where the channel is known."""
    mechanism = scenario.mechanism
    return mechanism.tight() if mechanism.embedding.size <= LARGEST_TIGHT else None


def _near_word(scenario: TextScenario) -> float:
    """How far a public word is from its nearest neighbour, median over some."""
    table = scenario.embedding
    step = max(1, table.size // 200)
    distances = (
        [table.nearest(word, 1)[0][1] for word in table.words[::step][:200]] if table.size > 1 else [0.0]
    )
    return float(np.median(distances))


def _length_words(scenario: TextScenario) -> str:
    length = scenario.length
    words = {
        None: "published: documents of different lengths are told apart",
        "truncate": f"at most {length.size} words; shorter ones are published, and told apart",
        "pad": f"hidden: every document has {length.size} words, cut or padded with {length.token!r}",
        "sample": f"hidden: {length.size} words are drawn from every document, which costs ε·N·W∞",
    }
    return words[length.rule]


def _notes(scenario: TextScenario) -> tuple[str, ...]:
    notes = [
        "The promise is about bags: words in lower case without stop words, order and unknown words; its "
        "size counts known words only.",
        f"Every further release of a document costs ε = {scenario.mechanism.eps:g} again.",
        "What an attacker finds today bounds nothing: `sievert attack` shows it, next to the nats.",
    ]
    if not scenario.mechanism.exact:
        notes.append(
            "Noise is drawn in floating point, in many dimensions: only decoded words are published."
        )
    if scenario.document.mechanism.declared().name == "word-clusters":
        notes.append("The cluster of every word is published as it is: words of two clusters are told apart.")
    return tuple(notes)


def profile_of(scenario: TextScenario, eps: float | None = None) -> Profile:
    """What becomes of public words."""
    mechanism, model = scenario.mechanism, scenario.document.mechanism
    return replacement_profile(
        mechanism.embedding,
        mechanism.eps if eps is None else eps,
        mechanism.kind,
        dimensions=getattr(model, "dimensions", None),
        clusters=getattr(model, "clusters", None),
        trials=TRIED,
        rng=SEED,
    )


# ── The other questions ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class DocumentsAnswer(Result):
    """The answer to one question about documents.

    Attributes
    ----------
    question : the command
    sentence : the answer
    facts : its numbers, by name
    lines : what else to know
    good : whether the answer is a yes
    """

    question: str
    title: str
    sentence: str
    facts: dict[str, Any]
    lines: tuple[str, ...] = ()
    good: bool = True

    def __str__(self) -> str:
        return self.sentence


def about_documents(question: str, scenario: TextScenario, **given: Any) -> DocumentsAnswer:
    """The answer to a question other than the audit, or a refusal that says why."""
    scenario.check()
    found = {
        "explain": _explain,
        "limits": _limits,
        "breach": _breach,
        "design": _design,
        "estimate": _estimate,
        "infer": _infer,
    }[question]
    return found(scenario, **given)


def _reference_nats(scenario: TextScenario) -> tuple[float, int]:
    """The worst pair of references and how many there are; without them one word and its nearest."""
    audit = audit_documents(scenario)
    if audit.worst is not None:
        return audit.worst, len(scenario.references)
    return audit.word_nats, SMALLEST_GUESS


def _explain(scenario: TextScenario) -> DocumentsAnswer:
    nats, candidates = _reference_nats(scenario)
    guess = _guess(nats, candidates)
    about = "the references" if scenario.references else "two documents that differ in one near word"
    rows = {v: _guess(nats, v) for v in (2, 10, 100, 1000)}
    lines = [
        f"Among {v} authors, each as likely: {in_percent(1 / v)} before, {in_percent(p)} after at most."
        for v, p in rows.items()
    ]
    return DocumentsAnswer(
        "explain",
        scenario.title,
        f"{nats:.4g} nats between {about}: a guess among {candidates} rises from "
        f"{in_percent(1 / candidates)} to {in_percent(guess)} at most; {verdict(nats)}.",
        {
            "nats": nats,
            "candidates": candidates,
            "guess": guess,
            "guesses": rows,
            "factor": exp_or_infinity(nats),
        },
        tuple(lines),
        nats <= MEANINGFUL,
    )


def _limits(scenario: TextScenario) -> DocumentsAnswer:
    found = capacity_bound(scenario.embedding, scenario.mechanism.eps)
    return DocumentsAnswer(
        "limits",
        scenario.title,
        f"Any mechanism with this ε leaks at most {math.log2(found.value):.4g} bits about one word, whoever "
        f"guesses ({found.method}); about N independent words at most N times that.",
        {**found.to_dict(), "bits": math.log2(found.value)},
        (
            f"By the neighbours of every word a factor of {found.by_neighbours:.6g}, by number and width "
            f"{found.by_number:.6g}, by the width alone {found.by_diameter:.6g} (Fernandes, Thm 9.11).",
            "The bounds hold for gains that are not negative.",
        ),
    )


def _breach(scenario: TextScenario, releases: int = 10) -> DocumentsAnswer:
    nats, candidates = _reference_nats(scenario)
    guesses = {k: _guess(k * nats, candidates) for k in range(1, releases + 1)}
    until = next((k for k, guess in guesses.items() if guess >= 0.9), None)
    said = f"after {until} releases" if until else f"not within {releases} releases"
    return DocumentsAnswer(
        "breach",
        scenario.title,
        f"{nats:.4g} nats for each release of one document, and they add up: the bound on a guess among "
        f"{candidates} reaches 90 % {said}.",
        {"nats": nats, "guesses": guesses, "until": until, "candidates": candidates},
        tuple(
            f"{k} release(s): {k * nats:.4g} nats, a guess of {in_percent(p)} at most"
            for k, p in guesses.items()
        ),
        until is None,
    )


def _design(scenario: TextScenario) -> DocumentsAnswer:
    eps, table = scenario.mechanism.eps, scenario.embedding
    kinds = {
        "word-laplace": {},
        "word-projected-laplace": {"dimensions": max(1, min(20, table.dimensions // 2))},
        "word-exponential": {},
    }
    rows = {
        kind: replacement_profile(table, eps, kind, trials=TRIED, rng=SEED, **more)  # type: ignore[arg-type]
        for kind, more in kinds.items()
    }
    best = min(rows, key=lambda kind: rows[kind].moved[0])
    return DocumentsAnswer(
        "design",
        scenario.title,
        f"At the same promise, ε = {eps:g}, {best} moves words least: {rows[best].moved[0]:.3g} on average.",
        {kind: row.to_dict() for kind, row in rows.items()},
        (
            *(f"{kind}: {row}" for kind, row in rows.items()),
            "The same promise is not the same obfuscation: words that move less tell attackers more; "
            "compare at equal success too (`sievert attack`, sv.text.calibrate).",
        ),
    )


def _estimate(scenario: TextScenario, **_: Any) -> DocumentsAnswer:
    raise FileError(
        f"{scenario.source}: word frequencies are estimated where the channel is listed, from counts of "
        "released "
        "words: sv.estimate(counts, sv.text.word_channel(embedding.first(n), eps, 'word-exponential')); "
        f"{scenario.embedding.size} words have too long a list, and noise with decoding has none"
    )


def _infer(scenario: TextScenario, **_: Any) -> DocumentsAnswer:
    raise FileError(
        f"{scenario.source}: [documents] has no [inference]; what a release tells about author or topic is "
        "shown by "
        "`sievert attack`, and bounded by `sievert explain`"
    )


def compare_documents(first: TextScenario, second: TextScenario) -> DocumentsAnswer:
    """Whether the second mechanism can replace the first on one vocabulary."""
    one, other = first.mechanism, second.mechanism
    if one.embedding.fingerprint != other.embedding.fingerprint:
        raise FileError(
            f"{second.source}: has another embedding than {first.source}, and ε is per unit of its distance; "
            "compare mechanisms on one embedding"
        )
    if one.embedding.size <= LARGEST_CHANNEL:
        from sievert.orders import compare

        channels = [
            word_channel(
                m.embedding,
                m.eps,
                m.kind,
                dimensions=getattr(m, "dimensions", None) if m.kind == "word-projected-laplace" else None,
            )
            for m in (one, other)
        ]
        verdicts = compare(*channels)
        return DocumentsAnswer(
            "compare", first.title, str(verdicts), verdicts.to_dict(), (), verdicts.forward[0].holds is True
        )
    profiles = [profile_of(item) for item in (first, second)]
    safer = other.eps <= one.eps
    return DocumentsAnswer(
        "compare",
        first.title,
        f"{second.title} promises {other.eps:g} nats per unit of distance, {first.title} {one.eps:g}: it is "
        f"{'at least as safe by its promise' if safer else 'not as safe by its promise'}; a vocabulary of "
        f"{one.embedding.size} words has too long a list to compare against every adversary.",
        {"eps": [one.eps, other.eps], "profiles": [profile.to_dict() for profile in profiles]},
        tuple(f"{item.title}: {profile}" for item, profile in zip((first, second), profiles, strict=True)),
        safer,
    )


def attack_documents(scenario: TextScenario, eps: list[float] | None = None) -> AttackBench:
    """What attackers find in the documents of the file, whose authors are their folders or a column."""
    scenario.check()
    model = scenario.document.attack
    if model is not None and model.input is not None:
        source = TextSource(scenario.folder / Path(model.input), person="folder")
    else:
        source = scenario.texts
    if source.person is None:
        raise FileError(
            f"{scenario.source}, documents.person: is missing; an attack needs to know who wrote what, such "
            'as person = "folder"'
        )
    with scenario.at("attack"):
        corpus = read_corpus((str(text.person), text.text) for text in source.read())
        topics = None if model is None else model.topics
        if topics is not None:
            missing = [author for author in corpus.authors if author not in topics]
            if missing:
                raise FileError(f"topics: {missing[0]!r} has none; give every author one")
            corpus = Corpus(corpus.known, corpus.unknown, topics)
        levels = eps or (model.eps if model is not None else None) or [scenario.mechanism.eps]
        return attack(
            corpus,
            scenario.embedding,
            [positive("eps", level) for level in levels],
            scenario.mechanism.kind,
            dimensions=getattr(scenario.document.mechanism, "dimensions", None),
            authors=None if model is None else model.authors,
            draws=3 if model is None else model.draws,
            rng=SEED if model is None else model.seed,
        )
