"""Inside `_chernoff`: chernoff information (Boreale and Paolini)."""

import numpy as np
import pytest

import sievert as sv
from sievert.observations import _chernoff as chernoff


@pytest.mark.parametrize("kind", ["even", "sparse", "zeros", "line"])
def test_matrix_products_agree_with_the_direct_form(kind: str) -> None:
    rng = np.random.default_rng(6)
    if kind == "line":
        logs = sv.mechanisms.truncated_geometric(60, eps=0.5).log_matrix
    else:
        matrix = 0.2 + rng.random((60, 50)) if kind == "even" else rng.dirichlet(np.full(50, 0.2), 60)
        if kind == "zeros":
            matrix[rng.random(matrix.shape) < 0.3] = 0
            matrix[1] = matrix[0]
            matrix[2], matrix[3] = np.eye(50)[:2]
        with np.errstate(divide="ignore"):
            logs = np.log(matrix / matrix.sum(axis=1, keepdims=True))
    pairs = np.column_stack(np.triu_indices(60, 1))
    fast = chernoff._by_products(logs, pairs)
    settled = ~np.isnan(fast)
    assert settled.mean() > 0.5
    direct = chernoff._direct(sv.Channel.trusted(logs, "log"), pairs)
    assert np.allclose(fast[settled], direct[settled], rtol=1e-11, atol=1e-15)
