"""Gains about one record behind one number: a count or a sum.

Values lie on a line at the amounts that they add. After one release the outputs are walked: all of them where
they are few, or every action's belief in one pass of a recursive filter for geometric noise. Two amounts have
one likelihood ratio, however many releases there are; few amounts are listed by types; Gaussian noise is told
by its sum. Others are bounded, by windows of neighbouring values above all (`_line_chains`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, singledispatch

import numpy as np

from sievert.arrays import FloatArray, IntArray
from sievert.channels import Channel, GeometricLaw, NoiseLaw
from sievert.measures import (
    Adversary,
    Guessing,
    Identity,
    MatrixAdversary,
    Nearness,
    Shannon,
    Tries,
    Windows,
    envelope_mass,
    top_mass,
)
from sievert.observations._gain_bounds import (
    BY_CAPACITY,
    BY_CLASS,
    Classes,
    Found,
    class_weights,
    told,
    worth,
)
from sievert.observations._largest import Enclosed
from sievert.observations._line_chains import (
    best_value,
    chained,
    equal_windows,
    longest_windows,
    runs_of_ones,
    told_apart,
)
from sievert.observations._line_losses import (
    Faded,
    distance_to_median,
    even_distance,
    even_guesses,
    output_entropy,
)
from sievert.observations._line_windows import windowed_mass
from sievert.observations._ratios import ratios_after
from sievert.observations._summed_noise import law_of_sum
from sievert.observations._types import TypeTable, types_of

__all__ = ["Line", "gained_on_line", "neighbours_named"]

ENVELOPE = "exact: the upper envelope of the noise at every amount"
WALKED = "exact: every output"
PAIR = "exact: by the likelihood ratio of two amounts"
TYPES = "exact by types"
GROWTH = "bound: each further release multiplies a gain by at most the capacity"
REACH = "bound: no belief exceeds what ε allows after all releases"
CHAIN = "bound: values told from their neighbours, one after the other"
BY_GUESS = "bound: by the best guess"
BY_INFORMATION = "bound: each release takes away no more bits than the first"
MEDIAN = "exact: the median of the belief at every output"
ENTROPY = "exact: the uncertainty of the output less that of the noise"
NEAREST = "exact: the values nearest to the output"
RANKED = "exact: the likeliest values on either side of every output"
# Numbers that a walk over the outputs looks at, and outputs of a filter.
LARGEST_WALK = 200_000_000
LARGEST_FILTER = 50_000_000
# Values times tries that are ranked.
LARGEST_RANKING = 50_000_000
# A sum of noise stays within whole numbers that a float holds.
LARGEST_AMOUNT = 2**53
# Outputs and windows that are searched.
LARGEST_SEARCH = 5_000_000
BLOCK = 4_000_000
# A filter's blocks hold ratios up to e^this.
LARGEST_EXPONENT = 500.0
# ln of a probability that no gain notices.
NOTHING = -60.0
# Entries of a channel whose types may be few, and of the list of types.
LARGEST_CHANNEL, LARGEST_TYPES = 50_000, 4_000_000


@dataclass(frozen=True, eq=False)
class Line:
    """The amounts that are possible, increasing, and the noise between them."""

    law: NoiseLaw
    classes: Classes

    @cached_property
    def order(self) -> IntArray:
        """Possible classes by their amounts."""
        chosen = self.classes.possible
        return np.asarray(chosen[np.argsort(self.classes.amount[chosen], kind="stable")])

    @cached_property
    def places(self) -> IntArray:
        """Amounts, increasing."""
        return np.asarray(self.classes.amount[self.order])

    @cached_property
    def beliefs(self) -> FloatArray:
        """The likeliest belief at each amount."""
        return np.asarray(self.classes.likeliest[self.order])

    @cached_property
    def is_even(self) -> bool:
        """Whether all values are equally likely and add amounts of their own, at equal distances."""
        gaps, belief = np.diff(self.places), self.classes.belief
        alone = len(self.places) == len(belief)
        return alone and bool((gaps == gaps[:1]).all() and np.ptp(belief) <= 1e-15 * belief.max())

    @cached_property
    def by_amount(self) -> IntArray:
        """The values that are possible, by what they add."""
        chosen = np.flatnonzero(self.classes.belief > 0)
        return np.asarray(chosen[np.argsort(self.classes.amount[self.classes.place[chosen]], kind="stable")])

    @cached_property
    def is_uniform(self) -> bool:
        """Whether all values that are possible are equally likely."""
        belief = self.classes.belief[self.classes.belief > 0]
        return bool(np.ptp(belief) <= 1e-15 * belief.max())

    def summed(self, releases: int) -> Line | None:
        """The sum of all releases, where it tells as much as they do."""
        furthest = int(np.abs(self.places).max())
        law = law_of_sum(self.law, releases) if furthest * releases < LARGEST_AMOUNT else None
        if law is None:
            return None
        return Line(law, replace(self.classes, amount=self.classes.amount * releases))

    @cached_property
    def growth(self) -> float:
        """At most by how much one release multiplies a gain: the sum of the largest likelihoods."""
        return envelope_mass(self.law, self.places, np.zeros(len(self.places)))

    @property
    def outputs(self) -> int:
        """Outputs that a walk looks at."""
        inside = int(self.places[-1] - self.places[0]) + 1
        return inside if isinstance(self.law, GeometricLaw) else inside + 2 * self._beyond

    @cached_property
    def _beyond(self) -> int:
        """How far noise is followed beyond the first and the last amount."""
        return self.law.beyond(NOTHING) if math.isinf(self.law.reach) else int(self.law.reach)

    def likelihoods(self, start: int, stop: int) -> FloatArray:
        """[amount, output]: chances of the outputs from one place in the walk to another.

        Beyond the first and the last amount geometric noise shows nothing more, so that the outputs there are
        one; other noise is followed to where nothing is left of it.
        """
        first, last = int(self.places[0]), int(self.places[-1])
        if not isinstance(self.law, GeometricLaw):
            outputs = np.arange(start, stop, dtype=np.float64) + (first - self._beyond)
            return np.exp(self.law.log_pmf(outputs - self.places[:, None]))
        gap = np.arange(start, stop, dtype=np.float64) + first - self.places[:, None]
        found = np.exp(self.law.log_pmf(gap))
        if start == 0:
            found[:, 0] = np.exp(self.law.log_upper(-gap[:, 0]))
        if stop == last - first + 1:
            found[:, -1] = np.exp(self.law.log_upper(gap[:, -1]))
        return found

    def spread(self, releases: int) -> FloatArray:
        """Σ_u π_u·e^(-n·ε·|u - v|) at every amount v: releases divide the odds of two by no more."""
        total = np.asarray(self.classes.total[self.order])
        if not isinstance(self.law, GeometricLaw):
            return total
        gaps = np.exp(-releases * self.law.level.eps * np.diff(self.places)).tolist()
        left, right = total.tolist(), total.tolist()
        for i, gap in enumerate(gaps):
            left[i + 1] += left[i] * gap
        for i in range(len(gaps) - 1, -1, -1):
            right[i] += right[i + 1] * gaps[i]
        return np.asarray(np.array(left) + np.array(right) - total)

    def log_lift(self, releases: int) -> float:
        """ln of how much any output can raise any belief at most."""
        return -math.log(float(self.spread(releases).min()))

    def channel(self) -> Channel | None:
        """The record's channel, from possible amounts to outputs; None where it is not small."""
        if self.outputs * len(self.places) > LARGEST_CHANNEL:
            return None
        with np.errstate(divide="ignore"):
            return Channel.trusted(np.log(self.likelihoods(0, self.outputs)), "log")

    @cached_property
    def _index(self) -> IntArray:
        """For each value the place of its amount; any where it is impossible."""
        place = np.zeros(len(self.classes.cell), dtype=np.int64)
        place[self.order] = np.arange(len(self.order))
        return np.asarray(place[self.classes.place])

    def by_value(self, rows: FloatArray) -> FloatArray:
        """[value, …] from [amount, …]."""
        return np.asarray(rows[self._index])

    def joint(self, likelihoods: FloatArray) -> FloatArray:
        """[value, output]: belief times the likelihoods [amount, output]."""
        return np.asarray(self.classes.belief[:, None] * self.by_value(likelihoods))


