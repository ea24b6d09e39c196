"""What a ledger has charged, added up record by record: the next charge asks for sums, not for the past.

A total is about one person, who owns as many records as the file that states most of them says. A release
whose data say whose row it is (`data.person`) was checked to hold no more rows of a person than it was
charged for, and its charge stays. Any other release may hold every record of a person, so its charge grows
with their number: n records at a time, ceil(K/n) times in ε and by its square in ρ (Bun and Steinke, Prop
1.9). So the total is a function of the set of releases, whatever their order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sievert.errors import LedgerError
from sievert.ledger._budget import Budget, Relation
from sievert.ledger._chain import Record, legible
from sievert.ledger._currency import EPS, exactly
from sievert.ledger._fields import MOST_RECORDS
from sievert.numerics import abbreviated

__all__ = ["FIXED", "Share", "Sums", "Totals", "amount_of"]

NONE = Fraction(0)
KINDS = ("open", "reserve", "plan", "commit", "retarget")


@dataclass(frozen=True)
class Share:
    """Whose records a charge is for.

    Attributes
    ----------
    records : for how many records of one person it was made
    grows : with which power of their number it grows; 0 where the data say whose row it is
    """

    records: int
    grows: int

    def factor(self, records: int) -> int:
        """By how much the charge is larger where a person owns so many records."""
        return 1 if not self.grows else math.ceil(records / self.records) ** self.grows

    @property
    def in_eps(self) -> Share:
        """The same for ε, which adds up."""
        return Share(self.records, min(self.grows, 1))


@dataclass
class Sums:
    """Sums of charges, apart for every way in which they grow."""

    parts: dict[Share, Fraction] = field(default_factory=dict)

    def add(self, amount: Fraction, share: Share) -> None:
        """One more charge; where it does not grow, for how many records it was made does not matter."""
        kept = share if share.grows else FIXED
        self.parts[kept] = self.parts.get(kept, NONE) + amount

    def total(self, records: int) -> Fraction:
        """The sum for a person who owns so many records."""
        return sum((amount * share.factor(records) for share, amount in self.parts.items()), NONE)

    def to_list(self) -> list[list[Any]]:
        """As plain data."""
        return [[share.records, share.grows, str(amount)] for share, amount in self.parts.items()]

    @classmethod
    def from_list(cls, parts: Iterable[Any]) -> Sums:
        """From plain data."""
        return cls({Share(int(n), int(grows)): Fraction(amount) for n, grows, amount in parts})


FIXED = Share(1, 0)


@dataclass
class PlanTotals:
    """A plan and how many of its slots are used: they are taken in order."""

    record: Record
    taken: int = 0

    @property
    def free(self) -> int:
        """How many slots are left."""
        return int(self.record["n"]) - self.taken


@dataclass
class Totals:
    """The sums of a ledger.

    Attributes
    ----------
    default : whose records a charge is for that does not say it (a ledger of an earlier version)
    records : how many records one person owns, by the file that states most
    releases : how many were charged
    spent, eps, through : in the currency, in ε (where all releases keep one) and of single columns
    keeps_eps : whether every release keeps an ε
    closing : what the last reservation of a ledger that is continued took
    units : what amounts are counted for
    file : the file that all releases come from; "" before the first, None where there are several
    plans : with their used slots
    open : charged releases that nobody has seen published, by name
    places : what the ledger knows of remembered places
    marks : of the places that were paid for, the periods in which they were
    placed : whether places were published
    """

    default: Share
    records: int
    releases: int = 0
    spent: Sums = field(default_factory=Sums)
    eps: Sums = field(default_factory=Sums)
    keeps_eps: bool = True
    through: dict[str, Sums] = field(default_factory=dict)
    closing: Fraction = NONE
    closed: bool = False
    units: set[str] = field(default_factory=set)
    file: str | None = ""
    plans: dict[str, PlanTotals] = field(default_factory=dict)
    open: dict[str, Record] = field(default_factory=dict)
    places: dict[str, Any] | None = None
    marks: dict[str, list[str]] = field(default_factory=dict)
    placed: bool = False

    @classmethod
    def of(cls, budget: Budget, relation: Relation | None, records: Iterable[Record] = ()) -> Totals:
        """The sums of some records, the opening among them or not."""
        owned = 1 if relation is None else relation.person_records
        found = cls(Share(owned, 1 if budget.currency is EPS else 2), owned)
        with legible():
            for record in records:
                found.add(record)
        return found

    def share_of(self, record: Record) -> Share:
        """Whose records a charge is for."""
        if "records" not in record:
            return FIXED if record.get("closes") else self.default
        records, grows = record["records"], record.get("grows", 0)
        if type(records) is not int or not 0 < records <= MOST_RECORDS or grows not in (0, 1, 2):
            raise LedgerError(
                f"the release {abbreviated(record.get('id'))} is charged for {abbreviated(records)} "
                f"records of a person, "
                "which is no number of records: a person has to look at it"
            )
        return Share(records, grows)

    def add(self, record: Record) -> None:
        """One more record of the ledger."""
        kind = record["kind"]
        if kind == "reserve":
            self._reserved(record)
        elif kind == "plan":
            self._charged(record, int(record["n"]))
            self.plans[record["id"]] = PlanTotals(record)
        elif kind == "commit" and record["id"] in self.open:
            if len(record["sha256"]) != len(self.open[record["id"]]["targets"]):
                raise ValueError(f"sha256 is {abbreviated(record['sha256'])}, not one for each file")
            self.open[record["id"]] = {**self.open[record["id"]], "sha256": record["sha256"]}
            self.placed = self.placed or bool(self.open[record["id"]].get("stable"))
            self.places = record.get("places", self.places)
        elif kind == "retarget" and record["id"] in self.open:
            if len(record["targets"]) != len(self.open[record["id"]]["targets"]):
                raise ValueError(f"targets is {abbreviated(record['targets'])}, not one for each file")
            self.open[record["id"]] = {**self.open[record["id"]], "targets": record["targets"]}
        elif kind not in KINDS:  # it might charge something
            raise ValueError(f"kind is {abbreviated(kind)}")

    def _reserved(self, record: Record) -> None:
        self.releases += 1
        if record.get("closes"):
            self.closed = True
            self.closing += amount_of(record, "cost")
        if "plan" in record:
            self.records = max(self.records, self.share_of(record).records)
            self.units.add(record["unit"])
            self._from_file(record)
            if record["plan"] in self.plans:  # what belongs to no plan is refused where the slots are read
                self.plans[record["plan"]].taken += 1
        else:
            self._charged(record, 1)
        if record.get("stable"):
            charged = self.marks.setdefault(record["stable"], [])
            charged += [period for period in (record.get("period"),) if period and period not in charged]
        if record["targets"]:
            self.open[record["id"]] = record

    def _charged(self, record: Record, times: int) -> None:
        share = self.share_of(record)
        self.records = max(self.records, share.records)
        self.units.add(record["unit"])
        self._from_file(record)
        cost = times * amount_of(record, "cost" if "cost" in record else "eps")
        self.spent.add(cost, share)
        for name in record["columns"]:
            self.through.setdefault(name, Sums()).add(cost, share)
        if record.get("closes"):
            return
        if record["eps"] is None:
            self.keeps_eps = False
        else:
            self.eps.add(times * amount_of(record, "eps"), share.in_eps)

    def _from_file(self, record: Record) -> None:
        file = record.get("file")
        self.file = file if self.file in ("", file) else None

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "default": [self.default.records, self.default.grows],
            "records": self.records,
            "releases": self.releases,
            "spent": self.spent.to_list(),
            "eps": self.eps.to_list(),
            "keeps_eps": self.keeps_eps,
            "through": {name: sums.to_list() for name, sums in self.through.items()},
            "closing": str(self.closing),
            "closed": self.closed,
            "units": sorted(self.units),
            "file": self.file,
            "plans": {name: [plan.record, plan.taken] for name, plan in self.plans.items()},
            "open": self.open,
            "places": self.places,
            "marks": self.marks,
            "placed": self.placed,
        }

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Totals:
        """From plain data."""
        return cls(
            Share(*found["default"]),
            int(found["records"]),
            int(found["releases"]),
            Sums.from_list(found["spent"]),
            Sums.from_list(found["eps"]),
            bool(found["keeps_eps"]),
            {name: Sums.from_list(parts) for name, parts in found["through"].items()},
            Fraction(found["closing"]),
            bool(found["closed"]),
            set(found["units"]),
            found["file"],
            {name: PlanTotals(record, int(taken)) for name, (record, taken) in found["plans"].items()},
            dict(found["open"]),
            found["places"],
            {mark: list(periods) for mark, periods in found["marks"].items()},
            bool(found["placed"]),
        )


def amount_of(record: Record, key: str) -> Fraction:
    """What a record charges; less than nothing would give budget back."""
    found = exactly(record[key])
    if found < 0:
        raise ValueError(f"{key} is {abbreviated(record[key])}, less than nothing")
    return found
