"""An adversary's value on every output of a channel, by the channel's structure.

`column_values(channel, adversary, belief)` gives, for each class of outputs that are alike, the
unnormalised optimum, the probability, and how many such outputs there are; the average and the max
case follow from these. The matrix is used only where the structure knows nothing better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve
from scipy.sparse import csc_array

from sievert.channels.blocks import BlockChannel, SparseChannel
from sievert.channels.channel import Channel
from sievert.channels.convolution import ConvolutionChannel
from sievert.channels.deterministic import DeterministicChannel, PartitionChannel
from sievert.channels.priors import as_prior
from sievert.channels.response import ResponseChannel
from sievert.errors import PriorError
from sievert.leakage.adversary import Adversary, MatrixAdversary
from sievert.leakage.closed_forms import Guessing, Identity, Shannon, Tries

__all__ = ["ColumnValues", "column_values", "joint_distribution"]

FloatArray = NDArray[np.float64]
BLOCK_ENTRIES = 2_000_000
CHUNK = 100_000
SMALL_RESPONSE = 2000
Symmetric = Identity | Tries | Guessing | Shannon


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """Values and probabilities of classes of outputs; `outputs` is one of each class, `counts` how many."""

    values: NDArray[Any]
    weights: NDArray[Any]
    counts: tuple[int, ...] | None = None
    outputs: NDArray[np.intp] | None = None

    def average(self) -> Any:
        """Sum over all outputs."""
        if self.counts is None:
            return self.values.sum()
        return sum(value * count for value, count in zip(self.values, self.counts, strict=True))

    def extreme(self, is_loss: bool) -> tuple[Any, int]:
        """Largest (for losses least) normalised value over outputs that can occur, and its position."""
        possible = np.flatnonzero(np.asarray(self.weights > 0, dtype=bool))
        normalised = self.values[possible] / self.weights[possible]
        worst = int(normalised.argmin() if is_loss else normalised.argmax())
        position = int(possible[worst])
        return normalised[worst], position if self.outputs is None else int(self.outputs[position])


def joint_distribution(channel: Channel, belief: NDArray[Any]) -> NDArray[Any]:
    """J[x, y] = π_x C[x, y], exact when both are."""
    if channel.form == "exact" and belief.dtype == object:
        assert channel.exact is not None
        return np.asarray(belief[:, None] * channel.exact)
    return np.asarray(belief.astype(np.float64)[:, None] * channel.rounded())


@singledispatch
def column_values(channel: Channel, adversary: Adversary, prior: object) -> ColumnValues:
    """The adversary's value on each output under a prior (None: uniform)."""
    joint = joint_distribution(channel, as_prior(prior, channel.shape[0]))
    return ColumnValues(adversary.values(joint), joint.sum(axis=0))


def _on_entries(adversary: Symmetric, columns: NDArray[Any]) -> NDArray[Any]:
    """A symmetric adversary's value on columns listed by their non-zero entries only (rows padded with 0)."""
    labels = tuple(range(columns.shape[0]))
    if isinstance(adversary, Tries):
        return Tries(labels, adversary.tries).values(columns)
    return type(adversary)(labels).values(columns)


@column_values.register
def _(channel: ResponseChannel, adversary: Adversary, prior: object) -> ColumnValues:
    if prior is None and isinstance(adversary, Symmetric):
        return _even_response(channel, adversary)
    if channel.shape[0] <= SMALL_RESPONSE or not isinstance(adversary, Symmetric | MatrixAdversary):
        return column_values.dispatch(Channel)(channel, adversary, prior)
    belief = as_prior(prior, channel.shape[0]).astype(np.float64)
    truth, lie = float(channel.truth), float(channel.lie)
    weights = lie + (truth - lie) * belief
    if isinstance(adversary, MatrixAdversary):
        table = np.asarray(adversary.table, dtype=np.float64)
        scores = lie * (table @ belief)[:, None] + (truth - lie) * table * belief
        return ColumnValues(scores.min(axis=0) if adversary.is_loss else scores.max(axis=0), weights)
    return ColumnValues(_response_values(adversary, belief, truth, lie), weights)


