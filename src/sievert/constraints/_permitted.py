"""The databases that public knowledge leaves possible: how many, which, and whether a given one is.

Equations are counted and listed by a dynamic program over the records (`Equations`), lists are filtered,
and only a function that nothing is known about is tried on every combination of values.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sievert.constraints._constraint import Constraint, ConstraintPredicate
from sievert.constraints._equations import Equations, joined
from sievert.errors import PolicyError, TooLargeError
from sievert.spaces import Databases, Labels, Rows, shown

__all__ = ["LARGEST_PERMITTED", "LARGEST_TRIED", "Permitted"]

LARGEST_PERMITTED = 1_000_000
# Calls of a function nothing is known about: a few seconds.
LARGEST_TRIED = 2_000_000


@dataclass(frozen=True, eq=False)
class Permitted:
    """Constraints bound to values and records; equations, checks and a list must all hold."""

    values: Labels
    records: int
    constraints: tuple[Constraint, ...]
    equations: Equations | None
    checks: tuple[ConstraintPredicate, ...]
    listing: Databases | None = field(repr=False)
    implicit: str = ""  # what works without a list, for messages

    @classmethod
    def of(
        cls,
        constraints: Sequence[Constraint],
        values: Labels,
        records: int,
        absent: Hashable | None = None,
    ) -> Permitted:
        """Bind constraints to values and records, refusing what does not fit them."""
        bound = [item.bound(values, records, absent) for item in constraints]
        systems = [item for item in bound if isinstance(item, Equations)]
        checks = tuple(item for item in bound if isinstance(item, ConstraintPredicate))
        listings = [item for item in bound if isinstance(item, Databases)]
        listing = listings[0] if listings else None
        for other in listings[1:]:
            assert listing is not None
            listing = Databases(listing.rows[other.positions(listing.rows) >= 0], values)
        equations = joined(systems) if systems else None
        return cls(values, records, tuple(constraints), equations, checks, listing)

    def describe(self) -> str:
        """What is known, in plain words."""
        return " and ".join(item.describe() for item in self.constraints)

    @property
    def kind_of(self) -> NDArray[np.intp] | None:
        """A number for each record, where records with equal numbers may be swapped; None if unknown.

        Equations do not notice a swap of records that contribute alike; nothing is known about lists and
        functions.
        """
        if self.equations is None or self.checks or self.listing is not None:
            return None
        return self.equations.kind_of

    def permits(self, row: Sequence[int]) -> bool:
        """Whether one database (positions of its values) is possible; needs no list."""
        rows = np.array([row], dtype=np.intp)
        if self.equations is not None and not self.equations.hold(rows)[0]:
            return False
        if self.listing is not None and self.listing.positions(rows)[0] < 0:
            return False
        return bool(self._accepted(rows)[0])

    @cached_property
    def count(self) -> int:
        """How many databases are possible, exactly; for equations without listing them."""
        if self.equations is not None and self.kind_of is not None:
            return self.equations.count
        return len(self.databases)

    @cached_property
    def databases(self) -> Databases:
        """The possible databases in order."""
        rows = self._rows()
        if not len(rows):
            raise PolicyError(
                f"permitted leaves no database possible: {self.describe()}, with {self.records} records of "
                f"{len(self.values)} values; correct the constraint"
            )
        return Databases(rows, self.values)

    def check(self) -> None:
        """Refuse constraints that nothing satisfies, where that is seen at once."""
        if self.listing is not None:
            _ = self.databases  # refuses by itself
        elif self.equations is not None:
            try:
                possible = self.equations.count
            except TooLargeError:
                return
            if not possible:
                raise PolicyError(
                    f"permitted leaves no database possible: {self.describe()} cannot hold for "
                    f"{self.records} records of {len(self.values)} values; correct the constraint"
                )

    def _rows(self) -> Rows:
        if self.listing is not None:
            rows = self.listing.rows
            if self.equations is not None:
                rows = rows[self.equations.hold(rows)]
        elif any(check.prefix is not None for check in self.checks):
            rows = self._grown()
        else:
            rows = self._solutions()
        return rows[self._accepted(rows)]

    def _solutions(self) -> Rows:
        """All databases that satisfy the equations."""
        equations = self.equations or self._no_equations()
        most = LARGEST_TRIED if self.checks else LARGEST_PERMITTED
        count = equations.count if self.equations is not None else len(self.values) ** self.records
        if count > most:
            raise self._too_many(count, most)
        return equations.rows()

    def _too_many(self, count: int, most: int) -> TooLargeError:
        if self.checks:
            return TooLargeError(
                f"permitted: a function nothing is known about would be tried on {_number(count)} databases "
                f"of {self.records} records; at most {most} are tried; state what is known as a total, "
                "histogram, marginals or list, or give satisfying(…, prefix=…) that says which first records "
                "lead to no permitted database",
                size=count,
            )
        return TooLargeError(
            f"permitted: {self.describe()} leaves {_number(count)} databases of {self.records} records; at "
            f"most {most} are listed",
            size=count,
            fix=f"{self.implicit}leave permitted out for the unconstrained policy, which is an implicit "
            "product for any number of records",
            file_fix="questions under public knowledge need that list: ask about fewer records or coarser "
            "values; without permitted any number of records is answered, for whoever does not know it",
        )

    def _no_equations(self) -> Equations:
        shape = (1, len(self.values), 0)
        kind_of = np.zeros(self.records, dtype=np.intp)
        return Equations(np.zeros(shape, dtype=np.int64), kind_of, np.zeros(0, dtype=np.int64))

    def _accepted(self, rows: Rows) -> NDArray[np.bool_]:
        """Which rows every function accepts."""
        kept = np.ones(len(rows), dtype=bool)
        for check in self.checks:
            for i in np.flatnonzero(kept).tolist():
                kept[i] = self._asked(check.whole, rows[i])
        return kept

    def _asked(self, function: Callable[[tuple[Hashable, ...]], object], row: Rows) -> bool:
        """What a function says about a database; one that raises is named with the database."""
        database = self._labelled(row)
        try:
            return bool(function(database))
        except Exception as problem:
            raise PolicyError(
                f"permitted: the function raised {type(problem).__name__}: {problem} on the database "
                f"({shown(database)}); it must say yes or no to every database of {self.records} records"
            ) from problem

    def _labelled(self, row: Rows) -> tuple[Hashable, ...]:
        return tuple(self.values[position] for position in row.tolist())

    def _grown(self) -> Rows:
        """Solutions record by record, dropping first records that some function refuses."""
        return (self.equations or self._no_equations()).rows(self._promising)

    def _promising(self, prefixes: Rows) -> NDArray[np.bool_]:
        """Which first records every function on first records accepts."""
        if len(prefixes) > LARGEST_TRIED:
            raise TooLargeError(
                f"permitted: {len(prefixes)} combinations of the first {prefixes.shape[1]} of {self.records} "
                f"records are left; at most {LARGEST_TRIED} are tried; let prefix= refuse more of them",
                size=len(prefixes),
            )
        kept = np.ones(len(prefixes), dtype=bool)
        for check in self.checks:
            if check.prefix is not None:
                for i in np.flatnonzero(kept).tolist():
                    kept[i] = self._asked(check.prefix, prefixes[i])
        return kept


def _number(count: int) -> str:
    """A count in full, or its leading digits when it has many."""
    text = str(count)
    return text if len(text) <= 18 else f"{text[0]}.{text[1:4]}·10^{len(text) - 1}"
