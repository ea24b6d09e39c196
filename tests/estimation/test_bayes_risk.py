"""Leakage from samples: intervals that cover the truth of a known channel."""

import lzma
import math
from pathlib import Path

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


def test_one_wild_row_hides_nothing() -> None:
    """F-BLEAU's example: the best guess is right with 0.544, its authors' k-NN with 0.527."""
    with lzma.open(Path(__file__).parent / "data" / "geometric-4.csv.xz") as stream:
        rows = np.loadtxt(stream, delimiter=",")
    assert rows.shape == (100_000, 3)
    for method in ("auto", "nearest"):
        found = sv.bayes_risk(rows[:, 0].astype(int), rows[:, 1:], method=method, rng=0)
        assert found.method == "nearest"
        assert 0.53 < found.guess < 0.55
        assert found.guess_interval[0] <= 0.544 <= found.guess_interval[1]
        # Whole numbers return, so that counting gives an upper end whichever way is better.
        assert found.guess_interval[1] < 0.65


@pytest.mark.parametrize("wild", [3.2e10, 1e308, -1e308, math.inf, math.nan])
def test_a_scale_is_not_ruled_by_one_value(wild: float) -> None:
    rng = np.random.default_rng(0)
    secret = rng.integers(0, 2, 4000)
    output = np.column_stack([secret + rng.normal(0, 0.5, 4000), rng.normal(0, 1e-3, 4000)])
    plain = sv.bayes_risk(secret, output, rng=0)
    output[7, 0] = wild
    assert sv.bayes_risk(secret, output, rng=0).guess == pytest.approx(plain.guess, abs=0.01)
    assert plain.guess > 0.82
    # Columns of one value, or of one value nearly always.
    rest = np.zeros(4000)
    odd = np.where(rng.random(4000) < 0.01, 1e9, 0.0)
    wide = np.column_stack([output, rest, odd])
    assert sv.bayes_risk(secret, wide, rng=0).guess > 0.8


def test_auto_is_as_good_as_either() -> None:
    rng = np.random.default_rng(1)
    secret = rng.integers(0, 4, 8000)
    # What an output means has nothing to do with where it is.
    hashed = (secret * 7919 + rng.integers(0, 500, 8000) * 104729) % 1_000_003
    # Neighbours are best: whole numbers that hardly ever return.
    spread = np.rint(1000 * (secret + rng.normal(0, 0.5, 8000)))
    for output in (hashed, spread):
        found = {
            m: sv.bayes_risk(secret, output, method=m, rng=0) for m in ("auto", "frequentist", "nearest")
        }
        assert found["auto"].guess == max(one.guess for one in found.values())
    assert found["auto"].method == "nearest"
    assert found["auto"].guess > found["frequentist"].guess + 0.1


def test_lower_ends_hold_for_the_chosen_guesser() -> None:
    """100 estimates at confidence 0.9 where "auto" chooses among all: P(Binomial(100, 0.05) > 13) < 1e-3."""
    truth = float(norm.cdf(1.0))
    missed = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        secret = rng.integers(0, 2, 400)
        output = np.round(secret + rng.normal(0, 0.5, 400), 2)
        found = sv.bayes_risk(secret, output, confidence=0.9, rng=seed)
        missed += found.guess_interval[0] > truth
    assert missed <= 13


def test_mixed_outputs_and_small_samples() -> None:
    rng = np.random.default_rng(2)
    secret = rng.integers(0, 2, 4000)
    outputs = [
        ("none", None) if rng.random() < 0.2 else ("some", rng.normal(s, 0.3)) for s in secret.tolist()
    ]
    assert sv.bayes_risk(secret, outputs, rng=0).guess == pytest.approx(
        0.8 * norm.cdf(1 / 0.6) + 0.1, abs=0.03
    )
    for count in (20, 21, 30, 50):
        for outputs in (rng.normal(size=count), np.zeros(count), rng.normal(size=(count, 7))):
            found = sv.bayes_risk(np.arange(count) % 2, outputs, rng=0)
            assert 0 <= found.guess_interval[0] <= found.guess <= found.guess_interval[1] <= 1
