"""The distance of B from post-processings of A as a sparse linear program, solved in floats."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular, svd
from scipy.sparse import coo_array, csc_array

from sievert.arrays import BoolArray, FloatArray
from sievert.orders._decisions import Decision, best_prior_gap, normalised_gap, residual, stochastic
from sievert.programs import LinearProgram, solve

__all__ = [
    "Factor",
    "allowed_cells",
    "by_reflections",
    "deficiency_program",
    "masked_entries",
    "masked_program",
    "polished",
    "unmasked",
]
# Unknowns beyond which the simplex method gives way to an interior point.
SIMPLEX_UNKNOWNS = 6_000


def masked_entries(less_safe: FloatArray, safer: FloatArray, allowed: BoolArray) -> int:
    """Non-zero coefficients of the masked program."""
    used = np.count_nonzero(less_safe, axis=0) + 1
    return int(used @ np.count_nonzero(allowed, axis=1)) + int(np.count_nonzero(safer))


def masked_program(
    less_safe: FloatArray, safer: FloatArray, allowed: BoolArray, kept: NDArray[np.intp]
) -> Decision:
    """Is AR = B, on the rows `kept`, with R on the allowed cells? Sparse channels leave few unknowns.

    Every output of A needs an allowed cell. R is a vertex: it has about as many zeros as it can.
    """
    m, k = less_safe.shape[1], safer.shape[1]
    columns, goal = csc_array(less_safe[kept]), safer[kept]
    y, w = np.nonzero(allowed)
    x, v = np.nonzero(goal > 0)
    cell = np.full(goal.shape, -1)
    cell[x, v] = np.arange(len(x))
    counts = np.diff(columns.indptr)[y]
    unknown = np.repeat(np.arange(len(y)), counts)
    # Positions in `columns` of the entries of column y, for one unknown (y, w) after the other.
    offset = np.arange(len(unknown)) - np.repeat(np.cumsum(counts) - counts, counts)
    entry = columns.indptr[y][unknown] + offset
    post, over = len(y), len(x)
    # Row (x, w): Σ_y A[x,y] R[y,w] + P[x,w] ≥ B[x,w]; rows of AR and B have equal sums, so ΣP is half L1.
    rows = [cell[columns.indices[entry], w[unknown]], np.arange(over), over + y]
    places = [unknown, post + np.arange(over), np.arange(post)]
    values = [columns.data[entry], np.ones(over), np.ones(post)]
    matrix = coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(places))),
        shape=(over + m, post + over),
    ).tocsc()
    cost = np.concatenate([np.zeros(post), np.ones(over)])
    sides = np.concatenate([goal[x, v], np.ones(m)])
    tops = np.concatenate([np.full(over, np.inf), np.ones(m)])
    program = LinearProgram(cost, matrix, sides, tops, np.zeros(len(cost)), np.full(len(cost), np.inf))
    solution = solve(program, "simplex", tolerance=1e-10)
    found, witness = np.zeros((m, k)), np.zeros(safer.shape)
    found[y, w] = solution.primal[:post]
    witness[kept[x], v] = solution.dual[:over]
    method = "linear program"
    if not (np.isfinite(found).all() and np.isfinite(witness).all()):
        return Decision(0.0, 1.0, None, None, method)
    found, witness = stochastic(found), unmasked(witness, less_safe, safer, allowed)
    lower, upper = normalised_gap(witness, less_safe, safer), residual(found, less_safe, safer)
    return Decision(lower, upper, found, witness, method)


def deficiency_program(less_safe: FloatArray, safer: FloatArray, le_cam: bool = True) -> Decision:
    """Least distance of B from post-processings of A, with the best witness, by linear programming.

    `le_cam` minimises the largest row distance (Le Cam deficiency, worst prior); otherwise their sum
    (uniform prior). Dense masks are not used: the best approximation may use forbidden cells.
    """
    n, m = less_safe.shape
    k = safer.shape[1]
    post, over = m * k, n * k
    x, y = np.nonzero(less_safe)
    w = np.arange(k)
    # Row (x, w): Σ_y A[x,y] R[y,w] + P[x,w] ≥ B[x,w]; Σ_w P[x,w] is then at least TV(B_x, (AR)_x).
    rows = [(x[:, None] * k + w).ravel(), np.arange(over), over + np.repeat(np.arange(m), k)]
    columns = [(y[:, None] * k + w).ravel(), post + np.arange(over), np.arange(post)]
    values = [np.repeat(less_safe[x, y], k), np.ones(over), np.ones(post)]
    lower = [safer.ravel(), np.ones(m)]
    upper = [np.full(over, np.inf), np.ones(m)]
    cost = np.concatenate([np.zeros(post), np.ones(over)])
    count = over + m
    if le_cam:
        rows += [count + np.repeat(np.arange(n), k), count + np.arange(n)]
        columns += [post + np.arange(over), np.full(n, post + over)]
        values += [-np.ones(over), np.ones(n)]
        lower.append(np.zeros(n))
        upper.append(np.full(n, np.inf))
        cost = np.concatenate([np.zeros(post + over), [1.0]])
        count += n
    matrix = coo_array(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=(count, len(cost))
    ).tocsc()
    program = LinearProgram(
        cost,
        matrix,
        np.concatenate(lower),
        np.concatenate(upper),
        np.zeros(len(cost)),
        np.full(len(cost), np.inf),
    )
    small = len(cost) <= SIMPLEX_UNKNOWNS
    solution = solve(program, "simplex" if small else "ipm", tolerance=1e-10, crossover=small)
    found = stochastic(solution.primal[:post].reshape(m, k))
    witness = solution.dual[:over].reshape(n, k)
    measure = best_prior_gap if le_cam else normalised_gap
    return Decision(
        measure(witness, less_safe, safer),
        residual(found, less_safe, safer),
        found,
        witness,
        "linear program",
    )


# ── Douglas–Rachford between {R ≥ 0} and {AR = B, R1 = 1}, with both certificates tested on the way ─────────
# Both projections are closed, since the row-sum defect of any R with AR = B lies in A's null space. With an
# interior solution the iteration ends after finitely many rounds; between disjoint sets the difference of
# the two projections tends to the shortest vector between them, which is AᵀG + t1ᵀ for a separating G.
METHOD = "alternating reflections"
# An entry of R below this share of a uniform row is taken for a forced zero.
CUTS = (1e-3, 1e-5)
CONJUGATE_STEPS = 30


class Factor:
    """Orthonormal basis Q of A's row space (rows), and the matrices that go between it and the secrets."""

    def __init__(self, matrix: FloatArray) -> None:
        self.matrix = matrix
        n, m = matrix.shape
        self.rows: FloatArray
        self.range: FloatArray | None = None
        if m >= n:
            basis, triangle = qr(matrix.T, mode="economic")
            diagonal = np.abs(np.diag(triangle))
            # Below this QR without pivoting cannot be trusted to see the rank.
            if diagonal.min() > 1e-11 * diagonal.max():
                self.rows, self.rank = np.asarray(basis.T, dtype=np.float64), n
                # One inverse, then products: repeated triangular solves wait for threads at small sizes.
                self._inverse = np.asarray(solve_triangular(triangle, np.eye(n)))
                return
        left, values, right = svd(matrix, full_matrices=False)
        rank = int((values > 4 * max(n, m) * np.finfo(float).eps * values[0]).sum())
        left, values, right = left[:, :rank], values[:rank], right[:rank]
        self.rows, self.rank, self.range = right, rank, left
        self._inverse = left / values

    def independent_rows(self) -> NDArray[np.intp]:
        """As many rows of A as its rank, which the others are combinations of."""
        if self.rank == len(self.matrix):
            return np.arange(self.rank)
        return np.sort(qr(self.matrix.T, mode="r", pivoting=True)[1][: self.rank])

    def pull(self, vectors: FloatArray) -> FloatArray:
        """G with AᵀG = Qᵀ·vectors."""
        return np.asarray(self._inverse @ vectors)

    def push(self, safer: FloatArray) -> FloatArray:
        """C = Q·R for any solution of A·R = B."""
        return np.asarray(self._inverse.T @ safer)


