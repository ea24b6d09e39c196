"""Inside `_expected_losses`: many observations."""

import numpy as np
import pytest

import sievert as sv

# What results say of how they were found.
EXACT, BOUNDS, SIMULATION = "exact by types", "certified bounds", "simulation, 99.9 % interval"


def random_channel(rows: int, columns: int, seed: int, least: float = 0.0) -> sv.Channel:
    matrix = least + np.random.default_rng(seed).random((rows, columns))
    return sv.Channel(matrix / matrix.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("loss", [sv.losses.absolute(4), sv.losses.shannon(4), sv.gains.tries(4, 2)], ids=str)
def test_bounds_and_simulation_of_losses(loss, monkeypatch: pytest.MonkeyPatch) -> None:
    from sievert.observations import _expected_losses as expected_losses

    channel = random_channel(4, 3, 18)
    exact = {
        n: sv.observations.expected_loss(channel, loss=loss, prior=None, observations=n).value
        for n in (3, 20, 400)
    }
    monkeypatch.setattr(expected_losses, "LARGEST_TABLE", 1)
    for n, value in exact.items():
        found = sv.observations.expected_loss(channel, loss=loss, prior=None, observations=n, rng=2)
        assert found.method in (BOUNDS, SIMULATION)
        assert found.lower - 1e-12 <= value <= found.upper + 1e-12
