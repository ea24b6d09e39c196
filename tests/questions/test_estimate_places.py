"""`sievert estimate` of a map: places counted by cell, the density behind them, and its picture."""

import csv
import json
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

from sievert.channels import PlanarNoise
from sievert.cli.app import app
from sievert.errors import FileError
from sievert.files import load_policy_scenario
from sievert.questions.estimate import estimate_of, estimate_proof
from sievert.report.estimate import page, table
from sievert.spaces import Region

REGION = Region(52.48, 13.34, 52.52, 13.40, 150)


@pytest.fixture
def town(tmp_path):
    """Twenty thousand people in two quarters, and their noisy places."""
    rows, columns = REGION.shape
    noise, rng = PlanarNoise(REGION, Fraction(1, 150)), np.random.default_rng(5)
    r, c = np.indices((rows, columns))
    truth = np.exp(-((r - 0.3 * rows) ** 2 + (c - 0.4 * columns) ** 2) / 20)
    truth += 0.5 * np.exp(-((r - 0.7 * rows) ** 2 + (c - 0.7 * columns) ** 2) / 8)
    drawn = rng.choice(truth.size, 20_000, p=truth.ravel() / truth.sum())
    cells = np.stack(np.divmod(drawn, columns), axis=1)
    for name, places in (("true.csv", cells), ("noisy.csv", noise.sample(cells, rng))):
        written(tmp_path / name, places)
    (tmp_path / "town.toml").write_text(TOWN)
    return tmp_path


def written(path, cells, extra=()):
    latitude, longitude = REGION.centres(cells)
    with path.open("w", newline="") as stream:
        rows = zip(latitude.round(7), longitude.round(7), strict=True)
        csv.writer(stream).writerows([("lat", "lon"), *rows, *extra])


TOWN = """
version = 1
title = "Where phones are"
[policy.secrets]
metric = "euclidean"
region = { south = 52.48, west = 13.34, north = 52.52, east = 13.40, cell = 150 }
[mechanism]
kind = "planar-geometric"
eps = 0.00666666666666
[estimate]
reports = "noisy.csv"
column = ["lat", "lon"]
original = "true.csv"
"""


def test_the_density_is_recovered(town):
    found = estimate_of(load_policy_scenario(town / "town.toml"))
    assert found.rows == 20_000
    assert sum(found.reported.values()) == 20_000
    assert found.estimate.method == "regularised"
    estimated, noisy = found.misplaced
    assert estimated < 0.6 * noisy
    assert "the fullest cell is around 52.49" in str(found)
    html = page(found, load_policy_scenario(town / "town.toml"))
    for name in ("original", "noisy", "estimated", "metres east"):
        assert name in html
    header, rows = table(found)
    assert len(rows) == 100
    assert header == ["value", "reported", "estimated", "original"]


def test_public_answers_read_no_true_values(town):
    (town / "true.csv").unlink()
    found = estimate_of(load_policy_scenario(town / "town.toml"), public=True)
    assert found.original is None
    assert found.misplaced is None


def test_on_the_command_line(town):
    (town / "town.toml").write_text(TOWN.replace('original = "true.csv"\n', ""))
    result = CliRunner().invoke(app, ["estimate", str(town / "town.toml"), "--json"])
    assert result.exit_code == 0
    found = json.loads(result.output)
    assert len(found["estimate"]["distribution"]) == len(REGION)
    assert sum(found["estimate"]["distribution"]) == pytest.approx(1)
    by_hand = [
        "estimate",
        str(town / "town.toml"),
        "--column",
        "lat, lon",
        "--method",
        "ibu",
        "--interval",
        "none",
    ]
    assert CliRunner().invoke(app, by_hand).exit_code == 0


def test_bad_places_are_refused(town):
    (town / "town.toml").write_text(TOWN.replace('original = "true.csv"\n', ""))
    scenario = load_policy_scenario(town / "town.toml")
    cells = np.array([[1, 1], [2, 2]])
    written(town / "noisy.csv", cells, [(48.1, 11.5)])
    with pytest.raises(FileError, match="row 3 is outside the region"):
        estimate_of(scenario)
    written(town / "noisy.csv", cells, [("", 13.35)])
    with pytest.raises(FileError, match=r'1 of 3 reports are no places.*missing = "drop"'):
        estimate_of(scenario)
    (town / "town.toml").write_text(TOWN.replace('original = "true.csv"', 'missing = "drop"'))
    found = estimate_of(load_policy_scenario(town / "town.toml"))
    assert (found.rows, found.dropped, found.estimate.reports) == (3, 1, 2)


def test_counts_of_places(town):
    rows = [(*REGION.centres([[5, 5]]), 7), (*REGION.centres([[9, 9]]), 3)]
    with (town / "noisy.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [("lat", "lon", "n"), *((float(lat[0]), float(lon[0]), n) for lat, lon, n in rows)]
        )
    (town / "town.toml").write_text(TOWN.replace('original = "true.csv"', 'counts = "n"'))
    found = estimate_of(load_policy_scenario(town / "town.toml"))
    assert dict(found.groups[0]) == {(5, 5): 7, (9, 9): 3}


def test_a_small_map_has_a_proof(town):
    """Where all pairs of cells are few, the gap is proved in fractions."""
    small = TOWN.replace("cell = 150", "cell = 900").replace(
        'original = "true.csv"', 'method = "maximum-likelihood"'
    )
    (town / "town.toml").write_text(small)
    scenario = load_policy_scenario(town / "town.toml")
    found = estimate_of(scenario)
    assert found.estimate.total_gap < 1e-3
    assert estimate_proof(scenario, found).verify()


def test_one_column_is_no_place(town):
    with pytest.raises(FileError, match="latitude and longitude"):
        estimate_of(load_policy_scenario(town / "town.toml"), column="lat")
