"""What floats may decide about private mechanisms: small and large ε, far inputs, several components."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.errors import MechanismError, MetricError
from sievert.geometry import (
    decompose,
    is_kernel,
    is_vertex_mechanism,
    kernel_thresholds,
    kernels,
    pair_T_realizable,
    polytope,
    to_vertex_mechanism,
)

LINE = sv.metrics.line(3)
APART = sv.Metric([[0, 2000.0], [2000.0, 0]])
INF = math.inf


@pytest.mark.parametrize("eps", [1e-100, 1e-9, 1e-6, 1e-3, 1.0, 40.0, 700.0, 5000.0])
def test_only_neighbours_of_a_line_are_a_pair_for_every_eps(eps: float) -> None:
    assert not pair_T_realizable(LINE, 0, 2, eps)
    found = pair_T_realizable(LINE, 0, 1, eps)
    assert found.holds and found.mechanism is not None
    logs = found.mechanism.log_matrix
    assert logs[0, 0] - logs[1, 0] == pytest.approx(eps, abs=1e-13, rel=1e-12)


def test_floats_and_fractions_agree_about_pairs() -> None:
    star = sv.metrics.from_graph([(0, 1), (0, 2), (0, 3), (3, 4)])
    for first, second in ((0, 1), (1, 2), (0, 4), (3, 4), (1, 4)):
        exact = pair_T_realizable(star, first, second, alpha="1/3")
        assert pair_T_realizable(star, first, second, math.log(3)).holds == exact.holds


def test_components_have_their_own_thresholds() -> None:
    table = np.full((5, 5), INF)
    table[4, 4] = 0
    table[:4, :4] = [[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]]
    metric = sv.Metric(table)
    found = kernel_thresholds(metric)
    assert found.exact == (Fraction(1, 2),) and found.between == (6, 9)
    assert [len(kernels(metric, alpha)) for alpha in ("1/3", "3/4")] == [6, 9]
    lone = sv.Metric([[0, INF, INF], [INF, 0, INF], [INF, INF, 0]])
    assert str(kernel_thresholds(lone)) == "1 kernel whatever ε is"


def test_far_apart_is_not_infinitely_far() -> None:
    found = polytope(APART, alpha="1/2").contains([1, 0])
    assert not found and found.ratio == INF and "beyond 1e308" in str(found)
    assert polytope(APART, alpha="1/2").contains([Fraction(2**2000, 2**2000 + 1), Fraction(1, 2**2000 + 1)])
    assert not polytope(APART, 1.0).contains([1.0, 0.0])
    channel = sv.Channel([["1", "0"], ["1/2", "1/2"]], inputs=APART.points)
    with pytest.raises(MechanismError, match=r"inf times as likely.*e\^1386.29 is allowed"):
        is_kernel(channel, APART, alpha="1/2")


@pytest.mark.parametrize("eps", [1e-12, 3e-9, 1e-6, 1.0, 40.0, 300.0, 800.0])
def test_the_geometric_mechanism_is_a_kernel_at_every_eps(eps: float) -> None:
    found = is_kernel(sv.mechanisms.truncated_geometric(4, eps), sv.metrics.line(4), eps)
    assert found.holds and found.rank == 4
    (kernel,) = decompose(sv.mechanisms.randomised_response(3, 1e-9), sv.metrics.discrete(3), 1e-9).kernels
    assert kernel.shape == (3, 3)


def test_what_says_nothing_is_no_vertex_however_small_eps_is() -> None:
    assert not is_vertex_mechanism(sv.Channel([[1.0], [1.0], [1.0]]), LINE, 1e-9)
    with pytest.raises(MechanismError, match="rounding hides"):
        is_vertex_mechanism(sv.Channel([[1.0], [1.0], [1.0]]), LINE, 1e-15)
    with pytest.raises(MechanismError, match="not private"):
        is_vertex_mechanism(sv.mechanisms.truncated_geometric(3, 2e-9), LINE, 1e-9)


@pytest.mark.parametrize("eps", [5.0, 40.0, 300.0])
def test_the_identity_is_not_private(eps: float) -> None:
    with pytest.raises(MechanismError, match="inf times as likely"):
        is_vertex_mechanism(sv.Channel(np.eye(3)), LINE, eps)


@pytest.mark.parametrize("eps", [0.1, 1.0, 5.0, 8.0, 20.0, 40.0, 300.0])
@pytest.mark.parametrize("n", [3, 4])
def test_vertex_forms_of_floats_are_private_or_refused(eps: float, n: int) -> None:
    line, rng = sv.metrics.line(n), np.random.default_rng(0)
    given = sv.Channel(
        sv.mechanisms.truncated_geometric(n, eps).rounded() @ rng.dirichlet(np.ones(4), size=n)
    )
    try:
        found = to_vertex_mechanism(given, line, eps)
    except MechanismError as problem:
        assert eps > 5 and "give alpha and the channel as fractions" in str(problem)
        return
    assert is_vertex_mechanism(found.mechanism, line, eps)
    logs = found.mechanism.log_matrix
    assert np.abs(np.diff(logs, axis=0)).max() <= eps * (1 + 1e-9)
    assert found.mechanism.rounded() @ found.remap.rounded() == pytest.approx(
        given.reduced().rounded(), rel=1e-6
    )


def test_probabilities_below_every_float_are_not_decomposed() -> None:
    with pytest.raises(MechanismError, match="below the least float"):
        decompose(sv.mechanisms.truncated_geometric(4, 300.0), sv.metrics.line(4), 300.0)


def test_a_limit_bounds_the_work() -> None:
    found = kernels(sv.metrics.line(7), "1/2", limit=10)
    assert len(found) == 10 and not found.complete
    table = np.random.default_rng(1).integers(100, 200, (13, 13)).astype(float)
    table += table.T
    np.fill_diagonal(table, 0)
    some = polytope(sv.Metric(table)).vertices(limit=5)
    assert len(some) == 5 and not some.complete


def test_components_are_named_and_one_is_singular() -> None:
    two = sv.Metric([[0, 1, INF, INF], [1, 0, INF, INF], [INF, INF, 0, 1], [INF, INF, 1, 0]])
    assert "; 2 components: tree" in str(polytope(two).vertices())
    single = sv.mechanisms.randomised_response(2, alpha="1/2")
    assert str(decompose(single, sv.metrics.line(2), alpha="1/2")).startswith(
        "a convex sum of 1 kernel: 1 of"
    )


@pytest.mark.parametrize("tolerance", [True, 0, "x"])
def test_a_tolerance_is_a_number(tolerance: Any) -> None:
    with pytest.raises(MetricError, match="tolerance is"):
        polytope(LINE, tolerance=tolerance)
