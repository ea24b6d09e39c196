"""What a file with [documents] can name as a mechanism."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field

from sievert.kinds import ConfigType, Positive, variant
from sievert.text._embedding import Embedding
from sievert.text._mechanisms import WordMechanism, word_mechanism

__all__ = ["WordFamily"]

Level = Annotated[
    float,
    Field(gt=0, allow_inf_nan=False, description="ε in nats per unit of the embedding's distance"),
]


class WordFamily(ConfigType, noun="word-mechanism"):
    """What becomes of every word of a document."""

    tables_only = True
    elsewhere: ClassVar[Mapping[str, str]] = {
        "laplace": 'it is called "word-laplace" here',
        "exponential": 'it is called "word-exponential" here',
        "projected-laplace": 'it is called "word-projected-laplace" here',
        "geometric": "noise on numbers goes with [data]; documents need a mechanism on words",
    }

    eps: Level

    @abstractmethod
    def mechanism(self, embedding: Embedding) -> WordMechanism:
        """The mechanism on the words of a table."""

    @classmethod
    def usual(cls, eps: float, embedding: Embedding) -> Self | None:
        """The mechanism as a design compares it; None where its promise is not about all words."""
        return cls(eps=eps)

    @property
    def further(self) -> dict[str, Any]:
        """What a kind has beside its ε, by the names that `word_mechanism` gives it."""
        return self.model_dump(exclude={"kind", "eps"})


@variant(WordFamily, "word-laplace")
class WordLaplace(WordFamily):
    """Noise on the word's vector, then the nearest word; drawn in floating point."""

    def mechanism(self, embedding: Embedding) -> WordMechanism:
        return word_mechanism(embedding, self.eps, "word-laplace")


@variant(WordFamily, "word-exponential")
class WordExponential(WordFamily):
    """A word w' with probability proportional to e^(-(eps/2)·d(w, w')); drawn exactly."""

    def mechanism(self, embedding: Embedding) -> WordMechanism:
        return word_mechanism(embedding, self.eps, "word-exponential")


@variant(WordFamily, "word-projected-laplace")
class WordProjectedLaplace(WordFamily):
    """Laplace noise on principal components: the same promise with less noise; floating point."""

    dimensions: Annotated[Positive, Field(description="how many principal components")]

    def mechanism(self, embedding: Embedding) -> WordMechanism:
        return word_mechanism(embedding, self.eps, "word-projected-laplace", dimensions=self.dimensions)

    @classmethod
    def usual(cls, eps: float, embedding: Embedding) -> Self | None:
        return cls(eps=eps, dimensions=max(1, min(20, embedding.dimensions // 2)))


@variant(WordFamily, "word-clusters")
class WordClusters(WordFamily):
    """The exponential mechanism within public clusters of words; the cluster of a word is published."""

    clusters: Annotated[Positive, Field(description="how many clusters the vocabulary is cut into")]

    def mechanism(self, embedding: Embedding) -> WordMechanism:
        return word_mechanism(embedding, self.eps, "word-clusters", clusters=self.clusters)

    @classmethod
    def usual(cls, eps: float, embedding: Embedding) -> Self | None:
        return None
