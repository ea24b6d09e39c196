"""Pictures carry the numbers they should."""

import math

import numpy as np
import plotly.graph_objects as go
import pytest
from numpy.testing import assert_allclose

import sievert as sv
from sievert.errors import ChannelError, DataError, PolicyError, SievertError, TooLargeError
from sievert.report.plots import (
    AFTER,
    BEFORE,
    hypers,
    places_before_after,
    policy_graph,
    simplex_surface,
    threshold_curves,
)
from sievert.spaces import Region


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
    with pytest.raises(SievertError, match="map a name to"):
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
    figure = threshold_curves([1.0, 4.0], {"response": [0.735325664, 3.981856216]})
    assert list(figure.data[0].x) == [0, 4.0]
    assert list(figure.data[1].y) == [0.735325664, 3.981856216]
    assert figure.data[1].name == "response"
    with pytest.raises(DataError, match="response"):
        threshold_curves([1.0, 4.0], {"response": [0.7]})


def test_every_picture_is_reachable_as_sv_plots() -> None:
    for name in sv.plots.__all__:
        assert hasattr(sv.plots, name)
    assert sv.plots.policy_graph is policy_graph
    assert sv.plots.hypers is hypers
    assert sv.plots.threshold_curves is threshold_curves


def test_a_heat_map_holds_the_channel() -> None:
    channel = sv.Channel([["3/4", "1/4"], ["1/2", "1/2"]], inputs=["x", "y"], outputs=["p", "q"])
    (drawn,) = sv.plots.channel_heatmap(channel).data
    assert np.array(drawn.z).tolist() == [[0.75, 0.25], [0.5, 0.5]]
    assert (list(drawn.x), list(drawn.y)) == (["p", "q"], ["x", "y"])
    assert drawn.colorbar.title.text == "probability"


def test_a_repeated_observation_curve_holds_probabilities_and_its_long_run() -> None:
    warner = sv.mechanisms.warner()
    rate = sv.observations.rates(warner).utility.bits
    curve = sv.observations.success_curve(warner, observations=[1, 2, 3, 10])
    figure = sv.plots.success_curve(curve, rate)
    drawn = {trace.name: trace for trace in figure.data}
    assert list(drawn["right guess"].x) == [1, 2, 3, 10]
    assert drawn["right guess"].y[:3] == pytest.approx([0.75, 0.75, 27 / 32])
    assert drawn["right guess"].line.color == sv.plots.AFTER
    assert drawn["in the long run"].y[3] == pytest.approx(1 - 2 ** (-10 * rate))
    (before,) = figure.layout.shapes
    assert (before.y0, before.line.color) == (0.5, sv.plots.BEFORE)


def test_a_breach_curve_holds_both_probabilities() -> None:
    found = sv.observations.breach_curve(
        sv.mechanisms.warner(), predicate=["yes"], level=0.9, observations=12
    )
    figure = sv.plots.breach_curve(found)
    drawn = {trace.name: trace for trace in figure.data}
    assert np.array(drawn["breach by n"].y) == pytest.approx(np.array(found.by))
    assert np.array(drawn["breach at n"].y) == pytest.approx(np.array(found.at))
    assert drawn["at n, in the long run"].y[-1] == pytest.approx(found.asymptote(12))
    rate = sv.observations.rates(sv.mechanisms.warner()).utility.bits
    guesses = sv.plots.success_curve(
        sv.observations.success_curve(sv.mechanisms.warner(), observations=[1, 2]), rate
    )
    alike = next(trace for trace in guesses.data if trace.name == "in the long run")
    assert alike.line.color == drawn["at n, in the long run"].line.color


def test_a_tradeoff_curve_holds_misses_and_false_alarms() -> None:
    curve = sv.explain(eps=1.0).curve
    blind, drawn = sv.plots.tradeoff_curve({"ε = 1": curve}).data
    assert (list(blind.x), list(blind.y), blind.line.color) == ([0, 1], [1, 0], sv.plots.BEFORE)
    # Both errors are 1/(1 + e^ε) where the two pieces of the curve meet.
    corner = 1 / (1 + math.e)
    assert any(
        x == pytest.approx(corner) and y == pytest.approx(corner)
        for x, y in zip(drawn.x, drawn.y, strict=True)
    )


