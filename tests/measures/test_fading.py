"""One record among very many values, without a list of their distances."""

from __future__ import annotations

import math

import pytest

from sievert import Policy, record_leakage
from sievert.spaces import secrets


def test_one_record_among_very_many_values() -> None:
    # Prop 21 at an end of a long line: 1/(1 + Σ e^(-d)) = 1 - 1/e.
    line = record_leakage(1.0, Policy(secrets.line(200_000), 10))
    assert line.after == pytest.approx(1 - math.exp(-1), rel=1e-12)
    # Present: beside it the missing record and 99,999 others two steps away.
    there = Policy.differential(100_000, 10, "add-remove")
    expected = 1 / (1 + math.exp(-1) + 99_999 * math.exp(-2))
    missing = 1 / (1 + 100_000 * math.exp(-1))
    assert record_leakage(1.0, there).after == pytest.approx(max(expected, missing), rel=1e-12)
