"""Counts of noisy reports beside the channel that made them, one group of users for each channel.

With several groups the likelihood is that of one channel whose outputs are the groups' outputs side by
side, each group weighted by its share of the users (ElSalamouny and Palamidessi, 2020).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels import Channel, ProductChannel, ResponseChannel, as_channel, finite_channel
from sievert.errors import EstimationError, TooLargeError
from sievert.mechanisms import GeometricChannel, TruncatedGeometricChannel
from sievert.numerics import brief, exact_rank, non_negative
from sievert.results import Result
from sievert.spaces import Labels, by_label, column_of, label, shown

__all__ = [
    "Group",
    "Identifiability",
    "Reports",
    "clipped",
    "counts_over",
    "identifiability",
    "nearest_distribution",
    "read_reports",
]

# Less than this of a report is none: variances divide by it.
LEAST_TOTAL = 1e-100
# Resampling draws whole numbers of 63 bits.
MOST_REPORTS = 9e18


@dataclass(frozen=True, eq=False)
class Group:
    """One count for every output of one finite channel."""

    counts: FloatArray
    channel: Channel

    @property
    def observed(self) -> NDArray[np.intp]:
        """Positions of the outputs that were reported at all."""
        return np.flatnonzero(self.counts)


@dataclass(frozen=True, eq=False)
class Reports:
    """All groups; `total` is the number of reports."""

    groups: tuple[Group, ...]

    @property
    def total(self) -> float:
        """Number of reports in all groups."""
        return float(sum(group.counts.sum() for group in self.groups))

    @property
    def inputs(self) -> Labels:
        """Labels of the values whose distribution is estimated."""
        return self.groups[0].channel.inputs

    @property
    def size(self) -> int:
        """Number of those values."""
        return self.groups[0].channel.shape[0]


def read_reports(counts: Any, channel: Channel | Sequence[Channel]) -> Reports:
    """Check counts against a channel, or lists of both for groups of users with channels of their own."""
    if isinstance(channel, Channel):
        groups = [_group(counts, channel, "counts")]
    else:
        groups = _groups(counts, channel)
    largest = max(float(group.counts.max(initial=0.0)) for group in groups)
    total = math.inf if largest > MOST_REPORTS else sum(float(group.counts.sum()) for group in groups)
    if not total > LEAST_TOTAL:
        raise EstimationError("counts are all 0: there are no reports; an estimate needs at least one")
    if total > MOST_REPORTS:
        raise EstimationError(
            f"counts: the largest is {largest:g}; an estimate takes up to {MOST_REPORTS:g} reports in all"
        )
    return Reports(tuple(group for group in groups if group.counts.any()))


def _groups(counts: Any, channels: Any) -> list[Group]:
    if not isinstance(channels, list | tuple) or not channels:
        raise EstimationError(f"channel is {brief(channels)}; give a sv.Channel, or a list, one a group")
    for k, item in enumerate(channels):
        as_channel(item, f"channel of group {k}")
    if not isinstance(counts, list | tuple) or len(counts) != len(channels):
        raise EstimationError(
            f"counts: {len(channels)} channels need a list of {len(channels)} counts, one for each group"
        )
    groups = [
        _group(part, item, f"counts of group {k}")
        for k, (part, item) in enumerate(zip(counts, channels, strict=True))
    ]
    first = groups[0].channel.inputs
    for k, group in enumerate(groups):
        if len(group.channel.inputs) != len(first) or tuple(group.channel.inputs) != tuple(first):
            raise EstimationError(
                f"channel of group {k} has the inputs {shown(group.channel.inputs)} but group 0 has "
                f"{shown(first)}; every group must be about the same values in the same order"
            )
    return groups


def _group(counts: Any, channel: Channel, where: str) -> Group:
    finite = channel.finite()
    return Group(counts_over(finite_counts(channel, counts, where), finite.outputs, where), finite)


@singledispatch
def finite_counts(channel: Channel, counts: Any, where: str) -> Any:
    """Counts of the outputs of the finite equivalent of a channel."""
    return counts


@finite_counts.register
def _counts_of_integers(channel: GeometricChannel, counts: Any, where: str) -> Any:
    column = column_of(counts, where, EstimationError)
    if column.labels is None or column.made_up:
        return counts
    return _clamped(dict(zip(column.labels, column.values, strict=True)), channel, where)


def _clamped(counts: Mapping[Any, Any], channel: GeometricChannel, where: str) -> Counter[Hashable]:
    """Reports on all integers, those beyond the inputs merged: their likelihoods are proportional.

    Nobody lists all integers: one that is missing was not reported.
    """
    finite = channel.finite()
    low, high = int(channel.inputs[0]), int(channel.inputs[-1])  # type: ignore[call-overload]
    names = finite.outputs
    merged: Counter[Hashable] = Counter()
    for name, count in counts.items():
        item = label(name)
        if item not in names:
            if not isinstance(item, int) or isinstance(item, bool):
                raise EstimationError(
                    f"{where}: {brief(item)} is not an integer, but the noise is on the integers"
                )
            item = names[min(max(item, low), high) - low]
        merged[item] += _number(count, name, where)  # type: ignore[assignment]
    return merged


def counts_over(counts: Any, outputs: Labels, where: str = "counts") -> FloatArray:
    """Counts as an array over labelled outputs: in their order, or by label from anything labelled.

    An output without a count is an error; a `collections.Counter` counts it as 0.
    """
    given = by_label(counts, outputs, where, EstimationError)
    if isinstance(given, np.ndarray) and given.dtype.kind in "iuf":
        array = given.astype(np.float64)
    else:
        array = np.array([_number(count, name, where) for count, name in zip(given, outputs, strict=True)])
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        j = int(bad[0])
        raise EstimationError(
            f"{where}: output {outputs[j]!r} has the count {array[j]}; counts must be finite numbers ≥ 0"
        )
    return array


def _number(count: Any, name: object, where: str) -> float:
    return non_negative(f"{where}: the count of output {brief(name)}", count, EstimationError)


# ── Moving an estimate that left the simplex back into it ───────────────────────────────────────────────────
# Neither way is the maximum likelihood: Fernandes' Prop 8.2 makes the inverse the maximum likelihood only
# when it has no negative entry.


def nearest_distribution(values: FloatArray) -> FloatArray:
    """Euclidean projection onto the simplex in O(n log n) (Held, Wolfe and Crowder, 1974).

    >>> nearest_distribution(np.array([1.4, 0.4, -0.8]))
    array([1., 0., 0.])
    """
    ordered = -np.sort(-values)
    count = np.arange(1, len(values) + 1)
    # Subtract t so that what stays positive sums to 1; the last count that keeps its smallest one positive.
    t = (np.cumsum(ordered) - 1) / count
    last = int(np.flatnonzero(ordered > t)[-1])
    return np.asarray(np.maximum(values - t[last], 0.0))


def clipped(values: FloatArray) -> FloatArray:
    """Negative entries set to 0, the rest rescaled.

    >>> clipped(np.array([1.4, 0.4, -0.8]))
    array([0.77777778, 0.22222222, 0.        ])
    """
    positive = np.maximum(values, 0.0)
    return np.asarray(positive / positive.sum())


# ── What reports can tell at all: the part of the distribution that the channel does not erase ──────────────
# Two distributions give the same reports exactly when their difference v has v·C = 0. The probability of
# input i is identified when every such v has v_i = 0.
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

    Parameters
    ----------
    channel : Channel, or a list of them, one a group of users

    Returns
    -------
    Identifiability
        How many directions the reports see, which probabilities they determine, and which only in sum.

    Notes
    -----
    Cost: O(1) where the family is known to be invertible, otherwise the exact rank of the matrix.

    Examples
    --------
    >>> print(identifiability(Channel([[1, 0], ["1/2", "1/2"], ["1/2", "1/2"]], inputs=["a", "b", "c"])))
    the reports see 2 of 3 directions; they determine the probability of 'a'; of 'b' and 'c' only the total
    """
    given = list(channel) if isinstance(channel, list | tuple) else [channel]
    channels = [finite_channel(item) for item in given]
    if not channels:
        raise EstimationError("channel is an empty list; give at least one channel")
    size = channels[0].shape[0]
    if any(is_invertible(item) for item in channels):
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


@singledispatch
def is_invertible(channel: Channel) -> bool:
    """Whether the family is known to be."""
    return channel.shape[0] == 1


@is_invertible.register
def _is_geometric_invertible(channel: TruncatedGeometricChannel) -> bool:
    """The kernel alpha^|i-j| is positive definite."""
    return channel.level.eps > 0


@is_invertible.register
def _is_response_invertible(channel: ResponseChannel) -> bool:
    """b·J + I is positive definite."""
    return channel.eps > 0 or channel.shape[0] == 1


@is_invertible.register
def _is_every_record_invertible(channel: ProductChannel) -> bool:
    return all(is_invertible(factor) for factor, _ in channel.factors)


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
