"""The trade-off between false alarms and misses that a claim of privacy implies."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from sievert.channels.tradeoff import Tradeoff
from sievert.limits.composition import repeated_response, revealed

__all__ = ["from_profile", "gaussian_tradeoff", "response_tradeoff"]

FloatArray = NDArray[np.float64]
CURVE_POINTS = 201


def response_tradeoff(eps: float, delta: float, releases: int = 1) -> Tradeoff:
    """The exact trade-off of k releases, each (ε, δ)-private: outcomes added in order of falling loss.

    >>> float(response_tradeoff(math.log(3), 0.0).at(0.25))
    0.25
    """
    first, _ = repeated_response(eps, releases)
    second = first[::-1] if not math.isinf(eps) else np.array([0.0])
    lost = revealed(delta, releases)
    # Ordered by loss: "alarm" (the first input) on the outcomes most in favour of it. What is revealed
    # outright costs no false alarm; what reveals the second input is never an alarm.
    power = np.concatenate([[0.0], np.cumsum(first)])
    alarms = np.concatenate([[0.0], np.cumsum(second)])
    false_alarm = np.append((1 - lost) * np.minimum(alarms, 1.0), 1.0)
    miss = np.append(1 - lost - (1 - lost) * np.minimum(power, 1.0), 0.0)
    if math.isinf(eps):
        return Tradeoff(np.array([0.0, 1.0]), np.zeros(2))
    return Tradeoff(false_alarm, np.maximum(miss, 0.0))


def gaussian_tradeoff(mu: float) -> Tradeoff:
    """G_μ(α) = Φ(Φ⁻¹(1-α) - μ) (Dong, Roth and Su, Def 2.6), at points dense near both ends."""
    if math.isinf(mu):
        return Tradeoff(np.array([0.0, 1.0]), np.zeros(2))
    # Thresholds from one mean to the other and 8 deviations beyond, the best one (μ/2) among them.
    cut = mu / 2 + np.linspace(-8 - mu / 2, 8 + mu / 2, 2 * CURVE_POINTS + 1)
    alarms = ndtr(-cut[::-1])
    grid = np.concatenate([[0.0], alarms, [1.0]])
    return Tradeoff(grid, np.concatenate([[1.0], ndtr(cut[::-1] - mu), [0.0]]))


def from_profile(eps: ArrayLike, delta: ArrayLike, *, exact: bool = False) -> Tradeoff:
    """The trade-off that pairs (ε, δ) imply: max of 1-δ-e^ε·α and e^-ε·(1-δ-α) over them, at least 0."""
    levels, lost = np.atleast_1d(np.asarray(eps, float)), np.atleast_1d(np.asarray(delta, float))
    finite = np.isfinite(levels)
    levels, lost = levels[finite], lost[finite]
    inner = np.concatenate([np.linspace(0, 1, CURVE_POINTS), np.logspace(-9, -0.01, CURVE_POINTS)])
    grid = np.unique(np.concatenate([inner, corners(levels, lost)]))
    best = np.zeros(len(grid))
    for level, one in zip(levels, lost, strict=True):
        growth = math.exp(min(level, 700.0))
        best = np.maximum(best, np.maximum(1 - one - growth * grid, (1 - one - grid) / growth))
    return Tradeoff(grid, best, exact)


def corners(levels: Iterable[float], lost: Iterable[float]) -> FloatArray:
    """Where the two lines of one (ε, δ) meet: (1-δ)/(1+e^ε), the point of its advantage."""
    found = [(1 - one) / (1 + math.exp(min(level, 700.0))) for level, one in zip(levels, lost, strict=True)]
    return np.array(found, dtype=np.float64)
