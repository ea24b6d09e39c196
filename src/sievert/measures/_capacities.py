"""Additive capacity: the most a channel adds to an adversary's expected gain, over three classes of gains.

The classes give different numbers (spec F5), so each is named:

- *unit*: gains between 0 and 1. With a fixed prior π it is min over output distributions r of
  Σ_x π_x·TV(C_x, r); over all priors it is the total-variation radius min_r max_x TV(C_x, r).
- *spanning*: each action's gains differ by at most 1, any offset: Σ_y a_y·TV(δ^y, π).
- *signed*: gains at most 1 with a prior value of at least 0, any full-support prior: 1 - Σ_y min_x C[x,y].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from sievert.arrays import FloatArray
from sievert.channels import Channel, DeterministicChannel, PartitionChannel, ResponseChannel
from sievert.errors import GainError, TooLargeError
from sievert.measures._extremes import lack_of_minima, row_distance
from sievert.measures._improvement import movements
from sievert.measures._output_values import joint_distribution
from sievert.numerics import exact_solve, exp_excess, fractions_of, log_means, one_thread, readable
from sievert.programs import LinearProgram, Solution, solve

__all__ = [
    "AdditiveOptimum",
    "ShannonOptimum",
    "shannon_capacity",
    "signed_capacity",
    "spanning_capacity",
    "unit_capacity",
    "unit_radius",
]

Number = Any
# Entries of a channel up to which the program over all priors is solved: some minutes.
LARGEST_PROGRAM = 100_000
# Entries above which the closed forms of a rule are used instead of the matrix.
SMALL_MATRIX = 2_000_000
# A sum of differences of probabilities above this has lost none of the digits that matter.
NOT_LITTLE = 0.05


@dataclass(frozen=True, eq=False)
class AdditiveOptimum:
    """An additive capacity with both sides of its proof.

    Attributes
    ----------
    value : the capacity (a lower bound within `gap` of the upper bound)
    gap : upper bound minus lower bound; 0 when exact
    prior : the prior it is attained at (None: a symmetric one, not written out)
    gain : attaining gain function [action, secret], one action an output (None for closed forms)
    reference : output distribution r that proves the upper bound (None for closed forms)
    """

    value: Number
    gap: Number
    prior: NDArray[Any] | None
    gain: NDArray[Any] | None = None
    reference: NDArray[Any] | None = None


@singledispatch
def unit_capacity(channel: Channel, belief: NDArray[Any]) -> AdditiveOptimum:
    """Gains in [0, 1], fixed prior: the water-filling optimum of Σ_x π_x·TV(C_x, r), exact for exact input.

    Σ_x π_x (C[x,y] - r_y)⁺ is convex in each r_y with slope -Σ{π_x : C[x,y] > r_y}; the only coupling is
    Σ r_y = 1, so the unit of r is spent on the steepest segments first. O(n m log(n m)).
    """
    if belief.dtype == object and channel.form == "exact":
        return _filled(channel.exact_or_rounded(), belief)
    lack, residual, lowest = _residual(channel)
    if not lack:
        return AdditiveOptimum(0.0, 0.0, belief, np.zeros(residual.T.shape), lowest)
    return _scaled(_filled(residual, belief.astype(np.float64)), lack, lowest)


def _filled(matrix: NDArray[Any], weights: NDArray[Any]) -> AdditiveOptimum:
    reference, threshold = _fill(matrix, weights)
    gain = _attaining_gain(matrix, weights, reference, threshold)
    upper = (weights[:, None] * np.maximum(matrix - reference, 0)).sum()
    scores = (gain.T * matrix * weights[:, None]).sum()
    lower = scores - (gain @ weights).max()
    return AdditiveOptimum(lower, max(upper - lower, upper - upper), weights, gain, reference)


def _residual(channel: Channel) -> tuple[float, FloatArray, FloatArray]:
    """λ, a channel R and a row l with C = l + λ·R: the row is what all inputs share, the column minima.

    Distances of rows of C are λ times those of R, whose rows differ however little those of C do.
    """
    matrix, relative = channel.rounded(), channel.relative_logs
    lowest = matrix.min(axis=0)
    with np.errstate(invalid="ignore"):
        gap = relative - relative.min(axis=0)
    near = (lowest > 0) & (gap < 1)
    excess = np.where(near, lowest * np.expm1(np.where(near, gap, 0.0)), matrix - lowest)
    lack = float(excess[0].sum())
    rows = excess.sum(axis=1, keepdims=True)
    return lack, np.asarray(excess / np.where(rows > 0, rows, 1.0)), lowest


def _scaled(found: AdditiveOptimum, lack: float, lowest: FloatArray) -> AdditiveOptimum:
    """The optimum of l + λ·R from that of R."""
    assert found.reference is not None
    return replace(
        found,
        value=lack * float(found.value),
        gap=lack * float(found.gap),
        reference=lowest + lack * found.reference,
    )


_filled_capacity = unit_capacity.dispatch(Channel)


@unit_capacity.register
def _unit_capacity_of_response(channel: ResponseChannel, belief: NDArray[Any]) -> AdditiveOptimum:
    """r adds what the truth has over a lie to the likeliest value: (truth - lie)·(1 - max π)."""
    if _is_large(channel):
        return AdditiveOptimum(_spread(channel) * (1 - float(belief.max())), 0, belief)
    found = _filled_capacity(channel, belief)
    if isinstance(found.value, Fraction):
        return found
    return replace(found, value=_spread(channel) * (1 - float(belief.max())))


@unit_capacity.register
def _unit_capacity_of_program(channel: DeterministicChannel, belief: NDArray[Any]) -> AdditiveOptimum:
    """r is the likeliest output: 1 - its probability."""
    if not _is_large(channel):
        return _filled_capacity(channel, belief)
    heaviest = channel.rmatvec(belief.astype(np.float64)).max()
    return AdditiveOptimum(1 - float(heaviest), 0, belief)


def _spread(channel: ResponseChannel) -> float:
    """truth - lie, without cancellation."""
    return row_distance(channel, 0, 1) if channel.shape[0] > 1 else 0.0


def _fill(matrix: NDArray[Any], weights: NDArray[Any]) -> tuple[NDArray[Any], Number]:
    """The optimal r and the slope at which the unit of r runs out."""
    m = matrix.shape[1]
    order = np.argsort(matrix, axis=0, kind="stable")
    levels = np.take_along_axis(matrix, order, axis=0)
    # Segment k of column y runs from the (k-1)-th to the k-th smallest entry; its slope is the belief in
    # the inputs whose entry is at least the k-th.
    slopes = np.cumsum(weights[order][::-1], axis=0)[::-1].ravel()
    lengths = np.diff(levels, axis=0, prepend=levels[:1] * 0).ravel()
    ranked = np.argsort(-slopes, kind="stable")
    spent = np.cumsum(lengths[ranked])
    # Rounding may leave the sum of all column maxima just below 1; the last segment then takes the rest.
    enough = np.asarray(spent >= 1, dtype=bool)
    last = int(np.argmax(enough)) if enough.any() else len(ranked) - 1
    # r is read off the levels, not summed up, so that it equals an entry exactly where it ends at one.
    reached = np.bincount(ranked[:last] % m, minlength=m)
    reference = np.where(reached > 0, levels[np.maximum(reached - 1, 0), np.arange(m)], levels[0] * 0)
    partial = int(ranked[last] % m)
    zero = reference[partial] * 0
    reference[partial] = zero
    reference[partial] = max(1 - reference.sum(), zero)
    return reference, slopes[ranked[last]]


def _attaining_gain(
    matrix: NDArray[Any], weights: NDArray[Any], reference: NDArray[Any], threshold: Number
) -> NDArray[Any]:
    """Gain 1 where C[x,y] exceeds r_y, and where they tie a common share that makes every action's prior
    value the threshold, so that no action is better than another before the release."""
    # The last r_y is what remains of 1, so rounding may hide that it ends at an entry; a tie that is none
    # costs at most the tolerance, because the value is recomputed from the gain.
    tolerance = 0 if matrix.dtype == object else 1e-12
    excess = matrix - reference
    above = np.asarray(excess > tolerance, dtype=bool)
    tie = np.asarray(abs(excess) <= tolerance, dtype=bool)
    sure, spare = ((weights[:, None] * mask).sum(axis=0) for mask in (above, tie))
    share = np.where(spare > 0, (threshold - sure) / np.where(spare > 0, spare, 1), threshold * 0)
    share = np.minimum(np.maximum(share, threshold * 0), threshold * 0 + 1)
    return np.asarray(np.where(above, threshold * 0 + 1, np.where(tie, share, threshold * 0)).T)


def unit_radius(channel: Channel) -> AdditiveOptimum:
    """Gains in [0, 1], all priors: min_r max_x TV(C_x, r), with the prior that attains it.

    A linear program in r and the excesses s[x,y] ≥ C[x,y] - r_y; the multipliers of its rows are the worst
    prior, where the fixed-prior optimum proves the lower bound, and r proves the upper one. For exact
    channels the vertex is rebuilt over the rationals.
    """
    n, m = channel.shape
    known = radius_by_rule(channel) if n * m > LARGEST_PROGRAM else None
    if known is not None:
        return known
    if n * m > LARGEST_PROGRAM:
        raise TooLargeError(
            f"gains in [0, 1] over all priors need a linear program of {readable(n)} × {readable(m)} "
            f"variables; at most {LARGEST_PROGRAM} are tried; give a fixed prior",
            size=n * m,
        )
    if channel.form == "exact":
        rebuilt = _exact_radius(channel, _solved(channel.rounded()))
        if rebuilt is not None:
            return rebuilt
    lack, residual, lowest = _residual(channel)
    if not lack:
        return _filled_capacity(channel, np.full(n, 1 / n))
    solution = _solved(residual)
    prior = radius_prior(channel, np.maximum(solution.dual[:n], 0.0))
    reference = np.maximum(solution.primal[:m], 0.0)
    reference = reference / reference.sum()
    lower = unit_capacity(channel, prior)
    upper = lack * float(np.maximum(residual - reference, 0.0).sum(axis=1).max())
    gap = max(0.0, upper - float(lower.value))
    return AdditiveOptimum(float(lower.value), gap, prior, lower.gain, lowest + lack * reference)


def _solved(matrix: FloatArray) -> Solution:
    solution = solve(_radius_program(matrix))
    if not solution.optimal:
        raise GainError(
            f"the linear program over all priors was not solved ({solution.status}); give a prior"
        )
    return solution


@singledispatch
def radius_prior(channel: Channel, multipliers: FloatArray) -> FloatArray:
    """The worst prior, from the multipliers of the program's rows."""
    return np.asarray(multipliers / multipliers.sum())


