"""From cells of a table to values of the policy: the domain is declared, never found in the data.

Every cell is one of the policy's values, or does not fit in one of four ways, each with a treatment that
the file declares: missing, unknown (not a value, or no number where numbers are declared), out of range,
or off the grid (between two values). The default is to refuse the whole run.

What was checked is what is drawn: a hash of every batch is taken while the data is checked.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_left
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cached_property
from operator import itemgetter
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sievert.errors import DataError, FileError, OutputError
from sievert.files import ReleaseModel, UseValue
from sievert.numerics import abbreviated, as_fraction
from sievert.release._fit import FITS, Reason, Tally, left_out, replaced
from sievert.spaces import KnownLabels, as_float, exact_number, label, shown, worded
from sievert.tables import PLAIN, Batch, DictionaryColumn, DictionaryValues, Meaning, combined, in_code

__all__ = ["DROPPED", "Domain", "Fingerprints"]

DROPPED = -1
# Distinct cells that are remembered; more are forgotten and looked up again.
LARGEST_CACHE = 200_000
# What is remembered of a cell: the index of its value, and in the lowest bits how it fits.
BITS = 4
HOW = 2**BITS - 1
# What is looked up for a cell: its value, or None where its row is left out, and how it fits.
Treated = tuple[tuple[Hashable] | None, int]

Codes = NDArray[np.int64]


class _Refused(Exception):
    """A cell that the file says must not be there."""


class Domain:
    """The declared values of a record, and what to do with cells that are none of them.

    >>> from sievert.tables._batches import Batch
    >>> ages = Domain(["age"], range(0, 5), ReleaseModel(out_of_range="clamp", missing="drop"))
    >>> ages.codes(Batch(1, {"age": ["3", "17", "", "0.0"]}, 4)).tolist()
    [3, 4, -1, 0]
    """

    def __init__(
        self,
        columns: Sequence[str],
        values: Sequence[Hashable],
        rules: ReleaseModel,
        meaning: Meaning = PLAIN,
    ) -> None:
        self.columns = list(columns)
        self.rules = rules
        self._values = values
        self._attributes = [
            _Attribute(name, part, _part(rules, i, columns), meaning)
            for i, (name, part) in enumerate(zip(columns, _parts(values, columns), strict=True))
        ]
        self._cache: dict[Any, int] = {}

    @cached_property
    def _index(self) -> Callable[[Hashable], int]:
        return _positions(self._values)

    @property
    def drops(self) -> bool:
        """Whether some rows may be left out."""
        rules = self.rules
        return "drop" in (rules.missing, rules.unknown, rules.out_of_range, rules.off_grid)

    def codes(
        self,
        batch: Batch,
        place: Callable[[int], str] | None = None,
        counts: NDArray[np.int64] | None = None,
        tally: Tally | None = None,
    ) -> Codes:
        """Index of each row's value, or DROPPED; `tally` adds up how the rows fit.

        `place` names a row in errors, by its number by default; `counts` says how many rows an entry is for.
        """
        where = place or (lambda row: f"row {batch.first + row}")
        columns = [attribute.texts(batch.columns[attribute.name]) for attribute in self._attributes]
        together = columns[0] if len(columns) == 1 else combined(columns)
        cells, rows = together.values.items, together.codes
        found = self._codes_of(cells, rows, where)
        if tally is not None:
            tally.add(found & HOW, _sizes(rows, counts, len(cells)), cells.__getitem__)
        return together.mapped(found >> BITS)

    def _codes_of(self, cells: Sequence[Any], rows: NDArray[Any], where: Callable[[int], str]) -> Codes:
        """What is remembered of each different cell; `rows` says which of them each row holds."""
        if len(self._cache) > LARGEST_CACHE:
            self._cache.clear()
        found = np.empty(len(cells), np.int64)
        for place, cell in enumerate(cells):
            try:
                code = self._cache.get(cell)
                if code is None:
                    code = self._cache[cell] = self._code(cell)
            except _Refused as problem:
                raise DataError(f"{where(int(np.flatnonzero(rows == place)[0]))} {problem}") from None
            found[place] = code
        return found

    def _code(self, cell: Any) -> int:
        """The index of a cell's value, or DROPPED, and in the lowest bits how it fits."""
        if len(self.columns) == 1:
            value, fit = self._attributes[0].value(cell)
            return (DROPPED if value is None else self._index(value[0])) << BITS | fit
        found = [attribute.value(part) for attribute, part in zip(self._attributes, cell, strict=True)]
        for value, fit in found:
            if value is None:
                return DROPPED << BITS | fit
        together = tuple(value[0] for value, _ in found if value is not None)
        try:
            return self._index(together) << BITS | max(fit for _, fit in found)
        except KeyError:
            treatment = self.rules.unknown
            if treatment == "drop":
                return DROPPED << BITS | left_out("unknown")
            raise _Refused(
                f"has {abbreviated(together, worded)} in the columns {', '.join(self.columns)}, which "
                f"is not one "
                "of the policy's combinations; declare it, or say unknown in [release]"
            ) from None


