"""Leakage of a product channel under a product prior: each record leaks on its own, and bits add up."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sized
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np

from sievert.channels import Channel, ProductChannel, require_dense
from sievert.channels.priors import as_prior
from sievert.errors import PriorError
from sievert.measures._gain_functions import Identity, Shannon
from sievert.numerics import log_fraction
from sievert.spaces import column_of

__all__ = [
    "RecordPart",
    "RecordQuestion",
    "power_of_two",
    "product_of_powers",
    "question_by_record",
    "record_priors",
    "tuple_prior",
]

# A product of fractions is written out exactly while it has fewer bits than this.
LARGEST_EXACT_BITS = 20_000


@dataclass(frozen=True)
class RecordPart:
    """One factor of a product: its channel, how many records it serves, and the prior of each of them."""

    channel: Channel
    count: int
    prior: Any


# One value from (value, how many records have it).
Join = Callable[[Iterable[tuple[Any, int]]], Any]
RecordAdversary = tuple[type[Identity] | type[Shannon], Join]


@dataclass(frozen=True)
class RecordQuestion:
    """A question about all records of a product: who asks it of each record, and how the answers join."""

    adversary: type[Identity] | type[Shannon]
    joined: Join
    parts: list[RecordPart]


@singledispatch
def question_by_record(channel: Channel, prior: object, gain: object) -> RecordQuestion | None:
    """The question record by record: the one-try guess or Shannon, under a product prior; None for others."""
    return None


@question_by_record.register
def _about_each_record(channel: ProductChannel, prior: object, gain: object) -> RecordQuestion | None:
    own = adversary_of_records(gain, channel)
    parts = None if own is None else record_priors(channel, prior)
    return None if own is None or parts is None else RecordQuestion(*own, parts)


@singledispatch
def adversary_of_records(gain: object, channel: ProductChannel) -> RecordAdversary | None:
    """Who asks about one record what a gain asks about all, and how the answers join; None if nobody."""
    return None


@adversary_of_records.register
def _guess_by_default(gain: None, channel: ProductChannel) -> RecordAdversary:
    return Identity, _multiplied


@adversary_of_records.register
def _guess_each(gain: Identity, channel: ProductChannel) -> RecordAdversary | None:
    return (Identity, _multiplied) if gain.size == channel.shape[0] else None


@adversary_of_records.register
def _code_each(gain: Shannon, channel: ProductChannel) -> RecordAdversary | None:
    """The Shannon loss of one record stands for that of all: the tuples may be too many for labels."""
    one = all(part.shape[0] == gain.size for part, _ in channel.factors)
    return (Shannon, _added) if one or gain.size == channel.shape[0] else None


def _multiplied(values: Iterable[tuple[Any, int]]) -> Any:
    return product_of_powers(values)[0]


def _added(values: Iterable[tuple[Any, int]]) -> Any:
    return sum(count * value for value, count in values)


@singledispatch
def tuple_prior(channel: Channel, prior: object) -> object:
    """The prior of a channel's inputs: as it is, unless the inputs are tuples of records."""
    return prior


@tuple_prior.register
def _prior_of_tuples(channel: ProductChannel, prior: object) -> object:
    """A prior over all tuples from one of the records' priors; refused where the tuples are too many."""
    parts = record_priors(channel, prior)
    if prior is None or parts is None:
        return prior
    require_dense(1, channel.shape[0], f"the prior of {channel!r}")
    beliefs = [as_prior(part.prior, part.channel) for part in parts for _ in range(part.count)]
    joint = beliefs[0]
    for belief in beliefs[1:]:
        joint = np.multiply.outer(joint, belief).ravel()
    return joint


@singledispatch
def record_priors(channel: Channel, prior: object) -> list[RecordPart] | None:
    """The records of a product with their priors; None for others, and where the prior is of all tuples."""
    return None


@record_priors.register
def _priors_of_factors(channel: ProductChannel, prior: object) -> list[RecordPart] | None:
    """The prior of the records: None is uniform; one for all; or one for each factor, or for each record."""
    if prior is None:
        return [RecordPart(part, count, None) for part, count in channel.factors]
    if not isinstance(prior, list | tuple | np.ndarray):
        size = len(column_of(prior, "prior", PriorError).values)
        whole = size == channel.shape[0]
        return None if whole else [RecordPart(part, count, prior) for part, count in channel.factors]
    items = list(prior)
    if not items or any(isinstance(item, str) or not isinstance(item, Sized) for item in items):
        whole = len(items) == channel.shape[0]
        return None if whole else [RecordPart(part, count, items) for part, count in channel.factors]
    if len(items) == len(channel.factors):
        pairs = zip(channel.factors, items, strict=True)
        return [RecordPart(part, count, given) for (part, count), given in pairs]
    if len(items) == channel.records:
        return [RecordPart(part, 1, given) for part, given in zip(channel.channels(), items, strict=True)]
    raise PriorError(
        f"prior has {len(items)} records' priors but the product has {channel.records} records in "
        f"{len(channel.factors)} factors; give one for all, one for each factor or one for each record"
    )


def product_of_powers(factors: Iterable[tuple[Any, int]]) -> tuple[Any, float]:
    """Π value^count and its log2: exact while it is short, else a float (0 or inf beyond its range)."""
    pairs = list(factors)
    if any(value == 0 for value, _ in pairs):
        return Fraction(0), -math.inf
    bits = math.fsum(count * log2(value) for value, count in pairs)
    if all(isinstance(value, Fraction | int) for value, _ in pairs):
        fractions = [(Fraction(value), count) for value, count in pairs]
        length = sum(
            count * max(value.numerator.bit_length(), value.denominator.bit_length())
            for value, count in fractions
        )
        if length <= LARGEST_EXACT_BITS:
            return math.prod((value**count for value, count in fractions), start=Fraction(1)), bits
    return power_of_two(bits), bits


def log2(value: Any) -> float:
    """log2 of a positive number, however large or small a fraction; nan otherwise."""
    if not value > 0:
        return math.nan
    if isinstance(value, Fraction):
        return log_fraction(value) / math.log(2)
    return math.log2(value)


def power_of_two(bits: float) -> float:
    """2^bits, 0 or inf where a float cannot hold it."""
    if bits >= 1024:
        return math.inf
    return 0.0 if bits < -1075 else 2.0**bits
