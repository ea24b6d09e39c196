"""One matrix for each column of a channel, factored by blocks at every step: in NumPy, or in PyTorch.

Points are taken in an order in which a constraint joins points of one block or of two next to each other, so
that a matrix is block tridiagonal, with D_k on the diagonal and E_k beside it. Eliminating blocks in turn
leaves I_k, the inverse of D_k + E_(k-1)ᵀ·X_(k-1), and X_k = -I_k·E_k. With them the inverse V is found from
the last block back: the rows of block k are X_k times those of block k + 1, beside
I_k + X_k·V_(k+1,k+1)·X_kᵀ. Entries off the diagonal are ≤ 0, so that I, X and V are ≥ 0, and nothing cancels
on the way back. No V is kept: only their sum is.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from types import ModuleType
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sievert.arrays import FloatArray, IndexArray
from sievert.errors import MechanismError, TooLargeError
from sievert.numerics import Device

T = TypeVar("T")

__all__ = ["Arrays", "Breakdown", "Columns", "columns_on"]
# Blocks of this size are inverted as they are, larger ones by halves.
SMALL_BLOCK = 16
# Numbers that are worked on at a time; of fewer than several such parts threads are not worth their start.
PART = 2**15
# Numbers of the rows of a block that are worked on at a time.
STRIP = 2**19
# Violated constraints of an entry that are told.
MOST_VIOLATED = 6


class Breakdown(Exception):
    """A matrix that rounding has left without a factor."""


class Arrays:
    """What is done to every number of large arrays, a part of them at a time: such a part stays near by.

    Inside `threads` the parts are shared by threads.
    """

    xp: ModuleType = np
    _pool: ThreadPoolExecutor | None = None
    _workers = 1

    @contextmanager
    def threads(self) -> Iterator[None]:
        """Inside, a thread for each processor where threadpoolctl can keep BLAS from its own."""
        workers = _processors()
        if workers == 1:
            yield
            return
        try:
            from threadpoolctl import threadpool_limits
        except ImportError:
            yield
            return
        with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers, initializer=_quiet) as self._pool:
            self._workers = workers
            try:
                yield
            finally:
                self._pool, self._workers = None, 1

    def shared(self, work: Callable[[int, int], T], size: int, step: int) -> list[T]:
        """What the work gives for every range of so many things, in order."""
        ranges = [(start, min(start + step, size)) for start in range(0, size, step)]
        if self._pool is None or len(ranges) == 1:
            return [work(*each) for each in ranges]
        return list(self._pool.map(lambda each: work(*each), ranges))

    def _flat(self, work: Callable[..., T], arrays: tuple[Any, ...]) -> list[T]:
        """What the work gives for parts of flat arrays."""
        size = arrays[0].size
        share = max(PART, -(-size // (self._workers * PART)) * PART)

        def some(start: int, end: int) -> list[T]:
            return [
                work(*(array[first : min(first + PART, end)] for array in arrays))
                for first in range(start, end, PART)
            ]

        return [each for part in self.shared(some, size, share) for each in part]

    def each(self, work: Callable[..., Any], *arrays: Any) -> Any:
        """An array of what the work makes of the numbers of arrays of one shape."""
        found = np.empty_like(arrays[0])

        def put(out: FloatArray, *parts: FloatArray) -> None:
            out[:] = work(*parts)

        self._flat(put, tuple(array.ravel(order="K") for array in (found, *arrays)))
        return found

    def total(self, work: Callable[..., Any], *arrays: Any) -> float:
        """The sum of all that the work makes of them."""
        flat = tuple(array.ravel(order="K") for array in arrays)
        return float(sum(self._flat(lambda *parts: work(*parts).sum(), flat)))

    def least(self, work: Callable[..., Any], *arrays: Any) -> float:
        """The least of all that the work makes of them."""
        flat = tuple(array.ravel(order="K") for array in arrays)
        return float(min(self._flat(lambda *parts: work(*parts).min(), flat)))


def _quiet() -> None:
    """Let numbers that are not finite pass in this thread: what is made of them is looked at later."""
    np.seterr(over="ignore", divide="ignore", invalid="ignore")


def _processors() -> int:
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


class Columns(Arrays):
    """Symmetric positive matrices, one for each column: their factors, and the sum of their inverses."""

    def __init__(self, count: int, size: int, there: Device) -> None:
        self.count, self.size, self._there = count, size, there

    def put(self, array: Any) -> Any:
        """An array where the columns are."""
        return self._there.put(np.asarray(array))

    def get(self, array: Any) -> Any:
        """An array of theirs as one of NumPy."""
        return self._there.get(array)

    def fits(self, cuts: IndexArray) -> bool:
        """Whether there is room for the factors of blocks that begin at these points."""
        return self.count * _Layout(cuts).entries <= self._there.room() // 8

    def step(self, things: int) -> int:
        """Of how many columns so many things in all are worked on together."""
        return max(1, self.count * PART // things)

    def place(self, first: IndexArray, second: IndexArray, starts: IndexArray, cuts: IndexArray) -> None:
        """Say which entries are not 0, first < second, where each column's begin, and where blocks do."""
        layout = _Layout(cuts)
        need, most = self.count * layout.entries, self._there.room() // 8
        if need > most:
            raise TooLargeError(
                f"{self.count} actions on {self.size} inputs need {need} floats at once; at most {most} fit, "
                f"those of {self._fitting(most)} inputs in any case; take fewer inputs or actions, or a "
                "device with more memory",
                size=need,
            )
        column = np.repeat(np.arange(self.count), np.diff(starts)) * layout.entries
        every = np.arange(self.size)
        self._place = self.put(column + layout.place(first, second))
        self._diagonal = self.put(layout.place(every, every))
        self._starts, self._layout = starts.tolist(), layout
        self._step = max(1, self._strip() // (layout.widest * self.size))
        self._factors: dict[int, list[tuple[Any, Any]]] = {}

    def _fitting(self, most: int) -> int:
        """How many inputs, with as many actions or with these, fit however far constraints reach."""
        # Two blocks hold three quarters of a matrix.
        whole = most / 0.75
        found = whole ** (1 / 3) if self.count == self.size else math.sqrt(whole / self.count)
        unit: int = 10 ** max(0, len(str(int(found))) - 2)
        return int(found) // unit * unit

    def factor(self, diagonal: Any, aside: Any) -> None:
        """Factor all, given their diagonals [column, point] and the entries that were placed."""
        self._sum = sum(
            self.shared(lambda start, end: self._some(diagonal, aside, start, end), self.count, self._step)
        )
        self._sum = self.xp.triu(self._sum)
        self._sum += self.xp.triu(self._sum, 1).T
        self._factor_sum()

    def _some(self, diagonal: Any, aside: Any, start: int, end: int) -> Any:
        """Factor some of the columns; the sum of their inverses, in the upper triangle."""
        layout = self._layout
        table = self.zeros((end - start, layout.entries))
        part = slice(self._starts[start], self._starts[end])
        table.reshape(-1)[self._place[part] - start * layout.entries] = aside[part]
        table[:, self._diagonal] = diagonal[start:end]
        factors: list[tuple[Any, Any]] = []
        before = None
        for inner, across in layout.blocks(table):
            left = inner if before is None else inner + _turned(before) @ factors[-1][1]
            inverse = self._inverted(left)
            factors.append((inverse, -(inverse @ across)))
            before = across
        self._factors[start] = factors
        found = self.zeros((self.size, self.size))
        rows = factors[-1][0]
        for k in range(len(factors) - 1, -1, -1):
            inverse, across = factors[k]
            if k < len(factors) - 1:
                own, beside = inverse.shape[1], across.shape[2]
                longer = self.zeros((end - start, own, own + rows.shape[2]))
                self._multiply(across, rows, longer[:, :, own:])
                longer[:, :, :own] = inverse + longer[:, :, own : own + beside] @ _turned(across)
                rows = longer
            found[layout.cuts[k] : layout.cuts[k + 1], layout.cuts[k] :] = rows.sum(0)
        return found

    def product(self, right: Any) -> Any:
        """Every inverse times its row."""
        found, cuts = self.xp.empty_like(right), self._layout.cuts

        def some(start: int, end: int) -> None:
            factors = self._factors[start]
            parts = [right[start:end, None, a:b] for a, b in pairwise(cuts)]
            for k in range(1, len(parts)):
                parts[k] = parts[k] + parts[k - 1] @ factors[k - 1][1]
            after = None
            for k in range(len(parts) - 1, -1, -1):
                inverse, across = factors[k]
                here = inverse @ _turned(parts[k])
                after = here if after is None else here + across @ after
                found[start:end, cuts[k] : cuts[k + 1]] = after[:, :, 0]

        self.shared(some, self.count, self._step)
        return found

    def prices(self, wanted: Any) -> Any:
        """The solution for the sum of the inverses, refined once."""
        first = self._solved(wanted)
        return first + self._solved(wanted - self._sum @ first)

    def violated(self, decay: Any, m: Any, least: float) -> tuple[IndexArray, IndexArray, IndexArray]:
        """Column w, x and z of the most violated m[w,x] ≥ decay[x,z]·m[w,z], where by more than `least`."""
        most = min(MOST_VIOLATED, self.size)

        def some(w: int, _: int) -> tuple[IndexArray, IndexArray, IndexArray]:
            excess = decay * m[w] - m[w][:, None]
            top = np.argpartition(excess, -most, axis=1)[:, -most:]
            x, k = np.nonzero(np.take_along_axis(excess, top, 1) > least)
            return np.full(len(x), w), x, top[x, k]

        return _joined(self.shared(some, self.count, 1))

    # ── What NumPy and PyTorch do differently ───────────────────────────────────────────────────────────────

    def _strip(self) -> int:
        """Numbers of the rows of a block, over all columns that are worked on at a time."""
        return STRIP

    def zeros(self, shape: tuple[int, ...]) -> Any:
        """An array of zeros where the columns are."""
        return np.zeros(shape)

    def _multiply(self, a: Any, b: Any, out: Any) -> None:
        np.matmul(a, b, out=out)

    def _small_inverses(self, matrices: Any) -> Any:
        """Inverses of small symmetric positive matrices, of which the upper triangles are given."""
        try:
            root = np.linalg.inv(np.linalg.cholesky(matrices, upper=True))
        except LinAlgError:
            raise Breakdown from None
        return root @ _turned(root)

    def _inverted(self, matrices: Any) -> Any:
        """Inverses of symmetric positive matrices by halves, of which the upper triangles are given."""
        size = matrices.shape[1]
        if size <= SMALL_BLOCK:
            return self._small_inverses(matrices)
        half = size // 2
        found = self.zeros(matrices.shape)
        first, aside = self._inverted(matrices[:, :half, :half]), matrices[:, :half, half:]
        across = first @ aside
        last = self._inverted(matrices[:, half:, half:] - _turned(aside) @ across)
        corner = across @ last
        found[:, :half, :half] = first + corner @ _turned(across)
        found[:, half:, half:] = last
        found[:, :half, half:] = -corner
        found[:, half:, :half] = -_turned(corner)
        return found

    def _factor_sum(self) -> None:
        try:
            self._root = cho_factor(self._sum, lower=True)
        except (LinAlgError, ValueError):  # not positive, or not finite
            raise Breakdown from None

    def _solved(self, wanted: Any) -> Any:
        return cho_solve(self._root, wanted, check_finite=False)


class _Layout:
    """Where entries of block tridiagonal matrices are kept: rows of a block, with those beside them."""

    def __init__(self, cuts: IndexArray) -> None:
        self.cuts: list[int] = cuts.tolist()
        ends = [*self.cuts[2:], self.cuts[-1]]
        self._heights = [b - a for a, b in pairwise(self.cuts)]
        self._widths = [end - start for start, end in zip(self.cuts, ends, strict=False)]
        sizes = [height * width for height, width in zip(self._heights, self._widths, strict=True)]
        self._offsets = np.concatenate([[0], np.cumsum(sizes)])
        self.entries, self.widest = int(self._offsets[-1]), max(self._heights)

    def place(self, first: IndexArray, second: IndexArray) -> IndexArray:
        """Where the entries of rows and columns are, first ≤ second."""
        block = np.searchsorted(self.cuts, first, "right") - 1
        begin = np.asarray(self.cuts)[block]
        inside = (first - begin) * np.asarray(self._widths)[block] + second - begin
        return np.asarray(self._offsets[block] + inside)

    def blocks(self, table: Any) -> Iterator[tuple[Any, Any]]:
        """Of tables [column, entry]: every block on the diagonal, and the one beside it."""
        for k, (height, width) in enumerate(zip(self._heights, self._widths, strict=True)):
            rows = table[:, self._offsets[k] : self._offsets[k + 1]].reshape(len(table), height, width)
            yield rows[:, :, :height], rows[:, :, height:]


class _TorchColumns(Columns):
    """The same in PyTorch: batched products do all the work."""

    def __init__(self, count: int, size: int, there: Device) -> None:
        super().__init__(count, size, there)
        import torch

        try:
            self.xp, self._device = torch, self.put(np.zeros(1)).device
        except TypeError:
            raise MechanismError(
                f"device is {there.name!r}, which has no floats of 64 bits; leave it out to compute on the "
                "processor"
            ) from None

    @contextmanager
    def threads(self) -> Iterator[None]:
        yield

    def each(self, work: Callable[..., Any], *arrays: Any) -> Any:
        return work(*arrays)

    def total(self, work: Callable[..., Any], *arrays: Any) -> float:
        return float(work(*arrays).sum())

    def least(self, work: Callable[..., Any], *arrays: Any) -> float:
        return float(work(*arrays).min())

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

    def step(self, things: int) -> int:
        return self.count

    def _strip(self) -> int:
        return self._there.entries

    def zeros(self, shape: tuple[int, ...]) -> Any:
        return self.xp.zeros(shape, dtype=self.xp.float64, device=self._device)

    def _multiply(self, a: Any, b: Any, out: Any) -> None:
        out.copy_(a @ b)

    def _small_inverses(self, matrices: Any) -> Any:
        torch = self.xp
        root, failed = torch.linalg.cholesky_ex(matrices, upper=True)
        if bool(failed.any()):
            raise Breakdown
        one = torch.eye(matrices.shape[1], dtype=root.dtype, device=root.device).expand(root.shape)
        inverse = torch.linalg.solve_triangular(root, one, upper=True)
        return inverse @ _turned(inverse)

    def _factor_sum(self) -> None:
        self._root, failed = self.xp.linalg.cholesky_ex(self._sum)
        if int(failed) or not bool(self.xp.isfinite(self._sum).all()):
            raise Breakdown

    def _solved(self, wanted: Any) -> Any:
        return self.xp.cholesky_solve(wanted[:, None], self._root)[:, 0]


def _turned(matrices: Any) -> Any:
    """The transpose of every matrix."""
    return matrices.swapaxes(1, 2)


def _joined(parts: list[tuple[Any, Any, Any]]) -> tuple[IndexArray, IndexArray, IndexArray]:
    w, x, z = (np.concatenate(column) for column in zip(*parts, strict=True))
    return w, x, z


def columns_on(there: Device, count: int, size: int) -> Columns:
    """Columns on a device."""
    return (Columns if there.name == "cpu" else _TorchColumns)(count, size, there)
