"""Totals of one contribution a record: which are reachable, and which are adjacent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import TooLargeError
from sievert.spaces.metric import Edges, least_lengths

__all__ = [
    "LARGEST_ANSWERS",
    "IndexArray",
    "IntArray",
    "additive_edges",
    "induced_edges",
    "no_edges",
    "reachable_totals",
    "whole_numbers",
]

LARGEST_ANSWERS = 50_000

IntArray = NDArray[Any]  # int64, or object where totals are larger
IndexArray = NDArray[np.intp]


def whole_numbers(values: list[int], records: int) -> IntArray:
    """Machine integers where totals of `records` of them fit, else Python's."""
    fits = max(map(abs, values)) * records < 2**62
    return np.array(values, dtype=np.int64 if fits else object)


def reachable_totals(contributions: IntArray, records: int) -> IntArray:
    """All totals of `records` contributions, sorted."""
    steps = np.unique(contributions)
    if records == 0:
        return np.zeros(1, dtype=contributions.dtype)
    low, high = int(steps[0]), int(steps[-1])
    if high - low == len(steps) - 1:
        return np.arange((high - low) * records + 1) + low * records
    if (high - low) * records <= 64 * LARGEST_ANSWERS:
        # Bit t of `totals` says that low·records + t is reachable; one shift a step.
        totals = 1
        for _ in range(records):
            totals = _shift_or(totals, [int(step) - low for step in steps])
        bits = np.frombuffer(totals.to_bytes(totals.bit_length() // 8 + 1, "little"), dtype=np.uint8)
        return np.flatnonzero(np.unpackbits(bits, bitorder="little")) + low * records
    reached = np.zeros(1, dtype=contributions.dtype)
    for _ in range(records):
        reached = np.unique((reached[:, None] + steps[None, :]).ravel())
        if len(reached) > LARGEST_ANSWERS:
            raise TooLargeError(
                f"the query has more than {LARGEST_ANSWERS} answers; coarsen the values or lower the records",
                size=len(reached),
            )
    return reached


def _shift_or(bits: int, shifts: list[int]) -> int:
    result = 0
    for shift in shifts:
        result |= bits << shift
    return result


def no_edges() -> Edges:
    return Edges(np.empty((0, 2), dtype=np.intp), np.empty(0))


def additive_edges(contexts: IndexArray, contributions: IntArray, totals: IntArray, record: Edges) -> Edges:
    """As `induced_edges` for sums, in one pass for each difference of contributions."""
    low = np.minimum(contributions[record.pairs[:, 0]], contributions[record.pairs[:, 1]])
    difference = np.abs(contributions[record.pairs[:, 0]] - contributions[record.pairs[:, 1]])
    smaller = np.where(contributions[record.pairs[:, 0]] == low, record.pairs[:, 0], record.pairs[:, 1])
    pairs, lengths = [np.empty((0, 2), dtype=np.intp)], [np.empty(0)]
    for step in np.unique(difference):
        if step == 0:
            continue
        shortest = np.full(len(totals), np.inf)
        for edge in np.flatnonzero(difference == step):
            starts = contexts[:, smaller[edge]]
            shortest[starts] = np.minimum(shortest[starts], record.lengths[edge])
        first = np.flatnonzero(np.isfinite(shortest))
        pairs.append(np.column_stack([first, np.searchsorted(totals, totals[first] + step)]))
        lengths.append(shortest[first])
    return Edges(np.concatenate(pairs), np.concatenate(lengths))


def induced_edges(contexts: IndexArray, record: Edges, size: int) -> Edges:
    """Answers of adjacent databases, each pair once with its least length (Fernandes, Def 3.3.3)."""
    first = contexts[:, record.pairs[:, 0]].ravel()
    second = contexts[:, record.pairs[:, 1]].ravel()
    lengths = np.broadcast_to(record.lengths, (len(contexts), len(record))).ravel()
    return least_lengths(Edges(np.column_stack([first, second]), lengths), size)