@radius_prior.register
def _radius_prior_of_response(channel: ResponseChannel, multipliers: FloatArray) -> FloatArray:
    """By symmetry the even prior is worst."""
    return np.full(len(multipliers), 1 / len(multipliers))


@singledispatch
def radius_by_rule(channel: Channel) -> AdditiveOptimum | None:
    """The radius where by symmetry r is even over the outputs; None for other channels."""
    return None


@radius_by_rule.register
def _radius_of_response(channel: ResponseChannel) -> AdditiveOptimum:
    size, exact = channel.shape[0], isinstance(channel.truth, Fraction)
    value = channel.truth - Fraction(1, size) if exact else _spread(channel) * (1 - 1 / size)
    return AdditiveOptimum(value, 0, None)


@radius_by_rule.register
def _radius_of_program(channel: DeterministicChannel | PartitionChannel) -> AdditiveOptimum:
    return AdditiveOptimum(1 - Fraction(1, channel.shape[1]), 0, None)


def _radius_program(matrix: NDArray[np.float64]) -> LinearProgram:
    """Columns r, t, s[x,y] for positive entries; rows t ≥ Σ_y s[x,y], s[x,y] + r_y ≥ C[x,y], Σr = 1."""
    n, m = matrix.shape
    xs, ys = np.nonzero(matrix)
    count = len(xs)
    excess = m + 1 + np.arange(count)
    rows = [np.arange(n), xs, n + np.arange(count), n + np.arange(count), np.full(m, n + count)]
    columns = [np.full(n, m), excess, excess, ys, np.arange(m)]
    values = [np.ones(n), -np.ones(count), np.ones(count), np.ones(count), np.ones(m)]
    shape = (n + count + 1, m + 1 + count)
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    cost = np.zeros(shape[1])
    cost[m] = 1.0
    row_lower = np.concatenate([np.zeros(n), matrix[xs, ys], [1.0]])
    row_upper = np.concatenate([np.full(n + count, np.inf), [1.0]])
    lower, upper = np.zeros(shape[1]), np.full(shape[1], np.inf)
    # t is free, so that the multipliers of its rows, the prior, sum to its cost, 1, also where t is 0.
    lower[m] = -np.inf
    return LinearProgram(cost, coo_array(entries, shape=shape).tocsc(), row_lower, row_upper, lower, upper)


