"""What a file can name as a mechanism: the noun, and the parameter that most families have.

The parameter is eps in nats, or alpha = e^-eps (rational for exact channels). Each family is one class,
beside the function that makes its channel.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator

from sievert import spaces
from sievert.channels import Channel, EpsilonOrAlpha, NoiseLaw
from sievert.errors import FileError, MechanismError
from sievert.kinds import ConfigType, NonNegative, PublicPath, variant
from sievert.numerics import abbreviated, as_fraction, is_exact, log_fraction, non_negative, read_eps
from sievert.policies import Answers, Policy, Query, Sensitivity, Statistic
from sievert.spaces import Labels, Metric, labels_of

__all__ = ["EpsilonFamily", "Family", "NoiseSpec", "inputs_of", "privacy"]

# An exact channel holds powers of alpha; a ratio longer than this (100 digits) is no measurement. Floats have
# denominators of up to 2^1074 and are computed with as floats.
MOST_BITS = 333


def privacy(eps: object, alpha: object) -> EpsilonOrAlpha:
    """Read exactly one of eps and alpha."""
    if (eps is None) == (alpha is None):
        given = "both eps and alpha are" if eps is not None else "neither eps nor alpha is"
        raise MechanismError(f"{given} given; give exactly one (alpha = e^-eps)")
    if alpha is not None:
        return _from_alpha(alpha)
    value = level("eps", eps)
    if math.isinf(value):
        return EpsilonOrAlpha(value, Fraction(0))
    if value == 0:
        return EpsilonOrAlpha(value, Fraction(1), exact_eps=Fraction(0))
    return EpsilonOrAlpha(value, None, exact_eps=as_fraction(eps) if is_exact(eps) else read_eps(value))


def level(argument: str, eps: object) -> float:
    """ε in nats as a float; an exact number may be written as a text."""
    if not isinstance(eps, str):
        return non_negative(argument, eps, MechanismError, infinite=True)
    try:
        number = math.inf if eps == "inf" else float(as_fraction(eps))
    except (ValueError, OverflowError):
        number = -1.0
    if number < 0:
        raise MechanismError(f"{argument} is {abbreviated(eps)}; it must be a number ≥ 0")
    return number


def _from_alpha(alpha: object) -> EpsilonOrAlpha:
    rule = "it must be a number from 0 (reveal everything) to 1 (reveal nothing)"
    try:
        if isinstance(alpha, bool):
            raise ValueError
        value = as_fraction(alpha)
    except ValueError:
        raise MechanismError(f"alpha is {abbreviated(alpha)}; {rule}") from None
    if not 0 <= value <= 1:
        raise MechanismError(f"alpha is {abbreviated(alpha)}; {rule}")
    if is_exact(alpha) and value.denominator.bit_length() > MOST_BITS:
        raise MechanismError(
            f"alpha is {abbreviated(alpha)}, a ratio of numbers of more than 100 digits, whose powers "
            f"would fill "
            "the memory; round it, or give eps"
        )
    eps = math.inf if value == 0 else max(0.0, -log_fraction(value))
    if is_exact(alpha) or value in (0, 1):
        return EpsilonOrAlpha(eps, value)
    return EpsilonOrAlpha(eps, None, exact_alpha=read_eps(float(value)))


def inputs_of(n: object, argument: str = "n") -> Labels:
    """Labels of n inputs, or the given labels."""
    return labels_of(n, argument, "inputs", MechanismError)


# ── The noun ────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class NoiseSpec(ABC):
    """Noise on numbers, which a table over data gets in every cell.

    Attributes
    ----------
    eps, alpha : as the file writes them: ε for the policy, or the ratio for one unit of the answer
    outputs : the numbers to which the noisy one is clamped
    clamps : whether it is clamped to the range of the answers where the file names no outputs
    """

    # Whether some finite list of outputs tells as much as all integers do.
    listed: ClassVar[bool] = True

    eps: float | None = None
    alpha: str | float | int | None = None
    outputs: list[int] | None = None
    clamps: bool = False

    @abstractmethod
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
        """The noise in one cell, in steps, for eps and alpha as they were read.

        The policy says which cells one record moves together, and `absence` that it may be left out.
        """


class Family(ConfigType, noun="mechanism"):
    """What is released: a family of channels with its parameter, or a channel in a public file."""

    tables_only = True
    # Candidates of a design are listed in this order.
    homes = (
        "sievert.mechanisms._noise",
        "sievert.mechanisms._staircase",
        "sievert.mechanisms._gaussian",
        "sievert.mechanisms._from_metric",
        "sievert.mechanisms._exponential",
        "sievert.mechanisms._response",
        "sievert.mechanisms._extreme",
        "sievert.mechanisms._laplace",
        "sievert.mechanisms._family",
    )
    elsewhere: ClassVar[Mapping[str, str]] = {
        "laplace": 'the discrete Laplace is called "geometric" here, on an interval "truncated-laplace"',
        "discrete-laplace": 'the discrete Laplace is called "geometric" here',
        "discrete-gaussian": 'it is called "gaussian" here',
        "normal": 'Gaussian noise on the integers is called "gaussian" here',
        "rr": 'it is called "randomised-response" here',
        "grr": 'it is called "randomised-response" here',
        "k-rr": 'it is called "randomised-response" here',
        "warner": 'it is called "randomised-response" here',
        "planar-laplace": 'the discrete planar Laplace is called "planar-geometric" here',
        "geo-indistinguishability": 'use "planar-geometric" noise, with a region as secrets',
    }
    # What theorems about the order of two families on 0…n-1 call it; None: they do not speak of it.
    in_theorems: ClassVar[str | None] = None

    @abstractmethod
    def channel(self, answers: Answers, query: Query) -> Channel:
        """The law: which answer is released as what, and how often."""

    @abstractmethod
    def claimed(self, policy: Policy, query: Query) -> float | None:
        """The ε promised for the policy, which needs no list of answers; None: none is promised."""

    @abstractmethod
    def words(self) -> str:
        """The family and its parameter."""

    def with_eps(self, eps: float) -> Family | None:
        """The same family with another ε promised for the policy; None: it has no other."""
        return None

    @classmethod
    def title(cls) -> str:
        """The family in words."""
        return str(cls.declared()).replace("-", " ")

    @classmethod
    def candidate(cls, metric: Metric, eps: float) -> Channel | None:
        """The member that satisfies ε for a metric, as a design weighs it; None: no standard mechanism."""
        return None

    @classmethod
    def on_line(cls, n: int, eps: float) -> Channel | None:
        """The candidate on 0…n-1."""
        return cls.candidate(spaces.metrics.line(n), eps)

    def written(self) -> dict[str, Any]:
        """The parameter as the file writes it: eps, alpha, or neither."""
        return {}

    @property
    def promised(self) -> float | None:
        """The ε that the file writes and that is a promise, not a mere parameter."""
        return None

    def settled(
        self, statistic: Statistic, sensitivity: Sensitivity, policy: Policy, absence: bool = False
    ) -> Family:
        """The family with the parameter that its accuracy takes for a table; itself where it has one."""
        return self

    @property
    def is_settled(self) -> bool:
        """Whether its parameter is written, and not an accuracy that a table is needed for."""
        return True

    @property
    def approximate(self) -> tuple[float, float] | None:
        """The ε and δ > 0 that the file writes as a promise; None: it writes none."""
        return None

    def added(self) -> NoiseSpec | None:
        """Noise on numbers, if that is what it is."""
        return None

    @property
    def per_metre(self) -> float | None:
        """ε for each metre, if it is noise on a map."""
        return None


class EpsilonFamily(Family):
    """A family with one parameter, eps or alpha."""

    model_config = ConfigDict(
        json_schema_extra={"oneOf": [{"required": ["eps"]}, {"required": ["alpha"]}]},
    )

    eps: Annotated[NonNegative | None, Field(description="the ε promised for the policy, in nats")] = None
    alpha: Annotated[
        str | float | int | None,
        Field(description="e^-ε instead of eps; a fraction in quotes makes the channel exact"),
    ] = None

    @model_validator(mode="after")
    def _one_parameter(self) -> Self:
        if (self.eps is None) == (self.alpha is None):
            raise ValueError("give exactly one of eps and alpha (alpha = e^-eps)")
        return self

    def claimed(self, policy: Policy, query: Query) -> float | None:
        return privacy(self.eps, self.alpha).eps

    def words(self) -> str:
        parameter = f"eps = {self.eps:g}" if self.eps is not None else f"alpha = {self.alpha}"
        return f"{self.title()}, {parameter}"

    def with_eps(self, eps: float) -> Family:
        return self.model_copy(update={"eps": eps, "alpha": None})

    def written(self) -> dict[str, Any]:
        return {"eps": self.eps} if self.eps is not None else {"alpha": self.alpha}

    @property
    def promised(self) -> float | None:
        return self.eps


@variant(Family, key="matrix")
class MatrixMechanism(Family):
    """A channel of your own, in a public file with a row for each answer of the query, in any order."""

    matrix: Annotated[
        PublicPath,
        Field(description="a channel as .csv, .npz or .parquet; a histogram's row is called [2, 1]"),
    ]
    eps: Annotated[NonNegative | None, Field(description="the ε it is claimed to satisfy, in nats")] = None

    def channel(self, answers: Answers, query: Query) -> Channel:
        found: Channel = self.matrix.channel(answers.labels)
        missing = [answer for answer in answers.labels if answer not in found.inputs]
        if missing or len(found.inputs) != len(answers.labels):
            what = f"no row for {missing[0]!r}" if missing else f"{len(found.inputs)} rows"
            raise FileError(
                f"matrix: {self.matrix} has {what}; it needs one row for each of the "
                f"{len(answers.labels)} answers of the query"
            )
        return found

    def claimed(self, policy: Policy, query: Query) -> float | None:
        return self.eps

    def words(self) -> str:
        return f"the matrix in {self.matrix}"

    @property
    def promised(self) -> float | None:
        return self.eps
