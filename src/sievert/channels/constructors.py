"""Named ways to make a channel. Those that stay symbolic load the module of their rule when first used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sievert.errors import ChannelError
from sievert.numerics.checks import brief, flag, require_size, taken, whole
from sievert.spaces.labels import labels_of

if TYPE_CHECKING:
    from sievert.channels.channel import Channel

__all__ = ["Constructors"]

# More inputs than this and the extreme channels are kept as programs.
LARGEST_MATRIX = 2000
LARGEST_NOISE = 10_000_000


class Constructors:
    """The class methods of `Channel` that make channels other than from a matrix."""

    @classmethod
    def identity(cls, inputs: int | Iterable[object]) -> Channel:
        """The channel that reveals its input.

        >>> from sievert.channels import Channel
        >>> Channel.identity(["yes", "no"]).row("no")
        array([0., 1.])
        """
        from sievert.channels.channel import Channel

        labels = _labels(inputs)
        if len(labels) > LARGEST_MATRIX:
            return cls.from_function(lambda item: item, labels)
        return Channel(np.eye(len(labels), dtype=np.int64), labels, labels)

    @classmethod
    def null(cls, inputs: int | Iterable[object]) -> Channel:
        """The channel with one output, which reveals nothing.

        >>> from sievert.channels import Channel
        >>> Channel.null(3).shape
        (3, 1)
        """
        from sievert.channels.channel import Channel

        labels = _labels(inputs)
        if len(labels) > LARGEST_MATRIX:
            return cls.from_function(lambda item: 0, labels)
        return Channel(np.ones((len(labels), 1), dtype=np.int64), labels)

    @classmethod
    def from_function(cls, function: Callable[[Any], object], inputs: int | Iterable[object]) -> Channel:
        """A deterministic program, run once on every input; stored as a partition, not a matrix.

        >>> from sievert.channels import Channel
        >>> Channel.from_function(lambda x: x % 3, inputs=9)
        Channel(deterministic, 9 inputs, 3 outputs)
        """
        from sievert.channels.deterministic import DeterministicChannel

        return DeterministicChannel.from_function(function, inputs)

    @classmethod
    def from_blocks(cls, sizes: Mapping[int, int] | Iterable[int], inputs: int | None = None) -> Channel:
        """A deterministic program known only by how many secrets share each output.

        `sizes` lists the block sizes, or maps a size to how many blocks have it, so that programs on 2^32
        secrets need no list.

        >>> from sievert.channels import Channel
        >>> low_byte = Channel.from_blocks({2**24: 256}, inputs=2**32)
        >>> low_byte.shape
        (4294967296, 256)
        """
        from sievert.channels.deterministic import PartitionChannel

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

        >>> from sievert.channels import Channel
        >>> Channel.from_noise(["1/4", "1/2", "1/4"], size=3, first=-1).outputs
        (-1, 0, 1, 2, 3)
        >>> Channel.from_noise({-1: "1/4", 1: "3/4"}, size=2).exact.tolist()[1][:2]
        [Fraction(0, 1), Fraction(1, 4)]
        """
        from sievert.channels.convolution import ConvolutionChannel, CyclicChannel

        cyclic = flag("cyclic", cyclic, ChannelError)
        if isinstance(kernel, Mapping):
            if whole("first", first, ChannelError, least=0) != 0:
                raise ChannelError(
                    f"first is {brief(first)}; a mapping from noise says itself where it begins"
                )
            first, kernel = _spread(kernel)
        return CyclicChannel(kernel, size, first) if cyclic else ConvolutionChannel(kernel, size, first)

    @classmethod
    def block_diagonal(cls, blocks: Iterable[Channel]) -> Channel:
        """Channels on disjoint groups of inputs with outputs of their own: the group is revealed.

        >>> from sievert.channels import Channel
        >>> Channel.block_diagonal([Channel.null(["a", "b"]), Channel.identity(["c"])]).matrix
        array([[1., 0.], [1., 0.], [0., 1.]])
        """
        from sievert.channels.blocks import BlockChannel

        return BlockChannel(taken("blocks", blocks, ChannelError, "channels"))

    @classmethod
    def from_sparse(
        cls, matrix: Any, inputs: Iterable[object] | None = None, outputs: Iterable[object] | None = None
    ) -> Channel:
        """A channel stored by its non-zero entries (any SciPy sparse matrix).

        >>> from scipy.sparse import eye_array
        >>> from sievert.channels import Channel
        >>> Channel.from_sparse(eye_array(1000))
        Channel(sparse, 1000 inputs, 1000 outputs, 1000 non-zero entries)
        """
        from sievert.channels.sparse import SparseChannel

        return SparseChannel(matrix, inputs, outputs)

    @classmethod
    def product_of(cls, channels: Iterable[Channel | tuple[Channel, int]]) -> Channel:
        """Independent channels side by side, one a record, or (channel, how many records).

        >>> from sievert.channels import Channel
        >>> coin = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
        >>> Channel.product_of([(coin, 2), Channel.null(3)]).shape
        (12, 4)
        """
        from sievert.channels.products import ProductChannel

        listed = taken("channels", channels, ChannelError, "channels")
        return ProductChannel([item if isinstance(item, tuple) else (item, 1) for item in listed])


def _labels(inputs: int | Iterable[object]) -> Sequence[object]:
    return labels_of(inputs, "inputs", "inputs", ChannelError)


def _spread(noise: Mapping[int, Any]) -> tuple[int, list[Any]]:
    """The smallest noise and the probabilities from it to the largest."""
    for value in noise:
        if not isinstance(value, int | np.integer):
            raise ChannelError(
                f"kernel: the noise {brief(value)} is not a whole number; noise is added to integers"
            )
    if not noise:
        raise ChannelError("kernel is empty; give at least one noise with its probability")
    lowest = min(noise)
    way = "noise that far apart is better given as two mechanisms"
    require_size(max(noise) - lowest + 1, LARGEST_NOISE, "the noise from its least to its largest", way)
    return int(lowest), [noise.get(value, 0) for value in range(lowest, max(noise) + 1)]
