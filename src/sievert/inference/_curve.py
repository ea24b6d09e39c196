"""The whole frontier: tangents from both ends until every two neighbours meet on the curve.

Each solve gives a point of the curve and a tangent, its multiplier. Where two tangents meet on the curve
there is a kink, and the two tangents are the straight pieces on its sides. So the prices of a tangent prove a
whole piece: with the mechanism at its left end they are the certificate of that point, and a bound up to the
next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, zip_longest

import numpy as np

from sievert.inference._frontier_problem import FrontierProblem
from sievert.inference._points import InferenceCurve, InferencePoint
from sievert.inference._program import AccuracyOptimum
from sievert.numerics import advance

__all__ = ["SMALLEST_KINK", "traced"]

# Pieces of a curve that are looked at; a kink smaller than this is rounding.
MOST_PIECES, SMALLEST_KINK = 400, 1e-9
# A point whose bounds are further apart is solved again, more carefully, where more is asked for.
CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class _Tangent:
    """A point of the curve with a line that the curve is nowhere above."""

    limit: float
    optimum: AccuracyOptimum

    @property
    def value(self) -> float:
        return self.optimum.value

    @property
    def slope(self) -> float:
        return float(self.optimum.slopes.sum())

    def at(self, limit: float) -> float:
        """The height of the line."""
        return self.value + self.slope * (limit - self.limit)


def traced(question: FrontierProblem, within: float) -> InferenceCurve:
    """The curve of a question, up to `within` between its kinks, every point and every piece proved."""
    low = max(float(before) for before in question.before)
    leaks = question.problem.leaks
    # Outputs that are never merged could add nothing but rounding at the last kink.
    slack = 1e-9 * max(float(np.abs(leak).sum()) for leak in leaks)
    top = max(float(max(leak.max(axis=0).sum() for leak in leaks)) + slack, low)
    kinks, pieces = _found(question, low, top, within)
    kept = _kept([kinks[limit] for limit in sorted(kinks)])
    points = []
    for place, (kink, after) in enumerate(zip(kept, [*kept[1:], None], strict=True)):
        advance("proofs of the frontier", place, len(kept))
        points.append(_proved(question, kink, after, pieces.get(kink.limit, kink), within))
    slopes = tuple((right.value - left.value) / (right.limit - left.limit) for left, right in pairwise(kept))
    return InferenceCurve(
        tuple(kink.limit for kink in kept),
        tuple(float(point.accuracy) for point in points),
        slopes,
        within,
        _gap(points),
        tuple(points),
    )


def _proved(
    question: FrontierProblem, kink: _Tangent, after: _Tangent | None, piece: _Tangent, within: float
) -> InferencePoint:
    """The best mechanism at a kink, with the prices of the piece to its right."""
    limits = question.limits(kink.limit)

    def excess(point: InferencePoint) -> float:
        """How far its bound is above the piece at either end."""
        here = float(point.upper) - float(point.accuracy)
        if after is None:
            return here
        slope = sum(float(weights[0].sum()) for weights in point.certificate.weights)
        return max(here, float(point.upper) + slope * (after.limit - kink.limit) - after.value)

    point = question.proved(limits, _joined(kink.optimum, piece.optimum))
    if excess(point) > max(CLOSE, 2 * within - CLOSE):
        inside = kink.limit if after is None else (kink.limit + after.limit) / 2
        best, prices = (_tangent(question, limit, within, careful=True) for limit in (kink.limit, inside))
        others = [_joined(best.optimum, one.optimum) for one in (piece, prices)]
        point = min([point, *(question.proved(limits, other) for other in others)], key=excess)
    return point


def _joined(best: AccuracyOptimum, prices: AccuracyOptimum) -> AccuracyOptimum:
    """The mechanism of one solve with the prices of another."""
    return replace(prices, value=best.value, mechanism=best.mechanism)


def _found(
    question: FrontierProblem, low: float, top: float, within: float
) -> tuple[dict[float, _Tangent], dict[float, _Tangent]]:
    """The kinks, and the tangent of the piece to the right of each."""
    ends = _tangent(question, low, within), _tangent(question, top, within)
    kinks, pieces = {end.limit: end for end in ends}, {}
    open_ = [ends]
    while open_:
        left, right = open_.pop()
        bend = left.slope - right.slope
        if bend <= SMALLEST_KINK or right.limit - left.limit <= SMALLEST_KINK or len(kinks) >= MOST_PIECES:
            pieces[left.limit] = left
            continue
        meet = (right.at(0.0) - left.at(0.0)) / bend
        if not left.limit + SMALLEST_KINK < meet < right.limit - SMALLEST_KINK:
            pieces[left.limit] = left if meet >= right.limit - SMALLEST_KINK else right
            continue
        advance("kinks of the frontier", len(kinks), len(kinks) + len(open_) + 1)
        middle = kinks[meet] = _tangent(question, meet, within)
        if left.at(meet) - middle.value > within:
            open_ += [(left, middle), (middle, right)]
        else:
            pieces[left.limit], pieces[meet] = left, right
    return kinks, pieces


def _tangent(question: FrontierProblem, limit: float, within: float, careful: bool = False) -> _Tangent:
    # Where a fine curve is asked for, a careful solve is as close as can be.
    loose = max(CLOSE, within) / (10 if careful else 3)
    return _Tangent(limit, question.solve([limit] * len(question.owners), careful, loose))


def _kept(kinks: list[_Tangent]) -> list[_Tangent]:
    """Kinks in order, those in the middle of a straight piece left out."""
    kept = kinks[:1]
    for kink, after in zip_longest(kinks[1:], kinks[2:]):
        if after is not None:
            left = (kink.value - kept[-1].value) / (kink.limit - kept[-1].limit)
            right = (after.value - kink.value) / (after.limit - kink.limit)
            if left - right <= 10 * SMALLEST_KINK:
                continue
        kept.append(kink)
    if len(kept) > 1 and kept[-1].value - kept[-2].value <= SMALLEST_KINK:
        kept.pop()
    return kept


def _gap(points: list[InferencePoint]) -> float:
    """By how much the curve may be above the straight lines between the points, at most.

    The bound of a point's certificate is a line over all limits, so both ends of a piece are enough.
    """
    gaps = [Fraction(point.certificate.upper) - point.certificate.lower for point in points]
    for left, right in pairwise(points):
        proof, after = left.certificate, right.certificate
        further = sum(
            (
                sum(weights[0].tolist(), Fraction(0)) * (there - here)
                for weights, here, there in zip(proof.weights, proof.limits, after.limits, strict=True)
            ),
            Fraction(0),
        )
        gaps.append(proof.upper + further - after.lower)
    return float(np.nextafter(float(max(gaps)), np.inf))
