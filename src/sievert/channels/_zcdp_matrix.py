"""The ρ of a channel whose rows are listed: its worst neighbouring inputs, both ways, never below theirs."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch

import flint
import numpy as np

from sievert.arrays import FloatArray
from sievert.channels._channel import Channel, finite_channel
from sievert.channels._privacy import epsilon
from sievert.channels._structured import ResponseChannel
from sievert.channels._zcdp import largest_rate, rho_of_eps, rho_of_response, rounded_up_charge
from sievert.channels.divergences import Against, neighbours_of
from sievert.errors import MechanismError, MetricError
from sievert.numerics import rounded_up
from sievert.spaces import Edges, align

__all__ = ["rho_of_channel"]

# Entries of all neighbouring rows that are looked at, and pairs whose supremum is enclosed; beyond, ε bounds.
LARGEST_ROWS = 5_000_000
MOST_PAIRS = 300
# Rounding of rows that are floats, and of their losses, in ρ.
ROUGH = 1e-13


@singledispatch
def rho_of_channel(channel: Channel, policy_or_metric: Against) -> Fraction:
    """The least ρ with D_a ≤ a·ρ·d² for neighbours at distance d, never below it, rounded up at 10^-12.

    Pairs are taken by falling ε·tanh(ε/2), which bounds those that are not reached.

    >>> from sievert.spaces import metrics
    >>> warner = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> round(float(rho_of_channel(warner, metrics.discrete(2))), 9)
    0.549306144
    """
    finite = finite_channel(channel)
    labels, edges = neighbours_of(policy_or_metric)
    if 2 * len(edges.pairs) * finite.shape[1] > LARGEST_ROWS:
        level = rounded_up(epsilon(finite, policy_or_metric).nats)  # type: ignore[arg-type]
        lengths = {Fraction(length) for length in np.unique(edges.lengths).tolist()}
        return max((rho_of_eps(level * d) / d**2 for d in lengths), default=Fraction(0))
    order = align(finite.inputs, labels, "the policy", MetricError)
    chosen = np.arange(finite.shape[0]) if order is None else np.argsort(order)
    return _worst(finite.log_matrix[chosen], finite.relative_logs[chosen], edges)


@rho_of_channel.register
def _of_response(channel: ResponseChannel, policy_or_metric: Against) -> Fraction:
    """Any two values are told apart alike, so that the nearest neighbours are worst."""
    edges = neighbours_of(policy_or_metric)[1]
    if not len(edges.pairs):
        return Fraction(0)
    nearest = Fraction(float(edges.lengths.min()))
    return rho_of_response(channel.shape[0], channel.level.times(Fraction(1))) / nearest**2


def _worst(logs: FloatArray, relative: FloatArray, edges: Edges) -> Fraction:
    pairs = np.concatenate([edges.pairs, edges.pairs[:, ::-1]]).reshape(-1, 2)
    lengths = np.concatenate([edges.lengths, edges.lengths])
    with np.errstate(invalid="ignore"):
        losses = relative[pairs[:, 0]] - relative[pairs[:, 1]]
    losses = np.where(np.isneginf(logs[pairs[:, 0]]), np.nan, losses)
    tops = np.nanmax(losses, axis=1, initial=0.0)
    if np.isinf(tops).any():
        raise MechanismError("no ρ is large enough for this mechanism: it rules values out with certainty")
    both = np.maximum(tops, -np.nanmin(losses, axis=1, initial=0.0))
    most = both * np.tanh(both / 2) / lengths**2
    best, seen = Fraction(0), set()
    for count, i in enumerate(np.argsort(-most, kind="stable").tolist()):
        if most[i] <= best:
            break
        if count >= MOST_PAIRS:
            return max(best, rounded_up(float(most[i])))
        law = _law(logs[pairs[i, 0]], losses[i])
        if (law, lengths[i]) not in seen:
            seen.add((law, lengths[i]))
            best = max(best, _of_law(law, float(tops[i])) / Fraction(float(lengths[i])) ** 2)
    return best


Law = tuple[tuple[float, float], ...]


def _law(logs: FloatArray, losses: FloatArray) -> Law:
    """The losses, increasing, with the logarithms of their probabilities."""
    kept = ~np.isnan(losses)
    return tuple(sorted(zip(losses[kept].tolist(), logs[kept].tolist(), strict=True)))


def _of_law(law: Law, top: float) -> Fraction:
    """ρ of one pair, one way."""
    if top <= 0:
        return Fraction(0)
    least = min(loss for loss, _ in law)
    if math.isinf(least):
        law = tuple((loss, log) for loss, log in law if loss > least)

    def rate() -> flint.arb:
        chances = [(flint.arb(loss), flint.arb(log).exp()) for loss, log in law]
        total = sum((chance for _, chance in chances), flint.arb(0))

        def moments(t: flint.arb) -> flint.arb:
            return (sum((p * (t * loss).exp() for loss, p in chances), flint.arb(0)) / total).log()

        return largest_rate(moments, flint.arb(top)) + ROUGH

    return rounded_up_charge(rate)
