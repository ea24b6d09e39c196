"""What is audited is what is drawn: an attacker of noise from the exact samplers is right as often as said.

Every test draws releases through the sampler that `sievert release` uses, guesses one record by its own
likelihoods, and holds the share of right guesses against the exact one by a binomial test. The seeds are
fixed; with others a test would fail by chance once in 10^9 runs.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

from sievert.channels import (
    EpsilonOrAlpha,
    GaussianLaw,
    GeometricLaw,
    HistogramNoise,
    NoiseLaw,
    ScalarNoise,
    StaircaseLaw,
)
from sievert.observations import likelihood_of
from sievert.policies import Statistic, statistic_of_cells
from sievert.sampling import for_channel

FALSE_ALARM = 1e-9
SEED = 20260117
UNEVEN = [0.35, 0.25, 0.2, 0.1, 0.06, 0.04]


def geometric(eps: str) -> GeometricLaw:
    return GeometricLaw(EpsilonOrAlpha(float(Fraction(eps)), None, exact_eps=Fraction(eps)))


def of_geometric(eps: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda z: -eps * np.abs(z)


def of_gaussian(sigma: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda z: -(z**2) / (2 * sigma**2)


def of_stairs(eps: float, stair: int, top: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda z: -eps * ((np.abs(z) + stair - top) // stair)


def hits_of(
    noise: Any,
    adds: np.ndarray,
    belief: np.ndarray,
    releases: int,
    trials: int,
    log_law: Callable[[np.ndarray], np.ndarray],
    base: int = 0,
) -> int:
    """Right guesses about records drawn by belief; adds[v] is what value v adds to every cell."""
    true = np.random.default_rng(SEED).choice(len(belief), trials, p=belief)
    inputs = np.repeat(adds[true][:, None, :], releases, axis=1) + base
    drawn = for_channel(noise, timing="fast", insecure_rng=SEED).draw(inputs.ravel())
    seen = np.asarray(drawn).reshape(inputs.shape) - base
    logs = np.log(belief)[:, None] + np.stack([log_law(seen - row).sum(axis=(1, 2)) for row in adds])
    return int((logs.argmax(axis=0) == true).sum())


def agrees(hits: int, trials: int, exact: float) -> bool:
    return bool(binomtest(hits, trials, exact).pvalue > FALSE_ALARM)


def histogram(law: NoiseLaw, size: int) -> HistogramNoise:
    statistic = statistic_of_cells([(cell,) for cell in range(size)], ("cell",), "histogram")
    return HistogramNoise(statistic, law)


def total(law: NoiseLaw, places: list[int]) -> ScalarNoise:
    amounts = np.array(places, dtype=np.int64)
    return ScalarNoise(
        Statistic((), ((),), np.zeros(len(places), np.int64), amounts, Fraction(1), "sum"), law
    )


LAWS = {
    "geometric": (geometric("1/2"), of_geometric(0.5), geometric("1")),
    "gaussian": (GaussianLaw(Fraction(3)), of_gaussian(3**0.5), GaussianLaw(Fraction(1))),
    "staircase": (StaircaseLaw(Fraction(1), 3, 2), of_stairs(1, 3, 2), StaircaseLaw(Fraction(2), 3, 2)),
}


@pytest.mark.parametrize("releases", [1, 3])
@pytest.mark.parametrize("kind", LAWS)
def test_one_record_in_a_histogram(kind: str, releases: int) -> None:
    law, log_law, less = LAWS[kind]
    noise, belief, trials = histogram(law, 6), np.array(UNEVEN), 6_000
    found = likelihood_of(noise, belief).guess(releases)
    assert found.exact
    hits = hits_of(noise, np.eye(6, dtype=np.int64), belief, releases, trials, log_law)
    assert agrees(hits, trials, found.guess)
    # Less noise would be noticed.
    assert not agrees(hits, trials, likelihood_of(histogram(less, 6), belief).guess(releases).guess)


@pytest.mark.parametrize("kind", LAWS)
def test_one_record_in_a_sum(kind: str) -> None:
    law, log_law, less = LAWS[kind]
    places, trials = [0, 1, 2, 4, 7, 9], 40_000
    noise, belief = total(law, places), np.array(UNEVEN)
    found = likelihood_of(noise, belief).guess(1)
    assert found.exact
    hits = hits_of(noise, np.array(places)[:, None], belief, 1, trials, log_law)
    assert agrees(hits, trials, found.guess)
    assert not agrees(hits, trials, likelihood_of(total(less, places), belief).guess(1).guess)


@pytest.mark.parametrize("kind", LAWS)
def test_two_values_of_a_sum_after_four_releases(kind: str) -> None:
    law, log_law, _ = LAWS[kind]
    noise, belief, trials = total(law, [0, 2]), np.array([0.4, 0.6]), 10_000
    found = likelihood_of(noise, belief).guess(4)
    assert found.exact
    assert agrees(hits_of(noise, np.array([[0], [2]]), belief, 4, trials, log_law), trials, found.guess)


def test_clamping_changes_no_guess() -> None:
    """Cells clamped to 0…1, of which the others fill none: every noisy number is an end of the range."""
    law, log_law, _ = LAWS["geometric"]
    free, trials = histogram(law, 6), 12_000
    noise = HistogramNoise(free.statistic, law, (0, 1))
    hits = hits_of(noise, np.eye(6, dtype=np.int64), np.array(UNEVEN), 2, trials, log_law)
    assert agrees(hits, trials, likelihood_of(free, np.array(UNEVEN)).guess(2).guess)


@pytest.mark.parametrize("kind", ["even", "uneven"])
def test_one_place_on_a_map(map_noise: Callable[..., Any], kind: str) -> None:
    """Clamped to a region of 6 by 5 cells: the likeliest cell by the law of every output, counted here."""
    noise, trials = map_noise(6, 5, "1/2"), 30_000
    rng = np.random.default_rng(3)
    belief = np.full(30, 1 / 30) if kind == "even" else rng.dirichlet(np.ones(30))
    found = likelihood_of(noise, belief).guess(1)
    assert found.exact
    best = (belief[:, None] * clamped_plane(6, 5, 0.5)).argmax(axis=0)
    true = rng.choice(30, trials, p=belief)
    sampler = for_channel(noise, timing="fast", insecure_rng=SEED)
    seen = np.asarray(sampler.draw(np.stack(np.divmod(true, 5), axis=1)))
    hits = int((best[seen[:, 0] * 5 + seen[:, 1]] == true).sum())
    assert agrees(hits, trials, found.guess)
    assert not agrees(hits, trials, likelihood_of(map_noise(6, 5, "3/4"), belief).guess(1).guess)


def clamped_plane(rows: int, columns: int, eps: float, reach: int = 90) -> np.ndarray:
    """[cell, output]: e^(-ε|z|) on the plane around every cell, moved to the nearest cell of the region."""
    steps = np.arange(-reach, reach + 1)
    law = np.exp(-eps * np.hypot(steps[:, None], steps))
    law /= law.sum()
    found = np.zeros((rows * columns, rows, columns))
    for cell, (row, column) in enumerate(np.ndindex(rows, columns)):
        down, right = np.clip(row + steps, 0, rows - 1), np.clip(column + steps, 0, columns - 1)
        np.add.at(found[cell], (down[:, None], right[None, :]), law)
    return found.reshape(rows * columns, rows * columns)
