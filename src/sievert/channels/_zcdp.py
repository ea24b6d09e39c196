"""What a release costs in ρ: the least ρ with D_a ≤ a·ρ for every order a > 1, both ways (Bun and Steinke).

For two laws with loss L write K(t) = ln E e^(tL), so that D_a/a = K(t)/(t(t+1)) with t = a - 1. K is convex
and 0 at 0: between two orders it lies below its chord, and the largest value that a chord allows is known in
closed form. So the supremum is enclosed, in balls, by looking closer where it may be. What is charged is its
upper end, rounded up at 10^-12.

Often it is reached as a → 1 and is the divergence of Kullback and Leibler. With s = t + ½ and two laws that
mirror each other K is ln E cosh(sL) up to a constant; where that has zeros on the imaginary axis only it is a
product of factors 1 + s²/z² (Hadamard), so K is concave in s² and D_a/a falls. Binary response is a cosh. For
geometric noise moved by d, zeros w = e^(2εs) solve w^d·(w - α)/(1 - αw) = 1, a Blaschke product, of modulus 1
on the unit circle only.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise

import flint

from sievert.numerics import require_size

__all__ = [
    "largest_rate",
    "rho_of_eps",
    "rho_of_geometric",
    "rho_of_response",
    "rho_of_selection",
    "rho_of_stairs",
    "rounded_up_charge",
]

Moments = Callable[[flint.arb], flint.arb]
# What is charged is a multiple of this.
GRAIN = 10**12
# Balls are made narrower than this before they are rounded up; how many bits that may take.
NARROW = 1e-14
BITS, MOST_BITS = 256, 8192
# The first order looked at is 1 + 2^-60: below it D_a differs from its limit by 2^-61 of the variance.
FIRST = 2.0**-60
CLOSE, MOST_CHORDS = 1e-13, 2_000
MOST_STAIRS = 100_000
# From here on ε and ρ are one number: tanh(ε/2) is 1 but for 10^-1000.
BOUNDLESS = 10_000


def rounded_up_charge(enclosed: Callable[[], flint.arb]) -> Fraction:
    """A number ≥ 0 that a computation encloses, rounded up at 10^-12.

    >>> rounded_up_charge(lambda: flint.arb(2).sqrt())
    Fraction(707106781187, 500000000000)
    """
    bits = BITS
    while True:
        with flint.ctx.workprec(bits):
            found = enclosed()
            if float(found.rad()) <= NARROW * max(1.0, abs(float(found.mid()))) or bits >= MOST_BITS:
                return max(Fraction(0), _whole(_fraction(found.upper())))
        bits *= 2


def _fraction(ball: flint.arb) -> Fraction:
    """An exact dyadic number."""
    mantissa, exponent = ball.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(value.numerator) / flint.arb(value.denominator)


def rho_of_eps(eps: Fraction) -> Fraction:
    """ρ of whatever keeps ε: ε·tanh(ε/2), which binary response reaches.

    >>> round(float(rho_of_eps(Fraction(1))), 9)
    0.462117157
    """
    return _whole(eps) if eps > BOUNDLESS else rounded_up_charge(lambda: _ball(eps) * (_ball(eps) / 2).tanh())


def _whole(rho: Fraction) -> Fraction:
    """Rounded up at 10^-12."""
    return Fraction(math.ceil(rho * GRAIN), GRAIN)


def rho_of_geometric(eps: Fraction | None, alpha: Fraction | None, steps: int) -> Fraction:
    """ρ of two-sided geometric noise, ε or α for a step, on one number that moves by d steps.

    Kullback and Leibler's ε(d - 2α(1 - α^d)/(1 - α²)), since D_a/a falls.

    >>> round(float(rho_of_geometric(Fraction(1, 4), None, 4)), 9)
    0.374416332
    """
    if steps == 0 or eps == 0 or alpha == 1:
        return Fraction(0)
    if eps is not None and eps > BOUNDLESS:
        return _whole(eps * steps)

    def divergence() -> flint.arb:
        level = _ball(eps) if eps is not None else -_ball(alpha or Fraction(1)).log()
        once = (-level).exp() if eps is not None else _ball(alpha or Fraction(1))
        return level * (steps + 2 * once * (-level * steps).expm1() / -(-2 * level).expm1())

    return rounded_up_charge(divergence)


def rho_of_response(values: int, eps: Fraction) -> Fraction:
    """ρ of randomised response among k values; from k = 7 on more than Kullback and Leibler's divergence.

    >>> round(float(rho_of_response(12, Fraction(1))), 9)
    0.131643654
    """
    if eps == 0 or values < 2 or eps > BOUNDLESS:
        return _whole(eps if values > 1 else Fraction(0))

    def moments(t: flint.arb) -> flint.arb:
        level, others = _ball(eps), values - 2
        above = (level * (1 + t)).exp() + (-level * t).exp() + others
        return (above / (level.exp() + 1 + others)).log()

    return rounded_up_charge(lambda: largest_rate(moments, _ball(eps)))


def rho_of_selection(eps: Fraction) -> Fraction:
    """ρ of the exponential mechanism at level ε, and of all whose losses span at most ε (Dong et al. 2020).

    For each order the worst is binary: with s = e^(largest loss) its moment is s^t·(A - sB)/(e^ε - 1), where
    A = e^ε - e^(-tε) and B = 1 - e^(-tε), largest at s = tA/((t+1)B).

    >>> round(float(rho_of_selection(Fraction(1))), 9)
    0.123301561
    """
    if eps == 0 or eps > BOUNDLESS:
        return _whole(eps)

    def moments(t: flint.arb) -> flint.arb:
        level = _ball(eps)
        rest = -(-t * level).expm1()
        whole = level.expm1() + rest
        return t * (t * whole / ((t + 1) * rest)).log() + (whole / ((t + 1) * level.expm1())).log()

    # Hoeffding: a loss of range ε has variance ε²/4 at most, whatever the order.
    return min(rounded_up_charge(lambda: largest_rate(moments, _ball(eps))), _whole(eps * eps / 8))


def rho_of_stairs(eps: Fraction, width: int, top: int, steps: int) -> Fraction:
    """ρ of staircase noise, e^-ε once in every Δ steps and r of 0, 1, … on top, moved by d steps."""
    if steps == 0 or eps == 0:
        return Fraction(0)
    if eps > BOUNDLESS:
        return _whole(eps * -(-steps // width))
    require_size(-(-steps // width), MOST_STAIRS, "the stairs that one move crosses", "use wider stairs")
    here = _levels(range(-top + 1, steps + top), width, top, steps)
    beyond = _levels(range(steps + top, steps + top + width), width, top, steps)
    before = _levels(range(-top + 1 - width, -top + 1), width, top, steps)
    further = Counter(beyond) + Counter(before)

    def weight(t: flint.arb | int) -> flint.arb:
        # Σ e^(-ε·((1+t)·level - t·other)); each further period of Δ steps has e^-ε times the weight.
        level = _ball(eps)
        near, far = (
            sum((n * (-level * ((1 + t) * a - t * b)).exp() for (a, b), n in part.items()), flint.arb(0))
            for part in (here, further)
        )
        return near + far / -(-level).expm1()

    crossed = max(b - a for a, b in (*here, *further))
    return rounded_up_charge(
        lambda: largest_rate(lambda t: (weight(t) / weight(0)).log(), _ball(eps) * crossed)
    )


def _levels(places: range, width: int, top: int, steps: int) -> Mapping[tuple[int, int], int]:
    """How often noise in a range of places is so many stairs down, and so many seen from d."""
    starts = {places.start, places.stop}
    for centre in (0, steps):
        last = max(abs(places.start - centre), abs(places.stop - centre))
        edges = range(top, last + 1, width)
        starts.update(centre + edge for edge in edges)
        starts.update(centre - edge + 1 for edge in edges)
    ordered = sorted(start for start in starts if places.start <= start <= places.stop)
    found: Counter[tuple[int, int]] = Counter()
    for first, last in pairwise(ordered):
        pair = [(abs(first - centre) + width - top) // width for centre in (0, steps)]
        found[pair[0], pair[1]] += last - first
    return found


def largest_rate(moments: Moments, highest: flint.arb) -> flint.arb:
    """The supremum of K(t)/(t(t+1)) over t > 0, for convex K with K(0) = 0 and K(t) ≤ highest·t.

    Never below it, and above it by less than `CLOSE` unless that takes too many chords.
    """
    # Whatever keeps ε = D_∞ has ρ ≤ ε·tanh(ε/2).
    most = (highest * (highest / 2).tanh()).upper()
    if most * GRAIN < 1:
        return most
    nodes = [FIRST]
    values = [moments(flint.arb(FIRST))]
    best = _rate(nodes[0], values[0]).lower()
    # Beyond this order D_a/a ≤ D_∞/a is less than what is found already.
    while not highest <= best * (1 + nodes[-1]):
        nodes.append(2 * nodes[-1])
        values.append(moments(flint.arb(nodes[-1])))
        best = max(best, _rate(nodes[-1], values[-1]).lower())
    start = (values[0] / nodes[0]).upper()
    spans = [
        _span(left, right, low, high)
        for (left, low), (right, high) in pairwise(zip(nodes, values, strict=True))
    ]
    heapq.heapify(spans)
    for _ in range(MOST_CHORDS):
        if not spans or -spans[0][0] <= float(best) + CLOSE * max(1.0, float(best)):
            break
        _, left, right, _, low, high = heapq.heappop(spans)
        middle = (left + right) / 2
        value = moments(flint.arb(middle))
        best = max(best, _rate(middle, value).lower())
        for span in (_span(left, middle, low, value), _span(middle, right, value, high)):
            heapq.heappush(spans, span)
    above = max([start, *(span[3] for span in spans)])
    return min(max(above, best), most)


def _rate(t: float, value: flint.arb) -> flint.arb:
    return value / (flint.arb(t) * (1 + flint.arb(t)))


Span = tuple[float, float, float, flint.arb, flint.arb, flint.arb]


def _span(left: float, right: float, low: flint.arb, high: flint.arb) -> Span:
    """Two orders, K at them, and the most that its chord allows between: (mt - q)/(t(t+1)).

    The quotient rises up to t = (q + √(q² + mq))/m and then falls; q ≥ 0, since K(0) = 0.
    """
    slope = ((high - low) / (flint.arb(right) - flint.arb(left))).upper()
    fall = (slope * left - low).lower()

    def at(t: flint.arb) -> flint.arb:
        return (slope * t - fall) / (t * (1 + t))

    if not fall > 0 or not slope > 0:
        top = at(flint.arb(left))
    else:
        turn = (fall + (fall * fall + slope * fall).sqrt()) / slope
        top = at(flint.arb(left) if turn < left else flint.arb(right) if turn > right else turn)
    above = top.upper()
    return -float(above), left, right, above, low, high
