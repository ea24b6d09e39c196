"""What is promised for documents: ε·N·E nats between two of one size, with the plan that proves it.

Any plan that carries the words of one document to those of the other bounds what a release favours one by, so
the best plan gives the least bound (Fernandes, Thm 9.2 and Thm 9.10). Words drawn from a document before they
get noise cost the longest way of the best plan for that, once for each word. Where words are published by
public clusters, plans must stay within clusters: words of two clusters are told apart for certain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from sievert.errors import TextError
from sievert.numerics import exp_or_infinity, in_nats, read_eps
from sievert.proofs import DocumentsProof, Way
from sievert.results import Result
from sievert.text._distance import bottleneck_plan, distance
from sievert.text._mechanisms import WordMechanism
from sievert.text._obfuscate import Length
from sievert.text._words import Bag

__all__ = ["MEANINGFUL", "DocumentGuarantee", "document_guarantee", "prove_promises", "verdict"]

# Above about this many nats (a factor of 150) a promise says nothing that a guesser would notice.
MEANINGFUL = 5.0
# From which word to which, and how many.
Plan = tuple[tuple[str, str, int], ...]


@dataclass(frozen=True)
class DocumentGuarantee(Result):
    """How far a release can favour one of two documents over the other.

    Attributes
    ----------
    nats : the most it can, in nats; infinite where their lengths differ and are published
    size : words of each that get noise (None where they differ)
    distance : per word, earth mover's (or the longest way, for words drawn from the documents)
    plan : from which word to which, and how many
    """

    nats: float
    size: int | None
    distance: float
    method: str
    plan: Plan = field(default=(), repr=False)

    def __float__(self) -> float:
        return self.nats

    @property
    def factor(self) -> float:
        """By how much the odds of any guess between the two grow at most."""
        return exp_or_infinity(self.nats)

    def __str__(self) -> str:
        if math.isinf(self.nats):
            return f"no promise: {self.method}"
        return f"{in_nats(self.nats)} at most ({self.method}); {verdict(self.nats)}"


def document_guarantee(a: Bag, b: Bag, mechanism: WordMechanism, length: Length) -> DocumentGuarantee:
    """What the mechanism promises for two documents under a rule for their lengths."""
    first, second = length.applied(a), length.applied(b)
    if length.rule == "sample":
        return _drawn(first, second, mechanism, length.size or 0)
    if first.size != second.size:
        return DocumentGuarantee(
            math.inf, None, math.inf, "their lengths differ, and a release shows its length"
        )
    parts = _by_cluster(first, second, mechanism)
    if any(one.size != other.size for one, other in parts):
        return DocumentGuarantee(
            math.inf, first.size, math.inf, "their words lie in different public clusters"
        )
    flows = [distance(one, other, mechanism.embedding) for one, other in parts]
    cost = sum(flow.cost for flow in flows)
    plan = tuple(way for flow in flows for way in flow.matching())
    per_word = cost / first.size if first.size else 0.0
    return DocumentGuarantee(mechanism.eps * cost, first.size, per_word, "ε·N·E", plan)


def _drawn(a: Bag, b: Bag, mechanism: WordMechanism, many: int) -> DocumentGuarantee:
    """Words are drawn from each document first."""
    if not a.size or not b.size:
        return DocumentGuarantee(math.inf, None, math.inf, "an empty document stays empty")
    parts = _by_cluster(a, b, mechanism)
    if any(one.size * b.size != other.size * a.size for one, other in parts):
        return DocumentGuarantee(math.inf, many, math.inf, "their words lie in different public clusters")
    sizes = a.size, b.size
    found = [bottleneck_plan(one, other, mechanism.embedding, sizes) for one, other in parts]
    longest = max(length for length, _ in found)
    plan = tuple(way for _, ways in found for way in ways)
    return DocumentGuarantee(
        mechanism.eps * many * longest, many, longest, "ε·N·W∞ of words drawn from each", plan
    )


def _by_cluster(a: Bag, b: Bag, mechanism: WordMechanism) -> list[tuple[Bag, Bag]]:
    """Both documents cut into the public clusters of their words; whole where nothing is published."""
    cluster_of = mechanism.publishes
    if cluster_of is None:
        return [(a, b)]
    place = mechanism.embedding.index
    clusters = np.unique([cluster_of[place[str(word)]] for bag in (a, b) for word in bag]).tolist()
    return [
        tuple(  # type: ignore[misc]
            Bag({word: times for word, times in bag.items() if cluster_of[place[str(word)]] == cluster})
            for bag in (a, b)
        )
        for cluster in clusters
    ]


def prove_promises(
    bags: Sequence[Bag], mechanism: WordMechanism, length: Length, releases: int = 1
) -> DocumentsProof:
    """The promise between any two of several public documents, as data that is checked without a solver."""
    found = [document_guarantee(a, b, mechanism, length) for a, b in combinations(bags, 2)]
    broken = [one for one in found if math.isinf(one.nats)]
    if broken or not found:
        why = broken[0].method if broken else "it takes two documents"
        raise TextError(f"there is nothing to prove: {why}")
    treated = [length.applied(bag) for bag in bags]
    words = sorted({str(word) for bag in treated for word in bag})
    place = {word: i for i, word in enumerate(words)}
    plans: list[list[Way]] = [
        [(place[source], place[target], units) for source, target, units in one.plan] for one in found
    ]
    return DocumentsProof.of(
        read_eps(mechanism.eps),
        mechanism.embedding.vectors[mechanism.embedding.places(words)].tolist(),
        [[(place[str(word)], times) for word, times in bag.items()] for bag in treated],
        plans,
        length.size if length.rule == "sample" else None,
        releases,
    )


def verdict(nats: float) -> str:
    """The number in plain words."""
    if math.isinf(nats):
        return "no promise: a release may tell them apart for certain"
    if nats <= 1:
        return f"a strong promise: the odds of any guess grow by a factor of {math.exp(nats):.3g} at most"
    if nats <= MEANINGFUL:
        return f"a promise: the odds of any guess grow by a factor of {math.exp(nats):.3g} at most"
    factor = f"e^{nats:.4g}" if nats > 700 else f"{math.exp(nats):.3g}"
    return f"above about {MEANINGFUL:g} nats this is no promise: the odds may grow by a factor of {factor}"
