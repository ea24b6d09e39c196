"""Discrete Gaussian noise, P(z) proportional to e^(-z²/2σ²) on the integers, with all digits of its tails.

Its normaliser is a theta function, whose two series (over z, and over frequencies by Poisson's summation)
meet where the fourth term is below 10^-21. Tails are added up term by term where they fall fast; where they
fall slowly they are an integral with the corrections of Euler and Maclaurin.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy import special

from sievert.arrays import FloatArray
from sievert.channels._laws import NoiseLaw, sample_geometric
from sievert.numerics import number

__all__ = ["GaussianLaw"]

# Beyond the sixth term both series of the normaliser are below e^(-36π) of it.
TERMS = np.arange(1.0, 7.0)
# At most this many terms of a tail that falls fast: the next is below 2^-56 of the first.
FAST_TERMS = np.arange(80.0)
# A tail falls fast where σ is below the first, or neighbours differ by more than e^(the second) in ratio.
NARROW, FAST = 8.0, 0.5
# σ² from which a sum of discrete Gaussians is one, up to rounding: e^-4π² is below 2^-53.
SMOOTH = 4.0
# ln of what is left out of a sum; how many terms one has; deviations that they cover; a difference of
# logarithms above which two tails are subtracted term by term; and blocks of a sum over one of two cells.
FARTHEST, LONGEST_SUM, SPREAD, CLOSE, MOST_BLOCKS = 45.0, 1_000_000, 10, -1e-4, 20_000
# Digits of a σ that is a root, beyond those of a float.
DIGITS = 10**30
BERNOULLI = [Fraction(n, d) for n, d in ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6))]
# -B_2m(1/2)/(2m)! for m = 1…7. With σ ≥ 8 and a fall of e^(1/2) at most, the next term is below 10^-17.
CORRECTIONS = [
    float((1 - Fraction(2) ** (1 - 2 * m)) * value / math.factorial(2 * m))
    for m, value in enumerate(BERNOULLI, start=1)
]


@dataclass(frozen=True)
class GaussianLaw(NoiseLaw):
    """P(z) proportional to e^(-z²/2σ²) (Canonne, Kamath and Steinke 2020).

    Attributes
    ----------
    sigma : σ in steps, above 0; the standard deviation is a little less
    variance : σ² as it is drawn; by default the square of sigma
    """

    sigma: Fraction
    variance: Fraction = Fraction(0)
    is_log_concave: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.variance:
            object.__setattr__(self, "variance", self.sigma**2)

    @classmethod
    def of_variance(cls, variance: Fraction) -> GaussianLaw:
        """The law with a rational σ²; σ is a root, to more digits than a float has.

        >>> GaussianLaw.of_variance(Fraction(10)).rho_of(1)
        Fraction(1, 20)
        """
        below = variance.denominator * DIGITS
        root = math.isqrt(variance.numerator * variance.denominator * DIGITS**2)
        return cls(Fraction(root, below), variance)

    @cached_property
    def squared(self) -> float:
        """σ²."""
        return float(self.variance)

    @cached_property
    def _theta(self) -> tuple[float, float]:
        """ln Σ_z e^(-z²/2σ²), and the variance."""
        squared = self.squared
        if 2 * math.pi * squared < 1:
            weights = np.exp(-(TERMS**2) / (2 * squared))
            total = 1 + 2 * float(weights.sum())
            return math.log(total), 2 * float((TERMS**2 * weights).sum()) / total
        # Poisson: σ√(2π)·(1 + 2Σ_m e^(-2π²σ²m²)), and the variance by its derivative.
        weights = np.exp(-2 * math.pi**2 * squared * TERMS**2)
        total = 1 + 2 * float(weights.sum())
        missing = 8 * math.pi**2 * squared * float((TERMS**2 * weights).sum()) / total
        return math.log(2 * math.pi * squared) / 2 + math.log(total), squared * (1 - missing)

    def log_pmf(self, z: FloatArray) -> FloatArray:
        at = np.asarray(z, dtype=np.float64)
        return np.asarray(-at * at / (2 * self.squared) - self._theta[0])

    def log_upper(self, k: FloatArray) -> FloatArray:
        at = np.asarray(k, dtype=np.float64)
        mirrored = np.where(at > 0, at, 1 - at)
        logs = np.empty_like(mirrored)
        fast = (mirrored > FAST * self.squared) | (self.squared < NARROW**2)
        logs[fast] = self._added_up(mirrored[fast])
        logs[~fast] = self._integrated(mirrored[~fast])
        logs -= self._theta[0]
        with np.errstate(divide="ignore"):
            return np.where(at > 0, logs, np.log1p(-np.exp(np.where(at > 0, -1.0, logs))))

    def _added_up(self, k: FloatArray) -> FloatArray:
        """ln Σ_{z≥k} e^(-z²/2σ²) = -k²/2σ² + ln Σ_j e^(-(2k+j)j/2σ²)."""
        falls = np.exp(-(2 * k[:, None] + FAST_TERMS) * FAST_TERMS / (2 * self.squared))
        return np.asarray(np.log(falls.sum(axis=1)) - k * k / (2 * self.squared))

    def _integrated(self, k: FloatArray) -> FloatArray:
        """The integral from k - 1/2 on, and -Σ_m B_2m(1/2)/(2m)!·f^(2m-1)(k - 1/2)."""
        sigma = math.sqrt(self.squared)
        start = (k - 0.5) / sigma
        total = sigma * math.sqrt(math.pi / 2) * special.erfcx(start / math.sqrt(2))
        for m, factor in enumerate(CORRECTIONS, start=1):
            # f^(n)(x) = (-1/σ)^n·He_n(x/σ)·f(x), with n odd.
            total -= factor * special.eval_hermitenorm(2 * m - 1, start) / sigma ** (2 * m - 1)
        return np.asarray(np.log(total) - start * start / 2)

    def eps_of(self, steps: Fraction) -> Fraction | None:
        """None: far out in the tails the odds of any two answers grow without bound."""
        return Fraction(0) if steps == 0 else None

    def rho_of(self, steps: int) -> Fraction:
        """Exactly d²/2σ² (Canonne, Kamath and Steinke, Thm 4)."""
        return Fraction(steps * steps) / (2 * self.variance)

    def delta_of(self, moves: Sequence[int], eps: float) -> float | None:
        """δ(ε) of a table whose cells move by so many steps each; None for more than two that move apart.

        The loss is (2⟨Δ, z⟩ + |Δ|²)/2σ² and more than ε for large ⟨Δ, z⟩. Cells that move alike are one cell
        with the noise of their sum. Of two that do not, one is summed over, and the other keeps what is left
        of ε; a wide one by blocks, each at its largest loss, which only raises δ. Else within rounding, about
        10^-12 of δ.
        """
        sizes = sorted((abs(steps) for steps in moves if steps), reverse=True)
        if not sizes:
            return 0.0
        if sizes[0] == sizes[-1] and (len(sizes) == 1 or self.squared >= SMOOTH):
            together = self if len(sizes) == 1 else GaussianLaw.of_variance(len(sizes) * self.variance)
            return float(together._moved(len(sizes) * sizes[0], np.array([float(eps)]))[0])
        if len(sizes) > 2:
            return None
        reach = math.ceil(math.sqrt(2 * FARTHEST * self.squared)) + 1
        width = 1 + 2 * reach // MOST_BLOCKS
        other = np.arange(-float(reach), reach + 1, width)
        left = eps - sizes[1] * (2 * (other + width - 1) + sizes[1]) / (2 * self.squared)
        if width == 1:
            chances = np.exp(self.log_pmf(other))
        else:
            chances = np.exp(self.log_upper(other)) - np.exp(self.log_upper(other + width))
        return float(chances @ self._moved(sizes[0], left))

    def _moved(self, steps: int, eps: FloatArray) -> FloatArray:
        """P(Z > εσ²/d - d/2) - e^ε·P(Z > εσ²/d + d/2), with its digits where the two are close."""
        first = np.floor(eps * (self.squared / steps) - steps / 2) + 1
        here, there = self.log_upper(first), self.log_upper(first + steps)
        with np.errstate(over="ignore"):
            found = np.exp(here) * -np.expm1(np.minimum(eps + there - here, 0.0))
        close = np.flatnonzero(eps + there - here > CLOSE)
        for i in close.tolist() if math.sqrt(self.squared) <= LONGEST_SUM / SPREAD else []:
            # Term by term Σ p(z)·(1 - e^(ε - loss)) up to where nothing is left.
            start = float(first[i])
            count = math.sqrt(start * start + 2 * FARTHEST * self.squared) - start
            at = start + np.arange(min(max(count, 2.0), LONGEST_SUM))
            loss = steps * (2 * at + steps) / (2 * self.squared)
            found[i] = float(np.exp(self.log_pmf(at)) @ -np.expm1(eps[i] - loss))
        return np.asarray(found)

    def simulated(self, generator: np.random.Generator, count: int) -> FloatArray:
        """By rejection from geometric noise of scale t: accepted with e^(-(|y| - σ²/t)²/2σ²)."""
        scale = math.floor(math.sqrt(self.squared)) + 1
        found = np.empty(0)
        while len(found) < count:
            proposed = sample_geometric(generator, 1 / scale, 2 * (count - len(found)) + 16)
            excess = (np.abs(proposed) - self.squared / scale) ** 2 / (2 * self.squared)
            kept = proposed[generator.random(len(proposed)) < np.exp(-excess)]
            found = np.concatenate([found, kept])
        return found[:count]

    def words(self) -> str:
        return f"discrete Gaussian noise, σ = {number(self.sigma)}"

    @property
    def written(self) -> tuple[str, Fraction]:
        return ("sigma", self.sigma) if self.variance == self.sigma**2 else ("variance", self.variance)

    @cached_property
    def deviation(self) -> float:
        return math.sqrt(self._theta[1])

    @cached_property
    def mean_error(self) -> float:
        squared = self.squared
        if squared < NARROW**2:
            terms = np.arange(1.0, len(FAST_TERMS))
            half = float((terms * np.exp(-(terms**2) / (2 * squared))).sum())
        else:
            # Euler–Maclaurin at 0: σ² - Σ_m |B_2m|/(2^m·m!)/σ^(2m-2).
            half = squared - sum(
                float(abs(value) / (2**m * math.factorial(m))) / squared ** (m - 1)
                for m, value in enumerate(BERNOULLI, start=1)
            )
        return 2 * half * math.exp(-self._theta[0])
