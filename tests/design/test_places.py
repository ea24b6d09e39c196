"""The noise for places on a map, by brute force on small ones and by its file on large ones."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sievert as sv
from sievert.channels import PlanarNoise
from sievert.design import place_design, planar_beside
from sievert.files import PolicyScenario
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

    def asked(cell: int, gap: str) -> PolicyScenario:
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
    planar, record = design.found.options[0], scenario.analysis.vulnerability()
    assert (planar.before, planar.after) == pytest.approx((record.prior, record.value), rel=1e-12)
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
