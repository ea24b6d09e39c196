"""Noise on numbers, tables and maps: channels without a list of outputs, and the families that add it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Never, Self

import numpy as np
from pydantic import Field, model_validator

from sievert.channels import (
    Channel,
    EpsilonOrAlpha,
    GeometricLaw,
    GroupedSumNoise,
    HistogramNoise,
    NoiseLaw,
    PlanarNoise,
    ScalarNoise,
    TableNoise,
)
from sievert.errors import MechanismError, QueryError
from sievert.kinds import NonNegative, variant
from sievert.mechanisms._accuracy import Accuracy, least_level
from sievert.mechanisms._family import EpsilonFamily, Family, NoiseSpec, privacy
from sievert.mechanisms._geometric import geometric, truncated_geometric
from sievert.numerics import abbreviated, log_fraction, read_eps, rounded_to
from sievert.policies import Answers, Policy, Query, Sensitivity, Statistic
from sievert.proofs import GEOMETRIC
from sievert.spaces import GridRegion, Labels, Metric, Region

__all__ = [
    "add_to_table",
    "consecutive_outputs",
    "eps_of_unit",
    "geometric_law",
    "geometric_table_noise",
    "planar_noise",
    "unit_sensitivity",
]

# ε for a cell's width that the exact sampler of planar noise takes.
LEAST_STEP = Fraction(1, 2**24)
LARGEST_STEP = 700


def geometric_table_noise(
    statistic: Statistic,
    steps: Fraction,
    eps: Fraction | None = None,
    *,
    alpha: Fraction | None = None,
    limits: tuple[int, int] | None = None,
) -> TableNoise:
    """Geometric noise on every cell of a table, which one unit of the policy's distance moves by `steps`.

    Parameters
    ----------
    statistic : the table
    steps : its sensitivity (see `Statistic.sensitivity`)
    eps, alpha : exactly one of the ε promised for the policy, and the ratio e^-ε of one unit of the answer
    limits : least and greatest number of steps that is released; noisy cells beyond are clamped

    Examples
    --------
    >>> from sievert.policies import Policy, Query
    >>> policy = Policy.differential(["a", "b", "c"], 10**6)
    >>> table = Query.histogram().statistic(policy)
    >>> noise = geometric_table_noise(table, table.sensitivity(policy).steps, Fraction(1))
    >>> noise.written, noise.epsilon(policy)
    (('eps', Fraction(1, 2)), Fraction(1, 1))
    """
    return add_to_table(statistic, geometric_law(statistic, steps, eps, alpha), limits)


def add_to_table(statistic: Statistic, law: NoiseLaw, limits: tuple[int, int] | None = None) -> TableNoise:
    """Noise of one law in every cell of a table."""
    counted = set(statistic.distinct[:3].tolist()) <= {0, 1}
    make = ScalarNoise if len(statistic.cells) == 1 else HistogramNoise if counted else GroupedSumNoise
    return make(statistic, law, limits)


def geometric_law(
    statistic: Statistic, steps: Fraction, eps: Fraction | None, alpha: Fraction | None
) -> GeometricLaw:
    """Of ε for a table that a unit of distance moves by `steps`, or of a ratio for one unit of the answer."""
    if eps is not None:
        return GeometricLaw(privacy(eps / steps if steps else eps, None))
    if statistic.step.denominator != 1:
        raise MechanismError(
            f"alpha is for one unit of the answer, but answers are multiples of {statistic.step}; give eps "
            "instead"
        )
    if alpha is None:
        raise MechanismError("neither eps nor alpha is given; give exactly one (alpha = e^-eps)")
    ratio = Fraction(alpha**statistic.step.numerator)
    return GeometricLaw(EpsilonOrAlpha(max(0.0, -log_fraction(ratio)), ratio))


def eps_of_unit(eps: float, query: Query, policy: Policy) -> Fraction | float:
    """ε of one unit of a query's answers for an ε promised for the policy, exact where it is a fraction.

    >>> from sievert.policies import Policy, Query
    >>> eps_of_unit(0.5, Query.sum(), Policy.differential([0, 1, 3], 10))
    Fraction(1, 6)
    """
    try:
        statistic = query.statistic(policy)
        found = None if statistic is None else statistic.sensitivity(policy).steps * statistic.step
    except QueryError:  # distances of 0, or totals too large for exact arithmetic
        found = None
    if found is None or math.isinf(eps):
        return eps / (query.sensitivity(policy) or 1.0)
    return read_eps(eps) / (found or 1)


def planar_noise(region: Region, eps: Fraction) -> PlanarNoise:
    """Planar geometric noise on the cells of a region, of ε for each metre, clamped to the region."""
    step = eps * Fraction(str(region.cell))
    if not LEAST_STEP <= step <= LARGEST_STEP:
        raise MechanismError(
            f"eps is {float(eps):g} for each metre, {rounded_to(step, down=True):.3g} for a cell of "
            f"{region.cell:g} m; planar noise needs {float(LEAST_STEP):.1g} to {LARGEST_STEP} for a cell: "
            "choose another eps, or wider or narrower cells"
        )
    return PlanarNoise(region, eps)


# ── As a file names it ──────────────────────────────────────────────────────────────────────────────────────


class GeometricNoiseSpec(NoiseSpec):
    """Geometric noise, which spends the same on every step."""

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
        return geometric_law(statistic, sensitivity.steps, eps, alpha)


def consecutive_outputs(found: list[int] | None) -> None:
    """Refuse outputs that do not follow each other."""
    if found is not None and (not found or found != list(range(found[0], found[0] + len(found)))):
        raise ValueError("outputs must be consecutive whole numbers in increasing order, at least one")


class NumericNoiseFamily(EpsilonFamily):
    """Geometric noise on the answer: eps is scaled by the query's sensitivity, alpha is for one unit."""

    # Whether noisy numbers are clamped to the range of the answers where the file names no outputs.
    clamps: ClassVar[bool]
    in_theorems = GEOMETRIC

    eps: Annotated[
        NonNegative | None,
        Field(description="the ε promised for the policy, in nats; the query's sensitivity scales the noise"),
    ] = None
    alpha: Annotated[
        str | float | int | None,
        Field(description="e^-ε for one unit of the answer instead of eps; exact as a fraction in quotes"),
    ] = None
    accuracy: Annotated[
        Accuracy | None,
        Field(description="how close to the truth instead of eps: the least eps, rounded up, that keeps it"),
    ] = None
    outputs: Annotated[
        list[int] | None,
        Field(description="consecutive whole numbers to which the noisy one is clamped instead"),
    ] = None

    @model_validator(mode="after")
    def _one_parameter(self) -> Self:
        given = [name for name in ("eps", "alpha", "accuracy") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(
                f"give exactly one of eps, alpha = e^-eps and accuracy (given: {', '.join(given) or 'none'})"
            )
        return self

    @model_validator(mode="after")
    def _outputs_follow_each_other(self) -> Self:
        consecutive_outputs(self.outputs)
        return self

    @property
    def is_settled(self) -> bool:
        return self.accuracy is None

    def settled(
        self, statistic: Statistic, sensitivity: Sensitivity, policy: Policy, absence: bool = False
    ) -> Family:
        if self.accuracy is None:
            return self

        def law(eps: Fraction) -> NoiseLaw:
            return geometric_law(statistic, sensitivity.steps, eps, None)

        eps = least_level(self.accuracy, len(statistic.cells), statistic.step, law)
        return self.model_copy(update={"eps": float(eps), "accuracy": None})

    @classmethod
    def on(
        cls, points: list[Any], eps: Any, alpha: object = None, outputs: list[int] | None = None
    ) -> Channel:
        """The noise on these numbers, eps for one unit."""
        make = truncated_geometric if cls.clamps else geometric
        return make(points=points, eps=eps, alpha=alpha, outputs=outputs)

    def channel(self, answers: Answers, query: Query) -> Channel:
        points = self._numbers(answers.labels)
        unit = None if self.eps is None else eps_of_unit(self.eps, query, answers.policy)
        return self.on(points, unit, self.alpha, self.outputs)

    def _numbers(self, labels: Labels) -> list[Any]:
        for answer in () if isinstance(labels, range) else labels:
            if not isinstance(answer, int | float):
                raise MechanismError(
                    f"{self.declared()} noise needs numbers but an answer is {abbreviated(answer)}; "
                    "use exponential or randomised-response"
                )
        return list(labels)

    def claimed(self, policy: Policy, query: Query) -> float | None:
        level = privacy(self.eps, self.alpha).eps
        return level if self.alpha is None else level * query.sensitivity(policy)

    @classmethod
    def candidate(cls, metric: Metric, eps: float) -> Channel | None:
        points = list(metric.points)
        for point in points:
            if isinstance(point, bool) or not isinstance(point, int | float):
                raise MechanismError(f"geometric noise needs numbers but an input is {abbreviated(point)}")
        return cls.on(points, eps / unit_sensitivity(points, metric))

    @classmethod
    def on_line(cls, n: int, eps: float) -> Channel | None:
        return truncated_geometric(n, eps)

    def added(self) -> NoiseSpec:
        return GeometricNoiseSpec(self.eps, self.alpha, self.outputs, self.clamps)


@variant(Family, "truncated-geometric")
class TruncatedGeometric(NumericNoiseFamily):
    """Geometric noise, cut off at the ends of the range."""

    clamps = True


@variant(Family, "geometric")
class Geometric(NumericNoiseFamily):
    """Geometric noise on all multiples of the answer's step (counts: all integers), the discrete Laplace."""

    clamps = False


def unit_sensitivity(points: list[Any], metric: Metric) -> float:
    """The largest change of the numbers for a unit of distance."""
    numbers = np.array(points, dtype=np.float64)
    change = np.abs(numbers[:, None] - numbers[None, :])
    apart = (change > 0) & np.isfinite(metric.matrix)
    if not apart.any():
        return 1.0
    with np.errstate(divide="ignore"):
        sensitivity = float((change[apart] / metric.matrix[apart]).max())
    if math.isinf(sensitivity):
        raise MechanismError("different numbers are at distance 0, so noise on them cannot be private")
    return sensitivity


@variant(Family, "planar-geometric")
class PlanarGeometric(Family):
    """Geometric noise on a map, the discrete planar Laplace."""

    eps: Annotated[NonNegative, Field(description="ε in nats for each metre")]

    def channel(self, answers: Answers, query: Query) -> Never:
        raise MechanismError(
            "planar-geometric noise is on the cells of a map; name a region under policy.secrets"
        )

    def claimed(self, policy: Policy, query: Query) -> float:
        return self.eps

    def words(self) -> str:
        return f"{self.title()}, eps = {self.eps:g}"

    def with_eps(self, eps: float) -> PlanarGeometric:
        return self.model_copy(update={"eps": eps})

    @property
    def promised(self) -> float:
        return self.eps

    @property
    def per_metre(self) -> float:
        return self.eps

    @classmethod
    def candidate(cls, metric: Metric, eps: float) -> Channel | None:
        """Clamped to the cells of a map, where these are what the metric is about."""
        region = _cells_of(metric)
        return None if region is None else planar_noise(region, read_eps(eps)).finite()


def _cells_of(metric: Metric) -> GridRegion | None:
    """The map whose cells, row by row, are the points of a metric; None where they are none."""
    points, places = list(metric.points), metric.coordinates
    if places is None or places.shape[1] != 2 or len(points) < 2:
        return None
    last: Any = points[-1]
    if not (isinstance(last, tuple) and len(last) == 2 and all(isinstance(part, int) for part in last)):
        return None
    cells = [(row, column) for row in range(last[0] + 1) for column in range(last[1] + 1)]
    if points != cells:
        return None
    step = float(np.abs(places[1] - places[0]).max())
    even = [np.array(cells)[:, order] * step for order in ([0, 1], [1, 0])]
    # Coordinates are rounded products.
    close = 1e-9 * float(np.abs(places).max() + step)
    if min(float(np.abs(places - places[0] - grid).max()) for grid in even) > close:
        return None
    return GridRegion.of(last[0] + 1, last[1] + 1, step)
