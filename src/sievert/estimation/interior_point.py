"""Maximum likelihood of mixture proportions by a primal–dual interior point, for any rows.

maximise Σ_j q_j·ln (pG)_j over the simplex. Written around a reference r = p⁰G, with B = (G - r)/r, the
objective is Σ_j q_j·ln m_j with m = 1 + pB. With y_j = q_j/m_j and h = B·y the conditions are h_i - ν +
λ_i = 0, p_i·λ_i = 0 and m_j·y_j = q_j, and the factors of IBU are c_i - 1 = h_i - p·h. Keeping y as a
variable of its own treats outputs of tiny probability as gently as inputs. Rows that differ by 1e-9 (noise
with alpha near 1) are scaled up to differ by 1 and lose no digits. Of several maxima the interior point
approaches one in the middle.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

__all__ = ["largest_step", "maximise", "step_length"]

FloatArray = NDArray[np.float64]
MOST_ITERATIONS = 200
# Fraction of the way to the boundary that a step may go.
STEP = 0.995
# Iterations in a row without a smaller gap after which floats allow no more.
PATIENCE = 25
# How far below their mean a product p·λ may be.
LAGGARD = 1e-4
TINY = 1e-300
LARGEST_DIRECT = 1500


class _State(NamedTuple):
    p: FloatArray
    lam: FloatArray
    y: FloatArray
    nu: float


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
    h = centred @ shares
    nu = float(h.max()) + 1.0
    state = _State(p, nu - h, shares, nu)
    best, best_gap = p, math.inf
    iterations = stalled = 0
    while iterations < MOST_ITERATIONS:
        iterations += 1
        # Of positive terms only, where the rows are: tiny entries keep their digits.
        m = (base + state.p @ differences) / (base + offset)
        h = centred @ (shares / m)
        violation = float((h - state.p @ h).max())
        stalled = 0 if violation < 0.9 * best_gap else stalled + 1
        if violation < best_gap:
            best, best_gap = state.p, violation
        if violation <= tolerance or stalled >= PATIENCE:
            break
        # A step that leaves the floats is seen and ends the iteration.
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            step = _newton(centred, spread, shares, m, state)
        if step is None:
            break
        state = step
    return best, math.log1p(max(0.0, spread * best_gap)), iterations


def _newton(
    centred: FloatArray, spread: float, shares: FloatArray, m: FloatArray, state: _State
) -> _State | None:
    """One predictor–corrector step; None where the equations are no longer solvable in floats."""
    p, lam, y, nu = state
    diagonal = lam / p
    solver = _Normal(centred, spread * y / m, diagonal)
    if not solver.good:
        return None
    ones = solver(np.ones(len(p)))
    # B·dy - dν + dλ = -residual;  λ·dp + p·dλ = first;  m·dy + y·dm = second, dm = spread·Bᵀdp;  Σ dp = 1
    # - Σ p.
    residual = centred @ y - nu + lam
    mass = 1 - p.sum()

    def direction(first: FloatArray, second: FloatArray) -> tuple[FloatArray, ...]:
        free = solver(residual + centred @ (second / m) + first / p)
        dnu = (free.sum() - mass) / ones.sum()
        dp = free - dnu * ones
        dm = spread * (dp @ centred)
        return dp, dm, first / p - diagonal * dp, (second - y * dm) / m, dnu

    mu = float(p @ lam) / len(p)
    short = shares - m * y
    dp, dm, dlam, dy, _ = direction(-p * lam, short)
    primal, dual = (
        min(largest_step(p, dp), largest_step(m, dm)),
        min(largest_step(lam, dlam), largest_step(y, dy)),
    )
    after = float((p + primal * dp) @ (lam + dual * dlam)) / len(p)
    centre = min(1.0, max(after / mu, 0.0)) ** 3 if mu > 0 else 0.0
    length, found = 0.0, None
    # If the corrected step is stopped early, one straight towards the central path is not.
    for first, second in (
        (centre * mu - p * lam - dp * dlam, short - dm * dy),
        (mu - p * lam, short),
    ):
        found = direction(first, second)
        if not all(np.isfinite(part).all() for part in found):
            return None
        length = step_length(shares, (p, found[0]), (m, found[1]), (lam, found[2]), (y, found[3]))
        if length > 0.1:
            break
    assert found is not None
    dp, dm, dlam, dy, dnu = found
    moved = np.maximum(p + length * dp, TINY)
    return _State(
        moved / moved.sum(),
        np.maximum(lam + length * dlam, TINY),
        np.maximum(y + length * dy, TINY),
        float(nu + length * float(dnu)),
    )


def step_length(shares: FloatArray, *moves: tuple[FloatArray, FloatArray]) -> float:
    """How far to go: everything stays positive, and no product runs ahead of the others towards 0."""
    (p, dp), (m, dm), (lam, dlam), (y, dy) = moves
    length = STEP * min(largest_step(values, step) for values, step in moves)
    for _ in range(60):
        products = (p + length * dp) * (lam + length * dlam)
        balanced = products.min() >= LAGGARD * products.sum() / len(p)
        if balanced and ((m + length * dm) * (y + length * dy) >= 0.1 * shares).all():
            break
        length *= 0.8
    return length


def largest_step(values: FloatArray, step: FloatArray) -> float:
    """How far a positive vector can go before an entry reaches 0; at most 1."""
    falling = step < 0
    return min(1.0, float((values[falling] / -step[falling]).min())) if falling.any() else 1.0


class _Normal:
    """Solves (B·diag(w)·Bᵀ + diag(d))·x = y.

    In the inputs, or for very many of them in the outputs (Sherman, Morrison and Woodbury), which costs
    less but loses digits where d is tiny.
    """

    def __init__(self, centred: FloatArray, weight: FloatArray, diagonal: FloatArray) -> None:
        self.centred, self.diagonal = centred, diagonal
        rows, columns = centred.shape
        self.direct = rows <= max(columns, LARGEST_DIRECT)
        if self.direct:
            gram = (centred * weight) @ centred.T
            # Symmetric scaling: entries of the diagonal range over many powers of ten.
            self.scale = 1 / np.sqrt(gram.diagonal() + diagonal)
            gram *= self.scale[:, None] * self.scale[None, :]
            gram[np.diag_indices(rows)] = 1.0
        else:
            gram = centred.T @ (centred / diagonal[:, None])
            self.scale = np.sqrt(weight)
            gram *= self.scale[:, None] * self.scale[None, :]
            gram[np.diag_indices(columns)] += 1.0
        self.factor = _factor(gram)

    @property
    def good(self) -> bool:
        return self.factor is not None

    def __call__(self, y: FloatArray) -> FloatArray:
        if self.direct:
            return np.asarray(self.scale * cho_solve(self.factor, self.scale * y, check_finite=False))
        first = y / self.diagonal
        inner = self.scale * cho_solve(self.factor, self.scale * (self.centred.T @ first), check_finite=False)
        return np.asarray(first - (self.centred @ inner) / self.diagonal)


def _factor(gram: FloatArray) -> Any:
    """Cholesky factor; equal rows make the matrix singular but for rounding, and a little more on the
    diagonal then costs a little of the step's direction, not of the solution."""
    if not np.isfinite(gram).all():
        return None
    for more in (0.0, 1e-15, 1e-13, 1e-11):
        try:
            shifted = gram if more == 0 else gram + more * np.eye(len(gram))
            return cho_factor(shifted, lower=True, check_finite=False)
        except LinAlgError:
            continue
    return None
