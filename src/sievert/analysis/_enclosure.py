"""A number that is known from both sides, and a vulnerability that is known so."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction

from sievert.measures import RecordLeakage
from sievert.observations import RecordGain, RepeatedGuess
from sievert.results import Result

__all__ = ["Enclosure", "Vulnerability"]


@dataclass(frozen=True)
class Enclosure(Result):
    """A number between two certain bounds.

    Attributes
    ----------
    lower, upper : certain bounds; equal where the number is known
    method : how it was found, or which bounds these are
    is_exact : whether the number is known, up to rounding
    fraction : the number as a fraction, where it is one and was computed so
    """

    lower: float
    upper: float
    method: str
    is_exact: bool = False
    fraction: Fraction | None = None

    @classmethod
    def exact(cls, value: float, method: str, fraction: Fraction | None = None) -> Enclosure:
        """One number."""
        return cls(value, value, method, True, fraction)

    @classmethod
    def at_most(cls, upper: float, method: str, lower: float = 0.0) -> Enclosure:
        """Known from above."""
        return cls(min(lower, upper), upper, method)

    def tightened(self, upper: float, method: str) -> Enclosure:
        """With another upper bound, where that is less."""
        return (
            self if self.is_exact or upper >= self.upper else Enclosure(min(self.lower, upper), upper, method)
        )


@dataclass(frozen=True)
class Vulnerability(Result):
    """What an attacker gains, before and after some releases.

    Attributes
    ----------
    prior : without a release
    posterior : after the releases; its conservative end is `value`
    releases : independent releases of the same data
    gain : what the attacker's gain function is called
    is_loss : whether it is a loss, which an attacker wants to be small
    context : inputs of the channel that the record's values lead to, at the worst values of the others
    """

    prior: float
    posterior: Enclosure
    releases: int = 1
    gain: str = "identity"
    is_loss: bool = False
    context: tuple[Hashable, ...] = ()

    @property
    def value(self) -> float:
        """Conservative end of the enclosure: the lower one of a loss, else the upper one."""
        return self.posterior.lower if self.is_loss else self.posterior.upper

    @property
    def is_exact(self) -> bool:
        """Whether the posterior vulnerability is known."""
        return self.posterior.is_exact

    @property
    def bits(self) -> float:
        """Min-entropy leakage: log2 of the growth."""
        return math.log2(self.value / self.prior)

    @property
    def advantage(self) -> float:
        """Additive leakage."""
        return self.value - self.prior

    def tightened(self, upper: float, method: str) -> Vulnerability:
        """With another upper bound, where that is less."""
        return replace(self, posterior=self.posterior.tightened(upper, method))

    # ── From and to the results of measures and observations, which the target merges into this class ──────

    @classmethod
    def of_guess(cls, found: RepeatedGuess) -> Vulnerability:
        ends = (
            Enclosure.exact(found.guess, found.method)
            if found.exact
            else Enclosure.at_most(found.guess, found.method, found.before)
        )
        return cls(found.before, ends, found.observations)

    @classmethod
    def of_record(cls, found: RecordLeakage) -> Vulnerability:
        ends = Enclosure(
            found.before if found.is_bound else found.after,
            found.after,
            found.method,
            not found.is_bound,
            found.exact,
        )
        return cls(found.before, ends, context=found.answers)

    @classmethod
    def of_gain(cls, found: RecordGain, is_loss: bool = False) -> Vulnerability:
        ends = Enclosure(found.lower, found.upper, found.method, found.exact)
        return cls(found.before, ends, found.releases, found.gain, is_loss)

    def as_record(self, bits: float) -> RecordLeakage:
        """As the JSON of an audit writes it."""
        found = self.posterior
        return RecordLeakage(
            self.prior,
            self.value,
            bits,
            self.context,
            found.method,
            found.fraction,
            is_bound=not found.is_exact,
        )
