"""The pinball loss: for every t one decision, whether the truth lies below t, and its integral over t.

E of the loss is ∫ min_y V(t, y) dt, where V(t, y) is the cost of saying "above t" after outputs beyond y.
With A, B the sums against e^(-ε|x-y|) from below and from above, S = A + B, F the belief's distribution
function and N that of the output,
    V = ½·A(t)·e^(-ε(y-t)) + q·(N(y) - F(t)) for y ≥ t, and its mirror image for y ≤ t,
and V' = (ε/2)·(q·S(y) - A(t)·e^(-ε(y-t))). A rule ỹ(t) near the best is a polynomial on each cell, so that
V(t, ỹ(t)) is analytic there and integrated to a known error; what the rule costs is bounded by V' at ỹ, which
is nearly 0: e^(εy)·V' increases in y, so that |V'| grows at most by e^(ε·distance) on the way to the best,
and mostly so fast that the way is short: the cost is that of V' squared.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from sievert.arrays import BoolArray, FloatArray
from sievert.continuous._guesses import Sums, broken, horner
from sievert.continuous._mesh import RATES, Mesh, legendre, missed_by_gauss

__all__ = ["quantiles"]
# Points through which the rule goes on a cell, Newton's steps to each, and halvings of a cell.
POINTS, STEPS, HALVINGS = 22, 3, 14
# Nodes of Gauss–Legendre on a part.
NODES = 16
# Nats beyond a cell's outputs within which the best one is proved to lie, and a distance that is none.
BRACKET, NONE = 1.0, 1e-8
# ∫ of a cell is good enough where it misses this share of the loss.
ENOUGH = 1e-12


def quantiles(cells: Mesh, quantile: float) -> tuple[float, float]:
    """E[q·(x - w)⁺ + (1 - q)·(w - x)⁺] of the best guesses w over [0, 1], and what is missed."""
    if not 0 < quantile < 1:
        return 0.0, 0.0
    sums = Sums(cells, quantile)
    if cells.eps == 0:
        place = sums.median()
        return sums.outside(place, place), 0.0
    guesses = sums.guess(cells.edges)
    first, last = float(guesses[0]), float(guesses[-1])
    if first >= last:
        return sums.outside(first, first), sums.slip(first) + sums.slip(last)
    value = sums.outside(first, last)
    missed = sums.slip(first) + sums.slip(last)
    places, outputs = broken(sums, guesses)
    edges, total = cells.edges, value
    for halving in range(HALVINGS + 1):
        parts = _Parts.of(sums, places, outputs)
        found, error = parts.integral(ENOUGH * total / len(edges), halving == 0)
        total = max(total, value + float(found.sum()))
        again = error > ENOUGH * total * np.maximum(parts.halves, 1 / len(edges))
        if halving == HALVINGS or missed + float(error.sum()) <= ENOUGH * total:
            again[:] = False
        value, missed = value + float(found[~again].sum()), missed + float(error[~again].sum())
        if not again.any():
            break
        places, outputs = parts.halved(again)
    return float(value), float(missed)


class _Chebyshev(NamedTuple):
    """Chebyshev's points, from values there to coefficients and back, and on to Gauss's nodes."""

    points: FloatArray
    to_coefficients: FloatArray
    to_points: FloatArray
    to_nodes: FloatArray


@cache
def _chebyshev() -> _Chebyshev:
    angles = math.pi * (np.arange(POINTS) + 0.5) / POINTS
    orders = np.arange(POINTS)
    to_points = np.cos(np.outer(orders, angles))
    to_coefficients = to_points.T * 2 / POINTS
    to_coefficients[:, 0] /= 2
    nodes, _ = legendre(NODES)
    to_nodes = np.cos(np.outer(orders, np.arccos(nodes)))
    return _Chebyshev(np.cos(angles), to_coefficients, to_points, to_nodes)


@dataclass(frozen=True)
class _Parts:
    """Parts of the range of t, each with its cell, the cell of its outputs, and on which side they lie."""

    sums: Sums
    starts: FloatArray
    ends: FloatArray
    first: FloatArray
    last: FloatArray

    @staticmethod
    def of(sums: Sums, places: FloatArray, outputs: FloatArray) -> _Parts:
        """Parts between places; with two columns, each row is one."""
        if places.ndim == 2:
            return _Parts(sums, places[:, 0], places[:, 1], outputs[:, 0], outputs[:, 1])
        return _Parts(sums, places[:-1], places[1:], outputs[:-1], outputs[1:])

    @property
    def halves(self) -> FloatArray:
        """Half their widths."""
        return (self.ends - self.starts) / 2

    @property
    def centres(self) -> FloatArray:
        """Their middles."""
        return (self.ends + self.starts) / 2

    def halved(self, chosen: BoolArray) -> tuple[FloatArray, FloatArray]:
        """The halves of some, with the outputs at their ends."""
        middle = self.centres[chosen]
        at = self.sums.outputs(middle, self.sums.is_right(middle))
        at = np.clip(at, self.first[chosen], self.last[chosen])
        places = np.stack([self.starts[chosen], middle, middle, self.ends[chosen]], axis=1)
        outputs = np.stack([self.first[chosen], at, at, self.last[chosen]], axis=1)
        return places.reshape(-1, 2), outputs.reshape(-1, 2)

    def integral(self, enough: float, is_first: bool) -> tuple[FloatArray, FloatArray]:
        """∫ V(t, ỹ(t)) dt on each part, and what is missed: by Gauss–Legendre, and by the rule."""
        sums = self.sums
        terms = _Terms(sums, self.centres, self.halves, (self.first + self.last) / 2)
        rule = self._rule(terms, _chebyshev().points) @ _chebyshev().to_coefficients
        # Near the least and the largest guess the best output is a root of t: there one output does.
        nats = sums.eps * (self.last - self.first)
        small = self.halves * nats * nats * terms.both[:, 0] <= enough
        rule[small] = 0.0
        rule[small, 0] = (self.first[small] + self.last[small]) / 2
        value, error = self._of_rule(terms, rule)
        unsure = np.flatnonzero(error > enough)
        if len(unsure) and not is_first:
            rest = _Parts(sums, *(part[unsure] for part in (self.starts, self.ends, self.first, self.last)))
            constant = np.zeros((len(unsure), POINTS))
            constant[:, 0] = (rest.first + rest.last) / 2
            other, missed = rest._of_rule(_Terms(sums, rest.centres, rest.halves, constant[:, 0]), constant)
            better = missed < error[unsure]
            value[unsure[better]], error[unsure[better]] = other[better], missed[better]
        return value, error

    def _of_rule(self, terms: _Terms, rule: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same for a rule, given by its coefficients [part, order]."""
        points, _, to_points, to_nodes = _chebyshev()
        nodes, weights = legendre(NODES)
        value = self.halves * (terms.cost(nodes, rule @ to_nodes) @ weights)
        at_points = rule @ to_points
        missed, steep = terms.bounds(rule, np.abs(terms.slope(points, at_points)).max(axis=1))
        regret = np.where(terms.is_beside(rule, at_points), self._regret(steep, terms.right), np.inf)
        regret = np.minimum(regret, self.sums.total)
        return value, np.nan_to_num(self.halves * (missed + 2 * regret), nan=np.inf)

    def _rule(self, terms: _Terms, points: FloatArray) -> FloatArray:
        """The best outputs at Chebyshev's points of each part, [part, point]."""
        sums, sign = self.sums, terms.sign[:, None]
        places = self.centres[:, None] + self.halves[:, None] * points
        with np.errstate(divide="ignore"):
            level = np.log(horner(terms.near, terms.shift[:, None] + terms.scale[:, None] * points))
        wanted = sign * (level + sign * sums.eps * places - np.log(terms.share)[:, None])
        # The outputs at the ends of a part are known: begin on the line between them.
        middle, half = (self.first + self.last) / 2, (self.last - self.first) / 2
        start = (middle[:, None] + half[:, None] * points - terms.middle[:, None]) / terms.half[:, None]
        return sums.newton(terms.both, terms.out, wanted, sign, np.clip(start, -1.0, 1.0), STEPS)

    def _regret(self, steep: FloatArray, right: BoolArray) -> FloatArray:
        """What a rule may lose at any t of a part, whose best outputs lie between two that are proved."""
        sums = self.sums
        low, high = np.zeros_like(self.first), np.ones_like(self.last)
        reach = np.stack([np.full_like(self.first, BRACKET / sums.eps), self.last - self.first])
        lowers, uppers = np.maximum(self.first - reach, 0.0), np.minimum(self.last + reach, 1.0)
        slopes = self._slope(
            np.concatenate([self.starts, self.starts, self.ends, self.ends]),
            np.concatenate([lowers.ravel(), uppers.ravel()]),
        ).reshape(2, 2, -1)
        for lower, upper, (falls, rises) in zip(lowers, uppers, slopes.swapaxes(0, 1), strict=True):
            low = np.where((lower <= 0) | (falls < 0), np.maximum(low, lower), low)
            high = np.where((upper >= 1) | (rises > 0), np.minimum(high, upper), high)
        # |V'| grows at most by e^(ε·distance) on the way to the best output.
        nats = sums.eps * (high - low)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            along = nats / 2 * np.exp(nats) * steep
            # Where V' rises fast, the best output is as near as V' is small: (e^(εy)·V')' = ε²·q·e^(εy)·B(y)
            # for outputs right of t, and e^(-εy)·B(y) decreases.
            rest = self._at_either(right, (sums.above, sums.below), np.where(right, high, low))
            near = np.exp(3 * nats) * steep * steep / (4 * np.where(right, sums.q, 1 - sums.q))
            near = np.where(rest > sums.slack, near / (rest - sums.slack), np.inf)
        # Beyond both outputs there is no more to lose than what lies there.
        mass = sums.at(sums.mass, np.where(right, low, high))
        beyond = np.where(right, sums.q * (sums.total - mass), (1 - sums.q) * mass)
        return np.fmin(np.fmin(along, near), np.maximum(beyond, 0.0) + sums.slack * sums.total)

    def _at_either(
        self, right: BoolArray, series: tuple[FloatArray, FloatArray], places: FloatArray
    ) -> FloatArray:
        """One series at some places, another at the rest."""
        cells = self.sums.cells
        cell = cells.where(places)
        rows = np.where(right[:, None], series[0][cell], series[1][cell])
        return horner(rows, (places - cells.centres[cell]) / cells.halves[cell])

    def _slope(self, places: FloatArray, outputs: FloatArray) -> FloatArray:
        """V' up to a factor, with 0 where rounding leaves its sign open."""
        sums = self.sums
        both = sums.at(sums.both, outputs)
        right = outputs >= places
        decay = np.exp(-sums.eps * np.abs(outputs - places))
        near = self._at_either(right, (sums.below, sums.above), places) * decay
        found = np.where(right, sums.q * both - near, near - (1 - sums.q) * both)
        return np.where(np.abs(found) > sums.slack * both, found, 0.0)


