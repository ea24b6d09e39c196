"""Gain and loss functions: values by hand, labels, and refusals (Fernandes 1.2)."""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.errors import GainError, PriorError, TooLargeError

F = Fraction


@given(st.data(), st.integers(1, 5), st.integers(1, 6))
def test_k_tries_is_the_sum_of_the_k_largest(data: st.DataObject, n: int, k: int) -> None:
    prior = data.draw(testing.priors(n, exact=True))
    gain = sv.gains.tries(n, k)
    expected = sum(sorted(prior, reverse=True)[:k])
    found = sv.vulnerability(prior, gain)
    assert found.value == expected
    assert sum(prior[i] for i in found.action) == expected  # type: ignore[union-attr]
    assert sv.vulnerability(prior, gain.matrix).value == expected
    assert float(sv.vulnerability(prior.astype(float), gain)) == pytest.approx(float(expected))
    assert len(gain.matrix) == math.comb(n, min(k, n))


@given(st.data(), st.integers(1, 5))
def test_guessing_entropy_is_the_least_expected_number_of_guesses(data: st.DataObject, n: int) -> None:
    prior = data.draw(testing.priors(n, exact=True))
    loss = sv.losses.guessing(n)
    orders = permutations(range(n))
    expected = min(sum((i + 1) * prior[x] for i, x in enumerate(order)) for order in orders)
    found = sv.vulnerability(prior, loss)
    assert found.value == expected
    assert sum((i + 1) * prior[x] for i, x in enumerate(found.action)) == expected  # type: ignore[arg-type]
    assert sv.vulnerability(prior, sv.losses.matrix(loss.matrix)).value == expected


@given(st.data(), st.integers(1, 6))
def test_shannon_entropy(data: st.DataObject, n: int) -> None:
    prior = data.draw(testing.priors(n))
    expected = -sum(p * math.log2(p) for p in prior if p)
    found = sv.vulnerability(prior, sv.losses.shannon(n))
    assert float(found) == pytest.approx(expected, abs=1e-15)
    assert found.action == pytest.approx(tuple(prior))


def test_shannon_entropy_of_denormal_probabilities() -> None:
    found = sv.vulnerability([1.0, 5e-324], sv.losses.shannon(2))
    assert float(found) == pytest.approx(1074 * 5e-324)


@given(st.data(), st.integers(1, 5))
def test_bayes_vulnerability_and_risk_add_up_to_one(data: st.DataObject, n: int) -> None:
    prior = data.draw(testing.priors(n, exact=True))
    found = sv.vulnerability(prior)
    assert found.value == max(prior) == prior[found.action]
    assert sv.vulnerability(prior, sv.gains.identity(n)).value == found.value
    assert sv.vulnerability(prior, sv.losses.bayes_risk(n)).value == 1 - found.value
    assert sv.vulnerability(prior, sv.gains.trivial(n)).value == 1


@given(st.data(), testing.metrics((1, 5)))
def test_closeness_and_within(data: st.DataObject, metric: sv.Metric) -> None:
    prior = data.draw(testing.priors(metric.size))
    radius = data.draw(st.integers(0, 7))
    within = max(
        sum(prior[x] for x in range(metric.size) if metric.matrix[w, x] <= radius) for w in range(metric.size)
    )
    assert float(sv.vulnerability(prior, sv.gains.within(metric, radius))) == pytest.approx(within)
    far = metric.diameter or 1
    close = max(sum(prior * (1 - metric.matrix[w] / far)) for w in range(metric.size))
    assert float(sv.vulnerability(prior, sv.gains.closeness(metric))) == pytest.approx(close)


def test_partition_is_the_largest_block() -> None:
    gain = sv.gains.partition({"cold": ["a", "b"], "hot": ["c"]})
    found = sv.vulnerability(["1/4", "1/4", "1/2"], gain)
    assert found.value == F(1, 2)
    assert sv.vulnerability(["2/5", "1/5", "2/5"], gain).action == "cold"
    assert sv.gains.partition([[2, 0], [1]]).matrix.tolist() == [[1, 0, 1], [0, 1, 0]]


