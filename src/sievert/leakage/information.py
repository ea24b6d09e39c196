"""Information measures in bits: Shannon, min-entropy, Sibson, Arimoto (Rényi) and maximal leakage."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.channels.priors import as_prior
from sievert.errors import GainError
from sievert.leakage.measures import leakage
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


def entropy(distribution: object, order: float = 1.0) -> float:
    """Rényi entropy in bits: Shannon for order 1, min-entropy for order ∞, log of the support for 0.

    >>> entropy([0.5, 0.25, 0.25]), entropy([0.5, 0.25, 0.25], order=math.inf)
    (1.5, 1.0)
    """
    _check_order(order)
    size = len(list(distribution))  # type: ignore[call-overload]
    belief = as_prior(distribution, size).astype(np.float64)
    positive = belief[belief > 0]
    if order == 1:
        return float(-(positive * np.log2(positive)).sum()) + 0.0
    if math.isinf(order):
        return -math.log2(positive.max())
    return float(np.log2((positive**order).sum()) / (1 - order)) + 0.0


def mutual_information(channel: Channel, prior: object = None) -> float:
    """Shannon mutual information of input and output, in bits.

    Computed as the average divergence of each row from the output distribution, so that a channel that
    leaks little loses no digits to a difference of entropies.
    """
    finite = channel.finite()
    belief = as_prior(prior, finite.shape[0]).astype(np.float64)
    matrix, logs = finite.rounded(), finite.log_matrix
    output = log_of(belief @ matrix)
    with np.errstate(invalid="ignore"):
        terms = np.where(matrix > 0, matrix * (logs - output), 0.0)
    return max(0.0, float(belief @ terms.sum(axis=1)) / LN2)


def min_entropy_leakage(channel: Channel, prior: object = None) -> float:
    """log2 of the growth of the best one-try guess, in bits (Alvim et al.)."""
    return leakage(channel, prior).bits


def sibson_information(channel: Channel, prior: object = None, order: float = 2.0) -> float:
    """Sibson's mutual information of an order, in bits: α/(α-1)·log2 Σ_y (Σ_x π_x C[x,y]^α)^(1/α).

    Order 1 is Shannon's; order ∞ is maximal leakage.
    """
    _check_order(order)
    if order == 1:
        return mutual_information(channel, prior)
    if math.isinf(order):
        return maximal_leakage(channel, prior)
    if order == 0:
        raise GainError("order is 0; Sibson's information is defined for orders above 0")
    finite = channel.finite()
    log_prior = log_of(as_prior(prior, finite.shape[0]).astype(np.float64))
    columns = log_sum(log_prior[:, None] + order * finite.log_matrix, axis=0) / order
    return order / (order - 1) * float(log_sum(columns, axis=0)) / LN2 + 0.0


def arimoto_information(channel: Channel, prior: object = None, order: float = 2.0) -> float:
    """Arimoto's mutual information in bits: Rényi entropy before minus Arimoto's conditional one after.

    Order 1 is Shannon's; order ∞ is min-entropy leakage.
    """
    _check_order(order)
    if order == 1:
        return mutual_information(channel, prior)
    if math.isinf(order):
        return min_entropy_leakage(channel, prior)
    if order == 0:
        raise GainError("order is 0; Arimoto's information is defined for orders above 0")
    finite = channel.finite()
    belief = as_prior(prior, finite.shape[0]).astype(np.float64)
    joint = log_of(belief)[:, None] + finite.log_matrix
    columns = log_sum(order * joint, axis=0) / order
    after = order / (1 - order) * float(log_sum(columns, axis=0)) / LN2
    return entropy(belief, order) - after


def maximal_leakage(channel: Channel, prior: object = None) -> float:
    """log2 Σ_y max over possible x of C[x,y], in bits: any guess about any function of x (Issa et al.)."""
    finite = channel.finite()
    possible = np.asarray(as_prior(prior, finite.shape[0]) > 0, dtype=bool)
    return math.log2(float(finite.rounded()[possible].max(axis=0).sum()))


def _check_order(order: float) -> None:
    if not order >= 0:
        raise GainError(f"order is {order!r}; it must be a number ≥ 0 (inf allowed)")
