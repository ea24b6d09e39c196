"""Beliefs about a real number: densities on an interval, each with certified integrals over small cells.

A density is a model: polynomials on pieces, and a bound on the L1 distance between them and the density.
Whatever is computed from the polynomials is then off by at most that bound times the largest loss. Beta and
normal densities get their polynomials from power series in ball arithmetic, with Cauchy's bound on what is
cut off; pieces shrink towards the ends, where a Beta density may be unbounded. Others, known by their
distribution function alone, have the masses of cells and nothing else.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import flint
import numpy as np

from sievert.arrays import FloatArray, ObjectArray
from sievert.errors import PriorError
from sievert.numerics import (
    UNIT,
    as_fraction,
    brief,
    count_of,
    finite,
    instance,
    is_exact,
    positive,
    taken,
    whole,
)

__all__ = ["Density", "Pieces", "interval_of", "rational"]
# Of ball arithmetic, in bits.
PRECISION = 128
# Terms of a power series on one piece, and nodes of Gauss–Legendre on one cell: exact for their product.
DEGREE, NODES = 16, 10
# A piece reaches over this share of the way to the nearer singular end.
SHARE = Fraction(1, 9)
# What lies nearer to an end of the interval than this share of it is spread evenly there.
NEAREST = Fraction(1, 2**46)
# Normal densities are 0 beyond so many deviations, up to a mass that is counted as unknown.
REACH = 13
MOST_PIECES, MOST_PARTS = 20_000, 100_000
# The error of a distribution function of SciPy that a user does not state.
SCIPY_ERROR = 1e-13


def rational(argument: str, value: object, error: type[Any] = PriorError) -> Fraction:
    """A finite number as it is written: 0.1 is one tenth."""
    if is_exact(value):
        try:
            return as_fraction(value)
        except ValueError:
            raise error(f"{argument} is {brief(value)}; it must be a finite number") from None
    return as_fraction(str(finite(argument, value, error)))


def interval_of(interval: object, error: type[Any] = PriorError) -> tuple[Fraction, Fraction]:
    """The ends of an interval that is not empty."""
    ends = taken("interval", interval, error, "two numbers")
    if len(ends) != 2:
        raise error(f"interval is {brief(interval)}; give its two ends, such as (0, 1)")
    low, high = (rational("interval", end, error) for end in ends)
    if low >= high:
        raise error(
            f"interval is {brief(interval)}, which is empty; its first end must be less than its second"
        )
    return low, high


@dataclass(frozen=True)
class Pieces:
    """Polynomials Σ a_n·t^n, t from -1 to 1 across each piece, and how far from the density they are in L1.

    Attributes
    ----------
    edges : the ends of the pieces, increasing
    coefficients : [piece, power]
    error : bound on ∫|density - polynomials|, but for what is spread evenly near the ends
    ends : mass that is spread evenly near the ends, where the density may be unbounded
    spread : how far from its place such mass may be, in units of the interval's
    """

    edges: FloatArray
    coefficients: FloatArray
    error: float
    ends: float = 0.0
    spread: float = 0.0


class Density(ABC):
    """A belief about a number in an interval, with a density.

    Make one with `uniform`, `beta`, `truncated_normal`, `piecewise`, `histogram`, `mixture` or `from_scipy`.

    Attributes
    ----------
    interval : its two ends, as fractions

    Examples
    --------
    >>> Density.beta(2, 5).masses(4).round(6).tolist()
    [0.466064, 0.424561, 0.104736, 0.004639]
    >>> print(Density.uniform((0, 10)))
    uniform on [0, 10]
    """

    interval: tuple[Fraction, Fraction]

    @property
    def width(self) -> float:
        """The length of the interval."""
        return float(self.interval[1] - self.interval[0])

    @abstractmethod
    def words(self) -> str:
        """The density in words."""

    @abstractmethod
    def pieces(self) -> Pieces | None:
        """Polynomials near the density; None where only masses are known."""

    @abstractmethod
    def cdf(self, x: float) -> float:
        """The probability of at most x."""

    def exact_masses(self, cells: int) -> ObjectArray | None:
        """The masses of equal cells as fractions, where they are fractions."""
        return None

    def masses(self, cells: int) -> FloatArray:
        """The probability of each of `cells` equal cells."""
        count = whole("cells", cells, PriorError)
        exact = self.exact_masses(count) if count <= 2000 else None
        if exact is not None:
            return np.asarray(exact, dtype=np.float64)
        return self._masses(count)

    def _masses(self, cells: int) -> FloatArray:
        from sievert.continuous._moments import tilted

        return np.asarray(tilted(self, cells, 0.0, 0).left[0])

    def density(self, x: float) -> float:
        """The density at a point, from its polynomials."""
        found = self.pieces()
        if found is None:
            raise PriorError(f"the density {self} is known by the masses of its cells alone")
        if not self.interval[0] <= Fraction(x) <= self.interval[1]:
            return 0.0
        k = int(np.clip(np.searchsorted(found.edges, x, side="right") - 1, 0, len(found.edges) - 2))
        left, right = found.edges[k], found.edges[k + 1]
        t = (2 * x - left - right) / (right - left)
        return float(np.polynomial.polynomial.polyval(t, found.coefficients[k]))

    def floor(self, cells: int) -> FloatArray:
        """Each cell's mass at its lower end, and 0 at the upper end (Fernandes, Sec 7.5.2)."""
        return np.concatenate([self.masses(cells), [0.0]])

    def __str__(self) -> str:
        low, high = (float(end) for end in self.interval)
        return f"{self.words()} on [{low:g}, {high:g}]"

    def __repr__(self) -> str:
        return f"Density({self})"

    # ── Makers ──────────────────────────────────────────────────────────────────────────────────────────────

    @staticmethod
    def uniform(interval: object = (0, 1)) -> Density:
        """Every part of the interval is as likely as it is long."""
        low, high = interval_of(interval)
        return _Polynomials([low, high], [[1 / (high - low)]], "uniform")

    @staticmethod
    def beta(a: object, b: object, interval: object = (0, 1)) -> Density:
        """The Beta density, stretched to the interval; unbounded where a or b is below 1."""
        low, high = interval_of(interval)
        first, second = (rational(name, value) for name, value in (("a", a), ("b", b)))
        for name, value in (("a", first), ("b", second)):
            if value <= 0:
                raise PriorError(f"{name} is {brief(float(value))}; a Beta density needs a > 0 and b > 0")
        return _Beta((low, high), first, second)

    @staticmethod
    def truncated_normal(mean: object, deviation: object, interval: object = (0, 1)) -> Density:
        """A normal density, cut to the interval and scaled up to one."""
        return _Normal(
            interval_of(interval), rational("mean", mean), positive("deviation", deviation, PriorError)
        )

    @staticmethod
    def piecewise(edges: Iterable[object], heights: Iterable[object]) -> Density:
        """Straight lines between the heights at the edges; or, with one height less than edges, steps.

        Heights are scaled so that the density integrates to 1.
        """
        places = [rational("edges", edge) for edge in taken("edges", edges, PriorError, "numbers")]
        given = taken("heights", heights, PriorError, "numbers")
        for height in given:
            if isinstance(height, float) and math.isinf(height):
                raise PriorError(
                    "heights: a density that is not bounded has no height; give the masses of cells instead, "
                    "Density.histogram(edges, masses), or Density.from_scipy for one with a distribution "
                    "function"
                )
        levels = [rational("heights", height) for height in given]
        _require_edges(places)
        if any(level < 0 for level in levels) or not any(levels):
            raise PriorError(f"heights is {brief(given)}; heights must be ≥ 0 and one of them positive")
        if len(levels) == len(places):
            table = [
                [a, (b - a) / (y - x)]
                for (x, y), (a, b) in zip(pairwise(places), pairwise(levels), strict=True)
            ]
            return _Polynomials(places, table, "piecewise linear", scaled=True)
        if len(levels) == len(places) - 1:
            return _Polynomials(places, [[level] for level in levels], "piecewise constant", scaled=True)
        raise PriorError(
            f"heights has {len(levels)} entries and edges {len(places)}; give one height for each edge "
            "(straight "
            "lines), or one for each cell between them (steps)"
        )

    @staticmethod
    def histogram(edges: Iterable[object], masses: Iterable[object]) -> Density:
        """The masses (or counts) of cells, each spread evenly over its cell."""
        places = [rational("edges", edge) for edge in taken("edges", edges, PriorError, "numbers")]
        given = [rational("masses", mass) for mass in taken("masses", masses, PriorError, "numbers")]
        _require_edges(places)
        if len(given) != len(places) - 1:
            raise PriorError(
                f"masses has {len(given)} entries; {len(places)} edges make {len(places) - 1} cells"
            )
        if any(mass < 0 for mass in given) or not any(given):
            raise PriorError(
                f"masses is {brief(list(map(float, given)))}; they must be ≥ 0 and one of them positive"
            )
        heights = [[mass / (b - a)] for mass, (a, b) in zip(given, pairwise(places), strict=True)]
        return _Polynomials(places, heights, "histogram", scaled=True)

    @staticmethod
    def mixture(parts: Iterable[Density], weights: Iterable[object]) -> Density:
        """Densities on one interval, each with its probability."""
        densities = taken("parts", parts, PriorError, "densities")
        shares = [rational("weights", weight) for weight in taken("weights", weights, PriorError, "numbers")]
        for part in densities:
            instance("parts", part, Density, "densities, such as Density.uniform()", PriorError)
        if (
            not densities
            or len(shares) != len(densities)
            or any(share < 0 for share in shares)
            or not any(shares)
        ):
            raise PriorError(
                f"weights is {brief(list(map(float, shares)))}; give one ≥ 0 for each of the "
                f"{len(densities)} parts, "
                "one of them positive"
            )
        if len({part.interval for part in densities}) > 1:
            raise PriorError("parts: the densities of a mixture need one interval; give it to each of them")
        total = sum(shares)
        return _Mixture(densities, [share / total for share in shares])

    @staticmethod
    def from_scipy(distribution: Any, interval: object | None = None, error: float = SCIPY_ERROR) -> Density:
        """A frozen distribution of SciPy, known by the masses of its cells.

        Without an interval its own, which must be finite; within one it is cut and scaled up. `error` bounds
        how far its distribution function is from the truth.
        """
        if not (hasattr(distribution, "cdf") and hasattr(distribution, "support")):
            raise PriorError(
                f"distribution is {brief(distribution)}; give a frozen one, such as scipy.stats.beta(2, 5)"
            )
        ends: Any = distribution.support() if interval is None else interval
        if not all(math.isfinite(float(end)) for end in ends):
            raise PriorError(
                f"interval is missing; the distribution is on {brief(ends)}, so say where it is cut"
            )
        low, high = interval_of([end if is_exact(end) else float(end) for end in ends])
        return _Distribution(distribution, (low, high), finite("error", error, PriorError))


