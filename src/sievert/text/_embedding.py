"""Embeddings: where words are, and so how far apart.

Words of near meaning have near vectors, and the Euclidean distance of vectors is the metric of every promise
of this room (Fernandes, Def 9.2.2). It has a unit of its own: ε is in nats per unit of *this* embedding, and
numbers for two embeddings do not compare. The table is public, and fixed before any document is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cached_property, lru_cache
from importlib.resources import files
from io import BytesIO
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.errors import TextError
from sievert.numerics import abbreviated, did_you_mean, instance, positive, require_size, taken, whole
from sievert.spaces import Metric, floats
from sievert.text import _vectors
from sievert.text._tokens import tokens
from sievert.text._words import Bag, bag_of

__all__ = ["Embedding", "RoughDistances", "as_embedding", "bag"]

SMALL_SHA256 = "231b4449d6c11b7514a357bbd6a3b192e4d18742e70c7f808cb1a5c86c272877"
# Words whose distances to all others are worked out at once.
BLOCK = 512
LARGEST_METRIC = 5_000
LARGEST_ENTRY = 1e150


class Embedding:
    """A public vocabulary with a vector for each word.

    Parameters
    ----------
    words : list of str
        The vocabulary, every word once.
    vectors : array_like, shape (words, dimensions)
        A row for each word. Two words may share a row (`duplicates` lists them); their distance is 0.
    name : str
        What reports call it.

    Attributes
    ----------
    words : the vocabulary, in order
    vectors : float64, a row for each word
    size, dimensions : the shape of the table
    fingerprint : SHA-256 of words and vectors; what a release writes down

    Examples
    --------
    >>> plane = Embedding(["sea", "lake", "car"], [[0, 0], [0, 1], [5, 0]])
    >>> plane.distance("sea", "lake"), plane.nearest("sea", 1)
    (1.0, [('lake', 1.0)])
    """

    def __init__(self, words: Iterable[str], vectors: Any, *, name: str = "embedding") -> None:
        if isinstance(words, Bag):
            raise TextError(
                "words is the bag of a document: a vocabulary taken from what is protected gives it away; "
                "take a public list of words"
            )
        self.words: tuple[str, ...] = tuple(_vocabulary(words))
        self.vectors: FloatArray = _table(vectors, len(self.words))
        self.vectors.setflags(write=False)
        self.name: str = instance("name", name, str, "a text", TextError)

    @classmethod
    def small(cls) -> Embedding:
        """The bundled table: 20,000 words of GloVe 6B in 50 dimensions (public domain).

        Returns
        -------
        Embedding

        Notes
        -----
        Made by `tools/small_embedding.py`; refused unless its SHA-256 is the known one. Cost: 2 MB read once.

        Examples
        --------
        >>> small = Embedding.small()
        >>> small.size, small.dimensions
        (20000, 50)
        >>> [word for word, _ in small.nearest("doctor", 3)]
        ['physician', 'nurse', 'dentist']
        """
        return _small()

    @classmethod
    def glove(cls, size: int | None = None) -> Embedding:
        """All 400,000 words of GloVe 6B in 50 dimensions, or the most frequent ones (extra `text`).

        Parameters
        ----------
        size : how many of the most frequent words; by default all

        Returns
        -------
        Embedding
        """
        words, vectors = _vectors.glove_table(None if size is None else whole("size", size, TextError))
        return cls(words, vectors, name=f"GloVe 6B 50d, {len(words)} words")

    @classmethod
    def load(cls, path: Any, *, size: int | None = None) -> Embedding:
        """Read a table of vectors from a file.

        Parameters
        ----------
        path : GloVe or word2vec text (`.txt`, `.vec`), word2vec binary (`.bin`), or `.npz` with the arrays
            `words` and `vectors`
        size : take the first so many words; by default all

        Returns
        -------
        Embedding

        Notes
        -----
        The table must be public: one trained on the private documents gives them away. A space within a word
        (GloVe 840B has some) becomes `_`, for spaces separate released words. Cost: one pass over the file.
        """
        most = None if size is None else whole("size", size, TextError)
        words, vectors = _vectors.read(path, most)
        return cls(words, vectors, name=str(path))

    @property
    def size(self) -> int:
        """Number of words."""
        return len(self.words)

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return int(self.vectors.shape[1])

    @cached_property
    def index(self) -> dict[str, int]:
        """The place of each word."""
        return {word: place for place, word in enumerate(self.words)}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the words and their vectors."""
        digest = hashlib.sha256("\n".join(self.words).encode())
        digest.update(repr(self.vectors.shape).encode())
        digest.update(np.ascontiguousarray(self.vectors).astype("<f8").tobytes())
        return digest.hexdigest()

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and word in self.index

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<{self.name}: {self.size} words, {self.dimensions} dimensions>"

    def place(self, word: object, argument: str = "word") -> int:
        """Where a word stands in the table."""
        found = self.index.get(word) if isinstance(word, str) else None
        if found is None:
            near = did_you_mean(word, self.words[:50_000])
            raise TextError(f"{argument}: {abbreviated(word)} is not one of the {self.size} words{near}")
        return found

    def places(self, words: Iterable[object]) -> IndexArray:
        """Where several words stand."""
        return np.array([self.place(word) for word in words], dtype=np.intp)

    def vector(self, word: str) -> FloatArray:
        """The vector of a word."""
        return np.asarray(self.vectors[self.place(word)])

    def distance(self, a: str, b: str) -> float:
        """Euclidean distance of two words, in units of this embedding."""
        return float(np.linalg.norm(self.vector(a) - self.vector(b)))

    def distances(self, words: Iterable[object], others: Iterable[object] | None = None) -> FloatArray:
        """Distances of some words (rows) to others, or to the whole vocabulary (columns)."""
        rows = self.vectors[self.places(words)]
        columns = self.vectors if others is None else self.vectors[self.places(others)]
        return pair_distances(rows, columns)

    def nearest(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k nearest other words and their distances, nearest first; ties in the order of the table."""
        place = self.place(word)
        many = min(whole("k", k, TextError), self.size - 1)
        found = pair_distances(self.vectors[[place]], self.vectors)[0]
        found[place] = np.inf
        order = np.argsort(found, kind="stable")[:many]
        return [(self.words[i], float(found[i])) for i in order]

    def scaled(self, factor: float) -> Embedding:
        """The same words with every distance multiplied; eps there is eps/factor here (erratum E9)."""
        by = positive("factor", factor, TextError)
        return Embedding(self.words, self.vectors * by, name=f"{self.name} × {by:g}")

    def restricted(self, words: Iterable[str]) -> Embedding:
        """The table of some of its words; the list must be public, so the bag of a document is refused."""
        if isinstance(words, Bag):
            raise TextError(
                "words is the bag of a document: a vocabulary taken from what is protected gives it away; "
                "take a public list of words"
            )
        listed = taken("words", words, TextError, "words")
        return Embedding(listed, self.vectors[self.places(listed)], name=f"{self.name}, {len(listed)} words")

    def first(self, size: int) -> Embedding:
        """The table of its first words, which are the most frequent ones in GloVe's order."""
        many = min(whole("size", size, TextError), self.size)
        return Embedding(self.words[:many], self.vectors[:many], name=f"{self.name}, {many} words")

    def projected(self, dimensions: int) -> Embedding:
        """Principal components: orthogonal, so no two words come farther apart than they were.

        The projection is a function of the public table alone.
        """
        kept = whole("dimensions", dimensions, TextError, most=self.dimensions)
        axes = principal_axes(self.vectors)[:, :kept]
        return Embedding(self.words, self.vectors @ axes, name=f"{self.name}, {kept} components")

    def duplicates(self) -> list[tuple[str, ...]]:
        """Groups of words that share a vector: a decoder answers with the first word of a group."""
        _, group = np.unique(self.vectors, axis=0, return_inverse=True)
        group = group.ravel()
        many = np.flatnonzero(np.bincount(group) > 1)
        members: dict[int, list[str]] = {int(one): [] for one in many}
        for place in np.flatnonzero(np.isin(group, many)):
            members[int(group[place])].append(self.words[place])
        return sorted(tuple(words) for words in members.values())

    def metric(self) -> Metric:
        """The distances of a small vocabulary as a metric on its words."""
        require_size(
            self.size, LARGEST_METRIC, "the metric of the vocabulary", "take .first(n) or .restricted(words)"
        )
        return Metric(pair_distances(self.vectors, self.vectors), points=list(self.words))


def bag(text: str, embedding: Embedding, *, out_of_vocabulary: str = "drop", token: str | None = None) -> Bag:
    """The bag of words of a text: what every promise of this room is about.

    Parameters
    ----------
    text : str
    embedding : Embedding
        Its words are the vocabulary.
    out_of_vocabulary : "drop", or "token" to put a public word in the place of every unknown one
    token : that word

    Returns
    -------
    Bag

    Notes
    -----
    Stop words, order and unknown words are gone, and the case of words that the table does not have as they
    are written (see `tokens`); its size counts known words only.

    Cost: O(length of the text).

    Examples
    --------
    >>> bag("The President greets the press in Chicago", Embedding.small())
    Bag({'chicago': 1, 'president': 1, 'press': 1})
    """
    table = as_embedding("embedding", embedding)
    return bag_of(tokens(text, vocabulary=table), table, out_of_vocabulary, token)


def as_embedding(argument: str, given: object) -> Embedding:
    """The argument, where it is an embedding; otherwise what to give."""
    if isinstance(given, Embedding):
        return given
    raise TextError(
        f"{argument} is {abbreviated(given)}; give a sv.text.Embedding: eps is in nats per unit of its "
        f"distances"
    )


def pair_distances(rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Euclidean distances; 0 exactly between equal rows, with full precision for near ones."""
    from scipy.spatial.distance import cdist

    return np.asarray(cdist(rows, columns))


def principal_axes(vectors: FloatArray) -> FloatArray:
    """Orthonormal directions of falling variance, as columns."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    return np.ascontiguousarray(axes[:, ::-1])


@lru_cache(maxsize=1)
def _small() -> Embedding:
    raw = (files("sievert.text") / "data" / "glove-50.npz").read_bytes()
    digest = hashlib.sha256(raw).hexdigest()
    if digest != SMALL_SHA256:
        raise TextError(f"the bundled embedding has SHA-256 {digest}; it was changed, install Sievert anew")
    with np.load(BytesIO(raw), allow_pickle=False) as arrays:
        words, vectors = arrays["words"].tolist(), arrays["vectors"]
    return Embedding(words, vectors, name="small (GloVe 6B 50d, 20,000 words)")


def _vocabulary(words: Iterable[str]) -> list[str]:
    if isinstance(words, str):
        raise TextError(f"words is {abbreviated(words)}; give a list of words")
    listed = taken("words", words, TextError, "words")
    wrong = [word for word in listed if not isinstance(word, str) or not word]
    if wrong or not listed:
        raise TextError(f"words holds {abbreviated(wrong[0] if wrong else listed)}; give texts, at least one")
    if len(set(listed)) < len(listed):
        seen: set[str] = set()
        twice = next(word for word in listed if word in seen or seen.add(word))  # type: ignore[func-returns-value]
        raise TextError(f"words has {abbreviated(twice)} twice; a vocabulary has every word once")
    return listed


def _table(vectors: Any, words: int) -> FloatArray:
    table = floats(vectors, "vectors", TextError, "give a row of numbers for each word")
    if table.ndim != 2 or table.shape[0] != words or not table.shape[1]:
        raise TextError(
            f"vectors has shape {table.shape}; give {words} rows, one for each word, of equal length ≥ 1"
        )
    wrong = np.flatnonzero(~np.isfinite(table).all(axis=1))
    if len(wrong):
        raise TextError(f"vectors: row {wrong[0]} holds nan or infinity; give finite numbers")
    far = np.flatnonzero((np.abs(table) > LARGEST_ENTRY).any(axis=1))
    if len(far):
        raise TextError(
            f"vectors: row {far[0]} holds a number beyond {LARGEST_ENTRY:g}, whose square has no float; "
            "scale the vectors down"
        )
    return table


class RoughDistances:
    """Distances from some rows to others by one matrix product: fast, and off by `error` at most.

    The product loses what squares cancel; words nearer than 1 are done again by differences.
    """

    def __init__(self, vectors: FloatArray) -> None:
        self.vectors = vectors
        self._squares = (vectors**2).sum(axis=1)
        largest = float(self._squares.max(initial=0.0))
        # n + 4 roundings of numbers up to (|a| + |b|)², halved by the root of a square that is at least 1.
        self.error = (vectors.shape[1] + 4) * 2.0**-52 * 2 * largest + 2.0**-50 * (1 + 2 * np.sqrt(largest))

    def rows(self, places: IndexArray, columns: IndexArray | slice = slice(None)) -> FloatArray:
        """A row of distances for each place."""
        part, others = self.vectors[places], self.vectors[columns]
        found = self._squares[places][:, None] + self._squares[columns][None] - 2 * (part @ others.T)
        near = np.nonzero(found < 1.0)
        np.sqrt(np.maximum(found, 0.0, out=found), out=found)
        found[near] = np.linalg.norm(part[near[0]] - others[near[1]], axis=1)
        return np.asarray(found)
