"""From "one person more or less" to "which value one person has".

A promise under add and remove compares databases with a person to the database without. Two values of the
person are then two steps apart, by way of the person's absence: a group of two. And whoever guesses the value
from the output without the person is right as often as a blind guess; with the person they are right at most
as often as the promise lets any event of that probability grow, 1 - f(blind guess) for its trade-off function
f. Both bounds hold, and the least one counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sievert.arrays import FloatArray
from sievert.channels.divergences import Tradeoff
from sievert.limits.promises import Claim

__all__ = ["ReplacementClaim"]


@dataclass(frozen=True, eq=False)
class ReplacementClaim(Claim):
    """What is promised about two values of a person, given what is promised about the person's absence.

    `removed` is the promise for one person more or less, `replaced` what it implies for one person's value.
    """

    removed: Claim
    replaced: Claim

    @property
    def releases(self) -> int:
        """How many releases are counted."""
        return int(getattr(self.removed, "releases", 1))

    @property
    def words(self) -> str:
        return f"{self.removed.words} for one person more or less, two values being two such steps apart"

    def delta(self, eps: FloatArray) -> FloatArray:
        return self.replaced.delta(eps)

    def epsilon(self, delta: float) -> float:
        return self.replaced.epsilon(delta)

    def levels(self) -> FloatArray:
        return self.replaced.levels()

    def tradeoff(self) -> Tradeoff:
        return replace(self.replaced.tradeoff(), exact=False)

    def largest_guess(self, before: float) -> float:
        """The best guess of the value, by comparison with the person's absence."""
        return max(before, self.removed.largest_event(before))
