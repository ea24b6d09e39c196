"""Gains over the cells of a table after several releases: windows, tries of shared cells, blocks."""

from __future__ import annotations

import numpy as np
import pytest

import sievert as sv
from sievert.channels import EpsilonOrAlpha, GeometricLaw, HistogramNoise, NoiseLaw
from sievert.measures import WithinRadius
from sievert.observations import TableLikelihood, likelihood_of
from sievert.policies import statistic_of_cells

GEOMETRIC = GeometricLaw(EpsilonOrAlpha(0.5, None))
UNEVEN = [0.05, 0.3, 0.1, 0.35, 0.2]


def table(cells: list[int | None], belief: list[float], law: NoiseLaw = GEOMETRIC) -> TableLikelihood:
    statistic = statistic_of_cells([None if c is None else (c,) for c in cells], ("cell",), "histogram")
    return likelihood_of(HistogramNoise(statistic, law), np.array(belief))


def test_gains_within_a_radius_of_large_tables() -> None:
    size = 40_000
    view = table(list(range(size)), [1 / size] * size)
    line = sv.metrics.line(range(size))
    near = sv.gains.within(line, 1)
    assert isinstance(near, WithinRadius)
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
        apart = WithinRadius(tuple(range(5)), np.array([0.0, 1, 2, 5, 6]), 1.0, "within 1")
        found = view.gain(apart, 2)
        assert found.lower * (1 - 1e-12) <= listed.after <= found.upper * (1 + 1e-12)


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
    view = table(list(range(12)), [1 / 12] * 12, GeometricLaw(EpsilonOrAlpha(0.25, None)))
    blocks = sv.gains.partition([range(4), range(4, 8), range(8, 12)], range(12))
    for gain in (blocks, sv.gains.property(range(12), range(4))):
        found = view.gain(gain, releases)
        assert found.upper - found.lower < 2e-5 * found.upper
    if releases == 52:
        drawn = view.simulated(52, 1, 20_000, blocks)
        assert drawn.lower < view.gain(blocks, 52).after < drawn.upper
