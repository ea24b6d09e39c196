"""Analytic shapes, Beta and normal: power series on pieces, with Cauchy's bound on what is cut off.

Coefficients come from recurrences whose majorants (the same with absolute values) bound the rounding. Pieces
shrink towards an end where the density is singular; what lies nearer to it than the last piece is spread
evenly there, mass and distance so small that nothing depends on it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
import numpy as np
from scipy.special import betaincinv

from sievert.arrays import FloatArray
from sievert.continuous._shapes import Pieces, Shape, centred, snapped
from sievert.errors import PriorError
from sievert.numerics import UNIT

__all__ = ["Beta", "Normal", "as_ball", "upper_end"]
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
# A half of a piece in units of what the logarithm's curve and slope allow.
CURVED, STEEP = 0.25, 2.0
# A deviation below which the places of a normal density are too coarse.
NARROWEST = Fraction(16, 2**51)
# Of a mass that balls give.
ENOUGH_BITS = 60
# Radii, in halves of a piece, at which Cauchy's bound is tried.
RADII = (2.0, 3.0, 4.0, 5.0, 5.5, 6.0, 8.0, 12.0)


def as_ball(value: Fraction) -> flint.arb:
    """A fraction to the working precision."""
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def upper_end(ball: flint.arb) -> float:
    """A float not below the ball."""
    return float(np.nextafter(float(ball.upper()), np.inf))


@dataclass(frozen=True)
class Tail:
    """The mass beyond the pieces, and the density's height there, both rounded up."""

    mass: float
    height: float


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
    def _outside(self, first: float, last: float) -> tuple[Tail, Tail]:
        """What lies below the pieces, and above them."""

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
        ends, spread = 0.0, 0.0
        for tail, width in ((below, first), (above, 1 - last)):
            if width <= 0:
                continue
            row = np.zeros(table.shape[1])
            row[0] = tail.mass / width
            # A density without bound there is no error, but mass that may lie elsewhere.
            bounded = math.isfinite(tail.height)
            missed = max(tail.height, row[0]) if bounded else 0.0
            if not bounded:
                ends, spread = ends + tail.mass, max(spread, width)
            where = 0 if tail is below else len(table)
            table, errors = np.insert(table, where, row, axis=0), np.insert(errors, where, missed)
            edges = np.concatenate([[0.0], edges] if tail is below else [edges, [1.0]])
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
        if share <= 0 or share >= 1:
            return float(share >= 1)
        found = self._below(share)
        if found is not None:
            return float(found.mid())
        return float(self.masses(np.array([0.0, float(share), 1.0]))[0])

    def _below(self, share: Fraction) -> flint.arb | None:
        """The mass below a place to all digits of a float; None where ball arithmetic loses them."""
        old = flint.ctx.prec
        flint.ctx.prec = PRECISION
        try:
            a, b = as_ball(self.a), as_ball(self.b)
            found = as_ball(share).beta_lower(a, b, regularized=True)
            if found.rel_accuracy_bits() >= ENOUGH_BITS:
                return found
            found = 1 - as_ball(1 - share).beta_lower(b, a, regularized=True)
            return found if found.rel_accuracy_bits() >= ENOUGH_BITS else None
        finally:
            flint.ctx.prec = old

    def _too_narrow(self) -> PriorError:
        return PriorError(
            f"a and b are {float(self.a):g} and {float(self.b):g}; such a narrow Beta density is "
            "beyond this model, so give a truncated normal with its mean and deviation"
        )

    @cached_property
    def _mirrored(self) -> Beta:
        """The same, seen from the other end."""
        return Beta(self.b, self.a)

    @property
    def _ends(self) -> bool:
        """Whether the series ends: the density is a polynomial."""
        powers = (self.a - 1, self.b - 1)
        return all(power.denominator == 1 for power in powers) and sum(powers) <= DEGREE

    def _edges(self) -> FloatArray:
        """Pieces that shrink towards an end where the density is 0 or singular: errors are factors."""
        if self.a == 1 == self.b:
            return np.array([0.0, 1.0])
        # Seen from the other end places are as coarse as 1 is.
        left, right = self._walk(NEAREST), 1 - snapped(self._mirrored._walk(NEAREST_TO_ONE))[::-1]
        edges = np.unique(np.concatenate([left, right]))
        if len(edges) < 2:
            raise self._too_narrow()
        return edges

    def _walk(self, nearest: float) -> FloatArray:
        """Places from near 0, or from where mass begins, up to 1/2 or where it ends; none if it is beyond."""
        first, last = 0.0, min(0.5, 1 - self._mirrored._reach())
        if self.a != 1:
            first = max(nearest, self._reach())
        places = [first]
        while places[-1] < last:
            places.append(min(last, places[-1] + 2 * self._half(places[-1])))
            if len(places) > MOST_PIECES or places[-1] <= places[-2]:
                raise self._too_narrow()
        return np.array(places if first < last else [])

    def _reach(self) -> float:
        """A place so near 0 that mass below it, times how far it lies, is none; at most a quarter if wide."""
        found = math.exp(min(0.0, (math.log(SMALL * float(self.a)) + self._log_beta) / (float(self.a) + 1)))
        tail = float(betaincinv(float(self.a), float(self.b), SMALL))
        return max(min(0.25, found), tail if 0 < tail < 1 else 0.0)

    def _half(self, place: float) -> float:
        """Half of a piece: few enough terms are needed where the density varies little within it."""
        if self._ends:
            return (place if self.a != 1 else 1 - place) * SHARE_OF_ENDING
        p, q = float(self.a - 1), float(self.b - 1)
        nearest = place if p else 1 - place
        second = math.sqrt(abs(p)) / place if p else 0.0
        second = math.hypot(second, math.sqrt(abs(q)) / (1 - place))
        slope = abs((p / place if p else 0.0) - q / (1 - place))
        return min(nearest * SHARE, CURVED / second, STEEP / slope if slope else math.inf)

    @cached_property
    def _log_beta(self) -> float:
        return float(self._log_beta_ball().mid())

    def _log_beta_ball(self) -> flint.arb:
        a, b = as_ball(self.a), as_ball(self.b)
        return a.lgamma() + b.lgamma() - (a + b).lgamma()

    def _logs(self, centres: FloatArray) -> FloatArray:
        """The density's logarithms, in balls: 1/B(a, b) alone is beyond all floats."""
        p, q, scale = as_ball(self.a - 1), as_ball(self.b - 1), self._log_beta_ball()
        places = [flint.arb(place) for place in centres.tolist()]
        return np.array([float((p * x.log() + q * (1 - x).log() - scale).mid()) for x in places])

    def _slopes(self, centres: FloatArray) -> FloatArray:
        """p·(1 - c) - q·c = p - (p + q)·c for each centre, rounded once."""
        p, both = self.a - 1, self.a + self.b - 2
        return np.array([float(p - both * Fraction(centre)) for centre in centres.tolist()])

    def _series(self, centres: FloatArray, halves: FloatArray) -> tuple[FloatArray, FloatArray]:
        # x(1-x)·f' = (p - (p+q)·x)·f, with x = c + h·t:
        # c(1-c)(n+1)·a_(n+1) = h·(p - (p+q)·c - n(1-2c))·a_n - h²·(p + q - n + 1)·a_(n-1).
        width = centres * (1 - centres)
        slopes, turn = self._slopes(centres), 1 - 2 * centres
        both, step = float(self.a + self.b - 2), halves / width
        terms, sizes = [np.ones_like(centres)], [np.ones_like(centres)]
        before, size_before = np.zeros_like(centres), np.zeros_like(centres)
        for n in range(DEGREE):
            square = step * halves * (both - n + 1)
            terms.append((step * (slopes - n * turn) * terms[-1] - square * before) / (n + 1))
            larger = step * (np.abs(slopes) + n * np.abs(turn)) * sizes[-1]
            sizes.append((larger + np.abs(square) * size_before) / (n + 1))
            before, size_before = terms[-2], sizes[-2]
        height = np.exp(self._logs(centres))
        # Of a logarithm, rounded once.
        units = 10 * DEGREE + 32 + 4 * np.abs(self._logs(centres))
        return np.array(terms).T * height[:, None], np.sum(sizes, axis=0) * height * units * UNIT

    def _largest(self, centres: FloatArray, radii: FloatArray) -> FloatArray:
        if self._ends:
            return np.zeros_like(radii)
        logs = self._logs(centres)
        factors, curved = np.zeros(radii.shape), np.zeros(radii.shape)
        for distance, power in ((centres, self.a - 1), (1 - centres, self.b - 1)):
            share, size = radii / distance, float(power)
            inside = np.where(share < 1, share, 0.0)
            beyond = np.where(share < 1, 0.0, np.inf if size else 0.0)
            # |log|1 + w| - Re w| ≤ |w|²/(2·(1 - |w|)).
            curved += abs(size) * inside * inside / (2 * (1 - inside)) + beyond
            if power.denominator == 1 and power >= 0:
                factors += size * np.log1p(share)
            else:
                factors += np.abs(size) * np.abs(np.log1p(inside if size >= 0 else -inside)) + beyond
        curved += radii * np.abs(self._slopes(centres)) / (centres * (1 - centres))
        found = np.minimum(factors, curved)
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(logs + found * (1 + 1e-12)) * (1 + 1e-9))

    def _outside(self, first: float, last: float) -> tuple[Tail, Tail]:
        return self._tail(Fraction(first)), self._mirrored._tail(1 - Fraction(last))

    def _tail(self, place: Fraction) -> Tail:
        """What lies between 0 and a place before the mode."""
        if place <= 0:
            return Tail(0.0, 0.0)
        p, q, x = as_ball(self.a - 1), as_ball(self.b - 1), as_ball(place)
        height = (p * x.log() + q * (1 - x).log() - self._log_beta_ball()).exp()
        highest = upper_end(height) if self.a >= 1 else math.inf
        found = self._below(place)
        if found is not None:
            return Tail(upper_end(found), highest)
        if self.a >= 1:
            return Tail(upper_end(height * x), highest)
        # The other factor is at most 1, or what it is at x.
        rest = ((1 - x).log() * as_ball(max(self.b - 1, Fraction(0)))).exp()
        return Tail(upper_end(height * x / as_ball(self.a) / rest), highest)


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
                (as_ball(x - self.mean) / as_ball(self.deviation)) / flint.arb(2).sqrt() for x in (a, b)
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
        if count > MOST_PIECES or self.deviation < NARROWEST:
            raise PriorError("deviation: the density varies too quickly for this model; use a wider one")
        return snapped(np.linspace(float(first), float(last), count + 1))

    @cached_property
    def _scale(self) -> float:
        total = self._between(Fraction(0), Fraction(1)) * as_ball(self.deviation)
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

    def _outside(self, first: float, last: float) -> tuple[Tail, Tail]:
        total, heights = self._between(Fraction(0), Fraction(1)), self._series(*_points(first, last))[0][:, 0]
        left, right = Fraction(first), Fraction(last)
        below = self._between(Fraction(0), left) / total if left > 0 else flint.arb(0)
        above = self._between(right, Fraction(1)) / total if right < 1 else flint.arb(0)
        low, high = (heights * (1 + 1e-9)).tolist()
        return Tail(upper_end(abs(below)), low), Tail(upper_end(abs(above)), high)


def _points(*places: float) -> tuple[FloatArray, FloatArray]:
    """Pieces of no width."""
    return np.array(places), np.zeros(len(places))
