"""What this machine knows of a ledger: its last hash and its sums, in the user's own folder of states.

An older copy of a ledger is sound by itself, and so is a copy of the whole folder: only what lies elsewhere
can tell. Beside that the sums spare reading a ledger anew that nobody has touched: whether that is so is told
by the file's size, times and number, the time being stamped to the nanosecond after every writing, which no
other program does. Whatever does not fit is read whole.

The folder is `sievert/ledgers` in $XDG_STATE_HOME, ~/.local/state or %LOCALAPPDATA%, readable by its user
alone; a file there that others may have written is not believed. Where it cannot be written, nothing is
known; a noted anchor does the same.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sievert.errors import LedgerError
from sievert.ledger._chain import Chain, Record
from sievert.ledger._private import is_ours, make_private
from sievert.ledger._totals import Totals
from sievert.tables import create

__all__ = ["Known", "known", "name_of", "refuse_older", "remember"]

FORMAT = 1
MICROSECOND = 1000
_NAME = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Known:
    """What is remembered of a ledger.

    Attributes
    ----------
    path : where it is remembered
    head : the last hash
    mark : the file as it was left: disk, number, size, and times of writing and of changing
    check : shows that the key is the same
    sums : the totals as plain data
    """

    path: Path
    head: str
    mark: list[int]
    check: str
    sums: dict[str, Any]

    def is_of(self, ledger: Path, key: bytes | None) -> bool:
        """Whether the ledger is as it was left, and bound by this key."""
        return self.mark == _mark(ledger) and hmac.compare_digest(self.check, _check(self.head, key))

    @property
    def size(self) -> int:
        """Bytes of the ledger."""
        return self.mark[2]

    def totals(self) -> Totals | None:
        """The sums; None where they cannot be read."""
        with suppress(KeyError, TypeError, ValueError, ZeroDivisionError, AttributeError):
            return Totals.from_dict(self.sums)
        return None


def name_of(opening: Record) -> str | None:
    """The random name of a ledger; one of version 1 has none that can be relied on."""
    name = opening.get("salt")
    sound = opening.get("version") != 1 and isinstance(name, str) and _NAME.fullmatch(name)
    return str(name) if sound else None


def known(name: str | None) -> Known | None:
    """What this machine remembers of a ledger, if anything."""
    path = _path(name)
    if path is None:
        return None
    try:
        if not is_ours(path):
            return None
        found = json.loads(path.read_bytes())
        if found["format"] != FORMAT or not isinstance(found["head"], str):
            return None
        return Known(path, found["head"], found["mark"], str(found["check"]), found["sums"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remember(name: str | None, chain: Chain, totals: Totals) -> None:
    """Keep the last hash and the sums of a ledger that is held; a machine that cannot does without."""
    path = _path(name)
    if path is None:
        return
    with suppress(OSError):
        if os.stat(chain.path, follow_symlinks=False).st_size != chain.size:  # an interrupted writing
            return
        content = {
            "format": FORMAT,
            "ledger": str(chain.path.parent),
            "head": chain.head,
            "mark": _stamped(chain.path),
            "check": _check(chain.head, chain.key),
            "sums": totals.to_dict(),
        }
        make_private(path.parent)
        temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
        with open(create(temporary, 0o600), "w") as stream:
            json.dump(content, stream)
        os.replace(temporary, path)


def refuse_older(chain: Chain, found: Known | None) -> None:
    """Refuse a ledger that lacks the last record that this machine has seen of it."""
    if found is not None and found.head not in chain.heads:
        raise LedgerError(
            f"{chain.path}: the ledger is an older copy: this machine has seen it with a later record (hash "
            f"{found.head[:16]}…), and what was charged since would be forgotten. Put the last sound copy "
            "back; if the older one is meant, name its last hash (--anchor), or start a new ledger with the "
            "budget that is left: a person has to look at it"
        )


def _path(name: str | None) -> Path | None:
    """Where a ledger is remembered; None where there is no such place."""
    if name is None:
        return None
    given = os.environ.get("XDG_STATE_HOME" if os.name != "nt" else "LOCALAPPDATA")
    try:
        base = Path(given) if given and Path(given).is_absolute() else Path.home() / ".local" / "state"
    except RuntimeError:  # no home
        return None
    return base / "sievert" / "ledgers" / f"{name}.json"


def _mark(path: Path) -> list[int]:
    """What changes when a file is written, replaced or copied."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return []
    return [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns]


def _stamped(path: Path) -> list[int]:
    """The mark of a file whose time has digits of ours: clocks of file systems tick too slowly."""
    found = os.stat(path, follow_symlinks=False)
    tick = found.st_mtime_ns // MICROSECOND**2 * MICROSECOND**2
    os.utime(path, ns=(found.st_atime_ns, tick + secrets.randbelow(MICROSECOND**2)), follow_symlinks=False)
    return _mark(path)


def _check(head: str, key: bytes | None) -> str:
    return hmac.new(b"" if key is None else key, head.encode(), hashlib.sha256).hexdigest()
