"""The worst prior for gains whose actions each span at most 1: Σ_x π_x·TV(C_x, πC) over all π.

As TV is convex this is at most q(π) = Σ π_x·π_z·TV(C_x, C_z), with equality on two rows and wherever all rows
differ alike. Distances of this kind are of negative type, so that q is concave on the simplex: from any π no
q is above 2·max_x (Dπ)_x - q(π), and the best π is found by balancing. The sum itself is not concave, and is
climbed from there.
"""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch

import numpy as np
from scipy.spatial.distance import cdist

from sievert.arrays import FloatArray
from sievert.channels import Channel, DeterministicChannel, PartitionChannel, ResponseChannel
from sievert.measures._capacities import AdditiveOptimum, signed_capacity, spanning_capacity
from sievert.measures._extremes import row_distance
from sievert.numerics import require_size

__all__ = ["spanning_radius"]

# Inputs whose distances are compared two by two.
LARGEST_ROWS = 2000
# Steps along the slope.
CLIMBS = 200
# Inputs up to which probability is moved between any two, and the least that is.
FEW, SMALLEST_SHARE = 12, 1e-7
# Ends this close are one number.
CLOSE = 1e-11


@singledispatch
def spanning_radius(channel: Channel) -> AdditiveOptimum:
    """Gains of span at most 1 for each action, the worst prior: between the best prior found and a bound.

    Cost: O(inputs²·outputs), and a system of as many equations as inputs for each input that is used.
    """
    require_size(channel.shape[0], LARGEST_ROWS, "the inputs of the channel", "give a prior")
    table = channel.rounded()
    apart = cdist(table, table, "cityblock") / 2
    evenly = _evenly_far(apart)
    upper = float((2 * (apart @ evenly).max() - evenly @ apart @ evenly) * (1 + 1e-12))
    upper = min(upper, float(signed_capacity(channel)))
    uniform = np.full(len(table), 1 / len(table))
    climbed = [_climbed(table, start) for start in (evenly, uniform)]
    value, best = max(((float(spanning_capacity(channel, prior)), prior) for prior in climbed), key=_first)
    # Two sums of the same terms in another order are one number.
    gap = upper - value
    return AdditiveOptimum(value, gap if gap > CLOSE * upper else 0.0, best)


@spanning_radius.register
def _radius_of_response(channel: ResponseChannel) -> AdditiveOptimum:
    """Rows differ alike, so the uniform prior is the worst."""
    size = channel.shape[0]
    apart = row_distance(channel, 0, 1) if size > 1 else 0
    return AdditiveOptimum(apart * (1 - Fraction(1, size)), 0, None)


@spanning_radius.register
def _radius_of_program(channel: DeterministicChannel | PartitionChannel) -> AdditiveOptimum:
    """Every output equally likely."""
    return AdditiveOptimum(1 - Fraction(1, channel.shape[1]), 0, None)


def _first(found: tuple[float, FloatArray]) -> float:
    return found[0]


def _evenly_far(apart: FloatArray) -> FloatArray:
    """A distribution that maximises the mean distance of two draws: all that are drawn are equally far."""
    found = np.zeros(len(apart))
    found[list(np.unravel_index(int(apart.argmax()), apart.shape))] = 1.0
    found /= found.sum()
    for _ in range(20 * len(apart)):
        slope = apart @ found
        enters = int(slope.argmax())
        if slope[enters] <= found @ slope * (1 + 1e-13):
            break
        found = _balanced(apart, found, enters)
    return found


def _balanced(apart: FloatArray, found: FloatArray, enters: int) -> FloatArray:
    """The best distribution on the points in use and one more, as far as none becomes negative."""
    used = np.union1d(np.flatnonzero(found), [enters])
    current = found[used]
    while True:
        square = np.block([[apart[np.ix_(used, used)], -np.ones((len(used), 1))], [np.ones(len(used)), 0.0]])
        target = np.linalg.lstsq(square, np.append(np.zeros(len(used)), 1.0))[0][:-1]
        fall = current - target
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where((target < 0) & (fall > 0), current / fall, np.inf)
        step = min(1.0, float(reach.min()))
        current = np.maximum(current + step * (target - current), 0.0)
        if step == 1.0:
            break
        kept = np.arange(len(used)) != int(reach.argmin())
        used, current = used[kept], current[kept]
    result = np.zeros_like(found)
    result[used] = current / current.sum()
    return result


def _climbed(table: FloatArray, start: FloatArray) -> FloatArray:
    """A prior near one at which what spanning gains learn is no less: steps along its slope that help."""
    best, value, rate = start, _learned(table, start)[0], 1.0
    for _ in range(CLIMBS):
        slope = _learned(table, best)[1]
        moved = best * np.exp(rate * (slope - best @ slope))
        moved /= moved.sum()
        found = _learned(table, moved)[0]
        if found > value:
            best, value, rate = moved, found, 2 * rate
        else:
            rate /= 4
        if rate < 1e-12:
            break
    return _exchanged(table, best) if len(best) <= FEW else best


def _exchanged(table: FloatArray, best: FloatArray) -> FloatArray:
    """The sum has edges at which its slope leads nowhere: probability moved from one input to another."""
    value, share = _learned(table, best)[0], 0.25
    while share > SMALLEST_SHARE:
        # Row (x, z) moves what it may from x to z.
        moved = np.repeat(best[None], len(best) ** 2, axis=0)
        x, z = np.divmod(np.arange(len(moved)), len(best))
        amount = np.minimum(share, best[x])
        moved[np.arange(len(moved)), x] -= amount
        moved[np.arange(len(moved)), z] += amount
        found = [_learned(table, prior)[0] for prior in moved]
        k = int(np.argmax(found))
        if found[k] > value * (1 + 1e-15):
            best, value = moved[k], found[k]
        else:
            share /= 2
    return best


def _learned(table: FloatArray, prior: FloatArray) -> tuple[float, FloatArray]:
    """Σ_x π_x·TV(C_x, πC) and its slope in π: an output's mean excess over its own probability."""
    output = prior @ table
    above = table > output
    excess = np.where(above, table - output, 0.0)
    slope = excess.sum(axis=1) - table @ (prior @ above)
    return float(prior @ excess.sum(axis=1)), slope
