"""The exact maximum likelihood of truncated geometric noise, in time linear in the observed outputs.

The maximiser puts mass on observed outputs only (between two of them c is strictly convex), where the kernel
A = alpha^|i-j| has a tridiagonal inverse T: with gaps g between observed outputs,
(Tz)_i = w_i·z_i + Σ_neighbours (z_i - z_k)/(2·sinh(eps·g)), w_i the mean of tanh(eps·g/2) on both sides (1
beyond the ends). In z = Ap the problem is: maximise Σ q_j·ln z_j - w·z subject to p = Tz ≥ 0; the
multipliers of the constraints are λ = 1 - c. A predictor–corrector interior point solves it with one
banded factorisation a step.

Nearly flat noise (eps·g small) makes T huge; there the maximiser has few points, and `support_growth` finds
them with the kernel written as 1 + expm1(-eps·d), which keeps the digits that alpha near 1 would lose.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dgbtrf, dgbtrs

from sievert.estimation.expectation_maximisation import Fit, certified_gap, log_likelihood
from sievert.estimation.interior_point import largest_step, maximise, step_length
from sievert.estimation.operators import GeometricOperator
from sievert.estimation.support_growth import grow

__all__ = ["geometric_maximum"]

FloatArray = NDArray[np.float64]
MOST_ITERATIONS = 150
PATIENCE = 25
# Nats per report: a billion reports then are within 1e-4 of the maximum.
TOLERANCE = 1e-13
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
        other = grow(operator, shares, points, TOLERANCE, rows, 1.0)
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
        if gap <= TOLERANCE or stalled >= PATIENCE:
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
