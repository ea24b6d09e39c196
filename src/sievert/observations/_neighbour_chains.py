"""Windows of neighbouring values on a line, one after the other: how much the best of them is believed.

For windows W_1, W_2, … no value exceeds S(W_1) + Σ_i (S(W_{i+1}) - S(W_i))⁺, and from one window to the next
one value leaves and another enters, so that each term compares two values alone. Two values have a known
likelihood ratio after any number of releases; hence a bound on the best window of all. After one release of
noise that falls away from 0, with equal beliefs, the differences change their sign once, in the order of the
windows, and the bound is the gain itself.
"""

from __future__ import annotations

import math

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.channels import NoiseLaw
from sievert.errors import TooLargeError
from sievert.observations._ratios import LikelihoodRatioLaw, likelihood_ratio_upper

__all__ = [
    "best_value",
    "chain_bound",
    "equal_windows",
    "excess",
    "longest_windows",
    "runs_of_ones",
    "total_variation",
]

# Distances of two values whose ratios are followed.
MOST_GAPS = 64
# Noise that is added up one by one.
LARGEST_SUM = 5_000_000
# Relative error of a sum of rounded terms, by which a bound is raised.
ROUNDING = 1e-12


def longest_windows(starts: IntArray, stops: IntArray) -> tuple[IntArray, IntArray]:
    """Without the windows [start, stop) that lie inside another, for ends that never decrease."""
    stops = stops.astype(np.int64)
    kept = np.concatenate([[True], np.diff(stops) > 0])
    # Of windows that end together the first is the longest; of those that begin together, the last.
    starts, stops = starts[kept].astype(np.int64), stops[kept]
    last = np.concatenate([np.diff(starts) > 0, [True]])
    return starts[last], stops[last]


def equal_windows(starts: IntArray, stops: IntArray) -> int | None:
    """How many values every window has, where each is the one before it moved by a value; else None."""
    if not len(starts) or (np.diff(starts) != 1).any() or (np.diff(stops) != 1).any():
        return None
    return int(stops[0] - starts[0])


def chain_bound(
    law: NoiseLaw,
    releases: int,
    amounts: IntArray,
    beliefs: FloatArray,
    starts: IntArray,
    stops: IntArray,
) -> float | None:
    """At most how well the best window of values [start, stop) is guessed; None where it takes too long.

    Parameters
    ----------
    law : of the noise
    releases : how many
    amounts, beliefs : of the values, from left to right
    starts, stops : windows, both increasing
    """
    total = float(beliefs[starts[0] : stops[0]].sum())
    leaving, entering, alone = _exchanged(starts, stops)
    total += float(beliefs[alone].sum())
    gaps = np.abs(amounts[entering] - amounts[leaving])
    found = _excess(law, releases, gaps, beliefs[leaving], beliefs[entering])
    return None if found is None else (total + float(found.sum())) * (1 + ROUNDING)


def best_value(law: NoiseLaw, releases: int, amounts: IntArray, beliefs: FloatArray) -> float | None:
    """At most how well the best value is guessed: windows of one value, from the likeliest one outwards.

    A value may be compared with any other on the way, not only with its neighbour: behind a valley of beliefs
    the nearest that is at least as likely leaves less.
    """
    if (beliefs == beliefs[0]).all():
        each = np.arange(len(amounts))
        return chain_bound(law, releases, amounts, beliefs, each, each + 1)
    top = int(np.argmax(beliefs))
    place = np.delete(np.arange(len(amounts)), top)
    beside = np.where(place < top, place + 1, place - 1)
    higher = np.concatenate(
        [top - _nearest_higher(beliefs[: top + 1][::-1]), top + _nearest_higher(beliefs[top:])]
    )[np.argsort(np.concatenate([top - np.arange(1, top + 1), np.arange(top + 1, len(amounts))]))]
    least = None
    for other in (beside, higher):
        gaps = np.abs(amounts[place] - amounts[other])
        found = _excess(law, releases, gaps, beliefs[other], beliefs[place])
        if found is not None:
            least = found if least is None else np.minimum(least, found)
    return None if least is None else (float(beliefs[top]) + float(least.sum())) * (1 + ROUNDING)


def _nearest_higher(beliefs: FloatArray) -> IntArray:
    """For each but the first, which none exceeds: the last before it that is at least as high."""
    found, waiting, heights = [], [0], beliefs.tolist()
    for place in range(1, len(heights)):
        while heights[waiting[-1]] < heights[place]:
            waiting.pop()
        found.append(waiting[-1])
        waiting.append(place)
    return np.array(found, dtype=np.int64)


