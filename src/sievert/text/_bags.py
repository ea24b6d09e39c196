"""From words to documents: what a mechanism on words does to a bag of them.

Every occurrence gets its own noise and the order is forgotten: K*(b){c} sums, over the distinct arrangements
of c, the products of word probabilities (Fernandes, eq 9.9), which is a permanent divided by the factorials
of c. Counting how many of each word are still to be placed turns it into a recursion over few states.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import Channel, as_channel
from sievert.errors import TextError
from sievert.numerics import in_nats, log_fraction, log_sum, non_negative, require_size, whole
from sievert.results import Result, guarded
from sievert.spaces import Metric
from sievert.text._distance import distance
from sievert.text._embedding import Embedding
from sievert.text._words import Bag, as_bag

__all__ = ["BagLoss", "bag_bound", "bag_channel", "bag_loss", "bag_probability"]

LARGEST_STATES, LARGEST_BAGS, LARGEST_CHANNEL = 2_000_000, 200_000, 4_000_000
Counts = tuple[int, ...]


@guarded
def bag_probability(b: Any, c: Any, channel: Channel) -> float | Fraction:
    """How often the document b becomes the document c, when every word goes through the channel.

    Parameters
    ----------
    b : the bag that is protected
    c : the bag that is released
    channel : Channel
        On words; a channel of fractions gives a fraction.

    Returns
    -------
    float or Fraction
        0 where their sizes differ.

    Notes
    -----
    A permanent: hard in general, and refused where both recursions are long.

    Cost: N·states·(different words), where states is the smaller of Π(1 + count) over b and over c.

    References
    ----------
    Fernandes (2021), eq 9.9.

    Examples
    --------
    >>> from sievert.mechanisms import randomised_response
    >>> warner = randomised_response(["yes", "no"], alpha="1/2")
    >>> bag_probability(["yes", "no"], ["yes", "no"], warner)
    Fraction(5, 9)
    """
    source, target = as_bag("b", b), as_bag("c", c)
    law = as_channel(channel)
    found = _log_probability(source, target, law)
    return found if isinstance(found, Fraction) else math.exp(float(found))


def _log_probability(b: Bag, c: Bag, channel: Channel) -> Any:
    """ln of the probability; the probability itself where the channel is exact."""
    exact = channel.form == "exact"
    rows = [channel.input_index(word) for word in b]
    columns = [channel.output_index(word) for word in c]
    if b.size != c.size:
        return Fraction(0) if exact else -math.inf
    if not b.size:
        return Fraction(1) if exact else 0.0
    return log_count(b, c, (channel.entries if exact else channel.log_matrix)[np.ix_(rows, columns)])


def log_count(b: Bag, c: Bag, entries: Any) -> Any:
    """ln P of bags of one size from ln K between their different words; P itself where K is of fractions."""
    exact = entries.dtype == object
    over_b, over_c = (math.prod(times + 1 for times in side.values()) for side in (b, c))
    require_size(
        min(over_b, over_c), LARGEST_STATES, "the permanent", "take shorter documents, or bag_likelihood"
    )
    # P = per(K[b_i, c_j])/Π c_y!, whichever side is counted off.
    if over_c <= over_b:
        listed = np.repeat(np.arange(len(b)), list(b.values()))
        return _counted(entries[listed], tuple(c.values()), exact)
    listed = np.repeat(np.arange(len(c)), list(c.values()))
    per = _counted(entries.T[listed], tuple(b.values()), exact)
    if exact:
        ways = math.prod(math.factorial(times) for times in b.values())
        return per * Fraction(ways, math.prod(math.factorial(times) for times in c.values()))
    ways_b, ways_c = (sum(math.lgamma(times + 1) for times in side.values()) for side in (b, c))
    return per + ways_b - ways_c


def _counted(rows: Any, counts: Counts, exact: bool) -> Any:
    """The coefficient of Π t_y^counts_y in Π_i Σ_y rows[i, y]·t_y (or its ln)."""
    shape = tuple(times + 1 for times in counts)
    nothing, one = (Fraction(0), Fraction(1)) if exact else (-np.inf, 0.0)
    table = np.full(shape, nothing, dtype=object if exact else np.float64)
    table[(0,) * len(shape)] = one
    for row in rows:
        grown = np.full(shape, nothing, dtype=table.dtype)
        for axis, weight in enumerate(row):
            here = tuple(slice(1, None) if i == axis else slice(None) for i in range(len(shape)))
            before = tuple(slice(None, -1) if i == axis else slice(None) for i in range(len(shape)))
            if exact:
                grown[here] += table[before] * weight
            else:
                grown[here] = np.logaddexp(grown[here], table[before] + weight)
        table = grown
    last = table[tuple(counts)]
    return last if exact else float(last)


def bag_channel(channel: Channel, size: int) -> Channel:
    """The channel from documents of `size` words to documents: every word goes through the given one.

    Parameters
    ----------
    channel : Channel
        On words.
    size : words of a document

    Returns
    -------
    Channel
        Inputs and outputs are sorted tuples of words; exact where the channel is.

    Notes
    -----
    Cost: O(bags²·outputs) for the C(m + size - 1, size) bags.

    References
    ----------
    Fernandes (2021), eq 9.9.

    Examples
    --------
    >>> from sievert.mechanisms import randomised_response
    >>> pairs = bag_channel(randomised_response(2, alpha="1/2"), 2)
    >>> pairs.inputs, [str(p) for p in pairs.entries[1]]
    (((0, 0), (0, 1), (1, 1)), ['2/9', '5/9', '2/9'])
    """
    law, many = as_channel(channel), whole("size", size, TextError)
    inputs, outputs = law.shape
    sizes = [math.comb(side + many - 1, many) for side in (inputs, outputs)]
    require_size(sizes[0] * sizes[1], LARGEST_CHANNEL, "the channel on bags", "take smaller bags")
    exact = law.form == "exact"
    table = _Bags(outputs, many)
    rows = [
        table.of_bag(bag, law.entries if exact else law.log_matrix, exact)
        for bag in combinations_with_replacement(range(inputs), many)
    ]
    names = [_names(law.inputs, inputs, many), _names(law.outputs, outputs, many)]
    if exact:
        return Channel(np.array(rows, dtype=object), *names)
    return Channel.from_log(_normalised(np.array(rows)), *names)


def _names(labels: Any, count: int, size: int) -> list[tuple[Hashable, ...]]:
    return [tuple(labels[i] for i in places) for places in combinations_with_replacement(range(count), size)]


def _normalised(logs: FloatArray) -> FloatArray:
    """Rows that sum to 1 but for rounding, made to."""
    return np.asarray(logs - log_sum(logs, axis=1)[:, None])


class _Bags:
    """All bags of up to `size` of `outputs` words, and which bag a bag becomes with one word more."""

    def __init__(self, outputs: int, size: int) -> None:
        layers = [list(combinations_with_replacement(range(outputs), many)) for many in range(size + 1)]
        self.last = layers[-1]
        self._more = []
        for smaller, larger in pairwise(layers):
            place = {bag: i for i, bag in enumerate(larger)}
            self._more.append(
                np.array(
                    [[place[tuple(sorted((*bag, word)))] for word in range(outputs)] for bag in smaller]
                ).reshape(len(smaller), outputs)
            )
        self._sizes = [len(layer) for layer in layers]

    def of_bag(self, places: Counts, entries: Any, exact: bool) -> Any:
        """The distribution (or its ln) over bags of the words at these places."""
        current: Any = np.array([Fraction(1)] if exact else [0.0], dtype=object if exact else np.float64)
        for step, place in enumerate(places):
            grown: Any = np.full(
                self._sizes[step + 1], Fraction(0) if exact else -np.inf, dtype=current.dtype
            )
            for word, weight in enumerate(entries[place]):
                targets = self._more[step][:, word]
                if exact:
                    grown[targets] += current * weight
                else:
                    grown[targets] = np.logaddexp(grown[targets], current + weight)
            current = grown
        return current


@dataclass(frozen=True)
class BagLoss(Result):
    """How much one released document can favour one of two documents over the other.

    Attributes
    ----------
    value : the largest |ln P(c | first) - ln P(c | second)|, in nats
    output : the bag c that attains it
    ratio : the probabilities' ratio as a fraction, where the channel is exact
    exact : whether every output was looked at (documents of different sizes: infinite, and exact)
    """

    value: float
    output: tuple[Hashable, ...] | None
    ratio: Fraction | None
    exact: bool = True

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        if math.isinf(self.value) and self.output is None:
            return "the documents have different sizes, and a release shows its size: they are told apart"
        return f"{in_nats(self.value, 9)} at most, on the released bag {list(self.output or ())}"


def bag_loss(b: Any, c: Any, channel: Channel) -> BagLoss:
    """The exact worst log-ratio of two documents, over every document that may be released.

    Parameters
    ----------
    b, c : two bags of one size
    channel : Channel
        On words.

    Returns
    -------
    BagLoss
        In nats, with the released bag that attains it. Infinite where the sizes differ.

    Notes
    -----
    At most ε·N·E of the two (`bag_bound`) where the channel is ε·d-private, and often less.

    Cost: O(N·outputs·bags) for C(outputs + N - 1, N) bags.

    References
    ----------
    Fernandes (2021), Thm 9.2.

    Examples
    --------
    >>> from sievert.text import word_channel
    >>> words = word_channel([[0.0], [1.0], [3.0]], 1.0)
    >>> print(bag_loss([0, 2], [1, 1], words))
    2.05550083 nats at most, on the released bag [1, 1]
    """
    first, second, law = as_bag("b", b), as_bag("c", c), as_channel(channel)
    places = [[law.input_index(word) for word in bag.items_listed()] for bag in (first, second)]
    if first.size != second.size:
        return BagLoss(math.inf, None, None)
    if not first.size:
        return BagLoss(0.0, (), Fraction(1) if law.form == "exact" else None)
    outputs = law.shape[1]
    count = math.comb(outputs + first.size - 1, first.size)
    require_size(count, LARGEST_BAGS, "the released bags", "take shorter documents, or bag_bound")
    exact = law.form == "exact"
    table = _Bags(outputs, first.size)
    entries = law.entries if exact else law.log_matrix
    rows = [table.of_bag(tuple(one), entries, exact) for one in places]
    if exact:
        return _exact_loss(rows, table.last, law)
    possible = ~(np.isneginf(rows[0]) & np.isneginf(rows[1]))
    apart = np.zeros(count)
    with np.errstate(invalid="ignore"):
        apart[possible] = np.abs(rows[0][possible] - rows[1][possible])
    worst = int(np.argmax(apart))
    return BagLoss(float(apart[worst]), tuple(law.outputs[i] for i in table.last[worst]), None)


def _exact_loss(rows: Any, bags: list[Counts], channel: Channel) -> BagLoss:
    best: tuple[float | Fraction, int] = (Fraction(0), 0)
    for place, (p, q) in enumerate(zip(*rows, strict=True)):
        if p or q:
            ratio = max(p, q) / min(p, q) if min(p, q) else math.inf
            best = max(best, (ratio, place))
    words = tuple(channel.outputs[i] for i in bags[best[1]])
    if not isinstance(best[0], Fraction):
        return BagLoss(math.inf, words, None)
    return BagLoss(log_fraction(best[0]), words, best[0])


@guarded
def bag_bound(b: Any, c: Any, eps: float, embedding_or_metric: Embedding | Metric) -> float:
    """What is promised for two documents: ε·N·E nats; infinite where their sizes differ.

    Parameters
    ----------
    b, c : two bags
    eps : ε of the mechanism on words, in nats per unit of distance
    embedding_or_metric : Embedding or Metric

    Returns
    -------
    float
        No release favours one document over the other by a factor of more than e to this.

    Notes
    -----
    The output is as long as the input, so documents of different sizes are told apart whatever E is.

    Cost: one `distance`.

    References
    ----------
    Fernandes (2021), Thm 9.2 and Thm 9.10.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> bag_bound([0, 2], [1, 1], 1.0, metrics.line(3)), bag_bound([0], [0, 0], 1.0, metrics.line(3))
    (2.0, inf)
    """
    rate = non_negative("eps", eps, TextError)
    found = distance(b, c, embedding_or_metric)
    if found.sizes[0] != found.sizes[1]:
        return math.inf
    return rate * found.cost if rate else 0.0
