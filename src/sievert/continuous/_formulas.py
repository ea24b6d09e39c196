"""Laws of SciPy by the formulas of their densities: power series in balls, with Cauchy's bound on the rest.

A formula is written for whatever has log and exp: series of balls expand it around a point, balls of the
plane bound it on a disc. Pieces are halved until what is cut off is as small as rounding. Constants do not
matter: the pieces are scaled to one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import flint
import numpy as np

from sievert.arrays import FloatArray
from sievert.continuous._analytic import DEGREE, NEAREST, PRECISION, RADII, SMALL, as_ball, upper_end
from sievert.continuous._shapes import Pieces, Shape, centred
from sievert.errors import PriorError
from sievert.numerics import UNIT

__all__ = ["LAWS", "Formula", "Law"]
# Of the density that a piece may miss, mass that is none, and pieces that are too many.
ENOUGH, NOTHING, MOST_PIECES = 2e-14, 1e-24, 4000
# At which a law's height is looked for, to scale it.
PLACES = 256


def _power(z: Any, exponent: Fraction) -> Any:
    """z to a power: a product where that is whole, so that it has no singularity there."""
    if exponent.denominator > 1 or abs(exponent) > 60:
        return (z.log() * as_ball(exponent)).exp()
    found: Any = 1 + 0 * z
    for _ in range(abs(int(exponent))):
        found = found * z
    return found if exponent >= 0 else 1 / found


def _logistic(z: Any) -> Any:
    # Symmetric: the side on which the exponential does not overflow is as good.
    decay = (-z).exp()
    return decay / ((1 + decay) * (1 + decay))


def _lognormal(z: Any, s: Fraction) -> Any:
    log = z.log()
    return (-(log * log) * as_ball(1 / (2 * s * s)) - log).exp()


Near = tuple[Fraction | None, float]


def _root(exponent: Fraction) -> Near | None:
    """A density of z^p times what falls from 1, singular at 0 unless p is a whole number."""
    whole = exponent.denominator == 1 and 0 <= exponent <= 60
    return None if whole else (exponent, math.inf)


@dataclass(frozen=True)
class Law:
    """A density up to a constant, with what it is near a singularity.

    Attributes
    ----------
    density : of z, at which the location is 0 and the scale 1, and of the law's shapes
    near : of the shapes: where 0 is singular, p and a number up to which the density is z^p times what falls
        from 1; without p, up to which it rises
    """

    density: Callable[..., Any]
    near: Callable[..., Near | None] = lambda *_: None


LAWS = {
    "cauchy": Law(lambda z: 1 / (1 + z * z)),
    "chi2": Law(lambda z, k: _power(z, k / 2 - 1) * (-z / 2).exp(), lambda k: _root(k / 2 - 1)),
    "expon": Law(lambda z: (-z).exp()),
    "gamma": Law(lambda z, a: _power(z, a - 1) * (-z).exp(), lambda a: _root(a - 1)),
    "gumbel_l": Law(lambda z: (z - z.exp()).exp()),
    "gumbel_r": Law(lambda z: (-z - (-z).exp()).exp()),
    "halfnorm": Law(lambda z: (-z * z / 2).exp()),
    "logistic": Law(_logistic),
    # Rises up to its mode e^(-s²).
    "lognorm": Law(_lognormal, lambda s: (None, 0.999 * math.exp(-float(s * s)))),
    "maxwell": Law(lambda z: z * z * (-z * z / 2).exp()),
    "pareto": Law(lambda z, b: _power(z, -b - 1)),
    "rayleigh": Law(lambda z: z * (-z * z / 2).exp()),
    "t": Law(lambda z, k: _power(1 + z * z / as_ball(k), -(k + 1) / 2)),
    "truncexpon": Law(lambda z, b: (-z).exp()),
    "weibull_min": Law(lambda z, c: _power(z, c - 1) * (-_power(z, c)).exp(), lambda c: _root(c - 1)),
}


class Formula(Shape):
    """A law over an interval within its support, cut and scaled up to one.

    `start` and `unit` are the interval's lower end and its width in units of z.
    """

    def __init__(
        self, law: Law, shapes: tuple[Fraction, ...], start: Fraction, unit: Fraction, name: str
    ) -> None:
        self.law, self.shapes, self.start, self.unit, self.name = law, shapes, start, unit, name

        self._unit_height = flint.arb(1)

    def __reduce__(self) -> tuple[Any, ...]:
        name = next(key for key, law in LAWS.items() if law is self.law)
        return _made, (name, self.shapes, self.start, self.unit, self.name)

    def pieces(self) -> Pieces:
        return self._pieces

    def below(self, share: Fraction) -> float:
        place = float(share)
        if not 0 < place < 1:
            return float(place >= 1)
        return float(self.masses(np.array([0.0, place, 1.0]))[0])

    @cached_property
    def _pieces(self) -> Pieces:
        old, cap = flint.ctx.prec, flint.ctx.cap
        flint.ctx.prec, flint.ctx.cap = PRECISION, DEGREE + 1
        try:
            # In its own units: heights such as those of a gamma law of 500 are beyond all floats.
            self._unit_height = self._largest_seen()
            first, least, most = self._first()
            edges, rows, errors = self._halved(first)
        finally:
            flint.ctx.prec, flint.ctx.cap = old, cap
        return _scaled(np.array(edges), np.array(rows), np.array(errors), least, most)

    def _density(self, z: Any) -> Any:
        return self.law.density(z, *self.shapes) / self._unit_height

    def _largest_seen(self) -> flint.arb:
        """The largest height in the middle of some parts of the interval."""
        places = [self.start + Fraction(2 * k + 1, 2 * PLACES) * self.unit for k in range(PLACES)]
        heights = [self.law.density(as_ball(place), *self.shapes).mid() for place in places]
        found = max((height for height in heights if height.is_finite()), default=flint.arb(0))
        return found if found > 0 else flint.arb(1)

    def _first(self) -> tuple[float, float, float]:
        """Where the pieces begin, a power of two near a singular end, and bounds on the mass below."""
        near = self.law.near(*self.shapes) if self.start == 0 else None
        place, low, high = 0.0, 0.0, 0.0
        if near is not None:
            place = 0.25
            while place > NEAREST:
                low, high = self._mass_below(place, near[0])
                if high * place <= SMALL and float(Fraction(place) * self.unit) <= near[1]:
                    break
                place /= 2
        return place, low, high

    def _mass_below(self, place: float, exponent: Fraction | None) -> tuple[float, float]:
        z = as_ball(Fraction(place) * self.unit)
        box = self._density(z) * as_ball(Fraction(place))
        if exponent is None:
            return 0.0, upper_end(box)
        power = as_ball(exponent + 1)
        most = (z.log() * power).exp() / power / as_ball(self.unit) / self._unit_height
        return -upper_end(-box / power), upper_end(most)

    def _halved(self, first: float) -> tuple[list[float], list[list[float]], list[float]]:
        """Pieces that are halved until they miss little enough, in order."""
        edges: list[float] = [first]
        rows: list[list[float]] = []
        errors: list[float] = []
        waiting = [(first, 1.0)]
        while waiting:
            a, b = waiting.pop()
            row, error = self._expanded(a, b)
            least = 2 * row[0] - sum(map(abs, row))
            if error > ENOUGH * least and error * (b - a) > NOTHING and b - a > 4 * UNIT * b:
                middle = (a + b) / 2 if b < 4 * a or a == 0 else math.sqrt(a * b)
                waiting += [(middle, b), (a, middle)]
                if len(rows) + len(waiting) > MOST_PIECES:
                    raise PriorError(f"the density {self.name} varies too quickly here; cut it to less")
                continue
            edges.append(b)
            rows.append(row)
            errors.append(error)
        return edges, rows, errors

    def _expanded(self, a: float, b: float) -> tuple[list[float], float]:
        """The coefficients on a piece, and what they miss: by rounding, and beyond the last."""
        centre = self.start + (Fraction(a) + Fraction(b)) / 2 * self.unit
        half = (Fraction(b) - Fraction(a)) / 2 * self.unit
        middle, reach = as_ball(centre), as_ball(half)
        found = self._density(flint.arb_series([middle, reach], DEGREE + 1)).coeffs()
        balls = [*found, *[flint.arb(0)] * (DEGREE + 1 - len(found))]
        row = [float(ball.mid()) for ball in balls]
        rounded = sum(upper_end(abs(ball - value)) for ball, value in zip(balls, row, strict=True))
        cut = min(self._beyond(middle, reach, radius) for radius in RADII)
        return (row, rounded + cut) if math.isfinite(rounded + cut) else ([0.0] * len(row), math.inf)

    def _beyond(self, middle: flint.arb, reach: flint.arb, radius: float) -> float:
        """Σ of what lies beyond the last coefficient: |a_n| ≤ M/ρ^n, M the largest on a disc."""
        around = upper_end(reach * radius)
        disc = flint.acb(middle + flint.arb(0, around), flint.arb(0, around))
        largest = upper_end(abs(self._density(disc)))
        return largest / (radius**DEGREE * (radius - 1)) if math.isfinite(largest) else math.inf


def _made(key: str, shapes: tuple[Fraction, ...], start: Fraction, unit: Fraction, name: str) -> Formula:
    return Formula(LAWS[key], shapes, start, unit, name)


def _scaled(edges: FloatArray, table: FloatArray, errors: FloatArray, least: float, most: float) -> Pieces:
    """The pieces divided by their mass, and what lies below them spread evenly up to the end."""
    widths, below = np.diff(edges), (least + most) / 2
    _, halves, slip = centred(edges)
    errors = errors + slip / halves * (np.abs(table) @ np.arange(table.shape[1]))
    even = np.where(np.arange(table.shape[1]) % 2 == 0, 1.0 / np.arange(1, table.shape[1] + 1), 0.0)
    total = math.fsum(widths * (table @ even)) + below
    relative = (math.fsum(widths * errors) + (most - least)) / total + 32 * UNIT
    errors = (errors + relative * np.abs(table).sum(axis=1)) / total
    table, first = table / total, float(edges[0])
    if first == 0:
        return Pieces(edges, table, errors)
    row = np.zeros((1, table.shape[1]))
    row[0, 0] = below / total / first
    edges, table = np.concatenate([[0.0], edges]), np.concatenate([row, table])
    return Pieces(edges, table, np.concatenate([[0.0], errors]), most / total * (1 + relative), first)
