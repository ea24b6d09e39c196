"""The multiplicative Kantorovich distance: how far the odds of two distributions can be told apart.

K⊗(p, q) = max |ln(Σ p·f / Σ q·f)| over f > 0 with |ln f(x) - ln f(y)| ≤ d(x, y) (Chatzikokolakis et al.,
2014). It is the largest change in the logarithm of an expectation that a d-private observation can make,
and is at most max d. Each direction is a linear program: maximise p·f subject to q·f = 1 and f(x) ≤
e^d(x,y)·f(y).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array
from scipy.special import logsumexp

from sievert.channels.priors import as_prior
from sievert.errors import MetricError
from sievert.numerics.linear_programs import LinearProgram, Unsolved, solved
from sievert.numerics.logs import log_of
from sievert.results import Result
from sievert.spaces.metric import Metric

__all__ = ["MultiplicativeTransport", "multiplicative_kantorovich"]

FloatArray = NDArray[np.float64]
# e^d of longer steps would drown the program's other numbers; they bind only where f ranges as far.
LONGEST_STEP = 25.0


@dataclass(frozen=True, eq=False)
class MultiplicativeTransport(Result):
    """The distance, and the function that attains it.

    Attributes
    ----------
    value : the distance in nats, attained by `log_function` (d-Lipschitz by construction); inf where one
        distribution has mass on a component and the other none
    log_function : ln f
    upper : the linear program's own optimum, to compare with
    """

    value: float
    log_function: FloatArray
    upper: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"multiplicative Kantorovich distance {self.value:.9g} nats"


def multiplicative_kantorovich(p: Any, q: Any, metric: Metric) -> MultiplicativeTransport:
    """Largest |ln(E_p f / E_q f)| over the f whose logarithm is 1-Lipschitz.

    >>> from sievert.spaces import metrics
    >>> float(multiplicative_kantorovich([1, 0], [0, 1], metrics.line(2)))
    1.0
    """
    if not isinstance(metric, Metric):
        raise MetricError(f"metric is {metric!r}; give a metric, such as sv.metrics.line(n)")
    first, second = (as_prior(side, metric.size).astype(np.float64) for side in (p, q))
    there, back = _one_way(first, second, metric), _one_way(second, first, metric)
    return there if there.value >= back.value else back


def _one_way(p: FloatArray, q: FloatArray, metric: Metric) -> MultiplicativeTransport:
    """sup ln(E_p f / E_q f): the best component, since f may be 0 on all others."""
    component = metric.component_of
    best = MultiplicativeTransport(-math.inf, np.zeros(metric.size), -math.inf)
    for c in range(int(component.max()) + 1):
        members = np.flatnonzero(component == c)
        if not p[members].sum() > 0:
            continue
        inside = np.where(component == c, 0.0, -np.inf)
        if not q[members].sum() > 0:
            return MultiplicativeTransport(math.inf, inside, math.inf)
        distances = metric.matrix[np.ix_(members, members)]
        logs, upper = _program(p[members], q[members], distances, _steps(metric, members))
        inside[members] = logs
        value = float(logsumexp(log_of(p) + inside) - logsumexp(log_of(q) + inside))
        if value > best.value:
            best = MultiplicativeTransport(max(value, 0.0) + 0.0, inside, max(upper, value))
    return best


def _steps(metric: Metric, members: NDArray[np.intp]) -> NDArray[np.intp]:
    """Pairs of members whose steps imply all others: the metric's edges where it has some, else all pairs."""
    if metric.edges is None:
        return np.argwhere(~np.eye(len(members), dtype=bool))
    position = np.full(metric.size, -1)
    position[members] = np.arange(len(members))
    pairs = position[metric.edges.pairs]
    pairs = pairs[(pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])]
    return np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)


def _program(
    p: FloatArray, q: FloatArray, distances: FloatArray, pairs: NDArray[np.intp]
) -> tuple[FloatArray, float]:
    """ln f of the optimum, made d-Lipschitz, and the logarithm of the program's value."""
    size = len(p)
    if size == 1:
        return np.zeros(1), math.log(p[0] / q[0])
    tails, heads = pairs[:, 0], pairs[:, 1]
    steps = distances[tails, heads]
    short = steps <= LONGEST_STEP
    tails, heads, steps = tails[short], heads[short], steps[short]
    count = len(steps)
    rows = np.arange(count)
    matrix = csc_array(
        coo_array(
            (
                np.concatenate([np.exp(-steps), -np.ones(count), q]),
                (
                    np.concatenate([rows, rows, np.full(size, count)]),
                    np.concatenate([tails, heads, np.arange(size)]),
                ),
            ),
            shape=(count + 1, size),
        )
    )
    lower = np.concatenate([np.full(count, -np.inf), [1.0]])
    upper = np.concatenate([np.zeros(count), [1.0]])
    program = LinearProgram(-p, matrix, lower, upper, np.zeros(size), np.full(size, np.inf))
    try:
        found = solved(program)
        logs, value = log_of(np.maximum(found.primal, 0.0)), math.log(max(-found.value, 1e-300))
    except Unsolved:
        logs, value = np.where(p > q, 0.0, -distances.max()), math.inf
    if np.isneginf(logs).all():
        logs = np.zeros(size)
    # The least d-Lipschitz function above: feasible whatever the solver did.
    return np.asarray((logs[None, :] - distances).max(axis=1)), value
