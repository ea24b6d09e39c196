"""How far apart two documents are: the earth mover's distance of their words.

E(X, Y) = min over plans of Σ mass·distance, both bags of mass 1 (Fernandes, Def 9.2.3): the Kantorovich
distance of their word frequencies, which natural language processing calls the word mover's distance. For
bags of one size N the product N·E is the cost of the best matching of words, and ε·N·E is what a document
mechanism promises (Thm 9.2). The answer carries its plan and the potentials that prove it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import maximum_flow

from sievert.arrays import FloatArray, IndexArray
from sievert.errors import TextError
from sievert.estimation import Transport, kantorovich, prove_transport
from sievert.numerics import abbreviated, require_size, taken, whole
from sievert.proofs import TransportProof
from sievert.results import Result, guarded
from sievert.spaces import Metric, metric_of, metrics
from sievert.text._embedding import Embedding, as_embedding, pair_distances
from sievert.text._words import Bag, as_bag

__all__ = [
    "DocumentIndex",
    "Flow",
    "Neighbours",
    "bottleneck",
    "distance",
    "lower_bounds",
    "nearest_documents",
]

# Different words of two documents together: their distances are a matrix.
LARGEST_DOCUMENTS = 8_000
# Rounding may lift a bound above the distance by a few units of the last place.
SHRUNK = 1 - 1e-12


@dataclass(frozen=True, eq=False, repr=False)
class Flow(Transport):
    """How one document's words become another's.

    Attributes
    ----------
    words : the different words of both documents; `sources` and `targets` are places in it
    sizes : how many words each document has
    p, q : their frequencies
    distances : of the words from one another
    """

    words: tuple[Hashable, ...] = ()
    sizes: tuple[int, int] = (0, 0)
    p: FloatArray | None = None
    q: FloatArray | None = None
    distances: FloatArray | None = None

    @property
    def cost(self) -> float:
        """N·E for documents of one size N: the cost of the best matching; infinite for different sizes."""
        return self.sizes[0] * self.value if self.sizes[0] == self.sizes[1] else np.inf

    def moves(self) -> list[tuple[Hashable, Hashable, float, float]]:
        """From which word to which, how much, how far; the largest contribution first."""
        if self.sources is None or self.targets is None or self.masses is None or self.distances is None:
            return []
        length = self.distances[self.sources, self.targets]
        order = np.argsort(-self.masses * length, kind="stable")
        return [
            (
                self.words[self.sources[i]],
                self.words[self.targets[i]],
                float(self.masses[i]),
                float(length[i]),
            )
            for i in order
        ]

    def matching(self) -> tuple[tuple[str, str, int], ...]:
        """Of documents of one size: which words become which, and how many; cheaper than any other."""
        if self.sources is None or self.targets is None or self.masses is None or self.p is None:
            return ()
        # A vertex of the polytope of plans has whole numbers of words.
        counts = np.rint(self.masses * self.sizes[0]).astype(np.int64)
        return tuple(
            (str(self.words[i]), str(self.words[j]), times)
            for i, j, times in zip(self.sources.tolist(), self.targets.tolist(), counts.tolist(), strict=True)
            if times
        )

    def prove(self) -> TransportProof:
        """That the distance lies between two bounds, as data that is checked without a solver."""
        if self.distances is None:
            raise TextError("two empty documents have distance 0 by definition; there is nothing to prove")
        metric = Metric(self.distances, points=list(self.words), close=True)
        return prove_transport(self, self.p, self.q, metric)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, without the matrix of distances."""
        plain = super().to_dict()
        plain.pop("distances", None)
        return plain

    def __str__(self) -> str:
        return f"{super().__str__()} between documents of {self.sizes[0]} and {self.sizes[1]} words"


