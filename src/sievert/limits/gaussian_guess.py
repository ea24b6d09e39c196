"""The best guess through Gaussian noise, exactly, for any number of values and any prior.

The guess is E max_i π_i·L_i, with L_i the likelihood of value i. Interpolating between two sets of answers
(Kahane), its derivative is -½ Σ_{i<j} (d²_ij)'·E[M_ij·L_i·L_j] for M = max, whose mixed second derivatives
M_ij are ≤ 0: moving any two answers apart never helps the person. So the worst are answers that are pairwise
as far apart as the sensitivity allows, the corners of a simplex. The guess as a function of π has the same
signs of second derivatives, so the same holds release by release, however the releases are chosen.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from sievert.limits.approximate import Ends
from sievert.numerics.mills import mills_drop

__all__ = ["simplex_ends", "simplex_guess"]

FloatArray = NDArray[np.float64]
# Deviations from a mean beyond which a Gaussian weighs less than 1e-32.
REACH = 12.0
# Nodes of the quadrature for each deviation; everything that is integrated varies over about one.
NODES = 24
# Corners this many deviations apart are never confused as far as floats can tell.
CERTAIN = 60.0
# A handicap whose square is still a float; nobody makes up for so much.
HOPELESS = 1e150
# Deviations behind beyond which winning is less likely than any float.
FADED = 75.0
# A gain below this is added up on its own: as a difference it would lose digits.
CLOSE = 0.1


def simplex_ends(mu: float, values: int, prior: FloatArray | None = None) -> Ends:
    """Best guess among corners of a simplex with side μ, seen through unit Gaussian noise.

    With what it gains over the blind guess and what it misses, each a sum of positive terms.
    """
    weights, counts = _distinct(values, prior)
    blind = float(weights.max())
    if mu == 0 or counts.sum() == 1:
        return Ends(blind, 0.0, 1 - blind)
    if values == 2 and prior is None:
        return Ends(float(ndtr(mu / 2)), math.erf(mu / math.sqrt(8)) / 2, float(ndtr(-mu / 2)))
    shift = mu / math.sqrt(2)
    if shift > CERTAIN:
        return Ends(1.0, 1 - blind, 0.0)
    with np.errstate(over="ignore"):
        handicaps = np.maximum(np.log(weights / blind) / shift, -HOPELESS)
    missed = _missed(shift, weights, counts, handicaps)
    gained = 1 - blind - missed
    if gained < CLOSE:
        gained = _gained(shift, blind, counts, handicaps)
    guess = 1 - missed if missed < 0.5 else min(1.0, blind + gained)
    return Ends(max(blind, guess), max(0.0, gained), missed)


def simplex_guess(mu: float, values: int, prior: FloatArray | None = None) -> float:
    """The guess of `simplex_ends` alone.

    >>> round(simplex_guess(1.0, 2), 6)              # Φ(1/2)
    0.691462
    """
    return simplex_ends(mu, values, prior).guess


def _missed(shift: float, weights: FloatArray, counts: FloatArray, handicaps: FloatArray) -> float:
    """Σ_j π_j ∫ φ(s - s_j - a)·(1 - Π_{i≠j} Φ(s - s_i)) ds with a = μ/√2 and s_j = ln(π_j/max π)/a.

    Value j wins where its coordinate, the only one with mean a, beats all others by their handicaps.
    """
    total = 0.0
    for weight, count, own in zip(weights, counts, handicaps, strict=True):
        nodes, parts = _quadrature(own - REACH, own + shift + REACH)
        behind = log_ndtr(nodes - handicaps[:, None])
        others = counts @ behind - log_ndtr(nodes - own)
        lost = np.exp(-((nodes - own - shift) ** 2) / 2) * -np.expm1(others)
        total += float(count * weight * (lost @ parts))
    return min(1.0, total / math.sqrt(2 * math.pi))


def _gained(shift: float, blind: float, counts: FloatArray, handicaps: FloatArray) -> float:
    """max π·E[(e^(aT - a²/2) - e^(aX - a²/2))⁺] for T the best of the other values, X the likeliest's own."""
    others = counts - (handicaps == 0)
    kept = others > 0
    others, behind_by = others[kept], handicaps[kept]
    if not len(others) or behind_by.max() < -FADED:
        return 0.0
    nodes, parts = _quadrature(-FADED, shift + REACH)
    behind = log_ndtr(nodes - behind_by[:, None])
    density = others @ behind - behind - (nodes - behind_by[:, None]) ** 2 / 2
    found = others @ (np.exp(density + _log_growth(nodes, shift)) @ parts)
    return blind * float(found) / math.sqrt(2 * math.pi)


def _log_growth(t: FloatArray, shift: float) -> FloatArray:
    """ln of e^(at - a²/2)·Φ(t) - Φ(t - a), which is φ(t - a)·(R(-t) - R(a - t)) with R Mills' ratio."""
    near = t < REACH if shift < 1 else np.zeros(len(t), dtype=bool)
    inside = np.where(near, t, 0.0)
    drop = np.log(mills_drop(-inside, min(shift, 1.0)))
    close = drop - (inside - shift) ** 2 / 2 - math.log(2 * math.pi) / 2
    top = log_ndtr(t) + shift * t - shift**2 / 2
    far = top + np.log(-np.expm1(np.where(near, -1.0, log_ndtr(t - shift) - top)))
    return np.where(near, close, far)


def _distinct(values: int, prior: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Different probabilities of the possible values, and how many values have each."""
    if prior is None:
        return np.array([1 / values]), np.array([float(values)])
    weights, counts = np.unique(prior[prior > 0], return_counts=True)
    return weights, counts.astype(np.float64)


def _quadrature(low: float, high: float) -> tuple[FloatArray, FloatArray]:
    """Gauss and Legendre's rule on pieces of one deviation."""
    inner, shares = np.polynomial.legendre.leggauss(NODES)
    edges = np.linspace(low, high, math.ceil(high - low) + 1)
    half = np.diff(edges)[:, None] / 2
    nodes = edges[:-1, None] + half * (inner + 1)
    return nodes.ravel(), (half * shares).ravel()
