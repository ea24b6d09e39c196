"""One place for each person, drawn once and repeated in every row and every later release.

Repeated noisy places of one person average out to the true one; a place that is drawn once and remembered
does not. Only the noisy cell is kept, under a salted hash of the person, in the ledger's folder. Whoever is
in it already costs nothing again.
"""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["StablePlaces"]

IntArray = NDArray[np.int64]


class StablePlaces:
    """Noisy cells by person, on disk; a batch of new ones is remembered before it is used."""

    def __init__(self, path: Path, salt: str) -> None:
        self._salt = salt.encode()
        self._base = sqlite3.connect(path)
        self._base.execute("PRAGMA synchronous = FULL")
        self._base.execute(
            "CREATE TABLE IF NOT EXISTS places (person BLOB PRIMARY KEY, r INTEGER, c INTEGER)"
        )
        self._base.commit()

    def names(self, people: Sequence[Any]) -> list[bytes]:
        """Salted hashes of people."""
        return [hmac.digest(self._salt, str(person).encode(), hashlib.sha256)[:16] for person in people]

    def known(self, names: Sequence[bytes]) -> dict[bytes, tuple[int, int]]:
        """The cells of those who have one."""
        found = {}
        for name in set(names):
            row = self._base.execute("SELECT r, c FROM places WHERE person = ?", (name,)).fetchone()
            if row is not None:
                found[name] = (int(row[0]), int(row[1]))
        return found

    def remember(self, names: Sequence[bytes], cells: IntArray) -> None:
        """Keep new cells, all or none, and wait for the disk."""
        rows = [(name, int(r), int(c)) for name, (r, c) in zip(names, cells.tolist(), strict=True)]
        with self._base:
            self._base.executemany("INSERT INTO places VALUES (?, ?, ?)", rows)

    def close(self) -> None:
        """Let the file go."""
        self._base.close()