def gained_on_line(adversary: Adversary, line: Line, releases: int) -> Found:
    """What the adversary gains after independent releases."""
    if len(line.places) == 1 or line.law.eps_of(Fraction(1)) == 0:
        return Found.exactly(worth(adversary, line.classes.belief), PAIR)
    if releases == 1:
        return _once(adversary, line)
    if len(line.places) == 2:
        return _pair(adversary, line, releases)
    summed = line.summed(releases)
    found = None if summed is None else _once(adversary, summed)
    if found is not None and found.bounds.exact:
        return found
    return _listed(adversary, line, releases) or _bounded(adversary, line, releases, found)


@singledispatch
def _once(adversary: Adversary, line: Line) -> Found:
    """One release."""
    return _over_outputs(adversary, line)


def _over_outputs(adversary: Adversary, line: Line) -> Found:
    """Any adversary over all outputs, else between what is known before and what is told."""
    if len(line.classes.belief) * line.outputs <= LARGEST_WALK:
        return Found.exactly(_walked(adversary, line), WALKED)
    before, limit = worth(adversary, line.classes.belief), told(adversary, line.classes)
    if adversary.is_loss:
        return Found(Enclosed(limit, before), BY_CLASS)
    return Found(Enclosed(before, limit), BY_CLASS).least(before * line.growth, BY_CAPACITY)


