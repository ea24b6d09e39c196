"""Regions of a map: cells cover them, distances between cells, and what no plane shows well."""

from pathlib import Path

import numpy as np
import pytest

from sievert.errors import FileError, TooLargeError
from sievert.files import load_policy_scenario
from sievert.spaces import Region

RNG = np.random.default_rng(9)


def test_cells_cover_the_region() -> None:
    region = Region(48.80, 2.25, 48.90, 2.42, 100)
    latitude, longitude = RNG.uniform(48.80, 48.90, 1000), RNG.uniform(2.25, 2.42, 1000)
    cells = region.cells(latitude, longitude)
    assert cells.min() >= 0 and (cells.max(axis=0) < region.shape).all()
    east, north = region.plane.forward(latitude, longitude)
    centre_east, centre_north = region.plane.forward(*region.centres(cells))
    assert np.abs(east - centre_east).max() <= 50.000001
    assert np.abs(north - centre_north).max() <= 50.000001
    assert region.cells(*region.centres(cells)).tolist() == cells.tolist()
    least, greatest = region.distortion
    assert 1 - 1e-6 < least <= greatest < 1 + 1e-6


def test_small_regions_have_a_metric() -> None:
    region = Region(48.80, 2.25, 48.801, 2.252, 50)
    metric = region.metric()
    assert metric.distance((0, 0), (2, 1)) == pytest.approx(50 * 5**0.5)
    large = Region(48.80, 2.25, 48.90, 2.42, 10).metric()
    assert large.size > 10**6
    assert large.uniform_distance is None and not large.component_of.any()
    with pytest.raises(TooLargeError, match="distances of"):
        _ = large.matrix


WIDE = """
version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 30.0, west = 0.0, north = 60.0, east = 30.0, cell = 1000.0 }
[mechanism]
kind = "planar-geometric"
eps = 0.004
"""


def test_a_region_that_no_plane_shows_well(tmp_path: Path) -> None:
    (tmp_path / "wide.toml").write_text(WIDE)
    with pytest.raises(FileError, match="split it"):
        load_policy_scenario(tmp_path / "wide.toml").policy.secrets  # noqa: B018
