"""Row by row: each value or place is perturbed by itself, in batches of constant memory.

A first pass reads every row and refuses what does not fit, before anything is charged. The second pass draws
and writes what the first has seen, and nothing else; after every few batches what is on disk is noted, so
that an interrupted run can go on.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IntArray
from sievert.errors import DataError, FileError, LedgerError, LedgerOutputError
from sievert.ledger import Ledger, Reservation
from sievert.release._central import PersonRows
from sievert.release._domain import DROPPED, Fingerprints
from sievert.release._fit import Show, Tally, admit
from sievert.release._places import Places
from sievert.release._plan import NOT_PRIVATE, SEEDED, Plan
from sievert.sampling import BitSource, Sampler
from sievert.tables import Batch, Coded, Rows, TableWriter, Values, person_key, require_plain, table_writer

__all__ = [
    "SealedBits",
    "StablePlaces",
    "State",
    "check_places",
    "check_rows",
    "has_places",
    "new_key",
    "reading",
    "stream",
]
Progress = Callable[[int], None]
# Batches between two notes of what is on disk.
NOTED = 16
MARK = Values([SEEDED])
OUTPUT = 1  # position of the table among a reservation's files


@dataclass
class State:
    """What a run needs to go on: the sealed key, how far the file reaches, and the store of places."""

    key: bytes
    secure: bool
    batches: int = 0
    rows: int = 0
    size: int = 0
    remembered: int = 0
    # What every unit holds, where the data are several files; fixed before the first draw.
    units: list[dict[str, Any]] | None = None

    def to_bytes(self) -> bytes:
        """The state as it is kept on disk."""
        return json.dumps({**self.__dict__, "key": self.key.hex()}).encode()

    @classmethod
    def load(cls, held: Reservation) -> State:
        """The state of an interrupted run."""
        try:
            content = json.loads(held.state.read_bytes())
            return cls(**{**content, "key": bytes.fromhex(content["key"])})
        except (ValueError, TypeError, KeyError, OSError):
            raise LedgerError(
                f"{held.state}: what the interrupted run {held.id} left is damaged; give it up (--fresh)"
            ) from None

    def restart(self) -> None:
        """Write from the start again; with the same key the rows are the same."""
        self.batches = self.rows = self.size = self.remembered = 0


class _Rows:
    """How one kind of row is read, perturbed and written."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.names = [*plan.rules.keep, *plan.columns, *([NOT_PRIVATE] if plan.seeded else [])]
        self.people = [] if plan.data.person is None or not plan.rules.stable else [plan.data.person]
        self.read = list(dict.fromkeys([*plan.columns, *plan.rules.keep, *self.people]))
        self.places: Places | None = None
        if plan.places is not None:
            self.places = Places(plan.columns, plan.places.region, plan.rules, plan.data.missing_values)
        else:
            self.domain = plan.domain()
            outputs: Any = plan.channel.outputs
            parts = zip(*outputs, strict=True) if len(plan.columns) > 1 else [outputs]
            self.written = [Values(part) for part in parts]

    def true(self, batch: Batch, tally: Tally | None = None) -> tuple[IntArray, NDArray[np.bool_]]:
        """What each kept row holds, and which rows are kept; `tally` adds up how they fit."""
        if self.places is not None:
            return self.places.cells(batch, tally)
        codes = self.domain.codes(batch, tally=tally)
        kept = codes != DROPPED
        return codes[kept], kept

    def columns(self, batch: Batch, sampler: Sampler, stable: StablePlaces | None) -> list[Any]:
        """What is written for a batch."""
        true, kept = self.true(batch)
        if stable is None:
            noisy = self.noisy(true, sampler)
        else:
            owners = [batch.columns[self.people[0]][i] for i in np.flatnonzero(kept).tolist()]
            noisy = self.coordinates(_stable_cells(self.plan, stable, owners, true, sampler))
        marks = [Coded(np.zeros(len(true), np.int64), MARK)] if self.plan.seeded else []
        return [*self.kept_columns(batch, kept), *noisy, *marks]

    def noisy(self, true: IntArray, sampler: Sampler) -> list[Any]:
        """Columns to write."""
        if self.plan.places is not None:
            return self.coordinates(self.plan.places.draw(sampler, true))
        drawn = sampler.draw_positions(true) if len(true) else true
        return [Coded(drawn, values) for values in self.written]

    def coordinates(self, cells: IntArray) -> list[Any]:
        """Latitude and longitude of cells, to a hundredth of a second of arc or better."""
        assert self.plan.places is not None
        latitude, longitude = self.plan.places.region.centres(cells)
        return [np.round(latitude, 6).tolist(), np.round(longitude, 6).tolist()]

    def kept_columns(self, batch: Batch, kept: NDArray[np.bool_]) -> list[Any]:
        """Public columns of the kept rows."""
        found = [batch.columns[name] for name in self.plan.rules.keep]
        return found if kept.all() else [_taken(column, kept) for column in found]


