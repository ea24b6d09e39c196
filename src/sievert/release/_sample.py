"""At most so many rows of every person, chosen by a key that nobody keeps.

Of a person's rows those with the smallest keyed hashes of the person and the number of the row are counted.
For a fixed key what is kept of others does not depend on this person, so that taking all rows of a person
away changes at most so many kept ones: for every key, and hence for the mixture over keys (Rényi divergences
are quasi-convex). Nothing is claimed for rows that happen not to be kept. The number of kept rows is private,
and a single row is no unit here: taking one away renumbers the others. So the relation must be that a
person's rows are there or not.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable

import numpy as np

from sievert.arrays import IntArray
from sievert.errors import DataError
from sievert.release._domain import is_missing
from sievert.tables import Batch

__all__ = ["Sampled"]

# 128 bits: two people whose hashes agree would be one person, and the promise be for both.
PERSON_BYTES, ORDER_BYTES = 16, 16
PURPOSE = b"sievert rows of one person"


class Sampled:
    """Rows by person, of which `most` of each are kept; `missing` are texts that name nobody."""

    def __init__(
        self,
        column: str,
        most: int,
        person: Callable[[object], str],
        missing: frozenset[str] = frozenset(),
    ) -> None:
        self.column, self.most, self._person, self._missing = column, most, person, missing
        self._rows: dict[Hashable, list[int]] = {}

    def add(self, batch: Batch, codes: IntArray, kept: IntArray) -> None:
        """Take the rows of a batch whose values count; rows of nobody would be those of one person."""
        cells = batch.columns[self.column]
        for place in np.flatnonzero(kept).tolist():
            if is_missing(cells[place], self._missing):
                raise DataError(
                    f"row {batch.first + place} names nobody in the column {self.column!r}, and rows are "
                    "chosen by person: say whose it is, or leave it out"
                )
            self._rows.setdefault(self._person(cells[place]), []).append(int(codes[place]))

    @property
    def size(self) -> int:
        """How many rows are kept, whatever the key. Private where a person may be there or not."""
        return sum(min(len(rows), self.most) for rows in self._rows.values())

    def codes(self, key: bytes) -> IntArray:
        """The values of the rows that a key keeps."""
        own = hashlib.blake2b(PURPOSE, key=key[:64], digest_size=32).digest()
        found: list[int] = []
        for person, rows in self._rows.items():
            if len(rows) <= self.most:
                found += rows
                continue
            name = hashlib.blake2b(str(person).encode(), key=own, digest_size=PERSON_BYTES).digest()
            order = sorted(range(len(rows)), key=lambda number: _rank(own, name, number))
            found += [rows[number] for number in order[: self.most]]
        return np.array(found, dtype=np.int64)


def _rank(key: bytes, person: bytes, number: int) -> bytes:
    text = person + number.to_bytes(8, "big")
    return hashlib.blake2b(text, key=key, digest_size=ORDER_BYTES).digest()
