"""Inside `_inversion`: means of functions of the true values."""

import numpy as np
import pytest

import sievert as sv
from sievert.estimation._inversion import inverse_of

CHANNELS = {
    "response": sv.mechanisms.randomised_response(6, 0.8),
    "geometric": sv.mechanisms.truncated_geometric(6, 0.8),
    "cyclic": sv.Channel.from_noise([0.6, 0.3, 0.1], 6, cyclic=True),
    "wide": sv.Channel(np.random.default_rng(3).dirichlet(np.ones(9), 6), normalise=True),
}


@pytest.mark.parametrize("name", ["response", "geometric", "cyclic", "wide"])
def test_weights_are_those_of_the_matrix(name: str) -> None:
    channel = CHANNELS[name]
    x = np.arange(6) ** 1.5
    worth = inverse_of(channel).weigh(x)
    assert channel.matvec(worth) == pytest.approx(x, abs=1e-9)  # G·(R·x) = x: unbiased for every value
    inverse = inverse_of(channel)
    assert np.array([inverse.apply(row) for row in np.eye(channel.shape[1])]) @ x == pytest.approx(
        worth, abs=1e-9
    )


def test_products_weigh_by_their_factors() -> None:
    pair = sv.mechanisms.truncated_geometric(3, 0.7).product(2)
    x = np.random.default_rng(0).random(9)
    assert pair.matvec(inverse_of(pair).weigh(x)) == pytest.approx(x, abs=1e-10)
