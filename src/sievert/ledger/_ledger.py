"""The budget ledger: what was spent is on disk before anything is drawn, and is never taken back.

One folder holds `ledger.jsonl` (a hash chain), `ledger.lock` and, while a release runs, its state. A
release, under an exclusive lock: check the chain and recover; refuse a used id or too little budget; keep
the key of its random bits; append `reserve` and wait for the disk; only now draw noise; write the files
under temporary names and wait for the disk; append `commit` with their hashes and wait; give the files
their names. So every published file has a reservation and its hash on record; a crash can waste budget and
never under-counts it. There is no refund, and nothing is drawn a second time under an old reservation.

A `plan` record charges several releases before the first; each of them then reserves a slot of it at no
further cost. A slot is used by its reservation, whatever comes of it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from sievert.errors import LedgerError, LedgerOutputError
from sievert.ledger._budget import UNIT, Budget, Relation
from sievert.ledger._chain import (
    LEDGER,
    LOCK,
    Chain,
    Record,
    add_note,
    last_note,
    locked,
    refuse_lost_records,
    refuse_other,
    sync_folder,
)
from sievert.ledger._currency import EPS
from sievert.ledger._opening import agreed, begin, looked
from sievert.ledger._planned import MOST_SLOTS, Entry, Planned, entries_of, plans_of
from sievert.ledger._reservation import Reservation, check_name, check_targets, file_hash, temporary_name
from sievert.numerics import brief, whole

__all__ = ["UNIT", "WAIT_SECONDS", "Entry", "Ledger", "Reservation", "file_hash"]

WAIT_SECONDS = 60.0


@dataclass
class Ledger:
    """A ledger that is held open, and locked, by `Ledger.hold`; `Ledger.look` only reads.

    Attributes
    ----------
    relation : the pairs that the total is about; None for a ledger of version 1, which does not say
    recovered : releases that were published when the ledger was opened now
    pending : committed releases whose files could not be given their names yet
    """

    folder: Path
    budget: Budget
    relation: Relation | None
    chain: Chain = field(repr=False)
    lock: int | None = field(default=None, repr=False)
    recovered: list[Reservation] = field(default_factory=list, repr=False)
    pending: list[Reservation] = field(default_factory=list, repr=False)

    @classmethod
    @contextmanager
    def hold(
        cls,
        folder: str | Path,
        budget: Budget | None = None,
        *,
        relation: Relation | None = None,
        key: bytes | None = None,
        wait: float = WAIT_SECONDS,
        anchor: str | None = None,
    ) -> Iterator[Ledger]:
        """Lock the ledger, check it and recover from a crash; the first use opens it with the budget.

        `relation` is what a new ledger will be about, unless the budget says it; `anchor` is a hash (or its
        beginning) noted after an earlier release: a ledger without it is an older copy, or another one, and
        is refused.
        """
        target = Path(folder)
        _make_folder(target)
        with locked(target / LOCK, wait) as lock:
            with _readable(target):
                noted = last_note(target / LOCK)
                chain = Chain.read(target / LEDGER, key, repair=True)
                refuse_other(chain, anchor)
                refuse_lost_records(chain, noted, target)
                begin(chain, budget, relation, wait, target)
                if noted != chain.head:
                    add_note(lock, chain.head)
                ledger = cls(target, *agreed(chain, budget, target), chain, lock)
                ledger._recover()
            yield ledger

    @classmethod
    def look(
        cls,
        folder: str | Path,
        budget: Budget | None = None,
        *,
        relation: Relation | None = None,
        key: bytes | None = None,
        anchor: str | None = None,
    ) -> Ledger:
        """The ledger as it stands, nothing changed; where there is none, one with nothing spent."""
        target = Path(folder)
        with _readable(target):
            noted = last_note(target / LOCK)  # before the records: these may grow meanwhile
            chain = Chain.read(target / LEDGER, key)
            refuse_other(chain, anchor)
            refuse_lost_records(chain, noted, target)
        return cls(target, *looked(chain, budget, relation, target), chain)

    @property
    def head(self) -> str:
        """Hash of the last record: note it elsewhere, to notice an older copy put back in place."""
        return self.chain.head

    @property
    def salt(self) -> str:
        """A random text that keeps fingerprints of data from being compared with other ledgers."""
        return str(self.chain.records[0]["salt"])

    @property
    def entries(self) -> list[Entry]:
        """Every release ever charged, in order."""
        return entries_of(self.chain.records)

    @property
    def plans(self) -> list[Planned]:
        """Every plan that was charged, in order."""
        return plans_of(self.chain.records, self.entries, self.folder)

    @property
    def closed(self) -> bool:
        """Whether another ledger continues this one."""
        return any(entry.closes for entry in self.entries)

    def append(self, record: Record) -> None:
        """Write a record, wait for the disk, and note its hash in the lock file."""
        assert self.lock is not None, "only a ledger that is held can be written to"
        self.chain.append(record)
        try:
            add_note(self.lock, self.chain.head)
        except OSError as problem:
            raise LedgerOutputError(
                f"{self.folder / LOCK}: cannot be written ({problem.strerror}), but the ledger has the record"
            ) from None

    @property
    def spent(self) -> Fraction:
        """What one person may have lost by now: all plans, and all reservations without one."""
        charged = [entry.cost for entry in self.entries] + [plan.total for plan in self.plans]
        return sum(charged, Fraction(0))

    @property
    def eps_spent(self) -> Fraction | None:
        """Σε of all that was charged, which holds however one went on; None where some noise keeps no ε."""
        if self.budget.currency is EPS:
            return self.spent - sum((entry.cost for entry in self.entries if entry.closes), Fraction(0))
        alone = [entry.eps for entry in self.entries if entry.plan is None and not entry.closes]
        planned = [None if plan.eps is None else plan.count * plan.eps for plan in self.plans]
        total = Fraction(0)
        for eps in (*alone, *planned):
            if eps is None:
                return None
            total += eps
        return total

    def spent_through(self) -> dict[str, Fraction]:
        """What was spent through each column."""
        found: dict[str, Fraction] = {}
        charged = [(entry.columns, entry.cost) for entry in self.entries]
        charged += [(plan.columns, plan.total) for plan in self.plans]
        for columns, cost in charged:
            for name in columns:
                found[name] = found.get(name, Fraction(0)) + cost
        return found

    def remaining(self, columns: Sequence[str] = ()) -> dict[str | None, Fraction]:
        """What is left for a person (None), and through the columns that have a limit."""
        return self.budget.remaining(columns, self.spent, self.spent_through())

    def check(self, cost: Fraction, columns: Sequence[str], unit: str = UNIT, what: str = "release") -> None:
        """Refuse a release that would spend more than is left, without charging anything.

        ε for each metre and ε for each record cannot be added: a ledger has the unit of its relation, or
        of its first release.
        """
        if self.closed:
            raise LedgerError(
                f"{self.folder}: is closed, and another ledger continues it; name that one's budget file"
            )
        counted = {entry.record["unit"] for entry in self.entries}
        counted |= set() if self.relation is None else {self.relation.unit}
        for other in sorted(counted - {unit}):
            raise LedgerError(
                f"{self.folder}: counts {self.budget.currency.symbol} for each {other}, but this release is "
                f"for each {unit}; they cannot be added: name another ledger"
            )
        self.budget.check(cost, columns, self.spent, self.spent_through(), self.folder, what)

    def _fresh_name(self, id: str | None) -> str:
        """A name that no release and no plan has had."""
        name = id or f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(4)}"
        check_name(name)
        if name in {entry.id for entry in self.entries} | {plan.id for plan in self.plans}:
            raise LedgerError(f"id is {brief(name)}, which this ledger has used; every release needs its own")
        return name

    def plan(
        self,
        count: int,
        each: Fraction,
        columns: Sequence[str],
        *,
        id: str | None = None,
        unit: str = UNIT,
        eps: Fraction | None = None,
        **about: Any,
    ) -> Planned:
        """Charge so many releases together, before the first; `each` is what one costs, `eps` its own ε."""
        count = whole("plan", count, LedgerError, most=MOST_SLOTS)
        name = self._fresh_name(id)
        if self.relation is None:
            raise LedgerError(
                f"{self.folder}: is a ledger of version 1, which knows no plans; open a new one that "
                'continues it (continues = "…" in its budget file)'
            )
        self.check(count * each, columns, unit, f"plan of {count} releases")
        self.append(
            {
                "kind": "plan",
                "id": name,
                "n": count,
                "cost": str(each),
                "eps": None if eps is None else str(eps),
                "total": str(count * each),
                "unit": unit,
                "columns": list(columns),
                **about,
            }
        )
        return self.plans[-1]

    def reserve(
        self,
        cost: Fraction,
        columns: Sequence[str],
        targets: Sequence[str | Path],
        *,
        id: str | None = None,
        unit: str = UNIT,
        eps: Fraction | None = None,
        plan: str | None = None,
        state: bytes | None = None,
        **about: Any,
    ) -> Reservation:
        """Charge a release before it begins; its files will be `targets`, which must not be there yet.

        `cost` is what it costs for the ledger's relation, `eps` its own ε (of a ledger in ε: where that
        differs), `plan` the plan whose next slot it takes at no further cost, and `state` what it needs to go
        on after an interruption, kept before the charge.
        """
        name = self._fresh_name(id)
        held = Reservation(self, name, _absolute(targets))
        check_targets(held.targets, name)
        slot = {} if plan is None else {"plan": plan, "slot": self._slot(plan)}
        self.check(Fraction(0) if slot else cost, columns, unit)
        own = cost if eps is None and self.budget.delta is None else eps
        amounts: Record = {"eps": None if own is None else str(own)}
        if self.relation is None:
            amounts = {"eps": str(cost)}
        else:
            amounts["cost"] = str(cost)
        if state is not None:
            with _readable(self.folder):
                held.save_state(state)
        self.append(
            {
                "kind": "reserve",
                "id": name,
                **amounts,
                **slot,
                "unit": unit,
                "columns": list(columns),
                "targets": [str(path) for path in held.targets],
                **about,
            }
        )
        return held

    def _slot(self, plan: str) -> int:
        """The next slot of a plan; the ledger is held, so that nobody else takes it."""
        for found in self.plans:
            if found.id == plan:
                return found.next_slot()
        raise LedgerError(f"plan is {brief(plan)}, which is none of this ledger's plans")

    def retarget(self, held: Reservation, targets: Sequence[str | Path]) -> Reservation:
        """The same charged release, to be written to other files."""
        moved = Reservation(self, held.id, _absolute(targets))
        check_targets(moved.targets, held.id)
        self.append({"kind": "retarget", "id": held.id, "targets": [str(path) for path in moved.targets]})
        held.discard()
        return moved

    def unfinished(self, **about: Any) -> Reservation | None:
        """A reservation of a run that was interrupted and left its state, if it is about the same."""
        for entry in reversed(self.entries):
            if _same(entry, about) and not entry.finished and self.state_path(entry.id).exists():
                return Reservation(self, entry.id, [Path(target) for target in entry.targets])
        return None

    def just_finished(self, **about: Any) -> Reservation | None:
        """A release about the same whose last steps were made up for when the ledger was opened now."""
        ids = {entry.id for entry in self.entries if _same(entry, about)}
        return next((held for held in self.recovered if held.id in ids), None)

    def state_path(self, id: str) -> Path:
        """Where a running release keeps what it needs to go on after an interruption."""
        return self.folder / f"{id}.state"

    def _recover(self) -> None:
        """Finish what was committed; delete what was not, unless its state lets it go on."""
        commits = {record["id"]: record for record in self.chain.records if record["kind"] == "commit"}
        here = set(os.listdir(self.folder))
        entries = self.entries
        for entry in entries:
            states = [f"{entry.id}.state" in here, f"{entry.id}.state.new" in here]
            if not any(states) and not any(
                os.path.lexists(temporary_name(t, entry.id)) for t in entry.targets
            ):
                continue
            held = Reservation(self, entry.id, [Path(target) for target in entry.targets])
            if entry.id not in commits:
                if not states[0]:
                    held.abandon()
                continue
            try:
                if held.publish(commits[entry.id]["sha256"]):
                    self.recovered.append(held)
            except OSError:  # its place cannot be written to now; that is no reason to stop all others
                self.pending.append(held)
        self._forget_uncharged({entry.id for entry in entries}, here)

    def _forget_uncharged(self, charged: set[str], here: set[str]) -> None:
        """Delete the states of releases that were interrupted before they were charged."""
        for name in here:
            id, dot, rest = name.partition(".state")
            if dot and rest in ("", ".new") and id not in charged:
                with suppress(FileNotFoundError):
                    os.unlink(self.folder / name)


def _absolute(targets: Sequence[str | Path]) -> list[Path]:
    return [Path(os.path.abspath(target)) for target in targets]


def _make_folder(folder: Path) -> None:
    """Make the ledger's folder and those it lies in, and wait until their own names are on disk."""
    missing = [path for path in (folder, *folder.parents) if not path.is_dir()]
    try:
        for path in reversed(missing):
            path.mkdir(mode=0o700, exist_ok=True)
            sync_folder(path.parent)
    except OSError as problem:
        raise LedgerOutputError(
            f"{folder}: the ledger's folder cannot be made ({problem.strerror})"
        ) from None


def _same(entry: Entry, about: dict[str, Any]) -> bool:
    return all(entry.record.get(key) == value for key, value in about.items())


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise LedgerOutputError(
            f"{problem.filename or folder}: cannot be opened or repaired ({problem.strerror}); nothing "
            "was released"
        ) from None
