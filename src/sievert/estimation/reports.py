"""Counts of noisy reports beside the channel that made them, one group of users for each channel.

With several groups the likelihood is that of one channel whose outputs are the groups' outputs side by
side, each group weighted by its share of the users (ElSalamouny and Palamidessi, 2020).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.errors import EstimationError
from sievert.mechanisms.geometric import GeometricChannel
from sievert.spaces.labels import Labels, label, shown

__all__ = ["Group", "Reports", "counts_over", "read_reports"]

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
    if not sum(group.counts.sum() for group in groups) > 0:
        raise EstimationError("counts are all 0: there are no reports; an estimate needs at least one")
    return Reports(tuple(group for group in groups if group.counts.any()))


def _groups(counts: Any, channels: Any) -> list[Group]:
    if isinstance(channels, str) or not isinstance(channels, Sequence) or not channels:
        raise EstimationError(f"channel is {channels!r}; give a channel, or a list of them, one a group")
    for item in channels:
        if not isinstance(item, Channel):
            raise EstimationError(f"channel: {item!r} is not a channel")
    if isinstance(counts, Mapping) or len(counts) != len(channels):
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
    if isinstance(channel, GeometricChannel) and isinstance(counts, Mapping):
        counts = _clamped(counts, channel, where)
    finite = channel.finite()
    return Group(counts_over(counts, finite.outputs, where), finite)


def _clamped(counts: Mapping[Any, Any], channel: GeometricChannel, where: str) -> dict[Hashable, Any]:
    """Reports on all integers, those beyond the inputs merged: their likelihoods are proportional."""
    finite = channel.finite()
    low, high = int(channel.inputs[0]), int(channel.inputs[-1])  # type: ignore[call-overload]
    names = finite.outputs
    merged: dict[Hashable, Any] = {}
    for name, count in counts.items():
        item = label(name)
        if item not in names:
            if not isinstance(item, int) or isinstance(item, bool):
                raise EstimationError(
                    f"{where}: {item!r} is not an integer, but the noise is on the integers"
                )
            item = names[min(max(item, low), high) - low]
        merged[item] = merged.get(item, 0) + count
    return merged


def counts_over(counts: Any, outputs: Labels, where: str = "counts") -> FloatArray:
    """Counts as an array over labelled outputs: given in their order, or as a mapping from label to count."""
    if isinstance(counts, Mapping):
        position = {item: j for j, item in enumerate(outputs)}
        array = np.zeros(len(outputs))
        for name, count in counts.items():
            if label(name) not in position:
                raise EstimationError(
                    f"{where}: {name!r} is not one of the channel's outputs {shown(outputs)}"
                )
            array[position[label(name)]] += _number(count, name, where)
    else:
        try:
            array = np.array(counts, dtype=np.float64)
        except (TypeError, ValueError):
            array = np.empty((0, 0))
        if array.shape != (len(outputs),):
            raise EstimationError(
                f"{where} has shape {array.shape}; give one count for each of the {len(outputs)} outputs, or "
                "a mapping from output to count"
            )
    bad = np.flatnonzero(~(np.isfinite(array) & (array >= 0)))
    if len(bad):
        j = int(bad[0])
        raise EstimationError(
            f"{where}: output {outputs[j]!r} has the count {array[j]}; counts must be finite numbers ≥ 0"
        )
    return array


def _number(count: Any, name: object, where: str) -> float:
    try:
        return float(count)
    except (TypeError, ValueError):
        raise EstimationError(
            f"{where}: output {name!r} has the count {count!r}; counts must be finite numbers ≥ 0"
        ) from None
