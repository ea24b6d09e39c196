"""Leakage from samples: intervals that cover the truth of a known channel."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import sievert as sv
from sievert.errors import SievertError


def draw(channel: np.ndarray, prior: np.ndarray, count: int, rng: np.random.Generator) -> tuple:
    secret = rng.choice(len(prior), count, p=prior)
    output = (rng.random(count)[:, None] > np.cumsum(channel[secret], axis=1)).sum(axis=1)
    return secret, output


def test_intervals_cover_a_known_channel() -> None:
    """200 seeded estimates at confidence 0.9; P(Binomial(200, 0.1) > 35) < 1e-3."""
    rng = np.random.default_rng(0)
    channel = rng.dirichlet(np.ones(6), 4)
    prior = np.array([0.4, 0.3, 0.2, 0.1])
    truth = float(sv.posterior_vulnerability(sv.Channel(channel), prior))
    missed = 0
    for seed in range(200):
        secret, output = draw(channel, prior, 600, np.random.default_rng(seed))
        found = sv.bayes_risk(secret, output, confidence=0.9, rng=seed)
        low, high = found.guess_interval
        missed += not low <= truth <= high
        assert found.method == "frequentist"
    assert missed <= 35


def test_interval_narrows() -> None:
    rng = np.random.default_rng(1)
    channel = np.array([[0.75, 0.25], [0.25, 0.75]])
    widths = []
    for count in (200, 2000, 20_000):
        secret, output = draw(channel, np.array([0.5, 0.5]), count, rng)
        found = sv.bayes_risk(secret, output, rng=0)
        widths.append(found.guess_interval[1] - found.guess_interval[0])
        assert found.guess_interval[0] <= 0.75 <= found.guess_interval[1]
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] < 0.03
    assert found.risk == pytest.approx(0.25, abs=0.02)
    assert found.bits == pytest.approx(math.log2(1.5), abs=0.05)


def test_a_given_prior_reweighs_the_runs() -> None:
    rng = np.random.default_rng(2)
    channel = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    prior = np.array([0.6, 0.3, 0.1])
    truth = float(sv.posterior_vulnerability(sv.Channel(channel), prior))
    secret, output = draw(channel, np.full(3, 1 / 3), 30_000, rng)
    order = list(dict.fromkeys(secret.tolist()))
    found = sv.bayes_risk(secret, output, prior=prior[order].tolist(), rng=0)
    assert found.guess_interval[0] <= truth <= found.guess_interval[1]
    assert found.guess == pytest.approx(truth, abs=0.02)
    assert found.before == pytest.approx(0.6)


def test_nearest_neighbours_find_gaussian_noise() -> None:
    rng = np.random.default_rng(3)
    secret = rng.integers(0, 2, 20_000)
    output = secret + rng.normal(0, 0.5, len(secret))
    found = sv.bayes_risk(secret, output, rng=0)
    truth = norm.cdf(1.0)
    assert found.method == "nearest"
    assert found.guess == pytest.approx(truth, abs=0.015)
    assert found.guess_interval[0] <= truth
    # Without assumptions nobody can promise an upper end for continuous outputs.
    assert found.guess_interval[1] == 1
    assert "no upper end" in str(found)
    plane = np.column_stack([output, rng.normal(size=len(secret))])
    assert sv.bayes_risk(secret, plane, rng=0).guess == pytest.approx(truth, abs=0.03)


def test_labels_and_no_leakage() -> None:
    rng = np.random.default_rng(4)
    secret = rng.choice(["a", "b", "c"], 3000, p=[0.5, 0.3, 0.2])
    output = rng.choice(["x", "y"], 3000)
    found = sv.bayes_risk(secret, output.tolist(), rng=0)
    assert found.inputs == tuple(dict.fromkeys(secret.tolist()))
    assert found.guess_interval[0] <= 0.5 <= found.guess_interval[1]
    assert found.bits < 0.05
    everything = sv.bayes_risk(secret, secret.tolist(), rng=0)
    assert everything.risk == 0
    assert everything.guess_interval[0] > 0.99


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": [0] * 10, "outputs": [0] * 10},
        {"outputs": [0] * 29},
        {"inputs": "text"},
        {"method": "guess"},
        {"outputs": ["x"] * 30, "method": "nearest"},
        {"prior": [0.5, 0.6]},
        {"confidence": 2},
    ],
)
def test_silly_inputs(change: dict[str, object]) -> None:
    options = {"inputs": [0, 1] * 15, "outputs": [0, 1] * 15, **change}
    with pytest.raises(SievertError):
        sv.bayes_risk(**options)
