"""Attackers on released bags: who wrote it, and what is it about?

Each takes known texts and noisy bags and answers with one candidate for each bag. Nearest neighbours look at
means of vectors; Koppel, Schler & Argamon (2011) vote over random subsets of character 4-grams; a linear
model learns topics from words; and the attacker who knows the channel compares likelihoods, which nothing
beats where his model of the authors is right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IndexArray
from sievert.errors import TextError
from sievert.numerics import log_sum
from sievert.text._embedding import Embedding, RoughDistances, pair_distances
from sievert.text._mechanisms import ExponentialWords, WordMechanism
from sievert.text._tokens import ngrams
from sievert.text._words import Bag

__all__ = ["by_channel", "by_linear_model", "by_ngrams", "nearest_author", "nearest_topic"]

GRAM = 4
MOST_FEATURES = 20_000
ROUNDS, SHARE = 100, 0.5
NEIGHBOURS = 5
# Weight of a word that an author was never seen to use, spread over the vocabulary.
UNSEEN = 0.05
# The largest product of a rate and a length.
STEEPEST = 1e300


def means(bags: Sequence[Bag], embedding: Embedding) -> FloatArray:
    """The mean vector of each bag."""
    rows = []
    for bag in bags:
        places = embedding.places(bag)
        shares = np.array(list(bag.values())) / max(bag.size, 1)
        rows.append(shares @ embedding.vectors[places] if bag.size else np.zeros(embedding.dimensions))
    return np.array(rows)


def nearest_author(known: Sequence[Bag], unknown: Sequence[Bag], embedding: Embedding) -> IndexArray:
    """Whose known text has the nearest mean."""
    return np.asarray(pair_distances(means(unknown, embedding), means(known, embedding)).argmin(axis=1))


def nearest_topic(
    known: Sequence[Bag], topics: Sequence[str], unknown: Sequence[Bag], embedding: Embedding
) -> list[str]:
    """The topic of most of the five nearest known texts; ties go to the nearest."""
    order = np.argsort(pair_distances(means(unknown, embedding), means(known, embedding)), axis=1)
    found = []
    for row in order[:, :NEIGHBOURS].tolist():
        votes = Counter(topics[place] for place in row)
        most = max(votes.values())
        found.append(next(topics[place] for place in row if votes[topics[place]] == most))
    return found


def grams(bag: Bag) -> Counter[str]:
    """Character 4-grams within words; a shorter word is one gram, with marks around it."""
    counts: Counter[str] = Counter()
    for word, times in bag.items():
        text = str(word)
        for gram in ngrams(text, GRAM) if len(text) > GRAM else [f"<{text}>"]:
            counts[gram] += times
    return counts


def by_ngrams(known: Sequence[Bag], unknown: Sequence[Bag], rng: np.random.Generator) -> IndexArray:
    """Who wins most of 100 votes, each by cosine similarity on a random half of the grams."""
    counted = [grams(bag) for bag in known]
    total: Counter[str] = sum(counted, Counter())
    features = [gram for gram, _ in total.most_common(MOST_FEATURES)]
    place = {gram: i for i, gram in enumerate(features)}
    table = _counts(counted, place)
    masks = (rng.random((len(features), ROUNDS)) < SHARE).astype(np.float32)
    lengths = np.sqrt(table**2 @ masks)
    found = np.empty(len(unknown), dtype=np.intp)
    for i, bag in enumerate(unknown):
        row = _counts([grams(bag)], place)[0]
        products = (table * row) @ masks
        with np.errstate(divide="ignore", invalid="ignore"):
            similarity = np.nan_to_num(products / lengths)
        winners = similarity.argmax(axis=0)
        found[i] = np.bincount(winners, minlength=len(known)).argmax()
    return found


def _counts(counted: Sequence[Counter[str]], place: dict[str, int]) -> NDArray[np.float32]:
    table = np.zeros((len(counted), len(place)), dtype=np.float32)
    for row, counts in enumerate(counted):
        for gram, times in counts.items():
            if gram in place:
                table[row, place[gram]] = times
    return table


def by_linear_model(known: Sequence[Bag], topics: Sequence[str], unknown: Sequence[Bag]) -> list[str]:
    """A logistic model of topics on tf-idf weights of words (scikit-learn)."""
    try:
        from sklearn.feature_extraction import DictVectorizer
        from sklearn.feature_extraction.text import TfidfTransformer
        from sklearn.linear_model import LogisticRegression
        from sklearn.pipeline import make_pipeline
    except ImportError:
        raise TextError(
            "the linear model needs scikit-learn: python -m pip install 'sievert[text]'"
        ) from None
    model = make_pipeline(DictVectorizer(), TfidfTransformer(), LogisticRegression(max_iter=1000))
    model.fit([_named(bag) for bag in known], list(topics))
    return [str(topic) for topic in model.predict([_named(bag) for bag in unknown])]


def _named(bag: Bag) -> dict[str, int]:
    return {str(word): times for word, times in bag.items()}


def by_channel(
    known: Sequence[Bag], unknown: Sequence[Bag], mechanism: WordMechanism, rng: np.random.Generator
) -> IndexArray:
    """The author whose words, sent through the channel, make the released bag likeliest.

    An author is the frequencies of the known text, mixed with a little of every known word. The rows of the
    exponential mechanism are known; those of noise with decoding are not, and a kernel e^(-rate·d) that fits
    simulated words best takes their place, so there the attacker may be beaten.
    """
    words = sorted({str(word) for bag in known for word in bag})
    seen = sorted({str(word) for bag in unknown for word in bag})
    if not words or not seen:
        return np.zeros(len(unknown), dtype=np.intp)
    logs = _log_rows(mechanism, words, seen, rng)
    place = {word: i for i, word in enumerate(words)}
    frequencies = np.zeros((len(known), len(words)))
    for row, bag in enumerate(known):
        for word, times in bag.items():
            frequencies[row, place[str(word)]] = times / bag.size
    mixed = (1 - UNSEEN) * frequencies + UNSEEN * frequencies.mean(axis=0)
    scale = np.maximum(logs.max(axis=0), -1e300)
    with np.errstate(divide="ignore"):
        likely = np.log(mixed @ np.exp(logs - scale)) + scale
    column = {word: i for i, word in enumerate(seen)}
    scores = np.array(
        [
            sum((times * likely[:, column[str(word)]] for word, times in bag.items()), np.zeros(len(known)))
            for bag in unknown
        ]
    )
    return np.asarray(scores.argmax(axis=1))


def _log_rows(
    mechanism: WordMechanism, words: list[str], seen: list[str], rng: np.random.Generator
) -> FloatArray:
    """ln K from every known word (rows) to every released one (columns), or of the kernel that fits best."""
    found = mechanism.log_rows(words, seen)
    if found is None:
        kernel = ExponentialWords(mechanism.embedding, 2 * fitted_rate(mechanism, rng))
        found = kernel.log_rows(words, seen)
    return found


def fitted_rate(mechanism: WordMechanism, rng: np.random.Generator, tries: int = 300) -> float:
    """The rate of the kernel e^(-rate·d) that makes simulated outputs of public words likeliest."""
    table = mechanism.embedding
    low = 200 if table.size > 400 else 0
    places = rng.integers(low, min(table.size, 10_000), tries)
    found = mechanism.sampler(rng).draw(places)
    lengths = RoughDistances(table.vectors).rows(places)
    moved = lengths[np.arange(tries), found]
    with np.errstate(over="ignore"):  # beyond, a float holds no product with a length
        rates = np.minimum(mechanism.eps * np.geomspace(0.02, 2.0, 25), STEEPEST / max(1.0, lengths.max()))
    scores = [float((-rate * moved - log_sum(-rate * lengths, axis=1)).sum()) for rate in rates]
    return float(rates[int(np.argmax(scores))])
