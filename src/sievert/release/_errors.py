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

from sievert.channels import Channel, PlanarNoise, TableNoise
from sievert.numerics import as_fraction

__all__ = ["Errors", "errors", "reach_of"]
# Entries of a channel beyond which its errors are not computed.
LARGEST_ERRORS = 4_000_000


@dataclass(frozen=True)
class Errors:
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
def errors(channel: Channel, confidence: float) -> Errors:
    """At the worst input; distances where inputs and outputs are numbers."""
    if channel.shape[0] * channel.shape[1] > LARGEST_ERRORS:
        return Errors(None, None, None)
    matrix, inputs, outputs = channel.matrix, channel.inputs, channel.outputs
    place = {item: j for j, item in enumerate(outputs)}
    own = [matrix[i, place[item]] for i, item in enumerate(inputs) if item in place]
    kept = float(min(own)) if len(own) == len(inputs) else None
    if not all(isinstance(v, int | float | Fraction) for v in (*inputs, *outputs)):
        return Errors(None, None, None, kept)
    distance = np.abs(np.subtract.outer(_floats(inputs), _floats(outputs)))
    squares = (matrix * distance**2).sum(axis=1)
    return Errors(
        float(np.sqrt(squares.max())),
        float((matrix * distance).sum(axis=1).max()),
        as_fraction(str(reach_of(matrix, distance, confidence))),
        kept,
    )


@errors.register
def _of_cells(noise: TableNoise, confidence: float) -> Errors:
    """Before clamping, which only brings numbers closer to the truth."""
    rate = noise.level.eps
    if rate == 0:
        return Errors(None, None, None)
    decay, step = math.exp(-rate), float(noise.statistic.step)
    # P(|Z| > q) = 2·λ^(q+1)/(1+λ), E Z² = 2λ/(1-λ)² and E |Z| = 2λ/(1-λ²)
    q = max(0, math.ceil(math.log((1 - confidence) * (1 + decay) / 2) / -rate - 1 - 1e-12))
    scale = math.sqrt(2) * math.exp(-rate / 2) / -math.expm1(-rate)
    mean = 2 * decay / -math.expm1(-2 * rate)
    return Errors(step * scale, step * mean, q * noise.statistic.step)


@errors.register
def _of_places(noise: PlanarNoise, confidence: float) -> Errors:
    """Cells are no numbers; how far places are moved, in metres, is said where the map is."""
    return Errors(None, None, None)


def _floats(values: Sequence[Any]) -> NDArray[np.float64]:
    return np.array([float(value) for value in values])


def reach_of(matrix: NDArray[Any], distance: NDArray[np.float64], confidence: float) -> float:
    """The smallest radius that holds enough probability around every input."""
    order = np.argsort(distance, axis=1)
    mass = np.cumsum(np.take_along_axis(matrix, order, axis=1), axis=1)
    first = (mass < confidence - 1e-12).sum(axis=1).clip(max=distance.shape[1] - 1)
    reach = np.take_along_axis(distance, order, axis=1)[np.arange(len(distance)), first]
    return float(reach.max())
