"""One record behind noise that no list holds, against listing every output and against simulation."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

import sievert as sv
from benchmarks.harness import Row, compare, timed
from sievert.channels import EpsilonOrAlpha, GaussianLaw, GeometricLaw, HistogramNoise, ScalarNoise
from sievert.measures._noise_capacity import log_capacity
from sievert.observations import TableLikelihood, likelihood_of
from sievert.policies import Statistic


def run() -> list[Row]:
    """Lists are as long as they can be; simulations as many samples as make two digits."""
    rows = [_listed(cells) for cells in (6, 9, 12)]
    rows += [_simulated(releases) for releases in (10, 100, 1000)]
    rows += [_cells(size) for size in (10_000, 100_000, 1_000_000)]
    rows += [_beliefs(size) for size in (10_000, 100_000, 1_000_000)]
    rows += [_sum(size) for size in (1_500, 15_000, 150_000)]
    rows += [_property(size) for size in (1_000, 10_000, 100_000)]
    rows += [_chained(size) for size in (1_500, 15_000, 150_000)]
    rows += [_windows(size) for size in (1_000, 10_000, 100_000)]
    rows += [_closeness(size) for size in (4_000, 20_000, 150_000)]
    rows += [_gaussian(releases) for releases in (100, 1_000, 10_000)]
    rows += [_capacity(size) for size in (10_000, 100_000, 1_000_000)]
    return rows


def _table(cells: int, eps: float, belief: np.ndarray | None = None) -> TableLikelihood:
    ones = np.ones(cells, np.int64)
    statistic = Statistic(("cell",), ((0,),), np.arange(cells), ones, Fraction(1), "histogram")
    noise = HistogramNoise(statistic, GeometricLaw(EpsilonOrAlpha(eps, None)))
    return likelihood_of(noise, ones / cells if belief is None else belief)


def _gaussian(releases: int) -> Row:
    """The exact guess after many Gaussian releases of 12 cells, against 20,000 simulated sums."""
    statistic = Statistic(("cell",), ((0,),), np.arange(12), np.ones(12, np.int64), Fraction(1), "histogram")
    view = likelihood_of(HistogramNoise(statistic, GaussianLaw(Fraction(50))), np.full(12, 1 / 12))

    def simulated() -> float:
        draws = np.random.default_rng(1).normal(0.0, 50 * releases**0.5, (20_000, 12))
        draws[:, 0] += releases
        return float((draws.argmax(axis=1) == 0).mean())

    return compare(
        "guess after Gaussian releases", releases, lambda: view.guess(releases).guess, "simulation", simulated
    )


def _line(values: int, eps: float) -> TableLikelihood:
    amounts, zeros = np.arange(values), np.zeros(values, np.int64)
    statistic = Statistic((), ((),), zeros, amounts, Fraction(1), "sum")
    return likelihood_of(
        ScalarNoise(statistic, GeometricLaw(EpsilonOrAlpha(eps, None))), np.full(values, 1 / values)
    )


def _listed(cells: int) -> Row:
    """Every combination of cells that came out above."""
    view, alpha = _table(cells, 0.5), float(np.exp(-0.5))
    hit = alpha / (1 + alpha)

    def theirs() -> float:
        total = 0.0
        for shown in product((0, 1), repeat=cells):
            chance = hit ** sum(shown) * (1 - hit) ** (cells - sum(shown))
            total += chance * max(alpha ** (1 - 2 * s) for s in shown) / cells
        return total

    assert abs(view.guess(1).guess - theirs()) < 1e-12
    return compare("guess in a table, once", cells, lambda: view.guess(1), "listing", theirs, repeat=3)


def _simulated(releases: int) -> Row:
    view = _table(100, 0.05)
    return compare(
        "guess after many releases",
        releases,
        lambda: view.guess(releases),
        "simulation",
        lambda: view.simulated(releases, 1, 20_000),
        repeat=3,
        note="20,000 samples: two digits",
    )


def _cells(size: int) -> Row:
    return Row(
        "table of equal beliefs, 1000 releases", size, timed(lambda: _table(size, 0.05).guess(1000), 3)
    )


def _beliefs(size: int) -> Row:
    belief = np.random.default_rng(0).exponential(size=size)
    belief /= belief.sum()
    return Row("table of different beliefs", size, timed(lambda: _table(size, 0.05, belief).guess(10), 3))


def _sum(size: int) -> Row:
    return Row("sum over a range, once", size, timed(lambda: _line(size, 1 / size).guess(1), 3))


def _property(size: int) -> Row:
    view, half = _table(size, 0.5), sv.gains.property(size, range(size // 3))
    return Row("a property of the record, 5 releases", size, timed(lambda: view.gain(half, 5), 1))


def _capacity(size: int) -> Row:
    return Row("capacity of a table about everybody", size, timed(lambda: log_capacity(100, size, 0.5), 3))


def _chained(size: int) -> Row:
    view, releases = _line(size, 1 / size), 100
    return compare(
        "sum after 100 releases, by neighbours",
        size,
        lambda: _line(size, 1 / size).guess(releases),
        "simulation",
        lambda: view.simulated(releases, 1, 2_000),
        repeat=1,
        note="2,000 samples: one digit, and no bound",
    )


def _windows(size: int) -> Row:
    view, near = _table(size, 0.25), sv.gains.within(sv.metrics.line(range(size)), 1)
    return compare(
        "within one cell of a table, 10 releases",
        size,
        lambda: view.gain(near, 10),
        "simulation",
        lambda: view.simulated(10, 1, 200, near),
        repeat=1,
        note="200 samples",
    )


def _closeness(size: int) -> Row:
    view, near = _line(size, 1 / size), sv.gains.closeness(sv.metrics.line(range(size)))
    return Row("closeness on a sum, once", size, timed(lambda: view.gain(near), 1))
