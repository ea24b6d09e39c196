"""Confidence intervals for a share, exact whatever the sample size."""

from __future__ import annotations

from scipy.special import betaincinv

from sievert.errors import EstimationError
from sievert.numerics.checks import brief, probability

__all__ = ["checked_confidence", "share_above", "share_below"]


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
        raise EstimationError(f"{argument} is {brief(confidence)}; it must be between 0 and 1, such as 0.95")
    return level
