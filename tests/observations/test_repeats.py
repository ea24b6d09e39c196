"""One record after several releases: exact where it can be listed, and never below what is true."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.errors import GainError
from sievert.files import load_policy_scenario
from sievert.measures import record_leakage
from sievert.observations import guess_limit, releases_within, repeated_guess


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
def test_repeated_guess_against_enumeration(data: st.DataObject, policy: sv.Policy, times: int) -> None:
    query = data.draw(st.sampled_from([sv.Query.count([policy.values[0]]), sv.Query.histogram()]))
    answers = query.answers(policy)
    drawn = data.draw(testing.channels(len(answers), (1, 3), sparse=True))
    order = data.draw(st.permutations(range(len(answers))))
    channel = sv.Channel(drawn.matrix, inputs=[answers.labels[i] for i in order])
    prior = data.draw(testing.priors(len(policy.values)))
    found = repeated_guess(channel, answers, times, prior)
    exact = by_enumeration(channel, policy, query, prior, times)
    assert found.exact
    assert found.guess == pytest.approx(exact, abs=1e-9)


def test_the_census_is_audited_exactly() -> None:
    """Publishing the true count gives a household away with 40% only: two of five bands are counted."""
    scenario = load_policy_scenario("examples/census-count.toml")
    channel, answers, prior = scenario.channel, scenario.answers, scenario.record_prior
    ten = repeated_guess(channel, answers, 10, prior)
    assert ten.exact
    # One household moves the count by one: two rows, whose likelihood ratio is e^±0.5 on each output, but
    # for counts next to the ends.
    two = sv.mechanisms.randomised_response(2, eps=0.5).repeated(10).matrix / 5
    assert ten.guess == pytest.approx(two.max(axis=0).sum(), abs=1e-3)
    assert ten.guess == pytest.approx(0.3114, abs=5e-5)
    truth = sv.Channel.identity(answers.labels)
    assert repeated_guess(truth, answers, 1, prior).guess == pytest.approx(0.4)


@given(st.data(), st.integers(1, 5))
def test_one_release_is_the_record_leakage(data: st.DataObject, size: int) -> None:
    answers = sv.Query.record().answers(sv.Policy.local(size))
    channel = data.draw(testing.channels(size, (1, 4), sparse=True))
    found = repeated_guess(channel, answers, 1)
    assert found.guess == pytest.approx(record_leakage(channel, answers).after, abs=1e-9)
    more = repeated_guess(channel, answers, 2)
    assert more.guess >= found.guess - 1e-9


def test_equal_rows_are_one_class() -> None:
    """Values with the same row cannot be told apart: only the likeliest of them is ever guessed."""
    channel = sv.Channel([[1, 0], [1, 0], [0, 1]])
    answers = sv.Query.record().answers(sv.Policy.local(3))
    assert repeated_guess(channel, answers, 5, [0.5, 0.3, 0.2]).guess == pytest.approx(0.7)


def test_limits_of_repetition() -> None:
    answers = sv.Query.record().answers(sv.Policy.local(2))
    assert float(repeated_guess(sv.Channel.identity(2), answers, 1)) == pytest.approx(1)
    assert repeated_guess(sv.Channel.null(2), answers, 1000).guess == pytest.approx(0.5)
    assert repeated_guess(sv.mechanisms.warner(), answers, 1).guess == pytest.approx(0.75)
    assert repeated_guess(sv.mechanisms.warner(), answers, 2000).guess == pytest.approx(1)
    with pytest.raises(GainError, match="observations is 0; it must be a whole number"):
        repeated_guess(sv.mechanisms.warner(), answers, 0)


@pytest.mark.parametrize("shift", [0, 1])
def test_public_knowledge_rules_values_out(shift: int) -> None:
    """Where exactly one record is 1, some situations leave one value only, and teach nothing."""
    values = (0, 1, 2)
    policy = sv.Policy(
        sv.secrets.complete(values), 3, permitted=sv.constraints.satisfying(lambda d: d.count(1) == 1)
    )
    query = sv.Query.sum()
    answers = query.answers(policy)
    assert (answers.contexts < 0).any()
    noise = sv.mechanisms.randomised_response(answers.labels, eps=1.0)
    order = np.roll(np.arange(len(answers)), shift)
    channel = sv.Channel(noise.matrix[order], inputs=[answers.labels[i] for i in order])
    prior = np.array([0.5, 0.3, 0.2])
    found = repeated_guess(channel, answers, 2, prior)
    twice, best = channel.repeated(2), (0.0, 0.0)
    databases = list(policy.databases())
    for record in range(3):
        for database in databases:
            same = [
                d
                for d in databases
                if all(a == b for i, (a, b) in enumerate(zip(d, database, strict=True)) if i != record)
            ]
            weights = np.array([prior[d[record]] for d in same])
            weights /= weights.sum()
            rows = np.array([twice.row(query.evaluate(d, policy)) for d in same])
            guess = float((weights[:, None] * rows).max(axis=0).sum())
            best = max(best, (guess / weights.max(), guess))
    assert found.exact
    assert (found.guess / found.before, found.guess) == pytest.approx(best)
    assert found.bits == pytest.approx(math.log2(best[0]))
    single = record_leakage(channel, answers, prior=prior)
    assert repeated_guess(channel, answers, 1, prior).guess == pytest.approx(single.after)
    never = sv.Policy(
        sv.secrets.complete(values), 2, permitted=sv.constraints.satisfying(lambda d: 1 not in d)
    )
    answers = query.answers(never)
    with pytest.raises(sv.SievertError, match="no database is possible"):
        repeated_guess(sv.Channel.identity(answers.labels), answers, 2, [0.0, 1.0, 0.0])


def test_how_many_releases_keep_a_limit() -> None:
    answers = sv.Query.record().answers(sv.Policy.local(["yes", "no"]))
    coin = sv.mechanisms.randomised_response(["yes", "no"], alpha="1/3")
    found = releases_within(coin, answers, 0.9)
    assert (found.releases, found.exact) == (6, True)
    guesses = [repeated_guess(coin, answers, n).guess for n in (6, 7)]
    assert guesses[0] <= 0.9 < guesses[1]
    # Two releases are no better than one: a limit that is just met is kept.
    assert releases_within(coin, answers, 0.75).releases == 2
    assert releases_within(coin, answers, 0.7).releases == 0
    assert releases_within(coin, answers, 0.4).releases == 0
    assert releases_within(coin, answers, 1.0).releases is None
    assert not releases_within(coin, answers, 0.9999, most=5).exact
    assert "up to 6 releases" in str(found)


def test_what_any_number_of_releases_tells() -> None:
    scenario = load_policy_scenario("examples/census-count.toml")
    question = scenario.channel, scenario.answers
    assert guess_limit(*question) == pytest.approx(0.4)
    assert repeated_guess(*question, 400).guess <= 0.4
    assert releases_within(*question, 0.5).releases is None
    kept = releases_within(*question, 0.35).releases
    assert repeated_guess(*question, kept).guess <= 0.35 < repeated_guess(*question, kept + 1).guess
    result = sv.audit(scenario)
    assert result.guess_limit == pytest.approx(0.4)
    assert result.releases_within.releases is None
