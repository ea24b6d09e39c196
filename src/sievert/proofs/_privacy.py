"""Proofs about the privacy order: no pair of secrets is told apart better, or one that is.

The ratios are compared as fractions, so that no logarithm has to be rounded.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import flint
import numpy as np

from sievert.arrays import AnyArray, ObjectArray
from sievert.proofs._base import (
    ROUNDING,
    Proof,
    exact_rows,
    normalised,
    require_channels,
    rows_from,
    texts_of,
)
from sievert.proofs._reading import entries, flag, fraction, listed, whole

__all__ = [
    "EXPONENTIAL",
    "FAMILIES",
    "GEOMETRIC",
    "RESPONSE",
    "FamilyProof",
    "MetricOrderProof",
    "PrivacyOrderProof",
    "PrivacyProof",
    "Slope",
    "checked_pair",
    "compare_slopes",
    "likelihood_ratio",
    "privacy_violation",
    "smallest_alpha",
    "steepest",
]


def likelihood_ratio(first: Iterable[Any], second: Iterable[Any]) -> Fraction | None:
    """max_y max(p/q, q/p) of two rows; None is infinite, 0/0 counts nothing."""
    best = Fraction(1)
    for p, q in zip(first, second, strict=True):
        low, high = (p, q) if p < q else (q, p)
        if high > 0:
            if low == 0:
                return None
            best = max(best, high / low)
    return best


@dataclass(frozen=True, eq=False)
class PrivacyProof(Proof):
    """No pair of secrets is told apart better by B: d_A ≥ d_B. The channels are all the proof needs."""

    kind: ClassVar[str] = "privacy order holds"
    grounds: ClassVar[str] = "ratios of likelihoods, compared as fractions for every pair of secrets"
    less_safe: AnyArray
    safer: AnyArray
    exact: bool = True

    def data(self) -> dict[str, Any]:
        return {
            "less_safe": texts_of(self.less_safe),
            "safer": texts_of(self.safer),
            "exact": self.exact,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> PrivacyProof:
        return cls(rows_from(data["less_safe"]), rows_from(data["safer"]), flag(data["exact"]))

    def proved(self) -> str:
        rounding = Fraction(0) if self.exact else ROUNDING
        a, b = checked_pair(self.less_safe, self.safer, rounding)
        worse = privacy_violation(a, b, rounding)
        if worse is not None:
            raise ValueError(f"B tells secrets {worse[0]} and {worse[1]} apart better than A")
        digits = "" if self.exact else f", to a relative {float(ROUNDING):.0g} of the odds"
        return f"B tells no pair of secrets apart better than A{digits}: no metric prefers A"

    def meaning(self) -> str:
        rounding = "" if self.exact else ", up to rounding"
        return (
            f"for no two inputs does B make anybody surer which of them it was than A does at most{rounding}."
        )


def checked_pair(less_safe: AnyArray, safer: AnyArray, rounding: Fraction) -> tuple[ObjectArray, ObjectArray]:
    """Both channels in fractions, checked; float rows are divided by their sums."""
    a, b = exact_rows(less_safe), exact_rows(safer)
    require_channels(("A", a), ("B", b), rounding=rounding)
    return (normalised(a), normalised(b)) if rounding else (a, b)


def privacy_violation(
    less_safe: ObjectArray,
    safer: ObjectArray,
    rounding: Fraction = Fraction(0),
    pairs: Iterable[tuple[int, int]] | None = None,
) -> tuple[int, int] | None:
    """A pair (of those given, or of all) with d_B > d_A by more than a relative `rounding`, or None."""
    for j, i in combinations(range(len(less_safe)), 2) if pairs is None else pairs:
        mine = likelihood_ratio(less_safe[i].tolist(), less_safe[j].tolist())
        if mine is None:
            continue
        theirs = likelihood_ratio(safer[i].tolist(), safer[j].tolist())
        if theirs is None or theirs > mine * (1 + rounding):
            return i, j
    return None


@dataclass(frozen=True, eq=False)
class PrivacyOrderProof(Proof):
    """A pair of secrets that B tells apart better than A: B is not private for A's own metric."""

    kind: ClassVar[str] = "privacy order"
    found: ClassVar[tuple[str, ...]] = ("pair", "output")
    grounds: ClassVar[str] = "one ratio of likelihoods that exceeds every ratio of the other channel"
    less_safe: AnyArray
    safer: AnyArray
    pair: tuple[int, int]
    output: int
    exact: bool = True

    def data(self) -> dict[str, Any]:
        return {
            "less_safe": texts_of(self.less_safe),
            "safer": texts_of(self.safer),
            "pair": list(self.pair),
            "output": self.output,
            "exact": self.exact,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> PrivacyOrderProof:
        i, j = (whole(v) for v in listed(data["pair"]))
        a, b = rows_from(data["less_safe"]), rows_from(data["safer"])
        return cls(a, b, (i, j), whole(data["output"]), flag(data["exact"]))

    def proved(self) -> str:
        i, j = self.pair
        a, b = checked_pair(self.less_safe, self.safer, Fraction(0) if self.exact else ROUNDING)
        if not (min(i, j) >= 0 and max(i, j) < len(b) and 0 <= self.output < b.shape[1]):
            raise ValueError("the pair or the output does not exist")
        top, bottom = b[i, self.output], b[j, self.output]
        if top <= bottom:
            raise ValueError("the output is not likelier for the first secret of the pair")
        # B's ratio must exceed every ratio of A, in both directions.
        mine = likelihood_ratio(a[i].tolist(), a[j].tolist())
        if mine is None or mine * bottom >= top:
            raise ValueError("A tells the pair apart at least as well")
        ratio = "infinitely" if bottom == 0 else f"{float(top / bottom):.6g} times"
        return f"B makes secret {i} {ratio} likelier against secret {j} at output {self.output}, A never"

    def meaning(self) -> str:
        i, j = self.pair
        return (
            f"somebody who wants to tell inputs {i} and {j} apart may become surer from B than from A: at "
            f"output {self.output}."
        )


# ── Proofs that compare the smallest ε of two channels under one metric ─────────────────────────────────────
# The smallest ε is the largest ln(ratio)/distance over pairs of secrets. Two such slopes are compared by
# logarithms as balls, and as powers of fractions where the balls cannot tell them apart.
PRECISIONS = (64, 256, 1024, 4096)
# Exponents up to which powers are compared exactly.
LARGEST_POWER = 2_000


@dataclass(frozen=True)
class Slope:
    """ln(ratio)/distance of a pair of secrets; a ratio of None is an infinite slope, no pair a slope of 0."""

    ratio: Fraction | None = Fraction(1)
    distance: Fraction = Fraction(1)
    pair: tuple[int, int] | None = None


def compare_slopes(first: Slope, second: Slope, more: Fraction = Fraction(0)) -> int:
    """The sign of first - (1 + more)·second."""
    if first.ratio is None or second.ratio is None:
        return (first.ratio is None) - (second.ratio is None)
    p, q = first.ratio, second.ratio
    left, right = second.distance, first.distance * (1 + more)
    if left == right or p == 1 or q == 1:
        # ln 1 = 0: then only the other ratio matters.
        return (p > q) - (p < q)
    old = flint.ctx.prec
    try:
        for precision in PRECISIONS:
            flint.ctx.prec = precision
            difference = _log(p) * _ball(left) - _log(q) * _ball(right)
            if difference > 0:
                return 1
            if difference < 0:
                return -1
    finally:
        flint.ctx.prec = old
    scale = math.lcm(left.denominator, right.denominator)
    powers = int(left * scale), int(right * scale)
    common = math.gcd(*powers)
    if max(powers) // common <= LARGEST_POWER and p ** (powers[0] // common) == q ** (powers[1] // common):
        return 0
    raise ValueError("two slopes are too close to be compared")


def _ball(value: Fraction) -> Any:
    return flint.arb(flint.fmpq(value.numerator, value.denominator))


def _log(value: Fraction) -> Any:
    return _ball(value).log()


def steepest(channel: ObjectArray, metric: AnyArray) -> Slope:
    """The first pair of secrets with the largest slope."""
    best = Slope()
    for i, j in combinations(range(len(channel)), 2):
        if math.isinf(metric[i, j]):
            continue
        ratio = likelihood_ratio(channel[i].tolist(), channel[j].tolist())
        distance = Fraction(metric[i, j])
        if ratio == 1:
            continue
        slope = Slope(ratio, distance, (i, j)) if distance else Slope(None, distance, (i, j))
        if slope.ratio is None:
            return slope
        if compare_slopes(slope, best) > 0:
            best = slope
    return best


def _text(distance: Any) -> str:
    return "inf" if math.isinf(distance) else str(Fraction(distance))


@dataclass(frozen=True, eq=False)
class MetricOrderProof(Proof):
    """Whether B's smallest ε under a metric is at most A's; float channels up to a relative 1e-9."""

    kind: ClassVar[str] = "privacy order for one metric"
    grounds: ClassVar[str] = (
        "the smallest ε is the steepest log-ratio for the distance; slopes are compared exactly"
    )
    less_safe: AnyArray
    safer: AnyArray
    metric: AnyArray
    holds: bool
    exact: bool = True

    def data(self) -> dict[str, Any]:
        return {
            "less_safe": texts_of(self.less_safe),
            "safer": texts_of(self.safer),
            "metric": [[_text(distance) for distance in row] for row in self.metric.tolist()],
            "holds": self.holds,
            "exact": self.exact,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> MetricOrderProof:
        texts = entries(data["metric"], len(listed(data["metric"])))
        metric = np.empty((len(texts), len(texts)), dtype=object)
        for i, row in enumerate(texts):
            metric[i] = [math.inf if text == "inf" else fraction(text) for text in row]
        holds, exact = flag(data["holds"]), flag(data["exact"])
        return cls(rows_from(data["less_safe"]), rows_from(data["safer"]), metric, holds, exact)

    def proved(self) -> str:
        rounding = Fraction(0) if self.exact else ROUNDING
        a, b = checked_pair(self.less_safe, self.safer, rounding)
        distances = self.metric
        if distances.shape != (len(a), len(a)) or (distances != distances.T).any():
            raise ValueError("the metric is not a symmetric table over the secrets")
        if (distances < 0).any() or any(distances[i, i] != 0 for i in range(len(a))):
            raise ValueError("the metric has a negative distance or a diagonal that is not 0")
        mine, theirs = steepest(a, distances), steepest(b, distances)
        larger = compare_slopes(theirs, mine, rounding) > 0
        if larger is self.holds:
            raise ValueError(f"B's smallest ε is {'larger' if larger else 'not larger'} than A's")
        if theirs.pair is None or not larger:
            digits = "" if self.exact else f", to a relative {float(ROUNDING):.0g}"
            return f"under this metric B's smallest ε is at most A's{digits}"
        i, j = theirs.pair
        return f"under this metric B's smallest ε exceeds A's, by secrets {i} and {j}"

    def meaning(self) -> str:
        return (
            f"the ε that B really keeps for these distances is {'no larger' if self.holds else 'larger'} "
            f"than that of A{'' if self.exact else ', up to rounding'}."
        )


# ── Proofs that one member of a known family refines another, or not ────────────────────────────────────────
# Proofs that one member of a known family refines another, or not: one inequality, re-evaluated exactly.
#
# With K(a) = [a^|i-j|], whose inverse is tridiagonal, A⁻¹B ≥ 0 becomes an inequality for each column of B
# (Fernandes, Thm 4.16, 4.21; closed forms of the orders' thresholds). Parameters: alpha = e^-ε for the
# truncated geometric and randomised response, a = e^(-nominal/2) for the exponential mechanism on 0…n-1.

GEOMETRIC, RESPONSE, EXPONENTIAL = "truncated geometric", "randomised response", "exponential"
FAMILIES = (GEOMETRIC, RESPONSE, EXPONENTIAL)
# Bits that the powers up to the number of inputs may fill together.
MOST_BITS = 2**31


def kernel_sums(a: Any, size: int) -> list[Any]:
    """S_i = Σ_y a^|i-y|."""
    powers = [a**k for k in range(size)]
    left = [powers[0]]
    for power in powers[1:]:
        left.append(left[-1] + power)
    return [left[i] + left[size - 1 - i] - 1 for i in range(size)]


def smallest_alpha(first: str, second: str, parameter: Any, size: int) -> Any:
    """The least alpha of the second family that the first, at its parameter, is refined by.

    None where no closed form is known (then the column tests decide). Works in fractions and in floats.
    """
    a = parameter
    if size == 2 and EXPONENTIAL not in (first, second):
        return a
    if (first, second) in ((GEOMETRIC, GEOMETRIC), (RESPONSE, RESPONSE)):
        return a
    if (first, second) == (GEOMETRIC, RESPONSE):
        return a / (1 - a + a * a)
    if first != EXPONENTIAL or second == EXPONENTIAL:
        return None
    # K⁻¹S = 1 for the kernel's row sums S, so that a column of a response asks for a·S/(a·S + 1 - a²) with a
    # sum beside it, which grows with S; one of the geometric asks for it at an end.
    sums = kernel_sums(a, size)
    most = sums[1] if second == GEOMETRIC else max(sums)
    return a * most / (a * most + 1 - a * a)


def response_admits_geometric(alpha: Fraction, beta: Fraction, size: int) -> bool:
    """R(alpha) ⊑ TG(beta): every column b has Σ b ≤ (1/alpha + n - 1)·min b, and those at the ends decide."""
    return sum(beta**k for k in range(size)) <= (1 / alpha + size - 1) * beta ** (size - 1)


@dataclass(frozen=True)
class FamilyProof(Proof):
    """Whether a member of one family is refined by a member of another (average and max order)."""

    kind: ClassVar[str] = "refinement of families"
    grounds: ClassVar[str] = "closed forms of when one family refines another (Fernandes, Thm 4.16, 4.21)"
    first: str
    second: str
    size: int
    first_parameter: Fraction
    second_parameter: Fraction
    holds: bool

    def data(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "size": self.size,
            "first_parameter": str(self.first_parameter),
            "second_parameter": str(self.second_parameter),
            "holds": self.holds,
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> FamilyProof:
        parameters = (fraction(data["first_parameter"]), fraction(data["second_parameter"]))
        return cls(
            str(data["first"]), str(data["second"]), whole(data["size"]), *parameters, flag(data["holds"])
        )

    def decided(self) -> bool | None:
        """The inequality itself; None where no closed form is known, or its powers fill the memory."""
        alpha, beta = self.first_parameter, self.second_parameter
        bits = max(value.denominator.bit_length() for value in (alpha, beta))
        if self.first != GEOMETRIC and self.size**2 * bits > MOST_BITS:
            return None
        if (self.first, self.second) == (RESPONSE, GEOMETRIC) and self.size > 2:
            return response_admits_geometric(alpha, beta, self.size)
        least = smallest_alpha(self.first, self.second, alpha, self.size)
        return None if least is None else bool(beta >= least)

    def proved(self) -> str:
        parameters = (self.first_parameter, self.second_parameter)
        if self.size < 2 or not all(0 < value < 1 for value in parameters):
            raise ValueError("the families need two inputs or more and parameters between 0 and 1")
        if {self.first, self.second} - set(FAMILIES):
            raise ValueError("a family is unknown")
        found = self.decided()
        if found is None:
            raise ValueError("no inequality is known for these two families, or it is too long to check")
        if found != self.holds:
            raise ValueError("the inequality of the two families says otherwise")
        word = "is" if self.holds else "is not"
        return (
            f"{self.first}({self.first_parameter}) {word} refined by {self.second}({self.second_parameter}) "
            f"on {self.size} inputs"
        )

    def meaning(self) -> str:
        if self.holds:
            return (
                "who sees a release of the second mechanism learns nothing that the first would not have "
                "told."
            )
        return "somebody learns more from the second mechanism than from the first."
