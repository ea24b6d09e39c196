"""Mechanisms made from a metric alone: tight constraints, and the channel that realises any metric."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import ROW_SUM_TOLERANCE, Channel, require_dense
from sievert.errors import MechanismError
from sievert.kinds import variant
from sievert.mechanisms._family import EpsilonFamily, Family, privacy
from sievert.mechanisms._truncated import takes_too_long
from sievert.numerics import abbreviated, exact_solve, fractions_of, log_of, log_sum
from sievert.policies import Answers, Policy, Query
from sievert.spaces import Metric, metric_of

__all__ = ["BOTTOM", "metric_channel", "tight_constraints"]

BOTTOM = "⊥"


def metric_channel(metric: Metric) -> Channel:
    """A channel whose distinguishability is exactly the given metric.

    C[x, y] = exp(-d(x, y) - 1)/n, and an extra output ⊥ takes the rest. Works for every extended
    pseudo-metric; entries are kept as logarithms.

    Parameters
    ----------
    metric : Metric

    Returns
    -------
    Channel
        From the points to the points and ⊥.

    Notes
    -----
    Cost: O(n²) for n points.

    References
    ----------
    Fernandes, Lem 4.14.

    Examples
    --------
    >>> from sievert.channels._privacy import distinguishability
    >>> distinguishability(metric_channel(Metric([[0, 2], [2, 0]]))).distance(0, 1)
    2.0
    """
    metric = metric_of(metric)
    require_dense(metric.size, metric.size + 1, "the metric channel")
    logs = -metric.matrix - 1.0 - math.log(metric.size)
    rest = np.log1p(-np.exp(log_sum(logs, axis=1)))
    return Channel.trusted(np.column_stack([logs, rest]), "log", metric.points, [*metric.points, BOTTOM])


def tight_constraints(metric: Metric, eps: float | None = None, *, alpha: object = None) -> Channel:
    """C[x, z] = e^(-eps·d(x, z))·w_z with row sums 1: every privacy constraint is tight.

    The weights solve Φw = 1, Φ = [e^(-eps·d)]. Where some weight is negative the mechanism does not
    exist and is refused. Equal to the truncated geometric on a line and to randomised response on a
    discrete metric. At eps = 0 the weights are not determined, and the uniform ones are taken.

    Parameters
    ----------
    metric : Metric
    eps, alpha : exactly one of eps (nats per unit) and alpha = e^-eps; rational alpha and whole distances
        give an exact channel

    Returns
    -------
    Channel
        From the points to the points.

    Notes
    -----
    Cost: O(n³): one linear system of n points, in fractions where the answer is exact. On a line or tree the
    weights are closed forms, to full precision for any ε.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> tight_constraints(metrics.line(3), alpha="1/2").exact[1].tolist()
    [Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
    """
    metric = metric_of(metric)
    level = privacy(eps, alpha)
    distances = metric.matrix
    require_dense(metric.size, metric.size, "the tight-constraints mechanism")
    if level.eps == 0:
        return Channel(np.isfinite(distances).astype(np.int64), metric.points, metric.points, normalise=True)
    _refuse_coinciding(metric)
    finite = distances[np.isfinite(distances)]
    if level.alpha is not None and (level.alpha == 0 or np.array_equal(finite, np.rint(finite))):
        edges = metric.edges
        known = edges is not None and len(edges) == metric.size - 1 and finite.size == distances.size
        if not (known and level.alpha > 0 and takes_too_long(metric.size, level.alpha)):
            return _exact_tight(metric, level.alpha)
    with np.errstate(invalid="ignore", over="ignore"):
        logs = np.where(distances == 0, 0.0, -level.eps * distances)
    on_tree = _tree_weights(metric, level.eps)
    if on_tree is not None:
        _refuse_negative(on_tree, metric, 0.0)
        return Channel.trusted(logs + log_of(on_tree), "log", metric.points, metric.points)
    try:
        weights: FloatArray = np.linalg.solve(np.exp(logs), np.ones(metric.size)).astype(np.float64)
    except np.linalg.LinAlgError:
        raise _ill_conditioned(f"eps = {level.eps:g}") from None
    # Rounding of the solution, relative to its size, is about the machine precision times the condition
    # of Φ; a weight is called negative only beyond that, and rows that then miss 1 are refused.
    slack = 1e-14 * float(np.linalg.cond(np.exp(logs), 1)) * float(np.abs(weights).max())
    _refuse_negative(weights, metric, -slack)
    kept = logs + log_of(np.maximum(weights, 0.0))
    if not np.allclose(np.exp(log_sum(kept, axis=1)), 1.0, rtol=0.0, atol=ROW_SUM_TOLERANCE):
        raise _ill_conditioned(f"eps = {level.eps:g}")
    return Channel.trusted(kept, "log", metric.points, metric.points)


def _tree_weights(metric: Metric, eps: float) -> FloatArray | None:
    """The weights on a tree, w_v = 1 - Σ 1/(1 + e^(ε·length)) over the edges at v; None on other metrics.

    1/(1 + e^x) = (1 - tanh(x/2))/2, so that nothing cancels on a line, however small ε is.
    """
    edges = metric.edges
    if edges is None or len(edges) != metric.size - 1 or not np.isfinite(metric.matrix).all():
        return None
    ends = edges.pairs.ravel()
    degrees = np.bincount(ends, minlength=metric.size)
    spread = np.bincount(ends, np.repeat(np.tanh(eps * edges.lengths / 2), 2), metric.size)
    return np.asarray((2 - degrees) / 2 + spread / 2)


def _ill_conditioned(where: str) -> MechanismError:
    return MechanismError(
        f"tight constraints: Φ is singular up to rounding at {where}, so the weights cannot be computed; "
        "give a rational alpha and integer distances, or use the exponential mechanism"
    )


def _refuse_coinciding(metric: Metric) -> None:
    same = np.argwhere(np.triu(metric.matrix == 0, 1))
    if len(same):
        a, b = (metric.points[int(i)] for i in same[0])
        raise MechanismError(
            f"metric: {abbreviated(a)} and {abbreviated(b)} are at distance 0, so Φ is singular; merge "
            f"them first"
        )


def _refuse_negative(weights: FloatArray, metric: Metric, least: float) -> None:
    worst = int(np.argmin(weights))
    if weights[worst] < least:
        raise MechanismError(
            f"tight constraints: the weight of {metric.points[worst]!r} is {float(weights[worst]):.6g}, "
            "negative, so the mechanism does not exist for this metric and eps; use the exponential mechanism"
        )


def _exact_tight(metric: Metric, alpha: Fraction) -> Channel:
    distinct, inverse = np.unique(metric.matrix, return_inverse=True)
    table = np.empty(len(distinct), dtype=object)
    table[:] = [_power(alpha, float(distance)) for distance in distinct]
    powers = table[inverse.reshape(metric.matrix.shape)]
    ones = fractions_of([[1]] * metric.size)
    try:
        weights = exact_solve(powers, ones)[:, 0]
    except ZeroDivisionError:
        raise MechanismError(
            f"tight constraints: Φ is singular at alpha = {alpha}; change alpha slightly"
        ) from None
    _refuse_negative(weights.astype(np.float64), metric, 0.0)
    return Channel.trusted(powers * weights[None, :], "exact", metric.points, metric.points)


def _power(alpha: Fraction, distance: float) -> Fraction:
    if distance == 0:
        return Fraction(1)
    return Fraction(0) if alpha == 0 or math.isinf(distance) else alpha ** int(distance)


@variant(Family, "tight-constraints")
class TightConstraints(EpsilonFamily):
    """Every privacy constraint holds with equality, where such a mechanism exists."""

    def channel(self, answers: Answers, query: Query) -> Channel:
        return tight_constraints(answers.metric, self.eps, alpha=self.alpha)

    @classmethod
    def candidate(cls, metric: Metric, eps: float) -> Channel | None:
        return tight_constraints(metric, eps)


@variant(Family, "metric-channel")
class MetricChannel(Family):
    """The channel whose distinguishability is the policy's distance itself, so it takes no eps."""

    def channel(self, answers: Answers, query: Query) -> Channel:
        return metric_channel(answers.metric)

    def claimed(self, policy: Policy, query: Query) -> float | None:
        return 1.0

    def words(self) -> str:
        return "the channel whose distinguishability is the policy's distance"
