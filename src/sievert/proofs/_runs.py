"""Proof of what runs of a mechanism show: an event that two inputs do not share as a claim would have it.

An event that happened k times in n runs has, but for a risk of β, a probability of at least p where
P(Bin(n, p) ≥ k) ≤ β (Clopper and Pearson), and one of at most q where P(Bin(n, q) ≤ k) ≤ β. If the mechanism
were (ε', δ)-private with ε' < ε, then p ≤ e^(ε'·d)·q + δ. That the event was fixed before these runs were
looked at is what the numbers cannot show.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import flint

from sievert.numerics import at_most, decimal, eps_in_words, exp_above
from sievert.proofs._base import Proof, measured
from sievert.proofs._reading import fraction, listed, whole

__all__ = ["RunsProof"]

# Runs that a certificate counts, and bits of the sums of their probabilities.
MOST_RUNS = 1_000_000
PRECISION = 200
DIGITS = 9


@dataclass(frozen=True)
class RunsProof(Proof):
    """With `confidence` the mechanism keeps no ε below `eps` at `delta`, for two inputs at this `distance`.

    `likelier` and `other` are [how often the event happened, runs] of the two inputs; `low` and `high` bound
    its probabilities.
    """

    kind: ClassVar[str] = "leak in runs"
    grounds: ClassVar[str] = "exact tails of binomials (Clopper and Pearson) and the definition of (ε, δ)"
    eps: Fraction
    delta: Fraction
    distance: Fraction
    confidence: Fraction
    likelier: tuple[int, int]
    other: tuple[int, int]
    low: Fraction
    high: Fraction

    def data(self) -> dict[str, Any]:
        names = ("eps", "delta", "distance", "confidence", "low", "high")
        return {
            **{name: str(getattr(self, name)) for name in names},
            "likelier": list(self.likelier),
            "other": list(self.other),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> RunsProof:
        eps, delta, distance, confidence, low, high = (
            fraction(data[name]) for name in ("eps", "delta", "distance", "confidence", "low", "high")
        )
        (k, n), (h, m) = listed(data["likelier"]), listed(data["other"])
        counts = [whole(count, 0, MOST_RUNS) for count in (k, n, h, m)]
        return cls(
            eps, delta, distance, confidence, (counts[0], counts[1]), (counts[2], counts[3]), low, high
        )

    def proved(self) -> str:
        (k, n), (h, m) = self.likelier, self.other
        if not (0 < k <= n and 0 <= h < m):
            raise ValueError("the event must have happened, and must have failed to with the other input")
        if self.eps < 0 or not 0 <= self.delta <= 1 or self.distance <= 0:
            raise ValueError("eps must be ≥ 0, delta a probability and the distance above 0")
        if not 0 < self.confidence < 1:
            raise ValueError("the confidence must be between 0 and 1")
        if not (0 < self.low < 1 and 0 < self.high < 1):
            raise ValueError("the bounds must be between 0 and 1")
        risk = (1 - self.confidence) / 2
        if _tail_above(n, k, self.low) > risk:
            raise ValueError("the event is not as often as low says, with this confidence")
        if _tail_above(m, m - h, 1 - self.high) > risk:
            raise ValueError("the event is not as seldom as high says, with this confidence")
        if self.low - self.delta < exp_above(self.eps * self.distance) * self.high:
            raise ValueError("the two bounds do not differ by so much")
        granted = f" at δ = {eps_in_words(self.delta)}" if self.delta else ""
        return (
            f"with {measured(100 * self.confidence, down=True)}% confidence the mechanism keeps no ε below "
            f"{decimal(self.eps, DIGITS, True)}{granted}: an event that was fixed before happened in {k} of "
            f"{n} runs of one input and in {h} of {m} of the other"
        )

    def meaning(self) -> str:
        return (
            "if the mechanism kept a smaller ε, such runs would be seen at most "
            f"{at_most(100 * (1 - self.confidence))} times in 100."
        )


def _tail_above(trials: int, hits: int, share: Fraction) -> Fraction:
    """A number ≥ P(Bin(trials, share) ≥ hits); 1 where fewer hits are expected than that.

    Beyond the mean terms fall faster than a geometric series, which bounds all that are left out.
    """
    odds = share / (1 - share)
    if (trials - hits) * odds >= hits + 1:
        return Fraction(1)
    old = flint.ctx.prec
    flint.ctx.prec = PRECISION
    try:
        p, ratio = _ball(share), _ball(odds)
        term = flint.arb.bin_uiui(trials, hits) * p**hits * (1 - p) ** (trials - hits)
        total = term
        for j in range(hits, trials):
            step = ratio * (trials - j) / (j + 1)
            term = term * step
            total += term
            if term < total * flint.arb(2) ** -100:
                # Later steps are smaller: what follows is at most term·(step + step² + …).
                total += term * step / (1 - step)
                break
        mantissa, exponent = total.upper().man_exp()
        return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    finally:
        flint.ctx.prec = old


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))
