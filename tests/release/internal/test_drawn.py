"""A channel in floats as it is drawn."""

from fractions import Fraction
from pathlib import Path

import numpy as np

import sievert as sv
from sievert.release import make_plan
from sievert.release._sampled_channel import _kept_claim, _rational
from tests.release.test_central import COUNT, SIX, scenario


def test_a_channel_in_floats_keeps_the_epsilon_it_claims(tmp_path: Path) -> None:
    """Rounding may exceed the claim by 1e-16; what is drawn keeps it, and is the same to eight digits."""
    described = scenario(tmp_path, COUNT, SIX)
    sv.save(sv.Channel(described.channel.matrix.tolist(), described.channel.inputs), tmp_path / "channel.npz")
    text = COUNT.replace('kind = "truncated-geometric"', 'matrix = "channel.npz"')
    plan = make_plan(scenario(tmp_path, text, SIX))
    assert plan.eps == Fraction(1, 2)
    rounded = _rational(described.channel)
    moved = _kept_claim(rounded, described.answers, 0.5)
    assert sv.epsilon(rounded, described.answers).nats > 0.5 - 1e-12
    assert sv.epsilon(moved, described.answers).nats < 0.5 - 1e-12
    assert 0 < np.abs(moved.matrix - described.channel.matrix).max() < 1e-8
    # An output that a value rules out stays ruled out.
    apart = sv.Channel([["1/2", "1/2", 0], [0, "1/2", "1/2"]])
    assert _kept_claim(apart, described.answers, 0.5) is apart
