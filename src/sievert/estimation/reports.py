"""Counts of noisy reports beside the channel that made them, one group of users for each channel.

With several groups the likelihood is that of one channel whose outputs are the groups' outputs side by
side, each group weighted by its share of the users (ElSalamouny and Palamidessi, 2020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel, as_channel
from sievert.errors import EstimationError
from sievert.mechanisms.geometric import GeometricChannel
from sievert.numerics.checks import brief, non_negative
from sievert.spaces.labels import Labels, label, shown
from sievert.spaces.tabular import by_label, column_of

__all__ = ["Group", "Reports", "counts_over", "read_reports"]

# Less than this of a report is none: variances divide by it.
LEAST_TOTAL = 1e-100

FloatArray = NDArray[np.float64]


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
    if not sum(group.counts.sum() for group in groups) > LEAST_TOTAL:
        raise EstimationError("counts are all 0: there are no reports; an estimate needs at least one")
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
    if isinstance(channel, GeometricChannel):
        column = column_of(counts, where, EstimationError)
        if column.labels is not None and not column.made_up:
            named = dict(zip(column.labels, column.values, strict=True))
            counts = _clamped(named, channel, where)
    finite = channel.finite()
    return Group(counts_over(counts, finite.outputs, where), finite)


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
