"""Channels in blocks: disjoint groups of inputs with outputs of their own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel, label_array
from sievert.channels.composition import common_form
from sievert.channels.structured import Level, StructuredChannel, edge_level
from sievert.errors import ChannelError
from sievert.numerics.checks import brief
from sievert.numerics.randomness import generator_of
from sievert.spaces.metric import Edges, Metric

__all__ = ["BlockChannel"]

FloatArray = NDArray[np.float64]


class BlockChannel(StructuredChannel):
    """A block-diagonal matrix: the block of an input is revealed; inside it the block's channel acts."""

    def __init__(self, blocks: Sequence[Channel]) -> None:
        if not blocks:
            raise ChannelError("blocks is empty; give at least one channel")
        for block in blocks:
            if not isinstance(block, Channel):
                raise ChannelError(f"blocks: {brief(block)} is not a channel")
        self.blocks = tuple(block.finite() for block in blocks)
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
        positions = self._indices(xs)
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
        known = None
        if isinstance(block, StructuredChannel):
            known = block.smallest_epsilon(Metric.from_edges(own, block.inputs, block.shape[0]))
        value, i, j, distance = edge_level(block.relative_logs, own) if known is None else known
        return value, start + i, start + j, distance

    def __repr__(self) -> str:
        return f"Channel({len(self.blocks)} blocks, {self.shape[0]} inputs, {self.shape[1]} outputs)"
