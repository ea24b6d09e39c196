"""Curves of finite channels against their definitions."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import SievertError


def naive_delta(p: np.ndarray, q: np.ndarray, eps: float) -> float:
    """The largest P(E) - e^ε·Q(E) over all events."""
    best = 0.0
    for size in range(len(p) + 1):
        for event in itertools.combinations(range(len(p)), size):
            best = max(best, sum(p[list(event)]) - math.exp(eps) * sum(q[list(event)]))
    return best


def random_channel(seed: int, inputs: int = 3, outputs: int = 5, zeros: bool = False) -> sv.Channel:
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.ones(outputs) * 0.7, inputs)
    if zeros:
        matrix[matrix < 0.1] = 0.0
        matrix /= matrix.sum(axis=1, keepdims=True)
    return sv.Channel(matrix)


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_delta_over_all_events(seed: int, zeros: bool) -> None:
    channel = random_channel(seed, zeros=zeros)
    graph = sv.Graph([0, 1, 2], [(0, 1), (1, 2)])
    levels = [0.0, 0.2, 1.0, 3.0]
    curve = sv.divergences.delta_curve(channel, graph, levels)
    m = np.asarray(channel.matrix, float)
    for eps, found, pair in zip(levels, curve.delta, curve.pairs, strict=True):
        arcs = [(0, 1), (1, 0), (1, 2), (2, 1)]
        exact = max(naive_delta(m[i], m[h], eps) for i, h in arcs)
        assert found == pytest.approx(exact, abs=1e-14)
        if pair is not None:
            assert naive_delta(m[pair[0]], m[pair[1]], eps) == pytest.approx(exact, abs=1e-12)


@given(st.integers(0, 200), st.floats(0.0, 0.9))
def test_smallest_epsilon_inverts_delta(seed: int, delta: float) -> None:
    channel = random_channel(seed, zeros=seed % 2 == 0)
    policy = sv.Policy.local(3)
    eps = sv.divergences.smallest_epsilon(channel, policy, delta)
    if math.isinf(eps):
        assert sv.divergences.delta_curve(channel, policy, [1e5]).delta[0] > delta
        return
    assert sv.divergences.delta_curve(channel, policy, [eps]).delta[0] <= delta + 1e-12
    if eps > 1e-9 and delta > 1e-9:
        assert sv.divergences.delta_curve(channel, policy, [eps * (1 - 1e-6)]).delta[0] > delta - 1e-9


def test_epsilon_is_delta_zero() -> None:
    channel = sv.mechanisms.truncated_geometric(6, 0.7)
    policy = sv.Policy.blowfish(sv.secrets.line(6))
    assert sv.divergences.smallest_epsilon(channel, policy, 0.0) == pytest.approx(0.7)
    assert sv.divergences.smallest_epsilon(channel, sv.secrets.line(6), 0.0) == pytest.approx(0.7, abs=1e-9)
    assert sv.divergences.smallest_epsilon(channel, policy, 1.0) == 0


def test_metric_scales_epsilon_by_distance() -> None:
    channel = sv.mechanisms.truncated_geometric(5, 0.5)
    curve = sv.divergences.delta_curve(channel, sv.metrics.line(5), [0.5, 0.4])
    assert curve.delta[0] == pytest.approx(0, abs=1e-12)
    m = np.asarray(channel.matrix, float)
    exact = max(naive_delta(m[i], m[h], 0.4 * abs(i - h)) for i in range(5) for h in range(5) if i != h)
    assert curve.delta[1] == pytest.approx(exact, abs=1e-12)


def test_queries_and_records() -> None:
    policy = sv.Policy.differential(["yes", "no"], records=3)
    query = sv.Query.count(["yes"])
    channel = sv.mechanisms.truncated_geometric(4, alpha="1/2")
    curve = sv.divergences.delta_curve(channel, policy, [0.0, math.log(2)], query)
    assert curve.delta == pytest.approx([1 / 3, 0], abs=1e-12)
    assert sv.divergences.renyi_curve(channel, policy, [math.inf], query).nats[0] == pytest.approx(
        math.log(2)
    )


@pytest.mark.parametrize("seed", range(4))
def test_tradeoff_is_dual_to_delta(seed: int) -> None:
    channel = random_channel(seed, zeros=seed % 2 == 1)
    policy = sv.Policy.local(3)
    curve = sv.divergences.tradeoff_function(channel, policy)
    assert curve.false_alarm[0] == 0 and curve.false_alarm[-1] == 1
    slopes = np.diff(curve.miss) / np.diff(curve.false_alarm)
    assert (np.diff(slopes) >= -1e-9).all()
    for eps in (0.0, 0.5, 2.0):
        dual = np.max(1 - curve.miss - math.exp(eps) * curve.false_alarm)
        assert sv.divergences.delta_curve(channel, policy, [eps]).delta[0] == pytest.approx(dual, abs=1e-12)


def test_tradeoff_of_a_pair_against_all_tests() -> None:
    """Every deterministic test lies on or above the curve, and the corners are such tests."""
    channel = random_channel(11)
    m = np.asarray(channel.matrix, float)
    curve = sv.divergences.tradeoff_function(channel, pair=(0, 2))
    events = [list(e) for size in range(6) for e in itertools.combinations(range(5), size)]
    points = [(m[2][event].sum(), 1 - m[0][event].sum()) for event in events]
    for alarm, miss in points:
        assert miss >= float(curve.at(alarm)) - 1e-12
    for corner in zip(curve.false_alarm, curve.miss, strict=True):
        assert min(abs(corner[0] - a) + abs(corner[1] - b) for a, b in points) < 1e-12


@pytest.mark.parametrize("order", [0, 0.5, 1, 2, 5.5, math.inf])
def test_renyi_by_definition(order: float) -> None:
    channel = random_channel(3)
    m = np.asarray(channel.matrix, float)
    exact = 0.0
    for i, h in itertools.permutations(range(3), 2):
        p, q = m[i], m[h]
        if order == 1:
            value = np.sum(p * np.log(p / q))
        elif math.isinf(order):
            value = np.log((p / q).max())
        elif order == 0:
            value = 0.0
        else:
            value = np.log(np.sum(p**order * q ** (1 - order))) / (order - 1)
        exact = max(exact, float(value))
    assert sv.divergences.renyi_curve(channel, sv.Policy.local(3), [order]).nats[0] == pytest.approx(
        exact, abs=1e-12
    )


def test_renyi_without_common_support() -> None:
    channel = sv.Channel([[0.5, 0.5, 0], [0, 0.5, 0.5]])
    curve = sv.divergences.renyi_curve(channel, sv.Policy.local(2), [0, 0.5, 1, 2, math.inf])
    assert curve.nats == pytest.approx([math.log(2), 2 * math.log(2), math.inf, math.inf, math.inf])


def test_a_channel_explains_its_own_claim() -> None:
    """What a channel's Rényi curve lets anybody guess bounds what the channel itself does."""
    channel = sv.mechanisms.randomised_response(4, 1.0)
    curve = sv.divergences.renyi_curve(channel, sv.Policy.local(4), [1.5, 2, 4, 16, math.inf])
    assert (
        sv.explain(renyi=curve.to_mapping(), values=4).after
        >= float(sv.posterior_vulnerability(channel)) - 1e-12
    )


