"""Max refinement: is every posterior of B in the convex hull of the posteriors of A (Fernandes, Thm 4.1)?

Posteriors under the uniform prior are the normalised columns, so a posterior lies in the hull iff the column
is a non-negative combination of A's columns. A column outside has a separating direction h, which makes a
two-action adversary: "bet on h" or take the constant that A never beats.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray, ObjectArray
from sievert.numerics import exact_matmul
from sievert.orders._average import decide_independent
from sievert.orders._decisions import TOLERANCE
from sievert.orders._exact import cone_program
from sievert.orders._integers import Integers, independent_solution

__all__ = ["HullDecision", "decide_maximum", "decide_maximum_exactly", "posteriors"]


@dataclass(frozen=True, eq=False)
class HullDecision:
    """Whether the hull contains every posterior: M ≥ 0 with A·M = B, or the direction that separates one."""

    holds: bool | None
    mixing: NDArray[Any] | None
    direction: NDArray[Any] | None
    output: int | None
    distance: float


def posteriors(matrix: FloatArray) -> tuple[FloatArray, NDArray[np.intp]]:
    """Normalised non-zero columns and their positions."""
    sums = matrix.sum(axis=0)
    present = np.flatnonzero(sums > 0)
    return matrix[:, present] / sums[present], present


def decide_maximum(less_safe: FloatArray, safer: FloatArray) -> HullDecision:
    """Hull membership of each posterior of B: the unique weights, or else non-negative least squares."""
    from scipy.optimize import nnls

    inner, _ = posteriors(less_safe)
    outer, present = posteriors(safer)
    known = _independent(inner, outer)
    if known is not None:
        weights, direction, w, distance = known
        if direction is not None:
            return HullDecision(False, None, direction, int(present[w]), distance)
        return _inside(less_safe, safer, weights)
    # The row of ones makes the weights sum to 1; it is implied, and keeps nearly parallel columns apart.
    stacked = np.vstack([inner, np.ones(inner.shape[1])])
    weights = np.zeros((outer.shape[1], inner.shape[1]))
    worst = (0.0, -1, np.zeros(len(inner)))
    for w in range(outer.shape[1]):
        mixing, _ = nnls(stacked, np.append(outer[:, w], 1.0), maxiter=50 * stacked.shape[1])
        weights[w] = mixing / mixing.sum()
        rest = outer[:, w] - inner @ mixing
        width = float(rest.max() - rest.min())
        if width <= 0:
            continue
        # How far the posterior lies beyond every point of the hull along the residual, per unit of gain.
        beyond = float(rest @ outer[:, w] - (rest @ inner).max()) / width
        if beyond > worst[0]:
            worst = (beyond, w, rest)
    if worst[0] > TOLERANCE:
        return HullDecision(False, None, worst[2], int(present[worst[1]]), worst[0])
    return _inside(less_safe, safer, weights)


def _inside(less_safe: FloatArray, safer: FloatArray, weights: FloatArray) -> HullDecision:
    """The decision of mixing weights [posterior of B, posterior of A]."""
    inner, columns = posteriors(less_safe)
    outer, present = posteriors(safer)
    error = float(np.abs(inner @ weights.T - outer).sum(axis=0).max() / 2)
    mixing = np.zeros((less_safe.shape[1], safer.shape[1]))
    scale = safer.sum(axis=0)[present][None, :] / less_safe.sum(axis=0)[columns][:, None]
    mixing[np.ix_(columns, present)] = weights.T * scale
    return HullDecision(True if error <= TOLERANCE else None, mixing, None, None, error)


def _independent(
    inner: FloatArray, outer: FloatArray
) -> tuple[FloatArray, FloatArray | None, int, float] | None:
    """Weights, or a separating direction with its posterior and distance; None where neither is clear."""
    found = decide_independent(inner, outer)
    if found is None:
        return None
    if found.witness is not None:
        # Along each action, how far B's posteriors lie beyond every posterior of A, per unit of gain.
        beyond = (found.witness * outer).sum(axis=0) - (inner.T @ found.witness).max(axis=0)
        width = found.witness.max(axis=0) - found.witness.min(axis=0)
        beyond = np.where(width > 0, beyond / np.where(width > 0, width, 1.0), 0.0)
        w = int(np.argmax(beyond))
        if beyond[w] > TOLERANCE:
            return np.empty((0, 0)), found.witness[:, w], w, float(beyond[w])
    if found.post is None:
        return None
    weights = found.post.T
    error = np.abs(inner @ weights.T - outer).sum(axis=0).max() / 2
    return (weights, None, -1, 0.0) if error <= TOLERANCE else None


def decide_maximum_exactly(
    less_safe: ObjectArray, safer: ObjectArray, guess: HullDecision
) -> HullDecision | None:
    """As `decide_maximum` over the rationals, or None when a column resists.

    The support of non-negative least squares is independent, so the weights on it are solved exactly; a
    separating direction is rounded and evaluated exactly; a column that resists both gets a linear program.
    """
    from scipy.optimize import nnls

    if guess.direction is not None:
        assert guess.output is not None
        proved = _separated(less_safe, safer, guess.direction, guess.output)
        if proved is not None:
            return HullDecision(False, None, proved, guess.output, guess.distance)
    m, k = less_safe.shape[1], safer.shape[1]
    mixing = np.full((m, k), Fraction(0), dtype=object)
    scales = less_safe.astype(np.float64).max(axis=0)
    floats = less_safe.astype(np.float64) / np.where(scales > 0, scales, 1.0)
    system = Integers(less_safe, safer)
    for w in range(k):
        if not any(safer[:, w]):
            continue
        target = safer[:, w].astype(np.float64)
        weights, _ = nnls(floats, target / target.max(), maxiter=50 * m)
        column = independent_solution(system, np.flatnonzero(weights > 1e-12).tolist(), w)
        if column is None or (column < 0).any():
            decided = cone_program(less_safe, safer[:, [w]])
            if decided is None:
                return None
            if not decided.holds:
                assert decided.witness is not None
                return HullDecision(False, None, decided.witness[:, 0], w, 0.0)
            assert decided.post is not None
            column = decided.post[:, 0]
        mixing[:, w] = column
    return HullDecision(True, mixing, None, None, 0.0)


def _separated(
    less_safe: ObjectArray, safer: ObjectArray, direction: NDArray[Any], w: int
) -> ObjectArray | None:
    """h with h·a ≤ 0 for every column of A and h·b > 0 for column w of B; None if not so exactly."""
    scaled = direction / max(float(np.abs(direction).max()), 1e-300)
    h = np.array([Fraction(round(value * 2**52), 2**52) for value in scaled.tolist()], dtype=object)
    sums = less_safe.sum(axis=0)
    scores = exact_matmul(h[None, :], less_safe)[0]
    constant = max(s / total for s, total in zip(scores.tolist(), sums.tolist(), strict=True) if total > 0)
    shifted = h - constant
    return shifted if sum(shifted * safer[:, w]) > 0 else None
