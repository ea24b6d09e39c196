"""Reduced channels: the canonical representative of all channels that leak the same (Fernandes, Lem 2.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.channels.channel import RELATIVE, Channel
from sievert.errors import ChannelError
from sievert.numerics.checks import brief, non_negative
from sievert.numerics.logs import log_sum
from sievert.spaces.labels import align

__all__ = ["DEFAULT_TOLERANCE", "Reduction", "proportional_groups", "reduction", "same_columns"]

# Relative difference below which two normalised float columns are taken as rounding noise apart.
DEFAULT_TOLERANCE = 1e-12

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Reduction:
    """A reduced channel, the outputs each of its columns came from, and how far merged columns were apart."""

    channel: Channel
    groups: tuple[tuple[int, ...], ...]
    radius: float


def reduction(channel: Channel, tolerance: float | None = None) -> Reduction:
    """Delete zero columns, add up proportional ones, order the rest canonically.

    "Proportional up to a tolerance" is not transitive, so columns are clustered in the normalised
    column space and the radius actually reached is reported.
    """
    if tolerance is not None:
        tolerance = non_negative("tolerance", tolerance, ChannelError)
    channel = channel.finite()
    exact = channel.exact if channel.form == "exact" else None
    if exact is not None:
        if tolerance:
            raise ChannelError(
                f"tolerance is {brief(tolerance)}; an exact channel merges only exactly proportional columns"
            )
        return _exact_reduction(channel, exact)
    logs = channel.log_matrix
    present = np.flatnonzero(~np.isneginf(logs).all(axis=0))
    normalised = logs[:, present] - log_sum(logs[:, present], axis=0)
    groups, radius = proportional_groups(normalised, DEFAULT_TOLERANCE if tolerance is None else tolerance)
    leaders = np.array([group[0] for group in groups])
    order = np.lexsort(normalised[::-1, leaders])
    members = tuple(tuple(int(present[j]) for j in groups[i]) for i in order)
    if channel.form == "float":
        data = np.column_stack([channel.rounded()[:, list(group)].sum(axis=1) for group in members])
    else:
        data = np.column_stack([log_sum(logs[:, list(group)], axis=1) for group in members])
    reduced = Channel._trusted(data, channel.form, channel.inputs)
    if channel.form == "log":
        # Rows differ by the same on every one of the merged outputs.
        reduced._cache[RELATIVE] = channel.relative_logs[:, [group[0] for group in members]]
    return Reduction(reduced, members, radius)


def _exact_reduction(channel: Channel, exact: NDArray[np.object_]) -> Reduction:
    groups: dict[tuple[Any, ...], list[int]] = {}
    for j, column in enumerate(exact.T.tolist()):
        total = sum(column)
        if total:
            groups.setdefault(tuple(value / total for value in column), []).append(j)
    members = tuple(tuple(groups[key]) for key in sorted(groups))
    data = np.column_stack([exact[:, list(group)].sum(axis=1) for group in members])
    return Reduction(Channel._trusted(data, "exact", channel.inputs), members, 0.0)


def proportional_groups(normalised: FloatArray, tolerance: float) -> tuple[list[list[int]], float]:
    """Clusters of columns (logarithms, -inf for zeros) within `tolerance` of each other, and their radius.

    Columns are sorted along one fixed random direction; only neighbours there are compared, and each
    round keeps one representative a cluster, so equal columns cost one comparison each.
    """
    finite = np.where(np.isneginf(normalised), 0.0, normalised)
    support = ~np.isneginf(normalised)
    direction = np.random.default_rng(0).uniform(0.5, 1.5, len(finite))
    shadow = direction @ finite + 1e3 * (np.random.default_rng(1).random(len(finite)) @ support)
    # Rounding of the shadows themselves must not separate equal columns.
    reach = tolerance * float(direction.sum()) + 1e-12 * float(np.abs(shadow).max(initial=0.0))
    leader = np.arange(finite.shape[1])
    active = np.argsort(shadow, kind="stable")
    step = 1
    while step < len(active):
        first, second = active[:-step], active[step:]
        near = shadow[second] - shadow[first] <= reach
        if not near.any():
            break
        a, b = first[near], second[near]
        same = (support[:, a] == support[:, b]).all(axis=0)
        same &= (np.abs(finite[:, a] - finite[:, b]) <= tolerance).all(axis=0)
        if same.any():
            joins = (np.ones(int(same.sum())), (a[same], b[same]))
            labels = connected_components(coo_array(joins, shape=(finite.shape[1],) * 2), directed=False)[1]
            representative = _first_of_each(labels)
            leader = representative[leader]
            active = active[leader[active] == active]
            step = 1
        else:
            step += 1
    groups: dict[int, list[int]] = {}
    for column, head in enumerate(leader.tolist()):
        groups.setdefault(head, []).append(column)
    radius = max(
        (float(np.abs(finite[:, group] - finite[:, [group[0]]]).max()) for group in groups.values()),
        default=0.0,
    )
    return list(groups.values()), radius


def _first_of_each(labels: NDArray[Any]) -> NDArray[np.intp]:
    """For each element, the smallest element with the same label."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(first[inverse], dtype=np.intp)


def same_columns(a: Channel, b: Channel, tolerance: float | None = None) -> bool:
    """Whether the reduced forms coincide, exactly when both channels are exact."""
    if tolerance is not None:
        tolerance = non_negative("tolerance", tolerance, ChannelError)
    a, b = a.finite(), b.finite()
    if a.shape[0] != b.shape[0]:
        return False
    order = align(a.inputs, b.inputs, "the inputs of the second channel", ChannelError)
    if order is not None:
        b = Channel._trusted(b._data[order], b.form, a.inputs, b.outputs)
    if a.form == "exact" and b.form == "exact":
        first, second = a.reduced()._data, b.reduced()._data
        return first.shape == second.shape and bool((first == second).all())
    bound = DEFAULT_TOLERANCE if tolerance is None else tolerance
    first_logs, second_logs = (_as_logs(c).reduced(bound).log_matrix for c in (a, b))
    if first_logs.shape != second_logs.shape:
        return False
    joined = np.column_stack([first_logs, second_logs])
    weights = log_sum(joined, axis=0)
    # Two roundings of the same column may end up on either side of their cluster's representative.
    groups, _ = proportional_groups(joined - weights, 4 * bound)
    m = first_logs.shape[1]
    if any(len(group) != 2 or (group[0] < m) == (group[1] < m) for group in groups):
        return False
    pairs = np.array(groups)
    return bool((np.abs(weights[pairs[:, 0]] - weights[pairs[:, 1]]) <= max(4 * bound, 1e-9)).all())


def _as_logs(channel: Channel) -> Channel:
    if channel.form != "exact":
        return channel
    return Channel._trusted(channel.log_matrix, "log", channel.inputs, channel.outputs)
