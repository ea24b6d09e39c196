"""Row by row: each value or place is perturbed by itself, in batches of constant memory.

A first pass reads every row and refuses what does not fit, before anything is charged. The second pass draws
and writes what the first has seen, and nothing else; after every few batches what is on disk is noted, so
that an interrupted run can go on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import DataError, FileError, LedgerError
from sievert.release.domain import DROPPED
from sievert.release.fingerprints import Fingerprints
from sievert.release.people import PersonRows
from sievert.release.places import PlaceNoise, Places
from sievert.release.plan import NOT_PRIVATE, SEEDED, Plan
from sievert.release.randomisers import Randomiser
from sievert.release.sealed import SealedBits
from sievert.release.stable import StablePlaces
from sievert.sampling import Sampler
from sievert.tables.batches import Batch, Rows
from sievert.tables.ledger import Reservation
from sievert.tables.writing import TableWriter, table_writer

__all__ = ["State", "check_rows", "stream"]

IntArray = NDArray[np.int64]
Progress = Callable[[int], None]
# Batches between two notes of what is on disk.
NOTED = 16
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
        if isinstance(plan.mechanism, PlaceNoise):
            self.places = Places(plan.columns, plan.mechanism.region, plan.rules, plan.data.missing_values)
        else:
            assert isinstance(plan.mechanism, Randomiser)
            self.domain = plan.domain()
            outputs: Any = plan.mechanism.outputs
            parts = zip(*outputs, strict=True) if len(plan.columns) > 1 else [outputs]
            self.texts = [np.array(list(part), dtype=object) for part in parts]

    def true(self, batch: Batch) -> tuple[IntArray, NDArray[np.bool_]]:
        """What each kept row holds, and which rows are kept."""
        if self.places is not None:
            return self.places.cells(batch)
        codes = self.domain.codes(batch)
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
        marks = [[SEEDED] * len(true)] if self.plan.seeded else []
        return [*self.kept_columns(batch, kept), *noisy, *marks]

    def noisy(self, true: IntArray, sampler: Sampler) -> list[Any]:
        """Columns to write."""
        mechanism = self.plan.mechanism
        if isinstance(mechanism, PlaceNoise):
            return self.coordinates(mechanism.draw(sampler, true))
        drawn = sampler.draw(true) if len(true) else true
        return [texts[drawn].tolist() for texts in self.texts]

    def coordinates(self, cells: IntArray) -> list[Any]:
        """Latitude and longitude of cells, to a hundredth of a second of arc or better."""
        mechanism = self.plan.mechanism
        assert isinstance(mechanism, PlaceNoise)
        latitude, longitude = mechanism.region.centres(cells)
        return [np.round(latitude, 6).tolist(), np.round(longitude, 6).tolist()]

    def kept_columns(self, batch: Batch, kept: NDArray[np.bool_]) -> list[Any]:
        """Public columns of the kept rows."""
        if kept.all():
            return [batch.columns[name] for name in self.plan.rules.keep]
        places = np.flatnonzero(kept).tolist()
        return [[batch.columns[name][i] for i in places] for name in self.plan.rules.keep]


def check_rows(plan: Plan, rows: Rows, progress: Progress | None = None) -> tuple[int, Fingerprints]:
    """Read every row and refuse what does not fit; the number of rows, and what they were."""
    kind, read = _Rows(plan), 0
    seen = Fingerprints(kind.read)
    most = 2**62 if plan.rules.stable else plan.owned
    people = PersonRows(plan.data.person, most, "data.rows_per_person")
    if plan.rules.stable and not people.columns:
        raise FileError("release.stable: needs data.person, the column that says whose row it is")
    for batch in rows.batches([*kind.read, *people.columns]):
        try:
            kind.true(batch)
        except DataError as problem:
            raise DataError(f"{rows.name}: {problem}") from None
        if not plan.rules.stable:
            people.add(batch)
        seen.add(batch)
        read += batch.size
        if progress is not None:
            progress(read)
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
    sampler = plan.mechanism.sampler(plan.rules.timing, source)
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
    mechanism = plan.mechanism
    assert isinstance(mechanism, PlaceNoise)
    names = stable.names(owners)
    found = stable.known(names)
    first: dict[bytes, int] = {}
    for place, name in enumerate(names):
        if name not in found:
            first.setdefault(name, place)
    if first:
        drawn = mechanism.draw(sampler, true[list(first.values())])
        stable.remember(list(first), drawn)
        found.update(zip(first, map(tuple, drawn.tolist()), strict=True))
    return np.array([found[name] for name in names], dtype=np.int64).reshape(-1, 2)