def _sizes(places: NDArray[Any], counts: NDArray[np.int64] | None, different: int) -> NDArray[np.int64]:
    """How many rows hold each different cell; an entry may stand for several rows."""
    if counts is None:
        return np.bincount(places, minlength=different)
    found = np.zeros(different, np.int64)
    np.add.at(found, places, counts)
    return found


def _positions(values: Sequence[Hashable]) -> Callable[[Hashable], int]:
    """Where a value stands; KeyError where it is none of them."""
    if isinstance(values, range):
        return values.index  # type: ignore[return-value]
    return dict(zip(values, range(len(values)), strict=True)).__getitem__


def _parts(values: Sequence[Any], columns: Sequence[str]) -> list[Sequence[Hashable]]:
    """The values of each column, once each."""
    if len(columns) == 1:
        return [values if isinstance(values, range) else list(dict.fromkeys(values))]
    if set(map(type, values)) != {tuple} or set(map(len, values)) != {len(columns)}:
        for other in values:
            if not isinstance(other, tuple) or len(other) != len(columns):
                raise FileError(
                    f"data.column names {len(columns)} columns but the policy has the value {other!r}; "
                    "its values must be lists with an entry for each column "
                    "(values = { product = [[…], […]] })"
                )
    entries = cast("Sequence[tuple[Hashable, ...]]", values)
    return [list(dict.fromkeys(map(itemgetter(i), entries))) for i in range(len(columns))]


class _RangeNumbers(Sequence[tuple[Fraction, Hashable]]):
    """The values of a range with their exact numbers, each made when it is asked for."""

    def __init__(self, values: range) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: Any) -> Any:
        return Fraction(self._values[place]), self._values[place]


def _numbers(values: Sequence[Any]) -> Sequence[tuple[Fraction, Hashable]] | None:
    """The values in increasing order with their exact numbers; None where one is no number."""
    if isinstance(values, range):
        return _RangeNumbers(values)
    if not all(isinstance(v, int | float | Fraction) and not isinstance(v, bool) for v in values):
        return None
    return sorted((as_fraction(str(v)), v) for v in values)


