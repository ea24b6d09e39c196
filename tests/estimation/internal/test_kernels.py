"""Inside `_kernels`: estimates from counts: every method, groups of users, the laws of IBU, and the edges."""

import numpy as np
import pytest

import sievert as sv
from sievert.estimation import _kernels as kernels


def test_without_numba_the_answers_are_the_same(monkeypatch) -> None:
    channel = sv.mechanisms.truncated_geometric(60, 0.3)
    counts = np.random.default_rng(1).integers(1, 50, 60)
    expected = [
        sv.estimate(counts, channel, method, interval="none").distribution for method in ("auto", "ibu")
    ]
    monkeypatch.setattr(kernels, "COMPILED", False)
    found = [sv.estimate(counts, channel, method, interval="none").distribution for method in ("auto", "ibu")]
    assert found[0] == pytest.approx(expected[0], abs=1e-7)
    assert found[1] == pytest.approx(expected[1], abs=1e-3)
