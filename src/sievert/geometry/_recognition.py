"""Recognising vertex and kernel mechanisms.

A private mechanism is a vertex mechanism iff all its posteriors under the uniform prior are extreme, which
says that the ratios as large as allowed connect all inputs. These are the minimal private mechanisms under
post-processing (Fernandes, Cor 6.12). Kernels have linearly independent posteriors besides (Def 6.3.2).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from sievert.arrays import AnyArray, IndexArray
from sievert.channels import Channel, finite_channel, reduction
from sievert.errors import ChannelError, MechanismError
from sievert.geometry._constraints import as_float
from sievert.geometry._polytope import polytope
from sievert.numerics import exact_rank, exp_or_infinity
from sievert.policies import Answers, Policy
from sievert.results import Result
from sievert.spaces import Metric, align

__all__ = [
    "NOTHING",
    "TIGHT",
    "KernelMechanism",
    "PrivateColumns",
    "VertexMechanism",
    "ball_rank",
    "float_rank",
    "is_kernel",
    "is_vertex_mechanism",
]

# Ratios of floats whose logarithm differs from the largest one allowed, ε·d, by less than this share of it
# (or of 1, where it is larger) are taken for tight.
TIGHT = 1e-9
# What the rounding of two entries may add to the logarithm of their ratio, for each unit of the logarithms.
ULPS = 2.0**-47
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
            return f"a kernel with {self.outputs} output{'' if self.outputs == 1 else 's'}"
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
        lengths = self.polytope.metric.matrix
        whole = bool((lengths == np.floor(lengths)).all())
        self.exact = given.form == "exact" and level.alpha is not None and whole
        reduced = given.reduced()
        table: AnyArray = reduced.entries if given.form == "exact" else reduced.rounded()
        table = table if order is None else table[order]
        self.table: AnyArray = table if self.exact else table.astype(np.float64)
        logs = None if self.exact else reduced.log_matrix
        self.logs: Any = logs if logs is None or order is None else logs[order]
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

    @cached_property
    def reach(self) -> NDArray[Any]:
        """ε·d for each of the pairs: by how much logarithms may differ."""
        lengths = self.polytope.metric.matrix[self.pairs[:, 0], self.pairs[:, 1]]
        with np.errstate(invalid="ignore"):
            return np.where(lengths == 0, 0.0, self.polytope.level.eps * lengths)

    def spare_logs(self, logs: AnyArray) -> tuple[NDArray[Any], NDArray[Any]]:
        """What is left of ε·d in both directions of every pair, and what of it may be rounding."""
        first, second = logs[self.pairs[:, 0]], logs[self.pairs[:, 1]]
        reach = np.concatenate([self.reach, self.reach])
        with np.errstate(invalid="ignore"):
            moved = np.concatenate([second - first, first - second])
            # Two impossible inputs bind nothing.
            spare = np.where(np.isnan(moved) | np.isinf(reach), np.inf, moved + reach)
        size = np.maximum(*(np.where(np.isfinite(part), abs(part), 0.0) for part in (first, second)))
        noise = ULPS * np.maximum(1.0, np.concatenate([size, size]))
        return spare, TIGHT * np.minimum(1.0, reach) + noise

    def tight(self, column: AnyArray, logs: AnyArray | None = None) -> IndexArray:
        """Pairs whose ratio is as large as allowed, in some direction."""
        if self.exact:
            none = self.slack(column) == 0
        else:
            with np.errstate(divide="ignore"):
                spare, rounding = self.spare_logs(np.log(column) if logs is None else logs)
            none = spare <= rounding
        count = len(self.pairs)
        return np.asarray(self.pairs[np.asarray(none[:count] | none[count:], dtype=bool)])

    def parts(self, column: AnyArray, logs: AnyArray | None = None) -> list[list[int]]:
        """Inputs of positive probability, grouped by what tight ratios connect."""
        home = list(range(len(column)))

        def root(x: int) -> int:
            while home[x] != x:
                home[x] = home[home[x]]
                x = home[x]
            return x

        for a, b in self.tight(column, logs).tolist():
            home[root(a)] = root(b)
        groups: dict[int, list[int]] = {}
        for x in range(len(column)):
            if column[x] > 0 or (logs is not None and logs[x] > -math.inf):
                groups.setdefault(root(x), []).append(x)
        return list(groups.values())

    def vertex(self) -> VertexMechanism:
        """Whether all columns are extreme."""
        inputs = self.polytope.inputs
        for y, (column, name) in enumerate(zip(self.table.T, self.outputs, strict=True)):
            groups = self.parts(column, None if self.exact else self.logs[:, y])
            if len(groups) > 1:
                parts = tuple(tuple(inputs[x] for x in group) for group in groups)
                return VertexMechanism(False, name, parts, self.exact)
        return VertexMechanism(True, None, (), self.exact)

    def require_floats(self) -> None:
        """Refuse entries that no float has: what is computed from the table would lose them."""
        if not self.exact and ((self.table == 0) & (self.logs > -math.inf)).any():
            raise MechanismError(
                "channel: it has probabilities below the least float, 5e-324; give alpha and the channel as "
                "fractions"
            )

    def _refuse_leaks(self) -> None:
        if not self.exact:
            near = self.reach[(self.reach > 0) & (self.reach < 10 * ULPS)]
            if len(near):
                raise MechanismError(
                    f"eps: two inputs may differ by a factor e^{near.min():.3g} only, which rounding hides; "
                    "give alpha and the channel as fractions"
                )
        for y, (column, name) in enumerate(zip(self.table.T, self.outputs, strict=True)):
            if self.exact:
                spare = self.slack(column)
                size = np.concatenate([column[self.pairs[:, 0]], column[self.pairs[:, 1]]])
                broken = np.asarray(spare < 0, dtype=bool)
                share = np.array([as_float(a / b) if b else 0.0 for a, b in zip(spare, size, strict=True)])
            else:
                share, rounding = self.spare_logs(self.logs[:, y])
                broken = share < -rounding
            if broken.any():
                worst = np.where(broken, np.minimum(share, -sys.float_info.min), 0.0)
                self._refuse(name, column, y, int(np.argmin(worst)))

    def _refuse(self, name: Hashable, column: AnyArray, y: int, k: int) -> None:
        pair = self.pairs[k % len(self.pairs)]
        x, z = (int(i) for i in (pair if k < len(self.pairs) else pair[::-1]))
        if self.exact:
            ratio = math.inf if column[z] == 0 else as_float(column[x] / column[z])
        else:
            ratio = exp_or_infinity(float(self.logs[x, y] - self.logs[z, y]))
        factor, reach = self.factors[k % len(self.pairs)], float(self.reach[k % len(self.pairs)])
        allowed = as_float(1 / factor) if factor else exp_or_infinity(reach)
        words = f"{allowed:.6g}" if math.isfinite(allowed) else f"e^{reach:.6g}"
        a, b = self.polytope.inputs[x], self.polytope.inputs[z]
        raise MechanismError(
            f"channel: output {name!r} is {ratio:.6g} times as likely from {a!r} as from {b!r}, and "
            f"{words} is allowed; the mechanism is not private for this metric and ε"
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
    rank = exact_rank(columns.table) if columns.exact else float_rank(columns.table)
    if not columns.exact and vertex and rank < outputs:
        rank = max(rank, ball_rank(columns))
    return KernelMechanism(bool(vertex) and rank == outputs, vertex, outputs, rank, columns.exact)


def float_rank(table: AnyArray) -> int:
    """Rank of normalised columns; singular values below 1e-9 of the largest are rounding."""
    values = np.linalg.svd(table / table.sum(axis=0), compute_uv=False)
    return int((values > TIGHT * values[0]).sum())


def ball_rank(columns: PrivateColumns) -> int:
    """Rank of extreme posteriors, rebuilt from their tight ratios in balls: what floats of a small ε hide."""
    reach = columns.reach[np.isfinite(columns.reach) & (columns.reach > 0)]
    if not len(reach):
        return 1
    n = len(columns.table)
    digits = 128 + 2 * n * max(1, math.ceil(-math.log2(float(reach.min()))))
    with flint.ctx.workprec(digits + 4 * n * math.ceil(float(reach.max()))):
        rows = [_rebuilt(columns, columns.logs[:, y]) for y in range(columns.logs.shape[1])]
        rank = 0
        for x in range(n):
            # Surely not 0: a ball that holds 0 is no pivot.
            pivot = next((i for i in range(rank, len(rows)) if not rows[i][x].contains(0)), None)
            if pivot is None:
                continue
            rows[rank], rows[pivot] = rows[pivot], rows[rank]
            top = rows[rank]
            for row in rows[rank + 1 :]:
                share = row[x] / top[x]
                row[:] = [a - share * b for a, b in zip(row, top, strict=True)]
            rank += 1
    return rank


def _rebuilt(columns: PrivateColumns, logs: AnyArray) -> list[Any]:
    """A posterior by its tight ratios, each exactly e^(ε·d)."""
    spare, rounding = columns.spare_logs(logs)
    count, eps = len(columns.pairs), flint.arb(columns.polytope.level.eps)
    steps: dict[int, list[tuple[int, Any]]] = {}
    for k in np.flatnonzero(spare <= rounding).tolist():
        a, b = columns.pairs[k % count].tolist()
        # In the first direction ln c_b - ln c_a = -ε·d, in the second the other way round.
        x, z = (a, b) if k < count else (b, a)
        length = eps * flint.arb(float(columns.polytope.metric.matrix[a, b]))
        steps.setdefault(x, []).append((z, -length))
        steps.setdefault(z, []).append((x, length))
    found: dict[int, Any] = {int(np.argmax(logs)): flint.arb(0)}
    queue = list(found)
    while queue:
        x = queue.pop()
        for z, step in steps.get(x, ()):
            if z not in found:
                found[z] = found[x] + step
                queue.append(z)
    return [found[x].exp() if x in found else flint.arb(0) for x in range(len(logs))]
