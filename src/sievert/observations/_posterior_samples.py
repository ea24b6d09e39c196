"""Beliefs about one record after releases that are drawn at random: what simulations of gains look at."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, singledispatch

import numpy as np

from sievert.arrays import FloatArray, IndexArray, IntArray
from sievert.channels import GeometricLaw, NoiseLaw, StaircaseLaw
from sievert.observations._contribution_classes import ContributionClasses
from sievert.observations._ratios import LikelihoodRatioLaw
from sievert.observations._scalar_grid import Line

# Edges of stairs, of all releases of one sample, that are counted one by one.
MOST_EDGES = 1_000_000

__all__ = ["drawn_ratios", "gains_on_even_line", "logs_of_cells", "logs_on_line"]


def logs_of_cells(
    classes: ContributionClasses,
    ratios: LikelihoodRatioLaw,
    values: IndexArray,
    generator: np.random.Generator,
) -> FloatArray:
    """[value, sample]: every cell's ratio is drawn under "nobody", the record's own where it is there."""
    return np.asarray(drawn_ratios(classes, ratios, classes.place[values], generator)[classes.place])


def drawn_ratios(
    classes: ContributionClasses, ratios: LikelihoodRatioLaw, true: IndexArray, generator: np.random.Generator
) -> FloatArray:
    """[class, sample]: log-ratios, for records of the classes `true`."""
    samples = len(true)
    nobody = np.exp(np.logaddexp.accumulate(ratios.log_pmf))
    there = np.exp(np.logaddexp.accumulate(ratios.log_shown))
    top = len(ratios.logs) - 1
    drawn = np.searchsorted(nobody, generator.random((len(classes.cell), samples)) * nobody[-1], side="right")
    logs = ratios.logs[np.minimum(drawn, top)]
    own = np.searchsorted(there, generator.random(samples) * there[-1], side="right")
    logs[true, np.arange(samples)] = ratios.logs[np.minimum(own, top)]
    logs[classes.amount == 0] = 0.0
    # Noise of bounded support may show the record for certain, or show that it is not in a cell.
    hidden = generator.random(logs.shape) < ratios.hidden
    hidden[classes.amount == 0] = False
    shown = hidden[true, np.arange(samples)]
    logs[hidden] = -np.inf
    logs[:, shown] = -np.inf
    logs[true[shown], np.flatnonzero(shown)] = 0.0
    return np.asarray(logs)


def logs_on_line(
    law: NoiseLaw, line: Line, releases: int, values: IndexArray, generator: np.random.Generator
) -> FloatArray:
    """[value, sample]: noise is drawn around the record's amount, once for each release."""
    summed = line.summed(releases)
    if summed is not None:
        # All releases together show as much as their sum.
        law, line, releases = summed.law, summed, 1
    samples = len(values)
    noise = law.simulated(generator, releases * samples).reshape(releases, samples)
    places = line.by_value(line.places.astype(np.float64))
    return line.by_value(_likelihoods(law, places[values] + noise, line.places))


def gains_on_even_line(
    law: GeometricLaw, line: Line, width: int, releases: int, samples: int, generator: np.random.Generator
) -> FloatArray:
    """Belief in the best run of so many values after releases that are drawn at random (`Line.is_even`).

    The belief is log-concave in the value: the best run is where what would enter is no likelier than what
    would leave.
    """
    size = len(line.places)
    true = generator.integers(size, size=samples)
    gap = int(line.places[1] - line.places[0])
    noise = law.simulated(generator, releases * samples).reshape(releases, samples)
    seen = _EvenLine(law.level.eps, gap, np.sort(gap * true + noise, axis=0))
    low, high = np.zeros(samples), np.full(samples, float(size - width))
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        better = seen.log_belief(middle + width) > seen.log_belief(middle)
        low, high = np.where(better & (low < high), middle + 1, low), np.where(better, high, middle)
    all_values = seen.log_mass(np.zeros(samples), np.full(samples, size - 1.0))
    return np.exp(seen.log_mass(low, low + width - 1) - all_values)


