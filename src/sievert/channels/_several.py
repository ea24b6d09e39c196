"""Several tables of the same records with noise of their own, and a quantile on a public grid.

Noise is independent, so that costs add up over the tables for every pair of values, and the release costs
the largest sum (`policies.joint_sensitivity`). The exponential mechanism chooses a grid point g with
probability proportional to e^(-ε'·d(g)), where d(g) is how far the number of records on either side of g is
from the quantile's; a record moves d by at most `sensitivity`, up on one side of the quantile and down on
the other, so that ε' = ε/(2·sensitivity) keeps ε (McSherry and Talwar 2007; Smith 2011).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IndexArray, IntArray
from sievert.channels._laws import EpsilonOrAlpha, GeometricLaw, NoiseLaw
from sievert.channels._noise import NoiseChannel, TableNoise
from sievert.channels._zcdp import rho_of_selection
from sievert.numerics import log_sum, number
from sievert.policies import (
    CellCost,
    GridConfig,
    JointMove,
    JointSensitivity,
    Policy,
    Statistic,
    joint_moves,
    joint_sensitivity,
)

__all__ = ["DerivedMean", "JointNoise", "QuantileNoise"]


@dataclass(frozen=True)
class DerivedMean:
    """A mean over a private number of records: which table is the sum about `middle`, which the number."""

    name: str
    words: str
    total: int
    count: int
    middle: Fraction
    limits: tuple[Fraction, Fraction]


class QuantileNoise(NoiseChannel):
    """The exponential mechanism for a quantile on a public grid.

    Parameters
    ----------
    statistic : how many records have each position on the grid
    order : the quantile and its grid
    eps : for a record that changes its position
    sensitivity : how far one record moves the distance of a grid point, in records
    alone : the part of ε that a record costs which is there or not; ½ where only replaced
    """

    def __init__(
        self,
        statistic: Statistic,
        order: GridConfig,
        eps: Fraction,
        sensitivity: Fraction,
        alone: Fraction,
    ) -> None:
        super().__init__()
        self.statistic, self.order, self.eps = statistic, order, eps
        self.sensitivity, self.alone = sensitivity, alone

    @property
    def level(self) -> Fraction:
        """ε' for a distance of one record over the denominator of q."""
        return self.eps / (2 * self.sensitivity * self.order.q.denominator)

    @property
    def written(self) -> tuple[str, Fraction]:
        """ε for a record that changes its position."""
        return "eps", self.eps

    def cell_eps(self, steps: int) -> Fraction:
        """What one position costs that a record takes or leaves; it takes one and leaves another."""
        return steps * self.alone * self.eps

    def cell_rho(self, steps: int, alone: bool = False) -> Fraction:
        """The same in ρ, where a record takes one position and leaves another; or (`alone`) does one of both.

        ρ is convex in ε, and losses of all records span what their ε add up to: half of what twice the ε
        costs is exact for two positions, and enough for one.
        """
        if alone:
            return rho_of_selection(self.cell_eps(steps))
        return rho_of_selection(self.cell_eps(2 * steps)) / 2

    def log_probabilities(self, totals: IntArray) -> FloatArray:
        """ln of the probability of every grid point, for a table of positions."""
        scores = self.order.scores(np.asarray(totals, dtype=np.int64))
        logs = -float(self.level) * (scores - scores.min())
        return np.asarray(logs - log_sum(logs, 0))

    def log_probability(self, answer: Any, output: Any) -> float:
        """ln P(grid point | table of positions)."""
        return float(self.log_probabilities(answer)[self.order.grid.index(output)])

    def ranks_off(self, confidence: float) -> float:
        """A number of records by which the chosen point's distance exceeds the least at most, so surely.

        P(d ≥ least + s) ≤ G·e^(-ε'·s) for G grid points.
        """
        points = len(self.order.grid)
        each = float(self.level) * self.order.q.denominator
        return math.inf if each == 0 else (math.log(points) - math.log1p(-confidence)) / each

    def words(self) -> str:
        """The mechanism in words."""
        low, high = self.order.grid[0], self.order.grid[-1]
        return (
            f"the exponential mechanism on {len(self.order.grid)} points from {low} to {high}, "
            f"ε = {number(self.eps)}"
        )


