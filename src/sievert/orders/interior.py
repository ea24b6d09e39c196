"""Interior point for the distance of B from post-processings of A, its constraint matrix never built.

    sum:    min Σ P        with  A R + P - N = B,  R 1 = 1                       (half the L1 distance)
    worst:  min δ          with  the same, and  P 1 + u = δ 1                     (Le Cam deficiency)

Both have strictly feasible starts on either side, so there is no first phase. The normal equations are a
block arrow: one n x n block a column of B, coupled through the m row sums of R (and the n row distances).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

__all__ = ["interior_point"]

FloatArray = NDArray[np.float64]
ITERATIONS = 60
# Fraction of the way to the boundary that a step may go.
STEP = 0.995
# Relative to each block's largest diagonal entry: keeps Cholesky alive when columns of R vanish.
REGULARISATION = 1e-14
# Steps of iterative refinement a solve: they undo the regularisation.
REFINEMENTS = 1


@dataclass
class _Point:
    """Unknowns and their slacks: R, P, N, and for the worst row u and δ (arrays of length n and 1)."""

    values: list[FloatArray]
    slacks: list[FloatArray]
    witness: FloatArray  # G
    sums: FloatArray  # t, one an output of A
    rows: FloatArray  # q, one a secret (empty for the sum)


def interior_point(
    less_safe: FloatArray, safer: FloatArray, enough: Callable[[FloatArray, FloatArray], bool], *, worst: bool
) -> tuple[FloatArray, FloatArray]:
    """R and G when `enough(R, G)` says so, or after the last iteration that made progress."""
    point = _start(less_safe, safer, worst)
    best = (point.values[0], point.witness)
    for _ in range(ITERATIONS):
        if enough(point.values[0], point.witness):
            return point.values[0], point.witness
        try:
            moved = _step(less_safe, safer, point, worst)
        except np.linalg.LinAlgError:
            return best
        if not all(np.isfinite(table).all() for table in (*moved.values, moved.witness)):
            return best
        point = moved
        best = (point.values[0], point.witness)
    return best


def _start(a: FloatArray, b: FloatArray, worst: bool) -> _Point:
    n, m, k = a.shape[0], a.shape[1], b.shape[1]
    post = np.full((m, k), 1 / k)
    missing = b - a @ post
    over = np.maximum(missing, 0) + 0.1 / k
    values = [post, over, over - missing]
    if worst:
        bound = np.array([over.sum(axis=1).max() + 0.1])
        values += [bound - over.sum(axis=1), bound]
        prior = np.full(n, 0.9 / n)
        witness, rows = np.full((n, k), 0.45 / n), -prior
    else:
        witness, rows = np.full((n, k), 0.5), np.empty(0)
    top = (a.T @ witness).max(axis=1)
    sums = -top - 0.1 * np.abs(top) - 1e-3 / n
    slacks = _slacks(a, witness, sums, rows)
    return _Point(values, slacks, witness, sums, rows)


def _slacks(a: FloatArray, witness: FloatArray, sums: FloatArray, rows: FloatArray) -> list[FloatArray]:
    """c - (transposed constraints)·multipliers for every unknown."""
    first = -(a.T @ witness) - sums[:, None]
    if not len(rows):
        return [first, 1 - witness, witness.copy()]
    return [first, -witness - rows[:, None], witness.copy(), -rows, np.array([1 + rows.sum()])]


class _Normal:
    """A Θ Aᵀ in its block-arrow form, factored."""

    def __init__(self, a: FloatArray, theta: list[FloatArray], worst: bool) -> None:
        self.a, self.worst = a, worst
        n, m = a.shape
        k = theta[0].shape[1]
        self.over = theta[1]
        self.weighted = a[None, :, :] * theta[0].T[:, None, :]  # [w, x, y] = A[x,y]·Θ_R[y,w]
        blocks = self.weighted @ a.T
        diagonal = (theta[1] + theta[2]).T
        steps = np.arange(n)
        blocks[:, steps, steps] += diagonal
        blocks[:, steps, steps] += REGULARISATION * blocks[:, steps, steps].max(axis=1)[:, None]
        # Inverses, then products: triangular solves of this size spend their time waiting for threads.
        self.inverse = np.linalg.inv(np.linalg.cholesky(blocks))
        size = m + (n if worst else 0)
        coupling = np.zeros((size, size))
        coupling[np.arange(m), np.arange(m)] = theta[0].sum(axis=1)
        if worst:
            tail = np.arange(m, size)
            coupling[tail, tail] = theta[1].sum(axis=1) + theta[3]
            coupling[m:, m:] += theta[4]
        self.arms = []
        for w in range(k):
            arm = self.weighted[w]
            if worst:
                arm = np.concatenate([arm, np.diag(theta[1][:, w])], axis=1)
            scaled = self.inverse[w] @ arm
            self.arms.append(scaled)
            coupling -= scaled.T @ scaled
        index = np.arange(size)
        coupling[index, index] += REGULARISATION * np.abs(np.diag(coupling)).max()
        self.coupling = cho_factor(coupling)

    def solve(
        self, first: FloatArray, second: FloatArray, third: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """dG, dt, dq for the right sides of the three kinds of row."""
        m = self.a.shape[1]
        halves = np.einsum("wij,jw->wi", self.inverse, first)
        right = np.concatenate([second, third])
        right = right - sum(arm.T @ half for arm, half in zip(self.arms, halves, strict=True))
        joint = cho_solve(self.coupling, right)
        rest = np.stack([half - arm @ joint for arm, half in zip(self.arms, halves, strict=True)])
        witness = np.einsum("wji,wj->iw", self.inverse, rest)
        return witness, joint[:m], joint[m:]


def _step(a: FloatArray, b: FloatArray, point: _Point, worst: bool) -> _Point:
    """One predictor-corrector step (Mehrotra)."""
    values, slacks = point.values, point.slacks
    normal = _Normal(a, [x / z for x, z in zip(values, slacks, strict=True)], worst)
    residuals = _primal_residuals(a, b, values, worst)
    count = sum(x.size for x in values)
    gap = sum(float((x * z).sum()) for x, z in zip(values, slacks, strict=True)) / count
    plain = [-x * z for x, z in zip(values, slacks, strict=True)]
    moves, turns, _ = _direction(a, normal, point, residuals, plain, worst)
    reach = [_reach(values, moves), _reach(slacks, turns)]
    aimed = sum(
        float(((x + reach[0] * dx) * (z + reach[1] * dz)).sum())
        for x, dx, z, dz in zip(values, moves, slacks, turns, strict=True)
    )
    centre = gap * (max(aimed, 0.0) / count / gap) ** 3
    corrected = [centre - x * z - dx * dz for x, z, dx, dz in zip(values, slacks, moves, turns, strict=True)]
    moves, turns, multipliers = _direction(a, normal, point, residuals, corrected, worst)
    forward, back = (min(1.0, STEP * _reach(values, moves)), min(1.0, STEP * _reach(slacks, turns)))
    witness = point.witness + back * multipliers[0]
    sums = point.sums + back * multipliers[1]
    rows = point.rows + back * multipliers[2]
    return _Point(
        [x + forward * dx for x, dx in zip(values, moves, strict=True)],
        [z + back * dz for z, dz in zip(slacks, turns, strict=True)],
        witness,
        sums,
        rows,
    )


def _primal_residuals(
    a: FloatArray, b: FloatArray, values: list[FloatArray], worst: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    post, over, under = values[:3]
    third = values[4] - values[3] - over.sum(axis=1) if worst else np.empty(0)
    return b - a @ post - over + under, 1 - post.sum(axis=1), third


def _direction(
    a: FloatArray,
    normal: _Normal,
    point: _Point,
    residuals: tuple[FloatArray, FloatArray, FloatArray],
    targets: list[FloatArray],
    worst: bool,
) -> tuple[list[FloatArray], list[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]:
    """Changes of the unknowns, of their slacks, and of the multipliers."""
    values, slacks = point.values, point.slacks
    # What rounding has left between the slacks and the multipliers they belong to.
    exact = _slacks(a, point.witness, point.sums, point.rows)
    drift = [should - z for should, z in zip(exact, slacks, strict=True)]
    h = [(target - x * rest) / z for target, x, z, rest in zip(targets, values, slacks, drift, strict=True)]
    first = residuals[0] - (a @ h[0] + h[1] - h[2])
    second = residuals[1] - h[0].sum(axis=1)
    third = residuals[2] - (h[1].sum(axis=1) + h[3] - h[4]) if worst else np.empty(0)
    witness, sums, rows = normal.solve(first, second, third)
    for _ in range(REFINEMENTS):
        pulls = _pulls(a, witness, sums, rows)
        moves = [part + x / z * pull for part, x, z, pull in zip(h, values, slacks, pulls, strict=True)]
        left = residuals[0] - (a @ moves[0] + moves[1] - moves[2])
        below = residuals[1] - moves[0].sum(axis=1)
        last = residuals[2] - (moves[1].sum(axis=1) + moves[3] - moves[4]) if worst else third
        more = normal.solve(left, below, last)
        witness, sums, rows = witness + more[0], sums + more[1], rows + more[2]
    pulls = _pulls(a, witness, sums, rows)
    moves = [part + x / z * pull for part, x, z, pull in zip(h, values, slacks, pulls, strict=True)]
    turns = [rest - pull for rest, pull in zip(drift, pulls, strict=True)]
    return moves, turns, (witness, sums, rows)


def _pulls(a: FloatArray, witness: FloatArray, sums: FloatArray, rows: FloatArray) -> list[FloatArray]:
    """(Transposed constraints)·multipliers for every unknown."""
    pulls = [a.T @ witness + sums[:, None], witness, -witness]
    if len(rows):
        pulls[1] = witness + rows[:, None]
        pulls += [rows, np.array([-rows.sum()])]
    return pulls


def _reach(values: list[FloatArray], moves: list[FloatArray]) -> float:
    """Largest step that keeps everything non-negative, at most 1/STEP."""
    longest = 1 / STEP
    for x, dx in zip(values, moves, strict=True):
        falling = dx < 0
        if falling.any():
            longest = min(longest, float((-x[falling] / dx[falling]).min()))
    return longest
