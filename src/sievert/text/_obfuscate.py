"""Obfuscate documents: every word drawn anew by meaning, the order forgotten, the length treated as asked.

The promise is about bags: a release favours one document over another of the same size by at most e^(ε·N·E)
(Fernandes, Thm 9.2 and Thm 9.10). A document's length is not hidden unless it is padded or sampled to a
public one; drawing words from the document costs ε·N·W∞ instead, the longest way instead of the mean.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sievert.arrays import IntArray
from sievert.errors import TextError
from sievert.numerics import abbreviated, on_device, taken, whole
from sievert.results import Result
from sievert.sampling import BitSource, bit_source
from sievert.text._embedding import Embedding
from sievert.text._mechanisms import WordMechanism, word_mechanism
from sievert.text._tokens import tokens
from sievert.text._words import Bag, as_bag, bag_of, require_policy

__all__ = ["Length", "Obfuscated", "obfuscate", "promised", "released"]


# Words to which every document is brought: each is drawn anew, and held.
LARGEST_SIZE = 1_000_000


@dataclass(frozen=True)
class Length:
    """What happens to the length of a document.

    Attributes
    ----------
    rule : None (published as it is), "truncate" (cut to `size` at most), "pad" (exactly `size`, with `token`
        where words are missing) or "sample" (`size` words drawn from the document, with replacement)
    """

    rule: str | None = None
    size: int | None = None
    token: str | None = None

    @property
    def hidden(self) -> bool:
        """Whether every document comes out with the same number of words."""
        return self.rule in ("pad", "sample")

    def checked(self, embedding: Embedding) -> Length:
        """Itself, where its parts go together."""
        if not isinstance(self.rule, str | None) or self.rule not in (None, "pad", "truncate", "sample"):
            raise TextError(f'length is {abbreviated(self.rule)}; write "pad", "truncate" or "sample"')
        if not isinstance(self.token, str | None):
            raise TextError(f"token is {abbreviated(self.token)}; give a public word of the vocabulary")
        if self.rule is None:
            if self.size is not None:
                raise TextError(f"size is {abbreviated(self.size)}; it goes with length")
            return self
        size = whole("size", self.size, TextError)
        if self.hidden and size > LARGEST_SIZE:
            raise TextError(
                f"size is {abbreviated(size)}; a document is brought to at most {LARGEST_SIZE} words"
            )
        if self.rule == "pad" and (self.token is None or self.token not in embedding):
            raise TextError(
                f"token is {abbreviated(self.token)}; length = 'pad' needs a public word of the "
                f"vocabulary to pad "
                "with"
            )
        return self

    @property
    def most(self) -> int | None:
        """How many of a text's words are read at most."""
        return self.size if self.rule in ("pad", "truncate") else None

    def applied(self, bag: Bag) -> Bag:
        """The bag that gets noise, and that the promise is about; of "sample" the one drawn from."""
        if self.rule in (None, "sample"):
            return bag
        assert self.size is not None
        # A text was cut after its first words when it was read; a bag has no first words but the alphabet's.
        kept = bag.items_listed()[: self.size]
        missing = self.size - len(kept) if self.rule == "pad" else 0
        return Bag([*kept, *[self.token] * missing], unknown=bag.unknown)


@dataclass(frozen=True)
class Obfuscated(Result):
    """Documents whose words were drawn anew.

    Attributes
    ----------
    documents : the words of each, in random order
    eps : nats per unit of the embedding's distance
    mechanism : in words
    exact : whether words were drawn by integers, exactly with the stated probabilities
    secure : whether they were drawn from the operating system's bits and exactly
    promised : how far apart two documents are at most, in words
    """

    documents: tuple[tuple[str, ...], ...] = field(repr=False)
    eps: float
    mechanism: str
    exact: bool
    secure: bool
    promised: str

    @property
    def bags(self) -> list[Bag]:
        """Each as a bag."""
        return [Bag(words) for words in self.documents]

    def __str__(self) -> str:
        words = sum(map(len, self.documents))
        drawn = "exactly" if self.exact else "in floating point"
        return (
            f"{len(self.documents)} document(s), {words} words drawn {drawn} by {self.mechanism}: "
            f"{self.promised}"
        )


def promised(mechanism: WordMechanism, length: Length) -> str:
    """How far apart two documents are at most, in words."""
    eps = f"{mechanism.eps:g}"
    bound = f"documents of N words at earth mover's distance E are {eps}·N·E nats apart at most"
    if length.rule == "sample":
        bound = (
            f"documents are {eps}·{length.size}·W nats apart at most, where W is the longest way that the "
            "best plan moves a word of one to the other"
        )
    if mechanism.publishes is None:
        return f"two {bound}"
    return (
        f"two {bound}, by ways within public clusters; where there are none they are told apart for certain"
    )


