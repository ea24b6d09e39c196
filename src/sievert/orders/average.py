"""Average refinement: is B = A·R for some channel R?

The flow tries what is cheap first and tests both certificates on the way: supports, the range of A, the
unique R when A has full column rank, Douglas–Rachford between {R ≥ 0} and {AR = B, R1 = 1}, and last the
linear program. No solver's word is taken: the gap of the witness and the residual of R are recomputed from
A and B.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular, svd
from scipy.sparse import coo_array

from sievert.numerics.linear_programs import LinearProgram, solve
from sievert.orders.interior import interior_point
from sievert.orders.witnesses import best_prior_gap, normalised_gap, residual, stochastic

__all__ = ["TOLERANCE", "Decision", "decide_average", "deficiency_program", "measure_deficiency"]

FloatArray = NDArray[np.float64]
# Far above rounding (1e-13 at 300 secrets), far below any effect of interest.
TOLERANCE = 1e-9
# Cells of B up to which the simplex method is faster, and unknowns up to which it is tried at all.
SMALL_PROGRAM, LARGEST_PROGRAM = 300, 6_000
# A bracket of this width counts as closed.
CLOSED = 1e-10


@dataclass(frozen=True, eq=False)
class Decision:
    """A bracket on the deficiency with its two certificates, and how it was found."""

    lower: float
    upper: float
    post: FloatArray | None
    witness: FloatArray | None
    method: str

    @property
    def holds(self) -> bool | None:
        """True, False, or None when the bracket contains the tolerance."""
        if self.upper <= TOLERANCE:
            return True
        return False if self.lower > TOLERANCE else None


def decide_average(less_safe: FloatArray, safer: FloatArray, rounds: int = 400) -> Decision:
    """Decide A ⊑ B in floats."""
    decision = _by_support(less_safe, safer)
    if decision is not None:
        return decision
    factor = _Factor(less_safe)
    decision = _by_range(factor, safer)
    if decision is not None:
        return decision
    if factor.rank == less_safe.shape[1]:
        return _unique(factor, safer)
    decision = _douglas_rachford(factor, safer, rounds)
    if decision.holds is not None:
        return decision
    if safer.size <= SMALL_PROGRAM:
        return _better(decision, deficiency_program(less_safe, safer, le_cam=False))
    decision = _better(decision, _by_interior_point(less_safe, safer, le_cam=False, decide=True))
    if decision.holds is None and safer.shape[1] * sum(less_safe.shape) <= LARGEST_PROGRAM:
        decision = _better(decision, deficiency_program(less_safe, safer, le_cam=False))
    return decision


def measure_deficiency(less_safe: FloatArray, safer: FloatArray, le_cam: bool = True) -> Decision:
    """The bracket on the deficiency, closed as far as floats allow."""
    if safer.size <= SMALL_PROGRAM:
        return deficiency_program(less_safe, safer, le_cam)
    found = _by_interior_point(less_safe, safer, le_cam=le_cam, decide=False)
    width = _distance(found.post, less_safe, safer, le_cam) - found.lower if found.post is not None else 1.0
    if width > 1e-8 and safer.shape[1] * sum(less_safe.shape) <= LARGEST_PROGRAM:
        return deficiency_program(less_safe, safer, le_cam)
    return found


def _distance(post: FloatArray, less_safe: FloatArray, safer: FloatArray, le_cam: bool) -> float:
    """The largest row distance, or their mean."""
    distances = np.abs(safer - less_safe @ post).sum(axis=1) / 2
    return float(distances.max() if le_cam else distances.mean())


def _by_interior_point(less_safe: FloatArray, safer: FloatArray, *, le_cam: bool, decide: bool) -> Decision:
    """Both certificates from the interior point; with `decide` it stops as soon as one of them suffices."""
    best = Decision(0.0, 1.0, None, None, "interior point")
    measure = best_prior_gap if le_cam else normalised_gap

    def enough(iterate: FloatArray, witness: FloatArray) -> bool:
        nonlocal best
        post = stochastic(iterate)
        upper = residual(post, less_safe, safer)
        if upper < best.upper:
            best = Decision(best.lower, upper, post, best.witness, best.method)
        lower = measure(witness, less_safe, safer)
        if lower > best.lower:
            best = Decision(lower, best.upper, best.post, witness, best.method)
        if decide:
            return best.holds is not None
        return _distance(post, less_safe, safer, le_cam) - best.lower <= CLOSED

    enough(*interior_point(less_safe, safer, enough, worst=le_cam))
    return best


def _better(first: Decision, second: Decision) -> Decision:
    """The tighter of two brackets, side by side."""
    low = second if second.lower >= first.lower else first
    upper = first if first.upper <= second.upper else second
    return Decision(low.lower, upper.upper, upper.post, low.witness, second.method)


class _Factor:
    """Orthonormal basis Q of A's row space (rows), and the matrices that go between it and the secrets."""

    def __init__(self, matrix: FloatArray) -> None:
        self.matrix = matrix
        n, m = matrix.shape
        self.range: FloatArray | None = None
        if m >= n:
            basis, triangle = qr(matrix.T, mode="economic")
            diagonal = np.abs(np.diag(triangle))
            # Below this QR without pivoting cannot be trusted to see the rank.
            if diagonal.min() > 1e-11 * diagonal.max():
                self.rows, self.rank = basis.T, n
                # One inverse, then products: repeated triangular solves wait for threads at small sizes.
                self._inverse = np.asarray(solve_triangular(triangle, np.eye(n)))
                return
        left, values, right = svd(matrix, full_matrices=False)
        rank = int((values > 4 * max(n, m) * np.finfo(float).eps * values[0]).sum())
        left, values, right = left[:, :rank], values[:rank], right[:rank]
        self.rows, self.rank, self.range = right, rank, left
        self._inverse = left / values

    def pull(self, vectors: FloatArray) -> FloatArray:
        """G with AᵀG = Qᵀ·vectors."""
        return np.asarray(self._inverse @ vectors)

    def push(self, safer: FloatArray) -> FloatArray:
        """C = Q·R for any solution of A·R = B."""
        return np.asarray(self._inverse.T @ safer)