def _require_edges(places: Sequence[Fraction]) -> None:
    if len(places) < 2 or any(a >= b for a, b in pairwise(places)):
        raise PriorError(f"edges is {brief(list(map(float, places)))}; give two or more, in increasing order")
    if len(places) > MOST_PARTS:
        raise PriorError(
            f"edges has {count_of(places):,} entries; {MOST_PARTS:,} is the limit here, use fewer"
        )


# ── Piecewise polynomials with rational coefficients ────────────────────────────────────────────────────────


class _Polynomials(Density):
    """Σ c_n·(x - left)^n on each piece, in fractions."""

    def __init__(
        self, edges: list[Fraction], table: list[list[Fraction]], name: str, scaled: bool = False
    ) -> None:
        self.interval = (edges[0], edges[-1])
        self.edges, self.name = edges, name
        whole = [_antiderivative(row, b - a) for row, (a, b) in zip(table, pairwise(edges), strict=True)]
        total = sum(whole, Fraction(0)) if scaled else Fraction(1)
        self.table = [[value / total for value in row] for row in table]
        self.before = [Fraction(0)]
        for mass in whole:
            self.before.append(self.before[-1] + mass / total)

    def words(self) -> str:
        return self.name

    def exact_cdf(self, x: Fraction) -> Fraction:
        """The probability of at most x."""
        if x <= self.edges[0]:
            return Fraction(0)
        if x >= self.edges[-1]:
            return Fraction(1)
        k = bisect_right(self.edges, x) - 1
        return self.before[k] + _antiderivative(self.table[k], x - self.edges[k])

    def cdf(self, x: float) -> float:
        return float(self.exact_cdf(rational("x", x)))

    def exact_masses(self, cells: int) -> ObjectArray | None:
        low, high = self.interval
        values = [self.exact_cdf(low + (high - low) * k / cells) for k in range(cells + 1)]
        found = np.empty(cells, dtype=object)
        found[:] = [b - a for a, b in pairwise(values)]
        return found

    @cached_property
    def _pieces(self) -> Pieces:
        rows = []
        for row, (a, b) in zip(self.table, pairwise(self.edges), strict=True):
            half = (b - a) / 2
            # c_n·(half·(1 + t))^n
            expanded = [Fraction(0)] * len(row)
            for n, value in enumerate(row):
                for j in range(n + 1):
                    expanded[j] += value * half**n * math.comb(n, j)
            rows.append([float(value) for value in expanded])
        width = max(map(len, rows))
        table = np.array([row + [0.0] * (width - len(row)) for row in rows])
        # Each coefficient and each edge is rounded once; an edge moves at most the height times the rounding.
        edges = np.array([float(edge) for edge in self.edges])
        sizes = np.abs(table).sum(axis=1)
        moved = float((sizes * np.maximum(np.abs(edges[:-1]), np.abs(edges[1:]))).sum())
        error = UNIT * (float((sizes * np.diff(edges)).sum()) + 4 * moved * (width + 1))
        return Pieces(edges, table, error)

    def pieces(self) -> Pieces:
        return self._pieces


