"""Beliefs about one record after releases that are drawn at random: what simulations of gains look at."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray, IndexArray, IntArray
from sievert.channels import GeometricLaw, NoiseLaw
from sievert.observations._gain_bounds import Classes
from sievert.observations._line_gains import Line
from sievert.observations._ratios import Ratios

__all__ = ["beliefs_of_cells", "beliefs_on_line", "drawn_ratios"]


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
    top = np.where(belief[:, None] > 0, logs, -np.inf).max(axis=0)
    joint = belief[:, None] * np.exp(np.where(belief[:, None] > 0, logs - top, -np.inf))
    return np.asarray(joint / joint.sum(axis=0))
