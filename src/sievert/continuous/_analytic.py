"""Analytic shapes, Beta and normal: power series on pieces, with Cauchy's bound on what is cut off.

Coefficients come from recurrences whose majorants (the same with absolute values) bound the rounding. Pieces
shrink towards an end where the density is singular; what lies nearer to it than the last piece is spread
evenly there, mass and distance so small that nothing depends on it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
import numpy as np

from sievert.arrays import FloatArray
from sievert.continuous._shapes import Pieces, Shape, centred, snapped
from sievert.errors import PriorError
from sievert.numerics import UNIT

__all__ = ["Beta", "Normal"]
# Of ball arithmetic, in bits.
PRECISION = 128
# The degree of the polynomials, and how far a piece reaches on the way to the nearer end; farther where the
# series ends.
DEGREE, SHARE, SHARE_OF_ENDING = 20, 1 / 6, 1 / 3
# Mass times distance that is spread near an end; nearest places to 0 and to 1, where floats are coarse.
SMALL, NEAREST, NEAREST_TO_ONE = 1e-23, 1e-40, 1e-14
# Normal densities are 0 beyond so many deviations, up to a mass that is counted.
REACH = 13
MOST_PIECES = 20_000
# Radii, in halves of a piece, at which Cauchy's bound is tried.
RADII = (2.0, 3.0, 4.0, 5.0, 5.5, 6.0, 8.0, 12.0)


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def _upper(ball: flint.arb) -> float:
    """A float not below the ball."""
    return float(np.nextafter(float(ball.upper()), np.inf))


class _Analytic(Shape):
    """A shape with a power series around every inner point."""

    @abstractmethod
    def _edges(self) -> FloatArray:
        """The ends of the pieces."""

    @abstractmethod
    def _series(self, centres: FloatArray, halves: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Coefficients [piece, power], and the relative error's majorant: what rounding may change."""

    @abstractmethod
    def _largest(self, centres: FloatArray, radii: FloatArray) -> FloatArray:
        """Bounds on its absolute value on discs [radius, piece]; inf where one reaches a singularity."""

    @abstractmethod
    def _outside(self, first: float, last: float) -> tuple[float, float]:
        """The mass below the pieces and above them, rounded up."""

    def pieces(self) -> Pieces:
        return self._pieces

    def __getstate__(self) -> dict[str, Any]:
        """Everything but balls, which are found again."""
        return {name: value for name, value in self.__dict__.items() if name != "_scale"}

    @cached_property
    def _pieces(self) -> Pieces:
        old = flint.ctx.prec
        flint.ctx.prec = PRECISION
        try:
            edges = self._edges()
            centres, halves, slip = centred(edges)
            table, rounding = self._series(centres, halves)
            rounding += slip / halves * (np.abs(table) @ np.arange(DEGREE + 1.0))
            # |a_n| ≤ M/ρ^n where the density is bounded by M for |t| ≤ ρ.
            radii = np.array(RADII)[:, None]
            largest = self._largest(centres, radii * halves)
            cut = (largest / (radii**DEGREE * (radii - 1))).min(axis=0)
            return self._with_ends(edges, table, (rounding + cut) * (1 + 1e-9))
        finally:
            flint.ctx.prec = old

    def _with_ends(self, edges: FloatArray, table: FloatArray, errors: FloatArray) -> Pieces:
        """The pieces, and beyond them what is left of the mass, spread evenly up to each end."""
        first, last = float(edges[0]), float(edges[-1])
        below, above = self._outside(first, last)
        row = np.zeros((1, table.shape[1]))
        ends, spread = 0.0, 0.0
        if first > 0:
            row[0, 0] = below / first
            edges, table = np.concatenate([[0.0], edges]), np.concatenate([row, table])
            errors, ends, spread = np.concatenate([[0.0], errors]), below, first
        if last < 1:
            row[0, 0] = above / (1 - last)
            edges, table = np.concatenate([edges, [1.0]]), np.concatenate([table, row])
            errors, ends, spread = np.concatenate([errors, [0.0]]), ends + above, max(spread, 1 - last)
        return Pieces(edges, table, errors, ends * (1 + 1e-9), spread)


