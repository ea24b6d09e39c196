"""Security levels of one observation: how much belief in a predicate can change.

Worst case: |log2 p(Q|y)/p(Q)| over all predicates, priors and outputs is at most
log2 max_y (max_x C[x,y] / min_x C[x,y]), and comes as close as one likes (Boreale and Paolini, Thm 1).
Average case: knowing the output improves the best guess of "is X in Q?" by a factor of at most 1 + the
largest total variation of two rows (Thm 2).
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from sievert.channels import Channel, finite_channel
from sievert.channels._privacy import _widest_column
from sievert.channels.priors import as_prior
from sievert.errors import GainError, PriorError
from sievert.numerics import brief, log_fraction, log_of, log_sum
from sievert.results import Result, in_bits

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
                f"level is {brief(level)}; it must be at least 0 and below {in_bits(self.bits, 6)}"
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
            return f"output {self.output!r} rules {unlikely!r} out: the worst-case level is infinite"
        return (
            f"no belief changes by more than a factor of {2 ** min(self.bits, 1000):.4g} "
            f"({in_bits(self.bits)}); output {self.output!r} comes as close as one likes to that for belief "
            f"in {likely!r} against {unlikely!r}"
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
            f"whether it is {self.pair[0]!r} or {self.pair[1]!r} is guessed right with probability "
            f"{(1 + self.distance) / 2:.4g} instead of 0.5 ({in_bits(self.bits)}), and no question gains more"
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

    @property
    def up_bits(self) -> float:
        """log2 of the largest growth of belief."""
        return max(0.0, math.log2(self.highest / self.before))

    @property
    def down_bits(self) -> float:
        """log2 of the largest fall of belief; inf when an output rules the predicate out."""
        return math.inf if self.lowest == 0 else max(0.0, -math.log2(self.lowest / self.before))

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
            f"belief {self.before:.4g} rises to at most {self.highest:.4g} (output {self.highest_output!r}) "
            f"and falls to at least {self.lowest:.4g} (output {self.lowest_output!r})"
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
    joint = finite.log_matrix + log_of(belief)[:, None]
    outputs = log_sum(joint, axis=0)
    seen = np.flatnonzero(~np.isneginf(outputs))
    if members is None:
        possible = np.flatnonzero(belief > 0)
        growth = (finite.log_matrix[possible][:, seen] - outputs[seen]).max(axis=1)
        members = (int(possible[int(np.argmax(growth >= growth.max() - 1e-12))]),)
    before = float(belief[list(members)].sum())
    if not before > 0:
        raise PriorError("predicate has probability 0 under the prior; name inputs that are possible")
    inside = log_sum(joint[list(members)][:, seen], axis=0)
    rest = [i for i in range(len(belief)) if i not in set(members) and belief[i] > 0]
    outside = log_sum(joint[rest][:, seen], axis=0) if rest else np.full(len(seen), -np.inf)
    posterior = np.exp(inside - outputs[seen])
    high, low = int(np.argmax(posterior)), int(np.argmin(posterior))
    best = float(np.exp(np.maximum(inside, outside)).sum())
    blind = max(before, float(belief[rest].sum()))
    return PredicateBreach(
        tuple(finite.inputs[i] for i in members),
        before,
        min(1.0, float(posterior[high])),
        finite.outputs[int(seen[high])],
        float(posterior[low]),
        finite.outputs[int(seen[low])],
        max(0.0, math.log2(best / blind)),
    )