def _taken(column: Sequence[Any], kept: NDArray[np.bool_]) -> Sequence[Any]:
    """Cells of the kept rows."""
    return column.take(kept) if isinstance(column, Coded) else list(compress(column, kept.tolist()))


def reading(plan: Plan) -> _Rows:
    """How the rows of a plan are read, perturbed and written."""
    return _Rows(plan)


def check_rows(
    plan: Plan, rows: Rows, progress: Progress | None = None, show: Show | None = None
) -> tuple[int, Fingerprints]:
    """Read every row and refuse what does not fit; the number of rows, and what they were."""
    kind, read, tally = _Rows(plan), 0, Tally()
    seen = Fingerprints(kind.read)
    most = 2**62 if plan.rules.stable else plan.owned
    missing = frozenset(text.strip() for text in plan.data.missing_values)
    people = PersonRows(plan.data.person, most, "data.rows_per_person", missing)
    if plan.rules.stable and not people.columns:
        raise FileError("release.stable: needs data.person, the column that says whose row it is")
    for batch in rows.batches([*kind.read, *people.columns]):
        try:
            kind.true(batch, tally)
            if not plan.rules.stable:
                people.add(batch)
        except DataError as problem:
            raise DataError(f"{rows.name}: {problem}", private=problem.private) from None
        seen.add(batch)
        read += batch.size
        if progress is not None:
            progress(read)
    admit(tally.fit(), plan.data.fit, show)
    people.check()
    return read, seen


