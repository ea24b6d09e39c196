"""The best guess that any (ε, δ)-private mechanism allows where all values are neighbours.

The worst mechanism tells the truth with probability δ and else is the worst ε-private one, so the guess is
δ + (1-δ)·max_m (π_1+…+π_m)·e^ε/(e^ε+m-1), likeliest values first (for a uniform prior and δ = 0: Alvim et
al., Prop 21).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sievert.arrays import FloatArray
from sievert.numerics import exp_below, read_eps
from sievert.proofs import GuessProof

__all__ = ["GuessInterval", "guess_proof", "likeliest", "pure_guess", "worst_ends", "worst_guess"]


def likeliest(prior: FloatArray) -> FloatArray:
    """Total probability of the m likeliest values, m = 1, 2, …"""
    return np.minimum(np.cumsum(np.sort(prior)[::-1]), 1.0)


def pure_guess(eps: float, values: int, prior: FloatArray | None = None) -> tuple[float, int]:
    """Best guess that any ε-private mechanism allows, and how many values the worst one uses.

    >>> round(pure_guess(1.0, 5)[0], 6)
    0.40461
    >>> pure_guess(1.0, 3, np.array([0.6, 0.3, 0.1]))
    (0.65795..., 2)
    """
    q = math.exp(-eps)
    if prior is None:
        return 1 / (1 + (values - 1) * q), values
    shares = likeliest(prior)
    guesses = shares / (1 + np.arange(len(prior)) * q)
    used = int(np.argmax(guesses))
    return min(1.0, float(guesses[used])), used + 1


class GuessInterval(NamedTuple):
    """A guess with what it gains over the blind one and what it misses, each in full relative precision."""

    guess: float
    gained: float
    missed: float


def worst_ends(eps: float, delta: float, values: int, prior: FloatArray | None = None) -> GuessInterval:
    """`worst_guess`, 1 minus it, and its difference from the blind guess, without cancellation.

    >>> math.isclose(worst_ends(40.0, 0.0, 2).missed, math.exp(-40), rel_tol=1e-12)
    True
    """
    q, hidden = math.exp(-eps), -math.expm1(-eps)
    guess, used = pure_guess(eps, values, prior)
    if prior is None:
        share = 1 / values
        missed = (values - 1) * q / (1 + (values - 1) * q)
        gained = (values - 1) * share * hidden / (1 + (values - 1) * q)
        top = share
    else:
        ordered = np.sort(prior)[::-1]
        top, rest = float(ordered[0]), math.fsum(ordered[used:].tolist())
        missed = (rest + (used - 1) * q) / (1 + (used - 1) * q)
        # S_m - π_1·(1 + (m-1)q) = Σ_{j≤m} (π_j - π_1) + (m-1)·π_1·(1-q)
        short = math.fsum((ordered[:used] - top).tolist())
        gained = max(0.0, (short + (used - 1) * top * hidden) / (1 + (used - 1) * q))
    return GuessInterval(
        min(1.0, delta + (1 - delta) * guess), (1 - delta) * gained + delta * (1 - top), (1 - delta) * missed
    )


def worst_guess(eps: float, delta: float, values: int, prior: FloatArray | None = None) -> float:
    """Best guess that any (ε, δ)-private mechanism allows when any two values are neighbours.

    >>> round(worst_guess(1.2, 0.01, 2), 6)
    0.77084
    """
    return worst_ends(eps, delta, values, prior).guess


def guess_proof(
    eps: float | Fraction, delta: float | Fraction, values: int, prior: FloatArray | None = None
) -> GuessProof:
    """The certificate of `worst_guess`: y_j = max(π_j - q·Y, 0)/(1-q) with Y = Σy, and the m that is used."""
    level, lost = read_eps(eps), read_eps(delta)
    q = exp_below(-level)
    if prior is None:
        entry = 1 / (values * (1 + (values - 1) * q))
        return GuessProof(level, lost, values, None, (entry,), values)
    exact = _fractions(prior)
    used = pure_guess(float(eps), values, prior)[1]
    if q == 1:
        # ε = 0: nothing but the prior can be guessed from, and all weight may stand anywhere.
        top = max(range(values), key=lambda j: exact[j])
        cover = [exact[top] if j == top else Fraction(0) for j in range(values)]
        return GuessProof(level, lost, values, tuple(exact), tuple(cover), 1)
    share = sum(sorted(exact, reverse=True)[:used], Fraction(0))
    total = share / (1 + (used - 1) * q)
    cover = [max(p - q * total, Fraction(0)) / (1 - q) for p in exact]
    # A tie between two m may leave the sum a little short; raising every entry covers what is missing.
    reached = sum(cover, Fraction(0))
    if reached < total:
        cover[0] += total - reached
    return GuessProof(level, lost, values, tuple(exact), tuple(_rounded_up(y) for y in cover), used)


def _fractions(prior: FloatArray) -> list[Fraction]:
    """Decimals as written, the rest of 1 given to the largest so that the sum is exact."""
    exact = [Fraction(str(float(p))) for p in prior]
    top = max(range(len(exact)), key=lambda j: exact[j])
    exact[top] += 1 - sum(exact, Fraction(0))
    return exact


def _rounded_up(value: Fraction) -> Fraction:
    """At most 2^-80 above, with a denominator that can be printed."""
    return Fraction(-((-value.numerator * 2**80) // value.denominator), 2**80)
