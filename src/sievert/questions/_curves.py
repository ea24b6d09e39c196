"""What a picture of a mechanism shows: the guess against releases and ε, the law of its noise, one belief.

Everything here is drawn, and said nowhere: points are dense enough for the eye, and stop after some seconds.
"""

from __future__ import annotations

import math
import time
from collections.abc import Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from sievert.analysis import Vulnerability
from sievert.arrays import FloatArray
from sievert.channels import Channel, PlanarNoise, TableNoise
from sievert.errors import SievertError, TooLargeError
from sievert.files import PolicyScenario
from sievert.results import Result

__all__ = ["GuessCurve", "NoiseCurve", "NoiseMap", "guess_by_eps", "guess_by_releases", "noise_curve"]

# A curve may take this many seconds; of a slower one the first points are drawn.
CURVE_SECONDS = 3.0
# Levels ε beside 0, as shares of the largest: guesses bend most near 0.
EPS_POINTS = 20
# Amounts of noise and cells of a map that are drawn.
MOST_AMOUNTS, MOST_CELLS = 401, 151
# What is drawn of a law leaves out less than this probability.
OUTSIDE = 1e-3
MOST_VALUES = 400


@dataclass(frozen=True)
class GuessCurve(Result):
    """The best guess about one record at several levels (releases, or ε), each exact or an upper bound.

    `here` is the file's own level, `limit` what [accept] allows, `ever` what no number of releases exceeds.
    """

    levels: tuple[float, ...]
    guesses: tuple[float, ...]
    exact: tuple[bool, ...]
    before: float
    here: float | None
    limit: float | None
    ever: float | None = None


def guess_by_releases(scenario: PolicyScenario, most: int | None = None) -> GuessCurve | None:
    """The guess after one release, two, … `most`; by default beyond the file's own where that is quick."""
    view, count = scenario.analysis, scenario.observations
    if most is None:
        most = count if view.is_listed else max(10, 2 * count)
    if most == 1:
        return None
    wanted = np.unique(np.round(np.geomspace(1, most, 24)).astype(int))
    # The ends and the file's own number first.
    order = dict.fromkeys([1, count, most, *wanted.tolist()])
    found: dict[int, Vulnerability] = {}
    start = time.perf_counter()
    for releases in order:
        if len(found) > 1 and time.perf_counter() - start > CURVE_SECONDS:
            break
        found[releases] = view.vulnerability(releases=releases)
    shown = sorted(found.items())
    limit = None if scenario.accept is None else scenario.accept.guess
    return GuessCurve(
        tuple(float(releases) for releases, _ in shown),
        tuple(item.value for _, item in shown),
        tuple(item.is_exact for _, item in shown),
        view.vulnerability().prior,
        float(count),
        limit,
        # A limit of 1 but for rounding is none.
        view.vulnerability_limit
        if view.vulnerability_limit is not None and view.vulnerability_limit < 1 - 1e-9
        else None,
    )


def guess_by_eps(scenario: PolicyScenario) -> GuessCurve | None:
    """The guess after one release of the file's family at other ε; None where it has no other."""
    here = scenario.epsilon.nats
    if not 0 < here < math.inf or scenario.mechanism.with_eps(here) is None:
        return None
    claimed = scenario.claimed_eps
    at = here if claimed is None else claimed
    # What ε has no part in is found here, and shared by the other levels.
    before = scenario.analysis.vulnerability().prior
    rows = sorted(_at_levels(scenario, at))
    if len(rows) < 2:
        return None
    limit = scenario.accept.guess if scenario.accept is not None and scenario.observations == 1 else None
    eps, guesses, exact = zip(*rows, strict=True)
    return GuessCurve((0.0, *eps), (before, *guesses), (True, *exact), before, at, limit)


def _at_levels(scenario: PolicyScenario, here: float) -> Iterator[tuple[float, float, bool]]:
    """The file's own ε and the ends of the curve first, then what lies between them, evenly."""
    start = time.perf_counter()
    levels = (3 * here * (np.arange(1, EPS_POINTS + 1) / EPS_POINTS) ** 2).tolist()
    spread = sorted(range(EPS_POINTS), key=lambda place: int(f"{place + 1:05b}"[::-1], 2))
    for eps in dict.fromkeys([here, levels[-1], *(levels[place] for place in spread)]):
        if time.perf_counter() - start > CURVE_SECONDS:
            return
        with suppress(SievertError):
            found = scenario.at_eps(eps).analysis.vulnerability()
            yield eps, found.value, found.is_exact