@_once.register
def _identity(adversary: Identity, line: Line) -> Found:
    return Found.exactly(envelope_mass(line.law, line.places, np.log(line.beliefs)), ENVELOPE)


@_once.register
def _windows(adversary: Windows, line: Line) -> Found:
    """By the windows between those of two outputs, where amounts lie in the order of the values."""
    law = line.law
    amounts, beliefs, starts, stops = _seen_windows(adversary, line)
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


def _seen_windows(adversary: Windows, line: Line) -> tuple[IntArray, FloatArray, IntArray, IntArray]:
    """Amounts and beliefs of the values that are possible, from left to right, and the windows of those."""
    classes = line.classes
    seen = classes.belief[adversary.order] > 0
    chosen = adversary.order[seen]
    before = np.append(0, np.cumsum(seen))
    starts, stops = (before[end] for end in adversary.ends)
    useful = starts < stops
    return classes.amount[classes.place[chosen]], classes.belief[chosen], starts[useful], stops[useful]


def _nearest(law: NoiseLaw, amounts: IntArray, starts: IntArray, stops: IntArray) -> float | None:
    """Σ_y of the largest window, in units of one value's belief, where each has one value more and one less.

    Of two windows next to each other the one whose own value is nearer to the output is better, and from
    output to output the better ones move one way: the chain of windows is the maximum itself.
    """
    if ((np.diff(starts) != 1) | (np.diff(stops) != 1)).any():
        return None
    apart = told_apart(law, amounts[stops[:-1]] - amounts[starts[:-1]])
    return float(stops[0] - starts[0]) + float(apart.sum())


@_once.register
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


def _amounts_alone(line: Line) -> bool:
    """Whether every value that is possible adds an amount of its own."""
    return len(line.by_amount) == len(line.places)


def _is_plain(line: Line) -> bool:
    """Whether the values are equally likely and add 0, 1, 2, … but for a shift, and noise is followed."""
    inside = _amounts_alone(line) and line.is_uniform and bool((np.diff(line.places) == 1).all())
    return inside and line.outputs <= LARGEST_SEARCH