def test_no_neighbours() -> None:
    channel = sv.Channel([[1.0, 0.0], [0.0, 1.0]])
    apart = sv.Graph([0, 1], [])
    assert sv.divergences.delta_curve(channel, apart, [0.0]).delta[0] == 0
    assert sv.divergences.smallest_epsilon(channel, apart, 0.1) == 0
    assert sv.divergences.tradeoff_function(channel, apart).advantage == 0
    one = sv.Channel([[0.5, 0.5]])
    assert sv.divergences.delta_curve(one, sv.metrics.discrete(1), [0.0]).delta[0] == 0


def test_silly_inputs() -> None:
    channel = random_channel(0)
    policy = sv.Policy.local(3)
    for call in (
        lambda: sv.divergences.delta_curve(channel, policy, [-1]),
        lambda: sv.divergences.delta_curve(channel, policy, [math.nan]),
        lambda: sv.divergences.delta_curve(channel, "x", [1]),
        lambda: sv.divergences.delta_curve(channel, sv.Policy.local(4), [1]),
        lambda: sv.divergences.smallest_epsilon(channel, policy, 1.5),
        lambda: sv.divergences.renyi_curve(channel, policy, []),
        lambda: sv.divergences.renyi_curve(channel, policy, [-1]),
        lambda: sv.divergences.tradeoff_function(channel),
        lambda: sv.divergences.tradeoff_function(channel, policy, pair=(0, 1)),
    ):
        with pytest.raises(SievertError):
            call()