def stream(
    plan: Plan,
    rows: Rows,
    held: Reservation,
    state: State,
    seen: Fingerprints,
    progress: Progress | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw and write every row under the reservation; the sampler as plain data, and what a store notes."""
    kind = _Rows(plan)
    source = SealedBits(state.key, state.secure)
    sampler = plan.sampler(source)
    stable = StablePlaces(held.ledger, held.id, str(plan.stable_mark)) if kind.people else None
    try:
        if _left(held.temporary(OUTPUT)) < state.size or (stable and stable.number < state.remembered):
            state.restart()
        writer = table_writer(held.temporary(OUTPUT), held.targets[OUTPUT], kind.names, state.size)
        try:
            number = _written(kind, rows, held, state, seen, stable, sampler, writer, progress)
            seen.require_end(number)
        except BaseException:
            writer.discard()
            raise
        writer.close()
        return sampler.to_dict(), {} if stable is None else {"places": stable.note()}
    finally:
        if stable is not None:
            stable.close()


def _left(path: Path) -> int:
    """Bytes of a file that an interrupted run left; 0 where there is none."""
    try:
        return os.lstat(path).st_size
    except FileNotFoundError:
        return 0


def _written(
    kind: _Rows,
    rows: Rows,
    held: Reservation,
    state: State,
    seen: Fingerprints,
    stable: StablePlaces | None,
    sampler: Sampler,
    writer: TableWriter,
    progress: Progress | None,
) -> int:
    """Draw and write the batches that are not on disk yet; how many batches there are in all."""
    start, read, number = state.batches, 0, -1
    source = sampler.source
    assert isinstance(source, SealedBits)
    for number, batch in enumerate(rows.batches(kind.read)):
        seen.require(number, batch)
        read += batch.size
        if number < start:
            continue
        source.begin(number)
        writer.write(kind.columns(batch, sampler, stable))
        if writer.resumable and (number + 1) % NOTED == 0:
            state.size = writer.sync()
            state.batches, state.rows = number + 1, read
            state.remembered = 0 if stable is None else stable.number
            held.save_state(state.to_bytes())
        if progress is not None:
            progress(read)
    return number + 1


def _stable_cells(
    plan: Plan, stable: StablePlaces, owners: list[Any], true: IntArray, sampler: Sampler
) -> IntArray:
    """The cell of each row's owner; who has none yet gets one from the first of their rows."""
    assert plan.places is not None
    names = stable.names(owners)
    found = stable.known(names)
    first: dict[bytes, int] = {}
    for place, name in enumerate(names):
        if name not in found:
            first.setdefault(name, place)
    if first:
        drawn = plan.places.draw(sampler, true[list(first.values())])
        stable.remember(list(first), drawn)
        found.update(zip(first, map(tuple, drawn.tolist()), strict=True))
    return np.array([found[name] for name in names], dtype=np.int64).reshape(-1, 2)


# ── One place for each person, drawn once and repeated in every row and every later release ─────────────────
# Repeated noisy places of one person average out to the true one; a place that is drawn once and remembered
# does not. Only the noisy cell is kept, under a salted hash of the person, in the ledger's folder. Whoever
# is in it already costs nothing again. So a store that is lost, or older than the ledger, would give
# everybody a second draw for free: each batch is bound to those before it by a hash, and the ledger has the
# last of them with every release.
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
        keys = (person_key(person).encode() for person in people)
        return [hmac.digest(self._salt, key, hashlib.sha256)[:16] for key in keys]

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


# ── Random bits from a key that is drawn once for a release and destroyed when it is published ──────────────
# An interrupted run that goes on must not draw a row a second time with another outcome: whoever saw both
# would see two draws for one charge. With a sealed key every batch of rows has bits of its own that are a
# function of the key, so what is drawn again is the same. The key comes from the operating system, lies in
# the ledger's folder readable by its owner alone, and is deleted with the last step of the release.


class SealedBits(BitSource):
    """SHAKE-128 of the key, the batch and the request.

    >>> first, second = SealedBits(b"k" * 32), SealedBits(b"k" * 32)
    >>> bool((first.words(0, range(4)) == second.words(0, range(4))).all())
    True
    """

    def __init__(self, key: bytes, secure: bool = True) -> None:
        super().__init__()
        self.secure = secure
        self.name = "sealed key of the operating system" if secure else "seed (not secret)"
        self._key = key
        self.begin(0)

    def begin(self, batch: int) -> None:
        """Give a batch of rows its own bits, whatever was drawn before."""
        self._batch = batch
        self._request = 0
        self.position = 0

    def _words(self, level: int, lanes: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
        address = self._batch.to_bytes(8, "little") + self._request.to_bytes(8, "little")
        self._request += 1
        content = hashlib.shake_128(self._key + address).digest(len(lanes) * dtype.itemsize)
        return np.frombuffer(content, dtype=dtype.newbyteorder("<")).astype(dtype, copy=False)


def new_key(insecure_rng: int | None = None) -> bytes:
    """32 bytes from the operating system, or from a seed asked for by name."""
    if insecure_rng is None:
        return secrets.token_bytes(32)
    return hashlib.sha256(f"sievert release seed {insecure_rng}".encode()).digest()
