"""Is this the ledger that was here before, or an older or empty one put in its place?

The lock file, which is never deleted, keeps the hash of every record once the record is on disk. A ledger
that lacks the last of them has lost records. A crash can leave a note torn or missing, never one too many.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from sievert.errors import LedgerError
from sievert.ledger._chain import Chain
from sievert.numerics import brief
from sievert.tables import require_plain, write_all

__all__ = ["LEDGER", "LOCK", "add_note", "last_note", "refuse_lost_records", "refuse_other"]

LEDGER = "ledger.jsonl"
LOCK = "ledger.lock"
SHORTEST_ANCHOR = 12
_NOTE = re.compile(rb"^[0-9a-f]{64}$", re.MULTILINE)


def last_note(lock: Path) -> str | None:
    """The last whole hash in the lock file."""
    found = _NOTE.findall(lock.read_bytes()) if require_plain(lock) else []
    return found[-1].decode() if found else None


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


def refuse_other(chain: Chain, anchor: str | None) -> None:
    """Refuse a chain without the hash that somebody noted elsewhere."""
    if anchor is None:
        return
    if len(anchor) < SHORTEST_ANCHOR:
        raise LedgerError(
            f"anchor is {brief(anchor)}; give at least {SHORTEST_ANCHOR} digits of the noted hash"
        )
    if not any(head.startswith(anchor.lower()) for head in chain.heads):
        raise LedgerError(
            f"{chain.path}: has no record with the hash {anchor}; it is an older copy, or another ledger: "
            "nothing is released until a person has looked at it"
        )
