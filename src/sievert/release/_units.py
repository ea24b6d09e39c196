"""Row by row over a folder of files: units of work, each checked, drawn and written by whoever is free.

All units are read and checked first, and what each holds is fixed in a manifest. Then the ledger is charged.
Only now is drawn: the bits of a unit come from a key of its own, SHA-256(key ‖ unit ‖ content), so a unit
that is done again gives the same rows, and other content never meets the same bits. A worker writes to a
private file and gives it the name of its part only when that is whole and there is none yet; so a worker may
die at any moment, and there is one answer for each unit. The folder of parts gets its own name at once, when
the ledger has its hash, and the key is destroyed.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import DataError, FileError, LedgerError, OutputError
from sievert.ledger import Reservation, file_hash, sync_folder
from sievert.release._domain import Fingerprints
from sievert.release._fit import DataFit, Show, Tally, admit
from sievert.release._plan import Plan
from sievert.release._row_release import OUTPUT, SealedBits, State, reading
from sievert.release._table_release import persons, refuse_too_many
from sievert.tables import Contents, DictionaryColumn, TableWriter, Unit, Workers, give_name, table_writer

__all__ = [
    "Part",
    "Shared",
    "changed",
    "check_units",
    "draw_parts",
    "draw_units",
    "manifest",
    "manifest_hash",
    "new_shared",
    "parts_of",
    "publish",
]

Progress = Callable[[int], None]
People = tuple[NDArray[np.uint64], NDArray[np.int64]]  # keyed hashes of people, and how many rows each has


@dataclass(frozen=True)
class Shared:
    """What every worker on rows is told: the plan, where the files are, and by what people are hashed."""

    plan: Plan
    folder: Path
    salt: bytes


@dataclass(frozen=True)
class Part:
    """A unit that is to be drawn: what it holds, its own key, and where its part of the output goes."""

    contents: Contents
    key: bytes
    secure: bool
    target: Path
    workplace: Path


def new_shared(plan: Plan, folder: Path) -> Shared:
    """What workers are told, with a new key for the hashes of people."""
    return Shared(plan, folder, secrets.token_bytes(32))


# ── Reading and checking, before anything is charged ────────────────────────────────────────────────────────


def check_units(
    plan: Plan,
    units: Sequence[Unit],
    workers: Workers,
    progress: Progress | None = None,
    show: Show | None = None,
) -> tuple[Contents, ...]:
    """Read every row of every unit and refuse what does not fit; what each unit holds."""
    if plan.rules.stable:
        raise FileError(
            "release.stable: places are remembered one after another; name one file under data.input, not a "
            "folder or a pattern"
        )
    found: list[Contents] = []
    fits: list[DataFit] = []
    people: People = np.empty(0, np.uint64), np.empty(0, np.int64)
    read = 0
    for contents, counted, fit in workers.map(check_unit, units):
        found.append(contents)
        fits.append(fit)
        people = _added(people, counted)
        read += contents.rows
        if progress is not None:
            progress(read)
    admit(DataFit.together(fits), plan.data.fit, show)
    most = int(people[1].max(initial=0))
    refuse_too_many(most, str(plan.data.person), plan.owned, "data.rows_per_person")
    return tuple(found)


def check_unit(shared: Shared, unit: Unit) -> tuple[Contents, People, DataFit]:
    """Read a unit: what it holds, the rows of each person in it, and how its rows fit."""
    kind = reading(shared.plan)
    person = shared.plan.data.person
    seen, rows, tally = Fingerprints(kind.read), 0, Tally()
    hashes: list[NDArray[np.uint64]] = []
    for batch in unit.batches(shared.folder, [*kind.read, *([] if person is None else [person])]):
        try:
            kind.true(batch, tally)
            if person is not None:
                hashes.append(_hashed(persons(batch, person, shared.plan.data.meaning), shared.salt))
        except DataError as problem:
            raise DataError(f"{shared.folder / unit.file}: {problem}", private=problem.private) from None
        seen.add(batch)
        rows += batch.size
    together = np.concatenate(hashes) if hashes else np.empty(0, np.uint64)
    names, counts = np.unique(together, return_counts=True)
    return Contents(unit, rows, seen.digests), (names, counts.astype(np.int64)), tally.fit()


def _hashed(people: DictionaryColumn, salt: bytes) -> NDArray[np.uint64]:
    """Whose row each is, told by a keyed hash; two people collide with chance 2^-64, which only refuses."""
    digests = (
        hashlib.blake2b(person.encode(), key=salt, digest_size=8).digest() for person in people.values.items
    )
    return people.mapped(np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64))


def _added(first: People, second: People) -> People:
    """Rows of each person in both."""
    if not len(second[0]):
        return first
    names, places = np.unique(np.concatenate([first[0], second[0]]), return_inverse=True)
    counts = np.zeros(len(names), np.int64)
    np.add.at(counts, places.ravel(), np.concatenate([first[1], second[1]]))
    return names, counts


def manifest(contents: Sequence[Contents]) -> list[dict[str, Any]]:
    """What each unit holds, as plain data."""
    return [item.to_dict() for item in contents]


def manifest_hash(contents: Sequence[Contents]) -> str:
    """One hash of all units: as private as the data."""
    return hashlib.sha256(json.dumps(manifest(contents)).encode()).hexdigest()


# ── Drawing, each unit into a part of the output ────────────────────────────────────────────────────────────


def draw_units(
    plan: Plan,
    contents: Sequence[Contents],
    workers: Workers,
    held: Reservation,
    state: State,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Draw and write every unit under the reservation; the sampler as plain data."""
    folder = held.temporary(OUTPUT)
    draw_parts(draw_unit, contents, workers, held, state, folder, progress)
    return plan.sampler(SealedBits(state.key, state.secure)).to_dict()


