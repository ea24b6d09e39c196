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
from typing import ClassVar

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels._zcdp import rho_of_eps, rho_of_geometric, rho_of_stairs
from sievert.errors import MechanismError
from sievert.numerics import log_fraction, number, read_eps, rounded_up

__all__ = [
    "EpsilonOrAlpha",
    "GeometricLaw",
    "NoiseLaw",
    "StaircaseLaw",
    "geometric_log_tail",
    "sample_geometric",
]

# Below this ε powers of what lies below a stair overflow, and stairs are an exponential to the last digit.
TINY_EPS = 1e-90


@dataclass(frozen=True)
class EpsilonOrAlpha:
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

        >>> EpsilonOrAlpha(0.5, None).written, EpsilonOrAlpha(0.5, None, exact_alpha=Fraction(3, 5)).written
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
    """A symmetric law of whole numbers that falls away from 0.

    `is_log_concave` says whether it falls faster and faster: then what several releases show of a value
    falls away on both sides of the likeliest one.
    """

    is_log_concave: ClassVar[bool] = False

    @abstractmethod
    def log_pmf(self, z: FloatArray) -> FloatArray:
        """ln P(noise = z) for whole numbers z."""

    @abstractmethod
    def log_upper(self, k: FloatArray) -> FloatArray:
        """ln P(noise ≥ k) for whole numbers k, with all digits however far out."""

    @cached_property
    def never_moves(self) -> bool:
        """Whether noise other than 0 is rarer than any float."""
        return math.exp(float(self.log_upper(np.ones(1))[0])) == 0

    @abstractmethod
    def eps_of(self, steps: Fraction) -> Fraction | None:
        """The smallest ε for answers so many steps apart, never below the true one; None where none is."""

    def nats_of(self, steps: Fraction) -> float:
        """The smallest ε for answers so many steps apart, to the last digits of a float; inf: none is."""
        found = self.eps_of(steps)
        return math.inf if found is None else float(found)

    def rho_of(self, steps: int) -> Fraction:
        """The ρ of a cell that moves by so many steps (D_a ≤ a·ρ for all orders a), rounded up at 10^-12.

        Cells, queries and independent releases add up. By itself what any law of the same ε has at most.
        """
        found = self.eps_of(Fraction(abs(steps)))
        if found is None:
            raise MechanismError(f"{self.words()} keeps no ε, from which its ρ would follow")
        return rho_of_eps(found)

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

    level: EpsilonOrAlpha
    is_log_concave: ClassVar[bool] = True

    def log_pmf(self, z: FloatArray) -> FloatArray:
        eps = self.level.eps
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.asarray(np.log(np.tanh(eps / 2)) - np.where(z == 0, 0.0, eps * np.abs(z)))

    def log_upper(self, k: FloatArray) -> FloatArray:
        return geometric_log_tail(np.asarray(k, dtype=np.float64), self.level.eps)

    def eps_of(self, steps: Fraction) -> Fraction:
        return self.level.times(steps)

    def nats_of(self, steps: Fraction) -> float:
        # A ratio's ε as a fraction is rounded up; as a float it is a logarithm.
        return float(self.eps_of(steps)) if self.written[0] == "eps" else self.level.eps * float(steps)

    def rho_of(self, steps: int) -> Fraction:
        name, value = self.written
        if name == "alpha" and not value:
            raise MechanismError("alpha is 0; without noise no ρ is large enough")
        return rho_of_geometric(
            value if name == "eps" else None, value if name == "alpha" else None, abs(steps)
        )

    def simulated(self, generator: np.random.Generator, count: int) -> FloatArray:
        return sample_geometric(generator, self.level.eps, count)

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


