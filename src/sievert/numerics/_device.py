"""Where large products are computed: by NumPy, or by PyTorch on the device that was asked for.

An accelerator is never taken unasked, and it never decides: whoever uses one knows how far a product in
single precision can be off, and does what lies within that error again in double precision. So every device
has the same answer, and the few operations here are enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import IndexArray
from sievert.errors import MechanismError
from sievert.numerics._checks import abbreviated

__all__ = ["Device", "device", "on_device"]

# Entries of a block of products: on a processor they stay near it, an accelerator holds a gigabyte.
NEAR, MANY = 2**22, 2**28
# Fewer rows than this make a product as slow as the reading of its second factor.
FEWEST = 64
# Bytes of the largest table in a processor's memory.
ROOM = 1_200_000_000
# Random bits that order equal numbers.
TIES = 42


class Device:
    """NumPy: arrays stay where they are.

    Attributes
    ----------
    name : as it was asked for: "cpu", "torch" (PyTorch on the processor), or a device of PyTorch
    entries : how many entries of a product are held at once
    """

    name = "cpu"
    entries = NEAR

    def put(self, array: NDArray[Any]) -> Any:
        """An array on the device."""
        return array

    def get(self, array: Any) -> NDArray[Any]:
        """An array of the device as one of NumPy."""
        return np.asarray(array)

    def product(self, a: Any, b: Any) -> Any:
        """The matrix product of two arrays of the device, every product rounded as its type says."""
        return a @ b

    def leading(self, scores: Any) -> tuple[IndexArray, NDArray[Any], NDArray[Any]]:
        """Of every row the place of its largest entry, that entry, and the next; the first becomes -inf."""
        every = np.arange(len(scores))
        best = scores.argmax(axis=1)
        top = scores[every, best]
        scores[every, best] = -np.inf
        return best, top, scores.max(axis=1)

    def smallest(self, counts: Any, k: int, seed: int) -> tuple[IndexArray, IndexArray]:
        """Of every row the places of its k smallest whole numbers below 2^20, and these; ties at random.

        Ties are ordered by 42 random bits each, so two of a row are alike once in 4·10¹² pairs of them.
        """
        drawn = np.random.default_rng(seed).integers(0, 1 << TIES, counts.shape)
        keys = (counts.astype(np.int64) << TIES) + drawn
        near = np.argpartition(keys, k - 1, axis=1)[:, :k]
        order = np.take_along_axis(near, np.take_along_axis(keys, near, 1).argsort(axis=1), 1)
        return order, np.take_along_axis(keys, order, 1) >> TIES

    def largest(self, factors: Any, values: Any) -> Any:
        """max_z factors[x,z]·values[z,w] for all x and w, of numbers ≥ 0."""
        found = np.empty((len(factors), values.shape[1]))
        for x, row in enumerate(factors):
            found[x] = (row[:, None] * values).max(axis=0)
        return found

    def room(self) -> int:
        """Bytes that one table may take."""
        return ROOM

    def rows(self, width: int, fewest: int = FEWEST) -> int:
        """How many rows of a product of this width are held at once."""
        return max(fewest, self.entries // max(width, 1))


class _Torch(Device):
    """PyTorch, on an accelerator or on the processor."""

    entries = MANY

    def __init__(self, torch: Any, name: str, where: str) -> None:
        self._torch, self.name, self._where = torch, name, where

    def put(self, array: NDArray[Any]) -> Any:
        return self._torch.from_numpy(np.ascontiguousarray(array)).to(self._where)

    def get(self, array: Any) -> NDArray[Any]:
        return np.asarray(array.cpu().numpy())

    def product(self, a: Any, b: Any) -> Any:
        before = self._torch.get_float32_matmul_precision()
        self._torch.set_float32_matmul_precision("highest")  # the factors are not cut to 10 bits
        try:
            return a @ b
        finally:
            self._torch.set_float32_matmul_precision(before)

    def leading(self, scores: Any) -> tuple[IndexArray, NDArray[Any], NDArray[Any]]:
        top, best = scores.max(dim=1)
        scores.scatter_(1, best[:, None], -np.inf)
        return self.get(best), self.get(top), self.get(scores.max(dim=1).values)

    def smallest(self, counts: Any, k: int, seed: int) -> tuple[IndexArray, IndexArray]:
        draws = self._torch.Generator(device=self._where).manual_seed(seed)
        keys = self._torch.randint(1 << TIES, counts.shape, generator=draws, device=self._where)
        keys += counts.to(self._torch.int64) << TIES
        least, places = keys.topk(k, dim=1, largest=False, sorted=True)
        return self.get(places), self.get(least >> TIES)

    def largest(self, factors: Any, values: Any) -> Any:
        step = self.rows(values.shape[0] * values.shape[1], 1)
        parts = [self._torch.amax(part[:, :, None] * values, 1) for part in factors.split(step)]
        return self._torch.cat(parts)

    def room(self) -> int:
        # As much again is needed to work on the table.
        return self._torch.cuda.mem_get_info(self._where)[0] * 2 // 5 if "cuda" in self._where else ROOM


CPU = Device()
_asked: ContextVar[Device] = ContextVar("sievert_device", default=CPU)


def device() -> Device:
    """The device that was asked for; NumPy unless one was."""
    return _asked.get()


@contextmanager
def on_device(name: str | None) -> Iterator[Device]:
    """Compute large products inside on a device: "cpu" (NumPy), "cuda", "cuda:1", "mps".

    >>> with on_device("cpu") as found:
    ...     found.product(np.eye(2), np.ones((2, 1))).tolist()
    [[1.0], [1.0]]
    """
    token = _asked.set(_named(name))
    try:
        yield _asked.get()
    finally:
        _asked.reset(token)


def _named(name: object) -> Device:
    if name is None:
        return _asked.get()
    if not isinstance(name, str):
        raise MechanismError(f'device is {abbreviated(name)}; write "cpu", "cuda", "cuda:1" or "mps"')
    if name == "cpu":
        return CPU
    try:
        import torch
    except ImportError:
        raise MechanismError(
            f"device is {abbreviated(name)}, which needs PyTorch: python -m pip install 'sievert[gpu]'"
        ) from None
    wanted = "cpu" if name == "torch" else name
    try:
        torch.zeros(1, device=wanted).cpu()
    except (RuntimeError, AssertionError) as problem:
        why = str(problem).strip().split("\n")[0].split(". ")[0]
        raise MechanismError(
            f"device is {abbreviated(name)}, and PyTorch cannot compute there ({why}); leave it out to "
            f"compute on "
            "the processor"
        ) from None
    return _Torch(torch, name, wanted)