class Beta(_Analytic):
    """x^(a-1)·(1-x)^(b-1)/B(a, b)."""

    def __init__(self, a: Fraction, b: Fraction) -> None:
        self.a, self.b = a, b
        self.name = f"Beta({float(a):g}, {float(b):g})"

    def exact(self, share: Fraction) -> Fraction | None:
        """A binomial sum, for whole parameters."""
        if self.a.denominator != 1 or self.b.denominator != 1 or self.a + self.b > 60:
            return None
        a, n = int(self.a), int(self.a + self.b) - 1
        terms = (math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(a, n + 1))
        return sum(terms, Fraction(0))

    def below(self, share: Fraction) -> float:
        return float(self._below(share).mid())

    def _below(self, share: Fraction) -> flint.arb:
        if share <= 0 or share >= 1:
            return flint.arb(int(share >= 1))
        return _ball(share).beta_lower(_ball(self.a), _ball(self.b), regularized=True)

    @property
    def _ends(self) -> bool:
        """Whether the series ends: the density is a polynomial."""
        powers = (self.a - 1, self.b - 1)
        return all(power.denominator == 1 for power in powers) and sum(powers) <= DEGREE

    def _edges(self) -> FloatArray:
        """Pieces that shrink towards an end where the density is 0 or singular: errors are factors."""
        # Few enough terms are needed where the density does not vary too much within a piece.
        size = float(abs(self.a - 1) + abs(self.b - 1))
        share = SHARE_OF_ENDING if self._ends else SHARE / max(1, math.ceil(size / 12))
        growth = math.log((1 + share) / (1 - share))
        if self.b == 1:
            return np.array([0.0, 1.0]) if self.a == 1 else self._graded(0, 1.0, growth)
        if self.a == 1:
            return np.asarray(1 - self._graded(1, 1.0, growth)[::-1])
        return np.concatenate([self._graded(0, 0.5, growth), 1 - self._graded(1, 0.5, growth)[-2::-1]])

    def _graded(self, side: int, reach: float, growth: float) -> FloatArray:
        """Places from near an end up to a distance from it."""
        a = float((self.a, self.b)[side])
        nearest = math.exp(min(0.0, (math.log(SMALL * a) + float(self._log_beta().mid())) / (a + 1)))
        nearest = min(0.25, max(nearest, (NEAREST, NEAREST_TO_ONE)[side]))
        count = max(1, math.ceil(math.log(reach / nearest) / growth))
        if count > MOST_PIECES:
            raise PriorError(
                f"a and b are {float(self.a):g} and {float(self.b):g}; such a narrow Beta density is "
                "beyond this model, so give a truncated normal with its mean and deviation"
            )
        places = reach * (nearest / reach) ** (np.arange(count, -1, -1) / count)
        # Seen from the other end places are as coarse as 1 is.
        return np.asarray(places if side == 0 else snapped(places))

    def _log_beta(self) -> flint.arb:
        a, b = _ball(self.a), _ball(self.b)
        return a.lgamma() + b.lgamma() - (a + b).lgamma()

    @cached_property
    def _scale(self) -> float:
        """1/B(a, b)."""
        return float((-self._log_beta()).exp().mid())

    def _series(self, centres: FloatArray, halves: FloatArray) -> tuple[FloatArray, FloatArray]:
        factors = []
        orders = np.arange(1, DEGREE + 1)[:, None]
        for power, distance, sign in ((self.a - 1, centres, 1.0), (self.b - 1, 1 - centres, -1.0)):
            terms = np.ones((DEGREE + 1, len(centres)))
            terms[1:] = (sign * (float(power) + 1 - orders) / orders) * (halves / distance)
            factors.append(np.multiply.accumulate(terms, axis=0) * distance ** float(power))
        table, sizes = np.zeros_like(factors[0]), np.zeros(len(centres))
        for n, row in enumerate(factors[0]):
            terms = row * factors[1][: DEGREE + 1 - n]
            table[n:] += terms
            sizes += np.abs(terms).sum(axis=0)
        table = table.T
        exponents = np.abs(float(self.a - 1) * np.log(centres)) + np.abs(
            float(self.b - 1) * np.log1p(-centres)
        )
        units = 8 * DEGREE + 32 + 4 * exponents
        return table * self._scale, sizes * self._scale * units * UNIT

    def _largest(self, centres: FloatArray, radii: FloatArray) -> FloatArray:
        if self._ends:
            return np.zeros_like(radii)
        found = np.full(radii.shape, self._scale * (1 + 1e-12))
        for distance, power in ((centres, self.a - 1), (1 - centres, self.b - 1)):
            if power.denominator == 1 and power >= 0:
                found *= (distance + radii) ** float(power)
                continue
            furthest = distance + radii if power >= 0 else distance - radii
            inside = radii < distance
            found = np.where(inside, found * np.where(inside, furthest, 1.0) ** float(power), np.inf)
        return found * (1 + 1e-12)

    def _outside(self, first: float, last: float) -> tuple[float, float]:
        below = flint.arb(0) if first <= 0 else self._below(Fraction(first))
        above = flint.arb(0) if last >= 1 else 1 - self._below(Fraction(last))
        return _upper(below), _upper(above)


