"""Channels known by a rule instead of a matrix.

A structured channel is a `Channel`: small ones behave like any other, because their matrix is built when
it is first needed; large ones answer what their rule answers in closed form and otherwise say how large
the matrix would be.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel, Form
from sievert.channels.composition import require_dense
from sievert.errors import ChannelError
from sievert.numerics.logs import log_of
from sievert.spaces.labels import Labels, labels_or_range
from sievert.spaces.metric import Metric

__all__ = ["StructuredChannel", "closest_pair"]

FloatArray = NDArray[np.float64]


class StructuredChannel(Channel):
    """Base of the channels given by a rule. Subclasses say how to build the matrix and how to multiply."""

    def __init__(
        self,
        form: Form,
        shape: tuple[int, int],
        inputs: Iterable[object] | None = None,
        outputs: Iterable[object] | None = None,
    ) -> None:
        self.form = form
        self._shape = shape
        self.inputs: Labels = labels_or_range(inputs, shape[0], "inputs", ChannelError)
        self.outputs: Labels = labels_or_range(outputs, shape[1], "outputs", ChannelError)
        self._cache: dict[str, Any] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """(number of inputs, number of outputs)."""
        return self._shape

    @property
    def _data(self) -> NDArray[Any]:  # type: ignore[override]
        if "data" not in self._cache:
            require_dense(*self.shape, f"the matrix of {self!r}")
            data = self._entries()
            data.setflags(write=False)
            self._cache["data"] = data
        return self._cache["data"]  # type: ignore[no-any-return]

    def _entries(self) -> NDArray[Any]:
        """The matrix in the channel's form."""
        raise NotImplementedError

    def column_maxima(self) -> FloatArray | None:
        """Largest entry of each column without the matrix, or None where the rule knows no such way."""
        return None

    def smallest_epsilon(self, metric: Metric) -> tuple[float, int, int, float] | None:
        """ε for a metric with the positions of the pair that attains it and their distance, in closed form.

        None where the rule knows no closed form; the matrix is then used.
        """
        return None

    def witness(self, i: int, j: int) -> tuple[int, int, int, Fraction | None]:
        """The inputs, likelier one first, the output that tells them apart best, and their exact ratio."""
        rows = [log_of(self.row(self.inputs[k])) for k in (i, j)]
        both = np.isneginf(rows[0]) & np.isneginf(rows[1])
        with np.errstate(invalid="ignore"):
            difference = np.where(both, 0.0, rows[0] - rows[1])
        output = int(np.argmax(np.abs(difference)))
        return (i, j, output, None) if difference[output] > 0 else (j, i, output, None)


def closest_pair(metric: Metric) -> tuple[int, int, float]:
    """Two different points at the least distance, and that distance."""
    if metric.uniform_distance is not None:
        return 0, 1, metric.uniform_distance
    edges = metric.edges
    if edges is not None and len(edges):
        k = int(np.argmin(edges.lengths))
        return int(edges.pairs[k, 0]), int(edges.pairs[k, 1]), float(edges.lengths[k])
    if edges is not None:
        return 0, 1, np.inf
    masked = metric.matrix + np.where(np.eye(metric.size, dtype=bool), np.inf, 0.0)
    i, j = np.unravel_index(int(np.argmin(masked)), masked.shape)
    return int(i), int(j), float(masked[i, j])
