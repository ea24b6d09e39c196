"""One matrix for each column of a channel, inverted at every step: by LAPACK, or by PyTorch on its device."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsymv
from scipy.linalg.lapack import dpotrf, dpotri

from sievert.arrays import FloatArray, IndexArray
from sievert.errors import TooLargeError
from sievert.numerics import Device

T = TypeVar("T")

__all__ = ["Arrays", "Breakdown", "Columns", "columns_on"]
# Blocks of this size are inverted as they are, larger ones by halves.
SMALL_BLOCK = 64
# Operations that are worth a thread.
WORTH_THREADS = 2e7
# Numbers that are worked on at a time.
PART = 2**15
# Violated constraints of an entry that are told.
MOST_VIOLATED = 6


class Breakdown(Exception):
    """A matrix that rounding has left without a factor."""


class Arrays:
    """What is done to every number of large arrays, a part of them at a time: such a part stays near by."""

    xp: ModuleType = np

    def each(self, work: Callable[..., Any], *arrays: Any) -> Any:
        """An array of what the work makes of the numbers of arrays of one shape."""
        found = np.empty_like(arrays[0])
        out, flat = found.ravel(order="K"), [array.ravel(order="K") for array in arrays]
        for part in _parts(out.size):
            out[part] = work(*(array[part] for array in flat))
        return found

    def total(self, work: Callable[..., Any], *arrays: Any) -> float:
        """The sum of all that the work makes of them."""
        flat = [array.ravel(order="K") for array in arrays]
        return float(sum(work(*(array[part] for array in flat)).sum() for part in _parts(flat[0].size)))

    def least(self, work: Callable[..., Any], *arrays: Any) -> float:
        """The least of all that the work makes of them."""
        flat = [array.ravel(order="K") for array in arrays]
        return float(min(work(*(array[part] for array in flat)).min() for part in _parts(flat[0].size)))


def _parts(size: int) -> list[slice]:
    return [slice(start, start + PART) for start in range(0, size, PART)]


class _Threads:
    """Threads that share columns, one for each processor where threadpoolctl can keep BLAS from its own."""

    def __init__(self) -> None:
        try:
            from threadpoolctl import ThreadpoolController
        except ImportError:
            self._count = 1
        else:
            known = hasattr(os, "sched_getaffinity")
            self._count = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
            self._libraries = ThreadpoolController()

    def map(self, work: Callable[[range], T], columns: int, operations: float) -> list[T]:
        """What the work gives for parts of the columns, each of which takes so many operations."""
        if self._count == 1 or columns * operations < WORTH_THREADS:
            return [work(range(columns))]
        bounds = [columns * k // self._count for k in range(self._count + 1)]
        with self._libraries.limit(limits=1, user_api="blas"), ThreadPoolExecutor(self._count) as pool:
            return list(pool.map(work, map(range, bounds, bounds[1:])))


class Columns(Arrays):
    """Symmetric positive matrices, one for each column: their inverses, and the sum of these."""

    def __init__(self, count: int, size: int, there: Device) -> None:
        self.count, self.size, self._there = count, size, there
        self._threads = _Threads()
        self.inverses: Any = None

    def put(self, array: Any) -> Any:
        """An array where the columns are."""
        return self._there.put(np.asarray(array))

    def get(self, array: Any) -> Any:
        """An array of theirs as one of NumPy."""
        return self._there.get(array)

    def place(self, first: IndexArray, second: IndexArray, starts: IndexArray) -> None:
        """Say which entries off the diagonal are not 0, first < second, and where each column's begin."""
        self._place, self._starts = first * self.size + second, starts.tolist()

    def invert(self, diagonal: Any, aside: Any) -> None:
        """Invert all, given their diagonals [column, point] and the entries that were placed."""
        if self.inverses is None:
            self.inverses = np.empty((self.count, self.size, self.size))
        self._sum = sum(
            self._threads.map(partial(self._invert_some, diagonal, aside), self.count, self.size**3)
        )
        self._sum = np.triu(self._sum)
        self._sum += np.triu(self._sum, 1).T
        try:
            self._factor = cho_factor(self._sum, lower=True, check_finite=False)
        except LinAlgError:
            raise Breakdown from None

    def _invert_some(self, diagonal: FloatArray, aside: FloatArray, columns: range) -> FloatArray:
        """Invert some of the columns; the sum of their inverses, in the upper triangle."""
        found = np.zeros((self.size, self.size))
        for w in columns:
            block = self.inverses[w]
            part = slice(self._starts[w], self._starts[w + 1])
            block.fill(0.0)
            block.ravel()[self._place[part]] = aside[part]
            block.ravel()[:: self.size + 1] = diagonal[w]
            # The upper triangle of the rows is the lower one of LAPACK's columns.
            if dpotrf(block.T, lower=1, overwrite_a=1, clean=0)[1]:
                raise Breakdown
            dpotri(block.T, lower=1, overwrite_c=1)
            found += block
        return found

    def product(self, right: Any) -> Any:
        """Every inverse times its row."""
        found = np.empty_like(right)

        def some(columns: range) -> None:
            for w in columns:
                found[w] = dsymv(1.0, self.inverses[w].T, right[w], lower=1)

        self._threads.map(some, self.count, 2 * self.size**2)
        return found

    def prices(self, wanted: Any) -> Any:
        """The solution for the sum of the inverses, refined once."""
        first = cho_solve(self._factor, wanted, check_finite=False)
        return first + cho_solve(self._factor, wanted - self._sum @ first, check_finite=False)

    def violated(self, decay: Any, m: Any, least: float) -> tuple[IndexArray, IndexArray, IndexArray]:
        """Column w, x and z of the most violated m[w,x] ≥ decay[x,z]·m[w,z], where by more than `least`."""
        found = []
        most = min(MOST_VIOLATED, self.size)
        for w, column in enumerate(m):
            excess = decay * column - column[:, None]
            top = np.argpartition(excess, -most, axis=1)[:, -most:]
            x, k = np.nonzero(np.take_along_axis(excess, top, 1) > least)
            found.append((np.full(len(x), w), x, top[x, k]))
        return _joined(found)


