"""Average refinement: is B = A·R for some channel R?

The flow tries what is cheap first and tests both certificates on the way: supports, the range of A, the
unique R when A has full column rank, Douglas–Rachford between {R ≥ 0} and {AR = B, R1 = 1}, and last the
linear program, by simplex where zeros leave few unknowns and by an interior point otherwise. No solver's word
is taken: the gap of the witness and the residual of R are recomputed from A and B.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from sievert.arrays import FloatArray
from sievert.orders._decisions import (
    TOLERANCE,
    Decision,
    best_prior_gap,
    normalised_gap,
    residual,
    stochastic,
    tighter,
)
from sievert.orders._programs import (
    Factor,
    allowed_cells,
    by_reflections,
    deficiency_program,
    masked_entries,
    masked_program,
    polished,
)

__all__ = ["decide_average", "decide_independent", "interior_point", "measure_deficiency"]
# Coefficients up to which the simplex method beats the interior point, and up to which it is tried at all.
SMALL_PROGRAM, LARGEST_PROGRAM = 60_000, 400_000
# Rounds of reflections before the interior point.
ROUNDS = 400
# Before the simplex method only what it would cost: a round for so many coefficients, and so many flops.
COEFFICIENTS_A_ROUND, FLOPS = 60, 2e8
# Cells of B up to which the deficiency goes to the simplex method, and unknowns up to which it may.
SMALL_DEFICIENCY, LARGEST_DEFICIENCY = 300, 6_000
# A bracket of this width counts as closed.
CLOSED = 1e-10


def decide_average(less_safe: FloatArray, safer: FloatArray) -> Decision:
    """Decide A ⊑ B in floats."""
    decision = _by_support(less_safe, safer)
    if decision is not None:
        return decision
    factor = Factor(less_safe)
    decision = _by_range(factor, safer)
    if decision is not None:
        return decision
    if factor.rank == less_safe.shape[1]:
        return _unique(factor, safer)
    allowed = allowed_cells(less_safe, safer)
    # On independent rows of A: the other rows of AR = B follow, B being in A's range.
    kept = factor.independent_rows()
    entries = masked_entries(less_safe[kept], safer[kept], allowed)
    small = entries <= SMALL_PROGRAM
    decision = by_reflections(factor, safer, allowed, _rounds(factor, entries, allowed.size))
    if decision.holds is None and small:
        decision = tighter(decision, masked_program(less_safe, safer, allowed, kept))
    if decision.holds is None:
        decision = tighter(decision, _decide_inside(factor, safer, kept))
    if decision.holds is None and not small and entries <= LARGEST_PROGRAM:
        decision = tighter(decision, masked_program(less_safe, safer, allowed, kept))
    return decision


def decide_independent(less_safe: FloatArray, safer: FloatArray) -> Decision | None:
    """The only candidate R, or a witness, where A's columns are independent; None where they are not.

    A witness scores no output of A above 0.
    """
    factor = Factor(less_safe)
    if factor.rank < less_safe.shape[1]:
        return None
    return _by_range(factor, safer) or _unique(factor, safer)


def _rounds(factor: Factor, entries: int, cells: int) -> int:
    if entries > SMALL_PROGRAM:
        return ROUNDS
    return int(min(ROUNDS, max(7, min(entries / COEFFICIENTS_A_ROUND, FLOPS / (4 * factor.rank * cells)))))


def _decide_inside(factor: Factor, safer: FloatArray, kept: NDArray[np.intp]) -> Decision:
    """The interior point on some rows, stopped as soon as a certificate for all of them suffices."""
    less_safe = factor.matrix
    best = Decision(0.0, 1.0, None, None, "interior point")

    def enough(iterate: FloatArray, part: FloatArray) -> bool:
        nonlocal best
        post = stochastic(iterate)
        best = best.with_post(post, residual(post, less_safe, safer))
        witness = np.zeros_like(safer)
        witness[kept] = part
        best = best.with_witness(witness, normalised_gap(witness, less_safe, safer))
        return best.holds is not None

    last, part = interior_point(less_safe[kept], safer[kept], enough, worst=False)
    if not enough(last, part) and best.post is not None:
        for candidate in polished(factor.rows, factor.push(safer), best.post):
            post = stochastic(candidate)
            best = best.with_post(post, residual(post, less_safe, safer))
    return best


def measure_deficiency(less_safe: FloatArray, safer: FloatArray, le_cam: bool = True) -> Decision:
    """The bracket on the deficiency, closed as far as floats allow."""
    if safer.size <= SMALL_DEFICIENCY:
        return deficiency_program(less_safe, safer, le_cam)
    found = _measure_inside(less_safe, safer, le_cam)
    width = _distance(found.post, less_safe, safer, le_cam) - found.lower if found.post is not None else 1.0
    if width > 1e-8 and safer.shape[1] * sum(less_safe.shape) <= LARGEST_DEFICIENCY:
        return deficiency_program(less_safe, safer, le_cam)
    return found


def _distance(post: FloatArray, less_safe: FloatArray, safer: FloatArray, le_cam: bool) -> float:
    """The largest row distance, or their mean."""
    distances = np.abs(safer - less_safe @ post).sum(axis=1) / 2
    return float(distances.max() if le_cam else distances.mean())


def _measure_inside(less_safe: FloatArray, safer: FloatArray, le_cam: bool) -> Decision:
    """Both certificates of the distance itself, from the interior point without a mask."""
    best = Decision(0.0, np.inf, None, None, "interior point")
    measure = best_prior_gap if le_cam else normalised_gap

    def enough(iterate: FloatArray, witness: FloatArray) -> bool:
        nonlocal best
        post = stochastic(iterate)
        best = best.with_post(post, _distance(post, less_safe, safer, le_cam))
        best = best.with_witness(witness, measure(witness, less_safe, safer))
        return best.upper - best.lower <= CLOSED

    enough(*interior_point(less_safe, safer, enough, worst=le_cam))
    return best


def _by_support(less_safe: FloatArray, safer: FloatArray) -> Decision | None:
    """An output of A that may not go to any output of B: some secret would reach what it never reaches."""
    if allowed_cells(less_safe, safer).any(axis=1).all():
        return None
    witness = -(safer == 0).astype(np.float64)
    lower = normalised_gap(witness, less_safe, safer)
    return Decision(lower, 1.0, None, witness, "supports") if lower > TOLERANCE else None


def _by_range(factor: Factor, safer: FloatArray) -> Decision | None:
    """A column of B outside the range of A: the residual is itself a witness (AᵀG = 0)."""
    if factor.range is None:
        return None
    rest = safer - factor.range @ (factor.range.T @ safer)
    lower = normalised_gap(rest, factor.matrix, safer)
    return Decision(lower, 1.0, None, rest, "range of the less safe channel") if lower > TOLERANCE else None


def _unique(factor: Factor, safer: FloatArray) -> Decision:
    """Full column rank: R = A⁺B is the only candidate; a negative entry gives a two-action witness."""
    inverse = factor.rows.T @ factor.push(np.eye(len(safer)))
    post = inverse @ safer
    upper = residual(stochastic(post), factor.matrix, safer)
    # Aᵀg = -e_y for g = -(row y of A⁺): every A-score is 0 or -1, and B's score of w is -R[y,w] > 0.
    width = inverse.max(axis=1) - np.minimum(inverse.min(axis=1), 0.0)
    value = -post / np.maximum(width, 1e-300)[:, None]
    y, w = np.unravel_index(int(np.argmax(value)), value.shape)
    witness = np.zeros_like(safer)
    witness[:, w] = -inverse[y]
    lower = normalised_gap(witness, factor.matrix, safer)
    return Decision(lower, upper, stochastic(post), witness if lower > 0 else None, "unique post-processing")


# ── Interior point for the distance of B from post-processings of A, its constraint matrix never built ──────
#     sum:    min Σ P        with  A R + P - N = B,  R 1 = 1                       (half the L1 distance)
#     worst:  min δ          with  the same, and  P 1 + u = δ 1                     (Le Cam deficiency)
#
# Both have strictly feasible starts on either side, so there is no first phase. The normal equations are a
# block arrow: one n x n block a column of B, coupled through the m row sums of R (and the n row distances).
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
