"""Tables of too many profiles are charged the sum."""

from fractions import Fraction
from unittest.mock import patch

import numpy as np

from sievert.policies import (
    Policy,
    Query,
    Statistic,
    joint_sensitivity,
)
from sievert.policies import _joint_sensitivity as moves
from tests.policies.test_moves import linear


def test_too_many_profiles_are_charged_the_sum():
    policy = Policy.differential(30, 10)
    tables = [
        Statistic(
            (), tuple((i,) for i in range(30)), np.arange(30), np.arange(30) + 1, Fraction(1), "rising"
        ),
        Query.count([3]).statistic(policy),
    ]
    costs = [linear(1), linear(2)]
    exact = joint_sensitivity(policy, tables, costs)
    with patch.object(moves, "LARGEST_PROFILES", 5):
        added = joint_sensitivity(policy, tables, costs)
        alone = joint_sensitivity(policy, tables[:1], costs[:1])
    assert (exact.cost, exact.exact) == (59, True)
    assert (added.cost, added.exact, added.pair) == (61, False, None)
    assert (alone.cost, alone.exact) == (59, True)
