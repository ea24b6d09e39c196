"""Gaussian noise on tables and sums, as a file names it: by sigma, in the units of the answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Never

from pydantic import Field, field_validator

from sievert.channels import GaussianLaw, NoiseLaw
from sievert.errors import MechanismError, TooLargeError
from sievert.kinds import kind
from sievert.mechanisms._family import AddedToNumbers, Family
from sievert.numerics import as_fraction, brief
from sievert.policies import Answers, Policy, Query, Sensitivity, Statistic

__all__ = ["Gaussian"]

# What the exact sampler takes, in steps.
LARGEST_SIGMA = Fraction(2**40)
# A narrower law is no noise: P(0) rounds to 1.
LEAST_SIGMA = Fraction(1, 10)


@dataclass(frozen=True)
class AddedGaussian(AddedToNumbers):
    """Gaussian noise of σ in the units of the answer, whatever one record can change."""

    listed: ClassVar[bool] = False

    sigma: Fraction = Fraction(1)

    def law(
        self, statistic: Statistic, sensitivity: Sensitivity, eps: Fraction | None, alpha: Fraction | None
    ) -> NoiseLaw:
        steps = self.sigma / statistic.step
        if not LEAST_SIGMA <= steps <= LARGEST_SIGMA:
            raise MechanismError(
                f"sigma is {brief(str(self.sigma))}, {float(steps):.3g} steps of the answer; noise on whole "
                f"steps needs {float(LEAST_SIGMA):g} to 2^40 of them"
            )
        return GaussianLaw(steps)


@kind(Family, "gaussian")
class Gaussian(Family):
    """Gaussian noise on the multiples of the answer's step, for tables over all records; it keeps no ε."""

    sigma: Annotated[
        str | float | int,
        Field(description="σ in the units of the answer; exact as a number or a fraction in quotes"),
    ]

    @field_validator("sigma")
    @classmethod
    def _positive(cls, given: str | float | int) -> str | float | int:
        try:
            value = _exactly(given)
        except ValueError:
            raise ValueError("sigma must be a finite number above 0, or a fraction in quotes") from None
        if value <= 0:
            raise ValueError("sigma must be above 0: without noise the data itself would be released")
        return given

    def channel(self, answers: Answers, query: Query) -> Never:
        if query.is_record:
            raise MechanismError(
                "gaussian noise goes with counts, sums and histograms over all records; use "
                '"truncated-geometric" for values released one by one'
            )
        raise TooLargeError(
            "gaussian noise is on all integers, and no list of outputs keeps its ratios", size=math.inf
        )

    def claimed(self, policy: Policy, query: Query) -> None:
        """None: far out in the tails the odds of any two answers grow without bound."""
        return None

    def words(self) -> str:
        return f"{self.title()}, sigma = {self.sigma}"

    def written(self) -> dict[str, Any]:
        return {"sigma": self.sigma}

    def added(self) -> AddedGaussian:
        return AddedGaussian(sigma=_exactly(self.sigma))


def _exactly(given: str | float | int) -> Fraction:
    """As the file writes it: 0.1 is one tenth."""
    if isinstance(given, bool):
        raise ValueError("a truth value")
    return as_fraction(str(given) if isinstance(given, float) else given)
