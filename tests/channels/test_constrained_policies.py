"""Channels against policies with public constraints: the permitted databases decide."""

import math

import pytest

import sievert as sv


def test_a_product_channel_is_judged_on_the_permitted_databases() -> None:
    """With a known total two records change together, so ε counts both."""
    policy = sv.Policy.blowfish(sv.secrets.complete([0, 1]), records=2, permitted=sv.constraints.total(1))
    response = sv.mechanisms.randomised_response([0, 1], alpha="1/3").product(2)
    pair = response.after({database: database for database in policy.database_labels()})
    assert sv.epsilon(pair, policy).nats == pytest.approx(2 * math.log(3))


def test_a_constrained_single_record_uses_its_adjacency() -> None:
    """0 and 3 are no secret pair, and what lies between is ruled out: nothing has to be hidden."""
    policy = sv.Policy.blowfish(sv.secrets.line(4), records=1, permitted=[(0,), (3,)])
    labels = policy.database_labels()
    channel = sv.Channel([["3/4", "1/4"], ["1/4", "3/4"]], inputs=labels)
    assert sv.epsilon(channel, policy).nats == 0.0
    assert channel.after(sv.Query.from_table({label: label for label in labels}), policy).inputs == labels
