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
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from sievert.arrays import FloatArray, IndexArray
from sievert.estimation._operators import Fit, Operator, log_likelihood

__all__ = ["grow", "largest_step", "maximise", "step_length", "water_filling"]
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
    with np.errstate(over="ignore"):
        fastest = -float((step / values).min())
    return 1 / max(1.0, fastest)


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
            np.fill_diagonal(gram, 1.0)
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
            return np.asarray(self.scale * dpotrs(self.factor, self.scale * y, lower=1)[0])
        first = y / self.diagonal
        inner = self.scale * dpotrs(self.factor, self.scale * (self.centred.T @ first), lower=1)[0]
        return np.asarray(first - (self.centred @ inner) / self.diagonal)


def _factor(gram: FloatArray) -> Any:
    """Cholesky factor; equal rows make the matrix singular but for rounding, and a little more on the
    diagonal then costs a little of the step's direction, not of the solution."""
    if not np.isfinite(gram).all():
        return None
    for more in (0.0, 1e-15, 1e-13, 1e-11):
        factor, failed = dpotrf(gram if more == 0 else gram + more * np.eye(len(gram)), lower=1)
        if not failed:
            return factor
    return None


# ── Maximum likelihood over many inputs through a few of them ───────────────────────────────────────────────
# The maximiser sits on few inputs when rows are alike. Solve exactly on some candidates, add the inputs
# whose factor c_i is locally largest and above 1 (no candidates would gain otherwise), and repeat: the
# certified gap ln max c over all inputs says when to stop.
FIRST = 24
MOST_ROUNDS = 60
MOST_NEW = 40


def grow(
    operator: Operator,
    shares: FloatArray,
    candidates: IndexArray,
    tolerance: float,
    rows: Callable[[IndexArray], FloatArray] | None = None,
    base: float = 0.0,
) -> Fit | None:
    """The maximum over all inputs to within `tolerance` per report; see `maximise` for `rows` and `base`.

    None where the first candidates cannot explain every observed output: then rows are not alike.
    """
    take = operator.rows if rows is None else rows
    size = len(operator.backward(shares))
    spaced = np.unique(
        np.linspace(0, len(candidates) - 1, min(FIRST, len(candidates))).round().astype(np.intp)
    )
    chosen = candidates[spaced]
    if (base + take(chosen).max(axis=0) <= 0).any():
        return None
    best: tuple[float, FloatArray] | None = None
    iterations = stalled = 0
    for _ in range(MOST_ROUNDS):
        weights, _, steps = maximise(take(chosen), base, shares)
        iterations += steps
        p = np.zeros(size)
        p[chosen] = weights
        factor = operator.backward(shares / operator.expected(p))
        gap = float(max(0.0, np.log(factor.max())))
        if best is None or gap < best[0]:
            stalled = 0 if best is None or gap < 0.99 * best[0] else stalled + 1
            best = gap, p
        else:
            stalled += 1
        new = _peaks(factor, candidates, chosen)
        if gap <= tolerance or not len(new) or stalled > 6:
            break
        kept = chosen[weights > 1e-12]
        chosen = np.unique(np.concatenate([kept, new]))
    assert best is not None
    gap, p = best
    return Fit(p, log_likelihood(operator, shares, p), gap, iterations)


def _peaks(factor: FloatArray, candidates: IndexArray, chosen: IndexArray) -> IndexArray:
    """Candidates that are not chosen yet, above 1 and no lower than their neighbours, the highest first."""
    values = factor[candidates]
    padded = np.concatenate([[-np.inf], values, [-np.inf]])
    peak = (values >= padded[:-2]) & (values >= padded[2:]) & (values > 1)
    found = candidates[peak]
    found = found[~np.isin(found, chosen)]
    if not len(found):
        # The peak itself is chosen: its better neighbours refine it.
        found = candidates[(values > 1) & ~np.isin(candidates, chosen)]
    return np.asarray(found[np.argsort(-factor[found], kind="stable")][:MOST_NEW])


# ── The exact maximum likelihood of randomised response: one sort, no iterations ────────────────────────────
# With b = alpha/(1-alpha), the maximum of Σ q_j·ln(b + p_j) on the simplex fills like water: p_j = max(0,
# q_j/λ - b), λ such that the sum is 1 (the conditions of Karush, Kuhn and Tucker).


def water_filling(shares: FloatArray, lie: float, mass: FloatArray | float = 1.0) -> FloatArray:
    """The p ≥ 0 with Σ p = mass that maximises Σ_j q_j·ln(lie + p_j), in O(n log n).

    `shares` may have leading axes, one problem a row, and `mass` one entry for each of them. Without any
    share the mass is spread evenly.

    >>> (water_filling(np.array([0.6, 0.35, 0.05]), 1.0) * 19).round(9)
    array([17.,  2.,  0.])
    """
    q = np.asarray(shares, dtype=np.float64)
    room = np.expand_dims(np.asarray(mass, dtype=np.float64), -1)
    ordered = -np.sort(-q, axis=-1)
    count = np.arange(1, q.shape[-1] + 1)
    total = np.cumsum(ordered, axis=-1)
    # The r largest shares, were they the only ones above the water: λ_r = Σ q/(mass + r·b), and
    # p_j = q_j/λ - b = mass/r + (q_j - mean)/λ, which loses nothing to cancellation as b grows.
    with np.errstate(divide="ignore", invalid="ignore"):
        level = total / (room + count * lie)
        above = room / count + (ordered - total / count) / level > 0
    last = np.expand_dims(q.shape[-1] - 1 - np.argmax(above[..., ::-1], axis=-1), -1)
    top, water = (np.take_along_axis(table, last, axis=-1) for table in (total, level))
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.maximum(0.0, room / (last + 1) + (q - top / (last + 1)) / water)
        found *= room / found.sum(axis=-1, keepdims=True)
    even = np.broadcast_to(room / q.shape[-1], found.shape)
    return np.where((total[..., -1:] > 0) & np.isfinite(found), found, even)