def _even_response(channel: ResponseChannel, adversary: Symmetric) -> ColumnValues:
    """Uniform prior: all outputs are alike; one column has one truth and n-1 lies."""
    size, truth, lie = channel.shape[0], channel.truth, channel.lie
    if isinstance(adversary, Identity):
        value: Any = truth
    elif isinstance(adversary, Tries):
        value = truth + (min(adversary.tries, size) - 1) * lie
    elif isinstance(adversary, Guessing):
        value = truth + lie * (size * (size + 1) // 2 - 1)
    else:
        value = _plog(float(truth)) + (size - 1) * _plog(float(lie))
    dtype = object if isinstance(value, Fraction) else np.float64
    values, weights = np.empty(1, dtype), np.empty(1, dtype)
    values[0], weights[0] = value / size, (Fraction(1, size) if dtype is object else 1 / size)
    return ColumnValues(values, weights, (size,), np.zeros(1, dtype=np.intp))


def _plog(p: float) -> float:
    return -p * math.log2(p) if p > 0 else 0.0


def _response_values(adversary: Symmetric, belief: FloatArray, truth: float, lie: float) -> FloatArray:
    """Column y is lie·π with entry y replaced by truth·π_y: one entry of the sorted prior moves up."""
    if isinstance(adversary, Shannon):
        return _response_entropies(belief, truth, lie)
    if isinstance(adversary, Guessing):
        return _response_guesses(belief, truth, lie)
    k = min(adversary.tries, len(belief)) if isinstance(adversary, Tries) else 1
    largest = np.partition(belief, len(belief) - k)[len(belief) - k :].copy()
    least, total = float(largest[0]), float(largest.sum())
    # With y among the k largest its own entry only grows; otherwise it may replace the least of them.
    values = truth * belief
    values += lie * np.where(belief >= least, total - belief, total - least)
    return np.maximum(values, lie * total, out=values)


def _chunks(size: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, size)) for start in range(0, size, CHUNK))


def _response_entropies(belief: FloatArray, truth: float, lie: float) -> FloatArray:
    """Σ_x J log2(w/J) of each column, from the prior's own Σ π log2 π."""

    def logs(part: slice) -> FloatArray:
        return np.asarray(belief[part] * np.log2(np.where(belief[part] > 0, belief[part], 1.0)))

    total = math.fsum(float(logs(part).sum()) for part in _chunks(len(belief)))
    values = np.empty(len(belief))
    for part in _chunks(len(belief)):
        own, entry = logs(part), belief[part]
        weight = lie + (truth - lie) * entry
        inner = lie * (total - own) + truth * own - _plog(lie) * (1 - entry) - _plog(truth) * entry
        values[part] = weight * np.log2(weight) - inner
    return values


def _response_guesses(belief: FloatArray, truth: float, lie: float) -> FloatArray:
    """y rises to the first place where its entry is no smaller; those it passes move down by one."""
    size = len(belief)
    order = np.argsort(belief, kind="stable")
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
        values[order[part]] = base + lie * (passed - old * entry) + new * truth * entry
    return values


@column_values.register
def _(channel: PartitionChannel, adversary: Adversary, prior: object) -> ColumnValues:
    if prior is not None or not isinstance(adversary, Symmetric):
        if channel.shape[0] > 20_000_000:
            raise PriorError(
                f"prior: a program on {channel.shape[0]} secrets given by block sizes knows only the uniform "
                "prior and the guesses that treat all secrets alike; use Channel.from_function for others"
            )
        images = np.repeat(np.arange(channel.shape[1]), channel._sizes())
        explicit = DeterministicChannel(images, channel.inputs, channel.outputs)
        return column_values(explicit, adversary, prior)
    total = channel.shape[0]
    values = [_block_value(adversary, size, total) for size in channel.sizes]
    weights = [Fraction(size, total) for size in channel.sizes]
    counts = tuple(channel.sizes.values())
    first = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp)
    return ColumnValues(np.array(values, dtype=object), np.array(weights, dtype=object), counts, first)


def _block_value(adversary: Symmetric, size: int, total: int) -> Any:
    """Value of a block of equally likely secrets (spec 3.6)."""
    if isinstance(adversary, Identity):
        return Fraction(1, total)
    if isinstance(adversary, Tries):
        return Fraction(min(adversary.tries, size), total)
    if isinstance(adversary, Guessing):
        return Fraction(size * (size + 1), 2 * total)
    return size / total * math.log2(size)


