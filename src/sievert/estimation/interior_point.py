"""Maximum likelihood of mixture proportions by a primal–dual interior point, for any rows.

maximise Σ_j q_j·ln (pG)_j over the simplex. Written around a reference r = p⁰G, with B = (G - r)/r:
Σ_j q_j·log1p((pB)_j). The conditions are h_i - ν + λ_i = 0 and p_i·λ_i = 0 with h_i = Σ_j
q_j·B_ij/(1+(pB)_j), and c_i - 1 = h_i - p·h. Rows that differ by 1e-9 (noise with alpha near 1) are scaled
up to differ by 1 and lose no digits. Of several maxima the interior point approaches the one in the middle.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

__all__ = ["maximise"]

FloatArray = NDArray[np.float64]
MOST_ITERATIONS = 120
# Fraction of the way to the boundary; 1 - 1e-6 at the end would be quicker by a step or two at most.
STEP = 0.995


def maximise(
    differences: FloatArray, base: float, shares: FloatArray, tolerance: float = 1e-13
) -> tuple[FloatArray, float, int]:
    """The maximiser p, its certified gap ln max c, and the number of iterations.

    Row i of the channel is base + differences[i]; the iteration ends at a gap of `tolerance` times the
    spread of the rows, or where floats allow no more.
    """
    size = len(differences)
    if size == 1:
        return np.ones(1), 0.0, 0
    p = np.full(size, 1 / size)
    offset = p @ differences
    centred = (differences - offset) / (base + offset)
    spread = float(np.abs(centred).max())
    if spread == 0:
        return p, 0.0, 0
    centred /= spread
    best, best_gap = p, math.inf
    h = centred @ shares
    nu = float(h.max()) + 1.0
    lam = nu - h
    iterations, stalled = 0, 0
    while iterations < MOST_ITERATIONS:
        iterations += 1
        t = spread * (p @ centred)
        slope = shares / (1 + t)
        h = centred @ slope
        violation = float((h - p @ h).max())
        if violation < best_gap:
            stalled = 0 if violation < 0.9 * best_gap else stalled + 1
            best, best_gap = p, violation
        else:
            stalled += 1
        if violation <= tolerance or stalled >= 8:
            break
        step = _newton(centred, spread, slope, shares, h, p, lam, nu)
        if step is None:
            break
        p, lam, nu = step
    return best, math.log1p(max(0.0, spread * best_gap)), iterations


def _newton(
    centred: FloatArray,
    spread: float,
    slope: FloatArray,
    shares: FloatArray,
    h: FloatArray,
    p: FloatArray,
    lam: FloatArray,
    nu: float,
) -> tuple[FloatArray, FloatArray, float] | None:
    """One predictor–corrector step; None where the equations are no longer solvable in floats."""
    weight = spread * slope**2 / shares
    diagonal = lam / p
    solver = _Normal(centred, weight, diagonal)
    if not solver.good:
        return None
    ones = solver(np.ones(len(p)))
    # Rows: -H·dp - dν + dλ = -(h - ν + λ);  λ·dp + p·dλ = target - p·λ;  Σ dp = 1 - Σ p.
    residual = h - nu + lam
    mass = 1 - p.sum()

    def direction(target: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        pull = target / p + residual
        free = solver(pull)
        dnu = float((free.sum() - mass) / ones.sum())
        dp = free - dnu * ones
        return dp, target / p - diagonal * dp, dnu

    mu = float(p @ lam) / len(p)
    dp, dlam, _ = direction(-p * lam)
    primal, dual = _largest(p, dp), _largest(lam, dlam)
    after = float((p + primal * dp) @ (lam + dual * dlam)) / len(p)
    centre = (after / mu) ** 3 if mu > 0 else 0.0
    dp, dlam, dnu = direction(centre * mu - p * lam - dp * dlam)
    if not (np.isfinite(dp).all() and np.isfinite(dlam).all()):
        return None
    primal = min(1.0, STEP * _largest(p, dp))
    dual = min(1.0, STEP * _largest(lam, dlam))
    primal = _decreasing(centred, spread, shares, p, dp, primal)
    if primal == 0:
        return None
    moved = np.maximum(p + primal * dp, 1e-300)
    return moved / moved.sum(), np.maximum(lam + dual * dlam, 1e-300), nu + dual * dnu


def _largest(values: FloatArray, step: FloatArray) -> float:
    """How far a positive vector can go before an entry reaches 0; at most 1."""
    falling = step < 0
    return min(1.0, float((values[falling] / -step[falling]).min())) if falling.any() else 1.0


def _decreasing(
    centred: FloatArray, spread: float, shares: FloatArray, p: FloatArray, dp: FloatArray, length: float
) -> float:
    """A length at which every output keeps a positive probability (the logarithm's own boundary)."""
    here, change = 1 + spread * (p @ centred), spread * (dp @ centred)
    falling = change < 0
    if falling.any():
        length = min(length, 0.9 * float((here[falling] / -change[falling]).min()))
    return length


class _Normal:
    """Solves (B·diag(w)·Bᵀ + diag(d))·x = y through the smaller of the two Gram matrices."""

    def __init__(self, centred: FloatArray, weight: FloatArray, diagonal: FloatArray) -> None:
        self.centred, self.diagonal = centred, diagonal
        self.wide = centred.shape[1] >= centred.shape[0]
        try:
            if self.wide:
                gram = (centred * weight) @ centred.T
                # Symmetric scaling: entries of the diagonal range over many powers of ten.
                self.scale = 1 / np.sqrt(gram.diagonal() + diagonal)
                gram *= self.scale[:, None] * self.scale[None, :]
                gram[np.diag_indices(len(gram))] = 1.0
            else:
                # Sherman, Morrison and Woodbury, in the outputs.
                gram = centred.T @ (centred / diagonal[:, None])
                self.scale = np.sqrt(weight)
                gram *= self.scale[:, None] * self.scale[None, :]
                gram[np.diag_indices(len(gram))] += 1.0
            self.factor = cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
            self.good = bool(np.isfinite(self.factor[0].diagonal()).all())
        except LinAlgError:
            self.good = False

    def __call__(self, y: FloatArray) -> FloatArray:
        if self.wide:
            return np.asarray(self.scale * cho_solve(self.factor, self.scale * y, check_finite=False))
        first = y / self.diagonal
        inner = self.scale * cho_solve(self.factor, self.scale * (self.centred.T @ first), check_finite=False)
        return np.asarray(first - (self.centred @ inner) / self.diagonal)
