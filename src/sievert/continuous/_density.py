"""Beliefs about a real number: a shape on [0, 1], stretched to an interval.

Everything is computed on [0, 1], where floats are densest and no place is rounded on its way: the interval
scales ε and the loss, exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, ObjectArray
from sievert.continuous._analytic import Beta, Normal
from sievert.continuous._formulas import LAWS, Formula
from sievert.continuous._shapes import Distribution, Mixture, Pieces, Polynomials, Shape
from sievert.errors import PriorError
from sievert.numerics import (
    abbreviated,
    as_fraction,
    count_of,
    finite,
    instance,
    is_exact,
    non_negative,
    require_float,
    taken,
    whole,
)

__all__ = ["Density", "interval_of", "rational"]
MOST_PARTS = 100_000
# Of the ends of an interval, and one over its width.
FARTHEST = Fraction(10) ** 300
MOST_DEVIATIONS = 30
# Cells up to which their masses are fractions first.
MOST_EXACT = 2000
# Distributions of SciPy that are densities with a maker of their own.
OURS = ("arcsine", "beta", "norm", "powerlaw", "triang", "truncnorm", "uniform")
# The error of a distribution function of SciPy that a user does not state.
SCIPY_ERROR = 1e-13
# A jump of a distribution function between two neighbouring floats that is an atom.
SMALLEST_ATOM = 1e-6


def rational(argument: str, value: object, error: type[Any] = PriorError) -> Fraction:
    """A finite number as it is written: 0.1 is one tenth."""
    if is_exact(value):
        try:
            exact = as_fraction(value)
        except ValueError:
            raise error(f"{argument} is {abbreviated(value)}; it must be a finite number") from None
        require_float(argument, exact, error)
        return exact
    return as_fraction(str(finite(argument, value, error)))


def interval_of(interval: object, error: type[Any] = PriorError) -> tuple[Fraction, Fraction]:
    """The ends of an interval that is not empty."""
    ends = taken("interval", interval, error, "two numbers")
    if len(ends) != 2:
        raise error(f"interval is {abbreviated(interval)}; give its two ends, such as (0, 1)")
    low, high = (rational("interval", end, error) for end in ends)
    if low >= high:
        raise error(
            f"interval is {abbreviated(interval)}, which is empty; its first end must be less than its second"
        )
    if max(abs(low), abs(high)) > FARTHEST or high - low < 1 / FARTHEST:
        raise error(
            f"interval is {abbreviated(interval)}; such numbers are beyond floats, so give it in "
            "another unit, such as (0, 1)"
        )
    return low, high


class Density:
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

    def __init__(self, shape: Shape, interval: tuple[Fraction, Fraction]) -> None:
        self.shape, self.interval = shape, interval

    @property
    def width(self) -> float:
        """The length of the interval."""
        return float(self.interval[1] - self.interval[0])

    def words(self) -> str:
        """The density in words."""
        return self.shape.name

    def pieces(self) -> Pieces | None:
        """Polynomials near the density over [0, 1]; None where only masses are known."""
        return self.shape.pieces()

    def share(self, x: object) -> Fraction:
        """Where a number lies, from 0 at the lower end to 1 at the upper."""
        low, high = self.interval
        return (rational("x", x) - low) / (high - low)

    def cdf(self, x: float) -> float:
        """The probability of at most x."""
        return self.shape.below(min(max(self.share(x), Fraction(0)), Fraction(1)))

    def exact_masses(self, cells: int) -> ObjectArray | None:
        """The masses of equal cells as fractions, where they are fractions."""
        values = [self.shape.exact(Fraction(k, cells)) for k in range(cells + 1)]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            return None
        found = np.empty(cells, dtype=object)
        found[:] = [b - a for a, b in pairwise(known)]
        return found

    def masses(self, cells: int) -> FloatArray:
        """The probability of each of `cells` equal cells."""
        count = whole("cells", cells, PriorError)
        exact = self.exact_masses(count) if count <= MOST_EXACT else None
        if exact is not None:
            return np.asarray(exact, dtype=np.float64)
        return self.shape.masses(np.arange(count + 1) / count)

    def density(self, x: float) -> float:
        """The density at a point, from its polynomials."""
        found = self.pieces()
        if found is None:
            raise PriorError(f"the density {self} is known by the masses of its cells alone")
        share = self.share(x)
        if not 0 <= share <= 1:
            return 0.0
        place = float(share)
        k = int(np.clip(np.searchsorted(found.edges, place, side="right") - 1, 0, len(found.edges) - 2))
        left, right = found.edges[k], found.edges[k + 1]
        t = (2 * place - left - right) / (right - left)
        return float(np.polynomial.polynomial.polyval(t, found.coefficients[k])) / self.width

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
        return Density(Polynomials([Fraction(0), Fraction(1)], [[Fraction(1)]], "uniform"), (low, high))

    @staticmethod
    def beta(a: object, b: object, interval: object = (0, 1)) -> Density:
        """The Beta density, stretched to the interval; unbounded where a or b is below 1."""
        low, high = interval_of(interval)
        first, second = (rational(name, value) for name, value in (("a", a), ("b", b)))
        for name, value in (("a", first), ("b", second)):
            if value <= 0:
                raise PriorError(
                    f"{name} is {abbreviated(float(value))}; a Beta density needs a > 0 and b > 0"
                )
        return Density(Beta(first, second), (low, high))

    @staticmethod
    def truncated_normal(mean: object, deviation: object, interval: object = (0, 1)) -> Density:
        """A normal density, cut to the interval and scaled up to one."""
        low, high = interval_of(interval)
        centre, spread = rational("mean", mean), rational("deviation", deviation)
        if spread <= 0:
            raise PriorError(f"deviation is {abbreviated(deviation)}; it must be a finite number > 0")
        # The nearest point of the interval must be likely enough for the density to be scaled.
        if abs(min(max(centre, low), high) - centre) > MOST_DEVIATIONS * spread:
            raise PriorError(
                f"mean is {abbreviated(float(centre))}, more than {MOST_DEVIATIONS} deviations from the "
                f"interval "
                f"[{float(low):g}, {float(high):g}]; nothing of the density would be left"
            )
        name = f"normal with mean {float(centre):g} and deviation {float(spread):g}, cut,"
        shape = Normal((centre - low) / (high - low), spread / (high - low), name)
        return Density(shape, (low, high))

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
            raise PriorError(f"heights is {abbreviated(given)}; heights must be ≥ 0 and one of them positive")
        if len(levels) == len(places):
            table = [
                [a, (b - a) / (y - x)]
                for (x, y), (a, b) in zip(pairwise(_shares(places)), pairwise(levels), strict=True)
            ]
            return _stretched(places, table, "piecewise linear")
        if len(levels) == len(places) - 1:
            return _stretched(places, [[level] for level in levels], "piecewise constant")
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
                f"masses is {abbreviated(list(map(float, given)))}; they must be ≥ 0 and one of them positive"
            )
        heights = [[mass / (b - a)] for mass, (a, b) in zip(given, pairwise(places), strict=True)]
        return _stretched(places, heights, "histogram")

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
                f"weights is {abbreviated(list(map(float, shares)))}; give one ≥ 0 for each of the "
                f"{len(densities)} parts, "
                "one of them positive"
            )
        if len({part.interval for part in densities}) > 1:
            raise PriorError("parts: the densities of a mixture need one interval; give it to each of them")
        total = sum(shares)
        scaled = [share / total for share in shares]
        named = ", ".join(
            f"{float(weight):g} of {part.words()}" for weight, part in zip(scaled, densities, strict=True)
        )
        shape = Mixture([part.shape for part in densities], scaled, f"mixture ({named})")
        return Density(shape, densities[0].interval)

    @staticmethod
    def from_scipy(distribution: Any, interval: object | None = None, error: float = SCIPY_ERROR) -> Density:
        """A frozen distribution of SciPy.

        Beta, uniform, triangular and normal ones become the same density here, and the usual laws (Cauchy,
        χ², exponential, gamma, Gumbel, half-normal, logistic, lognormal, Maxwell, Pareto, Rayleigh, Student's
        t, Weibull) have their formula, over any interval within their support: all digits. Others are known
        by the masses of their cells alone, where a loss has four or five: nothing says how a mass lies within
        its cell.
        Without an interval its own, which must be finite; within one it is cut and scaled up. `error` bounds
        how far its distribution function is from the truth.
        """
        if not (hasattr(distribution, "cdf") and hasattr(distribution, "support")):
            raise PriorError(
                f"distribution is {abbreviated(distribution)}; give a frozen one, such as "
                f"scipy.stats.beta(2, 5)"
            )
        if not hasattr(distribution, "pdf"):
            raise PriorError(
                f"distribution is {abbreviated(distribution)}, which has no density; give its "
                f"probabilities and "
                "points to laplace_loss(probabilities, …, points=…)"
            )
        try:
            ends: Any = distribution.support() if interval is None else interval
        except TypeError:
            raise PriorError(
                f"distribution is {abbreviated(distribution)}, which is not frozen; give its "
                f"parameters, such as "
                "scipy.stats.beta(2, 5)"
            ) from None
        if not all(math.isfinite(float(end)) for end in ends):
            raise PriorError(
                f"interval is missing; the distribution is on {abbreviated(ends)}, so say where it is cut"
            )
        missed = non_negative("error", error, PriorError)
        low, high = interval_of([end if is_exact(end) else float(end) for end in ends])
        return _known(distribution, (low, high)) or _by_masses(distribution, (low, high), missed)


def _require_edges(places: Sequence[Fraction]) -> None:
    if len(places) < 2 or any(a >= b for a, b in pairwise(places)):
        raise PriorError(
            f"edges is {abbreviated(list(map(float, places)))}; give two or more, in increasing order"
        )
    if len(places) > MOST_PARTS:
        raise PriorError(
            f"edges has {count_of(places):,} entries; {MOST_PARTS:,} is the limit here, use fewer"
        )


def _shares(places: Sequence[Fraction]) -> list[Fraction]:
    low, width = places[0], places[-1] - places[0]
    return [(place - low) / width for place in places]


def _stretched(places: Sequence[Fraction], table: list[list[Fraction]], name: str) -> Density:
    """Polynomials over shares of the interval, scaled to integrate to 1."""
    return Density(Polynomials(_shares(places), table, name, scaled=True), (places[0], places[-1]))


def _known(distribution: Any, interval: tuple[Fraction, Fraction]) -> Density | None:
    """The density that a distribution of SciPy is, where its formula is known over the interval."""
    name = getattr(getattr(distribution, "dist", None), "name", "")
    if name not in (*OURS, *LAWS) or not _cut_there(distribution, interval):
        return None
    shapes, loc, scale = distribution.dist._parse_args(*distribution.args, **distribution.kwds)
    if not all(np.ndim(value) == 0 for value in (*shapes, loc, scale)):
        return None
    start, unit = rational("loc", float(loc)), rational("scale", float(scale))
    given = tuple(rational("shape", float(value)) for value in shapes if math.isfinite(float(value)))
    low, high = interval
    if name in LAWS:
        shape = Formula(LAWS[name], given, (low - start) / unit, (high - low) / unit, f"{name} of SciPy")
        return Density(shape, interval)
    if name in ("norm", "truncnorm"):
        return Density.truncated_normal(start, unit, interval)
    if name == "uniform":
        return Density.uniform(interval)
    if interval != (start, start + unit):
        return None
    if name == "triang":
        return _triangle(start, unit, given[0])
    a, b = {"arcsine": (Fraction(1, 2), Fraction(1, 2)), "powerlaw": (*given, 1)}.get(name, given)
    return Density.beta(a, b, interval)


def _triangle(start: Fraction, unit: Fraction, mode: Fraction) -> Density:
    heights = [(start, 0), (start + mode * unit, 1), (start + unit, 0)]
    if mode in (0, 1):
        heights = [heights[1], heights[2]] if mode == 0 else heights[:2]
    return Density.piecewise([place for place, _ in heights], [height for _, height in heights])


def _cut_there(distribution: Any, interval: tuple[Fraction, Fraction]) -> bool:
    """Whether the interval lies within the support, so that cutting it again changes nothing."""
    first, last = (float(end) for end in distribution.support())
    return first <= float(interval[0]) and float(interval[1]) <= last


def _by_masses(distribution: Any, interval: tuple[Fraction, Fraction], missed: float) -> Density:
    low, high = (float(end) for end in interval)
    name = getattr(getattr(distribution, "dist", None), "name", type(distribution).__name__)
    atom = float(distribution.cdf(low)) - float(distribution.cdf(np.nextafter(low, -math.inf)))
    if atom > SMALLEST_ATOM + 2 * missed:
        raise PriorError(
            f"distribution has probability {atom:.3g} at {low:g} itself, which is no density; give "
            "probabilities and points to laplace_loss(probabilities, …, points=…)"
        )
    shape = Distribution(distribution, (low, high), missed, f"{name} of SciPy")
    if not shape.total > 1e3 * missed:
        raise PriorError(
            f"interval is [{low:g}, {high:g}], of which the distribution has {shape.total:.3g}, too little "
            "to scale up"
        )
    return Density(shape, interval)
