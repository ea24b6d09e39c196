"""One record when all the others are known, against enumeration."""

import math
from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.errors import ChannelError, PolicyError, PriorError, TooLargeError
from sievert.measures import record_leakage


def by_enumeration(channel: sv.Channel, policy: sv.Policy, query: sv.Query, prior: Any) -> float:
    """Best guess about each record given the others, over all values of the others."""
    best = 0.0
    for record in range(policy.records):
        for others in product(policy.values, repeat=policy.records - 1):
            rows = []
            for value in policy.values:
                database = (*others[:record], value, *others[record:])
                rows.append(channel.row(query.evaluate(database, policy)))
            best = max(best, float((np.array(prior)[:, None] * np.array(rows)).max(axis=0).sum()))
    return best


@given(st.data(), testing.policies(size=(1, 3), records=(1, 3)))
def test_best_guess_about_a_record_against_enumeration(data: st.DataObject, policy: sv.Policy) -> None:
    query = data.draw(st.sampled_from([sv.Query.count([policy.values[0]]), sv.Query.histogram()]))
    answers = query.answers(policy)
    drawn = data.draw(testing.channels(len(answers), (1, 3), sparse=True))
    order = data.draw(st.permutations(range(len(answers))))
    channel = sv.Channel(drawn.matrix, inputs=[answers.labels[i] for i in order])
    prior = data.draw(testing.priors(len(policy.values)))
    found = record_leakage(channel, answers, prior=prior)
    assert found.after == pytest.approx(by_enumeration(channel, policy, query, prior), abs=1e-12)
    assert found.before == max(prior)
    assert found.bits == pytest.approx(math.log2(found.after / found.before), abs=1e-12)
    assert float(found) == found.after
    assert "guesses the remaining one" in str(found)


def test_warner_survey() -> None:
    policy = sv.Policy.local(["yes", "no"])
    answers = sv.Query.record().answers(policy)
    found = record_leakage(sv.mechanisms.warner(), answers)
    assert (found.before, found.after) == (0.5, 0.75)
    assert found.bits == pytest.approx(math.log2(1.5))


def on_databases(channel: sv.Channel, policy: sv.Policy, prior: Any) -> tuple[float, float]:
    """Largest growth, and the guess it leads to, over all records and permitted values of the others."""
    best = (0.0, 0.0)
    permitted = set(policy.databases())
    for record in range(policy.records):
        for others in product(policy.values, repeat=policy.records - 1):
            rows, likely = [], []
            for value, weight in zip(policy.values, prior, strict=True):
                database = (*others[:record], value, *others[record:])
                if database in permitted:
                    rows.append(channel.row(database if policy.records > 1 else value))
                    likely.append(float(weight))
            if sum(likely) > 0:
                belief = np.array(likely) / sum(likely)
                after = float((belief[:, None] * np.array(rows)).max(axis=0).sum())
                best = max(best, (after / belief.max(), after))
    return best


@given(st.data(), testing.policies(size=(1, 3), records=(1, 3)))
@settings(max_examples=30)
def test_any_channel_on_databases(data: st.DataObject, policy: sv.Policy) -> None:
    drawn = data.draw(testing.channels(policy.size, (1, 3), sparse=True))
    channel = sv.Channel(drawn.matrix, inputs=list(policy.database_labels()))
    prior = data.draw(testing.priors(len(policy.values)))
    found = record_leakage(channel, policy, prior=prior)
    growth, after = on_databases(channel, policy, prior)
    assert found.after == pytest.approx(after, abs=1e-12)
    assert 2**found.bits == pytest.approx(growth)
    assert found.method.startswith("exact: ")


@given(st.data())
@settings(max_examples=30)
def test_public_knowledge_rules_values_out(data: st.DataObject) -> None:
    """The attacker knows the others and the total, so some values of the record are impossible."""
    values, records = data.draw(st.integers(2, 3)), data.draw(st.integers(1, 3))
    everything = list(product(range(values), repeat=records))
    kept = data.draw(st.lists(st.sampled_from(everything), min_size=1, unique=True))
    policy = sv.Policy.differential(values, records, permitted=kept)
    labels = list(policy.database_labels())
    channel = sv.Channel(data.draw(testing.channels(len(labels), (1, 3))).matrix, inputs=labels)
    prior = data.draw(testing.priors(values, full_support=True))
    found = record_leakage(channel, policy, prior=prior)
    growth, _ = on_databases(channel, policy, prior)
    assert found.after / found.before == pytest.approx(growth)


