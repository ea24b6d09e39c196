"""Σ_x w_x·C[x,y]^order for every output, and Σ_y C ln C for every input, by structure.

The information measures of every order are made of these two sums; both are kept as logarithms or taken
on logarithms, so that high orders do not underflow.
"""

from __future__ import annotations

import math
from functools import singledispatch
from typing import Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import (
    BlockChannel,
    Channel,
    ConvolutionChannel,
    CyclicChannel,
    DeterministicChannel,
    PartitionChannel,
    ResponseChannel,
    SparseChannel,
)
from sievert.mechanisms import TruncatedGeometricChannel
from sievert.numerics import exp_excess, log_of, log_sum

__all__ = ["even_divergence", "even_log_norms", "log_power_sums", "row_negentropies"]
BLOCK_ENTRIES = 2_000_000


@singledispatch
def log_power_sums(channel: Channel, log_weights: FloatArray, order: float) -> FloatArray:
    """ln Σ_x w_x·C[x,y]^order for each output that can occur; -inf for one that cannot."""
    return log_sum(log_weights[:, None] + order * channel.log_matrix, axis=0)


@singledispatch
def row_negentropies(channel: Channel) -> Any:
    """Σ_y C[x,y]·ln C[x,y] for each input (one number where they are all the same)."""
    matrix, logs = channel.rounded(), channel.log_matrix
    return np.where(matrix > 0, matrix * np.where(matrix > 0, logs, 0.0), 0.0).sum(axis=1)


def _largest(log_weights: FloatArray) -> float:
    """The largest logarithm, or 0 where every weight is 0."""
    largest = float(log_weights.max())
    return 0.0 if math.isinf(largest) else largest


@singledispatch
def even_log_norms(channel: Channel, order: float) -> float | None:
    """ln Σ_y (Σ_x C[x,y]^order)^(1/order) where outputs are alike, so that no vector is needed; else None."""
    return None


@even_log_norms.register
def _even_norms_of_response(channel: ResponseChannel, order: float) -> float:
    size = channel.shape[0]
    lies = math.log(size - 1) + order * channel.log_lie if size > 1 else -math.inf
    return math.log(size) + float(np.logaddexp(order * channel.log_truth, lies)) / order


@even_log_norms.register
def _even_norms_of_cyclic_noise(channel: CyclicChannel, order: float) -> float:
    return math.log(channel.shape[0]) + float(log_sum(order * channel.noise.log_matrix[0], axis=0)) / order


@even_log_norms.register
def _even_norms_of_program(channel: DeterministicChannel | PartitionChannel, order: float) -> float:
    sizes = channel.block_sizes().items()
    terms = [math.log(count) + math.log(block) / order for block, count in sizes]
    return float(log_sum(np.array(terms), axis=0))


@singledispatch
def even_divergence(channel: Channel, order: float) -> float | None:
    """Rényi divergence in nats of the rows from the uniform distribution, where they are alike; else None."""
    return None


@even_divergence.register
def _even_divergence_of_response(channel: ResponseChannel, order: float) -> float | None:
    """Σ C·(e^(tL) - 1 + t·(e^-L - 1)) with L = ln(n·C) and t = order - 1 has no negative term (t > 0)."""
    if not channel.is_mixed:
        return None
    size, t = channel.shape[0], order - 1
    # ln(n·truth) = -ln(1 - (n-1)/n·(1 - e^-ε)) and ln(n·lie), each from 1 where it is near.
    above, below = -(size - 1) / size * math.expm1(-channel.eps), math.expm1(min(channel.eps, 1.0)) / size
    loss = np.array([math.log(size) + channel.log_truth, math.log(size) + channel.log_lie])
    if above < 0.5:
        loss[0] = -math.log1p(-above)
    if channel.eps < 1:
        loss[1] = -math.log1p(below)
    weights = np.array([float(channel.truth), (size - 1) * float(channel.lie)])
    with np.errstate(over="ignore", invalid="ignore"):
        part = exp_excess(-loss) if t == 0 else exp_excess(t * loss) + t * exp_excess(-loss)
        excess = float(np.where(weights > 0, weights * part, 0.0).sum())
    if t == 0 and math.isfinite(excess) and np.abs(loss).max() < 30:
        return excess
    if t == 0:
        return float(weights @ np.where(weights > 0, loss, 0.0))
    if abs(excess) < 0.5:
        return math.log1p(excess) / t
    return float(log_sum(log_of(weights) + t * loss, axis=0)) / t


def _negentropy(row: FloatArray) -> float:
    positive = row[row > 0]
    return float(positive @ np.log(positive))


