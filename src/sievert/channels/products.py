"""Product channels: each record goes through a channel of its own, independently.

Privacy and leakage add up over the records, so a million records cost as much as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, reduce
from itertools import product as cartesian
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel, Form
from sievert.channels.composition import common_form, require_dense
from sievert.channels.structured import StructuredChannel
from sievert.errors import ChannelError, TooLargeError
from sievert.numerics.checks import brief, whole
from sievert.numerics.randomness import generator_of
from sievert.spaces.labels import Labels

__all__ = ["ProductChannel"]

FloatArray = NDArray[np.float64]
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
            if len(factor) != 2 or not isinstance(factor[0], Channel):
                raise ChannelError(
                    f"channels: {brief(factor[0])} is not a channel; give channels, or (channel, records)"
                )
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
                    f"the {side} of {brief(self)} are tuples of {self.records} entries, too many to list; "
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
            raise ChannelError(f"{brief(item)} is not an input; give a tuple of {self.records} entries")
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
