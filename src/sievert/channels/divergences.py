"""How well neighbouring inputs of a finite channel are told apart: δ(ε), false alarms and misses, Rényi.

For rows P and Q of neighbouring inputs, δ(ε) = Σ_y max(0, P(y) - e^ε·Q(y)). Sorted by falling likelihood
ratio, sums of P and Q over the first outputs give the corners of the trade-off function (Neyman and
Pearson). A policy's curve is the worst over its pairs of neighbours, both ways.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sievert.arrays import FloatArray, IndexArray
from sievert.channels._channel import Channel, finite_channel
from sievert.channels._privacy import (
    composed_distinguishability,
    epsilon,
    one_sided_divergence,
    posterior_privacy_vulnerability,
    privacy_vulnerability,
)
from sievert.errors import ChannelError, MetricError, PolicyError
from sievert.numerics import abbreviated, exp_excess, log_sum, probability, taken
from sievert.policies import Answers, Policy, Query, query_over
from sievert.results import Result, guarded
from sievert.spaces import Edges, Graph, Metric, align, floats, iterable

__all__ = [
    "composed_distinguishability",
    "delta_curve",
    "one_sided_divergence",
    "posterior_privacy_vulnerability",
    "privacy_vulnerability",
    "renyi_curve",
    "smallest_epsilon",
    "tradeoff_function",
]


def __dir__() -> list[str]:
    return sorted(__all__)


Against = Policy | Metric | Graph | Answers
# Errors of sums of plain differences of probabilities stay below this, and matter where sums are below that.
ROUGH = 1e-15
NOT_LITTLE = 0.01
# The largest exponent whose power is surely finite.
EXPONENT = 709.0
# Entries looked at together: half a megabyte.
BLOCK_ENTRIES = 65_536
HIGHEST = 1e6


@dataclass(frozen=True, eq=False)
class DeltaCurve(Result):
    """δ(ε) of a channel: the worst over neighbouring inputs, with the pair that attains each point.

    `pairs` holds, for each ε, the likelier input first; None where δ is 0.
    """

    eps: FloatArray
    delta: FloatArray
    pairs: tuple[tuple[Hashable, Hashable] | None, ...]

    def __str__(self) -> str:
        shown = ", ".join(f"δ({e:g}) = {d:.4g}" for e, d in zip(self.eps[:5], self.delta[:5], strict=True))
        return shown + (", …" if len(self.eps) > 5 else "")


@dataclass(frozen=True, eq=False)
class RenyiCurve(Result):
    """Rényi divergence in nats at each order: the worst over neighbouring inputs, with the pair."""

    orders: FloatArray
    nats: FloatArray
    pairs: tuple[tuple[Hashable, Hashable] | None, ...] = field(repr=False)

    def to_mapping(self) -> dict[float, float]:
        """Order to divergence, as `sv.explain(renyi=…)` takes it; orders above 1 only."""
        return {float(a): float(d) for a, d in zip(self.orders, self.nats, strict=True) if a > 1}

    def __str__(self) -> str:
        shown = ", ".join(f"D_{a:g} = {d:.4g}" for a, d in zip(self.orders[:5], self.nats[:5], strict=True))
        return f"{shown}{', …' if len(self.orders) > 5 else ''} nats"


def neighbours_of(against: Against, query: Query | None = None) -> tuple[tuple[Hashable, ...], Edges]:
    """Labels of the channel's inputs, and the pairs that a promise is about with their distances.

    For a graph or a secret graph these are its edges. For a metric they are all pairs at finite distance:
    with δ > 0 promises do not add up along paths.
    """
    asked = query_over(against, query)
    if asked is not None:
        assert isinstance(against, Policy)
        against = asked.answers(against)
    if isinstance(against, Answers):
        if against.induced is None:
            return neighbours_of(against.policy)
        return tuple(against.labels), against.edges
    if isinstance(against, Policy):
        if against.records == 1 and not against.constrained:
            return neighbours_of(against.secrets)
        return tuple(against.database_labels()), against.database_edges()
    if isinstance(against, Graph):
        return tuple(against.nodes), Edges(against.edges, np.ones(len(against.edges)))
    if isinstance(against, Metric):
        rows, columns = np.nonzero(np.triu(np.isfinite(against.matrix), 1))
        return tuple(against.points), Edges(np.column_stack([rows, columns]), against.matrix[rows, columns])
    raise PolicyError(
        f"policy is {abbreviated(against)}; give a Policy, a Metric, a Graph or a query's answers"
    )


def _arcs(
    channel: Channel, against: Against, query: Query | None
) -> tuple[_Rows, tuple[Hashable, ...], IndexArray, FloatArray]:
    """Rows in the order of the labels, the labels, and both directions of each pair with its distance."""
    finite = finite_channel(channel)
    labels, edges = neighbours_of(against, query)
    order = align(finite.inputs, labels, "the policy", MetricError)
    chosen = np.arange(finite.shape[0]) if order is None else np.argsort(order)
    rows = _Rows(finite.log_matrix[chosen], finite.relative_logs[chosen])
    pairs = np.concatenate([edges.pairs, edges.pairs[:, ::-1]]).reshape(-1, 2)
    return rows, labels, pairs, np.concatenate([edges.lengths, edges.lengths])


@dataclass(frozen=True, eq=False)
class _Rows:
    """Logarithms of the rows, and the same for differences of rows."""

    logs: FloatArray
    relative: FloatArray

    def loss(self, first: IndexArray, second: IndexArray) -> FloatArray:
        """ln P/Q of each output for pairs of rows; -inf where P is 0, whatever Q is."""
        above = self.relative[first]
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(above), -np.inf, above - self.relative[second])


def delta_curve(
    channel: Channel, policy_or_metric: Against, eps: ArrayLike, query: Query | None = None
) -> DeltaCurve:
    """Exact δ(ε) of a channel: the smallest δ for which it is (ε·distance, δ)-private on the policy.

    Parameters
    ----------
    channel : Channel
    policy_or_metric : Policy, Metric, Graph or Answers
        Which inputs are neighbours. On a metric, every pair with ε times its distance.
    eps : numbers ≥ 0 (nats)
    query : what is computed before the channel, if a policy is given

    Returns
    -------
    DeltaCurve
        `delta` for each ε, and the pair of inputs that attains it.

    Notes
    -----
    Cost: O(pairs·outputs·levels), a block of pairs at a time.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> curve = delta_curve(Channel([["3/4", "1/4"], ["1/4", "3/4"]]), metrics.discrete(2), [0, math.log(3)])
    >>> curve.delta.round(12)
    array([0.5, 0. ])
    """
    levels = _levels(eps)
    rows, labels, pairs, lengths = _arcs(channel, policy_or_metric, query)
    probabilities = np.exp(rows.logs)
    best = np.zeros(len(levels))
    where = np.full(len(levels), -1, dtype=np.intp)
    for start, block in _blocks(len(pairs), rows.logs.shape[1]):
        ends = pairs[block]
        compared = _Compared(rows, ends, probabilities[ends[:, 0]], probabilities[ends[:, 1]])
        for k, level in enumerate(levels.tolist()):
            with np.errstate(over="ignore"):
                promised = level * lengths[block] if level else 0 * lengths[block]
            found, near = compared.largest(promised, float(best[k]))
            if len(near) and found.max() > best[k]:
                top = int(found.argmax())
                best[k], where[k] = found[top], start + near[top]
    named = tuple(None if k < 0 else (labels[pairs[k, 0]], labels[pairs[k, 1]]) for k in where.tolist())
    return DeltaCurve(levels, best, named)


def _levels(eps: ArrayLike) -> FloatArray:
    levels = np.atleast_1d(floats(eps, "eps", ChannelError, "give numbers ≥ 0 (nats)"))
    if levels.ndim != 1 or not (levels >= 0).all():
        raise ChannelError(f"eps is {abbreviated(eps)}; give numbers ≥ 0 (nats)")
    return levels


def _blocks(pairs: int, outputs: int) -> Iterator[tuple[int, slice]]:
    """Pairs a few at a time, so that what is computed about them stays in the processor's cache."""
    step = max(1, BLOCK_ENTRIES // outputs)
    for start in range(0, pairs, step):
        yield start, slice(start, start + step)


@dataclass(frozen=True, eq=False)
class _Compared:
    """Some pairs of rows, with the probabilities of both."""

    rows: _Rows
    pairs: IndexArray
    first: FloatArray
    second: FloatArray

    @cached_property
    def losses(self) -> FloatArray:
        """The largest loss of each pair, beyond which δ is 0."""
        return np.asarray(self.rows.loss(*self.pairs.T).max(axis=1))

    def largest(self, exponents: FloatArray, least: float) -> tuple[FloatArray, IndexArray]:
        """δ of the pairs that may have the largest above `least`, and which they are.

        Σ_y max(0, P - e^exponent·Q) is off by less than 1e-15: right as it stands unless it is small itself.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            left = np.exp(exponents)[:, None] * self.second
        np.subtract(self.first, left, out=left)
        np.maximum(left, 0.0, out=left)
        # Beyond e^709 the product may be infinite times 0: such pairs are looked at more closely.
        sure = exponents < EXPONENT
        rough = np.where(sure, left.sum(axis=1), 0.0)
        most = max(float(rough.max()), least)
        if most > NOT_LITTLE and sure.all():
            top = np.array([rough.argmax()], dtype=np.intp)
            return np.minimum(rough[top], 1.0), top
        near = np.flatnonzero((~sure | (rough >= most - ROUGH)) & (self.losses > exponents))
        losses = self.rows.loss(*self.pairs[near].T)
        return _deltas(self.first[near], losses, exponents[near]), near


def _deltas(first: FloatArray, loss: FloatArray, exponents: FloatArray) -> FloatArray:
    """Σ_y max(0, P - e^exponent·Q) = Σ P·(1 - e^(exponent - loss)) where the loss exceeds the exponent."""
    with np.errstate(invalid="ignore", over="ignore"):
        part = exponents[:, None] - loss
        share = -np.expm1(np.where(part < 0, part, 0.0))
    return np.asarray(np.minimum((first * share).sum(axis=1), 1.0))


@guarded
def smallest_epsilon(
    channel: Channel, policy_or_metric: Against, delta: float, query: Query | None = None
) -> float:
    """The smallest ε for which the channel is (ε, δ)-private on the policy; inf where δ is too small.

    δ(ε) is convex in e^ε with corners at the likelihood ratios; bisection narrows ε to the last digits and
    the end on the safe side is returned.

    Parameters
    ----------
    channel : Channel
    policy_or_metric : Policy, Metric, Graph or Answers
        Which inputs are neighbours. On a metric, ε is per unit of distance.
    delta : the δ that is granted
    query : what is computed before the channel, if a policy is given

    Returns
    -------
    float
        ε in nats.

    Notes
    -----
    Cost: O(pairs·outputs) for each step of the bisection.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> round(smallest_epsilon(Channel([["3/4", "1/4"], ["1/4", "3/4"]]), metrics.discrete(2), 0.0), 6)
    1.098612
    """
    delta = probability("delta", delta, ChannelError)
    if delta == 0 and not isinstance(policy_or_metric, Graph):
        return epsilon(channel, policy_or_metric, query).nats
    rows, _, pairs, lengths = _arcs(channel, policy_or_metric, query)
    probabilities = np.exp(rows.logs)
    # Pairs that exceed δ at the largest ε known to be too small; the others cannot matter any more.
    active = np.arange(len(pairs))

    def over(level: float) -> IndexArray:
        found = [np.empty(0, dtype=bool)]
        for _, block in _blocks(len(active), rows.logs.shape[1]):
            first, second = pairs[active[block]].T
            exponents = level * lengths[active[block]] if level else 0 * lengths[active[block]]
            found.append(_deltas(probabilities[first], rows.loss(first, second), exponents) > delta)
        return np.asarray(active[np.concatenate(found)], dtype=np.intp)

    active = over(0.0)
    if not len(active):
        return 0.0
    low, high = 0.0, 1.0
    while len(still := over(high)):
        active, low, high = still, high, 2 * high
        if high > HIGHEST:
            return math.inf
    for _ in range(100):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if len(still := over(middle)):
            active, low = still, middle
        else:
            high = middle
    return high


def tradeoff_function(
    channel: Channel,
    policy_or_metric: Against | None = None,
    query: Query | None = None,
    pair: tuple[Hashable, Hashable] | None = None,
) -> Tradeoff:
    """Least misses at each share of false alarms, for one pair of inputs or the worst over a policy.

    For a pair (a, b): an alarm says "a", false alarms happen under b. For a policy: the largest convex
    function below the curves of all its pairs, which with δ(ε) over the policy says the same thing.

    Parameters
    ----------
    channel : Channel
    policy_or_metric : Policy, Metric, Graph or Answers, for the worst over its neighbours
    query : what is computed before the channel, if a policy is given
    pair : instead of a policy, two inputs of the channel

    Returns
    -------
    Tradeoff
        The corners of the curve: `false_alarm` and `miss`.

    Notes
    -----
    Cost: O(pairs·outputs·log outputs).

    Examples
    --------
    >>> curve = tradeoff_function(Channel([["3/4", "1/4"], ["1/4", "3/4"]]), pair=(0, 1))
    >>> curve.false_alarm.tolist(), curve.miss.tolist()
    ([0.0, 0.25, 1.0], [1.0, 0.25, 0.0])
    """
    if (policy_or_metric is None) == (pair is None):
        raise ChannelError("give exactly one of policy_or_metric and pair: between which inputs?")
    if pair is not None:
        if query is not None:
            raise ChannelError("query goes with a policy; between two inputs of the channel leave it out")
        finite = finite_channel(channel)
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ChannelError(f"pair is {abbreviated(pair)}; give two inputs of the channel")
        a, b = (finite.input_index(item) for item in pair)
        rows = _Rows(finite.log_matrix, finite.relative_logs)
        apart = _total_variation(rows, np.array([[a, b]]))
        return Tradeoff(*_corners(rows, a, b), pair=(pair[0], pair[1]), total_variation=apart)
    assert policy_or_metric is not None
    rows, _, pairs, _ = _arcs(channel, policy_or_metric, query)
    corners = [np.column_stack(_corners(rows, i, h)) for i, h in pairs.tolist()]
    points = np.concatenate([np.array([[0.0, 1.0], [1.0, 0.0]]), *corners])
    return Tradeoff(*_lower_hull(points), total_variation=_total_variation(rows, pairs))


def _total_variation(rows: _Rows, pairs: IndexArray) -> float:
    """The largest total variation of some pairs of rows: δ(0)."""
    found = [0.0]
    for _, block in _blocks(len(pairs), rows.logs.shape[1]):
        first, second = pairs[block].T
        deltas = _deltas(np.exp(rows.logs[first]), rows.loss(first, second), np.zeros(len(first)))
        found.append(float(deltas.max()))
    return max(found)


def _corners(rows: _Rows, i: int, h: int) -> tuple[FloatArray, FloatArray]:
    """Corners of the trade-off between two rows: outputs in order of falling likelihood ratio."""
    first, second = rows.logs[i], rows.logs[h]
    used = ~(np.isneginf(first) & np.isneginf(second))
    loss = rows.loss(np.array([i]), np.array([h]))[0][used]
    order = np.argsort(-loss, kind="stable")
    alarms = np.concatenate([[0.0], np.cumsum(np.exp(second[used][order]))])
    # Misses are added up from the end, so that few of them keep their digits.
    misses = np.concatenate([np.cumsum(np.exp(first[used][order])[::-1])[::-1], [0.0]])
    misses[0] = 1.0
    hull = _lower_hull(np.column_stack([np.minimum(alarms, 1.0), np.minimum(misses, 1.0)]))
    return hull[0], hull[1]


def _lower_hull(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The corners of the lower convex hull, from false alarms 0 to 1."""
    ordered = points[np.lexsort((points[:, 1], points[:, 0]))]
    hull: list[tuple[float, float]] = []
    for x, y in ordered.tolist():
        if hull and x == hull[-1][0]:
            continue
        while len(hull) > 1 and _is_above(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    table = np.array(hull)
    return table[:, 0], table[:, 1]


def _is_above(left: tuple[float, float], middle: tuple[float, float], right: tuple[float, float]) -> bool:
    """Whether the middle point is on or above the line, up to what rounding does to the two products."""
    rise = (middle[1] - left[1]) * (right[0] - left[0])
    line = (right[1] - left[1]) * (middle[0] - left[0])
    return rise - line >= -1e-15 * (abs(rise) + abs(line))


def renyi_curve(
    channel: Channel, policy_or_metric: Against, orders: Iterable[float], query: Query | None = None
) -> RenyiCurve:
    """Rényi divergence of each order α ≥ 0 (1: Kullback and Leibler; inf: the largest log ratio), in nats.

    The worst over neighbouring inputs, both ways; on a metric, over all pairs at finite distance.

    Parameters
    ----------
    channel : Channel
    policy_or_metric : Policy, Metric, Graph or Answers
        Which inputs are neighbours.
    orders : numbers ≥ 0; inf is allowed
    query : what is computed before the channel, if a policy is given

    Returns
    -------
    RenyiCurve
        `nats` for each order, and the pair of inputs that attains it.

    Notes
    -----
    Cost: O(pairs·outputs·orders).

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> warner = Channel([["3/4", "1/4"], ["1/4", "3/4"]])
    >>> renyi_curve(warner, metrics.discrete(2), [1, 2, math.inf]).nats.round(6)
    array([0.549306, 0.847298, 1.098612])
    """
    listed = isinstance(orders, np.ndarray) or not iterable(orders)
    given = orders if listed else taken("orders", orders, ChannelError, "orders")
    wanted = np.atleast_1d(floats(given, "orders", ChannelError, "give numbers ≥ 0"))
    if not len(wanted) or wanted.ndim != 1 or not (wanted >= 0).all():
        raise ChannelError(f"orders is {abbreviated(given)}; give numbers ≥ 0")
    rows, labels, pairs, _ = _arcs(channel, policy_or_metric, query)
    best = np.zeros(len(wanted))
    where = np.full(len(wanted), -1, dtype=np.intp)
    for start, block in _blocks(len(pairs), rows.logs.shape[1]):
        first, second = rows.logs[pairs[block, 0]], rows.logs[pairs[block, 1]]
        loss = rows.loss(*pairs[block].T)
        for k, order in enumerate(wanted.tolist()):
            found = _renyi(first, second, loss, order)
            top = int(found.argmax())
            if found[top] > best[k]:
                best[k], where[k] = found[top], start + top
    named = tuple(None if k < 0 else (labels[pairs[k, 0]], labels[pairs[k, 1]]) for k in where.tolist())
    return RenyiCurve(wanted, best, named)


def _renyi(first: FloatArray, second: FloatArray, loss: FloatArray, order: float) -> FloatArray:
    """D_α of each pair of log rows; 0·ln(0/q) = 0, and p > 0 = q is infinite for α ≥ 1.

    Σ p^α q^(1-α) - 1 = Σ p·(e^(tL) - 1 + t·(e^-L - 1)) with t = α - 1 and L = ln p/q: terms of one sign.
    """
    if math.isinf(order):
        return np.asarray(np.maximum(loss.max(axis=1), 0.0), dtype=np.float64)
    t = order - 1
    occurs, known = ~np.isneginf(first), ~np.isneginf(second)
    small = np.where(occurs & known, loss, 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        part = _times_excess(first, -small)
        part = part if t == 0 else _times_excess(first, t * small) + t * part
        lost = np.inf if t >= 0 else -order * np.exp(first)
        terms = np.where(occurs, np.where(known, part, lost), (t or 1.0) * np.exp(second))
        excess = terms.sum(axis=1)
        if t == 0:
            return np.asarray(excess)
        direct = log_sum(np.where(occurs & known, first + t * small, -np.inf), axis=1)
    near = np.abs(excess) < 0.5
    found = np.where(near, np.log1p(np.where(near, excess, 0.0)), direct) / t
    infinite = (occurs & ~known).any(axis=1) if t > 0 else (~(occurs & known)).all(axis=1)
    return np.asarray(np.where(infinite, np.inf, np.maximum(found, 0.0)), dtype=np.float64)


def _times_excess(logs: FloatArray, x: FloatArray) -> FloatArray:
    """p·(e^x - 1 - x) for p = e^logs, also where p is below every float and e^x above."""
    near = np.abs(x) < 1
    far = np.exp(logs + x) - np.exp(logs) * (1 + x)
    return np.asarray(np.where(near, np.exp(logs) * exp_excess(np.where(near, x, 0.0)), far))


# ── The trade-off of somebody who must say which of two inputs was used: false alarms against misses ────────
# A trade-off function is the least share of misses at each share of false alarms (Dong, Roth and Su, Def
# 2.1): convex, falling, at most 1 - α. With δ(ε) it says the same: δ(ε) = max over α of 1 - f(α) - e^ε·α.


@dataclass(frozen=True, eq=False)
class Tradeoff(Result):
    """Least share of misses for each share of false alarms; straight lines between the points.

    `exact` is False where the curve only bounds the misses from below: every attacker misses so much, perhaps
    more. `pair` is the two inputs of a channel's curve, the one that an alarm is about first.
    """

    false_alarm: FloatArray
    miss: FloatArray
    exact: bool = True
    pair: tuple[Hashable, Hashable] | None = None
    # The advantage, where it is known more precisely than by the points.
    total_variation: float | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The points; `advantage` follows from them."""
        return {name: value for name, value in super().to_dict().items() if name != "total_variation"}

    def at(self, false_alarm: ArrayLike) -> FloatArray:
        """Least share of misses at a share of false alarms."""
        shares = np.asarray(false_alarm, dtype=np.float64)
        return np.asarray(np.interp(shares, self.false_alarm, self.miss), dtype=np.float64)

    @property
    def advantage(self) -> float:
        """Largest difference between the shares of right and of false alarms: the total variation."""
        if self.total_variation is not None:
            return self.total_variation
        return float(np.max(1 - self.false_alarm - self.miss))

    def __str__(self) -> str:
        misses = ", ".join(f"{float(self.at(a)):.1%} at {a:.0%}" for a in (0.01, 0.05, 0.1))
        relation = "misses" if self.exact else "misses at least"
        return f"whoever tells the two apart {relation} {misses} false alarms"
