"""What a ledger adds up: which two states of one person's records its ε is about.

A sum of ε holds only for pairs that every release bounds. So a ledger states its relation when it is opened,
and a release is charged what it costs for that relation, or refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sievert.errors import LedgerError
from sievert.numerics import brief

__all__ = ["ADD_REMOVE", "REPLACE", "UNIT", "WITHOUT_RELATION", "Relation", "stated_relation"]

# What ε is counted for, unless a release says otherwise.
UNIT = "pair of neighbours"
# Ledgers of version 1 state no relation.
WITHOUT_RELATION = "pairs that are neighbours in every release"


@dataclass(frozen=True)
class Relation:
    """The pairs that a ledger's total is about.

    Attributes
    ----------
    kind : "replace" (any two values), "add-remove" (there or not), "graph" (values that a secret graph
        joins), "constrained" (databases adjacent under public knowledge), "metric" or "places"
    words : the pairs, in words
    unit : what ε is counted for
    values, mark : hashes of the values, and of values, graph and public knowledge, where they matter
    person_records : how many records a person owns at most
    """

    kind: str
    words: str
    unit: str = UNIT
    values: str = ""
    mark: str = ""
    person_records: int = 1

    def to_record(self) -> dict[str, Any]:
        """Plain data for the ledger; what does not apply is left out."""
        given = {name: getattr(self, name) for name in ("kind", "words", "unit", "values", "mark")}
        return {name: text for name, text in given.items() if text} | {"person_records": self.person_records}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Relation:
        """The relation that a ledger was opened with."""
        try:
            return cls(**record)
        except TypeError:
            raise LedgerError(
                f"the ledger's relation is {dict(record)!r}, which this version does not know; use the "
                "version that opened it"
            ) from None


REPLACE = Relation("replace", "any two values of one person's records")
ADD_REMOVE = Relation("add-remove", "one person's records being there or not")


def stated_relation(value: object, what: str) -> Relation:
    """The relation that a budget file names."""
    known = {relation.kind: relation for relation in (REPLACE, ADD_REMOVE)}
    if not isinstance(value, str) or value not in known:
        raise LedgerError(f'{what} is {brief(value)}; it must be "replace" or "add-remove"')
    return known[value]
