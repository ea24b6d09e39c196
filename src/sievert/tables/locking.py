"""One release at a time: an exclusive lock on a file, against other processes and other threads."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sievert.errors import LedgerOutputError
from sievert.tables.atomic import NO_LINKS
from sievert.tables.paths import require_plain

__all__ = ["locked"]

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
