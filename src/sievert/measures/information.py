"""Information measures in bits: Shannon, min-entropy, Sibson, Arimoto (Rényi) and maximal leakage.

Records of a product channel are independent under a product prior, so each measure adds up over them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import (
    Channel,
    PartitionChannel,
    ProductChannel,
    ResponseChannel,
    finite_channel,
)
from sievert.channels.priors import own_distribution
from sievert.errors import GainError
from sievert.measures._capacity import capacity
from sievert.measures._gain_functions import Shannon
from sievert.measures._improvement import movements
from sievert.measures._output_values import float_prior
from sievert.measures._power_sums import even_divergence, even_log_norms, log_power_sums, row_negentropies
from sievert.measures._product_leakage import record_priors
from sievert.measures._vulnerability import leakage
from sievert.numerics import abbreviated, entropy_excess, exp_excess, log_means, log_of, log_sum, non_negative
from sievert.results import guarded

__all__ = [
    "arimoto_information",
    "entropy",
    "maximal_leakage",
    "min_entropy_leakage",
    "mutual_information",
    "sibson_information",
]


def __dir__() -> list[str]:
    return sorted(__all__)


# Logarithms are divided by the order, which must not leave the range of floats.
LEAST_ORDER, LARGEST_ORDER = 1e-290, 1e290
LN2 = math.log(2)
# Up to this many entries the matrix is used, which loses no digits where a channel leaks little.
SMALL_MATRIX = 4_000_000
# Weights below this have lost digits.
SMALLEST = 1e-300
# Beliefs about many values are summed up a slice at a time.
SLICE = 100_000


@guarded
def entropy(distribution: object, order: float = 1.0) -> float:
    """Rényi entropy in bits: Shannon for order 1, min-entropy for order ∞, log of the support for 0.

    Parameters
    ----------
    distribution : probabilities
    order : at least 0; inf is allowed

    Returns
    -------
    float
        In bits.

    Notes
    -----
    Cost: O(n).

    Examples
    --------
    >>> entropy([0.5, 0.25, 0.25]), entropy([0.5, 0.25, 0.25], order=math.inf)
    (1.5, 1.0)
    """
    order = _check_order(order)
    belief = own_distribution(distribution, "distribution").astype(np.float64, copy=False)
    positive = belief[belief > 0]
    if math.isinf(order):
        return -math.log2(positive.max()) + 0.0
    logs = np.log2(positive)
    if order == 1:
        return float(-(positive @ logs)) + 0.0
    return float(log_sum(order * LN2 * logs, axis=0)) / LN2 / (1 - order) + 0.0


@guarded
def mutual_information(channel: Channel, prior: object = None) -> float:
    """Shannon mutual information of input and output, in bits.

    Computed as the average divergence of each row from the output distribution, so that a channel that
    leaks little loses no digits to a difference of entropies.

    Parameters
    ----------
    channel : Channel
    prior : probabilities of the secrets; uniform by default

    Returns
    -------
    float
        In bits.

    Notes
    -----
    Cost: O(inputs·outputs); a closed form for randomised response.

    Examples
    --------
    >>> round(mutual_information(Channel([["3/4", "1/4"], ["1/4", "3/4"]])), 6)
    0.188722
    """
    return shannon_information(finite_channel(channel), prior)


@singledispatch
def shannon_information(channel: Channel, prior: object) -> float:
    """Mutual information in bits, by the rule of the channel or by its matrix."""
    belief = float_prior(prior, channel)
    output = np.maximum(channel.rmatvec(belief), 0.0)
    if channel.is_rule_beyond(SMALL_MATRIX):
        inside = belief @ np.broadcast_to(row_negentropies(channel), belief.shape)
        positive = output[output > 0]
        return max(0.0, float(inside - positive @ np.log(positive)) / LN2)
    # Secrets that cannot be may have outputs that cannot be.
    possible = belief > 0
    relative = channel.relative_logs[possible]
    loss = relative - log_means(relative, belief[possible])
    # Σ_y C·ln C/q = Σ_y q·(1 - r + r·ln r) with r = C/q: both rows sum to 1, and no term is negative.
    return float(belief[possible] @ (entropy_excess(loss) @ output)) / LN2


@shannon_information.register
def _information_of_records(channel: ProductChannel, prior: object) -> float:
    found = _over_records(channel, prior, mutual_information)
    return shannon_information.dispatch(Channel)(channel, prior) if found is None else found


@shannon_information.register
def _information_of_program(channel: PartitionChannel, prior: object) -> float:
    """The output's own entropy; the secrets may be too many to list."""
    if prior is not None:
        return shannon_information.dispatch(Channel)(channel, prior)
    return float(leakage(channel, None, Shannon(channel.inputs), kind="additive").difference)


@shannon_information.register
def _information_of_response(channel: ResponseChannel, prior: object) -> float:
    """Each output stands for one value: its truth and its lies against q = lie + (truth - lie)·π."""
    if not channel.is_mixed:
        return shannon_information.dispatch(Channel)(channel, prior)
    belief = float_prior(prior, channel)
    slices = (belief[start : start + SLICE] for start in range(0, len(belief), SLICE))
    return math.fsum(_told_and_lied(channel, part) for part in slices) / LN2


