"""Inside `_cell_windows`: gains over the cells of a table after several releases."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, NoiseLaw, StaircaseLaw
from sievert.observations import LikelihoodRatioLaw, _cell_windows, likelihood_ratio_law
from sievert.observations._cell_windows import largest_window

GEOMETRIC = GeometricLaw(EpsilonOrAlpha(0.5, None))
LAWS = [GEOMETRIC, GaussianLaw(Fraction(2)), StaircaseLaw(Fraction(1), 3)]
UNEVEN = [0.05, 0.3, 0.1, 0.35, 0.2]


def every_combination(ratios: LikelihoodRatioLaw, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Ratios [cell, combination] under "nobody", and chances."""
    places = np.array(list(product(range(len(ratios.logs)), repeat=cells))).T
    return np.exp(ratios.logs[places]), np.exp(ratios.log_pmf[places].sum(axis=0))


def by_list(ratios: LikelihoodRatioLaw, beliefs: list[float], width: int) -> float:
    shown, chances = every_combination(ratios, len(beliefs))
    sums = np.array(beliefs)[:, None] * shown
    windows = [sums[i : i + width].sum(axis=0) for i in range(len(beliefs) - width + 1)]
    return float(np.max(windows, axis=0) @ chances)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("beliefs", [[0.2] * 5, UNEVEN])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_windows_are_those_of_every_combination(law: NoiseLaw, beliefs: list[float], width: int) -> None:
    for releases in (1, 2):
        ratios = likelihood_ratio_law(law, 1, releases)
        if len(ratios.logs) > 9:
            continue
        true = by_list(ratios, beliefs, width)
        found = largest_window(ratios, np.array(beliefs), width)
        assert found is not None
        assert found.lower * (1 - 1e-12) <= true <= found.upper * (1 + 1e-12)
        assert found.upper - found.lower < 0.02 * true
        if beliefs != UNEVEN:
            assert found.exact


@pytest.mark.parametrize("work", [40_000, 3_000, 0])
def test_rounded_ratios_and_independent_windows_enclose(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ratios = likelihood_ratio_law(GEOMETRIC, 1, 7)
    even, uneven = np.full(5, 0.2), np.array(UNEVEN)
    true = [by_list(ratios, beliefs.tolist(), 2) for beliefs in (even, uneven)]
    monkeypatch.setattr(_cell_windows, "LARGEST_WORK", work)
    for beliefs, value in zip((even, uneven), true, strict=True):
        found = largest_window(ratios, beliefs, 2)
        assert found is not None and found.lower <= value * (1 + 1e-12) and value <= found.upper * (1 + 1e-12)
        assert not found.exact or work


def test_settled_cells_are_those_followed_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ratios, beliefs = likelihood_ratio_law(GEOMETRIC, 1, 2), np.full(300, 1 / 300)
    settled = largest_window(ratios, beliefs, 3)
    monkeypatch.setattr(_cell_windows, "SETTLED", -1.0)
    monkeypatch.setattr(_cell_windows, "MOST_STEPS", 10**6)
    monkeypatch.setattr(_cell_windows, "LARGEST_WORK", 10**9)
    followed = largest_window(ratios, beliefs, 3)
    assert settled is not None and followed is not None
    assert settled.upper == pytest.approx(followed.upper, rel=1e-12)


@given(
    st.lists(st.sampled_from([0.05, 0.1, 0.3]), min_size=3, max_size=8),
    st.integers(1, 3),
    st.sampled_from([likelihood_ratio_law(GEOMETRIC, 1, n) for n in (1, 3, 12)]),
)
def test_windows_read_the_same_from_the_right(
    beliefs: list[float], width: int, ratios: LikelihoodRatioLaw
) -> None:
    forward, backward = (largest_window(ratios, np.array(b), width) for b in (beliefs, beliefs[::-1]))
    assert forward is not None and backward is not None
    assert forward.lower <= backward.upper * (1 + 1e-12) and backward.lower <= forward.upper * (1 + 1e-12)
