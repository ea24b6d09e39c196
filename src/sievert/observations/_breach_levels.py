"""Security levels of one observation: how much belief in a predicate can change.

Worst case: |log2 p(Q|y)/p(Q)| over all predicates, priors and outputs is at most
log2 max_y (max_x C[x,y] / min_x C[x,y]), and comes as close as one likes (Boreale and Paolini, Thm 1).
Average case: knowing the output improves the best guess of "is X in Q?" by a factor of at most 1 + the
largest total variation of two rows (Thm 2).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.channels import Channel, finite_channel
from sievert.channels._privacy import _widest_column
from sievert.channels.priors import as_prior
from sievert.errors import GainError, PriorError
from sievert.numerics import abbreviated, in_bits, log_fraction, log_means
from sievert.results import Result
from sievert.spaces import worded

__all__ = [
    "AverageLevel",
    "PredicateBreach",
    "WorstLevel",
    "average_level",
    "predicate_breach",
    "worst_level",
]
LN2 = math.log(2)


@dataclass(frozen=True)
class WorstLevel(Result):
    """The largest change of belief in any predicate, under any prior, by any output.

    Attributes
    ----------
    bits : the level; inf when an output rules an input out
    pair : the inputs that make the output likeliest and least likely (None when the level is 0)
    output : the output
    predicate : whose belief changes so much: it grows, or falls to 0 when the level is infinite
    """

    bits: float
    pair: tuple[Hashable, Hashable] | None
    output: Hashable
    predicate: tuple[Hashable, ...]

    @property
    def nats(self) -> float:
        """The level in nats."""
        return self.bits * LN2

    def prior(self, level: float | None = None) -> dict[Hashable, float]:
        """A prior under which the output changes belief in the predicate by at least `level` bits.

        A finite level is approached as the predicate gets unlikely, so `level` must be below it (99 % of
        it by default); an infinite one is attained by every prior on the pair.
        """
        if self.pair is None:
            raise GainError("level: belief never changes, so no prior shows a breach")
        likely, unlikely = self.pair
        if math.isinf(self.bits):
            return {likely: 0.5, unlikely: 0.5}
        wanted = 0.99 * self.bits if level is None else level
        if not 0 <= wanted < self.bits:
            raise GainError(
                f"level is {abbreviated(level)}; it must be at least 0 and below {in_bits(self.bits, 6)}"
            )
        # With ratio r and belief δ the posterior is δr/(δr + 1 - δ), which is 2^level·δ for this δ.
        rest = math.expm1(self.bits * LN2)
        belief = math.expm1((self.bits - wanted) * LN2) / rest
        return {likely: belief, unlikely: 1 - belief}

    def __float__(self) -> float:
        return self.bits

    def __str__(self) -> str:
        if self.pair is None:
            return "no output changes any belief (level 0)"
        likely, unlikely = self.pair
        if math.isinf(self.bits):
            return (
                f"output {worded(self.output)} rules {worded(unlikely)} out: the worst-case level is infinite"
            )
        return (
            f"no belief changes by more than a factor of {2 ** min(self.bits, 1000):.4g} "
            f"({in_bits(self.bits)}); output {worded(self.output)} comes as close as one likes to that for "
            f"belief in {worded(likely)} against {worded(unlikely)}"
        )


@dataclass(frozen=True)
class AverageLevel(Result):
    """The largest improvement, on average over outputs, of guessing whether a predicate holds.

    Attributes
    ----------
    bits : log2(1 + distance), between 0 and 1
    distance : total variation of the two furthest rows
    pair : these rows; a uniform prior on them attains the level for the predicate {the first}
    """

    bits: float
    distance: float
    pair: tuple[Hashable, Hashable] | None

    @property
    def nats(self) -> float:
        """The level in nats."""
        return self.bits * LN2

    @property
    def predicate(self) -> tuple[Hashable, ...]:
        """A predicate that attains it."""
        return () if self.pair is None else (self.pair[0],)

    def prior(self) -> dict[Hashable, float]:
        """The prior that attains it."""
        return {} if self.pair is None else {self.pair[0]: 0.5, self.pair[1]: 0.5}

    def __float__(self) -> float:
        return self.bits

    def __str__(self) -> str:
        if self.pair is None:
            return "no question about the secret is answered better than before"
        return (
            f"whether it is {worded(self.pair[0])} or {worded(self.pair[1])} is guessed right with "
            f"probability {(1 + self.distance) / 2:.4g} instead of 0.5 ({in_bits(self.bits)}), and no "
            "question gains more"
        )


@dataclass(frozen=True)
class PredicateBreach(Result):
    """What one observation does to belief in one predicate under one prior.

    Attributes
    ----------
    before : prior probability of the predicate
    highest, lowest : its largest and least posterior, by `highest_output` and `lowest_output`
    bits : |log2| of the larger of the two changes
    average_bits : log2 of how much the guess "does it hold?" improves on average
    """

    predicate: tuple[Hashable, ...]
    before: float
    highest: float
    highest_output: Hashable
    lowest: float
    lowest_output: Hashable
    average_bits: float
    # ln of the growth and of the fall, which two beliefs next to each other would not tell.
    up_nats: float = field(repr=False)
    down_nats: float = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The beliefs; how much they change follows from them."""
        return {
            name: value for name, value in super().to_dict().items() if name not in ("up_nats", "down_nats")
        }

    @property
    def up_bits(self) -> float:
        """log2 of the largest growth of belief."""
        return self.up_nats / LN2

    @property
    def down_bits(self) -> float:
        """log2 of the largest fall of belief; inf when an output rules the predicate out."""
        return self.down_nats / LN2

    @property
    def bits(self) -> float:
        """The larger change of the two."""
        return max(self.up_bits, self.down_bits)

    @property
    def nats(self) -> float:
        """The same in nats."""
        return self.bits * LN2

    def __float__(self) -> float:
        return self.bits

    def __str__(self) -> str:
        return (
            f"belief {self.before:.4g} rises to at most {self.highest:.4g} (output "
            f"{worded(self.highest_output)}) and falls to at least {self.lowest:.4g} "
            f"(output {worded(self.lowest_output)})"
        )


