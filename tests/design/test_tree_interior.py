"""The interior point on lines and trees: eliminated matrices beside dense ones, optima beside the program."""

import numpy as np
import pytest

import sievert as sv
from sievert.design import _solving
from sievert.design._tree_interior import _Elimination, _Neighbours


def _parents(shape: str, size: int, rng: np.random.Generator) -> np.ndarray:
    """The parent of every point but the first, earlier than it."""
    if shape == "line":
        return np.arange(size - 1)
    if shape == "star":
        return np.zeros(size - 1, dtype=np.intp)
    return np.array([rng.integers(max(0, k - 5), k) for k in range(1, size)])


@pytest.mark.parametrize(
    ("shape", "steepest"), [("line", 0.9), ("line", 1e-20), ("star", 0.5), ("any", 1e-20)]
)
def test_matrices_of_a_tree_are_inverted(shape: str, steepest: float) -> None:
    rng = np.random.default_rng(3)
    size, count = 70, 4
    parent = _parents(shape, size, rng)
    factor = rng.uniform(0.3, 0.9, size - 1)
    factor[5] = steepest
    weight = rng.exponential(size=(2, count, size - 1)) ** 3
    pairs, columns = _Neighbours(factor, parent), _Elimination(factor, parent)
    columns.invert(weight)
    right = rng.normal(size=(count, size))
    product, slack, spread = (
        columns.product(right),
        pairs.slack(right),
        pairs.spread(weight),
    )
    whole = np.zeros((size, size))
    near = np.eye(size)[parent] - factor[:, None] * np.eye(size)[1:]
    far = np.eye(size)[1:] - factor[:, None] * np.eye(size)[parent]
    arcs = np.concatenate([near, far])
    for w in range(count):
        both = np.concatenate([weight[0, w], weight[1, w]])
        inverse = np.linalg.inv(arcs.T @ (both[:, None] * arcs))
        whole += inverse
        assert product[w] == pytest.approx(inverse @ right[w], rel=1e-9, abs=1e-9)
        assert slack[:, w].ravel() == pytest.approx(arcs @ right[w])
        assert spread[w] == pytest.approx(arcs.T @ both)
    assert columns._sum == pytest.approx(whole, rel=1e-9)
    assert whole @ columns.prices(np.ones(size)) == pytest.approx(np.ones(size))


def test_ratios_that_no_float_holds_overflow_nowhere() -> None:
    size = 40
    factor = np.full(size - 1, np.exp(-30.0))
    columns = _Elimination(factor, np.arange(size - 1))
    # Columns that fall by e^-30 for each step in one direction: V[0,0]/V[n-1,n-1] is about e^2340.
    weight = np.empty((2, 1, size - 1))
    weight[0], weight[1] = 1e-8, 1e8
    columns.invert(weight)
    assert np.isfinite(columns._sum).all()
    assert np.isfinite(columns.product(np.ones((1, size)))).all()


@pytest.mark.parametrize("kind", ["random", "signed"])
def test_the_optimum_of_a_tree_is_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_solving, "LARGEST_EXACT", 100)
    monkeypatch.setattr(_solving, "LARGEST_TREE", 100)
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
    monkeypatch.setattr(_solving, "LARGEST_EXACT", 100)
    monkeypatch.setattr(_solving, "LARGEST_TREE", 100)
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


def test_a_long_line_with_a_random_loss() -> None:
    size = 145
    rng = np.random.default_rng(0)
    found = sv.optimal_mechanism(sv.metrics.line(size), 0.5, loss=rng.random((size, size)), gap=1e-3)
    assert "interior point, 21025 unknowns, 2.0 constraints" in found.method
    assert found.gap <= 1e-3 * found.loss
    assert found.certificate.verify().holds
