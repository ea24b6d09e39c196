"""Channels in blocks: disjoint groups of inputs with outputs of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property, reduce
from itertools import product as cartesian
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels._channel import Channel, Level, finite_channel, label_array
from sievert.channels._composition import common_form, require_dense
from sievert.channels._constructors import Form
from sievert.channels._structured import StructuredChannel, edge_level
from sievert.errors import ChannelError, TooLargeError
from sievert.numerics import abbreviated, generator_of, instance, whole
from sievert.spaces import Edges, Labels, Metric

__all__ = ["BlockChannel", "ProductChannel"]


class BlockChannel(StructuredChannel):
    """A block-diagonal matrix: the block of an input is revealed; inside it the block's channel acts."""

    def __init__(self, blocks: Sequence[Channel]) -> None:
        if not blocks:
            raise ChannelError("blocks is empty; give at least one channel")
        self.blocks = tuple(finite_channel(block, "a block") for block in blocks)
        self.input_starts = np.concatenate([[0], np.cumsum([block.shape[0] for block in self.blocks])])
        self.output_starts = np.concatenate([[0], np.cumsum([block.shape[1] for block in self.blocks])])
        shape = (int(self.input_starts[-1]), int(self.output_starts[-1]))
        super().__init__(common_form(self.blocks), shape, self._labels("inputs"), self._labels("outputs"))

    def _labels(self, side: str) -> Iterable[object] | None:
        """The blocks' own labels when they are all different, else 0, 1, 2, …"""
        joined = [item for block in self.blocks for item in getattr(block, side)]
        return joined if len(set(joined)) == len(joined) else None

    def slices(self) -> Iterable[tuple[Channel, slice, slice]]:
        """Each block with its range of inputs and of outputs."""
        for k, block in enumerate(self.blocks):
            yield (
                block,
                slice(int(self.input_starts[k]), int(self.input_starts[k + 1])),
                slice(int(self.output_starts[k]), int(self.output_starts[k + 1])),
            )

    def _owner(self, positions: Any) -> Any:
        """The block of each input."""
        return np.searchsorted(self.input_starts, positions, side="right") - 1

    def _entries(self) -> NDArray[Any]:
        blank: Any = {"exact": Fraction(0), "log": -np.inf, "float": 0.0}[self.form]
        data = np.full(self.shape, blank, dtype=object if self.form == "exact" else np.float64)
        for block, rows, columns in self.slices():
            if self.form == "float":
                data[rows, columns] = block.rounded()
            else:
                data[rows, columns] = block.log_matrix if self.form == "log" else block.exact
        return data

    def row(self, item: object) -> FloatArray:
        """Output distribution of one labelled input."""
        position = self.input_index(item)
        k = int(self._owner(position))
        row = np.zeros(self.shape[1])
        block = self.blocks[k]
        inner = block.inputs[position - int(self.input_starts[k])]
        row[self.output_starts[k] : self.output_starts[k + 1]] = block.row(inner)
        return row

    def matvec(self, vector: Any) -> FloatArray:
        """C·v, a block at a time."""
        values = self._vector(vector, "outputs")
        return np.concatenate([block.matvec(values[columns]) for block, _, columns in self.slices()])

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C, a block at a time."""
        values = self._vector(vector, "inputs")
        return np.concatenate([block.rmatvec(values[rows]) for block, rows, _ in self.slices()])

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs, a block at a time."""
        generator = generator_of(rng)
        positions = self.input_indices(xs)
        owners = self._owner(positions)
        drawn = np.empty(len(positions), dtype=np.intp)
        for k in np.unique(owners):
            block, where = self.blocks[k], np.flatnonzero(owners == k)
            inner = label_array(block.inputs)[positions[where] - self.input_starts[k]]
            results = block.sample(inner, generator).tolist()
            drawn[where] = [block.output_index(item) + int(self.output_starts[k]) for item in results]
        return self._named(drawn)

    def smallest_epsilon(self, metric: Metric) -> Level | None:
        """Infinite if two blocks are at finite distance; otherwise the worst block, on the metric's edges."""
        if metric.uniform_distance is not None and len(self.blocks) > 1:
            told = 0.0 if math.isinf(metric.uniform_distance) else math.inf
            return told, 0, self.shape[0] - 1, metric.uniform_distance
        edges = metric.edges
        if edges is None or not len(edges):
            return None
        owners = self._owner(edges.pairs)
        finite = np.isfinite(edges.lengths)
        apart = np.flatnonzero((owners[:, 0] != owners[:, 1]) & finite)
        if len(apart):
            i, j = edges.pairs[apart[0]]
            return math.inf, int(i), int(j), float(edges.lengths[apart[0]])
        levels = [self._block_level(k, edges, (owners[:, 0] == k) & finite) for k in range(len(self.blocks))]
        return max(levels, key=lambda level: level[0])

    def _block_level(self, k: int, edges: Edges, inside: NDArray[np.bool_]) -> Level:
        """ε of one block on its own edges."""
        block, start = self.blocks[k], int(self.input_starts[k])
        own = Edges(edges.pairs[inside] - start, edges.lengths[inside])
        if not len(own):
            return 0.0, start, start, 0.0
        known = block.smallest_epsilon(Metric.from_edges(own, block.inputs, block.shape[0]))
        value, i, j, distance = edge_level(block.relative_logs, own) if known is None else known
        return value, start + i, start + j, distance

    def __repr__(self) -> str:
        return f"Channel({len(self.blocks)} blocks, {self.shape[0]} inputs, {self.shape[1]} outputs)"


