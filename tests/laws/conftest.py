"""What every precision law uses: digits enough for differences of differences, and one comparison."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from mpmath import mp, mpf


@pytest.fixture(autouse=True)
def many_digits() -> Iterator[None]:
    with mp.workdps(120):
        yield


@pytest.fixture(scope="session")
def agrees() -> Callable[[Any, Any], None]:
    """Relative error at most 1e-9 wherever the true value is a normal float."""
    return _agrees


def _agrees(found: Any, true: Any) -> None:
    true = mpf(true)
    if 0 < abs(true) < mpf("1e-290") or abs(true) > mpf("1.7e308"):
        return
    error = abs(mpf(float(found)) - true)
    assert error <= mpf("1e-9") * abs(true), f"{float(found)!r} against {mp.nstr(true, 20)}"
