"""Counts of noisy reports beside the channel that made them, one group of users for each channel.

With several groups the likelihood is that of one channel whose outputs are the groups' outputs side by
side, each group weighted by its share of the users (ElSalamouny and Palamidessi, 2020).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels import (
    Channel,
    PlanarNoise,
    ProductChannel,
    ResponseChannel,
    as_channel,
    finite_channel,
)
from sievert.errors import EstimationError, TooLargeError
from sievert.mechanisms import (
    ExponentialChannel,
    GeometricChannel,
    IrregularGeometricChannel,
    TruncatedGeometricChannel,
)
from sievert.numerics import abbreviated, exact_rank, non_negative
from sievert.observations import equal_rows
from sievert.results import Result
from sievert.spaces import Labels, by_label, column_of, label, shown, worded

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
        raise EstimationError(
            f"channel is {abbreviated(channels)}; give a sv.Channel, or a list, one a group"
        )
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
    finite = finite_form(channel)
    return Group(counts_over(finite_counts(channel, counts, where), finite.outputs, where), finite)


@singledispatch
def finite_form(channel: Channel) -> Channel:
    """The finite equivalent of a channel, by its rule where it has one."""
    return channel.finite()


@finite_form.register
def _form_of_places(channel: PlanarNoise) -> Channel:
    return channel.over_cells()


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
                    f"{where}: {abbreviated(item)} is not an integer, but the noise is on the integers"
                )
            item = names[min(max(item, low), high) - low]
        merged[item] += _number(count, name, where)  # type: ignore[assignment]
    return merged


def counts_over(counts: Any, outputs: Labels, where: str = "counts") -> FloatArray:
    """Counts as an array over labelled outputs: in their order, or by label from anything labelled.

    An output that a mapping leaves out was not reported; lists and tables have a count for each.
    """
    counts = Counter(counts) if isinstance(counts, Mapping) else counts
    given = by_label(counts, outputs, where, EstimationError)
    if isinstance(given, np.ndarray) and given.dtype.kind in "iuf":
        array = given.astype(np.float64)
    else:
        array = np.array([_number(count, name, where) for count, name in zip(given, outputs, strict=True)])
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        j = int(bad[0])
        raise EstimationError(
            f"{where}: output {worded(outputs[j])} has the count {array[j]}; counts must be finite numbers "
            "≥ 0"
        )
    return array


def _number(count: Any, name: object, where: str) -> float:
    return non_negative(f"{where}: the count of output {abbreviated(name)}", count, EstimationError)


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
# Distances of so many points are judged in fractions where floats leave it open.
MOST_POINTS = 64


@dataclass(frozen=True)
class Identifiability(Result):
    """Which probabilities the reports determine as their number grows.

    Attributes
    ----------
    rank : number of independent directions that reports can see, at most the number of inputs
    identified : for each input, whether its probability is determined
    same : groups of inputs whose reports are distributed alike; only their total is determined
    undetermined : whether there may be more directions, too faint for floating point: `rank` and
        `identified` then say what is seen for certain
    """

    inputs: Labels
    rank: int
    identified: tuple[bool, ...]
    same: tuple[tuple[object, ...], ...]
    undetermined: bool = False

    @property
    def complete(self) -> bool:
        """Whether the whole distribution is determined."""
        return self.rank == len(self.inputs)

    def __str__(self) -> str:
        size = len(self.inputs)
        if self.complete:
            return f"the reports determine the probabilities of all {size} values"
        known = [item for item, good in zip(self.inputs, self.identified, strict=True) if good]
        least = "at least " if self.undetermined else ""
        words = [f"the reports see {least}{self.rank} of {size} directions"]
        if self.undetermined:
            words.append("whether more is undetermined at this precision")
        words.append(
            f"they determine the probability of {shown(known)}"
            if known
            else "they determine no single probability"
        )
        words += [f"of {_joined(group)} only the total" for group in self.same[:3]]
        return "; ".join(words)


def _joined(items: Sequence[object]) -> str:
    """'a', 'b' and 'c'; of many the first ones."""
    names = [worded(item) for item in items[:SHOWN]]
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
            f"deciding what {abbreviated(channels[0])} determines takes a matrix of {total} entries; at most "
            f"{LARGEST_MATRIX} are used",
            size=total,
        )
    exact = channels[0].exact if len(channels) == 1 and channels[0].form == "exact" else None
    known = exact_rank(exact) if exact is not None and total <= LARGEST_EXACT else None
    rank, null = _null_space(np.concatenate([_differences(item) for item in channels], axis=1), known)
    identified = [bool((np.abs(row) <= NULL_ENTRY).all()) for row in null]
    labels = channels[0].inputs
    alike = equal_rows(channels, list(range(size))) if rank < size else []
    # Inputs with equal rows explain missing directions; others may be there, beyond the digits of logarithms,
    # as where rows that look equal are seen to differ.
    faint = rank < size and rank != len(alike) and any(item.form == "log" for item in channels)
    groups = [group for group in alike if len(group) > 1] if rank <= len(alike) else []
    same = tuple(tuple(labels[i] for i in group) for group in groups)
    return Identifiability(labels, rank, tuple(identified), same, undetermined=faint)


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
def _is_irregular_invertible(channel: IrregularGeometricChannel) -> bool:
    """Likewise e^(-eps·|x-y|) on distinct points, with a positive weight for each column."""
    return channel.level.eps > 0


@is_invertible.register
def _is_exponential_invertible(channel: ExponentialChannel) -> bool:
    """e^(-t·d) is a Gaussian kernel on distinct points of a Hilbert space, hence positive definite, where d
    is of negative type: then it is a squared distance there (Schoenberg, 1938)."""
    return channel.nominal > 0 and _is_of_negative_type(channel.distances)


def _is_of_negative_type(distances: FloatArray) -> bool:
    """Whether distances between distinct points are known to be squares of Euclidean ones.

    They are iff d(i, 0) + d(0, j) - d(i, j) is positive semidefinite: clearly so in floats, or in fractions.
    """
    size = len(distances)
    if distances.shape != (size, size) or not np.isfinite(distances).all():
        return False
    if (distances != distances.T).any() or (distances.diagonal() != 0).any():
        return False
    if (distances + np.eye(size) <= 0).any():
        return False
    products = distances[1:, :1] + distances[:1, 1:] - distances[1:, 1:]
    values = np.linalg.eigvalsh(products)
    # What rounding may change, of the entries and of the eigenvalues.
    doubt = 16 * size * np.finfo(float).eps * float(np.abs(values).max(initial=0.0))
    if values.min(initial=math.inf) > doubt:
        return True
    if size > MOST_POINTS:
        return False
    return _is_semidefinite([[Fraction(d) for d in row] for row in distances.tolist()])


def _is_semidefinite(distances: list[list[Fraction]]) -> bool:
    """The same without rounding: no pivot is negative, and one that is 0 has nothing in its row."""
    first = distances[0]
    rows = [[row[0] + first[j] - row[j] for j in range(1, len(first))] for row in distances[1:]]
    while rows:
        (pivot, *others), *below = rows
        if pivot < 0 or (pivot == 0 and any(others)):
            return False
        if pivot == 0:
            rows = [row[1:] for row in below]
            continue
        rows = [
            [entry - lead * other / pivot for entry, other in zip(row, others, strict=True)]
            for lead, *row in below
        ]
    return True


@is_invertible.register
def _is_response_invertible(channel: ResponseChannel) -> bool:
    """b·J + I is positive definite."""
    return channel.eps > 0 or channel.shape[0] == 1


@is_invertible.register
def _is_every_record_invertible(channel: ProductChannel) -> bool:
    return all(is_invertible(factor) for factor, _ in channel.factors)


def _differences(channel: Channel) -> FloatArray:
    """Rows less the first, however little they differ; v·C = 0 means that v sums to 0 and v·this = 0."""
    matrix, relative = channel.rounded(), channel.relative_logs
    with np.errstate(invalid="ignore", over="ignore"):
        moved = matrix[0] * np.expm1(relative - relative[0])
    return np.asarray(np.where((matrix[0] > 0) & np.isfinite(moved), moved, matrix - matrix[0]))


def _null_space(differences: FloatArray, known: int | None) -> tuple[int, FloatArray]:
    """Rank, and the v with v·C = 0 as columns; singular values at rounding level count as 0.

    Rows of `differences` after the first are weighed by v_2, v_3, …, and v_1 is what makes the sum 0.
    """
    left, values, _ = np.linalg.svd(differences[1:], full_matrices=True)
    tolerance = max(differences.shape) * np.finfo(float).eps * values.max(initial=0.0)
    rank = 1 + int((values > tolerance).sum()) if known is None else known
    others = left[:, rank - 1 :]
    return rank, np.vstack([-others.sum(axis=0), others])
