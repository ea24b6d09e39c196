"""Two secrets: refinement is the order of ROC curves, and R is cut out of A in quantile intervals.

With two secrets a channel is its curve of (false positives, true positives) over all tests; A ⊑ B iff A's
curve is nowhere below B's (Blackwell). R comes from transport: each posterior of B is the mean of an interval
of what is left of A's posteriors in order (the shadow of an atom), so no solver is needed.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import singledispatch
from itertools import pairwise
from typing import Any, ClassVar, Self

import numpy as np

from sievert.arrays import AnyArray, FloatArray
from sievert.channels import Channel, ResponseChannel
from sievert.mechanisms import TruncatedGeometricChannel
from sievert.orders._decisions import Decision, residual, stochastic, two_action_gap
from sievert.orders._exact import ExactDecision
from sievert.proofs import EXPONENTIAL, GEOMETRIC, RESPONSE, FamilyProof, kernel_sums

__all__ = [
    "BinaryDecision",
    "Member",
    "Point",
    "channel_of_curve",
    "curve",
    "decide_binary",
    "decide_family",
    "decide_family_exactly",
    "family_proof",
    "height",
    "member_of",
]
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


# ── Truncated geometric ─────────────────────────────────────────────────────────────────────────────────────
# Truncated geometric, randomised response and exponential on a line as the less safe channel, in O(n·m).
#
# Each is invertible with a known inverse (tridiagonal, or identity minus a constant), so the only candidate
# R = A⁻¹B costs a few operations an entry, and a negative entry of R gives a two-action adversary whose
# gain is that row of A⁻¹ (Fernandes, Thm 4.16, 4.21 and the column tests behind their thresholds).
# Beyond this many entries of R, fractions with their long denominators take seconds.
LARGEST_EXACT = 40_000


@dataclass(frozen=True)
class Member:
    """A member of a family with a known inverse: number of inputs, and parameter (a fraction where exact)."""

    name: ClassVar[str]
    size: int
    parameter: Any

    @property
    def exact(self) -> bool:
        """Whether the parameter is a fraction."""
        return isinstance(self.parameter, Fraction)

    def rounded(self) -> Self:
        """The same member without its fraction."""
        return replace(self, parameter=float(self.parameter))

    @abstractmethod
    def inverse_times(self, table: AnyArray) -> AnyArray:
        """A⁻¹·B."""

    @abstractmethod
    def floats(self) -> FloatArray:
        """The channel's matrix, without its fractions."""

    @abstractmethod
    def inverse_row(self, y: int) -> AnyArray:
        """Row y of A⁻¹."""

    @abstractmethod
    def spans(self) -> FloatArray:
        """max - min (0 included) of every row of A⁻¹."""

    def _zeros(self) -> AnyArray:
        zero: Any = Fraction(0) if self.exact else 0.0
        return np.full(self.size, zero, dtype=object if self.exact else np.float64)


class ResponseMember(Member):
    """Randomised response: the identity and a constant."""

    name = RESPONSE

    def _probabilities(self) -> tuple[Any, Any]:
        """Of the truth, and of each other answer."""
        total = 1 + (self.size - 1) * self.parameter
        return 1 / total, self.parameter / total

    def inverse_times(self, table: AnyArray) -> AnyArray:
        truth, lie = self._probabilities()
        return np.asarray((table - lie * table.sum(axis=0)) / (truth - lie))

    def floats(self) -> FloatArray:
        truth, lie = self.rounded()._probabilities()
        return np.asarray(np.where(np.eye(self.size, dtype=bool), truth, lie), dtype=np.float64)

    def inverse_row(self, y: int) -> AnyArray:
        truth, lie = self._probabilities()
        row = self._zeros()
        row -= lie / (truth - lie)
        row[y] += 1 / (truth - lie)
        return row

    def spans(self) -> FloatArray:
        row = self.rounded().inverse_row(0)
        return np.full(self.size, float(row.max() - min(row.min(), 0.0)))


class KernelMember(Member):
    """A = diag(1/s)·K(a)·diag(c) with K = [a^|x-y|], whose inverse is tridiagonal."""

    @abstractmethod
    def _weights(self) -> tuple[AnyArray, AnyArray]:
        """s and c."""

    def inverse_times(self, table: AnyArray) -> AnyArray:
        a = self.parameter
        ends, inner = self._weights()
        scaled = table * ends[:, None]
        result = scaled * (1 + a * a)
        result[[0, -1]] = scaled[[0, -1]]
        result[1:] -= a * scaled[:-1]
        result[:-1] -= a * scaled[1:]
        return np.asarray(result / (inner * (1 - a * a))[:, None])

    def floats(self) -> FloatArray:
        positions = np.arange(self.size)
        ends, inner = self.rounded()._weights()
        kernel = float(self.parameter) ** np.abs(np.subtract.outer(positions, positions)).astype(np.float64)
        return np.asarray(kernel * inner / ends[:, None])

    def inverse_row(self, y: int) -> AnyArray:
        n, a, row = self.size, self.parameter, self._zeros()
        ends, inner = self._weights()
        row[y] = (1 if y in (0, n - 1) else 1 + a * a) * ends[y]
        for neighbour in (y - 1, y + 1):
            if 0 <= neighbour < n:
                row[neighbour] = -a * ends[neighbour]
        return np.asarray(row / (inner[y] * (1 - a * a)))

    def spans(self) -> FloatArray:
        ends, inner = self.rounded()._weights()
        a = float(self.parameter)
        peak = ends * (1 + a * a)
        peak[[0, -1]] = ends[[0, -1]]
        lowest = np.zeros(self.size)
        lowest[1:] = np.maximum(lowest[1:], a * ends[:-1])
        lowest[:-1] = np.maximum(lowest[:-1], a * ends[1:])
        return np.asarray((peak + lowest) / (inner * (1 - a * a)))


