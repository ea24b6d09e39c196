"""Inside `_neighbour_chains`: gains over the cells of a table after several releases."""

from __future__ import annotations

import numpy as np
import pytest

import sievert as sv
from sievert.channels import NoiseLaw
from sievert.observations._neighbour_chains import (
    best_value,
    chain_bound,
    equal_windows,
    longest_windows,
    total_variation,
)
from tests.observations.lines import LAWS, by_outputs, line


def test_equal_windows_are_told_from_others() -> None:
    assert equal_windows(np.array([0, 1]), np.array([3, 4])) == 3
    assert equal_windows(np.array([0, 2]), np.array([3, 4])) is None
    assert equal_windows(np.array([], dtype=np.int64), np.array([], dtype=np.int64)) is None


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_equal_beliefs_are_guessed_by_the_nearest_values(law: NoiseLaw) -> None:
    view = line([0, 1, 3, 4, 9], law)
    adversary = sv.gains.tries(range(5), 2)
    assert view.gain(adversary).after == pytest.approx(by_outputs(view, adversary, 1), rel=1e-11)
    gaps = np.array([0, 1, 2, 5, 8])
    listed = np.arange(-300.0, 310)
    apart = [np.abs(np.exp(law.log_pmf(listed - g)) - np.exp(law.log_pmf(listed))).sum() / 2 for g in gaps]
    assert total_variation(law, gaps) == pytest.approx(apart, abs=1e-13)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("belief", [None, [0.1, 0.4, 0.3, 0.2], [0.4, 0.1, 0.2, 0.3]])
def test_chains_bound_what_two_releases_tell(law: NoiseLaw, belief: list[float] | None) -> None:
    """Above every output of two releases, by little: neighbours lose what three values share."""
    places = np.array([0, 1, 2, 5])
    view = line(places.tolist(), law, belief)
    starts, stops = longest_windows(np.array([0, 0, 1, 2]), np.array([2, 3, 4, 4]))
    assert (starts.tolist(), stops.tolist()) == ([0, 1], [3, 4])
    for adversary, bound in (
        (sv.gains.identity(range(4)), best_value(law, 2, places, view.belief)),
        (
            sv.gains.within(sv.metrics.line(range(4)), 1),
            chain_bound(law, 2, places, view.belief, starts, stops),
        ),
    ):
        true = by_outputs(view, adversary, 2)
        assert bound is not None and true <= bound <= true * 1.2
