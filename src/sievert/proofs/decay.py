"""How much a probability may shrink over a distance: e^(-ε·length), enclosed by floats that are proved."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.numerics.balls import exp_above, exp_below, exp_enclosure, exp_upper
from sievert.proofs.reading import fraction

__all__ = ["Decay", "exact_power"]

FloatArray = NDArray[np.float64]
# Powers of an exact alpha are written out up to this length.
MOST_BITS = 2**17


@dataclass(frozen=True)
class Decay:
    """e^(-ε·length) for an exact rational ε, or alpha^length for an exact alpha and whole lengths.

    alpha = 1 is ε = 0 and alpha = 0 is ε = ∞ (only points at distance 0 must stay alike).
    """

    eps: Fraction | None = None
    alpha: Fraction | None = None

    def __post_init__(self) -> None:
        if (self.eps is None) == (self.alpha is None):
            raise ValueError("a decay has either eps or alpha")
        if self.eps is not None and self.eps < 0:
            raise ValueError("eps must be ≥ 0")
        if self.alpha is not None and not 0 <= self.alpha <= 1:
            raise ValueError("alpha must be from 0 to 1")

    def to_data(self) -> dict[str, str]:
        """Plain data."""
        return {"eps": str(self.eps)} if self.eps is not None else {"alpha": str(self.alpha)}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Decay:
        """Back from plain data."""
        eps, alpha = data.get("eps"), data.get("alpha")
        return cls(None if eps is None else fraction(eps), None if alpha is None else fraction(alpha))

    def exponents(self, lengths: FloatArray) -> FloatArray:
        """ε·length as floats, for computing with; nothing is proved about their last digits."""
        if self.eps is not None:
            return np.where(lengths == 0, 0.0, float(self.eps) * lengths)
        assert self.alpha is not None
        if self.alpha == 0:
            return np.where(lengths == 0, 0.0, np.inf)
        rate = math.log(self.alpha.denominator) - math.log(self.alpha.numerator)
        return np.where((lengths == 0) | (rate == 0), 0.0, rate * lengths)

    def enclosure(self, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Floats proved to enclose e^(-ε·length); each distinct length is computed once."""
        distinct, inverse = np.unique(lengths, return_inverse=True)
        if self.eps is not None:
            low, high = exp_enclosure(-self.eps, distinct)
        else:
            powers = [self._power(float(length)) for length in distinct]
            low = np.array([_rounded(power, down=True) for power in powers])
            high = np.array([_rounded(power, down=False) for power in powers])
        low, high = np.minimum(low, 1.0), np.minimum(high, 1.0)
        return low[inverse].reshape(lengths.shape), high[inverse].reshape(lengths.shape)

    def growth_above(self, length: float) -> float:
        """A float proved to be at least e^(ε·length); inf where it overflows."""
        if self.eps is not None:
            return exp_upper(self.eps * Fraction(length))
        power = self._power(length)
        return math.inf if power == 0 else _rounded(1 / power, down=False)

    def allows(self, small: int, large: int, length: float) -> bool:
        """Whether small ≥ e^(-ε·length)·large, decided exactly for whole numbers."""
        if self.alpha is not None:
            return Fraction(small) >= self._power(length) * large
        assert self.eps is not None
        if length == 0 or self.eps == 0 or small >= large:
            return small >= large
        exponent = -self.eps * Fraction(length)
        if small >= exp_above(exponent) * large:
            return True
        if small < exp_below(exponent) * large:
            return False
        # Balls of 128 bits separate numbers of 53 bits; closer than that is refused, never guessed.
        return False

    def _power(self, length: float) -> Fraction:
        assert self.alpha is not None
        return exact_power(self.alpha, length)


@lru_cache(maxsize=4096)
def exact_power(alpha: Fraction, length: float) -> Fraction:
    """alpha^length for a whole length (any length where alpha is 0 or 1), in numbers of bounded size."""
    if length == 0:
        return Fraction(1)
    if alpha in (0, 1):
        return alpha
    if length != int(length):
        raise ValueError("an exact alpha needs whole lengths")
    bits = max(alpha.numerator.bit_length(), alpha.denominator.bit_length())
    if length * bits > MOST_BITS:
        raise ValueError(f"alpha to the power of {length:g} has too many digits; give eps instead")
    return Fraction(alpha ** int(length))


def _rounded(value: Fraction, down: bool) -> float:
    nearest = float(value)
    if down:
        return nearest if Fraction(nearest) <= value else float(np.nextafter(nearest, -np.inf))
    return nearest if Fraction(nearest) >= value else float(np.nextafter(nearest, np.inf))
