"""One record behind noise on tables, by simulation: any noise, any number of tables, clamped or not.

Noise is drawn in every cell that the record may move, and its likelihood for each value is that of the same
table without the value's own steps. Where what is shown depends on the other records, one situation of theirs
is simulated, in which nothing hides the record: `SimulatedVulnerability.given` says which.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.channels import HistogramNoise, NoiseChannel, QuantileNoise, ScalarNoise, TableNoise
from sievert.errors import GainError, TooLargeError
from sievert.measures import GainFunction
from sievert.numerics import whole
from sievert.observations._contribution_classes import (
    ContributionClasses,
    SimulatedVulnerability,
    prior_value,
)
from sievert.observations._error_bounds import RISK
from sievert.observations._posterior_samples import logs_of_cells, logs_on_line
from sievert.observations._ratios import likelihood_ratio_law
from sievert.observations._scalar_grid import Line
from sievert.observations._simulations import (
    AT_ONCE,
    FEWEST,
    MOST,
    SIMULATED,
    Plan,
    posterior_gains,
    simulation,
)
from sievert.observations._types import observation_count

__all__ = ["simulated_tables"]

# What one table shows of records of some values after some releases: logs [value, sample].
Drawn = Callable[[IndexArray, int, np.random.Generator], FloatArray]
# Others at either end of a quantile's grid, for each unit of its numerator.
MANY = 1_000
HALF_WAY = "the other records half way between the limits to which noisy numbers are clamped"
AT_ENDS = "the other records at both ends of a quantile's grid, where its points would be equally likely"


def simulated_tables(
    parts: Sequence[NoiseChannel],
    belief: FloatArray,
    adversary: GainFunction,
    releases: int = 1,
    rng: int | np.random.Generator | None = None,
    samples: int | None = None,
    share: int = 1,
) -> SimulatedVulnerability:
    """What an adversary gains about one record from tables that are released together, by simulation.

    Parameters
    ----------
    parts : the tables, each with noise of its own
    belief : about the record's value
    adversary : a gain or loss over the values, in their order
    releases : how many of all tables
    rng : seed of the simulation
    samples : records that are drawn; by default as many as take about a second, divided by `share`
    share : the part of the work, and of the risk that the interval misses the gain
    """
    count = observation_count(releases, GainError)
    drawn = [_part(noise, belief) for noise in parts]
    work = sum(_work(noise, len(belief), count) for noise in parts)
    number = min(SIMULATED // share // work, MOST // share)
    if samples is not None:
        number = max(2, whole("samples", samples, GainError))
    elif number < FEWEST:
        raise TooLargeError("these tables take too long to be simulated", size=work)

    def draw(size: int, generator: np.random.Generator) -> FloatArray:
        values = generator.choice(len(belief), size, p=belief / belief.sum())
        logs = np.zeros((len(belief), size))
        for part in drawn:
            logs += part(values, count, generator)
        return posterior_gains(adversary, belief, logs)

    plan = Plan(number, max(1, AT_ONCE // work), count, rng, RISK / share)
    given = dict.fromkeys(words for noise in parts if (words := _given(noise)))
    return simulation(adversary, prior_value(adversary, belief), math.inf, draw, plan, "; ".join(given))


def _work(noise: NoiseChannel, values: int, releases: int) -> int:
    """Numbers that one simulated record takes; cell by cell a logarithm of a probability is several."""
    quick = isinstance(noise, HistogramNoise | ScalarNoise) and noise.limits is None
    return values + releases if quick or isinstance(noise, QuantileNoise) else 8 * values * releases


@singledispatch
def _given(noise: NoiseChannel) -> str:
    """Which situation of the others is simulated; nothing where all are alike."""
    return ""


@_given.register
def _given_limits(noise: TableNoise) -> str:
    return "" if noise.limits is None else HALF_WAY


@_given.register
def _given_ends(noise: QuantileNoise) -> str:
    return AT_ENDS


@singledispatch
def _part(noise: NoiseChannel, belief: FloatArray) -> Drawn:
    raise TooLargeError(f"one record seen through {noise.words()} is not simulated", size=math.inf)


@_part.register
def _of_table(noise: TableNoise, belief: FloatArray) -> Drawn:
    """Noise in every cell, and how likely each is where the record's own steps are taken from it."""
    if not math.isfinite(noise.law.deviation):
        raise TooLargeError(f"{noise.law.words()} shows nothing that could be simulated", size=math.inf)
    first, place = noise.statistic.alike
    amount, cell = noise.statistic.amount[first].astype(np.float64), noise.statistic.cell_of[first]
    moves = np.flatnonzero(amount != 0)
    cells, column = np.unique(cell[moves], return_inverse=True)
    column, steps = column.ravel(), amount[moves][:, None]
    # Two values are half way where the middle of what the record may add is.
    base = 0.0
    if noise.limits is not None:
        base = float(sum(noise.limits) // 2) - float(amount.max(initial=0.0) + amount.min(initial=0.0)) // 2

    def drawn(values: IndexArray, releases: int, generator: np.random.Generator) -> FloatArray:
        with_own, without = np.zeros((2, len(moves), len(values)))
        true = place[values]
        own = np.where(cells[:, None] == cell[true], amount[true], 0.0)
        for _ in range(releases):
            noisy = noise.law.simulated(generator, own.size).reshape(own.shape) + own + base
            if noise.limits is not None:
                noisy = np.clip(noisy, *noise.limits)
            nobody = noise.log_cells(np.full(noisy.shape, base), noisy)
            without += nobody[column]
            with_own += noise.log_cells(base + steps, noisy[column])
        if not np.isneginf(without).any():
            found = np.zeros((len(first), len(values)))
            found[moves] = with_own - without
            return np.asarray(found[place])
        return _absolute(with_own, without, moves, column, len(first))[place]

    return drawn


def _absolute(
    with_own: FloatArray, without: FloatArray, moves: IndexArray, column: IndexArray, classes: int
) -> FloatArray:
    """Where noise of bounded support rules out that a cell has nobody, logarithms of whole tables."""
    cells = int(column.max()) + 1
    nobody = np.zeros((cells, without.shape[1]))
    nobody[column] = without
    ruled_out = np.isneginf(nobody)
    rest = np.where(ruled_out, 0.0, nobody)
    others = ruled_out.sum(axis=0)
    found = np.tile(np.where(others > 0, -np.inf, rest.sum(axis=0)), (classes, 1))
    left = np.where(others - ruled_out[column] > 0, -np.inf, rest.sum(axis=0) - rest[column])
    found[moves] = left + with_own
    return found


@_part.register
def _of_cells(noise: HistogramNoise, belief: FloatArray) -> Drawn:
    """By the ratio of every cell after all releases."""
    if noise.limits is not None:
        return _of_table(noise, belief)
    classes = ContributionClasses.of(noise.statistic, belief)
    return lambda values, releases, generator: logs_of_cells(
        classes, likelihood_ratio_law(noise.law, 1, releases), values, generator
    )


@_part.register
def _of_sum(noise: ScalarNoise, belief: FloatArray) -> Drawn:
    """By the noise around the record's amount."""
    if noise.limits is not None:
        return _of_table(noise, belief)
    line = Line(noise.law, ContributionClasses.of(noise.statistic, belief))
    return lambda values, releases, generator: logs_on_line(noise.law, line, releases, values, generator)


@_part.register
def _of_quantile(noise: QuantileNoise, belief: FloatArray) -> Drawn:
    """The others at the first and the last grid point, so that the record's own position alone decides."""
    first, place = noise.statistic.alike
    q, others = noise.order.q, np.zeros(len(noise.order.grid), dtype=np.int64)
    others[0], others[-1] = MANY * q.numerator, MANY * (q.denominator - q.numerator)
    tables = np.repeat(others[None], len(first), axis=0)
    steps = noise.statistic.amount[first]
    tables[np.arange(len(first)), np.maximum(noise.statistic.cell_of[first], 0)] += steps
    shown = np.stack([noise.log_probabilities(table) for table in tables])
    chances = np.exp(shown)
    chances /= chances.sum(axis=1, keepdims=True)

    def drawn(values: IndexArray, releases: int, generator: np.random.Generator) -> FloatArray:
        counts = generator.multinomial(releases, chances[place[values]])
        return np.asarray((shown @ counts.T)[place])

    return drawn
