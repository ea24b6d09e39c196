"""Designs at the edges of floats: skewed priors, signed losses, huge and tiny ε."""

import json
import runpy
from typing import Any

import numpy as np
import pytest

import sievert as sv
from sievert.proofs import checker_path, proof_from_dict

CHECKER = runpy.run_path(str(checker_path()))


def checked_alone(content: dict[str, Any]) -> bool:
    """What the second checker says, which knows nothing of the package."""
    return bool(CHECKER["check"](content)[0])


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


@pytest.mark.parametrize("eps", [10.0, 18.0, 25.5, 40.0, 700.0])
@pytest.mark.parametrize("size", [2, 3, 5, 10])
def test_a_loss_below_the_units_of_floats_is_right_to_its_digits(size: int, eps: float) -> None:
    best = sv.optimal_mechanism(sv.metrics.discrete(size), eps)
    odds = (size - 1) * np.exp(-eps)
    assert best.loss == pytest.approx(odds / (1 + odds), rel=1e-9)
    assert 0 < best.lower_bound <= best.loss <= best.lower_bound * (1 + 1e-9)
    saved = json.loads(json.dumps(best.certificate.to_dict()))
    assert proof_from_dict(saved).verify()
    assert checked_alone(saved)


@pytest.mark.parametrize("eps", [25.0, 40.0, 700.0])
@pytest.mark.parametrize("name", ["line(5)", "cycle(6)", "grid(2, 3)", "hamming(2, 3)"])
def test_so_it_is_on_other_metrics_and_for_other_losses(name: str, eps: float) -> None:
    kind, _, rest = name.partition("(")
    metric = getattr(sv.metrics, kind)(*map(int, rest.rstrip(")").split(",")))
    nearest = np.where(metric.matrix == 1, 1, 0).sum(axis=1).mean()
    for loss in (None, sv.losses.squared_distance(metric)):
        best = sv.optimal_mechanism(metric, eps, None, loss)
        # An error is as good as always to a neighbour, each as likely as e^-ε.
        assert best.loss == pytest.approx(nearest * np.exp(-eps), rel=1e-9)
        assert best.lower_bound == pytest.approx(float(best.loss), rel=1e-9)
        assert checked_alone(json.loads(json.dumps(best.certificate.to_dict())))


def test_a_rare_input_is_worth_its_digits() -> None:
    """Places between which nothing is whole, and a mistake about one input in 10^20."""
    rare = sv.optimal_mechanism(sv.metrics.discrete(3), 1.0, ["0.99999999999999999999", "9e-21", "1e-21"])
    assert (rare.loss, rare.lower_bound) == (pytest.approx(1e-20, rel=1e-9),) * 2
    places = sv.Metric([[0, 1.1, 2.3], [1.1, 0, 1.7], [2.3, 1.7, 0]])
    best = sv.optimal_mechanism(places, 60.0)
    assert best.loss == pytest.approx(2 * np.exp(-66) / 3, rel=1e-6)
    assert best.lower_bound == pytest.approx(float(best.loss), rel=1e-9)
    exact = best.mechanism.exact
    assert all(sum(row) == 1 for row in exact.tolist())


@pytest.mark.parametrize("eps", [1e-300, 1e-50, 1e-17, 1e-12])
@pytest.mark.parametrize("metric", [sv.metrics.line(5), sv.metrics.discrete(4), sv.metrics.grid(2, 3)])
def test_a_tiny_epsilon_gives_a_private_mechanism(eps: float, metric: sv.Metric) -> None:
    best = sv.optimal_mechanism(metric, eps)
    verified = best.certificate.verify()
    assert verified, verified
    assert proof_from_dict(json.loads(json.dumps(best.certificate.to_dict()))).verify()
    assert best.gap < 1e-11


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
