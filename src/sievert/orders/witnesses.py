"""Gaps and distances: the two numbers that certify a refusal and an acceptance, whatever produced them.

For any G [secret, action], gap(G) = <G,B> - Σ_y max_w (AᵀG)[y,w] is at most the largest <G, B - AR>, so a
positive gap proves that no R has AR = B. For any stochastic R, max_x TV(B_x, (AR)_x) bounds the deficiency.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Witness",
    "best_prior",
    "best_prior_gap",
    "gap",
    "gap_error",
    "normalised_gap",
    "residual",
    "span",
    "stochastic",
    "two_action_gap",
]

FloatArray = NDArray[np.float64]
Witness = FloatArray  # [secret, output of B]
EPS = float(np.finfo(np.float64).eps)


def gap(witness: FloatArray, less_safe: FloatArray, safer: FloatArray) -> float:
    """<G,B> - Σ_y max_w (AᵀG)[y,w]."""
    return float((witness * safer).sum() - (less_safe.T @ witness).max(axis=1).sum())


def gap_error(witness: FloatArray, less_safe: FloatArray, safer: FloatArray) -> float:
    """A-priori rounding allowance of the gap."""
    size = np.abs(witness)
    scale = (size * safer).sum() + (less_safe.T @ size).max(axis=1).sum()
    return float(2 * EPS * (safer.shape[0] + safer.shape[1] + 8) * scale)


def span(witness: FloatArray) -> float:
    """Largest spread of a row: adding a constant to a row changes nothing."""
    return float((witness.max(axis=1) - witness.min(axis=1)).max())


def normalised_gap(witness: FloatArray, less_safe: FloatArray, safer: FloatArray) -> float:
    """Advantage under the uniform prior for the gain scaled to [0, 1], less the rounding allowance."""
    width = span(witness)
    if not width > 0 or not np.isfinite(width):
        return 0.0
    sure = gap(witness, less_safe, safer) - gap_error(witness, less_safe, safer)
    return float(max(0.0, sure / (len(less_safe) * width)))


def best_prior(witness: FloatArray) -> FloatArray:
    """The prior that makes a witness count most: each secret in proportion to the spread of its gains."""
    width = witness.max(axis=1) - witness.min(axis=1)
    total = float(width.sum())
    return width / total if total > 0 else np.full(len(width), 1 / len(width))


def best_prior_gap(witness: FloatArray, less_safe: FloatArray, safer: FloatArray) -> float:
    """Advantage under the best prior for gains in [0, 1]: a lower bound on the Le Cam deficiency."""
    total = float((witness.max(axis=1) - witness.min(axis=1)).sum())
    if not total > 0 or not np.isfinite(total):
        return 0.0
    return max(0.0, (gap(witness, less_safe, safer) - gap_error(witness, less_safe, safer)) / total)


def stochastic(post: FloatArray) -> FloatArray:
    """Negative entries clipped and rows rescaled."""
    clipped = np.maximum(post, 0.0)
    sums = clipped.sum(axis=1, keepdims=True)
    return np.where(sums > 0, clipped / np.where(sums > 0, sums, 1.0), 1.0 / post.shape[1])


def residual(post: FloatArray, less_safe: FloatArray, safer: FloatArray) -> float:
    """max_x TV(B_x, (AR)_x): an upper bound on the deficiency."""
    return float(np.abs(safer - less_safe @ post).sum(axis=1).max() / 2)


def two_action_gap(witness: FloatArray, less_safe: FloatArray, safer: FloatArray) -> float:
    """As `normalised_gap` for a gain whose actions are not tied to outputs of B, in O(n·m·actions)."""
    width = span(witness)
    if not width > 0 or not np.isfinite(width):
        return 0.0
    before, after = less_safe.T @ witness, safer.T @ witness
    size = np.abs(witness)
    allowance = (less_safe.T @ size).max(axis=1).sum() + (safer.T @ size).max(axis=1).sum()
    error = 2 * EPS * (len(witness) + max(less_safe.shape[1], safer.shape[1]) + 8) * float(allowance)
    sure = float(after.max(axis=1).sum() - before.max(axis=1).sum()) - error
    return float(max(0.0, sure / (len(less_safe) * width)))
