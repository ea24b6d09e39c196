"""Recognising vertex and kernel mechanisms.

A private mechanism is a vertex mechanism iff all its posteriors under the uniform prior are extreme, which
says that the ratios as large as allowed connect all inputs. These are the minimal private mechanisms under
post-processing (Fernandes, Cor 6.12). Kernels have linearly independent posteriors besides (Def 6.3.2).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import AnyArray, IndexArray
from sievert.channels import Channel, finite_channel, reduction
from sievert.errors import ChannelError, MechanismError
from sievert.geometry._polytope import polytope
from sievert.numerics import exact_rank
from sievert.policies import Answers, Policy
from sievert.results import Result
from sievert.spaces import Metric, align

__all__ = [
    "NOTHING",
    "TIGHT",
    "KernelMechanism",
    "PrivateColumns",
    "VertexMechanism",
    "is_kernel",
    "is_vertex_mechanism",
]

# Ratios of floats that differ from the largest one allowed by less, relatively, are taken for tight.
TIGHT = 1e-9
# What a float weight may be off by.
NOTHING = 1e-12


@dataclass(frozen=True)
class VertexMechanism(Result):
    """Whether all posteriors of a private mechanism are extreme.

    Attributes
    ----------
    holds : whether they are
    output : an output whose posterior is not extreme
    parts : for that output, groups of inputs whose ratios to each other are as large as allowed: scaling one
        of them leaves the posterior private
    exact : decided in fractions; otherwise ratios within 1e-9 of the largest one allowed count as tight
    """

    holds: bool
    output: Hashable | None
    parts: tuple[tuple[Hashable, ...], ...]
    exact: bool

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return "a vertex mechanism: no private mechanism tells more without losing something else"
        return (
            f"not a vertex mechanism: after output {self.output!r} the groups "
            f"{' | '.join(', '.join(map(repr, part)) for part in self.parts)} could still be told apart more"
        )


@dataclass(frozen=True)
class KernelMechanism(Result):
    """Whether a private mechanism is a kernel: extreme posteriors that are linearly independent.

    Attributes
    ----------
    holds : whether it is
    vertex : whether its posteriors are extreme
    outputs, rank : how many different posteriors there are, and their rank
    exact : decided in fractions
    """

    holds: bool
    vertex: VertexMechanism
    outputs: int
    rank: int
    exact: bool

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return f"a kernel with {self.outputs} outputs"
        if not self.vertex:
            return f"no kernel: {self.vertex}"
        return (
            f"no kernel: its {self.outputs} posteriors have rank {self.rank}, so it mixes several kernels; "
            "`sv.geometry.decompose` names them"
        )


class PrivateColumns:
    """The different columns of a private mechanism over a polytope, and which ratios are tight.

    A mechanism that is not private is refused, with the pair that is violated most.
    """

    def __init__(
        self, channel: Channel, metric: Metric | Policy | Answers, eps: float | None, alpha: object
    ) -> None:
        self.polytope = polytope(metric, eps, alpha=alpha)
        given = finite_channel(channel, "channel")
        order = align(self.polytope.inputs, given.inputs, "the inputs of the channel", ChannelError)
        level = self.polytope.level
        whole = bool((self.polytope.metric.matrix % 1 == 0)[np.isfinite(self.polytope.metric.matrix)].all())
        self.exact = given.form == "exact" and level.alpha is not None and whole
        reduced = given.reduced()
        table: AnyArray = reduced.entries if given.form == "exact" else reduced.rounded()
        table = table if order is None else table[order]
        self.table: AnyArray = table if self.exact else table.astype(np.float64)
        self.outputs = _names(given)
        self._refuse_leaks()

    @cached_property
    def pairs(self) -> IndexArray:
        """Constraints as pairs of inputs: irreducible ones, and inputs at distance 0."""
        shape = self.polytope
        own = [(int(shape._first[a]), int(shape._first[b])) for a, b in shape._pairs.tolist()]
        alike = [(a, b) for a, b, _ in shape._alike_pairs()]
        return np.array(own + alike, dtype=np.intp).reshape(-1, 2)

    @cached_property
    def factors(self) -> NDArray[Any]:
        """e^(-ε·d) for each of the pairs."""
        lengths = self.polytope.metric.matrix[self.pairs[:, 0], self.pairs[:, 1]]
        level = self.polytope.level
        if level.eps == 0:
            lengths = np.zeros_like(lengths)
        if not self.exact:
            return np.asarray(np.exp(-np.where(lengths == 0, 0.0, level.eps * lengths)))
        assert level.alpha is not None
        found = np.empty(len(lengths), dtype=object)
        found[:] = [level.alpha ** int(length) for length in lengths]
        return found

    def slack(self, column: AnyArray) -> NDArray[Any]:
        """c_z - e^(-ε·d)·c_x for both directions of every pair: ≥ 0 for a private column."""
        first, second = column[self.pairs[:, 0]], column[self.pairs[:, 1]]
        return np.concatenate([second - self.factors * first, first - self.factors * second])

    def tight(self, column: AnyArray) -> IndexArray:
        """Pairs whose ratio is as large as allowed, in some direction."""
        spare = self.slack(column)
        size = np.concatenate([column[self.pairs[:, 1]], column[self.pairs[:, 0]]])
        none = spare == 0 if self.exact else spare <= TIGHT * size
        count = len(self.pairs)
        return np.asarray(self.pairs[np.asarray(none[:count] | none[count:], dtype=bool)])

    def parts(self, column: AnyArray) -> list[list[int]]:
        """Inputs of positive probability, grouped by what tight ratios connect."""
        home = list(range(len(column)))

        def root(x: int) -> int:
            while home[x] != x:
                home[x] = home[home[x]]
                x = home[x]
            return x

        for a, b in self.tight(column).tolist():
            home[root(a)] = root(b)
        groups: dict[int, list[int]] = {}
        for x in range(len(column)):
            if column[x] > 0:
                groups.setdefault(root(x), []).append(x)
        return list(groups.values())

    def vertex(self) -> VertexMechanism:
        """Whether all columns are extreme."""
        inputs = self.polytope.inputs
        for column, name in zip(self.table.T, self.outputs, strict=True):
            groups = self.parts(column)
            if len(groups) > 1:
                parts = tuple(tuple(inputs[x] for x in group) for group in groups)
                return VertexMechanism(False, name, parts, self.exact)
        return VertexMechanism(True, None, (), self.exact)

    def _refuse_leaks(self) -> None:
        for column, name in zip(self.table.T, self.outputs, strict=True):
            spare = self.slack(column)
            size = np.concatenate([column[self.pairs[:, 0]], column[self.pairs[:, 1]]])
            broken = np.asarray(spare < (0 if self.exact else -TIGHT * size), dtype=bool)
            if broken.any():
                k = int(
                    np.argmin(np.where(broken, (spare / np.where(size == 0, 1, size)).astype(float), 0.0))
                )
                pair = self.pairs[k % len(self.pairs)]
                x, z = (int(i) for i in (pair if k < len(self.pairs) else pair[::-1]))
                ratio = math.inf if column[z] == 0 else float(column[x] / column[z])
                factor = self.factors[k % len(self.pairs)]
                allowed = math.inf if factor == 0 else float(1 / factor)
                a, b = self.polytope.inputs[x], self.polytope.inputs[z]
                raise MechanismError(
                    f"channel: output {name!r} is {ratio:.6g} times as likely from {a!r} as from {b!r}, and "
                    f"{allowed:.6g} is allowed; the mechanism is not private for this metric and ε"
                )


def _names(channel: Channel) -> list[Hashable]:
    """One output for each different column, in the order of the reduced channel."""
    return [channel.outputs[group[0]] for group in reduction(channel).groups]


def is_vertex_mechanism(
    channel: Channel,
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    *,
    alpha: object = None,
) -> VertexMechanism:
    """Whether every posterior of a private mechanism is extreme, so that none can tell more.

    Parameters
    ----------
    channel : a private mechanism; one that is not private is refused with the violated pair
    metric : Metric, Policy or Answers
    eps : ε in nats per unit of distance; without eps and alpha the metric is in nats
    alpha : e^-eps, instead of eps; a fraction makes the decision exact

    Returns
    -------
    VertexMechanism
        Whether it is, with an output that could still tell more.

    Notes
    -----
    Vertex mechanisms are the minimal private mechanisms under post-processing.

    Cost: O(outputs·pairs).

    References
    ----------
    Fernandes, Def 6.3.1, Cor 6.12.

    Examples
    --------
    >>> from sievert.mechanisms import truncated_geometric
    >>> from sievert.spaces import metrics
    >>> is_vertex_mechanism(truncated_geometric(4, alpha="1/2"), metrics.line(4), alpha="1/2").holds
    True
    >>> is_vertex_mechanism(truncated_geometric(4, alpha="1/2"), metrics.line(4), alpha="1/3").holds
    False
    """
    return PrivateColumns(channel, metric, eps, alpha).vertex()


def is_kernel(
    channel: Channel,
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    *,
    alpha: object = None,
) -> KernelMechanism:
    """Whether a private mechanism is a kernel: its posteriors are extreme and linearly independent.

    Parameters
    ----------
    channel : a private mechanism; one that is not private is refused with the violated pair
    metric : Metric, Policy or Answers
    eps : ε in nats per unit of distance; without eps and alpha the metric is in nats
    alpha : e^-eps, instead of eps; a fraction makes the decision exact

    Returns
    -------
    KernelMechanism

    Notes
    -----
    Cost: O(outputs·pairs), and a rank.

    References
    ----------
    Fernandes, Def 6.3.2.

    Examples
    --------
    >>> from sievert.mechanisms import randomised_response
    >>> from sievert.spaces import metrics
    >>> print(is_kernel(randomised_response(4, alpha="1/2"), metrics.discrete(4), alpha="1/2"))
    a kernel with 4 outputs
    """
    columns = PrivateColumns(channel, metric, eps, alpha)
    vertex = columns.vertex()
    outputs = columns.table.shape[1]
    rank = exact_rank(columns.table) if columns.exact else _float_rank(columns.table)
    return KernelMechanism(bool(vertex) and rank == outputs, vertex, outputs, rank, columns.exact)


def _float_rank(table: AnyArray) -> int:
    """Rank of normalised columns; singular values below 1e-9 of the largest are rounding."""
    values = np.linalg.svd(table / table.sum(axis=0), compute_uv=False)
    return int((values > TIGHT * values[0]).sum())
