"""Channels known by a rule instead of a matrix.

A structured channel is a `Channel`: small ones behave like any other, because their matrix is built when
it is first needed; large ones answer what their rule answers in closed form and otherwise say how large
the matrix would be. The parameter of a family is eps in nats, or alpha = e^-eps (rational where entries are
exact).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, IndexArray
from sievert.channels._channel import Channel, Level, label_array
from sievert.channels._composition import require_dense
from sievert.channels._constructors import ROW_SUM_TOLERANCE, Form
from sievert.channels._laws import EpsilonOrAlpha
from sievert.errors import ChannelError
from sievert.numerics import generator_of, holds_masked
from sievert.spaces import Edges, EvenNumbers, Labels, Metric, labels_or_range

if TYPE_CHECKING:
    from scipy.sparse import csr_array


__all__ = [
    "ResponseChannel",
    "SparseChannel",
    "StructuredChannel",
    "closest_pair",
    "edge_level",
    "rate",
]

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

    def is_rule_beyond(self, entries: int) -> bool:
        """Whether its matrix would have more entries than this."""
        return self.shape[0] * self.shape[1] > entries

    def _named(self, outputs: NDArray[np.intp]) -> NDArray[Any]:
        """Labels of output positions."""
        if isinstance(self.outputs, range):
            return np.asarray(outputs * self.outputs.step + self.outputs.start)
        if isinstance(self.outputs, EvenNumbers):
            # Only those that are asked for are made.
            places, inverse = np.unique(outputs, return_inverse=True)
            return np.asarray(label_array([self.outputs[place] for place in places.tolist()])[inverse])
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


# ── Sparse channels: only the non-zero entries are stored ───────────────────────────────────────────────────


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
        positions = self.input_indices(xs)
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
    from scipy.sparse import csr_array

    try:
        if holds_masked(matrix):
            raise ValueError("an entry is missing")
        given: Any = csr_array(matrix)
        if given.dtype.kind not in "biuf":
            raise TypeError("entries are not real numbers")
        table: csr_array = csr_array(given, dtype=np.float64, copy=True)
    except (TypeError, ValueError, RecursionError):
        raise ChannelError(
            "matrix is ragged or not numeric; give a SciPy sparse matrix, or one row of probabilities for "
            "each input"
        ) from None
    if len(table.shape) != 2 or 0 in table.shape:
        raise ChannelError(f"matrix has shape {table.shape}; a channel needs at least one row and one column")
    table.sum_duplicates()
    table.eliminate_zeros()
    return table


# ── Randomised response on any number of values: one probability for the truth, one for every lie ───────────


class ResponseChannel(StructuredChannel):
    """C = lie·J + (truth - lie)·I on n values, J all ones; truth + (n-1)·lie = 1.

    Stored as two numbers; every product with it costs O(n).
    """

    def __init__(
        self,
        size: int,
        level: EpsilonOrAlpha,
        labels: Iterable[object] | None = None,
    ) -> None:
        super().__init__("log" if level.alpha is None else "exact", (size, size), labels, labels)
        self.level = level
        self.eps = eps = level.eps
        self.alpha = level.alpha
        # truth = 1/(1 + (n-1)·e^-eps), also when e^-eps is below the smallest float.
        self.log_truth = -math.log1p((size - 1) * math.exp(-eps))
        self.log_lie = self.log_truth - eps if size > 1 else -math.inf

    @property
    def is_mixed(self) -> bool:
        """Whether truth and lies both occur and differ in probability."""
        return 0 < self.eps < math.inf

    @property
    def truth(self) -> Fraction | float:
        """Probability of reporting the true value."""
        if self.alpha is not None:
            return 1 / (1 + (self.shape[0] - 1) * self.alpha)
        return math.exp(self.log_truth)

    @property
    def lie(self) -> Fraction | float:
        """Probability of reporting one given other value (0 where there is none)."""
        if self.alpha is not None and self.shape[0] == 1:
            return Fraction(0)
        if self.alpha is not None:
            return self.alpha / (1 + (self.shape[0] - 1) * self.alpha)
        return math.exp(self.log_lie)

    def _entries(self) -> NDArray[Any]:
        size = self.shape[0]
        if self.alpha is None:
            return np.where(np.eye(size, dtype=bool), self.log_truth, self.log_lie)
        data = np.full((size, size), self.lie, dtype=object)
        data[np.diag_indices(size)] = self.truth
        return data

    def _relative_entries(self) -> FloatArray:
        """ε for the truth, 0 for every lie."""
        if math.isinf(self.eps):
            return super()._relative_entries()
        return np.where(np.eye(self.shape[0], dtype=bool), self.eps, 0.0)

    def row(self, item: object) -> FloatArray:
        """Output distribution of one labelled input."""
        row = np.full(self.shape[1], float(self.lie))
        row[self.input_index(item)] = float(self.truth)
        return row

    def matvec(self, vector: Any) -> FloatArray:
        """C·v in O(n)."""
        values = self._vector(vector, "outputs")
        return np.asarray(float(self.lie) * values.sum() + (float(self.truth) - float(self.lie)) * values)

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C in O(n); the channel is symmetric."""
        return self.matvec(self._vector(vector, "inputs"))

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs: lie uniformly among the others with the total probability of lying."""
        generator = generator_of(rng)
        truths = self.input_indices(xs)
        size = self.shape[0]
        others = generator.integers(0, max(size - 1, 1), len(truths))
        lies = others + (others >= truths)
        honest = generator.random(len(truths)) < float(self.truth)
        return self._named(np.where(honest | (size == 1), truths, lies))

    def smallest_epsilon(self, metric: Metric) -> Level | None:
        """Every pair of values is eps apart, so the closest pair of the metric decides."""
        if self.shape[0] == 1:
            return 0.0, 0, 0, 0.0
        i, j, distance = closest_pair(metric)
        return rate(self.eps, distance), i, j, distance

    def witness(self, i: int, j: int) -> tuple[int, int, int, Fraction | None]:
        """Reporting i tells i from any other input."""
        return i, j, i, 1 / self.alpha if self.alpha else None

    def __repr__(self) -> str:
        parameter = f"alpha={self.alpha}" if self.alpha is not None else f"eps={self.eps:g}"
        return f"Channel(randomised response, {self.shape[0]} values, {parameter})"
