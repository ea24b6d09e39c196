"""Shannon capacity with a certified gap.

For any prior p with output distribution q = pC, the capacity lies between Σ_x p_x·D(C_x‖q) and
max_x D(C_x‖q) (Blahut, Arimoto). Both are evaluated at the end, so the gap reported is true whatever the
iteration did. Where Blahut and Arimoto take many multiplicative steps, this takes a few dozen Newton steps on
the concave mutual information with a shrinking barrier, O(n²m + n³) each. An optimal prior needs no more
inputs than there are outputs, so with many inputs the steps work on an active set that grows by the
inputs whose divergence exceeds the present value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel

__all__ = ["ShannonOptimum", "shannon_capacity"]

FloatArray = NDArray[np.float64]
LN2 = math.log(2)
SPARE = 20


@dataclass(frozen=True, eq=False)
class ShannonOptimum:
    """Capacity in bits (a lower bound), how far the proved upper bound is above it, and the prior."""

    bits: float
    gap: float
    prior: FloatArray


def shannon_capacity(channel: Channel, tolerance: float = 1e-10) -> ShannonOptimum:
    """Largest mutual information over all priors, in bits, to within `tolerance` bits."""
    matrix = channel.finite().rounded()
    # Equal rows only split the prior between them, so one of each is enough.
    distinct, first = np.unique(matrix, axis=0, return_index=True)
    distinct = distinct[:, distinct.any(axis=0)]
    with np.errstate(divide="ignore", invalid="ignore"):
        negentropy = np.where(distinct > 0, distinct * np.log(distinct), 0.0).sum(axis=1)
    prior = np.full(1, 1.0) if len(distinct) == 1 else _maximise(distinct, negentropy, tolerance * LN2)
    lower, upper = _bounds(distinct, negentropy, prior)
    spread = np.zeros(matrix.shape[0])
    spread[first] = prior
    return ShannonOptimum(max(0.0, lower) / LN2, max(0.0, upper - lower) / LN2, spread)


def _divergences(matrix: FloatArray, negentropy: FloatArray, prior: FloatArray) -> FloatArray:
    """D(C_x ‖ pC) in nats for each x."""
    output = prior @ matrix
    return np.asarray(negentropy - matrix @ np.log(np.maximum(output, 1e-300)))


def _bounds(matrix: FloatArray, negentropy: FloatArray, prior: FloatArray) -> tuple[float, float]:
    divergences = _divergences(matrix, negentropy, prior)
    return float(prior @ divergences), float(divergences.max())


def _maximise(matrix: FloatArray, negentropy: FloatArray, tolerance: float) -> FloatArray:
    """Newton on a growing set of inputs, until no input outside it has a larger divergence."""
    even = np.full(len(matrix), 1.0 / len(matrix))
    # An optimal prior needs no more inputs than there are outputs; twice as many leave some choice.
    few = 2 * matrix.shape[1] + SPARE
    active = np.argsort(-_divergences(matrix, negentropy, even), kind="stable")[:few]
    prior = even
    for _ in range(len(matrix)):
        prior = np.zeros(len(matrix))
        prior[active] = _newton(matrix[active], negentropy[active], tolerance / 2)
        divergences = _divergences(matrix, negentropy, prior)
        if divergences.max() - prior @ divergences <= tolerance:
            break
        used = np.flatnonzero(prior > 1e-12)
        added = np.argsort(-divergences, kind="stable")[: few // 2]
        grown = np.union1d(used, added)
        if np.isin(grown, active).all():
            break
        active = grown
    return prior


def _newton(matrix: FloatArray, negentropy: FloatArray, tolerance: float) -> FloatArray:
    """Primal-dual interior point for max I(p) over the simplex."""
    n = len(matrix)
    prior = np.full(n, 1.0 / n)
    slack = np.full(n, 1.0 / n)
    best, best_gap = prior, math.inf
    for _ in range(200):
        divergences = _divergences(matrix, negentropy, prior)
        gap = float(divergences.max() - prior @ divergences)
        if gap < best_gap:
            best, best_gap = prior, gap
        if gap <= tolerance:
            break
        target = 0.1 * float(prior @ slack) / n
        output = prior @ matrix
        # Hessian of -I is C·diag(1/q)·Cᵀ; z/p is the barrier's.
        hessian = (matrix / np.maximum(output, 1e-300)) @ matrix.T
        hessian[np.diag_indices(n)] += slack / prior
        right = divergences + target / prior
        try:
            both = np.linalg.solve(hessian, np.column_stack([right, np.ones(n)]))
        except np.linalg.LinAlgError:
            break
        level = both[:, 0].sum() / both[:, 1].sum()
        step = both[:, 0] - level * both[:, 1]
        change = target / prior - slack - slack / prior * step
        length = min(_reach(prior, step), _reach(slack, change))
        prior = prior + length * step
        prior = prior / prior.sum()
        slack = slack + length * change
    return best


def _reach(values: FloatArray, step: FloatArray) -> float:
    """Largest step, at most 1, that keeps 0.5% of every value."""
    falling = step < 0
    if not falling.any():
        return 1.0
    return float(min(1.0, 0.995 * (values[falling] / -step[falling]).min()))
