"""Proofs that a mechanism is best whatever the prior, or that it is not.

Yes by cells: the loss of a mechanism is linear in the prior on cells, and the least loss of all private
mechanisms is concave, so it is enough that they agree at the corners of the cells. At each corner prices λ of
the inputs prove it: they sum to the mechanism's loss, and π·ℓ_w - λ is never negative on a private column.
Corners (`_cells`) and extreme private columns are computed anew, from the mechanism, the loss and the
constraints, in another way than by those who search for them.

No: a prior and a private mechanism that loses less for it. Both together say how large the largest gap over
all priors is. Theorems are in `_universal_theorems`, the least regret in `_regret`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any, ClassVar

import numpy as np

from sievert.arrays import ObjectArray
from sievert.numerics import extreme_rays, require_size
from sievert.proofs._base import Proof, require_channels, require_prior, rows_from, texts_of
from sievert.proofs._cells import require_corners
from sievert.proofs._reading import fraction
from sievert.proofs._space import ProofSpace, exact_power

__all__ = [
    "BetterForPriorProof",
    "LargestGapProof",
    "UniversalProof",
    "UniversalProofBase",
    "best_loss",
]

# Points whose subsets are listed.
LARGEST_SUBSETS = 12
# Unknowns of the cone of private columns, where its extreme rays are enumerated: seconds.
LARGEST_CONE = 52


def best_loss(prior: ObjectArray, channel: ObjectArray, loss: ObjectArray) -> Fraction:
    """Σ_y min_w Σ_x π_x·C[x,y]·ℓ[w,x]: the loss with the best action for each output."""
    scores = loss.dot(prior[:, None] * channel)
    return sum((min(column) for column in scores.T.tolist()), Fraction(0))


def _whole(row: ObjectArray) -> list[int]:
    """A row of fractions times their common denominator."""
    scale = lcm(*(Fraction(value).denominator for value in row))
    return [int(value * scale) for value in row]


@dataclass(frozen=True, eq=False)
class UniversalProofBase(Proof):
    """What all proofs of this kind are about: the constraints, the mechanism [input, output] and the loss."""

    space: ProofSpace
    alpha: Fraction
    channel: ObjectArray
    loss: ObjectArray

    def setting(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "space": self.space.to_data(),
            "alpha": str(self.alpha),
            "channel": texts_of(self.channel),
            "loss": texts_of(self.loss),
        }

    @staticmethod
    def setting_from(data: dict[str, Any]) -> tuple[ProofSpace, Fraction, ObjectArray, ObjectArray]:
        """Back from plain data."""
        return (
            ProofSpace.from_data(data["space"]),
            fraction(data["alpha"]),
            rows_from(data["channel"]),
            rows_from(data["loss"]),
        )

    def check_setting(self) -> None:
        """ValueError unless the mechanism is a private channel and the loss fits it."""
        if not 0 <= self.alpha <= 1:
            raise ValueError("alpha must be from 0 to 1")
        if self.loss.ndim != 2 or self.loss.shape[1] != self.space.size:
            raise ValueError("the loss and the space do not fit each other")
        self.require_private("the mechanism", self.channel)

    def require_private(self, name: str, table: ObjectArray) -> None:
        """ValueError unless a table is a channel on the space's points that is private along every edge."""
        if len(table) != self.space.size:
            raise ValueError(f"{name} and the space do not fit each other")
        require_channels((name, table), rounding=Fraction(0))
        for (a, b), length in zip(self.space.pairs.tolist(), self.space.lengths.tolist(), strict=True):
            factor = exact_power(self.alpha, length)
            for x, z in ((a, b), (b, a)):
                if (table[x] < factor * table[z]).any():
                    raise ValueError(f"{name} is not private between points {x} and {z}")

    def require_same(self, other: UniversalProofBase) -> None:
        """ValueError unless another proof is about the same mechanism, loss, constraints and alpha."""
        if self.setting() != other.setting():
            raise ValueError("the parts of the proof are about different mechanisms, losses or metrics")

    @property
    def is_checkable(self) -> bool:
        """Whether the cone of private columns is known by its shape, or small enough to be enumerated."""
        small = self.space.size + 2 * len(self.space.pairs) <= LARGEST_CONE
        return small or self.space.is_forest or self.space.is_uniform

    def is_never_negative(self, cost: ObjectArray) -> bool:
        """Whether Σ_x cost_x·c_x ≥ 0 for every private column c.

        On a forest by what each point can pass on towards the root, and where all points are equally far
        apart by the signs of the costs; by the extreme columns otherwise.
        """
        if self.space.is_forest:
            return self._on_forest(cost.tolist())
        if self.space.is_uniform:
            factor = exact_power(self.alpha, float(self.space.lengths[0]))
            return bool(factor * cost.sum() + (1 - factor) * np.minimum(cost, 0).sum() >= 0)
        return not (self.extreme_columns.dot(cost) < 0).any()

    def _on_forest(self, value: list[Fraction]) -> bool:
        """The least cost below each point of columns that are 1 there: others are at the end of a range."""
        order, parent, edge = self.space.outward()
        for v in order[::-1].tolist():
            if parent[v] < 0:
                if value[v] < 0:
                    return False
                continue
            factor = exact_power(self.alpha, float(self.space.lengths[edge[v]]))
            if value[v] >= 0:
                value[parent[v]] += factor * value[v]
            elif factor == 0:
                return False
            else:
                value[parent[v]] += value[v] / factor
        return True

    @cached_property
    def extreme_columns(self) -> ObjectArray:
        """Extreme rays of the private columns, from the slacks c_x - α^length·c_z ≥ 0 of all arcs.

        Where all points are equally far apart an extreme column has two values: it is a set of points.
        """
        n = self.space.size
        if self.space.is_uniform and n <= LARGEST_SUBSETS:
            factor = exact_power(self.alpha, float(self.space.lengths[0]))
            inside = (np.arange(1, 2**n - 1)[:, None] >> np.arange(n)) & 1
            columns = np.full(inside.shape, factor, dtype=object)
            columns[inside == 1] = Fraction(1)
            return columns
        way = "prove it for fewer inputs"
        require_size(n + 2 * len(self.space.pairs), LARGEST_CONE, "the cone of private columns", way)
        rows = []
        for (a, b), length in zip(self.space.pairs.tolist(), self.space.lengths.tolist(), strict=True):
            factor = exact_power(self.alpha, length)
            for x, z in ((a, b), (b, a)):
                row = np.full(n, Fraction(0), dtype=object)
                row[x], row[z] = row[x] + 1, row[z] - factor
                rows.append(row)
        # Variables: the column's entries, then one slack for each arc, tied to them by an equation.
        equations = []
        for k, row in enumerate(rows):
            tied = np.full(n + len(rows), Fraction(0), dtype=object)
            tied[:n] = row
            tied[n + k] = Fraction(-1)
            equations.append(_whole(tied))
        if not equations:
            return np.array([[int(x == k) for x in range(n)] for k in range(n)], dtype=object)
        return np.asarray(extreme_rays(np.array(equations, dtype=object))[:, :n])


