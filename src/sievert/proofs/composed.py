"""Proof of an upper bound on the guess after several releases, by way of their exact composition."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import flint

from sievert.numerics.balls import decimal
from sievert.proofs.base import Proof
from sievert.proofs.claims import DIGITS, LARGEST_RELEASES, GuessProof
from sievert.proofs.reading import fraction, whole
from sievert.proofs.words import claim_in_words

__all__ = ["ComposedGuessProof", "composed_delta_above"]

PRECISION = 160


@dataclass(frozen=True, eq=False)
class ComposedGuessProof(Proof):
    """k adaptive releases, each (ε, δ)-private, are together (ε', δ')-private; `total` bounds the guess for
    that.

    δ' must be at least what the composition theorem gives at ε' (Kairouz, Oh and Viswanath, Thm 3.3), which
    is recomputed with balls.
    """

    kind: ClassVar[str] = "guess after several releases"
    eps: Fraction
    delta: Fraction
    releases: int
    total: GuessProof

    def data(self) -> dict[str, Any]:
        return {
            "eps": str(self.eps),
            "delta": str(self.delta),
            "releases": self.releases,
            "total": self.total.data(),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ComposedGuessProof:
        return cls(
            fraction(data["eps"]),
            fraction(data["delta"]),
            whole(data["releases"], 0, LARGEST_RELEASES),
            GuessProof.from_data(data["total"]),
        )

    def upper(self) -> Fraction:
        """The proved upper bound; ValueError where a certificate does not hold."""
        if self.eps < 0 or not 0 <= self.delta <= 1 or self.releases < 1:
            raise ValueError("eps must be ≥ 0, delta a probability and releases ≥ 1")
        if composed_delta_above(self.eps, self.delta, self.releases, self.total.eps) > self.total.delta:
            raise ValueError("the releases together are not as private as the proof says")
        return self.total.bounds()[1]

    def proved(self) -> str:
        upper = self.upper()
        return (
            f"after {self.releases} adaptive releases with {claim_in_words(self.eps, self.delta)} each, the "
            f"best guess among {self.total.setting} is at most {decimal(upper, DIGITS, False)}"
        )


def composed_delta_above(eps: Fraction, delta: Fraction, releases: int, total: Fraction) -> Fraction:
    """A rational at least δ' of k releases at a total ε, at most 2^-100 above it."""
    old = flint.ctx.prec
    flint.ctx.prec = PRECISION
    try:
        growth = _ball(eps).exp()
        right, wrong = growth / (1 + growth), 1 / (1 + growth)
        allowed = _ball(total).exp()
        excess, ways = flint.arb(0), flint.fmpz(1)
        for mistakes in range(releases + 1):
            hits = releases - mistakes
            # Outcomes whose loss (hits - mistakes)·ε exceeds the total.
            if (hits - mistakes) * eps <= total:
                break
            first, second = right**hits * wrong**mistakes, right**mistakes * wrong**hits
            excess += flint.arb(ways) * (first - allowed * second)
            ways = ways * hits // (mistakes + 1)
        hidden = (1 - _ball(delta)) ** releases
        mantissa, exponent = (1 - hidden + hidden * excess).upper().man_exp()
        value = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    finally:
        flint.ctx.prec = old
    return min(Fraction(1), max(Fraction(0), Fraction((value * 2**100).__ceil__(), 2**100)))


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))
