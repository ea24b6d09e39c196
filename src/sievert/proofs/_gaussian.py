"""Proof of the best guess among equally likely values seen through Gaussian noise.

The guess grows with every distance between answers (Slepian's interpolation), so answers at most μ apart are
worst as the corners of a simplex, where it is ∫ φ(t)·Φ(t + μ/√2)^(v-1) dt. The trapezoidal rule on a function
that is analytic within a strip has an error that a formula bounds (Trefethen and Weideman, Thm 5.1), so that
a sum of a few dozen terms encloses the integral.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import flint

from sievert.numerics import decimal, eps_in_words
from sievert.proofs._base import Proof
from sievert.proofs._reading import fraction, whole

__all__ = ["MOST_GAUSSIAN_TERMS", "GaussianGuessProof"]

MOST_GAUSSIAN_TERMS = 4_000
LARGEST_SHIFT, LARGEST_VALUES = 100, 10**6
PRECISION = 192
# What the rule and the terms left out may add up to: e^-ERROR.
ERROR = 45.0
DIGITS = 12
# Widths of the strip that are tried.
WIDTHS = tuple(3.0 * 0.8**k for k in range(60))


@dataclass(frozen=True)
class GaussianGuessProof(Proof):
    """lower ≤ the best guess among v equally likely answers, any two μ standard deviations apart ≤ upper.

    The upper end holds for answers at most that far apart. `step` and `terms` are those of the trapezoidal
    rule, `strip` half the width of the strip on which its error rests.
    """

    kind: ClassVar[str] = "guess through Gaussian noise"
    found: ClassVar[tuple[str, ...]] = ("terms", "step", "strip", "lower", "upper")
    grounds: ClassVar[str] = (
        "the simplex is worst (Slepian's interpolation); the error of the trapezoidal rule is bounded in a "
        "strip (Trefethen and Weideman, Thm 5.1)"
    )
    values: int
    mu: Fraction
    step: Fraction
    strip: Fraction
    terms: int
    lower: Fraction
    upper: Fraction

    @classmethod
    def of(cls, values: int, mu: Fraction) -> GaussianGuessProof | None:
        """The proof with as few terms as suffice for 19 digits; None where that takes too many."""
        best = (0.0, 0.0)
        for width in WIDTHS:
            grown = width * math.exp(width**2 / 2) / math.sqrt(2 * math.pi)
            size = width**2 / 2 + (values - 1) * math.log1p(grown) + math.log(2)
            best = max(best, (2 * math.pi * width / (size + ERROR), width))
        step, width = best
        terms = math.ceil(math.sqrt(2 * ERROR) / step)
        if terms > MOST_GAUSSIAN_TERMS or not 0 <= mu <= LARGEST_SHIFT:
            return None
        found = cls(values, mu, _short(step), _short(width), terms, Fraction(0), Fraction(1))
        lower, upper = found.ends()
        return cls(values, mu, found.step, found.strip, terms, lower, upper)

    def data(self) -> dict[str, Any]:
        names = ("mu", "step", "strip", "lower", "upper")
        return {
            "values": self.values,
            "terms": self.terms,
            **{name: str(getattr(self, name)) for name in names},
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> GaussianGuessProof:
        mu, step, strip, lower, upper = (
            fraction(data[name]) for name in ("mu", "step", "strip", "lower", "upper")
        )
        values, terms = whole(data["values"], 2, LARGEST_VALUES), whole(data["terms"], 1, MOST_GAUSSIAN_TERMS)
        return cls(values, mu, step, strip, terms, lower, upper)

    def proved(self) -> str:
        if not 0 <= self.mu <= LARGEST_SHIFT:
            raise ValueError(f"mu must be from 0 to {LARGEST_SHIFT}")
        if not (0 < self.step <= 1 and 0 < self.strip <= 10):
            raise ValueError("the step must be above 0 and at most 1, the strip at most 10")
        low, high = self.ends()
        if self.lower > low or high > self.upper:
            raise ValueError("the stated ends do not enclose the guess")
        return (
            f"through Gaussian noise, any two of {self.values} equally likely answers at most "
            f"{eps_in_words(self.mu)} standard deviations apart, the best guess is at most "
            f"{decimal(self.upper, DIGITS, False)}; where all are that far apart, at least "
            f"{decimal(self.lower, DIGITS, True)}"
        )

    def meaning(self) -> str:
        return (
            f"whoever sees the noisy answer is right about one of {self.values} values at most "
            f"{decimal(100 * self.upper, 6, False)} times in 100."
        )

    def ends(self) -> tuple[Fraction, Fraction]:
        """Between which numbers the guess lies, rounded to 2^-80."""
        old = flint.ctx.prec
        flint.ctx.prec = PRECISION
        try:
            step, shift = _ball(self.step), _ball(self.mu) / flint.arb(2).sqrt()
            found = flint.arb(0)
            for k in range(-self.terms, self.terms + 1):
                t = k * step
                below = (-(t + shift) / flint.arb(2).sqrt()).erfc() / 2
                found += _density(t) * below ** (self.values - 1)
            found *= step
            wide = _ball(self.strip)
            grown = 1 + wide * (wide**2 / 2).exp() / _root()
            error = 2 * (wide**2 / 2).exp() * grown ** (self.values - 1)
            error /= (2 * flint.arb.pi() * wide / step).exp() - 1
            # Terms left out fall: they are less than the integral from the last on, which is φ/t at most.
            last = self.terms * step
            rest = 2 * _density(last) / last
            low, high = (found - error).lower(), (found + error + rest).upper()
            return max(Fraction(0), _dyadic(low, math.floor)), min(Fraction(1), _dyadic(high, math.ceil))
        finally:
            flint.ctx.prec = old


def _short(value: float) -> Fraction:
    return Fraction(math.floor(value * 2**20), 2**20)


def _root() -> flint.arb:
    return (2 * flint.arb.pi()).sqrt()


def _density(t: flint.arb) -> flint.arb:
    return (-(t * t) / 2).exp() / _root()


def _dyadic(value: flint.arb, rounded: Any) -> Fraction:
    mantissa, exponent = value.man_exp()
    return Fraction(rounded(Fraction(int(mantissa)) * Fraction(2) ** int(exponent) * 2**80), 2**80)


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))
