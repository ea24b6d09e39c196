"""Inside `_plane`: the density of true cells from noisy ones."""

import math

import numpy as np
import pytest

from sievert.estimation import _plane
from sievert.estimation._plane import Group, PlaneOperator, accelerated, group_operator, log_likelihood


def town(shape):
    """Two quarters where people are."""
    rows, columns = np.indices(shape)
    first = np.exp(-((rows - 0.3 * shape[0]) ** 2 + (columns - 0.4 * shape[1]) ** 2) / (0.02 * shape[0] ** 2))
    second = np.exp(
        -((rows - 0.7 * shape[0]) ** 2 + (columns - 0.7 * shape[1]) ** 2) / (0.01 * shape[0] ** 2)
    )
    found = (first + 0.6 * second).ravel()
    return found / found.sum()


def counted(noise, truth, people, seed):
    columns = noise.region.shape[1]
    rng = np.random.default_rng(seed)
    cells = np.stack(np.divmod(rng.choice(len(truth), people, p=truth), columns), axis=1)
    noisy = noise.sample(cells, rng)
    return np.bincount(noisy[:, 0] * columns + noisy[:, 1], minlength=len(truth))


@pytest.fixture
def both(map_noise, monkeypatch):
    """The operator of transforms and that of the matrix, for the same reports on a small map."""
    noise = map_noise(9, 11, "1/2")
    counts = counted(noise, town((9, 11)), 2000, 4)
    group = Group(counts.astype(float), noise.over_cells())
    dense = group_operator(noise.over_cells(), group)
    monkeypatch.setattr(_plane, "SMALL", 0)
    fast = group_operator(noise.over_cells(), group)
    assert isinstance(fast, PlaneOperator)
    return dense, fast, counts[counts > 0] / counts.sum()


def gap_at(operator, shares, p):
    """ln max c at p, certified by the operator."""
    expected = operator.expected(p)
    if (expected <= 0).any():
        return math.inf
    return operator.gap(shares, expected, operator.backward(shares / expected))


def test_certified_gap_is_never_below_the_exact_one(both):
    dense, fast, shares = both
    for p in (np.full(99, 1 / 99), town((9, 11))):
        exact = gap_at(dense, shares, p)
        assert exact <= gap_at(fast, shares, p) <= exact + 1e-6
        assert log_likelihood(fast, shares, p) == pytest.approx(log_likelihood(dense, shares, p), abs=1e-11)


def test_extrapolation_reaches_the_gap_in_fewer_rounds(both):
    _, fast, shares = both
    start = np.full(99, 1 / 99)
    found = accelerated(fast, shares, start, 1e-4, 20_000)
    # Plain rounds, as long as the others took three times over, are not there yet.
    slow = start
    for _ in range(3 * found.iterations):
        slow = slow * fast.backward(shares / fast.expected(slow))
    assert found.gap <= 1e-4
    assert gap_at(fast, shares, slow) > 1e-4
    assert found.mean_log_likelihood >= log_likelihood(fast, shares, slow)
    assert found.distribution.sum() == pytest.approx(1)


def test_an_output_out_of_sight_makes_the_gap_infinite(map_noise, monkeypatch):
    """What a transform cannot tell from 0 is not divided by."""
    monkeypatch.setattr(_plane, "SMALL", 0)
    noise = map_noise(3, 60, "2")
    counts = np.zeros(180)
    counts[[0, 179]] = 10
    operator = group_operator(noise.over_cells(), Group(counts, noise.over_cells()))
    p = np.zeros(180)
    p[0] = 1.0
    assert gap_at(operator, np.array([0.5, 0.5]), p) == math.inf
