"""Rigorous bounds with integers only: powers of e^-ε or of a rational ratio, scaled by 2^bits.

An enclosure is a pair of integers (low, high) with low ≤ 2^bits·value ≤ high.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sievert.errors import MechanismError
from sievert.numerics.balls import read_eps
from sievert.numerics.checks import brief
from sievert.numerics.rationals import as_fraction

__all__ = ["Enclosure", "Ratio", "ceiling", "exp_neg", "quotient", "ratio", "rational"]

Enclosure = tuple[int, int]
# Powers of a rational whose numerator and denominator stay below this many bits are written out.
LARGEST_POWER_BITS = 4096


def ceiling(numerator: int, denominator: int) -> int:
    """numerator/denominator rounded up."""
    return -(-numerator // denominator)


def exp_neg(numerator: int, denominator: int, bits: int) -> Enclosure:
    """e^(-numerator/denominator), enclosed to within 2 units of 2^-bits.

    The alternating series of e^-x for x < 2^-8, each term rounded both ways, then squarings.

    >>> exp_neg(1, 1, 32)
    (1580030168, 1580030169)
    """
    if numerator == 0:
        return 1 << bits, 1 << bits
    squarings = (numerator // denominator).bit_length() + 8
    precision = bits + squarings + 40
    scaled = denominator << squarings
    term_low = term_high = low = high = 1 << precision
    i = 0
    while term_high > 1:
        i += 1
        term_low = term_low * numerator // (scaled * i)
        term_high = ceiling(term_high * numerator, scaled * i)
        if i & 1:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    low, high = low - 1, high + 1  # an alternating remainder is at most the next term
    for _ in range(squarings):
        low, high = low * low >> precision, -((-high * high) >> precision)
    spare = precision - bits
    return max(low, 0) >> spare, -((-high) >> spare)


def quotient(above: Enclosure, below: Enclosure, bits: int) -> Enclosure:
    """An enclosure of the quotient of two positive enclosures of the same scale."""
    return (above[0] << bits) // below[1], ceiling(above[1] << bits, below[0])


@dataclass(frozen=True)
class Ratio:
    """λ = e^-ε with rational ε > 0, or a rational λ from 0 (ε = ∞) to 1 (ε = 0)."""

    eps: Fraction | None = None
    alpha: Fraction | None = None

    def power(self, exponent: int, bits: int) -> Enclosure:
        """λ^exponent."""
        if self.eps is not None:
            return exp_neg(exponent * self.eps.numerator, self.eps.denominator, bits)
        assert self.alpha is not None
        a, b = self.alpha.numerator, self.alpha.denominator
        if self.writes_out(exponent):
            scaled, divisor = a**exponent << bits, b**exponent
            return scaled // divisor, ceiling(scaled, divisor)
        # Binary powering: each of the < 2·log2(exponent) roundings is at most doubled afterwards, so the
        # guard bits below leave an error under one unit.
        precision = bits + 3 * exponent.bit_length() + 8
        low, high = (a << precision) // b, ceiling(a << precision, b)
        found_low = found_high = 1 << precision
        while exponent:
            if exponent & 1:
                found_low = found_low * low >> precision
                found_high = -((-found_high * high) >> precision)
            low, high = low * low >> precision, -((-high * high) >> precision)
            exponent >>= 1
        spare = precision - bits
        return found_low >> spare, -((-found_high) >> spare)

    def writes_out(self, exponent: int) -> bool:
        """Whether λ^exponent is a fraction of moderate size."""
        return self.alpha is not None and exponent * self.alpha.denominator.bit_length() <= LARGEST_POWER_BITS

    def raised(self, exponent: int) -> Ratio:
        """The ratio λ^exponent; a power of a rational is not written out."""
        if self.eps is not None:
            return Ratio(eps=self.eps * exponent)
        assert self.alpha is not None
        return _RaisedRatio(alpha=self.alpha, exponent=exponent)

    def rate(self) -> float:
        """About -ln λ, at most 2^20: for choosing sizes, never for deciding an outcome."""
        if self.eps is not None:
            return float(min(self.eps, Fraction(2**20)))
        low, high = self.power(1, 64)
        shortfall = (1 << 64) - (low + high) // 2
        return -math.log1p(-shortfall / 2**64) if low else math.inf

    @property
    def is_zero(self) -> bool:
        """ε = ∞: no noise at all."""
        return self.alpha == 0

    @property
    def is_one(self) -> bool:
        """ε = 0: the output must not depend on the input."""
        return self.alpha == 1

    def to_dict(self) -> dict[str, str]:
        """The one parameter that was given, as text."""
        return {"eps": str(self.eps)} if self.eps is not None else {"alpha": str(self.alpha)}

    def __str__(self) -> str:
        what, value = ("ε =", self.eps) if self.eps is not None else ("ratio", self.alpha)
        return f"{what} {brief(str(value))[1:-1]}"


@dataclass(frozen=True)
class _RaisedRatio(Ratio):
    """A power of a rational ratio that is not written out."""

    exponent: int = 1

    def writes_out(self, exponent: int) -> bool:
        return False

    def power(self, exponent: int, bits: int) -> Enclosure:
        return Ratio(alpha=self.alpha).power(self.exponent * exponent, bits)

    def raised(self, exponent: int) -> Ratio:
        return _RaisedRatio(alpha=self.alpha, exponent=self.exponent * exponent)


NO_NOISE, ALL_NOISE = Ratio(alpha=Fraction(0)), Ratio(alpha=Fraction(1))


def rational(value: object, argument: str) -> Fraction:
    """A number as an exact fraction; a float is read as it is written, so 0.1 is one tenth."""
    try:
        if isinstance(value, bool):
            raise ValueError("a truth value")
        return read_eps(value) if isinstance(value, float) else as_fraction(value)
    except ValueError:
        raise MechanismError(f"{argument} is {brief(value)}; it must be a finite number") from None


def ratio(eps: object, alpha: object, scale: object = None) -> Ratio:
    """Read exactly one of eps, alpha = e^-eps and scale = 1/eps.

    >>> ratio(0.1, None), ratio(None, "1/2"), ratio(None, None, 10)
    (Ratio(eps=Fraction(1, 10), alpha=None), Ratio(eps=None, alpha=Fraction(1, 2)),
     Ratio(eps=Fraction(1, 10), alpha=None))
    """
    given = [name for name, value in (("eps", eps), ("alpha", alpha), ("scale", scale)) if value is not None]
    if len(given) != 1:
        found = " and ".join(given) + " are given" if given else "none of eps, alpha and scale is given"
        raise MechanismError(f"{found}; give exactly one (alpha = e^-eps, scale = 1/eps)")
    if alpha is not None:
        value = rational(alpha, "alpha")
        if not 0 <= value <= 1:
            raise MechanismError(
                f"alpha is {brief(alpha)}; it must be from 0 (no noise) to 1 (nothing is told)"
            )
        return Ratio(alpha=value)
    name, number = ("eps", eps) if eps is not None else ("scale", scale)
    if isinstance(number, float | str) and str(number) == "inf":
        return NO_NOISE if name == "eps" else ALL_NOISE
    value = rational(number, name)
    if value < 0:
        raise MechanismError(f"{name} is {brief(number)}; it must be a number ≥ 0")
    if value == 0:
        return ALL_NOISE if name == "eps" else NO_NOISE
    return Ratio(eps=value if name == "eps" else 1 / value)