def _antiderivative(row: Sequence[Fraction], length: Fraction) -> Fraction:
    return sum((value * length ** (n + 1) / (n + 1) for n, value in enumerate(row)), Fraction(0))


# ── Analytic densities, by power series in balls ────────────────────────────────────────────────────────────


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def _upper(ball: flint.arb) -> float:
    """A float not below the ball."""
    return float(np.nextafter(float(ball.upper()), np.inf))


class _Analytic(Density):
    """A density with a power series around every inner point."""

    @abstractmethod
    def _edges(self) -> list[Fraction]:
        """The ends of the pieces; what is outside them is unknown."""

    @abstractmethod
    def _series(self, centre: Fraction, half: Fraction) -> flint.arb_series:
        """The density at centre + half·t as a series in t."""

    @abstractmethod
    def _largest(self, centre: Fraction, radius: Fraction) -> flint.arb | None:
        """A bound on its absolute value on a disc of the plane; None where that reaches a singularity."""

    @abstractmethod
    def _outside(self, edges: FloatArray) -> tuple[float, float]:
        """The mass below the pieces and above them, rounded up."""

    def pieces(self) -> Pieces:
        return self._pieces

    def __getstate__(self) -> dict[str, Any]:
        """Everything but balls, which are found again."""
        return {name: value for name, value in self.__dict__.items() if name != "_scale"}

    @cached_property
    def _pieces(self) -> Pieces:
        old, cap = flint.ctx.prec, flint.ctx.cap
        flint.ctx.prec, flint.ctx.cap = PRECISION, DEGREE + 1
        try:
            places = sorted({Fraction(float(edge)) for edge in self._edges()})
            rows, error = [], 0.0
            for a, b in pairwise(places):
                row, missed = self._piece((a + b) / 2, (b - a) / 2)
                rows.append(row)
                error += missed * float(b - a)
            edges, table = np.array([float(place) for place in places]), np.array(rows)
            used = np.flatnonzero(np.abs(table).max(axis=0))
            return self._with_ends(edges, table[:, : int(used.max(initial=0)) + 1], error * (1 + 1e-9))
        finally:
            flint.ctx.prec, flint.ctx.cap = old, cap

    def _with_ends(self, edges: FloatArray, table: FloatArray, error: float) -> Pieces:
        """The pieces, and beyond them what is left of the mass, spread evenly up to each end."""
        low, high = (float(end) for end in self.interval)
        ends, spread = 0.0, 0.0
        for place, end, mass in zip((edges[0], edges[-1]), (low, high), self._outside(edges), strict=True):
            if place == end:
                continue
            width = abs(end - place)
            row = np.zeros((1, table.shape[1]))
            row[0, 0] = mass / width
            first = end == low
            edges = np.concatenate([[end], edges] if first else [edges, [end]])
            table = np.concatenate([row, table] if first else [table, row])
            ends, spread = ends + mass, max(spread, width)
        return Pieces(edges, table, error, ends * (1 + 1e-9), spread)

    def _piece(self, centre: Fraction, half: Fraction) -> tuple[list[float], float]:
        """The coefficients, and how far off the polynomial is anywhere on the piece."""
        series = self._series(centre, half)
        balls = [series[n] for n in range(DEGREE + 1)]
        row = [float(ball.mid()) for ball in balls]
        rounding = sum(_upper(abs(ball - flint.arb(value))) for ball, value in zip(balls, row, strict=True))
        # Cauchy: |a_n| ≤ M/ρ^n where the density is bounded by M for |t| ≤ ρ.
        tails = []
        for radius in (2, 3, 4, 5, 6, 8, 12):
            largest = self._largest(centre, half * radius)
            if largest is not None:
                tails.append(_upper(largest / (flint.arb(radius) ** DEGREE * (radius - 1))))
        return row, rounding + min(tails)


