"""The budget ledger: what was spent is on disk before anything is drawn, and is never taken back.

One folder holds `ledger.jsonl` (a hash chain), `ledger.lock` and, while a release runs, its state. A
release, under an exclusive lock: check the chain and recover; refuse a used id or too little budget;
append `reserve` and wait for the disk; only now draw noise; write the files under temporary names and wait
for the disk; append `commit` with their hashes and wait; give the files their names. So every published
file has a reservation and its hash on record; a crash can waste budget and never under-counts it. There is
no refund, and nothing is drawn a second time under an old reservation.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from sievert.errors import LedgerError
from sievert.tables.budget import Budget, number
from sievert.tables.chain import Chain, Record, sync_folder
from sievert.tables.locking import locked

__all__ = ["Entry", "Ledger", "Reservation", "file_hash"]

VERSION = 1
WAIT_SECONDS = 60.0
SHORTEST_ANCHOR = 12
# What ε is counted for, unless a release says otherwise.
UNIT = "pair of neighbours"
BLOCK = 1 << 20


@dataclass(frozen=True)
class Entry:
    """One release as the ledger knows it."""

    id: str
    eps: Fraction
    columns: tuple[str, ...]
    finished: bool
    record: Record = field(repr=False)


@dataclass
class Ledger:
    """A ledger that is held open, and locked, by `Ledger.hold`; `Ledger.look` only reads."""

    folder: Path
    budget: Budget
    chain: Chain = field(repr=False)
    recovered: list[Reservation] = field(default_factory=list, repr=False)  # published by the recovery

    @classmethod
    @contextmanager
    def hold(
        cls,
        folder: str | Path,
        budget: Budget | None = None,
        *,
        key: bytes | None = None,
        wait: float = WAIT_SECONDS,
        anchor: str | None = None,
    ) -> Iterator[Ledger]:
        """Lock the ledger, check it and recover from a crash; the first use opens it with the budget.

        `anchor` is a hash (or its beginning) noted after an earlier release: a ledger without it is an older
        copy, or another one, and is refused.
        """
        target = Path(folder)
        _make_folder(target)
        with locked(target / "ledger.lock", wait):
            with _readable(target):
                chain = Chain.read(target / "ledger.jsonl", key, repair=True)
                _check_anchor(chain, anchor)
                if not chain.records:
                    if budget is None:
                        raise LedgerError(f"{target}: is a new ledger; give the budget it starts with")
                    opening = {"kind": "open", "version": VERSION, "salt": secrets.token_hex(16)}
                    chain.append({**opening, **budget.to_record()})
                ledger = cls(target, _agreed(chain, budget, target), chain)
                ledger._recover()
            yield ledger

    @classmethod
    def look(cls, folder: str | Path, budget: Budget | None = None, *, key: bytes | None = None) -> Ledger:
        """The ledger as it stands, nothing changed; where there is none, one with nothing spent."""
        target = Path(folder)
        with _readable(target):
            chain = Chain.read(target / "ledger.jsonl", key)
        if chain.records:
            return cls(target, _agreed(chain, budget, target), chain)
        if budget is None:
            raise LedgerError(f"{target}: no ledger is there")
        return cls(target, budget, chain)

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
        finished = {record["id"] for record in self.chain.records if record["kind"] == "commit"}
        return [
            Entry(r["id"], Fraction(r["eps"]), tuple(r["columns"]), r["id"] in finished, r)
            for r in self.chain.records
            if r["kind"] == "reserve"
        ]

    @property
    def spent(self) -> Fraction:
        """What one person may have lost by now: the sum of all reservations."""
        return sum((entry.eps for entry in self.entries), Fraction(0))

    def spent_through(self) -> dict[str, Fraction]:
        """What was spent through each column."""
        found: dict[str, Fraction] = {}
        for entry in self.entries:
            for name in entry.columns:
                found[name] = found.get(name, Fraction(0)) + entry.eps
        return found

    def remaining(self, columns: Sequence[str] = ()) -> dict[str | None, Fraction]:
        """What is left for a person (None), and through the columns that have a limit."""
        return self.budget.remaining(columns, self.spent, self.spent_through())

    def check(self, eps: Fraction, columns: Sequence[str], unit: str = UNIT) -> None:
        """Refuse a release that would spend more than is left, without charging anything.

        ε for each metre and ε for each record cannot be added: a ledger has the unit of its first release.
        """
        for entry in self.entries:
            if entry.record["unit"] != unit:
                raise LedgerError(
                    f"{self.folder}: counts ε for each {entry.record['unit']}, but this release is for each "
                    f"{unit}; they cannot be added: name another ledger"
                )
        self.budget.check(eps, columns, self.spent, self.spent_through(), self.folder)

    def reserve(
        self,
        eps: Fraction,
        columns: Sequence[str],
        targets: Sequence[str | Path],
        *,
        id: str | None = None,
        unit: str = UNIT,
        **about: Any,
    ) -> Reservation:
        """Charge a release before it begins; its files will be `targets`, which must not be there yet."""
        name = id or f"{datetime.now(UTC):%Y%m%d}-{secrets.token_hex(4)}"
        if not name.replace("-", "").replace("_", "").isalnum():
            raise LedgerError(f"id is {name!r}; use letters, digits, - and _")
        if any(entry.id == name for entry in self.entries):
            raise LedgerError(f"id is {name!r}, which this ledger has used; every release needs its own")
        paths = [Path(os.path.abspath(target)) for target in targets]
        for path in paths:
            if path.exists():
                raise LedgerError(
                    f"{path}: is there already; a release replaces nothing: move it away or name "
                    "another output (--output)"
                )
            if not path.parent.is_dir():
                raise LedgerError(f"{path.parent}: no such folder; make it first")
        self.check(eps, columns, unit)
        self.chain.append(
            {
                "kind": "reserve",
                "id": name,
                "eps": str(eps),
                "unit": unit,
                "columns": list(columns),
                "targets": [str(path) for path in paths],
                **about,
            }
        )
        return Reservation(self, name, paths)

    def unfinished(self, **about: Any) -> Reservation | None:
        """A reservation of a run that was interrupted and left its state, if it is about the same."""
        for entry in reversed(self.entries):
            if _same(entry, about) and not entry.finished and self.state_path(entry.id).exists():
                return Reservation(self, entry.id, [Path(target) for target in entry.record["targets"]])
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
        for record in self.chain.records:
            if record["kind"] != "reserve":
                continue
            id, targets = record["id"], record["targets"]
            leftovers = [f"{id}.state" in here, f"{id}.state.new" in here]
            if not any(leftovers) and not any(os.path.lexists(_temporary(t, id)) for t in targets):
                continue
            held = Reservation(self, id, [Path(target) for target in targets])
            if id not in commits:
                if not leftovers[0]:
                    held.abandon()
            elif held._publish(commits[id]["sha256"]):
                self.recovered.append(held)


def _temporary(target: str, id: str) -> str:
    """The name under which a file is written; beside its target, so that renaming is atomic."""
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name}.{id}.tmp")


@dataclass
class Reservation:
    """A charged release: write its files under `temporary` names, then `commit`."""

    ledger: Ledger
    id: str
    targets: list[Path]

    def temporary(self, index: int) -> Path:
        """The name under which file `index` is written."""
        return Path(_temporary(str(self.targets[index]), self.id))

    @property
    def state(self) -> Path:
        """The file for what is needed to go on after an interruption; deleted when all is done."""
        return self.ledger.state_path(self.id)

    def write(self, index: int, content: bytes) -> None:
        """Write one whole file under its temporary name and wait for the disk."""
        descriptor = os.open(self.temporary(index), _CREATE, 0o666)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(descriptor, view) :]
            os.fsync(descriptor)
        except OSError as problem:
            raise LedgerError(
                f"{self.targets[index]}: cannot be written ({problem.strerror}); the reservation "
                f"{self.id} stays charged"
            ) from None
        finally:
            os.close(descriptor)

    def save_state(self, content: bytes) -> None:
        """Replace the state, all or nothing, readable by its owner alone."""
        fresh = self._new_state
        descriptor = os.open(fresh, _CREATE, 0o600)
        try:
            os.write(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(fresh, self.state)
        sync_folder(self.ledger.folder)

    @property
    def _new_state(self) -> Path:
        return self.state.with_name(self.state.name + ".new")

    def commit(self) -> None:
        """Record the hashes of the files, wait for the disk, and give the files their names."""
        hashes = [file_hash(self.temporary(index)) for index in range(len(self.targets))]
        for folder in {target.parent for target in self.targets}:
            sync_folder(folder)
        self.ledger.chain.append({"kind": "commit", "id": self.id, "sha256": hashes})
        self._publish(hashes)

    def abandon(self) -> None:
        """Give up: what was written is deleted, what was charged stays charged."""
        for path in (self.state, self._new_state):
            with suppress(FileNotFoundError):
                os.unlink(path)
        self._discard()

    def _publish(self, hashes: Sequence[str]) -> bool:
        """Rename what is still under its temporary name, the output last; whether there was anything."""
        renamed = False
        for index, expected in enumerate(hashes):
            temporary = self.temporary(index)
            if not temporary.exists():
                continue
            if file_hash(temporary) != expected:
                raise LedgerError(
                    f"{temporary}: is not the file whose hash the ledger has for the release {self.id}; "
                    "nothing is released until a person has looked at it"
                )
            if self.targets[index].exists():
                raise LedgerError(
                    f"{self.targets[index]}: is there already, so the release {self.id} cannot be finished; "
                    "a release replaces nothing: move it away"
                )
            os.replace(temporary, self.targets[index])
            renamed = True
        if renamed:
            for folder in {target.parent for target in self.targets}:
                sync_folder(folder)
        for path in (self._new_state, self.state):
            if path.exists():
                os.unlink(path)
                sync_folder(self.ledger.folder)
        return renamed

    def _discard(self) -> None:
        for index in range(len(self.targets)):
            with suppress(FileNotFoundError):
                os.unlink(self.temporary(index))


def _check_anchor(chain: Chain, anchor: str | None) -> None:
    if anchor is None:
        return
    if len(anchor) < SHORTEST_ANCHOR:
        raise LedgerError(f"anchor is {anchor!r}; give at least {SHORTEST_ANCHOR} digits of the noted hash")
    if not any(head.startswith(anchor.lower()) for head in chain.heads):
        raise LedgerError(
            f"{chain.path}: has no record with the hash {anchor}; it is an older copy, or another ledger: "
            "nothing is released until a person has looked at it"
        )


def _make_folder(folder: Path) -> None:
    """Make the ledger's folder and those it lies in, and wait until their own names are on disk."""
    missing = [path for path in (folder, *folder.parents) if not path.is_dir()]
    try:
        for path in reversed(missing):
            path.mkdir(mode=0o700, exist_ok=True)
            sync_folder(path.parent)
    except OSError as problem:
        raise LedgerError(f"{folder}: the ledger's folder cannot be made ({problem.strerror})") from None


def _same(entry: Entry, about: dict[str, Any]) -> bool:
    return all(entry.record.get(key) == value for key, value in about.items())


_CREATE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)


def file_hash(path: Path) -> str:
    """SHA-256 of a file, read in blocks."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        raise LedgerError(
            f"{problem.filename or folder}: cannot be opened or repaired ({problem.strerror}); nothing "
            "was released"
        ) from None


def _agreed(chain: Chain, budget: Budget | None, folder: Path) -> Budget:
    """The budget the ledger was opened with; another one in the file is refused, not adopted."""
    opening = chain.records[0]
    if opening.get("kind") != "open" or opening.get("version") != VERSION:
        raise LedgerError(f"{folder}: was not written by this version; its first record is {opening!r}")
    opened = Budget.from_record(opening)
    if budget is None or budget == opened:
        return opened
    given, had = (_words(item) for item in (budget, opened))
    raise LedgerError(
        f"{folder}: was opened with the budget {had} but the file now says {given}; a budget cannot be "
        "changed once spending has begun: put it back, or name a new ledger for new data"
    )


def _words(budget: Budget) -> str:
    limits = [f"{name} {number(limit)}" for name, limit in sorted(budget.columns.items())]
    return ", ".join([f"person {number(budget.person)}", *limits])
