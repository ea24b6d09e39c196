"""Laplace noise on an interval, clamped to it and released as one of T equal pixels.

The output of the truncated Laplace is x + noise of density (ε/2)·e^(-ε|y-x|), moved to the nearer end where
it falls outside (Fernandes, Def 7.4.3, with the signs of its atoms put right). Which pixel it falls into is
post-processing, so the pixels are ε-private for |x - x'|, whatever their number and whatever the inputs.
Every probability is a sum of two non-negative parts, what falls left of x and what falls right of it: no
digit is lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from sievert.arrays import FloatArray, IntArray
from sievert.channels import Channel, EpsilonOrAlpha, Level, StructuredChannel
from sievert.errors import MechanismError
from sievert.kinds import NonNegative, Positive, variant
from sievert.mechanisms._family import EpsilonFamily, Family, privacy
from sievert.mechanisms._noise import eps_of_unit
from sievert.numerics import abbreviated, as_fraction, log_of, read_eps
from sievert.policies import Answers, Policy, Query
from sievert.sampling import (
    BitSource,
    ChannelSampler,
    Sampler,
    Timing,
    exact_sampler,
    pixelated_laplace,
    ratio_of,
    rational_rows,
)
from sievert.spaces import Metric

__all__ = ["PixelatedLaplaceChannel", "log_pixels", "rational_power"]
# Inputs with a common denominator up to here are drawn in 64-bit integers.
LARGEST_DENOMINATOR = 2**24
# A root is looked for among fractions of so many bits.
MOST_BITS = 4096
# A relative difference that comes of rounding distances between decimals.
SAME_EPS = 1e-12
# Entries that differ by less are compared by their difference.
NEAR = 0.25
# Differences of positions are taken in 64-bit integers up to here, beyond in fractions.
LARGEST_PLACE = 2**62


class PixelatedLaplaceChannel(StructuredChannel):
    """The truncated Laplace on [low, high] as `pixels` outputs, for the given inputs (Fernandes, eq 7.8)."""

    def __init__(
        self,
        interval: tuple[Fraction, Fraction],
        pixels: int,
        level: EpsilonOrAlpha,
        points: Sequence[Fraction],
        inputs: Iterable[object] | None = None,
        outputs: Iterable[object] | None = None,
    ) -> None:
        self.interval, self.pixels, self.level, self.points = interval, pixels, level, list(points)
        self._exact_rows = None if level.alpha is None else self._in_fractions(level.alpha)
        form = "log" if self._exact_rows is None else "exact"
        labels = _plain(self.points) if inputs is None else inputs
        named = _plain(self.centres()) if outputs is None else outputs
        super().__init__(form, (len(self.points), pixels), labels, named)  # type: ignore[arg-type]

    def centres(self) -> list[Fraction]:
        """The middle of each pixel."""
        low, high = self.interval
        half = (high - low) / (2 * self.pixels)
        return [low + (2 * k + 1) * half for k in range(self.pixels)]

    def _offsets(self) -> FloatArray:
        """Border minus input, [input, border], each rounded once."""
        low, high = self.interval
        width = (high - low) / self.pixels
        scale = math.lcm(low.denominator, width.denominator, *(x.denominator for x in self.points))
        borders = [int((low + k * width) * scale) for k in range(self.pixels + 1)]
        places = [int(x * scale) for x in self.points]
        if scale < LARGEST_PLACE and max(map(abs, (*borders, *places))) < LARGEST_PLACE // 2:
            table: NDArray[Any] = np.subtract.outer(np.array(borders), np.array(places)).T
            return np.asarray(table.astype(np.float64) / scale)
        return np.array([[float(Fraction(b - x, scale)) for b in borders] for x in places])

    def _entries(self) -> NDArray[Any]:
        if self._exact_rows is not None:
            return self._exact_rows
        return log_pixels(self.level.eps, self._offsets())

    def _relative_entries(self) -> FloatArray:
        """ln of each entry over the middle input's: from differences, where those are small."""
        if self._exact_rows is not None or math.isinf(self.level.eps):
            return super()._relative_entries()
        offsets, logs = self._offsets(), self._data
        base = logs[len(logs) // 2]
        found = np.asarray(logs - base, dtype=np.float64)
        # F(t) = ½ + ½·g(t - x) with g odd; beyond the ends it is ±1, whatever x.
        odd = -np.sign(offsets) * np.expm1(-self.level.eps * np.abs(offsets))
        change = odd - odd[len(logs) // 2]
        change[:, [0, -1]] = 0.0
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            shares = np.diff(change, axis=1) / 2 / np.exp(base)
        near = np.abs(shares) < NEAR
        found[near] = np.log1p(shares[near])
        return found

    def _in_fractions(self, alpha: Fraction) -> NDArray[np.object_] | None:
        """The matrix where every power of alpha that it needs is rational; None where one is not."""
        low, high = self.interval
        width = (high - low) / self.pixels
        powers: dict[Fraction, Fraction | None] = {}

        def tail(distance: Fraction) -> Fraction | None:
            if distance not in powers:
                powers[distance] = rational_power(alpha, distance)
            return powers[distance]

        rows = []
        for x in self.points:
            row: list[Fraction] = []
            for k in range(self.pixels):
                left = None if k == 0 else low + k * width
                right = None if k == self.pixels - 1 else low + (k + 1) * width
                # P(Y ≤ t) for t ≤ x and P(Y ≥ t) for t ≥ x are half a power; beyond the ends nothing is.
                below = _half(tail, x, right, left, -1)
                over = _half(tail, x, left, right, 1)
                if below is None or over is None:
                    return None
                row.append(below + over)
            rows.append(row)
        table = np.empty((len(rows), self.pixels), dtype=object)
        for i, row in enumerate(rows):
            table[i, :] = row
        return table

    def smallest_epsilon(self, metric: Metric) -> Level | None:
        """Two inputs on one side of a pixel are ε·|x - x'| apart there, and nowhere farther."""
        edges = metric.edges
        if self.pixels < 2 or math.isinf(self.level.eps) or edges is None or not len(edges):
            return None
        pairs = edges.pairs.tolist()
        apart = np.array([float(abs(self.points[i] - self.points[j])) for i, j in pairs])
        rates = np.divide(apart, edges.lengths, out=np.zeros_like(apart), where=edges.lengths > 0)
        if (rates[edges.lengths == 0] > 0).any() or (apart[edges.lengths == 0] > 0).any():
            return None
        most = float(rates.max())
        beside = np.array([self._side(i, j) is not None for i, j in pairs])
        found = np.flatnonzero(beside & (rates >= most * (1 - SAME_EPS)))
        if not len(found):
            return None
        i, j = pairs[found[0]]
        factor = 1.0 if abs(most - 1) <= SAME_EPS else most
        return self.level.eps * factor, i, j, float(edges.lengths[found[0]])

    def _side(self, i: int, j: int) -> int | None:
        """The first pixel or the last, whichever has both inputs beyond it; None where neither does."""
        low, high = self.interval
        width = (high - low) / self.pixels
        first, last = sorted((self.points[i], self.points[j]))
        if first >= low + width:
            return 0
        return self.pixels - 1 if last <= high - width else None

    def witness(self, i: int, j: int) -> tuple[int, int, int, Fraction | None]:
        """The end of the interval that has both inputs beyond it tells them apart best."""
        pixel = self._side(i, j)
        if pixel is None:
            return super().witness(i, j)
        near, far = sorted((i, j), key=lambda k: self.points[k], reverse=pixel > 0)
        distance = abs(self.points[i] - self.points[j])
        root = None if self.level.alpha is None else rational_power(self.level.alpha, distance)
        return near, far, pixel, 1 / root if root else None

    def __repr__(self) -> str:
        low, high = (float(end) for end in self.interval)
        alpha = self.level.alpha
        parameter = f"alpha={alpha}" if alpha is not None else f"eps={self.level.eps:g}"
        return (
            f"Channel(truncated Laplace on [{low:g}, {high:g}], {self.shape[0]} inputs, {self.pixels} "
            "pixels, "
            f"{parameter})"
        )


def _half(
    tail: Callable[[Fraction], Fraction | None],
    x: Fraction,
    near: Fraction | None,
    far: Fraction | None,
    side: int,
) -> Fraction | None:
    """What a pixel has of the outcomes on one side of x; a border that is None is infinitely far out."""
    if far is not None and side * (far - x) <= 0:
        return Fraction(0)
    first = tail(Fraction(0) if near is None else max(Fraction(0), side * (near - x)))
    second = Fraction(0) if far is None else tail(side * (far - x))
    return None if first is None or second is None else (first - second) / 2


def _plain(points: Sequence[Fraction]) -> list[Any]:
    return [int(x) if x.denominator == 1 else x for x in points]


def log_pixels(eps: float, offsets: FloatArray) -> FloatArray:
    """ln of the pixel probabilities from border minus input, [input, border]; the ends take the atoms.

    >>> np.exp(log_pixels(4 * math.log(2), np.array([[0, 0.25, 0.5, 0.75, 1.0]]))).round(4).tolist()
    [[0.75, 0.125, 0.0625, 0.0625]]
    """
    left, right = offsets[:, :-1].copy(), offsets[:, 1:].copy()
    left[:, 0], right[:, -1] = -np.inf, np.inf
    # Of an outcome left of x: the nearer end of what the pixel has of that side, and its width.
    return np.asarray(
        np.logaddexp(
            _log_side(eps, -np.minimum(right, 0.0), np.minimum(right, 0.0) - left, left < 0),
            _log_side(eps, np.maximum(left, 0.0), right - np.maximum(left, 0.0), right > 0),
        )
    )


def _log_side(eps: float, near: FloatArray, width: FloatArray, there: NDArray[np.bool_]) -> FloatArray:
    """ln of (e^(-ε·near) - e^(-ε·(near + width)))/2, which is 0 where the pixel has nothing of this side."""
    if math.isinf(eps):
        return np.where(there & (near == 0) & (width > 0), -math.log(2), -np.inf)
    finite = np.where(there & np.isfinite(width), width, 0.0)
    spread = np.where(np.isinf(width), np.inf, eps * finite)
    return np.where(there, log_of(-np.expm1(-spread)) - eps * near - math.log(2), -np.inf)


def rational_power(alpha: Fraction, exponent: Fraction) -> Fraction | None:
    """alpha^exponent for 0 ≤ alpha ≤ 1 and exponent ≥ 0, where it is rational.

    >>> rational_power(Fraction(1, 16), Fraction(3, 4)), rational_power(Fraction(1, 2), Fraction(1, 2))
    (Fraction(1, 8), None)
    """
    if exponent == 0 or alpha == 1:
        return Fraction(1)
    if alpha == 0:
        return Fraction(0)
    roots = [_root(part, exponent.denominator) for part in (alpha.numerator, alpha.denominator)]
    if roots[0] is None or roots[1] is None:
        return None
    if max(roots[0], roots[1]).bit_length() * exponent.numerator > MOST_BITS:
        return None
    return Fraction(roots[0], roots[1]) ** exponent.numerator


def _root(number: int, degree: int) -> int | None:
    """The whole root, where there is one."""
    if degree == 1 or number <= 1:
        return number
    low, high = 1, 1 << (number.bit_length() // degree + 1)
    while low <= high:
        middle = (low + high) // 2
        power = middle**degree
        if power == number:
            return middle
        low, high = (middle + 1, high) if power < number else (low, middle - 1)
    return None


# ── Drawn exactly ───────────────────────────────────────────────────────────────────────────────────────────


class PixelPositions(Sampler):
    """Positions of the channel's inputs in, pixels out."""

    def __init__(self, channel: PixelatedLaplaceChannel, timing: Timing, source: BitSource) -> None:
        super().__init__(timing, source)
        low, high = channel.interval
        shares = [(x - low) / (high - low) for x in channel.points]
        scale = math.lcm(*(share.denominator for share in shares))
        few = scale <= LARGEST_DENOMINATOR
        self._places = np.array([int(share * scale) for share in shares]) if few else None
        self._points = channel.points
        self._drawn = pixelated_laplace(
            channel.pixels,
            ratio_of(channel.level).eps or 0,
            low=low,
            high=high,
            denominator=scale if few else None,
            timing=timing,
            insecure_rng=source,
        )
        self.kind = self._drawn.kind

    @property
    def parameters(self) -> dict[str, Any]:
        return self._drawn.parameters

    def draw(self, inputs: Any) -> IntArray:
        """Output positions for input positions."""
        if self._places is not None:
            return self._drawn.draw(self._places[np.asarray(inputs, dtype=np.intp)])
        return self._drawn.draw([self._points[int(i)] for i in inputs])


@exact_sampler.register
def _exactly(channel: PixelatedLaplaceChannel, timing: Timing, source: BitSource) -> Sampler:
    name, value = channel.level.written
    if name == "eps" and not math.isinf(channel.level.eps):
        return ChannelSampler(channel, PixelPositions(channel, timing, source))
    if channel.exact is None:
        raise MechanismError(
            f"alpha is {value}, whose powers at the pixels' borders are not fractions; for an exact "
            "release give "
            "eps, a rational number of nats"
        )
    rows = rational_rows(channel.exact, timing=timing, insecure_rng=source)
    return ChannelSampler(channel, rows)


# ── As a file names it ──────────────────────────────────────────────────────────────────────────────────────


@variant(Family, "truncated-laplace")
class TruncatedLaplace(EpsilonFamily):
    """Laplace noise on an interval, clamped to it and released as the middle of a pixel."""

    eps: Annotated[
        NonNegative | None,
        Field(description="the ε promised for the policy, in nats; the query's sensitivity scales the noise"),
    ] = None
    alpha: Annotated[
        str | float | int | None,
        Field(description="e^-ε for one unit of the answer instead of eps; exact as a fraction in quotes"),
    ] = None
    pixels: Annotated[
        Positive | None,
        Field(
            description="how many equal parts of the interval are told apart; one less than there are answers"
        ),
    ] = None

    def channel(self, answers: Answers, query: Query) -> Channel:
        points = [_exact_number(answer) for answer in answers.labels]
        if any(a >= b for a, b in pairwise(points)) or len(points) < 2:
            raise MechanismError(
                f"truncated-laplace noise needs two answers or more, in increasing order, but they are "
                f"{abbreviated(list(answers.labels))}"
            )
        unit = None if self.eps is None else self._unit(self.eps, query, answers.policy)
        pixels = self.pixels or len(points) - 1
        interval = (points[0], points[-1])
        half = (interval[1] - interval[0]) / (2 * pixels)
        centres = [float(interval[0] + (2 * k + 1) * half) for k in range(pixels)]
        level = privacy(unit, self.alpha)
        return PixelatedLaplaceChannel(interval, pixels, level, points, answers.labels, centres)

    @staticmethod
    def _unit(eps: float, query: Query, policy: Policy) -> Fraction | float:
        """ε of one unit; distances of decimals are rounded, and a sensitivity of 1 is not taken for less."""
        found, whole = eps_of_unit(eps, query, policy), read_eps(eps)
        return whole if abs(float(found) - eps) <= SAME_EPS * eps else found

    def claimed(self, policy: Policy, query: Query) -> float | None:
        level = privacy(self.eps, self.alpha).eps
        return level if self.alpha is None else level * query.sensitivity(policy)


def _exact_number(answer: object) -> Fraction:
    """A number as it is written: 0.1 is one tenth."""
    if isinstance(answer, bool) or not isinstance(answer, int | float | Fraction):
        raise MechanismError(
            f"truncated-laplace noise needs numbers but an answer is {abbreviated(answer)}; use "
            f"exponential or "
            "randomised-response"
        )
    return as_fraction(str(answer)) if isinstance(answer, float) else Fraction(answer)
