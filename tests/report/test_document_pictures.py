"""Pictures of documents: Fig 9.1, Fig 9.2, and success against ε with the promise on the same axis."""

import math

import numpy as np
import pytest

import sievert as sv
from sievert.errors import DataError
from sievert.text import AttackBench, AttackOutcome


def test_the_flow_of_figure_9_1() -> None:
    small = sv.text.Embedding.small()
    first, second = ["president", "greet", "press", "chicago"], ["chief", "speaks", "media", "illinois"]
    figure = sv.plots.document_flow(sv.text.distance(first, second, small))
    ways = [trace.hovertemplate.split(":")[0] for trace in figure.data[:-1]]
    assert sorted(ways) == ["chicago → illinois", "greet → speaks", "president → chief", "press → media"]
    assert len(sv.plots.document_flow(sv.text.distance(first, second, small), 2).data) == 3
    with pytest.raises(DataError, match=r"what sv\.text\.distance found"):
        sv.plots.document_flow([("a", "b")])  # type: ignore[arg-type]


def test_the_density_of_figure_9_2() -> None:
    """c_2(1) = 1/(2π) in the middle; radii are quantiles of Gamma(2)."""
    figure = sv.plots.noise_contours(1.0)
    density = figure.data[0].z
    assert density.max() == pytest.approx(1 / (2 * math.pi))
    half = np.hypot(figure.data[1].x, figure.data[1].y)
    assert half == pytest.approx(np.full(len(half), 1.67834699), rel=1e-8)
    assert sv.plots.noise_contours(2.0, 3.0).data[0].x[-1] == 3.0


def test_success_against_eps() -> None:
    attackers = ("author, nearest mean", "topic, five nearest means")
    findings = [
        AttackOutcome(name, eps, found, 10, 0.1, 0.9, 0.25)
        for name in attackers
        for eps, found in ((None, 9), (2.0, 8), (1.0, 4))
    ]
    bench = AttackBench(tuple(findings), {1.0: 3.0, 2.0: 6.0}, {1.0: 0.1, 2.0: 0.2}, 4, 1, 9, "word-laplace")
    figure = sv.plots.attack_success(bench)
    assert [trace.name for trace in figure.data] == ["author, nearest mean", "promised: no more than"]
    assert list(figure.data[0].x) == [1.0, 2.0] and list(figure.data[0].y) == [0.4, 0.8]
    # e^6/(e^6 + 3) at ε = 2.
    assert figure.data[1].y[-1] == pytest.approx(math.exp(6) / (math.exp(6) + 3))
    assert sv.plots.attack_success(bench, "topic").data[0].name == "topic, five nearest means"
    with pytest.raises(DataError, match="attackers is 'genre'"):
        sv.plots.attack_success(bench, "genre")
