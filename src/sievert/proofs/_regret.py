"""Proof that a mechanism has the least regret: what it loses more than the best at worst, and nobody less.

Above: prices at the corners of its cells (`UniversalProof`). Below: some priors π_k with weights μ_k. What
any private mechanism loses more than the best, on average over them, is at most its largest regret; and on
average over them a column c costs Σ_k μ_k·min_w (π_k·ℓ_w)·c. That is concave in c, so prices λ that no
extreme private column undercuts bound the sum over all columns of a mechanism by Σλ; what the best lose is at
most what given mechanisms lose. So no regret is below Σλ - Σ_k μ_k·loss(π_k, mechanism k).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sievert.arrays import ObjectArray
from sievert.proofs._base import Proof, require_prior, rows_from, texts_of
from sievert.proofs._reading import listed
from sievert.proofs._universal import UniversalProof, best_loss

__all__ = ["RegretProof"]


@dataclass(frozen=True, eq=False)
class RegretProof(Proof):
    """A mechanism whose largest regret is least, with a bound from both sides that is the same number.

    Attributes
    ----------
    most : the mechanism, and that it never loses more than the regret `most.gap` above the best
    priors, weights : some priors [prior, input] and how much each counts
    rivals : for each of them a private mechanism [input, output], which may be the best for it
    prices : of the inputs, which no extreme private column undercuts on average over the priors
    """

    kind: ClassVar[str] = "least regret"
    grounds: ClassVar[str] = (
        "concavity: prices at extreme private columns bound the regret of every mechanism"
    )
    most: UniversalProof
    priors: ObjectArray
    weights: ObjectArray
    rivals: tuple[ObjectArray, ...]
    prices: ObjectArray

    def data(self) -> dict[str, Any]:
        return {
            "most": self.most.data(),
            "priors": texts_of(self.priors),
            "weights": [str(weight) for weight in self.weights],
            "rivals": [texts_of(rival) for rival in self.rivals],
            "prices": [str(price) for price in self.prices],
        }

    def question(self) -> dict[str, Any]:
        return self.most.question()

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> RegretProof:
        return cls(
            UniversalProof.from_data(data["most"]),
            rows_from(data["priors"]),
            rows_from([data["weights"]])[0],
            tuple(rows_from(rival) for rival in listed(data["rivals"])),
            rows_from([data["prices"]])[0],
        )

    def bound(self) -> Fraction:
        """What every private mechanism regrets at some prior; ValueError where the prices prove nothing."""
        n = self.most.space.size
        require_prior(self.weights, len(self.priors))
        if len(self.rivals) != len(self.priors) or self.prices.shape != (n,):
            raise ValueError("every prior needs one rival, and every input one price")
        attained = Fraction(0)
        for prior, weight, rival in zip(self.priors, self.weights, self.rivals, strict=True):
            require_prior(prior, n)
            self.most.require_private("a rival", rival)
            attained += weight * best_loss(prior, rival, self.most.loss)
        for column in self.most.extreme_columns:
            cost = sum(
                (
                    weight * min(self.most.loss.dot(prior * column).tolist())
                    for prior, weight in zip(self.priors, self.weights, strict=True)
                ),
                Fraction(0),
            )
            if cost < self.prices.dot(column):
                raise ValueError("a private column costs less than the prices say")
        return Fraction(sum(self.prices, Fraction(0)) - attained)

    def proved(self) -> str:
        above = self.most.proved()
        below = self.bound()
        if below != self.most.gap:
            raise ValueError(f"a regret of at least {below} is proved, and one of at most {self.most.gap}")
        return (
            f"{above}; and every private mechanism loses at least {below} more than the best for one of "
            f"{len(self.priors)} priors"
        )

    def meaning(self) -> str:
        return (
            f"whatever the users' data look like, this mechanism costs them at most {self.most.gap} more "
            "than the best one for these data, and no mechanism that is as private costs less at worst."
        )