@dataclass(frozen=True, eq=False)
class _EvenLine:
    """Outputs [release, sample], increasing, of values at 0, gap, 2·gap, …"""

    eps: float
    gap: int
    outputs: FloatArray

    def log_belief(self, index: FloatArray) -> FloatArray:
        """-ε·Σ|y - x| of one value for each sample."""
        return np.asarray(-self.eps * np.abs(self.outputs - self.gap * index).sum(axis=0))

    @cached_property
    def _sums(self) -> FloatArray:
        return np.concatenate([np.zeros((1, self.outputs.shape[1])), np.cumsum(self.outputs, axis=0)])

    def log_mass(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """ln Σ e^(log belief) over the values low…high of each sample.

        Between two neighbouring outputs of n the log-belief changes by the same at every value, so that it is
        a geometric series there: n + 1 of them, whatever the number of values.
        """
        releases = len(self.outputs)
        edge = np.floor_divide(self.outputs, self.gap)
        first = np.maximum(np.concatenate([low[None], np.maximum(edge + 1, low)]), low)
        last = np.minimum(np.concatenate([edge, high[None]]), high)
        count = last - first + 1
        below = np.arange(releases + 1.0)[:, None]
        slope = self.eps * self.gap * (releases - 2 * below)
        # The likelier end of each series; Σ|y - x| there, from the sums of the outputs on either side.
        place = self.gap * np.where(slope > 0, last, first)
        sums = self._sums
        far = below * place - sums + (sums[-1] - sums) - (releases - below) * place
        top = np.where(count > 0, -self.eps * far, -np.inf)
        base = top.max(axis=0)
        fall = np.abs(slope)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            series = np.where(fall > 0, np.expm1(-fall * count) / np.expm1(-fall), count)
        return np.asarray(base + np.log((np.exp(top - base) * np.where(count > 0, series, 0.0)).sum(axis=0)))


@singledispatch
def _likelihoods(law: NoiseLaw, outputs: FloatArray, places: IntArray) -> FloatArray:
    """[place, sample]: ln of the likelihood of all outputs [release, sample]."""
    return _one_by_one(law, outputs, places)


def _one_by_one(law: NoiseLaw, outputs: FloatArray, places: IntArray) -> FloatArray:
    """One release after the other."""
    found = np.zeros((len(places), outputs.shape[1]))
    for row in outputs:
        found += law.log_pmf(row - places[:, None])
    return found


@_likelihoods.register
def _staircase(law: StaircaseLaw, outputs: FloatArray, places: IntArray) -> FloatArray:
    """-ε times the stairs that all outputs together lie below the top: they are counted edge by edge."""
    if float(np.abs(outputs).max(initial=0.0)) * len(outputs) > MOST_EDGES * law.sensitivity:
        return _one_by_one(law, outputs, places)
    found = np.empty((len(places), outputs.shape[1]))
    first, last = float(places[0]), float(places[-1])
    for i in range(outputs.shape[1]):
        # On either side of an output y a stair ends every Δ steps, r steps from y at first.
        left = _edges(outputs[:, i] - law.top - first, law.sensitivity)
        right = _edges(last - law.top - outputs[:, i], law.sensitivity)
        below = np.searchsorted(np.sort(first + left), places)
        above = np.searchsorted(np.sort(last - right), places, side="right")
        found[:, i] = -float(law.eps) * (len(left) - below + above)
    return found


def _edges(room: FloatArray, width: int) -> FloatArray:
    """Distances of edges from one end: from the first one on, as many as there is room for."""
    counts = np.maximum(np.floor(room / width) + 1, 0.0).astype(np.int64)
    rank = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(room, counts) - width * rank)


@_likelihoods.register
def _geometric(law: GeometricLaw, outputs: FloatArray, places: IntArray) -> FloatArray:
    """-ε·Σ|y - x| is piecewise linear in x, with its bends at the outputs."""
    if law.level.eps == 0:
        return np.zeros((len(places), outputs.shape[1]))
    found = np.empty((len(places), outputs.shape[1]))
    count = len(outputs)
    ordered = np.sort(outputs, axis=0)
    sums = np.concatenate([np.zeros((1, outputs.shape[1])), np.cumsum(ordered, axis=0)])
    for i in range(outputs.shape[1]):
        below = np.searchsorted(ordered[:, i], places)
        left = below * places - sums[below, i]
        found[:, i] = -law.level.eps * (left + (sums[-1, i] - sums[below, i]) - (count - below) * places)
    return found
