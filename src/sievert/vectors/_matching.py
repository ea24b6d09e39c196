"""Which users are alike, told from their codes: exact neighbours, counts within a radius, distances debiased.

Codes have few possible distances, so ties are the rule; whoever breaks them by the order of users recommends
the first ones. Here every choice among ties is uniform.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sievert.arrays import FloatArray, IntArray, WordArray
from sievert.errors import VectorError
from sievert.numerics import (
    COMPILED,
    Device,
    abbreviated,
    advance,
    generator_of,
    instance,
    non_negative,
    on_device,
    probability,
    require_size,
    whole,
)
from sievert.results import Result
from sievert.vectors._bounds import SMALLEST_EPS
from sievert.vectors._codes import MOST_BITS, Codes, read_codes
from sievert.vectors._distance import angular_block, unit_rows
from sievert.vectors._rows import read_array, read_rows, refuse_zeros

__all__ = [
    "DistanceEstimate",
    "Matches",
    "UtilityLoss",
    "ball_counts",
    "estimate_distance",
    "neighbours",
    "true_neighbours",
    "utility_loss",
    "within",
]

# Codes that are compared with a group of queries at once: 32 kB of 64-bit codes, and their reservoirs.
BLOCK, GROUP = 4096, 64
LARGEST_RESERVOIR = 50_000_000
MOST_BUCKET_BITS = 24
LARGEST_PAIRS = 100_000_000


@dataclass(frozen=True)
class Matches(Result):
    """The nearest of every query.

    Attributes
    ----------
    indices : rows of the codes, nearest first, ties in random order; a row for each query
    distances : how many coordinates differ
    exact : whether these are the nearest codes for certain
    """

    indices: IntArray = field(repr=False)
    distances: IntArray | FloatArray = field(repr=False)
    exact: bool = True

    def __str__(self) -> str:
        queries, k = self.indices.shape
        return f"the {k} nearest of {queries:,} users, {float(np.mean(self.distances)):.4g} away on average"


def neighbours(
    codes: Codes | Any,
    k: int,
    queries: Codes | Any = None,
    rng: int | np.random.Generator | None = None,
    *,
    workers: int = 1,
    device: str | None = None,
) -> Matches:
    """The k codes nearest to each query in Hamming distance, exactly, ties broken uniformly at random.

    Parameters
    ----------
    codes : of all users
    k : how many neighbours
    queries : codes of others, or rows of `codes` to ask for; all of them unless given. A user is never a
        neighbour of their own row
    rng : seed or generator of the ties
    workers : threads
    device : where PyTorch compares all pairs of bits, such as "cuda" (extra `gpu`); the processor by default

    Returns
    -------
    Matches

    Notes
    -----
    One pass: each query keeps a uniform sample of k codes at every distance that can still matter, and the
    radius falls as soon as k are nearer. Memory does not grow with the number of pairs.
    On a device blocks of distances are products of signs, exact in single precision.
    Cost: queries·codes popcounts, about 2·10⁹ a second and core with numba (extra `speed`), 10⁸ without.

    Examples
    --------
    >>> neighbours([[0, 0, 0], [0, 0, 1], [1, 1, 1]], 1, rng=1).indices.tolist()
    [[1], [0], [1]]
    """
    given = read_codes("codes", codes)
    asked, own = _queries(given, queries)
    count = whole("k", k, VectorError)
    others = len(given) - (1 if (own >= 0).any() else 0)
    if count > others:
        raise VectorError(f"k is {count}; there are only {others} other codes")
    require_size(GROUP * (given.bits + 1) * count, LARGEST_RESERVOIR, "the reservoirs", "take a smaller k")
    threads = whole("workers", workers, VectorError, most=256)
    generator = generator_of(rng)
    if device is not None:
        with on_device(device) as there:
            return _on_device(there, given, asked, own, count, generator)
    seeds = generator.integers(0, 2**63, len(asked), dtype=np.uint64)
    indices = np.empty((len(asked), count), dtype=np.int64)
    distances = np.empty((len(asked), count), dtype=np.int64)
    find = _compiled_group if COMPILED else _plain_group
    starts = range(0, len(asked), GROUP)

    def work(start: int) -> None:
        part = slice(start, start + GROUP)
        indices[part], distances[part] = find(given, asked.words[part], own[part], count, seeds[part])

    with ThreadPoolExecutor(threads) as pool:
        for done, _ in enumerate(pool.map(work, starts), start=1):
            advance("matching", min(done * GROUP, len(asked)), len(asked))
    return Matches(indices, distances)


def _on_device(
    there: Device, codes: Codes, asked: Codes, own: IntArray, k: int, rng: np.random.Generator
) -> Matches:
    """Blocks of queries against all codes: d = (bits - s·s')/2 for codes as signs."""
    if codes.values != 2:
        raise VectorError(f"device is for codes of bits; these have {codes.values} values, leave it out")
    signs = there.put(_signs(codes).T)
    indices, distances = np.empty((2, len(asked), k), dtype=np.int64)
    step = there.rows(len(codes))
    for start in range(0, len(asked), step):
        part = slice(start, start + step)
        block = asked.rows(np.arange(len(asked))[part])
        counts = (codes.bits - there.product(there.put(_signs(block)), signs)) / 2
        inside = np.flatnonzero(own[part] >= 0)
        counts[there.put(inside), there.put(own[part][inside])] = codes.bits + 1
        indices[part], distances[part] = there.smallest(counts, k, int(rng.integers(2**62)))
        advance("matching", min(start + step, len(asked)), len(asked))
    return Matches(indices, distances)


def _signs(codes: Codes) -> NDArray[np.float32]:
    return 2 * codes.coordinates().astype(np.float32) - 1


def _queries(codes: Codes, queries: Any) -> tuple[Codes, IntArray]:
    """The codes that are asked for, and their own rows (-1: not among the codes)."""
    if queries is None:
        return codes, np.arange(len(codes))
    if isinstance(queries, Codes):
        return codes.agreeing(queries, "queries"), np.full(len(queries), -1)
    rows = read_array("queries", queries, "codes, or a list of rows of the codes", "iub")
    if rows.ndim == 2:
        found = codes.agreeing(read_codes("queries", rows), "queries")
        return found, np.full(len(found), -1)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise VectorError(f"queries is {abbreviated(queries)}; give codes, or a list of rows of the codes")
    if rows.size and not (rows.min() >= 0 and rows.max() < len(codes)):
        raise VectorError(f"queries holds {rows.max()}; rows are from 0 to {len(codes) - 1}")
    return codes.rows(rows), rows.astype(np.int64)


def _compiled_group(
    codes: Codes, queries: WordArray, own: IntArray, k: int, seeds: WordArray
) -> tuple[IntArray, IntArray]:
    from sievert.vectors._kernels import scan

    size, reach = len(queries), codes.bits + 1
    counts = np.zeros((size, reach), dtype=np.int64)
    kept = np.zeros((size, reach, k), dtype=np.int64)
    radius = np.full(size, codes.bits, dtype=np.int64)
    state = seeds.copy()
    for start in range(0, len(codes), BLOCK):
        block = codes.words[start : start + BLOCK]
        scan(queries, block, start, own, codes.planes, counts, kept, radius, state)
    return _chosen(counts, kept, k, seeds)


def _chosen(counts: IntArray, kept: IntArray, k: int, seeds: WordArray) -> tuple[IntArray, IntArray]:
    """All that are nearer than the radius, and a random choice among those at it."""
    indices, distances = np.empty((2, len(counts), k), dtype=np.int64)
    for q, row in enumerate(counts):
        order = np.random.default_rng(int(seeds[q]))
        place = 0
        for distance in np.flatnonzero(row).tolist():
            held = kept[q, distance, : min(int(row[distance]), k)]
            taken = order.permutation(held)[: k - place]
            indices[q, place : place + len(taken)] = taken
            distances[q, place : place + len(taken)] = distance
            place += len(taken)
            if place == k:
                break
    return indices, distances


def _plain_group(
    codes: Codes, queries: WordArray, own: IntArray, k: int, seeds: WordArray
) -> tuple[IntArray, IntArray]:
    """Without numba: whole rows of distances, with a random share of 1 added to break ties."""
    found = Codes(queries, codes.bits, codes.identity, codes.values).distances(codes)
    order = np.random.default_rng(int(seeds[0]))
    keys = found + order.random(found.shape)
    inside = np.flatnonzero(own >= 0)
    keys[inside, own[inside]] = np.inf
    nearest = np.argpartition(keys, k - 1, axis=1)[:, :k]
    nearest = np.take_along_axis(nearest, np.argsort(np.take_along_axis(keys, nearest, 1), axis=1), 1)
    return nearest, np.take_along_axis(found, nearest, 1)


def ball_counts(codes: Codes | Any, radius: int) -> IntArray:
    """How many codes lie within a radius of every possible code of up to 24 bits.

    Parameters
    ----------
    codes : of all users, bits only
    radius : the largest number of differing bits

    Returns
    -------
    array of 2^bits counts
        Place i stands for the code whose bit j is bit j of i.

    Notes
    -----
    A convolution on the cube: the Walsh–Hadamard transform of the counts times that of the ball, whose value
    at weight w is a sum of Krawtchouk polynomials. Whole numbers throughout.
    Cost: O(bits·2^bits), one second for 20 bits.

    Examples
    --------
    >>> ball_counts([[0, 0, 0], [1, 0, 0], [1, 1, 1]], 1).tolist()
    [2, 2, 1, 2, 1, 2, 1, 1]
    """
    given = read_codes("codes", codes)
    if given.bits > MOST_BUCKET_BITS or given.values != 2:
        raise VectorError(
            f"codes have {given.bits} coordinates of {given.values} values; balls are counted for at most "
            f"{MOST_BUCKET_BITS} bits. Use sv.vectors.within, which needs no list of all codes"
        )
    reach = whole("radius", radius, VectorError, least=0)
    counts = np.bincount(given.words[:, 0].astype(np.int64), minlength=2**given.bits)
    weights = np.bitwise_count(np.arange(2**given.bits, dtype=np.uint64)).astype(np.intp)
    # Products may pass 2^63, but the result times 2^bits does not: arithmetic modulo 2^64 is exact.
    with np.errstate(over="ignore"):
        spectrum = _walsh(counts) * _ball_spectrum(given.bits, min(reach, given.bits))[weights]
        return np.asarray(_walsh(spectrum) >> given.bits)


def _walsh(values: IntArray) -> IntArray:
    """The Walsh–Hadamard transform, by halves."""
    found = values.astype(np.int64, copy=True)
    half = 1
    while half < len(found):
        pairs = found.reshape(-1, 2, half)
        pairs[:, 0], pairs[:, 1] = pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]
        half *= 2
    return found


