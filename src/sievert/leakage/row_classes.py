"""Secrets that no number of observations can tell apart.

Rows that are equal form a class: the attacker learns the class, never the member. Secrets of probability
0 are left out, and proportional columns are merged, which loses nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import RELATIVE, Channel, finite_channel
from sievert.channels.priors import as_prior
from sievert.channels.reduction import DEFAULT_TOLERANCE, proportional_groups
from sievert.channels.response import ResponseChannel
from sievert.mechanisms.truncated import TruncatedGeometricChannel

__all__ = ["RowClasses", "equal_rows", "row_classes"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowClasses:
    """The distinct rows of one or several channels over the possible secrets.

    Attributes
    ----------
    parts : for each channel the logarithms [class, output], proportional columns merged
    relative : the same less one number for each output, for differences of rows (`Channel.relative_logs`)
    members : positions of the secrets of each class
    belief : probability of every secret
    likeliest, total : the likeliest member's probability and the class's, for each class
    """

    parts: tuple[FloatArray, ...]
    relative: tuple[FloatArray, ...]
    members: tuple[tuple[int, ...], ...]
    belief: FloatArray
    likeliest: FloatArray
    total: FloatArray

    def __len__(self) -> int:
        return len(self.members)

    @property
    def before(self) -> float:
        """Best guess without any observation."""
        return float(self.likeliest.max())

    @property
    def limit(self) -> float:
        """Best guess once the class is known, which is all that observations can tell."""
        return min(1.0, float(self.likeliest.sum()))


def row_classes(channels: Channel | list[Channel], prior: object = None) -> RowClasses:
    """Merge equal rows (equal in every channel) over the secrets that are possible."""
    given = [channels] if isinstance(channels, Channel) else channels
    finite = [finite_channel(channel) for channel in given]
    belief = as_prior(prior, finite[0]).astype(np.float64)
    possible = np.flatnonzero(belief > 0)
    groups = equal_rows(finite, possible.tolist())
    members = tuple(tuple(group) for group in groups)
    first = [group[0] for group in groups]
    reduced = [_reduced(channel, first) for channel in finite]
    parts = tuple(channel.log_matrix for channel in reduced)
    relative = tuple(channel.relative_logs for channel in reduced)
    likeliest = np.array([belief[list(group)].max() for group in members])
    total = np.array([belief[list(group)].sum() for group in members])
    return RowClasses(parts, relative, members, belief, likeliest, total)


def equal_rows(channels: list[Channel], rows: list[int]) -> list[list[int]]:
    """Groups of equal rows: exactly equal in exact channels, up to rounding noise in others."""
    if all(channel.form == "exact" for channel in channels):
        groups: dict[tuple[object, ...], list[int]] = {}
        for i in rows:
            key = tuple(tuple(channel.exact[i].tolist()) for channel in channels)  # type: ignore[index]
            groups.setdefault(key, []).append(i)
        return list(groups.values())
    if any(_all_differ(channel) for channel in channels):
        return [[i] for i in rows]
    logs = np.column_stack([channel.relative_logs[rows] for channel in channels])
    found, _ = proportional_groups(logs.T, DEFAULT_TOLERANCE)
    return [[rows[i] for i in group] for group in found]


def _all_differ(channel: Channel) -> bool:
    """Whether no two rows are equal and no two columns proportional, however close: by the family's rule."""
    if isinstance(channel, ResponseChannel):
        return 0 < channel.eps < math.inf
    return isinstance(channel, TruncatedGeometricChannel) and 0 < channel.level.eps < math.inf


def _reduced(channel: Channel, rows: list[int]) -> Channel:
    """Some rows of a channel, proportional columns merged."""
    data = channel._data if channel.form != "float" else channel.rounded()
    part = Channel._trusted(data[rows], channel.form)
    if channel.form == "log":
        part._cache[RELATIVE] = channel.relative_logs[rows]
    return part if _all_differ(channel) and len(rows) == channel.shape[0] else part.reduced()
