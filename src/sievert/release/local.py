"""Row by row: each value or place is perturbed by itself, in batches of constant memory.

A first pass reads every row and refuses what does not fit, before anything is charged. The second pass draws
and writes; after every few batches what is on disk is noted, so that an interrupted run can go on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import DataError, FileError
from sievert.release.domain import DROPPED
from sievert.release.people import PersonRows
from sievert.release.places import PlaceNoise, Places
from sievert.release.plan import Plan
from sievert.release.randomisers import Randomiser
from sievert.release.sealed import SealedBits
from sievert.release.stable import StablePlaces
from sievert.sampling import Sampler
from sievert.tables.batches import Batch, Rows
from sievert.tables.ledger import Reservation
from sievert.tables.writing import table_writer

__all__ = ["State", "check_rows", "stream"]

IntArray = NDArray[np.int64]
Progress = Callable[[int], None]
# Batches between two notes of what is on disk.
NOTED = 16
OUTPUT = 1  # position of the table among a reservation's files


@dataclass
class State:
    """What a run needs to go on: the sealed key, and how far the file on disk reaches."""

    key: bytes
    secure: bool
    batches: int = 0
    rows: int = 0
    size: int = 0

    def save(self, held: Reservation) -> None:
        """Replace the state on disk, all or nothing."""
        held.save_state(json.dumps({**self.__dict__, "key": self.key.hex()}).encode())

    @classmethod
    def load(cls, held: Reservation) -> State:
        """The state of an interrupted run."""
        content = json.loads(held.state.read_bytes())
        return cls(**{**content, "key": bytes.fromhex(content["key"])})


class _Rows:
    """How one kind of row is read, perturbed and written."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.names = [*plan.rules.keep, *plan.columns]
        self.read = [*plan.columns, *plan.rules.keep]
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


def check_rows(plan: Plan, rows: Rows, progress: Progress | None = None) -> int:
    """Read every row and refuse what does not fit; the number of rows."""
    kind, read = _Rows(plan), 0
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
        read += batch.size
        if progress is not None:
            progress(read)
    people.check()
    return read


def stream(
    plan: Plan,
    rows: Rows,
    held: Reservation,
    state: State,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Draw and write every row under the reservation; what the sampler was, as plain data."""
    kind = _Rows(plan)
    source = SealedBits(state.key, state.secure)
    sampler = plan.mechanism.sampler(plan.rules.timing, source)
    path, target = held.temporary(OUTPUT), held.targets[OUTPUT]
    if not path.exists() or path.stat().st_size < state.size:
        state.batches = state.rows = state.size = 0  # from the start, with the same key: the same rows
    writer = table_writer(path, target, kind.names, state.size)
    start = state.batches
    people = [] if plan.data.person is None or not plan.rules.stable else [plan.data.person]
    stable = (
        StablePlaces(held.ledger.folder / "places.sqlite", held.ledger.salt + str(plan.stable_mark))
        if people
        else None
    )
    read = 0
    try:
        for number, batch in _numbered(rows.batches([*kind.read, *people])):
            read += batch.size
            if number < start:
                continue
            source.begin(number)
            true, kept = kind.true(batch)
            if stable is None:
                noisy = kind.noisy(true, sampler)
            else:
                owners = [batch.columns[people[0]][i] for i in np.flatnonzero(kept).tolist()]
                noisy = kind.coordinates(_stable_cells(plan, stable, owners, true, sampler))
            writer.write([*kind.kept_columns(batch, kept), *noisy])
            if writer.resumable and (number + 1) % NOTED == 0:
                state.size = writer.sync()
                state.batches, state.rows = number + 1, read
                state.save(held)
            if progress is not None:
                progress(read)
        writer.close()
    finally:
        if stable is not None:
            stable.close()
    return sampler.to_dict()


def _numbered(batches: Iterator[Batch]) -> Iterator[tuple[int, Batch]]:
    yield from enumerate(batches)


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
