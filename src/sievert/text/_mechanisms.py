"""Mechanisms on words: Laplace noise with decoding, the same in fewer dimensions, the exponential, clusters.

Each is ε·d-private on the words for the distances of the embedding, so that N words drawn one by one are
ε·N·E-private (Fernandes, Thm 9.2). Only the exponential knows its probabilities, and only it is drawn
exactly; the others compute with floats in many dimensions, and say so.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IndexArray, IntArray
from sievert.errors import TextError
from sievert.numerics import abbreviated, choice, log_sum, positive, read_eps, require_size, whole
from sievert.sampling import Sampler, WideExponentialRows, floats
from sievert.text._decoding import Decoder
from sievert.text._embedding import Embedding, RoughDistances, as_embedding, pair_distances, principal_axes
from sievert.text._tight import steepest

__all__ = ["KINDS", "WordMechanism", "word_mechanism"]

# Words that get noise at once.
BLOCK = 4096
ROUNDS = 30
LARGEST_TIGHT = 50_000
# Times any distance it is still a float.
LARGEST_EPS = 1e150


class WordMechanism(ABC):
    """What becomes of one word.

    Attributes
    ----------
    kind : as a file names it
    embedding : the public table
    eps : nats per unit of its distance
    exact : whether words are drawn by integers, exactly with the stated probabilities
    tightens : whether less than ε holds, and `tight` says how much
    """

    kind: str
    exact = False
    tightens = False

    def __init__(self, embedding: Embedding, eps: float) -> None:
        self.embedding, self.eps = embedding, eps

    @abstractmethod
    def sampler(self, insecure_rng: object = None) -> Sampler:
        """Draws places of words for places of words."""

    @property
    def publishes(self) -> IndexArray | None:
        """The public cluster of every word, which a release shows as it is; None: nothing is shown."""
        return None

    def tight(self) -> float | None:
        """The least ε that holds, where the probabilities are known; None: they are not."""
        return None

    def log_rows(self, words: list[str], seen: list[str]) -> FloatArray | None:
        """ln of the probability that each word (row) becomes each other (column); None: not known."""
        return None

    def words(self) -> str:
        """The mechanism in words."""
        return f"{self.kind}, eps = {self.eps:g} per unit of {self.embedding.name}"


class _NoisyWords(Sampler):
    """Noise in floats, then the nearest word."""

    kind = "n-dimensional Laplace, nearest word"
    exact = False

    def __init__(self, points: FloatArray, decoder: Decoder, eps: float, insecure_rng: object) -> None:
        super().__init__("fast", insecure_rng)
        self._points, self._decoder, self._eps = points, decoder, eps

    @property
    def parameters(self) -> dict[str, Any]:
        return {"n": self._points.shape[1], "eps": self._eps, "words": len(self._points)}

    def draw(self, inputs: Any) -> IntArray:
        """Places of words for places of words."""
        places = np.asarray(inputs, dtype=np.int64)
        found = np.empty(len(places), dtype=np.int64)
        for start in range(0, len(places), BLOCK):
            part = places[start : start + BLOCK]
            # A fresh generator for each block, seeded with 256 bits of the source.
            seed = self.source.words(0, self.source.reserve(4)).tolist()
            noise = floats.laplace_vectors(
                self._points.shape[1], self._eps, insecure_rng=np.random.default_rng(seed)
            )
            found[start : start + len(part)] = self._decoder.nearest(noise.draw(self._points[part]))
        return found


class LaplaceWords(WordMechanism):
    """Noise on the word's vector, then the nearest word (Fernandes, Alg 2)."""

    kind = "word-laplace"

    @property
    def dimensions(self) -> int:
        """In how many dimensions noise is added."""
        return self.embedding.dimensions

    @cached_property
    def points(self) -> FloatArray:
        """Where the words are when noise is added."""
        return self.embedding.vectors

    @cached_property
    def decoder(self) -> Decoder:
        """The nearest words."""
        return Decoder(self.points)

    def sampler(self, insecure_rng: object = None) -> Sampler:
        return _NoisyWords(self.points, self.decoder, self.eps, insecure_rng)


