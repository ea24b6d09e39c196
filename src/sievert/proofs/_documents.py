"""Proof of what a release of documents tells at most about which of some public documents it was.

*Documents*: every word of a document goes through a mechanism that is ε·d-private for the Euclidean distance
of public vectors. Any plan that carries the words of one document to those of another of the same size bounds
what a release favours one by: ε times the length of all ways (Fernandes, Thm 9.2). Where words are drawn from
the document first, it is ε times the longest way for each word drawn. Releases add up, and a guess among v
documents is right with probability e^L/(e^L + v - 1) at most. That the plans are the best ones is not needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any, ClassVar

from sievert.numerics import decimal, eps_in_words, exp_below
from sievert.proofs._base import Proof, in_percent_of
from sievert.proofs._reading import entries, fraction, fractions, listed, whole

__all__ = ["DocumentsProof", "Way", "distance_above"]

# From which word to which, and how many units; of bags of one size a unit is a word.
Way = tuple[int, int, int]
DIGITS = 12
# Steps of a square root: 2^-100 of a unit.
FINE = 2**100


def distance_above(first: Sequence[Fraction], second: Sequence[Fraction]) -> Fraction:
    """A rational at or above the Euclidean distance of two vectors, by 2^-100 at most."""
    if len(first) != len(second):
        raise ValueError("two vectors have different lengths")
    square = sum(((a - b) ** 2 for a, b in zip(first, second, strict=True)), Fraction(0))
    root = isqrt((square * FINE**2).__ceil__())
    return Fraction(root if root * root >= square * FINE**2 else root + 1, FINE)


@dataclass(frozen=True, eq=False)
class DocumentsProof(Proof):
    """Between any two of some bags of words a release differs by `nats` at most.

    `bags` maps words, by their place among the vectors, to counts; `plans` has the ways of each pair, the
    first bag with the second, with the third, …; `drawn` is how many words are drawn from each document
    first, None where all are released.
    """

    kind: ClassVar[str] = "documents"
    found: ClassVar[tuple[str, ...]] = ("plans", "nats", "guess")
    grounds: ClassVar[str] = (
        "any plan between two documents bounds what tells them apart (Fernandes, Thm 9.2)"
    )
    eps: Fraction
    vectors: tuple[tuple[Fraction, ...], ...]
    bags: tuple[tuple[tuple[int, int], ...], ...]
    plans: tuple[tuple[Way, ...], ...]
    drawn: int | None
    releases: int
    nats: Fraction
    guess: Fraction

    def data(self) -> dict[str, Any]:
        return {
            "eps": str(self.eps),
            "vectors": [[str(value) for value in row] for row in self.vectors],
            "bags": [[list(item) for item in bag] for bag in self.bags],
            "plans": [[list(way) for way in plan] for plan in self.plans],
            "drawn": self.drawn,
            "releases": self.releases,
            "nats": str(self.nats),
            "guess": str(self.guess),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> DocumentsProof:
        drawn = data["drawn"]
        return cls(
            fraction(data["eps"]),
            tuple(fractions(row) for row in listed(data["vectors"])),
            tuple(
                tuple((whole(word), whole(times)) for word, times in entries(bag, 2))
                for bag in listed(data["bags"])
            ),
            tuple(
                tuple((whole(i), whole(j), whole(units)) for i, j, units in entries(plan, 3))
                for plan in listed(data["plans"])
            ),
            None if drawn is None else whole(drawn),
            whole(data["releases"]),
            fraction(data["nats"]),
            fraction(data["guess"]),
        )

    @classmethod
    def of(
        cls,
        eps: Fraction,
        vectors: Sequence[Sequence[float]],
        bags: Sequence[Sequence[tuple[int, int]]],
        plans: Sequence[Sequence[Way]],
        drawn: int | None,
        releases: int,
    ) -> DocumentsProof:
        """The least nats and the least guess that the plans prove, rounded up."""
        rows = tuple(tuple(map(Fraction, row)) for row in vectors)
        parts = (tuple(map(tuple, bags)), tuple(map(tuple, plans)), drawn, releases)
        bare = cls(eps, rows, *parts, Fraction(0), Fraction(1))
        nats = _short(bare.least_nats())
        return cls(eps, rows, *parts, nats, _short(_guess_above(nats, len(bags))))

    def proved(self) -> str:
        if self.eps < 0 or self.releases < 1 or (self.drawn is not None and self.drawn < 1):
            raise ValueError("eps must be ≥ 0, and releases and drawn 1 or more")
        if self.nats < self.least_nats():
            raise ValueError("the ways are longer than the nats that are stated")
        if self.guess < _guess_above(self.nats, len(self.bags)):
            raise ValueError("so many nats do not prove the guess that is stated")
        times = "a release" if self.releases == 1 else f"{self.releases} releases together"
        return (
            f"where every word goes through a mechanism that is {eps_in_words(self.eps)}·d-private, what "
            f"{times} of any of the {len(self.bags)} documents favours it over another by is "
            f"{decimal(self.nats, DIGITS, False)} nats at most, and a guess which of them it is, each as "
            f"likely before, is right with probability {decimal(self.guess, DIGITS, False)} at most "
            "(Fernandes, Thm 9.2)"
        )

    def meaning(self) -> str:
        return (
            f"whoever reads what is released of one of the {len(self.bags)} documents names the right one in "
            f"at most {in_percent_of(self.guess)} of all cases; a blind guess is right in "
            f"{in_percent_of(Fraction(1, len(self.bags)))}."
        )

    def least_nats(self) -> Fraction:
        """What the plans prove; ValueError where one does not carry a bag to the other."""
        count = len(self.bags)
        pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
        if count < 2 or len(self.plans) != len(pairs):
            raise ValueError("there must be two documents or more, and a plan for every pair")
        for bag in self.bags:
            if not bag or any(times < 1 for _, times in bag) or len(dict(bag)) < len(bag):
                raise ValueError("a document has no words, or a word twice or less than once")
        costs = [
            self._cost(plan, dict(self.bags[i]), dict(self.bags[j]))
            for plan, (i, j) in zip(self.plans, pairs, strict=True)
        ]
        return self.releases * self.eps * max(costs)

    def _cost(self, plan: Sequence[Way], first: dict[int, int], second: dict[int, int]) -> Fraction:
        """All ways together, or for words that are drawn the longest one, once for each."""
        sizes = sum(first.values()), sum(second.values())
        if self.drawn is None and sizes[0] != sizes[1]:
            raise ValueError("two documents have different sizes, and a release shows its size")
        # Units make both bags equally large where words are drawn from them.
        units = (1, 1) if self.drawn is None else (sizes[1], sizes[0])
        leaving, arriving = dict.fromkeys(first, 0), dict.fromkeys(second, 0)
        for source, target, moved in plan:
            if moved < 1 or source not in leaving or target not in arriving:
                raise ValueError("a way carries nothing, or begins or ends at a word that is not there")
            leaving[source] += moved
            arriving[target] += moved
        for carried, bag, unit in ((leaving, first, units[0]), (arriving, second, units[1])):
            if any(carried[word] != times * unit for word, times in bag.items()):
                raise ValueError("a plan does not carry one document to the other")
        lengths = [
            (distance_above(self.vectors[source], self.vectors[target]), moved)
            for source, target, moved in plan
        ]
        if self.drawn is None:
            return sum((length * moved for length, moved in lengths), Fraction(0))
        return self.drawn * max(length for length, _ in lengths)


def _guess_above(nats: Fraction, candidates: int) -> Fraction:
    """e^L/(e^L + v - 1), rounded up."""
    return 1 / (1 + (candidates - 1) * exp_below(-nats))


def _short(value: Fraction) -> Fraction:
    """A number with few digits at or above."""
    return Fraction((value * FINE).__ceil__(), FINE)
