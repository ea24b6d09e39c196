"""One individual, part of the databases, few outputs, a known prior, any gain."""

import math
from itertools import combinations

import numpy as np
import pytest

import sievert as sv
from sievert.errors import GainError, PolicyError
from sievert.limits import worst_about, worst_leakage
from sievert.policies import Policy
from sievert.spaces import Graph, graphs, metrics, secrets


def restricted_packing(graph, eps: float, points: list[int]) -> float:
    """The packing bound of the metric restricted to some points."""
    return worst_leakage(graph.metric().restricted(points), eps).packing.factor


@pytest.mark.parametrize(
    ("graph", "points", "eps", "restricted", "truth"),
    [
        (graphs.star(6), [1, 2, 3, 4, 5], 0.5, 2.023048, 1.648721),
        (graphs.star(7), [1, 2, 3, 4, 5, 6], 0.3, 1.602539, 1.349859),
        (graphs.star(7), [1, 2, 3, 4, 5, 6], 1, 3.578508, 2.718282),
        (graphs.path(7), [0, 3, 6], 1, 2.810297, 2.604248),
    ],
)
def test_erratum_the_restricted_metric_is_only_a_bound(graph, points, eps, restricted, truth) -> None:
    assert restricted_packing(graph, eps, points) == pytest.approx(restricted, abs=6e-7)
    found = worst_about(graph, eps, points)
    assert found.exact.factor == pytest.approx(truth, abs=6e-7)
    assert found.certificate.verify()
    assert found.exact.factor <= found.packing.factor * (1 + 1e-9) <= restricted * (1 + 1e-6)


def test_packing_over_all_rows_is_better_than_the_restricted_metric() -> None:
    assert worst_about(graphs.star(7), 0.3, range(1, 7)).packing.factor == pytest.approx(1.349859, abs=6e-7)
    assert worst_about(graphs.path(7), 1, [0, 3, 6]).packing.factor == pytest.approx(2.810297, abs=6e-7)


def test_constraints_that_leave_nothing_open() -> None:
    policy = Policy.blowfish(secrets.complete(2), records=2, permitted=[(0, 1), (1, 0)])
    found = worst_leakage(policy, 1, individual=True)
    assert found.exact.bits == 0 and "nothing open" in found.method


def test_unconstrained_individual_is_the_secret_graph() -> None:
    policy = Policy.blowfish(secrets.line(4), records=9)
    found = worst_leakage(policy, 1, individual=True)
    assert found.exact.factor == pytest.approx(2.386351, abs=6e-7)


@pytest.mark.parametrize("databases", [[], [0, 0], [0, 99]])
def test_databases_must_exist_and_differ(databases: list[int]) -> None:
    with pytest.raises(PolicyError, match="databases"):
        worst_about(graphs.path(4), 1, databases)


@pytest.mark.parametrize(
    ("records", "values", "outputs", "truth"),
    [
        (2, 2, 1, 1.0),
        (2, 2, 2, 1.632121),
        (2, 2, 3, 1.924234),
        (2, 2, 4, 2.137787),
        (2, 3, 2, 1.632121),
        (2, 3, 3, 2.264241),
        (2, 3, 4, 2.464913),
        (3, 2, 4, 2.844938),
    ],
)
def test_limited_range(records: int, values: int, outputs: int, truth: float) -> None:
    found = worst_leakage(Policy.differential(values, records), 1, outputs=outputs)
    assert found.exact.factor == pytest.approx(truth, abs=6e-7)
    assert found.exact.factor <= sv_bound(records, values, outputs) * (1 + 1e-9)
    assert found.mechanism.shape[1] <= max(outputs, 4)
    assert found.certificate.verify()


def sv_bound(records: int, values: int, outputs: int) -> float:
    from sievert.limits.bounds import limited_outputs_bound

    return limited_outputs_bound(records=records, values=values, outputs=outputs, eps=1).factor


def test_many_outputs_are_no_limit_and_large_choices_have_a_reason() -> None:
    assert worst_leakage(graphs.cycle(5), 1, outputs=9).exact.factor == pytest.approx(2.491989, abs=6e-7)
    found = worst_leakage(Policy.differential(2, 10), 1, outputs=3)
    assert found.exact is None and "choices" in found.reason
    assert found.upper.factor <= 3
    with pytest.raises(PolicyError, match="at least one output"):
        worst_leakage(graphs.cycle(5), 1, outputs=0)


def test_a_known_prior() -> None:
    prior = [0.5, 0.3, 0.2]
    found = worst_leakage(graphs.complete(3), 1, prior=prior)
    # Randomised response on a skewed prior: check against the channel's own leakage.
    measured = sv.leakage(found.mechanism, prior)
    assert found.exact.factor == pytest.approx(float(measured.factor), rel=1e-9)
    uniform = worst_leakage(graphs.complete(3), 1, prior=[1 / 3] * 3)
    assert uniform.exact.factor == pytest.approx(worst_leakage(graphs.complete(3), 1).exact.factor)
    assert found.exact <= uniform.exact


def test_alvim_example_31_and_30() -> None:
    # Ex. 31: on the line 0…5 with ε = ln 2 the best posterior guess is 4/9 exactly.
    found = worst_leakage(graphs.path(6), math.log(2), prior=[1 / 6] * 6)
    assert found.exact.factor / 6 == pytest.approx(4 / 9)
    # Ex. 30, erratum: under this prior the optimum on the clique is 0.32, not the example's 2/7.
    prior = [0.1, 0.2, 0.2, 0.2, 0.2, 0.1]
    found = worst_leakage(graphs.complete(6), math.log(2), prior=prior)
    assert found.exact.factor * 0.2 == pytest.approx(0.32)
    # Thm 27/28: uniform prior, 2/7.
    assert worst_leakage(graphs.complete(6), math.log(2)).exact.factor / 6 == pytest.approx(2 / 7)


def test_any_gain() -> None:
    metric = metrics.line(5)
    gain = sv.gains.within(metric, 1)
    found = worst_leakage(metric, 0.8, gain=gain)
    measured = sv.leakage(found.mechanism, None, gain)
    assert found.exact.factor == pytest.approx(float(measured.factor), rel=1e-8)
    assert found.exact <= worst_leakage(metric, 0.8).exact
    assert found.certificate.verify()
    with pytest.raises(GainError, match="loss"):
        worst_leakage(metric, 1, gain=sv.losses.absolute(5))
    with pytest.raises(GainError, match="must be positive; add a constant"):
        worst_leakage(metric, 1, gain=np.array([[1, -1, 0, 0, 0]]))


@pytest.mark.parametrize("outputs", [2, 3, 4])
def test_few_outputs_are_the_largest_of_all_choices(outputs: int) -> None:
    graph = Graph(range(7), [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5), (4, 6)])
    # A guess of one of these, worth 2: a goal of its own, and so the plain program over all channels.
    values = [
        worst_leakage(graph, 0.7, gain=2 * np.eye(7)[list(chosen)]).exact.factor
        for chosen in combinations(range(7), outputs)
    ]
    found = worst_leakage(graph, 0.7, outputs=outputs)
    assert found.exact is not None and found.exact.factor == pytest.approx(max(values), rel=1e-8)
    assert found.mechanism.shape[1] == outputs and found.certificate.verify()


def test_a_gain_that_is_worth_nothing_before_has_no_factor() -> None:
    with pytest.raises(GainError, match="add a constant"):
        sv.worst_leakage(sv.graphs.path(3), 1.0, None, np.full((2, 3), -1.0))