class ProjectedLaplaceWords(LaplaceWords):
    """The same on m principal components: projecting shortens distances, so that less noise keeps ε·d."""

    kind = "word-projected-laplace"

    def __init__(self, embedding: Embedding, eps: float, dimensions: int) -> None:
        super().__init__(embedding, eps)
        self._dimensions = whole("dimensions", dimensions, TextError, most=embedding.dimensions)

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @cached_property
    def points(self) -> FloatArray:
        axes = principal_axes(self.embedding.vectors)[:, : self._dimensions]
        return np.asarray(self.embedding.vectors @ axes)

    def words(self) -> str:
        return f"{super().words()}, {self._dimensions} principal components"


class ExponentialWords(WordMechanism):
    """A word w' with probability proportional to e^(-(eps/2)·d(w, w')); drawn exactly."""

    kind = "word-exponential"
    exact = True
    tightens = True

    def distances(self, place: int) -> FloatArray:
        """From one word to all."""
        return np.asarray(pair_distances(self.embedding.vectors[[place]], self.embedding.vectors)[0])

    def sampler(self, insecure_rng: object = None) -> WideExponentialRows:
        size = self.embedding.size
        rough = RoughDistances(self.embedding.vectors)
        return WideExponentialRows(
            self.distances,
            (size, size),
            read_eps(self.eps) / 2,
            insecure_rng,
            rough=rough.rows,
            error=rough.error,
        )

    def tight(self) -> float:
        """The least ε that holds, in nats per unit of distance, rounded up: ε/2 + max |ln Z - ln Z'|/d."""
        size = self.embedding.size
        require_size(size, LARGEST_TIGHT, "the pairs of words", "take .first(n) of the embedding")
        return _least(self.embedding, self.eps) if size > 1 else 0.0

    def log_rows(self, words: list[str], seen: list[str]) -> FloatArray:
        table, rate = self.embedding, self.eps / 2
        places, targets = table.places(words), table.vectors[table.places(seen)]
        rough = RoughDistances(table.vectors)
        rows = [
            -rate * pair_distances(table.vectors[part], targets)
            - log_sum(-rate * rough.rows(part), axis=1)[:, None]
            for part in np.split(places, range(512, len(places), 512))
        ]
        return np.concatenate(rows)


@lru_cache(maxsize=4)
def _least(embedding: Embedding, eps: float) -> float:
    found = eps / 2 + steepest(embedding.vectors, eps / 2)
    return min(eps, float(np.nextafter(found, np.inf)))


class ClusteredWords(WordMechanism):
    """The exponential mechanism within public clusters of words: the cluster of a word is published.

    Words of different clusters are told apart for certain; the promise is about words of one cluster.
    """

    kind = "word-clusters"
    exact = True

    def __init__(self, embedding: Embedding, eps: float, clusters: int) -> None:
        super().__init__(embedding, eps)
        self.count = whole("clusters", clusters, TextError, most=embedding.size)

    @cached_property
    def cluster_of(self) -> IndexArray:
        """The cluster of every word: k-means on the public table, from a fixed start."""
        return _clusters(self.embedding.vectors, self.count)

    @property
    def publishes(self) -> IndexArray | None:
        return self.cluster_of

    def distances(self, place: int) -> FloatArray:
        """From one word to all of its cluster; the others are never drawn."""
        found = pair_distances(self.embedding.vectors[[place]], self.embedding.vectors)[0]
        found[self.cluster_of != self.cluster_of[place]] = np.inf
        return np.asarray(found)

    def sampler(self, insecure_rng: object = None) -> Sampler:
        return _WithinClusters(self, insecure_rng)

    def log_rows(self, words: list[str], seen: list[str]) -> FloatArray:
        table, rate = self.embedding, self.eps / 2
        targets = table.places(seen)
        found = np.full((len(words), len(seen)), -np.inf)
        for row, place in enumerate(table.places(words).tolist()):
            lengths = self.distances(place)
            found[row] = -rate * lengths[targets] - log_sum(-rate * lengths[None], axis=1)[0]
        return found

    def words(self) -> str:
        return f"{super().words()} within {self.count} public clusters"


