"""Proof of the order of two two-sided geometric noises on the same table: the larger is the smaller and more.

G_α(x) = (1-α)²·x/((1-α·x)(x-α)) generates the law of ratio α. For 0 < α₁ ≤ α₂ < 1 and
w = α₁/α₂·((1-α₂)/(1-α₁))², which is in [0, 1], G_α₂ = G_α₁·(w + (1-w)·G_α₂): noise of ratio α₂ is noise of
ratio α₁ plus independent noise that is 0 with probability w and else of ratio α₂. So releases with the larger
noise are made from those with the smaller. Clamping to a range that holds every answer changes nothing:
beyond it all likelihood ratios are constant, and what was clamped is drawn anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import flint

from sievert.proofs._base import Proof
from sievert.proofs._reading import flag, fraction

__all__ = ["NoiseOrderProof", "zero_share"]

PRECISION = 256
LARGEST_PRECISION = 1 << 16
# The coefficients of the identity have a degree below this in either ratio.
DEGREE = 7


@dataclass(frozen=True)
class NoiseOrderProof(Proof):
    """Whether noise of the second level can be made from noise of the first, in every cell of one table.

    A level is ("eps", ε) or ("alpha", α = e^-ε) for one step. `weight` is the share of the added noise that
    is 0, where both levels are ratios and the order holds.
    """

    kind: ClassVar[str] = "order of noise"
    found: ClassVar[tuple[str, ...]] = ("holds", "weight")
    grounds: ClassVar[str] = (
        "geometric noise of the larger ratio is that of the smaller plus independent noise"
    )
    first: tuple[str, Fraction]
    second: tuple[str, Fraction]
    holds: bool
    weight: Fraction | None = None

    @classmethod
    def of(cls, first: tuple[str, Fraction], second: tuple[str, Fraction]) -> NoiseOrderProof:
        """The order of two levels, as they were written."""
        holds = _above(first, second) >= 0
        ratios = holds and first[0] == second[0] == "alpha" and second[1] < 1
        return cls(first, second, holds, zero_share(first[1], second[1]) if ratios else None)

    def data(self) -> dict[str, Any]:
        return {
            "first": {self.first[0]: str(self.first[1])},
            "second": {self.second[0]: str(self.second[1])},
            "holds": self.holds,
            "weight": None if self.weight is None else str(self.weight),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> NoiseOrderProof:
        weight = None if data["weight"] is None else fraction(data["weight"])
        return cls(_level(data["first"]), _level(data["second"]), flag(data["holds"]), weight)

    def proved(self) -> str:
        for name, value in (self.first, self.second):
            if not (value > 0 if name == "eps" else 0 < value < 1):
                raise ValueError(f"{name} = {value} is no level of noise")
        sign = _above(self.first, self.second)
        if not self.holds:
            if self.weight is not None or sign >= 0:
                raise ValueError("the second noise is not smaller than the first")
            return (
                f"noise of {_words(self.second)} tells answers one step apart by higher odds than noise of "
                f"{_words(self.first)} does, so it cannot be made from that"
            )
        if sign < 0:
            raise ValueError("the second noise is smaller than the first")
        ratios = self.first[0] == self.second[0] == "alpha"
        if ratios and self.weight is None:
            raise ValueError("the share of noise that is 0 is missing")
        if self.weight is not None and not ratios:
            raise ValueError("a share of noise that is 0 goes with two ratios")
        if ratios and self.weight != zero_share(self.first[1], self.second[1]):
            raise ValueError("the two noises do not add up to the second")
        _check_everywhere()
        return (
            f"noise of {_words(self.second)} for a step is noise of {_words(self.first)} plus independent "
            "noise, in every cell, clamped to a range that holds every answer or not"
        )

    def meaning(self) -> str:
        if self.holds:
            return (
                "who sees the second release learns nothing that the first would not have told: B may "
                "replace A."
            )
        return "somebody learns more from the second release than from the first: B may not replace A."


def zero_share(first: Fraction, second: Fraction) -> Fraction:
    """w for two ratios: how much of the noise that is added to the first is 0."""
    return first / second * ((1 - second) / (1 - first)) ** 2


def _check_everywhere() -> None:
    """(1-α₂)²·D₁(x) = (1-α₁)²·(w·D₂(x) + (1-w)·(1-α₂)²·x), with D(x) = (1-α·x)(x-α), as polynomials.

    Of 1 and of x² the coefficients agree by the definition of w. Those of x are polynomials in α₁ and α₂,
    compared at more points than their degree.
    """
    points = [Fraction(k + 1, DEGREE + 2) for k in range(DEGREE + 1)]
    for first in points:
        for second in points:
            weight = zero_share(first, second)
            thin, thick = (1 - first) ** 2, (1 - second) ** 2
            if thick * (1 + first**2) != thin * (weight * (1 + second**2) + (1 - weight) * thick):
                raise ValueError("the two noises do not add up to the second")


def _above(first: tuple[str, Fraction], second: tuple[str, Fraction]) -> int:
    """The sign of ε₁ - ε₂, exactly where both are written alike, else by balls."""
    if first[0] == second[0]:
        sign = (first[1] > second[1]) - (first[1] < second[1])
        return sign if first[0] == "eps" else -sign
    old, digits = flint.ctx.prec, PRECISION
    try:
        while digits <= LARGEST_PRECISION:
            flint.ctx.prec = digits
            gap = _eps(first) - _eps(second)
            if gap > 0:
                return 1
            if gap < 0:
                return -1
            digits *= 4
    finally:
        flint.ctx.prec = old
    raise ValueError("the two levels are too near to each other to be told apart")


def _eps(level: tuple[str, Fraction]) -> flint.arb:
    value = flint.arb(flint.fmpq(level[1].numerator, level[1].denominator))
    return value if level[0] == "eps" else -value.log()


def _level(data: dict[str, Any]) -> tuple[str, Fraction]:
    if set(data) not in ({"eps"}, {"alpha"}):
        raise ValueError("a level is eps or alpha")
    name, value = next(iter(data.items()))
    return name, fraction(value)


def _words(level: tuple[str, Fraction]) -> str:
    return f"{'ε' if level[0] == 'eps' else 'alpha'} = {level[1]}"
