"""The attack bench: what attackers still find in released documents, beside what is promised.

Some authors are drawn, their unknown documents are made noisy at each ε, and every attacker answers.
Successes are counted over several draws, with Clopper–Pearson intervals: twenty documents prove little. The
promise in nats stands in the same table, because a low success rate is an observation and not a guarantee.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from sievert.errors import TextError
from sievert.numerics import (
    abbreviated,
    flag,
    generator_of,
    in_nats,
    on_device,
    positive,
    require_size,
    whole,
)
from sievert.results import Result
from sievert.sampling import SeededBits
from sievert.text import _attackers
from sievert.text._corpora import Corpus
from sievert.text._distance import distance
from sievert.text._embedding import Embedding, as_embedding
from sievert.text._mechanisms import WordMechanism, word_mechanism
from sievert.text._obfuscate import Length, released
from sievert.text._permanents import log_likelihoods
from sievert.text._promises import document_guarantee
from sievert.text._tokens import tokens
from sievert.text._word_channels import intervals
from sievert.text._words import Bag, as_bag, bag_of

__all__ = ["AttackBench", "AttackOutcome", "attack"]

CONFIDENCE = 0.95
AUTHOR_NEAREST, TOPIC_NEAREST = "author, nearest mean", "topic, five nearest means"
AUTHOR_GRAMS, TOPIC_LINEAR = "author, character 4-grams", "topic, linear model"
AUTHOR_CHANNEL = "author, knows the channel"
DOCUMENT = "document, knows all of them and the channel"
# Random matchings for the likelihood of a long document.
MATCHINGS = 60
# Pairs of documents whose distance is worked out for the promise.
PAIRS = 12
# Each asks every attacker at every ε.
MOST_DRAWS = 10_000


@dataclass(frozen=True)
class AttackOutcome(Result):
    """One attacker at one ε.

    Attributes
    ----------
    attacker : in words
    eps : of the release; None: the documents as they are
    found, trials : right answers among the documents of all draws
    lower, upper : 95 % Clopper–Pearson bounds of the success rate
    chance : of a blind guess
    """

    attacker: str
    eps: float | None
    found: int
    trials: int
    lower: float
    upper: float
    chance: float

    @property
    def rate(self) -> float:
        """The share found."""
        return self.found / self.trials

    def __str__(self) -> str:
        level = "without noise" if self.eps is None else f"at ε = {self.eps:g}"
        return (
            f"{self.attacker} {level}: {self.found} of {self.trials} ({self.lower:.0%} to {self.upper:.0%}; "
            f"chance {self.chance:.0%})"
        )


@dataclass(frozen=True)
class AttackBench(Result):
    """What attackers found, at every ε, and what is promised there.

    Attributes
    ----------
    findings : one for each attacker and ε
    nats : the promise between two documents of the usual size, median over pairs, for each ε
    unchanged : share of words that stayed the same
    size : words of a document
    left_out : attackers that were not run, with the reason
    """

    findings: tuple[AttackOutcome, ...]
    nats: Mapping[float, float]
    unchanged: Mapping[float, float]
    authors: int
    draws: int
    size: int
    mechanism: str
    left_out: tuple[str, ...] = ()

    def rate(self, attacker: str, eps: float | None) -> float:
        """The share that an attacker found at an ε (None: without noise)."""
        for one in self.findings:
            if one.attacker == attacker and one.eps == eps:
                return one.rate
        raise TextError(f"attacker {attacker!r} was not run at ε = {eps}")

    def best_author(self, eps: float | None) -> float:
        """The share of authors that the best attacker found at an ε."""
        return max(one.rate for one in self.findings if one.eps == eps and one.attacker.startswith("author"))

    def rows(self) -> list[dict[str, Any]]:
        """A table like 9.1: a row for each ε, a column for each attacker."""
        found: dict[float | None, dict[str, Any]] = {}
        for one in self.findings:
            row = found.setdefault(one.eps, {"eps": "none" if one.eps is None else one.eps})
            row[one.attacker] = f"{one.found}/{one.trials} [{one.lower:.2f}, {one.upper:.2f}]"
        for eps, row in found.items():
            row["words unchanged"] = f"{1.0 if eps is None else self.unchanged[eps]:.2f}"
            row["promise, nats"] = "none" if eps is None else f"{self.nats[eps]:.4g}"
        return list(found.values())

    def _repr_html_(self) -> str:
        rows = self.rows()
        heads = "".join(f"<th>{escape(str(name))}</th>" for name in rows[0])
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row.values()) + "</tr>"
            for row in rows
        )
        return f"<table><tr>{heads}</tr>{body}</table>"

    def __str__(self) -> str:
        noisy = [eps for eps in self.nats]
        least = min(noisy) if noisy else None
        best = max((one for one in self.findings if one.eps == least), key=lambda one: one.rate - one.chance)
        said = f"{self.authors} authors, {self.draws} draw(s), documents of about {self.size} words: {best}"
        if least is not None:
            said += f"; the promise there is {in_nats(self.nats[least])} between two documents"
        return said


def attack(
    corpus: Corpus,
    embedding: Embedding,
    eps: float | Sequence[float],
    *,
    kind: str = "word-laplace",
    dimensions: int | None = None,
    clusters: int | None = None,
    authors: int | None = None,
    draws: int = 3,
    linear: bool = True,
    length: str | None = None,
    size: int | None = None,
    token: str | None = None,
    device: str | None = None,
    rng: int | np.random.Generator | None = None,
) -> AttackBench:
    """Who wrote it and what is it about: what attackers find in released documents.

    Parameters
    ----------
    corpus : Corpus
        Known texts, unknown documents, topics.
    embedding : Embedding
    eps : one or several levels, in nats per unit of distance
    kind : of the mechanism
    dimensions, clusters : its further parameters
    authors : how many are drawn each time; by default all
    draws : how often authors and noise are drawn
    linear : whether the linear model of topics is run (extra `text`)
    length, size, token : what becomes of the length of the unknown documents, as in `obfuscate`
    device : where nearest words are looked for, such as "cuda" (extra `gpu`); by default the processor
    rng : a seed or a generator

    Returns
    -------
    AttackBench

    Notes
    -----
    The attacker who knows the channel takes authors for sources of independent words; the one who has all
    documents besides compares their likelihoods (`bag_likelihood`), and tells published lengths apart. An
    attack that fails proves nothing; the promise is `nats`.

    Cost: draws·levels times one obfuscation and one pass of every attacker.

    References
    ----------
    Koppel, Schler & Argamon, Authorship attribution in the wild (2011); Fernandes (2021), Sec 9.6.

    Examples
    --------
    >>> texts = {"ann": "sea lake river boat", "bob": "car road engine wheel"}
    >>> found = attack(Corpus(texts, texts), Embedding.small(), [20.0], draws=1, rng=1)
    >>> found.rate("author, nearest mean", None)
    1.0
    """
    table, generator = as_embedding("embedding", embedding), generator_of(rng)
    if not isinstance(corpus, Corpus):
        raise TextError(f"corpus is {abbreviated(corpus)}; give a sv.text.Corpus")
    levels = [positive("eps", one, TextError) for one in (eps if isinstance(eps, Sequence) else [eps])]
    more = {"dimensions": dimensions, "clusters": clusters}
    mechanisms = [word_mechanism(table, level, kind, **more) for level in levels]
    known, unknown = (_bags(side, corpus.authors, table) for side in (corpus.known, corpus.unknown))
    many = len(corpus.authors) if authors is None else whole("authors", authors, TextError, least=2)
    if not 2 <= many <= len(corpus.authors):
        raise TextError(
            f"corpus has {len(corpus.authors)} authors with both texts, and {many} are asked for; at least 2 "
            "are needed"
        )
    treated = Length(length, size, token).checked(table)
    unknown = {author: treated.applied(bag) for author, bag in unknown.items()}
    bench = _Bench(corpus, table, many, flag("linear", linear, TextError), treated)
    often = whole("draws", draws, TextError)
    require_size(often, MOST_DRAWS, "the draws", "take fewer; 100 tell much already")
    with on_device(device):
        for _ in range(often):
            chosen = sorted(generator.permutation(len(corpus.authors))[:many].tolist())
            bench.draw([corpus.authors[i] for i in chosen], known, unknown, mechanisms, generator)
    return bench.result(mechanisms, draws, unknown)


def _bags(texts: Mapping[str, Any], authors: Iterable[str], table: Embedding) -> dict[str, Bag]:
    found = {author: _bag(author, texts[author], table) for author in authors}
    empty = [author for author, bag in found.items() if not bag.size]
    if empty:
        raise TextError(f"corpus: the document of {empty[0]!r} has no word of the vocabulary; leave it out")
    return found


def _bag(author: str, text: Any, table: Embedding) -> Bag:
    if isinstance(text, str):
        return bag_of(tokens(text, vocabulary=table), table, "drop", None)
    return as_bag(f"corpus: the document of {author!r}", text)


class _Bench:
    """Counts of right answers."""

    def __init__(self, corpus: Corpus, table: Embedding, authors: int, linear: bool, length: Length) -> None:
        self.corpus, self.table, self.authors, self.linear = corpus, table, authors, linear
        self.length = length
        self.right: dict[tuple[str, float | None], list[int]] = {}
        self.kept: dict[float, list[float]] = {}
        self.left_out: list[str] = [] if linear else [f"{TOPIC_LINEAR}: not asked for"]

    def draw(
        self,
        chosen: list[str],
        known: dict[str, Bag],
        unknown: dict[str, Bag],
        mechanisms: list[WordMechanism],
        rng: np.random.Generator,
    ) -> None:
        """One choice of authors, at every ε."""
        texts, snippets = [known[one] for one in chosen], [unknown[one] for one in chosen]
        self._answers(chosen, texts, snippets, None, None, rng)
        for mechanism in mechanisms:
            source = SeededBits(int(rng.integers(2**62)))
            noisy = [Bag(words) for words in released(snippets, mechanism, self.length, source)]
            same = [
                sum(min(a[w], b.get(w, 0)) for w in a) / a.size for a, b in zip(snippets, noisy, strict=True)
            ]
            self.kept.setdefault(mechanism.eps, []).append(float(np.mean(same)))
            self._answers(chosen, texts, noisy, mechanism.eps, mechanism, rng)
            self._documents(snippets, noisy, mechanism, rng)

    def _answers(
        self,
        chosen: list[str],
        texts: list[Bag],
        bags: list[Bag],
        eps: float | None,
        mechanism: WordMechanism | None,
        rng: np.random.Generator,
    ) -> None:
        right = np.arange(len(chosen))
        self._count(AUTHOR_NEAREST, eps, _attackers.nearest_author(texts, bags, self.table) == right)
        self._count(AUTHOR_GRAMS, eps, _attackers.by_ngrams(texts, bags, rng) == right)
        if mechanism is not None:
            self._count(AUTHOR_CHANNEL, eps, _attackers.by_channel(texts, bags, mechanism, rng) == right)
        if self.corpus.topics is None:
            return
        topics = [self.corpus.topics[one] for one in chosen]
        nearest = _attackers.nearest_topic(texts, topics, bags, self.table)
        self._count(TOPIC_NEAREST, eps, [a == b for a, b in zip(nearest, topics, strict=True)])
        if self.linear and len(set(topics)) > 1:
            self._linear(topics, texts, bags, eps)

    def _documents(
        self, snippets: list[Bag], noisy: list[Bag], mechanism: WordMechanism, rng: np.random.Generator
    ) -> None:
        """Which of the documents it is, by their likelihoods: no attacker who has them all does better."""
        drawn = self.length.rule == "sample"
        logs = None if drawn else log_likelihoods(snippets, noisy, mechanism, MATCHINGS, rng)
        if logs is None:
            unlisted = f"{mechanism.kind} has no list of probabilities"
            why = "words are drawn from them first" if drawn else unlisted
            self.left_out.append(f"{DOCUMENT}: {why}")
            return
        self._count(DOCUMENT, mechanism.eps, logs.argmax(axis=1) == np.arange(len(noisy)))

    def _linear(self, topics: list[str], texts: list[Bag], bags: list[Bag], eps: float | None) -> None:
        trained = [(topic, _bag(topic, text, self.table)) for topic, text in self.corpus.training]
        labels, examples = [t for t, _ in trained] or topics, [b for _, b in trained] or texts
        try:
            found = _attackers.by_linear_model(examples, labels, bags)
        except TextError as problem:
            self.linear = False
            self.left_out.append(f"{TOPIC_LINEAR}: {problem}")
            return
        self._count(TOPIC_LINEAR, eps, [a == b for a, b in zip(found, topics, strict=True)])

    def _count(self, attacker: str, eps: float | None, right: Any) -> None:
        self.right.setdefault((attacker, eps), []).extend(int(one) for one in right)

    def _chance(self, attacker: str) -> float:
        if attacker in (TOPIC_NEAREST, TOPIC_LINEAR) and self.corpus.topics is not None:
            shares = list(self.corpus.topics[one] for one in self.corpus.authors)
            return max(shares.count(one) for one in set(shares)) / len(shares)
        return 1 / self.authors

    def result(self, mechanisms: list[WordMechanism], draws: int, unknown: dict[str, Bag]) -> AttackBench:
        """Counts with intervals, and the promise of every ε."""
        findings = []
        for (attacker, eps), answers in self.right.items():
            lower, upper = intervals([sum(answers)], len(answers), CONFIDENCE)
            findings.append(
                AttackOutcome(
                    attacker,
                    eps,
                    sum(answers),
                    len(answers),
                    float(lower[0]),
                    float(upper[0]),
                    self._chance(attacker),
                )
            )
        size = int(np.median([bag.size for bag in unknown.values()]))
        promises = {one.eps: _promised(list(unknown.values()), one, self.length, size) for one in mechanisms}
        return AttackBench(
            tuple(findings),
            promises,
            {eps: float(np.mean(kept)) for eps, kept in self.kept.items()},
            self.authors,
            draws,
            size,
            mechanisms[0].words().replace(f"eps = {mechanisms[0].eps:g} ", "") if mechanisms else "",
            tuple(dict.fromkeys(self.left_out)),
        )


def _promised(bags: list[Bag], mechanism: WordMechanism, length: Length, size: int) -> float:
    """Nats between two documents of the usual size: the median of some pairs in a fixed order."""
    pairs = [(i, (i + 1 + i // len(bags)) % len(bags)) for i in range(min(PAIRS, len(bags)))]
    chosen = [(bags[i], bags[j]) for i, j in pairs if i != j]
    if mechanism.publishes is not None or length.rule == "sample":
        return float(np.median([document_guarantee(a, b, mechanism, length).nats for a, b in chosen]))
    apart = np.median([float(distance(a, b, mechanism.embedding)) for a, b in chosen])
    return mechanism.eps * size * float(apart)
