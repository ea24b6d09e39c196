"""Convex sums of mechanisms: one of them is run, and everybody sees which (Fernandes, Sec 6.3.3)."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.channels import Channel, finite_channel
from sievert.errors import ChannelError
from sievert.numerics import abbreviated, as_fraction, is_exact, log_sum, taken
from sievert.spaces import align

__all__ = ["convex_sum"]

# What rounding may add to a sum of weights, for each of them.
ROUNDING = 1e-12


def convex_sum(channels: Iterable[Channel], weights: Iterable[object] | None = None) -> Channel:
    """The mechanism that runs one of several, chosen at random and told: the convex sum of their hypers.

    Parameters
    ----------
    channels : mechanisms with the same inputs
    weights : how often each is run, ≥ 0 with sum 1; equally often by default

    Returns
    -------
    Channel
        Reduced: outputs that lead to the same posterior are one. Exact where channels and weights are.

    Notes
    -----
    Columns side by side, each times the weight of its channel; not the average of the matrices. For every
    prior and loss, what the sum loses is the sum of what the channels lose. Private mechanisms have private
    sums, and sums of kernels are exactly the vertex mechanisms.

    Cost: O(inputs·outputs), outputs of all channels together.

    References
    ----------
    Fernandes, Prop 2.

    Examples
    --------
    >>> from sievert.mechanisms import versus
    >>> from sievert.spaces import metrics
    >>> three = [versus(metrics.discrete(3), [x], alpha="1/2") for x in range(3)]
    >>> [str(p) for p in convex_sum(three).exact[0]]
    ['1/9', '1/9', '1/9', '2/9', '2/9', '2/9']
    """
    parts = [
        finite_channel(channel, "channels")
        for channel in taken("channels", channels, ChannelError, "channels")
    ]
    if not parts:
        raise ChannelError("channels is empty; give at least one")
    shares = _shares(weights, len(parts))
    inputs = parts[0].inputs
    orders = [align(inputs, part.inputs, "the inputs of a channel", ChannelError) for part in parts]
    if all(part.form == "exact" for part in parts) and all(isinstance(share, Fraction) for share in shares):
        tables = [np.asarray(part.exact) * share for part, share in zip(parts, shares, strict=True)]
        return _joined(tables, orders, "exact", inputs)
    with np.errstate(divide="ignore"):
        logs = [part.log_matrix + np.log(float(share)) for part, share in zip(parts, shares, strict=True)]
    return _joined(logs, orders, "log", inputs)


def _joined(tables: list[Any], orders: list[Any], form: Any, inputs: Any) -> Channel:
    rows = [table if order is None else table[order] for table, order in zip(tables, orders, strict=True)]
    whole = np.concatenate(rows, axis=1)
    if form == "log":
        whole = whole - log_sum(whole, axis=1)[:, None]
    return Channel.trusted(whole, form, inputs).reduced()


def _shares(weights: Iterable[object] | None, count: int) -> list[Any]:
    """Weights as fractions where all are exact, else as floats with sum 1."""
    if weights is None:
        return [Fraction(1, count)] * count
    given: list[Any] = list(taken("weights", weights, ChannelError, "numbers"))
    if len(given) != count:
        raise ChannelError(f"weights has {len(given)} numbers for {count} channels; give one for each")
    exact = all(is_exact(weight) for weight in given)
    try:
        shares: list[Any] = [as_fraction(weight) if exact else float(weight) for weight in given]
        total = sum(shares)
    except (TypeError, ValueError):
        raise ChannelError(f"weights are {abbreviated(given)}; give numbers ≥ 0 that sum to 1") from None
    # Of NaN too.
    if not (min(shares) >= 0 and abs(total - 1) <= (0 if exact else ROUNDING * count)):
        raise ChannelError(
            f"weights are {abbreviated(given)} with sum {abbreviated(total)}; they must be ≥ 0 and sum to 1"
        )
    return shares