class _Terms:
    """V and V' on parts, at places given from -1 to 1 across each with outputs, and bounds on ellipses."""

    def __init__(self, sums: Sums, centres: FloatArray, halves: FloatArray, outputs: FloatArray) -> None:
        cells = sums.cells
        cell, self.out = cells.where(centres), cells.where(outputs)
        self.sums, self.centres, self.halves, self.right = sums, centres, halves, sums.is_right(centres)
        self.share = np.where(self.right, sums.q, 1 - sums.q)
        self.sign = np.where(self.right, 1.0, -1.0)
        self.near = np.where(self.right[:, None], sums.below[cell], sums.above[cell])
        self.mass, self.output, self.both = sums.mass[cell], sums.output[self.out], sums.both[self.out]
        self.shift = (centres - cells.centres[cell]) / cells.halves[cell]
        self.scale = halves / cells.halves[cell]
        self.middle, self.half = cells.centres[self.out], cells.halves[self.out]

    def _at(self, nodes: FloatArray, outputs: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Both places within their cells, and what e^(-ε|y-t|) is."""
        u = self.shift[:, None] + self.scale[:, None] * nodes
        v = (outputs - self.middle[:, None]) / self.half[:, None]
        apart = outputs - (self.centres[:, None] + self.halves[:, None] * nodes)
        return u, v, np.exp(-self.sums.eps * self.sign[:, None] * apart)

    def cost(self, nodes: FloatArray, outputs: FloatArray) -> FloatArray:
        """V, [part, node]."""
        u, v, decay = self._at(nodes, outputs)
        between = self.sign[:, None] * (horner(self.output, v) - horner(self.mass, u))
        return horner(self.near, u) * decay / 2 + self.share[:, None] * between

    def slope(self, nodes: FloatArray, outputs: FloatArray) -> FloatArray:
        """V' up to ε/2."""
        u, v, decay = self._at(nodes, outputs)
        return self.share[:, None] * horner(self.both, v) - horner(self.near, u) * decay

    def bounds(self, rule: FloatArray, slope: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What Gauss–Legendre misses of ∫ V from -1 to 1, and the largest |V'| between Chebyshev's points."""
        lebesgue = 2 / math.pi * math.log(POINTS) + 1
        rates = np.array(RATES)
        reach = (rates + 1 / rates) / 2
        off = np.abs(rule[:, 1:]) @ rates ** np.arange(1, POINTS)[:, None]
        u = np.abs(self.shift)[:, None] + self.scale[:, None] * reach
        v = (np.abs(rule[:, 0] - self.middle)[:, None] + off) / self.half[:, None]
        apart = (-self.sign * (rule[:, 0] - self.centres))[:, None] + off + self.halves[:, None] * reach
        share = self.share[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            grown = np.exp(np.minimum(self.sums.eps * apart, 700.0))
            near = horner(np.abs(self.near), u) * grown
            fixed = np.abs(self.output[:, 0] - self.mass[:, 0])[:, None]
            moving = horner(np.abs(self.output[:, 1:]), v) * v + horner(np.abs(self.mass[:, 1:]), u) * u
            missed = missed_by_gauss(near / 2 + share * (fixed + moving), rates, NODES)
            # Interpolation at Chebyshev's points (Trefethen, Thm 8.2, by Hermite's formula).
            between = reach / (reach - 1) * 2 / (rates**POINTS - rates**-POINTS)
            steepest = share * horner(np.abs(self.both), v) + near
            steep = lebesgue * slope[:, None] + between * steepest
            return np.fmin.reduce(missed, axis=1, initial=np.inf), np.fmin.reduce(
                steep, axis=1, initial=np.inf
            )

    def is_beside(self, rule: FloatArray, at_points: FloatArray) -> BoolArray:
        """Whether outputs stay in their cell and on their side of t, up to a distance that is none."""
        within = (np.abs(at_points - self.middle[:, None]) <= self.half[:, None] * (1 + NONE)).all(axis=1)
        off = self.sign[:, None] * rule
        off[:, 0] -= self.sign * self.centres
        off[:, 1] -= self.sign * self.halves
        none = NONE / self.sums.eps
        rest = np.abs(off[:, 1:]).sum(axis=1)
        orders = np.arange(2, POINTS)
        monotone = np.abs(off[:, 1]) > np.abs(off[:, 2:]) @ (orders * orders)
        ends = np.minimum(off.sum(axis=1), off @ np.where(np.arange(POINTS) % 2, -1.0, 1.0))
        return np.asarray(
            within
            & (
                (off[:, 0] - rest >= -none)
                | (monotone & (ends >= -none))
                | (np.abs(off[:, 0]) + rest <= none)
            )
        )
