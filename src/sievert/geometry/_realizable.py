"""Which mechanisms exist at all: universally optimal ones, and those that are best on one pair.

(Fernandes, Thm 6.14, 6.15; our notes on Lem 6.20.)
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import flint
import numpy as np

from sievert.arrays import AnyArray
from sievert.channels import Channel
from sievert.errors import MetricError
from sievert.geometry._polytope import Polytope, polytope
from sievert.numerics import require_size
from sievert.policies import Answers, Policy
from sievert.results import Result
from sievert.spaces import Metric

__all__ = ["PairRealizable", "UniversalExistence", "has_universally_optimal", "pair_T_realizable"]

# Largest ε·distance whose exponential is computed in balls.
LARGEST_EXPONENT = 20_000


@dataclass(frozen=True)
class UniversalExistence(Result):
    """Whether one private mechanism is best for every loss and every prior.

    Attributes
    ----------
    holds : whether there is one
    theorem : which theorem says so
    component : three inputs at finite distance of each other, where there is none
    """

    holds: bool
    theorem: str
    component: tuple[Hashable, ...]

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return f"one mechanism is best for every use and every prior ({self.theorem})"
        names = ", ".join(map(repr, self.component))
        return (
            f"no mechanism is best for every use and every prior: {names} are at finite distance of each "
            f"other ({self.theorem})"
        )


def has_universally_optimal(metric: Metric | Policy | Answers) -> UniversalExistence:
    """Whether a metric has a mechanism that is best for all losses and all priors (for 0 < ε < ∞).

    Parameters
    ----------
    metric : Metric, Policy or Answers

    Returns
    -------
    UniversalExistence

    Notes
    -----
    It exists iff the polytope of private posteriors is a simplex, which for 0 < ε < ∞ says that no three
    inputs (those at distance 0 taken as one) are at finite distance of each other.

    Cost: O(n²).

    References
    ----------
    Fernandes, Lem 6.13, Thm 6.15.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> has_universally_optimal(metrics.line(2)).holds, has_universally_optimal(metrics.line(3)).holds
    (True, False)
    """
    shape = polytope(metric)
    sizes = np.bincount(shape._component_of)
    if sizes.max() <= 2:
        return UniversalExistence(True, "Fernandes, Thm 6.14 and 6.15", ())
    groups = np.flatnonzero(shape._component_of == int(sizes.argmax()))[:3]
    names = tuple(shape.inputs[int(shape._first[g])] for g in groups)
    return UniversalExistence(False, "Fernandes, Thm 6.15", names)


@dataclass(frozen=True)
class PairRealizable(Result):
    """Whether some private mechanism tells two inputs apart as well as any could on these two alone.

    Attributes
    ----------
    holds : whether there is one
    mechanism : one, with two outputs
    path : where there is none, inputs along which the first one's probability cannot fall fast enough
    """

    holds: bool
    mechanism: Channel | None = field(repr=False)
    path: tuple[Hashable, ...]

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return "some private mechanism tells the pair apart as well as their distance allows"
        return (
            "no private mechanism tells the pair apart as well as their distance allows: probabilities "
            f"cannot fall that fast by way of {', '.join(map(repr, self.path))}"
        )


def pair_T_realizable(
    metric: Metric | Policy | Answers,
    first: object,
    second: object,
    eps: float | None = None,
    *,
    alpha: object = None,
) -> PairRealizable:
    """Whether a private mechanism on all inputs restricts to the best one, T, on a pair.

    Parameters
    ----------
    metric : Metric, Policy or Answers
    first, second : two inputs
    eps : ε in nats per unit of distance; without eps and alpha the metric is in nats
    alpha : e^-eps, instead of eps; a fraction with whole distances decides exactly

    Returns
    -------
    PairRealizable
        With the mechanism, which is then universally optimal for every loss about the pair; or the inputs in
        between that forbid it.

    Notes
    -----
    From probability p at x, privacy leaves at least max(e^-d·p, 1 - e^d·(1 - p)) at distance d. The least
    probabilities that start at 1/(1 + e^-D) and e^-D/(1 + e^-D) are a fixed point over paths; T is realizable
    iff it leaves both as they are. Without fractions they are balls, with digits for the smallest ε.
    e^d(a,x) + e^d(x,b) ≥ 1 + e^d(a,b) for all x is necessary.

    Cost: O(n³).

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> pair_T_realizable(metrics.line(3), 0, 1, alpha="1/2").holds
    True
    >>> pair_T_realizable(metrics.line(3), 0, 2, alpha="1/2").path
    (0, 1, 2)
    """
    shape = polytope(metric, eps, alpha=alpha)
    a, b = shape.metric.index(first), shape.metric.index(second)
    if a == b:
        raise MetricError(f"second is {second!r}, the same input as first; give two inputs")
    ratio, exact = _ratios(shape)
    with flint.ctx.workprec(_bits(shape)):
        return _spread(shape, ratio if exact else _balls(shape), exact, a, b)


def _spread(shape: Polytope, ratio: AnyArray, exact: bool, a: int, b: int) -> PairRealizable:
    """The least probabilities that T on a pair leaves, over all paths."""
    one = 1 + ratio[a, a] * 0
    least: AnyArray = np.full(shape.metric.size, one * 0, dtype=object)
    wanted = {a: one / (one + ratio[a, b]), b: ratio[a, b] / (one + ratio[a, b])}
    for x, value in wanted.items():
        least[x] = value
    before = np.full(shape.metric.size, -1, dtype=np.intp)
    for _ in range(shape.metric.size):
        changed = False
        for x in range(shape.metric.size):
            for z in range(shape.metric.size):
                low = _floor(least[x], ratio[x, z], one)
                # Of balls: surely above.
                if low > least[z]:
                    if z in wanted:
                        return PairRealizable(False, None, _way(shape, before, x, z))
                    least[z], before[z], changed = low, x, True
        if not changed:
            break
    table = np.column_stack([least, one - least])
    if exact:
        return PairRealizable(True, Channel.trusted(table, "exact", shape.inputs), ())
    logs = np.array([[_log(value) for value in row] for row in table])
    return PairRealizable(True, Channel.trusted(logs, "log", shape.inputs), ())


def _ratios(shape: Polytope) -> tuple[AnyArray, bool]:
    """e^(-ε·d) for all pairs, in fractions where alpha is one and distances are whole."""
    table = shape.metric.matrix
    alpha = shape.level.alpha
    finite = table[np.isfinite(table)]
    if alpha is None or not (finite % 1 == 0).all():
        return table, False
    found = np.empty(table.shape, dtype=object)
    found.ravel()[:] = [
        alpha * 0 + (1 if d == 0 else 0 if np.isinf(d) else alpha ** int(d)) for d in table.ravel().tolist()
    ]
    return found, True


def _bits(shape: Polytope) -> int:
    """Digits that tell differences of the order of (ε·d)^8, and e^(ε·d), apart."""
    table = shape.metric.matrix
    moved = shape.level.eps * table[np.isfinite(table) & (table > 0)]
    moved = moved[np.isfinite(moved) & (moved > 0)]
    if not len(moved):
        return 128
    small, large = float(moved.min()), float(moved.max())
    require_size(large, LARGEST_EXPONENT, "the largest ε·distance", "give alpha as a fraction")
    return 128 + 8 * max(0, math.ceil(-math.log2(small))) + 4 * math.ceil(large)


def _balls(shape: Polytope) -> AnyArray:
    """e^(-ε·d) for all pairs, as balls."""
    table = shape.metric.matrix
    found = np.empty(table.shape, dtype=object)
    eps = shape.level.eps
    found.ravel()[:] = [
        flint.arb(1) if d == 0 or eps == 0 else flint.arb(0) if math.isinf(d * eps)
        else (-flint.arb(eps) * flint.arb(d)).exp()
        for d in table.ravel().tolist()
    ]  # fmt: skip
    return found


def _log(value: Any) -> float:
    return -math.inf if value == 0 else float(value.log().mid())


def _floor(value: Any, ratio: Any, one: Any) -> Any:
    """The least probability at a ratio from another: max(t·p, 1 - (1 - p)/t)."""
    low = ratio * value
    return low if ratio == 0 else max(low, one - (one - value) / ratio)


def _way(shape: Polytope, before: AnyArray, x: int, last: int) -> tuple[Hashable, ...]:
    path = [last, x]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
    return tuple(shape.inputs[i] for i in reversed(path))
