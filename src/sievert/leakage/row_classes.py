"""Secrets that no number of observations can tell apart.

Rows that are equal form a class: the attacker learns the class, never the member. Secrets of probability
0 are left out, and proportional columns are merged, which loses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel, finite_channel
from sievert.channels.priors import as_prior
from sievert.channels.reduction import DEFAULT_TOLERANCE, proportional_groups

__all__ = ["RowClasses", "equal_rows", "row_classes"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RowClasses:
    """The distinct rows of one or several channels over the possible secrets.

    Attributes
    ----------
    parts : for each channel the logarithms [class, output], proportional columns merged
    members : positions of the secrets of each class
    belief : probability of every secret
    likeliest, total : the likeliest member's probability and the class's, for each class
    """

    parts: tuple[FloatArray, ...]
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
    parts = tuple(_reduced(channel, first) for channel in finite)
    likeliest = np.array([belief[list(group)].max() for group in members])
    total = np.array([belief[list(group)].sum() for group in members])
    return RowClasses(parts, members, belief, likeliest, total)


def equal_rows(channels: list[Channel], rows: list[int]) -> list[list[int]]:
    """Groups of equal rows: exactly equal in exact channels, up to rounding noise in others."""
    if all(channel.form == "exact" for channel in channels):
        groups: dict[tuple[object, ...], list[int]] = {}
        for i in rows:
            key = tuple(tuple(channel.exact[i].tolist()) for channel in channels)  # type: ignore[index]
            groups.setdefault(key, []).append(i)
        return list(groups.values())
    logs = np.column_stack([channel.log_matrix[rows] for channel in channels])
    found, _ = proportional_groups(logs.T, DEFAULT_TOLERANCE)
    return [[rows[i] for i in group] for group in found]


def _reduced(channel: Channel, rows: list[int]) -> FloatArray:
    if channel.form == "exact":
        assert channel.exact is not None
        part = Channel._trusted(channel.exact[rows], "exact")
    else:
        part = Channel._trusted(channel.log_matrix[rows], "log")
    return part.reduced().log_matrix
