"""Staircase noise on tables and sums: for a query that one record moves far (Geng and Viswanath 2016).

Noise that falls once in every Δ steps keeps ε for moves of up to Δ steps, where geometric noise must spend
ε/Δ on each. In a histogram a record moves every cell by one step only, and the staircase is geometric noise.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from sievert.arrays import FloatArray
from sievert.channels import Channel, NoiseLaw, StaircaseLaw, require_dense
from sievert.errors import MechanismError
from sievert.kinds import variant
from sievert.mechanisms._family import Family, NoiseSpec
from sievert.mechanisms._noise import consecutive_outputs, unit_sensitivity
from sievert.numerics import abbreviated, read_eps
from sievert.policies import Answers, Policy, Query, Sensitivity, Statistic
from sievert.spaces import Metric

__all__ = ["Staircase", "best_staircase"]

# Different moves whose lengths are tried as the width of a stair.
MOST_WIDTHS = 64


def best_staircase(statistic: Statistic, sensitivity: Sensitivity, eps: Fraction) -> StaircaseLaw:
    """The staircase that keeps ε for every move of a record, of the width with the least mean error.

    Moves of one length all cost the same, so the largest is the width. Where a policy has several lengths,
    each move is tried, and ε on a stair is what the dearest move leaves.

    Examples
    --------
    >>> from sievert.policies import Policy, Query
    >>> policy = Policy.differential(range(4), 10)
    >>> table = Query.sum().statistic(policy)
    >>> best_staircase(table, table.sensitivity(policy), Fraction(3))
    StaircaseLaw(eps=Fraction(3, 1), sensitivity=3, top=1)
    """
    moves = sensitivity.moves
    if not moves:
        return StaircaseLaw(eps, 1)
    widths = {1} if len(statistic.cells) > 1 else {move.steps for move in moves}
    tried = []
    for width in sorted(widths)[-MOST_WIDTHS:]:
        dearest = max(math.ceil(Fraction(move.steps, width)) / move.length for move in moves)
        tried.append(StaircaseLaw(eps / dearest, width))
    return min(tried, key=lambda law: law.mean_error)


class StaircaseNoiseSpec(NoiseSpec):
    """Staircase noise, as wide as one record's move."""

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
        assert eps is not None
        if not eps:
            raise MechanismError("eps is 0; staircase noise needs an eps above 0")
        return best_staircase(statistic, sensitivity, eps)


@variant(Family, "staircase")
class Staircase(Family):
    """Noise that falls once for each move of a record, for tables over all records: best for large moves."""

    eps: Annotated[
        float,
        Field(gt=0, allow_inf_nan=False, description="the ε promised for the policy, in nats"),
    ]
    outputs: Annotated[
        list[int] | None,
        Field(description="consecutive whole numbers to which the noisy one is clamped"),
    ] = None

    @model_validator(mode="after")
    def _outputs_follow_each_other(self) -> Self:
        consecutive_outputs(self.outputs)
        return self

    def channel(self, answers: Answers, query: Query) -> Channel:
        policy = answers.policy
        statistic = None if query.is_record else query.statistic(policy)
        if statistic is None or len(statistic.cells) > 1:
            raise MechanismError(
                'staircase noise goes with counts, sums and histograms; use "truncated-geometric" for values '
                "released one by one"
            )
        law = best_staircase(statistic, statistic.sensitivity(policy), read_eps(self.eps))
        points = [Fraction(str(answer)) / statistic.step for answer in answers.labels]
        if self.outputs is None:
            return listed_stairs(law, [int(point) for point in points], answers.labels, statistic.step)
        ends = [Fraction(end) / statistic.step for end in (self.outputs[0], self.outputs[-1])]
        steps = range(math.ceil(ends[0]), math.floor(ends[1]) + 1)
        return clamped_stairs(law, [int(p) for p in points], steps, answers.labels, statistic.step)

    def claimed(self, policy: Policy, query: Query) -> float:
        return self.eps

    def words(self) -> str:
        return f"{self.title()}, eps = {self.eps:g}"

    def with_eps(self, eps: float) -> Family | None:
        return self.model_copy(update={"eps": eps}) if 0 < eps < math.inf else None

    def written(self) -> dict[str, Any]:
        return {"eps": self.eps}

    @property
    def promised(self) -> float:
        return self.eps

    def added(self) -> StaircaseNoiseSpec:
        return StaircaseNoiseSpec(self.eps, None, self.outputs)

    @classmethod
    def candidate(cls, metric: Metric, eps: float) -> Channel | None:
        """Clamped to whole numbers in a row that one unit of distance moves by more than one step."""
        points: list[Any] = list(metric.points)
        for point in points:
            if isinstance(point, bool) or not isinstance(point, int | float):
                raise MechanismError(f"staircase noise needs numbers but an input is {abbreviated(point)}")
        width = unit_sensitivity(points, metric)
        in_a_row = points == list(range(int(points[0]), int(points[0]) + len(points)))
        if not in_a_row or width < 2 or not 0 < eps < math.inf:
            return None
        law = StaircaseLaw(read_eps(eps), math.floor(width))
        steps = np.array(points, dtype=np.float64)
        crossed = np.ceil(np.abs(np.subtract.outer(steps, steps)) / law.sensitivity)
        with np.errstate(divide="ignore", invalid="ignore"):
            spare = np.where(crossed > 0, metric.matrix / crossed, np.inf).min()
        level = StaircaseLaw(read_eps(eps * min(1.0, float(spare))), law.sensitivity)
        return clamped_stairs(level, [int(p) for p in points], range(points[0], points[-1] + 1), points)


def clamped_stairs(
    law: StaircaseLaw, points: list[int], outputs: range, inputs: Any, step: Fraction = Fraction(1)
) -> Channel:
    """Staircase noise in steps, everything beyond the outputs moved to the first and the last."""
    require_dense(len(points), len(outputs), "the clamped staircase mechanism")
    offsets = np.subtract.outer(np.array(points, dtype=np.float64), np.array(outputs, dtype=np.float64))
    logs = law.log_pmf(offsets)
    logs[:, 0] = law.log_upper(offsets[:, 0])
    logs[:, -1] = law.log_upper(-offsets[:, -1]) if len(outputs) > 1 else 0.0
    return Channel.trusted(logs, "log", inputs, [_plain(step * place) for place in outputs])


def listed_stairs(law: StaircaseLaw, points: list[int], inputs: Any, step: Fraction = Fraction(1)) -> Channel:
    """Staircase noise on all integers as a finite channel that tells exactly as much.

    Beyond the answers, outputs Δ apart have the same ratios: each of the Δ next to either end stands for
    itself and all further ones at multiples of Δ, whose probabilities are a geometric series.
    """
    width = law.sensitivity
    outputs = range(min(points) - width, max(points) + width + 1)
    require_dense(len(points), len(outputs), "the equivalent finite channel")
    offsets = np.subtract.outer(np.array(points, dtype=np.float64), np.array(outputs, dtype=np.float64))
    logs: FloatArray = law.log_pmf(offsets)
    folded = -math.log(-math.expm1(-float(law.eps)))
    logs[:, :width] += folded
    logs[:, -width:] += folded
    names: list[Any] = [_plain(step * place) for place in outputs]
    apart = _plain(step * width)
    names[:width] = [f"{name}, less by any multiple of {apart}" for name in names[:width]]
    names[-width:] = [f"{name}, more by any multiple of {apart}" for name in names[-width:]]
    return Channel.trusted(logs, "log", inputs, names)


def _plain(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
