"""Random bits from a key that is drawn once for a release and destroyed when it is published.

An interrupted run that goes on must not draw a row a second time with another outcome: whoever saw both
would see two draws for one charge. With a sealed key every batch of rows has bits of its own that are a
function of the key, so what is drawn again is the same. The key comes from the operating system, lies in
the ledger's folder readable by its owner alone, and is deleted with the last step of the release.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.sampling import BitSource

__all__ = ["SealedBits", "new_key"]


class SealedBits(BitSource):
    """SHAKE-128 of the key, the batch and the request.

    >>> first, second = SealedBits(b"k" * 32), SealedBits(b"k" * 32)
    >>> bool((first.words(0, range(4)) == second.words(0, range(4))).all())
    True
    """

    def __init__(self, key: bytes, secure: bool = True) -> None:
        super().__init__()
        self.secure = secure
        self.name = "sealed key of the operating system" if secure else "seed (not secret)"
        self._key = key
        self.begin(0)

    def begin(self, batch: int) -> None:
        """Give a batch of rows its own bits, whatever was drawn before."""
        self._batch = batch
        self._request = 0
        self.position = 0

    def _words(self, level: int, lanes: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
        address = self._batch.to_bytes(8, "little") + self._request.to_bytes(8, "little")
        self._request += 1
        content = hashlib.shake_128(self._key + address).digest(len(lanes) * dtype.itemsize)
        return np.frombuffer(content, dtype=dtype.newbyteorder("<")).astype(dtype, copy=False)


def new_key(insecure_rng: int | None = None) -> bytes:
    """32 bytes from the operating system, or from a seed asked for by name."""
    if insecure_rng is None:
        return secrets.token_bytes(32)
    return hashlib.sha256(f"sievert release seed {insecure_rng}".encode()).digest()
