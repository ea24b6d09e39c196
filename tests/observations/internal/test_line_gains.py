"""Inside `_line_gains`: sums after many releases."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

import sievert as sv
from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, NoiseLaw, ScalarNoise, StaircaseLaw
from sievert.observations import TableLikelihood, likelihood_of
from sievert.observations._scalar_gains import neighbours_named
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


def test_an_adversary_names_so_many_neighbours() -> None:
    view = line(range(3, 60, 4), LAWS[0])
    for adversary, width in (
        (sv.gains.tries(15, 4), 4),
        (sv.gains.within(sv.metrics.line(15), 1), 3),
        (sv.gains.identity(15), 1),
    ):
        assert neighbours_named(adversary, view.line) == width