class Normal(_Analytic):
    """e^(-((x - mean)/deviation)²/2), cut to [0, 1]."""

    def __init__(self, mean: Fraction, deviation: Fraction, name: str) -> None:
        self.mean, self.deviation, self.name = mean, deviation, name

    def below(self, share: Fraction) -> float:
        place = min(max(share, Fraction(0)), Fraction(1))
        return float((self._between(Fraction(0), place) / self._between(Fraction(0), Fraction(1))).mid())

    def _between(self, a: Fraction, b: Fraction) -> flint.arb:
        """Φ(b) - Φ(a), from the side where it does not cancel."""
        old = flint.ctx.prec
        flint.ctx.prec = 2 * PRECISION
        try:
            first, last = (
                (_ball(x - self.mean) / _ball(self.deviation)) / flint.arb(2).sqrt() for x in (a, b)
            )
            if a > self.mean:
                return (first.erfc() - last.erfc()) / 2
            return ((-last).erfc() - (-first).erfc()) / 2
        finally:
            flint.ctx.prec = old

    def _edges(self) -> FloatArray:
        nearest = min(max(self.mean, Fraction(0)), Fraction(1))
        # A mean outside the interval makes the density fall faster: the same reach serves.
        first = max(Fraction(0), nearest - REACH * self.deviation)
        last = min(Fraction(1), nearest + REACH * self.deviation)
        away = max(1, math.ceil(float(abs(nearest - self.mean) / self.deviation)))
        count = max(1, math.ceil(float((last - first) / self.deviation) * 2 * away))
        if count > MOST_PIECES:
            raise PriorError("deviation: the density varies too quickly for this model; use a wider one")
        return snapped(np.linspace(float(first), float(last), count + 1))

    @cached_property
    def _scale(self) -> float:
        total = self._between(Fraction(0), Fraction(1)) * _ball(self.deviation)
        return float((1 / (total * (2 * flint.arb.pi()).sqrt())).mid())

    def _deviates(self, centres: FloatArray) -> FloatArray:
        """(centre - mean)/deviation, rounded once."""
        # A float minus a fraction: in two parts, so that a mean far from 0 cancels exactly.
        head = float(self.mean)
        tail = float(self.mean - Fraction(head))
        return np.asarray(((centres - head) - tail) / float(self.deviation))

    def _series(self, centres: FloatArray, halves: FloatArray) -> tuple[FloatArray, FloatArray]:
        z, step = self._deviates(centres), halves / float(self.deviation)
        # f' = -z·f: (n + 1)·c_(n+1) = -step·(z·c_n + step·c_(n-1)).
        terms, sizes = [np.ones_like(z), -step * z], [np.ones_like(z), step * np.abs(z)]
        for n in range(1, DEGREE):
            terms.append(-step * (z * terms[-1] + step * terms[-2]) / (n + 1))
            sizes.append(step * (np.abs(z) * sizes[-1] + step * sizes[-2]) / (n + 1))
        height = np.exp(-z * z / 2) * self._scale
        units = 8 * DEGREE + 32 + 4 * z * z
        return np.array(terms).T * height[:, None], np.sum(sizes, axis=0) * height * units * UNIT

    def _largest(self, centres: FloatArray, radii: FloatArray) -> FloatArray:
        """|e^(-z²/2)| = e^((Im² - Re²)/2)."""
        off, step = np.abs(self._deviates(centres)), radii / float(self.deviation)
        nearest = np.maximum(0.0, off - step)
        return np.asarray(np.exp((step * step - nearest * nearest) / 2) * self._scale * (1 + 1e-9))

    def _outside(self, first: float, last: float) -> tuple[float, float]:
        total = self._between(Fraction(0), Fraction(1))
        left, right = Fraction(first), Fraction(last)
        below = self._between(Fraction(0), left) / total if left > 0 else flint.arb(0)
        above = self._between(right, Fraction(1)) / total if right < 1 else flint.arb(0)
        return _upper(abs(below)), _upper(abs(above))
