"""The maximum likelihood of any channel: the exact solver its structure allows, and whether it is unique."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq
from scipy.sparse import csc_array

from sievert.estimation.expectation_maximisation import Fit, certified_gap, iterate, log_likelihood
from sievert.estimation.geometric_likelihood import geometric_maximum
from sievert.estimation.interior_point import maximise
from sievert.estimation.operators import DenseOperator, GeometricOperator, Operator, ResponseOperator
from sievert.estimation.response_likelihood import water_filling
from sievert.estimation.support_growth import grow
from sievert.numerics.linear_programs import LinearProgram, solve

__all__ = ["maximum_likelihood", "range_of_maxima"]

FloatArray = NDArray[np.float64]
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


def maximum_likelihood(operator: Operator, shares: FloatArray, size: int) -> Fit:
    """The exact maximum likelihood; `gap` is certified."""
    if isinstance(operator, ResponseOperator):
        full = np.zeros(size)
        full[operator.observed] = shares
        p = water_filling(full, operator.lie)
        return Fit(p, log_likelihood(operator, shares, p), certified_gap(operator, shares, p), 0)
    if isinstance(operator, GeometricOperator):
        return geometric_maximum(operator, shares)
    everything = np.arange(size)
    if isinstance(operator, DenseOperator) or size * len(shares) <= LARGEST_WHOLE:
        rows = operator.rows(everything)
        p, _, iterations = maximise(rows, 0.0, shares)
        fit = Fit(p, log_likelihood(operator, shares, p), certified_gap(operator, shares, p), iterations)
        return _polished(operator, rows, shares, fit)
    return _large(operator, shares, size)


def _polished(operator: Operator, rows: FloatArray, shares: FloatArray, fit: Fit) -> Fit:
    """The maximum by least squares weighted with the outputs it expects, where that is at least as good.

    An interior point ends within a gap of the likelihood, which an input of probability 0 that would fit as
    well leaves as the root of that gap. At the maximum the likelihood is a sum of squares, whose solution
    keeps its digits; inputs that it makes negative are left out.
    """
    if not isinstance(operator, DenseOperator) or rows.size > LARGEST_POLISHED:
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
    rank of those rows, or else two linear programs an input, decide. None: too large to decide.
    """
    if isinstance(operator, ResponseOperator | GeometricOperator):
        return True, None  # b·J + I and alpha^|i-j| are positive definite on the observed outputs
    expected = operator.expected(fit.distribution)
    factor = operator.backward(shares / expected)
    active = np.flatnonzero(factor > 1 - max(ACTIVE, 10 * math.sqrt(max(fit.gap, 0.0))))
    if len(active) * len(shares) > LARGEST_WHOLE:
        return None, None
    rows = operator.rows(active) / expected
    if len(active) == 1 or np.linalg.matrix_rank(rows) == len(active):
        return True, None
    if len(active) > LARGEST_LISTED:
        return False, None
    ranges = np.zeros((len(fit.distribution), 2))
    ranges[active] = _ranges(rows)
    if float(np.ptp(ranges, axis=1).max()) <= POINT:
        return True, None
    # The solver works to 1e-9; the maximum at hand lies within every range.
    ranges[:, 0] = np.minimum(ranges[:, 0], fit.distribution)
    ranges[:, 1] = np.maximum(ranges[:, 1], fit.distribution)
    return False, ranges


def _ranges(rows: FloatArray) -> FloatArray:
    """Least and largest p_i over the distributions with Σ_i p_i·rows_ij = 1 for every observed output j."""
    size, outputs = rows.shape
    ones = np.ones(outputs + 1)
    slack = 1e-9 * ones
    matrix = csc_array(np.concatenate([rows.T, np.ones((1, size))]))
    found = np.empty((size, 2))
    for i in range(size):
        for side, sign in enumerate((1.0, -1.0)):
            cost = np.zeros(size)
            cost[i] = sign
            program = LinearProgram(cost, matrix, ones - slack, ones + slack, np.zeros(size), np.ones(size))
            found[i, side] = min(1.0, max(0.0, sign * solve(program).value))
    return found