@dataclass(frozen=True)
class NoiseCurve(Result):
    """The noise in one number, in its own unit, and what it lets somebody believe.

    Attributes
    ----------
    amounts, probabilities : of noise, before any clamping
    radius, confidence : how far it goes with that probability
    values, before, after : belief in each value of a record that is `seen`, when the likeliest output is seen
    """

    amounts: tuple[float, ...]
    probabilities: tuple[float, ...]
    radius: float
    confidence: float
    values: tuple[Hashable, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    seen: Hashable


@dataclass(frozen=True)
class NoiseMap(Result):
    """Where a place in the middle of the region is released: metres from it, and each cell's probability."""

    east: tuple[float, ...]
    north: tuple[float, ...]
    probabilities: FloatArray


@singledispatch
def noise_curve(channel: Channel, scenario: PolicyScenario) -> NoiseCurve | NoiseMap | None:
    """What the noise looks like; None for a channel with a list, which is drawn itself."""
    return None


@noise_curve.register
def _of_cell(noise: TableNoise, scenario: PolicyScenario) -> NoiseCurve | None:
    belief = scenario.float_record_prior
    law, step = noise.law, float(noise.statistic.step)
    if not math.isfinite(law.deviation):
        return None
    rules = scenario.document.release
    confidence = 0.95 if rules is None else rules.confidence
    reach = max(1, law.beyond(math.log(OUTSIDE)))
    stride = max(1, math.ceil((2 * reach + 1) / MOST_AMOUNTS))
    steps = np.arange(-(reach // stride), reach // stride + 1) * stride
    chances = np.exp(law.log_pmf(steps.astype(np.float64)))
    values = scenario.policy.values
    likeliest = np.flatnonzero(belief == belief.max())
    place = int(likeliest[len(likeliest) // 2])
    after = _believed(noise, belief, place)
    shown = _shown(after, place)
    return NoiseCurve(
        tuple((steps * step).tolist()),
        tuple(chances.tolist()),
        law.radius(confidence) * step,
        confidence,
        tuple(values[i] for i in shown),
        tuple(belief[shown].tolist()),
        tuple(after[shown].tolist()),
        values[place],
    )


def _believed(noise: TableNoise, belief: FloatArray, place: int) -> FloatArray:
    """Belief when the output is the likeliest one for the value in this place: no noise at all."""
    statistic = noise.statistic
    cell, amount = statistic.cell_of, statistic.amount.astype(np.float64)
    together = cell == cell[place]
    alone = noise.law.log_pmf(amount) + noise.law.log_pmf(amount[place : place + 1])
    nothing = noise.law.log_pmf(np.zeros(1))
    logs = np.where(together, noise.law.log_pmf(amount - amount[place]) + nothing, alone)
    with np.errstate(divide="ignore"):
        logs = logs + np.log(belief)
    weights = np.exp(logs - logs.max())
    return np.asarray(weights / weights.sum())


def _shown(after: FloatArray, place: int) -> list[int]:
    """Every value, or evenly spaced ones and the one that is seen."""
    if len(after) <= MOST_VALUES:
        return list(range(len(after)))
    spaced = np.linspace(0, len(after) - 1, MOST_VALUES).round().astype(int)
    return [int(i) for i in np.unique(np.append(spaced, place))]


@noise_curve.register
def _of_map(noise: PlanarNoise, scenario: PolicyScenario) -> NoiseMap | None:
    rows, columns = noise.region.shape
    middle = rows // 2, columns // 2
    try:
        law = noise.law(middle)
    except TooLargeError:
        return None
    half = _reach(law, middle)
    south, west = max(0, middle[0] - half), max(0, middle[1] - half)
    window = law[south : middle[0] + half + 1, west : middle[1] + half + 1]
    east = (np.arange(west, west + window.shape[1]) - middle[1]) * noise.region.cell
    north = (np.arange(south, south + window.shape[0]) - middle[0]) * noise.region.cell
    return NoiseMap(tuple(east.tolist()), tuple(north.tolist()), window)


def _reach(law: FloatArray, middle: tuple[int, int]) -> int:
    """Cells in each direction beyond which hardly anything is released."""
    rows, columns = np.ogrid[: law.shape[0], : law.shape[1]]
    away = np.maximum(np.abs(rows - middle[0]), np.abs(columns - middle[1]))
    mass = np.cumsum(np.bincount(away.ravel(), law.ravel()))
    return int(np.clip(np.searchsorted(mass, 1 - OUTSIDE) + 1, 3, MOST_CELLS // 2))
