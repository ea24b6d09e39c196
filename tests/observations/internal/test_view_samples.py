"""Inside `_view_samples`: sums after many releases."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, NoiseLaw, ScalarNoise, StaircaseLaw
from sievert.observations import TableLikelihood, likelihood_of
from sievert.observations._posterior_samples import _likelihoods, gains_on_even_line
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


@pytest.mark.parametrize("releases", [1, 2, 7])
def test_runs_of_an_even_line_are_drawn_by_series(releases: int) -> None:
    """The same draws, judged by every value's belief."""
    view = line(range(3, 60, 4), LAWS[0])
    for adversary, width in (
        (sv.gains.tries(15, 4), 4),
        (sv.gains.within(sv.metrics.line(15), 1), 3),
        (sv.gains.identity(15), 1),
    ):
        found = gains_on_even_line(LAWS[0], view.line, width, releases, 300, np.random.default_rng(5))
        generator = np.random.default_rng(5)
        true = view.line.places[generator.integers(15, size=300)]
        seen = true + LAWS[0].simulated(generator, releases * 300).reshape(releases, 300)
        logs = sum(LAWS[0].log_pmf(row - view.line.places[:, None]) for row in seen)
        joint = np.exp(logs - logs.max(axis=0))
        assert found == pytest.approx(adversary.values(joint / joint.sum(axis=0)), rel=1e-11)


def test_stairs_below_the_top_are_counted_edge_by_edge() -> None:
    law, places = StaircaseLaw(Fraction(1, 2), 5, 2), np.array([0, 1, 4, 9, 30])
    outputs = np.random.default_rng(4).integers(-40, 60, size=(7, 50)).astype(float)
    found = _likelihoods(law, outputs, places)
    listed = sum(law.log_pmf(row - places[:, None]) for row in outputs)
    # Equal but for what all values share.
    assert found - found[0] == pytest.approx(listed - listed[0], abs=1e-10)
