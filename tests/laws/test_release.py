"""Laws of release: what is said before, what is charged and what is drawn are one thing."""

import math
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.files import load_scenario
from sievert.files.regions import Region
from sievert.release.places import PlaceNoise
from sievert.release.plan import make_plan

MAP = """version = 1
[policy.secrets]
metric = "euclidean"
region = {{ south = {south}, west = 13.36, north = {north}, east = 13.38, cell = {cell} }}
[mechanism]
{mechanism}
[data]
input = "places.csv"
column = ["lat", "lon"]
[release]
ledger = "budget.toml"
"""
PLANAR = 'kind = "planar-geometric"\neps = 0.01'
ON_CELLS = 'kind = "exponential"\nlevel = "true"\neps = 0.01'


def metres_on_the_ground(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Distance of places a few hundred metres apart, by the radii of curvature half way."""
    e2, equator = 6.69437999014e-3, 6378137.0
    middle = np.radians((first[0] + second[0]) / 2)
    w2 = 1 - e2 * np.sin(middle) ** 2
    north = np.radians(second[0] - first[0]) * equator * (1 - e2) / w2**1.5
    east = np.radians(second[1] - first[1]) * equator * np.cos(middle) / np.sqrt(w2)
    return np.hypot(north, east)


@pytest.mark.parametrize("mechanism", [PLANAR, ON_CELLS])
@pytest.mark.parametrize(("south", "cell"), [(52.505, 250), (52.505, 97.3), (-0.005, 250), (69.0, 130)])
def test_the_leak_between_any_two_places_is_within_what_the_preview_says(
    tmp_path: Path, mechanism: str, south: float, cell: float
) -> None:
    """Brute force over pairs of places, most of them on either side of a border of cells."""
    north = south + 0.012
    (tmp_path / "budget.toml").write_text("person = 1.0")
    (tmp_path / "map.toml").write_text(
        MAP.format(south=south, north=north, cell=cell, mechanism=mechanism), encoding="utf-8"
    )
    described = load_scenario(tmp_path / "map.toml")
    noise = make_plan(described).mechanism
    assert isinstance(noise, PlaceNoise)
    # Rounding of the channel and of its clamped ends, far below what a distance adds.
    logs = np.log(noise._matrix())
    region = noise.region
    generator = np.random.default_rng(5)
    low, high = np.array([south, 13.36]), np.array([north, 13.38])
    first = low[:, None] + generator.random((2, 4000)) * (high - low)[:, None]
    step = 10 ** generator.uniform(-7, -2.3, 4000)
    angle = generator.uniform(0, 2 * math.pi, 4000)
    second = np.clip(first + step * np.array([np.sin(angle), np.cos(angle)]), low[:, None], high[:, None])
    positions = [(region.cells(*places) @ [region.shape[1], 1]) for places in (first, second)]
    leak = np.abs(logs[positions[0]] - logs[positions[1]]).max(axis=1)
    distance = metres_on_the_ground(first, second)
    eps = float(noise.eps)
    allowed = eps * np.array([region.cells_apart(d) for d in distance])
    assert (leak <= allowed + 1e-9).all()
    assert (leak > eps * distance * 1.01 + 1e-6).any(), "cells matter here: the distance alone is too little"
    for metres, factor in sv.release.preview(described).factors:
        near = distance <= metres
        assert near.any() and np.exp(leak[near]).max() <= factor * (1 + 1e-9)


def test_an_audit_on_a_map_says_what_two_places_give_away(tmp_path: Path) -> None:
    """Two places centimetres apart may be in two cells: the audit's factor counts the cell's diagonal."""
    text = MAP.format(south=52.505, north=52.515, cell=250, mechanism=ON_CELLS)
    (tmp_path / "map.toml").write_text(text, encoding="utf-8")
    found = sv.audit(tmp_path / "map.toml")
    region = Region(52.505, 13.36, 52.515, 13.38, 250)
    assert found.on_map
    for metres, factor in found.radii:
        assert factor >= math.exp(0.01 * (metres + region.diagonal)) * (1 - 1e-9)