class _Beta(_Analytic):
    """x^(a-1)·(1-x)^(b-1)/B(a, b) on [0, 1], stretched."""

    def __init__(self, interval: tuple[Fraction, Fraction], a: Fraction, b: Fraction) -> None:
        self.interval, self.a, self.b = interval, a, b

    def words(self) -> str:
        return f"Beta({float(self.a):g}, {float(self.b):g})"

    def exact_masses(self, cells: int) -> ObjectArray | None:
        if self.a.denominator != 1 or self.b.denominator != 1 or self.a + self.b > 60:
            return None
        values = [self._exact(Fraction(k, cells)) for k in range(cells + 1)]
        found = np.empty(cells, dtype=object)
        found[:] = [b - a for a, b in pairwise(values)]
        return found

    @property
    def _is_polynomial(self) -> bool:
        powers = (self.a - 1, self.b - 1)
        return all(power.denominator == 1 and power >= 0 for power in powers) and sum(powers) <= DEGREE

    def _exact(self, share: Fraction) -> Fraction:
        """The probability of at most a share of the interval: a binomial sum."""
        a, n = int(self.a), int(self.a + self.b) - 1
        return sum(
            (math.comb(n, k) * share**k * (1 - share) ** (n - k) for k in range(a, n + 1)), Fraction(0)
        )

    def cdf(self, x: float) -> float:
        low, high = self.interval
        share = min(max((rational("x", x) - low) / (high - low), Fraction(0)), Fraction(1))
        return float(self._below(share).mid())

    def _below(self, share: Fraction) -> flint.arb:
        if share in (0, 1):
            return flint.arb(int(share))
        return _ball(share).beta_lower(_ball(self.a), _ball(self.b), regularized=True)

    def _edges(self) -> list[Fraction]:
        if self._is_polynomial:
            low, high = self.interval
            return [low + (high - low) * k / 8 for k in range(9)]
        # Few enough terms are needed where the density does not vary too much within a piece.
        share = SHARE / max(1, math.ceil(float(abs(self.a - 1) + abs(self.b - 1)) / 12))
        growth = (1 + share) / (1 - share)
        steps = math.ceil(math.log(float(2 * NEAREST)) / -math.log(float(growth)))
        if 2 * steps > MOST_PIECES:
            raise PriorError(
                f"a and b are {float(self.a):g} and {float(self.b):g}; such a narrow Beta density is "
                "beyond this "
                "model, so give a truncated normal with its mean and deviation"
            )
        ratio = float(2 * NEAREST) ** (1 / steps)
        half = [Fraction(0.5 * ratio**k) for k in range(steps + 1)]
        shares = [*reversed(half), *(1 - place for place in half[1:])]
        low, high = self.interval
        return [low + share * (high - low) for share in shares]

    def _share(self, x: Fraction) -> Fraction:
        low, high = self.interval
        return (x - low) / (high - low)

    @cached_property
    def _scale(self) -> flint.arb:
        """1/(B(a, b)·width)."""
        a, b = _ball(self.a), _ball(self.b)
        logs = (a + b).lgamma() - a.lgamma() - b.lgamma()
        return logs.exp() / _ball(self.interval[1] - self.interval[0])

    def _series(self, centre: Fraction, half: Fraction) -> flint.arb_series:
        place, step = self._share(centre), half / (self.interval[1] - self.interval[0])
        if self._is_polynomial:
            first, second = (
                flint.arb_series([_ball(place), _ball(step)]),
                flint.arb_series([_ball(1 - place), _ball(-step)]),
            )
            return first ** int(self.a - 1) * second ** int(self.b - 1) * self._scale
        below = flint.arb_series([_ball(place), _ball(step)]).log() * _ball(self.a - 1)
        above = flint.arb_series([_ball(1 - place), _ball(-step)]).log() * _ball(self.b - 1)
        return (below + above).exp() * self._scale

    def _largest(self, centre: Fraction, radius: Fraction) -> flint.arb | None:
        if self._is_polynomial:
            return flint.arb(0)  # the series ends
        place, step = self._share(centre), radius / (self.interval[1] - self.interval[0])
        found = self._scale
        for distance, power in ((place, self.a - 1), (1 - place, self.b - 1)):
            if power < 0 and distance <= step:
                return None
            if power.denominator != 1 and distance <= step:
                return None
            furthest = distance + step if power >= 0 else distance - step
            found = found * _ball(furthest) ** _ball(power)
        return found

    def _outside(self, edges: FloatArray) -> tuple[float, float]:
        first, last = (self._below(self._share(Fraction(place))) for place in (edges[0], edges[-1]))
        return _upper(first), _upper(1 - last)


