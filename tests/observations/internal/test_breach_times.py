"""Inside `_breach_times`: many observations."""

from typing import Any

import numpy as np
import pytest

import sievert as sv

# What results say of how they were found.
EXACT, BOUNDS, SIMULATION = "exact by types", "certified bounds", "simulation, 99.9 % interval"
COIN = sv.Channel([["3/5", "2/5"], ["2/5", "3/5"]])


def test_simulated_breaches(monkeypatch: pytest.MonkeyPatch) -> None:
    from sievert.observations import _breach_times as breach_times

    exact = sv.observations.breach_curve(COIN, None, [0], 0.5, 10)
    monkeypatch.setattr(breach_times, "LARGEST_TABLE", 1)
    found = sv.observations.breach_curve(COIN, None, [0], 0.5, 10, rng=3)
    assert found.method == SIMULATION
    assert found.exact_until == 0
    both = np.array([exact.at, exact.by])
    assert ((found.lower <= both) & (both <= found.upper)).all()
    assert (found.upper - found.lower).max() < 0.06
    monkeypatch.setattr(breach_times, "LARGEST_TABLE", 6 * 6)
    mixed = sv.observations.breach_curve(COIN, None, [0], 0.5, 10, rng=3)
    assert 1 < mixed.exact_until < 10
    assert mixed.at[: mixed.exact_until].tolist() == exact.at[: mixed.exact_until].tolist()
    assert "then simulation" in mixed.method
    assert ((mixed.lower <= both) & (both <= mixed.upper)).all()


def test_what_is_exact_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from sievert.observations import _breach_times as times

    counted, exactly = [], times._exactly

    def counting(*arguments: Any) -> Any:
        counted.append(arguments[2])
        return exactly(*arguments)

    monkeypatch.setattr(times, "_exactly", counting)
    channel = sv.continuous.truncated_laplace(2.0).pixelated(12, 8)
    arguments = {"predicate": [channel.inputs[0]], "level": 2.5}
    found = sv.observations.observations_until_breach(channel, 0.9, **arguments, rng=1)
    assert found.searched > 64
    assert len(counted) == 1
    # A curve of the same length says the same.
    curve = sv.observations.breach_curve(channel, **arguments, observations=found.searched, rng=1)
    assert curve.exact_until == counted[0]
    assert found.most == 1 + int(np.flatnonzero(curve.lower[1] >= 0.9)[0])
    assert found.least == 1 + int(np.flatnonzero(curve.upper[1] >= 0.9)[0])
