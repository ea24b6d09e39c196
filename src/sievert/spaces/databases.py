"""A list of databases as one array of value positions, labelled only where a label is asked for.

A hundred thousand databases of a dozen records are about a megabyte this way. Rows are distinct and in
the order of `Policy.databases()`: the first record varies slowest.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from sievert.numerics.checks import brief
from sievert.spaces.labels import Labels, LazyLabels, label

__all__ = ["Databases", "Rows", "smallest_integers"]

Rows = NDArray[Any]  # [databases, records], positions in the list of values


def smallest_integers(values: int) -> Any:
    """The smallest integer type that holds positions among so many values."""
    return np.min_scalar_type(max(values - 1, 0))


class Databases(LazyLabels):
    """Distinct databases in order; an item is a tuple of values, made when it is asked for.

    Examples
    --------
    >>> pairs = Databases(np.array([[0, 1], [1, 1]]), ("a", "b"))
    >>> pairs[0], pairs.index(("b", "b")), ("b", "a") in pairs
    (('a', 'b'), 1, False)
    """

    def __init__(self, rows: Rows, values: Labels):
        self.rows: Rows = np.ascontiguousarray(rows, dtype=smallest_integers(len(values)))
        self.rows.setflags(write=False)
        self.values = values

    @property
    def records(self) -> int:
        """Number of records in each."""
        return int(self.rows.shape[1])

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, item: int) -> Hashable: ...
    @overload
    def __getitem__(self, item: slice) -> tuple[Hashable, ...]: ...
    def __getitem__(self, item: int | slice) -> Hashable:
        if isinstance(item, slice):
            return tuple(self._labelled(row) for row in self.rows[item].tolist())
        return self._labelled(self.rows[item].tolist())

    def __iter__(self) -> Iterator[Hashable]:
        for start in range(0, len(self), 4096):
            yield from self[start : start + 4096]

    def _labelled(self, row: list[int]) -> tuple[Hashable, ...]:
        return tuple(self.values[position] for position in row)

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Position of a database; ValueError when it is not listed."""
        try:
            row = [self._value_position[item] for item in label(value)]  # type: ignore[attr-defined]
            found = int(self.positions(np.array([row]))[0]) if len(row) == self.records else -1
        except (KeyError, TypeError):
            found = -1
        if not start <= found < (len(self) if stop is None else stop):
            raise ValueError(f"{brief(value)} is not one of the {len(self)} databases")
        return found

    def __contains__(self, item: object) -> bool:
        try:
            self.index(item)
        except ValueError:
            return False
        return True

    @cached_property
    def _value_position(self) -> dict[Hashable, int]:
        return {value: i for i, value in enumerate(self.values)}

    def positions(self, rows: Rows) -> NDArray[np.intp]:
        """Where each row stands in the list; -1 for rows that are not listed."""
        if not len(self):
            return np.full(len(rows), -1, dtype=np.intp)
        found = np.searchsorted(self._sorted_keys, self.keys(rows))
        found = self._key_order[np.minimum(found, len(self) - 1)]
        return np.where((self.rows[found] == rows).all(axis=1), found, -1)

    def keys(self, rows: Rows) -> NDArray[np.uint64]:
        """One integer for each row; different for different rows of this list."""
        return rows.astype(np.uint64) @ self.multipliers

    @cached_property
    def radix(self) -> bool:
        """Whether keys are the rows read as numbers in base (number of values): then all rows differ."""
        return bool(len(self.values) ** self.records < 2**63)

    @cached_property
    def multipliers(self) -> NDArray[np.uint64]:
        """Weight of each record in a key.

        Where a row read as a number has more than 63 bits, random weights modulo 2^64, drawn until the
        keys of this list differ (at 10^6 rows the first draw fails with probability below 10^-7).
        """
        if self.radix:
            powers = [len(self.values) ** i for i in range(self.records)][::-1]
            return np.array(powers, dtype=np.uint64)
        rng = np.random.default_rng(0)
        while True:
            drawn = rng.integers(2**64, size=self.records, dtype=np.uint64)
            keys = self.rows.astype(np.uint64) @ drawn
            if len(np.unique(keys)) == len(keys):
                return drawn

    @cached_property
    def _key_order(self) -> NDArray[np.intp]:
        if self.radix:
            return np.arange(len(self))
        return np.argsort(self.keys(self.rows))

    @cached_property
    def _sorted_keys(self) -> NDArray[np.uint64]:
        return self.keys(self.rows)[self._key_order]
