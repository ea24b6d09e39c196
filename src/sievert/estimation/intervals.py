"""Confidence intervals for a share, exact whatever the sample size."""

from __future__ import annotations

import math

from scipy.special import betaincinv

from sievert.errors import ChannelError

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


def checked_confidence(confidence: object) -> float:
    """A probability strictly between 0 and 1."""
    is_number = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not is_number or not 0 < float(confidence) < 1 or math.isnan(float(confidence)):  # type: ignore[arg-type]
        raise ChannelError(f"confidence is {confidence!r}; it must be between 0 and 1, for instance 0.95")
    return float(confidence)  # type: ignore[arg-type]
