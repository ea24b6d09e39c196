"""Conjecture 4.20 for a given n: less ε makes the exponential mechanism on a line safer against everybody.

With a = e^(-nominal/2), S_i = Σ_y a^|i-y| and m_i = Σ_y |i-y|·a^|i-y| / S_i, E(a) ⊑ E(b) for all a ≤ b iff
for all a in (0, 1): 1 - m_0 + m_1 ≥ 0 and 1 - a² + m_{i-1} - (1 + a²)·m_i + a²·m_{i+1} ≥ 0 (0 < i < n-1), by
differentiating the unique post-processing. Cleared of denominators these are integer polynomials, and Sturm's
theorem counts their roots in (0, 1) exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import flint

from sievert.errors import MechanismError
from sievert.numerics import abbreviated
from sievert.results import Result

__all__ = ["MonotoneExponential", "check_exponential_monotone", "roots_between_0_and_1"]


@dataclass(frozen=True)
class MonotoneExponential(Result):
    """Whether the conjecture is proved for n inputs, and how many polynomials were examined."""

    n: int
    holds: bool | None
    polynomials: int

    def __str__(self) -> str:
        word = {True: "proved", False: "refuted", None: "not decided"}[self.holds]
        return (
            f"{word} for {self.n} inputs ({self.polynomials} polynomials, roots in (0, 1) counted by Sturm)"
        )


def check_exponential_monotone(n: int) -> MonotoneExponential:
    """Prove (or refute) that the exponential mechanism on 0…n-1 gets safer as its parameter falls.

    >>> check_exponential_monotone(4).holds
    True
    """
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise MechanismError(f"n is {abbreviated(n)}; it must be a whole number ≥ 1")
    conditions = _conditions(n)
    signs = [_sign_on_unit_interval(polynomial) for polynomial in conditions]
    if any(sign is not None and sign < 0 for sign in signs):
        holds: bool | None = False
    else:
        holds = None if None in signs else True
    return MonotoneExponential(n, holds, len(conditions))


def _conditions(n: int) -> list[flint.fmpz_poly]:
    """The inequalities times their denominators; mirror images once."""
    if n < 2:
        return []
    sums = [_series([1] * n, i, n) for i in range(n)]
    moments = [_series(list(range(n)), i, n) for i in range(n)]
    square = flint.fmpz_poly([0, 0, 1])
    found = [sums[0] * sums[1] - moments[0] * sums[1] + moments[1] * sums[0]]
    for i in range(1, (n + 1) // 2):
        if i == n - 1:
            continue
        low, here, high = sums[i - 1], sums[i], sums[i + 1]
        found.append(
            (1 - square) * low * here * high
            + moments[i - 1] * here * high
            - (1 + square) * moments[i] * low * high
            + square * moments[i + 1] * low * here
        )
    return found


def _series(weights: list[int], i: int, n: int) -> flint.fmpz_poly:
    """Σ_y weights[|i-y|]·a^|i-y|."""
    coefficients = [0] * n
    for y in range(n):
        coefficients[abs(i - y)] += weights[abs(i - y)]
    return flint.fmpz_poly(coefficients)


def _sign_on_unit_interval(polynomial: flint.fmpz_poly) -> int | None:
    """1 or -1 when the polynomial keeps that sign on (0, 1), 0 when it is zero, None when it has roots."""
    if polynomial.degree() < 0:
        return 0
    stripped = _without_ends(polynomial)
    if roots_between_0_and_1(stripped):
        return None
    # The factors removed were powers of a and of 1 - a, which are positive there.
    return 1 if _at(stripped, 0) > 0 else -1


def _without_ends(polynomial: flint.fmpz_poly) -> flint.fmpz_poly:
    """The polynomial without its factors a and 1 - a."""
    for factor, at in ((flint.fmpz_poly([0, 1]), 0), (flint.fmpz_poly([1, -1]), 1)):
        while _at(polynomial, at) == 0:
            polynomial = polynomial // factor
    return polynomial


def _at(polynomial: flint.fmpz_poly, value: int) -> int:
    return int(polynomial(value))


def roots_between_0_and_1(polynomial: flint.fmpz_poly) -> int:
    """Number of distinct roots in (0, 1), for a polynomial with no root at 0 or 1 (Sturm's theorem).

    >>> roots_between_0_and_1(flint.fmpz_poly([1, -5, 6]))     # (1 - 2a)(1 - 3a)
    2
    """
    chain = [flint.fmpq_poly(polynomial), flint.fmpq_poly(polynomial.derivative())]
    while chain[-1].degree() > 0:
        rest = chain[-2] % chain[-1]
        if rest.degree() < 0:
            break
        # A positive factor changes no sign and keeps the numbers short.
        numerator = rest.numer()
        content = numerator.content()
        chain.append(-flint.fmpq_poly(numerator // content if content > 1 else numerator))
    return _variations(chain, 0) - _variations(chain, 1)


def _variations(chain: list[flint.fmpq_poly], at: int) -> int:
    values = [polynomial(at) for polynomial in chain]
    signs = [value > 0 for value in values if value != 0]
    return sum(1 for first, second in pairwise(signs) if first != second)