class _Attribute:
    """The declared values of one column."""

    def __init__(self, name: str, values: Sequence[Hashable], rules: ReleaseModel, meaning: Meaning) -> None:
        self.name = name
        self.values = values
        self.rules = rules
        self.meaning = meaning if isinstance(values, range) else meaning.for_values(values)
        self._known = KnownLabels(values)
        self._numbers = _numbers(values)
        self._substitutes = {
            what: self._substitute(what, treatment)
            for what, treatment in (("missing", rules.missing), ("unknown", rules.unknown))
            if isinstance(treatment, UseValue)
        }

    def _substitute(self, what: str, treatment: UseValue) -> tuple[Hashable]:
        found = self._known.find(label(treatment.use))
        if found is None:
            raise FileError(
                f"release.{what}: use = {treatment.use!r} is not one of the values {shown(self.values)} of "
                f"the column {self.name}"
            )
        return (found,)

    def texts(self, column: Sequence[Any]) -> DictionaryColumn:
        """A column as the texts of its cells."""
        found = in_code(column)
        return found.meant(self.meaning.texts_of(found.values.items, self.name))

    def value(self, cell: str | None) -> Treated:
        """The value that the text of a cell means, in a tuple, None when its row is dropped; how it fits."""
        if cell is None:
            return self._treated("missing", self.rules.missing, cell)
        found = self._known.find(cell)
        if found is not None:
            return (found,), FITS
        if self._numbers is None:
            return self._treated("unknown", self.rules.unknown, cell)
        if math.isnan(as_float(cell) or 0.0):  # the text NaN, where numbers are declared
            return self._treated("missing", self.rules.missing, cell)
        number = exact_number(cell)
        if number is None:
            return self._treated("unknown", self.rules.unknown, cell)
        return self._nearest(number, cell)

    def _nearest(self, number: Fraction, cell: Any) -> Treated:
        assert self._numbers is not None
        (low, first), (high, last) = self._numbers[0], self._numbers[-1]
        if not low <= number <= high:
            if self.rules.out_of_range == "clamp":
                return (first if number < low else last,), replaced("out_of_range")
            return self._treated("out_of_range", self.rules.out_of_range, cell, f"{first!r} to {last!r}")
        if self.rules.off_grid == "nearest":
            place = bisect_left(self._numbers, (number,))
            # A number that rounds to the least value has none below it.
            below, above = self._numbers[max(place - 1, 0)], self._numbers[place]
            nearest = below if number - below[0] <= above[0] - number else above
            return (nearest[1],), replaced("off_grid")
        return self._treated("off_grid", self.rules.off_grid, cell)

    def _treated(self, what: Reason, treatment: object, cell: Any, span: str = "") -> Treated:
        if treatment == "drop":
            return None, left_out(what)
        if what in self._substitutes:
            return self._substitutes[what], replaced(what)
        problem = {
            "missing": "has no value",
            "unknown": f"has {abbreviated(cell)}, which is not one of {shown(self.values)},",
            "out_of_range": f"has {abbreviated(cell)}, which is not from {span},",
            "off_grid": f"has {abbreviated(cell)}, which lies between two values,",
        }[what]
        other = {"missing": '"drop"', "unknown": '"drop"', "out_of_range": '"clamp"', "off_grid": '"nearest"'}
        raise _Refused(
            f"{problem} in the column {self.name!r}; nothing was released. Correct it, or declare under "
            f"[release] {what} = {other[what]}"
        )


def _part(rules: ReleaseModel, place: int, columns: Sequence[str]) -> ReleaseModel:
    """The rules of one column: where there are several, a substitute is a list with an entry for each."""
    changed = {}
    for what in ("missing", "unknown"):
        treatment = getattr(rules, what)
        if isinstance(treatment, UseValue) and len(columns) > 1:
            if not isinstance(treatment.use, list) or len(treatment.use) != len(columns):
                raise FileError(
                    f"release.{what}: use = {treatment.use!r} must be a list with a value for each of the "
                    f"columns {', '.join(columns)}"
                )
            changed[what] = UseValue(use=treatment.use[place])
    return rules.model_copy(update=changed)


class Fingerprints:
    """Hashes of the batches of some columns, in order."""

    def __init__(self, columns: Sequence[str], digests: Sequence[bytes] = ()) -> None:
        self.columns = list(columns)
        self._digests = list(digests)

    @property
    def digests(self) -> tuple[bytes, ...]:
        """The hashes so far."""
        return tuple(self._digests)

    def add(self, batch: Batch) -> None:
        """Keep the hash of the next batch."""
        self._digests.append(self._digest(batch))

    def has(self, number: int, batch: Batch) -> bool:
        """Whether a batch is the one that was checked."""
        return number < len(self._digests) and self._digest(batch) == self._digests[number]

    def add_counted(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Keep the hash of rows that come in no order."""
        content = "\n".join(sorted(map(repr, rows)))
        self._digests.append(hashlib.sha256(content.encode(errors="surrogatepass")).digest())

    def require(self, number: int, batch: Batch) -> None:
        """Refuse a batch that is not the one that was checked."""
        if not self.has(number, batch):
            raise OutputError("the data changed while it was read")

    def require_end(self, batches: int) -> None:
        """Refuse data that ended earlier than when it was checked."""
        if batches != len(self._digests):
            raise OutputError("the data changed while it was read")

    def total(self) -> str:
        """One hash of all that was checked: as private as the data, for who knows the rest can guess it."""
        return hashlib.sha256(b"".join(self._digests)).hexdigest()

    def _digest(self, batch: Batch) -> bytes:
        found = hashlib.sha256(str(batch.first).encode())
        for name in self.columns:
            column = batch.columns[name]
            whole = (
                column.digest() if isinstance(column, DictionaryColumn) else DictionaryValues(column).digest
            )
            found.update(whole)
        return found.digest()