def _exchanged(starts: IntArray, stops: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Values that leave and enter from window to window, in pairs; and values that enter alone."""
    out, into = np.diff(starts), np.diff(stops)
    leaving, entering = np.arange(starts[0], starts[-1]), np.arange(stops[0], stops[-1])
    step_out, step_in = np.repeat(np.arange(len(out)), out), np.repeat(np.arange(len(into)), into)
    rank_out = leaving - starts[:-1][step_out]
    rank_in = entering - stops[:-1][step_in]
    both = np.minimum(out, into)
    paired_in = rank_in < both[step_in]
    return leaving[rank_out < both[step_out]], entering[paired_in], entering[~paired_in]


def _excess(
    law: NoiseLaw, releases: int, gaps: IntArray, first: FloatArray, second: FloatArray
) -> FloatArray | None:
    """Σ_y (b·p(y - x') - a·p(y - x))⁺ of every pair."""
    distances, place = np.unique(gaps, return_inverse=True)
    if len(distances) > MOST_GAPS:
        return None
    found = np.empty(len(gaps))
    for i, distance in enumerate(distances.tolist()):
        here = np.flatnonzero(place == i)
        try:
            ratios = likelihood_ratio_upper(law, distance, releases)
        except TooLargeError:
            return None
        found[here] = excess(ratios, first[here], second[here])
    return found


def excess(ratios: LikelihoodRatioLaw, first: FloatArray, second: FloatArray) -> FloatArray:
    """E (b·ρ - a)⁺ for every pair, or a little more.

    What a law lacks of probability 1, where long convolutions lose their far ends, counts in full; or else
    E (b·ρ - a)⁺ = b - E min(b·ρ, a), which what is lost only makes larger.
    """
    there, nobody = np.exp(ratios.log_shown), np.exp(ratios.log_pmf)
    lost = max(0.0, 1 - float(there.sum()) - ratios.shown)
    if (first == first[0]).all() and (second == second[0]).all():
        # No difference of sums: where they are next to each other, none of its digits is lost.
        log_odds = ratios.logs + math.log(second[0]) - math.log(first[0])
        gained = float((there * -np.expm1(-np.maximum(log_odds, 0.0))).sum()) + ratios.shown + lost
        both = float(np.minimum(there, nobody * (first[0] / second[0])).sum())
        return second * min(gained, max(0.0, 1 - both))
    place = np.searchsorted(ratios.logs, np.log(first) - np.log(second), side="right")
    above = np.append(np.cumsum(nobody[::-1])[::-1], 0.0)[place]
    shown = np.append(np.cumsum(there[::-1])[::-1], 0.0)[place] + ratios.shown + lost
    below = np.append(0.0, np.cumsum(there))[place]
    return np.asarray(np.maximum(second * np.minimum(shown, 1 - below) - first * above, 0.0))


def total_variation(law: NoiseLaw, gaps: IntArray) -> FloatArray:
    """Total variation of noise around two places so far apart: the noise nearest to 0, so many of it."""
    left, right = np.maximum(gaps - 1, 0) // 2, gaps // 2
    furthest = int(right.max(initial=0))
    if furthest > LARGEST_SUM:
        upper = [np.exp(law.log_upper(np.asarray(side + 1.0, dtype=np.float64))) for side in (left, right)]
        return np.where(gaps > 0, 1 - upper[0] - upper[1], 0.0)
    chances = np.exp(law.log_pmf(np.arange(furthest + 1.0)))
    upto = np.concatenate([[0.0], np.cumsum(chances[1:])])
    return np.where(gaps > 0, chances[0] + upto[left] + upto[right], 0.0)


def runs_of_ones(table: FloatArray) -> tuple[IntArray, IntArray] | None:
    """Starts and stops, neither decreasing, of rows that are 1 on a run of columns and else 0; else None."""
    if not ((table == 0) | (table == 1)).all():
        return None
    edges = np.diff(np.pad(table, ((0, 0), (1, 1))), axis=1)
    if ((edges == 1).sum(axis=1) != 1).any():
        return None
    starts, stops = (edges == 1).argmax(axis=1), (edges == -1).argmax(axis=1)
    order = np.lexsort((stops, starts))
    starts, stops = starts[order], np.maximum.accumulate(stops[order])
    return starts, stops
