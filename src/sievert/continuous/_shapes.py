"""Shapes of beliefs on the interval [0, 1]: polynomials on pieces, with how far from the density they are.

Whatever is computed from the polynomials is off by no more than the stated errors allow: where the density is
well above its error, joint probabilities change by a factor near 1; elsewhere the error counts as mass that
may lie anywhere. A shape that is known by its distribution function alone has masses and no pieces.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.numerics import UNIT

__all__ = [
    "GRID",
    "Distribution",
    "Mixture",
    "Pieces",
    "Polynomials",
    "Shape",
    "centred",
    "moved",
    "restricted",
    "snapped",
]
# Places are multiples of its inverse.
GRID = 2.0**51


@dataclass(frozen=True)
class Pieces:
    """Polynomials Σ a_n·t^n, t from -1 to 1 across each piece.

    Attributes
    ----------
    edges : the ends of the pieces, from 0 to 1
    coefficients : [piece, power]
    errors : bound on |density - polynomial| on each piece, but for what is spread evenly near the ends
    ends : mass that is spread evenly near the ends, where the density may be unbounded
    spread : how far from its place such mass may be
    """

    edges: FloatArray
    coefficients: FloatArray
    errors: FloatArray
    ends: float = 0.0
    spread: float = 0.0


def centred(edges: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The middles and halves of cells, and how far each is off by rounding (two sums, exactly)."""
    a, b = edges[:-1], edges[1:]
    total, length = a + b, b - a
    part = total - a
    slip = np.abs((a - (total - part)) + (b - part))
    part = length - b
    slip += np.abs((b - (length - part)) - (a + part))
    return total / 2, length / 2, slip


def snapped(places: FloatArray) -> FloatArray:
    """Places of [0, 1], each moved to the nearest multiple of one small unit: their middles are floats."""
    return np.asarray(np.round(places * GRID) / GRID)


def moved(coefficients: FloatArray, shift: FloatArray, scale: FloatArray) -> FloatArray:
    """The coefficients of Σ a_n·(shift + scale·t)^n, row by row: a Taylor shift."""
    size = coefficients.shape[1]
    binomials, lags = _binomials(size)
    powers = np.power(shift[:, None], np.arange(size)[None, :])
    table = (coefficients[:, None, :] @ (powers[:, lags] * binomials))[:, 0, :]
    return np.asarray(table * np.power(scale[:, None], np.arange(size)[None, :]))


@cache
def _binomials(size: int) -> tuple[FloatArray, IndexArray]:
    """C(n, j), and n - j where it is not negative."""
    n, j = np.arange(size)[:, None], np.arange(size)[None, :]
    table = [[float(math.comb(a, b)) for b in range(size)] for a in range(size)]
    return np.array(table), np.maximum(n - j, 0)


class Shape(ABC):
    """A belief about a number of [0, 1]."""

    name: str

    @abstractmethod
    def pieces(self) -> Pieces | None:
        """Polynomials near the density; None where only masses are known."""

    @abstractmethod
    def below(self, share: Fraction) -> float:
        """The probability of at most a share of the interval."""

    def exact(self, share: Fraction) -> Fraction | None:
        """The same as a fraction, where it is one."""
        return None

    def masses(self, edges: FloatArray) -> FloatArray:
        """The probabilities between edges."""
        model = self.pieces()
        assert model is not None
        return np.maximum(_integrals(model, edges), 0.0)


def _integrals(model: Pieces, edges: FloatArray) -> FloatArray:
    """∫ of the polynomials between edges that go from 0 to 1."""
    places = np.unique(np.concatenate([edges, model.edges]))
    centres, halves = (places[:-1] + places[1:]) / 2, np.diff(places) / 2
    k = np.clip(np.searchsorted(model.edges, centres, side="right") - 1, 0, len(model.edges) - 2)
    reach = np.diff(model.edges)[k] / 2
    middle = (model.edges[k] + model.edges[k + 1]) / 2
    count = model.coefficients.shape[1] // 2 + 1
    nodes, weights = np.polynomial.legendre.leggauss(count)
    t = ((centres - middle) / reach)[:, None] + (halves / reach)[:, None] * nodes
    height = np.zeros_like(t)
    for column in model.coefficients.T[::-1]:
        height = height * t + column[k][:, None]
    parts = halves * (height @ weights)
    cell = np.searchsorted(edges, centres, side="right") - 1
    return np.asarray(np.bincount(cell, parts, minlength=len(edges) - 1), dtype=np.float64)


