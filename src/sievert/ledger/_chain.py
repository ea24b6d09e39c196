"""An append-only file of records, each bound to all before it by a hash.

A line is {"b": body, "h": hash of the previous h and the body}. A crash can leave a torn last line, whose
write never returned: it is cut off. Anything else that does not fit is refused, whatever it is, and a
person has to look. The chain finds accidents and naive edits; with a key (HMAC) it also finds edits by
whoever does not know the key. An older copy put back in place cannot be noticed from the file alone: note
the head elsewhere.

Beside it the lock file, which is never deleted, keeps the hash of every record once the record is on disk. A
ledger that lacks the last of them has lost records. A crash can leave a note torn or missing, never one too
many.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sievert.errors import LedgerError, LedgerOutputError
from sievert.numerics import abbreviated
from sievert.tables import NO_LINKS, require_plain, write_all

__all__ = [
    "LEDGER",
    "LOCK",
    "Chain",
    "Record",
    "add_note",
    "first_record",
    "last_note",
    "legible",
    "locked",
    "refuse_lost_records",
    "refuse_other",
    "refuse_unnoted",
    "require_key",
    "require_same",
    "sync_folder",
]

START = "0" * 64
DEEPEST = 16
Record = dict[str, Any]


def require_key(key: object) -> None:
    """Refuse a key that is no bytes, without showing it: it is a secret."""
    if not isinstance(key, bytes | None):
        raise LedgerError(f"key is of type {type(key).__name__}; give the secret as bytes, or None")


@dataclass
class Chain:
    """The records of a file and the hash of the last one.

    Attributes
    ----------
    size : bytes up to the end of the last record
    fresh : records that were appended since they were last asked for
    """

    path: Path
    head: str
    key: bytes | None = None
    size: int = 0
    fresh: list[Record] = field(default_factory=list, repr=False)
    _records: list[Record] = field(default_factory=list, repr=False)
    _heads: list[str] = field(default_factory=list, repr=False)  # the hash after each record
    _whole: bool = field(default=True, repr=False)

    @classmethod
    def read(cls, path: Path, key: bytes | None = None, repair: bool = False) -> Chain:
        """Read and check every record; with `repair`, a torn last line is finished or cut off on disk."""
        chain = cls(path, START, key)
        content = path.read_bytes() if require_plain(path) else b""
        *lines, tail = content.split(b"\n")
        for number, line in enumerate(lines, start=1):
            if not chain._take(line):
                raise LedgerError(
                    f"{path}, line {number}: the record does not follow from those before it (edited, "
                    "damaged, or another key); nothing is released until a person has looked at it: put "
                    "the last sound copy back, or start a new ledger with the budget that is left"
                )
        chain.size = len(content) - len(tail)
        if tail:
            chain._mend(tail, len(content), repair)
        return chain

    @classmethod
    def known(cls, path: Path, head: str, size: int, key: bytes | None) -> Chain:
        """A file whose last hash is known, and that is read only where its records are asked for."""
        return cls(path, head, key, size, _whole=False)

    @property
    def records(self) -> list[Record]:
        """Every record."""
        self._read()
        return self._records

    @property
    def heads(self) -> list[str]:
        """The hash after each record."""
        self._read()
        return self._heads

    def _read(self) -> None:
        if self._whole:
            return
        found = Chain.read(self.path, self.key)
        if self.head not in found._heads:
            raise LedgerError(
                f"{self.path}: was changed while it was read; run the same command again, and if it is so "
                "again a person has to look at it"
            )
        self._records, self._heads, self._whole = found._records, found._heads, True

    def _take(self, line: bytes) -> bool:
        """Append a line's record if it is exactly what we would have written here."""
        try:
            body = json.loads(line, parse_constant=_refuse_constant)["b"]
            if not isinstance(body, dict) or not _is_shallow(body, DEEPEST):
                return False
            expected, head = self._line(body)
        except (ValueError, KeyError, TypeError, RecursionError):
            return False
        if line + b"\n" != expected:
            return False
        self._added(body, head)
        return True

    def _mend(self, tail: bytes, size: int, repair: bool) -> None:
        """A last line without its end: a whole record counts; the beginning of one never happened."""
        if self._take(tail):
            self.size = size
            if repair:
                self._write(b"\n")
            return
        if _holds_whole_object(tail):
            raise LedgerError(
                f"{self.path}: the last record is damaged, and not by an interrupted write; nothing is "
                "released until a person has looked at it"
            )
        if repair:
            descriptor = os.open(self.path, os.O_WRONLY | NO_LINKS)
            try:
                os.ftruncate(descriptor, size - len(tail))
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def append(self, body: Record) -> None:
        """Write one record and wait until the disk has it. A failure is final: nothing is retried."""
        line, head = self._line(body)
        self._write(line)
        self._added(body, head)

    def _added(self, body: Record, head: str) -> None:
        if self._whole:
            self._records.append(body)
            self._heads.append(head)
        self.fresh.append(body)
        self.head = head

    def _line(self, body: Record) -> tuple[bytes, str]:
        text = _canonical(body)
        head = self._hash((self.head + text).encode())
        return f'{{"b":{text},"h":"{head}"}}\n'.encode(), head

    def _hash(self, content: bytes) -> str:
        if self.key is not None:
            return hmac.new(self.key, content, hashlib.sha256).hexdigest()
        return hashlib.sha256(content).hexdigest()

    def _write(self, content: bytes) -> None:
        new = not self.path.exists()
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_LINKS
        try:
            descriptor = os.open(self.path, flags, 0o600)
            try:
                if os.fstat(descriptor).st_size != self.size:
                    raise _exchanged(self.path)
                written = os.write(descriptor, content)
                if written != len(content):
                    raise LedgerOutputError(
                        f"{self.path}: only {written} of {len(content)} bytes could be written (is the disk "
                        "full?); nothing was released"
                    )
                os.fsync(descriptor)
                self.size += len(content)
            finally:
                os.close(descriptor)
            if new:
                sync_folder(self.path.parent)
        except OSError as problem:
            raise LedgerOutputError(
                f"{self.path}: cannot be written ({problem.strerror}); nothing was released"
            ) from None


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _refuse_constant(text: str) -> None:
    """NaN and infinities, which no record holds."""
    raise ValueError(text)


