"""The last parameter that keeps a promise: found in few steps, and on the safe side."""

import math
from collections.abc import Callable

import pytest

from sievert.limits import largest_satisfying

# How far the last value may be from where the promise breaks, relative to it.
PRECISION = 1e-12

SMOOTH: dict[str, tuple[Callable[[float], float], float, float, float]] = {
    "line": (lambda x: x - 0.3, 0.0, 1.0, 0.3),
    "falling": (lambda x: 2 / x - 1, 16.0, 1.0, 2.0),
    "response": (lambda x: math.exp(x) / (math.exp(x) + 4) - 0.9, 0.0, 16.0, math.log(36)),
    "kink": (lambda x: max(x - 3, 100 * (x - 3)), 0.0, 4.0, 3.0),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_a_smooth_excess_takes_few_steps(name: str) -> None:
    excess, kept, broken, last = SMOOTH[name]
    asked: list[float] = []

    def counted(value: float) -> float:
        asked.append(value)
        return excess(value)

    found = largest_satisfying(counted, kept, broken)
    assert excess(found) <= 0
    assert found == pytest.approx(last, rel=2 * PRECISION)
    assert len(asked) < 30


@pytest.mark.parametrize("last", [0.25, 0.3, 1e-200])
def test_a_step_is_found_from_the_safe_side(last: float) -> None:
    found = largest_satisfying(lambda value: -1.0 if value <= last else 1.0, 0.0, 1.0)
    assert last * (1 - 2 * PRECISION) <= found <= last


def test_nothing_above_zero_is_kept() -> None:
    assert largest_satisfying(lambda value: value, 0.0, 1.0) == 0.0
