"""Proof of what noisy codes of a pair of users tell, over the draw of a public hash.

*Codes*: a coordinate of the two codes differs with probability d. Where it does, each release of it favours
the first user by +ε with probability e^ε/(e^ε + v - 1) and by -ε with 1/(e^ε + v - 1), and coordinates are
independent. The law of the sum is convolved one coordinate after another in whole numbers of 2^-320, every
entry rounded up; δ is the sum of (1 - e^(ξ - L))₊ over it, and a guess between the two, each as likely
before, is right with probability (1 + δ(0))/2 (Fernandes, Def 10.4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from sievert.numerics import decimal, eps_in_words, exp_above, exp_below
from sievert.proofs._base import Proof, in_percent_of
from sievert.proofs._reading import fraction, whole

__all__ = ["CodesProof"]

FINE = 320
DIGITS = 12
MOST_STEPS = 20_000_000


@dataclass(frozen=True, eq=False)
class CodesProof(Proof):
    """Codes of `bits` coordinates of a pair whose coordinates differ with probability `distance`.

    Every coordinate is released `releases` times under the same hash, with ε a time. The pair is
    (ξ, δ)-indistinguishable, and told apart with probability `guess` at most.
    """

    kind: ClassVar[str] = "codes"
    found: ClassVar[tuple[str, ...]] = ("xi", "guess")
    grounds: ClassVar[str] = (
        "the law of the privacy loss, convolved with every probability rounded up (Fernandes, Def 10.4.1)"
    )
    bits: int
    distance: Fraction
    eps: Fraction
    values: int
    releases: int
    xi: Fraction
    delta: Fraction
    guess: Fraction

    def data(self) -> dict[str, Any]:
        return {
            "bits": self.bits,
            "distance": str(self.distance),
            "eps": str(self.eps),
            "values": self.values,
            "releases": self.releases,
            "xi": str(self.xi),
            "delta": str(self.delta),
            "guess": str(self.guess),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> CodesProof:
        return cls(
            whole(data["bits"]),
            fraction(data["distance"]),
            fraction(data["eps"]),
            whole(data["values"]),
            whole(data["releases"]),
            fraction(data["xi"]),
            fraction(data["delta"]),
            fraction(data["guess"]),
        )

    @classmethod
    def of(
        cls,
        bits: int,
        distance: Fraction,
        eps: Fraction,
        values: int,
        releases: int,
        xi: Fraction,
        delta: Fraction,
    ) -> CodesProof:
        """The promise with the least guess; ξ and δ are raised where they were rounded below the proof."""
        bare = cls(bits, distance, eps, values, releases, xi, delta, Fraction(1))
        raised = xi if bare.least_delta(xi) <= delta else xi * (1 + Fraction(1, 2**50))
        proved = max(delta, bare.least_delta(raised))
        return replace(bare, xi=raised, delta=proved, guess=(1 + bare.least_delta(Fraction(0))) / 2)

    @staticmethod
    def possible(bits: int, releases: int) -> bool:
        """Whether so many coordinates and releases are checked in seconds."""
        return bits > 0 and releases > 0 and bits**2 * releases * (2 * releases + 1) <= MOST_STEPS

    @cached_property
    def law(self) -> list[int]:
        """Upper bounds of P[S = s] for s = -bits·releases …, in units of 2^-320."""
        shrunk = (exp_below(-self.eps), exp_above(-self.eps))
        others = self.values - 1
        down = _up(shrunk[1] / (1 + others * shrunk[1]))
        steps = [down, (self.values - 2) * down, _up(1 / (1 + others * shrunk[0]))]
        differs = [1 << FINE]
        for _ in range(self.releases):
            differs = _convolved(differs, steps)
        one = [-(-_up(self.distance) * value >> FINE) for value in differs]
        one[self.releases] += _up(1 - self.distance)
        found = [1 << FINE]
        for _ in range(self.bits):
            found = _convolved(found, one)
        return found

    def least_delta(self, xi: Fraction) -> Fraction:
        """What is proved of δ at ξ."""
        total, reach = 0, self.bits * self.releases
        for step in range(reach, 0, -1):
            loss = self.eps * step
            if loss <= xi:
                break
            total += -(-self.law[reach + step] * _up(1 - exp_below(xi - loss)) >> FINE)
        return min(Fraction(1), Fraction(total, 1 << FINE))

    def proved(self) -> str:
        if not self.possible(self.bits, self.releases):
            raise ValueError("bits and releases must be 1 or more, and few enough to check")
        if not 0 <= self.distance <= 1 or self.eps < 0 or self.values < 2 or self.xi < 0:
            raise ValueError("distance must be from 0 to 1, eps and xi at least 0, and values 2 or more")
        if self.delta < self.least_delta(self.xi):
            raise ValueError("the law of the loss does not prove so small a δ at ξ")
        if self.guess < (1 + self.least_delta(Fraction(0))) / 2:
            raise ValueError("the law of the loss does not prove so small a guess")
        times = "" if self.releases == 1 else f", released {self.releases} times under the same hash"
        return (
            f"codes of {self.bits} coordinates, each flipped with ε = {eps_in_words(self.eps)}{times}, of "
            "two users whose coordinates differ with probability "
            f"{eps_in_words(self.distance)} over the draw of the public hash: they are told apart by "
            f"{decimal(self.xi, DIGITS, False)} nats at most but for "
            f"δ = {decimal(self.delta, DIGITS, False)}, and a guess between them is right with probability "
            f"{decimal(self.guess, DIGITS, False)} at most (Fernandes, Def 10.4.1)"
        )

    def meaning(self) -> str:
        return (
            "whoever sees what is released of one of two such users names the right one in at most "
            f"{in_percent_of(self.guess)} of all cases; a blind guess is right in 50%."
        )


def _up(value: Fraction) -> int:
    """A whole number of 2^-320 at or above."""
    return ((value.numerator << FINE) + value.denominator - 1) // value.denominator


def _convolved(first: list[int], second: list[int]) -> list[int]:
    """The law of a sum, every entry rounded up."""
    found = [0] * (len(first) + len(second) - 1)
    for shift, weight in enumerate(second):
        if weight:
            for place, value in enumerate(first):
                found[place + shift] += value * weight
    return [-(-value >> FINE) for value in found]
