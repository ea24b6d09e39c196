"""Laws of vulnerability and leakage (Fernandes 1.3), for every kind of adversary, form and case."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.errors import ChannelError
from sievert.measures import GainFunction

cases = st.sampled_from(["average", "max"])
forms = st.sampled_from(["exact", "float", "log"])


@st.composite
def adversaries(draw: Any, n: int) -> GainFunction:
    """Every named gain and loss, and random matrices, signed or not."""
    return draw(  # type: ignore[no-any-return]
        st.one_of(
            st.sampled_from(
                [
                    sv.gains.identity(n),
                    sv.gains.tries(n, 2),
                    sv.gains.trivial(n),
                    sv.gains.within(sv.metrics.line(n), 1),
                    sv.gains.closeness(sv.metrics.line(n)),
                    sv.gains.partition([list(range(0, n, 2)), list(range(1, n, 2))]),
                    sv.losses.absolute(n),
                    sv.losses.squared(n),
                    sv.losses.bayes_risk(n),
                    sv.losses.guessing(n),
                    sv.losses.shannon(n),
                ]
            ),
            testing.gain_matrices(n, signed=True).map(sv.gains.matrix),
            testing.gain_matrices(n, exact=False).map(sv.gains.matrix),
            testing.gain_matrices(n).map(sv.losses.matrix),
        )
    )


def value(channel: sv.Channel, prior: Any, adversary: GainFunction, case: Any = "average") -> float:
    """Posterior value, negated for losses, so that more is always better for the adversary."""
    found = float(sv.posterior_vulnerability(channel, prior, adversary, case))
    return -found if adversary.is_loss else found


@given(st.data(), st.integers(1, 4), forms, cases)
def test_observing_never_hurts(data: st.DataObject, n: int, form: Any, case: Any) -> None:
    channel = data.draw(testing.channels(n, form=form, sparse=True))
    prior = data.draw(testing.priors(n, exact=data.draw(st.booleans())))
    adversary = data.draw(adversaries(n))
    before = float(sv.vulnerability(prior, adversary))
    before = -before if adversary.is_loss else before
    assert value(channel, prior, adversary, case) >= before - 1e-12
    found = sv.leakage(channel, prior, adversary, kind="additive", case=case)
    assert found.difference >= 0
    assert found.factor is None or found.factor >= 1
    assert found.bits is None or found.bits >= 0


@given(st.data(), st.integers(1, 4), forms, cases)
def test_data_processing(data: st.DataObject, n: int, form: Any, case: Any) -> None:
    """Fernandes Lem 4.10, 4.11: post-processing never helps, on average or at worst."""
    first, after = data.draw(testing.degraded_pairs(n, form=form, sparse=True))
    prior = data.draw(testing.priors(n))
    adversary = data.draw(adversaries(n))
    assert value(after, prior, adversary, case) <= value(first, prior, adversary, case) + 1e-9


@given(st.data(), st.integers(1, 4), cases)
def test_null_channels_leak_nothing(data: st.DataObject, n: int, case: Any) -> None:
    width = data.draw(st.integers(1, 3))
    row = data.draw(testing.priors(width, exact=True))
    channel = sv.Channel([row.tolist()] * n)
    prior = data.draw(testing.priors(n, exact=True))
    adversary = data.draw(adversaries(n))
    found = sv.leakage(channel, prior, adversary, kind="additive", case=case)
    assert found.difference == pytest.approx(0, abs=1e-12)
    if found.factor is not None:
        assert found.factor == pytest.approx(1)


@given(st.data(), st.integers(1, 4))
def test_the_identity_channel_leaks_most(data: st.DataObject, n: int) -> None:
    channel = data.draw(testing.channels(n, sparse=True))
    prior = data.draw(testing.priors(n))
    adversary = data.draw(adversaries(n))
    identity = sv.Channel.identity(n)
    assert value(channel, prior, adversary) <= value(identity, prior, adversary) + 1e-9
    if adversary.name not in ("shannon", "guessing"):
        best = (-np.asarray(adversary) if adversary.is_loss else np.asarray(adversary)).max(axis=0)
        assert value(identity, prior, adversary) == pytest.approx(float(prior @ best.astype(float)))


@given(st.data(), st.integers(1, 4))
def test_average_by_posteriors_is_average_by_columns(data: st.DataObject, n: int) -> None:
    """Fernandes Thm 2.1: Σ_y a_y V(δ^y) = Σ_y max_w Σ_x π_x C[x,y] g[w,x]; max case: the largest V(δ^y)."""
    channel = data.draw(testing.channels(n, form="exact", sparse=True))
    prior = data.draw(testing.priors(n, exact=True))
    adversary = data.draw(adversaries(n))
    hyper = channel.hyper(prior)
    inner_values = [float(sv.vulnerability(inner, adversary)) for inner in hyper.inners]
    average = sum(float(outer) * v for outer, v in zip(hyper.outers, inner_values, strict=True))
    assert float(sv.posterior_vulnerability(channel, prior, adversary)) == pytest.approx(average)
    worst = min(inner_values) if adversary.is_loss else max(inner_values)
    assert float(sv.posterior_vulnerability(channel, prior, adversary, "max")) == pytest.approx(worst)


@given(st.data(), st.integers(1, 4), cases)
def test_forms_agree(data: st.DataObject, n: int, case: Any) -> None:
    channel = data.draw(testing.channels(n, form="exact", sparse=True))
    prior = data.draw(testing.priors(n, exact=True))
    adversary = data.draw(adversaries(n))
    expected = value(channel, prior, adversary, case)
    for other in (sv.Channel(channel.matrix), sv.Channel.from_log(channel.log_matrix)):
        assert value(other, prior.astype(np.float64), adversary, case) == pytest.approx(expected, abs=1e-12)


@given(st.data(), st.integers(1, 4))
def test_leakage_is_bounded_by_the_capacity(data: st.DataObject, n: int) -> None:
    """Fernandes F5, Alvim: no gain ≥ 0 and no prior leaks more than Σ_y max_x C[x,y], which is attained."""
    channel = data.draw(testing.channels(n, form="exact", sparse=True))
    prior = data.draw(testing.priors(n, exact=True))
    gain = data.draw(testing.gain_matrices(n))
    capacity = sv.capacity(channel)
    assert sv.leakage(channel, prior, gain).factor <= capacity.factor
    assert sv.leakage(channel).factor == capacity.factor
    assert sv.leakage(channel, capacity.prior).factor == capacity.factor
    assert capacity.bits == pytest.approx(math.log2(capacity.factor))
    given_prior = sv.capacity(channel, prior=prior).factor
    assert sv.leakage(channel, prior, gain).factor <= given_prior <= capacity.factor
    attaining = [[1 / p if p and x == w else 0 for x, p in enumerate(prior)] for w in range(n)]
    assert sv.leakage(channel, prior, attaining).factor == given_prior


@given(st.data(), st.integers(1, 4), cases)
def test_the_strategy_attains_the_posterior(data: st.DataObject, n: int, case: Any) -> None:
    channel = data.draw(testing.channels(n, form="exact", sparse=True))
    prior = data.draw(testing.priors(n, exact=True))
    table = data.draw(testing.gain_matrices(n))
    strategy = sv.gains.strategy(channel, prior, table)
    total = Fraction(0)
    for y, action in strategy.items():
        column = prior * channel.exact[:, y]  # type: ignore[index]
        if column.sum() == 0:
            assert action is None
            continue
        total += sum(column * table[action])  # type: ignore[call-overload]
    assert total == sv.posterior_vulnerability(channel, prior, table).value


@given(st.data(), st.integers(2, 5))
def test_oblivious_composition_leaks_about_the_answer_only(data: st.DataObject, n: int) -> None:
    """Leakage about the answer f(x) is the same whether it is measured on Y or on X through f."""
    f = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    noise = data.draw(testing.channels(3, (1, 4), form="exact"))
    prior = data.draw(testing.priors(n, exact=True))
    pushed = [
        sum((p for p, y in zip(prior, f, strict=True) if y == answer), Fraction(0)) for answer in range(3)
    ]
    about_answer = [[int(y == answer) for y in f] for answer in range(3)]
    on_inputs = sv.leakage(noise.after(dict(enumerate(f))), prior, about_answer)
    on_answers = sv.leakage(noise, pushed)
    assert (on_inputs.prior, on_inputs.posterior) == (on_answers.prior, on_answers.posterior)


def test_max_case_sees_outputs_far_below_underflow() -> None:
    """An output of probability e^-2000 that gives the secret away counts in the max case."""
    channel = sv.Channel.from_log([[0.0, -math.inf], [0.0, -2000.0]], normalise=True)
    assert channel.rounded()[:, 1].tolist() == [0, 0]
    found = sv.posterior_vulnerability(channel, [0.9, 0.1], case="max")
    assert (found.value, found.output, found.action) == (1, 1, 1)
    assert sv.gains.strategy(channel, [0.9, 0.1]) == {0: 0, 1: 1}
    assert float(sv.posterior_vulnerability(channel, [0.9, 0.1])) == pytest.approx(0.9)
    geometric = sv.mechanisms.truncated_geometric(401, 5.0)
    prior = np.zeros(401)
    prior[[0, 1]] = 0.999, 0.001
    worst = float(sv.posterior_vulnerability(geometric, prior, case="max"))
    ratio = 0.001 * math.exp(5) / (0.999 + 0.001 * math.exp(5))
    assert worst == pytest.approx(max(1 - 0.001 / (0.999 * math.exp(5) + 0.001), ratio))


def test_zero_probability_secrets_do_not_matter() -> None:
    channel = sv.Channel([["1/2", "1/2", 0], ["1/4", "3/4", 0], [0, 0, 1]])
    prior = ["1/2", "1/2", 0]
    assert sv.posterior_vulnerability(channel, prior).value == Fraction(5, 8)
    assert sv.posterior_vulnerability(channel, prior, case="max").value == Fraction(2, 3)
    assert sv.gains.strategy(channel, prior) == {0: 0, 1: 1, 2: None}
    assert sv.capacity(channel, prior=prior).factor == Fraction(5, 4)
    assert sv.capacity(channel).factor == Fraction(9, 4)


def test_one_secret_and_one_output() -> None:
    for channel in (sv.Channel([[1]]), sv.Channel([["1/3", "2/3"]])):
        found = sv.leakage(channel)
        assert (found.prior, found.posterior, found.factor, found.bits) == (1, 1, 1, 0)
        assert sv.capacity(channel).factor == 1
        assert float(sv.leakage(channel, gain=sv.losses.shannon(1), kind="additive")) == 0


def test_losses_that_become_zero_have_an_infinite_factor() -> None:
    found = sv.leakage(sv.Channel.identity(2), gain=sv.losses.bayes_risk(2))
    assert (found.prior, found.posterior, found.factor, found.bits) == (Fraction(1, 2), 0, math.inf, math.inf)
    null = sv.leakage(sv.Channel.null(1), gain=sv.losses.bayes_risk(1))
    assert (null.factor, null.bits) == (1, 0)


def test_rounding_never_shows_a_negative_leakage() -> None:
    channel = sv.Channel(np.full((7, 11), 1 / 11))
    for prior in (None, np.full(7, 1 / 7), [0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2]):
        for adversary in (None, sv.losses.shannon(7), sv.losses.guessing(7), sv.gains.tries(7, 3)):
            found = sv.leakage(channel, prior, adversary)
            assert found.difference >= 0
            assert found.factor >= 1
            assert found.factor == pytest.approx(1)


def test_results_speak_and_become_data() -> None:
    channel = sv.Channel([["9/10", "1/10"], ["1/10", "9/10"]], inputs=["ill", "well"])
    found = sv.leakage(channel)
    assert (
        str(found)
        == "identity (average case): 0.5 before, 0.9 after; factor 1.8 (0.848 bits), difference 0.4"
    )
    assert float(found) == 1.8
    assert float(sv.leakage(channel, kind="additive")) == pytest.approx(0.4)
    data = json.loads(json.dumps(found.to_dict()))
    assert (data["posterior"], data["posterior_exact"]) == (0.9, "9/10")
    before = sv.vulnerability(["1/3", "2/3"])
    assert str(before) == "the adversary (identity) expects a gain of 0.666667 by 1"
    worst = sv.posterior_vulnerability(channel, case="max")
    assert str(worst) == "the adversary (identity) expects a gain of 0.9 at output 0 by 'ill'"
    assert "expects a loss" in str(sv.vulnerability([0.5, 0.5], sv.losses.guessing(2)))
    capacity = sv.capacity(channel)
    assert str(capacity) == "at most a factor 1.8 (0.847997 bits) over all non-negative gain functions"
    assert float(capacity) == 1.8
    assert "<table>" in found._repr_html_()


@pytest.mark.parametrize(
    "measure",
    [
        sv.leakage,
        sv.posterior_vulnerability,
        sv.capacity,
        sv.information.mutual_information,
        sv.information.maximal_leakage,
    ],
)
def test_a_matrix_that_is_no_channel_is_named(measure: Callable[[object], object]) -> None:
    with pytest.raises(ChannelError, match=r"give a sv\.Channel"):
        measure([[1, 0], [0, 1]])