def distance(a: Any, b: Any, embedding_or_metric: Embedding | Metric) -> Flow:
    """Earth mover's distance of two documents, with the plan and a proof.

    Parameters
    ----------
    a, b : bags: lists of words, mappings from word to count, or what `bag` made of a text
    embedding_or_metric : Embedding or Metric
        Where the words are.

    Returns
    -------
    Flow
        `value` (sizes are normalised to 1), `cost` = N·value where both have N words, `moves()`, `prove()`.

    Notes
    -----
    Words that both have stay where they are: distances are those of a metric. Two empty documents are at
    distance 0; one empty document has none.

    Cost: a network simplex on the pairs of words that differ.

    References
    ----------
    Fernandes (2021), Def 9.2.3; Kusner et al., From word embeddings to document distances (2015).

    Examples
    --------
    >>> from sievert.text import Embedding
    >>> small = Embedding.small()
    >>> found = distance(["president", "press"], ["chief", "media"], small)
    >>> f"{found.value:.4f}", found.moves()[0][:2]
    ('3.7668', ('president', 'chief'))
    """
    first, second = as_bag("a", a), as_bag("b", b)
    if not first.size and not second.size:
        return Flow(0.0, None, None, None, None, 0, 0.0, "no words")
    if not first.size or not second.size:
        raise TextError(f"{'a' if not first.size else 'b'} has no words; the distance to it is not defined")
    words = tuple(dict.fromkeys([*first, *second]))
    require_size(len(words), LARGEST_DOCUMENTS, "the distances of the words", "compare shorter documents")
    metric = metric_on(words, embedding_or_metric)
    p, q = (np.array([bag.get(word, 0) for word in words]) / bag.size for bag in (first, second))
    found = kantorovich(p, q, metric)
    plain = {item.name: getattr(found, item.name) for item in fields(Transport)}
    return Flow(**plain, words=words, sizes=(first.size, second.size), p=p, q=q, distances=metric.matrix)


def metric_on(words: tuple[Hashable, ...], embedding_or_metric: object) -> Metric:
    """The metric of some words only."""
    if isinstance(embedding_or_metric, Embedding):
        vectors = embedding_or_metric.vectors[embedding_or_metric.places(words)]
        return metrics.euclidean(vectors, labels=list(range(len(words))))
    if not isinstance(embedding_or_metric, Metric):
        raise TextError(
            f"embedding_or_metric is {abbreviated(embedding_or_metric)}; give a sv.text.Embedding or a "
            f"sv.Metric"
        )
    whole_metric = metric_of(embedding_or_metric)
    places = [whole_metric.index(word) for word in words]
    # A part of a metric is one: its triangles were checked with the whole.
    return Metric(whole_metric.matrix[np.ix_(places, places)], close=False)


@guarded
def bottleneck(a: Any, b: Any, embedding_or_metric: Embedding | Metric) -> float:
    """The longest way that a word must go at least, whatever the plan: W∞ of two documents.

    Words drawn at random from a document and then made noisy are ε·N·W∞-private (not ε·N·E: that is false).

    Parameters
    ----------
    a, b : bags
    embedding_or_metric : Embedding or Metric

    Returns
    -------
    float

    Notes
    -----
    Cost: a bisection over the distances with one maximum flow each.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> bottleneck([0, 0], [0, 2], metrics.line(3))
    2.0
    """
    first, second = as_bag("a", a), as_bag("b", b)
    if not first.size or not second.size:
        raise TextError("a document has no words; the bottleneck distance to it is not defined")
    return bottleneck_plan(first, second, embedding_or_metric, (first.size, second.size))[0]


def bottleneck_plan(
    a: Bag, b: Bag, embedding_or_metric: object, sizes: tuple[int, int]
) -> tuple[float, tuple[tuple[str, str, int], ...]]:
    """The longest way, and a plan without longer ones, in units that make both documents equally large.

    `sizes` are those of the documents that the bags are of, or parts of.
    """
    words = tuple(dict.fromkeys([*a, *b]))
    require_size(len(words), LARGEST_DOCUMENTS, "the distances of the words", "compare shorter documents")
    require_size(sizes[0] * sizes[1], 2**31 - 1, "the units of the flow", "compare shorter documents")
    place = {word: i for i, word in enumerate(words)}
    table = metric_on(words, embedding_or_metric).matrix
    lengths = table[np.ix_([place[word] for word in a], [place[word] for word in b])]
    # In whole units of 1/(|a|·|b|), so that flows are exact.
    supply = np.array([times * sizes[1] for times in a.values()], dtype=np.int64)
    demand = np.array([times * sizes[0] for times in b.values()], dtype=np.int64)
    steps = np.unique(lengths)
    low, high = 0, len(steps) - 1
    while low < high:
        middle = (low + high) // 2
        if _carried(lengths <= steps[middle], supply, demand)[0]:
            high = middle
        else:
            low = middle + 1
    flow = coo_array(_carried(lengths <= steps[low], supply, demand)[1])
    names = list(map(str, a)), list(map(str, b))
    ways = zip(*(part.tolist() for part in (*flow.coords, flow.data)), strict=True)
    return float(steps[low]), tuple((names[0][i], names[1][j], units) for i, j, units in ways if units > 0)