@_once.register
def _shannon(adversary: Shannon, line: Line) -> Found:
    if line.outputs > LARGEST_SEARCH:
        return _over_outputs(adversary, line)
    told_bits = output_entropy(line.law, line.places, line.classes.total[line.order])
    return Found.exactly(worth(adversary, line.classes.belief) - told_bits, ENTROPY)


@_once.register
def _guessing(adversary: Guessing, line: Line) -> Found:
    if _is_plain(line):
        return Found.exactly(float(line.beliefs[0]) * even_guesses(line.law, len(line.places)), NEAREST)
    found = _over_outputs(adversary, line)
    return found if found.bounds.exact else _by_guess(found, _once(Identity(adversary.secrets), line))


def _by_guess(found: Found, guess: Found) -> Found:
    """A belief of at most p in each value needs (1 + 1/p)/2 guesses at least, which is convex in p."""
    least = (1 + 1 / guess.bounds.upper) / 2
    if least <= found.bounds.lower:
        return found
    return Found(Enclosed(min(least, found.bounds.upper), found.bounds.upper), BY_GUESS)


@_once.register
def _nearness(adversary: Nearness, line: Line) -> Found:
    law, order = line.law, line.by_amount
    positions = adversary.positions[order]
    ways = np.diff(positions)
    if _amounts_alone(line) and ((ways >= 0).all() or (ways <= 0).all()) and line.outputs <= LARGEST_SEARCH:
        if isinstance(law, GeometricLaw) and law.level.eps > 0:
            seen = Faded(law.level.eps, line.places, positions, line.beliefs)
            return Found.exactly(1 - distance_to_median(seen) / adversary.diameter, MEDIAN)
        if _is_plain(line) and np.ptp(np.abs(ways)) == 0:
            distance = even_distance(law, len(order)) * float(line.beliefs[0] * np.abs(ways[0]))
            return Found.exactly(1 - distance / adversary.diameter, MEDIAN)
    return _over_outputs(adversary, line)


@_once.register
def _matrix(adversary: MatrixAdversary, line: Line) -> Found:
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


