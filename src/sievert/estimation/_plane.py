"""Where people really are, from noisy places on a map: products by Fourier transforms, and faster rounds.

The noise on a map blurs far more than one cell, so the iterative Bayesian update needs a great many rounds.
Two rounds and the way between them extrapolate to a third (Varadhan and Roland 2008, SQUAREM), which is taken
only where the likelihood does not fall. The gap is certified as ever, with what the transforms may be off by.
"""

from __future__ import annotations

import math

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.channels import Channel, PlaneChannel
from sievert.errors import EstimationError
from sievert.estimation._inversion import Inverse, right_inverse
from sievert.estimation._likelihood import maximum_likelihood
from sievert.estimation._operators import (
    DenseOperator,
    Fit,
    Operator,
    group_operator,
    log_likelihood,
    operator_of,
    scaled_columns,
)
from sievert.estimation._reports import Group
from sievert.numerics import advance

__all__ = ["PlaneOperator", "operator_of"]

# Cells up to which a matrix of all pairs is as quick, and exact.
SMALL = 400
# Nats over all reports that are less than these can tell, and rounds after which the search ends.
ENOUGH = 0.5
MOST_ROUNDS = 6000


class PlaneOperator(Operator):
    """Planar noise on a region, on the observed cells."""

    is_blurred = True

    def __init__(self, channel: PlaneChannel, observed: IndexArray, reports: float) -> None:
        self.channel, self.observed, self.reports = channel, observed, reports
        self.products, self.shape = channel.noise.products, channel.noise.region.shape
        self.log_scale = np.zeros(len(observed))

    def expected(self, p: FloatArray) -> FloatArray:
        return self.products.forward(p.reshape(self.shape)).ravel()[self.observed]

    def backward(self, v: FloatArray) -> FloatArray:
        spread = np.zeros(self.shape)
        spread.ravel()[self.observed] = v
        return self.products.backward(spread).ravel()

    def rows(self, chosen: IndexArray) -> FloatArray:
        labels = self.channel.inputs
        return np.array([self.channel.row(labels[i])[self.observed] for i in chosen.tolist()])

    def gap(self, shares: FloatArray, expected: FloatArray, factor: FloatArray) -> float:
        """An upper bound: what is expected may be less, and the factors more, by the products' errors."""
        off, least = self.products.largest_error, float(expected.min())
        if least <= 2 * off:
            return math.inf
        ratios = np.zeros(self.shape)
        ratios.ravel()[self.observed] = shares / expected
        grown = 1 + off / (least - off)
        return max(0.0, math.log((float(factor.max()) + self.products.error(ratios)) * grown))


@group_operator.register
def _operator_of_places(channel: PlaneChannel, group: Group) -> Operator:
    if channel.shape[0] <= SMALL or channel.noise.level.eps == 0:
        return DenseOperator(*scaled_columns(channel, group.observed))
    return PlaneOperator(channel, group.observed, float(group.counts.sum()))


@right_inverse.register
def _no_inverse_of_places(channel: PlaneChannel) -> Inverse:
    """Noise on a map is far wider than a cell: an inverse of it tells nothing about single cells."""
    if channel.shape[0] <= SMALL:
        return right_inverse.dispatch(Channel)(channel)
    raise EstimationError(
        f"noise on a map of {channel.shape[0]} cells is not inverted: it is far wider than a cell"
    )


@maximum_likelihood.register
def _maximum_of_places(operator: PlaneOperator, shares: FloatArray, size: int) -> Fit:
    """Accelerated rounds until all reports together miss less than half a nat."""
    return accelerated(operator, shares, np.full(size, 1 / size), ENOUGH / operator.reports, MOST_ROUNDS)


def accelerated(
    operator: Operator, shares: FloatArray, start: FloatArray, tolerance: float, most: int
) -> Fit:
    """Rounds of IBU, every third of which is an extrapolation, until the certified gap is small enough."""
    p, done, best = start, 0, math.inf
    kept = start
    while True:
        first, gap = _round(operator, shares, p)
        if gap < best:
            best, kept = gap, p
        if best <= tolerance or done >= most:
            break
        second, _ = _round(operator, shares, first)
        done += 2
        advance("rounds of the estimate", done, most)
        p = _extrapolated(operator, shares, p, first, second)
    return Fit(kept, log_likelihood(operator, shares, kept), best, done)


def _round(operator: Operator, shares: FloatArray, p: FloatArray) -> tuple[FloatArray, float]:
    """One round of IBU, and the certified gap before it."""
    expected = operator.expected(p)
    if (expected <= 0).any():
        return p, math.inf
    factor = operator.backward(shares / expected)
    found = p * factor
    return found / found.sum(), operator.gap(shares, expected, factor)


def _extrapolated(
    operator: Operator, shares: FloatArray, p: FloatArray, first: FloatArray, second: FloatArray
) -> FloatArray:
    """Further along the way of two rounds, by as much as their change shrinks; else the second of them."""
    step, bend = first - p, (second - first) - (first - p)
    length, turn = float(np.linalg.norm(step)), float(np.linalg.norm(bend))
    if not turn > 0 or length <= turn:
        return second
    ratio = length / turn
    further = p + 2 * ratio * step + ratio * ratio * bend
    # A cell keeps a thousandth of what it had: from 0 none would come back.
    further = np.maximum(further, 1e-3 * second)
    further /= further.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        better = log_likelihood(operator, shares, further) >= log_likelihood(operator, shares, second)
    return further if better else second
