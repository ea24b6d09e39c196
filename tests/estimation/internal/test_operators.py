"""Inside `_operators`: estimates from counts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.estimation._operators import Group, Reports, certified_gap, iterate, operator_of


def random_channel(rng: np.random.Generator, inputs: int, outputs: int) -> sv.Channel:
    return sv.Channel(rng.dirichlet(np.full(outputs, 0.5), inputs), normalise=True)


@given(st.integers(0, 10**6))
def test_ibu_never_lowers_the_likelihood_and_its_gap_holds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs, outputs = rng.integers(1, 7, 2)
    counts = rng.integers(0, 20, outputs)
    counts[0] += 1
    channel = random_channel(rng, int(inputs), int(outputs))
    operator, shares = operator_of(Reports((Group(counts.astype(float), channel),)))
    start = rng.dirichlet(np.ones(inputs))
    fit = iterate(operator, shares, start, 0.0, 60, traced=True)
    assert (np.diff(fit.trace) >= -1e-12).all()
    assert fit.distribution.sum() == pytest.approx(1)
    found = sv.estimate(counts, channel, interval="none")
    best = found.distribution
    assert found.likelihood_gap < 1e-9
    assert certified_gap(operator, shares, best) < 1e-9
    highest = float(shares @ (np.log(operator.expected(best)) + operator.log_scale))
    assert highest - fit.mean_log_likelihood <= fit.gap + 1e-9
    # L* - L(p_k) ≤ ln(inputs)/(k+1) from the uniform start (spec 7.1, fact 4).
    uniform = iterate(operator, shares, np.full(inputs, 1 / inputs), 0.0, 30)
    assert highest - uniform.mean_log_likelihood <= math.log(inputs) / 31 + 1e-9


def test_tiny_probabilities_keep_their_digits() -> None:
    """Spec 7.6: a Fourier transform gives 1.9e-17 and negative entries where the truth is 1e-20."""
    channel = sv.mechanisms.truncated_geometric(101, alpha="1/10")
    point = np.zeros(101)
    point[0] = 1
    operator, _ = operator_of(Reports((Group(np.ones(101), channel),)))
    assert operator.expected(point)[20] == pytest.approx(1e-20, rel=1e-12)
