"""Hypers: a prior and a channel make a distribution on posteriors (Fernandes, Sec 2.1, 2.4)."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.channels.priors import as_prior
from sievert.channels.reduction import DEFAULT_TOLERANCE, proportional_groups
from sievert.errors import ChannelError
from sievert.numerics.checks import brief, instance, non_negative
from sievert.numerics.logs import log_fraction, log_of, log_sum
from sievert.results import cell_text, html_table
from sievert.spaces.labels import Labels, label
from sievert.spaces.tabular import frame, pandas_axis

__all__ = ["Hyper", "push"]

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
        raise ChannelError(f"output {brief(output)} cannot occur under this prior, so it has no posterior")

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
