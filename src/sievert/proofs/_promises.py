"""Proofs of what a claim of privacy lets anybody guess, whatever the mechanism.

*Guess under a claim*: values any two of which are neighbours, an (ε, δ)-private mechanism, a prior π. Write
q = e^-ε, a_j for the probability that value j is guessed when it is true, b_j = max(a_j - δ, 0). Then every
row i has b_i + q·Σ_{j≠i} b_j ≤ 1 - δ, so any y ≥ 0 with (1-q)·y_j + q·Σy ≥ π_j proves the guess to be at most
δ + (1-δ)·Σy. A mechanism that tells the truth with probability δ and else uses randomised response among the
m likeliest values reaches δ + (1-δ)·(π_1+…+π_m)·e^ε/(e^ε+m-1).

*Approximate worst guess*: any graph of neighbours and any objective, by weak duality of the linear program
with hockey-stick constraints, and a channel checked over the rationals.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import flint
import numpy as np

from sievert.arrays import FloatArray
from sievert.numerics import claim_in_words, decimal, exp_below
from sievert.proofs._base import Proof, in_percent_of, measured
from sievert.proofs._bounds import dual_bound
from sievert.proofs._reading import entries, floats, fraction, fractions, listed, whole
from sievert.proofs._space import ProofSpace

__all__ = ["ApproximateProof", "GuessProof", "RepeatedGuessProof", "hockey_stick_excess"]
DIGITS = 12
# Releases whose outcomes are summed one by one when a proof is checked: some seconds.
LARGEST_RELEASES = 100_000


def _probability(text: Any, name: str) -> Fraction:
    value = fraction(text)
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be between 0 and 1")
    return value


def _outward(lower: Fraction, upper: Fraction) -> tuple[Fraction, Fraction]:
    """Ends with denominators that can be printed, rounded outward by at most 2^-100."""
    scale = 2**100
    return Fraction((lower * scale).__floor__(), scale), Fraction((upper * scale).__ceil__(), scale)


def _require_stated(
    stated: tuple[Fraction, Fraction] | None, lower: Fraction, upper: Fraction
) -> tuple[Fraction, Fraction]:
    """The ends that are proved, which must not fall short of those that the proof states."""
    if lower > upper:
        raise ValueError("the lower bound exceeds the upper bound, so one of the certificates is wrong")
    if stated is not None and (lower < stated[0] or upper > stated[1]):
        raise ValueError("the certificate does not prove the ends that it states")
    return lower, upper


def _stated(data: dict[str, Any]) -> tuple[Fraction, Fraction]:
    return fraction(data["lower"]), fraction(data["upper"])


def _ends(lower: Fraction, upper: Fraction) -> dict[str, str]:
    """The ends as a proof states them."""
    low, high = _outward(lower, upper)
    return {"lower": str(low), "upper": str(high)}


def _statement(what: str, lower: Fraction, upper: Fraction) -> str:
    reached = "" if lower <= 0 else f", and some mechanism reaches at least {decimal(lower, DIGITS, True)}"
    return f"{what} is at most {decimal(upper, DIGITS, False)}{reached}"


@dataclass(frozen=True, eq=False)
class GuessProof(Proof):
    """Best guess about one value under an (ε, δ) claim, any two of the values being neighbours.

    `prior` lists probabilities; for equally likely values it is None and `values` says how many. `cover` is y
    (for equal values its one entry), `used` is m.
    """

    kind: ClassVar[str] = "guess under a claim"
    found: ClassVar[tuple[str, ...]] = ("cover", "used", "lower", "upper")
    grounds: ClassVar[str] = (
        "weak duality above, the truth with probability δ and else randomised response below"
    )
    eps: Fraction
    delta: Fraction
    values: int
    prior: tuple[Fraction, ...] | None
    cover: tuple[Fraction, ...]
    used: int
    stated: tuple[Fraction, Fraction] | None = None

    def data(self) -> dict[str, Any]:
        return {
            "eps": str(self.eps),
            "delta": str(self.delta),
            "values": self.values,
            "prior": None if self.prior is None else [str(p) for p in self.prior],
            "cover": [str(y) for y in self.cover],
            "used": self.used,
            **_ends(*self.bounds()),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> GuessProof:
        prior = data["prior"]
        return cls(
            fraction(data["eps"]),
            _probability(data["delta"], "delta"),
            whole(data["values"]),
            None if prior is None else tuple(_probability(p, "a prior probability") for p in listed(prior)),
            fractions(data["cover"]),
            whole(data["used"]),
            _stated(data),
        )

    def bounds(self) -> tuple[Fraction, Fraction]:
        """Proved lower and upper bound; ValueError where the certificate does not hold."""
        return self._found

    @cached_property
    def _found(self) -> tuple[Fraction, Fraction]:
        if self.eps < 0 or not 0 <= self.delta <= 1 or not 1 <= self.used <= self.values:
            raise ValueError("eps must be ≥ 0, delta a probability and used between 1 and values")
        if any(y < 0 for y in self.cover):
            raise ValueError("the cover must not be negative")
        return _require_stated(self.stated, self._lower(), self._upper())

    def _lower(self) -> Fraction:
        growth = exp_below(self.eps)
        if self.prior is None:
            share = Fraction(self.used, self.values)
        else:
            share = sum(sorted(self.prior, reverse=True)[: self.used], Fraction(0))
        return self.delta + (1 - self.delta) * share * growth / (growth + self.used - 1)

    def _upper(self) -> Fraction:
        # q rounded down lowers q·(Σy - y_j), so what is checked implies what is needed.
        q = exp_below(-self.eps)
        if self.prior is None:
            if len(self.cover) != 1:
                raise ValueError("equally likely values need one entry of the cover")
            total = self.values * self.cover[0]
            least = (self.cover[0] + q * (total - self.cover[0])) * self.values
        else:
            if not len(self.prior) == len(self.cover) == self.values or sum(self.prior) != 1:
                raise ValueError("prior and cover need one entry for each value, and the prior the sum 1")
            total = sum(self.cover, Fraction(0))
            positive = [(y, p) for y, p in zip(self.cover, self.prior, strict=True) if p > 0]
            least = min((y + q * (total - y)) / p for y, p in positive)
        if least < 1:
            raise ValueError("the cover does not bound the guess of every value")
        return min(Fraction(1), self.delta + (1 - self.delta) * total)

    def proved(self) -> str:
        lower, upper = self.bounds()
        what = f"for {claim_in_words(self.eps, self.delta)} the best guess among {self.setting}"
        return _statement(what, lower, upper)

    def meaning(self) -> str:
        return (
            f"whatever is released with this claim, the right one of {self.values} values is named in at "
            f"most {in_percent_of(self.bounds()[1])} of all cases."
        )

    @property
    def setting(self) -> str:
        """What is guessed, in words."""
        return f"{self.values} " + (
            "equally likely values" if self.prior is None else "values with the given prior"
        )


@dataclass(frozen=True, eq=False)
class RepeatedGuessProof(Proof):
    """Best guess between two values after k adaptive releases, each (ε, δ)-private.

    The sum Σ_l C(k,l)·max(π_1·p^(k-l)·q^l, π_2·p^l·q^(k-l)) over outcomes of k-fold randomised response
    (Kairouz, Oh and Viswanath, Thm 3.3) is recomputed with balls and must lie within the stated ends.
    """

    kind: ClassVar[str] = "repeated guess between two values"
    found: ClassVar[tuple[str, ...]] = ("lower", "upper")
    grounds: ClassVar[str] = "the composition of adaptive releases (Kairouz, Oh and Viswanath, Thm 3.3)"
    eps: Fraction
    delta: Fraction
    releases: int
    prior: tuple[Fraction, Fraction]
    lower: Fraction
    upper: Fraction

    def data(self) -> dict[str, Any]:
        return {
            "eps": str(self.eps),
            "delta": str(self.delta),
            "releases": self.releases,
            "prior": [str(p) for p in self.prior],
            "lower": str(self.lower),
            "upper": str(self.upper),
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> RepeatedGuessProof:
        first, second = listed(data["prior"])
        return cls(
            fraction(data["eps"]),
            _probability(data["delta"], "delta"),
            whole(data["releases"], 0, LARGEST_RELEASES),
            (_probability(first, "prior"), _probability(second, "prior")),
            _probability(data["lower"], "lower"),
            _probability(data["upper"], "upper"),
        )

    @classmethod
    def of(
        cls, eps: Fraction, delta: Fraction, releases: int, prior: tuple[Fraction, Fraction]
    ) -> RepeatedGuessProof:
        """The proof whose ends are the enclosure itself, rounded outward."""
        ends = cls(eps, delta, releases, prior, Fraction(0), Fraction(1)).enclosure()
        return cls(eps, delta, releases, prior, *_outward(*ends))

    def enclosure(self) -> tuple[Fraction, Fraction]:
        """Rationals that enclose the guess."""
        if self.eps < 0 or self.releases < 1 or sum(self.prior) != 1:
            raise ValueError("eps must be ≥ 0, releases ≥ 1 and the prior must sum to 1")
        old = flint.ctx.prec
        flint.ctx.prec = 160
        try:
            total = sum(self._outcomes(), flint.arb(0))
            hidden = (1 - _ball(self.delta)) ** self.releases
            guess = 1 - hidden + hidden * total
            # A ball around a probability near 0 or 1 reaches beyond it.
            return max(Fraction(0), _exact(guess.lower())), min(Fraction(1), _exact(guess.upper()))
        finally:
            flint.ctx.prec = old

    def _outcomes(self) -> Iterator[flint.arb]:
        decay = (-_ball(self.eps)).exp()
        right, wrong = 1 / (1 + decay), decay / (1 + decay)
        first, second = (_ball(p) for p in self.prior)
        ways = flint.fmpz(1)
        for mistakes in range(self.releases + 1):
            hits = self.releases - mistakes
            yield flint.arb(ways) * _larger(
                first * right**hits * wrong**mistakes, second * right**mistakes * wrong**hits
            )
            ways = ways * hits // (mistakes + 1)

    def proved(self) -> str:
        low, high = self.enclosure()
        if not self.lower <= low <= high <= self.upper:
            raise ValueError("the stated ends do not enclose the guess")
        return _statement(
            f"after {self.releases} adaptive releases with {claim_in_words(self.eps, self.delta)} each, the "
            f"best guess between two values with prior {self.prior[0]}, {self.prior[1]}",
            self.lower,
            self.upper,
        )

    def meaning(self) -> str:
        return (
            f"whatever is released {self.releases} times with this claim, the right one of two values is "
            f"named in at most {in_percent_of(self.upper)} of all cases; a blind guess is right in "
            f"{in_percent_of(max(self.prior))}."
        )


def _ball(value: Fraction) -> flint.arb:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def _exact(ball: flint.arb) -> Fraction:
    mantissa, exponent = ball.man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def _larger(first: flint.arb, second: flint.arb) -> flint.arb:
    """max of two balls: their union where they overlap."""
    if first >= second:
        return first
    return second if second >= first else first.union(second)


@dataclass(frozen=True, eq=False)
class ApproximateProof(Proof):
    """Largest Σ A[x,w]·K[x,w] over channels K that are (ε, δ)-private along every edge of a space.

    Attributes
    ----------
    space, eps, delta : K[i,E] ≤ e^(ε·length)·K[h,E] + δ for both directions of every edge and every event E
    objective : A
    dual : multipliers (y, f): as for δ = 0, and each arc is charged δ·max_w f[arc,w]
    channel : rows of integers over a denominator
    """

    kind: ClassVar[str] = "approximate worst guess"
    grounds: ClassVar[str] = (
        "weak duality with hockey-stick constraints above, an explicit private channel below"
    )
    space: ProofSpace
    eps: Fraction
    delta: Fraction
    objective: FloatArray
    dual: dict[str, Any]
    channel: dict[str, Any]
    labels: tuple[Any, ...] = field(default=())
    stated: tuple[Fraction, Fraction] | None = None

    def __post_init__(self) -> None:
        if self.eps < 0 or not 0 <= self.delta <= 1:
            raise ValueError("eps must be ≥ 0 and delta a probability")
        shaped = self.objective.ndim == 2 and len(self.objective) == self.space.size
        if not shaped or not np.isfinite(self.objective).all():
            raise ValueError("the objective needs one row of finite numbers for each point")

    def data(self) -> dict[str, Any]:
        return {
            "space": self.space.to_data(),
            "eps": str(self.eps),
            "delta": str(self.delta),
            "objective": self.objective.tolist(),
            "dual": self.dual,
            "channel": self.channel,
            "labels": [str(label) for label in self.labels],
            **_ends(*self.bounds()),
        }

    def question(self) -> dict[str, Any]:
        return {
            "space": self.space.to_data(),
            "eps": str(self.eps),
            "delta": str(self.delta),
            "objective": self.objective.tolist(),
            "labels": [str(label) for label in self.labels],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> ApproximateProof:
        return cls(
            ProofSpace.from_data(data["space"]),
            fraction(data["eps"]),
            _probability(data["delta"], "delta"),
            floats(data["objective"]),
            data["dual"],
            data["channel"],
            tuple(listed(data.get("labels", []))),
            _stated(data),
        )

    def bounds(self) -> tuple[Fraction, Fraction]:
        """Proved lower and upper bound; ValueError where a certificate does not hold."""
        return self._found

    @cached_property
    def _found(self) -> tuple[Fraction, Fraction]:
        return _require_stated(self.stated, self._lower(), self._upper())

    def _upper(self) -> Fraction:
        """Weak duality: Σ_w s[arc,w] ≤ δ has the multiplier max_w f[arc,w]."""
        charged = Fraction(0)
        for name in ("forward", "backward"):
            largest: dict[int, float] = {}
            for arc, _, value in entries(self.dual[name], 3):
                largest[int(arc)] = max(largest.get(int(arc), 0.0), float(value))
            charged += sum((Fraction(value) for value in largest.values()), Fraction(0))
        return dual_bound(self.space, self.eps, self.objective, self.dual) + self.delta * charged

    def _lower(self) -> Fraction:
        denominator = whole(self.channel["denominator"], 1)
        rows = [[whole(entry) for entry in row] for row in entries(self.channel["rows"])]
        if len(rows) != self.space.size:
            raise ValueError("the channel must have one row for each point")
        width = self.objective.shape[1]
        for row in rows:
            if len(row) != width or sum(row) != denominator:
                raise ValueError("the channel's rows are not distributions over the actions")
        most = hockey_stick_excess(rows, denominator, self.space, self.eps)
        if most > self.delta:
            raise ValueError(
                "the channel is not private enough: some event exceeds e^ε times the other plus δ"
            )
        gain = [[Fraction(a) for a in row] for row in self.objective.tolist()]
        used = ((x, w) for x, row in enumerate(gain) for w, a in enumerate(row) if a)
        return sum((gain[x][w] * rows[x][w] for x, w in used), Fraction(0)) / denominator

    def proved(self) -> str:
        lower, upper = self.bounds()
        return _statement(
            f"on {self.space.size} points with {claim_in_words(self.eps, self.delta)} the expected gain of "
            "every private channel",
            lower,
            upper,
        )

    def meaning(self) -> str:
        return (
            "whatever is released with this claim, nobody who is paid by this table expects more than "
            f"{measured(self.bounds()[1], down=False)}; of a prior, that is the probability of a right "
            "guess."
        )


def hockey_stick_excess(
    rows: list[list[int]], denominator: int, space: ProofSpace, eps: Fraction
) -> Fraction:
    """Largest Σ_w max(0, K[i,w] - g·K[h,w]) over arcs, g a rational at most e^(ε·length): exact."""
    lengths = space.shorter.tolist()
    allowed = {length: exp_below(eps * Fraction(length)) for length in set(lengths)}
    most = Fraction(0)
    for (i, h), length in zip(space.pairs.tolist(), lengths, strict=True):
        g = allowed[length]
        for a, b in ((i, h), (h, i)):
            over = sum(
                max(0, x * g.denominator - y * g.numerator) for x, y in zip(rows[a], rows[b], strict=True)
            )
            most = max(most, Fraction(over, g.denominator * denominator))
    return most
