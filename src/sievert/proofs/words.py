"""Numbers of proofs in words a reader can take in."""

from __future__ import annotations

from fractions import Fraction

__all__ = ["claim_in_words", "eps_in_words"]

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


def claim_in_words(eps: Fraction, delta: Fraction) -> str:
    """Both parameters of approximate differential privacy.

    >>> claim_in_words(Fraction(3), Fraction(1, 10**6))
    'ε = 3, δ = 1e-06'
    """
    return f"ε = {eps_in_words(eps)}, δ = {eps_in_words(delta)}"
