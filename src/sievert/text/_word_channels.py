"""The channel of a small vocabulary: how often each word becomes each other, exactly or with intervals.

Decoding to the nearest word cuts space into convex cells, and only the noise along the affine hull of the
words matters. On a line a cell is an interval. In a plane the probability of a cell, seen from a word, is one
smooth integral over each of its edges: ∫ P(noise longer than h/cos α) dα/2π, where h is the distance to the
edge's line. Two words lie on a line and three in a plane, whatever the dimension. Beyond that words are
simulated, with intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import betainccinv, betaincinv

from sievert.arrays import FloatArray, IndexArray, IntArray
from sievert.channels import Channel
from sievert.errors import TextError
from sievert.mechanisms import exponential
from sievert.numerics import generator_of, positive, probability, require_size, whole
from sievert.results import Result
from sievert.spaces import floats as real_numbers
from sievert.spaces import metrics
from sievert.text._embedding import Embedding
from sievert.text._mechanisms import ClusteredWords, LaplaceWords, ProjectedLaplaceWords, word_mechanism
from sievert.text._noise import log_plane_tail, marginal_tail

__all__ = ["WordChannelEstimate", "estimate_word_channel", "word_channel"]

LARGEST_ON_LINE, LARGEST_IN_PLANE, LARGEST_EXPONENTIAL = 2_000, 120, 3_000
# Beyond, probabilities would fall below the smallest float and look like 0.
LARGEST_REACH = 600
# Directions that differ by less than rounding span nothing.
FLAT = 1e-10
# Tanh-sinh nodes on an edge: the integrand may fall like e^(-1/x) towards its ends.
NODES = 60
# Noisy words of a simulation, and those drawn at once.
MOST_DRAWS, DRAWN_AT_ONCE = 500_000_000, 1_000_000


def word_channel(
    embedding_or_points: Embedding | Any,
    eps: float,
    *,
    kind: str = "word-laplace",
    dimensions: int | None = None,
    clusters: int | None = None,
) -> Channel:
    """The exact channel of a mechanism on a small vocabulary.

    Parameters
    ----------
    embedding_or_points : an Embedding, or rows of coordinates
    eps : ε in nats per unit of distance
    kind : "word-laplace" (noise, then the nearest word), "word-exponential", "word-projected-laplace" or
        "word-clusters"
    dimensions : of the projection
    clusters : how many

    Returns
    -------
    Channel
        From word to word; of words that share a vector the first is always answered.

    Notes
    -----
    Noise: words on a line or in a plane of any space, so any two or three words; to about 1e-13. More
    dimensions have no closed form: `estimate_word_channel` simulates them.

    Cost: O(m²) on a line, O(m³) in a plane.

    References
    ----------
    Fernandes (2021), Alg 2.

    Examples
    --------
    >>> word_channel([[0.0], [1.0], [3.0]], 1.0).matrix[0]
    array([0.69673467, 0.23559769, 0.06766764])
    """
    vectors, labels = _points(embedding_or_points)
    rate = positive("eps", eps, TextError)
    table = Embedding([str(place) for place in range(len(vectors))], vectors)
    mechanism = word_mechanism(table, rate, kind, dimensions=dimensions, clusters=clusters)
    if mechanism.exact:
        require_size(len(vectors), LARGEST_EXPONENTIAL, "the words of the channel", "take fewer words")
    if kind == "word-exponential":
        return exponential(metrics.euclidean(vectors, labels=labels), rate)
    if isinstance(mechanism, ClusteredWords):
        return Channel(np.exp(mechanism.log_rows(list(table.words), list(table.words))), labels, labels)
    assert isinstance(mechanism, LaplaceWords | ProjectedLaplaceWords)
    points, first = _distinct(mechanism.points)
    flat = _flattened(points)
    reach = rate * float(np.ptp(flat, axis=0).sum()) if flat.size else 0.0
    require_size(reach, LARGEST_REACH, "eps times the width of the vocabulary", "take a smaller eps")
    solve = {0: _alone, 1: _on_line, 2: _in_plane}.get(flat.shape[1])
    if solve is None:
        raise TextError(
            f"the {len(points)} words span {flat.shape[1]} dimensions, and only those on a line or in a "
            "plane have an exact channel; use estimate_word_channel, or kind = 'word-exponential'"
        )
    among = solve(flat * rate, mechanism.dimensions)
    return Channel(_spread(among, first), labels, labels)


def _points(given: Any) -> tuple[FloatArray, list[Any]]:
    if isinstance(given, Embedding):
        return given.vectors, list(given.words)
    rule = "give an Embedding, or a row of coordinates for each word"
    points = real_numbers(given, "embedding_or_points", TextError, rule)
    if points.ndim == 1:
        points = points[:, None]
    if points.ndim != 2 or not points.size or not np.isfinite(points).all():
        raise TextError(
            f"embedding_or_points has shape {points.shape}; give a row of finite coordinates a word"
        )
    return points, list(range(len(points)))


def _distinct(points: FloatArray) -> tuple[FloatArray, IndexArray]:
    """The different rows in the order in which they first occur, and which of them each word has."""
    _, first, group = np.unique(points, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return points[np.sort(first)], rank[group.ravel()]


def _spread(among: FloatArray, group: IndexArray) -> FloatArray:
    """From different points to words: the first word of a point is answered, the others never."""
    columns = np.zeros((len(group), len(group)))
    first = np.array([int(np.flatnonzero(group == one)[0]) for one in range(len(among))])
    columns[:, first] = among[group]
    return columns


def _flattened(points: FloatArray) -> FloatArray:
    """Coordinates within the affine hull: noise across it changes no nearest word."""
    centred = points - points[0]
    _, lengths, axes = np.linalg.svd(centred, full_matrices=False)
    kept = lengths > FLAT * max(float(lengths[0]), 1e-300) if len(points) > 1 else lengths < 0
    return np.asarray(centred @ axes[kept].T)


def _alone(points: FloatArray, n: int) -> FloatArray:
    return np.ones((1, 1))


def _on_line(points: FloatArray, n: int) -> FloatArray:
    """Cells are intervals: differences of tails, on the side where they are small."""
    require_size(len(points), LARGEST_ON_LINE, "the words of the channel", "take fewer words")
    line = points[:, 0]
    order = np.argsort(line, kind="stable")
    sorted_line = line[order]
    cuts = np.concatenate([[-np.inf], (sorted_line[1:] + sorted_line[:-1]) / 2, [np.inf]])
    # Both tails, so that no entry is a difference of numbers near 1.
    away = cuts[None] - sorted_line[:, None]
    lengths = np.minimum(np.abs(away), 1e300)
    tails = np.where(np.isinf(away), 0.0, marginal_tail(np.where(np.isinf(away), 0.0, lengths), n, 1.0))
    low, high = away[:, :-1], away[:, 1:]
    inside = np.where(
        low >= 0,
        tails[:, :-1] - tails[:, 1:],
        np.where(high <= 0, tails[:, 1:] - tails[:, :-1], 1 - tails[:, :-1] - tails[:, 1:]),
    )
    found = np.empty_like(inside)
    found[np.ix_(order, order)] = inside
    return found


def _in_plane(points: FloatArray, n: int) -> FloatArray:
    """[w is c] plus, over the edges of the cell of c, ± how much noise crosses them, seen from w."""
    require_size(len(points), LARGEST_IN_PLANE, "the words of the channel", "take fewer words")
    found = np.eye(len(points))
    for c, other, normal, offset, low, high in _edges(points):
        # Positive where w is on the side of c: rays then leave its cell through this edge.
        height = offset - points @ normal
        along = points @ np.array([-normal[1], normal[0]])
        crossing = _crossing(np.abs(height), low - along, high - along, n) * np.sign(height)
        found[:, c] -= crossing
        found[:, other] += crossing
    return np.asarray(np.maximum(found, 0.0))


def _edges(points: FloatArray) -> list[tuple[int, int, FloatArray, float, float, float]]:
    """Edges of the cells: two words, the bisector's normal and offset, and from where to where along it."""
    found = []
    for c in range(len(points)):
        for other in range(c + 1, len(points)):
            difference = points[other] - points[c]
            normal = difference / np.linalg.norm(difference)
            middle = (points[other] + points[c]) / 2
            direction = np.array([-normal[1], normal[0]])
            # At middle + s·direction c must be as near as any third word: a half line of s for each.
            others = np.delete(points, [c, other], axis=0)
            apart = others - points[c]
            slope = 2 * apart @ direction
            room = (others**2).sum(axis=1) - (points[c] ** 2).sum() - 2 * apart @ middle
            with np.errstate(divide="ignore", invalid="ignore"):
                ends = room / slope
            tolerance = 1e-12 * (1 + np.abs(room))
            if ((np.abs(slope) <= 1e-14 * np.abs(apart).max(axis=1, initial=0)) & (room < -tolerance)).any():
                continue
            level = np.abs(slope) > 1e-14 * np.abs(apart).max(axis=1, initial=0)
            low = float(np.max(ends[level & (slope < 0)], initial=-np.inf))
            high = float(np.min(ends[level & (slope > 0)], initial=np.inf))
            if low < high:
                start = float(middle @ direction)
                found.append((c, other, normal, float(middle @ normal), low + start, high + start))
    return found


