"""An adversary's value on every output of a channel, by the channel's structure.

`column_values(channel, adversary, prior)` gives, for each class of outputs that are alike, the
unnormalised optimum, the probability, and how many such outputs there are; the average and the max
case follow from these. The matrix is used only where the structure knows nothing better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels import (
    LARGEST_INPUTS,
    BlockChannel,
    Channel,
    ConvolutionChannel,
    CyclicChannel,
    DeterministicChannel,
    PartitionChannel,
    ProductChannel,
    ResponseChannel,
    SparseChannel,
)
from sievert.channels.priors import as_prior, listed_size
from sievert.errors import TooLargeError
from sievert.measures._gain_function import GainFunction, GainMatrix, RankedColumns
from sievert.measures._gain_functions import Guessing, Identity, Shannon, Tries
from sievert.mechanisms import TruncatedGeometricChannel
from sievert.spaces import Labels

__all__ = ["ColumnValues", "column_values", "float_prior", "joint_distribution"]
BLOCK_ENTRIES = 2_000_000


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
        impossible = math.inf if is_loss else -math.inf
        normalised = np.full(self.values.shape, impossible, dtype=np.result_type(self.values, self.weights))
        np.divide(self.values, self.weights, out=normalised, where=np.asarray(self.weights > 0, dtype=bool))
        position = int(normalised.argmin() if is_loss else normalised.argmax())
        output = position if self.outputs is None else int(self.outputs[position])
        return normalised[position], output


def joint_distribution(channel: Channel, belief: NDArray[Any]) -> NDArray[Any]:
    """J[x, y] = π_x C[x, y], exact when both are."""
    if channel.form == "exact" and belief.dtype == object:
        assert channel.exact is not None
        return np.asarray(belief[:, None] * channel.exact)
    return np.asarray(belief.astype(np.float64)[:, None] * channel.rounded())


def float_prior(prior: object, secrets: Labels | Channel) -> FloatArray:
    """A checked prior as floats; the uniform one without a list of fractions."""
    if prior is None:
        size = listed_size(secrets)
        return np.full(size, 1.0 / size)
    return as_prior(prior, secrets).astype(np.float64, copy=False)


@singledispatch
def column_values(channel: Channel, adversary: GainFunction, prior: object) -> ColumnValues:
    """The adversary's value on each output under a prior (None: uniform)."""
    joint = joint_distribution(channel, as_prior(prior, channel))
    return ColumnValues(adversary.values(joint), joint.sum(axis=0))


_by_matrix = column_values.dispatch(Channel)


def _is_small(channel: Channel) -> bool:
    return channel.shape[0] * channel.shape[1] <= BLOCK_ENTRIES


@column_values.register
def _of_records(channel: ProductChannel, adversary: GainFunction, prior: object) -> ColumnValues:
    """One try at all records: max_x π_x·ΠC_i[x_i, y_i] is taken one record at a time, without the matrix."""
    largest = math.prod(max(part.shape) ** count for part, count in channel.factors)
    if not isinstance(adversary, Identity) or _is_small(channel) or largest > BLOCK_ENTRIES:
        return _by_matrix(channel, adversary, prior)
    best = mass = as_prior(prior, channel).astype(np.float64)[None, :]
    for part in channel.channels():
        chances = np.asarray(part.matrix, dtype=np.float64)
        seen = best.shape[0]
        best = (best.reshape(seen, len(chances), 1, -1) * chances[:, :, None]).max(axis=1)
        mass = np.einsum("axb,xy->ayb", mass.reshape(seen, len(chances), -1), chances)
        best, mass = (found.reshape(seen * chances.shape[1], -1) for found in (best, mass))
    return ColumnValues(best[:, 0], mass[:, 0])


@column_values.register
def _of_program(channel: DeterministicChannel, adversary: GainFunction, prior: object) -> ColumnValues:
    if prior is None and adversary.is_symmetric:
        return _even_blocks(adversary, channel.block_sizes(), np.bincount(channel.images))
    belief = as_prior(prior, channel)
    if not adversary.is_divisible or (belief.dtype == object and _is_small(channel)):
        return _by_matrix(channel, adversary, belief)
    entries = belief.astype(np.float64, copy=False)
    found = _by_actions(channel, adversary, entries)
    return _grouped(adversary, entries, channel.images, channel.shape[1]) if found is None else found


@column_values.register
def _of_blocks_of_a_program(
    channel: PartitionChannel, adversary: GainFunction, prior: object
) -> ColumnValues:
    if prior is None and adversary.is_symmetric:
        return _even_blocks(adversary, channel.sizes)
    if channel.shape[0] > LARGEST_INPUTS:
        inputs, outputs = channel.shape
        raise TooLargeError(
            f"a program on {inputs} secrets known by its block sizes answers for the uniform prior and for "
            f"guesses that treat all secrets alike; this question needs its {inputs} × {outputs} matrix; use "
            "Channel.from_function on fewer secrets",
            size=inputs * outputs,
        )
    return column_values(channel.explicit(), adversary, prior)


