"""Sums of e^(-ε·|z|) over the integer plane, over lines, half-planes and quadrants of it, with all digits.

Poisson's formula turns the slow sums into fast ones. Over the whole plane, with the Epstein zeta function
Σ_{k≠0} |k|^-s = 4·ζ(s/2)·β(s/2),

    S = Σ_z e^(-ε·|z|) = Σ_k 2π·ε/(ε² + 4π²·|k|²)^(3/2)
      = 2π/ε² + ε/(4π²) Σ_m C(-3/2, m)·(ε/2π)^(2m)·4·ζ(m + 3/2)·β(m + 3/2)        for ε < 2π,

whose terms alternate and fall for ε ≤ 2, so the rest is below the first that is left out. Over a line at
distance d it is Σ_k 2·ε·d·K₁(d·w_k)/w_k with w_k² = ε² + 4π²·k². The ends of lines and the quadrants are
added up, where that is short, and otherwise found by taking away what lies before them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

import flint
import numpy as np
from scipy.special import k1e

from sievert.arrays import FloatArray

__all__ = ["Lattice", "LatticeSums", "lattice_sums"]

PRECISION = 160
# Up to here the sum over the dual lattice is short, beyond it the plain one.
FINE = 2
# What is this much smaller changes no digit of a sum: e^-45 < 2^-64.
NEGLIGIBLE = 45.0
# e^-ε is 0 in doubles.
BEYOND = 1000
# Terms of the end of a line or of a quadrant that are added up one by one.
MOST_TERMS = 20_000_000
# Terms that are held at a time.
AT_ONCE = 200_000


@dataclass(frozen=True)
class LatticeSums:
    """Chances of planar noise, each within a relative error of 1e-15 that is proved by ball arithmetic.

    Attributes
    ----------
    origin : p(0), that a place stays in its cell
    edge : Σ_{j≥1} p(j, 0), that it moves straight in one of the four directions
    corner : Σ_{i,j≥1} p(i, j), that it moves into one of the four open quadrants
    log_total : ln Σ_z e^(-ε·|z|)
    """

    origin: float
    edge: float
    corner: float
    log_total: float


@lru_cache(maxsize=64)
def lattice_sums(eps: Fraction) -> LatticeSums:
    """The chances of noise that is proportional to e^(-ε·|z|) on the integer plane.

    >>> found = lattice_sums(Fraction(1, 2))
    >>> round(36 * found.origin + 24 * found.edge + 4 * found.corner, 9)
    3.607480793
    >>> round(found.origin + 4 * found.edge + 4 * found.corner, 15)
    1.0
    """
    if eps == 0:  # all of it is infinitely far away, in no direction rather than another
        return LatticeSums(0.0, 0.0, 0.25, math.inf)
    if eps > BEYOND:
        return LatticeSums(1.0, 0.0, 0.0, 0.0)
    old = flint.ctx.prec
    flint.ctx.prec = PRECISION
    try:
        rate = flint.arb(flint.fmpq(eps.numerator, eps.denominator))
        edge = 1 / rate.expm1()
        if eps <= FINE:
            total = _by_poisson(rate)
            corner = (total - 1 - 4 * edge) / 4
            logarithm = total.log()
        else:
            corner = _plainly(rate, eps)
            total = 1 + 4 * edge + 4 * corner
            logarithm = (4 * edge + 4 * corner).log1p()
        parts = (1 / total, edge / total, corner / total, logarithm)
        return LatticeSums(*(_digits(part) for part in parts))
    finally:
        flint.ctx.prec = old


def _by_poisson(rate: flint.arb) -> flint.arb:
    """S by the dual lattice; a ball that holds what is left out."""
    pi = flint.arb.pi()
    square = (rate / (2 * pi)) ** 2
    factor, found, m = flint.arb(1), flint.arb(0), 0
    while True:
        term = factor * _dual_sum(m)
        size = term.abs_upper()
        if size < flint.arb(2) ** (-PRECISION):
            rest = flint.arb(0, size)
            return 2 * pi / rate**2 + rate / (4 * pi**2) * (found + rest)
        found += term
        factor *= -square * flint.arb(flint.fmpq(2 * m + 3, 2 * (m + 1)))
        m += 1


@cache
def _dual_sum(m: int) -> flint.arb:
    """Σ over the plane but 0 of |z|^-(2m+3) is 4·ζ(s)·β(s) for s = m + 3/2 (Hardy), whatever ε is."""
    s = flint.arb(flint.fmpq(2 * m + 3, 2))
    beta = (s.zeta(flint.arb(flint.fmpq(1, 4))) - s.zeta(flint.arb(flint.fmpq(3, 4)))) / flint.arb(4) ** s
    return 4 * s.zeta() * beta


def _plainly(rate: flint.arb, eps: Fraction) -> flint.arb:
    """Σ_{i,j≥1}, up to a square beyond which Σ_m 2m·e^(-ε·m) bounds it."""
    reach = math.ceil(2 * NEGLIGIBLE / float(eps)) + 2
    found = flint.arb(0)
    for i in range(1, reach + 1):
        found += (-rate * flint.arb(2 * i * i).sqrt()).exp()
        found += 2 * sum(
            ((-rate * flint.arb(i * i + j * j).sqrt()).exp() for j in range(1, i)), start=flint.arb(0)
        )
    # Σ_{m>M} m·α^m = α^(M+1)·(M + 1/(1-α))/(1-α)
    fall = -(-rate).expm1()
    beyond = 2 * (-rate * (reach + 1)).exp() * (reach + 1 / fall) / fall
    return found + flint.arb(0, beyond.abs_upper())


def _digits(ball: flint.arb) -> float:
    """The middle of a ball that is narrower than a float can tell."""
    middle, wide = ball.mid(), ball.rad()
    if not wide <= abs(middle) * flint.arb(2) ** -53:
        raise ArithmeticError(f"a sum over the lattice is known to {ball} only")
    return float(middle)


class Lattice:
    """ln of sums of p(z), proportional to e^(-ε·|z|), over parts of the integer plane, for ε > 0."""

    def __init__(self, eps: Fraction) -> None:
        self.sums = lattice_sums(eps)
        self.eps = float(eps)
        self._affinities: dict[tuple[int, int], float] = {}

    def point(self, rows: FloatArray, columns: FloatArray) -> FloatArray:
        """ln p(i, j)."""
        return np.asarray(-self.eps * np.hypot(rows, columns) - self.sums.log_total)

    def line(self, distance: FloatArray) -> FloatArray:
        """ln Σ_{i∈Z} p(i, d) for whole numbers d ≥ 0."""
        eps, d = self.eps, np.asarray(distance, dtype=np.float64)
        found = np.full(d.shape, -math.log(math.tanh(eps / 2)))
        away = d > 0
        if away.any():
            near, width = d[away], eps
            total, k = np.log(2 * near * k1e(near * eps)), 0
            while math.exp(-float(near.min()) * (width - eps)) > math.exp(-NEGLIGIBLE):
                k += 1
                width = math.hypot(eps, 2 * math.pi * k)
                term = np.log(4 * eps * near / width * k1e(near * width)) - near * (width - eps)
                total = np.logaddexp(total, term)
            found[away] = total - near * eps
        return np.asarray(found - self.sums.log_total)

    def line_end(self, start: int, distance: FloatArray) -> FloatArray:
        """ln Σ_{i≥k} p(i, d) for a whole number k ≥ 1 and whole numbers d ≥ 0."""
        d = np.asarray(distance, dtype=np.float64)
        first = np.hypot(float(start), d)
        # Beyond this many terms every line is less than e^-45 of its first.
        reach = np.sqrt((first + NEGLIGIBLE / self.eps) ** 2 - d**2) - start
        short = reach * d.size <= MOST_TERMS
        # What is taken away from half a line must leave most of it.
        small = self.eps * (first - d) <= 1.0
        found = np.empty(d.shape)
        taken = ~short & small
        found[taken] = self._rest_of_line(start, d[taken])
        found[~taken] = self._added_line(start, d[~taken])
        return found

    def _rest_of_line(self, start: int, d: FloatArray) -> FloatArray:
        half = (np.exp(self.line(d)) - np.exp(self.point(np.zeros(1), d))) / 2
        for i in range(1, start):
            half -= np.exp(self.point(np.full(1, float(i)), d))
        return np.asarray(np.log(half))

    def _added_line(self, start: int, d: FloatArray) -> FloatArray:
        """Terms over the first, from near to far, until none of the lines has another digit."""
        first = np.hypot(float(start), d)
        reach = np.sqrt((first + NEGLIGIBLE / self.eps) ** 2 - d**2) - start
        total, size = np.zeros(d.shape), max(1, AT_ONCE // max(1, d.size))
        steps = np.arange(start, start + int(reach.max(initial=0.0)) + 1, dtype=np.float64)[:, None]
        for part in range(0, len(steps), size):
            longer = np.hypot(steps[part : part + size], d) - first
            total += np.exp(-self.eps * longer).sum(axis=0)
        return np.asarray(np.log(total) - self.eps * first - self.sums.log_total)

    def half_plane(self, start: int) -> float:
        """ln Σ_{i≥k} of whole lines, k ≥ 1."""
        length = math.ceil(NEGLIGIBLE / self.eps) + 1
        # A line's mass falls like √i·e^(-ε·i), slower than its points: twice as many are surely enough.
        if 2 * length <= MOST_TERMS // 20:
            lines = self.line(np.arange(start, start + 2 * length, dtype=np.float64))
            return float(np.logaddexp.reduce(lines))
        rest = (1 - math.exp(float(self.line(np.zeros(1))[0]))) / 2
        if start > 1:
            rest -= float(np.exp(self.line(np.arange(1, start, dtype=np.float64))).sum())
        return math.log(rest)

    def quadrant(self, row: int, column: int) -> float:
        """ln Σ_{i≥k, j≥l}, both ≥ 1."""
        length = math.ceil(NEGLIGIBLE / self.eps) + 1
        furthest = math.hypot(row, column) + length
        rows = max(1, math.ceil(math.sqrt(max(0.0, furthest**2 - column**2)) - row) + 1)
        columns = max(1, math.ceil(math.sqrt(max(0.0, furthest**2 - row**2)) - column) + 1)
        # What is taken away from the open quadrant must leave most of it, or the terms be too many.
        taken = self.eps * math.hypot(row, column) <= 1.0 and row * column < rows * columns
        if rows * columns <= MOST_TERMS and not taken:
            return self._added_quadrant(row, column, rows, columns)
        rest = self.sums.corner
        for size in (row, column):
            near = np.arange(1, size, dtype=np.float64)
            rest -= float((np.exp(self.line(near)) - np.exp(self.point(near, np.zeros(1)))).sum()) / 2
        along = np.arange(1, column, dtype=np.float64)
        for i in range(1, row):
            rest += float(np.exp(self.point(np.full(1, float(i)), along)).sum())
        return math.log(rest)

    def _added_quadrant(self, row: int, column: int, rows: int, columns: int) -> float:
        first = math.hypot(row, column)
        along = np.arange(column, column + columns, dtype=np.float64)
        total, size = 0.0, max(1, AT_ONCE // columns)
        across = np.arange(row, row + rows, dtype=np.float64)[:, None]
        for part in range(0, rows, size):
            total += float(np.exp(-self.eps * (np.hypot(across[part : part + size], along) - first)).sum())
        return math.log(total) - self.eps * first - self.sums.log_total

    def affinity(self, rows: int, columns: int) -> float | None:
        """Σ_z √(p(z)·p(z - v)), which the laws of two cells so far apart share; None: the sum is too long."""
        apart = max(rows, columns), min(rows, columns)
        reach = math.ceil(NEGLIGIBLE / self.eps) + apart[0] + 1
        if reach * reach > MOST_TERMS:
            return None
        if apart not in self._affinities:
            along = np.arange(-reach, reach + apart[0] + 1, dtype=np.float64)
            # z and v - z have the same term: every row beyond the middle counts twice.
            across = np.arange((apart[1] + 1) // 2, reach + apart[1] + 1, dtype=np.float64)[:, None]
            total, size = 0.0, max(1, AT_ONCE // len(along))
            for part in range(0, len(across), size):
                down = across[part : part + size]
                both = np.hypot(along, down) + np.hypot(along - apart[0], down - apart[1])
                twice = np.where(2 * down == apart[1], 1.0, 2.0)
                total += float((twice * np.exp(-self.eps / 2 * both)).sum())
            self._affinities[apart] = min(1.0, total * self.sums.origin)
        return self._affinities[apart]
