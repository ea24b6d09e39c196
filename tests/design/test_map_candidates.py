"""Mechanisms for places that a design weighs: the planar noise of maps is one of them."""

import pytest

import sievert as sv
from sievert.files import load_policy_scenario
from sievert.questions.design import design_of

MAP = """
version = 1
[policy.secrets]
metric = "euclidean"
region = { south = 52.505, west = 13.36, north = 52.512, east = 13.37, cell = 250 }
[mechanism]
kind = "planar-geometric"
eps = 0.004
[use]
loss = "distance"
"""


def test_planar_noise_is_weighed_for_a_map(tmp_path):
    """The noise of the file itself, by its name, with the loss and the leaks of all pairs of cells."""
    (tmp_path / "map.toml").write_text(MAP)
    scenario = load_policy_scenario(tmp_path / "map.toml")
    found = design_of(scenario).found
    rows = {item.name: item for item in found.alternatives}
    row = rows["planar geometric"]
    matrix = scenario.channel.finite().matrix
    assert row.mechanism.matrix == pytest.approx(matrix, rel=1e-12)
    # The user makes the best of every noisy place.
    best = (scenario.policy.secrets.matrix @ matrix).min(axis=0).sum() / len(matrix)
    assert row.loss == pytest.approx(best, rel=1e-9)
    assert row.loss >= rows["optimal"].loss * (1 - 1e-9)
    assert row.as_released == pytest.approx(
        float((scenario.policy.secrets.matrix * matrix).sum()) / len(matrix), rel=1e-9
    )


def test_only_cells_of_a_map_get_planar_noise():
    uneven = sv.metrics.euclidean([(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.5, 1.0)])
    for metric in (sv.metrics.line(4), sv.metrics.discrete(4), uneven):
        found = sv.candidates(metric, 1.0)
        assert "planar geometric" not in {*(item.name for item in found.alternatives), *found.missing}