def test_a_prior_that_no_permitted_database_has_is_refused() -> None:
    policy = sv.Policy.differential(2, 2, permitted=[(0, 0)])
    with pytest.raises(PriorError, match="no database is possible under it"):
        record_leakage(sv.Channel([[1.0]], inputs=[(0, 0)]), policy, prior=[0.0, 1.0])


@given(st.data(), st.integers(2, 3), st.integers(1, 3))
@settings(max_examples=30)
def test_products_leak_about_a_record_what_its_channel_leaks(
    data: st.DataObject, values: int, records: int
) -> None:
    """Exact for a product, and the same as varying one record of the channel on databases."""
    parts = [data.draw(testing.channels(values, (1, 3), form="exact", sparse=True)) for _ in range(records)]
    channel = sv.Channel.product_of(parts)
    policy = sv.Policy.differential(values, records)
    prior = data.draw(testing.priors(values, exact=True))
    found = record_leakage(channel, policy, prior=prior)
    assert found.exact == max(sv.posterior_vulnerability(part, prior).value for part in parts)
    assert found.method == "exact: each record has a channel of its own, so the others say nothing"
    if records > 1:
        listed = record_leakage(sv.Channel(channel.exact, channel.inputs), policy, prior=prior)
        assert listed.exact == found.exact
        assert listed.method == "exact: every situation of the other records"


@given(st.data(), testing.policies(size=(1, 3), records=(1, 2)))
@settings(max_examples=40)
def test_the_bound_holds_for_every_channel_of_that_level(data: st.DataObject, policy: sv.Policy) -> None:
    drawn = data.draw(testing.channels(policy.size, (1, 3)))
    channel = sv.Channel(drawn.matrix, inputs=list(policy.database_labels()))
    prior = data.draw(testing.priors(len(policy.values)))
    level = sv.epsilon(channel, policy)
    assume(math.isfinite(level.nats))
    exact = record_leakage(channel, policy, prior=prior)
    for given_level in (level, level.nats):
        bound = record_leakage(given_level, policy, prior=prior)
        assert exact.after <= bound.after + 1e-12
        assert bound.method == "bound: Alvim et al., Prop 21"
    assert "at most" in str(bound)


def test_alvim_prop_21_numbers() -> None:
    """v = 3, ε = 1.35: the trivial bound is ε·log2 e = 1.947638 bits, Prop 21 is 0.982334."""
    eps = 1.35
    found = record_leakage(eps, sv.Policy.differential(3, records=7))
    assert f"{eps * math.log2(math.e):.6f}" == "1.947638"
    assert f"{found.bits:.6f}" == "0.982334"
    assert f"{found.bits - eps * math.log2(math.e):.6f}" == "-0.965304"
    assert found.after == pytest.approx(math.exp(eps) / (2 + math.exp(eps)))


@pytest.mark.parametrize("values", [2, 3, 10])
@pytest.mark.parametrize("eps", [0.0, 0.1, 1.0, 5.0, math.inf])
def test_alvim_prop_21_is_attained_by_randomised_response(values: int, eps: float) -> None:
    policy = sv.Policy.differential(values, records=1000)
    channel = sv.mechanisms.randomised_response(values, eps).product(1000)
    assert record_leakage(channel, policy).after == pytest.approx(record_leakage(eps, policy).after)


def test_the_bound_on_other_metrics_and_priors() -> None:
    """On a line neighbours are hard to tell apart and the ends are not: the truncated geometric attains it
    at no prior in general, so only the order is fixed."""
    line = sv.Policy.metric(sv.metrics.line(5))
    noise = sv.mechanisms.truncated_geometric(5, 0.7)
    prior = [0.4, 0.1, 0.1, 0.1, 0.3]
    bound = record_leakage(0.7, line, prior=prior)
    spread = [sum(p * math.exp(-0.7 * abs(v - u)) for u, p in enumerate(prior)) for v in range(5)]
    assert bound.after == pytest.approx(max(p / s for p, s in zip(prior, spread, strict=True)))
    assert record_leakage(noise, line, prior=prior).after <= bound.after
    # Across infinite distances the level says nothing: the group is known.
    groups = sv.Policy.blowfish(sv.secrets.partition([[0, 1], [2]]))
    assert record_leakage(0.0, groups).after == pytest.approx(1.0)
    assert record_leakage(0.0, groups, prior=[0.5, 0.5, 0.0]).after == pytest.approx(0.5)


