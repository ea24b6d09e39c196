"""What an adversary who knows all other records gains about the remaining one, from a channel with a list.

Each situation of the others is a small channel whose rows are what the record's values lead to. After one
release every output of every situation is looked at; after several the types of each situation are listed
where they are few, and otherwise no gain that is never negative grows by more than the capacity each time.
"""

from __future__ import annotations

import math

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.channels import Channel
from sievert.channels.priors import as_prior
from sievert.errors import GainError, PriorError
from sievert.measures import GainFunction, context_rows
from sievert.numerics import require_size
from sievert.observations._contribution_classes import (
    BY_CLASS,
    ContributionClasses,
    Found,
    RecordGain,
    prior_value,
    value_given_class,
)
from sievert.observations._max_of_ratios import Enclosed
from sievert.observations._record_repeats import first_equal_rows
from sievert.observations._types import TypeTable, observation_count, types_of
from sievert.policies import Answers

__all__ = ["distinct_situations", "record_gain", "repeated_gain", "situations_of"]

SITUATIONS = "exact: every situation of the other records"
TYPES = "exact by types in every situation of the other records"
GROWTH = "bound: each further release multiplies a gain by at most the capacity"
# Entries of all situations that are looked at, and of the types of one: about a second.
LARGEST_WORK = 100_000_000
LARGEST_TYPES = 2_000_000
BLOCK = 4_000_000
# How far a sum of rounded gains may be off.
ROUNDING = 1e-12


def record_gain(
    channel: Channel, answers: Answers, adversary: GainFunction, releases: int = 1, prior: object = None
) -> RecordGain:
    """What an adversary gains about one record, in the situation of the others where that is most.

    `adversary` is about the policy's values, in their order, and `prior` what is believed of them.
    """
    count = observation_count(releases, GainError)
    finite = channel.finite()
    belief = as_prior(prior, answers.policy.values).astype(np.float64)
    rows, beliefs = situations_of(finite, answers, belief)
    require_size(
        rows.size * finite.shape[1], LARGEST_WORK, "situations times values times outputs", "use fewer values"
    )
    befores = np.asarray(adversary.values(np.ascontiguousarray(beliefs.T)), dtype=np.float64)
    once = _once(adversary, finite.rounded(), rows, beliefs)
    found = (
        [Found.exactly(float(value), SITUATIONS) for value in once]
        if count == 1
        else _repeated(adversary, finite, rows, beliefs, once, count)
    )
    sign = -1.0 if adversary.is_loss else 1.0
    ends = [item.bounds.lower if adversary.is_loss else item.bounds.upper for item in found]
    worst = max(range(len(found)), key=lambda i: (sign * ends[i], sign * (ends[i] - befores[i])))
    return _gain(adversary, float(befores[worst]), found[worst], count)


def situations_of(channel: Channel, answers: Answers, belief: FloatArray) -> tuple[IndexArray, FloatArray]:
    """[situation, value]: rows of the channel, -1 where the others leave a value impossible, and beliefs."""
    rows = context_rows(channel, answers)
    rows = np.unique(np.where(rows >= 0, first_equal_rows(channel.log_matrix)[rows], -1), axis=0)
    rows = rows[(np.where(rows >= 0, belief, 0.0) > 0).any(axis=1)]
    if not len(rows):
        raise PriorError("prior: no database is possible under it; give weight to a permitted value")
    beliefs = np.where(rows >= 0, belief, 0.0)
    return rows, beliefs / beliefs.sum(axis=1, keepdims=True)


def distinct_situations(
    channel: Channel, rows: IndexArray, beliefs: FloatArray, most: int
) -> list[int] | None:
    """One of each group of situations that differ in rounding only; None where they are more than `most`."""
    found: dict[bytes, int] = {}
    for i, (row, belief) in enumerate(zip(rows, beliefs, strict=True)):
        found.setdefault(_seen_in(channel, row, belief)[2], i)
        if len(found) > most:
            return None
    return list(found.values())


