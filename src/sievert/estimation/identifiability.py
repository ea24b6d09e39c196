"""What reports can tell at all: the part of the distribution that the channel does not erase.

Two distributions give the same reports exactly when their difference v has v·C = 0. The probability of input
i is identified when every such v has v_i = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel, finite_channel
from sievert.channels.products import ProductChannel
from sievert.channels.response import ResponseChannel
from sievert.errors import EstimationError, TooLargeError
from sievert.mechanisms.truncated import TruncatedGeometricChannel
from sievert.numerics.checks import brief
from sievert.numerics.rationals import exact_rank
from sievert.results import Result
from sievert.spaces.labels import Labels, shown

__all__ = ["Identifiability", "identifiability"]

FloatArray = NDArray[np.float64]
# Entries of an exact channel up to which its rank is found over the rationals.
LARGEST_EXACT = 10_000
# A sentence names this many inputs that cannot be told apart.
SHOWN = 5
LARGEST_MATRIX = 16_000_000
# Components of a null vector above this are not rounding noise of the singular vectors (about 1e-15 each).
NULL_ENTRY = 1e-9
# Equal rows of float channels differ by rounding only.
SAME_ROW = 1e-12


@dataclass(frozen=True)
class Identifiability(Result):
    """Which probabilities the reports determine as their number grows.

    Attributes
    ----------
    rank : number of independent directions that reports can see, at most the number of inputs
    identified : for each input, whether its probability is determined
    same : groups of inputs whose reports are distributed alike; only their total is determined
    """

    inputs: Labels
    rank: int
    identified: tuple[bool, ...]
    same: tuple[tuple[object, ...], ...]

    @property
    def complete(self) -> bool:
        """Whether the whole distribution is determined."""
        return self.rank == len(self.inputs)

    def __str__(self) -> str:
        size = len(self.inputs)
        if self.complete:
            return f"the reports determine the probabilities of all {size} values"
        known = [item for item, good in zip(self.inputs, self.identified, strict=True) if good]
        words = [f"the reports see {self.rank} of {size} directions"]
        words.append(
            f"they determine the probability of {shown(known)}"
            if known
            else "they determine no single probability"
        )
        words += [f"of {_joined(group)} only the total" for group in self.same[:3]]
        return "; ".join(words)


def _joined(items: Sequence[object]) -> str:
    """'a', 'b' and 'c'; of many the first ones."""
    names = [repr(item) for item in items[:SHOWN]]
    if len(items) > SHOWN:
        names.append(f"{len(items) - SHOWN} more")
    return f"{', '.join(names[:-1])} and {names[-1]}"


def identifiability(channel: Channel | Sequence[Channel]) -> Identifiability:
    """What reports through a channel (or through several, one a group of users) determine.

    >>> print(identifiability(Channel([[1, 0], ["1/2", "1/2"], ["1/2", "1/2"]], inputs=["a", "b", "c"])))
    the reports see 2 of 3 directions; they determine the probability of 'a'; of 'b' and 'c' only the total
    """
    given = list(channel) if isinstance(channel, list | tuple) else [channel]
    channels = [finite_channel(item) for item in given]
    if not channels:
        raise EstimationError("channel is an empty list; give at least one channel")
    size = channels[0].shape[0]
    if any(_is_invertible(item) for item in channels):
        return Identifiability(_labels(channels[0]), size, (True,) * size, ())
    total = size * sum(item.shape[1] for item in channels)
    if total > LARGEST_MATRIX:
        raise TooLargeError(
            f"deciding what {brief(channels[0])} determines takes a matrix of {total} entries; at most "
            f"{LARGEST_MATRIX} are used",
            size=total,
        )
    matrix = np.concatenate([item.rounded() for item in channels], axis=1)
    exact = channels[0].exact if len(channels) == 1 and channels[0].form == "exact" else None
    known = exact_rank(exact) if exact is not None and total <= LARGEST_EXACT else None
    rank, null = _null_space(matrix, known)
    identified = [bool((np.abs(row) <= NULL_ENTRY).all()) for row in null]
    return Identifiability(channels[0].inputs, rank, tuple(identified), _same(matrix, channels[0].inputs))


def _labels(channel: Channel) -> Labels:
    try:
        return channel.inputs
    except TooLargeError:
        return range(channel.shape[0])


def _is_invertible(channel: Channel) -> bool:
    """Whether the family is known to be: the kernel alpha^|i-j| and b·J + I are positive definite."""
    if isinstance(channel, TruncatedGeometricChannel):
        return channel.level.eps > 0
    if isinstance(channel, ResponseChannel):
        return channel.eps > 0 or channel.shape[0] == 1
    if isinstance(channel, ProductChannel):
        return all(_is_invertible(factor) for factor, _ in channel.factors)
    return channel.shape[0] == 1


def _null_space(matrix: FloatArray, known: int | None) -> tuple[int, FloatArray]:
    """Rank, and the v with v·matrix = 0 as columns; singular values at rounding level count as 0."""
    left, values, _ = np.linalg.svd(matrix, full_matrices=True)
    tolerance = max(matrix.shape) * np.finfo(float).eps * values[0]
    rank = int((values > tolerance).sum()) if known is None else known
    return rank, np.asarray(left[:, rank:])


def _same(matrix: FloatArray, inputs: Labels) -> tuple[tuple[object, ...], ...]:
    _, inverse = np.unique(np.round(matrix / SAME_ROW), axis=0, return_inverse=True)
    groups: dict[int, list[object]] = {}
    for item, code in zip(inputs, np.ravel(inverse).tolist(), strict=True):
        groups.setdefault(code, []).append(item)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)