class GeometricMember(KernelMember):
    """The truncated geometric."""

    name = GEOMETRIC

    def _weights(self) -> tuple[AnyArray, AnyArray]:
        a, inner = self.parameter, self._zeros()
        inner[:] = (1 - a) / (1 + a)
        inner[[0, -1]] = 1 / (1 + a)
        return self._zeros() + 1, inner


class ExponentialMember(KernelMember):
    """The exponential mechanism on a line."""

    name = EXPONENTIAL

    def _weights(self) -> tuple[AnyArray, AnyArray]:
        sums = self._zeros()
        sums[:] = kernel_sums(self.parameter, self.size)
        return sums, self._zeros() + 1


def member_of(channel: Channel) -> Member | None:
    """The member of a family that a channel is known to be, its parameter strictly between 0 and 1."""
    found = _recognised(channel)
    return found if found is not None and 0 < found.parameter < 1 and found.size >= 2 else None


@singledispatch
def _recognised(channel: Channel) -> Member | None:
    return _exponential(channel)


@_recognised.register
def _of_geometric(channel: TruncatedGeometricChannel) -> Member:
    return GeometricMember(channel.shape[0], _parameter(channel.level.alpha, channel.level.eps))


@_recognised.register
def _of_response(channel: ResponseChannel) -> Member:
    return ResponseMember(channel.shape[0], _parameter(channel.alpha, channel.eps))


def _parameter(alpha: Fraction | None, eps: float) -> Any:
    return math.exp(-eps) if alpha is None else alpha


def _exponential(channel: Channel) -> ExponentialMember | None:
    """C[x,y] = C[x,x]·a^|x-y| in every row: the exponential mechanism on a line, however it was made."""
    n, m = channel.shape
    if n != m or n < 3:
        return None
    logs = channel.log_matrix
    if not np.isfinite(logs).all():
        return None
    step = float(logs[0, 0] - logs[0, 1])
    if not step > 0:
        return None
    distances = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    miss = np.abs(logs - np.diag(logs)[:, None] + step * distances).max()
    # Logarithms of correctly rounded numbers agree to a few units in the last place of n·step.
    if not miss <= 1e-13 * (4 + n * step):
        return None
    exact = channel.exact if channel.form == "exact" else None
    if exact is None:
        return ExponentialMember(n, math.exp(-step))
    a = exact[0, 1] / exact[0, 0]
    powers = np.array([a**k for k in range(n)], dtype=object)
    same = exact == np.diag(exact)[:, None] * powers[distances]
    return ExponentialMember(n, a) if bool(np.all(same)) else None


def decide_family(family: Member, less_safe: FloatArray, safer: FloatArray) -> Decision:
    """The only candidate R and its best two-action witness, in floats."""
    known = family.rounded()
    post = known.inverse_times(safer)
    value = -post / family.spans()[:, None]
    y, w = np.unravel_index(int(np.argmax(value)), value.shape)
    method = f"column tests of the {family.name}"
    if value[y, w] <= 0:
        fitted = stochastic(post)
        return Decision(0.0, residual(fitted, less_safe, safer), fitted, None, method)
    witness = np.stack([-known.inverse_row(int(y)), np.zeros(family.size)], axis=1)
    lower = two_action_gap(witness, less_safe, safer)
    fitted = stochastic(post)
    return Decision(lower, residual(fitted, less_safe, safer), fitted, witness, method)


def decide_family_exactly(family: Member, safer: Channel) -> ExactDecision | None:
    """The only candidate R in fractions; None where that would be too long."""
    if not family.exact or family.size * safer.shape[1] > LARGEST_EXACT:
        return None
    post = family.inverse_times(safer.entries)
    method = f"column tests of the {family.name}, exactly"
    negative = np.argwhere(np.asarray(post < 0, dtype=bool))
    if not len(negative):
        return ExactDecision(True, post, None, method)
    spans = family.spans()
    worst = max(negative.tolist(), key=lambda at: -float(post[at[0], at[1]]) / spans[at[0]])
    row = -family.inverse_row(worst[0])
    witness = np.stack([row, np.full(family.size, Fraction(0), dtype=object)], axis=1)
    return ExactDecision(False, None, witness, method)


def family_proof(first: Member, second: Member | None) -> FamilyProof | None:
    """The closed form for two members with exact parameters, or None."""
    if second is None or not (first.exact and second.exact):
        return None
    proof = FamilyProof(first.name, second.name, first.size, first.parameter, second.parameter, True)
    found = proof.decided()
    if found is None or found:
        return None if found is None else proof
    return FamilyProof(first.name, second.name, first.size, first.parameter, second.parameter, False)
