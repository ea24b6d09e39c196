"""How many rows each person has, where a column says whose row it is.

A promise for one person's rows holds only if nobody has more of them than was promised. Counting keeps
eight bytes a row: a keyed hash of the person, not the name.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sievert.errors import DataError
from sievert.tables.batches import Batch

__all__ = ["PersonRows"]


class PersonRows:
    """Counts the rows of each person; without a column there is nothing to count."""

    def __init__(self, column: str | None, most: int, key: str) -> None:
        self.columns = [] if column is None else [column]
        self.most, self.key = most, key
        self._hashes: list[NDArray[np.int64]] = []

    def add(self, batch: Batch) -> None:
        """Count a batch."""
        for name in self.columns:
            cells = map(str, batch.columns[name])
            # Python hashes texts with a secret key of the process; two people collide with chance 2^-64.
            self._hashes.append(np.fromiter(map(hash, cells), np.int64, batch.size))

    def check(self) -> None:
        """Refuse data in which somebody has too many rows."""
        if not self._hashes:
            return
        _, counts = np.unique(np.concatenate(self._hashes), return_counts=True)
        if counts.max() > self.most:
            raise DataError(
                f"the column {self.columns[0]!r} has a person with {int(counts.max())} rows, but the promise "
                f"is for at most {self.most}; nothing was released. Raise {self.key} (each row costs its "
                "share of the budget), or leave rows out beforehand"
            )
