"""The standard mechanisms beside the optimal one, and the chart."""

import math

import numpy as np
import pytest

import sievert as sv
from sievert.numerics import progress_listener


def test_on_a_line_the_geometric_is_as_good() -> None:
    found = sv.candidates(
        sv.metrics.line(5),
        1.0,
        None,
        sv.losses.absolute(5),
        gains=[None, sv.gains.within(sv.metrics.line(5), 1)],
    )
    by_name = {item.name: item for item in found.alternatives}
    assert set(by_name) == {
        "optimal",
        "geometric",
        "truncated geometric",
        "tight constraints",
        "exponential",
        "randomised response",
    }
    assert not found.missing
    best = float(found.optimal.loss)
    for item in found.alternatives:
        assert item.loss >= best - 1e-12
        assert item.eps <= 1 + 1e-9
        assert [leak.name for leak in item.leaks] == ["identity", "within 1"]
    for name in ("geometric", "truncated geometric", "tight constraints"):
        assert by_name[name].loss == pytest.approx(best, abs=1e-12)
    assert by_name["exponential"].loss > best + 0.01
    assert "optimal here" in str(found)
    relations = {(item.first, item.second): item.relation for item in found.neighbours}
    assert relations["optimal", "truncated geometric"] == "equivalent"
    assert relations["exponential", "randomised response"] == "neither"


def test_what_does_not_exist_says_why() -> None:
    star = sv.metrics.from_graph([("hub", i) for i in "abcde"])
    found = sv.candidates(star, 0.5)
    assert "needs numbers" in found.missing["geometric"]
    assert "negative" in found.missing["tight constraints"]
    assert found.alternatives[0].name == "optimal"
    assert {"exponential", "randomised response"} <= {item.name for item in found.alternatives}


def test_safer_by_post_processing() -> None:
    """Under the discrete metric randomised response is best for Bayes risk."""
    found = sv.candidates(sv.metrics.discrete([0, 1, 2, 3]), math.log(2))
    by_name = {item.name: item for item in found.alternatives}
    assert by_name["randomised response"].loss == pytest.approx(float(found.optimal.loss))
    assert by_name["truncated geometric"].loss > by_name["randomised response"].loss
    assert by_name["truncated geometric"].eps <= math.log(2) + 1e-12


def test_a_query_and_its_policy() -> None:
    policy = sv.Policy.differential(["yes", "no"], 6)
    found = sv.candidates(policy, 0.8, None, sv.losses.squared(7), query=sv.Query.count(["yes"]))
    assert found.optimal.gap < 1e-10 and len(found.alternatives) == 6


def test_the_chart() -> None:
    found = sv.candidates(sv.metrics.grid(2, 3), 0.9, None, sv.losses.distance(sv.metrics.grid(2, 3)))
    figure = sv.plots.candidates(found)
    names = [trace.name for trace in figure.data if trace.mode == "markers"]
    drawn = {name for joined in names for name in joined.replace("<br>", " ").split(", ")}
    assert drawn == {item.name for item in found.alternatives}
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert len(lines) == len(found.neighbours)
    for trace in figure.data:
        if trace.mode == "markers":
            item = next(i for i in found.alternatives if i.name in trace.name)
            assert trace.y[0] == pytest.approx(item.loss, abs=1e-6)
            assert trace.x[0] == pytest.approx(item.leaks[0].after, abs=1e-6)
    relations = {pair.relation: line.line.dash for pair, line in zip(found.neighbours, lines, strict=True)}
    assert all((dash == "dot") == (word in ("neither", "undecided")) for word, dash in relations.items())
    frontier = sv.frontier([0.5, 0.3, 0.2], sv.losses.absolute(3), points=4)
    curve = sv.plots.frontier(frontier).data[0]
    assert np.allclose(curve.y, frontier.losses) and np.allclose(curve.x, frontier.posteriors)


@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_a_chart_of_one_loss_starts_at_0_and_holds_its_words(unit: float) -> None:
    names = ["low", "average", "high"]
    loss = sv.losses.matrix(unit * (np.ones((3, 3)) - np.eye(3)), names, secrets=names)
    figure = sv.plots.candidates(sv.candidates(sv.metrics.discrete(names), 1.0, None, loss))
    (spot,) = [trace for trace in figure.data if trace.mode == "markers"]
    assert figure.layout.yaxis.range[0] == 0
    assert spot.y[0] == pytest.approx(figure.layout.yaxis.range[1] / 1.25, rel=1e-6)
    assert spot.y[0] == pytest.approx(unit * 2 / (2 + math.e), rel=1e-6)
    words = (spot.name, figure.layout.xaxis.title.text)
    assert max(len(line) for text in words for line in text.split("<br>")) <= 34
    several = sv.plots.candidates(sv.candidates(sv.metrics.line(3), 1.0, None, sv.losses.absolute(3)))
    assert several.layout.yaxis.range is None


def test_a_tie_joined_by_a_solid_line_and_left_gives_away_less() -> None:
    found = sv.candidates(
        sv.metrics.line(10), 0.5, None, sv.losses.absolute(10), gains=[sv.losses.bayes_risk(10)]
    )
    assert found.neighbours[0].relation == "less safe"
    figure = sv.plots.candidates(found)
    assert figure.data[0].line.dash == "solid"
    # The arrow leads to the safer one, the optimal mechanism, which stands on the left.
    arrow = next(note for note in figure.layout.annotations if note.showarrow)
    optimal, second = found.alternatives[:2]
    assert (arrow.x, arrow.ax) == (optimal.leaks[0].after, second.leaks[0].after)
    # An adversary's loss runs from right to left.
    assert figure.layout.xaxis.range[0] > figure.layout.xaxis.range[1]
    frontier = sv.frontier([0.5, 0.3, 0.2], sv.losses.absolute(3), sv.losses.bayes_risk(3), points=3)
    assert sv.plots.frontier(frontier).layout.xaxis.autorange == "reversed"
    assert [note.text for note in sv.plots.frontier(frontier).layout.annotations] == [
        "leaks least",
        "loses least",
    ]


def test_progress_is_told() -> None:
    heard: list[str] = []
    with progress_listener(lambda what, done, total: heard.append(what) if 0 <= done <= total else None):
        metric = sv.metrics.euclidean([(0, 0), (1, 0), (0, 2), (3, 1)])
        sv.candidates(metric, 0.9, None, sv.losses.distance(metric))
        sv.frontier(None, sv.losses.absolute(2), points=2)
    assert set(heard) == {
        "meeting the constraints",
        "weighing the candidates",
        "comparing neighbours",
        "points of the frontier",
    }
