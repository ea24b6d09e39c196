"""Inside `_solving`: least leakage for a loss, least loss for a leakage, and the frontier between them."""

import numpy as np
import pytest

import sievert as sv
from sievert.design import _solve


def fails(*arguments: object, **options: object) -> None:
    from sievert.programs import Unsolved

    raise Unsolved("the linear-program solver stopped with the status 'time limit'")


def test_a_program_that_fails_leaves_an_honest_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_solve, "lazy_program", fails)
    metric = sv.metrics.euclidean([(0, 0), (1, 0), (0, 1), (2, 2)])
    best = sv.optimal_mechanism(metric, 1.0, None, sv.losses.distance(metric))
    assert best.certificate.verify().holds and best.gap > 0.1 and "time limit" in best.method
    assert float(best.loss) <= best.without_release + 1e-12


def _parents(shape: str, size: int, rng: np.random.Generator) -> np.ndarray:
    """The parent of every point but the first, earlier than it."""
    if shape == "line":
        return np.arange(size - 1)
    if shape == "star":
        return np.zeros(size - 1, dtype=np.intp)
    return np.array([rng.integers(max(0, k - 5), k) for k in range(1, size)])


@pytest.mark.parametrize("kind", ["random", "signed"])
def test_the_optimum_of_a_tree_is_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_solve, "LARGEST_EXACT", 100)
    monkeypatch.setattr(_solve, "LARGEST_TREE", 100)
    rng = np.random.default_rng(11)
    parent = _parents("any", 22, rng)
    away = np.zeros((22, 22))
    for k, (p, length) in enumerate(zip(parent, rng.integers(2, 16, 21) / 8, strict=True), 1):
        away[k, :k] = away[:k, k] = away[p, :k] + length
    metric = sv.Metric(away)
    loss = rng.random((22, 22)) if kind == "random" else rng.random((9, 22)) - 0.5
    program = sv.optimal_mechanism(metric, 0.4, None, loss, method="program")
    for method in ("auto", "interior"):
        found = sv.optimal_mechanism(metric, 0.4, None, loss, gap=1e-6, method=method)
        assert "interior point" in found.method
        assert found.gap <= 1e-6 * abs(found.loss)
        assert found.lower_bound <= program.loss + 1e-12
        assert program.lower_bound <= found.loss + 1e-12
        assert found.certificate.verify().holds
        assert sv.epsilon(found.mechanism, metric).nats <= 0.4


@pytest.mark.parametrize("kind", ["random", "skewed", "few actions"])
def test_the_optimum_of_a_line_is_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_solve, "LARGEST_EXACT", 100)
    monkeypatch.setattr(_solve, "LARGEST_TREE", 100)
    rng = np.random.default_rng(7)
    points = np.sort(rng.permutation(60)[:24]).tolist()
    metric = sv.metrics.line(points)
    loss = rng.random((24, 24))
    prior = None
    if kind == "skewed":
        prior = 0.5 ** np.arange(24)
        prior /= prior.sum()
    if kind == "few actions":
        loss = rng.random((9, 24)) - 0.5
    program = sv.optimal_mechanism(metric, 0.4, prior, loss, method="program")
    found = sv.optimal_mechanism(metric, 0.4, prior, loss, gap=1e-6)
    assert "interior point" in found.method
    assert found.gap <= 1e-6 * abs(found.loss)
    assert found.lower_bound <= program.loss + 1e-12
    assert program.lower_bound <= found.loss + 1e-12
    assert found.certificate.verify().holds
    assert sv.epsilon(found.mechanism, metric).nats <= 0.4