def test_absolute_and_squared_losses() -> None:
    assert sv.vulnerability(["1/2", 0, "1/2"], sv.losses.absolute(3)).value == 1
    assert sv.vulnerability(["1/2", 0, "1/2"], sv.losses.squared(3)).value == 1
    assert sv.vulnerability(["1/2", 0, "1/2"], sv.losses.squared(3)).action == 1
    assert sv.losses.absolute([0, 2.5]).matrix.tolist() == [[0, 2.5], [2.5, 0]]
    assert sv.losses.absolute([F(1, 3), 1]).matrix.tolist() == [[0, F(2, 3)], [F(2, 3), 0]]


@given(st.data(), st.integers(1, 4))
def test_bounded_losses_become_gains(data: st.DataObject, n: int) -> None:
    """Fernandes 1.2: g = B - l gives V_g = B - U_l, before and after."""
    loss = data.draw(st.sampled_from([sv.losses.absolute(n), sv.losses.bayes_risk(n), sv.losses.guessing(n)]))
    bound = data.draw(st.integers(4, 6))
    gain = sv.gains.from_loss(loss, bound)
    channel = data.draw(testing.channels(n, form="exact", sparse=True))
    prior = data.draw(testing.priors(n, exact=True))
    for value in (
        lambda g: sv.vulnerability(prior, g).value,
        lambda g: sv.posterior_vulnerability(channel, prior, g).value,
    ):
        assert value(gain) == bound - value(loss)
    assert (sv.gains.from_loss(loss).matrix >= 0).all()


@given(st.data(), st.integers(1, 4))
def test_signed_gains_shift_every_comparison_alike(data: st.DataObject, n: int) -> None:
    """Fernandes 1.2: subtracting c_x from every gain of x moves prior and posterior by Σ π_x c_x."""
    table = data.draw(testing.gain_matrices(n, signed=True))
    gain, shifted = sv.gains.matrix(table), sv.gains.non_negative(sv.gains.matrix(table))
    assert (shifted.matrix >= 0).all()
    prior = data.draw(testing.priors(n, exact=True))
    offset = sum(p * int(c) for p, c in zip(prior, table.min(axis=0), strict=True))
    for _ in range(2):
        channel = data.draw(testing.channels(n, form="exact"))
        difference = (
            sv.posterior_vulnerability(channel, prior, gain).value
            - sv.posterior_vulnerability(channel, prior, shifted).value
        )
        assert difference == offset


def test_gains_match_the_channel_by_label() -> None:
    """A gain about labelled secrets gives the same answer however the channel orders its inputs."""
    rows = {"a": ["3/4", "1/8", "1/8"], "b": ["1/2", "3/8", "1/8"], "c": ["1/8", "1/8", "3/4"]}
    metric = sv.Metric([[0, 1, 5], [1, 0, 5], [5, 5, 0]], points=["a", "b", "c"])
    prior = {"a": F(1, 2), "b": F(1, 3), "c": F(1, 6)}
    makers: list[Callable[[], Any]] = [
        lambda: sv.gains.within(metric, 1),
        lambda: sv.gains.closeness(metric),
        lambda: sv.gains.partition([["a", "c"], ["b"]]),
        lambda: sv.gains.property(["a", "b", "c"], ["c"]),
        lambda: sv.gains.matrix([[3, 1, 0], [0, 0, 4]], secrets=["a", "b", "c"]),
        lambda: sv.gains.identity(["a", "b", "c"]),
        lambda: sv.gains.tries(["a", "b", "c"], 2),
        lambda: sv.losses.guessing(["a", "b", "c"]),
    ]
    for make in makers:
        found = set()
        for order in permutations("abc"):
            channel = sv.Channel([rows[name] for name in order], inputs=order)
            result = sv.leakage(channel, [prior[name] for name in order], make())
            worst = sv.posterior_vulnerability(channel, [prior[name] for name in order], make(), case="max")
            found.add((round(float(result.posterior), 12), round(float(result.prior), 12), str(worst.action)))
        assert len(found) == 1


def test_unlabelled_gains_take_the_channels_labels() -> None:
    channel = sv.Channel.identity(["yes", "no"])
    assert sv.leakage(channel, ["1/3", "2/3"], sv.gains.identity(2)).action == "no"
    assert sv.leakage(channel, ["1/3", "2/3"]).action == "no"
    assert sv.gains.strategy(channel, gain=sv.gains.tries(2, 1)) == {"yes": ("yes",), "no": ("no",)}
    assert sv.leakage(sv.Channel.identity(2), ["1/3", "2/3"], sv.gains.identity(["yes", "no"])).action == "no"


