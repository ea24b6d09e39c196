"""Exact values of every finite measure: fractions in, fractions out, and floats agree with them."""

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert import testing

EXACT = testing.channels((1, 4), (1, 4), form="exact", sparse=True)


def adversaries(data: st.DataObject, size: int) -> list[Any]:
    gain = data.draw(testing.gain_matrices(size, signed=False))
    return [
        None,
        sv.gains.tries(size, 2),
        sv.losses.guessing(size),
        sv.losses.bayes_risk(size),
        sv.gains.property(size, [0]),
        sv.losses.property(size, [0]),
        sv.gains.matrix(gain),
        sv.losses.matrix(gain),
    ]


def by_definition(channel: sv.Channel, prior: Any, gain: Any, case: str) -> F:
    """Σ_y or max_y over columns of the best action's value, with the action matrix written out."""
    adversary = sv.gains.identity(channel.shape[0]) if gain is None else gain
    table = [[F(int(v)) for v in row] for row in np.array(adversary.matrix)]
    best = min if adversary.is_loss else max
    values = []
    for column in channel.exact.T:  # type: ignore[union-attr]
        joint = [p * c for p, c in zip(prior, column, strict=True)]
        weight = sum(joint)
        if weight == 0:
            continue
        value = best(sum(g * j for g, j in zip(row, joint, strict=True)) for row in table)
        values.append(value if case == "average" else value / weight)
    return sum(values, F(0)) if case == "average" else best(values)


@given(EXACT, st.data())
@settings(max_examples=40)
def test_vulnerabilities(channel: sv.Channel, data: st.DataObject) -> None:
    size = channel.shape[0]
    prior = data.draw(testing.priors(size, exact=True))
    rounded, belief = sv.Channel(channel.matrix), prior.astype(np.float64)
    for gain in adversaries(data, size):
        for case in ("average", "max"):
            found = sv.leakage(channel, prior, gain, kind="additive", case=case)  # type: ignore[arg-type]
            for value in (found.prior, found.posterior, found.difference):
                assert isinstance(value, F)
            assert found.posterior == by_definition(channel, prior, gain, case)
            floats = sv.leakage(rounded, belief, gain, kind="additive", case=case)  # type: ignore[arg-type]
            assert floats.posterior == pytest.approx(float(found.posterior), abs=1e-12)
            assert floats.prior == pytest.approx(float(found.prior), abs=1e-12)


@given(EXACT, st.data())
@settings(max_examples=40)
def test_capacities(channel: sv.Channel, data: st.DataObject) -> None:
    rounded = sv.Channel(channel.matrix)
    feature = sv.gains.property(channel.shape[0], [0])
    prior = data.draw(testing.priors(channel.shape[0], exact=True))
    questions: list[dict[str, Any]] = [
        {},
        {"prior": prior},
        {"kind": "risk"},
        {"gains": feature},
        {"kind": "risk", "gains": feature},
    ]
    for question in questions:
        found = sv.capacity(channel, **question)
        assert isinstance(found.factor, F) or found.factor == float("inf")
        assert float(sv.capacity(rounded, **question)) == pytest.approx(float(found), rel=1e-9)


@given(testing.channels((1, 3), (1, 3), form="exact", sparse=True), st.integers(1, 3), st.data())
@settings(max_examples=25)
def test_repetition(channel: sv.Channel, times: int, data: st.DataObject) -> None:
    prior = data.draw(testing.priors(channel.shape[0], exact=True))
    exact = sv.posterior_vulnerability(channel.repeated(times), prior).value
    assert isinstance(exact, F)
    sequences = channel
    for _ in range(times - 1):
        sequences = sequences.alongside(channel)
    assert exact == sv.posterior_vulnerability(sequences, prior).value
    floats = sv.posterior_vulnerability(sv.Channel(channel.matrix).repeated(times), prior)
    assert floats.value == pytest.approx(float(exact), abs=1e-12)


