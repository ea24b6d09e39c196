"""Neighbours under a known total or histogram when no two values may be told apart, without a search.

With a complete secret graph every change is secret, and adjacent databases are those with no permitted
one between them: no proper part of the change is possible alone.
- Known total: the changes add up to zero and no proper part of them does. Two records that trade are not
  all: (0, 2, 2, 2) and (3, 1, 1, 1) are adjacent.
- Known histogram: the arcs from old to new value form one simple directed cycle on the values. A set of k
  values with counts c has (k - 1)! such cycles and each is made in ∏ c ways.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product as cartesian
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IndexArray
from sievert.errors import TooLargeError
from sievert.spaces import Databases, Rows

__all__ = ["Swaps", "cyclic_moves", "number_of_cyclic_moves", "zero_sum_moves"]


def number_of_cyclic_moves(counts: Sequence[int]) -> int:
    """How many neighbours a database has when the histogram is known: Σ_k (k - 1)!·e_k(counts).

    e_k is the elementary symmetric polynomial: the sum over sets of k values of the product of counts.

    >>> number_of_cyclic_moves([5, 4, 3])
    167
    """
    symmetric = [1]
    for count in counts:
        symmetric = [a + count * b for a, b in zip([*symmetric, 0], [0, *symmetric], strict=True)]
    return sum(math.factorial(k - 1) * term for k, term in enumerate(symmetric) if k >= 2)


def cyclic_moves(row: Sequence[int]) -> Rows:
    """The databases whose difference to a given one is a simple directed cycle on values.

    >>> cyclic_moves([0, 1, 1]).tolist()
    [[1, 0, 1], [1, 1, 0]]
    """
    plain = np.asarray(row)
    holders = {int(value): np.flatnonzero(plain == value).tolist() for value in np.unique(plain)}
    found: list[Rows] = []
    for cycle in _cycles(list(holders)):
        chosen = np.array(list(cartesian(*(holders[value] for value in cycle))))
        moved = np.tile(plain, (len(chosen), 1))
        moved[np.arange(len(chosen))[:, None], chosen] = [*cycle[1:], cycle[0]]
        found.append(moved)
    return np.concatenate(found) if found else np.empty((0, len(plain)), dtype=plain.dtype)


def _cycles(values: list[int]) -> Iterator[list[int]]:
    """Every simple directed cycle, written from its first value in the list on."""

    def longer(path: list[int], rest: list[int]) -> Iterator[list[int]]:
        if len(path) > 1:
            yield path
        for value in rest:
            yield from longer([*path, value], [other for other in rest if other != value])

    for position, value in enumerate(values):
        yield from longer([value], values[position + 1 :])


def zero_sum_moves(row: Sequence[int], numbers: Sequence[Sequence[int]], most: int) -> Rows:
    """The databases whose difference to a given one adds up to zero while no proper part of it does.

    `numbers` says what each record contributes with each value; refused when there are more than `most`.
    Records are changed in order. Sets of sums are bits of an integer: the sums of the proper parts of the
    changes so far, negated, are the changes that must not be added any more, and a branch ends when those
    that are left to the later records cannot bring the sum back to zero.

    >>> zero_sum_moves([0, 2], [[0, 1, 2]] * 2, most=10).tolist()
    [[1, 1], [2, 0]]
    """
    changes = [
        [(number - own[value], v) for v, number in enumerate(own) if v != value]
        for value, own in zip(row, numbers, strict=True)
    ]
    # Bit `middle` stands for the sum 0.
    middle = sum(max((abs(step) for step, _ in options), default=0) for options in changes)
    reach, steps = _reachable(changes, middle)
    plain = list(row)
    found: list[list[int]] = []

    def extend(start: int, whole: int, shut: int) -> None:
        """Change one of the records from `start` on; `shut` are the changes that would close a part."""
        for record in range(start, len(plain)):
            own = plain[record]
            for step, value in changes[record]:
                total = whole + step
                if (shut >> (middle + step)) & 1 or not (reach[record + 1] >> (middle - total)) & 1:
                    continue
                plain[record] = value
                if total == 0:
                    found.append(plain.copy())
                    if len(found) > most:
                        raise TooLargeError(
                            f"a database has more than {most} neighbours; they are not listed", size=most + 1
                        )
                    continue
                grown = shut | (shut >> step if step >= 0 else shut << -step)
                if whole:  # not the first change: it alone, and those before it, are proper parts
                    grown |= (1 << (middle - step)) | (1 << (middle - whole))
                left = steps[record + 1] & ~grown
                if left >> (middle + 1) if total < 0 else left & ((1 << middle) - 1):
                    extend(record + 1, total, grown)
            plain[record] = own

    extend(0, 0, 0)
    return np.array(found, dtype=np.intp).reshape(-1, len(plain))


def _reachable(changes: Sequence[Sequence[tuple[int, int]]], middle: int) -> tuple[list[int], list[int]]:
    """For each record, the sums that it and the later ones can make, and the changes they can make."""
    reach, steps = [1 << middle], [0]
    for options in reversed(changes):
        sums, single = reach[-1], steps[-1]
        for step, _ in options:
            sums |= reach[-1] << step if step >= 0 else reach[-1] >> -step
            single |= 1 << (middle + step)
        reach.append(sums)
        steps.append(single)
    return reach[::-1], steps[::-1]


# ── Databases that differ only by swapping records nobody distinguishes have the same neighbours ────────────
# Databases that differ only by swapping records nobody distinguishes have the same neighbours, swapped.
#
# Under known totals, histograms and marginal counts a handful of databases, one for each way to share out
# the values, stand for all the others: their neighbours are searched, and everybody else's follow by
# permuting the records. The result is as large as its output and costs little more.

# Keys computed at a time, 8 bytes each.
BLOCK = 2_000_000
# Where all values^records keys fit in a table of this length, positions are looked up, else searched.
LARGEST_TABLE = 20_000_000


@dataclass(frozen=True, eq=False)
class Swaps:
    """Databases sorted into classes that permuting records of one kind maps onto each other.

    Attributes
    ----------
    by_kind : the records, those of one kind together
    order : [databases, records], the records sorted by kind and then by value
    representative_of : for each database, the one of its class whose records of each kind are sorted
    """

    databases: Databases
    by_kind: IndexArray
    order: IndexArray
    representative_of: IndexArray

    @classmethod
    def of(cls, databases: Databases, kind_of: IndexArray) -> Swaps:
        """Classes under permutations of the records of each kind."""
        by_kind = np.argsort(kind_of, kind="stable")
        order = np.argsort(kind_of * len(databases.values) + databases.rows, axis=1, kind="stable")
        standing = np.empty_like(databases.rows)
        standing[:, by_kind] = np.take_along_axis(databases.rows, order, axis=1)
        return cls(databases, by_kind, order, databases.positions(standing))

    @cached_property
    def representatives(self) -> IndexArray:
        """One database of each class, ascending."""
        return np.unique(self.representative_of)

    @cached_property
    def class_sizes(self) -> IndexArray:
        """Number of databases of each class, in the order of `representatives`."""
        return np.bincount(self.representative_of)[self.representatives]

    @cached_property
    def _members(self) -> tuple[IndexArray, IndexArray]:
        order = np.argsort(self.representative_of, kind="stable")
        return order, np.searchsorted(self.representative_of[order], self.representatives)

    def members(self, number: int) -> IndexArray:
        """The databases of the class of `representatives[number]`."""
        order, first = self._members
        return order[first[number] : first[number] + self.class_sizes[number]]

    def spread(self, number: int, neighbours: Rows, starts: NDArray[Any], ends: NDArray[np.int32]) -> None:
        """Write the neighbours of each member of a class, ascending, to ``ends[starts[member]:]``.

        `neighbours` are the neighbours (rows) of the class's representative.
        """
        count = len(neighbours)
        if not count:
            return
        members = self.members(number)
        columns = neighbours[:, self.by_kind].T
        step = max(1, BLOCK // count)
        for begin in range(0, len(members), step):
            part = members[begin : begin + step]
            found = np.sort(self._positions(self._keys(self.order[part], columns)), axis=1)
            ends[starts[part][:, None] + np.arange(count)] = found

    def _keys(self, order: IndexArray, columns: Rows) -> NDArray[Any]:
        """Keys [member, neighbour] of the neighbours with their records permuted."""
        weights = self.databases.multipliers[order]
        if self._small:
            # Whole numbers below 2^53 are exact in floating point, whose product is much faster.
            return (weights.astype(np.float64) @ columns.astype(np.float64)).astype(np.int64)
        return weights @ columns.astype(np.uint64)

    def _positions(self, keys: NDArray[Any]) -> NDArray[np.int32]:
        table = self._table
        if table is not None:
            return np.asarray(table[keys])
        databases = self.databases
        found = np.searchsorted(databases._sorted_keys, keys.ravel().astype(np.uint64))
        return databases._key_order[found].astype(np.int32).reshape(keys.shape)

    @property
    def _small(self) -> bool:
        return bool(len(self.databases.values) ** self.databases.records < 2**53)

    @cached_property
    def _table(self) -> NDArray[np.int32] | None:
        size = len(self.databases.values) ** self.databases.records
        if size > LARGEST_TABLE:
            return None
        table = np.full(size, -1, dtype=np.int32)
        table[self.databases._sorted_keys.astype(np.int64)] = np.arange(len(self.databases), dtype=np.int32)
        return table