def _ball_spectrum(bits: int, radius: int) -> IntArray:
    """Σ_{j ≤ radius} K_j(w), the transform of a ball at every weight w."""
    return np.array(
        [
            sum(
                (-1) ** i * math.comb(w, i) * math.comb(bits - w, j - i)
                for j in range(radius + 1)
                for i in range(j + 1)
            )
            for w in range(bits + 1)
        ],
        dtype=np.int64,
    )


def within(
    codes: Codes | Any, radius: int, queries: Codes | Any = None
) -> tuple[IntArray, IntArray, IntArray]:
    """Every pair of a query and a code that differ in at most `radius` coordinates, for small radii.

    Parameters
    ----------
    codes : of all users, bits only
    radius : the largest number of differing bits
    queries : codes of others, or rows of `codes`; all of them unless given

    Returns
    -------
    queries, rows, distances : arrays of one length, sorted by query and row

    Notes
    -----
    Multi-index hashing (Norouzi et al., 2012): codes cut into radius + 1 pieces agree in one of them at
    least, so only codes that share a piece are compared.
    Cost: near-linear while pieces of bits/(radius + 1) bits are rarely shared.

    Examples
    --------
    >>> [part.tolist() for part in within([[0, 0, 0, 0], [0, 0, 0, 1], [1, 1, 1, 1]], 1)]
    [[0, 1], [1, 0], [1, 1]]
    """
    given = read_codes("codes", codes)
    if given.values != 2:
        raise VectorError("codes have more than two values; multi-index hashing is for bits")
    asked, own = _queries(given, queries)
    reach = whole("radius", radius, VectorError, least=0, most=given.bits - 1)
    all_bits, query_bits = given.coordinates(), asked.coordinates()
    found: list[IntArray] = []
    edges = np.linspace(0, given.bits, reach + 2).astype(int)
    for low, high in pairwise(edges.tolist()):
        found.append(_sharing(all_bits[:, low:high], query_bits[:, low:high]))
        require_size(sum(map(len, found)), LARGEST_PAIRS, "pairs that share a piece", "use neighbours")
    pairs = np.unique(np.concatenate(found), axis=0)
    pairs = pairs[own[pairs[:, 0]] != pairs[:, 1]]
    differ = asked.words[pairs[:, 0]] ^ given.words[pairs[:, 1]]
    distances = np.bitwise_count(differ).sum(axis=1).astype(np.int64)
    near = distances <= reach
    return pairs[near, 0], pairs[near, 1], distances[near]


