"""Inside `_noisy_tables`: released tables adjusted to what is possible."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import sievert as sv
from sievert.channels import (
    EpsilonOrAlpha,
    GaussianLaw,
    GeometricLaw,
    HistogramNoise,
    StaircaseLaw,
    total_error,
)
from sievert.estimation import estimate_table

GEOMETRIC = GeometricLaw(EpsilonOrAlpha(0.5, None, exact_eps=Fraction(1, 2)))
GAUSSIAN = GaussianLaw(Fraction(3, 2))


def histogram(cells, records, law, limits=None, adjacency="replace"):
    policy = sv.Policy.differential(list(range(cells)), records, adjacency=adjacency)
    return HistogramNoise(sv.Query.histogram().statistic(policy), law, limits), policy


@pytest.mark.parametrize("law", [GEOMETRIC, GAUSSIAN, StaircaseLaw(Fraction(1), 2)])
@pytest.mark.parametrize(
    "adjacency, limits", [("replace", None), ("replace", (0, 6)), ("add-remove", (0, 6))]
)
def test_intervals_cover_what_they_say(law, adjacency, limits):
    """Over all noise in two cells, with all of its probability but 1e-7."""
    noise, policy = histogram(2, 6, law, limits, adjacency)
    reach, true = law.beyond(np.log(1e-7)), np.array([5, 1])
    covered, totals, steps = np.zeros(2), 0.0, np.arange(-reach, reach + 1)
    weights = np.exp(law.log_pmf(steps.astype(float)))
    seen: dict[tuple[int, ...], float] = {}
    for (a, p), (b, q) in itertools.product(zip(steps, weights, strict=True), repeat=2):
        noisy = true + np.array([a, b])
        values = tuple((noisy if limits is None else np.clip(noisy, *limits)).tolist())
        seen[values] = seen.get(values, 0.0) + p * q
    for values, mass in seen.items():
        if mass < 1e-12:
            continue
        found = quick(values, noise, policy)
        low, high = found.intervals.T
        covered += mass * ((low <= true) & (true <= high))
        totals += mass * (found.total_interval[0] <= true.sum() <= found.total_interval[1])
    assert (covered >= 0.8 - 1e-6).all()
    assert totals >= 0.8 - 1e-6


def quick(values, noise, policy, confidence=0.8):
    """Without the simulation."""
    from sievert.estimation import _noisy_tables

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_noisy_tables, "_simulated", lambda *_: None)
        return estimate_table(values, noise, policy, confidence=confidence)


def test_the_total_narrows_the_cells():
    noise, policy = histogram(2, 100, GEOMETRIC)
    found = quick((60, 41), noise, policy, 0.95)
    # (z₁ - z₂)/2, at most 4 steps, instead of z₁, at most 6.
    assert found.method == "the noise of all cells and the public total"
    assert np.diff(found.intervals).ravel().tolist() == [7, 7]
    assert (total_error(GEOMETRIC, 2).radius, GEOMETRIC.radius(0.95)) == (8, 6)
    alone = quick((60, 41), *histogram(2, 200, GEOMETRIC, adjacency="add-remove"), 0.95)
    assert alone.method == "the noise of the cell"
    assert np.diff(alone.intervals).ravel().tolist() == [12, 12]
