"""Totals of noisy cells: exact radii by brute force, bounds that never lie."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sievert.channels import (
    EpsilonOrAlpha,
    GaussianLaw,
    GeometricLaw,
    NoiseLaw,
    StaircaseLaw,
    clamped_bias,
    total_error,
)
from sievert.errors import MechanismError

LAWS = [GeometricLaw(EpsilonOrAlpha(0.5, None)), GaussianLaw(Fraction(3)), StaircaseLaw(Fraction(1), 3)]


def sum_law(law: NoiseLaw, cells: int) -> np.ndarray:
    once = np.exp(law.log_pmf(np.arange(-200.0, 201.0)))
    found = np.ones(1)
    for _ in range(cells):
        found = np.convolve(found, once)
    return found


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.words())
@pytest.mark.parametrize("cells", [1, 2, 5])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_radius_by_brute_force(law: NoiseLaw, cells: int, confidence: float) -> None:
    found, chances = total_error(law, cells, confidence), sum_law(law, cells)
    middle = len(chances) // 2

    def inside(radius: int) -> float:
        return float(chances[middle - radius : middle + radius + 1].sum())

    assert found.exact
    assert inside(found.radius) >= confidence - 1e-12
    assert found.radius == 0 or inside(found.radius - 1) < confidence


def test_a_large_table() -> None:
    found = total_error(LAWS[0], 10**6)
    assert not found.exact
    assert found.deviation == pytest.approx(1000 * LAWS[0].deviation)
    assert 1.96 * found.deviation < found.radius < 3 * found.deviation
    assert found.method == "Chernoff's bound"
    wide = total_error(GeometricLaw(EpsilonOrAlpha(1e-6, None)), 4)
    assert wide.method == "Chebyshev's bound" and wide.radius == math.ceil(wide.deviation / math.sqrt(0.05))


def test_clamping_lifts_an_empty_cell() -> None:
    """α/(1-α²) for geometric noise."""
    alpha = math.exp(-0.5)
    assert clamped_bias(LAWS[0]) == pytest.approx(alpha / (1 - alpha**2), rel=1e-14)
    noise = np.arange(1.0, 400.0)
    for law in LAWS:
        assert clamped_bias(law) == pytest.approx(float(noise @ np.exp(law.log_pmf(noise))), rel=1e-12)


def test_bad_arguments() -> None:
    for confidence in (0, 1, -0.5, math.nan):
        with pytest.raises(MechanismError, match="confidence"):
            total_error(LAWS[0], 3, confidence)
    with pytest.raises(MechanismError, match="cells"):
        total_error(LAWS[0], 0)
