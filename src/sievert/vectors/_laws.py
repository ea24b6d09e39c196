"""The exact law of a privacy loss that is a sum of independent steps -ε, 0, +ε, in balls.

With the hash public, a coordinate of two users' codes differs with probability d, and then gives away +ε or
-ε nats. So the loss is ε·S with S a sum of such steps, and the law of S is
the power of a polynomial with three positive coefficients. Its coefficients obey a recurrence of two terms
(Euler), positive up to the middle; the other half follows from P[S = -s] = e^(-εs)·P[S = s].
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import flint
import numpy as np
from flint import arb, arb_poly

from sievert.arrays import FloatArray
from sievert.errors import VectorError
from sievert.numerics import abbreviated, as_fraction, read_eps, require_float, require_size

__all__ = ["PRECISION", "StepLaw", "ball", "precision", "read_level", "rounded", "threshold"]

PRECISION = 160
LARGEST = 1_000_000
LARGEST_SAME_HASH = 20_000


@contextmanager
def precision(bits: int = PRECISION) -> Iterator[None]:
    """Work with balls of so many bits."""
    old = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = old


def ball(value: Fraction) -> arb:
    """A fraction as a ball."""
    return arb(flint.fmpq(value.numerator, value.denominator))


def rounded(found: arb, up: bool = True) -> float:
    """The nearest float that is proved to be at least (or at most) the number in the ball."""
    value = float(found.mid())
    if math.isinf(value):
        return value
    if not (arb(value) >= found if up else arb(value) <= found):
        value = float((found.upper() if up else found.lower()).mid())
    while not (arb(value) >= found if up else arb(value) <= found):
        value = float(np.nextafter(value, math.inf if up else -math.inf))
    return value


def read_level(argument: str, value: object) -> Fraction | None:
    """A number ≥ 0 read as it is written; None for inf."""
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, float | np.floating | str) and str(value) == "inf":
            return None
        found = read_eps(float(value)) if isinstance(value, float | np.floating) else as_fraction(value)
    except (ValueError, TypeError):
        found = Fraction(-1)
    if found < 0:
        raise VectorError(f"{argument} is {abbreviated(value)}; it must be a number ≥ 0, or inf")
    require_float(argument, found, VectorError)
    return found


def threshold(xi: object, eps: Fraction) -> tuple[Fraction, int]:
    """ξ as a fraction, and the largest m with ε·m ≤ ξ.

    A float within four units in the last place of a multiple of ε is that multiple: 3·0.7 is three times 0.7.
    """
    level = read_level("xi", xi)
    if level is None:
        raise VectorError("xi is inf; every mechanism is that private")
    nearest = round(level / eps)
    if isinstance(xi, float) and abs(level - nearest * eps) <= 4 * Fraction(math.ulp(xi)):
        return nearest * eps, nearest
    return level, level // eps


@dataclass(frozen=True)
class StepLaw:
    """The law of S, the loss in units of ε.

    Attributes
    ----------
    coordinates : independent coordinates of the code
    distance : probability that one differs
    eps : nats of one release of one coordinate, > 0
    values : values of a coordinate
    releases : how often each coordinate is released under the same hash
    """

    coordinates: int
    distance: Fraction
    eps: Fraction
    values: int = 2
    releases: int = 1

    @property
    def reach(self) -> int:
        """The largest value of S."""
        return self.coordinates * self.releases

    @cached_property
    def below(self) -> list[arb]:
        """P[S = -s] for s = 0, 1, …"""
        with precision():
            if self.distance == 0:
                return [arb(1)] + [arb(0)] * self.reach
            if self.releases > 1:
                return self._by_powering()
            return self._by_recurrence()

    def steps(self) -> tuple[arb, arb, arb]:
        """Probabilities of -1, 0 and +1 in a coordinate that differs."""
        grown = ball(self.eps).exp()
        total = grown + (self.values - 1)
        return 1 / total, arb(self.values - 2) / total, grown / total

    def _by_recurrence(self) -> list[arb]:
        count = self.coordinates
        require_size(count, LARGEST, "the law of the loss", "take fewer bits")
        d = ball(self.distance)
        down, same, up = self.steps()
        low, middle, high = d * down, 1 - d + d * same, d * up
        last, now = arb(0), low**count
        found = [now]
        # k·p₀·q_k = (n+1-k)·p₁·q_(k-1) + (2(n+1)-k)·p₂·q_(k-2), every term positive for k ≤ n.
        middle, high = middle / low, high / low
        for k in range(1, count + 1):
            last, now = now, ((count + 1 - k) * middle * now + (2 * (count + 1) - k) * high * last) / k
            found.append(now)
        return found[::-1]

    def _by_powering(self) -> list[arb]:
        """Every coordinate gives the sum of its releases; all coefficients of the powers are positive."""
        require_size(
            self.reach,
            LARGEST_SAME_HASH,
            "bits times releases under one hash",
            "use fresh hashes, or bound it by bits·releases·eps",
        )
        d = ball(self.distance)
        step = arb_poly(list(self.steps())) ** self.releases * d
        step += arb_poly([0] * self.releases + [1 - d])
        power = (step**self.coordinates).coeffs()
        return power[: self.reach + 1][::-1]

    @cached_property
    def above(self) -> list[arb]:
        """P[S = s] for s = 0, 1, …: e^(εs)·P[S = -s]."""
        with precision():
            grown, factor, found = ball(self.eps).exp(), arb(1), []
            for value in self.below:
                found.append(value * factor)
                factor *= grown
            return found

    @cached_property
    def tails(self) -> tuple[list[arb], list[arb]]:
        """P[S > m] and P[S < -m] for m = 0 … reach."""
        with precision():
            return _sums_after(self.above), _sums_after(self.below)

    def tail(self, m: int) -> arb:
        """P[S > m] for m ≥ 0."""
        return self.tails[0][min(m, self.reach)]

    def delta(self, xi: Fraction, m: int) -> arb:
        """E[(1 - e^(ξ - εS))₊] = P[S > m] - e^ξ·P[S < -m], the least δ of ξ (m = ⌊ξ/ε⌋ ≥ 0)."""
        if m >= self.reach:
            return arb(0)
        with precision():
            return self.tails[0][m] - ball(xi).exp() * self.tails[1][m]

    def smallest_xi(self, delta: Fraction) -> arb:
        """The least ξ ≥ 0 with δ(ξ) ≤ delta: bisect the multiples of ε, then solve between two of them."""
        low, high = -1, self.reach  # δ(ε·high) ≤ delta
        while high - low > 1:
            middle = (low + high) // 2
            if self.delta(self.eps * middle, middle) <= ball(delta):
                high = middle
            else:
                low = middle
        with precision():
            if high == 0:
                return arb(0)
            above, below = self.tails[0][low], self.tails[1][low]
            if delta == 0:
                return ball(self.eps) * high
            return ((above - ball(delta)) / below).log()

    def probabilities(self) -> FloatArray:
        """P[S = s] for s = -reach … reach, as floats."""
        down = [float(value.mid()) for value in self.below]
        return np.array(down[:0:-1] + [float(value.mid()) for value in self.above])


def _sums_after(values: list[arb]) -> list[arb]:
    total, found = arb(0), []
    for value in reversed(values):
        found.append(total)
        total = total + value
    return found[::-1]