@dataclass(frozen=True, eq=False)
class UniversalProof(UniversalProofBase):
    """A mechanism that is best, up to a gap, whatever the prior: corners of its cells, with prices."""

    kind: ClassVar[str] = "universal optimality"
    found: ClassVar[tuple[str, ...]] = ("channel", "priors", "prices", "gap")
    grounds: ClassVar[str] = "the loss is linear on cells of priors, the least loss concave: corners decide"
    priors: ObjectArray
    prices: ObjectArray
    gap: Fraction = Fraction(0)

    def data(self) -> dict[str, Any]:
        return {
            **self.setting(),
            "priors": texts_of(self.priors),
            "prices": texts_of(self.prices),
            "gap": str(self.gap),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> UniversalProof:
        priors, prices = rows_from(data["priors"]), rows_from(data["prices"])
        return cls(*cls.setting_from(data), priors, prices, fraction(data["gap"]))

    def proved(self) -> str:
        self.check_setting()
        if self.priors.shape != self.prices.shape:
            raise ValueError("every prior needs one price for each input")
        for prior, price in zip(self.priors, self.prices, strict=True):
            require_prior(prior, self.space.size)
            if best_loss(prior, self.channel, self.loss) - sum(price) > self.gap:
                raise ValueError("the prices of a prior are too low for the gap")
            if not all(self.is_never_negative(prior * row - price) for row in self.loss):
                raise ValueError("prices exceed what a private column costs")
        listed = {tuple(prior.tolist()) for prior in self.priors}
        require_corners(self.channel, self.loss, listed)
        more = "loses least" if self.gap == 0 else f"loses at most {self.gap} more than the best"
        return (
            f"the mechanism on {self.space.size} inputs {more} among all private mechanisms with "
            f"e^-ε = {self.alpha}, whatever the prior: it does at the {len(listed)} corners of its cells"
        )

    def meaning(self) -> str:
        if self.gap == 0:
            return "whatever the users' data look like, no mechanism that is as private serves them better."
        return (
            "whatever the users' data look like, a mechanism that is as private serves them better by at "
            f"most {self.gap}."
        )


@dataclass(frozen=True, eq=False)
class BetterForPriorProof(UniversalProofBase):
    """A prior for which another private mechanism loses less."""

    kind: ClassVar[str] = "better for a prior"
    grounds: ClassVar[str] = "a private mechanism that loses less for one prior"
    prior: ObjectArray
    better: ObjectArray
    gap: Fraction

    def data(self) -> dict[str, Any]:
        return {
            **self.setting(),
            "prior": [str(value) for value in self.prior],
            "better": texts_of(self.better),
            "gap": str(self.gap),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> BetterForPriorProof:
        prior = rows_from([data["prior"]])[0]
        return cls(*cls.setting_from(data), prior, rows_from(data["better"]), fraction(data["gap"]))

    def proved(self) -> str:
        self.check_setting()
        require_prior(self.prior, self.space.size)
        self.require_private("the better mechanism", self.better)
        own = best_loss(self.prior, self.channel, self.loss)
        other = best_loss(self.prior, self.better, self.loss)
        if self.gap <= 0 or own - other != self.gap:
            raise ValueError(
                f"the mechanism loses {own} and the other {other}, which is no gap of {self.gap}"
            )
        return (
            f"for one prior on the {self.space.size} inputs a private mechanism with e^-ε = {self.alpha} "
            f"loses {other}, {self.gap} less than the given one"
        )

    def meaning(self) -> str:
        return f"for some data another mechanism that is as private costs its users {self.gap} less."


@dataclass(frozen=True, eq=False)
class LargestGapProof(Proof):
    """How much more than the best a mechanism loses at the prior that is worst for it, from both sides."""

    kind: ClassVar[str] = "largest gap over priors"
    grounds: ClassVar[str] = "corners of the cells of priors above, one prior below"
    attained: BetterForPriorProof
    most: UniversalProof

    def data(self) -> dict[str, Any]:
        return {"attained": self.attained.data(), "most": self.most.data()}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> LargestGapProof:
        return cls(BetterForPriorProof.from_data(data["attained"]), UniversalProof.from_data(data["most"]))

    def proved(self) -> str:
        self.attained.require_same(self.most)
        if self.attained.gap != self.most.gap:
            raise ValueError(f"a gap of {self.attained.gap} is attained, and one of {self.most.gap} bounded")
        return f"{self.attained.proved()}; and {self.most.proved()}"

    def meaning(self) -> str:
        return (
            f"for some data another mechanism that is as private costs its users {self.attained.gap} less, "
            "and for none more than that."
        )
