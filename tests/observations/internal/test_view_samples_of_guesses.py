"""Inside `_view_samples`: one record behind noise that no list holds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import strategies as st

from sievert.channels import EpsilonOrAlpha, GeometricLaw, NoiseLaw, ScalarNoise
from sievert.observations import TableLikelihood, likelihood_of
from sievert.observations._posterior_samples import gains_on_even_line
from sievert.policies import Statistic


def geometric(eps: float) -> GeometricLaw:
    return GeometricLaw(EpsilonOrAlpha(eps, None))


def line(
    amounts: Sequence[int], law: NoiseLaw | float, belief: Sequence[float] | None = None
) -> TableLikelihood:
    """Values at amounts of a sum."""
    places = np.array(amounts, dtype=np.int64)
    statistic = Statistic((), ((),), np.zeros(len(places), np.int64), places, Fraction(1), "sum")
    noise = ScalarNoise(statistic, geometric(law) if isinstance(law, float) else law)
    return likelihood_of(noise, even(len(places)) if belief is None else np.array(belief))


def even(size: int) -> np.ndarray:
    return np.full(size, 1 / size)


@pytest.mark.parametrize(
    ("amounts", "eps", "releases"),
    [(range(11), 0.5, 3), (range(0, 61, 3), 2.0, 4), (range(5, 222, 7), 0.02, 50), (range(300), 40.0, 2)],
)
def test_guesses_on_an_even_line_are_those_of_all_beliefs(amounts: range, eps: float, releases: int) -> None:
    """The series between outputs against the likelihood of every value, on the same draws."""
    view = line(amounts, eps)
    found = gains_on_even_line(view.noise.law, view.line, 1, releases, 500, np.random.default_rng(3))
    generator, places = np.random.default_rng(3), np.array(amounts)
    true = places[generator.integers(len(places), size=500)]
    noisy = true + view.noise.law.simulated(generator, releases * 500).reshape(releases, 500)
    logs = sum(view.noise.law.log_pmf(row - places[:, None]) for row in noisy)
    beliefs = np.exp(logs - logs.max(axis=0))
    assert found == pytest.approx(beliefs.max(axis=0) / beliefs.sum(axis=0), rel=1e-11)


beliefs = st.lists(st.sampled_from([0, 1, 1, 2, 5]), min_size=2, max_size=6).filter(any)
