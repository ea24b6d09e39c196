"""Laws of correlated secrets, over correlations and channels of every kind."""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.inference import Correlation, accuracy, curve, frontier, privacy_loss, vulnerability
from sievert.testing import channels, correlations, degraded_pairs, gain_matrices

SMALL = correlations(secrets=(2, 3), uses=(2, 3)).filter(lambda found: not found.secret_equals_use)
LEVELS = st.sampled_from([None, Fraction(1, 2), Fraction(1, 5)])


@given(correlations(uses=3), degraded_pairs(inputs=3, form="exact"))
@settings(max_examples=60)
def test_data_processing(correlation: Correlation, pair: tuple[sv.Channel, sv.Channel]) -> None:
    before, after = pair
    for measure in (vulnerability, accuracy):
        assert measure(after, correlation).value <= measure(before, correlation).value
    first, second = (privacy_loss(channel, correlation) for channel in pair)
    assert second.capacity <= first.capacity and second.bits <= first.bits + 1e-12
    assert second.odds <= first.odds * (1 + 1e-12)


@given(correlations(secrets=3, uses=3), channels(inputs=3, form="exact"), gain_matrices(3, 2))
@settings(max_examples=60)
def test_no_gain_grows_beyond_the_capacity(correlation: Correlation, channel: sv.Channel, gain: Any) -> None:
    loss = privacy_loss(channel, correlation, gain)
    assert 1 <= loss.factor <= loss.capacity + Fraction(1, 10**9)


@given(correlations(uses=3), channels(inputs=3, form="exact"))
@settings(max_examples=60)
def test_both_forms_of_the_dalenius_vulnerability_agree(
    correlation: Correlation, channel: sv.Channel
) -> None:
    """Eq. 5.2: the starred channel on pairs, and the gain lifted to them."""
    pairs = [(s, u) for s, row in enumerate(correlation.joint) for u, p in enumerate(row) if p]
    starred = sv.Channel([channel.exact[u].tolist() for _, u in pairs])
    lifted = sv.gains.matrix([[int(s == w) for s, _ in pairs] for w in range(len(correlation.secrets))])
    prior = [correlation.joint[pair] for pair in pairs]
    found = sv.posterior_vulnerability(starred, prior, lifted)
    assert float(found) == pytest.approx(float(vulnerability(channel, correlation)), rel=1e-12)


@given(SMALL, LEVELS, st.lists(st.integers(0, 8), min_size=3, max_size=3, unique=True))
@settings(max_examples=30)
def test_the_frontier_rises_and_is_concave(
    correlation: Correlation, alpha: Fraction | None, places: list[int]
) -> None:
    low = max(correlation.secret_prior)
    a, b, c = (low + (1 - low) * Fraction(place, 8) for place in sorted(places))
    first, middle, last = frontier(correlation, [a, b, c], alpha=alpha, insensitive=True)
    assert first.accuracy <= middle.upper and middle.accuracy <= last.upper
    share = (b - a) / (c - a)
    # A mixture of the two outer mechanisms is one of those that the middle is the best of.
    mixed = (1 - share) * Fraction(first.accuracy) + share * Fraction(last.accuracy)
    assert mixed <= Fraction(middle.upper) + Fraction(1, 10**9)


@given(SMALL, LEVELS, st.integers(0, 8))
@settings(max_examples=40)
def test_a_point_is_a_feasible_mechanism_in_fractions(
    correlation: Correlation, alpha: Fraction | None, place: int
) -> None:
    low = max(correlation.secret_prior)
    limit = low + (1 - low) * Fraction(place, 8)
    point = frontier(correlation, limit, alpha=alpha, insensitive=True)[0]
    assert point.certificate.verify().holds and 0 <= point.upper - point.accuracy < 1e-9
    table = point.certificate.mechanism
    assert all(sum(row) == 1 and min(row) >= 0 for row in table.tolist())
    if alpha is not None:
        assert all(min(column) >= alpha * max(column) for column in table.T.tolist())
    away = (correlation.joint @ table).max(axis=0).sum()
    told = sum(correlation.use_prior[u] * table[u, u] for u in range(len(table)))
    assert away <= limit + (0 if place else Fraction(1, 10**9))
    assert abs(told - Fraction(point.accuracy)) <= Fraction(1, 10**12)


@given(SMALL)
@settings(max_examples=15)
def test_no_mixture_of_deterministic_mechanisms_is_above_the_frontier(correlation: Correlation) -> None:
    """Without ε every mechanism on the uses is a mixture of deterministic ones, and so is the best."""
    uses = len(correlation.uses)
    points = set()
    for guesses in product(range(uses), repeat=uses):
        channel = sv.Channel([[int(y == guess) for y in range(uses)] for guess in guesses])
        points.add((vulnerability(channel, correlation).value, accuracy(channel, correlation).value))
    found = curve(correlation, insensitive=True)
    for guessed, told in points:
        assert float(told) <= found.at(float(guessed)) + 1e-7
    assert found.accuracies[-1] == pytest.approx(1.0, abs=1e-7)
    assert math.isclose(found.limits[0], float(max(correlation.secret_prior)), rel_tol=1e-9)
