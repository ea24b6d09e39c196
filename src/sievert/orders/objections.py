"""From a witness to the adversary who objects: a legal gain with few actions, and the proof."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.orders.verdicts import Objection, Verdict
from sievert.proofs.refinement import AdversaryProof

__all__ = ["entries", "objected"]

AnyArray = NDArray[Any]
FloatArray = NDArray[np.float64]
# Dropping actions one by one costs actions²·outputs.
MOST_ACTIONS = 64
# Gains are rounded to the first of these fractions of 1 that keeps nearly all of the advantage.
UNITS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30, 60, 100, 1000)
KEPT = 0.95


def entries(channel: Channel, exact: bool) -> AnyArray:
    """The matrix as fractions, or as floats."""
    return channel._data if exact else channel.rounded()


def objected(
    first: Channel,
    second: Channel,
    witness: AnyArray,
    method: str,
    *,
    case: str = "average",
    prior: AnyArray | None = None,
    order: str | None = None,
) -> Verdict:
    """The verdict of a witness [secret, action] on the uniform prior (or the given one).

    A constant for each secret changes no average-case comparison, so gains are shifted to start at 0 and
    scaled to end at 1; the max case allows only one constant for all.
    """
    exact = witness.dtype == object and first.form == "exact" and second.form == "exact"
    if not exact:
        witness = witness.astype(np.float64)
    lowest = witness.min(axis=1)[:, None] if case == "average" else witness.min()
    shifted = witness - lowest
    gain = _few_actions((shifted / shifted.max()).T, first.rounded(), second.rounded(), case)
    size = first.shape[0]
    uniform = np.full(size, Fraction(1, size), dtype=object)
    belief = uniform if prior is None else prior
    gain = _simple_gains(gain, belief.astype(np.float64), first.rounded(), second.rounded(), case)
    proof = AdversaryProof(entries(first, exact), entries(second, exact), gain, belief, case, exact)
    if exact:
        before, after = (float(value) for value in proof.values())
        gap = float(proof.gap())
    else:
        weights = belief.astype(np.float64)
        before, after = (_value(gain, weights, channel.rounded(), case) for channel in (first, second))
        gap = after - before
    objection = Objection(before, after, gain, belief, secrets=first.inputs)
    name = order or ("average" if case == "average" else "max")
    return Verdict(False, name, gap, proof, objection, method, exact)


def _value(gain: FloatArray, prior: FloatArray, channel: FloatArray, case: str) -> float:
    scores = ((gain * prior) @ channel).max(axis=0)
    if case == "average":
        return float(scores.sum())
    weights = prior @ channel
    return float((scores[weights > 0] / weights[weights > 0]).max())


def _few_actions(gain: AnyArray, less_safe: FloatArray, safer: FloatArray, case: str) -> AnyArray:
    """Equal actions once; then drop actions while more than half of the advantage stays."""
    distinct = list(dict.fromkeys(map(tuple, gain.tolist())))
    table = np.empty((len(distinct), gain.shape[1]), dtype=gain.dtype)
    for row, values in enumerate(distinct):
        table[row] = values
    if case != "average" or not 2 < len(table) <= MOST_ACTIONS:
        return table
    floats = table.astype(np.float64)
    mine, theirs = floats @ less_safe, floats @ safer
    kept = np.arange(len(table))
    # Half of a gap that is clearly there is clearly there; smaller ones keep every action.
    enough = float(theirs.max(axis=0).sum() - mine.max(axis=0).sum()) / 2
    while len(kept) > 2 and enough > 1e-12:
        advantages = _without_each(theirs[kept]) - _without_each(mine[kept])
        leaver = int(np.argmax(advantages))
        if advantages[leaver] <= enough:
            break
        kept = np.delete(kept, leaver)
    return table[kept]


def _without_each(scores: FloatArray) -> FloatArray:
    """Σ_y max over the other actions, for each action left out: the second best steps in."""
    best, columns = scores.argmax(axis=0), np.arange(scores.shape[1])
    first = scores[best, columns]
    others = scores.copy()
    others[best, columns] = -np.inf
    lost = np.bincount(best, weights=first - others.max(axis=0), minlength=len(scores))
    return np.asarray(first.sum() - lost)


def _simple_gains(
    gain: AnyArray, prior: FloatArray, less_safe: FloatArray, safer: FloatArray, case: str
) -> AnyArray:
    """The same adversary with round numbers."""
    if len(gain) > MOST_ACTIONS:
        return gain
    floats = gain.astype(np.float64)

    def advantage(table: FloatArray) -> float:
        return _value(table, prior, safer, case) - _value(table, prior, less_safe, case)

    enough = KEPT * advantage(floats)
    # An advantage this small may be rounding: leave what was found alone.
    if enough < 1e-7:
        return gain
    for unit in UNITS:
        whole = np.rint(floats * unit)
        if advantage(whole / unit) >= enough:
            if gain.dtype != object:
                return np.asarray(whole / unit)
            simple = np.empty(gain.shape, dtype=object)
            simple.ravel()[:] = [Fraction(int(value), unit) for value in whole.ravel().tolist()]
            return simple
    return gain
