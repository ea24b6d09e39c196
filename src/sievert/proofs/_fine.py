"""A mechanism in parts of 2^bits, more than floats have, and what it loses: whole numbers and fractions only.

The rules are those of `sievert.proofs._design`; e^(-ε·length) is between fractions a relative 1e-30 apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import ObjectArray
from sievert.proofs._reading import entries, whole
from sievert.proofs._space import Decay, ProofSpace

if TYPE_CHECKING:
    from sievert.proofs._design import Multipliers

__all__ = ["BITS_OF_ONE", "MOST_BITS_OF_ONE", "FineMechanism", "exact_costs"]
# Digits of a probability in floats, and the most that a proof may have.
BITS_OF_ONE, MOST_BITS_OF_ONE = 53, 4096


@dataclass(frozen=True, eq=False)
class FineMechanism:
    """Whole numbers over 2^bits, [point, action]."""

    counts: ObjectArray
    bits: int

    @classmethod
    def read(cls, rows: Any, bits: int) -> FineMechanism:
        """The rows of a proof; whole numbers from 0 to 2^bits."""
        found = [[whole(value, 0, 2**bits) for value in row] for row in entries(rows)]
        if not found or not found[0] or any(len(row) != len(found[0]) for row in found):
            raise ValueError("the mechanism is empty or ragged")
        counts = np.empty((len(found), len(found[0])), dtype=object)
        counts[:] = found
        return cls(counts, bits)

    @property
    def channel(self) -> ObjectArray:
        """Its probabilities."""
        rows = [[Fraction(count, 2**self.bits) for count in row] for row in self.counts.tolist()]
        return np.array(rows, dtype=object)

    def check(self, space: ProofSpace, decay: Decay) -> None:
        """ValueError unless rows sum to 2^bits and every ratio along every edge is allowed."""
        rows = self.counts.tolist()
        if len(rows) != space.size or any(sum(row) != 2**self.bits for row in rows):
            raise ValueError("the mechanism's rows are not distributions")
        found = self._broken(space, decay)
        if found is not None:
            raise ValueError("the mechanism is not private between points {} and {}".format(*found))

    def is_private(self, space: ProofSpace, decay: Decay) -> bool:
        """Whether every ratio along every edge is allowed."""
        return self._broken(space, decay) is None

    def _broken(self, space: ProofSpace, decay: Decay) -> tuple[int, int] | None:
        """Two points whose ratio is not allowed."""
        rows = self.counts.tolist()
        for (a, b), length in zip(space.pairs.tolist(), space.lengths.tolist(), strict=True):
            above, below = decay.ends(length)[1].as_integer_ratio()
            for x, z in ((a, b), (b, a)):
                if any(p * below < q * above for p, q in zip(rows[x], rows[z], strict=True)):
                    return x, z
        return None

    def loss(self, cost: ObjectArray) -> Fraction:
        """What it loses."""
        return Fraction((cost * self.counts).sum()) / (1 << self.bits)

    def loss_below(
        self, space: ProofSpace, decay: Decay, cost: ObjectArray, multipliers: Multipliers
    ) -> Fraction:
        """What every private mechanism loses at least; multipliers are in parts of 2^bits.

        Where no cost is negative, that is never below 0.
        """
        bracket = cost.copy()
        for arc, w, value in zip(
            multipliers.arc.tolist(), multipliers.output.tolist(), multipliers.value.tolist(), strict=True
        ):
            if value < 0 or not 0 <= arc < 2 * len(space.pairs) or not 0 <= w < cost.shape[1]:
                raise ValueError("multipliers must be ≥ 0, on arcs and outputs that exist")
            left, right = space.pairs[arc >> 1].tolist()[:: -1 if arc & 1 else 1]
            y = Fraction(value, 2**self.bits)
            bracket[left, w] -= y
            bracket[right, w] += decay.ends(float(space.lengths[arc >> 1]))[0] * y
        found = sum((min(row) for row in bracket.tolist()), Fraction(0))
        return found if (cost < 0).any() else max(found, Fraction(0))


def exact_costs(prior: NDArray[Any], loss: NDArray[Any]) -> ObjectArray:
    """π_x·ℓ[w,x] in fractions, [point, action]."""
    rows = zip(prior.tolist(), loss.T.tolist(), strict=True)
    return np.array([[Fraction(p) * Fraction(v) for v in column] for p, column in rows], dtype=object)
