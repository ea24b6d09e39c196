"""Noise by the accuracy that is asked for: within a distance of the truth at a confidence, and no closer.

A cell is off by more than w steps with probability β at most; all k cells are within w together where each
misses with 1 - (1-β)^(1/k); the total of k cells is a sum of independent draws. ε is searched for and rounded
up, σ rounded down, and what is used is evaluated forwards again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import Field

from sievert.channels import NoiseLaw, total_error
from sievert.errors import MechanismError
from sievert.kinds import Section
from sievert.numerics import as_fraction

__all__ = ["Accuracy", "largest_scale", "least_level"]

# Digits of an ε or σ that is searched for.
DIGITS = 12
LEAST, MOST = Fraction(1, 10**9), Fraction(10**9)


class Accuracy(Section):
    """What a released number must keep, instead of eps or sigma."""

    within: Annotated[
        float,
        Field(
            ge=0,
            allow_inf_nan=False,
            description="how far off it may be, in units of the answer; 0: exactly right",
        ),
    ]
    confidence: Annotated[float, Field(gt=0, lt=1, description="with at least this probability")] = 0.95
    of: Annotated[
        Literal["cell", "all", "total"],
        Field(description="each cell by itself, all cells together, or the total of all cells"),
    ] = "cell"

    def words(self) -> str:
        """What is asked for."""
        what = {"cell": "each cell", "all": "all cells together", "total": "the total"}[self.of]
        how = "exactly right" if self.within == 0 else f"within {self.within:g}"
        return f"{what} {how} with probability {self.confidence:g}"

    def steps(self, step: Fraction) -> int:
        """Whole steps that are within it: noise moves the answer by whole steps, or leaves it as it is."""
        return math.floor(as_fraction(str(self.within)) / step)

    def kept(self, law: NoiseLaw, cells: int, step: Fraction) -> bool:
        """Whether noise of a law in so many cells is accurate enough."""
        within = self.steps(step)
        if self.of == "total":
            return total_error(law, cells, self.confidence).radius <= within
        # 1 - (1-β)^(1/k) with its digits.
        missed = -math.expm1(math.log(self.confidence) / (1 if self.of == "cell" else cells))
        return law.beyond(math.log(missed)) <= within


def least_level(
    accuracy: Accuracy, cells: int, step: Fraction, law_of: Callable[[Fraction], NoiseLaw]
) -> Fraction:
    """The least ε, of 12 digits, whose noise is accurate enough; noise falls as ε grows.

    >>> from sievert.channels import GeometricLaw, EpsilonOrAlpha
    >>> def law(eps): return GeometricLaw(EpsilonOrAlpha(float(eps), None, exact_eps=eps))
    >>> float(least_level(Accuracy(within=10), 1, Fraction(1), law))
    0.284348512423
    """
    return _searched(lambda eps: accuracy.kept(law_of(eps), cells, step), accuracy)


def largest_scale(
    accuracy: Accuracy, cells: int, step: Fraction, law_of: Callable[[Fraction], NoiseLaw]
) -> Fraction:
    """The largest σ in steps, of 12 digits, whose noise is accurate enough."""
    found = _searched(lambda inverse: accuracy.kept(law_of(1 / inverse), cells, step), accuracy)
    sigma = _rounded(1 / found, up=False)
    return sigma if accuracy.kept(law_of(sigma), cells, step) else 1 / found


def _searched(kept: Callable[[Fraction], bool], accuracy: Accuracy) -> Fraction:
    """The least number that is kept, where larger ones are too; rounded up."""
    low = high = Fraction(1)
    while not kept(high):
        low, high = high, 4 * high
        if high > MOST:
            raise MechanismError(f"accuracy: no noise keeps {accuracy.words()}; allow more")
    while low == high or kept(low):
        low, high = low / 4, low
        if low < LEAST:
            raise MechanismError(f"accuracy: all noise keeps {accuracy.words()}; ask for more")
    while high / low > 1 + Fraction(1, 10 ** (DIGITS + 1)):
        middle = _rounded((low + high) / 2, up=True)
        if not low < middle < high:
            break
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high


def _rounded(value: Fraction, up: bool) -> Fraction:
    """To 12 digits."""
    scale = Fraction(10) ** (DIGITS - 1 - math.floor(math.log10(value)))
    return Fraction((math.ceil if up else math.floor)(value * scale)) / scale
