"""One place for each person, drawn once and repeated in every row and every later release.

Repeated noisy places of one person average out to the true one; a place that is drawn once and remembered
does not. Only the noisy cell is kept, under a keyed hash of the person's id, in the ledger's folder; the key
lies in the store, and the ledger's own key (`ledger_key`) counts too where there is one.

An id that is known costs nothing again. A new id is a new draw, and may be a known person's: pseudonyms that
change every month would have the true place average out after all. So a release that draws for a new id is
charged, unless the file states the period in which ids do not change (`stable = { period = "2026" }`) and
that period has been charged; where more ids are new than known, they have changed, whatever the file states.

A store that is lost, or older than the ledger, would give everybody a second draw for free: each batch is
bound to those before it by a hash, and the ledger has the last of them with every release.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IntArray
from sievert.errors import LedgerError, LedgerOutputError
from sievert.ledger import Ledger
from sievert.tables import NO_LINKS, DictionaryColumn, require_plain

__all__ = ["Owners", "StablePlaces", "check_places", "has_places"]

STORE = "places.sqlite"
TABLES = (
    "CREATE TABLE IF NOT EXISTS places (person BLOB PRIMARY KEY, r INTEGER, c INTEGER)",
    "CREATE TABLE IF NOT EXISTS batches (number INTEGER PRIMARY KEY, id TEXT, people INTEGER, head TEXT)",
    "CREATE TABLE IF NOT EXISTS secret (key BLOB)",
)


class Owners:
    """Counts the ids that have a place and those that have none; eight bytes and a bit a row."""

    def __init__(self, folder: Path, key: bytes | None, mark: str) -> None:
        self._names = _Names(b"", None, "")
        self._base: sqlite3.Connection | None = None
        path = folder / STORE
        if require_plain(path):
            with _stored(path):
                base = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True)
                self._names = _Names(_secret(base), key, mark)
                if _is_made(base):
                    self._base = base
                else:
                    base.close()
        self._found: list[NDArray[np.int64]] = []
        self._new: list[NDArray[np.bool_]] = []

    def add(self, persons: DictionaryColumn) -> None:
        """Count the owners of some rows."""
        names = self._names.of(persons.values.items)
        known = {} if self._base is None else _known(self._base, names)
        self._found.append(np.fromiter(map(hash, names), np.int64, len(names)))
        self._new.append(np.fromiter((name not in known for name in names), np.bool_, len(names)))

    def counted(self) -> Ids:
        """How many ids have a place, and how many have none."""
        if self._base is not None:
            self._base.close()
        if not self._found:
            return Ids(0, 0)
        _, first = np.unique(np.concatenate(self._found), return_index=True)
        new = int(np.concatenate(self._new)[first].sum())
        return Ids(len(first) - new, new)


@dataclass(frozen=True)
class Ids:
    """How many ids of some data have a place already, and how many are new."""

    known: int
    new: int

    @property
    def have_changed(self) -> bool:
        """Whether so many are new that these are no newcomers."""
        return self.new > self.known


@dataclass(frozen=True)
class _Names:
    """Keyed hashes of people."""

    secret: bytes = field(repr=False)
    key: bytes | None = field(repr=False)
    mark: str

    def of(self, people: Sequence[str]) -> list[bytes]:
        """The names under which people are remembered."""
        whole = hashlib.sha256(b"\0".join((self.secret, self.key or b"", self.mark.encode()))).digest()
        return [hmac.digest(whole, person.encode(), hashlib.sha256)[:16] for person in people]


class StablePlaces:
    """Noisy cells by person, on disk; a batch of new ones is remembered before it is used."""

    def __init__(self, ledger: Ledger, id: str, mark: str) -> None:
        self._id = id
        with _stored(ledger.folder / STORE):
            self._base = _opened(ledger.folder / STORE)
            self._names = _Names(_secret(self._base), ledger.chain.key, mark)

    @property
    def number(self) -> int:
        """How many batches were remembered."""
        return _last(self._base)[0]

    def note(self) -> dict[str, Any]:
        """What the ledger keeps to know the store again; not how many people are in it."""
        number, _, head = _last(self._base)
        return {"number": number, "head": head}

    def names(self, people: Sequence[str]) -> list[bytes]:
        """Keyed hashes of people, by their texts."""
        return self._names.of(people)

    def known(self, names: Sequence[bytes]) -> dict[bytes, tuple[int, int]]:
        """The cells of those who have one."""
        return _known(self._base, names)

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
    path = ledger.folder / STORE
    if not has_places(ledger):
        if ledger.totals.placed:
            raise LedgerError(
                f"{path}: is missing, but places of people were released from it; drawn again they would "
                "tell more than was charged. Put the last sound copy back, or start a new ledger"
            )
        return
    if ledger.lock is None:
        return  # a release under way may be writing to it
    noted = ledger.totals.places
    with _stored(path), closing(_opened(path)) as base:
        _check_batches(base, noted, path)
        after = "SELECT DISTINCT id FROM batches WHERE number > ?"
        ids = {id for (id,) in base.execute(after, (0 if noted is None else noted["number"],))} - {""}
    unknown = sorted(id for id in ids if not ledger.has(id))
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
    if not require_plain(path):  # readable by its owner alone, as what SQLite makes beside it then is
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS, 0o600))
    base = sqlite3.connect(path)
    base.execute("PRAGMA synchronous = FULL")
    with base:
        for table in TABLES:
            base.execute(table)
        if not base.execute("SELECT 1 FROM secret").fetchone():
            (people,) = base.execute("SELECT COUNT(*) FROM places").fetchone()
            if people:
                raise LedgerError(
                    f"{path}: was written by an earlier version, whose names of people could be guessed from "
                    "the ledger; start a new ledger with the budget that is left, and delete this one"
                )
            base.execute("INSERT INTO secret VALUES (?)", (secrets.token_bytes(32),))
    return base


def _secret(base: sqlite3.Connection) -> bytes:
    """The key of the names."""
    row = base.execute("SELECT key FROM secret").fetchone() if _is_made(base) else None
    return b"" if row is None else bytes(row[0])


def _is_made(base: sqlite3.Connection) -> bool:
    """Whether the tables are there: a run may have been interrupted before them."""
    (tables,) = base.execute("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table'").fetchone()
    return int(tables) == len(TABLES)


def _known(base: sqlite3.Connection, names: Sequence[bytes]) -> dict[bytes, tuple[int, int]]:
    """The cells of those who have one."""
    found = {}
    for name in set(names):
        row = base.execute("SELECT r, c FROM places WHERE person = ?", (name,)).fetchone()
        if row is not None:
            found[name] = (int(row[0]), int(row[1]))
    return found


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
