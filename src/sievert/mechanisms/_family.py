"""The privacy parameter of a family: eps in nats, or alpha = e^-eps (rational for exact channels)."""

from __future__ import annotations

import math
from fractions import Fraction

from sievert.channels import Privacy
from sievert.errors import MechanismError
from sievert.numerics import as_fraction, brief, is_exact, log_fraction, non_negative, read_eps
from sievert.spaces import Labels, labels_of

__all__ = ["inputs_of", "privacy"]

# An exact channel holds powers of alpha; a ratio longer than this (100 digits) is no measurement. Floats have
# denominators of up to 2^1074 and are computed with as floats.
MOST_BITS = 333


def privacy(eps: object, alpha: object) -> Privacy:
    """Read exactly one of eps and alpha."""
    if (eps is None) == (alpha is None):
        given = "both eps and alpha are" if eps is not None else "neither eps nor alpha is"
        raise MechanismError(f"{given} given; give exactly one (alpha = e^-eps)")
    if alpha is not None:
        return _from_alpha(alpha)
    value = level("eps", eps)
    if math.isinf(value):
        return Privacy(value, Fraction(0))
    if value == 0:
        return Privacy(value, Fraction(1), exact_eps=Fraction(0))
    return Privacy(value, None, exact_eps=as_fraction(eps) if is_exact(eps) else read_eps(value))


def level(argument: str, eps: object) -> float:
    """ε in nats as a float; an exact number may be written as a text."""
    if not isinstance(eps, str):
        return non_negative(argument, eps, MechanismError, infinite=True)
    try:
        number = math.inf if eps == "inf" else float(as_fraction(eps))
    except (ValueError, OverflowError):
        number = -1.0
    if number < 0:
        raise MechanismError(f"{argument} is {brief(eps)}; it must be a number ≥ 0")
    return number


def _from_alpha(alpha: object) -> Privacy:
    rule = "it must be a number from 0 (reveal everything) to 1 (reveal nothing)"
    try:
        value = as_fraction(alpha)
    except ValueError:
        raise MechanismError(f"alpha is {brief(alpha)}; {rule}") from None
    if not 0 <= value <= 1:
        raise MechanismError(f"alpha is {brief(alpha)}; {rule}")
    if is_exact(alpha) and value.denominator.bit_length() > MOST_BITS:
        raise MechanismError(
            f"alpha is {brief(alpha)}, a ratio of numbers of more than 100 digits, whose powers would fill "
            "the memory; round it, or give eps"
        )
    eps = math.inf if value == 0 else max(0.0, -log_fraction(value))
    if is_exact(alpha) or value in (0, 1):
        return Privacy(eps, value)
    return Privacy(eps, None, exact_alpha=read_eps(float(value)))


def inputs_of(n: object, argument: str = "n") -> Labels:
    """Labels of n inputs, or the given labels."""
    return labels_of(n, argument, "inputs", MechanismError)
