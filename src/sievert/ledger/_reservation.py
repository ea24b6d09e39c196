"""A release that is charged: its files under temporary names, its state, its publication."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from sievert.errors import LedgerError, OutputError
from sievert.ledger._chain import Record, sync_folder
from sievert.numerics import abbreviated
from sievert.tables import NO_LINKS, create, require_plain, write_all

if TYPE_CHECKING:
    from sievert.ledger._ledger import Ledger

__all__ = ["Reservation", "check_name", "file_hash"]

BLOCK = 1 << 20
# The state is kept under the release's name, and file names have a largest length.
LONGEST_ID = 100
LONGEST_NAME = 255
OWNER_LETTERS = 8


def check_name(id: str) -> None:
    """Refuse a name that cannot be part of a file's name."""
    if not isinstance(id, str) or not id.replace("-", "").replace("_", "").isalnum():
        raise LedgerError(f"id is {abbreviated(id)}; use letters, digits, - and _")
    if len(id.encode()) > LONGEST_ID:
        raise LedgerError(
            f"id is {id[:20]!r}… of {len(id.encode())} bytes; use at most {LONGEST_ID}: it becomes part of "
            "file names"
        )


@dataclass
class Reservation:
    """A charged release: write its files under `temporary` names, then `commit`.

    Attributes
    ----------
    record : as the ledger has it
    grown : what earlier charges grew by, since the release states more records of a person
    left : the state that an interrupted run had left, where the release was finished now
    """

    ledger: Ledger
    id: str
    targets: list[Path]
    record: Record = field(default_factory=dict, repr=False)
    grown: Fraction = Fraction(0)
    left: bytes | None = field(default=None, repr=False)

    def temporary(self, index: int) -> Path:
        """The name under which file `index` is written: beside its target, so that renaming is atomic."""
        return self._beside(self.targets[index], "tmp")

    @property
    def workplace(self) -> Path:
        """A folder beside the output for what is not yet part of it; deleted when all is done."""
        return self._beside(self.targets[-1], "parts")

    def _beside(self, target: Path, kind: str) -> Path:
        """A name that bears the ledger's: a ledger that came along leads to no file of anything else.

        It is joined and not replaced, since a forged target may be no name of a file.
        """
        folder, name = os.path.split(target)
        owner = (self.ledger.name or "")[:OWNER_LETTERS]
        return Path(folder, f".{name}.{self.id}.sievert{owner}.{kind}")

    def check_targets(self) -> None:
        """Refuse, before anything is charged, files that could not be written."""
        for index, path in enumerate(self.targets):
            folder, temporary = path.parent, self.temporary(index)
            if "\0" in str(path):
                raise LedgerError(
                    f"{str(path)!r}: cannot be the name of a file; leave out the character \\x00"
                )
            if os.path.lexists(path):
                raise LedgerError(
                    f"{path}: is there already; a release replaces nothing: move it away or name another "
                    "output (--output)"
                )
            if not folder.is_dir():
                raise LedgerError(f"{folder}: no such folder; make it first")
            if len(os.fsencode(temporary.name)) > LONGEST_NAME:
                raise LedgerError(
                    f"{path.name[:40]}…: the name is too long for a file that is written as "
                    f".NAME.{self.id[:20]}.sievert….tmp (at most {LONGEST_NAME} bytes); name a shorter output"
                )
            if os.path.lexists(temporary):
                raise LedgerError(f"{temporary}: is there already, and not of this ledger; remove it")
            if not os.access(folder, os.W_OK | os.X_OK):
                raise OutputError(f"{folder}: cannot be written to; nothing was charged: name another output")

    @property
    def state(self) -> Path:
        """The file for what is needed to go on after an interruption; deleted when all is done."""
        return self.ledger.state_path(self.id)

    def write(self, index: int, content: bytes) -> None:
        """Write one whole file under its temporary name and wait for the disk."""
        try:
            _write_new(self.temporary(index), content, 0o666)
        except OSError as problem:
            raise OutputError(
                f"{self.targets[index]}: cannot be written ({problem.strerror}); the reservation {self.id} "
                "stays charged"
            ) from None

    def state_content(self) -> bytes | None:
        """What an interrupted run left; None where there is nothing that can be read."""
        try:
            return self.state.read_bytes() if require_plain(self.state) else None
        except OSError:
            return None

    def save_state(self, content: bytes) -> None:
        """Replace the state, all or nothing, readable by its owner alone."""
        _write_new(self._new_state, content, 0o600)
        os.replace(self._new_state, self.state)
        sync_folder(self.ledger.folder)

    @property
    def _new_state(self) -> Path:
        return self.state.with_name(self.state.name + ".new")

    def commit(self, **about: object) -> None:
        """Record the hashes of the files, wait for the disk, and give the files their names."""
        hashes = [file_hash(self.temporary(index)) for index in range(len(self.targets))]
        for folder in {target.parent for target in self.targets}:
            sync_folder(folder)
        self.ledger.append({"kind": "commit", "id": self.id, "sha256": hashes, **about})
        self.publish(hashes)
        self.ledger.totals.open.pop(self.id, None)

    def abandon(self) -> None:
        """Give up: what was written is deleted, what was charged stays charged."""
        for path in (self.state, self._new_state):
            with suppress(FileNotFoundError):
                os.unlink(path)
        self.discard()

    def publish(self, hashes: Sequence[str]) -> bool:
        """Rename what is still under its temporary name, the output last; whether there was anything."""
        renamed = False
        for index, expected in enumerate(hashes):
            temporary = self.temporary(index)
            if not os.path.lexists(temporary):
                continue
            if os.path.islink(temporary) or file_hash(temporary) != expected:
                raise LedgerError(
                    f"{temporary}: is not the file whose hash the ledger has for the release {self.id}; "
                    "nothing is released until a person has looked at it"
                )
            if os.path.lexists(self.targets[index]):
                raise LedgerError(
                    f"{self.targets[index]}: is there already, so the release {self.id} cannot be finished; "
                    "a release replaces nothing: move it away"
                )
            os.replace(temporary, self.targets[index])
            renamed = True
        if renamed:
            for folder in {target.parent for target in self.targets}:
                sync_folder(folder)
        _removed(self.workplace)
        for path in (self._new_state, self.state):
            if path.exists():
                os.unlink(path)
                sync_folder(self.ledger.folder)
        return renamed

    def discard(self) -> None:
        """Delete what was written; a place that cannot be reached any more keeps nobody from going on."""
        for path in (self.workplace, *map(self.temporary, range(len(self.targets)))):
            _removed(path)


def _write_new(path: Path, content: bytes, mode: int) -> None:
    descriptor = create(path, mode)
    try:
        write_all(descriptor, content)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _removed(path: Path) -> None:
    """Delete a file or a folder, if it is there and can be."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


def file_hash(path: Path) -> str:
    """SHA-256 of a file, read in blocks; of a folder, of the names and hashes of its files.

    No link is followed.
    """
    if path.is_dir() and not path.is_symlink():
        parts = {name: file_hash(path / name) for name in sorted(os.listdir(path))}
        return hashlib.sha256(
            "".join(f"{digest}  {name}\n" for name, digest in parts.items()).encode()
        ).hexdigest()
    digest = hashlib.sha256()
    with os.fdopen(os.open(path, os.O_RDONLY | NO_LINKS), "rb") as stream:
        while block := stream.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