def test_names_and_descriptions() -> None:
    assert repr(sv.gains.tries(3, 2)) == "gain '2 tries' on 3 secrets"
    assert repr(sv.losses.shannon(3)) == "loss 'shannon' on 3 secrets"
    for gain in (sv.gains.identity(3), sv.gains.tries(3, 2), sv.losses.guessing(3), sv.gains.trivial(3)):
        renamed = gain.relabelled("mine")
        assert renamed.name == "mine"
        assert gain.name != "mine"
        assert np.array_equal(np.asarray(renamed), gain.matrix)
    assert sv.gains.within(sv.metrics.line(3), 1).name == "within 1"


def test_exact_gains_give_exact_values_and_floats_floats() -> None:
    channel = sv.Channel([["1/3", "2/3"], ["1/2", "1/2"]])
    assert sv.posterior_vulnerability(channel, None, [["1/7", 1]]).value == F(1, 2) * (F(1, 7) + 1)
    assert isinstance(sv.posterior_vulnerability(channel, None, [[0.5, 1]]).value, float)
    assert isinstance(sv.posterior_vulnerability(channel, [0.5, 0.5], [[1, 1]]).value, float)
    assert isinstance(sv.posterior_vulnerability(channel, None, np.array([[1, 0]])).value, Fraction)


def test_large_exact_gains_are_quick() -> None:
    channel = sv.mechanisms.truncated_geometric(60, alpha="1/2")
    gain = sv.gains.within(sv.metrics.line(60), 3)
    exact = sv.posterior_vulnerability(channel, None, gain).value
    assert float(exact) == pytest.approx(
        float(sv.posterior_vulnerability(sv.Channel(channel.matrix), None, gain))
    )


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: sv.gains.identity(0), "n is 0; give the number of secrets or their labels, at least one"),
        (lambda: sv.gains.identity([]), "n is empty"),
        (lambda: sv.gains.identity("abc"), "n is 'abc'; give the number of secrets or their labels"),
        (lambda: sv.gains.identity(["a", "a"]), "n has the label 'a' twice"),
        (lambda: sv.gains.tries(3, 0), "k is 0; the number of tries must be a whole number ≥ 1"),
        (lambda: sv.gains.tries(3, 1.5), "k is 1.5"),
        (
            lambda: sv.gains.partition([[0], [0, 1]]),
            "blocks: 0 is there twice; every secret must be in exactly one",
        ),
        (lambda: sv.gains.partition([[0]], [0, 1]), "blocks: the secret 1 is in none"),
        (lambda: sv.gains.partition([[0, 7]], [0]), "blocks: 7 is not a secret"),
        (lambda: sv.gains.property([1, 2], [3]), "holds names 3, which is not one of the secrets"),
        (lambda: sv.gains.within(sv.metrics.line(3), -1), "radius is -1; it must be a number ≥ 0"),
        (lambda: sv.gains.within(sv.metrics.line(3), "1"), "radius is '1'"),
        (
            lambda: sv.gains.closeness(sv.Metric([[0, math.inf], [math.inf, 0]])),
            "metric has points at infinite distance, so closeness is undefined; use within",
        ),
        (
            lambda: sv.gains.closeness(sv.metrics.line(3), [[1, 2]]),
            r"guesses has shape \(1, 2\); it needs one row",
        ),
        (lambda: sv.gains.matrix(5), "gain is 5; give"),
        (lambda: sv.gains.matrix([]), "gain is empty"),
        (lambda: sv.gains.matrix([[1, 2], [3]]), "row 1 of the gain has 1 entries but row 0 has 2"),
        (lambda: sv.gains.matrix([["a", 1]]), "gain has an entry that is not a number: 'a'"),
        (lambda: sv.gains.matrix([[None, 1.0]]), "gain has an entry that is not a number|must be finite"),
        (
            lambda: sv.gains.matrix([[math.nan, 1.0]]),
            "row 0 of the gain has nan for secret 0; entries must be finite",
        ),
        (lambda: sv.losses.matrix(np.array([[math.inf]])), "row 0 of the loss has inf for secret 0"),
        (lambda: sv.gains.matrix([[1]], actions=["a", "b"]), "actions has 2 labels but 1 are needed"),
        (lambda: sv.losses.absolute(["a", "b"]), "the value 'a' is not a number"),
        (lambda: sv.losses.shannon(2).matrix, "infinitely many actions, so it has no matrix"),
        (lambda: sv.gains.from_loss(sv.losses.shannon(2)), "infinitely many actions"),
        (lambda: sv.gains.from_loss(sv.gains.identity(2)), "loss is the gain 'identity'"),
        (lambda: sv.gains.from_loss(sv.losses.absolute(5), 2), "bound is 2 but the largest loss is 4"),
        (lambda: sv.gains.of_belief(max, 2).matrix, "is a function of the belief, so it has no matrix"),
        (
            lambda: sv.leakage(sv.Channel.identity(2), None, sv.gains.identity(3)),
            "is about 3 secrets but there are 2",
        ),
        (lambda: sv.leakage(sv.Channel.identity(2), None, [[1, 2, 3]]), "is about 3 secrets but there are 2"),
        (
            lambda: sv.leakage(sv.Channel.identity(["a", "b"]), None, sv.gains.identity(["a", "c"])),
            "gain 'identity' has no element labelled 'b', but 'a', 'c'",
        ),
        (lambda: sv.leakage(sv.Channel.identity(2), kind="average"), "kind is 'average'; it must be"),
        (lambda: sv.leakage(sv.Channel.identity(2), case="worst"), "case is 'worst'; it must be"),
        (lambda: sv.posterior_vulnerability(sv.Channel.identity(2), case="min"), "case is 'min'"),
        (lambda: sv.capacity(sv.Channel.identity(2), kind="additive-ish"), "kind is 'additive-ish'"),
    ],
)
def test_bad_gains_are_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(GainError, match=message):
        build()


