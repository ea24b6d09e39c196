"""Mechanisms that many releases may be, and how well they let an attacker guess: lower ends for several
releases.

Each release is ε-private by itself: randomised response about the value, or about one public bit of it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import binom

__all__ = ["coded_response_guess", "repeated_response_guess"]

FloatArray = NDArray[np.float64]
# Bits that are counted; fewer releases are a lower bound.
MOST_BITS = 1_000_000


def repeated_response_guess(eps: float, values: int, releases: int) -> float:
    """Best guess among equally likely values after k independent randomised responses: the most frequent one.

    Σ_c P(the truth is answered c times)·P(no other answer occurs more often, ties broken by lot). All terms
    are positive, so nothing is lost to cancellation.

    >>> round(repeated_response_guess(1.0, 5, 1), 6), round(repeated_response_guess(0.5, 2, 10), 6)
    (0.40461, 0.778526)
    """
    if values == 1:
        return 1.0
    truth = 1 / (1 + (values - 1) * math.exp(-eps))
    counts = np.arange(releases + 1)
    likely = binom.pmf(counts, releases, truth)
    total = sum(p * _wins(values - 1, releases - c, c) for c, p in zip(counts.tolist(), likely, strict=True))
    return min(1.0, max(1 / values, float(total)))


def _wins(others: int, draws: int, count: int) -> float:
    """P(none of the other letters beats `count` in so many uniform draws, ties broken by lot).

    With a lot u between 0 and 1 for the truth, a letter that ties loses with probability u. Given the sum,
    letters are Poisson variables, so the probability is a coefficient of (Σ_{i<c} w_i x^i + u·w_c
    x^c)^others, a polynomial in u that Gauss and Legendre's rule integrates exactly.
    """
    if draws == 0:
        return 1.0 if count else 1 / (others + 1)
    if count == 0 or (count == 1 and draws > others):
        # Every other letter would have to stay at the truth's count, or there are too many draws for that.
        return 0.0
    grid = np.arange(draws + 1, dtype=np.float64)
    mean = draws / others
    weights = np.exp(grid * math.log(mean) - mean - gammaln(grid + 1))
    # P(Poisson(draws) = draws), what is conditioned on.
    whole = math.exp(draws * math.log(draws) - draws - math.lgamma(draws + 1))
    most_ties = min(others, draws // count)
    nodes, shares = np.polynomial.legendre.leggauss(most_ties // 2 + 1)
    total = 0.0
    for u, share in zip((nodes + 1) / 2, shares / 2, strict=True):
        series = np.where(grid < count, weights, np.where(grid == count, u * weights, 0.0))
        total += share * float(_power(series, others)[draws])
    return min(1.0, total / whole)


def _power(series: FloatArray, power: int) -> FloatArray:
    """A power of a series, cut to its length, by repeated squaring."""
    size = len(series)
    total = np.zeros(size)
    total[0] = 1.0
    while power:
        if power & 1:
            total = np.convolve(total, series)[:size]
        power >>= 1
        if power:
            series = np.convolve(series, series)[:size]
    return total


def coded_response_guess(eps: float, values: int, releases: int) -> float:
    """Guess among equally likely values when each release answers one public random bit of the value.

    The bits are a random code and randomised response is its noise, so the value is decoded as the nearest
    code word: Σ_t P(t bits answered wrongly)·P(every other word is farther away than t, ties broken by
    lot). With few values and large ε randomised response about the value is better; with many values this
    is.

    >>> round(coded_response_guess(0.1, 5, 1000), 4) > round(repeated_response_guess(0.1, 5, 100), 4)
    True
    """
    bits = min(releases, MOST_BITS)
    wrong = 1 / (1 + math.exp(eps))
    errors = np.arange(bits + 1)
    likely = binom.pmf(errors, bits, wrong)
    # Words of other values are at a distance like that of fair coins.
    farther, tied = binom.sf(errors, bits, 0.5), binom.pmf(errors, bits, 0.5)
    # ∫ (S + u·f)^(v-1) du over lots u is ((S+f)^v - S^v)/(v·f); where f is 0 it is S^(v-1).
    with np.errstate(divide="ignore", invalid="ignore"):
        whole = np.log(farther + tied)
        grown = -np.expm1(values * np.log1p(-np.minimum(tied / (farther + tied), 1.0)))
        integral = np.exp(values * whole) * grown / (values * tied)
        plain = np.exp((values - 1) * np.log(farther))
    wins = np.where(tied > 1e-300, integral, plain)
    return min(1.0, float(np.sum(likely * np.clip(np.nan_to_num(wins), 0.0, 1.0))))