def _walked(adversary: Adversary, line: Line) -> float:
    """The adversary's value at every output."""
    step, total = max(1, BLOCK // len(line.classes.belief)), 0.0
    for start in range(0, line.outputs, step):
        joint = line.joint(line.likelihoods(start, min(start + step, line.outputs)))
        total += float(adversary.values(joint).sum())
    return total


def _pair(adversary: Adversary, line: Line, releases: int) -> Found:
    """Two amounts: what somebody gains who is told, less what is lost at every ratio."""
    law = ratios_after(line.law, int(line.places[1] - line.places[0]), releases)
    step, lost = max(1, BLOCK // len(line.classes.belief)), 0.0
    both = np.exp(np.stack([law.log_pmf, law.log_shown]))
    alone = adversary.values(line.joint(np.eye(2))).astype(np.float64)
    for start in range(0, len(law.logs), step):
        part = both[:, start : start + step]
        lost += float((alone @ part - adversary.values(line.joint(part))).sum())
    return Found.exactly(float(alone.sum()) - lost, PAIR)


def _listed(adversary: Adversary, line: Line, releases: int) -> Found | None:
    """By types of a small channel; None where there are too many."""
    channel = line.channel()
    if channel is None:
        return None
    reduced = channel.reduced()
    if types_of(reduced.shape[1], releases) * max(len(line.places), reduced.shape[1]) > LARGEST_TYPES:
        return None
    blocks = TypeTable(reduced.log_matrix, releases).blocks(releases)
    total = sum(float(adversary.values(line.joint(np.exp(logs))).sum()) for _, logs in blocks)
    return Found.exactly(total, TYPES)


def _bounded(adversary: Adversary, line: Line, releases: int, known: Found | None) -> Found:
    """Between one release and what is certain after many, or what is known already."""
    once, limit = _once(adversary, line).bounds, told(adversary, line.classes)
    if adversary.is_loss:
        found = Found(Enclosed(min(limit, once.lower), once.upper), BY_CLASS)
        if known is not None and known.bounds.lower > found.bounds.lower:
            found = known
        return _least_loss(adversary, line, releases, found)
    found = Found(Enclosed(once.lower, max(limit, once.lower)), BY_CLASS)
    if known is not None:
        lower = max(once.lower, known.bounds.lower)
        found = Found(Enclosed(lower, max(limit, lower)), BY_CLASS).least(known.bounds.upper, known.method)
    if _is_never_negative(adversary) and once.upper > 0:
        nats = math.log(once.upper) + (releases - 1) * math.log(line.growth)
        found = found.least(math.exp(min(nats, 700.0)), GROWTH)
    if isinstance(adversary, Identity):
        found = found.least(float((line.beliefs / line.spread(releases)).max()), REACH)
    chain = _chain(adversary, line, releases)
    return found if chain is None else found.least(max(chain, once.lower), CHAIN)


@singledispatch
def _least_loss(adversary: Adversary, line: Line, releases: int, found: Found) -> Found:
    """At least what is lost after all releases."""
    return found


@_least_loss.register
def _least_bits(adversary: Shannon, line: Line, releases: int, found: Found) -> Found:
    """I(X; Y₁…Yₙ) ≤ n·I(X; Y) for independent releases of one record."""
    before = worth(adversary, line.classes.belief)
    least = before - releases * (before - _once(adversary, line).bounds.lower)
    if least <= found.bounds.lower:
        return found
    return Found(Enclosed(min(least, found.bounds.upper), found.bounds.upper), BY_INFORMATION)


@_least_loss.register
def _least_guesses(adversary: Guessing, line: Line, releases: int, found: Found) -> Found:
    return _by_guess(found, gained_on_line(Identity(adversary.secrets), line, releases))


@singledispatch
def _chain(adversary: Adversary, line: Line, releases: int) -> float | None:
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
    return chained(line.law, releases, amounts, line.classes.belief[order], starts, starts + tries)


@_chain.register
def _chain_of_windows(adversary: Windows, line: Line, releases: int) -> float | None:
    amounts, beliefs, starts, stops = _seen_windows(adversary, line)
    return chained(line.law, releases, amounts, beliefs, *longest_windows(starts, stops))


@_chain.register
def _chain_of_rows(adversary: MatrixAdversary, line: Line, releases: int) -> float | None:
    """Rows of ones on neighbouring values are windows."""
    table = np.asarray(adversary.table, dtype=np.float64)[:, line.by_amount]
    ends = None if adversary.is_loss else runs_of_ones(table)
    if ends is None:
        return None
    amounts = line.classes.amount[line.classes.place[line.by_amount]]
    return chained(line.law, releases, amounts, line.classes.belief[line.by_amount], *longest_windows(*ends))


@singledispatch
def neighbours_named(adversary: Adversary, line: Line) -> int | None:
    """How many neighbouring values an action names, on a line where they are equally likely; None: no run."""
    return None


@neighbours_named.register
def _one_named(adversary: Identity, line: Line) -> int | None:
    return 1


@neighbours_named.register
def _several_named(adversary: Tries, line: Line) -> int | None:
    return min(int(adversary.tries), len(line.places))


@neighbours_named.register
def _window_named(adversary: Windows, line: Line) -> int | None:
    amounts, _, starts, stops = _seen_windows(adversary, line)
    rises = np.diff(amounts)
    return equal_windows(*longest_windows(starts, stops)) if (rises > 0).all() or (rises < 0).all() else None


@neighbours_named.register
def _run_named(adversary: MatrixAdversary, line: Line) -> int | None:
    ends = None if adversary.is_loss else runs_of_ones(np.asarray(adversary.table)[:, line.by_amount])
    return None if ends is None else equal_windows(*longest_windows(*ends))


def _is_never_negative(adversary: Adversary) -> bool:
    bounds = adversary.bounds()
    return bounds is not None and bounds[0] >= 0