def worst_level(channel: Channel) -> WorstLevel:
    """Worst-case security level: log2 of the largest ratio of two entries of a column that can occur.

    Parameters
    ----------
    channel : Channel

    Returns
    -------
    WorstLevel
        `bits`, and the inputs and the output that attain it.

    Notes
    -----
    Cost: O(n·outputs) for n inputs.

    References
    ----------
    Boreale and Paolini, Thm 1.

    Examples
    --------
    >>> round(worst_level(Channel([["3/4", "1/4"], ["1/4", "3/4"]])).bits, 6)
    1.584963
    """
    finite = finite_channel(channel)
    logs = finite.relative_logs
    likely, unlikely = _widest_column(logs)
    with np.errstate(invalid="ignore"):
        gaps = np.where(np.isneginf(logs[likely]), 0.0, logs[likely] - logs[unlikely])
    output = int(np.argmax(gaps))
    gap = float(gaps[output])
    if not gap > 0:
        return WorstLevel(0.0, None, None, ())
    pair = finite.inputs[likely], finite.inputs[unlikely]
    if finite.form == "exact" and math.isfinite(gap):
        assert finite.exact is not None
        ratio = finite.exact[likely, output] / finite.exact[unlikely, output]
        bits = log_fraction(ratio) / LN2
    else:
        bits = gap / LN2
    about = pair[1] if math.isinf(gap) else pair[0]
    return WorstLevel(bits, pair, finite.outputs[output], (about,))


def average_level(channel: Channel) -> AverageLevel:
    """Average-case security level: log2(1 + largest total variation of two rows).

    Parameters
    ----------
    channel : Channel

    Returns
    -------
    AverageLevel
        `bits`, the total variation, and the two rows that attain it.

    Notes
    -----
    Cost: O(n²·outputs) for n inputs.

    References
    ----------
    Boreale and Paolini, Thm 2.

    Examples
    --------
    >>> average_level(Channel([["3/4", "1/4"], ["1/4", "3/4"]])).distance
    0.5
    """
    from scipy.spatial.distance import pdist, squareform

    finite = finite_channel(channel)
    if finite.shape[0] == 1:
        return AverageLevel(0.0, 0.0, None)
    distances = squareform(pdist(finite.rounded(), "cityblock")) / 2
    top = float(distances.max())
    # The first pair that is furthest up to rounding.
    i, j = divmod(int(np.argmax(distances >= top * (1 - 1e-12))), len(distances))
    if finite.form == "exact":
        assert finite.exact is not None
        top = float(sum(abs(a - b) for a, b in zip(finite.exact[i], finite.exact[j], strict=True)) / 2)
    else:
        # Σ of p·(1 - e^-L) over the outputs with L = ln p/q > 0.
        with np.errstate(invalid="ignore"):
            loss = np.where(finite.support[i], finite.relative_logs[i] - finite.relative_logs[j], -np.inf)
        top = float(finite.rounded()[i] @ -np.expm1(-np.maximum(loss, 0.0)))
    top = min(1.0, top)
    if top == 0:
        return AverageLevel(0.0, 0.0, None)
    return AverageLevel(math.log1p(top) / LN2, top, (finite.inputs[i], finite.inputs[j]))


