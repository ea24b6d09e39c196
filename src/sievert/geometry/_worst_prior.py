"""The prior for which a mechanism is farthest from the best: simplices of priors, split as needed.

The loss of a mechanism M with the best action for each output is concave in the prior, and so is the least
loss V of all private mechanisms. On a simplex of priors with corners p_i, V is at least the interpolation of
the V(p_i), and M loses at most what it loses with any one remap R of its outputs to actions. So

    gap ≤ max_i [loss(p_i, M·R) - V(p_i)]   on the whole simplex.

The best R of a simplex is a small linear program, whose multipliers are the prior where the bound is
attained; there the simplex is split if no prior is known with such a gap. The simplex of the largest bound
goes first, so wherever the search stops the largest gap is known from both sides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np
from scipy.sparse import csc_array

from sievert.arrays import AnyArray
from sievert.errors import TooLargeError
from sievert.geometry._optima import Optimum, VertexProgram
from sievert.numerics import advance
from sievert.programs import ExactProgram, LinearProgram, exact_optimum, solve

__all__ = ["WorstPrior", "worst_prior"]

# Shares of the largest loss, in floats: actions this close to the best are best, gaps this close are equal.
SAME, NEAR = 1e-12, 1e-9
# A share of a corner below this is rounding.
NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class WorstPrior:
    """Where a mechanism is farthest from the best, as far as the search went.

    Attributes
    ----------
    gap : the largest gap found, attained at `prior`
    bound : no prior has a larger gap, in floats up to 1e-9 of the losses
    prior, best : where, and the least loss of all private mechanisms there
    """

    gap: Any
    bound: Any
    prior: AnyArray
    best: Optimum


def worst_prior(program: VertexProgram, channel: AnyArray, loss: AnyArray, effort: int) -> WorstPrior:
    """The prior with the largest gap between a private mechanism [input, output] and the best.

    In fractions where the program is. The search ends after `effort` linear programs at the latest.
    """
    search = _Search(program, channel, loss)
    root = search.region(tuple(search.point(corner) for corner in search.units()))
    order = count()
    waiting = [(-root.bound, next(order), root)]
    while search.is_open(waiting[0][2]) and search.programs < effort:
        advance("regions of priors", search.programs, effort)
        for part in search.split(heappop(waiting)[2]):
            heappush(waiting, (-part.bound, next(order), part))
    worst = search.worst
    return WorstPrior(worst.gap, max(waiting[0][2].bound, worst.gap), worst.prior, worst.best)


@dataclass(frozen=True, eq=False)
class _Point:
    """A prior: the least loss there, what actions cost at outputs [output, action], and which are best."""

    prior: AnyArray
    best: Optimum
    scores: AnyArray
    chosen: AnyArray
    gap: Any


@dataclass(frozen=True, eq=False)
class _Region:
    """A simplex of priors, by the positions of its corners; the bound is attained at shares of them."""

    corners: tuple[int, ...]
    bound: Any
    shares: AnyArray


class _Search:
    """Points and regions of one mechanism and loss."""

    def __init__(self, program: VertexProgram, channel: AnyArray, loss: AnyArray) -> None:
        self.program, self.channel, self.loss = program, channel, loss
        self.exact = program.exact
        largest = max(1.0, float(np.abs(loss.astype(np.float64)).max()))
        self.same: Any = 0 if self.exact else SAME * largest
        self.near: Any = 0 if self.exact else NEAR * largest
        self.points: list[_Point] = []
        self.places: dict[tuple[Any, ...], int] = {}
        self.worst: _Point
        self.programs = 0

    def number(self, value: int) -> Any:
        """A whole number, as a fraction where everything is."""
        return Fraction(value) if self.exact else float(value)

    def units(self) -> list[AnyArray]:
        """The corners of the simplex of all priors."""
        n = len(self.channel)
        dtype = object if self.exact else np.float64
        return [np.array([self.number(int(x == z)) for x in range(n)], dtype=dtype) for z in range(n)]

    def point(self, prior: AnyArray) -> int:
        """The position of a prior among the points; it is added where it is new."""
        key = tuple(prior.tolist())
        if key in self.places:
            return self.places[key]
        self.programs += 1
        best = self.program.optimum(prior, self.loss)
        scores = self.loss.dot(prior[:, None] * self.channel).T
        least = scores.min(axis=1)
        chosen = np.asarray(scores <= (least + self.same)[:, None], dtype=bool)
        found = _Point(prior, best, scores, chosen, least.sum() - best.value)
        if not self.points or found.gap > self.worst.gap:
            self.worst = found
        self.points.append(found)
        self.places[key] = len(self.points) - 1
        return self.places[key]

    def is_open(self, region: _Region) -> bool:
        """Whether a region may hold a larger gap than the largest one known."""
        return bool(region.bound > self.worst.gap + self.near)

    def region(self, corners: tuple[int, ...]) -> _Region:
        """A simplex with its bound: by actions that are best at all corners, else by a program."""
        points = [self.points[i] for i in corners]
        common = np.logical_and.reduce([point.chosen for point in points])
        if common.any(axis=1).all():
            gaps = [point.gap for point in points]
            return _Region(corners, max(gaps), self.units()[gaps.index(max(gaps))])
        self.programs += 1
        return self._by_program(corners, points)

    def _by_program(self, corners: tuple[int, ...], points: list[_Point]) -> _Region:
        """min t ≥ 0 such that one remap loses at most V(p_i) + t at each corner p_i."""
        outputs, actions = points[0].scores.shape
        n, size = len(points), outputs * actions
        matrix = np.full((outputs + n, size + n + 1), self.number(0), dtype=self.program.columns.dtype)
        for y in range(outputs):
            matrix[y, y * actions : (y + 1) * actions] = self.number(1)
        for i, point in enumerate(points):
            matrix[outputs + i, :size] = point.scores.ravel()
            matrix[outputs + i, size + i], matrix[outputs + i, -1] = self.number(1), self.number(-1)
        cost = np.full(size + n + 1, self.number(0), dtype=matrix.dtype)
        cost[-1] = self.number(1)
        sides = [self.number(1)] * outputs + [point.best.value for point in points]
        primal, dual = self._solved(cost, matrix, sides)
        return _Region(corners, primal[-1], -dual[outputs:])

    def _solved(self, cost: AnyArray, matrix: AnyArray, sides: list[Any]) -> tuple[AnyArray, AnyArray]:
        width = len(cost)
        if self.exact:
            free: list[Fraction | None] = [None] * width
            program = ExactProgram(cost, matrix, [*sides], [*sides], [Fraction(0)] * width, free)
            vertex = exact_optimum(program)
            if vertex is None:
                raise TooLargeError(
                    "a region of priors could not be settled in fractions; give a larger ε, or fewer inputs",
                    size=width,
                )
            return vertex.primal, vertex.dual
        right = np.array(sides)
        floats = LinearProgram(cost, csc_array(matrix), right, right, np.zeros(width), np.full(width, np.inf))
        found = solve(floats, "simplex", tolerance=1e-10, presolve=False)
        return np.maximum(found.primal, 0.0), found.dual

    def split(self, region: _Region) -> list[_Region]:
        """A region in parts around the prior at which its bound is attained: it takes each corner's place."""
        shares = region.shares
        if not self.exact:
            shares = np.where(shares > NOTHING, shares, 0.0)
            shares = shares / shares.sum()
        used = np.flatnonzero(np.asarray(shares > 0, dtype=bool)).tolist()
        place = self.point(sum(shares[i] * self.points[region.corners[i]].prior for i in used))
        parts = []
        for i in used:
            part = self.region((*region.corners[:i], place, *region.corners[i + 1 :]))
            # The interpolation only rises, so a bound that does is rounding.
            parts.append(replace(part, bound=min(part.bound, region.bound)))
        return parts
