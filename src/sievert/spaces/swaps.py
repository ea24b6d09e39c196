"""Databases that differ only by swapping records nobody distinguishes have the same neighbours, swapped.

Under known totals, histograms and marginal counts a handful of databases, one for each way to share out
the values, stand for all the others: their neighbours are searched, and everybody else's follow by
permuting the records. The result is as large as its output and costs little more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.spaces.databases import Databases, Rows

__all__ = ["Swaps"]

IndexArray = NDArray[np.intp]

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
