"""Sums after many releases: Gaussian noise exactly by its sum, other noise by chains of neighbours; tries."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, NoiseLaw
from sievert.measures import Closeness, envelope_mass
from tests.observations.lines import LAWS, adversaries, by_outputs, line


@pytest.mark.parametrize("law", LAWS[2:4], ids=repr)
@pytest.mark.parametrize("belief", [None, [0.5, 0.1, 0.1, 0.3]])
def test_gaussian_releases_are_one_of_their_sum(law: NoiseLaw, belief: list[float] | None) -> None:
    view = line([0, 1, 3, 4], law, belief)
    for adversary in adversaries(4):
        found = view.gain(adversary, 2)
        assert found.exact
        assert found.after == pytest.approx(by_outputs(view, adversary, 2), rel=1e-10)


def test_gaussian_guesses_hold_at_any_size() -> None:
    """150,001 values, 10,000 releases: (1/k)(1 + (k - 1)·P(the noise of the sum is nearest to 0))."""
    law = GaussianLaw(Fraction(150_000))
    view = line(range(150_001), law)
    found = view.guess(10_000)
    # 2Φ(½/σ') - 1 with σ' = 1500 after division by the number of releases.
    near = math.erf(0.5 / 1500 / math.sqrt(2))
    assert found.exact and found.guess == pytest.approx((1 + 150_000 * near) / 150_001, rel=1e-6)
    peaked = np.exp(-np.arange(150_001) / 30_000)
    uneven = line(range(150_001), law, peaked / peaked.sum()).guess(100)
    assert uneven.exact and 1.3 * uneven.before < uneven.guess < found.guess


@given(
    st.lists(st.integers(1, 7), min_size=1, max_size=6),
    st.lists(st.sampled_from([1, 2, 5, 40, 1000]), min_size=7, max_size=7),
    st.sampled_from([GaussianLaw(Fraction(3, 4)), GaussianLaw(Fraction(3)), GaussianLaw(Fraction(40))]),
)
def test_the_gaussian_envelope_is_a_hull(gaps: list[int], weights: list[int], law: GaussianLaw) -> None:
    places = np.concatenate([[0], np.cumsum(gaps)])
    beliefs = np.array(weights[: len(places)]) / sum(weights[: len(places)])
    outputs = np.arange(-400.0, 450)
    listed = (beliefs[:, None] * np.exp(law.log_pmf(outputs - places[:, None]))).max(axis=0).sum()
    assert envelope_mass(law, places, np.log(beliefs)) == pytest.approx(float(listed), rel=1e-11)


@given(st.data())
def test_tries_by_either_side_are_those_of_every_output(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 7))
    amounts = data.draw(st.lists(st.integers(0, 12), min_size=size, max_size=size))
    weights = np.array(data.draw(st.lists(st.sampled_from([0, 1, 1, 3, 50]), min_size=size, max_size=size)))
    belief = (weights + (not weights.any())) / (weights + (not weights.any())).sum()
    eps = data.draw(st.sampled_from([0.05, 0.7, 4.0]))
    view = line(amounts, GeometricLaw(EpsilonOrAlpha(eps, None)), belief.tolist())
    adversary = sv.gains.tries(range(size), data.draw(st.integers(1, size)))
    reach = math.ceil(36 / eps)
    outputs = np.arange(-float(reach), 13 + reach)
    joint = belief[:, None] * np.exp(view.noise.law.log_pmf(outputs - np.array(amounts)[:, None]))
    found = view.gain(adversary)
    assert found.exact
    assert found.after == pytest.approx(float(adversary.values(joint).sum()), rel=1e-11)


def test_a_chain_is_far_below_the_capacity_of_each_release() -> None:
    view = line(range(401), GeometricLaw(EpsilonOrAlpha(1 / 400, None)))
    found = view.gain(sv.gains.identity(range(401)), 100)
    assert "neighbours" in found.method and not found.exact
    drawn = view.simulated(100, 1, samples=2000)
    assert drawn.lower < found.after < 1.05 * drawn.upper
    near = view.gain(sv.gains.within(sv.metrics.line(range(401)), 20), 100)
    assert "neighbours" in near.method and found.after < near.after < 41 * found.after


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_losses_of_long_lines_are_those_of_every_output(law: NoiseLaw) -> None:
    """Uncertainty, guesses and closeness by closed sums, against every output."""
    names = range(6)
    near = Closeness(names, np.arange(6.0) * 2, "closeness")
    view = line(range(6), law)
    for adversary in (near, sv.losses.shannon(names), sv.losses.guessing(names)):
        found = view.gain(adversary)
        assert found.exact
        assert found.after == pytest.approx(by_outputs(view, adversary, 1), rel=1e-11)


@given(st.data())
def test_medians_and_entropies_for_any_prior(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 6))
    gaps = data.draw(st.lists(st.integers(1, 5), min_size=size, max_size=size))
    steps = data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=size, max_size=size))
    weights = np.array(data.draw(st.lists(st.sampled_from([1, 1, 2, 30]), min_size=size, max_size=size)))
    sign = data.draw(st.sampled_from([1, -1]))
    law = GeometricLaw(EpsilonOrAlpha(data.draw(st.sampled_from([0.05, 0.7, 4.0])), None))
    amounts, belief = np.cumsum(gaps), weights / weights.sum()
    view = line(amounts.tolist(), law, belief.tolist())
    reach = math.ceil(36 / law.level.eps)
    outputs = np.arange(amounts[0] - float(reach), amounts[-1] + reach)
    joint = belief[:, None] * np.exp(law.log_pmf(outputs - amounts[:, None]))
    for adversary in (
        Closeness(range(size), sign * np.cumsum(steps), "closeness"),
        sv.losses.shannon(size),
    ):
        found = view.gain(adversary)
        assert found.exact
        assert found.after == pytest.approx(float(adversary.values(joint).sum()), rel=1e-10, abs=1e-12)


def test_losses_of_long_lines() -> None:
    size = 20_001
    view = line(range(size), GeometricLaw(EpsilonOrAlpha(1 / 20_000, None)))
    bits = view.gain(sv.losses.shannon(size))
    guesses = view.gain(sv.losses.guessing(size))
    close = view.gain(sv.gains.closeness(sv.metrics.line(range(size))))
    assert bits.exact and guesses.exact and close.exact
    assert 0 < bits.before - bits.after < math.log2(size * view.guess().guess)
    assert (1 / view.guess().guess + 1) / 2 < guesses.after < guesses.before == (size + 1) / 2
    assert close.before == pytest.approx(0.75, rel=1e-4) and close.before < close.after < 1
    often = [view.gain(a, 1000) for a in (sv.losses.shannon(size), sv.losses.guessing(size))]
    assert [found.exact for found in often] == [False, False]
    assert 1 < often[1].after < guesses.after and often[1].method.endswith("by the best guess")
    peaked = line(range(size), LAWS[0], (np.arange(size, 0, -1) / (size * (size + 1) / 2)).tolist())
    assert peaked.gain(sv.gains.closeness(sv.metrics.line(range(size)))).exact
    assert not peaked.gain(sv.losses.guessing(size)).exact


def test_bounds_never_fall_however_many_releases() -> None:
    """Long convolutions lose their far ends, which must not lower a bound."""
    view = line(range(0, 4001, 10), GeometricLaw(EpsilonOrAlpha(1 / 400, None)))
    curve = [view.guess(n).guess for n in (1, 10, 1000, 50_000, 300_000, 10**7)]
    assert curve == sorted(curve) and curve[-1] == pytest.approx(1)