def _told_and_lied(channel: ResponseChannel, belief: FloatArray) -> float:
    truth, lie, others = float(channel.truth), float(channel.lie), 1 - belief
    possible = belief > 0
    to_truth, to_lie = _response_moves(channel, belief)
    told = truth * (belief[possible] @ exp_excess(to_truth[possible]))
    far = np.exp(channel.log_lie + to_lie) - lie * (1 + to_lie)
    lied = others @ np.where(to_lie < 1, lie * exp_excess(np.minimum(to_lie, 1.0)), far)
    return float(told + lied)


def _response_moves(channel: ResponseChannel, belief: FloatArray) -> tuple[FloatArray, FloatArray]:
    """ln q/truth = ln(1 - (1 - e^-ε)(1 - π)) and ln q/lie = ln(1 + (e^ε - 1)π) of each output."""
    others = 1 - belief
    if channel.eps < 1:
        return np.log1p(math.expm1(-channel.eps) * others), np.log1p(math.expm1(channel.eps) * belief)
    to_truth = np.logaddexp(log_of(belief), log_of(others) - channel.eps)
    return to_truth, to_truth + channel.eps


@guarded
def min_entropy_leakage(channel: Channel, prior: object = None) -> float:
    """log2 of the growth of the best one-try guess, in bits.

    Parameters
    ----------
    channel : Channel
    prior : probabilities of the secrets; uniform by default

    Returns
    -------
    float
        In bits.

    Notes
    -----
    Cost: that of `sv.leakage`.

    References
    ----------
    Alvim et al.

    Examples
    --------
    >>> round(min_entropy_leakage(Channel([["3/4", "1/4"], ["1/4", "3/4"]])), 6)
    0.584963
    """
    return leakage(channel, prior).growth


@guarded
def sibson_information(channel: Channel, prior: object = None, order: float = 2.0) -> float:
    """Sibson's mutual information of an order, in bits: α/(α-1)·log2 Σ_y (Σ_x π_x C[x,y]^α)^(1/α).

    Order 1 is Shannon's; order ∞ is maximal leakage.

    Parameters
    ----------
    channel : Channel
    prior : probabilities of the secrets; uniform by default
    order : above 0; inf is allowed

    Returns
    -------
    float
        In bits.

    Notes
    -----
    Cost: O(inputs·outputs); a closed form for randomised response.

    Examples
    --------
    >>> round(sibson_information(Channel([["3/4", "1/4"], ["1/4", "3/4"]]), order=2), 6)
    0.321928
    """
    order = _check_order(order, "Sibson's")
    if order == 1:
        return mutual_information(channel, prior)
    if math.isinf(order):
        return maximal_leakage(channel, prior)
    channel = finite_channel(channel)
    parts = _over_records(channel, prior, lambda part, own: sibson_information(part, own, order))
    if parts is not None:
        return parts
    even = even_divergence(channel, order) if prior is None else None
    if even is not None:
        return even / LN2
    belief = listed_belief(channel, prior)
    known = None if belief is None else divergence(channel, belief, order)
    if known is not None:
        return known / LN2
    return order / (order - 1) * _log_norms(channel, prior, order, power=1.0) / LN2 + 0.0


@guarded
def arimoto_information(channel: Channel, prior: object = None, order: float = 2.0) -> float:
    """Arimoto's mutual information in bits: Rényi entropy before minus Arimoto's conditional one after.

    Order 1 is Shannon's; order ∞ is min-entropy leakage.

    Parameters
    ----------
    channel : Channel
    prior : probabilities of the secrets; uniform by default
    order : above 0; inf is allowed

    Returns
    -------
    float
        In bits.

    Notes
    -----
    Cost: O(inputs·outputs); a closed form for randomised response.

    Examples
    --------
    >>> round(arimoto_information(Channel([["3/4", "1/4"], ["1/4", "3/4"]]), order=2), 6)
    0.321928
    """
    order = _check_order(order, "Arimoto's")
    if order == 1:
        return mutual_information(channel, prior)
    if math.isinf(order):
        return min_entropy_leakage(channel, prior)
    channel = finite_channel(channel)
    parts = _over_records(channel, prior, lambda part, own: arimoto_information(part, own, order))
    if parts is not None:
        return parts
    even = even_divergence(channel, order) if prior is None else None
    if even is not None:
        return even / LN2
    belief = listed_belief(channel, prior)
    known = None if belief is None else _tilted_divergence(channel, belief, order)
    if known is not None:
        return known / LN2
    after = order / (1 - order) * _log_norms(channel, prior, order, power=order) / LN2
    before = math.log2(channel.shape[0]) if prior is None else entropy(prior, order)
    return before - after


