"""Inside `_repeats`: one record after several releases."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.files import load_policy_scenario
from sievert.observations import _record_repeats as repeats
from sievert.observations import repeated_guess
from sievert.observations._record_repeats import _bound, _situations
from sievert.policies import Answers


def by_enumeration(
    channel: sv.Channel, policy: sv.Policy, query: sv.Query, prior: object, times: int
) -> float:
    """Over all values of the others and all sequences of outputs."""
    many = channel
    for _ in range(times - 1):
        many = many.alongside(channel)
    best = 0.0
    for others in product(policy.values, repeat=policy.records - 1):
        rows = [many.row(query.evaluate((value, *others), policy)) for value in policy.values]
        best = max(best, float((np.array(prior)[:, None] * np.array(rows)).max(axis=0).sum()))
    return best


@given(st.data(), testing.policies(size=(1, 3), records=(1, 3)), st.integers(1, 3))
def test_the_bound_is_above_the_exact_guess(data: st.DataObject, policy: sv.Policy, times: int) -> None:
    query = data.draw(st.sampled_from([sv.Query.count([policy.values[0]]), sv.Query.histogram()]))
    answers = query.answers(policy)
    drawn = data.draw(testing.channels(len(answers), (1, 3), sparse=True))
    order = data.draw(st.permutations(range(len(answers))))
    channel = sv.Channel(drawn.matrix, inputs=[answers.labels[i] for i in order])
    prior = data.draw(testing.priors(len(policy.values)))
    exact = by_enumeration(channel, policy, query, prior, times)
    assert exact <= repeated_guess_bound(channel, answers, times, prior) + 1e-12


def test_the_bound_of_the_census_tends_to_the_truth() -> None:
    scenario = load_policy_scenario("examples/census-count.toml")
    bound = repeated_guess_bound(scenario.channel, scenario.answers, 10**6, scenario.record_prior)
    assert bound == pytest.approx(0.4)


def test_the_bound_takes_equal_rows_as_one_class() -> None:
    channel = sv.Channel([[1, 0], [1, 0], [0, 1]])
    answers = sv.Query.record().answers(sv.Policy.local(3))
    assert repeated_guess_bound(channel, answers, 5, [0.5, 0.3, 0.2]) == pytest.approx(0.7)


def test_too_many_types_give_a_bound_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = sv.mechanisms.exponential(sv.metrics.line(30), 0.5)
    answers = sv.Query.record().answers(sv.Policy.metric(sv.metrics.line(30)))
    found = repeated_guess(channel, answers, 10)
    assert not found.exact
    assert found.guess == repeated_guess_bound(channel, answers, 10)
    assert "at most" in str(found)
    small = sv.mechanisms.randomised_response(3, eps=1.0)
    answers = sv.Query.record().answers(sv.Policy.local(3))
    assert "exactly" in str(repeated_guess(small, answers, 4))
    monkeypatch.setattr(repeats, "LARGEST_WORK", 1)
    assert not repeated_guess(small, answers, 4).exact


def test_limits_of_the_bound() -> None:
    answers = sv.Query.record().answers(sv.Policy.local(2))
    assert repeated_guess_bound(sv.mechanisms.warner(), answers, 10**6) == 1
    assert math.isclose(repeated_guess_bound(sv.Channel.null(2), answers, 1000), 0.5)


def repeated_guess_bound(
    channel: sv.Channel, answers: Answers, observations: int, prior: object = None
) -> float:
    """Upper bound on the best guess about one record after independent releases from the same data."""
    return max(_bound(situation, observations) for situation in _situations(channel, answers, prior))
