"""Inside `_intervals`: profiles cover, and end where the likelihood has fallen enough."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import chi2

import sievert as sv
from sievert.estimation._intervals import (
    Fit,
    GeometricOperator,
    Group,
    Operator,
    Reports,
    profile_shortfall,
    response_profiles,
    standard_errors,
)

RUNS = 2000
TRUTH = np.array([0.4, 0.25, 0.2, 0.1, 0.05])
RESPONSE = sv.mechanisms.randomised_response(5, 1.0)
NOISE = sv.mechanisms.truncated_geometric(5, 1.0)
# Probability of any lie over that of the truth beyond it, at ε = 1.
LIE = 1 / np.expm1(1.0)
MIXED = sv.Channel(np.random.default_rng(17).dirichlet(np.full(8, 0.5), 5), normalise=True)


def runs(channel: sv.Channel, reports: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(reports, channel.rmatvec(TRUTH), size=RUNS).astype(float)


def covered(intervals: np.ndarray) -> np.ndarray:
    return ((intervals[..., 0] <= TRUTH) & (intervals[..., 1] >= TRUTH)).mean(axis=0)


def test_profile_intervals_cover() -> None:
    counts = runs(RESPONSE, 2000, 3)
    shares = counts / 2000
    found = covered(response_profiles(shares, LIE, chi2.ppf(0.95, 1) / 2 / 2000))
    assert (found >= 0.93).all() and (found <= 0.97).all()


class Listed(Operator):
    """The columns of a matrix for the outputs that were observed."""

    def __init__(self, columns: np.ndarray) -> None:
        self.columns, self.log_scale = columns, np.zeros(columns.shape[1])

    def expected(self, p: np.ndarray) -> np.ndarray:
        return p @ self.columns

    def backward(self, v: np.ndarray) -> np.ndarray:
        return self.columns @ v

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        return self.columns[chosen]


def shortfall_of(channel: sv.Channel, counts: np.ndarray, allowed: float) -> Callable[[int, float], float]:
    """How far profiles fall short of the maximum, by the geometric structure or by the matrix."""
    seen = np.flatnonzero(counts)
    operator = GeometricOperator(channel, seen) if channel is NOISE else Listed(channel.matrix[:, seen])
    best = Fit(sv.estimate(counts, channel, interval="none").distribution, 0.0, 0.0, 0)
    return profile_shortfall(operator, counts[seen] / counts.sum(), best, allowed)


@pytest.mark.slow
@pytest.mark.parametrize("channel", [NOISE, MIXED], ids=["geometric", "mixed"])
def test_profile_intervals_of_other_channels_cover(channel: sv.Channel) -> None:
    """The truth is in the interval where its profile is high enough; the test below looks at the ends."""
    reports, inputs = 20_000, (0, 4)
    allowed = chi2.ppf(0.95, 1) / 2 / reports
    inside = np.zeros((RUNS, len(inputs)), dtype=bool)
    for k, counts in enumerate(runs(channel, reports, 7)):
        shortfall = shortfall_of(channel, counts, allowed)
        inside[k] = [shortfall(i, TRUTH[i]) <= 0 for i in inputs]
    found = inside.mean(axis=0)
    assert (found >= 0.93).all() and (found <= 0.97).all()


@pytest.mark.parametrize("channel", [NOISE, MIXED], ids=["geometric", "mixed"])
def test_profiles_of_other_channels_end_where_they_fall_short(channel: sv.Channel) -> None:
    counts = runs(channel, 20_000, 8)[0]
    found = sv.estimate(counts, channel, interval="profile").interval
    shortfall = shortfall_of(channel, counts, chi2.ppf(0.95, 1) / 2 / 20_000)
    for i, (low, high) in enumerate(found):
        assert shortfall(i, low + 1e-4) < 0 < shortfall(i, low - 1e-4)
        assert shortfall(i, high - 1e-4) < 0 < shortfall(i, high + 1e-4)


def test_standard_errors_are_the_inverse_fisher_information() -> None:
    reports = Reports((Group(MIXED.rmatvec(TRUTH) * 1000, MIXED),))
    square = sv.mechanisms.truncated_geometric(5, 1.0)
    matrix = square.matrix
    m = TRUTH @ matrix
    # Fisher information in the first four probabilities, the fifth being what is left.
    rows = matrix[:4] - matrix[4]
    fisher = (rows / m) @ rows.T * 1000
    expected = np.sqrt(np.diag(np.linalg.inv(fisher)))
    found = standard_errors(Reports((Group(square.rmatvec(TRUTH) * 1000, square),)), TRUTH)
    assert found[:4] == pytest.approx(expected, rel=1e-9)
    # With more outputs than inputs the pseudo-inverse is unbiased but may be less precise.
    rows = MIXED.matrix[:4] - MIXED.matrix[4]
    best = np.sqrt(np.diag(np.linalg.inv((rows / (TRUTH @ MIXED.matrix)) @ rows.T * 1000)))
    assert (standard_errors(reports, TRUTH)[:4] >= best * (1 - 1e-9)).all()
