"""Inside `_plane_chains`: one place seen through planar noise."""

import numpy as np
import pytest

from sievert.observations import likelihood_of
from sievert.observations._planar_chains import tree_of_neighbours


def uneven(noise, seed, kind):
    rng = np.random.default_rng(seed)
    belief = rng.random(len(noise.region))
    if kind == "rough":
        belief = belief**8
    if kind == "holes":
        belief = np.where(rng.random(len(belief)) < 0.3, belief, 0.0)
        belief[-1] += 1e-6
    return belief / belief.sum()


@pytest.mark.parametrize("releases", [1, 2])
def test_a_tree_of_neighbours_bounds_the_guess(map_noise, releases):
    noise = map_noise(4, 5, "1/2")
    belief = uneven(noise, 2, "smooth")
    view, matrix = likelihood_of(noise, belief), noise.finite().matrix
    exact = view.guess().guess
    if releases == 2:
        exact = (belief[:, None, None] * matrix[:, :, None] * matrix[:, None, :]).max(axis=0).sum()
    tree = tree_of_neighbours(noise, view.grid, releases)
    assert tree is not None and exact <= tree < 1