@pytest.mark.parametrize("kind", sorted(set(testing.STRUCTURED) - {"sparse"}))
@given(st.data())
@settings(max_examples=12)
def test_structured_channels(kind: str, data: st.DataObject) -> None:
    """The rule of an exact channel gives the fractions of its matrix."""
    channel = data.draw(testing.structured_channels(kinds=[kind], form="exact"))
    finite = channel.finite()
    plain = sv.Channel(finite.exact, finite.inputs, finite.outputs)
    size = plain.shape[0]
    for prior in (None, data.draw(testing.priors(size, exact=True))):
        for gain in adversaries(data, size):
            for case in ("average", "max"):
                expected = sv.leakage(plain, prior, gain, kind="additive", case=case)  # type: ignore[arg-type]
                found = sv.leakage(channel, prior, gain, kind="additive", case=case)  # type: ignore[arg-type]
                assert (found.prior, found.posterior) == (expected.prior, expected.posterior)
        assert sv.capacity(channel, prior=prior).factor == sv.capacity(plain, prior=prior).factor
    for question in ({"kind": "risk"}, {"kind": "additive", "gains": "signed"}):
        ours, theirs = sv.capacity(channel, **question), sv.capacity(plain, **question)  # type: ignore[arg-type]
        assert (ours.factor, ours.difference) == (theirs.factor, theirs.difference)


@pytest.mark.parametrize("points", [range(4), range(-2, 3), [0, 2, 3, 7]])
@pytest.mark.parametrize("alpha", [F(0), F(1, 2), F(9, 10)])
def test_fernandes_f13_noise_on_all_integers_leaks_as_its_reduction(points: Any, alpha: F) -> None:
    """Columns beyond the inputs are proportional: every measure of G is that of the finite channel."""
    noise = sv.mechanisms.geometric(points=list(points), alpha=alpha)
    size = len(list(points))
    density = (1 - alpha) / (1 + alpha)
    # A wide window of single integers, and the two tails beyond it summed up by hand.
    low, high = min(points) - 4, max(points) + 4
    window = range(low, high + 1)
    rows = []
    for x in points:
        inner = [density * alpha ** abs(x - y) for y in window]
        tails = [alpha ** (x - low + 1) / (1 + alpha), alpha ** (high - x + 1) / (1 + alpha)]
        rows.append([*inner, *tails])
    wide = sv.Channel(rows, inputs=list(points))
    assert noise.is_equivalent(wide)
    assert noise.reduced().exact.tolist() == wide.reduced().exact.tolist()  # type: ignore[union-attr]
    prior = sv.priors.from_counts(range(1, size + 1))
    for belief in (None, prior):
        for gain in (
            None,
            sv.gains.tries(size, 2),
            sv.losses.guessing(size),
            sv.losses.absolute(list(points)),
        ):
            for case in ("average", "max"):
                ours, expected = (
                    sv.leakage(c, belief, gain, kind="additive", case=case) for c in (noise, wide)
                )  # type: ignore[arg-type]
                assert ours.posterior == expected.posterior
        assert sv.information.mutual_information(noise, belief) == pytest.approx(
            sv.information.mutual_information(wide, belief)
        )
        assert sv.capacity(noise, prior=belief).factor == sv.capacity(wide, prior=belief).factor
        assert (
            sv.capacity(noise, kind="additive", gains="unit", prior=prior).difference
            == sv.capacity(wide, kind="additive", gains="unit", prior=prior).difference
        )
    for question in ({"kind": "risk"}, {"kind": "additive", "gains": "signed"}):
        ours, expected = (sv.capacity(c, **question) for c in (noise, wide))  # type: ignore[arg-type]
        assert (ours.factor, ours.difference) == (expected.factor, expected.difference)
    metric = sv.metrics.line(list(points))
    assert sv.epsilon(noise, metric).nats == sv.epsilon(wide, metric).nats
    if list(points) == list(range(4)):
        assert noise.is_equivalent(sv.mechanisms.truncated_geometric(4, alpha=alpha))