def _is_shallow(value: object, most: int) -> bool:
    """Whether lists and tables are nested no deeper than in records of ours."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return not inner or (most > 0 and all(_is_shallow(item, most - 1) for item in inner))


def _holds_whole_object(tail: bytes) -> bool:
    """Whether the bytes begin with a complete JSON value: no beginning of a record of ours does."""
    try:
        json.JSONDecoder().raw_decode(tail.decode(errors="replace"))
    except ValueError:
        return not tail.startswith(b'{"b":'[: len(tail)])
    return True


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on disk (where the system can)."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ── One release at a time: an exclusive lock on a file, against other processes and other threads ───────────

# A lock of the system belongs to the process; these belong to its threads.
_threads: dict[str, threading.Lock] = {}
_guard = threading.Lock()
PAUSE = 0.02


@contextmanager
def locked(path: Path, wait: float) -> Iterator[int]:
    """Hold the lock file exclusively, as a descriptor that appends; wait for others at most `wait` seconds.

    The file stays: a lock that is deleted or renamed can be held twice.
    """
    deadline = time.monotonic() + wait
    with _guard:
        mutex = _threads.setdefault(str(path.resolve()), threading.Lock())
    if not mutex.acquire(timeout=min(max(wait, 0), threading.TIMEOUT_MAX)):
        raise _busy(path, wait)
    try:
        descriptor = _opened(path)
        try:
            while not _tried(descriptor, path):
                if time.monotonic() >= deadline:
                    raise _busy(path, wait)
                time.sleep(PAUSE)
            try:
                yield descriptor
            finally:
                with suppress(OSError):  # closing the file frees the lock as well
                    _unlock(descriptor)
        finally:
            os.close(descriptor)
    finally:
        mutex.release()


def require_same(lock: int, path: Path) -> None:
    """Refuse to write where the lock file is not the one that is held: another release may hold the other."""
    try:
        same = os.path.samestat(os.fstat(lock), os.stat(path, follow_symlinks=False))
    except FileNotFoundError:
        same = False
    if not same:
        raise _exchanged(path)


def _exchanged(path: Path) -> LedgerError:
    return LedgerError(
        f"{path}: was moved, restored or written by others while this release held the ledger; nothing was "
        "released: run the same command again when nothing else changes the folder"
    )


def _opened(path: Path) -> int:
    require_plain(path)
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | NO_LINKS, 0o600)
    except OSError as problem:
        raise LedgerOutputError(
            f"{path}: cannot be opened ({problem.strerror}); nothing was released"
        ) from None


def _tried(descriptor: int, path: Path) -> bool:
    try:
        return _try_lock(descriptor)
    except OSError as problem:
        raise LedgerOutputError(
            f"{path}: cannot be locked ({problem.strerror}); nothing was released. Keep the ledger on a disk "
            "that has locks"
        ) from None


def _busy(path: Path, wait: float) -> LedgerOutputError:
    return LedgerOutputError(
        f"{path.parent}: another release holds this ledger and did not finish within {wait:g} seconds; "
        "try again when it has ended"
    )


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


LEDGER = "ledger.jsonl"
LOCK = "ledger.lock"
SHORTEST_ANCHOR = 12
_NOTE = re.compile(rb"^[0-9a-f]{64}$", re.MULTILINE)
TAIL = 1 << 12


def first_record(path: Path) -> Record | None:
    """The first record, which names the ledger; None where there is none that can be read."""
    try:
        with path.open("rb") as stream:
            found = json.loads(stream.readline())["b"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def last_note(lock: Path) -> str | None:
    """The last whole hash in the lock file."""
    if not require_plain(lock):
        return None
    with lock.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        for start in (max(0, size - TAIL), 0):
            stream.seek(start)
            found = _NOTE.findall(stream.read())
            if found:
                return str(found[-1].decode())
    return None


def add_note(lock: int, head: str) -> None:
    """Keep the hash of a record that is on disk."""
    write_all(lock, f"\n{head}\n".encode())
    os.fsync(lock)


def refuse_lost_records(chain: Chain, noted: str | None, folder: Path) -> None:
    """Refuse a chain that lacks the record noted last, or that is empty beside what a ledger leaves."""
    if noted is not None and noted not in chain.heads:
        state = "is an older copy, or another ledger" if chain.records else "is missing or empty"
        raise LedgerError(
            f"{chain.path}: {state}, but releases have been charged here (last hash {noted[:16]}…); nothing "
            "is released until a person has looked at it: put the last sound copy back, or start a new "
            "ledger with the budget that is left"
        )
    if chain.records or not folder.is_dir():
        return
    left = sorted(set(os.listdir(folder)) - {LEDGER, LOCK})
    if left:
        raise LedgerError(
            f"{chain.path}: is missing or empty, but {left[0]} of an earlier ledger is there; nothing is "
            "released until a person has looked at it: put the last sound copy back, or name a new ledger"
        )


def refuse_unnoted(chain: Chain, noted: str | None, vouched: bool) -> None:
    """Refuse charges of which neither the lock file nor this machine knows: they may be an older copy's."""
    charges = (record for record in chain.records if record.get("kind") in ("reserve", "plan"))
    if noted is None and not vouched and any("carried" not in record for record in charges):
        raise LedgerError(
            f"{chain.path}: {LOCK} beside it is missing or empty, so nobody knows whether this is the last "
            "state of the ledger. Put the last sound copy of both back; if this is the last state, name its "
            "last hash (--anchor): a person has to look at it"
        )


def refuse_other(chain: Chain, anchor: str | None) -> None:
    """Refuse a chain without the hash that somebody noted elsewhere."""
    if anchor is None:
        return
    if not isinstance(anchor, str) or len(anchor) < SHORTEST_ANCHOR:
        raise LedgerError(
            f"anchor is {abbreviated(anchor)}; give at least {SHORTEST_ANCHOR} digits of the noted hash"
        )
    if not any(head.startswith(anchor.lower()) for head in chain.heads):
        raise LedgerError(
            f"{chain.path}: has no record with the hash {anchor}; it is an older copy, or another ledger: "
            "nothing is released until a person has looked at it"
        )


@contextmanager
def legible() -> Iterator[None]:
    """Records whose hashes are right and which say nothing that can be added up were forged, or are newer."""
    try:
        yield
    except LedgerError:
        raise
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as problem:
        raise LedgerError(
            f"a record of the ledger cannot be read ({problem!r}); it was changed, or written by a newer "
            "version: a person has to look at it"
        ) from None
