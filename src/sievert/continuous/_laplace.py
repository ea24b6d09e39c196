"""The truncated Laplace mechanism on an interval, the geometric on a grid of it, and what they realise.

Laplace noise of density (ε/2)·e^(-ε|y-x|), moved to the nearer end where it leaves the interval: two atoms
and a density (Fernandes, Def 7.4.3; the printed atoms have the wrong sign). It is ε-private for |x - x'| on
the whole interval. Its pixels are too; a geometric mechanism on a grid is so for the grid alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import Channel, EpsilonOrAlpha, as_channel, epsilon, require_dense
from sievert.continuous._density import interval_of, rational
from sievert.errors import MechanismError
from sievert.mechanisms import (
    PixelatedLaplaceChannel,
    TruncatedGeometricChannel,
    log_pixels,
    privacy,
    rational_power,
)
from sievert.numerics import abbreviated, is_whole, log_of, require_size, taken, whole
from sievert.results import guarded
from sievert.spaces import EvenNumbers, metrics

__all__ = ["TruncatedLaplace", "grid", "grid_geometric", "lifted", "realised_epsilon", "truncated_laplace"]
# Points of a finer grid: each is a label.
MOST_LIFTED = 200_000
# Each pixel, and each point of its grid, has an exact label: some 12 µs.
MOST_PIXELS = 200_000
LARGEST_GRID = 10_000_000
# Points of a grid that are listed one by one.
LARGEST_LIST = 2000


def truncated_laplace(
    eps: object = None, interval: object = (0, 1), *, alpha: object = None
) -> TruncatedLaplace:
    """Laplace noise on an interval, clamped to it: two atoms and a density.

    Parameters
    ----------
    eps, alpha : exactly one of eps (nats for each unit of the values) and alpha = e^-eps
    interval : its two ends

    Returns
    -------
    TruncatedLaplace
        With `atoms`, `density`, `cdf`, `log_pixels`, and `pixelated`, which makes a channel of it.

    Notes
    -----
    Cost: O(1).

    References
    ----------
    Fernandes, Def 7.4.3.

    Examples
    --------
    >>> noise = truncated_laplace(alpha="1/16")
    >>> noise.atoms(0)
    (0.5, 0.03125)
    >>> noise.pixelated(4, 2).exact[0].tolist()
    [Fraction(3, 4), Fraction(1, 8), Fraction(1, 16), Fraction(1, 16)]
    """
    return TruncatedLaplace(privacy(eps, alpha), interval_of(interval, MechanismError))


@dataclass(frozen=True)
class TruncatedLaplace:
    """Laplace noise, clamped to an interval.

    Attributes
    ----------
    level : its ε for one unit
    interval : the two ends
    """

    level: EpsilonOrAlpha
    interval: tuple[Fraction, Fraction]

    @property
    def eps(self) -> float:
        """Nats for one unit."""
        return self.level.eps

    def place(self, argument: str, value: object) -> Fraction:
        """A number of the interval, exactly as it was given."""
        place = rational(argument, value, MechanismError)
        if not self.interval[0] <= place <= self.interval[1]:
            low, high = (float(end) for end in self.interval)
            raise MechanismError(
                f"{argument} is {abbreviated(value)}; it must lie in the interval [{low:g}, {high:g}]"
            )
        return place

    def atoms(self, x: object) -> tuple[float, float]:
        """The chances of the lower and of the upper end, exactly."""
        place = self.place("x", x)
        below, above = (float(abs(end - place)) for end in self.interval)
        return math.exp(-self._exponent(below)) / 2, math.exp(-self._exponent(above)) / 2

    def _exponent(self, distance: float) -> float:
        return self.eps * distance if distance else 0.0

    def density(self, x: object, y: object) -> float:
        """The density at y strictly inside the interval; 0 elsewhere, where only atoms are."""
        place, at = self.place("x", x), rational("y", y, MechanismError)
        if not self.interval[0] < at < self.interval[1] or math.isinf(self.eps):
            return 0.0
        return self.eps / 2 * math.exp(-self._exponent(float(abs(at - place))))

    def log_density(self, x: object, y: object) -> float:
        """Its logarithm, which does not underflow."""
        place, at = self.place("x", x), rational("y", y, MechanismError)
        if not self.interval[0] < at < self.interval[1] or not 0 < self.eps < math.inf:
            return -math.inf
        return math.log(self.eps / 2) - self.eps * float(abs(at - place))

    def cdf(self, x: object, y: object) -> float:
        """The chance of an output of at most y."""
        place, at = self.place("x", x), rational("y", y, MechanismError)
        if at < self.interval[0]:
            return 0.0
        if at >= self.interval[1]:
            return 1.0
        tail = math.exp(-self._exponent(float(abs(at - place)))) / 2
        return tail if at < place else 1 - tail

    def log_pixels(self, x: object, cells: int) -> FloatArray:
        """ln of the chance of each of `cells` equal pixels; nothing underflows."""
        count = whole("cells", cells, MechanismError)
        place = self.place("x", x)
        low, high = self.interval
        borders = np.array([float(low + (high - low) * k / count - place) for k in range(count + 1)])
        return np.asarray(log_pixels(self.eps, borders[None, :])[0])

    def pixelated(self, cells: int, inputs: int | Iterable[object] | None = None) -> Channel:
        """The channel from inputs to pixels, in closed form (Fernandes, eq 7.8).

        `inputs` are numbers of the interval, or how many cells their grid has: N cells have N + 1 points.
        Without them, the grid of the pixels' own borders. Entries are fractions where alpha's powers are.
        """
        count = whole("cells", cells, MechanismError)
        if inputs is None or is_whole(inputs):
            size = count if inputs is None else whole("inputs", inputs, MechanismError)
            require_dense(size + 1, count, "the pixelated Laplace")
            require_size(size, MOST_PIXELS, "the cells of the grid", "take fewer")
            points = grid(size, self.interval)
        else:
            points = [self.place("inputs", x) for x in taken("inputs", inputs, MechanismError, "numbers")]
        if not points:
            raise MechanismError("inputs is empty; give one number of the interval at least")
        require_dense(len(points), count, "the pixelated Laplace")
        require_size(count, MOST_PIXELS, "the pixels", "take fewer cells")
        return PixelatedLaplaceChannel(self.interval, count, self.level, points)

    def __str__(self) -> str:
        low, high = (float(end) for end in self.interval)
        return f"Laplace noise of ε = {self.eps:g} for each unit, clamped to [{low:g}, {high:g}]"


def grid(cells: object, interval: tuple[Fraction, Fraction]) -> list[Fraction]:
    """The ends of equal cells, both ends of the interval included."""
    count = whole("cells", cells, MechanismError, most=LARGEST_GRID)
    low, high = interval
    first, last = low.numerator * high.denominator, high.numerator * low.denominator
    shared = low.denominator * high.denominator * count
    return [Fraction(first * count + (last - first) * k, shared) for k in range(count + 1)]


def grid_geometric(
    cells: int | Iterable[object], eps: object = None, interval: object = (0, 1), *, alpha: object = None
) -> Channel:
    """The geometric mechanism on the grid of an interval: the N-geometric of Fernandes, eq 7.7.

    Parameters
    ----------
    cells : how many equal cells; their N + 1 ends are the inputs and outputs. Or these points themselves, in
        increasing order, any distance apart: the column of a point is c·e^(-ε|x-y|), with the only c that
        makes rows of it
    eps, alpha : exactly one of eps (nats for each unit of the values, not for each step) and alpha = e^-eps
    interval : its two ends; points need none

    Returns
    -------
    Channel
        Exact where alpha to the power of a step is a fraction.

    Notes
    -----
    Cost: O(1) beyond 2000 cells, whose labels are made one by one when asked for; so is a matrix.

    Examples
    --------
    >>> grid_geometric(2, alpha="1/16").exact[0].tolist()
    [Fraction(4, 5), Fraction(3, 20), Fraction(1, 20)]
    >>> grid_geometric([0, 1, 3], alpha="1/2").exact[0].tolist()
    [Fraction(2, 3), Fraction(7, 30), Fraction(1, 10)]
    """
    level = privacy(eps, alpha)
    if not is_whole(cells):
        return _on_points(cells, level)
    ends = interval_of(interval, MechanismError)
    count = whole("cells", cells, MechanismError, most=LARGEST_GRID)
    step = (ends[1] - ends[0]) / count
    root = None if level.alpha is None else rational_power(level.alpha, step)
    if root is not None:
        scaled = privacy(None, root)
    elif level.exact_eps is not None:
        scaled = privacy(level.exact_eps * step, None)
    else:
        scaled = privacy(level.eps * float(step), None)
    return TruncatedGeometricChannel(count + 1, scaled, _labels(ends[0], step, count + 1))


def _on_points(given: object, level: EpsilonOrAlpha) -> Channel:
    """c_y = (tanh(ε·gap/2) + tanh(ε·next gap/2))/2, a gap beyond the ends being infinite (our notes, 2.3)."""
    listed = taken("cells", given, MechanismError, "points, or how many equal cells there are")
    points = [rational("cells", point, MechanismError) for point in listed]
    gaps = [b - a for a, b in pairwise(points)]
    if not points or any(gap <= 0 for gap in gaps):
        raise MechanismError(
            f"cells is {abbreviated(listed)}; points must be in increasing order, one at least"
        )
    require_dense(len(points), len(points), "the mechanism")
    labels = [int(x) if x.denominator == 1 else x for x in points]
    roots = [None if level.alpha is None else rational_power(level.alpha, gap) for gap in gaps]
    decays = [root for root in roots if root is not None]
    if level.alpha is not None and len(decays) == len(gaps):
        return Channel(_products(decays), labels, labels)
    if math.isinf(level.eps):
        return Channel(np.eye(len(points)), labels, labels)
    places = np.array([float(point - points[0]) for point in points])
    tangents = np.tanh(level.eps * np.array([float(gap) for gap in gaps]) / 2)
    sides = np.concatenate([[1.0], tangents]) + np.concatenate([tangents, [1.0]])
    logs = log_of(sides / 2) - level.eps * np.abs(np.subtract.outer(places, places))
    return Channel.trusted(logs, "log", labels, labels)


def _products(decays: list[Fraction]) -> list[list[Fraction]]:
    """The same in fractions, from e^(-ε·gap) of every gap."""
    tangents = [Fraction(1), *((1 - decay) / (1 + decay) for decay in decays), Fraction(1)]
    shares = [(a + b) / 2 for a, b in pairwise(tangents)]
    rows = []
    for i in range(len(shares)):
        reached = [Fraction(1)]
        for decay in decays[i:]:
            reached.append(reached[-1] * decay)
        before = [Fraction(1)]
        for decay in reversed(decays[:i]):
            before.append(before[-1] * decay)
        rows.append([a * c for a, c in zip([*before[:0:-1], *reached], shares, strict=True)])
    return rows


def _labels(start: Fraction, step: Fraction, size: int) -> Sequence[Any]:
    """Points of a grid; of a large one each is made when it is asked for."""
    if start.denominator == step.denominator == 1:
        return range(int(start), int(start + size * step), int(step))
    labels = EvenNumbers(start, step, size)
    return labels if size > LARGEST_LIST else labels[:]


def lifted(channel: Channel, finer: int) -> Channel:
    """A mechanism on a grid as a step function: each point of a finer grid does as the grid point below it.

    Such a mechanism jumps at the ends of cells, so it is private on the finer grid with a larger ε, and with
    none on the whole interval.

    Parameters
    ----------
    channel : a channel whose inputs are the N + 1 points of a grid
    finer : how many cells of the finer grid each cell becomes

    Returns
    -------
    Channel
        Its last input, the upper end, does as the last point but one.

    Notes
    -----
    Cost: O(inputs·finer·outputs).

    References
    ----------
    Fernandes, Def 7.5.2.

    Examples
    --------
    >>> lifted(grid_geometric(2, alpha="1/4"), 2).exact[:, 0].tolist()
    [Fraction(2, 3), Fraction(2, 3), Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
    """
    given = as_channel(channel)
    times = whole("finer", finer, MechanismError)
    cells = given.shape[0] - 1
    if cells < 1:
        raise MechanismError("channel has one input; a grid has two points or more")
    points = [rational("inputs", x, MechanismError) for x in given.inputs]
    if len({b - a for a, b in pairwise(points)}) > 1:
        raise MechanismError(
            "channel: its inputs are not the points of a grid; they must be equally far apart"
        )
    require_size(cells * times, MOST_LIFTED, "the points of the finer grid", "choose a smaller finer")
    require_dense(cells * times + 1, given.shape[1], "the lifted channel")
    rows = np.minimum(np.arange(cells * times + 1) // times, cells - 1)
    inputs = [int(x) if x.denominator == 1 else x for x in grid(cells * times, (points[0], points[-1]))]
    return Channel.trusted(given.entries[rows].copy(), given.form, inputs, given.outputs)


@guarded
def realised_epsilon(channel: Channel, points: Iterable[object] | None = None) -> float:
    """The smallest ε for which a channel is private with respect to |x - x'| on a set of points.

    Parameters
    ----------
    channel : any channel with finitely many inputs
    points : where its inputs lie; by default the inputs are numbers themselves

    Returns
    -------
    float
        Nats for one unit; inf where an output is possible for one input and impossible for another.

    Notes
    -----
    Cost: O(inputs·outputs).

    Examples
    --------
    >>> round(realised_epsilon(grid_geometric(4, 2.0)), 12)
    2.0
    >>> realised_epsilon(Channel([[1, 0], [0, 1]]))
    inf
    """
    given = as_channel(channel)
    places = list(given.inputs) if points is None else taken("points", points, MechanismError, "numbers")
    if len(places) != given.shape[0]:
        raise MechanismError(f"points has {len(places)} entries but the channel has {given.shape[0]} inputs")
    numbers = [float(rational("points", place, MechanismError)) for place in places]
    known = given.smallest_epsilon(metrics.line(numbers)) if points is None else None
    if known is not None:
        return known[0]
    moved = Channel.trusted(
        given.entries, given.form, numbers, given.outputs, relative=given.relative_logs.copy()
    )
    return epsilon(moved, metrics.line(numbers)).nats
