"""Row by row: each value or place is perturbed by itself, in batches of constant memory.

A first pass reads every row and refuses what does not fit, before anything is charged. The second pass draws
and writes what the first has seen, and nothing else; after every few batches what is on disk is noted, so
that an interrupted run can go on.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IntArray
from sievert.errors import DataError, FileError, LedgerError
from sievert.ledger import Reservation
from sievert.release._domain import DROPPED, Fingerprints
from sievert.release._fit import Show, Tally, admit
from sievert.release._places import Places
from sievert.release._plan import NOT_PRIVATE, SEEDED, Plan
from sievert.release._stable import Owners, StablePlaces
from sievert.release._table_release import PersonRows, persons
from sievert.sampling import BitSource, Sampler
from sievert.tables import Batch, DictionaryColumn, DictionaryValues, Rows, TableWriter, table_writer

__all__ = [
    "SealedBits",
    "State",
    "check_rows",
    "new_key",
    "reading",
    "stream",
]
Progress = Callable[[int], None]
# Batches between two notes of what is on disk.
NOTED = 16
MARK = DictionaryValues([SEEDED])
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
    # A hash of the data, by which the run is found again. It is deleted with the key: the ledger has none.
    seen: str = ""

    def to_bytes(self) -> bytes:
        """The state as it is kept on disk."""
        return json.dumps({**self.__dict__, "key": self.key.hex()}).encode()

    @classmethod
    def load(cls, held: Reservation) -> State:
        """The state of an interrupted run."""
        return cls.read(held, held.state_content())

    @classmethod
    def read(cls, held: Reservation, written: bytes | None) -> State:
        """The state from what was written."""
        try:
            content = json.loads(written or b"")
            return cls(**{**content, "key": bytes.fromhex(content["key"])})
        except (ValueError, TypeError, KeyError):
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
            self.places = Places(plan.columns, plan.places.region, plan.rules, plan.data.meaning)
        else:
            self.domain = plan.domain()
            outputs: Any = plan.channel.outputs
            parts = zip(*outputs, strict=True) if len(plan.columns) > 1 else [outputs]
            self.written = [DictionaryValues(part) for part in parts]

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
            owners = list(persons(batch, self.people[0], self.plan.data.meaning).take(kept))
            noisy = self.coordinates(_stable_cells(self.plan, stable, owners, true, sampler))
        marks = [DictionaryColumn(np.zeros(len(true), np.int64), MARK)] if self.plan.seeded else []
        return [*self.kept_columns(batch, kept), *noisy, *marks]

    def noisy(self, true: IntArray, sampler: Sampler) -> list[Any]:
        """Columns to write."""
        if self.plan.places is not None:
            return self.coordinates(self.plan.places.draw(sampler, true))
        drawn = sampler.draw_positions(true) if len(true) else true
        return [DictionaryColumn(drawn, values) for values in self.written]

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
    return (
        column.take(kept) if isinstance(column, DictionaryColumn) else list(compress(column, kept.tolist()))
    )


def reading(plan: Plan) -> _Rows:
    """How the rows of a plan are read, perturbed and written."""
    return _Rows(plan)


def check_rows(
    plan: Plan,
    rows: Rows,
    progress: Progress | None = None,
    show: Show | None = None,
    owners: Owners | None = None,
) -> tuple[int, Fingerprints]:
    """Read every row and refuse what does not fit; the number of rows, and what they were.

    `owners` is told whose rows they are, where each person has one remembered place.
    """
    kind, read, tally = _Rows(plan), 0, Tally()
    seen = Fingerprints(kind.read)
    people = PersonRows(plan.data.person, plan.owned, "data.rows_per_person", plan.data.meaning)
    if plan.rules.stable and not people.columns:
        raise FileError("release.stable: needs data.person, the column that says whose row it is")
    for batch in rows.batches([*kind.read, *people.columns]):
        try:
            kind.true(batch, tally)
            if not plan.rules.stable:
                people.add(batch)
            else:
                named = persons(batch, people.columns[0], plan.data.meaning)
                if owners is not None:
                    owners.add(named)
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
    plan: Plan, stable: StablePlaces, owners: list[str], true: IntArray, sampler: Sampler
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
