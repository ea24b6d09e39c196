"""Counts, sums and histograms over batches, and how far one record can move them.

Each value of a record adds a whole number of steps to one cell of the table: a count adds 0 or 1 to the
only cell, a sum its value, a histogram 1 to the cell of its value. So the answers are known without a list.
The sensitivity is the largest change of the table (Manhattan distance, in steps) for one unit of the
policy's distance: for an unconstrained policy over the pairs of values that generate it, under public
knowledge over adjacent permitted databases (Fernandes, Def 3.3.2). It is an exact fraction.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IntArray
from sievert.errors import QueryError
from sievert.numerics import at_most
from sievert.policies._policy import Policy
from sievert.spaces import Edges
from sievert.spaces.secrets import ThresholdGraph

__all__ = [
    "Move",
    "Sensitivity",
    "Statistic",
    "statistic_of_cells",
    "statistic_of_groups",
    "statistic_of_numbers",
    "statistic_of_values",
]
# More edges than this are compared with whole-number arithmetic in floats, which is exact below 2^53.
LARGEST_TOTAL = 2**53


@dataclass(frozen=True)
class Move:
    """One record moves by a distance, and the table changes by at most so many steps."""

    steps: int
    length: Fraction


@dataclass(frozen=True)
class Sensitivity:
    """Steps of the table for one unit of distance, a pair of values (or databases) that attain it, and
    the largest move at every distance (under public knowledge, between adjacent databases)."""

    steps: Fraction
    pair: tuple[Hashable, Hashable] | None
    moves: tuple[Move, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Statistic:
    """A table of numbers that adds up one contribution for each record.

    Attributes
    ----------
    cells : labels of the table's cells, tuples with an entry for each of `names`
    cell_of : for each value of the policy, the cell it adds to
    amount : for each value, how many steps it adds
    step : what one step is, in the answer's units
    """

    names: tuple[str, ...]
    cells: tuple[tuple[Hashable, ...], ...]
    cell_of: IntArray = field(repr=False)
    amount: IntArray = field(repr=False)
    step: Fraction
    words: str

    @cached_property
    def kept(self) -> dict[str, Any]:
        """What was found of this table, whatever noise it has, and is asked for again."""
        return {}

    @cached_property
    def distinct(self) -> IntArray:
        """The different amounts, increasing."""
        ordered = np.sort(self.amount)  # several times as quick as numpy.unique, which hashes whole numbers
        return np.asarray(ordered[np.append(True, np.diff(ordered) > 0)])

    @cached_property
    def alike(self) -> tuple[IntArray, IntArray]:
        """Values that add the same to the same cell are a kind: the first of each, and each value's kind.

        A value that adds nothing is in no cell. Kinds are in the order of their cells and amounts.
        """
        cells = np.where(self.amount == 0, -1, self.cell_of)
        least, width = int(self.amount.min()), int(np.ptp(self.amount)) + 1
        # Amounts stay below 2^53, so that few cells or small amounts make one number of both.
        small = width * (int(cells.max()) + 2) < 2**62
        keys = (cells + 1) * width + (self.amount - least) if small else np.column_stack([cells, self.amount])
        _, first, kind = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        return first, kind.ravel()

    def totals(self) -> IntArray:
        """An empty table."""
        return np.zeros(len(self.cells), dtype=np.int64)

    def add(self, totals: IntArray, codes: IntArray, counts: IntArray | None = None) -> None:
        """Add rows, given as indices of the policy's values, `counts` of each or one."""
        amounts = self.amount[codes] if counts is None else self.amount[codes] * counts
        # Weights are whole numbers and their sums below 2^53, so these floats are exact.
        totals += np.bincount(self.cell_of[codes], amounts, minlength=len(totals)).astype(np.int64)

    def range(self, policy: Policy, absence: bool = False) -> tuple[int, int]:
        """Least and greatest possible entry of a cell, in steps: public, from values and records alone.

        With `absence`, records may be left out.
        """
        least, greatest = int(self.amount.min()), int(self.amount.max())
        if len(self.cells) > 1 or absence or policy.absent is not None:
            least, greatest = min(0, least), max(0, greatest)
        return policy.records * least, policy.records * greatest

    def answers_at_most(self, policy: Policy) -> int | float:
        """How many tables of one cell there can be at most, without listing them."""
        least, greatest = self.range(policy)
        kinds = len(self.distinct)
        # Multisets of amounts: C(records + kinds - 1, records).
        nats = math.lgamma(policy.records + kinds) - math.lgamma(policy.records + 1) - math.lgamma(kinds)
        return min(greatest - least + 1, math.exp(min(nats, 700.0)))

    def consecutive(self, policy: Policy) -> bool:
        """Whether every whole number of steps in the range is the answer of some database."""
        return not policy.constrained and bool((np.diff(self.distinct) == 1).all())

    def sensitivity(self, policy: Policy, absence: bool = False) -> Sensitivity:
        """The largest change for one unit of distance; with `absence`, also when a record is left out."""
        if policy.constrained:
            found = self._grouped(policy) or self._listed(policy)
        elif policy.record_metric.uniform_distance is not None:
            found = self._uniform(policy, policy.record_metric.uniform_distance)
        else:
            edges = self._deciding_edges(policy)
            change = self._change(edges.pairs[:, 0], edges.pairs[:, 1])
            found = _largest(change, edges.lengths, edges.pairs, policy.values)
        if absence:
            place = int(np.abs(self.amount).argmax())
            alone = int(abs(self.amount[place]))
            if alone > found.steps:
                return Sensitivity(
                    Fraction(alone), (policy.values[place], "left out"), (Move(alone, Fraction(1)),)
                )
        return found

    def _deciding_edges(self, policy: Policy) -> Edges:
        """Pairs of values among which one changes the table most.

        Of numbers within a threshold the farthest do where amounts rise with them, neighbours where there
        are two amounts, and any pair where each value has a cell of its own.
        """
        secrets = policy.secrets
        if not isinstance(secrets, ThresholdGraph):
            return policy.record_edges
        along = np.diff(self.amount[secrets.reach.order])
        rising = bool((along >= 0).all() or (along <= 0).all())
        alone = len(self.cells) == len(self.amount) and len(self.distinct) == 1
        if not alone and not (len(self.cells) == 1 and (rising or len(self.distinct) == 2)):
            return policy.record_edges
        pairs = secrets.reach.outer_pairs()
        return Edges(pairs, np.ones(len(pairs)))

    def _uniform(self, policy: Policy, distance: float) -> Sensitivity:
        """Any two values at the same distance."""
        left, right = self._extremes()
        together = np.column_stack([left, right])
        lengths = np.full(len(left), distance)
        return _largest(self._change(left, right), lengths, together, policy.values)

    def _extremes(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Pairs of values of which one changes the table most: ends of a cell, largest of two cells."""
        order = np.argsort(self.amount, kind="stable")
        by_size = np.argsort(-np.abs(self.amount), kind="stable")
        elsewhere = by_size[self.cell_of[by_size] != self.cell_of[by_size[0]]]
        first, second = [by_size[:1], elsewhere[:1]] if len(elsewhere) else [order[:1], order[-1:]]
        pairs = [(first, second)]
        for cell in np.unique(self.cell_of) if len(self.cells) < len(self.amount) else []:
            inside = order[self.cell_of[order] == cell]
            pairs.append((inside[:1], inside[-1:]))
        left, right = (np.concatenate(side) for side in zip(*pairs, strict=True))
        return left, right

    def _change(self, first: NDArray[Any], second: NDArray[Any]) -> IntArray:
        together = self.cell_of[first] == self.cell_of[second]
        a, b = self.amount[first], self.amount[second]
        change: IntArray = np.where(together, np.abs(a - b), np.abs(a) + np.abs(b))
        return change

    def _grouped(self, policy: Policy) -> Sensitivity | None:
        """Where the number of records in groups of values is known: what every group can change, added up.

        Along a cycle of groups one record leaves each group and one enters it, so that the changes add up
        where they are of one number, or each group has cells of its own; None where it is not so.
        """
        known = policy.known_groups
        if known is None:
            return None
        group_of, counts = known
        used = np.unique(np.column_stack([self.cell_of, group_of])[self.amount != 0], axis=0)
        if len(self.cells) > 1 and len(np.unique(used[:, 0])) < len(used):
            return None
        groups = [
            (np.flatnonzero(group_of == group), int(count)) for group, count in enumerate(counts) if count
        ]
        ends = np.array([self._farthest(places) for places, _ in groups])
        steps = int(self._change(ends[:, 0], ends[:, 1]).sum())
        if not steps:
            return Sensitivity(Fraction(0), None)
        old = np.repeat(ends[:, 0], [count for _, count in groups])
        # The first record of each group moves on to the next group.
        first = np.cumsum([0, *(count for _, count in groups[:-1])])
        new = old.copy()
        new[first] = np.roll(ends[:, 1], -1)
        pair = tuple(tuple(policy.values[i] for i in row.tolist()) for row in (old, new))
        return Sensitivity(Fraction(steps), (pair[0], pair[1]), (Move(steps, Fraction(1)),))

    def _farthest(self, places: NDArray[Any]) -> tuple[int, int]:
        """Two of some values between which the table changes most."""
        part = replace(self, cell_of=self.cell_of[places], amount=self.amount[places])
        left, right = part._extremes()
        best = int(part._change(left, right).argmax())
        return int(places[left[best]]), int(places[right[best]])

    def _listed(self, policy: Policy) -> Sensitivity:
        """Over adjacent databases of those that public knowledge permits."""
        rows = policy.permitted_databases.rows
        tables = np.stack(
            [
                np.where(self.cell_of[rows] == cell, self.amount[rows], 0).sum(axis=1)
                for cell in range(len(self.cells))
            ],
            axis=1,
        )
        graph, alike = policy.database_graph, policy.alike_databases
        if alike is None:
            pairs = graph.edges
        else:
            # Databases that an exchange of records makes equal have the same table and the same changes.
            first = np.unique(alike, return_index=True)[1]
            ends = [graph.neighbours(int(start)) for start in first]
            pairs = np.column_stack([np.repeat(first, list(map(len, ends))), np.concatenate(ends)])
        change = np.abs(tables[pairs[:, 0]] - tables[pairs[:, 1]]).sum(axis=1)
        return _largest(change, np.ones(len(pairs)), pairs, policy.database_labels())


def _largest(
    change: IntArray, lengths: NDArray[np.float64], pairs: NDArray[Any], names: Sequence[Hashable]
) -> Sensitivity:
    """max change/length, exactly; only the candidates that floats cannot tell apart are compared exactly."""
    if not len(change) or not change.any():
        return Sensitivity(Fraction(0), None)
    if (lengths[change > 0] == 0).any():
        raise QueryError(
            "two values at distance 0 give different answers, so no noise is enough: values at distance 0 "
            "may not be told apart at all; give them one value"
        )
    ratios = np.divide(change, lengths, out=np.zeros(len(change)), where=change > 0)
    close = np.flatnonzero(ratios >= ratios.max() * (1 - 1e-12))
    # Of one length the largest change is the largest ratio.
    if np.ptp(lengths[close]) == 0:
        close = close[[int(change[close].argmax())]]
    best = max(close.tolist(), key=lambda i: Fraction(int(change[i])) / Fraction(float(lengths[i])))
    steps = Fraction(int(change[best])) / Fraction(float(lengths[best]))
    return Sensitivity(
        steps, (names[int(pairs[best, 0])], names[int(pairs[best, 1])]), _moves(change, lengths)
    )


def _moves(change: IntArray, lengths: NDArray[np.float64]) -> tuple[Move, ...]:
    """For each distance, the largest change."""
    distinct, which = np.unique(lengths, return_inverse=True)
    largest = np.zeros(len(distinct), dtype=np.int64)
    np.maximum.at(largest, which, change)
    return tuple(
        Move(int(steps), Fraction(float(length)))
        for steps, length in zip(largest, distinct, strict=True)
        if steps
    )


def statistic_of_numbers(numbers: Sequence[int], scale: int, records: int, words: str) -> Statistic:
    """A table of one cell to which each value adds a whole number of 1/scale, in the greatest steps."""
    common = math.gcd(*numbers)
    step = Fraction(common or 1, scale if common else 1)
    greatest = max(abs(max(numbers)), abs(min(numbers))) // (common or 1)
    if records * greatest >= LARGEST_TOTAL:
        raise QueryError(
            f"the total may exceed 2^53 steps of {at_most(step, 4)}; use coarser values or fewer records"
        )
    amounts = np.array(numbers if common in (0, 1) else [number // common for number in numbers], np.int64)
    return Statistic((), ((),), np.zeros(len(amounts), np.int64), amounts, step, words)


def statistic_of_groups(
    cells: Sequence[tuple[Hashable, ...] | None],
    numbers: Sequence[Fraction],
    records: int,
    names: tuple[str, ...],
    words: str,
) -> Statistic:
    """A table in which each value adds its number to its cell, None where it adds nothing."""
    counted = statistic_of_cells(cells, names, words)
    scale = math.lcm(*(number.denominator for number in numbers))
    whole = [number.numerator * (scale // number.denominator) for number in numbers]
    total = statistic_of_numbers(whole, scale, records, words)
    return replace(total, names=names, cells=counted.cells, cell_of=counted.cell_of)


def statistic_of_values(
    cells: Sequence[tuple[Hashable, ...]], absent: bool, names: tuple[str, ...], words: str
) -> Statistic:
    """A histogram in which every value has a cell of its own, but a missing record, the first value, none."""
    places, amounts = np.arange(len(cells) + absent) - absent, np.ones(len(cells) + absent, np.int64)
    if absent:
        places[0], amounts[0] = 0, 0
    return Statistic(names, tuple(cells), places, amounts, Fraction(1), words)


def statistic_of_cells(
    cells: Sequence[tuple[Hashable, ...] | None], names: tuple[str, ...], words: str
) -> Statistic:
    """A histogram: the cell that each value of the policy is counted in, None where it is in none."""
    different = dict.fromkeys(cells)
    different.pop(None, None)
    position: dict[tuple[Hashable, ...] | None, int] = {cell: i for i, cell in enumerate(different)}
    position[None] = -1
    cell_of = np.fromiter(map(position.__getitem__, cells), np.int64, len(cells))
    amounts = (cell_of >= 0).astype(np.int64)
    distinct = tuple(cell for cell in different if cell is not None)
    return Statistic(names, distinct, np.maximum(cell_of, 0), amounts, Fraction(1), words)