@log_power_sums.register
def _log_power_sums_of_response(
    channel: ResponseChannel, log_weights: FloatArray, order: float
) -> FloatArray:
    shift = _largest(log_weights)
    # In place: a million values may not take more than a few vectors.
    others = log_weights - shift
    np.exp(others, out=others)
    np.subtract(others.sum(), others, out=others)
    np.maximum(others, 0.0, out=others)
    with np.errstate(divide="ignore"):
        np.log(others, out=others)
    others += order * channel.log_lie + shift
    return np.logaddexp(others, log_weights + order * channel.log_truth, out=others)


@row_negentropies.register
def _row_negentropies_of_response(channel: ResponseChannel) -> float:
    truth, lie = float(channel.truth), float(channel.lie)
    lies = (channel.shape[0] - 1) * lie * channel.log_lie if lie > 0 else 0.0
    return truth * channel.log_truth + lies


@log_power_sums.register
def _log_power_sums_of_program(
    channel: DeterministicChannel, log_weights: FloatArray, order: float
) -> FloatArray:
    shift = _largest(log_weights)
    return log_of(channel.rmatvec(np.exp(log_weights - shift))) + shift


@log_power_sums.register
def _log_power_sums_of_block_sizes(
    channel: PartitionChannel, log_weights: FloatArray, order: float
) -> FloatArray:
    return log_power_sums(channel.explicit(), log_weights, order)


@row_negentropies.register
def _row_negentropies_of_program(channel: DeterministicChannel | PartitionChannel) -> float:
    return 0.0


@log_power_sums.register
def _log_power_sums_of_blocks(channel: BlockChannel, log_weights: FloatArray, order: float) -> FloatArray:
    parts = [log_power_sums(block, log_weights[rows], order) for block, rows, _ in channel.slices()]
    return np.concatenate(parts)


@row_negentropies.register
def _row_negentropies_of_blocks(channel: BlockChannel) -> FloatArray:
    return np.concatenate(
        [np.broadcast_to(row_negentropies(block), block.shape[:1]) for block in channel.blocks]
    )


@log_power_sums.register
def _log_power_sums_of_noise(
    channel: ConvolutionChannel, log_weights: FloatArray, order: float
) -> FloatArray:
    length = len(channel.kernel)
    edge = np.full(length - 1, -np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(np.concatenate([edge, log_weights, edge]), length)
    powers = order * log_of(channel.kernel[::-1])
    step = max(1, BLOCK_ENTRIES // length)
    parts = [log_sum(windows[at : at + step] + powers, axis=1) for at in range(0, channel.shape[1], step)]
    return np.concatenate(parts)


@row_negentropies.register
def _row_negentropies_of_noise(channel: ConvolutionChannel | CyclicChannel) -> float:
    return _negentropy(channel.kernel)


@log_power_sums.register
def _log_power_sums_of_table(channel: SparseChannel, log_weights: FloatArray, order: float) -> FloatArray:
    table = channel.table
    terms = np.repeat(log_weights, np.diff(table.indptr)) + order * np.log(table.data)
    largest = np.full(channel.shape[1], -np.inf)
    np.maximum.at(largest, table.indices, terms)
    # A column whose every weight is 0 has only terms of -inf.
    base = np.where(np.isneginf(largest), 0.0, largest)
    sums = np.zeros(channel.shape[1])
    np.add.at(sums, table.indices, np.exp(terms - base[table.indices]))
    return np.asarray(log_of(sums) + base)


@row_negentropies.register
def _row_negentropies_of_table(channel: SparseChannel) -> FloatArray:
    data = channel.table.data
    return np.asarray(np.add.reduceat(data * np.log(data), channel.table.indptr[:-1]))


@log_power_sums.register
def _log_power_sums_of_geometric(
    channel: TruncatedGeometricChannel, log_weights: FloatArray, order: float
) -> FloatArray:
    if channel.shape[0] <= 1000 or math.isinf(channel.level.eps):
        return log_power_sums.dispatch(Channel)(channel, log_weights, order)
    shift = _largest(log_weights)
    sums = channel.kernel_sums(np.exp(log_weights - shift), order)
    return np.asarray(log_of(np.maximum(sums, 0.0)) + order * log_of(channel.weight_vector()) + shift)


@row_negentropies.register
def _row_negentropies_of_geometric(channel: TruncatedGeometricChannel) -> FloatArray:
    weights = channel.weight_vector()
    logs = np.where(weights > 0, log_of(weights), 0.0)
    if math.isinf(channel.level.eps):
        return np.zeros(channel.shape[0])
    return channel.matvec(logs) - channel.level.eps * channel.mean_shifts()
