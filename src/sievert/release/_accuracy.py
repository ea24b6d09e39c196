"""How far off a released number will be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels import Channel, JointNoise, PlanarNoise, QuantileNoise, TableNoise
from sievert.numerics import as_fraction

__all__ = ["AccuracySummary", "errors", "reach_of"]
# Entries of a channel beyond which its errors are not computed.
LARGEST_ERRORS = 4_000_000


@dataclass(frozen=True)
class AccuracySummary:
    """How far a released number is from the truth.

    Attributes
    ----------
    sd : standard deviation of the noise
    mean : expected distance
    radius : the truth is within this distance with at least the asked-for probability
    kept : smallest probability that the released value is the true one (None: not a useful number here)
    """

    sd: float | None
    mean: float | None
    radius: Fraction | None
    kept: float | None = None


@singledispatch
def errors(channel: Channel, confidence: float) -> AccuracySummary:
    """At the worst input; distances where inputs and outputs are numbers."""
    if channel.shape[0] * channel.shape[1] > LARGEST_ERRORS:
        return AccuracySummary(None, None, None)
    matrix, inputs, outputs = channel.matrix, channel.inputs, channel.outputs
    place = {item: j for j, item in enumerate(outputs)}
    own = [matrix[i, place[item]] for i, item in enumerate(inputs) if item in place]
    kept = float(min(own)) if len(own) == len(inputs) else None
    if not all(isinstance(v, int | float | Fraction) for v in (*inputs, *outputs)):
        return AccuracySummary(None, None, None, kept)
    distance = np.abs(np.subtract.outer(_floats(inputs), _floats(outputs)))
    squares = (matrix * distance**2).sum(axis=1)
    return AccuracySummary(
        float(np.sqrt(squares.max())),
        float((matrix * distance).sum(axis=1).max()),
        as_fraction(str(reach_of(matrix, distance, confidence))),
        kept,
    )


@errors.register
def _of_cells(noise: TableNoise, confidence: float) -> AccuracySummary:
    """Before clamping, which only brings numbers closer to the truth."""
    law, step = noise.law, noise.statistic.step
    if math.isinf(law.deviation):
        return AccuracySummary(None, None, None)
    return AccuracySummary(
        float(step) * law.deviation, float(step) * law.mean_error, law.radius(confidence) * step
    )


@errors.register
def _of_several(noise: JointNoise, confidence: float) -> AccuracySummary:
    """Each table has its own."""
    return AccuracySummary(None, None, None)


@errors.register
def _of_quantile(noise: QuantileNoise, confidence: float) -> AccuracySummary:
    """Distances are in records, not in the numbers of the grid."""
    return AccuracySummary(None, None, None)


@errors.register
def _of_places(noise: PlanarNoise, confidence: float) -> AccuracySummary:
    """Cells are no numbers; how far places are moved, in metres, is said where the map is."""
    return AccuracySummary(None, None, None)


def _floats(values: Sequence[Any]) -> NDArray[np.float64]:
    return np.array([float(value) for value in values])


def reach_of(matrix: NDArray[Any], distance: NDArray[np.float64], confidence: float) -> float:
    """The smallest radius that holds enough probability around every input."""
    order = np.argsort(distance, axis=1)
    mass = np.cumsum(np.take_along_axis(matrix, order, axis=1), axis=1)
    first = (mass < confidence - 1e-12).sum(axis=1).clip(max=distance.shape[1] - 1)
    reach = np.take_along_axis(distance, order, axis=1)[np.arange(len(distance)), first]
    return float(reach.max())
