"""What was checked is what is drawn: a hash of every batch, taken while the data is checked."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sievert.errors import OutputError
from sievert.tables import Batch

__all__ = ["Fingerprints"]


class Fingerprints:
    """Hashes of the batches of some columns, in order."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        self._digests: list[bytes] = []

    def add(self, batch: Batch) -> None:
        """Keep the hash of the next batch."""
        self._digests.append(self._digest(batch))

    def require(self, number: int, batch: Batch) -> None:
        """Refuse a batch that is not the one that was checked."""
        if number >= len(self._digests) or self._digest(batch) != self._digests[number]:
            raise OutputError("the data changed while it was read")

    def require_end(self, batches: int) -> None:
        """Refuse data that ended earlier than when it was checked."""
        if batches != len(self._digests):
            raise OutputError("the data changed while it was read")

    def total(self, salt: str) -> str:
        """One salted hash of all that was checked."""
        return hashlib.sha256(salt.encode() + b"".join(self._digests)).hexdigest()

    def _digest(self, batch: Batch) -> bytes:
        content = repr([batch.first, *(batch.columns[name] for name in self.columns)])
        return hashlib.blake2b(content.encode(errors="surrogatepass"), digest_size=32).digest()