def _even_blocks(
    adversary: GainFunction, sizes: Mapping[int, int], lengths: NDArray[np.intp] | None = None
) -> ColumnValues:
    """Uniform prior on a deterministic program: blocks of one size are alike (spec 3.6).

    `lengths` are the sizes of all blocks in their order; by default they rise.
    """
    total = sum(size * count for size, count in sizes.items())
    counts = tuple(sizes.values())
    values, weights = np.empty((2, len(sizes)), dtype=object)
    values[:] = [adversary.even_value(size, total) for size in sizes]
    weights[:] = [Fraction(size, total) for size in sizes]
    if lengths is None:
        first = np.array([0, *accumulate(counts)][:-1], dtype=np.intp)
    else:
        first = np.array([np.argmax(lengths == size) for size in sizes], dtype=np.intp)
    return ColumnValues(values, weights, counts, first)


@column_values.register
def _of_blocks(channel: BlockChannel, adversary: GainFunction, prior: object) -> ColumnValues:
    if not adversary.is_divisible:
        return _by_matrix(channel, adversary, prior)
    belief = None if prior is None else as_prior(prior, channel)
    values: list[Any] = []
    weights: list[Any] = []
    counts: list[int] = []
    outputs: list[int] = []
    for block, rows, columns in channel.slices():
        # Values are homogeneous, so a block is judged under its own conditional prior and scaled.
        share = Fraction(block.shape[0], channel.shape[0]) if belief is None else belief[rows].sum()
        if share == 0:
            continue
        inside = None if belief is None else belief[rows] / share
        found = column_values(block, adversary.on_entries(rows), inside)
        known = range(len(found.values)) if found.outputs is None else found.outputs.tolist()
        outputs += [columns.start + y for y in known]
        counts += [1] * len(found.values) if found.counts is None else list(found.counts)
        values += [share * value for value in found.values]
        weights += [share * weight for weight in found.weights]
    return ColumnValues(
        np.array(values, dtype=object),
        np.array(weights, dtype=object),
        tuple(counts),
        np.array(outputs, dtype=np.intp),
    )


@column_values.register
def _of_noise(channel: ConvolutionChannel, adversary: GainFunction, prior: object) -> ColumnValues:
    if _is_small(channel) or not adversary.is_divisible:
        return _by_matrix(channel, adversary, prior)
    belief = float_prior(prior, channel)
    found = _by_actions(channel, adversary, belief)
    if found is not None:
        return found
    length = len(channel.kernel)
    padded = np.concatenate([np.zeros(length - 1), belief, np.zeros(length - 1)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, length)
    step = max(1, BLOCK_ENTRIES // length)
    reverse = channel.kernel[::-1]
    own = adversary.on_entries(slice(0, length))
    values = [own.values((windows[at : at + step] * reverse).T) for at in range(0, channel.shape[1], step)]
    return ColumnValues(np.concatenate(values), channel.output_probabilities(belief))


@column_values.register
def _of_cyclic_noise(channel: CyclicChannel, adversary: GainFunction, prior: object) -> ColumnValues:
    if prior is None and adversary.is_symmetric:
        # All columns are rotations of the reversed kernel.
        size = channel.shape[0]
        column = channel.noise.exact_or_rounded()[0][:, None] / size
        return ColumnValues(adversary.values(column), column.sum(axis=0), (size,), np.zeros(1, dtype=np.intp))
    found = None if _is_small(channel) else _by_actions(channel, adversary, float_prior(prior, channel))
    return _by_matrix(channel, adversary, prior) if found is None else found


@column_values.register
def _of_table(channel: SparseChannel, adversary: GainFunction, prior: object) -> ColumnValues:
    if not adversary.is_divisible:
        return _by_matrix(channel, adversary, prior)
    belief = float_prior(prior, channel)
    found = _by_actions(channel, adversary, belief)
    if found is not None:
        return found
    entries = channel.table.data * np.repeat(belief, np.diff(channel.table.indptr))
    return _grouped(adversary, entries, channel.table.indices, channel.shape[1])


@column_values.register
def _of_geometric(channel: TruncatedGeometricChannel, adversary: GainFunction, prior: object) -> ColumnValues:
    found = None if _is_small(channel) else geometric_columns(adversary, channel, float_prior(prior, channel))
    return _by_matrix(channel, adversary, prior) if found is None else found


@singledispatch
def geometric_columns(
    adversary: GainFunction, channel: TruncatedGeometricChannel, belief: FloatArray
) -> ColumnValues | None:
    """An adversary's value on every output of a geometric mechanism without its matrix; None if unknown."""
    return _by_actions(channel, adversary, belief)


@geometric_columns.register
def _guess_by_decay(
    adversary: Identity, channel: TruncatedGeometricChannel, belief: FloatArray
) -> ColumnValues:
    """max_x π_x·alpha^|x-y| is one running maximum from the left and one from the right."""
    alpha = math.exp(-channel.level.eps)
    left = _decaying_maximum(belief, alpha)
    right = _decaying_maximum(belief[::-1], alpha)[::-1]
    return ColumnValues(channel.weight_vector() * np.maximum(left, right), channel.rmatvec(belief))


def _decaying_maximum(values: FloatArray, decay: float) -> FloatArray:
    found = accumulate(values.tolist(), lambda before, value: max(value, decay * before))
    return np.fromiter(found, np.float64, len(values))


def _by_actions(channel: Channel, adversary: GainFunction, belief: FloatArray) -> ColumnValues | None:
    """One product with the channel for each action, where actions are listed."""
    values = adversary.values_by_products(channel.rmatvec, belief)
    return None if values is None else ColumnValues(values, channel.output_probabilities(belief))


def _grouped(
    adversary: GainFunction, entries: FloatArray, owners: NDArray[Any], outputs: int
) -> ColumnValues:
    """Columns listed by their non-zero entries: entry e belongs to output owners[e]. One sort."""
    order = np.lexsort((-entries, owners))
    ranked, owner = entries[order], owners[order]
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    present = owner[starts]
    totals = np.add.reduceat(ranked, starts)
    place = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(owner)))
    rank = np.arange(len(owner)) - starts[place]
    terms = adversary.contributions(RankedColumns(ranked, rank, place, starts, totals))
    values, weights = np.zeros((2, outputs))
    values[present], weights[present] = np.add.reduceat(terms, starts), totals
    return ColumnValues(values, weights)


