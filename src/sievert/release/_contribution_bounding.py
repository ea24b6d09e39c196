"""At most so many rows of every person, chosen by a key that nobody keeps.

Of a person's rows those are counted whose HMAC-SHA256 of the person and the row's number is smallest, rows
being numbered in the order of their values. For a fixed key what is kept of others does not depend on this
person, so that taking all rows of a person away changes at most so many kept ones: for every key, and hence
for the mixture over keys (Rényi divergences are quasi-convex). So the promise does not rest on the key, and a
database may be told it. Nothing is claimed for rows that happen not to be kept. The number of kept rows is
private, and a single row is no unit here: taking one away renumbers the others. So the relation must be that
a person's rows are there or not.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence

import numpy as np

from sievert.arrays import IntArray
from sievert.errors import DataError, OutputError
from sievert.tables import PLAIN, Batch, Meaning, PeopleThere, Warehouse, in_code

__all__ = ["BoundedContributions", "SampledThere", "nobody"]

PURPOSE = b"sievert rows of one person"


def choosing(key: bytes) -> bytes:
    """The key that chooses rows; the bits of the noise cannot be told from it."""
    return hmac.digest(key, PURPOSE, "sha256")


class BoundedContributions:
    """Rows by person, of which `most` of each are kept."""

    def __init__(self, column: str | None, most: int, meaning: Meaning = PLAIN) -> None:
        assert column is not None
        self.column, self.most, self._meaning = column, most, meaning
        self._rows: dict[str, list[int]] = {}

    def add(self, batch: Batch, codes: IntArray, kept: IntArray) -> None:
        """Take the rows of a batch whose values count; rows of nobody would be those of one person."""
        found = in_code(batch.columns[self.column])
        people = found.meant(self._meaning.people(found.values.items, self.column))
        for place in np.flatnonzero(kept).tolist():
            person = people[place]
            if person is None:
                raise DataError(f"row {batch.first + place} {nobody(self.column)}")
            self._rows.setdefault(person, []).append(int(codes[place]))

    @property
    def size(self) -> int:
        """How many rows are kept, whatever the key. Private where a person may be there or not."""
        return sum(min(len(rows), self.most) for rows in self._rows.values())

    @property
    def rows(self) -> int:
        """How many rows were taken."""
        return sum(map(len, self._rows.values()))

    @property
    def persons_over(self) -> int:
        """How many persons have more rows than are kept of each."""
        return sum(len(rows) > self.most for rows in self._rows.values())

    def chosen(self, key: bytes) -> tuple[IntArray, IntArray]:
        """The values of the rows that a key keeps, and how many there are of each."""
        own, found = choosing(key), list[int]()
        for person, rows in self._rows.items():
            if len(rows) <= self.most:
                found += rows
                continue
            ordered = sorted(rows)
            ranks = sorted(range(len(rows)), key=lambda number: _rank(own, person, number))
            found += [ordered[number] for number in ranks[: self.most]]
        codes, counts = np.unique(np.array(found, dtype=np.int64), return_counts=True)
        return codes, counts.astype(np.int64)


def nobody(column: str) -> str:
    """What is wrong with a row that names nobody: it may be anybody's, beyond all that were promised."""
    return (
        f"names nobody in the column {column!r}, and rows are counted by person: say whose it is, or leave "
        "it out"
    )


def _rank(key: bytes, person: str, number: int) -> bytes:
    return hmac.digest(key, f"{number}:{person}".encode(errors="surrogatepass"), "sha256")


class SampledThere:
    """Rows by person that stay in a database, which keeps `most` of each; `texts` are cells, with codes."""

    def __init__(
        self,
        there: Warehouse,
        person: str,
        columns: Sequence[str],
        most: int,
        texts: Sequence[tuple[str, ...]],
        codes: IntArray,
        counts: IntArray,
    ) -> None:
        self._there, self.person, self.columns, self.most = there, person, columns, most
        self._given = [(*text, code) for text, code in dict(zip(texts, codes.tolist(), strict=True)).items()]
        self._expected = dict(zip(*_summed(codes, counts), strict=True))

    def people(self, meaning: Meaning) -> PeopleThere:
        """How many people there are, and what is kept of them."""
        if not self._given:
            return PeopleThere(0, 0, 0, 0, 0)
        found = self._there.people(self.person, self.columns, self._given, self.most, meaning)
        if found.nobody:
            raise DataError(f"{self._there.name}: one of {found.nobody} rows {nobody(self.person)}")
        return found

    def chosen(self, key: bytes) -> tuple[IntArray, IntArray]:
        """The values of the rows that a key keeps, and how many there are of each."""
        if not self._given:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        found = self._there.sampled(self.person, self.columns, self._given, self.most, choosing(key))
        if {code: count for code, count, _ in found} != self._expected:
            raise OutputError(f"{self._there.name}: the table changed while it was read")
        self._there.require_still()
        codes, _, kept = zip(*found, strict=True)
        return np.array(codes, dtype=np.int64), np.array(kept, dtype=np.int64)


def _summed(codes: IntArray, counts: IntArray) -> tuple[list[int], list[int]]:
    """How many rows have each code: several cells may mean one value."""
    own, place = np.unique(codes, return_inverse=True)
    sums = np.zeros(len(own), dtype=np.int64)
    np.add.at(sums, place, counts)
    return own.tolist(), sums.tolist()
