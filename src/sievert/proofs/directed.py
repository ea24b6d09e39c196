"""Proof of the worst leakage when privacy runs one way only: K[a] ≤ e^ε·K[b] for each arc (a, b).

Definition 2 of Edwards et al. may hold from D to D' and not back. Distances then count arcs in the direction
in which the inequality runs, and differ by direction.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from sievert.numerics.balls import UNIT, decimal, exp_below, exp_enclosure, sum_error
from sievert.proofs.base import Proof
from sievert.proofs.lowers import channel_table
from sievert.proofs.reading import floats, fraction, indices, whole
from sievert.proofs.space import ProofSpace
from sievert.proofs.uppers import SMALLEST, dual_bound, exact_sum
from sievert.proofs.words import eps_in_words

__all__ = ["DirectedProof"]

FloatArray = NDArray[np.float64]
Certificate = dict[str, Any]
LARGEST_TABLE = 6000


@dataclass(frozen=True, eq=False)
class DirectedProof(Proof):
    """Certified bounds on the sum of column maxima of any channel with K[a] ≤ e^ε·K[b] for each arc (a, b).

    `upper` is a *packing* vector y ≥ 0 or a *dual* (y of free sign, multipliers on arcs); `lower` an explicit
    channel of integers over one denominator.
    """

    kind: ClassVar[str] = "worst leakage, one way"
    size: int
    arcs: NDArray[np.intp]
    eps: Fraction
    upper: Certificate
    lower: Certificate

    def __post_init__(self) -> None:
        if self.eps < 0 or self.size < 1 or self.arcs.ndim != 2 or self.arcs.shape[1] != 2:
            raise ValueError("eps must be ≥ 0, and arcs pairs of points")
        if len(self.arcs) and (self.arcs.min() < 0 or self.arcs.max() >= self.size):
            raise ValueError("an arc names a point that does not exist")

    def data(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "arcs": self.arcs.tolist(),
            "eps": str(self.eps),
            "upper": self.upper,
            "lower": self.lower,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> DirectedProof:
        arcs = indices(data["arcs"]).reshape(-1, 2)
        return cls(whole(data["size"], 1), arcs, fraction(data["eps"]), data["upper"], data["lower"])

    @cached_property
    def distances(self) -> FloatArray:
        """d[j, i]: arcs from j to i, in the direction of the inequality; inf where there is no way."""
        if self.size > LARGEST_TABLE:
            raise ValueError(f"{self.size} points are too many for a table of distances")
        ends = (self.arcs[:, 0], self.arcs[:, 1])
        graph = csr_array((np.ones(len(self.arcs)), ends), shape=(self.size, self.size))
        return np.asarray(shortest_path(graph, directed=True, unweighted=True))

    def bounds(self) -> tuple[Fraction, Fraction]:
        """Proved lower and upper bound; ValueError when a certificate does not hold."""
        lower, upper = self._lower(), self._upper()
        if lower > upper:
            raise ValueError("the lower bound exceeds the upper bound, so one of the certificates is wrong")
        return lower, upper

    def proved(self) -> str:
        lower, upper = self.bounds()
        return (
            f"on {self.size} points with {len(self.arcs)} one-way inequalities and ε = "
            f"{eps_in_words(self.eps)}, the sum of column maxima of every private channel is at most "
            f"{decimal(upper, 12, False)}, and some channel reaches at least {decimal(lower, 12, True)}"
        )

    def _upper(self) -> Fraction:
        kind = self.upper["type"]
        if kind == "dual":
            if len(self.upper["backward"]):
                raise ValueError("an arc has no multiplier in the other direction")
            space = ProofSpace(self.size, self.arcs, np.ones(len(self.arcs)))
            return dual_bound(space, self.eps, np.eye(self.size), self.upper)
        if kind != "packing":
            raise ValueError(f"unknown upper certificate {kind!r}")
        y = floats(self.upper["y"])
        if y.shape != (self.size,) or not (y >= 0).all():
            raise ValueError("the packing vector must have one finite entry ≥ 0 for each point")
        # K[i,j] ≥ e^(-ε·d(j→i))·K[j,j]: summed with y over the rows, each column is covered.
        covered = exp_enclosure(-self.eps, self.distances)[0] @ y * (1 - sum_error(self.size))
        least = float(covered.min() * (1 - 2 * UNIT))
        if not least > SMALLEST:
            raise ValueError("the packing vector leaves some point uncovered")
        return exact_sum(y) / Fraction(least)

    def _lower(self) -> Fraction:
        table, denominator = channel_table(self.size, self.lower)
        g = exp_below(self.eps)
        for a, b in self.arcs.tolist():
            if (table[a] * g.denominator > table[b] * g.numerator).any():
                raise ValueError(f"the channel is not private from point {a} to point {b}")
        return Fraction(int(table.max(axis=0).sum()), denominator)
