"""Inside `_view_curves`: curves."""

from __future__ import annotations

import numpy as np
import pytest

from sievert.observations import (
    record_breach_curve,
)
from tests.observations.test_record_views import table


@pytest.mark.parametrize("predicate", [[0], [0, 1, 2], [59]])
def test_alike_cells_are_followed_by_their_number(
    predicate: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty values, the last in no cell: hits counted by kinds of cells, and cell by cell."""
    weights = np.array([1.0, 2.0] * 29 + [3.0, 4.0])
    view = table([*range(59), None], 0.8, weights / weights.sum())
    counted = record_breach_curve(view, predicate, 1.0, 12, rng=1)
    from sievert.observations import _record_curves

    monkeypatch.setattr(_record_curves, "FEW_CLASSES", 1000)
    followed = record_breach_curve(view, predicate, 1.0, 12, rng=2)
    # Two intervals of 99.9 % of the same curve: they overlap at every n.
    assert (counted.lower <= followed.upper).all() and (followed.lower <= counted.upper).all()
    assert counted.at[-1] > 0 or predicate == [59]
