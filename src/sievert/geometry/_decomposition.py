"""Private mechanisms taken apart: into kernels, and into extreme posteriors.

A vertex mechanism is a convex sum of kernels (Fernandes, Prop 2), and every private mechanism is a
post-processing of a vertex mechanism (Lem 6.11), which is found without listing vertices.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from sievert.arrays import AnyArray
from sievert.channels import Channel
from sievert.errors import MechanismError
from sievert.geometry._convex_sum import convex_sum
from sievert.geometry._recognition import NOTHING, TIGHT, PrivateColumns, ball_rank, float_rank
from sievert.policies import Answers, Policy
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["Decomposition", "VertexForm", "decompose", "to_vertex_mechanism"]

# How far, relatively, a float channel may be from what its vertex form gives back.
REMADE = 1e-6
HIDDEN = "channel: rounding hides the face of a posterior; give alpha and the channel as fractions"


@dataclass(frozen=True, eq=False)
class Decomposition(Result):
    """A vertex mechanism as a convex sum of kernels.

    Attributes
    ----------
    weights : how often each kernel is run; they sum to 1
    kernels : the kernels
    outputs : for each kernel the outputs of the given mechanism that its own stand for
    exact : whether the sum is the given mechanism exactly
    """

    weights: tuple[Any, ...]
    kernels: tuple[Channel, ...] = field(repr=False)
    outputs: tuple[tuple[Hashable, ...], ...]
    exact: bool

    def __len__(self) -> int:
        return len(self.kernels)

    @property
    def channel(self) -> Channel:
        """The convex sum of the kernels: the given mechanism, reduced."""
        return convex_sum(self.kernels, self.weights)

    def __str__(self) -> str:
        parts = ", ".join(
            f"{weight if self.exact else format(float(weight), '.6g')} of the kernel with "
            f"{kernel.shape[1]} output{'' if kernel.shape[1] == 1 else 's'}"
            for weight, kernel in zip(self.weights, self.kernels, strict=True)
        )
        kernels = f"{len(self)} kernel{'' if len(self) == 1 else 's'}"
        return f"a convex sum of {kernels}: {parts}"


def decompose(
    channel: Channel,
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    *,
    alpha: object = None,
) -> Decomposition:
    """A vertex mechanism as a convex sum of kernels: run one of them, chosen at random.

    Parameters
    ----------
    channel : a vertex mechanism (`to_vertex_mechanism` makes one of any private mechanism)
    metric : Metric, Policy or Answers
    eps : ε in nats per unit of distance; without eps and alpha the metric is in nats
    alpha : e^-eps, instead of eps; a fraction makes the sum exact

    Returns
    -------
    Decomposition
        At most as many kernels as the mechanism has different posteriors; the sum is not unique.

    Notes
    -----
    A dependency among the posteriors moves weight between them until one is empty (Carathéodory); what is
    left is a kernel, taken as often as the mechanism allows.

    Cost: O(outputs²) nullspaces of an inputs by outputs matrix at most.

    References
    ----------
    Fernandes, Prop 2.

    Examples
    --------
    >>> from sievert.channels import Channel
    >>> from sievert.spaces import metrics
    >>> rows = [["1/3", "1/3", "1/6", "1/6"], ["1/6", "1/6", "1/3", "1/3"], ["1/3", "1/6", "1/3", "1/6"]]
    >>> half = Channel(rows)
    >>> print(decompose(half, metrics.discrete(3), alpha="1/2"))
    a convex sum of 2 kernels: 1/2 of the kernel with 2 outputs, 1/2 of the kernel with 2 outputs
    """
    columns = PrivateColumns(channel, metric, eps, alpha)
    columns.require_floats()
    vertex = columns.vertex()
    if not vertex:
        raise MechanismError(
            f"channel: {vertex}; sv.geometry.to_vertex_mechanism makes a vertex mechanism of it"
        )
    if not columns.exact:
        rank = ball_rank(columns)
        if rank == columns.table.shape[1]:
            whole = Channel.trusted(columns.table, "float", columns.polytope.inputs)
            return Decomposition((1.0,), (whole,), (tuple(columns.outputs),), False)
        if rank != float_rank(columns.table):
            raise MechanismError(HIDDEN)
    left = columns.table.copy()
    zero = Fraction(0) if columns.exact else 0.0
    rest = np.full(left.shape[1], 1 + zero, dtype=left.dtype)  # how much of each column is left
    weights, kernels, names = [], [], []
    while (rest > (0 if columns.exact else NOTHING)).any():
        share = _extreme_share(columns.table, rest, columns.exact)
        used = np.flatnonzero(np.asarray(share > 0, dtype=bool))
        total = (columns.table[:, used] @ share[used])[0]
        # λ·kernel ≤ what is left, column by column.
        step = min(rest[j] * total / share[j] for j in used)
        rest = rest - step * share / total
        rest[np.asarray(rest <= (0 if columns.exact else NOTHING), dtype=bool)] = zero
        weights.append(step)
        data = columns.table[:, used] * share[used] / total
        form = "exact" if columns.exact else "float"
        kernels.append(Channel.trusted(data, form, columns.polytope.inputs))  # type: ignore[arg-type]
        names.append(tuple(columns.outputs[j] for j in used))
    return Decomposition(tuple(weights), tuple(kernels), tuple(names), columns.exact)


def _extreme_share(table: AnyArray, rest: AnyArray, exact: bool) -> AnyArray:
    """A share of the columns, within what is left, whose support is independent and whose sum is constant."""
    share = rest.copy()
    while True:
        used = np.flatnonzero(np.asarray(share > (0 if exact else NOTHING), dtype=bool))
        move = _dependency(table[:, used], exact)
        if move is None:
            share[np.setdiff1d(np.arange(len(share)), used)] = 0 if not exact else Fraction(0)
            return share
        if not (move > 0).any():
            move = -move
        up = np.flatnonzero(np.asarray(move > (0 if exact else NOTHING), dtype=bool))
        first = min(up, key=lambda i: share[used[i]] / move[i])
        share[used] = share[used] - move * (share[used[first]] / move[first])
        share[used[first]] = Fraction(0) if exact else 0.0


def _dependency(table: AnyArray, exact: bool) -> AnyArray | None:
    """A combination of columns that is 0, or None where they are independent."""
    rows, count = table.shape
    if not exact:
        values, right = np.linalg.svd(table / table.sum(axis=0))[1:]
        rank = int((values > TIGHT * values[0]).sum())
        return None if rank == count else np.asarray(right[rank] / table.sum(axis=0))
    matrix = flint.fmpq_mat(rows, count, [flint.fmpq(v.numerator, v.denominator) for v in table.ravel()])
    reduced, rank = matrix.rref()
    if rank == count:
        return None
    pivots = [next(j for j in range(count) if reduced[i, j] != 0) for i in range(rank)]
    free = next(j for j in range(count) if j not in pivots)
    found = np.full(count, Fraction(0), dtype=object)
    found[free] = Fraction(1)
    for i, j in enumerate(pivots):
        found[j] = -Fraction(int(reduced[i, free].p), int(reduced[i, free].q))
    return found


# ── From any private mechanism to a vertex mechanism ────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class VertexForm(Result):
    """A vertex mechanism and the post-processing that gives the mechanism back.

    Attributes
    ----------
    mechanism : all its posteriors are extreme
    remap : mechanism followed by remap is what was given, up to equal posteriors: exactly if `exact`
    exact : whether that holds in fractions
    """

    mechanism: Channel = field(repr=False)
    remap: Channel = field(repr=False)
    exact: bool

    def __str__(self) -> str:
        return (
            f"a vertex mechanism with {self.mechanism.shape[1]} outputs, of which the given one is a "
            "post-processing"
        )


def to_vertex_mechanism(
    channel: Channel,
    metric: Metric | Policy | Answers,
    eps: float | None = None,
    *,
    alpha: object = None,
) -> VertexForm:
    """A vertex mechanism that is at least as useful for every use and prior, without listing vertices.

    Parameters
    ----------
    channel : any private mechanism; one that is not private is refused with the violated pair
    metric : Metric, Policy or Answers
    eps : ε in nats per unit of distance; without eps and alpha the metric is in nats
    alpha : e^-eps, instead of eps; a fraction makes it exact

    Returns
    -------
    VertexForm
        The mechanism, and the remap with which it becomes the given one.

    Notes
    -----
    Each posterior is split into at most n extreme ones: groups of inputs that tight ratios connect are scaled
    until another ratio is tight, which ends at a vertex of the posterior's face; from there the line through
    the posterior leaves the face at a point of a smaller one.

    Cost: O(n²·pairs) for each output.

    References
    ----------
    Fernandes, Lem 6.11.

    Examples
    --------
    >>> from sievert.channels import Channel
    >>> from sievert.geometry import is_vertex_mechanism
    >>> from sievert.spaces import metrics
    >>> given = Channel([["1/2", "1/2"], ["1/2", "1/2"], ["1/3", "2/3"]])
    >>> found = to_vertex_mechanism(given, metrics.line(3), alpha="1/2")
    >>> is_vertex_mechanism(found.mechanism, metrics.line(3), alpha="1/2").holds
    True
    >>> bool((found.mechanism.then(found.remap).exact == given.reduced().exact).all())
    True
    """
    columns = PrivateColumns(channel, metric, eps, alpha)
    columns.require_floats()
    pieces: dict[tuple[Any, ...], list[tuple[int, Any]]] = {}
    posteriors: list[AnyArray] = []
    for y, column in enumerate(columns.table.T):
        # What overflows is no channel any more, and is refused below.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            split = _split(columns, column)
        for part, weight in split:
            # Floats are one posterior where nine digits of every entry agree, however small it is.
            key = tuple(part.tolist() if columns.exact else (f"{value:.8e}" for value in part))
            if key not in pieces:
                posteriors.append(part)
            pieces.setdefault(key, []).append((y, weight))
    zero = Fraction(0) if columns.exact else 0.0
    shares = np.full((len(pieces), columns.table.shape[1]), zero, dtype=columns.table.dtype)
    for i, found in enumerate(pieces.values()):
        for y, weight in found:
            shares[i, y] += weight
    totals = shares.sum(axis=1)
    if not columns.exact and not (np.isfinite(totals) & (totals > 0)).all():
        raise MechanismError(HIDDEN)
    table = np.array(posteriors, dtype=columns.table.dtype).T * totals
    form = "exact" if columns.exact else "float"
    if not columns.exact:
        sums = table.sum(axis=1)
        if not (np.isfinite(sums) & (sums > 0)).all():
            raise MechanismError(HIDDEN)
        table = table / sums[:, None]
    mechanism = Channel.trusted(table, form, columns.polytope.inputs)  # type: ignore[arg-type]
    remap = Channel.trusted(shares / totals[:, None], form, mechanism.outputs)  # type: ignore[arg-type]
    if not columns.exact:
        _require_vertices(columns, mechanism, remap, (metric, eps, alpha))
    return VertexForm(mechanism, remap, columns.exact)


def _require_vertices(
    columns: PrivateColumns, mechanism: Channel, remap: Channel, level: tuple[Any, Any, Any]
) -> None:
    """Refuse what rounding made of the pieces, unless it is private, extreme, and gives the channel back."""
    metric, eps, alpha = level
    again = mechanism.rounded() @ remap.rounded()
    near = np.isfinite(again).all() and bool((abs(again - columns.table) <= REMADE * columns.table).all())
    if not near:
        raise MechanismError(HIDDEN)
    try:
        found = PrivateColumns(mechanism, metric, eps, alpha).vertex()
    except MechanismError:
        raise MechanismError(HIDDEN) from None
    if not found:
        raise MechanismError(HIDDEN)


def _split(columns: PrivateColumns, column: AnyArray) -> list[tuple[AnyArray, Any]]:
    """A column as a sum of weights times extreme posteriors (each with sum 1)."""
    found = []
    left, weight = column / column.sum(), column.sum()
    for _ in range(len(column) + 1):
        vertex = _corner(columns, left)
        spare = _margins(columns, left)
        change = _margins(columns, vertex) - spare
        rising = np.flatnonzero(np.asarray(change > (0 if columns.exact else NOTHING), dtype=bool))
        ratios = [max(spare[i], 0) / change[i] for i in rising]
        # p = (w + r·v)/(1 + r) with w = p + r·(p - v) on the boundary.
        reach = min(ratios, default=None)
        if reach is None or len(columns.parts(left)) == 1:
            found.append((vertex, weight))
            return found
        found.append((vertex, weight * reach / (1 + reach)))
        left, weight = left + reach * (left - vertex), weight / (1 + reach)
        if not columns.exact:
            left = np.maximum(left, 0.0)
    raise MechanismError(HIDDEN)


def _margins(columns: PrivateColumns, column: AnyArray) -> AnyArray:
    """What no column may have below 0: the slack of every ratio, and the entries themselves."""
    return np.concatenate([columns.slack(column), column])


def _corner(columns: PrivateColumns, column: AnyArray) -> AnyArray:
    """A vertex of the smallest face that holds a posterior: groups are scaled up until ratios are tight."""
    point = column.copy()
    while True:
        groups = columns.parts(point)
        if len(groups) == 1:
            return np.asarray(point / point.sum())
        inside = np.zeros(len(point), dtype=bool)
        inside[groups[0]] = True
        pairs, factors = columns.pairs, columns.factors
        limits = []
        for k, (a, b) in enumerate(pairs.tolist()):
            if inside[a] != inside[b] and factors[k] > 0 and point[a] > 0 and point[b] > 0:
                x, z = (a, b) if inside[a] else (b, a)
                limits.append(point[z] / (factors[k] * point[x]))
        if not limits:
            # Nothing ties the group to the rest: it is a component, and a corner has the others at 0.
            point[~inside] = point[~inside] * 0
            continue
        point[inside] = point[inside] * min(limits)
