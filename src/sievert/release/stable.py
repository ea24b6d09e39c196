"""One place for each person, drawn once and repeated in every row and every later release.

Repeated noisy places of one person average out to the true one; a place that is drawn once and remembered
does not. Only the noisy cell is kept, under a salted hash of the person, in the ledger's folder. Whoever is
in it already costs nothing again. So a store that is lost, or older than the ledger, would give everybody a
second draw for free: each batch is bound to those before it by a hash, and the ledger has the last of them
with every release.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import LedgerError, LedgerOutputError
from sievert.tables.ledger import Ledger
from sievert.tables.paths import require_plain

__all__ = ["StablePlaces", "check_places", "has_places"]

IntArray = NDArray[np.int64]
STORE = "places.sqlite"
TABLES = (
    "CREATE TABLE IF NOT EXISTS places (person BLOB PRIMARY KEY, r INTEGER, c INTEGER)",
    "CREATE TABLE IF NOT EXISTS batches (number INTEGER PRIMARY KEY, id TEXT, people INTEGER, head TEXT)",
)


class StablePlaces:
    """Noisy cells by person, on disk; a batch of new ones is remembered before it is used."""

    def __init__(self, ledger: Ledger, id: str, mark: str) -> None:
        self._salt = (ledger.salt + mark).encode()
        self._id = id
        with _stored(ledger.folder / STORE):
            self._base = _opened(ledger.folder / STORE)

    @property
    def number(self) -> int:
        """How many batches were remembered."""
        return _last(self._base)[0]

    def note(self) -> dict[str, Any]:
        """What the ledger keeps to know the store again."""
        return dict(zip(("number", "people", "head"), _last(self._base), strict=True))

    def names(self, people: Sequence[Any]) -> list[bytes]:
        """Salted hashes of people."""
        return [hmac.digest(self._salt, str(person).encode(), hashlib.sha256)[:16] for person in people]

    def known(self, names: Sequence[bytes]) -> dict[bytes, tuple[int, int]]:
        """The cells of those who have one."""
        found = {}
        for name in set(names):
            row = self._base.execute("SELECT r, c FROM places WHERE person = ?", (name,)).fetchone()
            if row is not None:
                found[name] = (int(row[0]), int(row[1]))
        return found

    def remember(self, names: Sequence[bytes], cells: IntArray) -> None:
        """Keep new cells, all or none, and wait for the disk."""
        rows = [(name, int(r), int(c)) for name, (r, c) in zip(names, cells.tolist(), strict=True)]
        number, people, head = _last(self._base)
        following = hashlib.sha256((head + self._id + repr(rows)).encode()).hexdigest()
        with self._base:
            self._base.executemany("INSERT INTO places VALUES (?, ?, ?)", rows)
            entry = (number + 1, self._id, people + len(rows), following)
            self._base.execute("INSERT INTO batches VALUES (?, ?, ?, ?)", entry)

    def close(self) -> None:
        """Let the file go."""
        self._base.close()


def has_places(ledger: Ledger) -> bool:
    """Whether places are remembered."""
    return require_plain(ledger.folder / STORE)


def check_places(ledger: Ledger) -> None:
    """Refuse a ledger whose remembered places are missing, damaged, or older than it knows them to be."""
    released = {entry.id for entry in ledger.entries if entry.finished and entry.record.get("stable")}
    path = ledger.folder / STORE
    if not has_places(ledger):
        if released:
            raise LedgerError(
                f"{path}: is missing, but places of people were released from it; drawn again they would "
                "tell more than was charged. Put the last sound copy back, or start a new ledger"
            )
        return
    if ledger.lock is None:
        return  # a release under way may be writing to it
    with _stored(path), closing(_opened(path)) as base:
        commits = [record for record in ledger.chain.records if record["kind"] == "commit"]
        noted = [record["places"] for record in commits if "places" in record]
        _check_batches(base, noted[-1] if noted else None, path)
        ids = {id for (id,) in base.execute("SELECT DISTINCT id FROM batches")} - {""}
    unknown = sorted(ids - {entry.id for entry in ledger.entries})
    if unknown:
        raise LedgerError(
            f"{ledger.folder}: remembers places of the release {unknown[0]}, which the ledger does not have: "
            "the ledger is an older copy. Put the last sound copy back"
        )


def _check_batches(base: sqlite3.Connection, noted: dict[str, Any] | None, path: Path) -> None:
    number, people, _ = _last(base)
    (there,) = base.execute("SELECT COUNT(*) FROM places").fetchone()
    older = people != there or (noted is not None and noted["number"] > number)
    if noted is not None and noted["number"] and not older:
        row = base.execute("SELECT head FROM batches WHERE number = ?", (noted["number"],)).fetchone()
        older = row is None or row[0] != noted["head"]
    if older:
        raise LedgerError(
            f"{path}: is damaged, or an older copy: it lacks places that were released, and drawn again they "
            "would tell more than was charged. Put the last sound copy back, or start a new ledger"
        )


def _opened(path: Path) -> sqlite3.Connection:
    require_plain(path)
    base = sqlite3.connect(path)
    base.execute("PRAGMA synchronous = FULL")
    with base:
        for table in TABLES:
            base.execute(table)
        if not base.execute("SELECT 1 FROM batches").fetchone():
            (people,) = base.execute("SELECT COUNT(*) FROM places").fetchone()
            if people:  # remembered before batches were counted
                base.execute("INSERT INTO batches VALUES (1, '', ?, '')", (people,))
    return base


def _last(base: sqlite3.Connection) -> tuple[int, int, str]:
    """Number, people so far and hash of the last batch."""
    row = base.execute("SELECT number, people, head FROM batches ORDER BY number DESC LIMIT 1").fetchone()
    return (0, 0, "") if row is None else (int(row[0]), int(row[1]), str(row[2]))


@contextmanager
def _stored(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as problem:
        if isinstance(problem, sqlite3.OperationalError):
            raise LedgerOutputError(f"{path}: cannot be opened ({problem}); nothing was released") from None
        raise LedgerError(
            f"{path}: is damaged ({problem}); nothing is released until a person has looked at it"
        ) from None
