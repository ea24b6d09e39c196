"""What a comparison answers: a verdict with its proof, the adversary who objects, and all orders together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from sievert.channels.channel import Channel
from sievert.errors import ChannelError
from sievert.proofs.base import Proof
from sievert.results import Result

__all__ = ["Comparison", "Objection", "Verdict"]


@dataclass(frozen=True)
class Objection(Result):
    """The adversary who objects: prior, gain [action, secret], and what they expect of either channel.

    For the privacy order: the pair of secrets, the output, and their distances under both channels.
    """

    before: float
    after: float
    gain: Any = field(default=None, repr=False)
    prior: Any = field(default=None, repr=False)
    pair: tuple[Any, Any] | None = None
    output: Any = None

    @property
    def gap(self) -> float:
        """How much more the adversary has from the second channel."""
        return self.after - self.before

    def __str__(self) -> str:
        if self.pair is not None:
            first, second = self.pair
            ratio = "certainly" if math.isinf(self.after) else f"by odds of {_odds(self.after)}"
            return (
                f"somebody who wants to tell {first!r} from {second!r} succeeds {ratio} "
                f"at output {self.output!r}, against {_odds(self.before)} before"
            )
        share = self.gap / self.before if self.before > 0 else math.inf
        more = f"{share:.1%} more" if math.isfinite(share) else f"{self.gap:.3g} instead of nothing"
        if math.isfinite(share) and share < 0.0005:
            more = f"{share:.2g} of it more"
        values = f"{self.before:.4g} → {self.after:.4g}"
        return f"an adversary who chooses between {len(self.gain)} bets gains {more} ({values})"


def _odds(nats: float) -> str:
    return f"{math.exp(nats):.4g}" if nats < 700 else f"e^{nats:.4g}"


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
    exact : whether the answer is proved over the rationals
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

    def __bool__(self) -> bool:
        if self.holds is None:
            raise ChannelError(
                f"the order is undecided at this precision (deficiency at most {self.deficiency:.3g})"
            )
        return self.holds

    def __str__(self) -> str:
        if self.holds is None:
            bracket = f"the deficiency is at most {self.deficiency:.3g}"
            return f"undecided in the {self.order} order: {bracket} ({self.method})"
        if self.holds:
            return f"yes: the second channel is at least as safe in the {self.order} order ({self.method})"
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

    def __str__(self) -> str:
        return f"{_sentence(self.forward, 'B', 'A')} {_sentence(self.backward, 'A', 'B')}"


def _sentence(verdicts: tuple[Verdict, ...], new: str, old: str) -> str:
    if verdicts[0].holds:
        return f"{new} can replace {old} against every adversary."
    strongest = next((verdict.order for verdict in verdicts if verdict.holds), None)
    # The order next above the strongest that holds says who objects.
    failing = [verdict for verdict in verdicts if not verdict.holds]
    objector = failing[-1]
    reason = f"{objector.witness}" if objector.witness is not None else "the precision does not tell"
    if strongest is None:
        return f"{new} cannot replace {old}: {reason}."
    return f"{new} is safer than {old} only in the {strongest} order: {reason}."
