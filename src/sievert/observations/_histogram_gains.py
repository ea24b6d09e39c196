"""Gains about one record behind a histogram: every class of values has a likelihood ratio of its own.

The ratios ρ_c are independent, and an action is worth Σ_c w_c·ρ_c. Tries add up the largest; blocks of a
partition are independent sums; windows of neighbouring cells are followed from left to right; of two actions
only the difference counts; few cells are listed. What is left is enclosed: by the best single cell, by as
many tries as an action has cells, by the capacity.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.measures import GainFunction, GainMatrix, Identity, Tries, WithinRadius
from sievert.observations._cell_windows import largest_window
from sievert.observations._contribution_classes import (
    BY_CAPACITY,
    BY_CLASS,
    ContributionClasses,
    Found,
    class_weights,
    prior_value,
    value_given_class,
)
from sievert.observations._max_of_ratios import LARGEST_LOG, Enclosed, Weights, largest, top, top_of_kinds
from sievert.observations._neighbour_chains import equal_windows, longest_windows, runs_of_ones
from sievert.observations._ratios import LikelihoodRatioLaw
from sievert.observations._sum_of_ratios import SumLaw, expected_excess, expected_maximum, weighted_sum

__all__ = ["histogram_gain"]

RATIOS = "exact: by the likelihood ratios of independent cells"
ROUNDED = "enclosed: beliefs rounded together and apart"
SUMS = "enclosed: sums of likelihood ratios rounded in convex order"
LISTED = "exact: every combination of ratios"
FOLLOWED = "enclosed: windows followed from cell to cell, ratios rounded in convex order"
SINGLE = "bound: as many tries as an action has cells"
# Entries of the list of all combinations of ratios.
LARGEST_LIST = 4_000_000


@singledispatch
def histogram_gain(
    adversary: GainFunction, classes: ContributionClasses, ratios: LikelihoodRatioLaw
) -> Found:
    """Any other: by a list where that is short, else between what is known before and what is told."""
    listed = _listed(adversary, classes, ratios)
    if listed is not None:
        return Found.exactly(listed, LISTED)
    ends = sorted([prior_value(adversary, classes.belief), value_given_class(adversary, classes)])
    return Found(Enclosed(*ends), BY_CLASS)


@histogram_gain.register
def _identity(adversary: Identity, classes: ContributionClasses, ratios: LikelihoodRatioLaw) -> Found:
    return _named(_guess(classes, ratios))


def _guess(classes: ContributionClasses, ratios: LikelihoodRatioLaw) -> Enclosed:
    """The likeliest value of the class whose belief times ratio is largest."""
    other, weights = classes.guessed
    return largest(ratios, weights, other)


@histogram_gain.register
def _tries(adversary: Tries, classes: ContributionClasses, ratios: LikelihoodRatioLaw) -> Found:
    """Where each class has m values of one belief, j·m + r tries are m - r times j cells, r times j + 1."""
    sizes = np.bincount(classes.place, classes.belief > 0, len(classes.cell))[classes.possible]
    even = np.allclose(
        classes.total[classes.possible], sizes * classes.likeliest[classes.possible], rtol=1e-14
    )
    tries = min(int(adversary.tries), len(classes.belief))
    if even and (sizes == sizes[0]).all():
        other, weights = classes.guessed
        whole, rest = divmod(tries, int(sizes[0]))
        parts = [top(ratios, weights, whole, other)] if whole else [Enclosed(0.0, 0.0)]
        parts += [top(ratios, weights, whole + 1, other)] if rest else [parts[0]]
        share = (int(sizes[0]) - rest, rest)
        return _named(
            Enclosed(
                sum(s * part.lower for s, part in zip(share, parts, strict=True)),
                sum(s * part.upper for s, part in zip(share, parts, strict=True)),
            )
        )
    kinds, still = _kinds(classes)
    several = top_of_kinds(ratios, kinds, tries, still)
    if several is not None:
        return Found.exactly(several, RATIOS)
    before, lower = prior_value(adversary, classes.belief), _guess(classes, ratios).lower
    found = Found(Enclosed(max(before, lower), value_given_class(adversary, classes)), BY_CLASS)
    return found.least(before * _capacity(classes, ratios), BY_CAPACITY)


def _kinds(classes: ContributionClasses) -> tuple[list[tuple[FloatArray, int]], FloatArray]:
    """Beliefs of the values of each cell, falling, with the number of cells alike; and those in no cell."""
    order = np.lexsort((-classes.belief, classes.place))
    order = order[classes.belief[order] > 0]
    starts = np.flatnonzero(np.diff(classes.place[order], prepend=-1))
    counts: dict[bytes, list[FloatArray]] = {}
    other = np.zeros(0)
    for cell, beliefs in zip(
        classes.place[order[starts]], np.split(classes.belief[order], starts[1:]), strict=True
    ):
        if classes.amount[cell] == 0:
            other = beliefs
        else:
            counts.setdefault(beliefs.tobytes(), []).append(beliefs)
    return [(alike[0], len(alike)) for alike in counts.values()], other


@histogram_gain.register
def _windows(adversary: WithinRadius, classes: ContributionClasses, ratios: LikelihoodRatioLaw) -> Found:
    """Values in cells of their own, all of them possible, are followed from left to right."""
    beliefs = classes.belief[adversary.order]
    alone = len(classes.cell) == len(beliefs) and (classes.amount != 0).all()
    before, limit = prior_value(adversary, classes.belief), value_given_class(adversary, classes)
    ends = longest_windows(*adversary.ends)
    found = _followed(beliefs, *ends, ratios) if alone and (beliefs > 0).all() else None
    most = int((adversary.ends[1] - adversary.ends[0]).max())
    return _between(
        found or _of_cells(classes.likeliest, most, classes, ratios), before, limit, classes, ratios
    )


def _followed(
    beliefs: FloatArray, starts: IntArray, stops: IntArray, ratios: LikelihoodRatioLaw
) -> Found | None:
    """The largest window of cells; None where windows differ, or it is not known."""
    width = equal_windows(starts, stops)
    found = None if width is None else largest_window(ratios, beliefs, width)
    return None if found is None else _named(found, FOLLOWED)


def _between(
    found: Found, before: float, limit: float, classes: ContributionClasses, ratios: LikelihoodRatioLaw
) -> Found:
    """No less than before, no more than somebody gains who is told, or than the capacity allows."""
    found = found.least(limit, BY_CLASS)
    lower, upper = (min(max(end, before), limit) for end in (found.bounds.lower, found.bounds.upper))
    found = Found(Enclosed(lower, upper), found.method)
    return found.least(before * _capacity(classes, ratios), BY_CAPACITY)


@histogram_gain.register
def _matrix(adversary: GainMatrix, classes: ContributionClasses, ratios: LikelihoodRatioLaw) -> Found:
    table = np.asarray(adversary.table, dtype=np.float64)
    table = -table if adversary.is_loss else table
    # Gains that are never negative, for a constant that every action gets.
    shift = min(float(table.min()), 0.0)
    weights = class_weights(table - shift, classes)
    found = _of_weights(weights, classes, ratios)
    lower, upper = found.bounds.lower + shift, found.bounds.upper + shift
    ends = Enclosed(-upper, -lower) if adversary.is_loss else Enclosed(lower, upper)
    return Found(ends, found.method)


def _of_weights(weights: FloatArray, classes: ContributionClasses, ratios: LikelihoodRatioLaw) -> Found:
    """E max over actions of Σ_c w_c·ρ_c, no weight being negative."""
    moved = classes.amount[classes.possible] != 0
    fixed, free = weights[:, ~moved].sum(axis=1), weights[:, moved]
    if len(weights) == 1:
        return Found.exactly(float(weights.sum()), RATIOS)
    single = _single(weights, classes, ratios)
    finite = float(ratios.trimmed().logs[-1]) < LARGEST_LOG and not ratios.hidden
    found = None
    if finite and ((free > 0).sum(axis=0) <= 1).all():
        found = _blocks(free, fixed, ratios)
    elif finite and len(weights) == 2:
        found = _difference(free, fixed, ratios)
    elif (listed := _list(free, fixed, ratios)) is not None:
        return Found.exactly(listed, LISTED)
    elif moved.all() and (ends := _neighbours(free)) is not None:
        found = _followed(free.max(axis=0), *ends, ratios)
    if found is None:
        found = single
    elif not found.bounds.exact:
        lower = min(max(found.bounds.lower, single.bounds.lower), found.bounds.upper)
        found = Found(Enclosed(lower, found.bounds.upper), found.method).least(single.bounds.upper, SINGLE)
    before, limit = float(weights.sum(axis=1).max()), float(weights.max(axis=0).sum())
    return _between(found, before, limit, classes, ratios)


def _neighbours(free: FloatArray) -> tuple[IntArray, IntArray] | None:
    """Starts and stops of actions that gain alike on a run of cells, the longest of them; else None."""
    top = free.max(axis=0)
    if not ((free == 0) | (free == top)).all() or not (top > 0).all():
        return None
    ends = runs_of_ones((free > 0).astype(np.float64))
    return None if ends is None else longest_windows(*ends)


def _blocks(free: FloatArray, fixed: FloatArray, ratios: LikelihoodRatioLaw) -> Found:
    """Independent sums; blocks of the same beliefs are alike."""
    kinds: dict[bytes, tuple[Weights, float, int]] = {}
    for row, constant in zip(free, fixed, strict=True):
        block = Weights.of(row)
        key = block.values.tobytes() + block.counts.tobytes() + np.float64(constant).tobytes()
        kinds[key] = (block, float(constant), kinds.get(key, (block, 0.0, 0))[2] + 1)
    laws = [
        (weighted_sum(ratios, block).plus(SumLaw.constant(constant)), count)
        for block, constant, count in kinds.values()
    ]
    return _named(expected_maximum(laws), SUMS)


def _difference(free: FloatArray, fixed: FloatArray, ratios: LikelihoodRatioLaw) -> Found:
    """max(a, b) = b + max(0, a - b), and E b is known."""
    gap = free[0] - free[1]
    law = weighted_sum(ratios, Weights.of(gap)).plus(weighted_sum(ratios, Weights.of(-gap), -1.0))
    found = expected_excess(law.plus(SumLaw.constant(float(fixed[0] - fixed[1]))))
    base = float(free[1].sum() + fixed[1])
    return _named(Enclosed(base + found.lower, base + found.upper), SUMS)


def _single(weights: FloatArray, classes: ContributionClasses, ratios: LikelihoodRatioLaw) -> Found:
    """The best cell alone, and as many best cells as an action has."""
    best = np.zeros(len(classes.cell))
    best[classes.possible] = weights.max(axis=0)
    return _of_cells(best, int((weights > 0).sum(axis=1).max()), classes, ratios)


def _of_cells(best: FloatArray, most: int, classes: ContributionClasses, ratios: LikelihoodRatioLaw) -> Found:
    """What one cell of all is worth at most, and so many of them."""
    other, alone = classes.split(best)
    return Found(Enclosed(largest(ratios, alone, other).lower, top(ratios, alone, most, other).upper), SINGLE)


def _capacity(classes: ContributionClasses, ratios: LikelihoodRatioLaw) -> float:
    """Σ over outputs of the largest likelihood: E max_c ρ_c."""
    other, ones = classes.split((classes.likeliest > 0).astype(np.float64))
    return largest(ratios, ones, other).upper


def _named(found: Enclosed, otherwise: str = ROUNDED) -> Found:
    return Found(found, RATIOS if found.exact else otherwise)


def _listed(
    adversary: GainFunction, classes: ContributionClasses, ratios: LikelihoodRatioLaw
) -> float | None:
    """The value of every combination of ratios; None where there are too many."""
    columns = classes.columns() if len(classes.belief) <= LARGEST_LIST else np.zeros((0, 0))
    moved = classes.amount[classes.possible] != 0
    combinations = _combinations(int(moved.sum()), len(classes.belief), ratios)
    if combinations is None or not len(columns):
        return None
    shown, log_chance = combinations
    factors = np.ones((len(classes.possible), len(log_chance)))
    factors[moved] = np.exp(shown + log_chance)
    factors[~moved] = np.exp(log_chance)
    joint = columns @ factors
    return float(adversary.values(joint).sum()) + ratios.shown * value_given_class(adversary, classes)


def _list(free: FloatArray, fixed: FloatArray, ratios: LikelihoodRatioLaw) -> float | None:
    combinations = _combinations(free.shape[1], len(free), ratios)
    if combinations is None:
        return None
    shown, log_chance = combinations
    scores = free @ np.exp(shown + log_chance) + fixed[:, None] * np.exp(log_chance)
    certain = float(free.max(axis=0).sum()) * ratios.shown
    return float(scores.max(axis=0).sum()) + certain


def _combinations(cells: int, rows: int, ratios: LikelihoodRatioLaw) -> tuple[FloatArray, FloatArray] | None:
    """Log-ratios [cell, combination] and ln of their chance under "nobody"."""
    law = ratios.trimmed()
    if cells * math.log(max(2, len(law.logs))) > math.log(LARGEST_LIST / max(rows, cells, 1)):
        return None
    if ratios.hidden:
        return None
    places = np.indices((len(law.logs),) * cells).reshape(cells, -1)
    return law.logs[places], law.log_pmf[places].sum(axis=0)
