"""Gaussian noise on tables and sums, as a file names it: by σ in units of the answer, by ρ, or by ε and δ.

ρ is exact: the largest |Δ|²/2σ² over the moves Δ of one record. ε and δ are kept by the discrete Gaussian
itself, at every move that no other exceeds; it is not dominated by the Gaussian of equal σ, so neither
Φ(μ/2) nor Balle and Wang's calibration is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Never, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from sievert.channels import GaussianLaw, NoiseLaw
from sievert.errors import MechanismError, TooLargeError
from sievert.kinds import variant
from sievert.mechanisms._accuracy import Accuracy, largest_scale
from sievert.mechanisms._family import Family, NoiseSpec
from sievert.numerics import abbreviated, as_fraction
from sievert.policies import (
    Answers,
    CellMove,
    Policy,
    Query,
    Sensitivity,
    Statistic,
    cell_moves,
    joint_sensitivity,
)

__all__ = ["Gaussian", "GaussianNoiseSpec", "squared_sensitivity"]

# What the exact sampler takes, in steps.
LARGEST_SIGMA = Fraction(2**40)
# A narrower law is no noise: P(0) rounds to 1.
LEAST_SIGMA = Fraction(1, 10)
# Digits of a σ that is searched for, and by how much a δ that is summed in floats must stay below the limit.
SIGMA_DIGITS, ROUNDING = 12, 1e-10
RULES = {
    "sigma": "σ in the units of the answer; exact as a number or a fraction in quotes",
    "rho": "instead of sigma: ρ of zero-concentrated privacy for one record, exact as a number or a fraction",
    "eps": "with delta, instead of sigma: the ε in nats that the discrete Gaussian itself keeps at delta",
}
Number = str | float | int


def squared_sensitivity(policy: Policy, statistic: Statistic, absence: bool = False) -> Fraction:
    """The largest |Δ|² (steps) over the moves of one record, for one unit of distance squared.

    >>> policy = Policy.differential(["a", "b", "c"], 10)
    >>> squared_sensitivity(policy, Query.histogram().statistic(policy))
    Fraction(2, 1)
    """
    return joint_sensitivity(policy, [statistic], [_square], absence=absence, power=2).cost


def _square(steps: int) -> Fraction:
    return Fraction(steps * steps)


@dataclass(frozen=True)
class GaussianNoiseSpec(NoiseSpec):
    """Gaussian noise of σ in the units of the answer, or of what ρ, or ε and δ, take."""

    listed: ClassVar[bool] = False

    sigma: Fraction | None = None
    rho: Fraction | None = None
    level: Fraction | None = None
    delta: Fraction | None = None

    def law(
        self,
        statistic: Statistic,
        sensitivity: Sensitivity,
        eps: Fraction | None,
        alpha: Fraction | None,
        *,
        policy: Policy,
        absence: bool = False,
    ) -> NoiseLaw:
        if self.sigma is not None:
            return _within("sigma", self.sigma, GaussianLaw(self.sigma / statistic.step))
        if not sensitivity.moves:
            return GaussianLaw(Fraction(1))
        if self.rho is not None:
            variance = squared_sensitivity(policy, statistic, absence) / (2 * self.rho)
            return _within("rho", self.rho, GaussianLaw.of_variance(variance))
        assert self.level is not None and self.delta is not None
        moves = _moves(policy, statistic, absence)
        return _within("delta", self.delta, _calibrated(moves, float(self.level), float(self.delta)))

    def of_rho(self, statistic: Statistic, rho: Fraction, policy: Policy, absence: bool = False) -> NoiseLaw:
        """The noise with which one table costs this ρ, whatever it is that the file writes."""
        squared = squared_sensitivity(policy, statistic, absence)
        if not squared:
            return GaussianLaw(Fraction(1))
        name, given = ("rho", self.rho) if self.delta is None else ("delta", self.delta)
        return _within(name, given or rho, GaussianLaw.of_variance(squared / (2 * rho)))


def _within(name: str, given: Fraction, law: GaussianLaw) -> GaussianLaw:
    if not LEAST_SIGMA <= law.sigma <= LARGEST_SIGMA:
        raise MechanismError(
            f"{name} is {abbreviated(str(given))}, a σ of {float(law.sigma):.3g} steps of the answer; noise "
            f"on whole steps needs {float(LEAST_SIGMA):g} to 2^40 of them"
        )
    return law


def _moves(policy: Policy, statistic: Statistic, absence: bool) -> tuple[CellMove, ...]:
    if policy.is_metric:
        raise MechanismError(
            "eps and delta say nothing of distances; on a metric give rho, which is for a unit of distance "
            "squared"
        )
    if policy.constrained:
        raise MechanismError(
            "eps and delta: under public knowledge several records move at once; give rho instead"
        )
    return cell_moves(policy, statistic, absence)


def _calibrated(moves: tuple[CellMove, ...], eps: float, delta: float) -> GaussianLaw:
    """The least σ of 12 digits at which a search ends; δ(ε) is then summed at it for every move.

    δ need not fall with σ, so what is certain is the σ that is used, not that it is least.
    """

    def kept(sigma: Fraction) -> bool:
        found = (GaussianLaw(sigma).delta_of(move.steps, eps) for move in moves)
        return all(part is not None and part * (1 + ROUNDING) <= delta for part in found)

    longest = max(math.sqrt(sum(steps * steps for steps in move.steps)) for move in moves)
    high = Fraction(longest).limit_denominator(10**6)
    while not kept(high):
        high *= 2
        if high > 2 * LARGEST_SIGMA:
            break
    return GaussianLaw(_least(kept, high / 2**7, high))


def _least(kept: Callable[[Fraction], bool], low: Fraction, high: Fraction) -> Fraction:
    """Between a σ that may be too small and one that is kept: bisected to 12 digits, rounded up."""
    low = max(low, LEAST_SIGMA)
    if kept(low):
        return low
    while high / low > 1 + Fraction(1, 10**SIGMA_DIGITS):
        middle = _rounded_up((low + high) / 2)
        if not low < middle < high:
            break
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high


def _rounded_up(value: Fraction) -> Fraction:
    scale = Fraction(10) ** (SIGMA_DIGITS - math.floor(math.log10(value)))
    return Fraction(math.ceil(value * scale)) / scale


@variant(Family, "gaussian")
class Gaussian(Family):
    """Gaussian noise on the multiples of the answer's step, for tables over all records; it keeps no ε."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [
                {"required": ["sigma"]},
                {"required": ["rho"]},
                {"required": ["eps", "delta"]},
                {"required": ["accuracy"]},
            ]
        },
    )

    sigma: Annotated[Number | None, Field(description=RULES["sigma"])] = None
    rho: Annotated[Number | None, Field(description=RULES["rho"])] = None
    eps: Annotated[Number | None, Field(description=RULES["eps"])] = None
    delta: Annotated[Number | None, Field(description="with eps: δ, between 0 and 1")] = None

    accuracy: Annotated[
        Accuracy | None,
        Field(description="how close to the truth, instead of sigma: the largest σ that keeps it"),
    ] = None

    @field_validator("sigma", "rho", "eps", "delta")
    @classmethod
    def _positive(cls, given: Number | None, info: Any) -> Number | None:
        name = info.field_name
        if given is None:
            return None
        try:
            value = _exactly(given)
        except ValueError:
            raise ValueError(f"{name} must be a finite number above 0, or a fraction in quotes") from None
        if value <= 0:
            nothing = {"sigma": ": without noise the data itself would be released"}
            raise ValueError(f"{name} must be above 0{nothing.get(name, '')}")
        if name == "delta" and value >= 1:
            raise ValueError("delta must be below 1: from there on nothing is promised")
        return given

    @model_validator(mode="after")
    def _one_parameter(self) -> Self:
        given = [name for name in ("sigma", "rho", "eps", "accuracy") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                "give exactly one of sigma, rho, accuracy, and eps with delta (given: "
                f"{', '.join(given) or 'none'})"
            )
        if (self.eps is None) != (self.delta is None):
            raise ValueError("eps and delta go together; Gaussian noise keeps no ε without a δ")
        return self

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
        written = [f"{name} = {value}" for name, value in self.written().items()]
        asked = [] if self.accuracy is None else [self.accuracy.words()]
        return ", ".join([self.title(), *written, *asked])

    def written(self) -> dict[str, Any]:
        return self.model_dump(include={"sigma", "rho", "eps", "delta"}, exclude_none=True)

    @property
    def is_settled(self) -> bool:
        return self.accuracy is None

    def settled(
        self, statistic: Statistic, sensitivity: Sensitivity, policy: Policy, absence: bool = False
    ) -> Family:
        if self.accuracy is None:
            return self
        steps = largest_scale(self.accuracy, len(statistic.cells), statistic.step, GaussianLaw)
        return self.model_copy(update={"sigma": str(steps * statistic.step), "accuracy": None})

    @property
    def approximate(self) -> tuple[float, float] | None:
        if self.eps is None or self.delta is None:
            return None
        return float(_exactly(self.eps)), float(_exactly(self.delta))

    def added(self) -> GaussianNoiseSpec:
        sigma, rho, eps, delta = (
            None if given is None else _exactly(given)
            for given in (self.sigma, self.rho, self.eps, self.delta)
        )
        return GaussianNoiseSpec(sigma=sigma, rho=rho, level=eps, delta=delta)


def _exactly(given: Number) -> Fraction:
    """As the file writes it: 0.1 is one tenth."""
    if isinstance(given, bool):
        raise ValueError("a truth value")
    return as_fraction(str(given) if isinstance(given, float) else given)
