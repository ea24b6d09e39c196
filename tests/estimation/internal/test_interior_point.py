"""Inside `_interior_point`: water filling, and the general solver."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import sievert as sv
from sievert.estimation._interior_point import maximise, water_filling

RUNS = 2000


TRUTH = np.array([0.4, 0.25, 0.2, 0.1, 0.05])


RESPONSE = sv.mechanisms.randomised_response(5, 1.0)


# Probability of any lie over that of the truth beyond it, at ε = 1.
LIE = 1 / np.expm1(1.0)


def runs(channel: sv.Channel, reports: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(reports, channel.rmatvec(TRUTH), size=RUNS).astype(float)


def covered(intervals: np.ndarray) -> np.ndarray:
    return ((intervals[..., 0] <= TRUTH) & (intervals[..., 1] >= TRUTH)).mean(axis=0)


def test_bootstrap_intervals_cover() -> None:
    """Parametric bootstrap of randomised response, 200 resamples a run, all runs at once."""
    rng = np.random.default_rng(4)
    best = water_filling(runs(RESPONSE, 20_000, 5) / 20_000, LIE)
    drawn = rng.multinomial(20_000, (best @ RESPONSE.matrix)[:, None, :], size=(RUNS, 200))
    low, high = np.quantile(water_filling(drawn / 20_000, LIE), [0.025, 0.975], axis=1)
    found = covered(np.stack([low, high], axis=-1))
    assert (found >= 0.93).all() and (found <= 0.97).all()


def test_ends_of_a_profile_are_where_the_likelihood_has_fallen_enough() -> None:
    counts = np.array([300, 200, 100])
    found = sv.estimate(counts, RESPONSE_3, interval="profile")
    shares, end = counts / 600, found.interval[0, 1]
    rest = water_filling(shares[1:], LIE, 1 - end)
    p = np.concatenate([[end], rest])
    fallen = 600 * (found.mean_log_likelihood - float(shares @ np.log(p @ RESPONSE_3.matrix)))
    assert fallen == pytest.approx(chi2.ppf(0.95, 1) / 2, rel=1e-6)


RESPONSE_3 = sv.mechanisms.randomised_response(3, 1.0)


@given(st.integers(0, 10**6))
def test_water_filling_meets_the_conditions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(int(rng.integers(1, 9)), 0.5))
    lie = float(rng.choice([0.0, 1e-3, 0.5, 1.0, 30.0, 1e9]))
    p = water_filling(shares, lie)
    assert p.sum() == pytest.approx(1)
    assert (p >= 0).all()
    if lie > 0:
        factor = shares / (lie + p)
        assert np.ptp(factor[p > 0]) <= 1e-9 * factor.max()
        assert (factor[p == 0] <= factor.max() * (1 + 1e-12)).all()


@given(st.integers(0, 10**6))
def test_the_general_solver_takes_shares_from_one_to_a_billion_and_rows_that_are_alike(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs, outputs = (int(size) for size in rng.integers(2, 30, 2))
    matrix = rng.dirichlet(np.full(outputs, 10.0 ** rng.uniform(-2, 1)), inputs) * (
        rng.random((inputs, outputs)) < 0.7
    )
    matrix[np.arange(inputs), rng.integers(0, outputs, inputs)] += 0.1
    matrix = (matrix / matrix.sum(axis=1, keepdims=True))[rng.integers(0, inputs, inputs)]
    if rng.random() < 0.2:
        matrix = 0.999999 * matrix.mean(axis=0) + 1e-6 * matrix
    counts = np.floor(10 ** rng.uniform(0, 9, outputs)) * (matrix.max(axis=0) > 0)
    seen = counts > 0
    columns = sv.Channel(matrix, normalise=True).matrix[:, seen]
    _, gap, iterations = maximise(columns / columns.max(axis=0), 0.0, counts[seen] / counts.sum())
    assert gap < 1e-10
    assert iterations < 100
