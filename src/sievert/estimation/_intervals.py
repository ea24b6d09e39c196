"""How far off an estimate may be: standard errors, bootstrap and profile-likelihood intervals.

All are for one input at a time and hold asymptotically. *normal* centres on the unbiased inverse with the
delta method's standard error, so that it also holds where the truth has zeros; *bootstrap* draws reports
anew from the estimate and estimates again; *profile* keeps the values at which the likelihood is not too
far below its maximum, and so also holds where reports do not determine the distribution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray
from sievert.estimation._confidence import normal_reach
from sievert.estimation._interior_point import maximise, water_filling
from sievert.estimation._inversion import inversion_variances, invert
from sievert.estimation._operators import Fit, GeometricOperator, Operator, ResponseOperator
from sievert.estimation._reports import Group, Reports

__all__ = [
    "bootstrap_intervals",
    "normal_intervals",
    "profile_intervals",
    "profile_shortfall",
    "response_profiles",
    "standard_errors",
]
BISECTIONS = 50


def standard_errors(reports: Reports, p: FloatArray) -> FloatArray:
    """Delta method: the standard deviation of the unbiased estimate when the truth is p.

    Inside the simplex this is the inverse Fisher information of the maximum likelihood.
    """
    return np.sqrt(inversion_variances(reports, p))


def normal_intervals(reports: Reports, p: FloatArray, level: float) -> FloatArray:
    """Inverse ± z standard errors within [0, 1], widened where needed to contain the estimate p.

    An inverse outside [0, 1] is moved to its end: otherwise what lies within could be a single point, or
    nothing, however few the reports. That only widens the interval.
    """
    centre = np.clip(invert(reports), 0.0, 1.0)
    reach = normal_reach(level) * standard_errors(reports, np.maximum(p, 0.0) / np.maximum(p, 0.0).sum())
    limits = np.clip(np.column_stack([centre - reach, centre + reach]), 0.0, 1.0)
    return np.column_stack([np.minimum(limits[:, 0], p), np.maximum(limits[:, 1], p)])


def bootstrap_intervals(
    reports: Reports,
    p: FloatArray,
    fit: Callable[[Reports], FloatArray],
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Percentiles of the estimate over reports drawn from the estimate itself, group by group."""
    draws = np.array([fit(_resampled(reports, p, rng)) for _ in range(resamples)])
    tail = (1 - level) / 2
    low, high = np.quantile(draws, [tail, 1 - tail], axis=0)
    return np.column_stack([np.minimum(low, p), np.maximum(high, p)])


def _resampled(reports: Reports, p: FloatArray, rng: np.random.Generator) -> Reports:
    groups = []
    for group in reports.groups:
        chances = np.maximum(group.channel.rmatvec(p), 0.0)
        drawn = rng.multinomial(round(group.counts.sum()), chances / chances.sum()).astype(np.float64)
        groups.append(Group(drawn, group.channel))
    return Reports(tuple(groups))


@singledispatch
def profile_intervals(
    operator: Operator, shares: FloatArray, fit: Fit, total: float, level: float
) -> FloatArray:
    """The probabilities v of each input for which some distribution is within χ²/2 nats of the maximum."""
    from scipy.optimize import brentq

    allowed = _allowed(total, level)
    shortfall = profile_shortfall(operator, shares, fit, allowed)

    def end(i: int, inside: float, outside: float) -> float:
        if inside == outside or shortfall(i, outside) <= 0:
            return outside
        if shortfall(i, inside) >= 0:
            return inside
        # An output that only this input gives makes the likelihood 0 at the outer end.
        if math.isinf(shortfall(i, outside)):
            outside += 1e-9 * (inside - outside)
            if shortfall(i, outside) <= 0:
                return outside
        return float(brentq(lambda v: shortfall(i, v), inside, outside, xtol=1e-7))

    size = len(fit.distribution)
    here = np.clip(fit.distribution, 0.0, 1.0)
    if size == 1:
        return np.ones((1, 2))
    return np.array([[end(i, here[i], 0.0), end(i, here[i], 1.0)] for i in range(size)])


@profile_intervals.register
def _profiles_of_response(
    operator: ResponseOperator, shares: FloatArray, fit: Fit, total: float, level: float
) -> FloatArray:
    profiles = response_profiles(operator.whole(shares)[None, :], operator.lie, _allowed(total, level))
    return np.asarray(profiles[0])


def _allowed(total: float, level: float) -> float:
    """χ²/2 of one degree of freedom, in nats per report."""
    return normal_reach(level) ** 2 / 2 / total


@singledispatch
def profile_rows(operator: Operator, size: int) -> tuple[FloatArray, float]:
    """Rows of all inputs less a number, and that number: what is left keeps its digits."""
    return operator.rows(np.arange(size)), 0.0


@profile_rows.register
def _profile_rows_of_geometric(operator: GeometricOperator, size: int) -> tuple[FloatArray, float]:
    distances = np.abs(np.arange(size)[:, None] - operator.observed[None, :])
    return np.expm1(-operator.eps * distances), 1.0


def profile_shortfall(
    operator: Operator, shares: FloatArray, fit: Fit, allowed: float
) -> Callable[[int, float], float]:
    """How far the best distribution with p_i = v is below the maximum, less what is allowed, as f(i, v).

    The profile interval of input i is where this is not above 0.
    """
    rows, base = profile_rows(operator, len(fit.distribution))
    highest = float(shares @ np.log(base + fit.distribution @ rows))

    def shortfall(i: int, v: float) -> float:
        others = np.delete(rows, i, axis=0)
        mixed = v * rows[i] + (1 - v) * others
        if v >= 1 or not len(others):
            mixed = rows[i : i + 1]
        weights, _, _ = maximise(mixed, base, shares)
        with np.errstate(divide="ignore"):
            reached = float(shares @ np.log(base + weights @ mixed))
        return highest - reached - allowed

    return shortfall


def response_profiles(shares: FloatArray, lie: float, allowed: float) -> FloatArray:
    """Profile intervals of randomised response, all rows of shares and all inputs at once.

    With p_i fixed the rest of the maximum is a water filling again, so that a profile is closed-form and its
    ends are found by bisection. The result has the shape [row, input, end].
    """
    q = np.asarray(shares, dtype=np.float64)
    best = water_filling(q, lie)
    highest = _response_likelihood(q, best, lie)
    size = q.shape[1]
    found = np.empty((*q.shape, 2))
    for i in range(size):
        others = np.delete(q, i, axis=1)
        for side, limit in enumerate((0.0, 1.0)):
            inside, outside = best[:, i].copy(), np.full(len(q), limit)
            free = _profile(q[:, i], others, lie, outside) >= highest - allowed
            for _ in range(BISECTIONS):
                middle = (inside + outside) / 2
                good = _profile(q[:, i], others, lie, middle) >= highest - allowed
                inside, outside = np.where(good, middle, inside), np.where(good, outside, middle)
            found[:, i, side] = np.where(free, limit, inside)
    return found


def _profile(share: FloatArray, others: FloatArray, lie: float, v: FloatArray) -> FloatArray:
    if not others.shape[1]:
        return np.zeros(len(share))
    rest = water_filling(others, lie, 1 - v)
    return _response_likelihood(others, rest, lie) + _response_likelihood(share[:, None], v[:, None], lie)


def _response_likelihood(q: FloatArray, p: FloatArray, lie: float) -> FloatArray:
    """Σ q·ln(b + p), less the constant ln b where b > 0, so that large b costs no digits."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log1p(p / lie) if lie > 0 else np.log(p)
        return np.asarray(np.where(q > 0, q * logs, 0.0).sum(axis=1))
