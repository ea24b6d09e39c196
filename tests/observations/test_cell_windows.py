"""Gains over the cells of a table after several releases: windows, tries of shared cells, blocks."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sievert as sv
from sievert.channels import CellNoise, GaussianLaw, GeometricLaw, NoiseLaw, Privacy, StaircaseLaw
from sievert.measures import Windows
from sievert.observations import Ratios, RecordView, _cell_windows, ratios_after, record_view
from sievert.observations._cell_windows import largest_window
from sievert.observations._largest import top_of_kinds
from sievert.observations._line_chains import equal_windows
from sievert.policies import statistic_of_cells

GEOMETRIC = GeometricLaw(Privacy(0.5, None))
LAWS = [GEOMETRIC, GaussianLaw(Fraction(2)), StaircaseLaw(Fraction(1), 3)]
UNEVEN = [0.05, 0.3, 0.1, 0.35, 0.2]


def every_combination(ratios: Ratios, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """Ratios [cell, combination] under "nobody", and chances."""
    places = np.array(list(product(range(len(ratios.logs)), repeat=cells))).T
    return np.exp(ratios.logs[places]), np.exp(ratios.log_pmf[places].sum(axis=0))


def by_list(ratios: Ratios, beliefs: list[float], width: int) -> float:
    shown, chances = every_combination(ratios, len(beliefs))
    sums = np.array(beliefs)[:, None] * shown
    windows = [sums[i : i + width].sum(axis=0) for i in range(len(beliefs) - width + 1)]
    return float(np.max(windows, axis=0) @ chances)


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("beliefs", [[0.2] * 5, UNEVEN])
@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_windows_are_those_of_every_combination(law: NoiseLaw, beliefs: list[float], width: int) -> None:
    for releases in (1, 2):
        ratios = ratios_after(law, 1, releases)
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
    ratios = ratios_after(GEOMETRIC, 1, 7)
    even, uneven = np.full(5, 0.2), np.array(UNEVEN)
    true = [by_list(ratios, beliefs.tolist(), 2) for beliefs in (even, uneven)]
    monkeypatch.setattr(_cell_windows, "LARGEST_WORK", work)
    for beliefs, value in zip((even, uneven), true, strict=True):
        found = largest_window(ratios, beliefs, 2)
        assert found is not None and found.lower <= value * (1 + 1e-12) and value <= found.upper * (1 + 1e-12)
        assert not found.exact or work


def test_settled_cells_are_those_followed_to_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ratios, beliefs = ratios_after(GEOMETRIC, 1, 2), np.full(300, 1 / 300)
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
    st.sampled_from([ratios_after(GEOMETRIC, 1, n) for n in (1, 3, 12)]),
)
def test_windows_read_the_same_from_the_right(beliefs: list[float], width: int, ratios: Ratios) -> None:
    forward, backward = (largest_window(ratios, np.array(b), width) for b in (beliefs, beliefs[::-1]))
    assert forward is not None and backward is not None
    assert forward.lower <= backward.upper * (1 + 1e-12) and backward.lower <= forward.upper * (1 + 1e-12)


def table(cells: list[int | None], belief: list[float], law: NoiseLaw = GEOMETRIC) -> RecordView:
    statistic = statistic_of_cells([None if c is None else (c,) for c in cells], ("cell",), "histogram")
    return record_view(CellNoise(statistic, law), np.array(belief))


def test_gains_within_a_radius_of_large_tables() -> None:
    size = 40_000
    view = table(list(range(size)), [1 / size] * size)
    line = sv.metrics.line(range(size))
    near = sv.gains.within(line, 1)
    assert isinstance(near, Windows)
    once, often = view.gain(near), view.gain(near, 10)
    # Three neighbours are hit almost surely somewhere: the largest sum is 3·e^½/k.
    assert once.exact and once.after == pytest.approx(3 * np.exp(0.5) / size, rel=1e-9)
    assert often.exact and once.after < often.after < 3 * view.guess(10).guess
    wide = view.gain(sv.gains.within(line, 5), 10)
    assert not wide.exact and often.after < wide.upper and wide.before < wide.lower < wide.upper < 1


def test_windows_of_unlike_widths_and_hidden_values_are_bounded() -> None:
    """A value that adds nothing, one that is impossible, and uneven distances."""
    line = sv.metrics.line([0, 1, 2, 5, 6])
    adversary = sv.gains.within(line, 1)
    for view in (
        table([0, 1, 2, 3, None], UNEVEN),
        table([0, 1, 2, 3, 4], [0.5, 0.0, 0.2, 0.2, 0.1]),
        table([0, 1, 2, 3, 4], UNEVEN),
    ):
        listed = view.gain(adversary, 2)
        assert listed.exact
        apart = Windows(tuple(range(5)), np.array([0.0, 1, 2, 5, 6]), 1.0, "within 1")
        found = view.gain(apart, 2)
        assert found.lower * (1 - 1e-12) <= listed.after <= found.upper * (1 + 1e-12)


@given(st.data())
def test_tries_of_cells_with_several_values(data: st.DataObject) -> None:
    """Every combination of the ratios of cells of unlike values, and values in no cell."""
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    draw = st.sampled_from([1.0, 2.0, 3.0, 7.0])
    kinds = [np.sort(data.draw(st.lists(draw, min_size=s, max_size=s)))[::-1] for s in sizes]
    other = np.array(data.draw(st.lists(draw, max_size=2)))
    total = sum(float(k.sum()) for k in kinds) + float(other.sum())
    tries = data.draw(st.integers(1, sum(sizes) + len(other)))
    ratios = ratios_after(GEOMETRIC, 1, data.draw(st.integers(1, 4)))
    shown, chances = every_combination(ratios, len(kinds))
    values = [b * row for kind, row in zip(kinds, shown, strict=True) for b in kind]
    values += [np.full(len(chances), b) for b in other]
    best = np.sort(np.array(values), axis=0)[::-1][:tries].sum(axis=0)
    alike: dict[bytes, tuple[np.ndarray, int]] = {}
    for kind in kinds:
        alike[kind.tobytes()] = (kind / total, alike.get(kind.tobytes(), (kind, 0))[1] + 1)
    found = top_of_kinds(ratios, list(alike.values()), tries, other / total)
    assert found == pytest.approx(float(best @ chances) / total, rel=1e-12)


def test_tries_of_a_coarse_histogram_after_many_releases() -> None:
    """Ages in bins of unlike sizes: exact, where only bounds were known."""
    cells = [0] * 3 + [1] * 5 + [2] * 2
    view = table(cells, [0.1] * 10)
    found = view.gain(sv.gains.tries(range(10), 2), 52)
    assert found.exact
    drawn = view.simulated(52, 1, 20_000, sv.gains.tries(range(10), 2))
    assert drawn.lower < found.after < drawn.upper


@pytest.mark.parametrize("releases", [52, 1000, 10_000])
def test_blocks_of_a_table_are_enclosed_closely(releases: int) -> None:
    view = table(list(range(12)), [1 / 12] * 12, GeometricLaw(Privacy(0.25, None)))
    blocks = sv.gains.partition([range(4), range(4, 8), range(8, 12)], range(12))
    for gain in (blocks, sv.gains.property(range(12), range(4))):
        found = view.gain(gain, releases)
        assert found.upper - found.lower < 2e-5 * found.upper
    if releases == 52:
        drawn = view.simulated(52, 1, 20_000, blocks)
        assert drawn.lower < view.gain(blocks, 52).after < drawn.upper


def test_equal_windows_are_told_from_others() -> None:
    assert equal_windows(np.array([0, 1]), np.array([3, 4])) == 3
    assert equal_windows(np.array([0, 2]), np.array([3, 4])) is None
    assert equal_windows(np.array([], dtype=np.int64), np.array([], dtype=np.int64)) is None
