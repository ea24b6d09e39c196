"""How much privacy may be spent: in total for a person, and through single columns.

A ledger's ε is about two states of one person's records. A sum of ε holds only for pairs that every release
bounds. So a ledger states its relation when it is opened, and a release is charged what it costs for that
relation, or refused.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from sievert.errors import BudgetError, FileError, LedgerError
from sievert.numerics import as_fraction, brief, number
from sievert.tables import existing

__all__ = [
    "ADD_REMOVE",
    "REPLACE",
    "UNIT",
    "WITHOUT_RELATION",
    "Budget",
    "Relation",
    "amount",
    "stated_relation",
]

Amounts = Mapping[str, Fraction]
# Amounts outside these are mistakes; inside, every one can be written down and shown as a float.
LEAST_AMOUNT = Fraction(1, 10**300)
LARGEST_AMOUNT = Fraction(10**300)


@dataclass(frozen=True)
class Budget:
    """The most ε (nats) that anybody may lose, and the most through each column that has a limit.

    `relation` says for which pairs of states of a person's records; without it the first release says it.

    >>> budget = Budget(Fraction(3), {"income": Fraction(1)})
    >>> budget.check(Fraction(1, 2), ["income"], Fraction(2), {"income": Fraction(3, 4)}, "budget.toml")
    Traceback (most recent call last):
    sievert.errors.BudgetError: budget.toml: this release asks for ε = 0.5 through the column 'income' ...
    """

    person: Fraction
    columns: Amounts = field(default_factory=dict)
    relation: Relation | None = None

    @classmethod
    def read(cls, path: str | Path) -> Budget:
        """Read a budget file: `person = 3.0`, and under [columns] a limit for each name.

        `relation = "replace"` or `"add-remove"` says what is added up.
        """
        target = existing(path, "; write one with the line: person = 3.0 (the most ε for one person)")
        try:
            raw = tomllib.loads(target.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as problem:
            raise FileError(f"{target}: cannot be read as TOML ({problem})") from None
        unknown = sorted(set(raw) - {"person", "columns", "relation"})
        if unknown:
            raise FileError(
                f"{target}: key {unknown[0]} is unknown; a budget has person, relation and [columns]"
            )
        if "person" not in raw:
            raise FileError(f"{target}: key person is missing; it is the most ε that one person may lose")
        columns = raw.get("columns", {})
        if not isinstance(columns, dict):
            raise FileError(f"{target}: key columns must be a table of limits, such as income = 1.0")
        return cls(
            amount(raw["person"], f"{target}: key person"),
            {name: amount(value, f"{target}: key columns.{name}") for name, value in columns.items()},
            None if "relation" not in raw else stated_relation(raw["relation"], f"{target}: key relation"),
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Budget:
        """The budget that a ledger was opened with."""
        columns = {name: Fraction(text) for name, text in record["columns"].items()}
        return cls(Fraction(record["limit" if "limit" in record else "person"]), columns)

    def to_record(self) -> dict[str, Any]:
        """Exact texts for the ledger."""
        return {
            "currency": "eps",
            "limit": str(self.person),
            "columns": {name: str(limit) for name, limit in sorted(self.columns.items())},
        }

    def remaining(
        self, columns: Iterable[str], spent: Fraction, through: Amounts
    ) -> dict[str | None, Fraction]:
        """What is left for a person (None) and through each of the columns that has a limit."""
        left: dict[str | None, Fraction] = {None: self.person - spent}
        for name in columns:
            if name in self.columns:
                left[name] = self.columns[name] - through.get(name, Fraction(0))
        return left

    def check(
        self, eps: Fraction, columns: Iterable[str], spent: Fraction, through: Amounts, source: object
    ) -> None:
        """Refuse what would spend more than is left."""
        for name, left in self.remaining(columns, spent, through).items():
            if eps > left:
                where = "for each person" if name is None else f"through the column {name!r}"
                raise BudgetError(
                    f"{source}: this release asks for ε = {number(eps)} {where} but {number(left)} is left, "
                    f"{number(eps - left)} too little; nothing was released. Lower eps, or use a budget "
                    "that allows it",
                    requested=eps,
                    remaining=left,
                )


def amount(value: object, what: str) -> Fraction:
    """A finite amount ≥ 0, decimals read as written.

    >>> amount(0.1, "eps"), amount("1/3", "eps")
    (Fraction(1, 10), Fraction(1, 3))
    """
    rule = "it must be a number ≥ 0 (0, or from 1e-300 to 1e300)"
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
            raise ValueError
        found = as_fraction(str(value)) if isinstance(value, float) else as_fraction(value)
    except ValueError:
        raise LedgerError(f"{what} is {brief(value)}; {rule}") from None
    if found and not LEAST_AMOUNT <= found <= LARGEST_AMOUNT:
        raise LedgerError(f"{what} is {brief(value)}; {rule}")
    return found


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

    @property
    def is_places(self) -> bool:
        """Whether the pairs are any two places, by their distance in metres."""
        return self.kind == "places"

    @property
    def is_any_two(self) -> bool:
        """Whether the pairs are any two values of a record."""
        return self.kind == "replace"

    @property
    def is_joined(self) -> bool:
        """Whether the pairs are the values that a secret graph joins."""
        return self.kind == "graph"

    @property
    def reaches_any_two(self) -> bool:
        """Whether values that are no pair are several pairs in a row."""
        return self.kind in ("graph", "add-remove")

    def same_pairs(self, other: Relation) -> bool:
        """Whether both are about the same pairs, however many records a person owns."""
        return self.kind == other.kind and self.mark == other.mark

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
