"""Noise that is added to every cell of a table, and how far off a released number will be.

ε is a fraction that is never too small: a logarithm is rounded up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.errors import FileError, MechanismError
from sievert.files import Scenario
from sievert.numerics.checks import brief
from sievert.numerics.logs import log_fraction
from sievert.numerics.rationals import as_fraction
from sievert.release.statistics import Statistic, consecutive
from sievert.sampling import (
    Sampler,
    discrete_laplace,
    truncated_geometric,
)
from sievert.tables.budget import amount, number

__all__ = ["AddedNoise", "Errors", "added_noise", "exact_alpha", "finite_eps", "rounded_up"]

IntArray = NDArray[np.int64]
# ε that is a logarithm is charged to so many decimals, or digits where it is small, rounded up; the margin is
# for the rounding of the float.
CHARGED_DIGITS = 9
ROUNDING_MARGIN = 1e-14
# A smaller alpha releases the data itself, for all that anybody could notice.
LEAST_ALPHA = Fraction(1, 10**300)


@dataclass(frozen=True)
class Errors:
    """How far a released number is from the truth.

    Attributes
    ----------
    sd : standard deviation of the noise
    mean : expected distance
    radius : the truth is within this distance with at least the asked-for probability
    kept : smallest probability that the released value is the true one (None: not a useful number here)
    """

    sd: float | None
    mean: float | None
    radius: Fraction | None
    kept: float | None = None


@dataclass(frozen=True)
class AddedNoise:
    """Discrete Laplace noise on every cell of a table, clamped to a public range if there is one."""

    eps: Fraction
    step_eps: Fraction | None
    step_alpha: Fraction | None
    step: Fraction
    limits: tuple[int, int] | None
    kind: str

    @property
    def rate(self) -> float:
        """ε of one step."""
        if self.step_eps is not None:
            return float(self.step_eps)
        assert self.step_alpha is not None
        return -log_fraction(self.step_alpha)

    @property
    def parameter(self) -> tuple[str, str]:
        """The parameter of the noise for one step, by its own name, as an exact text."""
        if self.step_eps is not None:
            return "eps_of_step", str(self.step_eps)
        return "alpha_of_step", str(self.step_alpha)

    def sampler(self, timing: Any = "fixed", insecure_rng: object = None) -> Sampler:
        """The exact sampler, on whole steps."""
        level: dict[str, Any] = {"eps": self.step_eps, "alpha": self.step_alpha}
        if self.limits is None:
            return discrete_laplace(**level, timing=timing, insecure_rng=insecure_rng)
        low, high = self.limits
        return truncated_geometric(**level, low=low, high=high, timing=timing, insecure_rng=insecure_rng)

    def errors(self, confidence: float) -> Errors:
        """Before clamping, which only brings numbers closer to the truth."""
        if self.rate == 0:
            return Errors(None, None, None)
        decay, step = math.exp(-self.rate), float(self.step)
        # P(|Z| > q) = 2·λ^(q+1)/(1+λ), E Z² = 2λ/(1-λ)² and E |Z| = 2λ/(1-λ²)
        q = max(0, math.ceil(math.log((1 - confidence) * (1 + decay) / 2) / -self.rate - 1 - 1e-12))
        scale = math.sqrt(2) * math.exp(-self.rate / 2) / -math.expm1(-self.rate)
        mean = 2 * decay / -math.expm1(-2 * self.rate)
        return Errors(step * scale, step * mean, q * self.step)

    def describe(self) -> str:
        """In words."""
        per = f"alpha = {self.step_alpha}" if self.step_eps is None else f"ε = {_short(self.step_eps)}"
        clamped = ""
        if self.limits is not None:
            low, high = (number(limit * self.step) for limit in self.limits)
            clamped = f", clamped to {low} … {high}"
        return f"discrete Laplace noise, {per} for each step of {number(self.step)}{clamped}"


def added_noise(
    scenario: Scenario, table: Statistic, steps: Fraction, absence: bool = False
) -> AddedNoise | None:
    """The noise that [mechanism] asks for on a table of sensitivity `steps`; None for other mechanisms.

    With `absence`, rows may be left out of the table.
    """
    model = scenario.document.mechanism
    assert model is not None
    if model.kind not in ("geometric", "truncated-geometric"):
        return None
    if model.kind == "truncated-geometric" and model.outputs is None:
        if len(table.cells) == 1 and not consecutive(table, scenario.policy):
            return None
        limits: tuple[int, int] | None = table.range(scenario.policy, absence)
    elif model.outputs is not None:
        limits = _steps_of(model.outputs, table.step)
    else:
        limits = None
    if model.eps is not None:
        eps = finite_eps(model.eps)
        per_step = eps / steps if steps else eps
        charged = eps if steps else Fraction(0)  # one record moves nothing
        return AddedNoise(charged, per_step, None, table.step, limits, model.kind)
    alpha = exact_alpha(model.alpha)
    if table.step.denominator != 1:
        raise FileError(
            f"mechanism.alpha is for one unit of the answer, but answers are multiples of {table.step}; give "
            "eps instead"
        )
    per_step_alpha = Fraction(alpha**table.step.numerator)
    eps = rounded_up(-log_fraction(per_step_alpha) * float(steps)) if alpha != 1 else Fraction(0)
    return AddedNoise(eps, None, per_step_alpha, table.step, limits, model.kind)


def finite_eps(value: float) -> Fraction:
    """The file's eps, as written; infinite ones are refused."""
    if not math.isfinite(value):
        raise FileError("mechanism.eps is infinite: the data itself would be released; give a finite eps")
    return amount(value, "mechanism.eps")


def exact_alpha(given: object) -> Fraction:
    """The file's alpha, as written; 0 would release the data itself."""
    rule = f"a release needs a number from {float(LEAST_ALPHA):g} to 1"
    try:
        alpha = as_fraction(str(given) if isinstance(given, float) else given)
    except ValueError:
        raise FileError(f"mechanism.alpha is {brief(given)}; {rule}") from None
    if not LEAST_ALPHA <= alpha <= 1:
        raise FileError(f"mechanism.alpha is {brief(given)}; {rule}")
    return alpha


def rounded_up(eps: float) -> Fraction:
    """A fraction that is certainly not below an ε computed in floating point.

    >>> rounded_up(math.log(3)), float(rounded_up(math.log1p(1e-5)))
    (Fraction(1098612289, 1000000000), 9.99995001e-06)
    """
    if not math.isfinite(eps):
        raise MechanismError("no ε is large enough for this mechanism: it rules values out with certainty")
    if eps <= 0:
        return Fraction(0)
    scale = 10 ** (CHARGED_DIGITS + max(0, -math.floor(math.log10(eps)) - 1))
    return Fraction(math.ceil(Fraction(eps * (1 + ROUNDING_MARGIN)) * scale), scale)


def _steps_of(outputs: Sequence[int], step: Fraction) -> tuple[int, int]:
    low, high = Fraction(min(outputs)) / step, Fraction(max(outputs)) / step
    if low.denominator != 1 or high.denominator != 1:
        raise FileError(f"mechanism.outputs: {min(outputs)} and {max(outputs)} must be multiples of {step}")
    return int(low), int(high)


def _short(value: Fraction) -> str:
    return str(value) if len(str(value)) <= 12 else number(value)
