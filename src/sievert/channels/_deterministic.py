"""Deterministic programs: each secret has one output, so a program is a partition of the secrets.

`DeterministicChannel` knows the output of every secret; `PartitionChannel` knows only how many blocks of
each size there are, which is all that a uniform prior needs, and works for 2^32 secrets or more.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels._channel import Level
from sievert.channels._composition import require_dense
from sievert.channels._structured import StructuredChannel, closest_pair
from sievert.errors import ChannelError, TooLargeError
from sievert.numerics import abbreviated, count_of, fractions_of, is_whole, readable, taken, whole
from sievert.numerics import function as callable_of
from sievert.spaces import Labels, Metric, label, labels_or_range

__all__ = ["DeterministicChannel", "PartitionChannel"]
LARGEST_INPUTS = 20_000_000


class DeterministicChannel(StructuredChannel):
    """A function of the secret, as the position of the output of every input; every output occurs."""

    def __init__(self, images: NDArray[np.intp], inputs: Labels, outputs: Labels) -> None:
        super().__init__("exact", (len(images), len(outputs)), inputs, outputs)
        self.images = images

    @classmethod
    def from_function(
        cls, function: Callable[[Any], object], inputs: int | Iterable[object]
    ) -> DeterministicChannel:
        """Run the program on every input; outputs are its distinct results, in order of appearance."""
        count = min(int(inputs), 2**62) if is_whole(inputs) else None
        items = inputs if count is None else range(count)
        if isinstance(items, range) and count_of(items) > LARGEST_INPUTS:
            raise TooLargeError(
                f"inputs: running the program on {len(items)} inputs is too long (at most {LARGEST_INPUTS}); "
                "if you know how many inputs share each output, use Channel.from_blocks",
                size=len(items),
            )
        function = callable_of("function", function, "an input", ChannelError)
        listed = items if isinstance(items, range) else taken("inputs", items, ChannelError, "inputs")
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
                    f"function raised {type(problem).__name__}: {problem} on the input {abbreviated(item)}; "
                    "it must return a label for every input"
                ) from problem
            images[position] = found.setdefault(result, len(found))
        return cls(images, labels, tuple(found))

    def block_sizes(self) -> dict[int, int]:
        """How many outputs have each number of inputs."""
        sizes, counts = np.unique(np.bincount(self.images), return_counts=True)
        return dict(zip(sizes.tolist(), counts.tolist(), strict=True))

    def explicit(self) -> DeterministicChannel:
        """The program with the output of every input written out: itself."""
        return self

    def _entries(self) -> NDArray[Any]:
        table = np.zeros(self.shape, dtype=np.int64)
        table[np.arange(len(self.images)), self.images] = 1
        return fractions_of(table)

    def row(self, item: object) -> FloatArray:
        """Output distribution of one labelled input: a point."""
        row = np.zeros(self.shape[1])
        row[self.images[self.input_index(item)]] = 1.0
        return row

    def matvec(self, vector: Any) -> FloatArray:
        """C·v: the value at each input's output."""
        return np.asarray(self._vector(vector, "outputs")[self.images])

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C: total weight of each output's inputs."""
        weights = self._vector(vector, "inputs")
        return np.bincount(self.images, weights, minlength=self.shape[1]).astype(np.float64, copy=False)

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """The output of each input; nothing is random."""
        return self._named(self.images[self.input_indices(xs)])

    def smallest_epsilon(self, metric: Metric) -> Level | None:
        """Infinite as soon as two inputs at finite distance have different outputs."""
        if self.shape[1] == 1:
            return 0.0, 0, 0, 0.0
        if metric.uniform_distance is not None:
            # Input 0 has output 0, so the first input with another output is told from it.
            other = int(np.argmax(self.images != self.images[0]))
            return _told_apart(0, other, metric.uniform_distance)
        edges = metric.edges
        if edges is None:
            return None
        split = np.flatnonzero(
            (self.images[edges.pairs[:, 0]] != self.images[edges.pairs[:, 1]]) & np.isfinite(edges.lengths)
        )
        if not len(split):
            return 0.0, 0, 0, 0.0
        i, j = edges.pairs[split[0]]
        return _told_apart(int(i), int(j), float(edges.lengths[split[0]]))

    def __repr__(self) -> str:
        return f"Channel(deterministic, {self.shape[0]} inputs, {self.shape[1]} outputs)"


