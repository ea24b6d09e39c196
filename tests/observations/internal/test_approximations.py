"""Inside `_approximations`: many observations."""

import math

import numpy as np
import pytest

import sievert as sv
from sievert.observations._error_bounds import _expectation, _normal_expectation, confusion_bounds


def random_channel(rows: int, columns: int, seed: int, least: float = 0.0) -> sv.Channel:
    matrix = least + np.random.default_rng(seed).random((rows, columns))
    return sv.Channel(matrix / matrix.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("n", [1, 4, 30, 300])
def test_bounds_on_a_pair_contain_the_exact_error(seed: int, n: int) -> None:
    generator = np.random.default_rng(seed)
    matrix = generator.dirichlet(np.full(3, 0.5), 2)
    if seed % 3 == 2:
        matrix[0, 0] = 0
        matrix /= matrix.sum(axis=1, keepdims=True)
    logs = sv.Channel(matrix).log_matrix
    prior = generator.dirichlet([1, 1])
    exact = sv.success_probability(sv.Channel(matrix), prior, n).missing_bits * -math.log(2)
    low, high = confusion_bounds([(logs[0], logs[1], n)], *np.log(prior))
    assert low <= exact + 1e-9
    assert exact - 1e-9 <= high
    if n <= 30:
        assert high - low < 0.2 or exact < -60


@pytest.mark.parametrize("n", [201, 20001])
def test_bounds_allow_for_rounding_of_every_observation(n: int) -> None:
    """The majority is wrong more than half of the time: a binomial tail, in integers."""
    term, tail = math.comb(n, n // 2 + 1) * 2 ** (n // 2 + 1) * 3 ** (n // 2), 0
    for wrong in range(n // 2 + 1, n + 1):
        tail += term
        term = term * 2 * (n - wrong) // (3 * (wrong + 1))
    # log(tail / 5^n), the first being some 10^4 digits long.
    digits = max(tail.bit_length() - 1000, 0)
    exact = math.log(tail >> digits) + digits * math.log(2) - n * math.log(5)
    coin = np.log([0.6, 0.4])
    low, high = confusion_bounds([(coin, coin[::-1], n)], math.log(0.5), math.log(0.5), 1 << 18)
    noise = 1e-15 * n
    assert low - noise <= exact <= high + noise
    assert high - low >= 1e-15 * n


def test_bounds_do_not_depend_on_how_observations_are_split() -> None:
    logs = random_channel(2, 5, 12).log_matrix
    whole = confusion_bounds([(logs[0], logs[1], 10)], -0.7, -0.7)
    parts = confusion_bounds([(logs[0], logs[1], 4), (logs[0], logs[1], 6)], -0.7, -0.7)
    assert parts == pytest.approx(whole, abs=1e-6)


@pytest.mark.parametrize("times", [10, 1000, 10**5])
def test_the_normal_distribution_agrees_with_the_grid(times: int) -> None:
    rows = np.log([[0.5, 0.3, 0.2], [0.49, 0.31, 0.2]])
    tilted = [(np.exp(rows[1]), rows[0] - rows[1], times)]
    low, high = _expectation(tilted, 0.1, 0.4, 1 << 16)
    least, most = _normal_expectation(tilted, 0.1, 0.4)
    assert least <= high and low <= most