class _Normal(_Analytic):
    """e^(-((x - mean)/deviation)²/2), cut to the interval."""

    def __init__(self, interval: tuple[Fraction, Fraction], mean: Fraction, deviation: float) -> None:
        self.interval, self.mean, self.deviation = interval, mean, Fraction(deviation)
        low, high = interval
        # The nearest point of the interval must be likely enough for the density to be scaled.
        nearest = min(max(mean, low), high)
        if abs(nearest - mean) > 30 * self.deviation:
            raise PriorError(
                f"mean is {brief(float(mean))}, more than 30 deviations from the interval "
                f"[{float(low):g}, {float(high):g}]; nothing of the density would be left"
            )

    def words(self) -> str:
        return f"normal with mean {float(self.mean):g} and deviation {float(self.deviation):g}, cut,"

    def cdf(self, x: float) -> float:
        low, high = self.interval
        place = min(max(rational("x", x), low), high)
        return float((self._between(low, place) / self._between(low, high)).mid())

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

    def _edges(self) -> list[Fraction]:
        low, high = self.interval
        nearest = min(max(self.mean, low), high)
        # A mean outside the interval makes the density fall faster: the same reach serves.
        first = max(low, nearest - REACH * self.deviation)
        last = min(high, nearest + REACH * self.deviation)
        away = max(1, math.ceil(float(abs(nearest - self.mean) / self.deviation)))
        count = max(1, math.ceil(float((last - first) / self.deviation) * 4 * away))
        if count > MOST_PIECES:
            raise PriorError("deviation: the density varies too quickly for this model; use a wider one")
        return [first + (last - first) * k / count for k in range(count + 1)]

    @cached_property
    def _scale(self) -> flint.arb:
        total = self._between(*self.interval) * _ball(self.deviation)
        return 1 / (total * (2 * flint.arb.pi()).sqrt())

    def _series(self, centre: Fraction, half: Fraction) -> flint.arb_series:
        z = flint.arb_series([_ball((centre - self.mean) / self.deviation), _ball(half / self.deviation)])
        return (-(z * z) / 2).exp() * self._scale

    def _largest(self, centre: Fraction, radius: Fraction) -> flint.arb | None:
        """|e^(-z²/2)| = e^((Im² - Re²)/2)."""
        off, step = abs(centre - self.mean) / self.deviation, radius / self.deviation
        nearest = max(Fraction(0), off - step)
        return (_ball(step * step - nearest * nearest) / 2).exp() * self._scale

    def _outside(self, edges: FloatArray) -> tuple[float, float]:
        first, last = self.interval
        total = self._between(first, last)
        left, right = Fraction(edges[0]), Fraction(edges[-1])
        below = self._between(first, left) / total if left > first else flint.arb(0)
        above = self._between(right, last) / total if right < last else flint.arb(0)
        return _upper(abs(below)), _upper(abs(above))


