"""Laws of noise on the integers: what is added, independently, to every cell of a table or to a sum.

Each law is symmetric, falls away from 0, and is known by the logarithm of its probabilities and of its tails,
so that nothing is lost far out. Two answers c steps apart are told apart by at most `eps_of(c)`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from sievert.arrays import FloatArray
from sievert.numerics import log_fraction, number, read_eps, rounded_up

__all__ = ["GeometricLaw", "NoiseLaw", "Privacy", "log_tail", "two_sided_noise"]


@dataclass(frozen=True)
class Privacy:
    """How far apart one unit makes two outputs.

    Attributes
    ----------
    eps : nats for one unit
    alpha : e^-eps as a fraction, where the channel's entries are fractions of it
    exact_eps, exact_alpha : the one of them that was given, as it was written: the law that is drawn from
    """

    eps: float
    alpha: Fraction | None
    exact_eps: Fraction | None = None
    exact_alpha: Fraction | None = None

    @property
    def written(self) -> tuple[str, Fraction]:
        """The parameter that was given, by its name.

        >>> Privacy(0.5, None).written, Privacy(0.5, None, exact_alpha=Fraction(3, 5)).written
        (('eps', Fraction(1, 2)), ('alpha', Fraction(3, 5)))
        """
        if self.exact_eps is not None:
            return "eps", self.exact_eps
        alpha = self.alpha if self.exact_alpha is None else self.exact_alpha
        return ("eps", read_eps(self.eps)) if alpha is None else ("alpha", alpha)

    def times(self, units: Fraction) -> Fraction:
        """ε of so many units: exact where eps was given, else a logarithm rounded up."""
        name, value = self.written
        if name == "eps":
            return value * units
        return Fraction(0) if value == 1 else rounded_up(-log_fraction(value) * float(units))


class NoiseLaw(ABC):
    """A symmetric law of whole numbers that falls away from 0."""

    @abstractmethod
    def log_pmf(self, z: FloatArray) -> FloatArray:
        """ln P(noise = z) for whole numbers z."""

    @abstractmethod
    def log_upper(self, k: FloatArray) -> FloatArray:
        """ln P(noise ≥ k) for whole numbers k, with all digits however far out."""

    @abstractmethod
    def eps_of(self, steps: Fraction) -> Fraction | None:
        """The smallest ε for answers so many steps apart, never below the true one; None where none is."""

    def nats_of(self, steps: Fraction) -> float:
        """The smallest ε for answers so many steps apart, to the last digits of a float; inf: none is."""
        found = self.eps_of(steps)
        return math.inf if found is None else float(found)

    @abstractmethod
    def simulated(self, generator: np.random.Generator, count: int) -> FloatArray:
        """Draws in floating point; not for private releases."""

    @abstractmethod
    def words(self) -> str:
        """The law and its parameter, such as "discrete Laplace noise, ε = 1/2"; the step is said after it."""

    @property
    @abstractmethod
    def written(self) -> tuple[str, Fraction]:
        """The parameter that was given, by its name, as it was written."""

    @property
    def reach(self) -> float:
        """The largest noise that is possible; inf where there is none."""
        return math.inf

    @property
    @abstractmethod
    def deviation(self) -> float:
        """Standard deviation."""

    @property
    @abstractmethod
    def mean_error(self) -> float:
        """Mean absolute value."""

    def radius(self, confidence: float) -> int:
        """The least r with P(|noise| ≤ r) ≥ confidence, which is below 1."""
        return self.beyond(math.log1p(-confidence))

    def beyond(self, target: float) -> int:
        """The least r with ln P(|noise| > r) ≤ target."""
        low, high = -1, 1
        while self._outside(high) > target:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._outside(middle) <= target else (middle, high)
        return high

    def _outside(self, radius: int) -> float:
        """ln P(|noise| > radius)."""
        return math.log(2) + float(self.log_upper(np.array([radius + 1.0]))[0])


@dataclass(frozen=True)
class GeometricLaw(NoiseLaw):
    """Two-sided geometric noise, P(z) = (1-α)/(1+α)·α^|z|: the discrete Laplace (Fernandes, Lem 3.6)."""

    level: Privacy

    def log_pmf(self, z: FloatArray) -> FloatArray:
        eps = self.level.eps
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(np.log(np.tanh(eps / 2)) - np.where(z == 0, 0.0, eps * np.abs(z)))

    def log_upper(self, k: FloatArray) -> FloatArray:
        return log_tail(np.asarray(k, dtype=np.float64), self.level.eps)

    def eps_of(self, steps: Fraction) -> Fraction:
        return self.level.times(steps)

    def nats_of(self, steps: Fraction) -> float:
        # A ratio's ε as a fraction is rounded up; as a float it is a logarithm.
        return float(self.eps_of(steps)) if self.written[0] == "eps" else self.level.eps * float(steps)

    def simulated(self, generator: np.random.Generator, count: int) -> FloatArray:
        return two_sided_noise(generator, self.level.eps, count)

    def words(self) -> str:
        name, value = self.level.written
        return f"discrete Laplace noise, {f'alpha = {value}' if name == 'alpha' else f'ε = {_short(value)}'}"

    @property
    def written(self) -> tuple[str, Fraction]:
        return self.level.written

    @cached_property
    def deviation(self) -> float:
        return _over(math.sqrt(2) * math.exp(-self.level.eps / 2), -math.expm1(-self.level.eps))

    @cached_property
    def mean_error(self) -> float:
        return _over(2 * math.exp(-self.level.eps), -math.expm1(-2 * self.level.eps))


def log_tail(k: FloatArray, eps: float) -> FloatArray:
    """log P(noise ≥ k): alpha^k/(1+alpha) for k ≥ 0, 1 - alpha^(1-k)/(1+alpha) for k < 0."""
    normaliser = math.log1p(math.exp(-eps))
    upper = -eps * np.maximum(k, 0.0) - normaliser
    lower = np.log1p(-np.exp(-eps * (1 - np.minimum(k, 0.0)) - normaliser))
    return np.where(k >= 0, upper, lower)


def two_sided_noise(generator: np.random.Generator, eps: float, count: int) -> FloatArray:
    """Differences of two geometric draws, P(draw ≥ k) = e^(-eps·k); as floats, since tiny eps draws far."""
    if eps == 0:
        return np.where(generator.random(count) < 0.5, -np.inf, np.inf)
    draws = np.floor(generator.standard_exponential((2, count)) / eps)
    return np.asarray(draws[0] - draws[1])


def _over(above: float, below: float) -> float:
    return above / below if below else math.inf


def _short(value: Fraction) -> str:
    return str(value) if len(str(value)) <= 12 else number(value)
