"""Two secrets: refinement is the order of ROC curves, and R is cut out of A in quantile intervals.

With two secrets a channel is its curve of (false positives, true positives) over all tests; A ⊑ B iff A's
curve is nowhere below B's (Blackwell). R comes from transport: each posterior of B is the mean of an interval
of what is left of A's posteriors in order (the shadow of an atom), so no solver is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BinaryDecision", "Point", "channel_of_curve", "curve", "decide_binary", "height"]

AnyArray = NDArray[Any]
Point = tuple[Any, Any]  # (Σ of row 0, Σ of row 1) over the likeliest outputs for row 1


@dataclass(frozen=True, eq=False)
class BinaryDecision:
    """R with AR = B, or a gain [secret, action] of two actions."""

    holds: bool
    post: AnyArray | None
    witness: AnyArray | None


def _order(matrix: AnyArray) -> list[int]:
    """Outputs from the one that speaks most for row 1 to the one that speaks most for row 0."""
    top, bottom = matrix[1].tolist(), matrix[0].tolist()
    present = [j for j in range(matrix.shape[1]) if top[j] + bottom[j] > 0]
    return sorted(present, key=lambda j: -(top[j] / (top[j] + bottom[j])))


def curve(matrix: AnyArray) -> list[Point]:
    """Corners of the concave ROC curve, from (0, 0) to (1, 1), in O(m log m)."""
    points: list[Point] = [(0, 0)]
    for j in _order(matrix):
        points.append((points[-1][0] + matrix[0, j], points[-1][1] + matrix[1, j]))
    return points


def height(points: list[Point], at: Any) -> tuple[Any, tuple[Any, Any]]:
    """The curve's height at a false-positive rate, and the direction (Δfalse, Δtrue) of its edge there."""
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 <= at <= x1 and x1 > x0:
            return y0 + (y1 - y0) * (at - x0) / (x1 - x0), (x1 - x0, y1 - y0)
    # At false positives 0 the curve may rise straight up.
    return max(y for x, y in points if x <= at), (0, 1)


def decide_binary(less_safe: AnyArray, safer: AnyArray) -> BinaryDecision:
    """Compare the curves at B's corners; a corner above A's curve is the objecting adversary's test."""
    mine = curve(less_safe)
    worst: tuple[Any, tuple[Any, Any]] = (0, (0, 0))
    position = 0
    for at, reached in curve(safer)[1:-1]:
        while position + 2 < len(mine) and mine[position + 1][0] < at:
            position += 1
        (x0, y0), (x1, y1) = mine[position], mine[position + 1]
        while x1 == x0 and position + 2 < len(mine):
            position += 1
            (x0, y0), (x1, y1) = mine[position], mine[position + 1]
        if x1 == x0:
            continue
        above = reached - (y0 + (y1 - y0) * (at - x0) / (x1 - x0))
        if above > worst[0]:
            worst = (above, (x1 - x0, y1 - y0))
    if worst[0] > 0:
        run, rise = worst[1]
        # "Accept" pays run when row 1 is true and costs rise when row 0 is; "reject" pays nothing.
        witness = np.zeros((2, 2), dtype=less_safe.dtype)
        if less_safe.dtype == object:
            witness[:] = Fraction(0)
        witness[0, 0], witness[1, 0] = -rise, run
        return BinaryDecision(False, None, witness)
    return BinaryDecision(True, _shadows(less_safe, safer), None)


def _shadows(less_safe: AnyArray, safer: AnyArray) -> AnyArray:
    """R: for each posterior of B in order, an interval of the remaining A with its mass and mean."""
    m, k = less_safe.shape[1], safer.shape[1]
    one: Any = Fraction(1) if less_safe.dtype == object else 1.0
    post = np.zeros((m, k), dtype=less_safe.dtype)
    if less_safe.dtype == object:
        post[:] = Fraction(0)
    left = {j: one for j in _order(less_safe)}  # how much of each output of A is left
    mass = {j: less_safe[0, j] + less_safe[1, j] for j in left}
    target_order = _order(safer)
    for number, w in enumerate(target_order):
        need, value = safer[0, w] + safer[1, w], safer[1, w]
        outputs = list(left)
        if number == len(target_order) - 1:
            taken = dict(left)
        else:
            taken = _interval(outputs, left, mass, {j: less_safe[1, j] for j in outputs}, need, value)
        for j, share in taken.items():
            post[j, w] = share
            left[j] = left[j] - share
            if left[j] <= 0:
                del left[j]
    # Outputs of A that never occur go anywhere.
    for j in range(m):
        if j not in mass:
            post[j, 0] = one
    return post


def _interval(
    outputs: list[int],
    left: dict[int, Any],
    mass: dict[int, Any],
    ones: dict[int, Any],
    need: Any,
    value: Any,
) -> dict[int, Any]:
    """Shares of consecutive outputs with total mass `need` and total of row 1 `value`.

    The interval [s, s + need] of cumulative mass slides; its row-1 total falls with s, linearly between the
    places where either end meets a boundary, so the right s is found by walking and one division.
    """
    bounds = [0 * need]
    for j in outputs:
        bounds.append(bounds[-1] + left[j] * mass[j])
    low_index, high_index = 0, 0
    start = bounds[0]
    total = 0 * need
    # The interval [0, need].
    rest = need
    while high_index < len(outputs) and rest > left[outputs[high_index]] * mass[outputs[high_index]]:
        j = outputs[high_index]
        total += left[j] * ones[j]
        rest -= left[j] * mass[j]
        high_index += 1
    if high_index < len(outputs) and rest > 0:
        j = outputs[high_index]
        total += rest / mass[j] * ones[j]
    while total > value and low_index < len(outputs) and high_index < len(outputs):
        step = min(bounds[low_index + 1] - start, bounds[high_index + 1] - (start + need))
        if step <= 0:
            if bounds[low_index + 1] - start <= 0:
                low_index += 1
            else:
                high_index += 1
            continue
        j, i = outputs[low_index], outputs[high_index]
        slope = ones[i] / mass[i] - ones[j] / mass[j]
        if total + slope * step <= value and slope < 0:
            start += (value - total) / slope
            total = value
            break
        start, total = start + step, total + slope * step
    shares: dict[int, Any] = {}
    for index, j in enumerate(outputs):
        from_, to = max(bounds[index], start), min(bounds[index + 1], start + need)
        if to > from_:
            shares[j] = min((to - from_) / mass[j], left[j])
    return shares


def channel_of_curve(points: list[Point]) -> AnyArray:
    """The channel whose ROC curve has these corners: a column for each edge."""
    steps = [(x1 - x0, y1 - y0) for (x0, y0), (x1, y1) in pairwise(points) if x1 > x0 or y1 > y0]
    table = np.empty((2, len(steps)), dtype=object)
    for j, (run, rise) in enumerate(steps):
        table[0, j], table[1, j] = run, rise
    return table
