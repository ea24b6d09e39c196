"""Every question about a file with [documents]: what ε·N·E nats are worth, and what is left open."""

from __future__ import annotations

import numpy as np

from sievert.channels import Channel
from sievert.errors import FileError
from sievert.files import DocumentsScenario
from sievert.numerics import in_nats, require_size
from sievert.proofs import Proof
from sievert.questions._document_answers import DocumentsAnswer, about_documents
from sievert.questions._document_attack import attack_documents
from sievert.questions._document_audit import DocumentsAudit, ReferencePair, audit_documents, profile_of
from sievert.questions._document_estimate import (
    documents_estimate_question,
    estimate_documents,
    prove_estimate,
)
from sievert.text import WordMechanism, prove_promises, word_channel

__all__ = [
    "DocumentsAnswer",
    "DocumentsAudit",
    "ReferencePair",
    "about_documents",
    "attack_documents",
    "audit_documents",
    "compare_documents",
    "documents_estimate_question",
    "estimate_documents",
    "listed_words",
    "promise_of_documents",
    "prove_estimate",
]

# Vocabularies whose channels are listed and compared against every adversary.
LARGEST_CHANNEL = 400


def promise_of_documents(scenario: DocumentsScenario, releases: int = 1) -> Proof:
    """The proof of what releases promise the references."""
    bags = [bag for _, bag in scenario.references]
    with scenario.at("documents.references"):
        return prove_promises(bags, scenario.mechanism, scenario.length, releases)


def compare_documents(
    first: DocumentsScenario, second: DocumentsScenario, names: tuple[str, str] | None = None
) -> DocumentsAnswer:
    """Whether the second mechanism can replace the first on one vocabulary; they go by their titles unless
    named.
    """
    one, other = first.mechanism, second.mechanism
    called = (first.title, second.title) if names is None else names
    if one.embedding.fingerprint != other.embedding.fingerprint:
        raise FileError(
            f"{second.source}: has another embedding than {first.source}, and ε is per unit of its distance; "
            "compare mechanisms on one embedding"
        )
    if one.embedding.size <= LARGEST_CHANNEL:
        from sievert.orders import compare

        verdicts = compare(listed_words(first), listed_words(second))
        return DocumentsAnswer(
            "compare",
            first.title,
            str(verdicts),
            verdicts.to_dict(),
            good=verdicts.forward[0].holds is True,
            certificate=verdicts.forward[0].certificate,
        )
    profiles = [profile_of(item) for item in (first, second)]
    shows_more = not _hides_as_much(one, other)
    safer = other.eps <= one.eps and not shows_more
    return DocumentsAnswer(
        "compare",
        first.title,
        f"{called[1]} promises {in_nats(other.eps, 6)} per unit of distance, {called[0]} {one.eps:g}: it is "
        f"{'at least as safe by its promise' if safer else 'not as safe by its promise'}"
        f"{', for it tells words apart for certain that the other hides' if shows_more else ''}; a "
        f"vocabulary of {one.embedding.size} words has too long a list to compare against every adversary.",
        {"eps": [one.eps, other.eps], "profiles": [profile.to_dict() for profile in profiles]},
        tuple(f"{name}: {profile}" for name, profile in zip(called, profiles, strict=True)),
        safer,
    )


def listed_words(scenario: DocumentsScenario) -> Channel:
    """The channel of one word, of a vocabulary that is small enough to be listed."""
    mechanism, further = scenario.mechanism, scenario.document.mechanism.further
    require_size(scenario.embedding.size, LARGEST_CHANNEL, "the vocabulary", "compare smaller ones")
    return word_channel(scenario.embedding, mechanism.eps, kind=mechanism.kind, **further)


def _hides_as_much(one: WordMechanism, other: WordMechanism) -> bool:
    """Whether words that the first hides among each other lie in one public cluster of the second."""
    if other.publishes is None:
        return True
    first = np.zeros(other.embedding.size, dtype=np.intp) if one.publishes is None else one.publishes
    return len(np.unique(np.stack([first, other.publishes]), axis=1).T) == len(np.unique(first))
