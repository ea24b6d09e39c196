"""The maximum likelihood of any channel: the exact solver its structure allows, and whether it is unique."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.linalg.lapack import dgbtrf, dgbtrs
from scipy.sparse import csc_array

from sievert.arrays import FloatArray
from sievert.estimation._interior_point import grow, largest_step, maximise, step_length, water_filling
from sievert.estimation._operators import (
    Fit,
    GeometricOperator,
    Operator,
    ResponseOperator,
    certified_gap,
    compiled_rounds,
    iterate,
    log_likelihood,
)
from sievert.numerics import UNIT, one_thread
from sievert.programs import LinearProgram, solve

__all__ = ["WHEN", "EarlyStop", "geometric_maximum", "maximum_likelihood", "range_of_maxima", "stopped_early"]
# Entries of the matrix up to which the interior point takes all inputs at once.
LARGEST_WHOLE = 2_000_000
LARGEST_LISTED = 400
TOLERANCE = 1e-12
# Entries of the matrix up to which the maximum is polished, rounds of leaving out inputs, what is rounding of
# a probability, and the least expected share that is divided by.
LARGEST_POLISHED = 400_000
MOST_DROPPED = 20
NOISE = 1e-12
TINY = 1e-300
# An input may carry mass in some maximum when c = 1 there; the interior point ends within about 1e-10 of it.
ACTIVE = 1e-6
# Ranges narrower than this are one point: the linear programs are solved to 1e-9.
POINT = 1e-5
# What rounding leaves of a sum that is 1.
ROUNDED = 1e-14
# Where the gap hides less of the distribution than this, ranges are what they are; elsewhere they must be so
# many times wider than what is hidden.
ALIKE, SURE = 1e-3, 10.0


@singledispatch
def maximum_likelihood(operator: Operator, shares: FloatArray, size: int) -> Fit:
    """The exact maximum likelihood; `gap` is certified."""
    everything = np.arange(size)
    if operator.is_listed or size * len(shares) <= LARGEST_WHOLE:
        rows = operator.rows(everything)
        with one_thread(max(rows.shape)):
            p, _, iterations = maximise(rows, 0.0, shares)
            fit = Fit(p, log_likelihood(operator, shares, p), certified_gap(operator, shares, p), iterations)
            return _polished(operator, rows, shares, fit)
    return _large(operator, shares, size)


@maximum_likelihood.register
def _maximum_of_response(operator: ResponseOperator, shares: FloatArray, size: int) -> Fit:
    p = water_filling(operator.whole(shares), operator.lie)
    return Fit(p, log_likelihood(operator, shares, p), certified_gap(operator, shares, p), 0)


@maximum_likelihood.register
def _maximum_of_geometric(operator: GeometricOperator, shares: FloatArray, size: int) -> Fit:
    return geometric_maximum(operator, shares)


def _polished(operator: Operator, rows: FloatArray, shares: FloatArray, fit: Fit) -> Fit:
    """The maximum by least squares weighted with the outputs it expects, where that is at least as good.

    An interior point ends within a gap of the likelihood, which an input of probability 0 that would fit as
    well leaves as the root of that gap. At the maximum the likelihood is a sum of squares, whose solution
    keeps its digits; inputs that it makes negative are left out.
    """
    if not operator.is_listed or rows.size > LARGEST_POLISHED:
        return fit
    expected = operator.expected(fit.distribution)
    factor = operator.backward(shares / expected)
    active = np.flatnonzero(factor > 1 - max(ACTIVE, 10 * math.sqrt(max(fit.gap, 0.0))))
    # In probabilities, each output divided by the root of what is expected of it.
    scale = np.exp(operator.log_scale)
    weight = 1 / np.sqrt(np.maximum(expected * scale, TINY))
    table, target = rows.T * (scale * weight)[:, None], shares * weight
    found = fit.distribution
    for _ in range(MOST_DROPPED):
        if not len(active):
            return fit
        found, _, rank, _ = lstsq(table[:, active], target, lapack_driver="gelsy")
        if rank < len(active):
            return fit
        if (found >= -NOISE).all():
            break
        active = active[found >= -NOISE]
    p = np.zeros(len(rows))
    p[active] = np.maximum(found, 0.0)
    if not 0 < p.sum() < math.inf:
        return fit
    p /= p.sum()
    better = Fit(p, log_likelihood(operator, shares, p), certified_gap(operator, shares, p), fit.iterations)
    return better if better.gap <= fit.gap else fit


def _large(operator: Operator, shares: FloatArray, size: int) -> Fit:
    """A structured channel too large for its rows: a few inputs at a time, else IBU as far as it goes."""
    fit = grow(operator, shares, np.arange(size), TOLERANCE)
    if fit is not None and fit.gap <= 1e-9:
        return fit
    start = np.full(size, 1 / size) if fit is None else 0.9 * fit.distribution + 0.1 / size
    further = iterate(operator, shares, start, 1e-9, 20_000)
    return further if fit is None or further.gap < fit.gap else fit


def range_of_maxima(
    operator: Operator, shares: FloatArray, fit: Fit
) -> tuple[bool | None, FloatArray | None]:
    """Whether the maximum is unique, and otherwise the least and largest probability of every input.

    The maxima are the p on inputs with c = 1 that expect the same outputs (every maximum does), so the
    rank of those rows, or else two linear programs an input, decide. None: too large to decide, or inputs so
    alike (ε next to 0) that what the likelihood leaves open hides it.
    """
    if operator.is_definite:
        return True, None
    expected = operator.expected(fit.distribution)
    factor = operator.backward(shares / expected)
    active = np.flatnonzero(factor > 1 - max(ACTIVE, 10 * math.sqrt(max(fit.gap, 0.0))))
    if len(active) * len(shares) > LARGEST_WHOLE:
        return None, None
    rows = operator.rows(active) / expected
    contrast = min(1.0, max(float(np.abs(rows - 1).max(initial=0.0)), float(np.abs(factor - 1).max())))
    contrast = contrast if contrast > ROUNDED else 1.0
    # All factors are off by the same but for the share in which inputs differ.
    near = factor[active] > 1 - contrast * max(ACTIVE, 10 * math.sqrt(max(fit.gap, 0.0))) - ROUNDED
    active, rows = active[near], rows[near]
    if len(active) == 1 or np.linalg.matrix_rank(rows) == len(active):
        return True, None
    # A likelihood within the gap of the largest has expected shares this far from its own.
    hidden = math.sqrt(2 * max(fit.gap, 4 * UNIT)) / contrast
    if len(active) > LARGEST_LISTED:
        return (False, None) if hidden < ALIKE else (None, None)
    ranges = np.zeros((len(fit.distribution), 2))
    ranges[active] = _ranges(rows, contrast)
    widest = float(np.ptp(ranges, axis=1).max())
    if widest <= POINT:
        return True, None
    if hidden >= ALIKE and widest <= SURE * hidden:
        return None, None
    # The solver works to 1e-9; the maximum at hand lies within every range.
    ranges[:, 0] = np.minimum(ranges[:, 0], fit.distribution)
    ranges[:, 1] = np.maximum(ranges[:, 1], fit.distribution)
    return False, ranges


def _ranges(rows: FloatArray, contrast: float) -> FloatArray:
    """Least and largest p_i over the distributions with Σ_i p_i·rows_ij = 1 for every observed output j.

    Written as Σ_i p_i·(rows_ij - 1) = 0 in units of how far rows are from 1, so that slack means shares.
    """
    size, outputs = rows.shape
    ends = np.append(np.zeros(outputs), 1.0)
    slack = np.append(np.full(outputs, 1e-9 + ROUNDED / contrast), 1e-9)
    matrix = csc_array(np.concatenate([(rows.T - 1) / contrast, np.ones((1, size))]))
    found = np.empty((size, 2))
    for i in range(size):
        for side, sign in enumerate((1.0, -1.0)):
            cost = np.zeros(size)
            cost[i] = sign
            program = LinearProgram(cost, matrix, ends - slack, ends + slack, np.zeros(size), np.ones(size))
            found[i, side] = min(1.0, max(0.0, sign * solve(program).value))
    return found


# ── The exact maximum likelihood of truncated geometric noise, in time linear in the observed outputs ───────
# The maximiser puts mass on observed outputs only (between two of them c is strictly convex), where the
# kernel A = alpha^|i-j| has a tridiagonal inverse T: with gaps g between observed outputs, (Tz)_i = w_i·z_i
# + Σ_neighbours (z_i - z_k)/(2·sinh(eps·g)), w_i the mean of tanh(eps·g/2) on both sides (1 beyond the
# ends). In z = Ap the problem is: maximise Σ q_j·ln z_j - w·z subject to p = Tz ≥ 0; the multipliers of the
# constraints are λ = 1 - c. A predictor–corrector interior point solves it with one banded factorisation a
# step.
#
# Nearly flat noise (eps·g small) makes T huge; there the maximiser has few points, and `support_growth`
# finds them with the kernel written as 1 + expm1(-eps·d), which keeps the digits that alpha near 1 would
# lose.
MOST_ITERATIONS = 150
PATIENCE = 25
# Nats per report: a billion reports then are within 1e-4 of the maximum.
GEOMETRIC_TOLERANCE = 1e-13
# What the banded solver may leave: the kernel of 10^5 outputs that is nearly flat costs it that much.
ACCEPTED = 1e-11
# Where the observed outputs span fewer decay lengths than this for each of them, the kernel is nearly flat.
FLAT = 1e-4
# Observed outputs up to which the general interior point takes them all at once.
FEW = 300


def geometric_maximum(operator: GeometricOperator, shares: FloatArray) -> Fit:
    """The unique maximiser for truncated geometric noise with alpha < 1."""
    points = operator.observed
    if len(points) == 1:
        p = np.zeros(operator.channel.shape[0])
        p[points] = 1.0
        return Fit(p, log_likelihood(operator, shares, p), 0.0, 0)
    gaps = operator.eps * np.diff(points)
    fit = None
    if float(gaps.max()) > FLAT:
        fit = _banded(operator, shares, gaps)
        if fit.gap <= ACCEPTED:
            return fit

    def rows(chosen: NDArray[np.intp]) -> FloatArray:
        return np.asarray(np.expm1(-operator.eps * np.abs(chosen[:, None] - points[None, :])))

    other: Fit | None
    if len(points) <= FEW:
        weights, _, steps = maximise(rows(points), 1.0, shares)
        p = np.zeros(operator.channel.shape[0])
        p[points] = weights
        other = Fit(p, log_likelihood(operator, shares, p), certified_gap(operator, shares, p), steps)
    else:
        other = grow(operator, shares, points, GEOMETRIC_TOLERANCE, rows, 1.0)
    if fit is None or (other is not None and other.gap < fit.gap):
        assert other is not None  # the kernel is nearly flat, so that any input explains every output
        return other
    return fit


def _banded(operator: GeometricOperator, shares: FloatArray, gaps: FloatArray) -> Fit:
    """The interior point in z on the observed outputs."""
    # A step that leaves the floats is seen and ends the iteration.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return _path(operator, shares, gaps)


def _path(operator: GeometricOperator, shares: FloatArray, gaps: FloatArray) -> Fit:
    links = 1 / (2 * np.sinh(gaps))
    half = np.concatenate([[1.0], np.tanh(gaps / 2), [1.0]])
    weight = (half[:-1] + half[1:]) / 2
    size = len(shares)
    total = np.zeros(size)
    total[:-1] += links
    total[1:] += links

    def inverse(z: FloatArray) -> FloatArray:
        flow = links * np.diff(z)
        result = weight * z
        result[:-1] -= flow
        result[1:] += flow
        return np.asarray(result)

    p = inverse(shares / weight)
    if float(p.min()) >= 0:
        # Nothing pulls out of the simplex: the inverse is the maximum (Fernandes, Prop 8.2).
        full = np.zeros(operator.channel.shape[0])
        full[operator.observed] = p / p.sum()
        return Fit(full, log_likelihood(operator, shares, full), certified_gap(operator, shares, full), 0)
    p = np.full(size, 1 / size)
    z = _kernel(p, gaps)
    lam, y = np.ones(size), shares / z
    best: tuple[float, FloatArray] | None = None
    iterations, stalled = 0, 0
    while iterations < MOST_ITERATIONS:
        iterations += 1
        full = np.zeros(operator.channel.shape[0])
        full[operator.observed] = p / p.sum()
        gap = certified_gap(operator, shares, full)
        stalled = 0 if best is None or gap < 0.9 * best[0] else stalled + 1
        if best is None or gap < best[0]:
            best = gap, full
        if gap <= GEOMETRIC_TOLERANCE or stalled >= PATIENCE:
            break
        step = _step(shares, (p, z, lam, y), weight, total, links, inverse)
        if not all(np.isfinite(part).all() for part in step):
            break
        p, z, lam, y = (
            np.maximum(value + change, 1e-300) for value, change in zip((p, z, lam, y), step, strict=True)
        )
    assert best is not None
    gap, full = best
    return Fit(full, log_likelihood(operator, shares, full), gap, iterations)


def _step(
    shares: FloatArray,
    point: tuple[FloatArray, FloatArray, FloatArray, FloatArray],
    weight: FloatArray,
    total: FloatArray,
    links: FloatArray,
    inverse: Callable[[FloatArray], FloatArray],
) -> list[FloatArray]:
    """Changes of p, z, λ, y by a predictor–corrector step to p = Tz, y - w + Tλ = 0, p·λ = 0, z·y = q."""
    p, z, lam, y = point
    stationary, feasible = y - weight + inverse(lam), inverse(z) - p
    system = _System(y / z, p / lam, weight + total, links)

    def direction(first: FloatArray, second: FloatArray) -> list[FloatArray]:
        dz, dlam = system(-stationary - second / z, first / lam - feasible)
        return [inverse(dz) + feasible, dz, dlam, (second - y * dz) / z]

    mu = float(p @ lam) / len(p)
    short = shares - z * y
    found = direction(-p * lam, short)
    dp, dz, dlam, dy = found
    primal = min(largest_step(p, dp), largest_step(z, dz))
    dual = min(largest_step(lam, dlam), largest_step(y, dy))
    after = float((p + primal * dp) @ (lam + dual * dlam)) / len(p)
    centre = min(1.0, max(after / mu, 0.0)) ** 3
    length = 0.0
    # If the corrected step is stopped early, one straight towards the central path is not.
    for first, second in ((centre * mu - p * lam - dp * dlam, short - dz * dy), (mu - p * lam, short)):
        found = direction(first, second)
        length = step_length(shares, (p, found[0]), (z, found[1]), (lam, found[2]), (y, found[3]))
        if length > 0.1:
            break
    return [length * part for part in found]


def _kernel(p: FloatArray, gaps: FloatArray) -> FloatArray:
    """Σ_i p_i·alpha^|i-j| on the observed outputs; needed once, for the start."""
    decay = np.exp(-gaps)
    left, right = p.copy(), p.copy()
    for i in range(1, len(p)):
        left[i] += decay[i - 1] * left[i - 1]
    for i in range(len(p) - 2, -1, -1):
        right[i] += decay[i] * right[i + 1]
    return np.asarray(left + right - p)


class _System:
    """-W·dz + T·dλ = first and T·dz + (p/λ)·dλ = second, unknowns of one output side by side (band of 3)."""

    def __init__(
        self, curvature: FloatArray, ratio: FloatArray, diagonal: FloatArray, links: FloatArray
    ) -> None:
        size = len(curvature)
        # Row r, column c stands at band[6 + r - c, c]; the first three rows are room for pivots.
        band = np.zeros((10, 2 * size))
        even, odd = np.arange(0, 2 * size, 2), np.arange(1, 2 * size, 2)
        band[6, even] = -curvature
        band[6, odd] = ratio
        band[5, odd] = diagonal
        band[7, even] = diagonal
        # T's neighbours: first equation (row 2i) with dλ (column 2k+1), second (row 2i+1) with dz (column
        # 2k).
        band[3, odd[1:]] = -links  # row 2i, column 2i+3
        band[7, odd[:-1]] = -links  # row 2i+2, column 2i+1
        band[5, even[1:]] = -links  # row 2i+1, column 2i+2
        band[9, even[:-1]] = -links  # row 2i+3, column 2i
        self.factor, self.pivots, self.info = dgbtrf(band, 3, 3)

    def __call__(self, first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
        right = np.empty(2 * len(first))
        right[0::2], right[1::2] = first, second
        found, _ = dgbtrs(self.factor, 3, 3, right, self.pivots)
        return found[0::2], found[1::2]


# ── A smoother estimate: IBU stopped early, at the round that predicts reports it has not seen best ─────────
# The maximum likelihood of smooth noise is a handful of spikes. Stopped early, IBU is still spread out like
# its start; how early is decided by held-out likelihood. The exact maximum is among the candidates, so that
# truths made of spikes are not smoothed away when there are reports enough to tell.
FOLDS = 5
MOST_ROUNDS = 1 << 15
# Rounds after which the held-out likelihood is looked at: half an octave apart.
LOOKS = tuple(sorted({round(2 ** (k / 2)) for k in range(2 * 15 + 1)}))
# Rounds of a call to compiled code.
AT_ONCE = 1024
# Looks in a row without a better one before the search ends.
REGULARISED_PATIENCE = 4

WHEN = (
    "beats the maximum likelihood when the noise blurs neighbouring values and the truth is smooth on that "
    "scale; it loses to it when the truth is a few spikes, and under noise that ignores distance (randomised "
    "response)"
)


@dataclass(frozen=True, eq=False)
class EarlyStop:
    """The fit, and the rounds it was stopped after (None: the exact maximum predicted best)."""

    fit: Fit
    rounds: int | None


def stopped_early(
    operator: Operator, shares: FloatArray, total: float, start: FloatArray, rng: np.random.Generator
) -> EarlyStop:
    """Choose the number of rounds by held-out likelihood over a few folds, then fit all reports with it."""
    folds = _folds(np.rint(shares * total).astype(np.int64), rng)
    scores = np.zeros(len(LOOKS) + 1)
    for fold in folds:
        scores += _held_out(operator, shares * total - fold, fold, start)
    best = int(np.argmax(scores))
    if best == len(LOOKS):
        return EarlyStop(maximum_likelihood(operator, shares, len(start)), None)
    rounds = LOOKS[best]
    fit = iterate(operator, shares, start, 0.0, rounds)
    return EarlyStop(
        Fit(
            fit.distribution,
            log_likelihood(operator, shares, fit.distribution),
            certified_gap(operator, shares, fit.distribution),
            rounds,
        ),
        rounds,
    )


def _folds(counts: NDArray[np.int64], rng: np.random.Generator) -> list[FloatArray]:
    """The reports shared out at random into folds of about equal size."""
    left, folds = counts.copy(), []
    for k in range(FOLDS, 1, -1):
        drawn = rng.binomial(left, 1 / k)
        folds.append(drawn.astype(np.float64))
        left = left - drawn
    return [*folds, left.astype(np.float64)]


def _held_out(operator: Operator, training: FloatArray, fold: FloatArray, start: FloatArray) -> FloatArray:
    """Log-likelihood of a fold after each look, and at last under the exact maximum of the other folds."""
    if not training.sum() > 0:
        return np.zeros(len(LOOKS) + 1)
    shares = training / training.sum()
    p = np.array(start, dtype=np.float64)
    scores = np.full(len(LOOKS) + 1, -np.inf)
    done, best = 0, -np.inf
    worse = 0
    compiled = compiled_rounds(operator, shares)
    for look, rounds in enumerate(LOOKS):
        if compiled is None or done == 0:
            p = iterate(operator, shares, p, -1.0, rounds - done).distribution
        else:
            # Nothing looks at the gap meanwhile; Ctrl-C is heard between two calls.
            for before in range(done, rounds, AT_ONCE):
                compiled(p, min(AT_ONCE, rounds - before))
            p /= p.sum()
        done = rounds
        with np.errstate(divide="ignore"):
            scores[look] = float(fold @ np.log(operator.expected(p)))
        worse = 0 if scores[look] > best else worse + 1
        best = max(best, float(scores[look]))
        if worse >= REGULARISED_PATIENCE:
            break
    if operator.is_blurred:
        return scores
    seen = np.flatnonzero(training)
    exact = _maximum_of(operator, shares, seen, len(start))
    expected = operator.expected(exact)
    with np.errstate(divide="ignore", invalid="ignore"):
        scores[-1] = float(np.where(fold > 0, fold * np.log(expected), 0.0).sum())
    return scores


def _maximum_of(operator: Operator, shares: FloatArray, seen: NDArray[np.intp], size: int) -> FloatArray:
    """The exact maximum for shares that may be 0 on some of the operator's outputs."""
    positive = np.maximum(shares, 1e-15)
    if len(seen) == len(shares):
        positive = shares
    return maximum_likelihood(operator, positive / positive.sum(), size).distribution
