"""What a file with [documents] promises: nats between public references, and what becomes of words.

An audit reads no private document. What is promised depends on how far two documents are apart, so it is said
for the public references of the file, and for one word that is exchanged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from sievert.errors import FileError
from sievert.files import DocumentsScenario
from sievert.numerics import in_nats, in_percent
from sievert.results import Result
from sievert.text import (
    DocumentGuarantee,
    Profile,
    document_guarantee,
    promised,
    replacement_profile,
    verdict,
)

__all__ = [
    "SEED",
    "TRIED",
    "DocumentsAudit",
    "ReferencePair",
    "audit_documents",
    "guess_at_nats",
    "nats_within",
    "profile_of",
    "reference_nats",
    "varied_nats",
]

# Vocabularies whose pairs of words are looked at for the tight ε: a few seconds.
LARGEST_TIGHT = 20_000
# Public words that are tried for a profile, and the seed of the trial: the same file has the same answer.
TRIED, SEED = 400, 1


@dataclass(frozen=True)
class ReferencePair(Result):
    """What is promised between two reference documents."""

    first: str
    second: str
    promise: DocumentGuarantee

    def __str__(self) -> str:
        return f"{self.first} and {self.second}: {self.promise}"


@dataclass(frozen=True)
class DocumentsAudit(Result):
    """What a file with [documents] promises, and what it does to words.

    Attributes
    ----------
    eps : nats per unit of the embedding's distance
    tight_eps : the least ε that holds, never too low (None: not known, or not worked out)
    word_nats : the most that exchanging the median public word for the nearest it is hidden among costs
    neighbour : which word that is
    pairs : for every two reference documents
    worst : the largest of them in nats (None: no references)
    guess : best guess which reference was released, each as likely before, at most (None: no references)
    profile : share of public words unchanged, and how far they move (simulated)
    exact : whether words are drawn exactly
    sampler : "exact" or "float"
    passed : whether every limit of [accept] holds
    promised : how far apart two documents are at most, in words
    """

    title: str
    mechanism: str
    embedding: str
    fingerprint: str
    eps: float
    tight_eps: float | None
    length: str
    word_nats: float
    pairs: tuple[ReferencePair, ...]
    worst: float | None
    guess: float | None
    profile: Profile
    exact: bool
    passed: bool
    failed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sampler: str = field(default="exact")
    promised: str = ""
    neighbour: str = "its nearest neighbour"

    def __str__(self) -> str:
        if self.worst is None:
            return (
                f"ε = {in_nats(self.eps, 6)} per unit of distance: {self.promised}. Name public references "
                "to see what that is worth."
            )
        if math.isinf(self.worst):
            return "No promise between some of the references: a release tells them apart for certain."
        return f"Between the references at most {in_nats(self.worst)}: {verdict(self.worst)}."


def audit_documents(scenario: DocumentsScenario) -> DocumentsAudit:
    """What the file promises for its references, next to what it does to words."""
    scenario.check()
    mechanism, length = scenario.mechanism, scenario.length
    pairs = _pairs(scenario)
    worst = max((pair.promise.nats for pair in pairs), default=None)
    guess = None if worst is None else guess_at_nats(worst, len(scenario.references))
    failed = _failed(scenario, worst, guess)
    return DocumentsAudit(
        scenario.title,
        mechanism.words(),
        mechanism.embedding.name,
        mechanism.embedding.fingerprint,
        mechanism.eps,
        _tight(scenario),
        _length_words(scenario),
        _word_nats(scenario),
        pairs,
        worst,
        guess,
        profile_of(scenario),
        mechanism.exact,
        not failed,
        failed,
        _notes(scenario),
        "exact" if mechanism.exact else "float",
        promised(mechanism, length),
        "its nearest neighbour" if mechanism.publishes is None else "the nearest of its public cluster",
    )


def guess_at_nats(nats: float, candidates: int) -> float:
    """Which of several it is, each as likely before: e^L/(e^L + v - 1) at most."""
    return 1 / (1 + (candidates - 1) * math.exp(-nats))


def nats_within(guess: float, candidates: int, what: str) -> float:
    """The most nats at which `guess_at` is no better; `what` names the limit where it is refused."""
    if guess <= 1 / candidates:
        raise FileError(
            f"{what} is {guess:g}; a blind guess among {candidates} is right with probability "
            f"{1 / candidates:g} already"
        )
    return math.log(guess) + math.log(candidates - 1) - math.log1p(-guess) if guess < 1 else math.inf


def _failed(scenario: DocumentsScenario, worst: float | None, guess: float | None) -> tuple[str, ...]:
    accept = scenario.document.accept
    if accept is None:
        return ()
    if worst is None or guess is None:
        return ("[accept] needs documents.references: two public documents or more",)
    found = []
    if accept.nats is not None and worst > accept.nats:
        found.append(f"{in_nats(worst)} between references, accepted are {accept.nats:g}")
    if accept.guess is not None and guess > accept.guess:
        found.append(f"a guess of {in_percent(guess)}, accepted is {in_percent(accept.guess)}")
    return tuple(found)


def _tight(scenario: DocumentsScenario) -> float | None:
    """The least ε that holds, where the channel is known and its pairs of words are few enough."""
    return scenario.mechanism.tight() if scenario.embedding.size <= LARGEST_TIGHT else None


def _near_word(scenario: DocumentsScenario) -> float:
    """How far a public word is from its nearest neighbour that a release hides it among, median over some."""
    table, shown = scenario.embedding, scenario.mechanism.publishes
    places = range(0, table.size, max(1, table.size // 200))[:200]
    distances = []
    for place in places:
        among = np.arange(table.size) if shown is None else np.flatnonzero(shown == shown[place])
        others = table.vectors[among[among != place]]
        if len(others):
            distances.append(float(np.linalg.norm(others - table.vectors[place], axis=1).min()))
    return float(np.median(distances)) if distances else 0.0


def _length_words(scenario: DocumentsScenario) -> str:
    length = scenario.length
    words = {
        None: "published: documents of different lengths are told apart",
        "truncate": f"at most {length.size} words; shorter ones are published, and told apart",
        "pad": f"hidden: every document has {length.size} words, cut or padded with {length.token!r}",
        "sample": f"hidden: {length.size} words are drawn from every document, which costs ε·N·W∞",
    }
    return words[length.rule]


def _notes(scenario: DocumentsScenario) -> tuple[str, ...]:
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
    if scenario.mechanism.tightens and scenario.embedding.size > LARGEST_TIGHT:
        notes.append(
            f"Less than ε = {scenario.mechanism.eps:g} holds; how much less is worked out for up to "
            f"{LARGEST_TIGHT} words (documents.vocabulary takes the first of them)."
        )
    if scenario.mechanism.publishes is not None:
        notes.append("The cluster of every word is published as it is: words of two clusters are told apart.")
    return tuple(notes)


def profile_of(scenario: DocumentsScenario, eps: float | None = None) -> Profile:
    """What becomes of public words."""
    mechanism, model = scenario.mechanism, scenario.document.mechanism
    return replacement_profile(
        mechanism.embedding,
        mechanism.eps if eps is None else eps,
        kind=mechanism.kind,
        **model.further,
        trials=TRIED,
        rng=SEED,
    )


def reference_nats(scenario: DocumentsScenario) -> tuple[float, int]:
    """The worst pair of references and how many there are; without them one word and its nearest."""
    scenario.check()
    worst = max((pair.promise.nats for pair in _pairs(scenario)), default=None)
    return (_word_nats(scenario), 2) if worst is None else (worst, len(scenario.references))


def varied_nats(scenario: DocumentsScenario) -> tuple[float, int]:
    """The same where another ε changes them; refused where none does."""
    once, candidates = reference_nats(scenario)
    if math.isinf(once) or once <= 0:
        raise FileError(
            f"{scenario.source}: no ε can be found: a release tells the references apart whatever it is, or "
            "they are the same; hide lengths with documents.length, or name other references"
        )
    return once, candidates


def _pairs(scenario: DocumentsScenario) -> tuple[ReferencePair, ...]:
    """What is promised of every two references."""
    return tuple(
        ReferencePair(a, b, document_guarantee(first, second, scenario.mechanism, scenario.length))
        for (a, first), (b, second) in combinations(scenario.references, 2)
    )


def _word_nats(scenario: DocumentsScenario) -> float:
    """Between two documents that differ in one word and its nearest, however often it is drawn."""
    drawn = (scenario.length.size or 1) if scenario.length.rule == "sample" else 1
    return scenario.mechanism.eps * _near_word(scenario) * drawn
