"""Inside `_transport`: kantorovich distances."""

import numpy as np
import pytest

import sievert as sv
from sievert.estimation import _transport as transport_general


def check(found: sv.results.Transport, p: np.ndarray, q: np.ndarray, distances: np.ndarray) -> None:
    """The plan moves p to q at the value's cost, the potentials prove that no plan is cheaper."""
    plan = found.plan.toarray()
    assert (plan >= 0).all()
    assert plan.sum(axis=1) == pytest.approx(p, abs=1e-12)
    assert plan.sum(axis=0) == pytest.approx(q, abs=1e-12)
    finite = np.isfinite(distances)
    assert plan[~finite].sum() == 0
    scale = max(1.0, distances[finite].max())
    assert (plan[finite] * distances[finite]).sum() == pytest.approx(found.value, abs=1e-12 * scale)
    steps = np.abs(found.potentials[:, None] - found.potentials[None, :])
    assert (steps[finite] <= distances[finite] + 1e-12 * scale).all()
    assert found.potentials @ (p - q) == pytest.approx(found.value, abs=1e-11 * scale)
    assert found.gap <= 1e-11 * scale


def random_pair(rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
    p, q = (rng.dirichlet(np.full(size, 0.4)) * (rng.random(size) < 0.7) + 1e-300 for _ in range(2))
    return p / p.sum(), q / q.sum()


def test_without_numba_a_linear_program_answers(monkeypatch) -> None:
    metric = sv.metrics.euclidean(np.random.default_rng(5).random((25, 2)))
    p, q = random_pair(np.random.default_rng(6), 25)
    expected = sv.kantorovich(p, q, metric)
    monkeypatch.setattr("sievert.numerics.COMPILED", False)
    called = []
    real = transport_general._program
    monkeypatch.setattr(transport_general, "_program", lambda *a: called.append(1) or real(*a))
    found = sv.kantorovich(p, q, metric)
    assert called
    check(found, p, q, metric.matrix)
    assert found.value == pytest.approx(expected.value, abs=1e-10)
