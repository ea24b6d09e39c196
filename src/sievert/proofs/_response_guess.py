"""Proof of what a bound on Rényi divergences lets anybody guess among equally likely values.

Merging outputs by the best guess and averaging over all permutations of v values raises no divergence, since
Σ P^a·Q^(1-a) is jointly convex, keeps the guess, and leaves randomised response: the truth e^ε times as often
as each lie. Its divergence of any order rises with ε. So one order a at which the response of some ε has at
least the divergence that is promised proves that nobody guesses better than e^ε/(e^ε+v-1).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sievert.numerics import decimal, eps_in_words, exp_above, exp_below
from sievert.proofs._base import Proof, in_percent_of
from sievert.proofs._reading import fraction, whole

__all__ = ["ResponseGuessProof"]

DIGITS = 12


@dataclass(frozen=True)
class ResponseGuessProof(Proof):
    """Nobody guesses one of v equally likely values better than `upper`, where D_a is at most `divergence`.

    With `rho` the promise is D_a ≤ a·ρ for every a > 1, hence for the order and, in the limit, for order 1.
    """

    # Powers of e are written out as fractions up to here.
    largest_power: ClassVar[int] = 100_000
    kind: ClassVar[str] = "guess under a divergence"
    found: ClassVar[tuple[str, ...]] = ("eps", "upper")
    grounds: ClassVar[str] = (
        "averaged over permutations of the values, the worst mechanism is randomised response (Rényi "
        "divergences are jointly quasi-convex)"
    )
    values: int
    order: Fraction
    divergence: Fraction
    eps: Fraction
    upper: Fraction
    rho: Fraction | None = None

    @classmethod
    def of(
        cls, values: int, order: Fraction, divergence: Fraction, eps: Fraction, rho: Fraction | None = None
    ) -> ResponseGuessProof:
        """The proof with the guess of the response of ε, rounded up."""
        growth, scale = exp_above(eps), 2**100
        guess = growth / (growth + values - 1)
        upper = min(Fraction(1), Fraction((guess * scale).__ceil__(), scale))
        return cls(values, order, divergence, eps, upper, rho)

    def data(self) -> dict[str, Any]:
        numbers = {name: str(getattr(self, name)) for name in ("order", "divergence", "eps", "upper")}
        return {"values": self.values, **numbers, "rho": None if self.rho is None else str(self.rho)}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ResponseGuessProof:
        order, divergence, eps, upper = (
            fraction(data[name]) for name in ("order", "divergence", "eps", "upper")
        )
        rho = None if data["rho"] is None else fraction(data["rho"])
        return cls(whole(data["values"], 2), order, divergence, eps, upper, rho)

    def proved(self) -> str:
        if self.order < 1 or self.divergence < 0 or self.eps < 0:
            raise ValueError("the order must be 1 or more, the divergence and eps 0 or more")
        if self.rho is not None and self.divergence != self.order * self.rho:
            raise ValueError("the divergence must be ρ times the order")
        if self.rho is None and self.order == 1:
            raise ValueError("without ρ a promise is about an order above 1")
        if max(self.eps, (self.order - 1) * self.divergence) > self.largest_power:
            raise ValueError("a power of e is too large to be written out")
        if not self._reaches():
            raise ValueError("the response of eps keeps the divergence, so that a better guess may too")
        growth = exp_above(self.eps)
        if not growth / (growth + self.values - 1) <= self.upper <= 1:
            raise ValueError("upper is less than the guess of the response, or above 1")
        return (
            f"for {self._promise()} the best guess among {self.values} equally likely values is at most "
            f"{decimal(self.upper, DIGITS, False)}"
        )

    def meaning(self) -> str:
        return (
            f"whatever is released with this claim, the right one of {self.values} equally likely values is "
            f"named in at most {in_percent_of(self.upper)} of all cases."
        )

    def _promise(self) -> str:
        if self.rho is not None:
            return f"ρ = {eps_in_words(self.rho)}"
        return f"a divergence of {eps_in_words(self.divergence)} nats at order {eps_in_words(self.order)}"

    def _reaches(self) -> bool:
        """Whether the response has at least the divergence, with every exponential rounded against it.

        e^(aε) + e^((1-a)ε) + v - 2 ≥ e^((a-1)D)·(e^ε + v - 1), or ε(e^ε - 1)/(e^ε + v - 1) ≥ D in the limit.
        """
        if self.order == 1:
            growth = exp_below(self.eps)
            return self.eps * (growth - 1) >= self.divergence * (growth + self.values - 1)
        t = self.order - 1
        told = exp_below(self.order * self.eps) + exp_below(-t * self.eps) + self.values - 2
        return told >= exp_above(t * self.divergence) * (exp_above(self.eps) + self.values - 1)
