"""The trade-off between false alarms and misses that a claim of privacy implies."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from sievert.channels.tradeoff import Tradeoff
from sievert.limits.composition import composed_delta, repeated_response, revealed

__all__ = ["GaussianTradeoff", "ImpliedTradeoff", "from_profile", "gaussian_tradeoff", "response_tradeoff"]

FloatArray = NDArray[np.float64]
CURVE_POINTS = 201


def response_tradeoff(eps: float, delta: float, releases: int = 1) -> Tradeoff:
    """The exact trade-off of k releases, each (ε, δ)-private: outcomes added in order of falling loss.

    >>> float(response_tradeoff(math.log(3), 0.0).at(0.25))
    0.25
    """
    if math.isinf(eps):
        return Tradeoff(np.array([0.0, 1.0]), np.zeros(2))
    first, _ = repeated_response(eps, releases)
    lost = revealed(delta, releases)
    # Ordered by loss: "alarm" (the first input) on the outcomes most in favour of it. What is revealed
    # outright costs no false alarm; what reveals the second input is never an alarm.
    alarms = np.minimum(np.concatenate([[0.0], np.cumsum(first[::-1])]), 1.0)
    # What is missed is summed from its own small end, which is the same sum backwards.
    false_alarm = np.append((1 - lost) * alarms, 1.0)
    apart = float(composed_delta(eps, delta, releases, 0.0)[0])
    return Tradeoff(false_alarm, np.append((1 - lost) * alarms[::-1], 0.0), total_variation=apart)


@dataclass(frozen=True, eq=False)
class GaussianTradeoff(Tradeoff):
    """G_μ(α) = Φ(Φ⁻¹(1-α) - μ) (Dong, Roth and Su, Def 2.6), exactly; the points are for pictures."""

    mu: float = 0.0

    def at(self, false_alarm: ArrayLike) -> FloatArray:
        shares = np.asarray(false_alarm, dtype=np.float64)
        return np.asarray(ndtr(-ndtri(shares) - self.mu), dtype=np.float64)

    @property
    def advantage(self) -> float:
        return math.erf(self.mu / math.sqrt(8))

    def to_dict(self) -> dict[str, Any]:
        """The points, as of every trade-off."""
        return {name: value for name, value in super().to_dict().items() if name != "mu"}


def gaussian_tradeoff(mu: float) -> Tradeoff:
    """The trade-off between two Gaussians whose means are μ deviations apart.

    >>> curve = gaussian_tradeoff(1.0)
    >>> round((1 - float(curve.at(1e-10))) * 1e8, 4), round(curve.advantage, 6)
    (4.1303, 0.382925)
    """
    if math.isinf(mu):
        return Tradeoff(np.array([0.0, 1.0]), np.zeros(2))
    # Thresholds from one mean to the other and 8 deviations beyond, the best one (μ/2) among them.
    cut = mu / 2 + np.linspace(-8 - mu / 2, 8 + mu / 2, 2 * CURVE_POINTS + 1)
    grid = np.concatenate([[0.0], ndtr(-cut[::-1]), [1.0]])
    return GaussianTradeoff(grid, np.concatenate([[1.0], ndtr(cut[::-1] - mu), [0.0]]), mu=mu)


@dataclass(frozen=True, eq=False)
class ImpliedTradeoff(Tradeoff):
    """What pairs (ε, δ) imply: max of 1-δ-e^ε·α and e^-ε·(1-δ-α) over them, at least 0.

    The curve is the largest of these lines, so no chord overstates what is missed.
    """

    eps: FloatArray = field(default_factory=lambda: np.zeros(0))
    delta: FloatArray = field(default_factory=lambda: np.zeros(0))

    def at(self, false_alarm: ArrayLike) -> FloatArray:
        shares = np.asarray(false_alarm, dtype=np.float64)
        return np.asarray(_highest_line(self.eps, self.delta, shares.ravel()).reshape(shares.shape))

    @property
    def advantage(self) -> float:
        # The curve is its own mirror image, so right minus false alarms are most where it equals its share:
        # 1 - 2(1-δ)/(1+e^ε) = tanh(ε/2) + 2δ/(1+e^ε).
        with np.errstate(over="ignore"):
            found = np.tanh(self.eps / 2) + 2 * self.delta / (1 + np.exp(self.eps))
        return float(np.min(found, initial=1.0))

    def to_dict(self) -> dict[str, Any]:
        """The points, as of every trade-off."""
        return {name: value for name, value in super().to_dict().items() if name not in ("eps", "delta")}


def from_profile(eps: ArrayLike, delta: ArrayLike, *, exact: bool = False) -> Tradeoff:
    """The trade-off that pairs (ε, δ) imply."""
    levels, lost = np.atleast_1d(np.asarray(eps, float)), np.atleast_1d(np.asarray(delta, float))
    finite = np.isfinite(levels)
    levels, lost = levels[finite], lost[finite]
    inner = np.concatenate([np.linspace(0, 1, CURVE_POINTS), np.logspace(-9, -0.01, CURVE_POINTS)])
    grid = np.unique(np.concatenate([inner, corners(levels, lost)]))
    return ImpliedTradeoff(grid, _highest_line(levels, lost, grid), exact, eps=levels, delta=lost)


def _highest_line(levels: FloatArray, lost: FloatArray, shares: FloatArray) -> FloatArray:
    best = np.zeros(len(shares))
    for level, one in zip(levels, lost, strict=True):
        growth = math.exp(min(level, 700.0))
        best = np.maximum(best, np.maximum(1 - one - growth * shares, (1 - one - shares) / growth))
    return best


def corners(levels: Iterable[float], lost: Iterable[float]) -> FloatArray:
    """Where the two lines of one (ε, δ) meet: (1-δ)/(1+e^ε), the point of its advantage."""
    found = [(1 - one) / (1 + math.exp(min(level, 700.0))) for level, one in zip(levels, lost, strict=True)]
    return np.array(found, dtype=np.float64)
