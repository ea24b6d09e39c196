"""The density of true cells from noisy ones: products by transforms, certified gaps, recovered maps."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sievert.errors import EstimationError
from sievert.estimation import estimate, identifiability, prove_likelihood


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


@settings(max_examples=30)
@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from(["1/20", "1/2", "2"]), st.integers(0, 10**6))
def test_products_are_those_of_the_matrix(map_noise, rows, columns, step, seed):
    noise = map_noise(rows, columns, step)
    matrix, rng = noise.finite().matrix, np.random.default_rng(seed)
    weights, values = rng.random(len(matrix)), rng.random(len(matrix)) ** 4
    grid = weights.reshape(rows, columns)
    assert np.abs(noise.rmatvec(weights) - weights @ matrix).max() <= noise.products.error(grid)
    grid = values.reshape(rows, columns)
    assert np.abs(noise.matvec(values) - matrix @ values).max() <= noise.products.error(grid)
    assert noise.products.error(weights.reshape(rows, columns)) < 1e-11 * weights.sum()


def test_small_maps_are_solved_exactly(map_noise):
    noise = map_noise(6, 7, "1")
    counts = counted(noise, town((6, 7)), 3000, 1)
    found = estimate(counts, noise)
    listed = estimate(counts, noise.finite())
    np.testing.assert_allclose(found.distribution, listed.distribution, atol=1e-6)
    assert found.total_gap < 1e-6
    assert tuple(found.inputs) == tuple(noise.region.labels)
    proof = prove_likelihood(found, counts, noise)
    assert proof.verify()


def test_a_town_is_recovered(map_noise):
    """Early stopping finds the density far better than the noisy places show it."""
    noise, truth = map_noise(40, 50, "1/2"), town((40, 50))
    counts = counted(noise, truth, 20_000, 2)
    found = estimate(counts, noise, "regularised", rng=1)
    noisy = np.abs(counts / counts.sum() - truth).sum() / 2
    assert np.abs(found.distribution - truth).sum() / 2 < noisy / 3
    assert found.interval is None
    assert any("no intervals for single cells" in remark for remark in found.remarks)
    assert math.isfinite(found.total_gap)


def test_the_likelihood_is_certified_on_a_large_map(map_noise):
    noise = map_noise(40, 50, "1")
    found = estimate(counted(noise, town((40, 50)), 5000, 3), noise, interval="none")
    assert found.total_gap <= 0.5
    assert found.method == "maximum-likelihood"


def test_counts_by_cell(map_noise):
    from collections import Counter

    noise = map_noise(5, 6, "1")
    counts = Counter({(1, 2): 30, (0, 0): 4, (4, 5): 6})
    found = estimate(counts, noise)
    assert found.reports == 40
    assert found.probability((1, 2)) > 0.5
    with pytest.raises(EstimationError, match="counts"):
        estimate(Counter({(9, 9): 3}), noise)


def test_no_inverse_is_pretended(map_noise):
    noise = map_noise(30, 30, "1/2")
    counts = counted(noise, town((30, 30)), 500, 5)
    with pytest.raises(EstimationError, match="far wider than a cell"):
        estimate(counts, noise, "inversion")


def test_several_groups_of_noise(map_noise):
    """Users with less noise and with more, on one map."""
    first, second = map_noise(7, 8, "1"), map_noise(7, 8, "1/3")
    truth = town((7, 8))
    counts = [counted(first, truth, 500, 1), counted(second, truth, 500, 2)]
    found = estimate(counts, [first, second])
    listed = estimate(counts, [first.finite(), second.finite()])
    assert found.mean_log_likelihood == pytest.approx(listed.mean_log_likelihood, abs=1e-9)


def test_without_epsilon_all_is_open(map_noise):
    noise = map_noise(3, 3, "0")
    counts = np.array([5, 0, 6, 0, 0, 0, 4, 0, 5])
    found = estimate(counts, noise, interval="none")
    assert found.unique is False
    assert not identifiability(noise.finite()).complete
    listed = estimate(counts, noise.finite(), interval="none")
    assert found.mean_log_likelihood == pytest.approx(listed.mean_log_likelihood, abs=1e-12)
