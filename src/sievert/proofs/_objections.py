"""Proofs that object: joints of a secret and an input for which a mechanism is not the best.

A channel that is not refined by another, the least compromise where secret and use are one, and mechanisms
that are optimal neither against inference nor for accuracy (Fernandes, eq. 5.3, Thms 5.1 to 5.3). Each has
the joint in it, and is checked in fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from sievert.arrays import AnyArray, ObjectArray
from sievert.numerics import exact_matmul
from sievert.proofs._base import (
    Proof,
    exact_rows,
    in_percent_of,
    require_channels,
    require_prior,
    rows_from,
    texts_of,
)
from sievert.proofs._neighbours import Neighbours, shown
from sievert.proofs._reading import listed, whole

__all__ = [
    "AccuracyCounterexample",
    "DaleniusProof",
    "InferenceCounterexample",
    "NoFreeLunchProof",
]


@dataclass(frozen=True, eq=False)
class DaleniusProof(Proof):
    """A joint [secret, input] under which the secret is guessed better from B than from A (Fernandes, eq.
    5.3)."""

    kind: ClassVar[str] = "Dalenius witness"
    grounds: ClassVar[str] = (
        "a correlated secret that is guessed better refutes refinement (Fernandes, eq. 5.3)"
    )
    less_safe: AnyArray
    safer: AnyArray
    joint: AnyArray

    def data(self) -> dict[str, Any]:
        names = ("less_safe", "safer", "joint")
        return {name: texts_of(getattr(self, name)) for name in names}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> DaleniusProof:
        return cls(*(rows_from(data[name]) for name in ("less_safe", "safer", "joint")))

    def values(self) -> tuple[Fraction, Fraction]:
        """How often the secret is guessed from A and from B."""
        joint = exact_rows(self.joint)
        tables = (exact_rows(self.less_safe), exact_rows(self.safer))
        first, second = (sum(exact_matmul(joint, t).max(axis=0).tolist(), Fraction(0)) for t in tables)
        return first, second

    def proved(self) -> str:
        a, b, joint = (exact_rows(part) for part in (self.less_safe, self.safer, self.joint))
        require_channels(("A", a), ("B", b), rounding=Fraction(0))
        if joint.shape[1] != len(a) or any(v < 0 for v in joint.ravel()) or joint.sum() != 1:
            raise ValueError("the joint is not a distribution over secrets and inputs")
        before, after = self.values()
        if after <= before:
            raise ValueError(f"the secret is not guessed better from B: {float(after):.6g}")
        return (
            f"a secret with {len(joint)} values that is correlated with the input is guessed with "
            "probability "
            f"{float(after):.6g} from B and {float(before):.6g} from A, so that A is not refined by B"
        )

    def meaning(self) -> str:
        before, after = self.values()
        return (
            "somebody who is after something that goes with the input names it rightly in "
            f"{in_percent_of(after)} of all cases from B, and in {in_percent_of(before)} from A."
        )


@dataclass(frozen=True, eq=False)
class NoFreeLunchProof(Proof):
    """A mechanism on a property that is both secret and useful compromises by (1 - V)/2 at least (Thm
    5.1)."""

    kind: ClassVar[str] = "no free lunch"
    grounds: ClassVar[str] = (
        "secret and use being one, privacy and accuracy cannot both be had (Fernandes, Thm 5.1)"
    )
    channel: AnyArray
    prior: AnyArray

    def data(self) -> dict[str, Any]:
        return {"channel": texts_of(self.channel), "prior": texts_of(self.prior[None, :])[0]}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> NoFreeLunchProof:
        return cls(rows_from(data["channel"]), rows_from([data["prior"]])[0])

    @property
    def guess(self) -> Fraction:
        """How often the property is guessed after the release, which is also the accuracy."""
        joint = exact_rows(self.prior[None, :])[0][:, None] * exact_rows(self.channel)
        return sum(joint.max(axis=0).tolist(), Fraction(0))

    @property
    def before(self) -> Fraction:
        """How often it is guessed before."""
        return Fraction(max(exact_rows(self.prior[None, :])[0].tolist()))

    @property
    def compromise(self) -> Fraction:
        """The least e with an accuracy of at least 1 - e and a guess of at most the one before plus e."""
        return max(1 - self.guess, self.guess - self.before)

    @property
    def least(self) -> Fraction:
        """What no mechanism is below."""
        return (1 - self.before) / 2

    def proved(self) -> str:
        table, prior = exact_rows(self.channel), exact_rows(self.prior[None, :])[0]
        require_channels(("the channel", table), rounding=Fraction(0))
        require_prior(prior, len(table))
        if self.compromise < self.least:
            raise ValueError("the mechanism compromises less than is possible")
        return (
            f"the property is guessed with {float(self.before):.6g} before and {float(self.guess):.6g} "
            "after: this "
            f"mechanism compromises by {float(self.compromise):.6g}, and none by less than "
            f"{float(self.least):.6g}"
        )

    def meaning(self) -> str:
        return (
            "with this mechanism either the property comes out, or nothing of use does: one is off by "
            f"{in_percent_of(self.compromise)}, and with no mechanism are both off by less than "
            f"{in_percent_of(self.least)}."
        )


@dataclass(frozen=True, eq=False)
class InferenceCounterexample(Proof):
    """Two uses that a mechanism tells apart: a secret that goes with them is inferred (Fernandes, Thm
    5.2)."""

    kind: ClassVar[str] = "inference counter-example"
    grounds: ClassVar[str] = "two uses that are told apart carry a secret with them (Fernandes, Thm 5.2)"
    channel: AnyArray
    pair: tuple[int, int]

    def data(self) -> dict[str, Any]:
        return {"channel": texts_of(self.channel), "pair": list(self.pair)}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> InferenceCounterexample:
        first, second = (whole(value, 0) for value in listed(data["pair"]))
        return cls(rows_from(data["channel"]), (first, second))

    @property
    def guess(self) -> Fraction:
        """How often the secret is guessed where each of its two values goes with one of the uses."""
        table = exact_rows(self.channel)
        first, second = (table[i] for i in self.pair)
        return sum((max(a, b) for a, b in zip(first, second, strict=True)), Fraction(0)) / 2

    def proved(self) -> str:
        table = exact_rows(self.channel)
        require_channels(("the channel", table), rounding=Fraction(0))
        if self.pair[0] == self.pair[1] or max(self.pair) >= len(table):
            raise ValueError("the pair is not two inputs of the channel")
        if self.guess <= Fraction(1, 2):
            raise ValueError("the channel does not tell the two uses apart")
        i, j = self.pair
        return (
            f"a secret with two values, one with use {i} and one with use {j}, is guessed with probability "
            f"{float(self.guess):.6g} after the release and 1/2 from a mechanism that says nothing: this "
            "one is not "
            "optimal against inference attacks"
        )

    def meaning(self) -> str:
        return (
            f"this mechanism gives away a secret that goes with uses {self.pair[0]} and {self.pair[1]}: it "
            f"is guessed in {in_percent_of(self.guess)} of all cases, and in 50% without a release."
        )


@dataclass(frozen=True, eq=False)
class AccuracyCounterexample(Proof):
    """Another mechanism, as private, that tells a use better, for one correlation (Fernandes, Thm 5.3).

    Attributes
    ----------
    space : which secrets are neighbours
    channel, other : the mechanism, and the one that tells better [secret, output]
    joint : probabilities [use, secret]
    """

    kind: ClassVar[str] = "accuracy counter-example"
    grounds: ClassVar[str] = "another mechanism, as private, tells the use better (Fernandes, Thm 5.3)"
    space: Neighbours
    channel: AnyArray
    other: AnyArray
    joint: AnyArray

    def data(self) -> dict[str, Any]:
        names = ("channel", "other", "joint")
        return {"space": self.space.to_data()} | {name: texts_of(getattr(self, name)) for name in names}

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> AccuracyCounterexample:
        tables = (rows_from(data[name]) for name in ("channel", "other", "joint"))
        return cls(Neighbours.from_data(data["space"]), *tables)

    @property
    def own(self) -> Fraction:
        """How often the use is told right by the mechanism itself."""
        return self._told(exact_rows(self.channel))

    @property
    def truth(self) -> Fraction:
        """How often the use is told right by the other."""
        return self._told(exact_rows(self.other))

    def _told(self, table: ObjectArray) -> Fraction:
        return sum(exact_matmul(exact_rows(self.joint), table).max(axis=0).tolist(), Fraction(0))

    def proved(self) -> str:
        table, other, joint = (exact_rows(part) for part in (self.channel, self.other, self.joint))
        require_channels(("the channel", table), ("the other mechanism", other), rounding=Fraction(0))
        if not self.space.size == len(table) == len(other) == joint.shape[1]:
            raise ValueError("the parts of the proof do not fit each other")
        require_prior(joint.ravel(), joint.size)
        if self.space.form == "free":
            raise ValueError("nothing is promised: telling everything is optimal for accuracy")
        self.space.check()
        self.space.require_private(table)
        self.space.require_private(other)
        if self.truth <= self.own:
            raise ValueError("the other mechanism does not tell the use better")
        uses = " and ".join(_held(row) for row in joint.tolist())
        return (
            f"of {self.space.words()}, this one tells a use with {len(joint)} values (that go with secrets "
            f"{uses}) right with probability {float(self.own):.6g}, and another with "
            f"{float(self.truth):.6g}: this one is not optimal for accuracy"
        )

    def meaning(self) -> str:
        return (
            f"users of this mechanism are right in {in_percent_of(self.own)} of all cases, and with another "
            f"that is as private in {in_percent_of(self.truth)}."
        )


def _held(row: list[Fraction]) -> str:
    """The secrets that go with a value of the use."""
    places = [place for place, value in enumerate(row) if value]
    if len(places) > 3:
        return f"{places[0]}, {places[1]} … {places[-1]}"
    return ", ".join(f"{place} ({shown(row[place])})" for place in places)
