"""Channels in blocks (disjoint groups of inputs with outputs of their own) and sparse channels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sievert.channels.channel import Channel, Form, label_array
from sievert.channels.structured import StructuredChannel
from sievert.channels.validation import ROW_SUM_TOLERANCE
from sievert.errors import ChannelError
from sievert.spaces.metric import Metric

__all__ = ["BlockChannel", "SparseChannel"]

FloatArray = NDArray[np.float64]


class BlockChannel(StructuredChannel):
    """A block-diagonal matrix: the block of an input is revealed; inside it the block's channel acts."""

    def __init__(self, blocks: Sequence[Channel]) -> None:
        if not blocks:
            raise ChannelError("blocks is empty; give at least one channel")
        self.blocks = tuple(block.finite() for block in blocks)
        forms = {block.form for block in self.blocks}
        form: Form = "exact" if forms == {"exact"} else "log" if "log" in forms else "float"
        self.input_starts = np.concatenate([[0], np.cumsum([block.shape[0] for block in self.blocks])])
        self.output_starts = np.concatenate([[0], np.cumsum([block.shape[1] for block in self.blocks])])
        shape = (int(self.input_starts[-1]), int(self.output_starts[-1]))
        super().__init__(form, shape, self._labels("inputs"), self._labels("outputs"))

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

    def _entries(self) -> NDArray[Any]:
        blank: Any = -np.inf if self.form == "log" else 0
        data = np.full(self.shape, blank, dtype=object if self.form == "exact" else np.float64)
        if self.form == "exact":
            zero = self.blocks[0]._data.ravel()[0] * 0
            data[:] = zero
        for block, rows, columns in self.slices():
            part = block.log_matrix if self.form == "log" else block._data
            data[rows, columns] = block.rounded() if self.form == "float" else part
        return data

    def row(self, item: object) -> FloatArray:
        """Output distribution of one labelled input."""
        position = self.input_index(item)
        k = int(np.searchsorted(self.input_starts, position, side="right")) - 1
        row = np.zeros(self.shape[1])
        block = self.blocks[k]
        inner = block.inputs[position - int(self.input_starts[k])]
        row[self.output_starts[k] : self.output_starts[k + 1]] = block.row(inner)
        return row

    def matvec(self, vector: Any) -> FloatArray:
        """C·v, a block at a time."""
        values = np.asarray(vector, dtype=np.float64)
        return np.concatenate([block.matvec(values[columns]) for block, _, columns in self.slices()])

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C, a block at a time."""
        values = np.asarray(vector, dtype=np.float64)
        return np.concatenate([block.rmatvec(values[rows]) for block, rows, _ in self.slices()])

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs, a block at a time."""
        generator = np.random.default_rng(rng)
        positions = self._indices(xs)
        owners = np.searchsorted(self.input_starts, positions, side="right") - 1
        drawn = np.empty(len(positions), dtype=np.intp)
        for k in np.unique(owners):
            block, where = self.blocks[k], np.flatnonzero(owners == k)
            inner = label_array(block.inputs)[positions[where] - self.input_starts[k]]
            results = block.sample(inner, generator).tolist()
            drawn[where] = [block.output_index(item) + int(self.output_starts[k]) for item in results]
        return label_array(self.outputs)[drawn]

    def smallest_epsilon(self, metric: Metric) -> tuple[float, int, int, float] | None:
        """Infinite if two blocks are at finite distance; otherwise the worst block, on the metric's edges."""
        edges = metric.edges
        if edges is None or not len(edges):
            return None
        owner = np.searchsorted(self.input_starts, edges.pairs, side="right") - 1
        apart = np.flatnonzero((owner[:, 0] != owner[:, 1]) & np.isfinite(edges.lengths))
        if not len(apart):
            return None
        i, j = edges.pairs[apart[0]]
        return math.inf, int(i), int(j), float(edges.lengths[apart[0]])

    def __repr__(self) -> str:
        return f"Channel({len(self.blocks)} blocks, {self.shape[0]} inputs, {self.shape[1]} outputs)"


class SparseChannel(StructuredChannel):
    """A float channel stored by its non-zero entries (compressed rows)."""

    def __init__(
        self, matrix: Any, inputs: Iterable[object] | None = None, outputs: Iterable[object] | None = None
    ) -> None:
        table = csr_array(matrix, dtype=np.float64)
        table.sum_duplicates()
        table.eliminate_zeros()
        if 0 in table.shape:
            raise ChannelError("matrix is empty; a channel needs at least one row and one column")
        super().__init__("float", (int(table.shape[0]), int(table.shape[1])), inputs, outputs)
        self.table = table
        bad = np.flatnonzero(~(table.data >= 0) | np.isinf(table.data))
        if len(bad):
            row = int(np.searchsorted(table.indptr, bad[0], side="right")) - 1
            raise ChannelError(
                f"row {self.inputs[row]!r} of the channel has {table.data[bad[0]]} at output "
                f"{self.outputs[int(table.indices[bad[0]])]!r}, which is not a probability"
            )
        sums = np.asarray(table.sum(axis=1)).ravel()
        off = np.flatnonzero(np.abs(sums - 1) > ROW_SUM_TOLERANCE)
        if len(off):
            raise ChannelError(
                f"row {self.inputs[int(off[0])]!r} of the channel sums to {sums[off[0]]:.12g}; rows must sum "
                f"to 1 within {ROW_SUM_TOLERANCE:g}"
            )

    def _entries(self) -> NDArray[Any]:
        return np.asarray(self.table.toarray())

    def row(self, item: object) -> FloatArray:
        """Output distribution of one labelled input."""
        return np.asarray(self.table[[self.input_index(item)]].toarray()[0])

    def matvec(self, vector: Any) -> FloatArray:
        """C·v over the non-zero entries."""
        return np.asarray(self.table @ np.asarray(vector, dtype=np.float64))

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C over the non-zero entries."""
        return np.asarray(self.table.T @ np.asarray(vector, dtype=np.float64))

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs from the cumulative sums of the stored rows, all draws at once."""
        generator = np.random.default_rng(rng)
        positions = self._indices(xs)
        total = np.cumsum(self.table.data)
        before = np.concatenate([[0.0], total])
        low, high = self.table.indptr[positions], self.table.indptr[positions + 1]
        targets = before[low] + generator.random(len(positions)) * (before[high] - before[low])
        chosen = np.clip(np.searchsorted(total, targets, side="right"), low, high - 1)
        return np.asarray(label_array(self.outputs)[self.table.indices[chosen]])

    def smallest_epsilon(self, metric: Metric) -> tuple[float, int, int, float] | None:
        """The edges of the metric, over the stored entries only."""
        edges = metric.edges
        if edges is None or not len(edges):
            return None
        best = (0.0, 0, 0, 0.0)
        starts, columns, data = self.table.indptr, self.table.indices, self.table.data
        for (i, j), length in zip(edges.pairs.tolist(), edges.lengths.tolist(), strict=True):
            if math.isinf(length):
                continue
            a, b = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
            if not np.array_equal(columns[a], columns[b]):
                return math.inf, i, j, length
            gap = float(np.abs(np.log(data[a] / data[b])).max())
            ratio = 0.0 if gap == 0 else math.inf if length == 0 else gap / length
            if ratio > best[0]:
                best = (ratio, i, j, length)
        return best

    def __repr__(self) -> str:
        inputs, outputs = self.shape
        return f"Channel(sparse, {inputs} inputs, {outputs} outputs, {self.table.nnz} non-zero entries)"
