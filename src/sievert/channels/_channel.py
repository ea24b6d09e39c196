"""Channels: the probability of each output for each secret input.

A channel keeps its numbers in the form it was given: *exact* (fractions), *float*, or *log*
(natural logarithms, for entries such as e^-2000). Another form is derived only where nothing is
lost: fractions may be rounded to floats or logarithms, floats may be taken as logarithms, but a
logarithm whose float would underflow to a false zero is refused, and floats become fractions only
when their rows sum to 1 exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, ObjectArray
from sievert.channels import _composition as composition
from sievert.channels._constructors import Constructors, Form, checked, read_logarithms, read_matrix
from sievert.errors import ChannelError
from sievert.numerics import (
    abbreviated,
    exact_sum,
    flag,
    fractions_of,
    generator_of,
    instance,
    log_fraction,
    log_of,
    log_ratio,
    readable,
)
from sievert.policies import Policy, Query
from sievert.spaces import (
    EvenNumbers,
    Labels,
    Metric,
    by_label,
    column_of,
    floats,
    frame,
    iterable,
    label,
    labels_or_range,
    pandas_axis,
    shown,
    table_of,
    worded,
)

if TYPE_CHECKING:
    from sievert.channels._hyper import Hyper

__all__ = ["Channel", "Form", "Level", "as_channel", "finite_channel"]

# ε for a metric, the positions of the pair that attains it, and their distance.
Level = tuple[float, int, int, float]

# The place of `relative_logs` in a channel's cache.
RELATIVE = "relative logs"
# A sum of numbers up to here is a float, however many there are.
LARGEST_ENTRY = 1e290


class Channel(Constructors):
    """A row-stochastic matrix with labelled inputs and outputs.

    Parameters
    ----------
    matrix : array_like, shape (n, m), or a table
        Row x is the distribution of the output for input x. Integers, fractions, decimals and texts
        such as ``"1/3"`` give an exact channel; floats a float channel. A pandas, polars or Arrow table
        has a row for each input and a column for each output, and keeps their names; polars and Arrow
        name the inputs in a first column of texts. A mapping goes from input to its distribution.
    inputs, outputs : sequence, optional
        Labels; by default the table's own, or 0, 1, 2, … A table that has labels is put into this order.
    normalise : bool
        Divide each row by its sum instead of refusing rows that do not sum to 1.

    Examples
    --------
    >>> from fractions import Fraction
    >>> warner = Channel([["3/4", "1/4"], ["1/4", "3/4"]], inputs=["yes", "no"], outputs=["yes", "no"])
    >>> warner.exact[0, 0]
    Fraction(3, 4)
    >>> warner.then(warner).matrix
    array([[0.625, 0.375],
           [0.375, 0.625]])
    """

    def __init__(
        self,
        matrix: Any,
        inputs: Iterable[object] | None = None,
        outputs: Iterable[object] | None = None,
        *,
        normalise: bool = False,
    ) -> None:
        table = table_of(matrix, "matrix", ChannelError)
        entries, inputs, outputs = table.ordered(inputs, outputs, ("inputs", "outputs"), ChannelError)
        normalise = flag("normalise", normalise, ChannelError)
        data, form = read_matrix(entries)
        self._set(data, form, inputs, outputs)
        self._data = checked(data, form, self.inputs, self.outputs, normalise)
        self._data.setflags(write=False)

    @classmethod
    def from_log(
        cls,
        log_matrix: Any,
        inputs: Iterable[object] | None = None,
        outputs: Iterable[object] | None = None,
        *,
        normalise: bool = False,
    ) -> Channel:
        """A channel given by natural logarithms; -inf is a structural zero.

        >>> Channel.from_log([[0, -2000], [-2000, 0]], normalise=True).log_matrix[0].tolist()
        [0.0, -2000.0]
        """
        table = table_of(log_matrix, "log_matrix", ChannelError)
        entries, inputs, outputs = table.ordered(inputs, outputs, ("inputs", "outputs"), ChannelError)
        normalise = flag("normalise", normalise, ChannelError)
        data = read_logarithms(entries)
        channel = Channel.trusted(data, "log", inputs, outputs)
        channel._data = checked(data, "log", channel.inputs, channel.outputs, normalise)
        channel._data.setflags(write=False)
        return channel

    @classmethod
    def trusted(
        cls,
        data: NDArray[Any],
        form: Form,
        inputs: Iterable[object] | None = None,
        outputs: Iterable[object] | None = None,
        *,
        relative: FloatArray | None = None,
    ) -> Channel:
        """A channel whose rows are known to be distributions; only labels are checked.

        For code that has just computed them. `data` is an array in the given form, which is kept and not
        copied; `relative` its `relative_logs`, where more digits of them are known than `data` tells.
        """
        channel = Channel.__new__(Channel)
        channel._set(data, form, inputs, outputs)
        if relative is not None:
            relative.setflags(write=False)
            channel._cache[RELATIVE] = relative
        return channel

    def _set(
        self,
        data: NDArray[Any],
        form: Form,
        inputs: Iterable[object] | None,
        outputs: Iterable[object] | None,
    ) -> None:
        self._data = data
        self._data.setflags(write=False)
        self.form: Form = form
        self.inputs: Labels = labels_or_range(inputs, data.shape[0], "inputs", ChannelError)
        self.outputs: Labels = labels_or_range(outputs, data.shape[1], "outputs", ChannelError)
        self._cache: dict[str, Any] = {}

    @property
    def shape(self) -> tuple[int, int]:
        """(number of inputs, number of outputs)."""
        return self._data.shape[0], self._data.shape[1]

    @property
    def entries(self) -> NDArray[Any]:
        """The matrix in the channel's own form: fractions, floats, or natural logarithms."""
        return self._data

    @property
    def matrix(self) -> FloatArray:
        """Probabilities as floats; refused where a positive entry would become 0 (use `log_matrix`)."""
        dense = self.rounded()
        if self.form != "float" and "lossless" not in self._cache:
            lost = (dense == 0) & self.support
            if lost.any():
                i, j = map(int, np.argwhere(lost)[0])
                raise ChannelError(
                    f"the entry for input {self.inputs[i]!r} and output {self.outputs[j]!r} is "
                    f"e^{self.log_matrix[i, j]:.6g}, too small for a float; use .log_matrix, or .rounded() "
                    "where an absolute error of 1e-308 is harmless"
                )
            self._cache["lossless"] = True
        return dense

    def rounded(self) -> FloatArray:
        """Probabilities as the nearest floats; entries below 5e-324 become 0."""
        if self.form == "float":
            return self._data
        if "float" not in self._cache:
            dense = np.exp(self._data) if self.form == "log" else self._data.astype(np.float64)
            dense.setflags(write=False)
            self._cache["float"] = dense
        dense = self._cache["float"]
        return dense  # type: ignore[no-any-return]

    @property
    def log_matrix(self) -> FloatArray:
        """Natural logarithms of the probabilities; structural zeros are -inf."""
        if self.form == "log":
            return self._data
        if "log" not in self._cache:
            if self.form == "float":
                logs = log_of(self._data)
            else:
                logs = np.array([[log_fraction(value) for value in row] for row in self._data.tolist()])
            logs.setflags(write=False)
            self._cache["log"] = logs
        return self._cache["log"]  # type: ignore[no-any-return]

    @property
    def relative_logs(self) -> FloatArray:
        """Logarithms less one number for each output: for differences of rows, whose digits survive.

        Rows that are nearly equal have nearly equal logarithms; here they are told apart as precisely as
        the channel's own numbers tell them. Structural zeros are -inf.
        """
        if RELATIVE not in self._cache:
            found = self._relative_entries()
            found.setflags(write=False)
            self._cache[RELATIVE] = found
        return self._cache[RELATIVE]  # type: ignore[no-any-return]

    def _relative_entries(self) -> FloatArray:
        """ln of each entry over the middle one of its column."""
        logs = self.log_matrix
        order = np.argsort(logs, axis=0, kind="stable")
        # The middle one of those that are possible; impossible ones come first.
        impossible = np.isneginf(logs).sum(axis=0)
        middle = (np.minimum(impossible, len(logs) - 1) + len(logs) - 1) // 2
        rows = np.take_along_axis(order, middle[None, :], axis=0)
        base = np.take_along_axis(logs, rows, axis=0)
        with np.errstate(invalid="ignore"):
            found = np.where(np.isneginf(logs), -np.inf, logs - base)
        near = np.abs(found) < 0.25
        if self.form == "float":
            matrix = self._data
            reference = np.broadcast_to(np.take_along_axis(matrix, rows, axis=0), matrix.shape)[near]
            found[near] = np.log1p((matrix[near] - reference) / reference)
        elif self.form == "exact":
            exact = np.take_along_axis(self._data, rows, axis=0)[0]
            for i, j in np.argwhere(near & (np.arange(len(logs))[:, None] != rows)).tolist():
                mine, other = self._data[i, j], exact[j]
                found[i, j] = log_ratio(
                    mine.numerator * other.denominator, mine.denominator * other.numerator
                )
        return np.asarray(found)

    @property
    def exact(self) -> ObjectArray | None:
        """Probabilities as fractions, or None when the channel is not known exactly."""
        if self.form == "exact":
            return self._data
        if self.form == "log":
            return None
        if "exact" not in self._cache:
            rows = fractions_of(self._data.tolist())
            self._cache["exact"] = rows if all(exact_sum(row) == 1 for row in rows.tolist()) else None
        return self._cache["exact"]  # type: ignore[no-any-return]

    def exact_or_float(self) -> NDArray[Any]:
        """Fractions if the channel was given exactly, else floats."""
        return self._data if self.form == "exact" else self.matrix

    def exact_or_rounded(self) -> NDArray[Any]:
        """Fractions if the channel was given exactly, else the nearest floats (see `rounded`)."""
        return self._data if self.form == "exact" else self.rounded()

    @property
    def support(self) -> NDArray[np.bool_]:
        """Where the probability is positive."""
        if self.form == "log":
            return ~np.isneginf(self._data)
        return np.asarray(self._data != 0, dtype=bool)

    def finite(self) -> Channel:
        """An equivalent channel with finitely many outputs: itself, unless it has infinitely many."""
        return self

    @property
    def listed_outputs(self) -> Labels | None:
        """The outputs, where there are finitely many."""
        return self.outputs

    def is_rule_beyond(self, entries: int) -> bool:
        """Whether it is known by a rule and its matrix would have more entries than this."""
        return False

    def smallest_epsilon(self, metric: Metric) -> Level | None:
        """ε for a metric on the inputs, in their order, with the pair that attains it, in closed form.

        None where no rule knows a closed form; the matrix is then used.
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

    def matvec(self, vector: Any) -> FloatArray:
        """C·v: the expected value, for each input, of a function of the output."""
        return np.asarray(self.rounded() @ self._vector(vector, "outputs"))

    def rmatvec(self, vector: Any) -> FloatArray:
        """v·C: the distribution of the output for a distribution of the input."""
        return np.asarray(self._vector(vector, "inputs") @ self.rounded())

    def output_probabilities(self, belief: FloatArray) -> FloatArray:
        """Probability of each output; 0, not rounding noise, where it cannot occur."""
        return np.maximum(self.rmatvec(belief), 0.0)

    def _vector(self, vector: Any, side: Literal["inputs", "outputs"]) -> FloatArray:
        """A vector with one entry for each input or output."""
        size = self.shape[0 if side == "inputs" else 1]
        column = column_of(vector, "vector", ChannelError)
        if len(column.values) != size:
            raise ChannelError(
                f"vector has {len(column.values)} entries; it needs one number for each of the "
                f"{readable(size)} {side}"
            )
        given = (
            by_label(column, getattr(self, side), "vector", ChannelError) if column.named else column.values
        )
        values = floats(given, "vector", ChannelError, "give one number for each of them")
        if not (np.abs(values) <= LARGEST_ENTRY).all():
            raise ChannelError(
                f"vector holds NaN or numbers beyond {LARGEST_ENTRY:g}; their mean is no number"
            )
        return values

    def row(self, item: object) -> FloatArray:
        """Output distribution of one labelled input."""
        return np.asarray(self.rounded()[self.input_index(item)])

    def input_index(self, item: object) -> int:
        """Position of a labelled input."""
        return self._position("inputs", item)

    def output_index(self, item: object) -> int:
        """Position of a labelled output."""
        return self._position("outputs", item)

    def _position(self, side: Literal["inputs", "outputs"], item: object) -> int:
        labels: Labels = getattr(self, side)
        try:
            if isinstance(labels, range | EvenNumbers):
                return labels.index(label(item))  # type: ignore[arg-type]
            if side not in self._cache:
                self._cache[side] = {name: i for i, name in enumerate(labels)}
            known, name = self._cache[side], label(item)
            if name not in known:
                # A database of one record, (v,), is its value v.
                name = name[0] if isinstance(name, tuple) and len(name) == 1 else (name,)
            return known[name]  # type: ignore[no-any-return]
        except (KeyError, TypeError, ValueError):
            raise ChannelError(
                f"{abbreviated(item, worded)} is not one of the channel's {side}: {shown(labels)}"
            ) from None

    def reduced(self, tolerance: float | None = None) -> Channel:
        """The canonical equivalent channel: no zero columns, proportional columns merged, columns ordered.

        Exact channels merge columns that are exactly proportional; others merge columns whose normalised
        logarithms differ by at most `tolerance` (1e-12 by default: rounding noise).
        """
        from sievert.channels._hyper import reduction

        return reduction(self, tolerance).channel

    def hyper(self, prior: object = None) -> Hyper:
        """The distribution on posteriors that a prior (uniform by default) and an observation give."""
        from sievert.channels._hyper import push

        return push(prior, self)

    def then(self, post: Channel) -> Channel:
        """Cascade: feed the output to another channel (post-processing)."""
        return composition.cascade(self, post)

    def alongside(self, other: Channel) -> Channel:
        """Release both outputs for the same input, independently."""
        return composition.parallel(self, other)

    def repeated(self, times: int) -> Channel:
        """Release several independent outputs for the same input; ε grows exactly `times`-fold.

        Outputs are counts of each single output: their order says nothing about the input.
        """
        return composition.repeated(self, times)

    def product(self, records: int) -> Channel:
        """Apply the channel independently to each of several records; distances add over the records.

        The result is known by its factor, so a million records cost as much as one.
        """
        return self.product_of([(self, records)])

    def after(
        self,
        query: Query | Callable[[Any], object] | Mapping[Any, object],
        policy: Policy | Iterable[object] | None = None,
    ) -> Channel:
        """Oblivious composition: the channel on databases that computes the query, then applies this one.

        `query` is a `Query` with its `policy`, a mapping from new input to this channel's input, or a
        function together with the new inputs.
        """
        return composition.oblivious(self, query, policy)

    def sample(self, xs: Any, rng: int | np.random.Generator | None = None) -> NDArray[Any]:
        """Simulate outputs for an array of labelled inputs (floating point; not for private releases).

        >>> Channel([[1, 0], [0, 1]], inputs=["a", "b"]).sample(["b", "a", "b"], rng=1)
        array([1, 0, 1])
        """
        generator = generator_of(rng)
        index = self.input_indices(xs)
        drawn = np.empty(len(index), dtype=np.intp)
        order = np.argsort(index, kind="stable")
        starts = np.searchsorted(index[order], np.arange(self.shape[0] + 1))
        for i in np.flatnonzero(np.diff(starts)):
            where = order[starts[i] : starts[i + 1]]
            cumulative = np.cumsum(self.rounded()[i])
            uniforms = generator.random(len(where)) * cumulative[-1]
            # Rounding may push a uniform up to the total; the last possible output takes it.
            last = np.searchsorted(cumulative, cumulative[-1])
            drawn[where] = np.minimum(np.searchsorted(cumulative, uniforms, side="right"), last)
        return label_array(self.outputs)[drawn]

    def input_indices(self, items: Any) -> NDArray[np.intp]:
        """Positions of many labelled inputs; in arrays each distinct value is looked up once."""
        array = items if isinstance(items, np.ndarray) else None
        if isinstance(items, str) or not iterable(items) or (array is not None and not array.ndim):
            raise ChannelError(
                f"xs is {abbreviated(items)}; give a list or an array of inputs, for one input "
                f"[{abbreviated(items)}]"
            )
        labels = self.inputs
        if array is not None and array.dtype.kind in "iu" and isinstance(labels, range):
            outside = np.flatnonzero((array < labels.start) | (array >= labels.stop))
            if labels.step == 1 and not len(outside):
                return (array - labels.start).astype(np.intp)
        if array is not None and array.ndim == 1 and array.dtype.kind in "iufbU":
            distinct, inverse = np.unique(array, return_inverse=True)
            positions = [self.input_index(item) for item in distinct.tolist()]
            return np.array(positions, dtype=np.intp)[inverse]
        return np.array([self.input_index(item) for item in items], dtype=np.intp)

    def is_equivalent(self, other: Channel, tolerance: float | None = None) -> bool:
        """Whether two channels leak the same to every adversary: equal reduced forms (Fernandes, Lem 2.3)."""
        from sievert.channels._hyper import same_columns

        return same_columns(self, as_channel(other, "other"), tolerance)

    def to_pandas(self) -> Any:
        """The probabilities as a pandas table: a row for each input, a column for each output."""
        table = frame({}, "pandas")
        data = self._data if self.form == "exact" else self.matrix
        return type(table)(data, index=pandas_axis(self.inputs), columns=pandas_axis(self.outputs))

    def to_polars(self) -> Any:
        """The probabilities as a polars table: the input's name, then a column for each output."""
        dense = self.matrix
        columns: dict[str, Any] = {str(name): dense[:, j] for j, name in enumerate(self.outputs)}
        return frame({"input": [str(name) for name in self.inputs], **columns}, "polars")

    def to_dict(self) -> dict[str, Any]:
        """Labels and entries as plain data (fractions as texts)."""
        entries = (
            [[str(v) for v in row] for row in self._data] if self.form == "exact" else self._data.tolist()
        )
        return {
            "form": self.form,
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "entries": entries,
        }

    def __repr__(self) -> str:
        return f"Channel({self.shape[0]} inputs, {self.shape[1]} outputs, {self.form})"

    def _repr_html_(self) -> str:
        if self.shape[0] * self.shape[1] > 400:
            return f"<p>{escape(repr(self))}</p>"
        cells = self._data if self.form == "exact" else np.round(self.rounded(), 6)
        head = "".join(f"<th>{escape(str(name))}</th>" for name in self.outputs)
        body = "".join(
            f"<tr><th>{escape(str(name))}</th>{''.join(f'<td>{value}</td>' for value in row)}</tr>"
            for name, row in zip(self.inputs, cells.tolist(), strict=True)
        )
        return f"<table><tr><th></th>{head}</tr>{body}</table>"


def label_array(labels: Sequence[Hashable]) -> NDArray[Any]:
    """Labels as a one-dimensional array: of numbers, of texts, or of objects where kinds are mixed.

    >>> label_array([1, "1", (1, 2)]).tolist()
    [1, '1', (1, 2)]
    """
    kinds = {type(item) for item in labels}
    if kinds in ({str}, {bool}) or kinds <= {int, float}:
        array = np.array(labels)
        # Only whole numbers beyond 64 bits make anything else.
        if kinds != {int} or array.dtype == np.int64:
            return array
    array = np.empty(len(labels), dtype=object)
    array[:] = list(labels)
    return array


def as_channel(given: object, argument: str = "channel") -> Channel:
    """The channel a function was given; anything else is refused."""
    several = isinstance(given, list | tuple) and any(isinstance(item, Channel) for item in given)
    words = "one sv.Channel; join several by first.alongside(second)"
    one = "a sv.Channel, such as sv.Channel(matrix)"
    found: Channel = instance(argument, given, Channel, words if several else one, ChannelError)
    return found


def finite_channel(given: object, argument: str = "channel") -> Channel:
    """The channel a function was given, with finitely many outputs; anything else is refused."""
    return as_channel(given, argument).finite()