class _WithinClusters(Sampler):
    kind = "exponential within clusters"

    def __init__(self, mechanism: ClusteredWords, insecure_rng: object) -> None:
        super().__init__("fast", insecure_rng)
        self._mechanism = mechanism
        self._samplers: dict[int, tuple[IndexArray, WideExponentialRows]] = {}

    @property
    def parameters(self) -> dict[str, Any]:
        return {"eps": self._mechanism.eps / 2, "clusters": self._mechanism.count}

    def draw(self, inputs: Any) -> IntArray:
        """Places of words for places of words."""
        places = np.asarray(inputs, dtype=np.int64)
        clusters = self._mechanism.cluster_of[places]
        found = np.empty(len(places), dtype=np.int64)
        for cluster in np.unique(clusters).tolist():
            members, sampler = self._of_cluster(cluster)
            here = np.flatnonzero(clusters == cluster)
            found[here] = members[sampler.draw(np.searchsorted(members, places[here]))]
        return found

    def _of_cluster(self, cluster: int) -> tuple[IndexArray, WideExponentialRows]:
        if cluster not in self._samplers:
            mechanism = self._mechanism
            members = np.flatnonzero(mechanism.cluster_of == cluster)
            vectors = mechanism.embedding.vectors[members]
            rows = WideExponentialRows(
                lambda row: pair_distances(vectors[[row]], vectors)[0],
                (len(members), len(members)),
                read_eps(mechanism.eps) / 2,
                self.source,
            )
            self._samplers[cluster] = members, rows
        return self._samplers[cluster]


def _clusters(vectors: FloatArray, count: int) -> IndexArray:
    """Lloyd's rounds from the farthest-first start, which depends on the public table alone."""
    chosen = [0]
    nearest = pair_distances(vectors[[0]], vectors)[0]
    for _ in range(count - 1):
        chosen.append(int(np.argmax(nearest)))
        nearest = np.minimum(nearest, pair_distances(vectors[[chosen[-1]]], vectors)[0])
    centres = vectors[chosen]
    found = Decoder(centres).nearest(vectors)
    for _ in range(ROUNDS):
        sums = np.zeros_like(centres)
        np.add.at(sums, found, vectors)
        sizes = np.bincount(found, minlength=count)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres)
        again = Decoder(centres).nearest(vectors)
        if (again == found).all():
            break
        found = again
    return found


Maker = Callable[[Embedding, float, int | None, int | None], WordMechanism]
MAKERS: dict[str, Maker] = {
    "word-laplace": lambda table, eps, dimensions, clusters: LaplaceWords(table, eps),
    "word-exponential": lambda table, eps, dimensions, clusters: ExponentialWords(table, eps),
    "word-projected-laplace": lambda table, eps, dimensions, clusters: ProjectedLaplaceWords(
        table, eps, _given("dimensions", dimensions, "word-projected-laplace")
    ),
    "word-clusters": lambda table, eps, dimensions, clusters: ClusteredWords(
        table, eps, _given("clusters", clusters, "word-clusters")
    ),
}
KINDS = tuple(MAKERS)


def word_mechanism(
    embedding: Embedding,
    eps: float,
    kind: str = "word-laplace",
    *,
    dimensions: int | None = None,
    clusters: int | None = None,
) -> WordMechanism:
    """The mechanism of a kind; eps is in nats per unit of the embedding's distance."""
    table = as_embedding("embedding", embedding)
    rate = positive("eps", eps, TextError)
    found = choice("kind", kind, KINDS, TextError)
    if rate > LARGEST_EPS and found != "word-laplace":
        raise TextError(f"eps is {abbreviated(eps)}; give at most 1e150")
    if dimensions is not None and found != "word-projected-laplace":
        raise TextError(
            f"dimensions is {abbreviated(dimensions)}; it goes with kind = 'word-projected-laplace' only"
        )
    if clusters is not None and found != "word-clusters":
        raise TextError(f"clusters is {abbreviated(clusters)}; it goes with kind = 'word-clusters' only")
    return MAKERS[found](table, rate, dimensions, clusters)


def _given(argument: str, value: int | None, kind: str) -> int:
    if value is None:
        raise TextError(f"{argument} is not given; kind = {kind!r} needs it")
    return value