def _exact_radius(channel: Channel, solution: Solution) -> AdditiveOptimum | None:
    """The optimum over the rationals at the solver's vertex, or None where that vertex is not optimal.

    A basic excess is C[x,y] - r_y, which leaves equations for r and t alone; their transpose gives the
    prior. What proves the result is not the solver but that r and the prior bound it by the same fraction.
    """
    exact = channel.exact
    assert exact is not None
    n, m = exact.shape
    present = np.nonzero(exact.astype(np.float64))
    excess, tight = np.zeros((2, n, m), dtype=bool)
    excess[present] = solution.basic_columns[m + 1 :]
    tight[present] = ~solution.basic_rows[n:-1]
    used = np.flatnonzero(solution.basic_columns[:m])
    active = np.flatnonzero(~solution.basic_rows[:n])
    held, loose = np.argwhere(tight & ~excess), np.argwhere(excess & ~tight)
    reached = excess & tight
    # Unknowns r_y (used), t and excesses that their own row leaves loose; rows t + Σ r_y = Σ C[x,y] over the
    # excesses of an active x, r_y = C[x,y] where an entry is just reached, and Σ r_y = 1.
    rows = np.zeros((len(active) + len(held) + 1, len(used) + 1 + len(loose)), dtype=np.int64)
    if rows.shape[0] != rows.shape[1]:
        return None
    first, last = slice(0, len(active)), len(used)
    rows[first, :last], rows[first, last] = reached[active][:, used], 1
    rows[first, last + 1 :] = -1 * (active[:, None] == loose[:, 0])
    rows[len(active) : -1, :last] = held[:, 1:] == used
    rows[-1, :last] = 1
    sides = [sum(exact[x, reached[x]].tolist(), Fraction(0)) for x in active]
    sides += [exact[x, y] for x, y in held] + [Fraction(1)]
    cost = fractions_of([[int(j == last)] for j in range(len(rows))])
    square = fractions_of(rows)
    try:
        point = exact_solve(square, np.array(sides, dtype=object)[:, None])[:last, 0]
        multipliers = exact_solve(square.T, cost)[: len(active), 0]
    except ZeroDivisionError:
        return None
    reference, prior = (np.full(size, Fraction(0), dtype=object) for size in (m, n))
    reference[used], prior[active] = point, multipliers
    if min(reference) < 0 or min(prior) < 0:
        return None
    upper = np.maximum(exact - reference, 0).sum(axis=1).max()
    lower = _filled_capacity(channel, prior)
    return replace(lower, reference=reference) if lower.value == upper else None