def predicate_breach(
    channel: Channel, prior: object = None, members: tuple[int, ...] | None = None
) -> PredicateBreach:
    """What one observation does to belief in a predicate (positions of inputs); the worst one by default.

    Belief in a set changes by an average of the changes for its members, so the worst predicate is a
    single input.
    """
    finite = finite_channel(channel)
    belief = as_prior(prior, finite).astype(np.float64)
    seen = np.flatnonzero(finite.support[belief > 0].any(axis=0))
    if members is None:
        members = (_most_changed(finite, belief, seen),)
    inside = np.isin(np.arange(len(belief)), members)
    before, other = float(belief[inside].sum()), float(belief[~inside].sum())
    if not before > 0:
        raise PriorError("predicate has probability 0 under the prior; name inputs that are possible")
    held, not_held = (_log_likelihoods(finite, belief * part)[seen] for part in (inside, ~inside))
    with np.errstate(invalid="ignore"):
        odds = np.where(np.isneginf(not_held), -np.inf, not_held - held)
    change = -_log_mixed(before, other, odds)
    high, low = int(np.argmax(change)), int(np.argmin(change))
    return PredicateBreach(
        tuple(finite.inputs[i] for i in members),
        before,
        min(1.0, before * math.exp(change[high])),
        finite.outputs[int(seen[high])],
        before * math.exp(change[low]),
        finite.outputs[int(seen[low])],
        _average_growth(finite.rounded()[:, seen], belief * inside, belief * ~inside, odds) / LN2,
        max(0.0, float(change[high])),
        max(0.0, -float(change[low])),
    )


def _most_changed(channel: Channel, belief: FloatArray, seen: IndexArray) -> int:
    """The possible input in which belief can grow most; the first of those that are equal up to rounding."""
    possible = np.flatnonzero(belief > 0)
    mean = _log_likelihoods(channel, belief)[seen]
    growth = (channel.relative_logs[np.ix_(possible, seen)] - mean).max(axis=1)
    return int(possible[int(np.argmax(growth >= growth.max() * (1 - 1e-12)))])


def _log_likelihoods(channel: Channel, weights: FloatArray) -> FloatArray:
    """ln of each output's probability when the input is drawn by weights, less one number for each output."""
    rows = np.flatnonzero(weights > 0)
    if not len(rows):
        return np.full(channel.shape[1], -np.inf)
    found = log_means(channel.relative_logs[rows], weights[rows])
    return np.where(channel.support[rows].any(axis=0), found, -np.inf)


def _log_mixed(before: float, other: float, odds: FloatArray) -> FloatArray:
    """ln (P + Q·e^odds) with P and Q in the proportion of the two and P + Q = 1.

    With odds = ln P(y | not A)/P(y | A) it is what belief in A falls by when y is seen.
    """
    total = before + other
    with np.errstate(over="ignore", divide="ignore"):
        shift = other / total * np.expm1(odds)
        near = np.abs(shift) < 0.5
        far = np.logaddexp(np.log(before / total), np.log(other / total) + odds)
    return np.where(near, np.log1p(np.where(near, shift, 0.0)), far)


def _average_growth(matrix: FloatArray, held: FloatArray, not_held: FloatArray, odds: FloatArray) -> float:
    """ln of how much likelier the guess "does it hold?" is right: outputs that change it, by how much."""
    before, other = float(held.sum()), float(not_held.sum())
    if not other:
        return 0.0
    against = odds + math.log(other / before)  # ln P(y, not A)/P(y, A)
    likelier, sign = (not_held, -1.0) if before >= other else (held, 1.0)
    gained = (likelier @ matrix) @ -np.expm1(np.minimum(sign * against, 0.0))
    return math.log1p(float(gained) / max(before, other))