def _seen_in(channel: Channel, row: IndexArray, belief: FloatArray) -> tuple[Channel, IndexArray, bytes]:
    """The reduced channel of one situation, the row of each value, and what is equal for equal situations."""
    possible = belief > 0
    distinct, place = np.unique(np.where(possible, row, row[possible][0]), return_inverse=True)
    reduced = Channel.trusted(channel.log_matrix[distinct], "log").reduced()
    key = np.round(reduced.log_matrix, 12).tobytes() + place.tobytes() + np.round(belief, 15).tobytes()
    return reduced, place.ravel(), key


def repeated_gain(channel: Channel, adversary: GainFunction, belief: FloatArray, releases: int) -> RecordGain:
    """What an adversary gains about the channel's input after several releases."""
    finite, count = channel.finite(), observation_count(releases, GainError)
    rows = np.arange(finite.shape[0], dtype=np.intp)[None, :]
    once = _once(adversary, finite.rounded(), rows, belief[None, :])
    found = _repeated(adversary, finite, rows, belief[None, :], once, count)[0]
    return _gain(adversary, prior_value(adversary, belief), found, count)


def _gain(adversary: GainFunction, before: float, found: Found, count: int) -> RecordGain:
    """No release makes the best action worse on average; rounding must not say so."""
    better = min if adversary.is_loss else max
    lower, upper = (better(end, before) for end in (found.bounds.lower, found.bounds.upper))
    after = lower if adversary.is_loss else upper
    return RecordGain(adversary.name, before, after, found.bounds.exact, lower, upper, found.method, count)


def _once(adversary: GainFunction, matrix: FloatArray, rows: IndexArray, beliefs: FloatArray) -> FloatArray:
    """The gain after one release in each situation, a block of situations at a time."""
    situations, values = rows.shape
    outputs = matrix.shape[1]
    found, step = np.empty(situations), max(1, BLOCK // (values * outputs))
    for start in range(0, situations, step):
        part = slice(start, start + step)
        joint = beliefs[part, :, None] * matrix[rows[part]]
        columns = joint.transpose(1, 0, 2).reshape(values, -1)
        found[part] = adversary.values(columns).astype(np.float64).reshape(-1, outputs).sum(axis=1)
    return found


def _repeated(
    adversary: GainFunction,
    channel: Channel,
    rows: IndexArray,
    beliefs: FloatArray,
    once: FloatArray,
    count: int,
) -> list[Found]:
    """Each situation by its types, those that differ in rounding only once; where they are many, bounded."""
    known: dict[bytes, Found] = {}
    found = []
    for row, belief, start in zip(rows, beliefs, once.tolist(), strict=True):
        reduced, place, key = _seen_in(channel, row, belief)
        if key not in known:
            known[key] = _situation(adversary, reduced, place, belief, start, count)
        found.append(known[key])
    return found


def _situation(
    adversary: GainFunction, reduced: Channel, place: IndexArray, belief: FloatArray, once: float, count: int
) -> Found:
    size = len(reduced.log_matrix)
    if size == 1:
        return Found.exactly(prior_value(adversary, belief), SITUATIONS)
    if types_of(reduced.shape[1], count) * max(len(belief), reduced.shape[1]) <= LARGEST_TYPES:
        blocks = TypeTable(reduced.log_matrix, count).blocks(count)
        total = sum(
            float(adversary.values(belief[:, None] * np.exp(logs)[place]).sum()) for _, logs in blocks
        )
        return Found.exactly(total, TYPES)
    classes = ContributionClasses(np.arange(size), np.ones(size, dtype=np.int64), place, belief)
    limit, ends = value_given_class(adversary, classes), adversary.bounds()
    if adversary.is_loss:
        return Found(Enclosed(min(limit, once), once), BY_CLASS)
    # Rounding must not lower a bound; no gain is above the greatest.
    limit = min(limit * (1 + ROUNDING), math.inf if ends is None else float(ends[1]))
    bound = Found(Enclosed(once, max(limit, once)), BY_CLASS)
    if ends is not None and ends[0] >= 0 and once > 0:
        growth = float(np.exp(reduced.log_matrix).max(axis=0).sum())
        nats = math.log(once) + (count - 1) * math.log(growth)
        bound = bound.least(math.exp(min(nats, 700.0)), GROWTH)
    return bound