# ── Product channels: each record goes through a channel of its own, independently ──────────────────────────
# Privacy and leakage add up over the records, so a million records cost as much as one.
LARGEST_LABELS = 1_000_000


class ProductChannel(StructuredChannel):
    """Independent channels side by side; inputs and outputs are tuples, one entry a record.

    `factors` are (channel, how many records it serves), in the order of the records; a channel with
    infinitely many outputs stands there as its finite equivalent, and draws as itself.
    """

    def __init__(self, factors: Sequence[tuple[Channel, int]]) -> None:
        if not factors:
            raise ChannelError("factors is empty; a product needs at least one channel")
        for factor in factors:
            given = factor[0] if len(factor) == 2 else factor
            instance("one of the channels", given, Channel, "a channel, or (channel, records)", ChannelError)
        self.drawn = tuple(channel for channel, _ in factors)
        self.factors = tuple(
            (channel.finite(), whole("records", count, ChannelError)) for channel, count in factors
        )
        self.form: Form = common_form(channel for channel, _ in self.factors)
        self._cache: dict[str, Any] = {}

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Numbers of inputs and outputs: integers of a million digits for many records, made when asked."""
        return (
            math.prod(channel.shape[0] ** count for channel, count in self.factors),
            math.prod(channel.shape[1] ** count for channel, count in self.factors),
        )

    @property
    def records(self) -> int:
        """Number of records."""
        return sum(count for _, count in self.factors)

    @property
    def inputs(self) -> Labels:  # type: ignore[override]
        """Tuples of inputs, while there are few enough to list."""
        return self._tuples("inputs")

    @property
    def outputs(self) -> Labels:  # type: ignore[override]
        """Tuples of outputs, while there are few enough to list."""
        return self._tuples("outputs")

    def _tuples(self, side: str) -> Labels:
        key = f"{side} tuples"
        if key not in self._cache:
            size = self.shape[0 if side == "inputs" else 1]
            if size > LARGEST_LABELS:
                raise TooLargeError(
                    f"the {side} of {abbreviated(self)} are tuples of {self.records} entries, too many "
                    f"to list; "
                    f"use .factors for the {side} of one record",
                    size=size,
                )
            labels = [getattr(channel, side) for channel in self.channels()]
            self._cache[key] = tuple(cartesian(*labels))
        return self._cache[key]  # type: ignore[no-any-return]

    def channels(self) -> list[Channel]:
        """The channel of each record."""
        return [channel for channel, count in self.factors for _ in range(count)]

    def _entries(self) -> NDArray[Any]:
        combine = np.add if self.form == "log" else np.multiply

        def join(left: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
            outer = combine(left[:, None, :, None], right[None, :, None, :])
            return np.asarray(outer.reshape(left.shape[0] * right.shape[0], -1))

        return reduce(join, [self._part(channel) for channel in self.channels()])

    def _part(self, channel: Channel) -> NDArray[Any]:
        if self.form == "exact":
            assert channel.exact is not None
            # A copy: a product of one record must not hand out the factor's own matrix.
            return channel.exact.copy()
        return (channel.log_matrix if self.form == "log" else channel.rounded()).copy()

    def row(self, item: object) -> FloatArray:
        """Output distribution of one tuple, while it is short enough to list."""
        require_dense(1, self.shape[1], f"a row of {self!r}")
        entries = self._checked(item)
        rows = [channel.row(entry) for channel, entry in zip(self.channels(), entries, strict=True)]
        return reduce(lambda left, right: np.asarray(np.kron(left, right)), rows)

    def _checked(self, item: object) -> Sequence[object]:
        if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != self.records:
            raise ChannelError(f"{abbreviated(item)} is not an input; give a tuple of {self.records} entries")
        return item

    def matvec(self, vector: Any) -> FloatArray:
        """C·v one record at a time: O(size·outputs of a record), no matrix of the product."""
        matrices = [channel.rounded() for channel in self.channels()]
        return _along(self._vector(vector, "outputs"), matrices)

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C one record at a time."""
        matrices = [channel.rounded().T for channel in self.channels()]
        return _along(self._vector(vector, "inputs"), matrices)

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs for an array [draws, records] of inputs; the result has the same shape."""
        generator = generator_of(rng)
        table = xs if isinstance(xs, np.ndarray) else np.array(list(xs), dtype=object)
        if table.ndim != 2 or table.shape[1] != self.records:
            raise ChannelError(
                f"xs has shape {table.shape}; it must be [draws, {self.records}], one row of inputs a draw"
            )
        columns, start = [], 0
        for channel, (_, count) in zip(self.drawn, self.factors, strict=True):
            part = table[:, start : start + count]
            columns.append(channel.sample(part.ravel(), generator).reshape(part.shape))
            start += count
        mixed = len({column.dtype.kind for column in columns}) > 1
        return np.concatenate(columns, axis=1, dtype=object if mixed else None)

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{channel!r} for {count} record{'s' * (count > 1)}" for channel, count in self.factors[:3]
        )
        return f"Channel(product: {parts}{', …' if len(self.factors) > 3 else ''})"


def _along(vector: FloatArray, matrices: list[FloatArray]) -> FloatArray:
    """The product of matrices applied to a vector over tuples, one place of the tuples at a time."""
    done, left = vector, math.prod(matrix.shape[1] for matrix in matrices)
    right = 1
    for matrix in reversed(matrices):
        left //= matrix.shape[1]
        done = (matrix @ done.reshape(left, matrix.shape[1], right)).reshape(-1)
        right *= matrix.shape[0]
    return done