class Polynomials(Shape):
    """Σ c_n·(x - left)^n on each piece, in fractions."""

    def __init__(
        self, edges: Sequence[Fraction], table: list[list[Fraction]], name: str, scaled: bool = False
    ) -> None:
        self.edges, self.name = list(edges), name
        whole = [_antiderivative(row, b - a) for row, (a, b) in zip(table, pairwise(edges), strict=True)]
        total = sum(whole, Fraction(0)) if scaled else Fraction(1)
        self.table = [[value / total for value in row] for row in table]
        self.before = [Fraction(0)]
        for mass in whole:
            self.before.append(self.before[-1] + mass / total)

    def exact(self, share: Fraction) -> Fraction:
        if share <= 0:
            return Fraction(0)
        if share >= 1:
            return Fraction(1)
        k = bisect_right(self.edges, share) - 1
        return self.before[k] + _antiderivative(self.table[k], share - self.edges[k])

    def below(self, share: Fraction) -> float:
        return float(self.exact(share))

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
        edges = np.array([float(edge) for edge in self.edges])
        # Each coefficient is rounded once; where an edge is, the mass beside it counts as an error.
        slips = np.array(
            [float(abs(Fraction(place) - edge)) for place, edge in zip(edges, self.edges, strict=True)]
        )
        heights, widths = np.abs(table).sum(axis=1), np.diff(edges)
        steep = np.abs(table) @ np.arange(width) * centred(edges)[2] / widths
        beside = np.maximum(heights, np.maximum(np.roll(heights, 1), np.roll(heights, -1)))
        beside *= (slips[:-1] + slips[1:]) / widths
        return Pieces(edges, table, 2 * UNIT * heights + 2 * beside + 2 * steep)

    def pieces(self) -> Pieces:
        return self._pieces


def _antiderivative(row: Sequence[Fraction], length: Fraction) -> Fraction:
    return sum((value * length ** (n + 1) / (n + 1) for n, value in enumerate(row)), Fraction(0))


class Mixture(Shape):
    """Several shapes, each with its probability."""

    def __init__(self, parts: list[Shape], weights: list[Fraction], name: str) -> None:
        self.parts, self.weights, self.name = parts, weights, name

    def below(self, share: Fraction) -> float:
        return math.fsum(
            float(w) * part.below(share) for w, part in zip(self.weights, self.parts, strict=True)
        )

    def exact(self, share: Fraction) -> Fraction | None:
        total = Fraction(0)
        for weight, part in zip(self.weights, self.parts, strict=True):
            found = part.exact(share)
            if found is None:
                return None
            total += weight * found
        return total

    def masses(self, edges: FloatArray) -> FloatArray:
        parts = [float(w) * part.masses(edges) for w, part in zip(self.weights, self.parts, strict=True)]
        return np.asarray(np.sum(parts, axis=0))

    @property
    def error(self) -> float:
        """How far off its masses are."""
        return math.fsum(
            float(w) * getattr(part, "error", 0.0) for w, part in zip(self.weights, self.parts, strict=True)
        )

    @cached_property
    def _pieces(self) -> Pieces | None:
        found = [part.pieces() for part in self.parts]
        known = [part for part in found if part is not None]
        if len(known) < len(found):
            return None
        edges = np.unique(np.concatenate([part.edges for part in known]))
        width = max(part.coefficients.shape[1] for part in known)
        table, errors = np.zeros((len(edges) - 1, width)), np.zeros(len(edges) - 1)
        for weight, part in zip(self.weights, known, strict=True):
            rows, missed = restricted(part, edges)
            table[:, : rows.shape[1]] += float(weight) * rows
            errors += float(weight) * missed
        ends = math.fsum(float(weight) * part.ends for weight, part in zip(self.weights, known, strict=True))
        errors += 4 * UNIT * np.abs(table).sum(axis=1)
        return Pieces(edges, table, errors, ends, max(part.spread for part in known))

    def pieces(self) -> Pieces | None:
        return self._pieces


def restricted(model: Pieces, edges: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The polynomials over smaller pieces, and the errors there, those of rewriting included."""
    centres, halves, slip = centred(edges)
    k = np.clip(np.searchsorted(model.edges, centres, side="right") - 1, 0, len(model.edges) - 2)
    coefficients = model.coefficients[k]
    if len(edges) == len(model.edges):
        return coefficients, model.errors
    middle, reach, _ = (part[k] for part in centred(model.edges))
    # Terms stay below Σ|a_n|, since |shift| + scale ≤ 1.
    degree = coefficients.shape[1] - 1
    sizes = np.abs(coefficients)
    rounding = UNIT * (6 * degree + 8) * sizes.sum(axis=1) + slip / reach * (sizes @ np.arange(degree + 1.0))
    return moved(coefficients, (centres - middle) / reach, halves / reach), model.errors[k] + rounding


class Distribution(Shape):
    """A distribution function of SciPy: masses of cells, to a stated error."""

    def __init__(self, distribution: Any, ends: tuple[float, float], error: float, name: str) -> None:
        self.distribution, self.ends, self.error, self.name = distribution, ends, error, name
        self.total = float(distribution.cdf(ends[1]) - distribution.cdf(ends[0]))

    def pieces(self) -> None:
        return None

    def below(self, share: Fraction) -> float:
        low, high = self.ends
        place = low + float(share) * (high - low)
        return float(self.distribution.cdf(place) - self.distribution.cdf(low)) / self.total

    def masses(self, edges: FloatArray) -> FloatArray:
        low, high = self.ends
        places = low + (high - low) * edges
        below, above = self.distribution.cdf(places), self.distribution.sf(places)
        # From whichever side the difference does not cancel.
        masses = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above)) / self.total
        return np.asarray(np.maximum(masses, 0.0))
