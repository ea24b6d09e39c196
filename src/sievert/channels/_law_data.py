"""Laws of noise as plain data and back, for ledgers that remember what was planned."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import singledispatch
from typing import Any

from sievert.channels._gaussian_law import GaussianLaw
from sievert.channels._laws import EpsilonOrAlpha, GeometricLaw, NoiseLaw, StaircaseLaw
from sievert.errors import MechanismError
from sievert.numerics import abbreviated, log_fraction

__all__ = ["law_from_data", "law_to_data"]


@singledispatch
def law_to_data(law: NoiseLaw) -> dict[str, Any]:
    """The law and its exact parameters: equal data are equal noise."""
    raise MechanismError(f"{law.words()} cannot be written down")


@law_to_data.register
def _(law: GeometricLaw) -> dict[str, Any]:
    name, value = law.written
    return {"law": "geometric", name: str(value)}


@law_to_data.register
def _(law: GaussianLaw) -> dict[str, Any]:
    return {"law": "gaussian", "variance": str(law.variance)}


@law_to_data.register
def _(law: StaircaseLaw) -> dict[str, Any]:
    return {"law": "staircase", "eps": str(law.eps), "sensitivity": law.sensitivity, "top": law.top}


def _geometric(data: Mapping[str, Any]) -> NoiseLaw:
    if "eps" in data:
        eps = Fraction(data["eps"])
        return GeometricLaw(EpsilonOrAlpha(float(eps), None, exact_eps=eps))
    alpha = Fraction(data["alpha"])
    return GeometricLaw(EpsilonOrAlpha(-log_fraction(alpha) if alpha < 1 else 0.0, alpha, exact_alpha=alpha))


LAWS: Mapping[str, Callable[[Mapping[str, Any]], NoiseLaw]] = {
    "geometric": _geometric,
    "gaussian": lambda data: GaussianLaw.of_variance(Fraction(data["variance"])),
    "staircase": lambda data: StaircaseLaw(Fraction(data["eps"]), int(data["sensitivity"]), int(data["top"])),
}


def law_from_data(data: Mapping[str, Any]) -> NoiseLaw:
    """The law that was written down.

    >>> law = GeometricLaw(EpsilonOrAlpha(0.25, None, exact_eps=Fraction(1, 4)))
    >>> law_from_data(law_to_data(law)) == law
    True
    """
    try:
        found = LAWS[data["law"]](data)
        if math.isnan(found.deviation):
            raise ValueError
        return found
    except (ArithmeticError, KeyError, TypeError, ValueError):
        raise MechanismError(f"{abbreviated(data)} is no law of noise that this version knows") from None
