"""Sibson, Arimoto, maximal and min-entropy leakage: limits, definitions and order."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.errors import GainError

CHANNELS = testing.channels((1, 4), (1, 4), sparse=True)


@given(CHANNELS, st.data())
@settings(max_examples=40)
def test_order_one_and_infinity_are_limits(channel: sv.Channel, data: st.DataObject) -> None:
    prior = data.draw(testing.priors(channel.shape[0]))
    shannon = sv.information.mutual_information(channel, prior)
    for measure in (sv.information.sibson_information, sv.information.arimoto_information):
        assert measure(channel, prior, 1) == shannon
        for near in (1 - 1e-6, 1 + 1e-6):
            assert measure(channel, prior, near) == pytest.approx(shannon, abs=1e-4)
    assert sv.information.sibson_information(channel, prior, math.inf) == sv.information.maximal_leakage(
        channel, prior
    )
    assert sv.information.arimoto_information(channel, prior, math.inf) == sv.information.min_entropy_leakage(
        channel, prior
    )
    large = 5000.0
    assert sv.information.sibson_information(channel, prior, large) == pytest.approx(
        sv.information.maximal_leakage(channel, prior), abs=0.02
    )
    assert sv.information.arimoto_information(channel, prior, large) == pytest.approx(
        sv.information.min_entropy_leakage(channel, prior), abs=0.02
    )


@given(CHANNELS, st.sampled_from([0.3, 0.5, 2.0, 5.0]), st.data())
@settings(max_examples=40)
def test_sibson_by_its_definition(channel: sv.Channel, order: float, data: st.DataObject) -> None:
    """min over output distributions q of the Rényi divergence of π×C from π×q, at q ∝ (Σ π C^α)^(1/α)."""
    prior = data.draw(testing.priors(channel.shape[0], full_support=True))

    def divergence(q: np.ndarray) -> float:
        ratio = np.where(channel.matrix > 0, channel.matrix**order * np.where(q > 0, q, 1) ** (1 - order), 0)
        return math.log2((prior[:, None] * ratio).sum()) / (order - 1)

    columns = (prior[:, None] * channel.matrix**order).sum(axis=0) ** (1 / order)
    best = columns / columns.sum()
    found = sv.information.sibson_information(channel, prior, order)
    assert found == pytest.approx(divergence(best), abs=1e-9)
    mixed = 0.7 * best + 0.3 / len(best)
    assert divergence(mixed) >= found - 1e-9


@given(CHANNELS, st.sampled_from([0.5, 3.0]), st.data())
@settings(max_examples=40)
def test_arimoto_by_its_definition(channel: sv.Channel, order: float, data: st.DataObject) -> None:
    """H_α(X) - α/(1-α)·log2 Σ_y (Σ_x (π_x C[x,y])^α)^(1/α)."""
    prior = data.draw(testing.priors(channel.shape[0]))
    joint = prior[:, None] * channel.matrix
    norms = (joint**order).sum(axis=0) ** (1 / order)
    after = order / (1 - order) * math.log2(norms.sum())
    expected = sv.information.entropy(prior, order) - after
    assert sv.information.arimoto_information(channel, prior, order) == pytest.approx(expected, abs=1e-9)


@given(CHANNELS, st.data())
@settings(max_examples=40)
def test_sibson_grows_with_the_order_and_nothing_exceeds_maximal_leakage(
    channel: sv.Channel, data: st.DataObject
) -> None:
    prior = data.draw(testing.priors(channel.shape[0]))
    orders = [0.2, 0.5, 1, 1.5, 2, 10, math.inf]
    found = [sv.information.sibson_information(channel, prior, order) for order in orders]
    assert all(a <= b + 1e-9 for a, b in itertools.pairwise(found))
    assert (
        sv.information.min_entropy_leakage(channel, prior)
        <= sv.information.maximal_leakage(channel, prior) + 1e-12
    )


@given(testing.degraded_pairs(inputs=(2, 4), sparse=True), st.data())
@settings(max_examples=30)
def test_post_processing_never_raises_them(pair: tuple[sv.Channel, sv.Channel], data: st.DataObject) -> None:
    before, after = pair
    prior = data.draw(testing.priors(before.shape[0]))
    for order in (0.5, 1, 2, math.inf):
        for measure in (sv.information.sibson_information, sv.information.arimoto_information):
            assert measure(after, prior, order) <= measure(before, prior, order) + 1e-9


def test_high_orders_do_not_underflow() -> None:
    """Entries of 1e-6 to the power 200 are below the smallest float."""
    n = 10**4
    channel = sv.mechanisms.randomised_response(n, 1.0)
    dense = sv.Channel(sv.mechanisms.randomised_response(300, 1.0).matrix)
    assert sv.information.sibson_information(dense, order=200) == pytest.approx(
        sv.information.maximal_leakage(dense), abs=0.1
    )
    assert sv.information.sibson_information(channel, order=500) == pytest.approx(
        sv.information.maximal_leakage(channel), abs=0.1
    )
    assert sv.information.arimoto_information(channel, order=500) == pytest.approx(
        sv.information.min_entropy_leakage(channel), abs=0.1
    )


def test_a_channel_that_leaks_little_keeps_its_digits() -> None:
    """ε = 1e-8 leaks about ε²/8 nats; a difference of entropies would lose all of it."""
    eps = 1e-8
    channel = sv.Channel.from_log(sv.mechanisms.randomised_response(2, eps).log_matrix)
    assert sv.information.mutual_information(channel) == pytest.approx(eps**2 / 8 / math.log(2), rel=1e-4)


@pytest.mark.parametrize(
    ("distribution", "order", "value"),
    [
        ([0.5, 0.25, 0.25], 0, math.log2(3)),
        ([0.5, 0.25, 0.25], 1, 1.5),
        ([0.5, 0.25, 0.25], 2, -math.log2(0.375)),
        ([0.5, 0.25, 0.25], math.inf, 1.0),
        ([1, 0, 0], 2, 0.0),
        (["1/2", "1/2"], 7, 1.0),
    ],
)
def test_entropies(distribution: list[float], order: float, value: float) -> None:
    assert sv.information.entropy(distribution, order) == pytest.approx(value, abs=1e-12)


def test_orders_without_a_meaning_are_refused() -> None:
    channel = sv.Channel.identity(2)
    for order in (-1, math.nan):
        with pytest.raises(GainError, match=r"order is .*; it must be a number ≥ 0"):
            sv.information.sibson_information(channel, order=order)
    with pytest.raises(GainError, match="order is 0; Sibson's information is defined for orders above 0"):
        sv.information.sibson_information(channel, order=0)
    with pytest.raises(GainError, match="order is 0; Arimoto's"):
        sv.information.arimoto_information(channel, order=0)