@singledispatch
def spanning_capacity(channel: Channel, belief: NDArray[Any]) -> Number:
    """Gains of span at most 1 for each action, fixed prior: Σ_y a_y·TV(δ^y, π) = Σ_x π_x·TV(C_x, a)."""
    if channel.form == "exact" and belief.dtype == object:
        joint = joint_distribution(channel, belief)
        return np.abs(joint - belief[:, None] * joint.sum(axis=0)).sum() / 2
    weights = belief.astype(np.float64)
    joint = weights[:, None] * channel.rounded()
    plain = float(np.abs(joint - weights[:, None] * joint.sum(axis=0)).sum()) / 2
    if plain > NOT_LITTLE:
        return plain
    possible = weights > 0
    outputs, moved = movements(channel, weights)
    return float(weights[possible] @ np.abs(np.expm1(moved[possible])) @ outputs) / 2


@spanning_capacity.register
def _spanning_capacity_of_response(channel: ResponseChannel, belief: NDArray[Any]) -> Number:
    if not _is_large(channel):
        return spanning_capacity.dispatch(Channel)(channel, belief)
    weights = belief.astype(np.float64)
    return _spread(channel) * (1 - float(weights @ weights))


@spanning_capacity.register
def _spanning_capacity_of_program(channel: DeterministicChannel, belief: NDArray[Any]) -> Number:
    if not _is_large(channel):
        return spanning_capacity.dispatch(Channel)(channel, belief)
    output = channel.rmatvec(belief.astype(np.float64))
    return 1 - float(output @ output)


