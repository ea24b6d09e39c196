"""What any ε·d-private mechanism can leak about one word: bounds that need the distances only."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sievert.arrays import FloatArray
from sievert.errors import TextError
from sievert.numerics import exp_or_infinity, in_bits, non_negative, require_size
from sievert.results import Result
from sievert.spaces import Metric
from sievert.text._distance import metric_on
from sievert.text._embedding import Embedding, RoughDistances

__all__ = ["WordCapacity", "capacity_bound"]

LARGEST = 60_000
BLOCK = 512


@dataclass(frozen=True)
class WordCapacity(Result):
    """Upper bounds of the factor by which a release multiplies any adversary's success about one word.

    Attributes
    ----------
    value : the least of them
    method : which one that is
    by_neighbours : words/min_x Σ e^(-ε·d(x, ·))
    by_number : words·e^D/(e^D + words - 1), with D = ε times the largest distance
    by_diameter : e^D (Fernandes, Thm 9.11)
    words : how many there are, itself a bound
    """

    value: float
    method: str
    by_neighbours: float
    by_number: float
    by_diameter: float
    words: int

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return (
            f"no guess about one word gets better by a factor of more than {self.value:.6g}, "
            f"{in_bits(math.log2(self.value))} ({self.method})"
        )


def capacity_bound(embedding_or_metric: Embedding | Metric, eps: float) -> WordCapacity:
    """What any ε·d-private mechanism on the words can leak at most, whoever guesses and whatever is known.

    Parameters
    ----------
    embedding_or_metric : Embedding or Metric
    eps : ε in nats per unit of distance

    Returns
    -------
    WordCapacity

    Notes
    -----
    A column with its maximum at x sums to at least that maximum times Σ e^(-ε·d(x, ·)), which gives the first
    bound; it is never above the others. They hold for gains ≥ 0 only (erratum E6).

    Cost: O(words²), a block of rows at a time.

    References
    ----------
    Fernandes (2021), Thm 9.11.

    Examples
    --------
    >>> plane = Embedding(["o", "x", "y"], [[0, 0], [2, 0], [0, 1]])
    >>> found = capacity_bound(plane, 1.0)
    >>> found.by_neighbours, found.by_number, found.by_diameter
    (2.415044, 2.471667, 9.356469)
    """
    rate = non_negative("eps", eps, TextError)
    if isinstance(embedding_or_metric, Embedding):
        size = embedding_or_metric.size
        require_size(size, LARGEST, "the pairs of words", "take .first(n) of the embedding")
        least, farthest = _of_vectors(embedding_or_metric.vectors, rate)
    else:
        points = getattr(embedding_or_metric, "points", ())
        matrix = metric_on(tuple(points), embedding_or_metric).matrix
        size = len(matrix)
        least, farthest = _least_sum(matrix, rate), float(matrix.max())
    spread = rate * farthest if rate else 0.0
    by_neighbours = size / least
    by_number = size / (1 + (size - 1) * math.exp(-spread))
    found = {
        "the neighbours of every word": by_neighbours,
        "the number of words and their largest distance": by_number,
        "the largest distance": exp_or_infinity(spread),
        "the number of words": float(size),
    }
    method = min(found, key=lambda name: found[name])
    return WordCapacity(found[method], method, by_neighbours, by_number, exp_or_infinity(spread), size)


def _of_vectors(vectors: FloatArray, rate: float) -> tuple[float, float]:
    least, farthest, rough = math.inf, 0.0, RoughDistances(vectors)
    for start in range(0, len(vectors), BLOCK):
        lengths = rough.rows(np.arange(start, min(start + BLOCK, len(vectors))))
        least = min(least, _least_sum(lengths, rate))
        farthest = max(farthest, float(lengths.max()))
    return least, farthest


def _least_sum(lengths: FloatArray, rate: float) -> float:
    with np.errstate(over="ignore"):
        near = np.exp(-rate * lengths) if rate else np.ones_like(lengths)
    return float(near.sum(axis=1).min())
