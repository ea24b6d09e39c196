"""Gains about one record behind one number, a count or a sum, after any number of releases.

Two amounts have one likelihood ratio, however many releases there are; few amounts are listed by types;
Gaussian noise is told by its sum. Others are bounded, by windows of neighbouring values above all
(`_neighbour_chains`).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch

import numpy as np

from sievert.measures import (
    Closeness,
    GainFunction,
    GainMatrix,
    Guessing,
    Identity,
    Shannon,
    Tries,
    WithinRadius,
)
from sievert.observations._contribution_classes import BY_CLASS, Found, prior_value, value_given_class
from sievert.observations._max_of_ratios import Enclosed
from sievert.observations._neighbour_chains import (
    best_value,
    chain_bound,
    equal_windows,
    longest_windows,
    runs_of_ones,
)
from sievert.observations._ratios import likelihood_ratio_law
from sievert.observations._scalar_gains_once import BLOCK, BY_GUESS, by_guess, gain_after_one_release
from sievert.observations._scalar_grid import Line, seen_windows
from sievert.observations._types import TypeTable, types_of

__all__ = ["neighbours_named", "scalar_gain"]

PAIR = "exact: by the likelihood ratio of two amounts"
TYPES = "exact by types"
GROWTH = "bound: each further release multiplies a gain by at most the capacity"
REACH = "bound: no belief exceeds what ε allows after all releases"
CHAIN = "bound: values told from their neighbours, one after the other"
BY_INFORMATION = "bound: each release takes away no more bits than the first"
# Values whose beliefs are held against all others where a chain of neighbours bounds them too.
LARGEST_SPREAD = 20_000
# Entries of the list of types.
LARGEST_TYPES = 4_000_000


def scalar_gain(adversary: GainFunction, line: Line, releases: int) -> Found:
    """What the adversary gains after independent releases; the best guess, of which others make use, once."""
    if not isinstance(adversary, Identity):
        return _gained(adversary, line, releases)
    if releases not in line.guesses:
        line.guesses[releases] = _gained(adversary, line, releases)
    return line.guesses[releases]


def _gained(adversary: GainFunction, line: Line, releases: int) -> Found:
    if len(line.places) == 1 or line.law.eps_of(Fraction(1)) == 0:
        return Found.exactly(prior_value(adversary, line.classes.belief), PAIR)
    if releases == 1:
        return _known_once(adversary, line)
    if len(line.places) == 2:
        return _pair(adversary, line, releases)
    summed = line.summed(releases)
    found = None if summed is None else gain_after_one_release(adversary, summed)
    if found is not None and found.bounds.exact:
        return found
    return _listed(adversary, line, releases) or _bounded(adversary, line, releases, found)


def _pair(adversary: GainFunction, line: Line, releases: int) -> Found:
    """Two amounts: what somebody gains who is told, less what is lost at every ratio."""
    law = likelihood_ratio_law(line.law, int(line.places[1] - line.places[0]), releases)
    both = np.exp(np.stack([law.log_pmf, law.log_shown]))
    if isinstance(adversary, Identity):  # only the likeliest value of each amount is ever guessed
        likeliest = line.beliefs[:, None]
        return Found.exactly(float(likeliest.sum() - (likeliest * both).min(axis=0).sum()), PAIR)
    step, lost = max(1, BLOCK // len(line.classes.belief)), 0.0
    alone = adversary.values(line.joint(np.eye(2))).astype(np.float64)
    for start in range(0, len(law.logs), step):
        part = both[:, start : start + step]
        lost += float((alone @ part - adversary.values(line.joint(part))).sum())
    return Found.exactly(float(alone.sum()) - lost, PAIR)


def _listed(adversary: GainFunction, line: Line, releases: int) -> Found | None:
    """By types of a small channel; None where there are too many."""
    channel = line.channel()
    if channel is None:
        return None
    reduced = channel.reduced()
    if releases > LARGEST_TYPES:
        return None
    if types_of(reduced.shape[1], releases) * max(len(line.places), reduced.shape[1]) > LARGEST_TYPES:
        return None
    blocks = TypeTable(reduced.log_matrix, releases).blocks(releases)
    total = sum(float(adversary.values(line.joint(np.exp(logs))).sum()) for _, logs in blocks)
    return Found.exactly(total, TYPES)


def _bounded(adversary: GainFunction, line: Line, releases: int, known: Found | None) -> Found:
    """Between one release and what is certain after many, or what is known already."""
    once, limit = _known_once(adversary, line).bounds, value_given_class(adversary, line.classes)
    if adversary.is_loss:
        found = Found(Enclosed(min(limit, once.lower), once.upper), BY_CLASS)
        if known is not None and known.bounds.lower > found.bounds.lower:
            found = known
        return _least_loss(adversary, line, releases, found, once)
    found = Found(Enclosed(once.lower, max(limit, once.lower)), BY_CLASS)
    if known is not None:
        lower = max(once.lower, known.bounds.lower)
        found = Found(Enclosed(lower, max(limit, lower)), BY_CLASS).least(known.bounds.upper, known.method)
    if _is_never_negative(adversary) and once.upper > 0:
        nats = math.log(once.upper) + (releases - 1) * math.log(line.growth)
        found = found.least(math.exp(min(nats, 700.0)), GROWTH)
    chain = _chain(adversary, line, releases)
    if isinstance(adversary, Identity) and (chain is None or len(line.places) <= LARGEST_SPREAD):
        found = found.least(float((line.beliefs / line.spread(releases)).max()), REACH)
    return found if chain is None else found.least(max(chain, once.lower), CHAIN)


def _known_once(adversary: GainFunction, line: Line) -> Found:
    """After one release; kept, since what is certain after many begins with it."""
    key = id(adversary)
    if key not in line.onces:
        line.onces[key] = (adversary, gain_after_one_release(adversary, line))
    return line.onces[key][1]


@singledispatch
def _least_loss(adversary: GainFunction, line: Line, releases: int, found: Found, once: Enclosed) -> Found:
    """At least what is lost after all releases."""
    return found


@_least_loss.register
def _least_bits(adversary: Shannon, line: Line, releases: int, found: Found, once: Enclosed) -> Found:
    """I(X; Y₁…Yₙ) ≤ n·I(X; Y) for independent releases of one record; or by the best guess."""
    before = prior_value(adversary, line.classes.belief)
    least = before - releases * (before - once.lower)
    # A belief of at most p in each value is uncertain by log2(1/p) bits at least, which is convex in p.
    guess = scalar_gain(Identity(adversary.secrets), line, releases).bounds.upper
    bound = max((least, BY_INFORMATION), (-math.log2(guess), BY_GUESS))
    if bound[0] <= found.bounds.lower:
        return found
    return Found(Enclosed(min(bound[0], found.bounds.upper), found.bounds.upper), bound[1])


@_least_loss.register
def _least_guesses(adversary: Guessing, line: Line, releases: int, found: Found, once: Enclosed) -> Found:
    return by_guess(found, scalar_gain(Identity(adversary.secrets), line, releases))


@singledispatch
def _chain(adversary: GainFunction, line: Line, releases: int) -> float | None:
    """By windows of neighbouring values; None where the adversary has none."""
    return None


@_chain.register
def _chain_of_values(adversary: Identity, line: Line, releases: int) -> float | None:
    return best_value(line.law, releases, line.places, line.beliefs)


@_chain.register
def _chain_of_tries(adversary: Tries, line: Line, releases: int) -> float | None:
    """Equally likely values fall away from the likeliest, so that the few best ones lie together.

    Where they need not, no try is better than the first.
    """
    order, tries = line.by_amount, min(int(adversary.tries), len(line.by_amount))
    if not (line.is_uniform and line.law.is_log_concave):
        first = best_value(line.law, releases, line.places, line.beliefs)
        return None if first is None else tries * first
    amounts = line.classes.amount[line.classes.place[order]]
    starts = np.arange(len(order) - tries + 1)
    return chain_bound(line.law, releases, amounts, line.classes.belief[order], starts, starts + tries)


@_chain.register
def _chain_of_windows(adversary: WithinRadius, line: Line, releases: int) -> float | None:
    amounts, beliefs, starts, stops = seen_windows(adversary, line)
    return chain_bound(line.law, releases, amounts, beliefs, *longest_windows(starts, stops))


@_chain.register
def _chain_of_distances(adversary: Closeness, line: Line, releases: int) -> float | None:
    """The mean distance of a guess is ∫ P(further than r) dr, and nobody guesses better within r."""
    if not (line.is_even and line.are_alone):
        return None
    positions = np.sort(adversary.positions)
    lost, before = 0.0, 0
    for step in (1, 4, 16, 64, 256, 1024, 4096, 16384):
        # A guess within less than `step` values names 2·step - 1 of them.
        width = 2 * step - 1
        if width >= len(positions):
            break
        starts = np.arange(len(positions) - width + 1)
        found = chain_bound(line.law, releases, line.places, line.beliefs, starts, starts + width)
        if found is None or found >= 1:
            continue
        # Whoever is further off than that is off by `step` values at least.
        lost += (1 - found) * (step - before) * float(np.diff(positions).min())
        before = step
    return 1 - lost / adversary.diameter


@_chain.register
def _chain_of_rows(adversary: GainMatrix, line: Line, releases: int) -> float | None:
    """Rows of ones on neighbouring values are windows."""
    table = np.asarray(adversary.table, dtype=np.float64)[:, line.by_amount]
    ends = None if adversary.is_loss else runs_of_ones(table)
    if ends is None:
        return None
    amounts = line.classes.amount[line.classes.place[line.by_amount]]
    return chain_bound(
        line.law, releases, amounts, line.classes.belief[line.by_amount], *longest_windows(*ends)
    )


@singledispatch
def neighbours_named(adversary: GainFunction, line: Line) -> int | None:
    """How many neighbouring values an action names, on a line where they are equally likely; None: no run."""
    return None


@neighbours_named.register
def _one_named(adversary: Identity, line: Line) -> int | None:
    return 1


@neighbours_named.register
def _several_named(adversary: Tries, line: Line) -> int | None:
    return min(int(adversary.tries), len(line.places))


@neighbours_named.register
def _window_named(adversary: WithinRadius, line: Line) -> int | None:
    amounts, _, starts, stops = seen_windows(adversary, line)
    rises = np.diff(amounts)
    return equal_windows(*longest_windows(starts, stops)) if (rises > 0).all() or (rises < 0).all() else None


@neighbours_named.register
def _run_named(adversary: GainMatrix, line: Line) -> int | None:
    ends = None if adversary.is_loss else runs_of_ones(np.asarray(adversary.table)[:, line.by_amount])
    return None if ends is None else equal_windows(*longest_windows(*ends))


def _is_never_negative(adversary: GainFunction) -> bool:
    bounds = adversary.bounds()
    return bounds is not None and bounds[0] >= 0
