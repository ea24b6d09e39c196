"""Inside `_programs`: optimal mechanisms."""

import numpy as np
import pytest

import sievert as sv
from sievert.design import _programs as programs


def test_beyond_the_largest_exact_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program too large to be solved to the end still gives a private mechanism and an honest gap."""
    rng = np.random.default_rng(4)
    metric = sv.metrics.euclidean(6 * rng.random((16, 2)))
    prior, loss = rng.dirichlet(np.ones(16)), sv.losses.distance(metric)
    full = sv.optimal_mechanism(metric, 1.0, prior, loss)
    monkeypatch.setattr(programs, "LARGEST_EXACT", 100)
    monkeypatch.setattr(programs, "SIMPLEX_UNKNOWNS", 10)
    monkeypatch.setattr(programs, "START_INTERIOR", 1)
    monkeypatch.setattr(programs, "LARGE_ROUNDS", 1)
    hasty = sv.optimal_mechanism(metric, 1.0, prior, loss)
    assert hasty.certificate.verify().holds
    assert hasty.lower_bound <= full.loss and hasty.loss >= full.lower_bound
    assert 1e-6 < hasty.gap < 0.5
    assert "linear program" in hasty.method
    monkeypatch.setattr(programs, "LARGE_ROUNDS", 40)
    assert sv.optimal_mechanism(metric, 1.0, prior, loss).gap < 1e-9


def test_a_large_program_stops_in_time_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "LARGEST_EXACT", 10)
    monkeypatch.setattr(programs, "MOST_SECONDS", 0.0)
    rng = np.random.default_rng(0)
    best = sv.optimal_mechanism(sv.metrics.grid(3, 3), 1.0, None, rng.random((9, 9)))
    assert best.certificate.verify()
    assert "stopped" in best.method, best.method