def signed_capacity(channel: Channel, possible: NDArray[np.bool_] | None = None) -> Number:
    """Signed gains at most 1 with a prior value of at least 0, any prior with this support."""
    if possible is None or possible.all():
        return lack_of_minima(channel)
    return lack_of_minima(Channel(channel.exact_or_rounded()[possible]))


def _is_large(channel: Channel) -> bool:
    return channel.shape[0] * channel.shape[1] > SMALL_MATRIX


# ── Shannon capacity with a certified gap ───────────────────────────────────────────────────────────────────
# For any prior p with output distribution q = pC, the capacity lies between Σ_x p_x·D(C_x‖q) and max_x
# D(C_x‖q) (Blahut, Arimoto). Both are evaluated at the end, so the gap reported is true whatever the
# iteration did. Where Blahut and Arimoto take many multiplicative steps, this takes a few dozen Newton
# steps on the concave mutual information with a shrinking barrier, O(n²m + n³) each. An optimal prior needs
# no more inputs than there are outputs, so with many inputs the steps work on an active set that grows by
# the inputs whose divergence exceeds the present value.
LN2 = math.log(2)
SPARE = 20
# Below it, q - C + C·ln C/q loses more than four of its digits.
CLOSE_LOSS = 0.01


@dataclass(frozen=True, eq=False)
class ShannonOptimum:
    """Capacity in bits (a lower bound), how far the proved upper bound is above it, and the prior."""

    bits: float
    gap: float
    prior: FloatArray


