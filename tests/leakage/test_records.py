"""One record when all the others are known, against enumeration."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.leakage.records import record_leakage


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
    found = record_leakage(channel, answers, prior)
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
