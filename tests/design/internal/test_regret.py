"""Inside `_regret`: least regret."""

from __future__ import annotations

import numpy as np

import sievert as sv
from sievert.design import _regret

line, discrete = sv.metrics.line, sv.metrics.discrete


def test_symmetries_keep_distances_and_the_loss_up_to_names_of_actions() -> None:
    """Under the discrete metric all permutations; where one input matters more, those of the rest."""
    zero_one = 1 - np.eye(4, dtype=int).astype(object)
    assert len(_regret._symmetries(discrete(4), zero_one)) == 24
    assert _regret._symmetries(line(4), zero_one) == [[0, 1, 2, 3], [3, 2, 1, 0]]
    first = zero_one * np.array([2, 1, 1, 1], dtype=object)
    assert len(_regret._symmetries(discrete(4), first)) == 6
    assert _regret._symmetries(line(4), first) == [[0, 1, 2, 3]]
    assert len(_regret._symmetries(line(9), np.eye(9, dtype=int).astype(object))) == 1
