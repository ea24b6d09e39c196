"""A known prior: packing, the channel of its weights, and the exact program between them; signed gains."""

import numpy as np
import pytest

import sievert as sv
from sievert.errors import GainError
from sievert.limits import _objectives
from sievert.limits._objectives import prior_packing, solve_objective
from sievert.limits._space import space_of
from sievert.numerics import read_eps

GRAPHS = {
    "path": sv.graphs.path(7),
    "cycle": sv.graphs.cycle(6),
    "fork": sv.Graph(range(5), [(0, 1), (1, 2), (0, 3), (0, 4)]),
    "grid": sv.graphs.grid(3, 3),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("eps", [0.3, 1.0])
def test_the_program_lies_between_packing_and_its_kernel(name: str, eps: float) -> None:
    space = space_of(GRAPHS[name])
    prior = np.random.default_rng(len(name)).dirichlet(np.ones(space.size))
    lower, upper, _ = prior_packing(space, read_eps(eps), prior)
    exact, _ = solve_objective(space, read_eps(eps), np.diag(prior))
    least, most = exact.bounds()
    assert lower <= most and least <= upper
    assert float(lower) >= 0.8 * float(upper)


def test_packing_alone_is_exact_where_its_kernel_attains_it() -> None:
    prior = [0.05, 0.2, 0.1, 0.3, 0.1, 0.2, 0.05]
    found = sv.worst_leakage(sv.graphs.path(7), 2.0, prior)
    assert found.exact is not None
    program, _ = solve_objective(space_of(sv.graphs.path(7)), read_eps(2.0), np.diag(prior))
    low, high = program.bounds()
    assert found.exact.factor == pytest.approx(float(low + high) / 2 / 0.3, rel=1e-9)
    even = sv.worst_leakage(sv.graphs.path(7), 2.0, [1 / 7] * 7)
    assert "packing on the known prior" in even.method
    assert even.exact.factor == pytest.approx(1 + 6 * np.tanh(1.0), rel=1e-9)
    assert even.certificate.verify().holds


def test_many_places_are_bounded_without_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = sv.metrics.euclidean([(i, j) for i in range(4) for j in range(4)])
    prior = np.random.default_rng(0).dirichlet(np.ones(16))
    exact = sv.worst_leakage(metric, 0.7, prior)
    monkeypatch.setattr(_objectives, "LARGEST_ROWS", 10)
    found = sv.worst_leakage(metric, 0.7, prior)
    assert "constraints; at most" in found.reason
    assert 1 < found.lower.factor <= exact.exact.factor * (1 + 1e-9)
    assert exact.exact.factor <= found.upper.factor * (1 + 1e-9)
    assert found.upper.factor < sv.worst_leakage(metric, 0.7).upper.factor
    assert found.certificate.verify().holds


@pytest.mark.parametrize("seed", range(3))
def test_signed_gains_by_shifting(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    graph, table = sv.graphs.path(5), rng.uniform(-1, 1, (3, 5)) + 0.3
    prior = rng.dirichlet(np.ones(5))
    if (table @ prior).max() <= 0:
        table += 1
    exact = sv.worst_leakage(graph, 0.8, prior, table)
    # Shifting the gains of a secret moves both values alike.
    shift = -table.min(axis=0)
    moved = sv.worst_leakage(graph, 0.8, prior, table + shift)
    before, added = (table @ prior).max(), shift @ prior
    assert exact.exact.factor * before + added == pytest.approx(moved.exact.factor * (before + added))
    monkeypatch.setattr(_objectives, "LARGEST_ROWS", 1)
    bound = sv.worst_leakage(graph, 0.8, prior, table)
    capacity = sv.worst_leakage(graph, 0.8).upper.factor
    assert bound.exact is None and bound.upper.factor >= exact.exact.factor - 1e-9
    assert bound.upper.factor * before == pytest.approx(
        min(capacity * before, capacity * (before + added) - added)
    )


def test_a_gain_that_is_worth_nothing_before_has_no_factor() -> None:
    with pytest.raises(GainError, match="add a constant"):
        sv.worst_leakage(sv.graphs.path(3), 1.0, None, np.full((2, 3), -1.0))