def test_queries_over_many_records() -> None:
    """Exact while the channel has a matrix, then by the level on the answers, then by sensitivity."""
    few, many = sv.Policy.differential(2, 50), sv.Policy.differential(2, 20_000)
    total = sv.Query.sum()
    exact = record_leakage(sv.mechanisms.truncated_geometric(51, 1.0), few, query=total)
    assert exact.method == "exact: every situation of the other records"
    bound = record_leakage(sv.mechanisms.truncated_geometric(20_001, 1.0), many, query=total)
    assert bound.method == "bound: Alvim et al., Prop 21"
    assert bound.after == pytest.approx(math.e / (1 + math.e))
    assert exact.after <= bound.after + 1e-12
    wide = sv.Policy.differential([0, 1, 5000], 10_000)
    coin = sv.Channel([["3/5", "2/5"], ["2/5", "3/5"]], inputs=[0, 10**7])
    rough = record_leakage(coin, wide, query=total)
    assert rough.method == "bound: Alvim et al., Prop 21"
    # ln(3/2) over a distance of 10^7, and one record moves the sum by at most 5000.
    level = math.exp(math.log(1.5) / 10**7 * 5000)
    assert rough.after == pytest.approx(level / (2 + level))
    with pytest.raises(TooLargeError, match="histogram"):
        record_leakage(coin, sv.Policy.differential(50, 1000), query=sv.Query.histogram())


POLICY = sv.Policy.differential(2, 2)


@pytest.mark.parametrize(
    ("question", "error", "message"),
    [
        (
            lambda: record_leakage(
                sv.mechanisms.warner().product(3), sv.Policy.differential(["yes", "no"], 2)
            ),
            PolicyError,
            "the policy has 2 records but the product channel serves 3",
        ),
        (lambda: record_leakage(-1.0, sv.Policy.local(2)), ChannelError, "channel is -1.0; it must be"),
        (lambda: record_leakage("1", sv.Policy.local(2)), ChannelError, "channel is '1'"),  # type: ignore[arg-type]
        (lambda: record_leakage(1.0, 3), PolicyError, "policy is 3"),  # type: ignore[arg-type]
        (
            lambda: record_leakage(1.0, sv.Policy.differential(2, 2, permitted=[(0, 0), (1, 1)])),
            PolicyError,
            "under public knowledge a level of privacy alone does not bound one record",
        ),
        (
            lambda: record_leakage(sv.Channel.identity(3), sv.Policy.differential(2, 2)),
            ChannelError,
            "the channel has 3 elements but 4 are needed",
        ),
        (
            lambda: record_leakage(sv.Channel.identity(3), sv.Policy.differential(2, 40)),
            TooLargeError,
            "one record given the others would list 2\\^40 databases",
        ),
    ],
)
def test_what_is_wrong_is_named(question: Any, error: type[sv.SievertError], message: str) -> None:
    with pytest.raises(error, match=message):
        question()


def test_exact_values_of_a_small_survey() -> None:
    policy = sv.Policy.differential(["yes", "no"], 2)
    answers = sv.Query.count("yes").answers(policy)
    found = record_leakage(sv.mechanisms.truncated_geometric(3, alpha="1/2"), answers)
    assert found.exact == F(2, 3)
    assert found.answers in ((1, 0), (2, 1))


def test_one_value_of_very_many_is_exact_by_closed_forms() -> None:
    size = 20_000
    answers = sv.Query.record().answers(sv.Policy(sv.secrets.line(size)))
    found = sv.record_leakage(sv.mechanisms.truncated_geometric(size, 1.0), answers)
    assert not found.is_bound
    assert found.after == pytest.approx((1 + (size - 1) * math.tanh(0.5)) / size, rel=1e-12)
    other = sv.Query.record().answers(sv.Policy.local(size))
    response = sv.record_leakage(sv.mechanisms.randomised_response(size, 1.0), other)
    assert response.after == pytest.approx(math.e / (math.e + size - 1), rel=1e-12)
