"""The noise for places on a map, by brute force on small ones and by its file on large ones."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.channels import PlanarNoise
from sievert.design import place_design, planar_beside
from sievert.design._places import axis_guess, axis_lengths
from sievert.files import Scenario
from sievert.questions import seen
from sievert.questions.design import announced, design_of
from sievert.spaces import Region

MAP = """version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 47.30, west = 8.40, north = 47.45, east = 8.62, cell = %s }
[query]
kind = "record"
[mechanism]
kind = "planar-geometric"
eps = 0.01
"""


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


def test_place_design_names_the_planar_noise() -> None:
    noise = PlanarNoise(Region(47.0, 8.0, 47.01, 8.02, 200), Fraction(1, 200))
    found = place_design(noise, None, 3, 0.9, "many cells")
    planar, axes = found.options
    assert found.best == planar.name and found.unit == "m"
    assert planar.mechanism == {"kind": "planar-geometric", "eps": 0.005}
    assert planar.after == pytest.approx(noise.capacity / len(noise.region), rel=1e-12)
    assert planar.mean_error is not None and axes.mean_error is not None
    assert planar.mean_error < axes.mean_error
    assert axes.after <= axes.repeated and not axes.repeated_exact


def test_design_of_very_many_cells(tmp_path: Path) -> None:
    path = tmp_path / "map.toml"
    path.write_text((MAP % "60") + '[use]\nloss = "distance"\n', encoding="utf-8")
    design = design_of(sv.load(path))
    assert design.found.best == "planar geometric"
    assert "errs least" in str(design) and "the place is guessed" in str(design)
    why = design.found.missing["the best of all mechanisms"]
    assert "cells take days" in why and "up to about 1000 cells are solved" in why
    # The coarser grid that is offered is no coarser than needed, to two digits of the width.
    width, cells = re.search(r"with cell = (\d+) it has (\d+), about \d+ minutes", why).groups()
    region = sv.load(path).region
    assert len(replace(region, cell=float(width))) == int(cells) <= 1000
    assert len(replace(region, cell=float(width) * 0.9)) > 1000


def test_a_design_that_takes_long_says_so_before_it_starts(tmp_path: Path) -> None:
    """Some 500 cells take a minute, 1,000 eight; more are not begun on this machine."""
    path = tmp_path / "map.toml"

    def asked(cell: int, gap: str) -> Scenario:
        path.write_text((MAP % cell) + f'[use]\nloss = "distance"\n{gap}\n', encoding="utf-8")
        return sv.load(path)

    assert announced(asked(1500, "gap = 0.01")) is None
    said = announced(asked(700, "gap = 0.01"))
    assert said is not None and "cells at gap = 0.01 takes about" in said and "with cell = " in said
    assert "with gap = 0.01 about" in str(announced(asked(1500, "")))
    for cell, gap, fix in ((480, "gap = 0.01", "with cell = "), (700, "", "with gap = 0.01 about")):
        scenario = asked(cell, gap)
        why = design_of(scenario).found.missing["the best of all mechanisms"]
        assert (
            announced(scenario) is None and f"{len(scenario.region)} cells take about" in why and fix in why
        )


def test_design_reads_the_population_of_a_map() -> None:
    scenario = sv.load("examples/city-places.toml")
    design = design_of(scenario)
    planar, record = design.found.options[0], seen(scenario).record
    assert (planar.before, planar.after) == pytest.approx((record.before, record.after), rel=1e-12)
    assert "needs [use]" in design.found.missing["the best of all mechanisms"]


def test_planar_noise_beside_the_best_mechanism() -> None:
    region = Region(46.94, 7.42, 46.9475, 7.431, 200)
    metric, cells = region.metric(), len(region)
    belief = np.random.default_rng(3).dirichlet(np.ones(cells))
    loss = sv.losses.distance(metric)
    best = sv.optimal_mechanism(metric, 0.004, belief, loss, gap=1e-3)
    found = planar_beside(best.mechanism, best.loss, PlanarNoise(region, Fraction(1, 250)), belief, loss)
    assert found.planar_loss >= best.loss * (1 - 1e-3)
    equal = PlanarNoise(region, Fraction(found.equal_eps)).finite()
    assert sv.posterior_vulnerability(equal, belief).value == pytest.approx(found.guess, rel=1e-6)
    assert sv.remap(equal, belief, loss).after == pytest.approx(found.equal_loss)
    assert f"loses {found.equal_loss:.6g}" in str(found)
    # Nothing is as seldom guessed as a mechanism that says nothing.
    blind = sv.Channel(np.ones((cells, 1)), list(region.labels), [(0, 0)])
    assert planar_beside(blind, 1.0, PlanarNoise(region, Fraction(1, 250)), belief, loss).equal_eps is None


def test_a_designed_map_is_audited_and_released_under_a_population(tmp_path: Path) -> None:
    scenario = sv.load("examples/centre-bicycles.toml").replaced(
        {("policy", "secrets", "region", "cell"): 700, "accept.guess": 0.9}
    )
    found = design_of(scenario)
    assert found.beside is not None and found.found.optimal.gap <= 0.01 * found.found.optimal.loss
    for path, content in found.files(scenario, tmp_path / "best.toml").values():
        path.write_bytes(content)
    audit = sv.audit(tmp_path / "best.toml")
    assert audit.passed
    assert audit.record.after == pytest.approx(found.beside.guess)
