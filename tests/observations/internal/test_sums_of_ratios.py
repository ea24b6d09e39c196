"""Inside `_sums_of_ratios`: laws of likelihood ratios."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.observations import LikelihoodRatioLaw, likelihood_ratio_law
from sievert.observations._sum_of_ratios import (
    Powers,
    SumLaw,
    Weights,
    expected_excess,
    expected_maximum,
    weighted_sum,
)
from tests.observations.test_record_views import geometric

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


@given(
    ratio_laws, st.lists(st.integers(1, 6), min_size=1, max_size=4), st.lists(st.integers(1, 6), max_size=3)
)
def test_sums_by_listing(drawn: list[tuple[int, int]], first: list[int], second: list[int]) -> None:
    law = law_of(drawn)
    signs = np.array(first + [-w for w in second]) / 10
    excess = maximum = 0.0
    for places in product(range(len(law.logs)), repeat=len(signs)):
        chance = math.exp(float(law.log_pmf[list(places)].sum()))
        values = signs * np.exp(law.logs[list(places)])
        excess += chance * max(0.0, float(values.sum()))
        maximum += chance * max(float(values[: len(first)].sum()), -float(values[len(first) :].sum()))
    one = weighted_sum(law, Weights.of(np.array(first) / 10))
    other = weighted_sum(law, Weights.of(np.array(second, float) / 10))
    found = expected_excess(one.plus(other.scaled(-1.0)))
    assert found.lower - 1e-12 <= excess <= found.upper + 1e-12
    assert found.exact
    both = expected_maximum([(one, 1), (other, 1)])
    assert both.lower - 1e-12 <= maximum <= both.upper + 1e-12


def test_coarse_sums_enclose_the_exact_one() -> None:
    """Sums of 64 draws of three values, exactly by convolution on their grid."""
    law = likelihood_ratio_law(geometric(0.3), 1, 2)
    found = Powers(law).times(64)
    mean = [float(part[0] @ part[1]) for part in (found.lower, found.upper)]
    assert mean == pytest.approx([64.0, 64.0], rel=1e-12)
    # ρ takes three values, so that how often each came is multinomial.
    chances, values = np.exp(law.log_pmf), np.exp(law.logs)
    exact = 0.0
    for a in range(65):
        for b in range(65 - a):
            c = 64 - a - b
            log = math.lgamma(65) - math.lgamma(a + 1) - math.lgamma(b + 1) - math.lgamma(c + 1)
            log += a * math.log(chances[0]) + b * math.log(chances[1]) + c * math.log(chances[2])
            exact += math.exp(log) * max(0.0, a * values[0] + b * values[1] + c * values[2] - 64.0)
    enclosed = expected_excess(found.plus(SumLaw.constant(-64.0)))
    assert enclosed.lower - 1e-12 <= exact <= enclosed.upper + 1e-12
    assert enclosed.upper - enclosed.lower < 1e-3 * exact
