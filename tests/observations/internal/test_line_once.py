"""Inside `_line_once`: guesses within a radius on long lines."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, NoiseLaw, ScalarNoise
from sievert.measures import WithinRadius
from sievert.observations import TableLikelihood, _scalar_gains_once, likelihood_of
from sievert.policies import Statistic


def line(
    amounts: Sequence[int], law: NoiseLaw | float, belief: Sequence[float] | None = None
) -> TableLikelihood:
    """Values at amounts of a sum."""
    places = np.array(amounts, dtype=np.int64)
    statistic = Statistic((), ((),), np.zeros(len(places), np.int64), places, Fraction(1), "sum")
    noise = ScalarNoise(statistic, GeometricLaw(EpsilonOrAlpha(law, None)) if isinstance(law, float) else law)
    return likelihood_of(noise, np.full(len(places), 1 / len(places)) if belief is None else np.array(belief))


def windows(positions: Sequence[float], radius: float) -> WithinRadius:
    return WithinRadius(tuple(positions), np.array(positions, dtype=np.float64), radius, "windows")


def test_where_the_search_does_not_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other noise, amounts in another order, lines too long to search: every output, or bounds."""
    positions, belief = [0, 1, 2, 3], [0.1, 0.2, 0.3, 0.4]
    for law, amounts in [(GaussianLaw(Fraction(2)), [0, 1, 2, 3]), (0.5, [0, 5, 1, 2])]:
        view = line(amounts, law, belief)
        listed = view.gain(sv.gains.within(sv.metrics.line(positions), 1))
        found = view.gain(windows(positions, 1))
        assert found.exact and found.after == pytest.approx(listed.after, rel=1e-12)
    exact = line(positions, 0.05, belief).gain(windows(positions, 0)).after
    monkeypatch.setattr(_scalar_gains_once, "LARGEST_SEARCH", 3)
    monkeypatch.setattr(_scalar_gains_once, "LARGEST_WALK", 3)
    bound = line(positions, 0.05, belief).gain(windows(positions, 0))
    assert not bound.exact and bound.lower <= exact <= bound.upper < 1
