"""What a comparison answers: a verdict with its proof, the adversary who objects, and all orders together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sievert.arrays import AnyArray, FloatArray
from sievert.channels import Channel
from sievert.errors import ChannelError
from sievert.orders._decisions import TOLERANCE
from sievert.proofs import AdversaryProof, Proof
from sievert.results import Result, cell_text, html_table
from sievert.spaces import worded

__all__ = ["Comparison", "Objection", "TextLabel", "Verdict", "bet_in_words", "entries", "objected"]

# Bets that a sentence lists, and the letters each may take.
DESCRIBED, LONGEST = 3, 60


class TextLabel(str):
    """Outputs or values that no list holds, by what they have in common: not a label, so without quotes."""

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Objection(Result):
    """The adversary who objects: prior, gain [action, secret], and what they expect of either channel.

    For the privacy order: the pair of secrets, the output, and their distances under both channels.
    `secrets` are the labels of the gain's columns. With `releases` it is the chance to guess one record after
    so many, all others known.
    """

    before: float
    after: float
    gain: Any = field(default=None, repr=False)
    prior: Any = field(default=None, repr=False)
    pair: tuple[Any, Any] | None = None
    output: Any = None
    secrets: Any = field(default=None, repr=False)
    releases: int | None = None

    @property
    def gap(self) -> float:
        """How much more the adversary has from the second channel."""
        return self.after - self.before

    def __str__(self) -> str:
        return self.sentence()

    def sentence(self, channel: str = "", other: str = "") -> str:
        """Who objects and what they gain, naming the channel they gain it from and the other one."""
        if self.pair is not None:
            return self._told_apart(channel, other)
        if self.releases is not None:
            return self._guesses(channel, other)
        source, instead = f" from {channel}" if channel else "", f" from {other}" if other else ""
        if self.before <= 0:
            more = f"{self.gap:.3g}{source} instead of nothing{instead}"
        elif self.gap / self.before < 0.0005:
            more = f"{self.gap:.2g} more{source} than the {self.before:.4g}{instead or ' before'}"
        else:
            before, after = f"{self.before:.4g}", f"{self.after:.4g}"
            values = f"{after} against {before}" if other else f"{before} → {after}"
            than = f" than{instead}" if other else ""
            more = f"{self.gap / self.before:.1%} more{source}{than} ({values})"
        return f"an adversary who {self._bets()} gains {more}"

    def _told_apart(self, channel: str, other: str) -> str:
        assert self.pair is not None
        # As many digits as tell the odds apart.
        digits = next((d for d in range(4, 15) if _odds(self.after, d) != _odds(self.before, d)), 15)
        before, certain = _odds(self.before, digits), math.isinf(self.after)
        succeeds = "is certain" if certain else f"succeeds by odds of {_odds(self.after, digits)}"
        where = self.output if isinstance(self.output, TextLabel) else f"output {worded(self.output)}"
        place = f"at {where}" + (f" of {channel}" if channel else "")
        against = f"against {'odds of ' if certain else ''}{before} {f'from {other}' if other else 'before'}"
        return (
            f"somebody who wants to tell {self.pair[0]!r} from {self.pair[1]!r} {succeeds} {place}, {against}"
        )

    def _guesses(self, channel: str, other: str) -> str:
        times = "one release" if self.releases == 1 else f"{self.releases} releases"
        # As many digits as tell the guesses apart.
        digits = next((d for d in range(1, 12) if f"{self.before:.{d}%}" != f"{self.after:.{d}%}"), 12)
        source, instead = f" of {channel}" if channel else "", f"of {other}" if other else "of the other"
        return (
            f"one record is guessed with probability {self.after:.{digits}%} from {times}{source}, and "
            f"{self.before:.{digits}%} from as many {instead}"
        )

    def _bets(self) -> str:
        """The choices in words where they are few and simple."""
        described = f"chooses between {len(self.gain)} bets" if self.gain is not None else "compares outputs"
        if self.gain is None or self.secrets is None or len(self.gain) > DESCRIBED:
            return described
        bets = [bet_in_words(row, self.secrets) for row in self.gain]
        if any(len(bet) > LONGEST for bet in bets):
            return described
        return f"may bet {', or '.join(bets)}," if len(bets) > 1 else f"bets {bets[0]}"


def bet_in_words(gains: Any, secrets: Any) -> str:
    """What a bet pays: "on 2", "on 0 or 1 (worth 0.4)", "0.3 on 1 and 0.1 on 4", "on nothing"."""
    pays: dict[str, list[str]] = {}
    for value, secret in zip(gains, secrets, strict=True):
        if value > 0:
            pays.setdefault(f"{float(value):.3g}", []).append(worded(secret))
    pays = dict(sorted(pays.items(), key=lambda item: -float(item[0])))
    if not pays:
        return "on nothing"
    if len(pays) == 1:
        value, wins = next(iter(pays.items()))
        worth = "" if value == "1" else f" (worth {value})"
        if len(wins) == len(gains):
            return f"a sure {value}"
        return f"on {_one_of(wins)}{worth}"
    return " and ".join(f"{value} on {_one_of(wins)}" for value, wins in pays.items())


def _one_of(labels: list[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} or {labels[-1]}"


def _odds(nats: float, digits: int = 4) -> str:
    return f"{math.exp(nats):.{digits}g}" if nats < 700 else f"e^{nats:.{digits}g}"


@dataclass(frozen=True)
class Verdict(Result):
    """Whether one channel is refined by another.

    Attributes
    ----------
    holds : True, False, or None where the given precision cannot tell
    order : which order was asked
    deficiency : how far B is from being a post-processing of A: proved at least this (when it fails), at most
        this (when it holds), or the upper end of the bracket (undecided)
    certificate : the proof; `certificate.verify()` needs no solver
    witness : the objecting adversary, when it fails
    method : how it was decided
    exact : whether the answer is proved over the rationals; a float one holds up to 1e-9 of total variation
    post : the channel R with A·R = B, where it was built
    """

    holds: bool | None
    order: str
    deficiency: float
    certificate: Proof | None = field(repr=False)
    witness: Objection | None = field(repr=False)
    method: str = ""
    exact: bool = False
    post: Channel | None = field(default=None, repr=False)

    @property
    def uncertified(self) -> str | None:
        """Why there is no proof; None where there is one."""
        if self.certificate is not None:
            return None
        if self.holds is None:
            return "what is undecided has none"
        return f"it was decided without a list ({self.method}), and is not written down as a proof"

    @property
    def precision(self) -> str:
        """What a yes in floats leaves open, as the end of a sentence; nothing where it is proved exactly."""
        if self.exact or not self.holds:
            return ""
        share = "rounding" if "privacy" in self.order else f"{TOLERANCE:.0e} of what anybody can gain"
        return f", up to {share} (floats; fractions decide exactly)"

    def __bool__(self) -> bool:
        if self.holds is None:
            raise ChannelError(
                f"the order is undecided at this precision (deficiency at most {self.deficiency:.3g})"
            )
        return self.holds

    def __str__(self) -> str:
        if self.holds is None:
            return f"undecided in the {self.order} order: {self.method} (deficiency ≤ {self.deficiency:.3g})"
        if self.holds:
            safe = f"the second channel is at least as safe in the {self.order} order{self.precision}"
            return f"yes: {safe} ({self.method})"
        return f"no: {self.witness or self.method} ({self.order} order)"


@dataclass(frozen=True)
class Comparison(Result):
    """All orders, both ways: can B replace A, and can A replace B?"""

    forward: tuple[Verdict, ...]
    backward: tuple[Verdict, ...]

    @property
    def strongest(self) -> str | None:
        """The strongest order in which the second channel is at least as safe."""
        return next((verdict.order for verdict in self.forward if verdict.holds), None)

    def _repr_html_(self) -> str:
        rows = {
            f"{names}, {verdict.order} order": cell_text(verdict)
            for names, verdicts in (("B for A", self.forward), ("A for B", self.backward))
            for verdict in verdicts
        }
        return html_table(str(self), rows)

    def __str__(self) -> str:
        return f"{_sentence(self.forward, 'B', 'A')} {_sentence(self.backward, 'A', 'B')}"


def _sentence(verdicts: tuple[Verdict, ...], new: str, old: str) -> str:
    if verdicts[0].holds:
        return f"{new} can replace {old} against every adversary{verdicts[0].precision}."
    strongest = next((verdict.order for verdict in verdicts if verdict.holds), None)
    # The order next above the strongest that holds says who objects.
    failing = [verdict for verdict in verdicts if verdict.holds is False]
    failing = failing or [verdict for verdict in verdicts if not verdict.holds]
    objector = failing[-1]
    reason = objector.witness.sentence(new, old) if objector.witness is not None else objector.method
    if strongest is None:
        return f"{new} cannot replace {old}: {reason}."
    return f"{new} is safer than {old} only in the {strongest} order: {reason}."


# ── From a witness to the adversary who objects: a legal gain with few actions, and the proof ───────────────
# Dropping actions one by one costs actions²·outputs.
MOST_ACTIONS = 64
# Gains are rounded to the first of these fractions of 1 that keeps nearly all of the advantage.
UNITS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 24, 30, 60, 100, 1000)
KEPT = 0.95


def entries(channel: Channel, exact: bool) -> AnyArray:
    """The matrix as fractions, or as floats."""
    return channel.entries if exact else channel.rounded()


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
