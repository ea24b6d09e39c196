"""Proof in fractions that a mechanism is private and optimal: its loss equals its certificate's bound."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sievert.proofs.base import Proof
from sievert.proofs.decay import exact_power
from sievert.proofs.matrices import rows_from
from sievert.proofs.reading import fraction, fractions, whole
from sievert.proofs.space import ProofSpace

__all__ = ["ExactDesignProof"]

ObjectArray = NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class ExactDesignProof(Proof):
    """A mechanism, and multipliers y ≥ 0 on c[x,w] ≥ alpha^length·c[z,w] that prove it optimal.

    `multipliers` are [arc, output, value]; arc 2e is edge e as listed, 2e + 1 reversed. The bound is the one
    of `sievert.proofs.design`, in fractions.
    """

    kind: ClassVar[str] = "exact optimal design"
    space: ProofSpace
    alpha: Fraction
    prior: ObjectArray
    loss: ObjectArray
    channel: ObjectArray
    multipliers: tuple[tuple[int, int, Fraction], ...]

    def data(self) -> dict[str, Any]:
        return {
            "space": self.space.to_data(),
            "alpha": str(self.alpha),
            "prior": [str(value) for value in self.prior],
            "loss": [[str(value) for value in row] for row in self.loss],
            "channel": [[str(value) for value in row] for row in self.channel],
            "multipliers": [[arc, output, str(value)] for arc, output, value in self.multipliers],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ExactDesignProof:
        return cls(
            ProofSpace.from_data(data["space"]),
            fraction(data["alpha"]),
            _row(data["prior"]),
            rows_from(data["loss"]),
            rows_from(data["channel"]),
            tuple((whole(arc), whole(output), fraction(value)) for arc, output, value in data["multipliers"]),
        )

    def value(self) -> Fraction:
        """The loss of the mechanism, after checking that it is a private channel."""
        n, m = self.channel.shape
        if self.loss.shape != (m, n) or self.prior.shape != (n,) or self.space.size != n:
            raise ValueError("prior, loss, mechanism and space do not fit each other")
        if (self.prior < 0).any() or self.prior.sum() != 1:
            raise ValueError("the prior is not a distribution")
        if (self.channel < 0).any() or (self.channel.sum(axis=1) != 1).any():
            raise ValueError("the mechanism's rows are not distributions")
        for (a, b), length in zip(self.space.pairs.tolist(), self.space.lengths.tolist(), strict=True):
            factor = self.factor(length)
            for x, z in ((a, b), (b, a)):
                if (self.channel[x] < factor * self.channel[z]).any():
                    raise ValueError(f"the mechanism is not private between points {x} and {z}")
        return Fraction((self.prior[:, None] * self.loss.T * self.channel).sum())

    def bound(self) -> Fraction:
        """The least loss of any private mechanism that the multipliers prove."""
        bracket = self.prior[:, None] * self.loss.T
        for arc, output, value in self.multipliers:
            if value < 0 or not 0 <= arc < 2 * len(self.space.pairs) or not 0 <= output < bracket.shape[1]:
                raise ValueError("multipliers must be ≥ 0, on arcs and outputs that exist")
            left, right = self.space.pairs[arc >> 1].tolist()[:: -1 if arc & 1 else 1]
            bracket[left, output] -= value
            bracket[right, output] += self.factor(float(self.space.lengths[arc >> 1])) * value
        return sum((min(row) for row in bracket.tolist()), Fraction(0))

    def factor(self, length: float) -> Fraction:
        """alpha^length, exactly."""
        return exact_power(self.alpha, length)

    def proved(self) -> str:
        if not 0 <= self.alpha <= 1:
            raise ValueError("alpha must be from 0 to 1")
        value, bound = self.value(), self.bound()
        if value != bound:
            raise ValueError(f"the mechanism loses {value} but the certificate proves only {bound}")
        return (
            f"the mechanism on {self.space.size} inputs is private with e^-ε = {self.alpha} and loses "
            f"exactly {value}; no private mechanism loses less"
        )


def _row(values: Any) -> ObjectArray:
    array = np.empty(len(values), dtype=object)
    array[:] = fractions(values)
    return array