def shannon_capacity(channel: Channel, tolerance: float = 1e-10) -> ShannonOptimum:
    """Largest mutual information over all priors, in bits, to within `tolerance` of it (or of one bit)."""
    finite = channel.finite()
    # Equal rows only split the prior between them, so one of each is enough.
    _, first = np.unique(finite.relative_logs, axis=0, return_index=True)
    rows = Rows(finite.rounded()[first], finite.relative_logs[first])
    even = np.full(len(first), 1 / len(first))
    largest = float(rows.divergences(even).max())
    if largest > 0:
        with one_thread(max(rows.matrix.shape)):
            even = _maximise(rows, tolerance * min(LN2, largest))
    divergences = rows.divergences(even)
    lower, upper = float(even @ divergences), float(divergences.max())
    spread = np.zeros(finite.shape[0])
    spread[first] = even
    return ShannonOptimum(max(0.0, lower) / LN2, max(0.0, upper - lower) / LN2, spread)


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct rows, with their logarithms less one number for each output."""

    matrix: FloatArray
    relative: FloatArray

    def __len__(self) -> int:
        return len(self.matrix)

    def __getitem__(self, chosen: Any) -> Rows:
        return Rows(self.matrix[chosen], self.relative[chosen])

    def losses(self, prior: FloatArray) -> FloatArray:
        """ln C[x,y]/q_y with q = pC."""
        means = log_means(self.relative, prior)
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(np.isneginf(self.relative), -np.inf, self.relative - means))

    def divergences(self, prior: FloatArray) -> FloatArray:
        """D(C_x ‖ q) in nats for each x, as Σ_y q - C + C·L of L = ln C/q: terms of one sign."""
        output, loss = prior @ self.matrix, self.losses(prior)
        possible = self.matrix > 0
        terms = output - self.matrix + self.matrix * np.where(possible, loss, 0.0)
        near = possible & (np.abs(loss) < CLOSE_LOSS)
        if near.any():
            terms[near] = self.matrix[near] * exp_excess(-loss[near])
        return np.asarray(terms.sum(axis=1))


def _maximise(rows: Rows, tolerance: float) -> FloatArray:
    """Newton on a growing set of inputs, until no input outside it has a larger divergence."""
    even = np.full(len(rows), 1.0 / len(rows))
    # An optimal prior needs no more inputs than there are outputs; twice as many leave some choice.
    few = 2 * rows.matrix.shape[1] + SPARE
    active = np.argsort(-rows.divergences(even), kind="stable")[:few]
    prior = even
    for _ in range(len(rows)):
        prior = np.zeros(len(rows))
        prior[active] = _newton(rows[active], tolerance / 2)
        divergences = rows.divergences(prior)
        if divergences.max() - prior @ divergences <= tolerance:
            break
        used = np.flatnonzero(prior > 1e-12)
        added = np.argsort(-divergences, kind="stable")[: few // 2]
        grown = np.union1d(used, added)
        if np.isin(grown, active).all():
            break
        active = grown
    return prior


def _newton(rows: Rows, tolerance: float) -> FloatArray:
    """Primal-dual interior point for max I(p) over the simplex.

    The Hessian of -I is C·diag(1/q)·Cᵀ = 1 + E·Eᵀ with E = (C - q)/√q. All but the 1, which no step within
    the simplex sees, is divided by the largest divergence, which may be as small as ε².
    """
    n = len(rows)
    prior = np.full(n, 1.0 / n)
    slack = np.full(n, 1.0 / n)
    best, best_gap = prior, math.inf
    scale = max(float(rows.divergences(prior).max()), tolerance)
    for _ in range(200):
        divergences = rows.divergences(prior)
        gap = float(divergences.max() - prior @ divergences)
        if gap < best_gap:
            best, best_gap = prior, gap
        if gap <= tolerance:
            break
        target = 0.1 * float(prior @ slack) / n
        output = prior @ rows.matrix
        with np.errstate(over="ignore"):
            apart = np.expm1(rows.losses(prior))
        apart = np.where(np.isfinite(apart), apart, 0.0) * np.sqrt(output)
        hessian = apart @ apart.T / scale + 1
        hessian[np.diag_indices(n)] += slack / prior
        right = divergences / scale + target / prior
        try:
            both = np.linalg.solve(hessian, np.column_stack([right, np.ones(n)]))
        except np.linalg.LinAlgError:
            break
        level = both[:, 0].sum() / both[:, 1].sum()
        step = both[:, 0] - level * both[:, 1]
        change = target / prior - slack - slack / prior * step
        length = min(_reach(prior, step), _reach(slack, change))
        prior = prior + length * step
        prior = prior / prior.sum()
        slack = slack + length * change
    return best


def _reach(values: FloatArray, step: FloatArray) -> float:
    """Largest step, at most 1, that keeps 0.5% of every value."""
    falling = step < 0
    if not falling.any():
        return 1.0
    return float(min(1.0, 0.995 * (values[falling] / -step[falling]).min()))