def test_missing_priors_are_refused() -> None:
    with pytest.raises(PriorError, match="prior is missing"):
        sv.vulnerability(None)
    with pytest.raises(PriorError, match="prior is 3; give numbers"):
        sv.vulnerability(3)
    assert sv.vulnerability(None, sv.gains.identity(4)).value == F(1, 4)
    assert sv.vulnerability(None, [[1, 0], [0, 1]]).value == F(1, 2)


def test_signed_gains_have_no_factor_when_their_prior_value_is_not_positive() -> None:
    """Fernandes 1.3: V_g(π) ≤ 0 makes the multiplicative leakage meaningless; the additive one is fine."""
    channel = sv.Channel.identity(2)
    for table in ([[-1, 0], [0, -1]], [[1, -1], [-1, 1]], [[-3, -3]]):
        with pytest.raises(
            GainError, match=r"a factor needs a positive one; use kind=\"additive\", or add a cons"
        ):
            sv.leakage(channel, None, table)
        found = sv.leakage(channel, None, table, kind="additive")
        assert found.difference >= 0
        assert found.factor is None and found.bits is None
        assert "factor" not in str(found)
    assert sv.leakage(channel, None, [[3, -1], [-1, 3]]).factor == 3


@pytest.mark.parametrize(
    ("build", "size"),
    [
        (lambda: sv.gains.tries(60, 30).matrix, math.comb(60, 30)),
        (lambda: sv.losses.guessing(20).matrix, math.factorial(20)),
    ],
)
def test_matrices_with_too_many_actions_say_their_size(build: Callable[[], object], size: int) -> None:
    with pytest.raises(TooLargeError, match="its values need no matrix") as caught:
        build()
    assert caught.value.size == size


def test_many_tries_over_many_secrets_need_no_matrix() -> None:
    channel = sv.mechanisms.randomised_response(500, 1.0)
    gain = sv.gains.tries(500, 100)
    before = float(sv.vulnerability(None, gain))
    assert before == pytest.approx(0.2)
    assert float(sv.posterior_vulnerability(channel, None, gain)) > before


def test_every_k_subset_is_an_action() -> None:
    rows = {tuple(row) for row in sv.gains.tries(4, 2).matrix.tolist()}
    assert rows == {tuple(int(i in pair) for i in range(4)) for pair in combinations(range(4), 2)}
