"""Does a channel of fractions keep an ε exactly? Floats find the doubtful entries, balls decide them."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sievert.channels import Channel
from sievert.errors import MetricError
from sievert.ledger import amount
from sievert.policies import Answers
from sievert.proofs import Decay
from sievert.spaces import align

__all__ = ["keeps"]

# Logarithms of ratios closer than this to their limit, relative to 1 and to the limit, are decided exactly.
DOUBTFUL = 1e-9
BLOCK_ENTRIES = 4_000_000

Doubt = tuple[int, int, int, float]  # rows of the larger and the smaller entry, their column and distance


def keeps(channel: Channel, answers: Answers, eps: float | Fraction) -> bool:
    """Whether every ratio of two entries of a column is at most e^(ε·distance), exactly.

    >>> from sievert.policies._policy import Policy
    >>> from sievert.policies._query import Query
    >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]], ["yes", "no"])
    >>> answers = Query.record().answers(Policy.local(["yes", "no"]))
    >>> keeps(coin, answers, 1.0986122886), keeps(coin, answers, 1.0986122887)
    (False, True)
    """
    decay = Decay(eps=eps if isinstance(eps, Fraction) else amount(eps, "eps"))
    entries = channel.exact
    assert entries is not None
    for large, small, output, length in _doubtful(channel, answers, float(decay.eps or 0)):
        more, less = entries[large, output], entries[small, output]
        products = less.numerator * more.denominator, more.numerator * less.denominator
        if not decay.allows(*products, length):
            return False
    return True


def _doubtful(channel: Channel, answers: Answers, eps: float) -> Iterator[Doubt]:
    """Ratios that are not clearly allowed."""
    metric = answers.metric
    order = align(channel.inputs, metric.points, "the metric", MetricError)
    row_of = np.arange(metric.size) if order is None else np.argsort(order)
    logs = channel.log_matrix[row_of]
    if metric.uniform_distance is not None:
        yield from _extremes(channel, logs, row_of, eps, metric.uniform_distance)
        return
    edges = metric.edges
    pairs = np.column_stack(np.triu_indices(metric.size, 1)) if edges is None else edges.pairs
    lengths = metric.matrix[pairs[:, 0], pairs[:, 1]] if edges is None else edges.lengths
    near = np.flatnonzero(np.isfinite(lengths))
    step = max(1, BLOCK_ENTRIES // logs.shape[1])
    for start in range(0, len(near), step):
        chosen = near[start : start + step]
        block, apart = pairs[chosen], lengths[chosen]
        with np.errstate(invalid="ignore"):
            change = logs[block[:, 0]] - logs[block[:, 1]]
        change = np.where(np.isnan(change), 0.0, change)  # impossible for both
        limit = eps * apart * (1 - DOUBTFUL) - DOUBTFUL
        for k, output in np.argwhere(np.abs(change) > limit[:, None]).tolist():
            first, second = (int(row_of[i]) for i in block[k])
            yield from ((first, second, output, float(apart[k])), (second, first, output, float(apart[k])))


def _extremes(
    channel: Channel, logs: NDArray[np.float64], row_of: NDArray[np.intp], eps: float, length: float
) -> Iterator[Doubt]:
    """Where all are equally far apart, the largest and the least entry of a column decide."""
    entries = channel.exact
    assert entries is not None
    high, low = logs.max(axis=0), logs.min(axis=0)
    with np.errstate(invalid="ignore"):
        spread = np.where(np.isneginf(high), 0.0, high - low)
    for output in np.flatnonzero(spread > eps * length * (1 - DOUBTFUL) - DOUBTFUL).tolist():
        top = np.flatnonzero(logs[:, output] >= high[output] - DOUBTFUL)
        bottom = np.flatnonzero(logs[:, output] <= low[output] + DOUBTFUL)
        large = max((int(row_of[i]) for i in top), key=lambda i: entries[i, output])
        small = min((int(row_of[i]) for i in bottom), key=lambda i: entries[i, output])
        yield large, small, output, length
