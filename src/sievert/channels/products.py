"""Product channels: each record goes through a channel of its own, independently.

Privacy and leakage add up over the records, so a million records cost as much as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from itertools import product as cartesian
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel, Form
from sievert.channels.composition import require_dense, whole_number
from sievert.channels.structured import StructuredChannel
from sievert.errors import ChannelError, TooLargeError
from sievert.spaces.labels import Labels
from sievert.spaces.metric import Metric

__all__ = ["ProductChannel"]

FloatArray = NDArray[np.float64]
LARGEST_LABELS = 1_000_000


class ProductChannel(StructuredChannel):
    """Independent channels side by side; inputs and outputs are tuples, one entry a record.

    `factors` are (channel, how many records it serves), in the order of the records.
    """

    def __init__(self, factors: Sequence[tuple[Channel, int]]) -> None:
        if not factors:
            raise ChannelError("factors is empty; a product needs at least one channel")
        self.factors = tuple((channel.finite(), whole_number("records", count)) for channel, count in factors)
        forms = {channel.form for channel, _ in self.factors}
        self.form: Form = "exact" if forms == {"exact"} else "log" if "log" in forms else "float"
        self._shape = (
            math.prod(channel.shape[0] ** count for channel, count in self.factors),
            math.prod(channel.shape[1] ** count for channel, count in self.factors),
        )
        self._cache: dict[str, Any] = {}

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
            size = self._shape[0 if side == "inputs" else 1]
            if size > LARGEST_LABELS:
                raise TooLargeError(
                    f"the {side} of {self!r} are tuples of {self.records} entries, too many to list; "
                    f"use .factors for the {side} of one record",
                    size=size,
                )
            labels = [getattr(channel, side) for channel, count in self.factors for _ in range(count)]
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
            return channel.exact
        return channel.log_matrix if self.form == "log" else channel.rounded()

    def row(self, item: object) -> FloatArray:
        """Output distribution of one tuple, while it is short enough to list."""
        require_dense(1, self.shape[1], f"a row of {self!r}")
        entries = self._checked(item)
        rows = [channel.row(entry) for channel, entry in zip(self.channels(), entries, strict=True)]
        return reduce(lambda left, right: np.asarray(np.kron(left, right)), rows)

    def _checked(self, item: object) -> Sequence[object]:
        if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != self.records:
            raise ChannelError(f"{item!r} is not an input; give a tuple of {self.records} entries")
        return item

    def matvec(self, vector: Any) -> FloatArray:
        """C·v one record at a time: O(size·outputs of a record), no matrix of the product."""
        return self._along(vector, [channel.rounded() for channel in self.channels()])

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C one record at a time."""
        return self._along(vector, [channel.rounded().T for channel in self.channels()])

    def _along(self, vector: Any, matrices: list[FloatArray]) -> FloatArray:
        tensor = np.asarray(vector, dtype=np.float64).reshape([matrix.shape[1] for matrix in matrices])
        for axis, matrix in enumerate(matrices):
            tensor = np.moveaxis(np.tensordot(matrix, tensor, axes=(1, axis)), 0, axis)
        return tensor.ravel()

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs for an array [draws, records] of inputs; the result has the same shape."""
        generator = np.random.default_rng(rng)
        table = np.asarray(xs)
        if table.ndim != 2 or table.shape[1] != self.records:
            raise ChannelError(f"xs has shape {table.shape}; it must be [draws, {self.records}]")
        columns, start = [], 0
        for channel, count in self.factors:
            part = table[:, start : start + count]
            columns.append(channel.sample(part.ravel(), generator).reshape(part.shape))
            start += count
        return np.concatenate(columns, axis=1)

    def smallest_epsilon(self, metric: Metric) -> tuple[float, int, int, float] | None:
        """A metric on the tuples is explicit, so the matrix is; `record_epsilon` needs neither."""
        return None

    def __repr__(self) -> str:
        parts = ", ".join(f"{channel!r} for {count} records" for channel, count in self.factors[:3])
        return f"Channel(product: {parts}{', …' if len(self.factors) > 3 else ''})"
