"""Leakage of a product channel under a product prior: each record leaks on its own, and bits add up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sievert.channels.products import ProductChannel
from sievert.errors import GainError, PriorError
from sievert.leakage.adversary import Adversary
from sievert.leakage.closed_forms import Identity, Shannon

__all__ = ["RecordPart", "is_product_question", "record_priors"]


@dataclass(frozen=True)
class RecordPart:
    """One factor of a product: its channel, how many records it serves, and the prior of each of them."""

    channel: Any
    count: int
    prior: Any


def is_product_question(channel: ProductChannel, prior: object, gain: object) -> bool:
    """Whether the answer follows record by record: the one-try guess or Shannon, under a product prior."""
    if gain is not None and not isinstance(gain, Identity | Shannon):
        if isinstance(gain, Adversary) or not isinstance(gain, str):
            return False
        raise GainError(f"gain is {gain!r}; give a gain function, or None for the one-try guess")
    return prior is None or record_priors(channel, prior) is not None


def record_priors(channel: ProductChannel, prior: object) -> list[RecordPart] | None:
    """The prior of each factor's records: None is uniform; one prior for all; or one for each factor.

    None when the prior is a vector over all tuples.
    """
    if prior is None:
        return [RecordPart(part, count, None) for part, count in channel.factors]
    items = list(prior)  # type: ignore[call-overload]
    if items and all(isinstance(item, Sequence) or hasattr(item, "__len__") for item in items):
        if len(items) != len(channel.factors):
            raise PriorError(
                f"prior has {len(items)} records' priors but the product has {len(channel.factors)} factors; "
                "give one for each factor, or one for all"
            )
        return [
            RecordPart(part, count, given)
            for (part, count), given in zip(channel.factors, items, strict=True)
        ]
    if len(items) == channel.shape[0]:
        return None
    return [RecordPart(part, count, items) for part, count in channel.factors]


def power_of_two(bits: float) -> float:
    """2^bits, 0 or inf where a float cannot hold it."""
    if bits > 1023.9:
        return math.inf
    return 0.0 if bits < -1074 else 2.0**bits
