"""Inside `_plane_envelope`: one place seen through planar noise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sievert.observations import likelihood_of
from sievert.observations._planar_envelope import by_blocks, compared, largest_beliefs, looked_around


def even(noise):
    return np.full(len(noise.region), 1 / len(noise.region))


def uneven(noise, seed, kind):
    rng = np.random.default_rng(seed)
    belief = rng.random(len(noise.region))
    if kind == "rough":
        belief = belief**8
    if kind == "holes":
        belief = np.where(rng.random(len(belief)) < 0.3, belief, 0.0)
        belief[-1] += 1e-6
    return belief / belief.sum()


@pytest.mark.parametrize(("rows", "columns", "step"), [(6, 6, "1/2"), (30, 40, "1/4"), (100, 200, "5/4")])
def test_any_belief_that_is_as_good_as_even(map_noise, rows, columns, step):
    """By the way of any belief, what even beliefs have in closed form."""
    noise = map_noise(rows, columns, step)
    found = likelihood_of(noise, even(noise)).guess()
    logs = np.log(even(noise)).reshape(rows, columns)
    assert np.exp(largest_beliefs(noise, logs)).sum() == pytest.approx(found.guess, rel=1e-12)


@settings(max_examples=12)
@given(st.integers(60, 75), st.integers(1, 25), st.sampled_from(["1/9", "1"]), st.integers(0, 10**6))
def test_envelope_over_several_tiles(map_noise, rows, columns, step, seed):
    noise = map_noise(rows, columns, step)
    belief = uneven(noise, seed, ["smooth", "rough", "holes"][seed % 3])
    with np.errstate(divide="ignore"):
        logs = np.log(belief).reshape(rows, columns)
    exact = (belief[:, None] * noise.finite().matrix).max(axis=0)
    for way in (largest_beliefs, by_blocks):
        np.testing.assert_allclose(np.exp(way(noise, logs)).ravel(), exact, rtol=1e-11)


@pytest.mark.parametrize("shape", [(6, 7), (1, 9), (9, 1), (2, 6)])
@pytest.mark.parametrize("step", ["1/20", "2"])
def test_every_way_to_the_envelope_is_one(map_noise, shape, step):
    noise = map_noise(*shape, step)
    logs = np.log(uneven(noise, 3, "rough")).reshape(shape)
    kernels = noise.kernels
    tables = kernels.inside, kernels.side_row, kernels.side_column, kernels.corner
    plain = getattr(looked_around, "py_func", looked_around)
    ways = [compared(noise, logs), by_blocks(noise, logs), plain(*tables, logs, float(logs.max()))]
    for found in ways[1:]:
        np.testing.assert_allclose(found, ways[0], rtol=0, atol=1e-13)
