"""A database of one record may be written as the value or as (value,), with and without public knowledge."""

from __future__ import annotations

import pytest

import sievert as sv

POLICIES = [
    sv.Policy.differential([0, 1, 2], 1, permitted=[(0,), (2,)]),
    sv.Policy.differential([0, 2], 1),
]


@pytest.mark.parametrize("policy", POLICIES, ids=["constrained", "free"])
def test_a_policy_takes_its_own_databases_as_labels(policy: sv.Policy) -> None:
    rows = [[0.6, 0.4], [0.3, 0.7]]
    plain = sv.Channel(rows, inputs=policy.database_labels())
    wrapped = sv.Channel(rows, inputs=list(policy.databases()))
    assert sv.epsilon(wrapped, policy).nats == sv.epsilon(plain, policy).nats > 0
    assert (
        sv.divergences.delta_curve(wrapped, policy, [0.1]).delta
        == sv.divergences.delta_curve(plain, policy, [0.1]).delta
    )
    turned = sv.Channel(rows[::-1], inputs=list(policy.databases())[::-1])
    assert sv.epsilon(turned, policy).nats == sv.epsilon(plain, policy).nats
    assert sv.record_leakage(wrapped, policy).after == sv.record_leakage(plain, policy).after
    assert policy.database_metric().distance((0,), (2,)) == 1
    assert policy.neighbours((0,)) == policy.neighbours(0) == [(2,)]


def test_labels_that_differ_are_still_refused() -> None:
    with pytest.raises(sv.SievertError, match="labels must agree"):
        sv.epsilon(sv.Channel([[1, 0], [0, 1]], inputs=[(0,), (1,)]), POLICIES[0])


def test_a_database_alone_in_its_component_is_not_protected() -> None:
    known = sv.Policy.differential([0, 1, 2], 2, permitted=[(0, 0), (1, 2), (2, 1)])
    assert [len(group) for group in known.adjacency().components()] == [3]
