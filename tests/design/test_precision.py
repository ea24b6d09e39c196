"""Designs at the edges of floats: skewed priors, signed losses, huge and tiny ε."""

import json

import numpy as np
import pytest

import sievert as sv
from sievert.design import _programs as programs
from sievert.proofs import proof_from_dict


@pytest.mark.parametrize("seed", [7, 17, 21, 25, 27, 33])
def test_skewed_priors_and_signed_losses_are_settled_to_the_last_digits(seed: int) -> None:
    metric, rng = sv.metrics.hamming(3, 2), np.random.default_rng(seed)
    prior, loss = rng.dirichlet(np.full(metric.size, 0.3)), rng.normal(size=(metric.size, metric.size))
    best = sv.optimal_mechanism(metric, 2.0, prior, loss, gap=1e-13)
    assert 0 <= best.gap < 1e-11


def test_the_scale_of_the_loss_does_not_matter() -> None:
    metric, rng = sv.metrics.hamming(3, 2), np.random.default_rng(33)
    prior, loss = rng.dirichlet(np.full(metric.size, 0.3)), rng.normal(size=(metric.size, metric.size))
    for factor in (1e-9, 1e9):
        best = sv.optimal_mechanism(metric, 2.0, prior, factor * loss)
        assert best.gap < 1e-11 * factor


@pytest.mark.parametrize("eps", [20.0, 40.0, 300.0])
def test_no_mechanism_is_said_to_lose_less_than_nothing(eps: float) -> None:
    for metric in (sv.metrics.discrete(5), sv.metrics.line(5), sv.metrics.grid(2, 3)):
        best = sv.optimal_mechanism(metric, eps)
        assert best.certificate.verify()
        # Probabilities are multiples of 2^-53: a few of them is all that may be lost beyond the optimum.
        optimum = 4 * np.exp(-eps)
        assert 0 <= best.lower_bound <= best.loss <= optimum + 64 * 2.0**-53


@pytest.mark.parametrize("eps", [1e-300, 1e-50, 1e-17, 1e-12])
@pytest.mark.parametrize("metric", [sv.metrics.line(5), sv.metrics.discrete(4), sv.metrics.grid(2, 3)])
def test_a_tiny_epsilon_gives_a_private_mechanism(eps: float, metric: sv.Metric) -> None:
    best = sv.optimal_mechanism(metric, eps)
    verified = best.certificate.verify()
    assert verified, verified
    assert proof_from_dict(json.loads(json.dumps(best.certificate.to_dict()))).verify()
    assert best.gap < 1e-11


def test_a_large_program_stops_in_time_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "LARGEST_EXACT", 10)
    monkeypatch.setattr(programs, "MOST_SECONDS", 0.0)
    rng = np.random.default_rng(0)
    best = sv.optimal_mechanism(sv.metrics.grid(3, 3), 1.0, None, rng.random((9, 9)))
    assert best.certificate.verify()
    assert "stopped" in best.method, best.method


def test_a_design_from_which_frequencies_cannot_be_estimated_says_so() -> None:
    prior = [0.9, 0.05, 0.03, 0.02]
    best = sv.optimal_mechanism(sv.metrics.discrete(4), 0.5, prior)
    assert best.warning is not None and "frequencies cannot be estimated" in best.warning
    assert best.warning in str(best)
    assert best.to_dict()["warning"] == best.warning
    fine = sv.optimal_mechanism(sv.metrics.discrete(4), 0.5)
    assert fine.warning is None and fine.to_dict()["warning"] is None
    blind = sv.design.least_leakage(None, sv.losses.absolute(3), 5.0)
    assert blind.warning is not None and blind.warning in str(blind)