def allowed_cells(less_safe: FloatArray, safer: FloatArray) -> BoolArray:
    """Where R may be positive: no secret that produces y never produces w."""
    clashes = (less_safe > 0).T.astype(np.float64) @ (safer == 0).astype(np.float64)
    return np.asarray(clashes == 0)


def by_reflections(factor: Factor, safer: FloatArray, allowed: BoolArray, rounds: int) -> Decision:
    """Alternate reflections of {R ≥ 0, support} and {AR = B, R1 = 1} until a certificate suffices."""
    m, k = factor.matrix.shape[1], safer.shape[1]
    rows, target = factor.rows, factor.push(safer)
    mask = None if allowed.all() else allowed

    def onto_equations(post: FloatArray) -> FloatArray:
        moved = post - rows.T @ (rows @ post - target)
        return np.asarray(moved - (moved.sum(axis=1, keepdims=True) - 1) / k)

    def onto_cone(post: FloatArray) -> FloatArray:
        positive = np.maximum(post, 0.0)
        return positive if mask is None else positive * mask

    point = onto_equations(np.tile(safer.mean(axis=0), (m, 1)))
    best = Decision(0.0, 1.0, None, None, METHOD)
    check, polish = 1, 10
    for number in range(1, rounds + 1):
        inner = onto_cone(point)
        outer = onto_equations(2 * inner - point)
        difference = outer - inner
        if number == check:
            check += 2 if check < 13 else max(2, check // 4)
            best = _tested(best, factor, safer, (outer, inner), difference, mask)
            if best.holds is None and number >= polish:
                polish = max(number + 1, number * 5 // 2)
                for candidate in polished(rows, target, inner):
                    best = _accepted(best, factor, safer, candidate)
            if best.holds is not None:
                return best
        point = point + difference
    return best


def _accepted(best: Decision, factor: Factor, safer: FloatArray, candidate: FloatArray) -> Decision:
    post = stochastic(candidate)
    return best.with_post(post, residual(post, factor.matrix, safer))


def _tested(
    best: Decision,
    factor: Factor,
    safer: FloatArray,
    candidates: tuple[FloatArray, ...],
    difference: FloatArray,
    mask: BoolArray | None,
) -> Decision:
    """Both certificates of the present iterate."""
    for candidate in candidates:
        best = _accepted(best, factor, safer, candidate)
    witness = factor.pull(factor.rows @ (difference - difference.mean(axis=1, keepdims=True)))
    if mask is not None:
        witness = unmasked(witness, factor.matrix, safer, mask)
    return best.with_witness(witness, normalised_gap(witness, factor.matrix, safer))


def polished(rows: FloatArray, target: FloatArray, post: FloatArray) -> list[FloatArray]:
    """R moved onto QR = C and R1 = 1 without touching what looks like a forced zero.

    The smallest change supported where R is clearly positive, by conjugate gradients on K·Kᵀ for
    K: D ↦ (QD, D1).
    """
    found = []
    for cut in CUTS:
        support = post > cut / post.shape[1]
        start = post * support
        left, below = target - rows @ start, 1 - start.sum(axis=1)
        move, pull = np.zeros_like(left), np.zeros_like(below)
        direction, lean = left.copy(), below.copy()
        error = float((left**2).sum() + (below**2).sum())
        for _ in range(CONJUGATE_STEPS):
            change = (rows.T @ direction + lean[:, None]) * support
            energy = float((change**2).sum())
            # A support without a solution: going on would overflow.
            if energy <= 1e-14 * error or error < 1e-30:
                break
            step = error / energy
            move, pull = move + step * direction, pull + step * lean
            left, below = left - step * (rows @ change), below - step * change.sum(axis=1)
            before, error = error, float((left**2).sum() + (below**2).sum())
            direction, lean = left + error / before * direction, below + error / before * lean
        found.append(start + (rows.T @ move + pull[:, None]) * support)
    return found


def unmasked(witness: FloatArray, less_safe: FloatArray, safer: FloatArray, allowed: BoolArray) -> FloatArray:
    """Lower the scores of forbidden (output of A, output of B) without touching <G,B>."""
    zero = (safer == 0).astype(np.float64)
    scores = less_safe.T @ witness
    ceiling = np.where(allowed, scores, -np.inf).max(axis=1, keepdims=True)
    mass = less_safe.T @ zero
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(~allowed & (mass > 0) & np.isfinite(ceiling), (scores - ceiling) / mass, 0.0)
    return np.asarray(witness - max(0.0, float(needed.max(initial=0.0))) * zero)
