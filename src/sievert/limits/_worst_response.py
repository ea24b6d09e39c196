"""The worst that a bound on Rényi divergences lets anybody guess among v equally likely values: exactly.

Outputs are merged by the best guess and the channel is averaged over all permutations of the values. Neither
raises a divergence, since Σ P^a·Q^(1-a) is jointly convex, and the guess stays. What is left is randomised
response among v values. So D_a ≤ R(a) for all orders a allows the guess e^ε/(e^ε+v-1) of the largest ε whose
response keeps R, and no more. Every single order gives a valid bound; the worst one gives the answer.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sievert.limits._closed_guess_bounds import GuessInterval, worst_ends
from sievert.numerics import read_eps
from sievert.proofs import Proof, ResponseGuessProof

__all__ = ["Response", "response_of_curve", "response_of_rho"]

# The least order above 1 that is looked at, and how many are at first.
LEAST, GRID = 1e-9, 200
# Golden sections of the grid's step.
GOLDEN, SECTIONS = (math.sqrt(5) - 1) / 2, 40
# Rounds of "worst order at this ε" and "ε at this order"; each squares the distance to the answer.
ROUNDS = 40
# Bisections of a float's whole range.
HALVINGS = 1_100
# Rounding of a rate and of what solves it, by which the guess is raised so that its proof holds.
MARGIN = 1e-13


class Response(NamedTuple):
    """Randomised response that a claim allows: its ε, and the order that says so (1 in the limit)."""

    eps: float
    order: float

    def ends(self, values: int) -> GuessInterval:
        """The guess that it allows, raised by rounding."""
        return worst_ends(self.eps * (1 + MARGIN), 0.0, values)

    def proof(self, values: int, rho: Fraction | None, divergence: Fraction | None = None) -> Proof | None:
        """That nothing with the claim allows more: a divergence at the order, or ρ for all orders.

        None where the powers of e are too large to be written out, so that next to nothing is promised.
        """
        order, eps = read_eps(self.order), read_eps(self.eps * (1 + MARGIN))
        limit = order * rho if rho is not None else divergence
        assert limit is not None
        if max(eps, (order - 1) * limit) > ResponseGuessProof.largest_power:
            return None
        return ResponseGuessProof.of(values, order, limit, eps, rho)


def response_of_rho(values: int, rho: float) -> Response:
    """The response with D_a ≤ a·ρ for every order a > 1, of the largest ε.

    >>> found = response_of_rho(12, 0.5)
    >>> round(found.ends(12).guess, 8)
    0.34453182
    """
    if rho == 0 or math.isinf(rho) or values < 2:
        return Response(rho if values > 1 else 0.0, 1.0)
    best = Response(_level(values, 0.0, rho), 1.0)
    for _ in range(ROUNDS):
        t = _worst_order(values, best.eps)
        found = _level(values, t, (1 + t) * rho)
        if not found < best.eps:
            break
        best = Response(found, 1 + t)
    return best


def response_of_curve(values: int, orders: tuple[float, ...], nats: tuple[float, ...]) -> Response:
    """The response with D_a ≤ R(a) at the given orders, of the largest ε."""
    best = Response(math.inf, math.inf)
    for order, limit in zip(orders, nats, strict=True):
        if math.isfinite(limit) and (math.isinf(best.eps) or divergence(values, best.eps, order - 1) > limit):
            best = Response(_level(values, order - 1, limit), order)
    return best


def divergence(values: int, eps: float, t: float) -> float:
    """D_(1+t) of randomised response among v values; t = 0: Kullback and Leibler's, t = ∞: ε.

    >>> round(divergence(2, 1.0, 0.0), 9), divergence(5, 1.0, math.inf)
    (0.462117157, 1.0)
    """
    if math.isinf(t):
        return eps
    q = math.exp(-eps)
    truth = 1 / (1 + (values - 1) * q)
    if t == 0:
        return eps * truth * -math.expm1(-eps)
    if t * eps > 300:
        # Σ = truth·e^(tε)·(1 + …), with what is left below e^-300 of it.
        return eps + (math.log(truth) + math.log1p((values - 2) * q * math.exp(-t * eps))) / t
    # Σ - 1 = truth·((1 - q)·(e^(tε) - 1) + 4q·sinh²(tε/2)): terms of one sign.
    excess = -math.expm1(-eps) * math.expm1(t * eps) + 4 * q * math.sinh(t * eps / 2) ** 2
    return math.log1p(truth * excess) / t


def _level(values: int, t: float, limit: float) -> float:
    """The largest ε at which D_(1+t) of a response, which rises, is within the limit; rounded up."""
    if limit == 0:
        return 0.0
    low, high = 0.0, 1.0
    while divergence(values, high, t) <= limit:
        low, high = high, 2 * high
    for _ in range(HALVINGS):
        # The middle of the exponents far apart, of the numbers once these are close.
        middle = math.sqrt(low * high) if low and high > 2 * low else (low + high) / 2
        if not low < middle < high:
            break
        within = divergence(values, middle, t) <= limit
        low, high = (middle, high) if within else (low, middle)
    return high


def _worst_order(values: int, eps: float) -> float:
    """The t at which D_(1+t)/(1+t) of a response is largest."""
    first = divergence(values, eps, 0.0)
    last = max(2.0, 2 * eps / first) if first else 2.0

    def rate(log_t: float) -> float:
        t = math.exp(log_t)
        return divergence(values, eps, t) / (1 + t)

    grid = np.linspace(math.log(LEAST), math.log(last), GRID).tolist()
    best = max(range(GRID), key=lambda place: rate(grid[place]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
    for _ in range(SECTIONS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (left, high) if rate(right) > rate(left) else (low, right)
    return math.exp((low + high) / 2)