# ── An adversary's value on every output of a randomised response, in O(n) memory ───────────────────────────
# Column y of the joint distribution is lie·π with entry y replaced by truth·π_y: one entry of the sorted
# prior moves up, and everything else stays.
CHUNK = 100_000
# Up to this many values the matrix is as quick, and exact for exact priors.
SMALL_RESPONSE = 1000


@column_values.register
def _of_response(channel: ResponseChannel, adversary: GainFunction, prior: object) -> ColumnValues:
    if prior is None and adversary.is_symmetric:
        return _even_response(channel, adversary)
    found = None
    if channel.shape[0] > SMALL_RESPONSE:
        belief = float_prior(prior, channel)
        found = response_columns(adversary, belief, float(channel.truth), float(channel.lie))
    return _by_matrix(channel, adversary, prior) if found is None else found


def _even_response(channel: ResponseChannel, adversary: GainFunction) -> ColumnValues:
    """Uniform prior: all outputs are alike; one column has one truth and n-1 lies."""
    size = channel.shape[0]
    value = adversary.one_above(size, channel.truth, channel.lie, channel.log_truth)
    dtype = object if isinstance(value, Fraction) else np.float64
    values, weights = np.empty(1, dtype), np.empty(1, dtype)
    values[0], weights[0] = value / size, (Fraction(1, size) if dtype is object else 1 / size)
    return ColumnValues(values, weights, (size,), np.zeros(1, dtype=np.intp))


@singledispatch
def response_columns(
    adversary: GainFunction, belief: FloatArray, truth: float, lie: float
) -> ColumnValues | None:
    """An adversary's value on every output of a randomised response; None if only the matrix tells."""
    return None


def _weights(belief: FloatArray, truth: float, lie: float) -> FloatArray:
    """Probability of each output."""
    weights = (truth - lie) * belief
    weights += lie
    return weights


def _plog(p: float) -> float:
    return -p * math.log2(p) if p > 0 else 0.0


def _chunks(size: int) -> Iterator[slice]:
    return (slice(start, min(start + CHUNK, size)) for start in range(0, size, CHUNK))


@response_columns.register
def _actions_by_response(adversary: GainMatrix, belief: FloatArray, truth: float, lie: float) -> ColumnValues:
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
    return ColumnValues(values, _weights(belief, truth, lie))


@response_columns.register
def _tries_by_response(
    adversary: Identity | Tries, belief: FloatArray, truth: float, lie: float
) -> ColumnValues:
    k = min(adversary.tries, len(belief))
    largest = np.partition(belief, len(belief) - k)[len(belief) - k :].copy()
    least, total = float(largest[0]), float(largest.sum())
    # With y among the k largest its own entry only grows; otherwise it may replace the least of them.
    values = np.where(belief >= least, total - belief, total - least)
    values *= lie
    values += truth * belief
    np.maximum(values, lie * total, out=values)
    return ColumnValues(values, _weights(belief, truth, lie))


@response_columns.register
def _codes_by_response(adversary: Shannon, belief: FloatArray, truth: float, lie: float) -> ColumnValues:
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
    return ColumnValues(values, _weights(belief, truth, lie))


@response_columns.register
def _guesses_by_response(adversary: Guessing, belief: FloatArray, truth: float, lie: float) -> ColumnValues:
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
