"""Proofs that compare the smallest ε of two channels under one metric.

The smallest ε is the largest ln(ratio)/distance over pairs of secrets. Two such slopes are compared by
logarithms as balls, and as powers of fractions where the balls cannot tell them apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any, ClassVar

import flint
import numpy as np
from numpy.typing import NDArray

from sievert.proofs.base import Proof
from sievert.proofs.matrices import ROUNDING, rows_from, texts_of
from sievert.proofs.privacy import checked_pair, likelihood_ratio
from sievert.proofs.reading import flag, fraction

__all__ = ["MetricOrderProof", "Slope", "compare_slopes", "steepest"]

ObjectArray = NDArray[np.object_]
AnyArray = NDArray[Any]  # of floats or of fractions
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
        texts = data["metric"]
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
