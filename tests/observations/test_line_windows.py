"""Guesses within a radius on long lines: against tables, every output, and the closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.channels import EpsilonOrAlpha, GeometricLaw, HistogramNoise
from sievert.measures import GainMatrix, WithinRadius
from sievert.observations import TableLikelihood, likelihood_of
from sievert.policies import statistic_of_cells
from tests.observations.windows import line, lines, windows

EPS = [1e-6, 0.01, 0.5, 3.0, 40.0, 800.0]


def over_outputs(view: TableLikelihood, eps: float, positions: Sequence[float], radius: float) -> float:
    """Every output between the amounts, both tails, and every guess."""
    amounts, places = view.noise.statistic.amount, np.array(positions)
    reach = np.abs(places[:, None] - places) <= radius
    outputs = np.arange(amounts.min(), amounts.max() + 1)
    best = ((reach * view.belief) @ np.exp(-eps * np.abs(outputs - amounts[:, None]))).max(axis=0)
    return math.tanh(eps / 2) * (best.sum() + (best[0] + best[-1]) * math.exp(-eps) / -math.expm1(-eps))


@given(lines(), st.sampled_from(EPS))
def test_one_release_by_brute_force(
    drawn: tuple[list[int], list[float], list[float], float], eps: float
) -> None:
    amounts, positions, belief, radius = drawn
    view = line(amounts, eps, belief)
    found = view.gain(windows(positions, radius))
    assert found.exact
    assert found.after == pytest.approx(over_outputs(view, eps, positions, radius), rel=1e-12)


@given(lines(), st.integers(2, 4))
def test_several_releases_as_by_a_table(
    drawn: tuple[list[int], list[float], list[float], float], releases: int
) -> None:
    """Exact where a table is, and the same bounds where it is not."""
    amounts, positions, belief, radius = drawn
    view = line(amounts, 0.4, belief)
    found = view.gain(windows(positions, radius), releases)
    listed = view.gain(sv.gains.within(sv.metrics.line(positions), radius), releases)
    assert found.exact == listed.exact and found.method == listed.method
    assert (found.lower, found.upper) == pytest.approx((listed.lower, listed.upper), rel=1e-12)


@given(lines())
def test_a_table_of_windows(drawn: tuple[list[int], list[float], list[float], float]) -> None:
    """Values, best guesses and rounding at the rim as in the table of distances, also in fractions."""
    _, positions, belief, radius = drawn
    found, listed = windows(positions, radius), sv.gains.within(sv.metrics.line(positions), radius)
    assert isinstance(listed, GainMatrix) and (found.matrix == listed.matrix).all()
    joint = np.column_stack([belief, belief[::-1]])
    assert found.values(joint) == pytest.approx(listed.values(joint), rel=1e-14)
    scores = listed.matrix @ joint
    for column, guess in enumerate(found.best(joint)):
        assert scores[positions.index(guess), column] == pytest.approx(scores[:, column].max(), rel=1e-12)
    sole = found.sole_best(np.array(belief))
    assert sole is None or sole == listed.sole_best(np.array(belief))
    exact = np.array([[Fraction(value)] for value in belief], dtype=object)
    assert found.values(exact)[0] == max(listed.matrix @ exact)[0]
    turned = found.for_secrets(tuple(reversed(positions)))
    assert (turned.matrix == listed.matrix[::-1, ::-1]).all() and turned.ends[0][0] == 0


def test_a_gain_on_a_long_line_has_no_table() -> None:
    assert isinstance(sv.gains.within(sv.metrics.line(3162), 2), GainMatrix)
    found = sv.gains.within(sv.metrics.line(3163), 2)
    assert isinstance(found, WithinRadius) and found.name == "within 2" and found.bounds() == (0.0, 1.0)
    assert isinstance(sv.gains.within(sv.metrics.line(9000).restricted(range(4000)), 2), WithinRadius)
    with pytest.raises(sv.errors.TooLargeError, match="150001 actions"):
        _ = sv.gains.within(sv.metrics.line(150_001), 5).matrix
    channel = sv.Channel(np.full((3163, 2), 0.5))
    assert float(sv.posterior_vulnerability(channel, None, found)) == pytest.approx(5 / 3163, rel=1e-12)


@pytest.mark.parametrize("radius", [0, 1, 40, 5000, 74_999, 80_000])
@pytest.mark.parametrize("eps", [1 / 150_000, 0.01, 2.0])
def test_a_long_line_of_equal_beliefs(radius: int, eps: float) -> None:
    """The window around the output, at the border the outermost: sums of geometric series."""
    size = 150_001
    found = line(range(size), eps).gain(sv.gains.within(sv.metrics.line(range(size)), radius))

    def side(count: np.ndarray) -> np.ndarray:
        """Σ_{1≤j≤count} α^j."""
        return np.asarray(-np.expm1(-eps * count) / math.expm1(eps))

    left = np.clip(np.arange(size), None, radius)
    first = np.clip(np.arange(size) - left, 0, max(0, size - 2 * radius - 1))
    last = np.minimum(first + 2 * radius, size - 1)
    best = 1 + side(np.arange(size) - first) + side(last - np.arange(size))
    total = math.tanh(eps / 2) * (best.sum() + (best[0] + best[-1]) / math.expm1(eps)) / size
    assert found.exact and found.after == pytest.approx(total, rel=1e-12)


def test_radius_0_is_a_guess_in_one_try() -> None:
    belief = np.random.default_rng(4).exponential(size=20_000) ** 4
    places = np.cumsum(np.random.default_rng(5).integers(1, 4, size=20_000))
    view = line(places.tolist(), 0.02, belief / belief.sum())
    found = view.gain(sv.gains.within(sv.metrics.line(range(20_000)), 0))
    assert found.exact and found.after == pytest.approx(view.guess().guess, rel=1e-13)


@pytest.mark.parametrize("eps", [1e-3, 0.3])
def test_uneven_beliefs_as_by_a_table(eps: float) -> None:
    """The filter of every row of a table shares nothing with the search."""
    belief = np.random.default_rng(1).exponential(size=1500) ** 6
    view = line(range(1500), eps, belief / belief.sum())
    for radius in (0, 3, 60, 900):
        listed = view.gain(sv.gains.within(sv.metrics.line(1500), radius))
        found = view.gain(windows(range(1500), radius))
        assert found.exact and found.after == pytest.approx(listed.after, rel=1e-12)


def test_many_releases_are_bounded() -> None:
    size = 150_001
    view, adversary = line(range(size), 1 / 300_000), sv.gains.within(sv.metrics.line(range(size)), 5000)
    once, found = view.gain(adversary), view.gain(adversary, 4)
    assert once.exact and not found.exact and found.method.startswith("bound")
    assert once.after == found.lower < found.upper < once.after * view.growth**3
    assert 0.9 < view.gain(adversary, 10_000).upper < 0.92
    assert view.gain(adversary, 10_000_000).upper == 1.0


def test_a_histogram_of_a_long_line_is_enclosed() -> None:
    statistic = statistic_of_cells([(c,) for c in range(4000)], ("cell",), "histogram")
    noise = HistogramNoise(statistic, GeometricLaw(EpsilonOrAlpha(0.5, None)))
    view = likelihood_of(noise, np.full(4000, 1 / 4000))
    found = view.gain(sv.gains.within(sv.metrics.line(range(4000)), 10))
    assert 21 / 4000 <= found.lower <= found.upper <= 1
