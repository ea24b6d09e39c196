"""What fades of a belief with distance: without a list of distances, and with it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert import Policy, record_leakage
from sievert.measures._fading import faded
from sievert.spaces import Metric, metrics, secrets

LEVELS = st.sampled_from([0.0, 1e-9, 0.3, 2.0, math.inf])


def by_distances(metric: Metric, eps: float, belief: np.ndarray) -> np.ndarray:
    distances = metric.matrix
    with np.errstate(invalid="ignore"):
        exponents = np.where(distances == 0, 0.0, eps * distances)
    exponents[np.isinf(distances)] = np.inf
    return np.array([-np.expm1(-exponents) @ belief, np.exp(-exponents) @ belief])


@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=12, unique=True), st.integers(0, 20), LEVELS, st.data()
)
def test_closed_sums_agree_with_distances(
    numbers: list[int], theta: int, eps: float, data: st.DataObject
) -> None:
    spaces = [
        secrets.threshold(numbers, theta),
        secrets.line(numbers),
        secrets.complete(numbers),
        secrets.presence(numbers),
        metrics.line(numbers),
    ]
    for space in spaces:
        weights = data.draw(
            st.lists(st.floats(0.01, 1), min_size=space.size, max_size=space.size).map(np.array)
        )
        belief = weights / weights.sum()
        plain = space if isinstance(space, Metric) else secrets.edges(space.nodes, space.labelled_edges())
        metric = Metric(plain.matrix) if isinstance(plain, Metric) else plain.metric()
        found = np.array(faded(space, eps, belief))
        np.testing.assert_allclose(found, by_distances(metric, eps, belief), rtol=1e-12, atol=0)


def test_one_record_among_very_many_values() -> None:
    # Prop 21 at an end of a long line: 1/(1 + Σ e^(-d)) = 1 - 1/e.
    line = record_leakage(1.0, Policy(secrets.line(200_000), 10))
    assert line.after == pytest.approx(1 - math.exp(-1), rel=1e-12)
    # Present: beside it the missing record and 99,999 others two steps away.
    there = Policy.differential(100_000, 10, "add-remove")
    expected = 1 / (1 + math.exp(-1) + 99_999 * math.exp(-2))
    missing = 1 / (1 + 100_000 * math.exp(-1))
    assert record_leakage(1.0, there).after == pytest.approx(max(expected, missing), rel=1e-12)
