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

from sievert.arrays import FloatArray
from sievert.channels.priors import as_prior
from sievert.numerics import log_of
from sievert.programs import LinearProgram, Unsolved, solved
from sievert.results import Result
from sievert.spaces import Metric, metric_of

__all__ = ["MultiplicativeTransport", "multiplicative_kantorovich"]
Pairs = NDArray[np.intp]
# e^d of longer steps would drown the program's other numbers; they bind only where f ranges as far.
LONGEST_STEP = 25.0
# Steps to begin with from each point where distances are no graph's; a step broken by less is rounding.
NEIGHBOURS = 8
BROKEN = 1e-12
# Program and function this close, in nats, are the same to the solver's tolerance.
CLOSE = 1e-10


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

    Parameters
    ----------
    p, q : the distributions, in the order of the metric's points or by label
    metric : Metric

    Returns
    -------
    MultiplicativeTransport
        The value, with potentials that prove it; `float(result)` is the value.

    Notes
    -----
    Cost: a linear program both ways, with a row for each edge of the metric or for the pairs that bind.

    Examples
    --------
    >>> from sievert.spaces import metrics
    >>> float(multiplicative_kantorovich([1, 0], [0, 1], metrics.line(2)))
    1.0
    """
    metric = metric_of(metric)
    first, second = (as_prior(side, metric.points).astype(np.float64) for side in (p, q))
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
        logs, upper = _best(p[members], q[members], distances, _edges(metric, members))
        inside[members] = logs
        value = float(logsumexp(log_of(p) + inside) - logsumexp(log_of(q) + inside))
        if value > best.value:
            best = MultiplicativeTransport(max(value, 0.0) + 0.0, inside, max(upper, value))
    return best


def _edges(metric: Metric, members: NDArray[np.intp]) -> Pairs | None:
    """Pairs of members whose steps imply all others: the metric's edges, where it has some."""
    if metric.edges is None:
        return None
    position = np.full(metric.size, -1)
    position[members] = np.arange(len(members))
    pairs = position[metric.edges.pairs]
    pairs = pairs[(pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])]
    return np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)


def _attained(
    p: FloatArray, q: FloatArray, distances: FloatArray, logs: FloatArray
) -> tuple[FloatArray, float]:
    """The least d-Lipschitz function above: feasible whatever the solver did; and the value it attains."""
    least = np.asarray((logs[None, :] - distances).max(axis=1))
    return least, float(logsumexp(log_of(p) + least) - logsumexp(log_of(q) + least))


def _best(
    p: FloatArray, q: FloatArray, distances: FloatArray, edges: Pairs | None
) -> tuple[FloatArray, float]:
    """ln f of the optimum, made d-Lipschitz, and the logarithm of the program's value."""
    if edges is not None:
        logs, upper = _program(p, q, distances, edges)
        return _attained(p, q, distances, logs)[0], upper
    # f may fall to the least Lipschitz function above its values where p/q is more than on average: only
    # steps from there bind. Few of them do, so they are added as they are missed.
    average = float(p.sum() / q.sum())
    rich = np.flatnonzero(p > average * q)
    if not len(rich):
        return np.zeros(len(p)), math.log(average)
    pairs = _nearest(rich, distances, q)
    while True:
        logs, upper = _program(p, q, distances, pairs)
        least, value = _attained(p, q, distances, logs)
        missed = _missed(rich, distances, logs)
        fresh = missed[~np.isin(_codes(missed, len(p)), _codes(pairs, len(p)))]
        if upper - value <= CLOSE or not len(fresh):
            return least, upper
        pairs = np.concatenate([pairs, fresh])


def _nearest(rich: NDArray[np.intp], distances: FloatArray, q: FloatArray) -> Pairs:
    """Steps to begin with: to the nearest points, and to one with q > 0 so that the program is bounded."""
    others = distances[rich].copy()
    others[np.arange(len(rich)), rich] = np.inf
    count = min(NEIGHBOURS, len(q) - 1)
    near = np.argpartition(others, count - 1, axis=1)[:, :count]
    anchor = np.where(q > 0, others, np.inf).argmin(axis=1)
    heads = np.column_stack([near, anchor])
    pairs = np.column_stack([np.repeat(rich, heads.shape[1]), heads.ravel()])
    return np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)


def _missed(rich: NDArray[np.intp], distances: FloatArray, logs: FloatArray) -> Pairs:
    """Steps that ln f breaks: for each point the worst one to it, and the worst one from it."""
    with np.errstate(invalid="ignore"):
        excess = np.nan_to_num(logs[rich, None] - distances[rich] - logs, nan=-np.inf, posinf=np.inf)
    heads, tails = np.arange(len(logs)), np.arange(len(rich))
    into, out = excess.argmax(axis=0), excess.argmax(axis=1)
    found = np.concatenate(
        [
            np.column_stack([rich[into], heads])[excess[into, heads] > BROKEN],
            np.column_stack([rich, out])[excess[tails, out] > BROKEN],
        ]
    )
    return np.unique(found[found[:, 0] != found[:, 1]], axis=0)


def _codes(pairs: Pairs, size: int) -> NDArray[np.intp]:
    return np.asarray(pairs[:, 0] * size + pairs[:, 1])


def _program(p: FloatArray, q: FloatArray, distances: FloatArray, pairs: Pairs) -> tuple[FloatArray, float]:
    """ln f that the program with these steps alone finds best, and the logarithm of its value."""
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
    return logs, value