def _crossing(height: FloatArray, low: FloatArray, high: FloatArray, n: int) -> FloatArray:
    """∫ P(longer than h/cos α) dα/2π over the angles under which the edge is seen; tanh-sinh in α."""
    safe = np.maximum(height, 1e-300)
    start, end = np.arctan(low / safe), np.arctan(high / safe)
    steps = np.linspace(-3.2, 3.2, NODES * 2 + 1)
    inner = np.tanh(np.pi / 2 * np.sinh(steps))
    weights = np.pi / 2 * np.cosh(steps) / np.cosh(np.pi / 2 * np.sinh(steps)) ** 2 * (steps[1] - steps[0])
    angles = (start + end)[:, None] / 2 + (end - start)[:, None] / 2 * inner
    lengths = safe[:, None] / np.maximum(np.cos(angles), 1e-300)
    tails = np.exp(log_plane_tail(np.minimum(lengths, 1e5), n))
    return np.where(height > 0, (tails * weights).sum(axis=1) * (end - start) / 2 / (2 * np.pi), 0.0)


# ── Beyond a plane: simulated, with intervals ───────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class WordChannelEstimate(Result):
    """A simulated word channel.

    Attributes
    ----------
    channel : shares of the trials
    lower, upper : Clopper–Pearson intervals; each entry on its own, and all at once, lies within with
        probability `confidence` (Bonferroni over all entries)
    trials : draws of each word
    """

    channel: Channel = field(repr=False)
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    trials: int
    confidence: float

    def __str__(self) -> str:
        widest = float((self.upper - self.lower).max())
        return (
            f"word channel simulated with {self.trials} draws a word: all entries within ±{widest / 2:.2g} "
            f"with confidence {self.confidence:g}"
        )


