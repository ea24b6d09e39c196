"""Documents against the peer and the naive forms: decoding, the exponential mechanism, distances, neighbours.

The peer of decoding computes all distances of one noisy vector at a time; that of the exponential mechanism
makes a row of probabilities for every word; that of nearest documents is a loop of POT's exact solver. Sizes
are words of the vocabulary, or documents; notes are words drawn in a second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.harness import Row, timed
from sievert.sampling import Sampler
from sievert.text import Bag, DocumentIndex, Embedding, distance
from sievert.text._mechanisms import WordMechanism, word_mechanism
from sievert.text._tight import steepest

DIMENSIONS = 50


def run() -> list[Row]:
    """Everything, at growing sizes."""
    return [*decoding(), *exponential(), *tight(), *neighbours()]


def _table(words: int) -> Embedding:
    rng = np.random.default_rng(0)
    return Embedding([f"w{place}" for place in range(words)], rng.standard_normal((words, DIMENSIONS)) * 0.6)


def _row(
    name: str,
    size: int,
    ours: Callable[[], object],
    peer: str,
    theirs: Callable[[], object],
    words: int,
    few: int,
) -> Row:
    """Both for as many words: the peer draws fewer of them."""
    seconds = timed(ours, repeat=2)
    slow = timed(theirs, repeat=1) * words / few
    return Row(name, size, seconds, peer, slow, f"{words / seconds:,.0f} words/s")


def decoding() -> list[Row]:
    """Laplace noise and the exact nearest word, against one distance row a word."""
    rows = []
    for size in (5_000, 20_000, 34_000):
        table = _table(size)
        mechanism = word_mechanism(table, 10.0)
        places = np.random.default_rng(1).integers(0, size, 2000)
        sampler = mechanism.sampler(1)
        noisy = table.vectors[places[:20]] + 1.0

        def naive(noisy: np.ndarray = noisy, table: Embedding = table) -> None:
            for point in noisy:
                np.linalg.norm(table.vectors - point, axis=1).argmin()

        rows.append(
            _row(
                "laplace, nearest word", size, lambda s=sampler, p=places: s.draw(p), "naive", naive, 2000, 20
            )  # type: ignore[misc]
        )
    return rows


def exponential() -> list[Row]:
    """Exact draws with rows that are kept, against a row of probabilities for every word."""
    rows = []
    for size in (5_000, 20_000, 34_000):
        table = _table(size)
        mechanism = word_mechanism(table, 4.0, "word-exponential")
        sampler = mechanism.sampler(1)
        frequent = np.random.default_rng(2).zipf(1.3, 2000) % min(size, 1000)
        sampler.draw(frequent)
        rng = np.random.default_rng(3)

        def naive(
            table: Embedding = table, places: np.ndarray = frequent[:20], rng: np.random.Generator = rng
        ) -> None:
            for place in places:
                weights = np.exp(-2.0 * np.linalg.norm(table.vectors - table.vectors[place], axis=1))
                rng.choice(len(weights), p=weights / weights.sum())

        def cold(mechanism: WordMechanism = mechanism, places: np.ndarray = frequent) -> None:
            mechanism.sampler(1).draw(places)

        def kept(sampler: Sampler = sampler, places: np.ndarray = frequent) -> None:
            sampler.draw(places)

        rows.append(_row("exponential, kept rows", size, kept, "naive", naive, 2000, 20))
        rows.append(_row("exponential, new rows", size, cold, "naive", naive, 2000, 20))
    return rows


def tight() -> list[Row]:
    """The least ε of the exponential on words, against the slopes of all pairs."""
    rows, table = [], Embedding.small()
    for size in (2_500, 5_000, 10_000):
        vectors = table.first(size).vectors

        def naive(vectors: np.ndarray = vectors) -> None:
            logs = np.concatenate([np.log(np.exp(-2.0 * part).sum(axis=1)) for part in _lengths(vectors)])
            for start, part in zip(range(0, len(logs), 250), _lengths(vectors), strict=True):
                apart = np.abs(logs[start : start + 250, None] - logs[None])
                np.divide(apart, part, where=part > 0, out=np.zeros_like(part)).max()

        ours = timed(lambda v=vectors: steepest(v, 2.0), repeat=2)  # type: ignore[misc]
        rows.append(Row("least ε", size, ours, "all pairs", timed(naive, repeat=1)))
    return rows


def _lengths(vectors: np.ndarray) -> Iterator[np.ndarray]:
    """All distances by differences of squares, some rows at a time."""
    squares = (vectors**2).sum(axis=1)
    for start in range(0, len(vectors), 250):
        part = slice(start, start + 250)
        found = squares[part, None] + squares[None] - 2 * vectors[part] @ vectors.T
        yield np.sqrt(np.maximum(found, 0.0))


def neighbours() -> list[Row]:
    """Nearest of many documents with bounds, against a loop of POT's exact solver over all."""
    try:
        import ot
    except ImportError:
        return []
    table, rows = Embedding.small(), []
    rng = np.random.default_rng(4)
    for count in (50, 100, 200):
        documents = [_document(rng, table, topic % 20) for topic in range(count)]
        query = _document(rng, table, 3)
        distance(query, documents[0], table)

        def loop(query: Bag = query, documents: list[Bag] = documents) -> None:
            for other in documents:
                p, q = (np.array(list(bag.values())) / bag.size for bag in (query, other))
                ot.emd2(p, q, table.distances(query, other))

        index = DocumentIndex(documents, table)
        ours = timed(lambda q=query, i=index: i.nearest(q), repeat=3)  # type: ignore[misc]
        rows.append(Row("nearest document", count, ours, "POT, all distances", timed(loop, repeat=1)))
    return rows


def _document(rng: np.random.Generator, table: Embedding, topic: int) -> Bag:
    """Words near one of some topics, and some common ones."""
    near = [word for word, _ in table.nearest(table.words[1000 + 37 * topic], 120)]
    return Bag([*rng.choice(near, 80).tolist(), *rng.choice(table.words[200:2000], 40).tolist()])
