"""Thresholds: the largest ε of one family of mechanisms that a member of another is refined by.

For the three families on 0…n-1 most thresholds are closed forms or the root of one equation, because the
less safe channel has a known inverse (Fernandes, Fig 4.5 has them only as experimental curves). ε of the
exponential mechanism is its true ε. Average and max thresholds coincide: the less safe channel has
independent columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from sievert.channels import Channel
from sievert.errors import MechanismError
from sievert.mechanisms import Family, nominal_epsilon, true_epsilon
from sievert.numerics import abbreviated, choice, instance, non_negative, require_float, require_size, whole
from sievert.orders._refinement import refines
from sievert.proofs import EXPONENTIAL, GEOMETRIC, RESPONSE
from sievert.results import guarded

__all__ = ["threshold"]

Maker = Callable[[float], Channel]
Order = Literal["average", "max", "privacy"]
# The column of randomised response → exponential is listed up to here.
MOST_INPUTS = 10_000_000
# Below this a parameter is not told from 0, which is on the safe side.
TINY = 1e-290


@guarded
def threshold(
    first: str | Maker, second: str | Maker, eps: float, n: int | None = None, order: Order = "average"
) -> float:
    """The largest ε₂ such that first(eps) ⊑ second(ε₂); every smaller ε₂ is safe too.

    Parameters
    ----------
    first, second : a family on 0…n-1 by its name in a file and its true ε, such as "truncated-geometric"
        ("geometric" is equivalent), "randomised-response" or "exponential"; or a function from ε to a
        channel, whose safety must grow as ε falls
    eps : ε of the less safe mechanism, in nats
    n : number of inputs, for named families
    order : "average", "max" or "privacy"

    Returns
    -------
    float
        ε₂ in nats; inf where every ε₂ is safe.

    Notes
    -----
    Cost: a closed form or a root of one equation for named families; a bracket of refinement tests otherwise.

    Examples
    --------
    >>> round(threshold("truncated-geometric", "randomised-response", 1.0, 5), 6)
    0.735326
    >>> round(threshold("randomised-response", "truncated-geometric", 4.0, 5), 6)
    0.888127
    """
    choice("order", order, ("average", "max", "privacy"), MechanismError)
    eps = non_negative("eps", eps, MechanismError)
    if not (isinstance(first, str) and isinstance(second, str)):
        return _searched(_maker(first, n), _maker(second, n), eps, order)
    theorems = [_named(name).in_theorems for name in (first, second)]
    n = whole("n", n, MechanismError)
    require_float("n", n, MechanismError)
    if n == 1:
        return math.inf
    if None in theorems:
        return _searched(_maker(first, n), _maker(second, n), eps, order)
    if eps == 0 or n == 2 or theorems[0] == theorems[1]:
        # With two inputs the three families are the same channel.
        return float(eps)
    if eps < TINY:
        return 0.0
    decide = _privacy if order == "privacy" else _average
    with np.errstate(over="ignore"):
        return min(eps, decide(str(theorems[0]), str(theorems[1]), eps, n))


def _named(name: str) -> type[Family]:
    """The family of a name, where it has members on 0…n-1."""
    known = {str(family.declared()): family for family in Family.classes()}
    if name not in known or not _is_on_line(known[name]):
        names = [word for word, family in known.items() if _is_on_line(family)]
        raise MechanismError(
            f"family {abbreviated(name)} is unknown; known are {', '.join(names)}, or give a function"
        )
    return known[name]


def _is_on_line(family: type[Family]) -> bool:
    return family.in_theorems is not None or family.on_line(2, 1.0) is not None


def _maker(family: str | Maker, n: int | None) -> Maker:
    """A named family as a function of ε."""
    if not isinstance(family, str):
        words = "the name of a family, or a function from ε to a channel"
        return instance("family", family, Callable, words, MechanismError)  # type: ignore[no-any-return]
    named = _named(family)
    if n is None:
        raise MechanismError("n is missing; named families need the number of inputs")
    return partial(_on_line, named, n)


def _on_line(family: type[Family], n: int, eps: float) -> Channel:
    member = family.on_line(n, eps)
    assert member is not None
    return member


def _average(first: str, second: str, eps: float, n: int) -> float:
    """A⁻¹B ≥ 0 for the one column and row of B that decide, each as a sum of positive terms."""
    if (first, second) == (GEOMETRIC, RESPONSE):
        # β = α/(1 - α + α²), the same for every n ≥ 3: e^ε₂ = e^ε - 1 + e^-ε = 1 + 4·sinh²(ε/2).
        if eps < 1:
            return math.log1p(4 * math.sinh(eps / 2) ** 2)
        return eps + math.log1p(math.exp(-eps) * math.expm1(-eps))
    if (first, second) == (GEOMETRIC, EXPONENTIAL):
        return _geometric_to_exponential(eps, n)
    if (first, second) == (RESPONSE, GEOMETRIC):
        return _response_to_geometric(eps, n)
    if (first, second) == (RESPONSE, EXPONENTIAL):
        return _response_to_exponential(eps, n)
    # β = a·S/(1 - a² + a·S) with S = Σ_y a^|i-y|, since (1+a²)·S_i - a·(S_(i-1) + S_(i+1)) = 1 - a²: of the
    # row beside the end for the geometric, and the largest, of the middle row, for randomised response.
    h = nominal_epsilon(n, eps) / 2
    row = 1 if second == GEOMETRIC else (n - 1) // 2
    odds = h + math.log(-math.expm1(-2 * h)) - math.log(_row_sum(h, row, n))
    return float(np.logaddexp(0.0, odds))


def _row_sum(h: float, row: int, n: int) -> float:
    """S_i = Σ_y a^|i-y| = ((1 - a^(i+1)) + a·(1 - a^(n-1-i)))/(1 - a), a = e^-h."""
    parts = math.expm1(-h * (row + 1)) + math.exp(-h) * math.expm1(-h * (n - 1 - row))
    return parts / math.expm1(-h)


def _geometric_to_exponential(eps: float, n: int) -> float:
    """(1+α²)·b_i ≥ α·(b_(i-1) + b_(i+1)) for the end column b of E, at the row beside that end.

    With e^ε₂ = S_1/(a·S_0) it is e^ε₂ + a·S_1/S_2 ≤ e^ε + e^-ε; both sides less 2 are sums of positive terms.
    """
    target = eps + 2 * math.log(-math.expm1(-eps))

    def excess(h: float) -> float:
        a, end, beside, third = math.exp(-h), *(-math.expm1(-h * k) for k in (n, n - 2, n - 3))
        first, rest = end / -math.expm1(-h), a * (1 + a) * third
        inner = ((1 + a + a * a - math.exp(-h * (n - 2))) * end + beside * rest) / (first * (first + rest))
        return h + math.log(math.expm1(-h) ** 2 + a * inner) - target

    return true_epsilon(n, 2 * _root(excess, eps))


def _response_to_geometric(eps: float, n: int) -> float:
    """Σ_{k<n} (e^{kε₂} - 1) = e^ε - 1, by the end column of the geometric."""
    m = n - 1

    def excess(other: float) -> float:
        # Σ e^{kx} over k = 1…m is m·e^((m+1)x/2)·f(mx/2)/f(x/2) with f(z) = sinh(z)/z.
        growth = (_sinhc(m * other / 2) - _sinhc(other / 2)) / (1 + _sinhc(other / 2))
        mean = math.expm1((m + 1) * other / 2) * (1 + growth) + growth
        return m * mean / math.expm1(eps) - 1

    def log_excess(other: float) -> float:
        # From e^600 on, by logarithms of both sides plus n - 1.
        logs = math.log(-math.expm1(-m * other)) - math.log(-math.expm1(-other))
        return m * other + logs - eps - math.log1p((m - 1) * math.exp(-eps))

    return _root(excess if eps < 600 else log_excess, eps / m)


def _sinhc(z: float) -> float:
    """sinh(z)/z - 1 to full relative precision."""
    if z > 1:
        return math.sinh(z) / z - 1
    term = total = z * z / 6
    for k in range(2, 10):
        term *= z * z / (2 * k * (2 * k + 1))
        total += term
    return total


def _response_to_exponential(eps: float, n: int) -> float:
    """Σ_i b_i/min b ≤ e^ε + n - 1 for the end column of E, whose least entry is at the other end.

    b_k/min b - 1 = (e^{kh} - 1)·(1 - a^(k+1))/((1 - a)·S_k), k steps from that end.
    """
    require_size(n, MOST_INPUTS, "the end column of the exponential mechanism", "ask for fewer inputs")
    steps = np.arange(1.0, n)

    def excess(h: float) -> float:
        own = -np.expm1(-h * (steps + 1))
        share = own / (own - math.exp(-h) * np.expm1(-h * (n - 1 - steps)))
        grown = -np.expm1(-h * steps) * np.exp(h * steps - eps)
        return float(grown @ share) / -math.expm1(-eps) - 1

    return true_epsilon(n, 2 * _root(excess, eps / (n - 1)))


def _privacy(first: str, second: str, eps: float, n: int) -> float:
    """Largest ε₂ with d_second ≤ d_first for every pair."""
    if first == GEOMETRIC:
        return eps
    if first == RESPONSE:
        # Every pair is eps apart, so the two ends decide.
        return eps / (n - 1) if second == GEOMETRIC else true_epsilon(n, 2 * eps / (n - 1))
    h = nominal_epsilon(n, eps) / 2
    if second == GEOMETRIC or n % 2 == 0:
        # Mirrored inputs are h a step apart; with an even number two of them are neighbours.
        return h
    # The middle and its neighbour: h + ln(S_m/S_(m-1)), S_m - S_(m-1) = a^m·(1 - a).
    middle = n // 2
    gap = -math.exp(-h * middle) * math.expm1(-h)
    return h + math.log1p(gap / _row_sum(h, middle - 1, n))


def _root(function: Callable[[float], float], high: float) -> float:
    """Where an increasing function that is negative near 0 vanishes, at most at `high`."""
    from scipy.optimize import brentq

    if function(high) <= 0:
        return high
    low = high
    while function(low) >= 0:
        low /= 16
        if low < TINY:
            return 0.0
    return float(brentq(function, low, high, xtol=5e-324, rtol=1e-15))


def _searched(first: Maker, second: Maker, eps: float, order: Order) -> float:
    """Any two families by bisection on the verdict itself, to about eight digits."""
    less_safe = first(eps)

    def holds(other: float) -> bool:
        return refines(less_safe, second(other), order).holds is True

    high = max(eps, 1e-6)
    while holds(high):
        high *= 2
        if high > 64 * max(eps, 1.0):
            return math.inf
    low = 0.0
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