def obfuscate(
    text_or_documents: Any,
    embedding: Embedding,
    eps: float,
    *,
    kind: str = "word-laplace",
    dimensions: int | None = None,
    clusters: int | None = None,
    out_of_vocabulary: str = "drop",
    token: str | None = None,
    length: str | None = None,
    size: int | None = None,
    device: str | None = None,
    insecure_rng: object = None,
) -> Obfuscated:
    """Draw every word of a document anew, near words more often than far ones.

    Parameters
    ----------
    text_or_documents : a text, a bag, or a list of texts or bags
    embedding : Embedding
    eps : ε in nats per unit of its distance
    kind : "word-laplace", "word-exponential" (drawn exactly), "word-projected-laplace" or "word-clusters"
    dimensions : of the projection
    clusters : how many
    out_of_vocabulary : "drop", or "token" to put `token` in the place of unknown words
    token : a public word, for unknown words and for padding
    length : None publishes it; "pad", "truncate" or "sample" to `size` words
    size : that public number
    device : where nearest words are looked for, such as "cuda" (extra `gpu`); by default the processor
    insecure_rng : a seed, for tests only; by default the operating system

    Returns
    -------
    Obfuscated
        Words in random order: what stood where in the text is never kept.

    Notes
    -----
    Every occurrence gets noise of its own, and every release of a document costs ε again. A seed has the same
    words on every device.

    Cost: one matrix product of words and vocabulary, a block at a time.

    References
    ----------
    Fernandes (2021), Alg 2 and Thm 9.10.

    Examples
    --------
    >>> small = Embedding.small()
    >>> found = obfuscate("The President greets the press in Chicago", small, 8.0, insecure_rng=1)
    >>> len(found.documents[0]), found.secure
    (3, False)
    """
    mechanism = word_mechanism(embedding, eps, kind, dimensions=dimensions, clusters=clusters)
    require_policy(out_of_vocabulary, token, mechanism.embedding)
    treated = Length(length, size, token).checked(mechanism.embedding)
    bags = [
        _bag(item, mechanism.embedding, out_of_vocabulary, token, treated)
        for item in _listed(text_or_documents)
    ]
    source = bit_source(insecure_rng)
    with on_device(device):
        found = tuple(released(bags, mechanism, treated, source))
    secure = mechanism.exact and source.secure
    return Obfuscated(
        found,
        mechanism.eps,
        mechanism.words(),
        mechanism.exact,
        secure,
        promised(mechanism, treated),
    )


def _listed(given: Any) -> list[Any]:
    if isinstance(given, str | Bag):
        return [given]
    if isinstance(given, dict) or not isinstance(given, Iterable):
        raise TextError(f"text_or_documents is {abbreviated(given)}; give a text, a bag or a list of them")
    return taken("text_or_documents", given, TextError, "documents")


def _bag(item: Any, embedding: Embedding, out_of_vocabulary: str, token: str | None, length: Length) -> Bag:
    if isinstance(item, str):
        return bag_of(tokens(item, vocabulary=embedding), embedding, out_of_vocabulary, token, length.most)
    found = as_bag("text_or_documents", item)
    strange = [word for word in found if word not in embedding]
    if strange:
        raise TextError(
            f"text_or_documents: {abbreviated(strange[0])} is not in the vocabulary; make bags with "
            "sv.text.bag, which drops such words or replaces them"
        )
    return found


def released(
    bags: Iterable[Bag], mechanism: WordMechanism, length: Length, source: BitSource
) -> list[tuple[str, ...]]:
    """The noisy words of every bag, in random order; all are drawn in one go."""
    table = mechanism.embedding
    prepared = [_places(bag, table, length, source) for bag in bags]
    sampler = mechanism.sampler(source)
    every = np.concatenate(prepared) if prepared else np.empty(0, dtype=np.int64)
    drawn = sampler.draw(every)
    found, start = [], 0
    for places in prepared:
        part = drawn[start : start + len(places)]
        start += len(places)
        order = np.argsort(source.words(2, source.reserve(len(part))), kind="stable")
        found.append(tuple(table.words[place] for place in part[order].tolist()))
    return found


def _places(bag: Bag, table: Embedding, length: Length, source: BitSource) -> IntArray:
    items = length.applied(bag).items_listed()
    places = np.array([table.index[str(word)] for word in items], dtype=np.int64)
    if length.rule != "sample":
        return places
    assert length.size is not None
    if not len(places):
        raise TextError(
            "text_or_documents: a document has no word of the vocabulary, and length = 'sample' draws words "
            "from each; leave it out, or take length = 'pad'"
        )
    return places[_uniform(len(places), length.size, source)]


def _uniform(below: int, count: int, source: BitSource) -> IntArray:
    """Whole numbers below a bound, each as likely: words beyond a multiple of it are drawn again."""
    most = (2**64 // below) * below
    found = source.words(3, source.reserve(count)).astype(np.uint64)
    if most < 2**64:
        while len(late := np.flatnonzero(found >= np.uint64(most))):
            found[late] = source.words(3, source.reserve(len(late)))
    return (found % np.uint64(below)).astype(np.int64)
