"""What several tables of one file cost together: the worst move of one record through all of them.

A record that moves from one value to another takes its amount out of one cell of every table and adds another
to a cell of it. Independent noise makes the costs of all cells add up, in ε as in ρ, so that the tables
together cost the largest sum over one pair of values, which is at most the sum of what each costs alone and
often less: no pair need be the worst for all. Values that every table treats alike are one profile; pairs of
profiles are compared in blocks, in whole numbers, so that the answer is an exact fraction.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IndexArray, IntArray
from sievert.errors import QueryError, TooLargeError
from sievert.numerics import abbreviated, whole
from sievert.policies._pair_sums import CellCost, PairSums
from sievert.policies._policy import Policy
from sievert.policies._statistic import Statistic

__all__ = ["CellMove", "JointSensitivity", "cell_moves", "joint_sensitivity"]

# Profiles all of whose pairs are compared: 5·10^7 pairs.
LARGEST_PROFILES = 10_000
# Pairs at once.
BLOCK = 1 << 16
LEFT_OUT = "left out"


@dataclass(frozen=True)
class JointSensitivity:
    """What several tables cost for the pairs of a policy.

    Attributes
    ----------
    cost : for one pair of neighbours, or for one unit of distance (to the given power)
    pair : two values (under public knowledge two databases) that attain it; None where nothing costs, or the
        cost is a sum of what different pairs attain
    parts : what each table costs at that pair, for the same unit
    changes : by how many steps the cells of each table move there, those that move
    exact : whether the pair attains the cost; otherwise it is the sum of what each table costs alone
    """

    cost: Fraction
    pair: tuple[Hashable, Hashable] | None
    parts: tuple[Fraction, ...]
    changes: tuple[tuple[int, ...], ...] = field(default=(), repr=False)
    exact: bool = True


def joint_sensitivity(
    policy: Policy,
    statistics: Sequence[Statistic],
    costs: Sequence[CellCost],
    *,
    absence: bool = False,
    multiple: int = 1,
    power: int = 1,
) -> JointSensitivity:
    """The largest sum, over one pair of neighbours, of what independent noise in several tables costs.

    Parameters
    ----------
    policy : whose neighbours are compared; a table has an entry for each of its values
    statistics : the tables
    costs : for each table, what a cell costs that moves by some steps: 0 for none, never falling
    absence : whether a record may be left out too, where any two values are neighbours
    multiple : how many records move alike; for costs that are convex in the steps no other move of so many
        records costs more
    power : 1 where cost is divided by the distance of the pair (ε), 2 where by its square (ρ)

    Returns
    -------
    JointSensitivity
        The cost as an exact fraction, with the pair that attains it. With more than 10,000 profiles, or pairs
        than a list holds, the sum of what each table costs alone (`exact` is False).

    Notes
    -----
    Cost: O(profiles²·tables) where any two values are neighbours, else O(edges·tables).

    Examples
    --------
    Ages by decade, adults, and their sum, at 0.3 each: no single year changes all three most.

    >>> from fractions import Fraction
    >>> from sievert.policies import Policy, Query, joint_sensitivity
    >>> from sievert.spaces.secrets import line
    >>> policy = Policy.blowfish(line(100), records=50)
    >>> adults = Query.count(lambda age: age >= 18).statistic(policy)
    >>> total = Query.sum().statistic(policy)
    >>> def third(steps): return Fraction(3, 10) * steps
    >>> found = joint_sensitivity(policy, [adults, total], [third, third])
    >>> found.cost, found.pair
    (Fraction(3, 5), (17, 18))
    """
    tables = _checked(policy, statistics, costs)
    multiple = whole("multiple", multiple, QueryError)
    scaled = tuple(_times(cost, multiple) for cost in costs)
    if policy.constrained:
        return _constrained(policy, tables, scaled)
    names: Sequence[Hashable] = policy.values
    if absence and policy.absent is None:
        if not policy.hides_any_two:
            raise QueryError("absence goes with a policy that hides any two values, or with add-remove")
        tables = tuple(
            replace(t, cell_of=np.append(t.cell_of, 0), amount=np.append(t.amount, 0)) for t in tables
        )
        names = [*names, LEFT_OUT]
    try:
        found = _joint(policy, tables, scaled, names, power)
    except TooLargeError:
        found = None
    return _added_up(policy, tables, scaled, names, power) if found is None else found


def _checked(
    policy: Policy, statistics: Sequence[Statistic], costs: Sequence[CellCost]
) -> tuple[Statistic, ...]:
    found = tuple(statistics)
    if not found or len(found) != len(costs):
        raise QueryError(f"costs has {len(costs)} entries for {len(found)} tables; give one for each table")
    for table in found:
        if len(table.amount) != len(policy.values):
            raise QueryError(
                f"statistics: {abbreviated(table.words)} is for {len(table.amount)} values, but the "
                f"policy has "
                f"{len(policy.values)}; build it over the same policy"
            )
    return found


def _times(cost: CellCost, multiple: int) -> CellCost:
    return cost if multiple == 1 else lambda steps: cost(multiple * steps)


def _joint(
    policy: Policy,
    tables: tuple[Statistic, ...],
    costs: tuple[CellCost, ...],
    names: Sequence[Hashable],
    power: int,
) -> JointSensitivity | None:
    """Over all pairs together; None where these are too many."""
    apart = policy.record_metric.uniform_distance
    if apart is None:
        edges = policy.record_edges
        pairs, lengths = edges.pairs, np.asarray(edges.lengths, dtype=np.float64)
        if (lengths == 1).all():
            return _of_pairs(tables, costs, pairs, names, Fraction(1))
        return _by_length(tables, costs, pairs, lengths, names, power)
    chosen = _profiles(tables)
    if len(chosen) > LARGEST_PROFILES:
        return None
    part = tuple(replace(t, cell_of=t.cell_of[chosen], amount=t.amount[chosen]) for t in tables)
    sums = PairSums(part, costs)
    best = sums.best(_all_pairs(len(chosen)))
    if best is None:
        return _nothing(len(tables))
    first, second = (int(chosen[place]) for place in best)
    return _found(tables, costs, first, second, (names[first], names[second]), Fraction(apart) ** power)


def _profiles(tables: tuple[Statistic, ...]) -> IndexArray:
    """One value of every profile that may be in a worst pair.

    Of profiles that differ in the amount of one table only the least and the greatest amount are kept: for
    any partner the cost rises to one of the ends.
    """
    keys = [np.where(t.amount == 0, -1, t.cell_of) for t in tables]
    amounts = [t.amount for t in tables]
    chosen = _distinct(np.column_stack([*keys, *amounts]), np.arange(len(amounts[0])))
    for place in range(len(tables)):
        rest = [t.cell_of for t in tables] + [a for j, a in enumerate(amounts) if j != place]
        group = _groups(np.column_stack([column[chosen] for column in rest]))
        amount = amounts[place][chosen]
        order = np.lexsort([amount, group])
        starts = np.flatnonzero(np.append(True, np.diff(group[order]) != 0))
        ends = np.append(starts[1:], len(order)) - 1
        chosen = np.sort(chosen[order[np.union1d(starts, ends)]])
    return chosen


def _groups(rows: IntArray) -> IntArray:
    """A number for each row, equal for equal rows."""
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1]).ravel()


def _distinct(rows: IntArray, places: IndexArray) -> IndexArray:
    """The first place of every different row."""
    return np.sort(places[np.unique(rows, axis=0, return_index=True)[1]])


def _all_pairs(count: int) -> Iterator[tuple[IndexArray, IndexArray]]:
    """All pairs of so many things in blocks: rows against everything from their first on."""
    rows = max(1, BLOCK // max(count, 1))
    for start in range(0, count, rows):
        yield np.arange(start, min(start + rows, count))[:, None], np.arange(start, count)[None, :]


def _listed_pairs(pairs: NDArray[Any]) -> Iterator[tuple[IndexArray, IndexArray]]:
    for start in range(0, len(pairs), BLOCK):
        yield pairs[start : start + BLOCK, 0], pairs[start : start + BLOCK, 1]


def _of_pairs(
    tables: tuple[Statistic, ...],
    costs: tuple[CellCost, ...],
    pairs: NDArray[Any],
    names: Sequence[Hashable],
    unit: Fraction,
) -> JointSensitivity:
    best = PairSums(tables, costs).best(_listed_pairs(pairs))
    if best is None:
        return _nothing(len(tables))
    return _found(tables, costs, *best, (names[best[0]], names[best[1]]), unit)


def _by_length(
    tables: tuple[Statistic, ...],
    costs: tuple[CellCost, ...],
    pairs: NDArray[Any],
    lengths: NDArray[np.float64],
    names: Sequence[Hashable],
    power: int,
) -> JointSensitivity:
    """Of the pairs at each distance the largest sum, then the largest sum for its distance."""
    found = [
        _of_pairs(tables, costs, pairs[lengths == length], names, Fraction(float(length)) ** power)
        if length
        else _of_pairs(tables, costs, pairs[lengths == 0], names, Fraction(1))
        for length in np.unique(lengths)
    ]
    if (lengths == 0).any() and found[0].cost:
        raise QueryError(
            "two values at distance 0 give different answers, so no noise is enough: values at distance 0 "
            "may not be told apart at all; give them one value"
        )
    return max(found, key=lambda one: one.cost, default=_nothing(len(tables)))


def _found(
    tables: tuple[Statistic, ...],
    costs: tuple[CellCost, ...],
    first: int,
    second: int,
    pair: tuple[Hashable, Hashable],
    unit: Fraction,
) -> JointSensitivity:
    """The costs of one pair, computed anew from the tables."""
    changes = tuple(_change(table, first, second) for table in tables)
    parts = tuple(
        sum(map(cost, change), Fraction(0)) / unit for cost, change in zip(costs, changes, strict=True)
    )
    return JointSensitivity(sum(parts, Fraction(0)), pair, parts, changes)


def _change(table: Statistic, first: int, second: int) -> tuple[int, ...]:
    """By how many steps the cells of a table move when a record moves, those that move."""
    a, b = int(table.amount[first]), int(table.amount[second])
    moved = [abs(a - b)] if table.cell_of[first] == table.cell_of[second] else [abs(a), abs(b)]
    return tuple(sorted((steps for steps in moved if steps), reverse=True))


def _nothing(count: int) -> JointSensitivity:
    return JointSensitivity(Fraction(0), None, (Fraction(0),) * count, ((),) * count)


def _added_up(
    policy: Policy,
    tables: tuple[Statistic, ...],
    costs: tuple[CellCost, ...],
    names: Sequence[Hashable],
    power: int,
) -> JointSensitivity:
    """The sum of what each table costs alone."""
    found = [_alone(policy, table, cost, names, power) for table, cost in zip(tables, costs, strict=True)]
    parts = tuple(one.cost for one in found)
    if len(found) == 1:
        return found[0]
    return JointSensitivity(
        sum(parts, Fraction(0)), None, parts, tuple(one.changes[0] for one in found), exact=False
    )


def _alone(
    policy: Policy, table: Statistic, cost: CellCost, names: Sequence[Hashable], power: int
) -> JointSensitivity:
    """One table, by the pairs of values of which one moves it most (costs never fall)."""
    apart = policy.record_metric.uniform_distance
    if apart is None:
        edges = table._deciding_edges(policy)
        return _by_length((table,), (cost,), edges.pairs, np.asarray(edges.lengths), names, power)
    pairs = np.column_stack(table._extremes())
    return _of_pairs((table,), (cost,), pairs, names, Fraction(apart) ** power)


def _constrained(
    policy: Policy, tables: tuple[Statistic, ...], costs: tuple[CellCost, ...]
) -> JointSensitivity:
    """Over adjacent databases of those that public knowledge permits, or else the sum over the tables."""
    try:
        return _over_databases(policy, tables, costs)
    except TooLargeError:
        steps = [table.sensitivity(policy).steps for table in tables]
    # Costs that are convex are largest in one cell, those that are concave where each step has its own.
    parts = tuple(
        max(cost(int(most)), int(most) * cost(1)) if most else Fraction(0)
        for cost, most in zip(costs, steps, strict=True)
    )
    return JointSensitivity(sum(parts, Fraction(0)), None, parts, (), exact=False)


def _over_databases(
    policy: Policy, tables: tuple[Statistic, ...], costs: tuple[CellCost, ...]
) -> JointSensitivity:
    rows, pairs = policy.permitted_databases.rows, policy.database_graph.edges
    answers = [
        np.stack([np.where(t.cell_of[rows] == c, t.amount[rows], 0).sum(axis=1) for c in range(len(t.cells))])
        for t in tables
    ]
    moves = np.concatenate([np.abs(a[:, pairs[:, 0]] - a[:, pairs[:, 1]]) for a in answers]).T
    if not moves.any():
        return _nothing(len(tables))
    different, first = np.unique(moves, axis=0, return_index=True)
    ends = np.cumsum([0, *(len(table.cells) for table in tables)])
    best = (Fraction(0), (Fraction(0),) * len(tables), 0)
    for place, move in enumerate(different.tolist()):
        parts = tuple(
            sum((cost(steps) for steps in move[low:high] if steps), Fraction(0))
            for cost, low, high in zip(costs, ends[:-1], ends[1:], strict=True)
        )
        best = max(best, (sum(parts, Fraction(0)), parts, place), key=lambda item: item[0])
    cost, parts, place = best
    names = policy.database_labels()
    a, b = (int(i) for i in pairs[first[place]])
    move = different[place].tolist()
    changes = tuple(
        tuple(sorted((steps for steps in move[low:high] if steps), reverse=True))
        for low, high in pairwise(ends)
    )
    return JointSensitivity(cost, (names[a], names[b]), parts, changes)


# ── Which moves of one table no other exceeds ───────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class CellMove:
    """One record moves a table: by how many steps its cells, the largest first; how far apart the pair is,
    and the two values."""

    steps: tuple[int, ...]
    length: Fraction
    pair: tuple[Hashable, Hashable]


def cell_moves(policy: Policy, statistic: Statistic, absence: bool = False) -> tuple[CellMove, ...]:
    """The moves of one table that no other move at the same distance exceeds cell by cell.

    Parameters
    ----------
    policy : whose neighbours are compared, without public knowledge
    statistic : the table
    absence : whether a record may be left out too

    Returns
    -------
    tuple of CellMove
        Whatever never falls in any cell is largest at one of them.

    Notes
    -----
    Cost: O(values) where any two values are neighbours, else O(edges).

    Examples
    --------
    >>> from sievert.policies import Policy, Query, cell_moves
    >>> policy = Policy.differential(["a", "b", "c"], records=10)
    >>> [move.steps for move in cell_moves(policy, Query.histogram().statistic(policy))]
    [(1, 1)]
    """
    if policy.constrained:
        raise QueryError("policy has public knowledge, under which several records move at once")
    apart, names = policy.record_metric.uniform_distance, policy.values
    if apart is not None:
        pairs = np.column_stack(statistic._extremes())
        lengths = np.full(len(pairs), float(apart))
    else:
        edges = statistic._deciding_edges(policy)
        pairs, lengths = edges.pairs, np.asarray(edges.lengths, dtype=np.float64)
    first, second = statistic.amount[pairs[:, 0]], statistic.amount[pairs[:, 1]]
    together = statistic.cell_of[pairs[:, 0]] == statistic.cell_of[pairs[:, 1]]
    larger = np.where(together, np.abs(first - second), np.maximum(np.abs(first), np.abs(second)))
    smaller = np.where(together, 0, np.minimum(np.abs(first), np.abs(second)))
    order = np.lexsort([-smaller, -larger, lengths])
    found: list[CellMove] = []
    most, here = -1, -1.0
    for place in order.tolist():
        if lengths[place] != here:
            most, here = -1, float(lengths[place])
        if larger[place] and smaller[place] > most:
            most = int(smaller[place])
            steps = tuple(int(steps) for steps in (larger[place], smaller[place]) if steps)
            pair = names[int(pairs[place, 0])], names[int(pairs[place, 1])]
            found.append(CellMove(steps, Fraction(here), pair))
    if absence and policy.absent is None:
        alone = int(np.abs(statistic.amount).argmax())
        steps = (int(abs(statistic.amount[alone])),)
        if all(steps > move.steps[:1] for move in found) and steps[0]:
            found.append(CellMove(steps, Fraction(1), (names[alone], LEFT_OUT)))
    return tuple(found)
