"""Inside `_tree_interior`: the interior point on lines and trees."""

import numpy as np
import pytest

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
