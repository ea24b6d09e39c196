"""Inside `_places`: the noise for places on a map."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sievert.design._places import axis_guess, axis_lengths


def clamped(size: int, level: float) -> np.ndarray:
    """Geometric noise on a line, clamped: entries by the law, the rest at the ends."""
    found = np.zeros((size, size))
    for place in range(size):
        for noise in range(-400, 401):
            chance = math.tanh(level / 2) * math.exp(-level * abs(noise))
            found[place, min(max(place + noise, 0), size - 1)] += chance
    return found


@pytest.mark.parametrize("level", [0.3, 1.5])
def test_guess_by_coordinates_is_that_of_the_product(level: float) -> None:
    belief = np.random.default_rng(5).dirichlet(np.ones(12)).reshape(3, 4)
    belief[1, 2] = 0
    belief /= belief.sum()
    channel = np.kron(clamped(3, level), clamped(4, level))
    expected = (belief.ravel()[:, None] * channel).max(axis=0).sum()
    assert axis_guess(belief, level) == pytest.approx(expected, rel=1e-12)
    assert axis_guess(np.full((1, 4), 0.25), level) == pytest.approx(
        clamped(4, level).max(axis=0).sum() / 4, rel=1e-12
    )


def test_lengths_by_coordinates() -> None:
    offsets = np.arange(-300, 301)
    weights = np.exp(-0.5 * np.abs(offsets))
    weights /= weights.sum()
    both, length = np.outer(weights, weights), np.hypot(*np.meshgrid(offsets, offsets))
    scale, mean, reach = axis_lengths(0.5, 0.9)
    assert scale == pytest.approx(math.sqrt((both * length**2).sum()), rel=1e-12)
    assert mean == pytest.approx((both * length).sum(), rel=1e-12)
    assert both[length <= reach].sum() >= 0.9 > both[length < reach - 1e-9].sum()
    # On a fine lattice as on the plane.
    coarse, fine = axis_lengths(0.1001, 0.9), axis_lengths(0.0999, 0.9)
    for one, other in zip(coarse, fine, strict=True):
        assert one * 0.1001 == pytest.approx(other * 0.0999, rel=3e-3)