def pictures() -> dict[str, go.Figure]:
    warner = sv.mechanisms.warner()
    curve = sv.observations.success_curve(warner, observations=[1, 2])
    found = sv.candidates(sv.metrics.discrete([0, 1, 2]), 1.0)
    noise = sv.design.noise_for(sv.Policy.differential(range(4), 10), 3.0, sv.Query.sum())
    region = Region(48.80, 2.25, 48.82, 2.28, 500)
    losses = sv.frontier([0.5, 0.3, 0.2], sv.losses.absolute(3), points=3)
    people = sv.vectors.mechanism_frontier(
        sv.vectors.synthetic_ratings(20, 10, rng=1), sv.vectors.HyperplaneLSH(10, 5, seed=7), [2.0], k=2
    )
    small = sv.text.Embedding(["sea", "lake", "car", "road"], [[0, 0], [0, 1], [5, 0], [5, 1]])
    letters = sv.text.Corpus({"ann": "sea lake", "bob": "car road"}, {"ann": "sea", "bob": "car"})
    return {
        "attack_success": sv.plots.attack_success(
            sv.text.attack(letters, small, [2.0], draws=1, linear=False, rng=1)
        ),
        "belief_shift": sv.plots.belief_shift(["a", "b"], [0.5, 0.5], [0.9, 0.1]),
        "beliefs": sv.plots.beliefs(warner),
        "breach_curve": sv.plots.breach_curve(
            sv.observations.breach_curve(warner, predicate=["yes"], level=0.9, observations=3)
        ),
        "candidates": sv.plots.candidates(found),
        "channel_heatmap": sv.plots.channel_heatmap(warner),
        "estimated_distribution": sv.plots.estimated_distribution(["a", "b"], [0.4, 0.6]),
        "frontier": sv.plots.frontier(losses),
        "guess_curve": sv.plots.guess_curve([1, 2], [0.3, 0.4], 0.2),
        "hypers": hypers({"A": warner}),
        "laplace_density": sv.plots.laplace_density(sv.continuous.truncated_laplace(2), [0.25, 1]),
        "laplace_posteriors": sv.plots.laplace_posteriors(sv.continuous.truncated_laplace(2), 8),
        "laplace_price": sv.plots.laplace_price([sv.continuous.gap(None, "absolute", 2, 4)]),
        "leakage_curve": sv.plots.leakage_curve([0, 1], {"A": [0, 1]}, here=0.5, limit=0.7),
        "loss_by_distance": sv.plots.loss_by_distance(sv.vectors.loss_curve(5, 1.0, 0.01, [0.1, 0.2])),
        "noise_law": sv.plots.noise_law([-1, 0, 1], [0.2, 0.6, 0.2], radius=0, confidence=0.5),
        "noise_laws": sv.plots.noise_laws(noise),
        "noise_map": sv.plots.noise_map([-1, 0, 1], [0], [[0.2, 0.6, 0.2]]),
        "noise_beside": sv.plots.noise_beside(
            region, sv.optimal_mechanism(region.metric(), 0.002, gap=0.05).mechanism, 0.002, [1] * len(region)
        ),
        "place_densities": sv.plots.place_densities(region, {"noisy": [1] * len(region)}),
        "policy_graph": policy_graph(sv.graphs.cycle(4)),
        "noise_contours": sv.plots.noise_contours(),
        "released_numbers": sv.plots.released_numbers(["a"], [3], [(1, 5)]),
        "simplex_surface": simplex_surface(np.ones(1), np.full((1, 3), 1 / 3), "bits"),
        "success_curve": sv.plots.success_curve(curve, 0.2),
        "threshold_curves": threshold_curves([1.0], {"response": [0.7]}),
        "tradeoff_curve": sv.plots.tradeoff_curve({"A": sv.explain(eps=1.0).curve}),
        "vector_frontier": sv.plots.vector_frontier(people),
    }


def test_every_axis_that_is_seen_has_a_name() -> None:
    drawn = pictures()
    functions = {name for name in sv.plots.__all__ if callable(getattr(sv.plots, name))}
    assert set(drawn) == functions - {
        "document_flow",
        "long_run",
        "places_before_after",
        "private_posteriors",
        "optimality_map",
    }
    for name, figure in drawn.items():
        assert figure.layout.title.text is None, name
        for axis in (figure.layout.xaxis, figure.layout.yaxis):
            assert axis.visible is False or axis.title.text, name


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


def beliefs_of(trace: object) -> np.ndarray:
    """Barycentric coordinates of points in a triangle."""
    x, y = np.asarray(trace.x), np.asarray(trace.y)  # type: ignore[attr-defined]
    third = y * 2 / math.sqrt(3)
    return np.column_stack([1 - x - third / 2, x - third / 2, third])


def test_beliefs_after_laplace_noise_lie_between_those_of_the_geometric() -> None:
    figure = sv.plots.laplace_posteriors(sv.continuous.truncated_laplace(4 * math.log(2)), 8)
    traces = {trace.name: beliefs_of(trace) for trace in figure.data if trace.name}
    geometric = np.array([[16, 4, 1], [0, 0, 0], [1, 4, 16]]) / 21
    geometric[1] = np.array([1, 4, 1]) / 6
    assert_allclose(traces["geometric"], geometric, atol=1e-12)
    # Figure 7.3b, as section 5.2 of the notes has it.
    known = [
        (0.745254, 0.203797, 0.050949),
        (0.530818, 0.375345, 0.093836),
        (0.361302, 0.510958, 0.127740),
        (0.220481, 0.623615, 0.155904),
    ]
    assert_allclose(traces["8 pixels"][:4], known, atol=1e-6)
    path = traces["every output"]
    assert_allclose(path[[0, len(path) // 2, -1]], geometric, atol=1e-12)
    for spots, start, end in ((path[: len(path) // 2], 0, 1), (path[len(path) // 2 :], 1, 2)):
        along = geometric[end] - geometric[start]
        share = (spots - geometric[start]) @ along / (along @ along)
        assert ((share >= -1e-12) & (share <= 1 + 1e-12)).all()
        assert_allclose(geometric[start] + share[:, None] * along, spots, atol=1e-12)


@pytest.mark.parametrize("eps", [0, 1e-9, 5000.0])
def test_paths_of_beliefs_survive_extreme_noise(eps: float) -> None:
    figure = sv.plots.laplace_posteriors(sv.continuous.truncated_laplace(eps, (-3, 5)), 3, [0.5, 0, 0.5])
    for trace in figure.data:
        assert np.isfinite(np.asarray(trace.x, dtype=float)).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((3,), "noise"),
        ((sv.continuous.truncated_laplace(2), 0), "pixels"),
        ((sv.continuous.truncated_laplace(2), 8, [0.5, 0.5]), "prior"),
        ((sv.continuous.truncated_laplace(math.inf), 8), "eps"),
    ],
)
def test_paths_of_beliefs_refuse(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(sv.SievertError, match=words):
        sv.plots.laplace_posteriors(*arguments)  # type: ignore[arg-type]
