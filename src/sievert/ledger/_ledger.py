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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from sievert.errors import LedgerError, LedgerOutputError
from sievert.ledger._binding import bind, refuse_other_ledger
from sievert.ledger._budget import UNIT, Budget, Relation
from sievert.ledger._chain import (
    LEDGER,
    LOCK,
    Chain,
    Record,
    add_note,
    first_record,
    last_note,
    locked,
    refuse_lost_records,
    refuse_other,
    refuse_unnoted,
    require_key,
    require_same,
    sync_folder,
)
from sievert.ledger._currency import EPS
from sievert.ledger._fields import check_records
from sievert.ledger._known import Known, known, name_of, refuse_older, remember
from sievert.ledger._opening import agreed, begin, looked
from sievert.ledger._planned import MOST_SLOTS, Entry, Planned, entries_of, plan_of, plans_of
from sievert.ledger._private import make_ledger_folder
from sievert.ledger._reservation import Reservation, check_name, file_hash
from sievert.ledger._totals import FIXED, Share, Totals
from sievert.numerics import abbreviated, whole
from sievert.tables import require_plain

__all__ = ["UNIT", "WAIT_SECONDS", "Entry", "Ledger", "Reservation", "file_hash"]

WAIT_SECONDS = 60.0


@dataclass
class Ledger:
    """A ledger that is held open, and locked, by `Ledger.hold`; `Ledger.look` only reads.

    Attributes
    ----------
    relation : the pairs that the total is about; None for a ledger of version 1, which does not say
    name : the random name of the ledger, which its budget file bears; None for a ledger of version 1
    recovered : releases that were published when the ledger was opened now
    pending : committed releases whose files could not be given their names yet
    """

    folder: Path
    budget: Budget
    relation: Relation | None
    chain: Chain = field(repr=False)
    sums: Totals = field(repr=False)
    name: str | None = None
    lock: int | None = field(default=None, repr=False)
    recovered: list[Reservation] = field(default_factory=list, repr=False)
    pending: list[Reservation] = field(default_factory=list, repr=False)
    _names: set[str] | None = field(default=None, repr=False)

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
        require_key(key)
        make_ledger_folder(target)
        with locked(target / LOCK, wait) as lock:
            with _readable(target):
                noted = last_note(target / LOCK)
                found = known(_name_in(target))
                chain, sums = _untouched(target, found, noted, key, anchor)
                if sums is None:
                    chain = Chain.read(target / LEDGER, key, repair=True)
                    check_records(chain.records)
                    refuse_other(chain, anchor)
                    refuse_lost_records(chain, noted, target)
                    if anchor is None:
                        refuse_older(chain, found)
                        refuse_unnoted(chain, noted, found is not None)
                    begin(chain, budget, relation, wait, target)
                if noted != chain.head:
                    add_note(lock, chain.head)
                ledger = cls._opened(target, budget, None, chain, sums, lock)
                if budget is not None and budget.source is not None and budget.ledger is None and ledger.name:
                    bind(budget.source, ledger.name)
                ledger._recover()
            yield ledger
            # Not where it was interrupted: a record may be on disk that is not added up.
            ledger._remember()

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
        require_key(key)
        with _readable(target):
            noted = last_note(target / LOCK)  # before the records: these may grow meanwhile
            found = known(_name_in(target))
            chain, sums = _untouched(target, found, noted, key, anchor)
            if sums is None:
                chain = Chain.read(target / LEDGER, key)
                check_records(chain.records)
                refuse_other(chain, anchor)
                refuse_lost_records(chain, noted, target)
                if anchor is None:
                    refuse_older(chain, found)
                    refuse_unnoted(chain, noted, found is not None)
        return cls._opened(target, budget, relation, chain, sums)

    @classmethod
    def _opened(
        cls,
        folder: Path,
        budget: Budget | None,
        relation: Relation | None,
        chain: Chain,
        sums: Totals | None,
        lock: int | None = None,
    ) -> Ledger:
        """The ledger with what it was opened with and what it has charged."""
        if sums is None:
            opened = looked(chain, budget, relation, folder)
            sums = Totals.of(*opened, chain.records)
            chain.fresh.clear()
            plans_of(chain.records, entries_of(chain.records, sums), sums, folder)
            opening = chain.records[0] if chain.records else {}
        else:
            opening = first_record(chain.path) or {}
            opened = agreed(opening, budget, folder)
        name = name_of(opening)
        refuse_other_ledger(None if budget is None else budget.ledger, name, folder)
        return cls(folder, *opened, chain, sums, name, lock)

    @property
    def head(self) -> str:
        """Hash of the last record: note it elsewhere, to notice an older copy put back in place."""
        return self.chain.head

    @property
    def totals(self) -> Totals:
        """What was charged, added up; what was appended meanwhile is added now."""
        fresh = self.chain.fresh
        while fresh:  # what an interruption keeps from being added up is added again
            self.sums.add(fresh[0])
            del fresh[0]
        return self.sums

    @property
    def entries(self) -> list[Entry]:
        """Every release ever charged, in order."""
        return entries_of(self.chain.records, self.totals)

    @property
    def plans(self) -> list[Planned]:
        """Every plan that was charged, in order."""
        totals = self.totals
        return [plan_of(plan.record, range(plan.taken), totals) for plan in totals.plans.values()]

    @property
    def closed(self) -> bool:
        """Whether another ledger continues this one."""
        return self.totals.closed

    def append(self, record: Record) -> None:
        """Write a record, wait for the disk, and note its hash in the lock file."""
        assert self.lock is not None, "only a ledger that is held can be written to"
        require_same(self.lock, self.folder / LOCK)
        self.chain.append(record)
        if self._names is not None and record["kind"] in ("reserve", "plan"):
            self._names.add(record["id"])
        try:
            add_note(self.lock, self.chain.head)
        except OSError as problem:
            raise LedgerOutputError(
                f"{self.folder / LOCK}: cannot be written ({problem.strerror}), but the ledger has the record"
            ) from None
        if record["kind"] in ("reserve", "plan"):
            self._remember()

    def _remember(self) -> None:
        """Keep what this machine knows of the ledger."""
        remember(self.name, self.chain, self.totals)

    @property
    def spent(self) -> Fraction:
        """What one person may have lost by now: all plans, and all reservations without one."""
        return self.totals.spent.total(self.totals.records)

    @property
    def eps_spent(self) -> Fraction | None:
        """Σε of all that was charged, which holds however one went on; None where some noise keeps no ε."""
        totals = self.totals
        if self.budget.currency is EPS:
            return self.spent - totals.closing
        return totals.eps.total(totals.records) if totals.keeps_eps else None

    def spent_through(self) -> dict[str, Fraction]:
        """What was spent through each column."""
        totals = self.totals
        return {name: sums.total(totals.records) for name, sums in totals.through.items()}

    def remaining(self, columns: Sequence[str] = ()) -> dict[str | None, Fraction]:
        """What is left for a person (None), and through the columns that have a limit."""
        return self.budget.remaining(columns, self.spent, self.spent_through())

    def check(
        self,
        cost: Fraction,
        columns: Sequence[str],
        unit: str = UNIT,
        what: str = "release",
        share: Share = FIXED,
    ) -> None:
        """Refuse a release that would spend more than is left, without charging anything.

        ε for each metre and ε for each record cannot be added: a ledger has the unit of its relation, or
        of its first release. A release that states more records of a person than any before makes those grow
        that do not say whose row it is; what they grow by is charged with it.
        """
        if not isinstance(cost, Fraction | int) or cost < 0:
            raise LedgerError(
                f"cost is {abbreviated(cost)}; what is charged is an exact amount ≥ 0, a Fraction"
            )
        totals = self.totals
        if totals.closed:
            raise LedgerError(
                f"{self.folder}: is closed, and another ledger continues it; name that one's budget file"
            )
        counted = totals.units | (set() if self.relation is None else {self.relation.unit})
        for other in sorted(counted - {unit}):
            raise LedgerError(
                f"{self.folder}: counts {self.budget.currency.symbol} for each {other}, but this release is "
                f"for each {unit}; they cannot be added: name another ledger"
            )
        own, more = self.price(cost, share), self.growth(share)
        self.budget.check(own, columns, self.spent, self.spent_through(), self.folder, what, more)

    def price(self, cost: Fraction, share: Share) -> Fraction:
        """What a cost for so many records of a person comes to for as many as one owns here."""
        return cost * share.factor(max(self.totals.records, share.records))

    def growth(self, share: Share) -> dict[str | None, Fraction]:
        """By how much earlier charges grow, for each person (None) and through columns, beside a release.

        Nothing where the release states no more records of a person than an earlier one.
        """
        totals = self.totals
        if share.records <= totals.records:
            return {}
        every = [(None, totals.spent), *totals.through.items()]
        return {name: sums.total(share.records) - sums.total(totals.records) for name, sums in every}

    def has(self, id: str) -> bool:
        """Whether a release or a plan has this name."""
        return id in self.totals.open or id in self._used_names()

    def _fresh_name(self, id: str | None) -> str:
        """A name that no release and no plan has had."""
        name = id or f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(4)}"
        check_name(name)
        if id is not None and name in self._used_names():
            raise LedgerError(
                f"id is {abbreviated(name)}, which this ledger has used; every release needs its own"
            )
        return name

    def _used_names(self) -> set[str]:
        """The names of all releases and plans; names that are drawn need not be looked for."""
        if self._names is None:
            kinds = ("reserve", "plan")
            self._names = {record["id"] for record in self.chain.records if record["kind"] in kinds}
        return self._names

    def plan(
        self,
        count: int,
        each: Fraction,
        columns: Sequence[str],
        *,
        id: str | None = None,
        unit: str = UNIT,
        eps: Fraction | None = None,
        share: Share | None = None,
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
        self.check(count * each, columns, unit, f"plan of {count} releases", share or FIXED)
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
                **_shared(share),
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
        share: Share | None = None,
        **about: Any,
    ) -> Reservation:
        """Charge a release before it begins; its files will be `targets`, which must not be there yet.

        `cost` is what it costs for the ledger's relation, `eps` its own ε (of a ledger in ε: where that
        differs), `plan` the plan whose next slot it takes at no further cost, `state` what it needs to go
        on after an interruption, kept before the charge, and `share` for how many records of a person the
        cost is.
        """
        name = self._fresh_name(id)
        held = Reservation(self, name, _absolute(targets))
        held.check_targets()
        slot = {} if plan is None else {"plan": plan, "slot": self._slot(plan)}
        self.check(Fraction(0) if slot else cost, columns, unit, share=share or FIXED)
        held.grown = self.growth(share or FIXED).get(None, Fraction(0))
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
                **_shared(share),
                **about,
            }
        )
        held.record = self.totals.open.get(name, {})
        return held

    def _slot(self, plan: str) -> int:
        """The next slot of a plan; the ledger is held, so that nobody else takes it."""
        found = self.totals.plans.get(plan)
        if found is None:
            raise LedgerError(f"plan is {abbreviated(plan)}, which is none of this ledger's plans")
        if not found.free:
            raise LedgerError(
                f"the plan {plan} has {found.taken} slots and all are used; plan more (--plan N), or release "
                "without one"
            )
        return found.taken

    def retarget(self, held: Reservation, targets: Sequence[str | Path]) -> Reservation:
        """The same charged release, to be written to other files; the caller's state begins anew.

        What was written under the old names goes first: once the record has the new ones, nothing knows them.
        """
        moved = Reservation(self, held.id, _absolute(targets), held.record)
        moved.check_targets()
        held.discard()
        for folder in {target.parent for target in held.targets}:
            with suppress(OSError):  # a place that cannot be reached any more keeps nobody from going on
                sync_folder(folder)
        self.append({"kind": "retarget", "id": held.id, "targets": [str(path) for path in moved.targets]})
        return moved

    def unfinished(
        self, fits: Callable[[Reservation], bool] | None = None, **about: Any
    ) -> Reservation | None:
        """A reservation of an interrupted run that left its state, if it is about the same and fits."""
        for id, record in reversed(self.totals.open.items()):
            same = all(record.get(key) == value for key, value in about.items())
            if same and "sha256" not in record and self.state_path(id).exists():
                held = self._held(record)
                if fits is None or fits(held):
                    return held
        return None

    def _held(self, record: Record) -> Reservation:
        targets = [Path(target) for target in record["targets"]]
        return Reservation(self, record["id"], targets, record)

    def state_path(self, id: str) -> Path:
        """Where a running release keeps what it needs to go on after an interruption."""
        return self.folder / f"{id}.state"

    def _recover(self) -> None:
        """Finish what was committed; delete what was not, unless its state lets it go on."""
        here = set(os.listdir(self.folder))
        totals = self.totals
        for id, record in list(totals.open.items()):
            states = [f"{id}.state" in here, f"{id}.state.new" in here]
            held = self._held(record)
            written = any(os.path.lexists(held.temporary(i)) for i in range(len(held.targets)))
            if not (any(states) or written) or self._settled(held, record.get("sha256"), states[0]):
                del totals.open[id]
        self._forget_uncharged(set(totals.open), here)

    def _settled(self, held: Reservation, sha256: list[str] | None, has_state: bool) -> bool:
        """Finish or delete what an interrupted run left; whether nothing of it is left."""
        if sha256 is None:
            if not has_state:
                held.abandon()
            return not has_state
        try:
            held.left = held.state_content()
            if held.publish(sha256):
                self.recovered.append(held)
            return True
        except OSError:  # its place cannot be written to now; that is no reason to stop all others
            self.pending.append(held)
            return False

    def _forget_uncharged(self, charged: set[str], here: set[str]) -> None:
        """Delete the states of releases that were interrupted before they were charged, or are published."""
        for name in here:
            id, dot, rest = name.partition(".state")
            if dot and rest in ("", ".new") and id not in charged:
                with suppress(FileNotFoundError):
                    os.unlink(self.folder / name)


def _absolute(targets: Sequence[str | Path]) -> list[Path]:
    return [Path(os.path.abspath(target)) for target in targets]


def _name_in(folder: Path) -> str | None:
    """The name of the ledger in a folder."""
    path = folder / LEDGER
    return name_of(first_record(path) or {}) if require_plain(path) else None


def _untouched(
    folder: Path, found: Known | None, noted: str | None, key: bytes | None, anchor: str | None
) -> tuple[Chain, Totals | None]:
    """A ledger that nobody has touched since this machine left it, with its sums; else none are known."""
    path = folder / LEDGER
    if found is None or anchor is not None or noted != found.head or not found.is_of(path, key):
        return Chain.known(path, "", 0, key), None
    return Chain.known(path, found.head, found.size, key), found.totals()


def _shared(share: Share | None) -> Record:
    """For how many records of a person a charge is, as the ledger keeps it."""
    if share is None:
        return {}
    return {"records": share.records, **({"grows": share.grows} if share.grows else {})}


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise LedgerOutputError(
            f"{problem.filename or folder}: cannot be opened or repaired ({problem.strerror}); nothing "
            "was released"
        ) from None
