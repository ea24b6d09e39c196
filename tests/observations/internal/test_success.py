"""Inside `_success`: many observations."""

import numpy as np
import pytest

import sievert as sv
from sievert.observations import _success as module
from sievert.observations._success import attack_on

# What results say of how they were found.
EXACT, BOUNDS, SIMULATION = "exact by types", "certified bounds", "simulation, 99.9 % interval"


def random_channel(rows: int, columns: int, seed: int, least: float = 0.0) -> sv.Channel:
    matrix = least + np.random.default_rng(seed).random((rows, columns))
    return sv.Channel(matrix / matrix.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("rows", [2, 3, 5])
@pytest.mark.parametrize("n", [1, 8, 40])
def test_bounds_contain_the_exact_success(rows: int, n: int) -> None:
    attack = attack_on(random_channel(rows, 3, rows), np.arange(1, rows + 1) / (rows * (rows + 1) / 2))
    exact, bounds = attack.exactly(n), attack.bounded(n)
    assert bounds.lower <= exact.value * (1 + 1e-12)
    assert exact.value <= bounds.upper * (1 + 1e-12)
    if rows == 2:
        assert bounds.upper - bounds.lower < 2e-3


def test_simulation_covers_the_exact_success() -> None:
    """99.9 % intervals, seeds fixed: 40 of them all hold with probability above 0.96."""
    attack = attack_on(random_channel(4, 3, 13))
    exact = attack.exactly(12)
    for seed in range(40):
        found = attack.simulated(12, attack.bounded(12), seed)
        assert found.method == SIMULATION
        assert found.lower <= exact.value <= found.upper
        assert found.upper - found.lower < 0.05


def test_a_curve_too_large_for_types(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = random_channel(3, 3, 14)
    exact = sv.observations.success_curve(channel, None, range(1, 41)).values
    monkeypatch.setattr(module, "LARGEST_WORK", 1000)
    monkeypatch.setattr(module, "LARGEST_TABLE", 24 * 100)
    found = sv.observations.success_curve(channel, None, range(1, 41), rng=1)
    assert EXACT in found.methods
    assert len(found.methods) > 1
    for point, value in zip(found.points, exact, strict=True):
        assert point.lower - 1e-12 <= value <= point.upper + 1e-12
