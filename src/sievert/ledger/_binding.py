"""A budget file belongs to its ledger: the first use writes the ledger's name into it.

A copy of the file under another name would open a second ledger and spend the budget twice, and so would a
ledger that was deleted. With the name of its ledger in it, a budget opens none but that one.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from sievert.errors import LedgerError, LedgerOutputError
from sievert.ledger._chain import sync_folder
from sievert.tables import create, write_all

__all__ = ["bind", "refuse_other_ledger"]

WHY = "of the ledger that this budget opened; a copy of this file opens no other"


def bind(budget: Path, ledger: str) -> None:
    """Write the ledger's name into a budget file, all or nothing.

    A file that may only be read, or that is another user's, stays as it is. It is written anew beside itself:
    the ledger's folder may lie behind a link, on another disk.
    """
    temporary = budget.with_name(f".{ledger}.tmp")
    try:
        before = os.stat(budget, follow_symlinks=False)
        if before.st_uid != os.geteuid() if hasattr(os, "geteuid") else False:
            return
        if not os.access(budget, os.W_OK) or not os.access(budget.parent, os.W_OK):
            return
        content = budget.read_bytes()
        bound = f'ledger = "{ledger}"  # {WHY}\n'.encode() + content
        if tomllib.loads(bound.decode()) != {"ledger": ledger, **tomllib.loads(content.decode())}:
            return
        if os.path.lexists(temporary):  # of an interrupted run
            os.unlink(temporary)
        descriptor = create(temporary, before.st_mode & 0o777)
        try:
            write_all(descriptor, bound)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, budget)
        sync_folder(budget.parent)
    except ValueError:  # not to be read with a line in front: a byte order mark, or a name that is there
        return
    except OSError as problem:
        raise LedgerOutputError(
            f"{budget}: cannot be bound to its ledger ({problem.strerror}); nothing was charged"
        ) from None


def refuse_other_ledger(bound: str | None, there: str | None, folder: Path) -> None:
    """Refuse a budget whose ledger is not the one that lies beside it."""
    if bound is None or bound == there:
        return
    state = "no ledger is there" if there is None else "another ledger is there"
    raise LedgerError(
        f"{folder}: the budget belongs to the ledger {bound[:12]}…, and {state}: the budget file is a copy, "
        "or its ledger was deleted or exchanged, and a new one would spend the budget twice. Name the first "
        "budget file, or put its ledger back; for other people, delete the line `ledger` of the copy: a "
        "person has to look at it"
    )
