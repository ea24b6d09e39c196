"""Values at amounts of a sum seen through noise, and gains by every combination of outputs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

import sievert as sv
from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, NoiseLaw, ScalarNoise, StaircaseLaw
from sievert.measures import Closeness, GainFunction
from sievert.observations import TableLikelihood, likelihood_of
from sievert.policies import Statistic

LAWS = [
    GeometricLaw(EpsilonOrAlpha(0.3, None)),
    GeometricLaw(EpsilonOrAlpha(1.5, None)),
    GaussianLaw(Fraction(3, 4)),
    GaussianLaw(Fraction(5, 2)),
    StaircaseLaw(Fraction(1), 4),
    StaircaseLaw(Fraction(1, 2), 2, 1),
]


def line(amounts: Sequence[int], law: NoiseLaw, belief: Sequence[float] | None = None) -> TableLikelihood:
    """Values at amounts of a sum."""
    places = np.array(amounts, dtype=np.int64)
    statistic = Statistic((), ((),), np.zeros(len(places), np.int64), places, Fraction(1), "sum")
    even = np.full(len(places), 1 / len(places))
    return likelihood_of(ScalarNoise(statistic, law), even if belief is None else np.array(belief))


def by_outputs(view: TableLikelihood, adversary: GainFunction, releases: int) -> float:
    """Every combination of outputs, straight from the probabilities of the noise."""
    amounts, law = view.noise.statistic.amount, view.noise.law
    reach = law.beyond(math.log(1e-13))
    outputs = np.arange(amounts.min() - reach, amounts.max() + reach + 1.0)
    likely = np.exp(law.log_pmf(outputs - amounts[:, None]))
    joint = view.belief[:, None] * likely
    for _ in range(releases - 1):
        joint = (joint[:, :, None] * likely[:, None, :]).reshape(len(amounts), -1)
    return float(adversary.values(joint).sum())


def adversaries(size: int) -> list[GainFunction]:
    names = range(size)
    return [
        sv.gains.identity(names),
        sv.gains.tries(names, 2),
        sv.gains.within(sv.metrics.line(names), 1),
        sv.gains.property(names, [0, 1]),
        sv.gains.closeness(sv.metrics.line(names)),
        Closeness(names, np.arange(float(size)), "nearness"),
        sv.losses.shannon(names),
        sv.losses.guessing(names),
    ]
