"""How a belief fades with the distance from each value: what is kept, Σ_u π_u·e^(-ε·d(v, u)), and the rest.

From all distances where there are few values; without them where values stand in a row or beside one. There
what is right of a value v follows from what is right of w, the next on a shortest path to the right: with
a = e^(-ε·d(v, w)), s the belief right of v and b that up to w, the faded is (1 - a)·s + a·faded(w) and the
kept a·b + a·kept(w). All terms are positive, so no digit is lost, and both are needed since either may be
next to 1. Doubling the path at each round takes log₂ of its length rounds.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.spaces import Graph, Metric
from sievert.spaces.secrets import LineGraph, PresenceGraph, ThresholdGraph

__all__ = ["smoothed_prior"]
# Faded and kept, for each value.
Fading = tuple[FloatArray, FloatArray]


@singledispatch
def smoothed_prior(secrets: Graph | Metric, eps: float, belief: FloatArray) -> Fading:
    """Σ_u π_u·(1 - e^(-ε·d(v, u))) and Σ_u π_u·e^(-ε·d(v, u)) for each value v."""
    raise TypeError(f"{type(secrets).__name__} has no distances")


@smoothed_prior.register
def _over_graph(secrets: Graph, eps: float, belief: FloatArray) -> Fading:
    return _over_metric(secrets.metric(), eps, belief)


@smoothed_prior.register
def _over_metric(metric: Metric, eps: float, belief: FloatArray) -> Fading:
    apart = metric.uniform_distance
    if apart is not None:
        exponents, others = _exponents(eps, np.array([apart])), belief.sum() - belief
        return -np.expm1(-exponents) * others, belief + np.exp(-exponents) * others
    if metric.positions is None:
        exponents = _exponents(eps, metric.matrix)
        return -np.expm1(-exponents) @ belief, np.exp(-exponents) @ belief
    order = np.argsort(metric.positions, kind="stable")
    lengths = _exponents(eps, np.diff(metric.positions[order]))
    return _in_order(order, _over_gaps(lengths, belief[order]))


@smoothed_prior.register
def _over_line(secrets: LineGraph, eps: float, belief: FloatArray) -> Fading:
    return _over_gaps(np.full(len(belief) - 1, eps), belief)


@smoothed_prior.register
def _over_star(secrets: PresenceGraph, eps: float, belief: FloatArray) -> Fading:
    """One step to or from the missing record, the first value, and two between any others."""
    present = belief[1:].sum()
    one = np.concatenate([[present], np.full(len(belief) - 1, belief[0])])
    two = np.concatenate([[0.0], present - belief[1:]])
    gone = -math.expm1(-eps) * one - math.expm1(-2 * eps) * two
    return gone, belief + math.exp(-eps) * one + math.exp(-2 * eps) * two


@smoothed_prior.register
def _over_threshold(secrets: ThresholdGraph, eps: float, belief: FloatArray) -> Fading:
    """A shortest path goes as far as it can; beyond the end of a component everything has faded."""
    reach, last = secrets.reach, len(belief) - 1
    given = belief[reach.order]
    right = _along(reach.ends - 1, eps, given)
    left = _along(last - reach.back[::-1], eps, given[::-1])
    return _in_order(reach.order, _both(left, right, given))


def _over_gaps(lengths: FloatArray, belief: FloatArray) -> Fading:
    """Of values in a row, so far apart."""
    following = np.minimum(np.arange(1, len(belief) + 1), len(belief) - 1)
    right = _along(following, np.append(lengths, 0.0), belief)
    left = _along(following, np.append(lengths[::-1], 0.0), belief[::-1])
    return _both(left, right, belief)


def _along(following: NDArray[np.intp], lengths: float | FloatArray, belief: FloatArray) -> FloatArray:
    """What is faded and kept to the right of each value, when a path goes to the following one so far."""
    upto = np.cumsum(belief, dtype=np.longdouble)  # its differences keep their digits
    beyond, near = (part.astype(np.float64) for part in (upto[-1] - upto, upto[following] - upto))
    exponents = np.where(following == np.arange(len(belief)), np.inf, lengths)
    left = np.exp(-exponents)
    found = np.stack([-np.expm1(-exponents) * beyond, left * near])
    while left.any() and (following[following] != following).any():
        found += left * found[:, following]
        left = left * left[following]
        following = following[following]
    return np.asarray(found + left * found[:, following])


def _both(left: FloatArray, right: FloatArray, belief: FloatArray) -> Fading:
    """From the sums to the left, which were taken from the right end, and to the right."""
    gone, kept = left[:, ::-1] + right
    return gone, kept + belief


def _exponents(eps: float, distances: FloatArray) -> FloatArray:
    """ε·d with 0·∞ = 0 for a distance of 0, and ∞ across infinite distances even at ε = 0."""
    with np.errstate(invalid="ignore"):
        exponents = np.where(distances == 0, 0.0, eps * distances)
    return np.where(np.isinf(distances), np.inf, exponents)


def _in_order(order: NDArray[np.intp], values: Fading) -> Fading:
    gone, kept = np.empty((2, len(order)))
    gone[order], kept[order] = values
    return gone, kept
