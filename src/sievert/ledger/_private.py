"""Folders that are one user's alone: the ledger's, and where this machine remembers ledgers.

They are made so whatever the umask. A copy or a restored backup has the modes that the umask left, and in a
folder where others write, a folder of theirs may lie under the ledger's name before its first use: it would
be theirs to read what is written there, and to exchange it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from sievert.errors import LedgerError, LedgerOutputError
from sievert.ledger._chain import sync_folder

__all__ = ["is_ours", "make_ledger_folder", "make_private"]

OTHERS, MAY_WRITE = 0o077, 0o022
GROUP_WRITES = 0o020


def make_private(folder: Path) -> None:
    """Make a folder and those it lies in, and wait until their own names are on disk."""
    missing = [path for path in (folder, *folder.parents) if not path.is_dir()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
        sync_folder(path.parent)


def make_ledger_folder(folder: Path) -> None:
    """Make the folder of a ledger; refuse another user's, and take from others what a copy let them."""
    try:
        make_private(folder)
        if os.name == "nt":
            return
        _require_owner(folder)
        _close(folder)
    except OSError as problem:
        raise LedgerOutputError(
            f"{folder}: the ledger's folder cannot be made ({problem.strerror})"
        ) from None


def _require_owner(folder: Path) -> None:
    """Refuse a folder, or a link, of a user who owns neither this process nor the folder around it."""
    trusted = {os.geteuid(), 0, os.stat(folder.absolute().parent).st_uid}
    if not {os.lstat(folder).st_uid, os.stat(folder).st_uid} <= trusted:
        raise LedgerError(
            f"{folder}: is another user's, who could read and exchange what is kept there; nothing is "
            "released: remove it, or keep the budget file in a folder where only you write"
        )
    if _is_shared(folder):
        return
    for name in sorted(os.listdir(folder)):  # left from when the folder was open, to be read by its owner
        if os.lstat(folder / name).st_uid not in trusted:
            raise LedgerError(
                f"{folder / name}: is another user's, who could read and change what is kept there; nothing "
                "is released: put a sound copy of the ledger's folder in its place, made by you"
            )


def _is_shared(folder: Path) -> bool:
    """Whether a group may write, and no one else: it was let in on purpose."""
    return stat.S_IMODE(os.stat(folder).st_mode) & MAY_WRITE == GROUP_WRITES


def _close(folder: Path) -> None:
    """Leave nothing to others, and nothing to the group but where it was let in."""
    mode = stat.S_IMODE(os.stat(folder).st_mode)
    taken = 0o007 if _is_shared(folder) else OTHERS
    if not mode & taken:
        return
    with suppress(PermissionError):  # a file system without modes, or a folder that root keeps
        os.chmod(folder, mode & ~taken)
        for name in os.listdir(folder):
            path = folder / name
            found = os.lstat(path)
            if stat.S_ISREG(found.st_mode):
                os.chmod(path, stat.S_IMODE(found.st_mode) & ~taken)


def is_ours(path: Path) -> bool:
    """Whether nobody but this user, or root, can have written a file."""
    if os.name == "nt":
        return True
    found = os.stat(path, follow_symlinks=False)
    return stat.S_ISREG(found.st_mode) and found.st_uid in (os.geteuid(), 0) and not found.st_mode & MAY_WRITE
