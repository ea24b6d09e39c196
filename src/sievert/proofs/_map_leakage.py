"""Proof of the worst leakage on a map of square cells, without a list of distances.

Distances are straight lines, t = ε·step for the width of a cell. Above: K[i,j] ≥ e^(-t·|i-j|)·K[j,j], so that
weights y ≥ 0 with Σ_j e^(-t·|i-j|)·y_j ≥ 1 at every cell i bound the capacity by Σy (a packing). Weights may
stand on every k-th cell only, where the sums are then looked at: elsewhere they are less by e^(-t·distance)
at most. Sums may stop anywhere, since all terms are positive. For a prior π, no belief in a cell exceeds
π_x / Σ_u e^(-t·|x-u|)·π_u. Below: planar geometric noise, clamped to the map, is private, and its capacity is
a sum over the plane.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import flint
import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.numerics import UNIT, decimal, eps_in_words, exact_sum, exp_above, rounded_to
from sievert.proofs._base import Proof, exact_rows
from sievert.proofs._reading import floats, fraction, listed, named, whole
from sievert.proofs._worst import shown_value

__all__ = ["MAP_PRODUCTS", "MapLeakageProof", "Spread", "map_products"]

LARGEST_SIDE = 1_000_000
LARGEST_CELLS = 10**6
# Products that a check takes, and the cells in each direction that a sum reaches.
MAP_PRODUCTS = 4 * 10**9
LARGEST_REACH = 1000
SECONDS_PER_PRODUCT = 8e-10
PRECISION = 192
# Powers of 2 and e beyond this are not written out.
FAR = 20_000
ENOUGH = Fraction(100)
MOST_TERMS = 400
# Between these, products of a weight and a power of e are rounded by a relative unit, and never overflow.
LEAST, MOST = 1e-100, 1e100
SOUND = "0 or from 1e-100 to 1e100"
# Σ_{k≠0} |k|^-s over the plane of whole numbers, s = 3, 5, 7: above, below, above.
THIRD, FIFTH, SEVENTH = Fraction("9.0336216832"), Fraction("5.0902582336"), Fraction("4.4231177877")
Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True)
class Spread:
    """Weights on every k-th cell, beginning in the middle of the first k.

    Attributes
    ----------
    every : steps between cells with weights, [down, across]
    weights : one for each such cell, or a table with odd sides whose middle row and column repeat; None: the
        prior, of which beliefs are bounded
    reach : how many cells with weights a sum reaches in each direction
    """

    every: tuple[int, int]
    weights: FloatArray | None
    reach: int

    def data(self) -> dict[str, Any]:
        """As plain data."""
        table = None if self.weights is None else self.weights.tolist()
        return {"every": list(self.every), "weights": table, "reach": self.reach}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Spread:
        """Back from plain data."""
        down, across = listed(data["every"])
        table = None if data["weights"] is None else floats(data["weights"])
        return cls((whole(down, 1), whole(across, 1)), table, whole(data["reach"]))


@dataclass(frozen=True, eq=False)
class MapLeakageProof(Proof):
    """Bounds on the most that any ε-private channel can leak about a cell of a map.

    Attributes
    ----------
    eps, step : ε for a unit of distance, and the width of a cell
    rows, columns : cells of the map
    upper : weights that cover it
    terms : cells of a quadrant whose noise is added up; None: Poisson's formula
    prior : what is believed of each cell [row, column], in proportion; None: any prior, by its capacity
    copies : the databases are this many independent records
    """

    kind: ClassVar[str] = "worst leakage of a map"
    found: ClassVar[tuple[str, ...]] = ("upper", "terms")
    grounds: ClassVar[str] = (
        "a packing by sums over the cells above (Edwards et al., Thm 1 over records), planar geometric noise "
        "below"
    )
    eps: Fraction
    step: Fraction
    rows: int
    columns: int
    upper: Spread
    terms: int | None
    prior: FloatArray | None = None
    copies: int = 1

    def data(self) -> dict[str, Any]:
        return {
            "eps": str(self.eps),
            "step": str(self.step),
            "rows": self.rows,
            "columns": self.columns,
            "upper": self.upper.data(),
            "terms": self.terms,
            "prior": None if self.prior is None else self.prior.tolist(),
            "copies": self.copies,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> MapLeakageProof:
        return cls(
            fraction(data["eps"]),
            fraction(data["step"]),
            whole(data["rows"], 1),
            whole(data["columns"], 1),
            Spread.from_data(named(data["upper"])),
            None if data["terms"] is None else whole(data["terms"], 1),
            None if data["prior"] is None else floats(data["prior"]),
            whole(data.get("copies", 1), 1),
        )

    @property
    def level(self) -> Fraction:
        """ε for the width of a cell."""
        return self.eps * self.step

    def expected_seconds(self, letters: int) -> float:
        """The sums over cells, beside the letters."""
        seconds = super().expected_seconds(letters)
        table = self.prior if self.upper.weights is None else self.upper.weights
        if table is None or table.ndim != 2:
            return seconds
        (down, across), reach = self.upper.every, self.upper.reach
        counts = 1 + (self.rows - 1) // down, 1 + (self.columns - 1) // across
        return seconds + min(map_products(table.shape, counts, reach), MAP_PRODUCTS) * SECONDS_PER_PRODUCT

    def bounds(self) -> Ends:
        """Ends of the capacity of one record, or of the best guess with the prior; ValueError on damage."""
        return self._found

    @cached_property
    def _found(self) -> Ends:
        if self.eps < 0 or self.step <= 0 or max(self.rows, self.columns) > LARGEST_SIDE or self.copies < 1:
            raise ValueError(f"eps must be ≥ 0, step above 0, sides at most {LARGEST_SIDE:,} and copies ≥ 1")
        if self.terms is not None and self.terms > MOST_TERMS:
            raise ValueError(f"at most {MOST_TERMS} terms in each direction are added up")
        if self.prior is None:
            lower, upper = self._reached(), self._packed()
        else:
            lower, upper = self._believed(self.prior)
        if lower > upper:
            raise ValueError("the lower bound exceeds the upper bound")
        return lower, upper

    def _believed(self, prior: FloatArray) -> Ends:
        """The likeliest cell, and what nobody exceeds: a share of it, or the largest belief."""
        if self.copies > 1:
            raise ValueError("a prior goes with one record")
        if prior.shape != (self.rows, self.columns) or prior.size > LARGEST_CELLS:
            raise ValueError(f"the prior needs a number for each cell, of at most {LARGEST_CELLS:,}")
        if not _sound(prior) or not prior.max():
            raise ValueError(f"the prior must be {SOUND}, not all 0")
        blind = Fraction(float(prior.max())) / exact_sum(
            [Fraction(share) for share in prior.ravel().tolist()]
        )
        if self.upper.weights is not None:
            return blind, min(Fraction(1), blind * self._packed())
        if self.upper.every != (1, 1):
            raise ValueError("beliefs are bounded at every cell")
        sums = self._sums(prior, (self.rows, self.columns))
        possible = prior > 0
        shares = prior[possible] / sums[possible]
        worst = int(np.argmax(shares))
        # Division rounds by a unit; another cell may be the worst by no more than that.
        most = Fraction(float(prior[possible][worst])) / Fraction(float(sums[possible][worst]))
        return blind, max(blind, min(Fraction(1), most * (1 + Fraction(1, 2**50))))

    def _packed(self) -> Fraction:
        """Σy over the least sum, and what the cells between those with weights may lack."""
        weights = self.upper.weights
        if weights is None:
            raise ValueError("without a prior the bound needs weights")
        if weights.ndim != 2 or not weights.size or not _sound(weights):
            raise ValueError(f"weights must be a table of numbers that are {SOUND}")
        sizes = self.rows, self.columns
        counts = [_count(size, every) for size, every in zip(sizes, self.upper.every, strict=True)]
        for side, count in zip(weights.shape, counts, strict=True):
            if side > count or (side < count and side % 2 == 0):
                raise ValueError(
                    "a table of weights has one for each cell, or an odd number of rows and columns"
                )
        least = float(self._sums(weights, (counts[0], counts[1])).min())
        if least < LEAST * LEAST:
            raise ValueError("the weights leave some cell uncovered")
        # The middle row and column stand for all that the table leaves out.
        times = [np.ones(side, dtype=object) for side in weights.shape]
        for often, side, count in zip(times, weights.shape, counts, strict=True):
            often[side // 2] += count - side
        total = (times[0] @ exact_rows(weights)) @ times[1]
        away = [_farthest(*three) for three in zip(sizes, self.upper.every, counts, strict=True)]
        bound = Fraction(total) / Fraction(least)
        if any(away):
            # Weights bound by 1 or more, so that e^ENOUGH times as much exceeds the number of cells.
            bound *= exp_above(min(ENOUGH, self.level * _root_above(away[0] ** 2 + away[1] ** 2)))
        return min(bound, Fraction(self.rows * self.columns))

    def _sums(self, weights: FloatArray, counts: tuple[int, int]) -> FloatArray:
        """At or below Σ_j e^(-t·|i-j|)·y_j at each cell with a weight; those inside are alike."""
        reach = self.upper.reach
        if reach > LARGEST_REACH:
            raise ValueError(f"a sum may reach {LARGEST_REACH} cells in each direction")
        products = map_products(weights.shape, counts, reach)
        if products > MAP_PRODUCTS:
            raise ValueError(f"the sums take {products:,} products; at most {MAP_PRODUCTS:,} are allowed")
        rows, columns = (
            _alike(count, side, reach) for count, side in zip(counts, weights.shape, strict=True)
        )
        table = weights[np.ix_(rows, columns)]
        kernel, sums = self._kernel(table.shape), np.zeros(table.shape)
        for (a, b), factor in np.ndenumerate(kernel):
            if factor:
                for part in _shifted(table, sums, a, b):
                    np.add(part[1], factor * part[0], out=part[1])
        if kernel.size == 1:
            return sums
        # Of positive terms each sum and product is off by a relative unit at most.
        return np.asarray(sums * (1 - 2 * (4 * kernel.size + 4) * UNIT))

    def _kernel(self, shape: tuple[int, ...]) -> FloatArray:
        """At or below e^(-t·√((k·a)² + (l·b)²)) as far as sums reach inside a table; 0 where tiny."""
        down, across = self.upper.every
        found = np.zeros([min(self.upper.reach + 1, side) for side in shape])
        known: dict[int, float] = {}
        for a, b in np.ndindex(found.shape):
            square = (down * a) ** 2 + (across * b) ** 2
            if square not in known:
                value = rounded_to(_wave(self.level, square)[0], down=True)
                known[square] = value if value > LEAST else 0.0
            found[a, b] = known[square]
        return found

    def _reached(self) -> Fraction:
        """(n + 2(rows + columns)·h + 4Q)/(1 + 4h + 4Q) with h = Σ e^(-t·k) and Q the sum over a quadrant."""
        low, high = _wave(self.level, 1)
        if high == 1:  # ε is 0, or too small to tell
            return Fraction(1)
        cells, around = self.rows * self.columns, 2 * (self.rows + self.columns)
        if self.terms is None:
            # Poisson's formula, and (1+x)^(-3/2) ≤ 1 - 3x/2 + 15x²/8.
            total = self._by_poisson()
            quadrant = max(Fraction(0), (total - 1 - 4 * low / (1 - low)) / 4)
        else:
            quadrant = self._by_terms(self.terms)
        side = low / (1 - low)
        # It grows with h while there are other cells than these, and falls with Q.
        return max(
            Fraction(1), (cells + around * side + 4 * quadrant) / (1 + 4 * high / (1 - high) + 4 * quadrant)
        )

    def _by_poisson(self) -> Fraction:
        """At or above Σ_z e^(-t·|z|) over the plane."""
        with flint.ctx.workprec(PRECISION):
            rate, pi = _ball(self.level), flint.arb.pi()
            square = (rate / (2 * pi)) ** 2
            rest = _ball(THIRD) - square * 3 / 2 * _ball(FIFTH) + square**2 * 15 / 8 * _ball(SEVENTH)
            return _upper(2 * pi / rate**2 + rate / (4 * pi**2) * rest)

    def _by_terms(self, terms: int) -> Fraction:
        """At or above Σ_{a,b≥1} e^(-t·|(a,b)|): terms up to a square, and an integral beyond."""
        with flint.ctx.workprec(PRECISION):
            rate, found = _ball(self.level), flint.arb(0)
            for a in range(1, terms + 1):
                found += (-rate * flint.arb(2 * a * a).sqrt()).exp()
                for b in range(1, a):
                    found += 2 * (-rate * flint.arb(a * a + b * b).sqrt()).exp()
            beyond = flint.arb.pi() / 2 * (-rate * terms).exp() * (terms / rate + 1 / rate**2)
            return _upper(found + beyond)

    def proved(self) -> str:
        lower, upper = self.bounds()
        each = "" if self.copies == 1 else f" to the power of {self.copies} (records)"
        where = (
            f"on a map of {self.rows} by {self.columns} cells, {eps_in_words(self.step)} wide, with ε = "
            f"{eps_in_words(self.eps)} for a unit of distance,"
        )
        ends = shown_value(upper, down=False), shown_value(lower, down=True)
        if self.prior is None:
            return (
                f"{where} the sum of column maxima of every private channel is at most {ends[0]}{each}, and "
                f"some channel reaches at least {ends[1]}{each}"
            )
        return (
            f"{where} the best guess of a cell with this prior is at most {ends[0]}, and {ends[1]} without "
            "any release"
        )

    def meaning(self) -> str:
        lower, upper = self.bounds()
        if self.prior is not None:
            return (
                "whatever is released with this ε, nobody who begins with this prior names the right cell "
                f"with a probability above {decimal(upper, 6, False)}; before it {decimal(lower, 6, True)}."
            )
        each = "" if self.copies == 1 else f", and that to the power of {self.copies} about all records"
        return (
            "whatever is released with this ε, seeing it makes a best guess of a cell at most "
            f"{shown_value(upper, down=False)} times as likely to be right as before{each}."
        )


# ── Places with weights, and sums around them ───────────────────────────────────────────────────────────────


def _sound(table: FloatArray) -> bool:
    """Whether all numbers are 0 or between LEAST and MOST."""
    return bool(((table == 0) | ((table >= LEAST) & (table <= MOST))).all())


def _count(size: int, every: int) -> int:
    """How many of so many places have a weight: every k-th, beginning in the middle of the first k."""
    if every // 2 >= size:
        raise ValueError("the first cell with a weight is not on the map")
    return 1 + (size - 1 - every // 2) // every


def _farthest(size: int, every: int, count: int) -> int:
    """How far a place is at most from the nearest with a weight."""
    last = every // 2 + every * (count - 1)
    return max(every // 2, size - 1 - last)


def _different(count: int, side: int, reach: int) -> int:
    """How many places there are from either end until what is around them is all alike."""
    return min(count, 2 * (reach + side // 2) + 1)


def map_products(shape: tuple[int, ...], counts: tuple[int, int], reach: int) -> int:
    """Products that the sums of a table of weights take."""
    return math.prod(
        _different(count, side, reach) * min(2 * reach + 1, count)
        for count, side in zip(counts, shape, strict=True)
    )


def _alike(count: int, side: int, reach: int) -> IntArray:
    """Positions in the table of a shorter row of places, around which the same weights lie."""
    count = _different(count, side, reach)
    place = np.arange(count)
    inward = np.minimum(np.minimum(place, count - 1 - place), side // 2)
    return np.where(place < count - 1 - place, inward, side - 1 - inward)


def _shifted(table: FloatArray, sums: FloatArray, a: int, b: int) -> Iterator[tuple[FloatArray, FloatArray]]:
    """What lies a rows and b columns away in each direction, and where it is added."""
    for down in {a, -a}:
        for across in {b, -b}:
            rows, columns = (slice(max(0, k), min(0, k) or None) for k in (down, across))
            others = (slice(max(0, -k), min(0, -k) or None) for k in (down, across))
            yield table[rows, columns], sums[tuple(others)]


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def _exact(ball: flint.arb) -> Fraction:
    mantissa, exponent = ball.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _upper(ball: flint.arb) -> Fraction:
    if not ball.is_finite():
        raise ValueError("a sum over the plane is not finite")
    tiny = flint.arb(2) ** -FAR
    return Fraction(1, 2**FAR) if ball < tiny else _exact(ball.upper())


def _wave(level: Fraction, square: int) -> Ends:
    """Rationals around e^(-t·√square); 0 below where it is tiny."""
    with flint.ctx.workprec(PRECISION):
        root = flint.arb(square).sqrt()
        exponent = _ball(level) * root
        if exponent > FAR:
            return Fraction(0), Fraction(1, 2**FAR)
        ball = (-exponent).exp()
        return max(Fraction(0), _exact(ball.lower())), min(Fraction(1), _exact(ball.upper()))


def _root_above(square: int) -> Fraction:
    """A rational at or above √square."""
    return Fraction(math.isqrt(square << 128) + 1, 1 << 64)