class PartitionChannel(StructuredChannel):
    """A deterministic program known by the sizes of its blocks: {size: how many blocks}.

    Inputs and outputs are numbered; the blocks lie one after another, from the smallest to the largest.
    """

    def __init__(self, sizes: Mapping[int, int]) -> None:
        total = sum(size * count for size, count in sizes.items())
        if total > sys.maxsize:
            raise TooLargeError(
                f"sizes: the blocks hold {readable(total)} inputs together; at most {sys.maxsize} can be "
                "numbered",
                size=total,
            )
        super().__init__("exact", (total, sum(sizes.values())), range(total), range(sum(sizes.values())))
        self.sizes = dict(sorted(sizes.items()))

    @classmethod
    def from_sizes(
        cls, sizes: Mapping[int, int] | Iterable[int], inputs: int | None = None
    ) -> PartitionChannel:
        """Block sizes as a list, or as {size: how many}; `inputs` is checked against their sum."""
        counted: dict[int, int] = {}
        pairs = (
            sizes.items()
            if isinstance(sizes, Mapping)
            else ((size, 1) for size in taken("sizes", sizes, ChannelError, "sizes"))
        )
        for size, count in pairs:
            for name, value in (("size", size), ("count", count)):
                if not is_whole(value) or value < 1:
                    raise ChannelError(f"sizes: the {name} {abbreviated(value)} is not a whole number ≥ 1")
            counted[int(size)] = counted.get(int(size), 0) + int(count)
        if not counted:
            raise ChannelError("sizes is empty; a program has at least one block")
        channel = cls(counted)
        if inputs is not None and channel.shape[0] != whole("inputs", inputs, ChannelError):
            raise ChannelError(
                f"sizes: the blocks hold {channel.shape[0]} inputs together but there are {inputs}; "
                "block sizes must sum to the number of inputs"
            )
        return channel

    def block_sizes(self) -> dict[int, int]:
        """How many outputs have each number of inputs."""
        return self.sizes

    def explicit(self) -> DeterministicChannel:
        """The same program with the output of every input written out."""
        if self.shape[0] > LARGEST_INPUTS:
            raise TooLargeError(
                f"the outputs of {self.shape[0]} inputs would have to be listed, one by one; at most "
                f"{LARGEST_INPUTS} are",
                size=self.shape[0],
            )
        images = np.repeat(np.arange(self.shape[1]), self._lengths())
        return DeterministicChannel(images, self.inputs, self.outputs)

    def _lengths(self) -> NDArray[np.int64]:
        """The size of each block."""
        return np.repeat(np.array(list(self.sizes)), np.array(list(self.sizes.values())))

    def _entries(self) -> NDArray[Any]:
        return self.explicit()._entries()

    def row(self, item: object) -> FloatArray:
        """Output distribution of one input: the point at its block."""
        position = self.input_index(item)
        require_dense(1, self.shape[1], f"a row of {self!r}")
        row = np.zeros(self.shape[1])
        row[self.block_of(position)] = 1.0
        return row

    def block_of(self, position: int) -> int:
        """Block of an input."""
        block = 0
        for size, count in self.sizes.items():
            if position < size * count:
                return block + position // size
            position -= size * count
            block += count
        raise ChannelError(f"position {position} is beyond the last input")

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """The block of each input; nothing is random."""
        return np.array([self.block_of(int(position)) for position in self.input_indices(xs)], dtype=np.int64)

    def matvec(self, vector: Any) -> FloatArray:
        """C·v: the value of each input's block."""
        require_dense(1, self.shape[0], f"the product of {self!r} with a vector")
        return np.repeat(self._vector(vector, "outputs"), self._lengths())

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C: total weight of each block."""
        weights = self._vector(vector, "inputs")
        starts = np.concatenate([[0], np.cumsum(self._lengths())[:-1]])
        return np.asarray(np.add.reduceat(weights, starts))

    def smallest_epsilon(self, metric: Metric) -> Level | None:
        """0 for one block; infinite for a common finite distance; otherwise input by input."""
        if self.shape[1] == 1:
            return 0.0, 0, 0, 0.0
        if metric.uniform_distance is not None:
            return _told_apart(0, self.shape[0] - 1, closest_pair(metric)[2])
        return self.explicit().smallest_epsilon(metric)

    def witness(self, i: int, j: int) -> tuple[int, int, int, None]:
        """The block of the first input."""
        return i, j, self.block_of(i), None

    def __repr__(self) -> str:
        return f"Channel(deterministic, {self.shape[0]} inputs, {self.shape[1]} outputs)"


def _told_apart(i: int, j: int, distance: float) -> Level:
    return (0.0 if math.isinf(distance) else math.inf), i, j, distance
