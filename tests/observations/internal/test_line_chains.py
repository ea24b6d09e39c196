"""Inside `_line_chains`: gains over the cells of a table after several releases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, NoiseLaw, ScalarNoise, StaircaseLaw
from sievert.measures import GainFunction
from sievert.observations import TableLikelihood, likelihood_of
from sievert.observations._neighbour_chains import (
    best_value,
    chain_bound,
    equal_windows,
    longest_windows,
    total_variation,
)
from sievert.policies import Statistic


def test_equal_windows_are_told_from_others() -> None:
    assert equal_windows(np.array([0, 1]), np.array([3, 4])) == 3
    assert equal_windows(np.array([0, 2]), np.array([3, 4])) is None
    assert equal_windows(np.array([], dtype=np.int64), np.array([], dtype=np.int64)) is None


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


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_equal_beliefs_are_guessed_by_the_nearest_values(law: NoiseLaw) -> None:
    view = line([0, 1, 3, 4, 9], law)
    adversary = sv.gains.tries(range(5), 2)
    assert view.gain(adversary).after == pytest.approx(by_outputs(view, adversary, 1), rel=1e-11)
    gaps = np.array([0, 1, 2, 5, 8])
    listed = np.arange(-300.0, 310)
    apart = [np.abs(np.exp(law.log_pmf(listed - g)) - np.exp(law.log_pmf(listed))).sum() / 2 for g in gaps]
    assert total_variation(law, gaps) == pytest.approx(apart, abs=1e-13)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("belief", [None, [0.1, 0.4, 0.3, 0.2], [0.4, 0.1, 0.2, 0.3]])
def test_chains_bound_what_two_releases_tell(law: NoiseLaw, belief: list[float] | None) -> None:
    """Above every output of two releases, by little: neighbours lose what three values share."""
    places = np.array([0, 1, 2, 5])
    view = line(places.tolist(), law, belief)
    starts, stops = longest_windows(np.array([0, 0, 1, 2]), np.array([2, 3, 4, 4]))
    assert (starts.tolist(), stops.tolist()) == ([0, 1], [3, 4])
    for adversary, bound in (
        (sv.gains.identity(range(4)), best_value(law, 2, places, view.belief)),
        (
            sv.gains.within(sv.metrics.line(range(4)), 1),
            chain_bound(law, 2, places, view.belief, starts, stops),
        ),
    ):
        true = by_outputs(view, adversary, 2)
        assert bound is not None and true <= bound <= true * 1.2
