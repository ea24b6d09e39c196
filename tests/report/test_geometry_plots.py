"""Pictures of private posteriors and of who is best where: the coordinates of the figures of chapter 6."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sievert as sv
from sievert.errors import MetricError


def traces(figure: object) -> dict[str, object]:
    return {trace.name: trace for trace in figure.data if trace.name}  # type: ignore[attr-defined]


def test_barycentric_places_of_figure_6_2() -> None:
    found = traces(sv.plots.private_posteriors(sv.metrics.line(3), alpha="1/2"))
    places = sorted(zip(found["vertices"].x, found["vertices"].y, strict=True))  # type: ignore[attr-defined]
    printed = [(0.357143, 0.123718), (0.4, 0.346410), (0.571429, 0.494872), (0.625, 0.216506)]
    assert np.allclose(places, printed, atol=5e-7)
    centre = found["uniform prior"]
    assert (centre.x[0], centre.y[0]) == pytest.approx((0.5, 0.288675), abs=1e-6)  # type: ignore[attr-defined]
    outline = found["private posteriors"]
    assert len(outline.x) == 5  # type: ignore[attr-defined]


def test_a_kernel_is_highlighted() -> None:
    geometric = sv.mechanisms.truncated_geometric(3, alpha="1/2")
    found = traces(sv.plots.private_posteriors(sv.metrics.line(3), None, geometric, alpha="1/2"))
    shown = found["the mechanism's posteriors"]
    assert sorted(np.round(shown.x, 6)) == [0.357143, 0.571429, 0.625]  # type: ignore[attr-defined]


@pytest.mark.parametrize("n, count", [(2, 2), (4, 8)])
def test_two_and_four_inputs(n: int, count: int) -> None:
    found = traces(sv.plots.private_posteriors(sv.metrics.line(n), 1.0))
    assert len(found["vertices"].x) == count  # type: ignore[attr-defined]


def test_corners_are_named_within_a_narrow_picture() -> None:
    names = ["between 20 and 39", "average", "high", "more"]
    for n in (2, 3, 4):
        metric = sv.metrics.discrete(names[:n])
        (corners,) = [t for t in sv.plots.private_posteriors(metric, 1.0).data if t.mode == "text"]
        assert corners.text[0] == "surely between<br>20 and 39"
        assert set(corners.textposition[:2]) == {"bottom center"}


def test_other_sizes_are_refused() -> None:
    for n in (1, 5):
        with pytest.raises(MetricError, match="two to four"):
            sv.plots.private_posteriors(sv.metrics.line(n), 1.0)
    with pytest.raises(MetricError, match="priors over three"):
        sv.plots.optimality_map(sv.metrics.line(4), "1/2", sv.losses.absolute(4))


def test_the_map_shows_one_kernel_where_one_is_best_for_all() -> None:
    line = sv.plots.optimality_map(sv.metrics.line(3), "1/2", sv.losses.absolute(3), resolution=12)
    assert list(traces(line)) == ["no release helps", "kernel with 3 outputs"]
    discrete = sv.plots.optimality_map(sv.metrics.discrete(3), math.exp(-1), sv.losses.bayes_risk(3), 12)
    assert "0 or 1, 2?" in traces(discrete)
    colours = [trace.marker.color for trace in discrete.data if trace.name]
    assert len(colours) > 3
    total = sum(len(trace.x) for trace in discrete.data if trace.name)
    assert total == 13 * 14 // 2
