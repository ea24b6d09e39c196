"""Pictures carry the numbers they should."""

import math

import numpy as np
import pytest

import sievert as sv
from sievert.errors import ChannelError, DataError, PolicyError, TooLargeError
from sievert.files.regions import Region
from sievert.report.pictures.places import places_before_after
from sievert.report.pictures.policies import policy_graph
from sievert.report.pictures.simplex import hypers, simplex_surface
from sievert.report.pictures.thresholds import threshold_curves
from sievert.report.plots import AFTER, BEFORE


def test_posteriors_stand_where_their_beliefs_are() -> None:
    channel = sv.Channel([["1/2", "1/2", 0], [0, "1/4", "3/4"], [0, "1/2", "1/2"]])
    figure = hypers({"C": channel})
    drawn = next(trace for trace in figure.data if trace.name == "C")
    inners = channel.hyper().inners.astype(float)
    assert np.array(drawn.x) == pytest.approx(inners[:, 1] + inners[:, 2] / 2)
    assert np.array(drawn.y) == pytest.approx(inners[:, 2] * math.sqrt(3) / 2)
    sizes = (np.array(drawn.marker.size) - 8) ** 2
    assert sizes / sizes.sum() == pytest.approx(channel.hyper().outers.astype(float))


def test_two_secrets_lie_on_a_line() -> None:
    figure = hypers({"A": sv.mechanisms.warner(), "B": sv.Channel.null(["yes", "no"])})
    first, second = (next(trace for trace in figure.data if trace.name == name) for name in "AB")
    assert sorted(first.x) == pytest.approx([1 / 4, 3 / 4])
    assert len(set(first.y)) == 1
    assert list(second.x) == [0.5]


def test_hypers_refuse_what_a_triangle_cannot_show() -> None:
    with pytest.raises(ChannelError, match="4 secrets; a triangle can show 2 or 3"):
        hypers({"C": sv.Channel.identity(4)})
    with pytest.raises(ChannelError, match="channels is empty"):
        hypers({})


def test_a_policy_is_drawn_with_its_components_and_witness() -> None:
    policy = sv.Policy.blowfish(sv.secrets.partition([["a", "b"], ["c", "d", "e"]]))
    figure = policy_graph(policy, witness=("a", "b"))
    groups = [sorted(trace.text) for trace in figure.data if trace.text is not None]
    assert sorted(groups) == [["a", "b"], ["c", "d", "e"]]
    marked = next(trace for trace in figure.data if trace.name == "easiest to tell apart")
    assert len([x for x in marked.x if not math.isnan(x)]) == 2
    edges = figure.data[0]
    assert sum(math.isnan(x) for x in edges.x) == 4


def test_orbits_have_colours() -> None:
    figure = policy_graph(sv.graphs.path(5), colour="orbit")
    assert sorted(sorted(trace.text) for trace in figure.data if trace.text is not None) == [
        ["0", "4"],
        ["1", "3"],
        ["2"],
    ]


def test_what_cannot_be_drawn() -> None:
    with pytest.raises(TooLargeError, match="1000 vertices; at most 400"):
        policy_graph(sv.graphs.path(1000))
    with pytest.raises(PolicyError, match="colour is 'red'"):
        policy_graph(sv.graphs.path(3), colour="red")


def test_a_surface_has_one_colour_a_belief() -> None:
    beliefs = np.array([[1.0, 0, 0], [0, 1, 0], [1 / 3, 1 / 3, 1 / 3]])
    figure = simplex_surface(np.array([1.0, 2.0, 3.0]), beliefs, "value")
    assert list(figure.data[-1].marker.color) == [1.0, 2.0, 3.0]


def test_threshold_curves_hold_the_thresholds() -> None:
    figure = threshold_curves([("truncated-geometric", "randomised-response")], 5, [1.0, 4.0])
    assert list(figure.data[1].y) == pytest.approx([0.735325664, 3.981856216])
    assert figure.data[1].name == "randomised-response for truncated-geometric"


def test_places_before_and_after() -> None:
    region = Region(52.505, 13.36, 52.53, 13.42, 150)
    cells = np.array([[0, 0], [3, 4], [18, 27]])
    before = np.column_stack(region.centres(cells))
    after = np.column_stack(region.centres(cells[::-1]))
    figure = places_before_after(before, after, region)
    traces = {trace.name: trace for trace in figure.data if trace.name}
    # Centres of cells of 150 m, in metres from the corner.
    assert np.array(traces["before"].x) == pytest.approx(150 * cells[:, 1] + 75, abs=1e-3)
    assert np.array(traces["after"].y) == pytest.approx(150 * cells[::-1, 0] + 75, abs=1e-3)
    assert max(traces["region"].x) == 28 * 150
    assert (traces["before"].marker.color, traces["after"].marker.color) == (BEFORE, AFTER)
    assert figure.layout.xaxis.title.text == "metres east"
    away = 150 * math.hypot(18, 27)
    assert float(traces["after"].text[0].split()[1].replace(",", "")) == pytest.approx(away, rel=0.005)
    assert traces["after"].text[1] == "moved 0 m"

    plain = places_before_after(before, after)
    assert list(next(trace for trace in plain.data if trace.name == "before").x) == before[:, 1].tolist()
    assert plain.layout.xaxis.title.text == "longitude (degrees east)"
    assert plain.layout.yaxis.scaleratio == pytest.approx(1 / math.cos(math.radians(52.5175)), rel=1e-4)
    assert len(places_before_after([], []).data) == 2
    with pytest.raises(DataError, match="before has 3 places and after 2"):
        places_before_after(before, after[:2])
    with pytest.raises(DataError, match="latitude comes first"):
        places_before_after([[139.7, 35.7]], [[35.7, 139.7]])
    with pytest.raises(DataError, match="shape"):
        places_before_after([1.0, 2.0], [1.0, 2.0])
