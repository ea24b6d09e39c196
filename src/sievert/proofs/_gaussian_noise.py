"""Proof of the ρ that discrete Gaussian noise keeps for what one record can change.

Discrete Gaussian noise of variance σ² on a cell that moves by c steps has Rényi divergences of at most
a·c²/(2σ²) for every order a (Canonne, Kamath and Steinke, Prop 5), and independent cells add up.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sievert.numerics import decimal
from sievert.proofs._base import Proof
from sievert.proofs._reading import fraction, listed, whole

__all__ = ["GaussianNoiseProof"]

DIGITS = 9


@dataclass(frozen=True)
class GaussianNoiseProof(Proof):
    """Discrete Gaussian noise of a `variance` in steps keeps D_a ≤ a·ρ·d² for every move, and no smaller ρ is
    shown.

    `moves` are the steps of every cell that one record moves, and its distance d.
    """

    kind: ClassVar[str] = "Gaussian noise"
    grounds: ClassVar[str] = (
        "Rényi divergences of discrete Gaussian noise (Canonne, Kamath and Steinke, Prop 5), added up over "
        "the cells"
    )
    rho: Fraction
    variance: Fraction
    moves: tuple[tuple[tuple[int, ...], Fraction], ...]

    @classmethod
    def of(
        cls, variance: Fraction, moves: tuple[tuple[tuple[int, ...], Fraction], ...]
    ) -> GaussianNoiseProof:
        """The proof with the ρ that the costliest move needs."""
        rho = max(_square(steps) / (2 * variance * length**2) for steps, length in moves)
        return cls(rho, variance, moves)

    def data(self) -> dict[str, Any]:
        return {
            "rho": str(self.rho),
            "variance": str(self.variance),
            "moves": [[list(steps), str(length)] for steps, length in self.moves],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> GaussianNoiseProof:
        moves = tuple(
            (tuple(whole(step, 1) for step in listed(steps)), fraction(length))
            for steps, length in map(listed, listed(data["moves"]))
        )
        return cls(fraction(data["rho"]), fraction(data["variance"]), moves)

    def proved(self) -> str:
        if self.rho < 0 or self.variance <= 0:
            raise ValueError("rho must be ≥ 0 and the variance above 0")
        if not self.moves or any(length <= 0 or not steps for steps, length in self.moves):
            raise ValueError("a move has no length, or changes nothing")
        spare = [2 * self.variance * self.rho * length**2 - _square(steps) for steps, length in self.moves]
        if min(spare) < 0:
            raise ValueError(f"a move needs more noise than ρ = {self.rho} has")
        if min(spare) > 0:
            raise ValueError(f"no move needs ρ = {self.rho}: it is not the level of this noise")
        return (
            f"for every move of one record the Gaussian noise keeps ρ = {decimal(self.rho, DIGITS, False)} "
            "(zero-concentrated), times the square of its distance"
        )

    def meaning(self) -> str:
        return (
            f"with Gaussian noise of a standard deviation of about {float(self.variance) ** 0.5:.4g} steps, "
            f"what is published says so little of any one record that ρ = {decimal(self.rho, 6, False)}."
        )


def _square(steps: tuple[int, ...]) -> Fraction:
    return Fraction(sum(step * step for step in steps))
