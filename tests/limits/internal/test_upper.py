"""Where the upper end is of programs that are carried over to claims nearby."""

import pytest

import sievert as sv
from sievert.limits._guess_upper_bound import is_by_programs


@pytest.mark.parametrize(
    ("values", "threshold", "packed"),
    # One class for each value around the first half of them: 20,000 are looked at.
    [(301, 20, True), (201, 20, True), (199, 20, False), (120, 20, False)],
)
def test_corners_are_carried_over_where_packing_is_all_that_is_known(
    values: int, threshold: int, packed: bool
) -> None:
    assert is_by_programs(sv.secrets.threshold(range(values), threshold)) == packed
