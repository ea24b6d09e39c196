"""What answers inherit when the databases are listed: adjacency, and one record given the others."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IndexArray
from sievert.errors import TooLargeError
from sievert.policies._policy import Policy
from sievert.spaces import (
    DatabaseGraph,
    Databases,
    Edges,
    Graph,
    Labels,
    Metric,
    least_lengths,
)

__all__ = [
    "LARGEST_ANSWERS",
    "Answers",
    "IndexArray",
    "IntArray",
    "additive_edges",
    "contexts_of",
    "edges_of_answers",
    "in_order",
    "induced_edges",
    "largest_ratio",
    "no_edges",
    "reachable_totals",
    "whole_numbers",
]


@dataclass(frozen=True)
class Answers:
    """The possible answers of a query over a policy, and how far apart they are.

    Attributes
    ----------
    labels : the answers
    metric : induced distance (Fernandes, Def 3.3.3)
    contexts : array [others, values], the answer's index when all other records are fixed (one row for
        each distinct situation of the others) and one record takes each of its values; -1 where public
        knowledge does not permit the value with the others
    """

    policy: Policy
    labels: Labels
    induced: Edges | None = field(repr=False)
    contexts: IndexArray = field(repr=False)

    @property
    def edges(self) -> Edges:
        """Answers of adjacent databases with their least distance; for a record, the policy's own."""
        return self.policy.record_edges if self.induced is None else self.induced

    @cached_property
    def metric(self) -> Metric:
        """Induced distance between answers: shortest paths over the distances of adjacent databases."""
        if self.induced is None:
            return self.policy.record_metric
        return Metric.from_edges(self.induced, self.labels, len(self.labels))

    @property
    def graph(self) -> Graph:
        """Adjacency of the answers (Alvim et al., Def 25)."""
        return Graph._of_indices(self.labels, self.edges.pairs)

    def __len__(self) -> int:
        return len(self.labels)


# Pairs of answers up to which "seen or not" is a table of booleans.
LARGEST_TABLE = 50_000_000
LARGEST_CONTEXTS = 20_000_000


def edges_of_answers(graph: DatabaseGraph, answer_of: IndexArray, answers: int) -> Edges:
    """Pairs of different answers that adjacent databases have (Alvim et al., Def 25), all of length 1."""
    seen = np.zeros(answers**2, dtype=bool) if answers**2 <= LARGEST_TABLE else None
    codes = [np.empty(0, dtype=np.int64)]
    for first, last in graph.row_blocks():
        rows = np.repeat(answer_of[first:last], np.diff(graph.starts[first : last + 1]))
        columns = answer_of[graph.ends[graph.starts[first] : graph.starts[last]]]
        apart = rows < columns
        found = rows[apart].astype(np.int64) * answers + columns[apart]
        if seen is not None:
            seen[found] = True
        else:
            codes.append(_distinct(found))
    distinct = _distinct(np.concatenate(codes)) if seen is None else np.flatnonzero(seen)
    pairs = np.column_stack([distinct // answers, distinct % answers]).astype(np.intp)
    return Edges(pairs, np.ones(len(pairs)))


def contexts_of(databases: Databases, answer_of: IndexArray) -> IndexArray:
    """[others, values]: the answer when the others are fixed and one record takes each of its values.

    Each distinct situation once; -1 where a value is not permitted with the others.
    """
    values = len(databases.values)
    if len(databases) * values > LARGEST_CONTEXTS:
        raise TooLargeError(
            f"{len(databases)} databases have up to {len(databases) * values} pairs of a situation of the "
            f"others and a value; at most {LARGEST_CONTEXTS} are listed; coarsen the values",
            size=len(databases) * values,
        )
    tables = [_contexts_of_record(databases, record, answer_of) for record in range(databases.records)]
    return np.unique(np.concatenate(tables), axis=0)


def _contexts_of_record(databases: Databases, record: int, answer_of: IndexArray) -> IndexArray:
    rows = databases.rows
    others = np.delete(rows, record, axis=1)
    order = np.lexsort(others.T[::-1]) if others.shape[1] else np.arange(len(rows))
    ordered = others[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    situation = np.cumsum(new) - 1
    table = np.full((int(situation[-1]) + 1, len(databases.values)), -1, dtype=np.intp)
    table[situation, rows[order, record]] = answer_of[order]
    return np.unique(table, axis=0)


def _distinct(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    ordered = np.sort(codes)
    return ordered[np.concatenate([[True], ordered[1:] != ordered[:-1]])] if len(ordered) else ordered


# ── Totals of one contribution a record: which are reachable, and which are adjacent ────────────────────────

LARGEST_ANSWERS = 50_000

IntArray = NDArray[Any]  # int64, or object where totals are larger


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
        return np.arange((high - low) * records + 1).astype(steps.dtype) + low * records
    if (high - low) * records <= 64 * LARGEST_ANSWERS:
        # Bit t of `totals` says that low·records + t is reachable; one shift a step.
        totals = 1
        for _ in range(records):
            totals = _shift_or(totals, [int(step) - low for step in steps])
        bits = np.frombuffer(totals.to_bytes(totals.bit_length() // 8 + 1, "little"), dtype=np.uint8)
        return np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(steps.dtype) + low * records
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


def largest_ratio(change: NDArray[np.float64], lengths: NDArray[np.float64]) -> float:
    """max change/length with 0/0 = 0 and positive/0 = inf."""
    if not len(change):
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(change == 0, 0.0, change / lengths)
    return float(ratios.max())


def in_order(answers: Iterable[Hashable]) -> Labels:
    """Answers in their natural order, or by their text when they cannot be compared."""
    items = list(answers)
    try:
        return tuple(sorted(items))  # type: ignore[type-var]
    except TypeError:
        return tuple(sorted(items, key=repr))
