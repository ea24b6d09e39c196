"""Laws of releases without a list: audit ≤ promise ≤ policy, more values, cells in another order."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.channels import (
    EpsilonOrAlpha,
    GaussianLaw,
    GeometricLaw,
    HistogramNoise,
    ScalarNoise,
    StaircaseLaw,
)
from sievert.estimation import estimate_table
from sievert.measures import noise_capacity
from sievert.observations import likelihood_of

SECRETS = {
    "complete": sv.secrets.complete,
    "line": sv.secrets.line,
    "threshold": lambda values: sv.secrets.threshold(values, 2),
    "partition": lambda values: sv.secrets.partition([list(values)[:2], list(values)[2:]]),
}
eps = st.fractions(Fraction(1, 20), Fraction(3), max_denominator=20)
secrets = st.sampled_from(sorted(SECRETS))
values = st.lists(st.integers(0, 9), min_size=3, max_size=5, unique=True).map(sorted)


def geometric(level):
    return GeometricLaw(EpsilonOrAlpha(float(level), None, exact_eps=level))


@st.composite
def releases(draw):
    """A policy, noise that keeps ε for it, that ε, and a belief about one record."""
    given_values = draw(values)
    policy = sv.Policy(SECRETS[draw(secrets)](given_values), records=draw(st.integers(1, 3)))
    histogram, level = draw(st.booleans()), draw(eps)
    query = sv.Query.histogram() if histogram else sv.Query.sum()
    statistic = query.statistic(policy)
    moved = statistic.sensitivity(policy)
    if not histogram and draw(st.booleans()) and moved.steps > 0:
        law = StaircaseLaw(level, int(moved.steps))
    else:
        law = geometric(level / moved.steps if moved.steps else level)
    noise = (HistogramNoise if histogram else ScalarNoise)(statistic, law)
    weights = draw(st.lists(st.integers(1, 9), min_size=len(given_values), max_size=len(given_values)))
    return policy, noise, float(noise.eps_of(moved)), np.array(weights) / sum(weights)


@given(releases(), st.integers(1, 3))
@settings(max_examples=40)
def test_no_release_tells_more_than_its_promise(release, count):
    policy, noise, level, belief = release
    own = likelihood_of(noise, belief).guess(count)
    assert own.guess >= own.before * (1 - 1e-12)
    allowed = sv.explain(level, releases=count, policy=policy, prior=belief)
    assert own.before == pytest.approx(allowed.before)
    # What connects no two values is not protected, and may be told apart by any noise that keeps ε.
    lowest = own.guess if own.exact else own.before
    assert lowest <= allowed.after * (1 + 1e-9)


@given(releases())
@settings(max_examples=40)
def test_no_release_tells_more_about_the_database_than_any_mechanism(release):
    policy, noise, level, _ = release
    own = noise_capacity(noise, policy)
    most = sv.worst_leakage(policy, level)
    least = float(own.bits) - float(own.gap)
    assert least <= most.upper.bits + 1e-9


@given(values, eps, st.integers(1, 4), st.booleans(), st.integers(0, 9))
def test_one_more_value_never_lowers_the_capacity(given_values, level, count, histogram, more):
    """Σ_y max_v P(y | v), k times the guess among k equally likely values, grows with the values."""
    larger = sorted({*given_values, more})

    def capacity(chosen):
        policy = sv.Policy(sv.secrets.complete(chosen), records=2)
        query = sv.Query.histogram() if histogram else sv.Query.sum()
        noise = (HistogramNoise if histogram else ScalarNoise)(query.statistic(policy), geometric(level))
        size = len(chosen)
        found = likelihood_of(noise, np.full(size, 1 / size)).guess(count)
        # Steps may become finer with a value; the same noise on each step is what is compared.
        return found, size * found.guess, noise.statistic.step

    small, before, step = capacity(given_values)
    large, after, finer = capacity(larger)
    if small.exact and large.exact and step == finer:
        assert after >= before * (1 - 1e-9)


@given(st.data())
def test_cells_may_stand_in_any_order(data):
    belief = np.array(data.draw(st.lists(st.integers(1, 9), min_size=4, max_size=4)), dtype=float)
    belief /= belief.sum()
    order = np.array(data.draw(st.permutations(range(4))))
    law = data.draw(st.sampled_from([geometric(Fraction(1, 2)), GaussianLaw(Fraction(3, 2))]))
    policy = sv.Policy.differential(4, 20)
    noise = HistogramNoise(sv.Query.histogram().statistic(policy), law)
    count = data.draw(st.integers(1, 6))
    first, second = (likelihood_of(noise, weights).guess(count) for weights in (belief, belief[order]))
    assert first.guess == pytest.approx(second.guess, rel=1e-9)
    for gain in (sv.gains.tries(4, 2), sv.losses.shannon(4)):
        one, other = (likelihood_of(noise, weights).gain(gain, count) for weights in (belief, belief[order]))
        assert one.after == pytest.approx(other.after, rel=1e-9)


@given(st.lists(st.integers(-9, 30), min_size=4, max_size=4), st.permutations(range(4)))
@settings(max_examples=25)
def test_a_released_table_is_adjusted_cell_by_cell(released, order):
    policy = sv.Policy.differential(4, 20)
    noise = HistogramNoise(sv.Query.histogram().statistic(policy), geometric(Fraction(1, 2)))
    first = estimate_table(released, noise, policy, rng=1)
    second = estimate_table([released[i] for i in order], noise, policy, rng=1)
    assert second.intervals.tolist() == first.intervals[list(order)].tolist()
    # Rounding goes to the first cells, wherever these are.
    assert np.abs(second.adjusted - first.adjusted[list(order)]).max() <= 1
    assert sum(second.adjusted) == sum(first.adjusted) == 20