def draw_parts(
    work: Callable[[Any, Part], int],
    contents: Sequence[Contents],
    workers: Workers,
    held: Reservation,
    state: State,
    folder: Path,
    progress: Progress | None = None,
) -> list[Path]:
    """Have every unit drawn into a part of its own in a folder; those that an interrupted run left stay."""
    if state.units != manifest(contents):
        raise LedgerError(
            f"{held.state}: what the units hold differs from what was fixed before the run {held.id} was "
            "charged; give it up (--fresh)"
        )
    _made(held.workplace, 0o700)
    _made(folder, 0o777)
    suffix = held.targets[OUTPUT].suffix.lower()
    targets = [folder / f"part-{number:05d}{suffix}" for number in range(len(contents))]
    parts = [
        Part(item, item.key(state.key), state.secure, target, held.workplace)
        for item, target in zip(contents, targets, strict=True)
        if not target.exists()
    ]
    done = sum(item.rows for item in contents) - sum(part.contents.rows for part in parts)
    for rows in workers.map(work, parts):
        done += rows
        if progress is not None:
            progress(done)
    for path in set(folder.iterdir()) - set(targets):
        raise LedgerError(f"{path}: is not a part of the release {held.id}; a person has to look at it")
    sync_folder(folder)
    return targets


def draw_unit(shared: Shared, part: Part) -> int:
    """Draw a unit and publish its part; how many rows it has."""
    kind = reading(shared.plan)
    source = SealedBits(part.key, part.secure)
    sampler = shared.plan.sampler(source)

    def write(writer: TableWriter) -> None:
        seen = Fingerprints(kind.read, part.contents.digests)
        number = -1
        for number, batch in enumerate(part.contents.unit.batches(shared.folder, kind.read)):
            if not seen.has(number, batch):
                raise changed(shared.folder / part.contents.unit.file)
            source.begin(number)
            writer.write(kind.columns(batch, sampler, None))
        if number + 1 != len(part.contents.digests):
            raise changed(shared.folder / part.contents.unit.file)

    publish(part, kind.names, write)
    return part.contents.rows


def changed(path: Path) -> OutputError:
    """Whoever draws a unit that is not the one that was checked."""
    return OutputError(f"{path}: changed since it was checked and its hash was fixed; put it back as it was")


def publish(part: Part, names: Sequence[str], write: Callable[[TableWriter], None]) -> None:
    """Write a part to a private file and give it its name, unless another attempt has done so."""
    if part.target.exists():
        return
    private = part.workplace / f"{part.target.name}.{secrets.token_hex(8)}"
    writer = table_writer(private, part.target, names)
    try:
        try:
            write(writer)
        except BaseException:
            writer.discard()
            raise
        writer.close()
        with suppress(FileExistsError):  # the same rows, by a worker that was taken for dead
            give_name(private, part.target)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(private)


def _made(folder: Path, mode: int) -> None:
    """A folder of ours; anything else at its name is refused."""
    try:
        os.mkdir(folder, mode)
        sync_folder(folder.parent)
    except FileExistsError:
        if folder.is_symlink() or not folder.is_dir():
            raise LedgerError(f"{folder}: is not the folder that an interrupted run left") from None


def parts_of(folder: Path) -> list[dict[str, str]]:
    """What the sidecar says of every part."""
    return [{"file": path.name, "sha256": file_hash(path)} for path in sorted(folder.iterdir())]