def estimate_word_channel(
    embedding: Embedding,
    eps: float,
    *,
    kind: str = "word-laplace",
    dimensions: int | None = None,
    trials: int = 10_000,
    confidence: float = 0.99,
    rng: int | np.random.Generator | None = None,
) -> WordChannelEstimate:
    """The channel of a mechanism on a vocabulary in any number of dimensions, simulated.

    Parameters
    ----------
    embedding : Embedding
    eps : ε in nats per unit of distance
    kind : as in `word_channel`
    dimensions : of the projection
    trials : draws of each word
    confidence : with which all entries lie in their intervals
    rng : a seed or a generator

    Returns
    -------
    WordChannelEstimate

    Notes
    -----
    An estimate proves no ε: what was not drawn may still happen.

    Cost: O(words²·trials).

    Examples
    --------
    >>> table = Embedding(["a", "b"], [[0.0, 0, 0], [1, 0, 0]])
    >>> found = estimate_word_channel(table, 2.0, trials=1000, rng=1)
    >>> bool(found.lower[0, 1] <= 0.275909580879 <= found.upper[0, 1])
    True
    """
    mechanism = word_mechanism(embedding, eps, kind, dimensions=dimensions)
    many = whole("trials", trials, TextError)
    size = mechanism.embedding.size
    require_size(size * size, 4_000_000, "the entries of the channel", "take fewer words")
    require_size(size * many, MOST_DRAWS, "the draws of noise", "take fewer trials; 10,000 tell much")
    sampler = mechanism.sampler(generator_of(rng))
    counts: IntArray = np.zeros((size, size), dtype=np.int64)
    for place in range(size):
        for start in range(0, many, DRAWN_AT_ONCE):
            part = np.full(min(DRAWN_AT_ONCE, many - start), place)
            counts[place] += np.bincount(sampler.draw(part), minlength=size)
    sure = probability("confidence", confidence, TextError)
    lower, upper = intervals(counts, many, 1 - (1 - sure) / counts.size)
    labels = list(mechanism.embedding.words)
    return WordChannelEstimate(Channel(counts / many, labels, labels), lower, upper, many, sure)


def intervals(counts: Any, trials: int, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Clopper–Pearson bounds of shares."""
    counts = np.asarray(counts, dtype=np.float64)
    tail = (1 - confidence) / 2
    lower = np.where(counts > 0, betaincinv(np.maximum(counts, 1), trials - counts + 1, tail), 0.0)
    upper = np.where(counts < trials, betainccinv(counts + 1, np.maximum(trials - counts, 1), tail), 1.0)
    return lower, upper
