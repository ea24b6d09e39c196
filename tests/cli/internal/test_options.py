"""What an option takes for a number."""

import math

from sievert.cli._options import number


def test_zero_and_inf_are_numbers() -> None:
    assert [number(written) for written in ("-0", "0e9", "inf", "Infinity")] == [0, 0, math.inf, math.inf]