@column_values.register
def _(channel: DeterministicChannel, adversary: Adversary, prior: object) -> ColumnValues:
    belief = as_prior(prior, channel.shape[0])
    small = channel.shape[0] * channel.shape[1] <= BLOCK_ENTRIES
    if not isinstance(adversary, Symmetric | MatrixAdversary) or (small and belief.dtype == object):
        return column_values.dispatch(Channel)(channel, adversary, prior)
    weights = belief.astype(np.float64)
    order = np.lexsort((-weights, channel.images))
    owner, sorted_belief = channel.images[order], weights[order]
    starts = np.searchsorted(owner, np.arange(channel.shape[1]))
    totals = np.add.reduceat(sorted_belief, starts)
    if isinstance(adversary, MatrixAdversary):
        scores = np.add.reduceat(np.asarray(adversary.table, float)[:, order] * sorted_belief, starts, axis=1)
        return ColumnValues(scores.min(axis=0) if adversary.is_loss else scores.max(axis=0), totals)
    if isinstance(adversary, Identity):
        return ColumnValues(sorted_belief[starts], totals)
    rank = np.arange(len(order)) - starts[owner]
    if isinstance(adversary, Tries):
        terms = np.where(rank < adversary.tries, sorted_belief, 0.0)
    elif isinstance(adversary, Guessing):
        terms = (rank + 1) * sorted_belief
    else:
        share = sorted_belief / np.where(totals > 0, totals, 1.0)[owner]
        terms = -sorted_belief * np.log2(np.where(share > 0, share, 1.0))
    return ColumnValues(np.add.reduceat(terms, starts), totals)


@column_values.register
def _(channel: BlockChannel, adversary: Adversary, prior: object) -> ColumnValues:
    belief = as_prior(prior, channel.shape[0])
    if not isinstance(adversary, Symmetric | MatrixAdversary):
        return column_values.dispatch(Channel)(channel, adversary, prior)
    parts = []
    for block, rows, _ in channel.slices():
        joint = joint_distribution(block, belief[rows])
        if isinstance(adversary, MatrixAdversary):
            values = adversary.restricted(rows).values(joint)
        else:
            values = _on_entries(adversary, joint)
        parts.append((values, joint.sum(axis=0)))
    joined, weights = (np.concatenate(side) for side in zip(*parts, strict=True))
    return ColumnValues(joined, weights)


@column_values.register
def _(channel: ConvolutionChannel, adversary: Adversary, prior: object) -> ColumnValues:
    n, m = channel.shape
    if n * m <= BLOCK_ENTRIES or not isinstance(adversary, Symmetric | MatrixAdversary):
        return column_values.dispatch(Channel)(channel, adversary, prior)
    belief = as_prior(prior, n).astype(np.float64)
    weights = np.maximum(channel.rmatvec(belief), 0.0)
    if isinstance(adversary, MatrixAdversary):
        rows = (np.asarray(row, dtype=np.float64) * belief for row in adversary.table)
        return ColumnValues(_running((fftconvolve(row, channel.kernel) for row in rows), adversary), weights)
    length = len(channel.kernel)
    padded = np.concatenate([np.zeros(length - 1), belief, np.zeros(length - 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, length)
    step = max(1, BLOCK_ENTRIES // length)
    reverse = channel.kernel[::-1]
    values = [
        _on_entries(adversary, (windows[start : start + step] * reverse).T) for start in range(0, m, step)
    ]
    return ColumnValues(np.concatenate(values), weights)


@column_values.register
def _(channel: SparseChannel, adversary: Adversary, prior: object) -> ColumnValues:
    if not isinstance(adversary, Symmetric | MatrixAdversary):
        return column_values.dispatch(Channel)(channel, adversary, prior)
    belief = as_prior(prior, channel.shape[0]).astype(np.float64)
    weights = channel.rmatvec(belief)
    if isinstance(adversary, MatrixAdversary):
        rows = (np.asarray(row, dtype=np.float64) * belief for row in adversary.table)
        return ColumnValues(_running((channel.rmatvec(row) for row in rows), adversary), weights)
    columns = csc_array(channel.table * belief[:, None])
    values = np.concatenate([_on_entries(adversary, part) for part in _padded_columns(columns)])
    return ColumnValues(values, weights)


def _running(rows: Iterator[FloatArray], adversary: MatrixAdversary) -> FloatArray:
    """Best action on each output, one action at a time."""
    best = next(rows)
    for row in rows:
        best = np.minimum(best, row) if adversary.is_loss else np.maximum(best, row)
    return best


def _padded_columns(columns: csc_array) -> Iterator[FloatArray]:
    """Non-zero entries of each column as dense columns padded with zeros, a block of columns at a time."""
    lengths = np.diff(columns.indptr)
    height = max(1, int(lengths.max(initial=1)))
    step = max(1, BLOCK_ENTRIES // height)
    for start in range(0, columns.shape[1], step):
        part = lengths[start : start + step]
        block = np.zeros((height, len(part)))
        owner = np.repeat(np.arange(len(part)), part)
        first = columns.indptr[start]
        offset = np.arange(int(part.sum())) - np.repeat(
            columns.indptr[start : start + len(part)] - first, part
        )
        block[offset, owner] = columns.data[first : first + int(part.sum())]
        yield block
