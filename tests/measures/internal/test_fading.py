"""What fades of a belief with distance: without a list of distances, and with it."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sievert.measures._smoothed_prior import smoothed_prior
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
        found = np.array(smoothed_prior(space, eps, belief))
        np.testing.assert_allclose(found, by_distances(metric, eps, belief), rtol=1e-12, atol=0)
