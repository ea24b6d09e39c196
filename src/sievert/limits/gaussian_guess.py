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

__all__ = ["simplex_ends", "simplex_guess"]

FloatArray = NDArray[np.float64]
# Deviations from a mean beyond which a Gaussian weighs less than 1e-32.
REACH = 12.0
# Nodes of the quadrature for each deviation; everything that is integrated varies over about one.
NODES = 24
# Corners this many deviations apart are never confused as far as floats can tell.
# A handicap whose square is still a float; nobody makes up for so much.
HOPELESS = 1e150
CERTAIN = 60.0


def simplex_ends(mu: float, values: int, prior: FloatArray | None = None) -> Ends:
    """`simplex_guess`, its difference from the blind guess, and 1 minus it."""
    guess = simplex_guess(mu, values, prior)
    if values == 2 and prior is None:
        return Ends(guess, math.erf(mu / math.sqrt(8)) / 2, float(ndtr(-mu / 2)))
    blind = 1 / values if prior is None else float(prior.max())
    return Ends(guess, guess - blind, 1 - guess)


def simplex_guess(mu: float, values: int, prior: FloatArray | None = None) -> float:
    """Best guess among corners of a simplex with side μ, seen through unit Gaussian noise.

    Σ_j π_j ∫ φ(s - s_j - a)·Π_{i≠j} Φ(s - s_i) ds with a = μ/√2 and s_j = ln(π_j/max π)/a: value j wins where
    its coordinate, the only one with mean a, beats all others by their handicaps.

    >>> round(simplex_guess(1.0, 2), 6)              # Φ(1/2)
    0.691462
    """
    weights, counts = _distinct(values, prior)
    blind = float(weights.max())
    if mu == 0 or counts.sum() == 1:
        return blind
    shift = mu / math.sqrt(2)
    if shift > CERTAIN:
        return 1.0
    if values == 2 and prior is None:
        return float(ndtr(mu / 2))
    with np.errstate(over="ignore"):
        handicaps = np.maximum(np.log(weights / blind) / shift, -HOPELESS)
    low = max(-REACH, shift + float(handicaps.min()) - REACH)
    nodes, parts = _quadrature(low, shift + REACH)
    behind = log_ndtr(nodes - handicaps[:, None])
    won = np.exp(counts @ behind - behind - (nodes - handicaps[:, None] - shift) ** 2 / 2)
    found = float((counts * weights) @ (won @ parts)) / math.sqrt(2 * math.pi)
    return min(1.0, max(blind, found))


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
