"""Deterministic programs: each secret has one output, so a program is a partition of the secrets.

`DeterministicChannel` knows the output of every secret; `PartitionChannel` knows only how many blocks of
each size there are, which is all that a uniform prior needs, and works for 2^32 secrets or more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.structured import StructuredChannel
from sievert.errors import ChannelError, TooLargeError
from sievert.numerics.rationals import fractions_of
from sievert.spaces.labels import Labels, label, labels_or_range
from sievert.spaces.metric import Metric

__all__ = ["DeterministicChannel", "PartitionChannel"]

FloatArray = NDArray[np.float64]
LARGEST_INPUTS = 20_000_000


class DeterministicChannel(StructuredChannel):
    """A function of the secret, as the position of the output of every input."""

    def __init__(self, images: NDArray[np.intp], inputs: Labels, outputs: Labels) -> None:
        super().__init__("exact", (len(images), len(outputs)), inputs, outputs)
        self.images = images

    @classmethod
    def from_function(
        cls, function: Callable[[Any], object], inputs: int | Iterable[object]
    ) -> DeterministicChannel:
        """Run the program on every input; outputs are its distinct results, in order of appearance."""
        items = range(inputs) if isinstance(inputs, int) else inputs
        if isinstance(items, range) and len(items) > LARGEST_INPUTS:
            raise TooLargeError(
                f"inputs: running the program on {len(items)} inputs is too long (at most {LARGEST_INPUTS}); "
                "if you know how many inputs share each output, use Channel.from_blocks",
                size=len(items),
            )
        listed = items if isinstance(items, range) else list(items)
        labels = labels_or_range(listed, len(listed), "inputs", ChannelError)
        if not labels:
            raise ChannelError("inputs is empty; a channel needs at least one input")
        found: dict[Any, int] = {}
        images = np.empty(len(labels), dtype=np.intp)
        for position, item in enumerate(labels):
            try:
                result = label(function(item))
            except Exception as problem:
                raise ChannelError(
                    f"function raised {type(problem).__name__}: {problem} on the input {item!r}; "
                    "it must return a label for every input"
                ) from problem
            images[position] = found.setdefault(result, len(found))
        return cls(images, labels, tuple(found))

    def _entries(self) -> NDArray[Any]:
        table = np.zeros(self.shape, dtype=np.int64)
        table[np.arange(len(self.images)), self.images] = 1
        return fractions_of(table.tolist())

    def row(self, item: object) -> FloatArray:
        """Output distribution of one labelled input: a point."""
        row = np.zeros(self.shape[1])
        row[self.images[self.input_index(item)]] = 1.0
        return row

    def matvec(self, vector: Any) -> FloatArray:
        """C·v: the value at each input's output."""
        return np.asarray(np.asarray(vector, dtype=np.float64)[self.images])

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C: total weight of each output's inputs."""
        weights = np.asarray(vector, dtype=np.float64)
        return np.bincount(self.images, weights, minlength=self.shape[1]).astype(np.float64, copy=False)

    def smallest_epsilon(self, metric: Metric) -> tuple[float, int, int, float] | None:
        """Infinite as soon as two inputs at finite distance have different outputs."""
        if self.shape[1] == 1:
            return 0.0, 0, 0, 0.0
        edges = metric.edges
        if edges is None:
            return None
        split = np.flatnonzero(
            (self.images[edges.pairs[:, 0]] != self.images[edges.pairs[:, 1]]) & np.isfinite(edges.lengths)
        )
        if not len(split):
            return 0.0, 0, 0, 0.0
        i, j = edges.pairs[split[0]]
        return math.inf, int(i), int(j), float(edges.lengths[split[0]])

    def __repr__(self) -> str:
        return f"Channel(deterministic, {self.shape[0]} inputs, {self.shape[1]} outputs)"


class PartitionChannel(StructuredChannel):
    """A deterministic program known by the sizes of its blocks: {size: how many blocks}."""

    def __init__(self, sizes: Mapping[int, int]) -> None:
        total = sum(size * count for size, count in sizes.items())
        super().__init__("exact", (total, sum(sizes.values())), range(total), range(sum(sizes.values())))
        self.sizes = dict(sorted(sizes.items()))

    @classmethod
    def from_sizes(
        cls, sizes: Mapping[int, int] | Iterable[int], inputs: int | None = None
    ) -> PartitionChannel:
        """Block sizes as a list, or as {size: how many}; `inputs` is checked against their sum."""
        counted: dict[int, int] = {}
        pairs = sizes.items() if isinstance(sizes, Mapping) else ((size, 1) for size in sizes)
        for size, count in pairs:
            for name, value in (("size", size), ("count", count)):
                if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                    raise ChannelError(f"sizes: the {name} {value!r} is not a whole number ≥ 1")
            counted[int(size)] = counted.get(int(size), 0) + int(count)
        if not counted:
            raise ChannelError("sizes is empty; a program has at least one block")
        channel = cls(counted)
        if inputs is not None and channel.shape[0] != inputs:
            raise ChannelError(
                f"sizes: the blocks hold {channel.shape[0]} inputs together but there are {inputs}; "
                "block sizes must sum to the number of inputs"
            )
        return channel

    def _entries(self) -> NDArray[Any]:
        return fractions_of(np.repeat(np.eye(self.shape[1], dtype=np.int64), self._sizes(), axis=0).tolist())

    def _sizes(self) -> list[int]:
        return [size for size, count in self.sizes.items() for _ in range(count)]

    def row(self, item: object) -> FloatArray:
        """Output distribution of one input: the point at its block (inputs lie in order of block size)."""
        position = self.input_index(item)
        row = np.zeros(self.shape[1])
        row[self.block_of(position)] = 1.0
        return row

    def block_of(self, position: int) -> int:
        """Block of an input, the blocks being laid out from the smallest size to the largest."""
        block = 0
        for size, count in self.sizes.items():
            if position < size * count:
                return block + position // size
            position -= size * count
            block += count
        raise ChannelError(f"position {position} is beyond the last input")

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """The block of each input; nothing is random."""
        return np.array([self.block_of(self.input_index(item)) for item in xs])

    def matvec(self, vector: Any) -> FloatArray:
        """C·v: the value of each input's block."""
        return np.repeat(np.asarray(vector, dtype=np.float64), self._sizes())

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C: total weight of each block."""
        starts = np.concatenate([[0], np.cumsum(self._sizes())[:-1]])
        return np.asarray(np.add.reduceat(np.asarray(vector, dtype=np.float64), starts))

    def smallest_epsilon(self, metric: Metric) -> tuple[float, int, int, float] | None:
        """0 for one block; otherwise the metric decides which pairs count, so the matrix is needed."""
        return (0.0, 0, 0, 0.0) if self.shape[1] == 1 else None

    def __repr__(self) -> str:
        return f"Channel(deterministic, {self.shape[0]} inputs, {self.shape[1]} outputs)"