# ── Mixtures, and distributions known by their masses ───────────────────────────────────────────────────────


class _Mixture(Density):
    """Several densities, each with its probability."""

    def __init__(self, parts: list[Density], weights: list[Fraction]) -> None:
        self.interval = parts[0].interval
        self.parts, self.weights = parts, weights

    def words(self) -> str:
        named = ", ".join(
            f"{float(weight):g} of {part.words()}"
            for weight, part in zip(self.weights, self.parts, strict=True)
        )
        return f"mixture ({named})"

    def cdf(self, x: float) -> float:
        shares = (float(weight) * part.cdf(x) for weight, part in zip(self.weights, self.parts, strict=True))
        return math.fsum(shares)

    def exact_masses(self, cells: int) -> ObjectArray | None:
        total: Any = Fraction(0)
        for weight, part in zip(self.weights, self.parts, strict=True):
            found = part.exact_masses(cells)
            if found is None:
                return None
            total = total + weight * found
        masses: ObjectArray = total
        return masses

    @cached_property
    def _pieces(self) -> Pieces | None:
        found = [part.pieces() for part in self.parts]
        if any(part is None for part in found):
            return None
        known = [part for part in found if part is not None]
        low, high = (float(end) for end in self.interval)
        edges = np.unique(np.concatenate([[low, high], *(part.edges for part in known)]))
        width = max(part.coefficients.shape[1] for part in known)
        table, error = np.zeros((len(edges) - 1, width)), 0.0
        for weight, part in zip(self.weights, known, strict=True):
            moved, missed = _restricted(part, edges, width)
            table += float(weight) * moved
            error += float(weight) * (missed + part.error)
        ends = math.fsum(float(weight) * part.ends for weight, part in zip(self.weights, known, strict=True))
        return Pieces(edges, table, error, ends, max(part.spread for part in known))

    def pieces(self) -> Pieces | None:
        return self._pieces


