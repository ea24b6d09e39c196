"""Numbers of proofs in words a reader can take in."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["at_most", "claim_in_words", "eps_in_words"]

LONGEST = 24


def eps_in_words(eps: Fraction) -> str:
    """ε exactly where that is short, else as a rounded decimal that says so.

    >>> eps_in_words(Fraction(1, 2)), eps_in_words(Fraction(1, 3)), eps_in_words(Fraction(2**60 + 1, 2**61))
    ('0.5', '1/3', '0.5 (rounded)')
    """
    rounded = f"{float(eps):.12g}"
    if Fraction(rounded) == eps:
        return rounded
    exact = str(eps)
    return exact if len(exact) <= LONGEST else f"{rounded} (rounded)"


def at_most(value: Fraction, digits: int = 3) -> str:
    """A number ≥ 0 with few digits, rounded up: what is said to be a bound is one.

    >>> at_most(Fraction(1, 3)), at_most(Fraction(2, 3) / 10**9), at_most(Fraction(0))
    ('0.334', '6.67e-10', '0')
    """
    shown = f"{float(value):.{digits}g}"
    if Fraction(shown) >= value:
        return shown
    unit = Fraction(f"1e{f'{float(value):.{digits - 1}e}'.partition('e')[2]}") / 10 ** (digits - 1)
    return f"{float(Fraction(shown) + unit):.{digits}g}"


def claim_in_words(eps: Fraction, delta: Fraction) -> str:
    """Both parameters of approximate differential privacy.

    >>> claim_in_words(Fraction(3), Fraction(1, 10**6))
    'ε = 3, δ = 1e-06'
    """
    return f"ε = {eps_in_words(eps)}, δ = {eps_in_words(delta)}"
