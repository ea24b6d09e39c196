"""Sums over pairs against brute force, with long and with short parts of numbers."""

from itertools import combinations
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sievert.policies import (
    Policy,
    _pair_sums,
    joint_sensitivity,
)
from sievert.spaces import Metric, secrets
from tests.policies.test_moves import brute_force, several


@settings(max_examples=40)
@given(several(), st.sampled_from(["complete", "line", "add-remove", "metric"]), st.booleans())
def test_agrees_with_brute_force(drawn, kind, long):
    tables, costs = drawn
    power = 1
    if kind == "complete":
        policy = Policy.differential(6, 4)
        pairs = [(u, v, 1) for u, v in combinations(range(6), 2)]
    elif kind == "line":
        policy = Policy.blowfish(secrets.line(6), 4)
        pairs = [(u, u + 1, 1) for u in range(5)]
    elif kind == "add-remove":
        policy = Policy.differential(5, 4, "add-remove")
        for table in tables:
            table.amount[0] = 0
        pairs = [(0, v, 1) for v in range(1, 6)]
    else:
        places = [0.0, 0.5, 2.0, 3.0, 7.0, 7.25]
        distances = np.abs(np.subtract.outer(places, places))
        policy, power = Policy.metric(Metric(distances), 4), 2
        generating = policy.record_edges
        pairs = [
            (int(u), int(v), float(d)) for (u, v), d in zip(generating.pairs, generating.lengths, strict=True)
        ]
    # Short parts make numbers long, as denominators of many digits would.
    with patch.object(_pair_sums, "LIMB", 20 if long else 45):
        found = joint_sensitivity(policy, tables, costs, power=power)
    assert found.exact
    assert found.cost == brute_force(tables, costs, pairs, power)
    assert found.cost == sum(found.parts)
