"""Discrete Gaussian noise, P(z) ∝ e^(-z²/2σ²) on the integers (Canonne, Kamath, Steinke 2020).

Up to a width of 1024 by one lazy uniform number and enclosed tail sums; beyond, by rejection from discrete
Laplace noise of scale t = ⌊σ⌋ + 1, accepted with probability e^(-(|y| - σ²/t)²/2σ²).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import MechanismError
from sievert.numerics.checks import brief
from sievert.sampling.acceptance import accepted, first_accepted, fixed_point
from sievert.sampling.base import NoiseSampler, Timing
from sievert.sampling.enclosures import Enclosure, Ratio, ceiling, exp_neg, quotient, rational
from sievert.sampling.laplace import laplace_noise
from sievert.sampling.lazy import LazyTable, count_below

__all__ = ["DiscreteGaussian", "discrete_gaussian"]

IntArray = NDArray[np.int64]
WIDEST_TABLE = 1024
WIDEST = 2**40
# At least this share of the proposals is accepted once σ ≥ 1024 (about 0.76).
ACCEPTANCE = 0.7
ACCEPT = 32


def discrete_gaussian(
    sigma: object = None,
    *,
    variance: object = None,
    timing: Timing = "fixed",
    insecure_rng: object = None,
) -> DiscreteGaussian:
    """Exact Gaussian noise on the integers; give rational `sigma`, or rational `variance` = σ².

    For a query of sensitivity Δ it satisfies ρ-zCDP with ρ = Δ²/2σ². Its variance is at most σ².

    >>> discrete_gaussian(2, insecure_rng=1).noise(6)
    array([-2, -1, -3,  0, -3, -2])
    """
    if (sigma is None) == (variance is None):
        raise MechanismError("give exactly one of sigma and variance = sigma²")
    name, value = ("sigma", sigma) if sigma is not None else ("variance", variance)
    number = rational(value, name)
    if number < 0:
        raise MechanismError(f"{name} is {brief(value)}; it must be ≥ 0")
    squared = number * number if name == "sigma" else number
    if squared > WIDEST**2:
        raise MechanismError(f"{name} is {brief(value)}; a width beyond 2^40 needs larger units")
    return DiscreteGaussian(squared, timing, insecure_rng)


class DiscreteGaussian(NoiseSampler):
    """Gaussian noise on the integers; see `discrete_gaussian`."""

    kind = "discrete Gaussian"

    def __init__(self, squared: Fraction, timing: Timing = "fixed", insecure_rng: object = None) -> None:
        super().__init__(timing, insecure_rng)
        self.squared = squared

    @property
    def parameters(self) -> dict[str, Any]:
        return {"sigma_squared": str(self.squared)}

    @property
    def variance(self) -> float:
        """Σ z²·P(z); σ² to all digits from σ = 4 on."""
        squared = float(self.squared)
        if squared > 16 or squared == 0:
            return squared
        z = np.arange(-60, 61, dtype=np.float64)
        weights = np.exp(-z * z / (2 * squared))
        return float((weights * z * z).sum() / weights.sum())

    def noise(self, size: int) -> IntArray:
        """`size` independent draws."""
        if self.squared == 0:
            return np.zeros(size, dtype=np.int64)
        if self.squared <= WIDEST_TABLE**2:
            return _table(self.squared).draw(self.source.reserve(size), self.source, self.timing)
        return first_accepted(size, self._proposals, np.empty(0, np.int64), ACCEPTANCE, self.timing)

    def _proposals(self, count: int) -> IntArray:
        lanes = self.source.reserve(count)
        scale = math.isqrt(math.floor(self.squared)) + 1
        proposed = laplace_noise(Ratio(eps=Fraction(1, scale))).draw(lanes, self.source, self.timing)
        squared = float(self.squared)
        sizes = np.abs(proposed).astype(np.float64)
        g = (sizes - squared / scale) ** 2 / (2 * squared)
        # |y| - σ²/t is off by 3 units of |y| + σ²/t, its square by twice that, and 4 more operations follow.
        error = (sizes + squared / scale) ** 2 / squared * (8 * 2.0**-53)
        low, narrow = fixed_point(g, error)

        def exact(lane: int, bits: int) -> Enclosure:
            value = (abs(int(proposed[lane])) - self.squared / scale) ** 2 / (2 * self.squared)
            scaled = value * (1 << bits)
            return math.floor(scaled), math.ceil(scaled)

        return proposed[accepted(low, narrow, exact, lanes, self.source, ACCEPT)]


@lru_cache(maxsize=16)
def _tails(squared: Fraction, bits: int) -> list[Enclosure]:
    """P(Z ≥ m), m = 0, 1, …, as long as they matter at this precision; the last is a bound of all further."""
    guard = 64 + 2 * (int(squared) + 1).bit_length()
    inner = bits + guard
    rate = 1 / (2 * squared)
    step_low, step_high = exp_neg(2 * rate.numerator, rate.denominator, inner)
    low, high = exp_neg(rate.numerator, rate.denominator, inner)  # e^(-(2z+1)/2σ²), from z = 0
    weights = [(1 << inner, 1 << inner)]
    while weights[-1][1] > 1 << (guard // 2):
        weights.append((weights[-1][0] * low >> inner, -((-weights[-1][1] * high) >> inner)))
        low, high = low * step_low >> inner, -((-high * step_high) >> inner)
    # Beyond the last weight w_R: Σ_{z>R} e^(-z²/2σ²) ≤ w_R·Σ_{k≥1} e^(-kR/σ²) ≤ w_R·σ²/R.
    last = len(weights) - 1
    sums = [(0, math.ceil(weights[-1][1] * squared / last))]
    for least, most in reversed(weights):
        sums.append((sums[-1][0] + least, sums[-1][1] + most))
    sums.reverse()
    # All of it: Σ_{z≥0} + Σ_{z≥1}.
    total = sums[0][0] + sums[1][0], sums[0][1] + sums[1][1]
    return [
        quotient(part, total, bits) if part[0] else (0, ceiling(part[1] << bits, total[0])) for part in sums
    ]


@lru_cache(maxsize=16)
def _table(squared: Fraction) -> LazyTable:
    """Outcomes by both tails, as for Laplace noise."""

    def tail(m: int, bits: int) -> Enclosure:
        tails = _tails(squared, bits)
        return tails[m] if m < len(tails) else (0, tails[-1][1])

    def resolve(prefix: int, bits: int) -> int | None:
        upper = prefix >> (bits - 1)
        size = count_below((1 << bits) - 1 - prefix if upper else prefix, bits, tail)
        return None if size is None else size if upper else -size

    guard = 64
    while True:
        enclosures = _tails(squared, 64 + guard)[1:]
        floors: list[int] = []
        for low, high in enclosures:
            floor = low >> guard
            if high > (floor + 2) << guard:
                break
            floors.append(floor)
            if not floor:
                # The word 0 stays undecided: it is how the infinite tail is reached.
                words = np.array(floors, dtype=np.uint64)
                both = np.concatenate([words[::-1], np.uint64(2**64 - 2) - words])
                return LazyTable(both, np.arange(-len(floors), len(floors) + 1), resolve)
        guard *= 2
