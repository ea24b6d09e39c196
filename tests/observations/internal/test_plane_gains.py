"""Inside `_plane_gains`: one place seen through planar noise."""

import numpy as np
import pytest

from sievert.observations._planar_gains import (
    nearby_belief,
    nearby_guess,
    several_tries,
    stays_within,
    tries_by_belief,
)

SHAPES = [(6, 7), (1, 9), (9, 1), (2, 2), (1, 1), (2, 6), (11, 10)]


def uneven(noise, seed, kind):
    rng = np.random.default_rng(seed)
    belief = rng.random(len(noise.region))
    if kind == "rough":
        belief = belief**8
    if kind == "holes":
        belief = np.where(rng.random(len(belief)) < 0.3, belief, 0.0)
        belief[-1] += 1e-6
    return belief / belief.sum()


def distances(noise):
    rows, columns = np.divmod(np.arange(len(noise.region)), noise.region.shape[1])
    return np.hypot(np.subtract.outer(rows, rows), np.subtract.outer(columns, columns))


@pytest.mark.parametrize(("rows", "columns", "step"), [(12, 15, "1/2"), (30, 40, "1/40"), (31, 44, "2")])
def test_tries_and_discs_when_all_is_equally_likely(map_noise, rows, columns, step):
    noise = map_noise(rows, columns, step)
    matrix = noise.finite().matrix
    for tries in (2, 3, 7):
        found = several_tries(noise, tries)
        if found is not None:
            assert found == pytest.approx(np.sort(matrix, axis=0)[-tries:].sum() / len(matrix), rel=1e-12)
    for radius in (0, 1, 1.5, 2):
        near = (distances(noise) <= radius + 1e-9).astype(float)
        exact = (near @ matrix).max(axis=0).sum() / len(matrix)
        assert nearby_guess(noise, radius) == pytest.approx(exact, rel=1e-12)
        assert stays_within(noise, radius) <= exact


def test_inside_the_region_the_noisy_cell_is_the_best_guess(map_noise):
    """P(|z| ≤ r) is the chance far from the border, as the spec says."""
    noise = map_noise(41, 43, "1")
    row = noise.law((20, 21))
    away = np.hypot(np.arange(41)[:, None] - 20, np.arange(43)[None, :] - 21)
    for radius in (1, 2, 3.5):
        assert stays_within(noise, radius) == pytest.approx(row[away <= radius].sum(), rel=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["smooth", "rough", "holes"])
@pytest.mark.parametrize(
    ("step", "radius"), [("1/20", 1.0), ("1/2", 0.0), ("1/2", 2.5), ("4", 1.5), ("1/2", 40.0)]
)
def test_nearby_under_any_belief(map_noise, shape, kind, step, radius):
    """Against all pairs of cells."""
    noise = map_noise(*shape, step)
    belief = uneven(noise, 5, kind)
    near = distances(noise) <= radius
    exact = (near.astype(float) @ (belief[:, None] * noise.finite().matrix)).max(axis=0).sum()
    lower, upper = nearby_belief(noise, belief.reshape(shape), radius)
    assert lower == pytest.approx(exact, rel=1e-13)
    assert upper == pytest.approx(exact, rel=1e-12)
    joint = np.sort(belief[:, None] * noise.finite().matrix, axis=0)
    for tries in (1, 3, len(belief) + 1):
        ends = tries_by_belief(noise, belief.reshape(shape), tries)
        assert ends == pytest.approx((joint[-tries:].sum(),) * 2, rel=1e-12)


def test_what_is_far_is_counted_in_full(map_noise):
    """What is far from an output is not looked at, and counted in full above."""
    wide = map_noise(2, 150, "2")
    belief = uneven(wide, 4, "smooth")
    lower, upper = nearby_belief(wide, belief.reshape(2, 150), 1.0)
    near = distances(wide) <= 1
    exact = (near.astype(float) @ (belief[:, None] * wide.finite().matrix)).max(axis=0).sum()
    assert lower <= exact * (1 + 1e-14) and exact <= upper * (1 + 1e-14) and upper - lower < 1e-12
