"""How much better an adversary does after a release than before, with all its digits where little leaks.

Output y moves the belief π by π_x·D[x,y], where 1 + D[x,y] = C[x,y]/P(y). The value after it less the value
before is found from these small numbers, not from two values that nearly agree. Under the action that is
best before the release the movements cancel on average (Σ_y P(y)·D[x,y] = 0), so the average is a sum of
what the best action at each output gains over that one: no term is negative.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.arrays import FloatArray
from sievert.channels import Channel, ResponseChannel
from sievert.channels.priors import as_prior
from sievert.measures._extremes import excess_of_maxima
from sievert.measures._gain_function import GainFunction, GainMatrix
from sievert.measures._gain_functions import Guessing, Identity, Shannon, Tries
from sievert.measures._output_values import float_prior
from sievert.numerics import entropy_excess, log_means, log_of

__all__ = ["improvement", "movements"]
# Entries of a channel, and of actions on outputs, that are looked at.
LARGEST_ENTRIES = 2_000_000
# And where nothing else tells how little leaks: some seconds.
LARGEST_LISTED = 16_000_000
# Products of fractions that tell actions apart which are equally good before the release up to rounding.
LARGEST_EXACT = 50_000
TIED = 1e-12
# Beliefs about many values are summed up a slice at a time.
SLICE = 100_000


def improvement(
    channel: Channel, adversary: GainFunction, prior: object, case: str, lost: bool = False
) -> float | None:
    """How much more an adversary gains (or less it loses) on average over the outputs, or at the best one.

    `lost` says that the two values nearly agree, so that a large channel is worth looking at too. None where
    only these are known: other adversaries, and channels too large.
    """
    known = even_improvement(adversary, channel) if prior is None and case == "average" else None
    if known is not None:
        return known
    size, outputs = channel.shape
    if size * outputs > LARGEST_ENTRIES:
        known = improvement_by_rule(channel, adversary, prior) if case == "average" else None
        if known is not None or not lost:
            return known
    actions = adversary.action_count
    largest = LARGEST_LISTED if lost else LARGEST_ENTRIES
    if max(size, actions) * outputs > largest or not adversary.is_divisible:
        return None
    belief = as_prior(prior, channel)
    shares = belief.astype(np.float64)
    total, best = 0.0, 0.0
    step = max(1, LARGEST_ENTRIES // max(size, actions))
    for start in range(0, outputs, step):
        weights, moved = movements(channel, shares, slice(start, start + step))
        if len(weights):
            above, blind = gains_of(adversary, belief, moved)
            total += float(weights @ np.maximum(above, 0.0))
            best = max(best, float((above + blind).max()))
    return best if case == "max" else total


def movements(
    channel: Channel, belief: FloatArray, outputs: slice = slice(None)
) -> tuple[FloatArray, FloatArray]:
    """P(y) of the outputs that can occur, and ln C[x,y]/P(y) for every secret (-inf where C is 0)."""
    possible = belief > 0
    occurs = channel.support[possible, outputs].any(axis=0)
    relative = channel.relative_logs[:, outputs][:, occurs]
    shift = log_means(relative[possible], belief[possible])
    return (belief @ channel.rounded()[:, outputs])[occurs], relative - shift


@singledispatch
def even_improvement(adversary: GainFunction, channel: Channel) -> float | None:
    """What an adversary gains on average under a uniform prior, where the column maxima tell it."""
    return None


@even_improvement.register
def _guess_by_maxima(adversary: Identity, channel: Channel) -> float:
    """n·V(after) = Σ_y max_x C[x,y], whose excess over 1 keeps its digits."""
    return excess_of_maxima(channel) / channel.shape[0]


@singledispatch
def gains_of(
    adversary: GainFunction, belief: NDArray[Any], moved: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """What the best action at each output gains over the one that was best before, and that one over its
    value before. `moved` holds ln C[x,y]/P(y).
    """
    raise NotImplementedError(adversary.name)


@gains_of.register
def _gains_of_guess(
    adversary: Identity, belief: NDArray[Any], moved: FloatArray
) -> tuple[FloatArray, FloatArray]:
    shares = belief.astype(np.float64)
    change = _changes(shares, moved)
    top = int(shares.argmax())
    return ((shares - shares[top])[:, None] + (change - change[top])).max(axis=0), change[top]


@gains_of.register
def _gains_of_tries(
    adversary: Tries, belief: NDArray[Any], moved: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Each of k tries is worth 1."""
    return _gains_by_place((np.arange(len(belief)) < adversary.tries).astype(np.int64), belief, moved)