def _by_support(less_safe: FloatArray, safer: FloatArray) -> Decision | None:
    """An output of A that may not go to any output of B: some secret would reach what it never reaches."""
    forbidden = (less_safe > 0).T.astype(np.float64) @ (safer == 0).astype(np.float64) > 0
    used = (less_safe > 0).any(axis=0)
    if not (forbidden.all(axis=1) & used).any():
        return None
    witness = -(safer == 0).astype(np.float64)
    lower = normalised_gap(witness, less_safe, safer)
    return Decision(lower, 1.0, None, witness, "supports") if lower > TOLERANCE else None


def _by_range(factor: _Factor, safer: FloatArray) -> Decision | None:
    """A column of B outside the range of A: the residual is itself a witness (AᵀG = 0)."""
    if factor.range is None:
        return None
    rest = safer - factor.range @ (factor.range.T @ safer)
    lower = normalised_gap(rest, factor.matrix, safer)
    return Decision(lower, 1.0, None, rest, "range of the less safe channel") if lower > TOLERANCE else None


def _unique(factor: _Factor, safer: FloatArray) -> Decision:
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


def _douglas_rachford(factor: _Factor, safer: FloatArray, rounds: int) -> Decision:
    """Alternate reflections of {R ≥ 0, support} and {AR = B, R1 = 1}; the shortest gap is a witness."""
    less_safe = factor.matrix
    m, k = less_safe.shape[1], safer.shape[1]
    rows, target = factor.rows, factor.push(safer)
    allowed = ~((less_safe > 0).T.astype(np.float64) @ (safer == 0).astype(np.float64) > 0)
    masked = not allowed.all()

    def onto_equations(post: FloatArray) -> FloatArray:
        moved = post - rows.T @ (rows @ post - target)
        return np.asarray(moved - (moved.sum(axis=1, keepdims=True) - 1) / k)

    def onto_cone(post: FloatArray) -> FloatArray:
        positive = np.maximum(post, 0.0)
        return positive * allowed if masked else positive

    point = onto_equations(np.tile(safer.mean(axis=0), (m, 1)))
    best = Decision(0.0, 1.0, None, None, "alternating reflections")
    check, step = 1, 2
    for round_number in range(1, rounds + 1):
        inner = onto_cone(point)
        outer = onto_equations(2 * inner - point)
        difference = outer - inner
        if round_number == check:
            step = step if check < 13 else max(2, check // 4)
            check += step
            best = _tested(best, factor, safer, inner, outer, difference, allowed if masked else None)
            if best.holds is not None:
                return best
        point = point + difference
    return best


def _tested(
    best: Decision,
    factor: _Factor,
    safer: FloatArray,
    inner: FloatArray,
    outer: FloatArray,
    difference: FloatArray,
    allowed: NDArray[np.bool_] | None,
) -> Decision:
    """Both certificates of the present iterate."""
    method = "alternating reflections"
    for candidate in (outer, inner):
        post = stochastic(candidate)
        upper = residual(post, factor.matrix, safer)
        if upper < best.upper:
            best = Decision(best.lower, upper, post, best.witness, method)
    witness = factor.pull(factor.rows @ (difference - difference.mean(axis=1, keepdims=True)))
    if allowed is not None:
        witness = _unmasked(witness, factor.matrix, safer, allowed)
    lower = normalised_gap(witness, factor.matrix, safer)
    if lower > best.lower:
        best = Decision(lower, best.upper, best.post, witness, method)
    return best


def _unmasked(
    witness: FloatArray, less_safe: FloatArray, safer: FloatArray, allowed: NDArray[np.bool_]
) -> FloatArray:
    """Lower the scores of forbidden (output of A, output of B) without touching <G,B>."""
    zero = (safer == 0).astype(np.float64)
    scores = less_safe.T @ witness
    ceiling = np.where(allowed, scores, -np.inf).max(axis=1, keepdims=True)
    mass = less_safe.T @ zero
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(~allowed & (mass > 0) & np.isfinite(ceiling), (scores - ceiling) / mass, 0.0)
    return np.asarray(witness - max(0.0, float(needed.max(initial=0.0))) * zero)


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
    small = len(cost) <= 6000
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