def _carried(allowed: Any, supply: IndexArray, demand: IndexArray) -> tuple[bool, Any]:
    """Whether all supply reaches the demands along allowed pairs, and how much goes along each."""
    sources, sinks = allowed.shape
    tails, heads = np.nonzero(allowed)
    start, end = sources + sinks, sources + sinks + 1
    rows = np.concatenate([np.full(sources, start), tails, sources + np.arange(sinks)])
    columns = np.concatenate([np.arange(sources), sources + heads, np.full(sinks, end)])
    capacity = np.concatenate([supply, supply[tails], demand]).astype(np.int32)
    graph = csr_array(coo_array((capacity, (rows, columns)), shape=(end + 1, end + 1)))
    found = maximum_flow(graph, start, end)
    between = csr_array(found.flow)[:sources, sources : sources + sinks]
    return int(found.flow_value) == int(supply.sum()), between


# ── Many documents: cheap lower bounds first, so that most distances are never worked out ───────────────────


@dataclass(frozen=True)
class Neighbours(Result):
    """The nearest documents to one.

    Attributes
    ----------
    places : which, nearest first; ties in their order
    distances : how far
    solved : how many distances were worked out; all others are farther by a lower bound
    """

    places: tuple[int, ...]
    distances: tuple[float, ...]
    solved: int
    documents: int

    def __str__(self) -> str:
        near = ", ".join(
            f"{place} ({value:.4g})" for place, value in zip(self.places, self.distances, strict=True)
        )
        return f"nearest documents {near}; {self.solved} of {self.documents} distances were worked out"


@guarded
def lower_bounds(a: Any, documents: Iterable[Any], embedding: Embedding) -> FloatArray:
    """Lower bounds of the distances from one document to many: the larger of two that are cheap.

    Parameters
    ----------
    a : a bag
    documents : bags
    embedding : Embedding

    Returns
    -------
    array
        For each document the larger of the distance of the means and the relaxed distance, in which every
        word goes to the nearest one; both are at most the distance.

    Notes
    -----
    Cost: the distances from the words of `a` to all words of the documents, once.

    References
    ----------
    Kusner et al., From word embeddings to document distances (2015), Sec 4.

    Examples
    --------
    >>> from sievert.text import Embedding
    >>> plane = Embedding(["sea", "lake", "car"], [[0, 0], [0, 1], [5, 0]])
    >>> lower_bounds(["sea"], [["lake"], ["sea", "car"]], plane)
    array([1. , 2.5])
    """
    return DocumentIndex(documents, embedding).bounds(a)


def nearest_documents(a: Any, documents: Iterable[Any], embedding: Embedding, k: int = 1) -> Neighbours:
    """The k documents nearest to one by earth mover's distance.

    Parameters
    ----------
    a : a bag
    documents : bags
    embedding : Embedding
    k : how many

    Returns
    -------
    Neighbours

    Notes
    -----
    Documents are taken by rising lower bound (`lower_bounds`); the search ends when the next bound is not
    below the k-th best distance, so the answer is exact. For many questions make a `DocumentIndex` once.

    Cost: the bounds, and a network simplex for each document that they do not exclude.

    Examples
    --------
    >>> from sievert.text import Embedding
    >>> plane = Embedding(["sea", "lake", "car"], [[0, 0], [0, 1], [5, 0]])
    >>> print(nearest_documents(["sea"], [["lake"], ["car"], ["car", "car", "sea"]], plane))
    nearest documents 0 (1); 1 of 3 distances were worked out
    """
    return DocumentIndex(documents, embedding).nearest(a, k)


