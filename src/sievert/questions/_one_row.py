"""Whether numbers are about one row of a person who has several, and the sentence that says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sievert.results import Result

if TYPE_CHECKING:
    from sievert.files import PolicyScenario

__all__ = ["OfOneRow", "one_row", "rows_of_person"]


@dataclass(frozen=True)
class OfOneRow(Result):
    """An answer about one row of a person, `rows_per_person` of whose rows are released one by one."""

    rows_per_person: int = field(default=1, kw_only=True)

    def to_dict(self) -> dict[str, Any]:
        """Fields as plain data; a person's rows only where there are several."""
        found = super().to_dict()
        if self.rows_per_person == 1:
            del found["rows_per_person"]
        return found


def one_row(rows: int) -> str:
    """After a number about one row, that it is; "" where a person has no more."""
    return "" if rows == 1 else f" Every number is about one row; a person has up to {rows}."


def rows_of_person(scenario: PolicyScenario) -> int:
    """How many rows of one person are released one by one, each with noise of its own."""
    document = scenario.document
    if document.data is None or document.query is None or not scenario.query.is_record:
        return 1
    stable = document.release is not None and document.release.stable
    return 1 if stable else int(document.data.rows_per_person)
