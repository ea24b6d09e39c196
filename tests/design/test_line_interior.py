"""The interior point on a line: tridiagonal matrices against dense ones, optima against the program."""

import numpy as np
import pytest

import sievert as sv
from sievert.design import _solving
from sievert.design._line_interior import _Neighbours, _Tridiagonal


@pytest.mark.parametrize("steepest", [0.9, 1e-20])
def test_tridiagonal_matrices_are_inverted(steepest: float) -> None:
    rng = np.random.default_rng(3)
    size, count = 70, 4
    factor = rng.uniform(0.3, 0.9, size - 1)
    factor[5] = steepest
    weight = rng.exponential(size=(2, count, size - 1)) ** 3
    pairs, columns = _Neighbours(factor), _Tridiagonal(factor)
    columns.invert(weight)
    right = rng.normal(size=(count, size))
    product, slack, spread = (
        columns.product(right),
        pairs.slack(right),
        pairs.spread(weight, (count, size)),
    )
    whole = np.zeros((size, size))
    near = np.eye(size)[:-1] - factor[:, None] * np.eye(size)[1:]
    far = np.eye(size)[1:] - factor[:, None] * np.eye(size)[:-1]
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


@pytest.mark.parametrize("kind", ["random", "skewed", "few actions"])
def test_the_optimum_of_a_line_is_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_solving, "LARGEST_EXACT", 100)
    monkeypatch.setattr(_solving, "LARGEST_LINE", 100)
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