class _TorchColumns(Columns):
    """The same in PyTorch: batched products do all the work."""

    def __init__(self, count: int, size: int, there: Device) -> None:
        super().__init__(count, size, there)
        import torch

        self.xp = torch

    def each(self, work: Callable[..., Any], *arrays: Any) -> Any:
        return work(*arrays)

    def total(self, work: Callable[..., Any], *arrays: Any) -> float:
        return float(work(*arrays).sum())

    def least(self, work: Callable[..., Any], *arrays: Any) -> float:
        return float(work(*arrays).min())

    def place(self, first: IndexArray, second: IndexArray, starts: IndexArray) -> None:
        column = np.repeat(np.arange(self.count), np.diff(starts)) * self.size**2
        self._place = self.put(column + first * self.size + second)
        self._mirror = self.put(column + second * self.size + first)

    def invert(self, diagonal: Any, aside: Any) -> None:
        torch = self.xp
        if self.inverses is None:
            self.inverses = torch.empty(
                (self.count, self.size, self.size), dtype=diagonal.dtype, device=diagonal.device
            )
        self.inverses.zero_()
        flat = self.inverses.view(-1)
        flat[self._place] = aside
        flat[self._mirror] = aside
        self.inverses.diagonal(dim1=1, dim2=2).copy_(diagonal)
        _invert_in_place(torch, self.inverses)
        self._sum = self.inverses.sum(0)
        self._factor, failed = torch.linalg.cholesky_ex(self._sum)
        if int(failed) or not bool(torch.isfinite(self._sum).all()):
            raise Breakdown

    def product(self, right: Any) -> Any:
        return self.xp.bmm(self.inverses, right[:, :, None])[:, :, 0]

    def prices(self, wanted: Any) -> Any:
        def solved(right: Any) -> Any:
            return self.xp.cholesky_solve(right[:, None], self._factor)[:, 0]

        first = solved(wanted)
        return first + solved(wanted - self._sum @ first)

    def violated(self, decay: Any, m: Any, least: float) -> tuple[IndexArray, IndexArray, IndexArray]:
        step = self._there.rows(self.size**2, 1)
        found = []
        for start in range(0, self.count, step):
            part = m[start : start + step]
            excess = decay[None] * part[:, None, :] - part[:, :, None]
            value, top = excess.topk(min(MOST_VIOLATED, self.size), dim=2)
            w, x, k = self.xp.nonzero(value > least, as_tuple=True)
            found.append((self.get(w) + start, self.get(x), self.get(top[w, x, k])))
        return _joined(found)


def _joined(parts: list[tuple[Any, Any, Any]]) -> tuple[IndexArray, IndexArray, IndexArray]:
    w, x, z = (np.concatenate(column) for column in zip(*parts, strict=True))
    return w, x, z


def _invert_in_place(torch: Any, matrices: Any) -> None:
    """Inverses of symmetric positive matrices by halves: all work is in batched products."""
    size = matrices.shape[1]
    if size <= SMALL_BLOCK:
        matrices.copy_(torch.linalg.inv_ex(matrices)[0])
        return
    half = size // 2
    first, last = matrices[:, :half, :half], matrices[:, half:, half:]
    aside = matrices[:, :half, half:].clone()
    _invert_in_place(torch, first)
    across = torch.bmm(first, aside)
    last -= torch.bmm(aside.transpose(1, 2), across)
    _invert_in_place(torch, last)
    corner = torch.bmm(across, last)
    first += torch.bmm(corner, across.transpose(1, 2))
    matrices[:, :half, half:] = -corner
    matrices[:, half:, :half] = -corner.transpose(1, 2)


def columns_on(there: Device, count: int, size: int) -> Columns:
    """Columns on a device; TooLargeError where it has no room for them."""
    floats, most = count * size * size, there.room() // 8
    if floats > most:
        raise TooLargeError(
            f"{count} actions on {size} inputs need {floats} floats at once; at most {most} fit; take fewer "
            "inputs or actions, or a device with more memory",
            size=floats,
        )
    return (Columns if there.name == "cpu" else _TorchColumns)(count, size, there)
