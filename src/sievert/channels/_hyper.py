"""Hypers: a prior and a channel make a distribution on posteriors (Fernandes, Sec 2.1, 2.4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sievert.arrays import FloatArray
from sievert.channels._channel import Channel
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError
from sievert.numerics import abbreviated, instance, log_fraction, log_of, log_sum, non_negative
from sievert.results import cell_text, html_table
from sievert.spaces import Labels, align, frame, label, pandas_axis

__all__ = [
    "DEFAULT_TOLERANCE",
    "Hyper",
    "Reduction",
    "proportional_groups",
    "push",
    "reduction",
    "same_columns",
]


# ── Reduced channels ────────────────────────────────────────────────────────────────────────────────────────
# Reduced channels: the canonical representative of all channels that leak the same (Fernandes, Lem 2.3).

# Relative difference below which two normalised float columns are taken as rounding noise apart.
DEFAULT_TOLERANCE = 1e-12


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
                f"tolerance is {abbreviated(tolerance)}; an exact channel merges only exactly "
                f"proportional columns"
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
    relative = None
    if channel.form == "log":
        # Rows differ by the same on every one of the merged outputs.
        relative = channel.relative_logs[:, [group[0] for group in members]]
    reduced = Channel.trusted(data, channel.form, channel.inputs, relative=relative)
    return Reduction(reduced, members, radius)


def _exact_reduction(channel: Channel, exact: NDArray[np.object_]) -> Reduction:
    groups: dict[tuple[Any, ...], list[int]] = {}
    for j, column in enumerate(exact.T.tolist()):
        total = sum(column)
        if total:
            groups.setdefault(tuple(value / total for value in column), []).append(j)
    members = tuple(tuple(groups[key]) for key in sorted(groups))
    data = np.column_stack([exact[:, list(group)].sum(axis=1) for group in members])
    return Reduction(Channel.trusted(data, "exact", channel.inputs), members, 0.0)


def proportional_groups(normalised: FloatArray, tolerance: float) -> tuple[list[list[int]], float]:
    """Clusters of columns (logarithms, -inf for zeros) within `tolerance` of each other, and their radius.

    Columns are sorted along one fixed random direction; only neighbours there that are near along a second
    one are compared, and each round keeps one representative a cluster, so equal columns cost one
    comparison each.
    """
    finite = np.where(np.isneginf(normalised), 0.0, normalised)
    support = ~np.isneginf(normalised)
    direction = np.random.default_rng(0).uniform(0.5, 1.5, len(finite))
    shadow = direction @ finite + 1e3 * (np.random.default_rng(1).random(len(finite)) @ support)
    aside = np.random.default_rng(2).uniform(-1.5, 1.5, len(finite))
    profile = aside @ finite
    # Rounding of the shadows themselves must not separate equal columns.
    reach = tolerance * float(direction.sum()) + 1e-12 * float(np.abs(shadow).max(initial=0.0))
    size = float((np.abs(aside) @ np.abs(finite)).max(initial=0.0))
    beside = tolerance * float(np.abs(aside).sum()) + 1e-12 * size
    leader = np.arange(finite.shape[1])
    active = np.argsort(shadow, kind="stable")
    step = 1
    while step < len(active):
        first, second = active[:-step], active[step:]
        near = shadow[second] - shadow[first] <= reach
        if not near.any():
            break
        a, b = first[near], second[near]
        alike = np.abs(profile[a] - profile[b]) <= beside
        a, b = a[alike], b[alike]
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
        b = Channel.trusted(b._data[order], b.form, a.inputs, b.outputs)
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
    return Channel.trusted(channel.log_matrix, "log", channel.inputs, channel.outputs)


# More cells than this are not a table to look at.
LARGEST_TABLE = 400


@dataclass(frozen=True, eq=False)
class Hyper:
    """Finitely many posteriors with their probabilities; made by `Channel.hyper`.

    Attributes
    ----------
    outers : array [k], probability of each posterior
    inners : array [k, n], the posteriors
    inputs : labels of the secrets
    groups : for each posterior, the channel's outputs that lead to it

    Examples
    --------
    >>> hyper = Channel([["1/2", "1/2", 0], [0, "1/4", "3/4"], [0, "1/2", "1/2"]]).hyper()
    >>> [str(outer) for outer in hyper.outers]
    ['1/6', '5/12', '5/12']
    """

    outers: NDArray[Any]
    inners: NDArray[Any]
    inputs: Labels
    groups: tuple[tuple[Any, ...], ...] = field(repr=False)

    @property
    def prior(self) -> NDArray[Any]:
        """The centre of mass of the posteriors."""
        average: NDArray[Any] = self.outers @ self.inners
        return average

    def posterior(self, output: object) -> NDArray[Any]:
        """What is believed about the secrets after one labelled output.

        >>> hyper = Channel([["3/4", "1/4"], ["1/4", "3/4"]], outputs=["yes", "no"]).hyper()
        >>> [str(belief) for belief in hyper.posterior("yes")]
        ['3/4', '1/4']
        """
        name = label(output)
        for group, inner in zip(self.groups, self.inners, strict=True):
            if name in group:
                return np.asarray(inner)
        raise ChannelError(
            f"output {abbreviated(output)} cannot occur under this prior, so it has no posterior"
        )

    def channel(self) -> Channel:
        """The reduced channel with this hyper: C[x, i] = outer_i · inner_i[x] / prior_x.

        Unique, because only the order of its columns is free and that is canonical (`Channel.reduced`).
        """
        prior = self.prior
        empty = np.flatnonzero(np.asarray(prior == 0, dtype=bool))
        if len(empty):
            raise ChannelError(
                f"the hyper never reaches input {self.inputs[int(empty[0])]!r}, so its row is not "
                "determined; use a prior that is positive everywhere"
            )
        columns = (self.outers[:, None] * self.inners).T / prior[:, None]
        return Channel(columns.tolist(), self.inputs).reduced()

    def is_same(self, other: Hyper, tolerance: float = DEFAULT_TOLERANCE) -> bool:
        """Whether the same posteriors occur with the same probabilities; labels of outputs do not matter.

        Exact hypers are compared exactly.
        """
        instance("other", other, Hyper, "what Channel.hyper returns", ChannelError)
        tolerance = non_negative("tolerance", tolerance, ChannelError)
        if len(self) != len(other) or len(self.inputs) != len(other.inputs):
            return False
        if self.outers.dtype == object and other.outers.dtype == object:
            return self._weights() == other._weights()
        joined = log_of(np.concatenate([self.inners, other.inners]).astype(np.float64).T)
        groups, _ = proportional_groups(joined, 4 * tolerance)
        outers = np.concatenate([self.outers, other.outers]).astype(np.float64)
        crossing = all(len(group) == 2 and group[0] < len(self) <= group[1] for group in groups)
        return crossing and all(
            abs(outers[group[0]] - outers[group[1]]) <= max(4 * tolerance, 1e-9) for group in groups
        )

    def _weights(self) -> dict[tuple[Any, ...], Any]:
        return {tuple(inner): outer for inner, outer in zip(self.inners.tolist(), self.outers, strict=True)}

    def __len__(self) -> int:
        return len(self.outers)

    def __str__(self) -> str:
        return f"{len(self)} posteriors over {len(self.inputs)} secrets"

    def _repr_html_(self) -> str:
        if self.inners.size > LARGEST_TABLE:
            return html_table(str(self), {})
        head = "".join(f"<th>{escape(str(name))}</th>" for name in ("probability", *self.inputs))
        body = "".join(
            f"<tr><th>{cell_text(outer)}</th>{''.join(f'<td>{cell_text(part)}</td>' for part in inner)}</tr>"
            for outer, inner in zip(self.outers.tolist(), self.inners.tolist(), strict=True)
        )
        return f"<p>{self}</p><table><tr>{head}</tr>{body}</table>"

    def to_pandas(self) -> Any:
        """A pandas table: a row for each posterior, with its probability and that of each secret."""
        table = frame({}, "pandas")
        data = np.column_stack([self.outers, self.inners])
        return type(table)(data, columns=pandas_axis(("probability", *self.inputs)))

    def to_polars(self) -> Any:
        """A polars table: a row for each posterior, with its probability and that of each secret."""
        columns = {"probability": self.outers.astype(np.float64)}
        columns |= {str(name): self.inners[:, i].astype(np.float64) for i, name in enumerate(self.inputs)}
        return frame(columns, "polars")

    def to_dict(self) -> dict[str, Any]:
        """Outers and inners as plain data."""
        return {
            "inputs": list(self.inputs),
            "outers": [_plain(v) for v in self.outers.tolist()],
            "inners": [[_plain(v) for v in row] for row in self.inners.tolist()],
        }


def _plain(value: Any) -> Any:
    return value if isinstance(value, float) else str(value)


def push(prior: object, channel: Channel, tolerance: float = DEFAULT_TOLERANCE) -> Hyper:
    """The hyper [π ▷ C]: outputs of probability 0 are dropped and equal posteriors merged."""
    channel = channel.finite()
    belief = as_prior(prior, channel)
    exact = channel.exact if channel.form == "exact" else None
    if exact is not None and belief.dtype == object:
        return _exact_push(belief, channel, exact)
    logs = np.array([log_fraction(p) for p in belief]) if belief.dtype == object else log_of(belief)
    joint = logs[:, None] + channel.log_matrix
    weight = log_sum(joint, axis=0)
    present = np.flatnonzero(~np.isneginf(weight))
    posterior = joint[:, present] - weight[present]
    groups, _ = proportional_groups(posterior, tolerance)
    outers = np.array([float(np.exp(log_sum(weight[present[group]], axis=0))) for group in groups])
    inners = np.array([np.exp(posterior[:, group[0]]) for group in groups])
    names = tuple(tuple(channel.outputs[present[j]] for j in group) for group in groups)
    return Hyper(outers, inners, channel.inputs, names)


def _exact_push(belief: NDArray[Any], channel: Channel, exact: NDArray[np.object_]) -> Hyper:
    found: dict[tuple[Any, ...], tuple[Any, list[Any]]] = {}
    for output, column in zip(channel.outputs, exact.T, strict=True):
        joint = belief * column
        weight = joint.sum()
        if weight == 0:
            continue
        key = tuple((joint / weight).tolist())
        outer, names = found.get(key, (0, []))
        found[key] = (outer + weight, [*names, output])
    outers = np.empty(len(found), dtype=object)
    outers[:] = [outer for outer, _ in found.values()]
    inners = np.array([list(key) for key in found], dtype=object).reshape(len(found), -1)
    return Hyper(outers, inners, channel.inputs, tuple(tuple(names) for _, names in found.values()))