@dataclass(frozen=True)
class StaircaseLaw(NoiseLaw):
    """Noise that falls by e^-ε once in every Δ steps: P(z) proportional to e^(-ε·⌊(|z| + Δ - r)/Δ⌋).

    A move of up to Δ steps crosses one edge of the staircase at most, so it costs ε and no more, where
    geometric noise spends ε/Δ on every step. Among all laws that add to the answer some staircase has the
    least mean absolute error for sensitivity Δ (Geng and Viswanath 2016, in the discrete setting).

    Attributes
    ----------
    eps : nats for a move of 1 to Δ steps
    sensitivity : Δ, the steps of one stair
    top : r, from 1 to Δ: so many of the steps 0, 1, 2, … lie on the highest stair; by default the one with
        the least mean absolute error. With Δ = 1 the law is geometric.
    """

    eps: Fraction
    sensitivity: int
    top: int = 0

    def __post_init__(self) -> None:
        if not self.top:
            object.__setattr__(self, "top", _best_top(float(self.eps), self.sensitivity))

    @cached_property
    def _further(self) -> float:
        """Weight of all lower stairs on one side, in units of the top's: Δ·e^-ε/(1 - e^-ε)."""
        eps = float(self.eps)
        return _over(self.sensitivity * math.exp(-eps), -math.expm1(-eps))

    @cached_property
    def _log_top(self) -> float:
        """ln P(0): both sides, less the 0 that they share."""
        return -math.log(2 * (self.top + self._further) - 1)

    def level(self, z: FloatArray) -> FloatArray:
        """How many stairs z lies below the top."""
        return np.asarray(np.floor((np.abs(z) + (self.sensitivity - self.top)) / self.sensitivity))

    def log_pmf(self, z: FloatArray) -> FloatArray:
        return np.asarray(self._log_top - float(self.eps) * self.level(np.asarray(z, dtype=np.float64)))

    def log_upper(self, k: FloatArray) -> FloatArray:
        at = np.asarray(k, dtype=np.float64)
        if math.isinf(self._further):
            return np.full(at.shape, math.log(0.5))
        # What is left of the stair that k, or else 1 - k, lies on, and all stairs below it.
        mirrored = np.where(at > 0, at, 1 - at)
        stairs = self.level(mirrored)
        left = self.top + stairs * self.sensitivity - mirrored
        logs = np.log(left + self._further) + self._log_top - float(self.eps) * stairs
        return np.where(at > 0, logs, np.log1p(-np.exp(np.where(at > 0, -1.0, logs))))

    def eps_of(self, steps: Fraction) -> Fraction:
        """ε for every stair that so many steps can cross."""
        return self.eps * math.ceil(steps / self.sensitivity)

    def rho_of(self, steps: int) -> Fraction:
        return rho_of_stairs(self.eps, self.sensitivity, self.top, abs(steps))

    def simulated(self, generator: np.random.Generator, count: int) -> FloatArray:
        eps, top, below = float(self.eps), float(self.top), self._further
        if eps == 0:
            return np.where(generator.random(count) < 0.5, -np.inf, np.inf)
        # One side without 0, or both with it: a place among the top's 2r - 1, or a stair and a place on it.
        stair = 1 + np.floor(generator.standard_exponential(count) / eps)
        place = np.floor(generator.random(count) * self.sensitivity)
        far = top + (stair - 1) * self.sensitivity + place
        near = np.floor(generator.random(count) * (2 * top - 1)) - (top - 1)
        sign = np.where(generator.random(count) < 0.5, -1.0, 1.0)
        on_top = generator.random(count) * (2 * (top + below) - 1) < 2 * top - 1
        return np.asarray(np.where(on_top, near, sign * far))

    def words(self) -> str:
        stairs = f"stairs of {self.sensitivity}, {self.top} on top"
        return f"staircase noise, ε = {_short(self.eps)} ({stairs})"

    @property
    def written(self) -> tuple[str, Fraction]:
        return "eps", self.eps

    @cached_property
    def mean_error(self) -> float:
        return _mean_of_stairs(float(self.eps), self.sensitivity, float(self.top))

    @cached_property
    def deviation(self) -> float:
        eps, width, top = float(self.eps), float(self.sensitivity), float(self.top)
        if eps < TINY_EPS:
            return _over(math.sqrt(2) * width, eps)
        ratio, rest = math.exp(-eps), -math.expm1(-eps)
        # Σ_{k≥1} b^k·(k-1)^j for j = 0, 1, 2.
        none, once, twice = ratio / rest, (ratio / rest) ** 2, ratio**2 * (1 + ratio) / rest**3
        squares = (top - 1) * top * (2 * top - 1) / 6
        squares += width * (top**2 * none + 2 * top * width * once + width**2 * twice)
        squares += width * (width - 1) * (top * none + width * once)
        squares += (width - 1) * width * (2 * width - 1) / 6 * none
        return math.sqrt(2 * squares * math.exp(self._log_top))


def _mean_of_stairs(eps: float, width: int, top: float) -> float:
    """E|z|: the k-th stair below the top holds Δ numbers from r + (k-1)Δ on."""
    if eps < TINY_EPS:
        return _over(float(width), eps)
    below = math.exp(-eps) / -math.expm1(-eps)
    sums = top * (top - 1) / 2 + width * below * (top + width * below + (width - 1) / 2)
    return 2 * sums / (2 * (top + width * below) - 1)


def _best_top(eps: float, width: int) -> int:
    """The r of 1…Δ with the least mean absolute error.

    E|z| is a convex quadratic of r over a rising line, so it falls and then rises: its lowest point is a root
    of a quadratic equation, and the best whole number is next to it.
    """
    if eps == 0:
        return 1
    below = math.exp(-eps) / -math.expm1(-eps)
    # (r²/2 + b·r + c)/(r + b), lowest at r = √(2c - b²) - b with b = Δ·below - ½ and
    # 2c - b² = (Δ·below)² + Δ²·below - ¼; where much lies below, without a difference of large numbers.
    if below < 1:
        lowest = math.sqrt(max(0.0, (width * below) ** 2 + width**2 * below - 0.25)) - (width * below - 0.5)
    else:
        root = math.sqrt(width**2 * (1 + 1 / below) - 0.25 / below / below)
        lowest = (width**2 + width - 0.5 / below) / (width - 0.5 / below + root)
    near = {min(max(math.floor(lowest) + step, 1), width) for step in (-1, 0, 1, 2)}
    return min(sorted(near), key=lambda top: _mean_of_stairs(eps, width, float(top)))


def geometric_log_tail(k: FloatArray, eps: float) -> FloatArray:
    """log P(noise ≥ k): alpha^k/(1+alpha) for k ≥ 0, 1 - alpha^(1-k)/(1+alpha) for k < 0."""
    normaliser = math.log1p(math.exp(-eps))
    with np.errstate(over="ignore"):
        upper = -eps * np.maximum(k, 0.0) - normaliser
        lower = np.log1p(-np.exp(-eps * (1 - np.minimum(k, 0.0)) - normaliser))
    return np.where(k >= 0, upper, lower)


def sample_geometric(generator: np.random.Generator, eps: float, count: int) -> FloatArray:
    """Differences of two geometric draws, P(draw ≥ k) = e^(-eps·k); as floats, since tiny eps draws far."""
    if eps == 0:
        return np.where(generator.random(count) < 0.5, -np.inf, np.inf)
    draws = np.floor(generator.standard_exponential((2, count)) / eps)
    return np.asarray(draws[0] - draws[1])


def _over(above: float, below: float) -> float:
    return above / below if below else math.inf


def _short(value: Fraction) -> str:
    return str(value) if len(str(value)) <= 12 else number(value)