class JointNoise(NoiseChannel):
    """Several tables of the same records, each with noise of its own.

    Parameters
    ----------
    parts : the tables with their noise, and quantiles
    names : what each is called
    policy : whose neighbours it is for
    absence : whether records may be left out
    means : which two of the tables are a mean
    """

    def __init__(
        self,
        parts: Sequence[TableNoise | QuantileNoise],
        names: Sequence[str],
        policy: Policy,
        absence: bool = False,
        means: Sequence[DerivedMean] = (),
    ) -> None:
        super().__init__()
        self.parts, self.names = tuple(parts), tuple(names)
        self.policy, self.absence, self.means = policy, absence, tuple(means)

    def among(self, policy: Policy, chosen: IndexArray, absence: bool | None = None) -> JointNoise:
        """The same noise for some of the values, as another policy has them."""
        left_out = self.absence if absence is None else absence
        return JointNoise([_among(p, chosen) for p in self.parts], self.names, policy, left_out)

    @property
    def tables(self) -> tuple[Statistic, ...]:
        """The tables over the policy's values."""
        return tuple(part.statistic for part in self.parts)

    @property
    def keeps_eps(self) -> bool:
        """Whether some ε is large enough; Gaussian noise keeps none."""
        return all(isinstance(part, QuantileNoise) or part.keeps_eps for part in self.parts)

    @cached_property
    def joint(self) -> JointSensitivity:
        """What all cost together in ε, with the pair that attains it."""
        return self.largest(in_rho=False)

    @cached_property
    def joint_rho(self) -> JointSensitivity:
        """What all cost together in ρ, with the pair that attains it."""
        return self.largest(in_rho=True)

    @property
    def charged(self) -> JointSensitivity:
        """What all cost together: in ε, or in ρ where some noise keeps no ε."""
        return self.joint if self.keeps_eps else self.joint_rho

    def largest(self, in_rho: bool, multiple: int = 1) -> JointSensitivity:
        """What all cost for the worst pair, of which so many records move alike."""
        costs = [self._cell_rho(part) if in_rho else _cell_eps(part) for part in self.parts]
        return joint_sensitivity(
            self.policy,
            self.tables,
            costs,
            absence=self.absence,
            multiple=multiple,
            power=2 if in_rho else 1,
        )

    @cached_property
    def moves(self) -> tuple[JointMove, ...]:
        """The moves of one record that no other exceeds in the cells of every table."""
        return joint_moves(self.policy, self.tables, self.absence)

    def cells(self, move: JointMove, multiple: int = 1) -> list[tuple[NoiseLaw, int]]:
        """For every cell that so many records move alike, its noise and by how many steps.

        A quantile keeps an ε, and tells no more than binary response of that ε does, which is geometric noise
        moved by one step (Kairouz, Oh and Viswanath, Thm 3.1).
        """
        found: list[tuple[NoiseLaw, int]] = []
        for part, steps in zip(self.parts, move.steps, strict=True):
            if not isinstance(part, QuantileNoise):
                found += [(part.law, multiple * size) for size in steps]
            elif steps:
                eps = part.cell_eps(multiple * sum(steps))
                found.append((GeometricLaw(EpsilonOrAlpha(float(eps), None, exact_eps=eps)), 1))
        return found

    def _cell_rho(self, part: TableNoise | QuantileNoise) -> CellCost:
        if isinstance(part, QuantileNoise):
            return partial(part.cell_rho, alone=self.policy.absent is not None)
        return part.law.rho_of

    @property
    def written(self) -> tuple[str, Fraction]:
        """ε of all together, or ρ where some noise keeps no ε."""
        return "eps" if self.keeps_eps else "rho", self.charged.cost

    def log_probability(self, answer: Any, output: Any) -> float:
        """ln of the probability of all outputs together, for all tables together."""
        rows = zip(self.parts, answer, output, strict=True)
        return sum(part.log_probability(table, noisy) for part, table, noisy in rows)

    def words(self) -> str:
        """The noise in words, one table after the other."""
        return "; ".join(f"{name}: {part.words()}" for name, part in zip(self.names, self.parts, strict=True))


def _among(part: TableNoise | QuantileNoise, chosen: IndexArray) -> TableNoise | QuantileNoise:
    table = part.statistic
    some = replace(table, cell_of=table.cell_of[chosen], amount=table.amount[chosen])
    if isinstance(part, QuantileNoise):
        return QuantileNoise(some, part.order, part.eps, part.sensitivity, part.alone)
    return type(part)(some, part.law, part.limits)


def _cell_eps(part: TableNoise | QuantileNoise) -> CellCost:
    if isinstance(part, QuantileNoise):
        return part.cell_eps
    return lambda steps: part.eps_of_steps(Fraction(steps))
