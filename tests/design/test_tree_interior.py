"""The interior point on lines and trees: eliminated matrices beside dense ones, optima beside the program."""

import numpy as np

import sievert as sv


def test_a_long_line_with_a_random_loss() -> None:
    size = 145
    rng = np.random.default_rng(0)
    found = sv.optimal_mechanism(sv.metrics.line(size), 0.5, loss=rng.random((size, size)), gap=1e-3)
    assert "interior point, 21025 unknowns, 2.0 constraints" in found.method
    assert found.gap <= 1e-3 * found.loss
    assert found.certificate.verify().holds
