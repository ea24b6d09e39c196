"""Sparse channels: only the non-zero entries are stored."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sievert.channels.structured import BLOCK_ENTRIES, Level, StructuredChannel, largest_rate, rate
from sievert.channels.validation import ROW_SUM_TOLERANCE
from sievert.errors import ChannelError
from sievert.numerics.randomness import generator_of
from sievert.spaces.metric import Metric

__all__ = ["SparseChannel"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


class SparseChannel(StructuredChannel):
    """A float channel stored by its non-zero entries (compressed rows)."""

    def __init__(
        self, matrix: Any, inputs: Iterable[object] | None = None, outputs: Iterable[object] | None = None
    ) -> None:
        table = _compressed(matrix)
        super().__init__("float", (int(table.shape[0]), int(table.shape[1])), inputs, outputs)
        self.table = table
        bad = np.flatnonzero(~(table.data >= 0) | np.isinf(table.data))
        if len(bad):
            row = int(np.searchsorted(table.indptr, bad[0], side="right")) - 1
            raise ChannelError(
                f"row {self.inputs[row]!r} of the channel has {table.data[bad[0]]} at output "
                f"{self.outputs[int(table.indices[bad[0]])]!r}, which is not a probability; entries must be "
                "numbers ≥ 0"
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
        return np.asarray(self.table @ self._vector(vector, "outputs"))

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C over the non-zero entries."""
        return np.asarray(self.table.T @ self._vector(vector, "inputs"))

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs from the cumulative sums of the stored rows, all draws at once."""
        generator = generator_of(rng)
        positions = self._indices(xs)
        total = np.cumsum(self.table.data)
        before = np.concatenate([[0.0], total])
        low, high = self.table.indptr[positions], self.table.indptr[positions + 1]
        targets = before[low] + generator.random(len(positions)) * (before[high] - before[low])
        chosen = np.clip(np.searchsorted(total, targets, side="right"), low, high - 1)
        return self._named(self.table.indices[chosen])

    def smallest_epsilon(self, metric: Metric) -> Level | None:
        """The edges of the metric, or one common distance, over the stored entries only."""
        if metric.uniform_distance is not None:
            return self._common_level(metric.uniform_distance)
        edges = metric.edges
        if edges is None:
            return None
        finite = np.isfinite(edges.lengths)
        pairs, lengths = edges.pairs[finite], edges.lengths[finite]
        best: Level = (0.0, 0, 0, 0.0)
        step = max(1, BLOCK_ENTRIES // max(1, int(np.diff(self.table.indptr).max())))
        for start in range(0, len(pairs), step):
            part = slice(start, start + step)
            gaps = self._gaps(pairs[part])
            best = max(best, largest_rate(gaps, pairs[part], lengths[part]), key=lambda level: level[0])
        return best

    def _gaps(self, pairs: IndexArray) -> FloatArray:
        """Largest |log ratio| of each pair of rows; inf where their supports differ."""
        table = self.table
        starts, counts = table.indptr[:-1].astype(np.intp), np.diff(table.indptr)
        gaps = np.full(len(pairs), math.inf)
        alike = np.flatnonzero(counts[pairs[:, 0]] == counts[pairs[:, 1]])
        if not len(alike):
            return gaps
        lengths = counts[pairs[alike, 0]]
        # Entry e of pair p is entry (e - offset of p) of either row.
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        first, second = (np.repeat(starts[pairs[alike, side]], lengths) + within for side in (0, 1))
        differs = np.add.reduceat(table.indices[first] != table.indices[second], offsets[:-1], dtype=np.intp)
        ratios = np.abs(np.log(table.data[first]) - np.log(table.data[second]))
        largest = np.maximum.reduceat(ratios, offsets[:-1])
        gaps[alike] = np.where(differs > 0, math.inf, largest)
        return gaps

    def _common_level(self, distance: float) -> Level:
        """Every pair at one distance: a column that some rows lack, or the widest column."""
        size = self.shape[0]
        columns = self.table.tocsc()
        counts = np.diff(columns.indptr)
        partial = np.flatnonzero((counts > 0) & (counts < size))
        if len(partial):
            rows = columns.indices[columns.indptr[partial[0]] : columns.indptr[partial[0] + 1]]
            lacking = int(np.flatnonzero(~np.isin(np.arange(size), rows))[0])
            return rate(math.inf, distance), int(rows[0]), lacking, distance
        dense = columns.data.reshape(-1, size)
        rows = columns.indices.reshape(-1, size)
        widest = int(np.argmax(dense.max(axis=1) / dense.min(axis=1)))
        high, low = int(dense[widest].argmax()), int(dense[widest].argmin())
        gap = math.log1p((dense[widest, high] - dense[widest, low]) / dense[widest, low])
        return rate(gap, distance), int(rows[widest, high]), int(rows[widest, low]), distance

    def __repr__(self) -> str:
        inputs, outputs = self.shape
        return f"Channel(sparse, {inputs} inputs, {outputs} outputs, {self.table.nnz} non-zero entries)"


def _compressed(matrix: Any) -> csr_array:
    """A copy by rows, entries of the same place added up, zeros dropped."""
    try:
        given = csr_array(matrix)
        if given.dtype.kind not in "biuf":
            raise TypeError("entries are not real numbers")
        table = csr_array(given, dtype=np.float64, copy=True)
    except (TypeError, ValueError):
        raise ChannelError(
            "matrix is ragged or not numeric; give a SciPy sparse matrix, or one row of probabilities for "
            "each input"
        ) from None
    if len(table.shape) != 2 or 0 in table.shape:
        raise ChannelError(f"matrix has shape {table.shape}; a channel needs at least one row and one column")
    table.sum_duplicates()
    table.eliminate_zeros()
    return table