@singledispatch
def listed_belief(channel: Channel, prior: object) -> FloatArray | None:
    """The belief in every secret; None where the secrets may be too many to list."""
    return float_prior(prior, channel)


@listed_belief.register
def _belief_of_program(channel: PartitionChannel, prior: object) -> FloatArray | None:
    """A uniform prior on the blocks of a program needs no list."""
    return None if prior is None else float_prior(prior, channel)


def _tilted_divergence(channel: Channel, belief: FloatArray, order: float) -> float | None:
    """Arimoto's is Sibson's under the prior π^α/Σπ^α; None where that rules out what was possible."""
    tilted = (belief / belief.max()) ** order
    if (tilted[belief > 0] < SMALLEST).any():
        return None
    return divergence(channel, tilted / tilted.sum(), order)


@guarded
def maximal_leakage(channel: Channel, prior: object = None) -> float:
    """log2 Σ_y max over possible x of C[x,y], in bits: any guess about any function of x.

    Parameters
    ----------
    channel : Channel
    prior : which secrets are possible; all by default

    Returns
    -------
    float
        In bits.

    Notes
    -----
    Cost: O(inputs·outputs); a closed form for randomised response and geometric noise.

    References
    ----------
    Issa et al., An operational approach to information leakage.

    Examples
    --------
    >>> import sievert as sv
    >>> maximal_leakage(sv.mechanisms.warner()) == sv.capacity(sv.mechanisms.warner()).bits
    True
    """
    return float(capacity(channel, prior=prior).bits)


@singledispatch
def divergence(channel: Channel, belief: FloatArray, order: float) -> float | None:
    """Sibson's information in nats with its digits where it is small; None for very large channels or ratios.

    Σ_y P(y)·(Σ_x π_x e^(α·m))^(1/α) with m = ln C/P(y). Because Σ_x π_x e^m = 1, the inner sum is 1 plus
    Σ_x π_x (e^(αm) - 1 - α(e^m - 1)), whose terms have one sign.
    """
    if channel.shape[0] * channel.shape[1] > SMALL_MATRIX:
        return None
    weights, moved = movements(channel, belief)
    possible = belief > 0
    return _of_sums([_grown(weights, belief[possible] @ _power_excess(moved[possible], order), order)], order)


@divergence.register
def _divergence_of_response(channel: ResponseChannel, belief: FloatArray, order: float) -> float | None:
    if not channel.is_mixed:
        return divergence.dispatch(Channel)(channel, belief, order)
    slices = (belief[start : start + SLICE] for start in range(0, len(belief), SLICE))
    return _of_sums([_grown(*_response_excess(channel, part, order), order) for part in slices], order)


def _of_sums(sums: list[tuple[float, float]], order: float) -> float | None:
    """Sibson's information from what the outputs' sums grow by, and their probabilities."""
    grown = math.fsum(more for more, _ in sums) / math.fsum(weight for _, weight in sums)
    return order / (order - 1) * math.log1p(grown) + 0.0 if -1 < grown < math.inf else None


def _response_excess(
    channel: ResponseChannel, belief: FloatArray, order: float
) -> tuple[FloatArray, FloatArray]:
    """P(y) of some outputs of a randomised response, and what their inner sums have over 1."""
    to_truth, to_lie = _response_moves(channel, belief)
    above = np.zeros(len(belief))
    for share, logs in ((belief, to_truth), (1 - belief, to_lie)):
        possible = share > 0
        above[possible] += share[possible] * _power_excess(-logs[possible], order)
    return np.exp(channel.log_truth + to_truth), above


def _grown(weights: FloatArray, above: FloatArray, order: float) -> tuple[float, float]:
    """Σ_y P(y)·((1 + above)^(1/α) - 1) and Σ_y P(y)."""
    if not np.isfinite(above).all():
        return math.inf, float(weights.sum())
    with np.errstate(divide="ignore"):
        each = np.expm1(np.log1p(np.maximum(above, -1.0)) / order)
    return float(weights @ each), float(weights.sum())


def _power_excess(logs: FloatArray, order: float) -> FloatArray:
    """e^(αm) - 1 - α(e^m - 1); not finite where a float cannot hold it."""
    told = np.isfinite(logs)
    logs = np.where(told, logs, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        near = exp_excess(order * logs) - order * exp_excess(logs)
        return np.where(told, near, order - 1)


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
    parts = record_priors(channel, prior)
    return None if parts is None else sum(part.count * measure(part.channel, part.prior) for part in parts)


def _check_order(order: float, whose: str | None = None) -> float:
    order = non_negative("order", order, GainError, infinite=True)
    if LARGEST_ORDER < order < math.inf:
        raise GainError(
            f"order is {abbreviated(order)}; give at most {LARGEST_ORDER:g}, or inf for its limit"
        )
    if whose is not None and order == 0:
        raise GainError(f"order is 0; {whose} information is defined for orders above 0")
    if whose is not None and order < LEAST_ORDER:
        raise GainError(
            f"order is {order:g}; {whose} information is computed for orders from {LEAST_ORDER:g}"
        )
    return order
