"""Agreement with dit where it is right, and where it stops early."""

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

import sievert as sv


@pytest.fixture(scope="module")
def dit(oracle: Callable[[str], ModuleType]) -> ModuleType:
    return oracle("dit")


@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, 7.0, np.inf])
def test_sibson_information(dit: ModuleType, order: float) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n, m = rng.integers(2, 7, size=2)
        matrix, prior = rng.dirichlet(np.ones(m), n), rng.dirichlet(np.ones(n))
        expected = dit.other.sibson_mutual_information_pmf(prior[:, None] * matrix, order)
        found = sv.information.sibson_information(sv.Channel(matrix), prior, order)
        assert found == pytest.approx(expected, abs=1e-12)


def test_maximal_leakage(dit: ModuleType) -> None:
    matrix = np.random.default_rng(3).dirichlet(np.ones(4), 3)
    names = [f"{x}{y}" for x in range(3) for y in range(4)]
    joint = dit.Distribution(names, (matrix / 3).ravel().tolist())
    assert sv.information.maximal_leakage(sv.Channel(matrix)) == pytest.approx(
        dit.other.maximal_leakage(joint, [0], [1])
    )


def test_shannon_capacity(dit: ModuleType) -> None:
    """dit reports a lower bound without saying how low; ours proves its distance from the truth."""
    below = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        matrix = rng.dirichlet(np.ones(4), 5)
        found = sv.capacity(sv.Channel(matrix), kind="shannon")
        theirs = float(dit.algorithms.channel_capacity(matrix)[0])
        assert theirs <= float(found) + found.gap + 1e-12
        assert float(found) == pytest.approx(theirs, abs=1e-3)
        below += theirs < float(found) - 1e-7
    assert below > 0