def _restricted(part: Pieces, edges: FloatArray, width: int) -> tuple[FloatArray, float]:
    """The polynomials over smaller pieces, 0 outside, and the error of rewriting them."""
    centres, halves = (edges[:-1] + edges[1:]) / 2, np.diff(edges) / 2
    k = np.searchsorted(part.edges, centres, side="right") - 1
    inside = (k >= 0) & (k < len(part.edges) - 1)
    k = np.clip(k, 0, len(part.edges) - 2)
    middle, half = (part.edges[k] + part.edges[k + 1]) / 2, (part.edges[k + 1] - part.edges[k]) / 2
    shift, scale = (centres - middle) / half, halves / half
    coefficients = part.coefficients[k]
    degree = coefficients.shape[1] - 1
    table = np.zeros((len(centres), width))
    # Taylor shift: Σ a_n·(shift + scale·t)^n.
    for n in range(degree + 1):
        for j in range(n + 1):
            table[:, j] += coefficients[:, n] * math.comb(n, j) * shift ** (n - j) * scale**j
    table[~inside] = 0.0
    # Shifts stay within -1…1, so every term is at most Σ|a_n|·2^n and rounded a few times.
    sizes = (np.abs(coefficients) * 2.0 ** np.arange(degree + 1)).sum(axis=1)
    rounding = 8 * (degree + 2) * UNIT * float((sizes * inside * 2 * halves).sum())
    return table, rounding


class _Distribution(Density):
    """A distribution function of SciPy: masses of cells, to a stated error."""

    def __init__(self, distribution: Any, interval: tuple[Fraction, Fraction], error: float) -> None:
        self.interval, self.distribution, self.error = interval, distribution, error
        low, high = (float(end) for end in interval)
        self.total = float(distribution.cdf(high) - distribution.cdf(low))
        if not self.total > 1e3 * error:
            raise PriorError(
                f"interval is [{low:g}, {high:g}], of which the distribution has {self.total:.3g}, too "
                "little to scale up"
            )

    def words(self) -> str:
        name = getattr(getattr(self.distribution, "dist", None), "name", type(self.distribution).__name__)
        return f"{name} of SciPy"

    def pieces(self) -> None:
        return None

    def cdf(self, x: float) -> float:
        low, high = (float(end) for end in self.interval)
        place = min(max(x, low), high)
        return float(self.distribution.cdf(place) - self.distribution.cdf(low)) / self.total

    def _masses(self, cells: int) -> FloatArray:
        low, high = (float(end) for end in self.interval)
        edges = np.linspace(low, high, cells + 1)
        below, above = self.distribution.cdf(edges), self.distribution.sf(edges)
        # From whichever side the difference does not cancel.
        masses = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above)) / self.total
        return np.asarray(np.maximum(masses, 0.0))
