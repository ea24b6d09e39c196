"""Proof of what a bound on Rényi divergences lets anybody guess among equally likely values.

Merging outputs by the best guess and averaging over all permutations of v values raises no divergence, since
Σ P^a·Q^(1-a) is jointly convex, keeps the guess g, and leaves randomised response with truth g and each lie
(1-g)/(v-1). Its divergence of any order rises with g ≥ 1/v. So one order a at which the response of guess g
has at least the divergence that is promised proves that nobody guesses better than g.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import flint

from sievert.numerics import decimal
from sievert.proofs._base import Proof
from sievert.proofs._reading import fraction, whole

__all__ = ["ResponseGuessProof"]

DIGITS = 12
# Bits of the balls, beyond those that a tiny probability takes.
BITS = 256
MOST_BITS = 1 << 16
LARGEST_ORDER = Fraction(10**9)


@dataclass(frozen=True)
class ResponseGuessProof(Proof):
    """Nobody misses less than `missed` among v equally likely values, where D_a is at most `divergence`.

    With `rho` the promise is D_a ≤ a·ρ for every a > 1, hence for the order and, in the limit, for order 1.
    """

    kind: ClassVar[str] = "guess under a divergence"
    values: int
    order: Fraction
    divergence: Fraction
    missed: Fraction
    rho: Fraction | None = None

    def data(self) -> dict[str, Any]:
        rho = {} if self.rho is None else {"rho": str(self.rho)}
        return {
            "values": self.values,
            "order": str(self.order),
            "divergence": str(self.divergence),
            "missed": str(self.missed),
            **rho,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ResponseGuessProof:
        rho = None if "rho" not in data else fraction(data["rho"])
        order, divergence, missed = (fraction(data[name]) for name in ("order", "divergence", "missed"))
        return cls(whole(data["values"], 2), order, divergence, missed, rho)

    def proved(self) -> str:
        if not 1 <= self.order <= LARGEST_ORDER or self.divergence < 0:
            raise ValueError(f"the order must be from 1 to {LARGEST_ORDER} and the divergence ≥ 0")
        if self.rho is not None and self.divergence != self.order * self.rho:
            raise ValueError("the divergence must be ρ times the order")
        if self.rho is None and self.order == 1:
            raise ValueError("without ρ a promise is about an order above 1")
        if not 0 <= self.missed <= Fraction(self.values - 1, self.values):
            raise ValueError("what is missed must be from 0 to what a blind guess misses")
        if self.missed and not self._told_apart():
            raise ValueError("a response of this guess keeps the divergence, so that a better one may too")
        return (
            f"for {self._promise()} the best guess among {self.values} equally likely values is at most "
            f"{decimal(1 - self.missed, DIGITS, False)}"
        )

    def _promise(self) -> str:
        if self.rho is not None:
            return f"ρ = {float(self.rho):.6g}"
        return f"a divergence of {float(self.divergence):.6g} nats at order {float(self.order):.6g}"

    def _told_apart(self) -> bool:
        """Whether the response that misses so much has at least the divergence, for certain."""
        bits = BITS + self.missed.denominator.bit_length() + self.missed.numerator.bit_length()
        with flint.ctx.workprec(min(bits, MOST_BITS)):
            missed, order, promised = (_ball(part) for part in (self.missed, self.order, self.divergence))
            truth, lie = 1 - missed, missed / (self.values - 1)
            loss = (truth / lie).log()
            if self.order == 1:
                return bool((truth - lie) * loss >= promised)
            t = order - 1
            total = truth * (t * loss).exp() + lie * (-t * loss).exp() + (self.values - 2) * lie
            return bool(total.log() / t >= promised)


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(value.numerator) / flint.arb(value.denominator)
