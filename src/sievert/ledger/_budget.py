"""How much privacy may be spent: in total for a person, and through single columns.

A ledger's total is about two states of one person's records. It holds only for pairs that every release
bounds. So a ledger states its relation when it is opened, and a release is charged what it costs for that
relation, or refused. It adds up one currency, ε or ρ (see `_currency`).
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sievert.errors import BudgetError, FileError, LedgerError
from sievert.ledger._currency import CURRENCIES, EPS, RHO, Currency, epsilon_of, exactly, largest_rho
from sievert.ledger._fields import MOST_RECORDS
from sievert.numerics import abbreviated, as_fraction, at_most, did_you_mean, number, whole
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


KEYS = ("person", "rho", "eps", "delta", "relation", "person_records", "columns", "continues", "ledger")


@dataclass(frozen=True)
class Budget:
    """The most that anybody may lose, and the most through each column that has a limit.

    Attributes
    ----------
    limit : the most for a person, in the currency
    columns : the most through single columns
    relation : for which pairs of states of a person's records; without it the first release says it
    currency : ε in nats, or ρ
    delta : the δ at which ρ is read; None in pure ε
    person_records : how many records a person owns at least; a file that states more raises it
    continues : the budget file whose ledger is continued
    ledger : the name of the ledger that the file belongs to; None before its first use
    source : the file
    stated : what the file says, where that is not the limit itself

    >>> budget = Budget(Fraction(3), {"income": Fraction(1)})
    >>> budget.check(Fraction(1, 2), ["income"], Fraction(2), {"income": Fraction(3, 4)}, "budget.toml")
    Traceback (most recent call last):
    sievert.errors.BudgetError: budget.toml: this release asks for ε = 0.5 through the column 'income' ...
    """

    limit: Fraction
    columns: Amounts = field(default_factory=dict)
    relation: Relation | None = None
    currency: Currency = EPS
    delta: Fraction | None = None
    continues: Path | None = field(default=None, compare=False)
    stated: str = field(default="", compare=False)
    person_records: int | None = None
    ledger: str | None = field(default=None, compare=False)
    source: Path | None = field(default=None, compare=False)

    @classmethod
    def read(cls, path: str | Path) -> Budget:
        """Read a budget file: `person = 3.0`, `rho` with `delta`, or `eps` with `delta`.

        Under [columns] a limit for each name; `relation = "replace"` or `"add-remove"` says what is added up,
        `person_records` how many records a person owns; `continues = "old.toml"` that the ledger of another
        budget is closed and carried over. `ledger` is written by the first use.
        """
        target = existing(path, "; write one with the line: person = 3.0 (the most ε for one person)")
        try:
            raw = tomllib.loads(target.read_text(encoding="utf-8"))
            linked = os.stat(target).st_nlink > 1
        except (OSError, ValueError, RecursionError) as problem:
            raise FileError(f"{target}: cannot be read as TOML ({problem})") from None
        if linked:  # a second name would be a second ledger, and the budget be spent twice
            raise FileError(
                f"{target}: has another name (a hard link), and each would have a ledger of its own; remove "
                "the other name, or copy the file and delete the link"
            )
        unknown = sorted(set(raw) - set(KEYS))
        if unknown:
            raise FileError(
                f"{target}: key {unknown[0]} is unknown{did_you_mean(unknown[0], KEYS)}; a budget has person "
                "(or rho, or eps, with delta), relation, person_records, continues and [columns]"
            )
        columns = raw.get("columns", {})
        if not isinstance(columns, dict):
            raise FileError(f"{target}: key columns must be a table of limits, such as income = 1.0")
        currency, limit, delta, stated = _limit(raw, target)
        return cls(
            limit,
            {name: amount(value, f"{target}: key columns.{name}") for name, value in columns.items()},
            None if "relation" not in raw else stated_relation(raw["relation"], f"{target}: key relation"),
            currency,
            delta,
            None if "continues" not in raw else _continued(raw["continues"], target),
            stated,
            _person_records(raw, target),
            _bound(raw, target),
            target,
        )

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Budget:
        """The budget that a ledger was opened with."""
        columns = {name: exactly(text) for name, text in record["columns"].items()}
        limit = exactly(record["limit" if "limit" in record else "person"])
        currency = CURRENCIES.get(record.get("currency", EPS.key))
        if currency is None:
            raise LedgerError(
                f"the ledger adds up {abbreviated(record['currency'])}, which this version does not "
                f"know; use the "
                "version that opened it"
            )
        delta = record.get("delta")
        stated = record.get("person_records")
        lost = None if delta is None else exactly(delta)
        return cls(limit, columns, None, currency, lost, person_records=stated)

    def to_record(self) -> dict[str, Any]:
        """Exact texts for the ledger."""
        return {
            "currency": self.currency.key,
            "limit": str(self.limit),
            **({} if self.delta is None else {"delta": str(self.delta)}),
            "columns": {name: str(limit) for name, limit in sorted(self.columns.items())},
            **({} if self.person_records is None else {"person_records": self.person_records}),
        }

    def same_limits(self, other: Budget) -> bool:
        """Whether both allow the same."""
        return (self.currency, self.limit, self.delta, self.columns) == (
            other.currency,
            other.limit,
            other.delta,
            other.columns,
        )

    def words(self) -> str:
        """The limits, such as "person 3, income 1"."""
        total = f"person {number(self.limit)}" if self.delta is None else self.promise
        return ", ".join([total, *(f"{name} {number(most)}" for name, most in sorted(self.columns.items()))])

    @property
    def promise(self) -> str:
        """What nobody loses more than, whatever is released: ε, or ρ and what it means at δ."""
        if self.delta is None:
            return self.currency.words(self.limit)
        read = at_most(epsilon_of(self.limit, self.delta), 6)
        return f"{self.currency.words(self.limit)} (ε = {read} at δ = {number(self.delta)})"

    def remaining(
        self, columns: Iterable[str], spent: Fraction, through: Amounts
    ) -> dict[str | None, Fraction]:
        """What is left for a person (None) and through each of the columns that has a limit."""
        left: dict[str | None, Fraction] = {None: self.limit - spent}
        for name in columns:
            if name in self.columns:
                left[name] = self.columns[name] - through.get(name, Fraction(0))
        return left

    def check(
        self,
        cost: Fraction,
        columns: Iterable[str],
        spent: Fraction,
        through: Amounts,
        source: object,
        what: str = "release",
        more: Mapping[str | None, Fraction] = MappingProxyType({}),
    ) -> None:
        """Refuse what would spend more than is left; `more` is what earlier charges grow by beside it."""
        limited = [name for name in self.columns if name in columns or more.get(name)]
        for name, left in self.remaining(limited, spent, through).items():
            grown = more.get(name, Fraction(0))
            asked = grown + (cost if name is None or name in columns else 0)
            if asked > left:
                where = "for each person" if name is None else f"through the column {name!r}"
                why = ""
                if grown:
                    why = (
                        f" ({number(grown)} of it since it states more records of a person than the releases "
                        "before it, which do not say whose row it is: name data.person there)"
                    )
                raise BudgetError(
                    f"{source}: this {what} asks for {self.currency.words(asked)} {where}{why} but "
                    f"{number(left)} is left, {number(asked - left)} too little; nothing was released. Lower "
                    f"{self.currency.key}, or use a budget that allows it",
                    requested=asked,
                    remaining=left,
                    currency=self.currency.key,
                )


def _limit(raw: Mapping[str, Any], source: Path) -> tuple[Currency, Fraction, Fraction | None, str]:
    """The currency, its limit, the δ at which it is read, and what the file says where that differs."""
    given = [key for key in ("person", "rho", "eps") if key in raw]
    if not given:
        raise FileError(
            f"{source}: key person is missing; it is the most ε that one person may lose (or give rho, or "
            "eps, with delta)"
        )
    if len(given) > 1:
        raise FileError(
            f"{source}: keys {given[0]} and {given[1]} are two budgets; a ledger adds up one currency: keep "
            "one of person (pure ε), rho with delta, and eps with delta"
        )
    limit = amount(raw[given[0]], f"{source}: key {given[0]}")
    if given == ["person"]:
        if "delta" in raw:
            raise FileError(
                f"{source}: key delta goes with rho or eps; person is pure ε, which needs none: write eps "
                "instead of person for a budget at δ"
            )
        return EPS, limit, None, ""
    if "delta" not in raw:
        raise FileError(f"{source}: key delta is missing; {given[0]} is read at a δ, such as delta = 1e-6")
    delta = amount(raw["delta"], f"{source}: key delta")
    if not 0 < delta < 1:
        raise FileError(f"{source}: key delta is {abbreviated(raw['delta'])}; it must be above 0 and below 1")
    if limit <= 0:
        raise FileError(f"{source}: key {given[0]} is {abbreviated(raw[given[0]])}; it must be above 0")
    if given == ["rho"]:
        return RHO, limit, delta, ""
    return RHO, largest_rho(limit, delta), delta, f"ε = {number(limit)} at δ = {number(delta)}"


def _person_records(raw: Mapping[str, Any], source: Path) -> int | None:
    """How many records a person owns, where the budget says it."""
    if "person_records" not in raw:
        return None
    with_name = f"{source}: key person_records"
    return whole(with_name, raw["person_records"], FileError, least=1)


def _bound(raw: Mapping[str, Any], source: Path) -> str | None:
    """The name of the ledger that the budget belongs to."""
    name = raw.get("ledger")
    if name is not None and (not isinstance(name, str) or not name):
        raise FileError(
            f"{source}: key ledger is {abbreviated(name)}; it is written by the first use, and nobody "
            f"else's: put "
            "it back as it was"
        )
    return name


def _continued(value: object, source: Path) -> Path:
    """The budget file whose ledger is continued, from the folder of this one."""
    if not isinstance(value, str) or not value.endswith(".toml"):
        raise FileError(
            f"{source}: key continues is {abbreviated(value)}; name the budget file of the earlier "
            f"ledger, such as "
            '"budget-2025.toml"'
        )
    return source.parent / value


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
        raise LedgerError(f"{what} is {abbreviated(value)}; {rule}") from None
    if found and not LEAST_AMOUNT <= found <= LARGEST_AMOUNT:
        raise LedgerError(f"{what} is {abbreviated(value)}; {rule}")
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
    def counts_records(self) -> bool:
        """Whether amounts are for a pair of neighbours, and not for each unit of a distance."""
        return self.unit == UNIT

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
            found = cls(**record)
            texts = (found.kind, found.words, found.unit, found.values, found.mark)
            owned = found.person_records
            is_count = type(owned) is int and 0 < owned <= MOST_RECORDS
            if not is_count or not all(isinstance(text, str) for text in texts):
                raise TypeError
            return found
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
        raise LedgerError(f'{what} is {abbreviated(value)}; it must be "replace" or "add-remove"')
    return known[value]
