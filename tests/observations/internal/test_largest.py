"""Inside `_largest`: gains over the cells of a table after several releases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.channels import EpsilonOrAlpha, GeometricLaw, HistogramNoise, NoiseLaw
from sievert.observations import LikelihoodRatioLaw, TableLikelihood, likelihood_of, likelihood_ratio_law
from sievert.observations._max_of_ratios import (
    Weights,
    expected_largest,
    expected_top,
    largest,
    top,
    top_of_kinds,
)
from sievert.policies import statistic_of_cells

GEOMETRIC = GeometricLaw(EpsilonOrAlpha(0.5, None))


def every_combination(ratios: LikelihoodRatioLaw, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Ratios [cell, combination] under "nobody", and chances."""
    places = np.array(list(product(range(len(ratios.logs)), repeat=cells))).T
    return np.exp(ratios.logs[places]), np.exp(ratios.log_pmf[places].sum(axis=0))


@given(st.data())
def test_tries_of_cells_with_several_values(data: st.DataObject) -> None:
    """Every combination of the ratios of cells of unlike values, and values in no cell."""
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    draw = st.sampled_from([1.0, 2.0, 3.0, 7.0])
    kinds = [np.sort(data.draw(st.lists(draw, min_size=s, max_size=s)))[::-1] for s in sizes]
    other = np.array(data.draw(st.lists(draw, max_size=2)))
    total = sum(float(k.sum()) for k in kinds) + float(other.sum())
    tries = data.draw(st.integers(1, sum(sizes) + len(other)))
    ratios = likelihood_ratio_law(GEOMETRIC, 1, data.draw(st.integers(1, 4)))
    shown, chances = every_combination(ratios, len(kinds))
    values = [b * row for kind, row in zip(kinds, shown, strict=True) for b in kind]
    values += [np.full(len(chances), b) for b in other]
    best = np.sort(np.array(values), axis=0)[::-1][:tries].sum(axis=0)
    alike: dict[bytes, tuple[np.ndarray, int]] = {}
    for kind in kinds:
        alike[kind.tobytes()] = (kind / total, alike.get(kind.tobytes(), (kind, 0))[1] + 1)
    found = top_of_kinds(ratios, list(alike.values()), tries, other / total)
    assert found == pytest.approx(float(best @ chances) / total, rel=1e-12)


ratio_laws = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(1, 5)), min_size=1, max_size=3, unique_by=lambda t: t[0]
)


def law_of(drawn: list[tuple[int, int]]) -> LikelihoodRatioLaw:
    """Any law with E ρ = 1, as ratios have."""
    drawn = sorted(drawn)
    logs = np.array([a for a, _ in drawn]) * 0.4
    chances = np.array([w for _, w in drawn], float)
    chances /= chances.sum()
    logs -= math.log(float(chances @ np.exp(logs)))
    return LikelihoodRatioLaw(logs, np.log(chances))


@given(ratio_laws, st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 4), st.integers(1, 5))
def test_the_largest_by_listing(
    drawn: list[tuple[int, int]], weights: list[int], other: int, tries: int
) -> None:
    law = law_of(drawn)
    belief, rest = np.array(weights) / 20, other / 20
    expected, exact = 0.0, 0.0
    for places in product(range(len(law.logs)), repeat=len(weights)):
        chance = math.exp(float(law.log_pmf[list(places)].sum()))
        values = sorted([*(belief * np.exp(law.logs[list(places)])), rest], reverse=True)
        expected += chance * sum(values[:tries])
        exact += chance * values[0]
    groups = Weights.of(belief)
    assert top(law, groups, tries, rest).upper == pytest.approx(expected, rel=1e-11)
    assert largest(law, groups, rest).lower == pytest.approx(exact, rel=1e-11)
    logs = np.log(groups.values)
    assert expected_largest(law, logs, groups.counts, rest) == pytest.approx(exact, rel=1e-11)
    if tries > 1:
        assert expected_top(law, logs, groups.counts, tries, rest) == pytest.approx(expected, rel=1e-11)


def test_rounded_beliefs_keep_their_number_and_nearly_their_sum() -> None:
    weights = Weights.of(np.random.default_rng(1).exponential(size=5000))
    together, apart = weights.averaged(50), weights.spread(50)
    for rounded in (together, apart):
        assert rounded.counts.sum() == weights.counts.sum()
        assert len(rounded.values) <= 101
    assert together.total == pytest.approx(weights.total, rel=1e-12)
    assert weights.total <= apart.total <= weights.total * 1.02


def geometric(eps: float) -> GeometricLaw:
    return GeometricLaw(EpsilonOrAlpha(eps, None))


def table(
    cells: int | Sequence[int | None], law: NoiseLaw | float, belief: Sequence[float] | None = None
) -> TableLikelihood:
    """Values in cells; None is in no cell."""
    listed = list(range(cells)) if isinstance(cells, int) else list(cells)
    statistic = statistic_of_cells([None if c is None else (c,) for c in listed], ("cell",), "histogram")
    noise = HistogramNoise(statistic, geometric(law) if isinstance(law, float) else law)
    return likelihood_of(noise, even(len(listed)) if belief is None else np.array(belief))


def even(size: int) -> np.ndarray:
    return np.full(size, 1 / size)


def test_many_different_beliefs_are_enclosed() -> None:
    """More beliefs than are sorted: rounded together and apart, with a narrow interval around the truth."""
    from sievert.observations import _max_of_ratios

    belief = np.random.default_rng(3).exponential(size=400)
    view = table(400, 0.3, belief / belief.sum())
    exact = view.gain(sv.gains.identity(400), 30)
    several = view.gain(sv.gains.tries(400, 3), 30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_max_of_ratios, "LARGEST_EVENTS", 4_000)
        patch.setattr(_max_of_ratios, "LARGEST_WORK", 400_000)
        rounded = view.gain(sv.gains.identity(400), 30)
        fewer = view.gain(sv.gains.tries(400, 3), 30)
    assert exact.exact and not rounded.exact
    assert rounded.lower <= exact.after <= rounded.upper
    assert rounded.upper / rounded.lower < 1.01
    assert fewer.lower <= several.upper and several.lower <= fewer.upper
    assert fewer.upper / fewer.lower < 1.03
