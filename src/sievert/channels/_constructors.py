"""Named ways to make a channel. Those that stay symbolic load the module of their rule when first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from sievert.errors import ChannelError
from sievert.numerics import (
    abbreviated,
    as_fraction,
    exact_sum,
    flag,
    fractions_of,
    instance,
    is_exact,
    is_whole,
    log_sum,
    require_size,
    taken,
    whole,
)
from sievert.spaces import Labels, floats, labels_of

if TYPE_CHECKING:
    from sievert.channels._channel import Channel

__all__ = ["ROW_SUM_TOLERANCE", "Constructors", "Form", "checked", "read_logarithms", "read_matrix"]

# More inputs than this and the extreme channels are kept as programs.
LARGEST_MATRIX = 2000
LARGEST_NOISE = 10_000_000


class Constructors:
    """The class methods of `Channel` that make channels other than from a matrix."""

    @classmethod
    def identity(cls, inputs: int | Iterable[object]) -> Channel:
        """The channel that reveals its input.

        >>> from sievert.channels._channel import Channel
        >>> Channel.identity(["yes", "no"]).row("no")
        array([0., 1.])
        """
        from sievert.channels._channel import Channel

        labels = _labels(inputs)
        if len(labels) > LARGEST_MATRIX:
            return cls.from_function(lambda item: item, labels)
        return Channel(np.eye(len(labels), dtype=np.int64), labels, labels)

    @classmethod
    def null(cls, inputs: int | Iterable[object]) -> Channel:
        """The channel with one output, which reveals nothing.

        >>> from sievert.channels._channel import Channel
        >>> Channel.null(3).shape
        (3, 1)
        """
        from sievert.channels._channel import Channel

        labels = _labels(inputs)
        if len(labels) > LARGEST_MATRIX:
            return cls.from_function(lambda item: 0, labels)
        return Channel(np.ones((len(labels), 1), dtype=np.int64), labels)

    @classmethod
    def from_function(cls, function: Callable[[Any], object], inputs: int | Iterable[object]) -> Channel:
        """A deterministic program, run once on every input; stored as a partition, not a matrix.

        >>> from sievert.channels._channel import Channel
        >>> Channel.from_function(lambda x: x % 3, inputs=9)
        Channel(deterministic, 9 inputs, 3 outputs)
        """
        from sievert.channels._deterministic import DeterministicChannel

        return DeterministicChannel.from_function(function, inputs)

    @classmethod
    def from_blocks(cls, sizes: Mapping[int, int] | Iterable[int], inputs: int | None = None) -> Channel:
        """A deterministic program known only by how many secrets share each output.

        `sizes` lists the block sizes, or maps a size to how many blocks have it, so that programs on 2^32
        secrets need no list.

        >>> from sievert.channels._channel import Channel
        >>> low_byte = Channel.from_blocks({2**24: 256}, inputs=2**32)
        >>> low_byte.shape
        (4294967296, 256)
        """
        from sievert.channels._deterministic import PartitionChannel

        return PartitionChannel.from_sizes(sizes, inputs)

    @classmethod
    def from_noise(
        cls,
        kernel: Iterable[Any] | Mapping[int, Any],
        size: int,
        first: int = 0,
        *,
        cyclic: bool = False,
    ) -> Channel:
        """Input plus noise: P(noise = first + k) = kernel[k], on integers 0…size-1 or around a cycle.

        A mapping {noise: probability} says where it begins by itself.

        >>> from sievert.channels._channel import Channel
        >>> Channel.from_noise(["1/4", "1/2", "1/4"], size=3, first=-1).outputs
        (-1, 0, 1, 2, 3)
        >>> Channel.from_noise({-1: "1/4", 1: "3/4"}, size=2).exact.tolist()[1][:2]
        [Fraction(0, 1), Fraction(1, 4)]
        """
        from sievert.channels._convolution import ConvolutionChannel, CyclicChannel

        cyclic = flag("cyclic", cyclic, ChannelError)
        if isinstance(kernel, Mapping):
            if whole("first", first, ChannelError, least=0) != 0:
                raise ChannelError(
                    f"first is {abbreviated(first)}; a mapping from noise says itself where it begins"
                )
            first, kernel = _spread(kernel)
        return CyclicChannel(kernel, size, first) if cyclic else ConvolutionChannel(kernel, size, first)

    @classmethod
    def block_diagonal(cls, blocks: Iterable[Channel]) -> Channel:
        """Channels on disjoint groups of inputs with outputs of their own: the group is revealed.

        >>> from sievert.channels._channel import Channel
        >>> Channel.block_diagonal([Channel.null(["a", "b"]), Channel.identity(["c"])]).matrix
        array([[1., 0.], [1., 0.], [0., 1.]])
        """
        from sievert.channels._blocks import BlockChannel

        return BlockChannel(taken("blocks", blocks, ChannelError, "channels"))

    @classmethod
    def from_sparse(
        cls, matrix: Any, inputs: Iterable[object] | None = None, outputs: Iterable[object] | None = None
    ) -> Channel:
        """A channel stored by its non-zero entries (any SciPy sparse matrix).

        >>> from scipy.sparse import eye_array
        >>> from sievert.channels._channel import Channel
        >>> Channel.from_sparse(eye_array(1000))
        Channel(sparse, 1000 inputs, 1000 outputs, 1000 non-zero entries)
        """
        from sievert.channels._structured import SparseChannel

        return SparseChannel(matrix, inputs, outputs)

    @classmethod
    def product_of(cls, channels: Iterable[Channel | tuple[Channel, int]]) -> Channel:
        """Independent channels side by side, one a record, or (channel, how many records).

        >>> from sievert.channels._channel import Channel
        >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
        >>> Channel.product_of([(coin, 2), Channel.null(3)]).shape
        (12, 4)
        """
        from sievert.channels._blocks import ProductChannel

        listed = taken("channels", channels, ChannelError, "channels")
        return ProductChannel([item if isinstance(item, tuple) else (item, 1) for item in listed])


def _labels(inputs: int | Iterable[object]) -> Sequence[object]:
    return labels_of(inputs, "inputs", "inputs", ChannelError)


def _spread(noise: Mapping[int, Any]) -> tuple[int, list[Any]]:
    """The smallest noise and the probabilities from it to the largest."""
    for value in noise:
        if not is_whole(value):
            raise ChannelError(
                f"kernel: the noise {abbreviated(value)} is not a whole number; noise is added to integers"
            )
    if not noise:
        raise ChannelError("kernel is empty; give at least one noise with its probability")
    lowest = min(noise)
    way = "noise that far apart is better given as two mechanisms"
    require_size(max(noise) - lowest + 1, LARGEST_NOISE, "the noise from its least to its largest", way)
    return int(lowest), [noise.get(value, 0) for value in range(lowest, max(noise) + 1)]


# ── Reading a channel's matrix from user input ──────────────────────────────────────────────────────────────
# Reading a channel's matrix from user input: which form it has, and whether its rows are distributions.

Form = Literal["exact", "float", "log"]

# Rounding each entry to a double moves a row sum by about m·1e-16; 1e-9 admits a million outputs and
# refuses a matrix typed with too few digits.
ROW_SUM_TOLERANCE = 1e-9


def read_matrix(matrix: Any) -> tuple[NDArray[Any], Form]:
    """Entries and form of user input: fractions (or integers) if every entry is exact, else floats."""
    if isinstance(matrix, np.ndarray) and matrix.ndim == 2 and matrix.size and matrix.dtype.kind in "fiub":
        if matrix.dtype.kind == "f":
            return np.array(matrix, dtype=np.float64), "float"
        return np.array(matrix, dtype=np.int64), "exact"
    try:
        rows = [list(row) for row in matrix]
    except TypeError:
        raise ChannelError(
            f"matrix is {abbreviated(matrix)}; give one row of probabilities for each input"
        ) from None
    if not rows or not rows[0]:
        raise ChannelError("matrix is empty; a channel needs at least one row and one column")
    exact = True
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ChannelError(
                f"row {i} of the channel has {len(row)} entries but row 0 has {len(rows[0])}; "
                "every row needs one entry for each output"
            )
        for j, value in enumerate(row):
            if is_exact(value):
                row[j] = _fraction(value, i, j)
            elif isinstance(value, float | np.floating):
                exact = False
            else:
                raise _not_a_number(value, i, j)
    return (fractions_of(rows), "exact") if exact else (np.array(rows, dtype=np.float64), "float")


def _fraction(value: Any, row: int, column: int) -> Fraction:
    try:
        return as_fraction(value)
    except ValueError:
        raise _not_a_number(value, row, column) from None


def _not_a_number(value: object, row: int, column: int) -> ChannelError:
    return ChannelError(
        f"row {row} of the channel has {abbreviated(value)} in column {column}, which is not a finite "
        f"number; "
        "entries are probabilities"
    )


def read_logarithms(log_matrix: Any) -> NDArray[np.float64]:
    """A two-dimensional array of logarithms."""
    data = floats(log_matrix, "log_matrix", ChannelError, "give one row of logarithms for each input")
    if data.ndim != 2 or 0 in data.shape:
        raise ChannelError(f"log_matrix has shape {data.shape}; it must have at least one row and one column")
    return data


def checked(data: NDArray[Any], form: Form, inputs: Labels, outputs: Labels, normalise: bool) -> NDArray[Any]:
    """Refuse entries that are not probabilities and rows that do not sum to 1, naming row and value.

    Integers become fractions once they have passed.
    """
    if form == "log":
        broken = np.isnan(data) | (data == np.inf)
        rule = "is not the logarithm of a probability"
    else:
        broken = ~(np.asarray(data >= 0, dtype=bool)) | (np.isinf(data) if form == "float" else False)
        rule = "is not a probability; entries must be numbers ≥ 0"
    if broken.any():
        i, j = map(int, np.argwhere(broken)[0])
        raise ChannelError(
            f"row {inputs[i]!r} of the channel has {data[i, j]} at output {outputs[j]!r}, which {rule}"
        )
    with np.errstate(over="ignore"):
        sums = np.exp(log_sum(data, axis=1)) if form == "log" else _row_sums(data)
    instance("normalise", normalise, bool, "True or False", ChannelError)
    if normalise:
        return _normalised(fractions_of(data) if data.dtype == np.int64 else data, sums, form, inputs)
    off = np.asarray(np.abs(sums - 1) > (0 if form == "exact" else ROW_SUM_TOLERANCE), dtype=bool)
    if off.any():
        i = int(np.flatnonzero(off)[0])
        value = str(sums[i]) if form == "exact" else f"{sums[i]:.12g}"
        exactly = "exactly" if form == "exact" else f"within {ROW_SUM_TOLERANCE:g}"
        raise ChannelError(
            f"row {inputs[i]!r} of the channel sums to {value}; rows must sum to 1 {exactly}",
            fix="pass normalise=True to rescale",
            file_fix="correct the row in the file",
        )
    return fractions_of(data) if data.dtype == np.int64 else data


def _row_sums(data: NDArray[Any]) -> NDArray[Any]:
    if data.dtype != object:
        return np.asarray(data.sum(axis=1))
    return np.array([exact_sum(row) for row in data.tolist()], dtype=object)


def _normalised(data: NDArray[Any], sums: NDArray[Any], form: Form, inputs: Labels) -> NDArray[Any]:
    empty = np.asarray(sums == 0, dtype=bool)
    if empty.any():
        name = inputs[int(np.flatnonzero(empty)[0])]
        raise ChannelError(
            f"row {abbreviated(name)} of the channel is all 0, so it cannot be rescaled to sum to 1"
        )
    if form == "log":
        return np.asarray(data - log_sum(data, axis=1)[:, None])
    if form == "float":
        # Divide by the maximum first: a sum of huge entries may overflow.
        data = data / data.max(axis=1, keepdims=True)
        sums = data.sum(axis=1)
    return np.asarray(data / sums[:, None])