@gains_of.register
def _gains_of_guessing(
    adversary: Guessing, belief: NDArray[Any], moved: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Each place is worth one less."""
    return _gains_by_place(-np.arange(len(belief)), belief, moved)


def _gains_by_place(
    worth: NDArray[np.int64], belief: NDArray[Any], moved: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """A guess's worth depends on its place in the order of guesses alone."""
    shares = belief.astype(np.float64)
    change = _changes(shares, moved)
    first = np.argsort(-shares, kind="stable")
    # Secrets that are equally likely before are ordered by how their beliefs moved.
    order = np.lexsort((-change, -(shares[:, None] + change)), axis=0)
    before, after = np.empty(len(shares), np.int64), np.empty(change.shape, np.int64)
    before[first] = worth
    np.put_along_axis(after, order, np.broadcast_to(worth[:, None], change.shape), axis=0)
    exchanged = (after - before[:, None])[first]
    # Σ exchanged·π by parts: equal beliefs have no gap, so exchanging them costs exactly 0.
    gaps = -np.diff(shares[first])
    cost = gaps @ np.cumsum(exchanged, axis=0)[:-1]
    return cost + (exchanged * change[first]).sum(axis=0), before @ change


@gains_of.register
def _gains_of_actions(
    adversary: GainMatrix, belief: NDArray[Any], moved: FloatArray
) -> tuple[FloatArray, FloatArray]:
    table = np.asarray(adversary.table, dtype=np.float64) * (-1.0 if adversary.is_loss else 1.0)
    first, behind = _ranked(adversary, table, belief)
    change = _changes(belief.astype(np.float64), moved)
    blind = table[first] @ change
    return (behind[:, None] + (table - table[first]) @ change).max(axis=0), blind


def _ranked(adversary: GainMatrix, table: FloatArray, belief: NDArray[Any]) -> tuple[int, FloatArray]:
    """The best action before, and how much better than it each action is (never positive)."""
    shares = belief.astype(np.float64)
    scores = table @ shares
    first = int(scores.argmax())
    behind = (table - table[first]) @ shares
    scale = float((np.abs(table) @ shares).max())
    close = np.flatnonzero(behind >= -TIED * scale)
    if len(close) > 1 and len(close) * len(shares) <= LARGEST_EXACT:
        exact = [Fraction(item) for item in belief.tolist()]
        sign = -1 if adversary.is_loss else 1
        totals = [
            sign * sum((Fraction(g) * p for g, p in zip(row, exact, strict=True) if g), Fraction(0))
            for row in adversary.table[close].tolist()
        ]
        best = max(totals)
        first = int(close[totals.index(best)])
        behind = (table - table[first]) @ shares
        behind[close] = [float(total - best) for total in totals]
    return first, np.minimum(behind, 0.0)


@gains_of.register
def _gains_of_codes(
    adversary: Shannon, belief: NDArray[Any], moved: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Σ π(1+D)·ln((1+D)π) - Σ π ln π in bits; the best code before is the one for π."""
    shares = belief.astype(np.float64)
    possible = shares > 0
    shares, moved = shares[possible], moved[possible]
    blind = log_of(shares / shares.max()) @ _changes(shares, moved)
    # (1+D)·ln(1+D) - D, from which Σ π·D = 0 was taken.
    return shares @ entropy_excess(moved) / math.log(2), blind / math.log(2)


def _changes(shares: FloatArray, moved: FloatArray) -> FloatArray:
    """π_x·D[x,y]; 0 for a secret that cannot be."""
    possible = shares > 0
    with np.errstate(over="ignore"):
        return shares[:, None] * np.expm1(np.where(possible[:, None], moved, 0.0))


@singledispatch
def improvement_by_rule(channel: Channel, adversary: GainFunction, prior: object) -> float | None:
    """What an adversary gains on average through a channel too large to look at; None where unknown."""
    return None


@improvement_by_rule.register
def _improvement_by_response(
    channel: ResponseChannel, adversary: GainFunction, prior: object
) -> float | None:
    return response_improvement(adversary, channel, prior)


@singledispatch
def response_improvement(adversary: GainFunction, channel: ResponseChannel, prior: object) -> float | None:
    """What an adversary gains on average through a randomised response; None where unknown."""
    return None


@response_improvement.register
def _guess_moved(adversary: Identity, channel: ResponseChannel, prior: object) -> float:
    """Output y moves the guess to y where truth·π_y > lie·max π."""
    belief, truth, lie = float_prior(prior, channel), float(channel.truth), float(channel.lie)
    top = int(belief.argmax())
    grown, kept = (lie * math.expm1(channel.eps), lie) if channel.eps < 1 else (truth, 0.0)
    total = 0.0
    for start in range(0, len(belief), SLICE):
        part = belief[start : start + SLICE]
        more = (part - belief[top]) * kept + part * grown
        if not kept:
            more -= lie * belief[top]
        if start <= top < start + SLICE:
            more[top - start] = 0.0
        total += float(np.maximum(more, 0.0).sum())
    return total
