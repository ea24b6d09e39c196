"""Average refinement: is B = A·R for some channel R?

The flow tries what is cheap first and tests both certificates on the way: supports, the range of A, the
unique R when A has full column rank, Douglas–Rachford between {R ≥ 0} and {AR = B, R1 = 1}, and last the
linear program, by simplex where zeros leave few unknowns and by an interior point otherwise. No solver's word
is taken: the gap of the witness and the residual of R are recomputed from A and B.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sievert.orders.decisions import TOLERANCE, Decision, tighter
from sievert.orders.interior import interior_point
from sievert.orders.programs import deficiency_program, masked_entries, masked_program
from sievert.orders.reflections import Factor, allowed_cells, by_reflections, polished
from sievert.orders.witnesses import best_prior_gap, normalised_gap, residual, stochastic

__all__ = ["decide_average", "decide_independent", "measure_deficiency"]

FloatArray = NDArray[np.float64]
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
