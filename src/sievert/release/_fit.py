"""How many rows of the data fit the declared values, and why the others do not: known before any charge.

A file may leave rows out (`missing = "drop"`, `too_many = "sample"`) or replace what does not fit. Where that
meets more rows than `[data] fit` allows, the data are not what the file describes, and the release stops
before it is charged. All of these numbers are private: they are shown on the owner's terminal alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sievert.errors import DataError
from sievert.numerics import abbreviated
from sievert.results import Result
from sievert.tables import FitModel

__all__ = ["FITS", "DataFit", "Reason", "Show", "Tally", "admit", "left_out", "replaced"]

Reason = Literal["missing", "unknown", "out_of_range", "off_grid"]
REASONS: tuple[Reason, ...] = get_args(Reason)
WORDS = {
    "missing": "without a value",
    "unknown": "with an unknown value",
    "out_of_range": "out of range",
    "off_grid": "between two values",
    "empty": "without a known word",
    "zero": "without a direction",
}
# How a cell fits: it is a declared value, its row is left out, or it is replaced; the last two by reason.
FITS = 0
# Different unknown values that are counted, and that are shown.
MOST_DIFFERENT, SHOWN = 10_000, 6


def left_out(reason: Reason) -> int:
    """The code of a cell whose row is left out."""
    return 1 + REASONS.index(reason)


def replaced(reason: Reason) -> int:
    """The code of a cell that is replaced by a declared value."""
    return 1 + len(REASONS) + REASONS.index(reason)


UNKNOWN = (left_out("unknown"), replaced("unknown"))


@dataclass(frozen=True)
class DataFit(Result):
    """How the rows of the data fit; private, for their owner.

    Attributes
    ----------
    rows : how many were read
    left_out, replaced : how many rows were left out, or had a cell replaced, by reason
    over_limit : rows left out because their person has more than the file admits
    persons_over_limit : how many persons have more rows than the file admits
    unknown_values : the most frequent unknown values, each with its number of rows
    counted_in : what is counted, in the plural
    """

    rows: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    replaced: Mapping[str, int] = field(default_factory=dict)
    over_limit: int = 0
    persons_over_limit: int = 0
    unknown_values: tuple[tuple[str, int], ...] = ()
    counted_in: str = "rows"

    @property
    def counted(self) -> int:
        """How many rows enter the release."""
        return self.rows - sum(self.left_out.values()) - self.over_limit

    def __str__(self) -> str:
        found = f"{self._share(self.counted)} {self.counted_in} fit"
        aside = [f"{count:,} {WORDS[reason]}" for reason, count in self.left_out.items() if count]
        if self.over_limit:
            people = "person" if self.persons_over_limit == 1 else "persons"
            aside.append(f"{self.over_limit:,} beyond the limit of {self.persons_over_limit:,} {people}")
        if aside:
            found += f"; left out: {', '.join(aside)}"
        changed = [f"{count:,} {WORDS[reason]}" for reason, count in self.replaced.items() if count]
        if changed:
            found += f"; replaced: {', '.join(changed)}"
        if self.unknown_values:
            listed = ", ".join(f"{value} ({count:,})" for value, count in self.unknown_values)
            found += f". Most frequent unknown values: {listed}"
        return f"{found}."

    def _share(self, count: int) -> str:
        percent = f" ({100 * count / self.rows:.3g}%)" if self.rows else ""
        return f"{count:,} of {self.rows:,}{percent}"

    @classmethod
    def together(cls, parts: Iterable[DataFit]) -> DataFit:
        """Several files as one."""
        found = list(parts)
        unknown = Counter[str]()
        for part in found:
            unknown.update(dict(part.unknown_values))
        return cls(
            sum(part.rows for part in found),
            _summed(part.left_out for part in found),
            _summed(part.replaced for part in found),
            sum(part.over_limit for part in found),
            sum(part.persons_over_limit for part in found),
            tuple(unknown.most_common(SHOWN)),
            found[0].counted_in if found else "rows",
        )


def _summed(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found = Counter[str]()
    for part in parts:
        found.update(part)
    return dict(found)


Show = Callable[[DataFit], None]


class Tally:
    """Adds up how rows fit, batch by batch."""

    def __init__(self) -> None:
        self._counts = np.zeros(1 + 2 * len(REASONS), dtype=np.int64)
        self._unknown = Counter[str]()

    def add(
        self, fits: NDArray[Any], rows: NDArray[np.int64] | None, cell: Callable[[int], Any] | None = None
    ) -> None:
        """Count cells by how they fit; `rows` says how many rows each stands for, one unless given."""
        np.add.at(self._counts, fits, 1 if rows is None else rows)
        if cell is None or not self._counts[list(UNKNOWN)].any():
            return
        for place in np.flatnonzero(np.isin(fits, UNKNOWN)).tolist():
            self._unknown[abbreviated(cell(place))] += 1 if rows is None else int(rows[place])
        if len(self._unknown) > MOST_DIFFERENT:
            self._unknown = Counter(dict(self._unknown.most_common(MOST_DIFFERENT // 10)))

    def fit(self, over_limit: int = 0, persons_over_limit: int = 0) -> DataFit:
        """What was found so far."""
        counts = self._counts.tolist()
        return DataFit(
            sum(counts),
            {reason: counts[left_out(reason)] for reason in REASONS if counts[left_out(reason)]},
            {reason: counts[replaced(reason)] for reason in REASONS if counts[replaced(reason)]},
            over_limit,
            persons_over_limit,
            tuple(self._unknown.most_common(SHOWN)),
        )


def admit(fit: DataFit, rules: FitModel, show: Show | None, key: str = "data.fit") -> None:
    """Tell the owner how the data fit; stop before any charge where more rows do not than the file allows."""
    if show is not None:
        show(fit)
    nothing = "Nothing was released or charged."
    if not fit.counted:
        raise DataError(
            f"no {fit.counted_in[:-1]} fits: {fit} {nothing} Check the column, the period and the values of "
            "the policy"
        )
    if sum(fit.replaced.get(reason, 0) for reason in ("missing", "unknown", "zero")) == fit.counted:
        raise DataError(
            f"no {fit.counted_in[:-1]} has a value of its own, and the file replaces all of them: {fit} "
            f"{nothing} Check the column and the values of the policy"
        )
    unknown = fit.left_out.get("unknown", 0)
    aside = fit.rows - fit.counted
    for name, count, most, what in (
        ("unknown", unknown, rules.unknown, "have an unknown value"),
        ("dropped", aside, rules.dropped, "are left out"),
    ):
        if count > most * fit.rows:
            raise DataError(
                f"{fit._share(count)} {fit.counted_in} {what}, and {key}.{name} allows {most:.3g}: {fit} "
                f"{nothing} Correct the data or the values of the policy, or raise {key}.{name}"
            )
