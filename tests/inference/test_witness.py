"""Witnesses and counter-examples, as proofs."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert.errors import ChannelError, MechanismError, PriorError
from sievert.inference import (
    accuracy_counterexample,
    inference_counterexample,
    lunch_counterexample,
    no_free_lunch,
    vulnerability,
    witness,
)
from sievert.proofs import DaleniusProof, proof_from_dict, save_proof
from sievert.testing import channels

RESPONSE = sv.Channel([["9/16", "3/8", "1/16"], ["3/16", "5/8", "3/16"], ["1/16", "3/8", "9/16"]])
GEOMETRIC = sv.mechanisms.truncated_geometric(3, alpha="1/3")


def twentieths(rows: list[list[int]]) -> sv.Channel:
    return sv.Channel([[Fraction(v, 20) for v in row] for row in rows])


def test_the_geometric_is_not_safer_than_randomised_response() -> None:
    assert witness(GEOMETRIC, RESPONSE).holds
    found = witness(RESPONSE, GEOMETRIC)
    assert found.holds is False and found.after > found.before
    gains = np.array([[1, 0, 0], [Fraction(2, 5), 1, Fraction(2, 5)], [0, 0, 1]], dtype=object)
    stated = DaleniusProof(RESPONSE.exact, GEOMETRIC.exact, gains.T / Fraction(19, 5))
    assert stated.values() == (Fraction(1, 2), Fraction(11, 19))
    assert stated.verify().holds


def test_two_values_are_not_always_enough() -> None:
    c = twentieths([[10, 1, 7, 2], [10, 1, 1, 8], [13, 7, 0, 0]])
    d = twentieths([[9, 9, 2], [12, 3, 5], [5, 8, 7]])
    found = witness(c, d)
    assert found.holds is False and found.correlation is not None
    assert found.correlation.shape[0] == 3
    assert vulnerability(c, found.correlation).value == found.before < found.after
    assert vulnerability(d, found.correlation).value == found.after
    gains = np.array([[Fraction(8, 9), 1, 0], [Fraction(7, 9), 0, 1], [Fraction(19, 39), 1, 1]], dtype=object)
    stated = DaleniusProof(c.exact, d.exact, gains.T / gains.sum())
    assert [float(v) for v in stated.values()] == pytest.approx([0.37375, 0.39625])
    assert (stated.values()[1] - stated.values()[0]) * gains.sum() == Fraction(9, 65)


@given(channels(inputs=3, outputs=(2, 3), form="exact"), channels(inputs=3, outputs=(2, 3), form="exact"))
@settings(max_examples=40)
def test_a_witness_exactly_where_there_is_no_refinement(a: sv.Channel, b: sv.Channel) -> None:
    found, verdict = witness(a, b), sv.refines(a, b)
    assert found.holds is verdict.holds
    assert found.certificate is not None
    assert proof_from_dict(json.loads(save_proof(found.certificate))).verify().holds


def test_a_forged_witness_is_refused() -> None:
    found = witness(RESPONSE, GEOMETRIC).certificate
    assert isinstance(found, DaleniusProof)
    assert not DaleniusProof(found.safer, found.less_safe, found.joint).verify().holds
    assert not DaleniusProof(found.less_safe, found.safer, found.joint * 2).verify().holds
    even = np.full(found.joint.shape, Fraction(1, found.joint.size), dtype=object)
    assert not DaleniusProof(found.less_safe, found.safer, even).verify().holds


@pytest.mark.parametrize(("prior", "least"), [(["1/2", "1/2"], "1/4"), (["1", 0], 0), ("4/5", "1/10")])
def test_no_free_lunch(prior: Any, least: Any) -> None:
    assert no_free_lunch(prior) == Fraction(least)
    assert no_free_lunch([0.5, 0.3, 0.2]) == pytest.approx(0.25)


def test_the_bound_is_attained_and_proved() -> None:
    v = Fraction(1, 2)
    half = (1 + v) / 2
    reveal = sv.Channel([[half, 1 - half], [1 - half, half]])
    found = lunch_counterexample(reveal)
    assert found.guess == half and found.compromise == found.least == no_free_lunch([v, v])
    assert found.verify().holds
    assert lunch_counterexample(sv.Channel([[1, 0], [0, 1]])).compromise == Fraction(1, 2)
    assert proof_from_dict(json.loads(save_proof(found))).verify().holds


def test_no_mechanism_is_optimal_against_inference() -> None:
    found = inference_counterexample(GEOMETRIC)
    assert found.pair == (0, 2)
    assert found.guess == Fraction(1, 2) + (Fraction(3, 4) - Fraction(1, 12)) / 2
    assert proof_from_dict(json.loads(save_proof(found))).verify().holds
    joint = sv.inference.Correlation([["1/2", 0, 0], [0, 0, "1/2"]])
    assert vulnerability(GEOMETRIC, joint).value == found.guess
    with pytest.raises(ChannelError, match="says nothing"):
        inference_counterexample(sv.Channel([["1/2", "1/2"]] * 3))
    with pytest.raises(ChannelError, match=r"\|U\| ≥ 2"):
        inference_counterexample(sv.Channel([["1/2", "1/2"]]))


@pytest.mark.parametrize("m", [3, 5])
def test_no_mechanism_on_three_secrets_is_optimal_for_accuracy(m: int) -> None:
    response = sv.mechanisms.randomised_response(m, alpha="1/4")
    found = accuracy_counterexample(response, alpha="1/4")
    # Pairwise total variation of RR(m) is (e^ε - 1)/(e^ε + m - 1); the other reaches tanh(ε/2).
    assert found.own == Fraction(1, 2) + Fraction(3, 4 + m - 1) / 2
    assert found.truth == Fraction(4, 5)
    assert found.verify().holds
    rounded = accuracy_counterexample(sv.mechanisms.randomised_response(m, 1.0), eps=1.0)
    assert float(rounded.truth) == pytest.approx(1 / (1 + np.exp(-1)))
    assert proof_from_dict(json.loads(save_proof(rounded))).verify().holds


def test_preconditions_of_the_accuracy_theorem() -> None:
    with pytest.raises(ChannelError, match=r"\|S\| ≥ 3"):
        accuracy_counterexample(sv.mechanisms.randomised_response(2, alpha="1/4"), alpha="1/4")
    three = sv.mechanisms.randomised_response(3, alpha="1/4")
    far = sv.Metric([[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])
    with pytest.raises(MechanismError, match="connected"):
        accuracy_counterexample(three, eps=1.0, metric=far)
    with pytest.raises(MechanismError, match="not private"):
        accuracy_counterexample(three, alpha="1/2")
    with pytest.raises(MechanismError, match="0 < ε"):
        accuracy_counterexample(three, eps=0.0)


@given(channels(inputs=2, outputs=(2, 4), form="exact"))
@settings(max_examples=30)
def test_with_two_secrets_randomised_response_is_optimal(channel: sv.Channel) -> None:
    level = sv.epsilon(channel, sv.metrics.discrete(2))
    if level.exact is not None and 1 < level.exact < 10**6:
        best = sv.mechanisms.randomised_response(2, alpha=1 / Fraction(level.exact))
        assert sv.refines(best, channel).holds


def test_on_a_disconnected_metric_some_mechanism_is_optimal() -> None:
    """The theorem fails there: this one is refined by every private channel with its blocks."""
    x = Fraction(3, 4)
    best = sv.Channel([[x, 1 - x, 0], [1 - x, x, 0], [0, 0, 1]])
    for other in ([["3/5", "2/5"], ["2/5", "3/5"], [0, 1]], [["1/2", "1/2"], ["1/4", "3/4"], ["1", 0]]):
        assert sv.refines(best, sv.Channel(other)).holds


@pytest.mark.parametrize("prior", ["abc", None, True, 1.5, "3/2", -1, object()])
def test_no_free_lunch_of_something_else(prior: Any) -> None:
    with pytest.raises(PriorError, match="prior is"):
        no_free_lunch(prior)


@pytest.mark.parametrize("eps", [1e-9, 1e-6, 1.0, 40.0, 300.0, 700.0])
def test_accuracy_of_the_house_s_own_response_at_any_eps(eps: float) -> None:
    found = accuracy_counterexample(sv.mechanisms.randomised_response(3, eps), eps)
    assert found.verify().holds and found.own < found.truth


@pytest.mark.parametrize(("alpha", "own", "truth"), [("1/2", "7/12", "2/3"), ("1/3", "2/3", "3/4")])
def test_geometric_noise_on_a_line_is_not_optimal_for_accuracy(alpha: str, own: str, truth: str) -> None:
    """It is optimal for every two secrets, but not for the middle against the ends."""
    noise = sv.mechanisms.truncated_geometric(3, alpha=alpha)
    found = accuracy_counterexample(noise, alpha=alpha, metric=sv.metrics.line(3))
    line = sv.metrics.line(3)
    middle = sv.mechanisms.versus(line, [1], alpha=alpha)
    joint = np.array([[0, Fraction(1, 2), 0], [Fraction(1, 4), 0, Fraction(1, 4)]], dtype=object)
    stated = replace(found, other=middle.exact, joint=joint)
    assert stated.verify().holds and (stated.own, stated.truth) == (Fraction(own), Fraction(truth))
    for i, j in ((0, 1), (0, 2)):
        prior = [Fraction(int(x in (i, j)), 2) for x in range(3)]
        loss = [[int(guess != x) for x in range(3)] for guess in range(3)]
        assert sv.is_optimal(noise, line, prior=prior, loss=loss, alpha=alpha).holds
    assert found.truth - found.own >= stated.truth - stated.own
    again = proof_from_dict(json.loads(save_proof(found)))
    assert again.verify().holds and "line, neighbours 1 apart" in again.verify().statement


METRICS = {
    "line": sv.metrics.line(4),
    "uneven": sv.Metric([[0, 1, 4], [1, 0, 3], [4, 3, 0]]),
    "star": sv.Metric([[0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]]),
    "circle": sv.metrics.cycle(5),
    "alike": sv.Metric([[0, 0, 1, 2], [0, 0, 1, 2], [1, 1, 0, 1], [2, 2, 1, 0]]),
    "far": sv.Metric([[0, 1, 2, np.inf], [1, 0, 1, np.inf], [2, 1, 0, np.inf], [np.inf] * 3 + [0]]),
}


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
@given(weights=st.lists(st.integers(0, 5), min_size=5, max_size=5), eps=st.sampled_from([0.1, 1.0, 3.0]))
@settings(max_examples=8)
def test_no_private_mechanism_is_optimal_where_three_secrets_are_connected(
    metric: sv.Metric, weights: list[int], eps: float
) -> None:
    """Columns that fall from each secret as fast as is private, in any proportion, and the same to all."""
    kernel = np.exp(-eps * metric.matrix) * np.array(weights[: metric.size])
    rows = np.column_stack([kernel, kernel.sum(axis=1).max() * 1.1 - kernel.sum(axis=1) + 1e-3])
    rows = rows / rows.sum(axis=1, keepdims=True)
    channel = sv.Channel(rows, inputs=metric.points)
    level = sv.epsilon(channel, metric).nats
    if level > 0:
        found = accuracy_counterexample(channel, level, metric=metric)
        assert found.verify().holds and found.own < found.truth


def test_a_forged_counterexample_is_refused() -> None:
    noise = sv.mechanisms.truncated_geometric(3, alpha="1/2")
    found = accuracy_counterexample(noise, alpha="1/2", metric=sv.metrics.line(3))
    tell = np.array([[Fraction(int(x == 1)), Fraction(int(x != 1))] for x in range(3)], dtype=object)
    for change, reason in (
        (dict(other=tell), "not private"),
        (dict(channel=tell), "not private"),
        (dict(other=found.channel), "does not tell the use better"),
        (dict(joint=found.joint * 2), "not a distribution"),
        (dict(space=replace(found.space, form="free")), "nothing is promised"),
        (dict(space=replace(found.space, alpha=Fraction(3, 4))), "not private"),
    ):
        result = replace(found, **change).verify()
        assert not result.holds and reason in result.statement


def test_why_a_metric_is_refused() -> None:
    channel = sv.mechanisms.truncated_geometric(3, 1.0)
    apart = sv.Metric([[0, 1, math.inf], [1, 0, math.inf], [math.inf, math.inf, 0]])
    with pytest.raises(MechanismError, match="infinitely far apart"):
        accuracy_counterexample(channel, 1.0, metric=apart)
    alike = sv.Metric([[0, 0, 1], [0, 0, 1], [1, 1, 0]])
    with pytest.raises(MechanismError, match="no three secrets at finite distances > 0"):
        accuracy_counterexample(channel, 1.0, metric=alike)
    with pytest.raises(MechanismError, match=r"not private between inputs 0 and 1; eps is 0\.5"):
        accuracy_counterexample(channel, 0.5, metric=sv.metrics.line(3))
