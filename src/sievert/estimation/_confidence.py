"""Confidence: the level that is asked for, and exact ends of an interval for a share."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaincinv, erfcinv, erfinv

from sievert.arrays import FloatArray
from sievert.errors import EstimationError
from sievert.numerics import abbreviated, probability

__all__ = [
    "checked_confidence",
    "normal_reach",
    "share_above",
    "share_below",
    "shares_above",
    "shares_below",
]


def shares_above(successes: FloatArray, trials: int, risk: float) -> FloatArray:
    """`share_above` of several numbers of successes at once."""
    hits = np.asarray(successes, dtype=np.float64)
    found = betaincinv(np.maximum(hits, 1), trials - np.maximum(hits, 1) + 1, risk)
    return np.where(hits == 0, 0.0, found)


def shares_below(successes: FloatArray, trials: int, risk: float) -> FloatArray:
    """`share_below` of several numbers of successes at once."""
    hits = np.asarray(successes, dtype=np.float64)
    found = betaincinv(np.minimum(hits, trials - 1) + 1, trials - np.minimum(hits, trials - 1), 1 - risk)
    return np.where(hits == trials, 1.0, found)


def share_above(successes: int, trials: int, risk: float) -> float:
    """Clopper and Pearson's lower end: below the true share except with probability at most `risk`.

    >>> round(share_above(9, 10, 0.05), 6)
    0.605836
    """
    return 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, risk))


def share_below(successes: int, trials: int, risk: float) -> float:
    """Clopper and Pearson's upper end: above the true share except with probability at most `risk`.

    >>> round(share_below(0, 100, 0.05), 6)          # 1 - 0.05^(1/100)
    0.029513
    """
    return 1.0 if successes == trials else float(betaincinv(successes + 1, trials - successes, 1 - risk))


def checked_confidence(confidence: object, argument: str = "confidence") -> float:
    """A probability strictly between 0 and 1."""
    level = probability(argument, confidence, EstimationError)
    if not 0 < level < 1:
        raise EstimationError(
            f"{argument} is {abbreviated(confidence)}; it must be between 0 and 1, such as 0.95"
        )
    return level


def normal_reach(level: float) -> float:
    """How many standard deviations around its mean hold a normal number with this probability.

    >>> round(normal_reach(0.95), 6)
    1.959964
    """
    # Each form keeps the digits of the smaller of the two, the probability within and the one outside.
    return math.sqrt(2) * float(erfinv(level) if level < 0.5 else erfcinv(1 - level))
