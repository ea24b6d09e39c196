"""What proves an additive capacity of gains between 0 and 1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sievert as sv
from sievert import testing
from sievert.measures._capacities import unit_capacity, unit_radius


@given(testing.channels((1, 4), (1, 4), sparse=True), st.data())
@settings(max_examples=40)
def test_the_attaining_gain_attains_it(channel: sv.Channel, data: st.DataObject) -> None:
    """The gain lies in the class and leaks the capacity; r proves that no other gain leaks more."""
    prior = data.draw(testing.priors(channel.shape[0]))
    for fixed in (True, False):
        found = sv.capacity(channel, kind="additive", gains="unit", prior=prior if fixed else None)
        gain = np.array(found.gain, dtype=np.float64)
        assert gain.min() >= 0
        assert gain.max() <= 1
        leaked = float(sv.leakage(channel, found.prior, gain, kind="additive"))
        assert leaked == pytest.approx(float(found), abs=1e-9)
        if fixed:
            proof = unit_capacity(channel, np.array(prior))
            bound = prior @ np.maximum(channel.matrix - proof.reference, 0).sum(axis=1)
        else:
            proof = unit_radius(channel)
            bound = np.maximum(channel.matrix - proof.reference, 0).sum(axis=1).max()
        assert proof.reference is not None
        assert proof.reference.sum() == pytest.approx(1)
        assert float(found) - 1e-9 <= bound <= float(found) + found.gap + 1e-9
        assert found.gap <= 1e-9
