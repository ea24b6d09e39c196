"""An adversary's value on every output of a randomised response, in O(n) memory.

Column y of the joint distribution is lie·π with entry y replaced by truth·π_y: one entry of the sorted
prior moves up, and everything else stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.channels.response import ResponseChannel
from sievert.leakage.adversary import Adversary, MatrixAdversary
from sievert.leakage.closed_forms import Guessing, Identity, Shannon, Symmetric, Tries
from sievert.leakage.columns import ColumnValues, column_values, float_prior

__all__: list[str] = []  # everything here is reached through `column_values`

FloatArray = NDArray[np.float64]
CHUNK = 100_000
# Up to this many values the matrix is as quick, and exact for exact priors.
SMALL_RESPONSE = 1000


@column_values.register
def _(channel: ResponseChannel, adversary: Adversary, prior: object) -> ColumnValues:
    if prior is None and isinstance(adversary, Symmetric):
        return _even(channel, adversary)
    if channel.shape[0] <= SMALL_RESPONSE or not isinstance(adversary, Symmetric | MatrixAdversary):
        return column_values.dispatch(Channel)(channel, adversary, prior)
    belief = float_prior(prior, channel)
    truth, lie = float(channel.truth), float(channel.lie)
    if isinstance(adversary, Guessing):
        return _guesses(belief, truth, lie)
    if isinstance(adversary, MatrixAdversary):
        values = _actions(adversary, belief, truth, lie)
    elif isinstance(adversary, Shannon):
        values = _entropies(belief, truth, lie)
    else:
        values = _tries(belief, adversary.tries if isinstance(adversary, Tries) else 1, truth, lie)
    return ColumnValues(values, _weights(belief, truth, lie))


def _even(channel: ResponseChannel, adversary: Symmetric) -> ColumnValues:
    """Uniform prior: all outputs are alike; one column has one truth and n-1 lies."""
    size, truth, lie = channel.shape[0], channel.truth, channel.lie
    if isinstance(adversary, Identity):
        value: Any = truth
    elif isinstance(adversary, Tries):
        value = truth + (min(adversary.tries, size) - 1) * lie
    elif isinstance(adversary, Guessing):
        value = truth + lie * (size * (size + 1) // 2 - 1)
    else:
        value = -(float(truth) * channel.log_truth) / math.log(2) + (size - 1) * _plog(float(lie))
    dtype = object if isinstance(value, Fraction) else np.float64
    values, weights = np.empty(1, dtype), np.empty(1, dtype)
    values[0], weights[0] = value / size, (Fraction(1, size) if dtype is object else 1 / size)
    return ColumnValues(values, weights, (size,), np.zeros(1, dtype=np.intp))


def _weights(belief: FloatArray, truth: float, lie: float) -> FloatArray:
    """Probability of each output."""
    weights = (truth - lie) * belief
    weights += lie
    return weights


def _plog(p: float) -> float:
    return -p * math.log2(p) if p > 0 else 0.0


def _chunks(size: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, size)) for start in range(0, size, CHUNK))


def _actions(adversary: MatrixAdversary, belief: FloatArray, truth: float, lie: float) -> FloatArray:
    """Every action's expected gain is lie times that under the prior, plus what the truth at y adds."""
    table = adversary.table
    parts = list(_chunks(len(belief)))
    base = np.zeros(len(table))
    for part in parts:
        base += lie * (table[:, part].astype(np.float64) @ belief[part])
    values = np.empty(len(belief))
    for part in parts:
        scores = base[:, None] + (truth - lie) * (table[:, part].astype(np.float64) * belief[part])
        values[part] = scores.min(axis=0) if adversary.is_loss else scores.max(axis=0)
    return values


def _tries(belief: FloatArray, tries: int, truth: float, lie: float) -> FloatArray:
    k = min(tries, len(belief))
    largest = np.partition(belief, len(belief) - k)[len(belief) - k :].copy()
    least, total = float(largest[0]), float(largest.sum())
    # With y among the k largest its own entry only grows; otherwise it may replace the least of them.
    values = np.where(belief >= least, total - belief, total - least)
    values *= lie
    values += truth * belief
    return np.maximum(values, lie * total, out=values)


def _entropies(belief: FloatArray, truth: float, lie: float) -> FloatArray:
    """Σ_x J log2(w/J) of each column, from the prior's own Σ π log2 π."""

    def logs(part: slice) -> FloatArray:
        return np.asarray(belief[part] * np.log2(np.where(belief[part] > 0, belief[part], 1.0)))

    total = math.fsum(float(logs(part).sum()) for part in _chunks(len(belief)))
    values = np.empty(len(belief))
    for part in _chunks(len(belief)):
        own, entry = logs(part), belief[part]
        weight = lie + (truth - lie) * entry
        inner = lie * (total - own) + truth * own - _plog(lie) * (1 - entry) - _plog(truth) * entry
        values[part] = weight * np.log2(np.where(weight > 0, weight, 1.0)) - inner
    return values


def _guesses(belief: FloatArray, truth: float, lie: float) -> ColumnValues:
    """y rises to the first place where its entry is no smaller; those it passes move down by one.

    Outputs stand in the order of the sorted prior.
    """
    size = len(belief)
    order = np.argsort(belief)
    rising = belief[order]
    below = np.cumsum(rising)
    places = (
        float(np.arange(size - part.start, size - part.stop, -1) @ rising[part]) for part in _chunks(size)
    )
    base = lie * math.fsum(places)
    values = np.empty(size)
    for part in _chunks(size):
        entry, position = rising[part], np.arange(part.start, part.stop)
        bound = entry * (truth / lie) if lie > 0 else np.where(entry > 0, np.inf, 0.0)
        # Places count from the top: `passed` entries stand between the old place and the new one.
        highest = np.maximum(np.searchsorted(rising, bound, side="right") - 1, position)
        passed = below[highest] - below[position]
        old, new = size - position, size - highest
        values[part] = base + lie * (passed - old * entry) + new * truth * entry
    del below
    return ColumnValues(values, _weights(rising, truth, lie), outputs=order)
