"""Gains about one record behind one number after one release.

All outputs are walked where they are few, or every action's belief in one pass of a recursive filter for
geometric noise. Equally likely values are guessed by the nearest ones; windows, tries, medians and
uncertainties of long lines have passes of their own.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.channels import GeometricLaw, NoiseLaw
from sievert.measures import (
    Closeness,
    GainFunction,
    GainMatrix,
    Guessing,
    Identity,
    Shannon,
    Tries,
    WithinRadius,
    envelope_mass,
    top_mass,
)
from sievert.observations._contribution_classes import (
    BY_CAPACITY,
    BY_CLASS,
    Found,
    class_weights,
    prior_value,
    value_given_class,
)
from sievert.observations._line_losses import (
    Faded,
    distance_to_median,
    even_distance,
    even_guesses,
    output_entropy,
)
from sievert.observations._line_windows import windowed_mass
from sievert.observations._max_of_ratios import Enclosed
from sievert.observations._neighbour_chains import longest_windows, total_variation
from sievert.observations._scalar_grid import Line, seen_windows

__all__ = ["BLOCK", "BY_GUESS", "by_guess", "gain_after_one_release"]

ENVELOPE = "exact: the upper envelope of the noise at every amount"
WALKED = "exact: every output"
BY_GUESS = "bound: by the best guess"
MEDIAN = "exact: the median of the belief at every output"
ENTROPY = "exact: the uncertainty of the output less that of the noise"
NEAREST = "exact: the values nearest to the output"
RANKED = "exact: the likeliest values on either side of every output"
# Numbers that a walk over the outputs looks at, and outputs of a filter.
LARGEST_WALK = 200_000_000
LARGEST_FILTER = 50_000_000
# Values times tries that are ranked.
LARGEST_RANKING = 50_000_000
# Outputs that are added up.
LARGEST_FOLLOWED = 20_000_000
# Outputs and windows that are searched.
LARGEST_SEARCH = 5_000_000
BLOCK = 4_000_000
# A filter's blocks hold ratios up to e^this.
LARGEST_EXPONENT = 500.0


@singledispatch
def gain_after_one_release(adversary: GainFunction, line: Line) -> Found:
    """One release."""
    return _over_outputs(adversary, line)


def _over_outputs(adversary: GainFunction, line: Line) -> Found:
    """Any adversary over all outputs, else between what is known before and what is told."""
    if len(line.classes.belief) * line.outputs <= LARGEST_WALK:
        return Found.exactly(_walked(adversary, line), WALKED)
    before, limit = prior_value(adversary, line.classes.belief), value_given_class(adversary, line.classes)
    if adversary.is_loss:
        return Found(Enclosed(limit, before), BY_CLASS)
    return Found(Enclosed(before, limit), BY_CLASS).least(before * line.growth, BY_CAPACITY)


@gain_after_one_release.register
def _identity(adversary: Identity, line: Line) -> Found:
    return Found.exactly(envelope_mass(line.law, line.places, np.log(line.beliefs)), ENVELOPE)


@gain_after_one_release.register
def _windows(adversary: WithinRadius, line: Line) -> Found:
    """By the windows between those of two outputs, where amounts lie in the order of the values."""
    law = line.law
    amounts, beliefs, starts, stops = seen_windows(adversary, line)
    falling = bool((np.diff(amounts) <= 0).all())
    amounts = -amounts if falling else amounts
    if not (np.diff(amounts) >= 0).all():
        return _over_outputs(adversary, line)
    if line.is_uniform:
        found = _nearest(law, amounts, *longest_windows(starts, stops))
        if found is not None:
            return Found.exactly(float(beliefs[0]) * found, NEAREST)
    is_short = line.outputs + len(line.classes.belief) <= LARGEST_SEARCH
    if not (is_short and isinstance(law, GeometricLaw) and law.level.eps > 0):
        return _over_outputs(adversary, line)
    return Found.exactly(windowed_mass(law.level.eps, amounts, beliefs, starts, stops), WALKED)


def _nearest(law: NoiseLaw, amounts: IntArray, starts: IntArray, stops: IntArray) -> float | None:
    """Σ_y of the largest window, in units of one value's belief, where each has one value more and one less.

    Of two windows next to each other the one whose own value is nearer to the output is better, and from
    output to output the better ones move one way: the chain of windows is the maximum itself.
    """
    if ((np.diff(starts) != 1) | (np.diff(stops) != 1)).any():
        return None
    apart = total_variation(law, amounts[stops[:-1]] - amounts[starts[:-1]])
    return float(stops[0] - starts[0]) + float(apart.sum())


@gain_after_one_release.register
def _tries(adversary: Tries, line: Line) -> Found:
    """The nearest values where all are equally likely; else the likeliest on either side of an output."""
    order, law = line.by_amount, line.law
    amounts, tries = line.classes.amount[line.classes.place[order]], min(int(adversary.tries), len(order))
    beliefs = line.classes.belief[order]
    starts = np.arange(len(order) - tries + 1)
    if line.is_uniform and (found := _nearest(law, amounts, starts, starts + tries)) is not None:
        return Found.exactly(float(beliefs[0]) * found, NEAREST)
    is_short = len(order) * tries <= LARGEST_RANKING
    if is_short and isinstance(law, GeometricLaw) and law.level.eps > 0:
        return Found.exactly(top_mass(law, amounts, np.log(beliefs), tries), RANKED)
    return _over_outputs(adversary, line)


def _is_plain(line: Line) -> bool:
    """Whether the values are equally likely and add 0, 1, 2, … but for a shift, and noise is followed."""
    inside = line.are_alone and line.is_uniform and bool((np.diff(line.places) == 1).all())
    return inside and line.outputs <= LARGEST_FOLLOWED


@gain_after_one_release.register
def _shannon(adversary: Shannon, line: Line) -> Found:
    if line.outputs > LARGEST_FOLLOWED:
        return _over_outputs(adversary, line)
    told_bits = output_entropy(line.law, line.places, line.classes.total[line.order])
    return Found.exactly(prior_value(adversary, line.classes.belief) - told_bits, ENTROPY)


@gain_after_one_release.register
def _guessing(adversary: Guessing, line: Line) -> Found:
    if _is_plain(line):
        return Found.exactly(float(line.beliefs[0]) * even_guesses(line.law, len(line.places)), NEAREST)
    found = _over_outputs(adversary, line)
    return (
        found
        if found.bounds.exact
        else by_guess(found, gain_after_one_release(Identity(adversary.secrets), line))
    )


def by_guess(found: Found, guess: Found) -> Found:
    """A belief of at most p in each value needs (1 + 1/p)/2 guesses at least, which is convex in p."""
    least = (1 + 1 / guess.bounds.upper) / 2
    if least <= found.bounds.lower:
        return found
    return Found(Enclosed(min(least, found.bounds.upper), found.bounds.upper), BY_GUESS)


@gain_after_one_release.register
def _nearness(adversary: Closeness, line: Line) -> Found:
    law, order = line.law, line.by_amount
    positions = adversary.positions[order]
    ways = np.diff(positions)
    if line.are_alone and ((ways >= 0).all() or (ways <= 0).all()) and line.outputs <= LARGEST_FOLLOWED:
        if isinstance(law, GeometricLaw) and law.level.eps > 0:
            seen = Faded(law.level.eps, line.places, positions, line.beliefs)
            return Found.exactly(1 - distance_to_median(seen) / adversary.diameter, MEDIAN)
        if _is_plain(line) and np.ptp(np.abs(ways)) == 0:
            distance = even_distance(law, len(order)) * float(line.beliefs[0] * np.abs(ways[0]))
            return Found.exactly(1 - distance / adversary.diameter, MEDIAN)
    return _over_outputs(adversary, line)


@gain_after_one_release.register
def _matrix(adversary: GainMatrix, line: Line) -> Found:
    table = np.asarray(adversary.table, dtype=np.float64)
    table = -table if adversary.is_loss else table
    # Gains that are never negative, for a constant that every action gets.
    shift = min(float(table.min()), 0.0)
    weights = class_weights(table - shift, line.classes)
    order = np.argsort(line.classes.amount[line.classes.possible], kind="stable")
    found = _of_weights(weights[:, order], line)
    lower, upper = found.bounds.lower + shift, found.bounds.upper + shift
    return Found(Enclosed(-upper, -lower) if adversary.is_loss else Enclosed(lower, upper), found.method)


def _of_weights(weights: FloatArray, line: Line) -> Found:
    """Σ_y max over actions of Σ_x w_x·p(y - x)."""
    law = line.law
    is_short = len(weights) * line.outputs <= LARGEST_FILTER
    if is_short and isinstance(law, GeometricLaw) and law.level.eps > 0:
        return Found.exactly(_filtered(weights, line, law.level.eps), WALKED)
    if weights.size * line.outputs <= 10 * LARGEST_WALK:
        step = max(1, BLOCK // max(weights.shape))
        total = sum(
            float((weights @ line.likelihoods(start, min(start + step, line.outputs))).max(axis=0).sum())
            for start in range(0, line.outputs, step)
        )
        return Found.exactly(total, WALKED)
    before, limit = float(weights.sum(axis=1).max()), float(weights.max(axis=0).sum())
    return Found(Enclosed(before, limit), BY_CLASS).least(before * line.growth, BY_CAPACITY)


def _filtered(weights: FloatArray, line: Line, eps: float) -> float:
    """Sums of α^|y - x| over all x by two first-order recursions, and both tails, which are geometric."""
    alpha, size = math.exp(-eps), line.outputs
    best = np.zeros(size)
    for row in weights:
        spread = np.zeros(size)
        spread[line.places - line.places[0]] = row
        forward, backward = _faded(spread, eps), _faded(spread[::-1], eps)[::-1]
        # Each x itself is in one of the two only.
        np.maximum(best, forward + np.append(alpha * backward[1:], 0.0), out=best)
    tails = (best[0] + best[-1]) * alpha / -math.expm1(-eps)
    return math.tanh(eps / 2) * (float(best.sum()) + float(tails))


def _faded(weights: FloatArray, eps: float) -> FloatArray:
    """Σ_{j ≤ i} w_j·α^(i - j) for every i, in blocks in which no power of α overflows.

    Weights are never negative, so nothing is lost; from the block before the last one α^block < e^-500 is.
    """
    block = max(1, min(len(weights), math.ceil(LARGEST_EXPONENT / eps)))
    padded = np.zeros(-(-len(weights) // block) * block)
    padded[: len(weights)] = weights
    rows = padded.reshape(-1, block)
    powers = np.exp(-eps * np.arange(block))
    inside = np.cumsum(rows / powers, axis=1) * powers
    inside[1:] += inside[:-1, -1:] * (powers * math.exp(-eps))
    return np.asarray(inside.reshape(-1)[: len(weights)])


def _walked(adversary: GainFunction, line: Line) -> float:
    """The adversary's value at every output."""
    step, total = max(1, BLOCK // len(line.classes.belief)), 0.0
    for start in range(0, line.outputs, step):
        joint = line.joint(line.likelihoods(start, min(start + step, line.outputs)))
        total += float(adversary.values(joint).sum())
    return total
