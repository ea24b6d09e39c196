"""Which moves of one record through several tables no other exceeds, cell by cell in every table."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sievert.arrays import IndexArray, IntArray
from sievert.errors import QueryError, TooLargeError
from sievert.policies._joint_sensitivity import LEFT_OUT, _all_pairs, _listed_pairs, _profiles, cell_moves
from sievert.policies._policy import Policy
from sievert.policies._statistic import Statistic

__all__ = ["JointMove", "cells_moved", "joint_moves"]

# Profiles all of whose pairs are looked at, and moves of which none exceeds another.
LARGEST_PROFILES = 3_000
LARGEST_MOVES = 4_000


@dataclass(frozen=True)
class JointMove:
    """One record moves several tables: by how many steps the cells of each, the largest first.

    `pair` is None where no single pair moves them all so far; the move is then above those that do.
    """

    steps: tuple[tuple[int, ...], ...]
    pair: tuple[Hashable, Hashable] | None


def joint_moves(
    policy: Policy, statistics: Sequence[Statistic], absence: bool = False
) -> tuple[JointMove, ...]:
    """The moves of one record through several tables that no other exceeds in every cell.

    Parameters
    ----------
    policy : whose neighbours are compared, without public knowledge; distances are not looked at
    statistics : the tables, over the policy's values
    absence : whether a record may be left out too, where any two values are neighbours

    Returns
    -------
    tuple of JointMove
        Whatever never falls in any cell is largest at one of them. Where there are too many, one move that is
        above all, the largest of every table, with no pair.

    Notes
    -----
    Cost: O(profiles²·tables) where any two values are neighbours, else O(edges·tables).

    Examples
    --------
    >>> from sievert.policies import Policy, Query, joint_moves
    >>> policy = Policy.differential([0, 1, 2], records=10)
    >>> tables = [Query.histogram().statistic(policy), Query.sum().statistic(policy)]
    >>> [(move.steps, move.pair) for move in joint_moves(policy, tables)]
    [(((1, 1), (2,)), (0, 2))]
    """
    if policy.constrained:
        raise QueryError("policy has public knowledge, under which several records move at once")
    tables, names = tuple(statistics), list(policy.values)
    if absence and policy.absent is None:
        if not policy.hides_any_two:
            raise QueryError("absence goes with a policy that hides any two values, or with add-remove")
        tables = tuple(
            replace(t, cell_of=np.append(t.cell_of, 0), amount=np.append(t.amount, 0)) for t in tables
        )
        names.append(LEFT_OUT)
    try:
        return _largest(tables, names, _pairs(policy, tables))
    except TooLargeError:
        return (_above_all(policy, tuple(statistics), absence),)


def _pairs(policy: Policy, tables: tuple[Statistic, ...]) -> Iterator[tuple[IndexArray, IndexArray]]:
    """Neighbours in blocks; of any two values one for each profile that may be largest."""
    if policy.record_metric.uniform_distance is None:
        yield from _listed_pairs(policy.record_edges.pairs)
        return
    chosen = _profiles(tables)
    if len(chosen) > LARGEST_PROFILES:
        raise TooLargeError(f"{len(chosen)} profiles have too many pairs", size=len(chosen))
    for first, second in _all_pairs(len(chosen)):
        rows, columns = np.broadcast_arrays(first, second)
        yield chosen[rows.ravel()], chosen[columns.ravel()]


def _largest(
    tables: tuple[Statistic, ...], names: list[Hashable], blocks: Iterator[tuple[IndexArray, IndexArray]]
) -> tuple[JointMove, ...]:
    width = 2 * len(tables)
    found, where = np.empty((0, width), dtype=np.int64), np.empty((0, 2), dtype=np.int64)
    for first, second in blocks:
        rows = np.column_stack([column for table in tables for column in cells_moved(table, first, second)])
        rows = np.concatenate([found, rows])
        places = np.concatenate([where, np.column_stack([first, second])])
        different, at = np.unique(rows, axis=0, return_index=True)
        kept = _unexceeded(different)
        found, where = different[kept], places[at[kept]]
    order = np.lexsort(found.T[::-1])[::-1]
    return tuple(
        JointMove(
            tuple(tuple(s for s in row[2 * j : 2 * j + 2] if s) for j in range(len(tables))),
            (names[pair[0]], names[pair[1]]),
        )
        for row, pair in zip(found[order].tolist(), where[order].tolist(), strict=True)
        if any(row)
    )


def cells_moved(table: Statistic, first: IndexArray, second: IndexArray) -> tuple[IntArray, IntArray]:
    """By how many steps the two cells of a record move, the larger first; 0 where only one does."""
    a, b = table.amount[first], table.amount[second]
    together = table.cell_of[first] == table.cell_of[second]
    larger = np.where(together, np.abs(a - b), np.maximum(np.abs(a), np.abs(b)))
    return larger, np.where(together, 0, np.minimum(np.abs(a), np.abs(b)))


def _unexceeded(rows: IntArray) -> IndexArray:
    """Of different rows those that no other is at least as large as in every place."""
    order = np.argsort(-rows.sum(axis=1), kind="stable")
    kept: list[int] = []
    best = np.empty((LARGEST_MOVES, rows.shape[1]), dtype=rows.dtype)
    for place in order.tolist():
        if (best[: len(kept)] >= rows[place]).all(axis=1).any():
            continue
        if len(kept) == LARGEST_MOVES:
            raise TooLargeError("too many moves exceed each other in some cell", size=len(rows))
        best[len(kept)] = rows[place]
        kept.append(place)
    return np.array(kept, dtype=np.intp)


def _above_all(policy: Policy, tables: tuple[Statistic, ...], absence: bool) -> JointMove:
    """Every table moved as far as it goes."""
    steps = []
    for table in tables:
        moves = [move.steps for move in cell_moves(policy, table, absence)]
        width = max(map(len, moves), default=0)
        steps.append(tuple(max(move[i] for move in moves if i < len(move)) for i in range(width)))
    return JointMove(tuple(steps), None)
