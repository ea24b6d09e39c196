"""Releases as a ledger knows them: one by one, and planned beforehand as slots that are paid for together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sievert.errors import LedgerError
from sievert.ledger._chain import Record, legible
from sievert.ledger._totals import Totals, amount_of
from sievert.numerics import abbreviated

__all__ = ["Entry", "Planned", "entries_of", "plan_of", "plans_of"]

# A plan of more releases is a mistake.
MOST_SLOTS = 1_000_000


@dataclass(frozen=True)
class Entry:
    """One release as the ledger knows it.

    Attributes
    ----------
    cost : what is charged for it, for as many records as a person owns: 0 for a slot, which its plan has
        paid for
    eps : its own ε where that is known, likewise; None: it keeps none
    plan, slot : the plan that it belongs to, and its place there
    """

    id: str
    cost: Fraction
    columns: tuple[str, ...]
    finished: bool
    targets: tuple[str, ...]
    record: Record = field(repr=False)
    eps: Fraction | None = None
    plan: str | None = None
    slot: int | None = None

    @property
    def closes(self) -> bool:
        """Whether this is no release but the end of the ledger, which spends all that is left."""
        return bool(self.record.get("closes"))

    @property
    def carried(self) -> bool:
        """Whether this is what an earlier ledger spent."""
        return "carried" in self.record


@dataclass(frozen=True)
class Planned:
    """So many releases with the same noise, charged whole before the first.

    Attributes
    ----------
    count : number of slots
    each : what one slot costs, for as many records as a person owns
    times : by how much the charge has grown with the records of a person since it was planned
    eps : ε of one slot; None where the noise keeps none
    taken : the slots that are used, whatever came of them
    """

    id: str
    count: int
    each: Fraction
    columns: tuple[str, ...]
    taken: tuple[int, ...]
    record: Record = field(repr=False)
    eps: Fraction | None = None
    times: int = 1

    @property
    def total(self) -> Fraction:
        """What the plan costs, used or not."""
        return self.count * self.each

    @property
    def free(self) -> int:
        """How many slots are left."""
        return self.count - len(self.taken)


def entries_of(records: Sequence[Record], totals: Totals) -> list[Entry]:
    """Every release ever charged, in order."""
    with legible():
        return _entries(records, totals)


def _entries(records: Sequence[Record], totals: Totals) -> list[Entry]:
    finished = {record["id"] for record in records if record["kind"] == "commit"}
    moved = {record["id"]: record["targets"] for record in records if record["kind"] == "retarget"}
    return [
        Entry(
            record["id"],
            Fraction(0)
            if "plan" in record
            else amount_of(record, "cost" if "cost" in record else "eps")
            * totals.share_of(record).factor(totals.records),
            tuple(record["columns"]),
            record["id"] in finished,
            tuple(moved[record["id"]] if record["id"] in moved else record["targets"]),
            record,
            None
            if record["eps"] is None
            else amount_of(record, "eps") * totals.share_of(record).in_eps.factor(totals.records),
            record.get("plan"),
            record.get("slot") if "plan" in record else None,
        )
        for record in records
        if record["kind"] == "reserve"
    ]


def plans_of(
    records: Sequence[Record], entries: Sequence[Entry], totals: Totals, source: object
) -> list[Planned]:
    """Every plan, in order, with its slots; a slot that is no slot of its plan, or used twice, is refused."""
    plans = []
    taken: dict[Any, list[int]] = {}
    for entry in entries:
        if entry.plan is not None:
            taken.setdefault(entry.plan, []).append(entry.slot if type(entry.slot) is int else -1)
    for record in records:
        if record["kind"] != "plan":
            continue
        slots, count = taken.pop(record["id"], []), record.get("n")
        if type(count) is not int or not 0 < count <= MOST_SLOTS:
            raise LedgerError(
                f"{source}: the plan {record['id']} has {abbreviated(count)} slots; it needs a whole "
                f"number from 1 "
                f"to {MOST_SLOTS}: a person has to look at it"
            )
        if len(set(slots)) < len(slots) or any(not 0 <= slot < count for slot in slots):
            raise LedgerError(
                f"{source}: the plan {record['id']} of {count} slots has releases in the slots "
                f"{abbreviated(sorted(slots))}; each slot is used once: a person has to look at it"
            )
        plans.append(plan_of(record, slots, totals))
    if taken:
        raise LedgerError(
            f"{source}: a release belongs to the plan {abbreviated(next(iter(taken)))}, which is not there"
        )
    return plans


def plan_of(record: Record, slots: Sequence[int], totals: Totals) -> Planned:
    """A plan as its record says, for as many records as a person owns."""
    with legible():
        share = totals.share_of(record)
        times = share.in_eps.factor(totals.records)
        return Planned(
            record["id"],
            record["n"],
            amount_of(record, "cost") * share.factor(totals.records),
            tuple(record["columns"]),
            tuple(slots),
            record,
            None if record["eps"] is None else amount_of(record, "eps") * times,
            times,
        )
