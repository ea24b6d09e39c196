"""Columns of a channel too large for its matrix."""

import numpy as np
import pytest

import sievert as sv
from sievert.measures import _output_values


def test_a_guess_at_all_bits_is_taken_bit_by_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any prior over codes, without the matrix of all pairs of codes."""
    prior = np.random.default_rng(2).dirichlet(np.full(64, 0.3))
    small = sv.vectors.channel(6, 1.0)
    expected = sv.posterior_vulnerability(small, prior).value
    monkeypatch.setattr(_output_values, "_is_small", lambda channel: False)
    found = sv.posterior_vulnerability(sv.vectors.channel(6, 1.0), prior).value
    assert float(found) == pytest.approx(float(expected), rel=1e-13)
    listed = np.zeros(2**12)
    listed[[0, 2**12 - 1]] = 0.5
    two = sv.posterior_vulnerability(sv.vectors.channel(12, 0.5), listed).value
    assert float(two) == pytest.approx((1 + sv.vectors.accountant(12, 1.0, 0.5).delta(0.0)) / 2, rel=1e-12)