def _sharing(rows: Any, queries: Any) -> IntArray:
    """Pairs (query, row) whose pieces are equal."""
    keys = np.packbits(np.concatenate([rows, queries]), axis=1)
    _, label = np.unique(keys, axis=0, return_inverse=True)
    label = label.ravel()
    mine, theirs = label[: len(rows)], label[len(rows) :]
    order = np.argsort(mine, kind="stable")
    starts = np.searchsorted(mine[order], theirs, side="left")
    sizes = np.searchsorted(mine[order], theirs, side="right") - starts
    require_size(int(sizes.sum()), LARGEST_PAIRS, "pairs that share a piece", "use neighbours")
    query = np.repeat(np.arange(len(queries)), sizes)
    offset = np.arange(len(query)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.stack([query, order[np.repeat(starts, sizes) + offset]], axis=1)


@dataclass(frozen=True)
class DistanceEstimate(Result):
    """What noisy codes say of the distance of two vectors.

    Attributes
    ----------
    value : unbiased; it may fall below 0 or above 1
    low, high : an interval that covers the distance with the confidence (Clopper–Pearson), within [0, 1]
    deviation : standard deviation of the estimate
    """

    value: float
    low: float
    high: float
    deviation: float
    confidence: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return (
            f"distance {self.value:.4g}, between {self.low:.4g} and {self.high:.4g} with confidence "
            f"{100 * self.confidence:g} %"
        )


def estimate_distance(
    differing: int, bits: int, eps: float, *, noisy: int = 2, confidence: float = 0.95
) -> DistanceEstimate:
    """The distance of two vectors from how many bits of their noisy codes differ, without bias.

    Parameters
    ----------
    differing : bits that differ
    bits : of a code
    eps : nats a bit of the noise
    noisy : how many of the two codes are noisy, 1 or 2
    confidence : of the interval

    Returns
    -------
    DistanceEstimate

    Notes
    -----
    Bits differ with probability q + d·(1 - 2q), where q = r for one noisy code and 2r(1-r) for two.
    Cost: O(1).

    Examples
    --------
    >>> import math
    >>> found = estimate_distance(7, 20, math.log(4), noisy=2)
    >>> found.value, found.low, found.high
    (0.083333, 0.0, 0.75607)
    """
    total = whole("bits", bits, VectorError, most=MOST_BITS)
    count = whole("differing", differing, VectorError, least=0, most=total)
    noisy = whole("noisy", noisy, VectorError, least=1, most=2)
    level = non_negative("eps", eps, VectorError, infinite=True)
    share = probability("confidence", confidence, VectorError)
    flip = 1 / (1 + math.exp(min(level, 700.0))) if level < math.inf else 0.0
    q = flip if noisy == 1 else 2 * flip * (1 - flip)
    if level < SMALLEST_EPS:
        raise VectorError(f"eps is {abbreviated(eps)}; such codes say nothing about a distance")
    slope = math.tanh(level / 2) ** noisy  # 1 - 2q
    observed = count / total
    tail = (1 - share) / 2
    low = 0.0 if count == 0 else float(betaincinv(count, total - count + 1, tail))
    high = 1.0 if count == total else float(betaincinv(count + 1, total - count, 1 - tail))
    value = (observed - q) / slope
    expected = q + min(max(value, 0.0), 1.0) * slope
    return DistanceEstimate(
        value,
        min(max((low - q) / slope, 0.0), 1.0),
        min(max((high - q) / slope, 0.0), 1.0),
        math.sqrt(expected * (1 - expected) / total) / slope,
        share,
    )


def true_neighbours(x: Any, k: int) -> Matches:
    """The k vectors nearest to each by angle, from the vectors themselves.

    Parameters
    ----------
    x : one vector a row, dense or sparse
    k : how many neighbours

    Returns
    -------
    Matches

    Notes
    -----
    Reads the private vectors: for experiments and audits.
    Cost: a product of matrices in blocks, N²·n.

    Examples
    --------
    >>> true_neighbours([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]], 1).indices.tolist()
    [[1], [0], [1]]
    """
    units = _units(x)
    count = whole("k", k, VectorError)
    if count >= len(units):
        raise VectorError(f"k is {count}; there are only {len(units) - 1} other vectors")
    indices = np.empty((len(units), count), dtype=np.int64)
    distances = np.empty((len(units), count))
    step = max(1, 10_000_000 // len(units))
    for start in range(0, len(units), step):
        block = angular_block(units[start : start + step], units)
        rows = np.arange(len(block))
        block[rows, start + rows] = np.inf
        nearest = np.argpartition(block, count - 1, axis=1)[:, :count]
        near = np.take_along_axis(block, nearest, 1)
        order = np.argsort(near, axis=1, kind="stable")
        indices[start : start + step] = np.take_along_axis(nearest, order, 1)
        distances[start : start + step] = np.take_along_axis(near, order, 1)
    return Matches(indices, distances)


@dataclass(frozen=True)
class UtilityLoss(Result):
    """How much further the recommended users are than the nearest, on average.

    Attributes
    ----------
    value : mean angular distance of those recommended, less that of the true nearest
    recommended, nearest : the two means
    random : the loss of recommending anybody
    """

    value: float
    recommended: float
    nearest: float
    random: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return (
            f"those recommended are {self.value:.4f} further in angle than the nearest ({self.nearest:.4f}); "
            f"anybody would be {self.random:.4f} further"
        )


def utility_loss(x: Any, matches: Matches, truth: Matches | None = None) -> UtilityLoss:
    """How much is lost by matching codes instead of vectors (10.1): 0 where the nearest are found.

    Parameters
    ----------
    x : the vectors, one a row
    matches : what was recommended to each of them
    truth : the true neighbours, where they are known already

    Returns
    -------
    UtilityLoss

    Notes
    -----
    Preferred to recall: among ties of codes many answers are as good.
    Cost: that of `true_neighbours`.

    Examples
    --------
    >>> x = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]
    >>> float(utility_loss(x, true_neighbours(x, 1)))
    0.0
    """
    units = _units(x)
    for argument, given in (("matches", matches), ("truth", truth)):
        if given is not None or argument == "matches":
            instance(argument, given, Matches, "what neighbours or true_neighbours found", VectorError)
    if matches.indices.shape[0] != len(units):
        raise VectorError(
            f"matches are for {matches.indices.shape[0]} users and there are {len(units)} vectors; "
            "match them all"
        )
    best = true_neighbours(x, matches.indices.shape[1]) if truth is None else truth
    found = np.empty(matches.indices.shape)
    total = 0.0
    step = max(1, 10_000_000 // len(units))
    for start in range(0, len(units), step):
        block = angular_block(units[start : start + step], units)
        total += float(block.sum())
        found[start : start + step] = np.take_along_axis(block, matches.indices[start : start + step], 1)
    nearest = float(best.distances.mean())
    anybody = total / (len(units) * (len(units) - 1))
    return UtilityLoss(float(found.mean()) - nearest, float(found.mean()), nearest, anybody - nearest)


def _units(x: Any) -> FloatArray:
    rows = read_rows("x", x)
    refuse_zeros("x", rows)
    return unit_rows(rows)
