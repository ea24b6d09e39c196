"""Thresholds: the largest ε of one family of mechanisms that a member of another is refined by.

For the three families on 0…n-1 most thresholds are closed forms or the root of one equation, because the
less safe channel has a known inverse (Fernandes, Fig 4.5 has them only as experimental curves). ε of the
exponential mechanism is its true ε. Average and max thresholds coincide: the less safe channel has
independent columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy.optimize import brentq

from sievert.channels.channel import Channel
from sievert.errors import ChannelError, MechanismError
from sievert.mechanisms.exponential import nominal_epsilon, true_epsilon
from sievert.numerics.checks import brief
from sievert.orders.families import Family
from sievert.orders.refinement import refines
from sievert.proofs.families import EXPONENTIAL, GEOMETRIC, RESPONSE, smallest_alpha

__all__ = ["NAMES", "threshold"]

Maker = Callable[[float], Channel]
Order = Literal["average", "max", "privacy"]
NAMES = {
    "truncated-geometric": GEOMETRIC,
    "geometric": GEOMETRIC,
    "randomised-response": RESPONSE,
    "exponential": EXPONENTIAL,
}
# Halvings of the bracket: to the last digit of a double.
HALVINGS = 200


def threshold(
    first: str | Maker, second: str | Maker, eps: float, n: int | None = None, order: Order = "average"
) -> float:
    """The largest ε₂ such that first(eps) ⊑ second(ε₂); every smaller ε₂ is safe too.

    Parameters
    ----------
    first, second : "truncated-geometric" ("geometric" is equivalent), "randomised-response", "exponential" on
        0…n-1, by their true ε; or a function from ε to a channel, whose safety must grow as ε falls
    eps : ε of the less safe mechanism, in nats
    n : number of inputs, for named families
    order : "average", "max" or "privacy"

    Examples
    --------
    >>> round(threshold("truncated-geometric", "randomised-response", 1.0, 5), 6)
    0.735326
    >>> round(threshold("randomised-response", "truncated-geometric", 4.0, 5), 6)
    0.888127
    """
    if order not in ("average", "max", "privacy"):
        raise MechanismError(f'order is {order!r}; it must be "average", "max" or "privacy"')
    if not 0 <= eps < math.inf:
        raise MechanismError(f"eps is {eps!r}; it must be a finite number ≥ 0 (nats)")
    if not (isinstance(first, str) and isinstance(second, str)):
        return _searched(_maker(first, n), _maker(second, n), eps, order)
    names = tuple(_named(name) for name in (first, second))
    if not isinstance(n, int) or n < 1:
        raise MechanismError(f"n is {n!r}; named families need the number of inputs, at least 1")
    if n == 1:
        return math.inf
    if eps == 0 or n == 2 or names[0] == names[1]:
        # With two inputs the three families are the same channel.
        return float(eps)
    if order == "privacy":
        return _privacy(names[0], names[1], eps, n)
    return _average(names[0], names[1], eps, n)


def _named(name: str) -> str:
    if name not in NAMES:
        raise MechanismError(f"family {name!r} is unknown; known are {', '.join(NAMES)}, or give a function")
    return NAMES[name]


def _maker(family: str | Maker, n: int | None) -> Maker:
    """A named family as a function of ε."""
    if not isinstance(family, str):
        return family
    from sievert import mechanisms
    from sievert.spaces import metrics

    name = _named(family)
    if n is None:
        raise MechanismError("n is missing; named families need the number of inputs")
    size = n
    if name == GEOMETRIC:
        return lambda eps: mechanisms.truncated_geometric(size, eps)
    if name == RESPONSE:
        return lambda eps: mechanisms.randomised_response(size, eps)
    return lambda eps: mechanisms.exponential(metrics.line(size), nominal_epsilon(size, eps))


def _average(first: str, second: str, eps: float, n: int) -> float:
    alpha = math.exp(-eps)
    if (first, second) == (GEOMETRIC, RESPONSE):
        # β = α/(1 - α + α²), the same for every n ≥ 3: e^ε₂ = e^ε - 1 + e^-ε = 1 + 4·sinh²(ε/2).
        return math.log1p(4 * math.sinh(eps / 2) ** 2) if eps < 1 else eps + math.log1p(-alpha * (1 - alpha))
    if (first, second) == (RESPONSE, GEOMETRIC):
        # Σ_{k<n} e^{kε₂} = e^ε + n - 2, by its end column; divided by e^ε, no term is large below the root.
        def excess(other: float) -> float:
            return sum(-math.expm1(-k * other) * math.exp(k * other - eps) for k in range(1, n)) + math.expm1(
                -eps
            )

        return _root(excess, eps / (n - 1))
    if (first, second) == (EXPONENTIAL, GEOMETRIC):
        return nominal_epsilon(n, eps) - eps
    if (first, second) == (EXPONENTIAL, RESPONSE):
        a = math.exp(-nominal_epsilon(n, eps) / 2)
        return -math.log(smallest_alpha(EXPONENTIAL, RESPONSE, a, n))
    source = Family(first, n, alpha)
    return _bisected(lambda other: _margin(source, other) >= 0, _privacy(first, second, eps, n))


def _margin(source: Family, true: float) -> float:
    """Least entry of A⁻¹·E(true), each against the size of what was subtracted."""
    if true == 0:
        return 1.0
    a = math.exp(-nominal_epsilon(source.size, true) / 2)
    positions = np.arange(source.size)
    kernel = a ** np.abs(np.subtract.outer(positions, positions)).astype(np.float64)
    columns = kernel / kernel.sum(axis=1)[:, None]
    return float((source.inverse_times(columns) / columns).min())


def _privacy(first: str, second: str, eps: float, n: int) -> float:
    """Largest ε₂ with d_second ≤ d_first for every pair."""
    if first == GEOMETRIC:
        return eps
    if first == RESPONSE:
        # Every pair is eps apart, so the two ends decide.
        return eps / (n - 1) if second == GEOMETRIC else true_epsilon(n, 2 * eps / (n - 1))
    nominal = nominal_epsilon(n, eps)
    if second == GEOMETRIC:
        # Far pairs come to half the nominal parameter a step.
        return nominal / 2
    sums = np.array([sum(math.exp(-nominal / 2 * abs(i - y)) for y in range(n)) for i in range(n)])
    logs = -nominal / 2 * np.abs(np.subtract.outer(np.arange(n), np.arange(n))) - np.log(sums)[:, None]
    distances = [np.abs(logs[i] - logs[j]).max() for i in range(n) for j in range(i)]
    return float(min(distances))


def _root(function: Callable[[float], float], high: float) -> float:
    return float(brentq(function, 0.0, high, xtol=1e-300, rtol=1e-15))


def _bisected(holds: Callable[[float], bool], high: float) -> float:
    """The largest ε that holds, where everything below one that holds does too."""
    if holds(high):
        return high
    low = 0.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high or high - low <= 1e-15 * high:
            break
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _searched(first: Maker, second: Maker, eps: float, order: Order) -> float:
    """Any two families by bisection on the verdict itself, to about eight digits."""
    for name, maker in (("first", first), ("second", second)):
        if not callable(maker):
            raise ChannelError(f"{name} is {brief(maker)}; give the name of a family or a function of eps")
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
