"""Channels known by a rule instead of a matrix.

A structured channel is a `Channel`: small ones behave like any other, because their matrix is built when
it is first needed; large ones answer what their rule answers in closed form and otherwise say how large
the matrix would be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel, Form, label_array
from sievert.channels.composition import require_dense
from sievert.errors import ChannelError
from sievert.numerics.logs import log_of
from sievert.spaces.labels import Labels, labels_or_range
from sievert.spaces.metric import Edges, Metric

__all__ = ["Level", "StructuredChannel", "closest_pair", "edge_level", "rate"]

FloatArray = NDArray[np.float64]
# ε for a metric, the positions of the pair that attains it, and their distance.
Level = tuple[float, int, int, float]

BLOCK_ENTRIES = 2_000_000


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

    @property
    def relative_logs(self) -> FloatArray:
        """As of every channel; refused where the matrix would be too large."""
        require_dense(*self.shape, f"the matrix of {self!r}")
        return super().relative_logs

    def _entries(self) -> NDArray[Any]:
        """The matrix in the channel's form."""
        raise NotImplementedError

    def smallest_epsilon(self, metric: Metric) -> Level | None:
        """ε for a metric on the inputs, in their order, with the pair that attains it, in closed form.

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

    def _named(self, outputs: NDArray[np.intp]) -> NDArray[Any]:
        """Labels of output positions."""
        if isinstance(self.outputs, range):
            return np.asarray(outputs * self.outputs.step + self.outputs.start)
        return np.asarray(label_array(self.outputs)[outputs])


def closest_pair(metric: Metric) -> tuple[int, int, float]:
    """Two different points at the least distance, and that distance."""
    if metric.uniform_distance is not None:
        return 0, 1, metric.uniform_distance
    edges = metric.edges
    if edges is not None:
        lengths = np.where(edges.pairs[:, 0] == edges.pairs[:, 1], np.inf, edges.lengths)
        if not len(edges) or np.isinf(lengths).all():
            return 0, 1, np.inf
        k = int(np.argmin(lengths))
        return int(edges.pairs[k, 0]), int(edges.pairs[k, 1]), float(lengths[k])
    masked = metric.matrix + np.where(np.eye(metric.size, dtype=bool), np.inf, 0.0)
    i, j = np.unravel_index(int(np.argmin(masked)), masked.shape)
    return int(i), int(j), float(masked[i, j])


def rate(distance: float, unit: float) -> float:
    """distance/unit with 0/anything = 0, anything/inf = 0, positive/0 = inf (Fernandes, Def 4.4.1)."""
    if distance == 0 or math.isinf(unit):
        return 0.0
    return math.inf if unit == 0 else distance / unit


def edge_level(logs: FloatArray, edges: Edges) -> Level:
    """Largest rate of |log ratio| to length over the edges, a block of edges at a time."""
    best: Level = (0.0, 0, 0, 0.0)
    step = max(1, BLOCK_ENTRIES // logs.shape[1])
    for start in range(0, len(edges), step):
        pairs, lengths = edges.pairs[start : start + step], edges.lengths[start : start + step]
        first, second = logs[pairs[:, 0]], logs[pairs[:, 1]]
        with np.errstate(invalid="ignore"):
            gaps = np.where(np.isneginf(first) & np.isneginf(second), 0.0, np.abs(first - second)).max(axis=1)
        best = max(best, largest_rate(gaps, pairs, lengths), key=lambda level: level[0])
    return best


def largest_rate(gaps: FloatArray, pairs: NDArray[np.intp], lengths: FloatArray) -> Level:
    """The pair with the largest rate of gap to length."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where((gaps == 0) | np.isinf(lengths), 0.0, gaps / lengths)
    k = int(np.argmax(rates))
    return float(rates[k]), int(pairs[k, 0]), int(pairs[k, 1]), float(lengths[k])
