"""Information measures in bits: Shannon, min-entropy, Sibson, Arimoto (Rényi) and maximal leakage.

Records of a product channel are independent under a product prior, so each measure adds up over them.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel, finite_channel
from sievert.channels.deterministic import PartitionChannel
from sievert.channels.priors import own_distribution
from sievert.channels.products import ProductChannel
from sievert.channels.structured import StructuredChannel
from sievert.errors import GainError
from sievert.leakage.capacity import capacity
from sievert.leakage.closed_forms import Shannon
from sievert.leakage.columns import float_prior
from sievert.leakage.measures import leakage
from sievert.leakage.power_sums import even_log_norms, log_power_sums, row_negentropies
from sievert.leakage.products import record_priors
from sievert.numerics.checks import non_negative
from sievert.numerics.logs import log_of, log_sum

__all__ = [
    "arimoto_information",
    "entropy",
    "maximal_leakage",
    "min_entropy_leakage",
    "mutual_information",
    "sibson_information",
]

FloatArray = NDArray[np.float64]
LN2 = math.log(2)
# Up to this many entries the matrix is used, which loses no digits where a channel leaks little.
SMALL_MATRIX = 4_000_000


def entropy(distribution: object, order: float = 1.0) -> float:
    """Rényi entropy in bits: Shannon for order 1, min-entropy for order ∞, log of the support for 0.

    >>> entropy([0.5, 0.25, 0.25]), entropy([0.5, 0.25, 0.25], order=math.inf)
    (1.5, 1.0)
    """
    _check_order(order)
    belief = own_distribution(distribution, "distribution").astype(np.float64, copy=False)
    positive = belief[belief > 0]
    if math.isinf(order):
        return -math.log2(positive.max()) + 0.0
    logs = np.log2(positive)
    if order == 1:
        return float(-(positive @ logs)) + 0.0
    return float(log_sum(order * LN2 * logs, axis=0)) / LN2 / (1 - order) + 0.0


def mutual_information(channel: Channel, prior: object = None) -> float:
    """Shannon mutual information of input and output, in bits.

    Computed as the average divergence of each row from the output distribution, so that a channel that
    leaks little loses no digits to a difference of entropies.

    >>> round(mutual_information(Channel([["3/4", "1/4"], ["1/4", "3/4"]])), 6)
    0.188722
    """
    channel = finite_channel(channel)
    parts = _over_records(channel, prior, mutual_information)
    if parts is not None:
        return parts
    if prior is None and isinstance(channel, PartitionChannel):
        # The output's own entropy; the secrets may be too many to list.
        return float(leakage(channel, None, Shannon(channel.inputs), "additive").difference)
    belief = float_prior(prior, channel)
    output = np.maximum(channel.rmatvec(belief), 0.0)
    if isinstance(channel, StructuredChannel) and channel.shape[0] * channel.shape[1] > SMALL_MATRIX:
        inside = belief @ np.broadcast_to(row_negentropies(channel), belief.shape)
        positive = output[output > 0]
        return max(0.0, float(inside - positive @ np.log(positive)) / LN2)
    # Secrets that cannot be may have outputs that cannot be.
    possible = belief > 0
    matrix, logs = channel.rounded()[possible], channel.log_matrix[possible]
    with np.errstate(invalid="ignore"):
        terms = np.where(matrix > 0, matrix * (logs - log_of(output)), 0.0)
    return max(0.0, float(belief[possible] @ terms.sum(axis=1)) / LN2)


def min_entropy_leakage(channel: Channel, prior: object = None) -> float:
    """log2 of the growth of the best one-try guess, in bits (Alvim et al.)."""
    return leakage(channel, prior).bits


def sibson_information(channel: Channel, prior: object = None, order: float = 2.0) -> float:
    """Sibson's mutual information of an order, in bits: α/(α-1)·log2 Σ_y (Σ_x π_x C[x,y]^α)^(1/α).

    Order 1 is Shannon's; order ∞ is maximal leakage.

    >>> round(sibson_information(Channel([["3/4", "1/4"], ["1/4", "3/4"]]), order=2), 6)
    0.321928
    """
    _check_order(order, "Sibson's")
    if order == 1:
        return mutual_information(channel, prior)
    if math.isinf(order):
        return maximal_leakage(channel, prior)
    channel = finite_channel(channel)
    parts = _over_records(channel, prior, lambda part, own: sibson_information(part, own, order))
    if parts is not None:
        return parts
    return order / (order - 1) * _log_norms(channel, prior, order, power=1.0) / LN2 + 0.0


def arimoto_information(channel: Channel, prior: object = None, order: float = 2.0) -> float:
    """Arimoto's mutual information in bits: Rényi entropy before minus Arimoto's conditional one after.

    Order 1 is Shannon's; order ∞ is min-entropy leakage.

    >>> round(arimoto_information(Channel([["3/4", "1/4"], ["1/4", "3/4"]]), order=2), 6)
    0.321928
    """
    _check_order(order, "Arimoto's")
    if order == 1:
        return mutual_information(channel, prior)
    if math.isinf(order):
        return min_entropy_leakage(channel, prior)
    channel = finite_channel(channel)
    parts = _over_records(channel, prior, lambda part, own: arimoto_information(part, own, order))
    if parts is not None:
        return parts
    after = order / (1 - order) * _log_norms(channel, prior, order, power=order) / LN2
    before = math.log2(channel.shape[0]) if prior is None else entropy(prior, order)
    return before - after


def maximal_leakage(channel: Channel, prior: object = None) -> float:
    """log2 Σ_y max over possible x of C[x,y], in bits: any guess about any function of x (Issa et al.)."""
    return float(capacity(channel, prior=prior).bits)


def _log_norms(channel: Channel, prior: object, order: float, power: float) -> float:
    """ln Σ_y (Σ_x π_x^power·C[x,y]^order)^(1/order)."""
    even = even_log_norms(channel, order) if prior is None else None
    if even is not None:
        return even - power * math.log(channel.shape[0]) / order
    log_weights = log_of(float_prior(prior, channel))
    log_weights *= power
    columns = log_power_sums(channel, log_weights, order)
    columns /= order
    return float(log_sum(columns, axis=0))


def _over_records(
    channel: Channel, prior: object, measure: Callable[[Channel, object], float]
) -> float | None:
    """The sum over the records of a product, or None where the question does not split."""
    if not isinstance(channel, ProductChannel):
        return None
    parts = record_priors(channel, prior)
    return None if parts is None else sum(part.count * measure(part.channel, part.prior) for part in parts)


def _check_order(order: float, whose: str | None = None) -> None:
    non_negative("order", order, GainError, infinite=True)
    if whose is not None and order == 0:
        raise GainError(f"order is 0; {whose} information is defined for orders above 0")
