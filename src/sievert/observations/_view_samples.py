"""Beliefs about one record after releases that are drawn at random: what simulations of gains look at."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray, IndexArray, IntArray
from sievert.channels import GeometricLaw, NoiseLaw
from sievert.observations._gain_bounds import Classes
from sievert.observations._line_gains import Line
from sievert.observations._ratios import Ratios

__all__ = ["beliefs_of_cells", "beliefs_on_line", "drawn_ratios", "guesses_on_even_line"]


def beliefs_of_cells(
    classes: Classes, ratios: Ratios, samples: int, generator: np.random.Generator
) -> FloatArray:
    """[value, sample]: every cell's ratio is drawn under "nobody", the record's own where it is there."""
    belief = classes.belief / classes.belief.sum()
    true = classes.place[generator.choice(len(belief), samples, p=belief)]
    return _normalised(classes.belief, drawn_ratios(classes, ratios, true, generator)[classes.place])


def drawn_ratios(
    classes: Classes, ratios: Ratios, true: IndexArray, generator: np.random.Generator
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


def beliefs_on_line(
    law: NoiseLaw, line: Line, releases: int, samples: int, generator: np.random.Generator
) -> FloatArray:
    """[value, sample]: noise is drawn around the record's amount, once for each release."""
    belief = line.classes.total[line.order]
    true = line.places[generator.choice(len(belief), samples, p=belief / belief.sum())]
    noise = law.simulated(generator, releases * samples).reshape(releases, samples)
    logs = _likelihoods(law, true + noise, line.places)
    return _normalised(line.classes.belief, line.by_value(logs))


def guesses_on_even_line(
    law: GeometricLaw, line: Line, releases: int, samples: int, generator: np.random.Generator
) -> FloatArray:
    """The best guess after releases that are drawn at random, where the line is even (`Line.is_even`).

    Between two neighbouring outputs of n the log-likelihood changes by the same at every value, so that the
    belief there is a geometric series: n + 1 of them, whatever the number of values.
    """
    size = len(line.places)
    true = line.places[generator.integers(size, size=samples)]
    noise = law.simulated(generator, releases * samples).reshape(releases, samples)
    outputs = np.sort(true + noise, axis=0) - line.places[0]
    gap = int(line.places[1] - line.places[0])
    edge = np.floor_divide(outputs, gap)
    first = np.concatenate([np.zeros((1, samples)), np.clip(edge + 1, 0, size)])
    last = np.concatenate([np.clip(edge, -1, size - 1), np.full((1, samples), size - 1.0)])
    count = last - first + 1
    below = np.arange(releases + 1.0)[:, None]
    slope = law.level.eps * gap * (releases - 2 * below)
    # The likelier end of each series; Σ|y - x| there, from the sums of the outputs on either side.
    place = gap * np.where(slope > 0, last, first)
    sums = np.concatenate([np.zeros((1, samples)), np.cumsum(outputs, axis=0)])
    far = below * place - sums + (sums[-1] - sums) - (releases - below) * place
    top = np.where(count > 0, -law.level.eps * far, -np.inf)
    fall = np.abs(slope)
    with np.errstate(invalid="ignore", divide="ignore"):
        series = np.where(fall > 0, np.expm1(-fall * count) / np.expm1(-fall), count)
    best = top.max(axis=0)
    return np.asarray(1 / (np.exp(top - best) * np.maximum(series, 0.0)).sum(axis=0))


@singledispatch
def _likelihoods(law: NoiseLaw, outputs: FloatArray, places: IntArray) -> FloatArray:
    """[place, sample]: ln of the likelihood of all outputs [release, sample]."""
    found = np.zeros((len(places), outputs.shape[1]))
    for row in outputs:
        found += law.log_pmf(row - places[:, None])
    return found


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


def _normalised(belief: FloatArray, logs: FloatArray) -> FloatArray:
    """Posterior beliefs from log-likelihoods [value, sample]."""
    if not (belief > 0).all():
        logs = np.where(belief[:, None] > 0, logs, -np.inf)
    joint = np.exp(logs - logs.max(axis=0))
    joint *= belief[:, None]
    return np.asarray(joint / joint.sum(axis=0))