def _bags(documents: Iterable[Any]) -> list[Bag]:
    listed = taken("documents", documents, TextError, "bags")
    bags = [as_bag(f"documents, entry {place}", bag) for place, bag in enumerate(listed, start=1)]
    empty = [place for place, bag in enumerate(bags, start=1) if not bag.size]
    if empty or not bags:
        what = f"entry {empty[0]} has no words" if empty else "there is none"
        raise TextError(f"documents: {what}; the distance to it is not defined")
    return bags


class DocumentIndex:
    """Documents among which nearest ones are looked for, prepared once.

    Parameters
    ----------
    documents : bags
    embedding : Embedding

    Examples
    --------
    >>> from sievert.text import Embedding
    >>> plane = Embedding(["sea", "lake", "car"], [[0, 0], [0, 1], [5, 0]])
    >>> DocumentIndex([["lake"], ["car"]], plane).nearest(["sea"]).places
    (0,)
    """

    def __init__(self, documents: Iterable[Any], embedding: Embedding) -> None:
        self.embedding = as_embedding("embedding", embedding)
        self.bags = bags = _bags(documents)
        words = tuple(dict.fromkeys(word for bag in bags for word in bag))
        place = {word: i for i, word in enumerate(words)}
        self._vectors = self.embedding.vectors[self.embedding.places(words)]
        self._entries = np.array([place[word] for bag in bags for word in bag], dtype=np.intp)
        self._shares = np.array([times / bag.size for bag in bags for times in bag.values()])
        self._ends = np.cumsum([0, *(len(bag) for bag in bags)])
        weighted = self._vectors[self._entries] * self._shares[:, None]
        self._centres = np.add.reduceat(weighted, self._ends[:-1], axis=0)

    def nearest(self, a: Any, k: int = 1) -> Neighbours:
        """The k documents nearest to a bag, exactly: see `nearest_documents`."""
        query = self._query(a)
        wanted = min(whole("k", k, TextError), len(self.bags))
        shares, lengths, bounds = self._cheap(query)
        found: list[tuple[float, int]] = []
        solved = 0
        for place in np.argsort(bounds, kind="stable").tolist():
            if len(found) == wanted:
                if bounds[place] > found[-1][0]:
                    break
                if self._relaxed(place, shares, lengths) > found[-1][0]:
                    continue
            found.append((float(distance(query, self.bags[place], self.embedding)), place))
            found = sorted(found)[:wanted]
            solved += 1
        return Neighbours(
            tuple(place for _, place in found), tuple(value for value, _ in found), solved, len(self.bags)
        )

    def bounds(self, a: Any) -> FloatArray:
        """Lower bounds of the distances from a bag to every document: see `lower_bounds`."""
        shares, lengths, cheap = self._cheap(self._query(a))
        relaxed = [self._relaxed(place, shares, lengths) for place in range(len(self.bags))]
        return np.asarray(np.maximum(cheap, relaxed))

    def _query(self, a: Any) -> Bag:
        query = as_bag("a", a)
        if not query.size:
            raise TextError("a has no words; the distance to it is not defined")
        return query

    def _cheap(self, query: Bag) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Frequencies of the query, distances of its words to all words, and the bounds that cost little."""
        rows = self.embedding.vectors[self.embedding.places(query)]
        shares = np.array(list(query.values())) / query.size
        between = np.linalg.norm(self._centres - shares @ rows, axis=1)
        lengths = pair_distances(rows, self._vectors)
        there = np.add.reduceat(lengths.min(axis=0)[self._entries] * self._shares, self._ends[:-1])
        return shares, lengths, np.asarray(np.maximum(between, there) * SHRUNK)

    def _relaxed(self, place: int, shares: FloatArray, lengths: FloatArray) -> float:
        """Every word of the query goes to the nearest one of a document."""
        words = self._entries[self._ends[place] : self._ends[place + 1]]
        return float(shares @ lengths[:, words].min(axis=1)) * SHRUNK
