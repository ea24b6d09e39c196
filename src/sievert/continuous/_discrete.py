"""The exact loss of the Laplace and of the geometric mechanism for a belief on finitely many points.

Between two neighbouring points every column of the Laplace joint is A·e^(-s) + B·e^s, so the best guess and
the integral are known in closed form (our notes on Fernandes, Ch 7, 3.2). Quantiles: E|x - median| = ∫ min(F,
1-F), so the loss is a sum of two-way decisions, one for each gap, each with one crossing. Squares: the
variance of a mixture of what lies left and right of y, whose integral is an arctangent. All sums are of
non-negative numbers and scans are by doubling: the relative error is a few units times log₂ n, however many
points there are; memory is O(n).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray, IndexArray
from sievert.continuous._losses import Cells, IntervalLoss, Quantile, Squared
from sievert.continuous._mesh import scan_error
from sievert.errors import GainError
from sievert.numerics import log_of, require_size

__all__ = ["Belief", "both_losses", "relative_error"]
# Entries of a table [action, point].
LARGEST_TABLE = 50_000_000


@dataclass(frozen=True)
class Belief:
    """Points, increasing, with their probabilities, and ε in nats for one unit."""

    points: FloatArray
    prior: FloatArray
    eps: float

    @property
    def gaps(self) -> FloatArray:
        """ε times the distance of neighbours."""
        return np.asarray(self.eps * np.diff(self.points))

    @property
    def below(self) -> FloatArray:
        """Σ_{x ≤ x_i} π·e^(-ε(x_i - x))."""
        return decayed(self.prior, self.points, self.eps)

    @property
    def above(self) -> FloatArray:
        """Σ_{x ≥ x_i} π·e^(-ε(x - x_i))."""
        return decayed(self.prior[::-1], -self.points[::-1], self.eps)[::-1]


def relative_error(belief: Belief) -> float:
    """Of both losses, rounding included: four scans deep, with their products and one crossing each."""
    span = belief.eps * float(belief.points[-1] - belief.points[0])
    return 8 * scan_error(len(belief.points), span)


@singledispatch
def both_losses(loss: IntervalLoss, belief: Belief) -> tuple[float, float]:
    """The loss of the (irregular) geometric mechanism and that of the truncated Laplace."""
    size = loss.actions_on(len(belief.points)) * len(belief.points)
    require_size(size, LARGEST_TABLE, "the table of the loss", "take fewer points or fewer actions")
    table, _ = loss.table(belief.points)
    return _of_table(table, belief)


def decayed(values: FloatArray, points: FloatArray, eps: float) -> FloatArray:
    """Σ_{j ≤ i} values[…, j]·e^(-ε(x_i - x_j)) along the last axis, for increasing points."""
    found = np.array(values, dtype=np.float64)
    size, span = found.shape[-1], 1
    while span < size:
        decay = np.exp(-eps * (points[span:] - points[:-span]))
        if not decay.any():
            break
        found[..., span:] += decay * found[..., :-span].copy()
        span *= 2
    return found


# ── Quantiles: one two-way decision for each gap ────────────────────────────────────────────────────────────


@both_losses.register
def _of_quantile(loss: Quantile, belief: Belief) -> tuple[float, float]:
    points, prior, q = belief.points, belief.prior, float(loss.quantile)
    size = len(points)
    if size == 1 or not 0 < q < 1:
        return 0.0, 0.0
    below, above = belief.below, belief.above
    # Σ π·e^(-ε|x - x_i|), without counting x_i twice; nothing is subtracted.
    total = below + np.concatenate([np.exp(-belief.gaps) * above[1:], [0.0]])
    gap = np.arange(size - 1)
    first = _crossings(belief, below, above, total, q)
    mass = decayed(prior, points, 0.0)
    rest = decayed(prior[::-1], -points[::-1], 0.0)[::-1]
    always = np.where(first == 0, (1 - q) * mass[:-1], q * rest[1:])
    inner = (first > 0) & (first < size)
    geometric, laplace = always.copy(), always.copy()
    if inner.any():
        j, m = gap[inner], first[inner]
        h = belief.gaps[m - 1]
        s = _place(belief, below, above, j, m, h, q)
        step = np.exp(-h) / (1 + np.exp(-h))
        decided = _Decision(belief, below, above, j, m)
        geometric[inner] = decided.loss(step, step, q)
        laplace[inner] = decided.loss(np.exp(-s) / 2, np.exp(-(h - s)) / 2, q)
    lengths = float(loss.factor) * np.diff(points)
    return _summed(lengths * geometric), _summed(lengths * laplace)


def _crossings(
    belief: Belief, below: FloatArray, above: FloatArray, total: FloatArray, q: float
) -> IndexArray:
    """For each gap j the first point at which what lies above it outweighs what lies below it."""
    points, eps = belief.points, belief.eps
    gap = np.arange(len(points) - 1)
    low, high = np.zeros(len(gap), dtype=np.intp), np.full(len(gap), len(points), dtype=np.intp)
    while (low < high).any():
        i = np.minimum((low + high) // 2, len(points) - 1)
        right = i > gap
        after = below[gap] * np.exp(-eps * np.abs(points[i] - points[gap])) > q * total[i]
        before = above[gap + 1] * np.exp(-eps * np.abs(points[gap + 1] - points[i])) < (1 - q) * total[i]
        holds = np.where(right | (i == gap), after, before)
        active = low < high
        low, high = np.where(active & holds, i + 1, low), np.where(active & ~holds, i, high)
    return low


def _place(
    belief: Belief,
    below: FloatArray,
    above: FloatArray,
    j: IndexArray,
    m: IndexArray,
    h: FloatArray,
    q: float,
) -> FloatArray:
    """ε times the distance of the crossing from point m - 1, between 0 and h."""
    points, eps = belief.points, belief.eps
    right = m - 1 >= j
    tiny = np.finfo(np.float64).tiny
    near, far = below[m - 1], above[m]
    mine = np.where(
        right,
        below[j] * np.exp(-eps * np.abs(points[m - 1] - points[j])) - q * near,
        above[j + 1] * np.exp(-eps * np.abs(points[j + 1] - points[m])) - (1 - q) * far,
    )
    other = np.where(right, q * far, (1 - q) * near)
    ratio = log_of(np.maximum(mine, 0.0) + tiny) - log_of(other + tiny)
    # e^(2s) = mine/(other·e^-h) from the left end, and the mirror image from the right one.
    s = np.clip((ratio + h) / 2, 0.0, h)
    return np.where(right, s, h - s)


class _Decision:
    """A threshold between points m - 1 and m: who lies below gap j and is put above it, and the reverse."""

    def __init__(
        self, belief: Belief, below: FloatArray, above: FloatArray, j: IndexArray, m: IndexArray
    ) -> None:
        points, eps, prior = belief.points, belief.eps, belief.prior
        right = m - 1 >= j
        # Right: threshold above x_j. What lies between gap j and the threshold, with and without decay.
        start, stop = np.where(right, j + 1, m), np.where(right, m, j + 1)
        self.right = right
        self.mass = _windows(prior, points, 0.0, start, stop)
        forward = _windows(prior, points, eps, start, stop)
        mirrored = _windows(prior[::-1], -points[::-1], eps, len(prior) - stop, len(prior) - start)
        self.between = np.where(right, forward, mirrored)
        self.far = np.where(
            right,
            below[j] * np.exp(-eps * np.abs(points[m - 1] - points[j])),
            above[j + 1] * np.exp(-eps * np.abs(points[j + 1] - points[m])),
        )
        self.near = np.where(right, above[m], below[m - 1])

    def loss(self, from_left: FloatArray, from_right: FloatArray, q: float) -> FloatArray:
        """With the chances to cross the threshold from point m - 1 upwards, and from point m downwards."""
        mine = np.where(self.right, from_left, from_right)
        other = np.where(self.right, from_right, from_left)
        crossed = self.far * mine
        stayed = self.mass - self.between * mine + self.near * other
        wrong = np.where(self.right, (1 - q) * crossed + q * stayed, q * crossed + (1 - q) * stayed)
        return np.asarray(wrong)


def _windows(
    values: FloatArray, points: FloatArray, eps: float, start: IndexArray, stop: IndexArray
) -> FloatArray:
    """Σ values·e^(-ε(x_last - x)) over start ≤ i < stop, last = stop - 1, by binary pieces."""
    found = np.zeros(len(start))
    length, position = stop - start, stop.copy()
    if not length.any():
        return found
    sums, span = np.array(values, dtype=np.float64), 1
    last = np.maximum(stop - 1, 0)
    while (length > 0).any():
        taken = np.flatnonzero(length & 1)
        ends = position[taken] - 1
        decay = np.exp(-eps * (points[last[taken]] - points[ends])) if eps else 1.0
        found[taken] += sums[ends] * decay
        position[taken] -= span
        length = length >> 1
        # sums[i] covers the span points up to i.
        if span < len(sums):
            weights = np.exp(-eps * (points[span:] - points[:-span])) if eps else 1.0
            longer = sums.copy()
            longer[span:] += weights * sums[:-span]
            sums = longer
        span *= 2
    return found


# ── Squares: the variance of what lies left of y and right of it ────────────────────────────────────────────


@both_losses.register
def _of_squares(loss: Squared, belief: Belief) -> tuple[float, float]:
    points, gaps = belief.points, belief.gaps
    left = _spread(points, belief.prior, belief.eps)
    right = tuple(part[::-1] for part in _spread(-points[::-1], belief.prior[::-1], belief.eps))
    # At a point: what lies left of it, itself included, and what lies strictly right of it.
    decay, length = np.exp(-gaps), np.diff(points)
    weights = _geometric_weights(gaps)
    after = [np.concatenate([decay * part[1:], [0.0]]) for part in right]
    away = np.concatenate([_ratio(right[1][1:], right[0][1:]) + length, [0.0]])
    apart = _ratio(left[1], left[0]) + away
    geometric = weights * (left[2] + after[2] + _harmonic(left[0], after[0]) * apart**2)
    # Between points: VA·e^-s + VB·e^-(h-s) + D²·A·B/(A·e^… + B·e^…), integrated.
    a, b = left[0][:-1], right[0][1:]
    within = -np.expm1(-gaps) * (left[2][:-1] + right[2][1:]) / 2
    distance = _ratio(left[1][:-1], a) + length + _ratio(right[1][1:], b)
    between = distance**2 * _arctangent(a, b, gaps) / 2
    ends = (left[2][-1] + right[2][0]) / 2
    return _summed(geometric), _summed(np.concatenate([within, between, [ends]]))


def _arctangent(a: FloatArray, b: FloatArray, h: FloatArray) -> FloatArray:
    """∫_0^h a·e^-s·b·e^-(h-s)/(a·e^-s + b·e^-(h-s)) ds.

    It is √(ab·e^-h)·(atan(r·e^h) - atan r) with r = √(b·e^-h/a).
    """
    tiny = np.finfo(np.float64).tiny
    log_r = (log_of(b + tiny) - log_of(a + tiny) - h) / 2
    # tan of the difference is r(e^h - 1)/(1 + r²e^h) = sinh(h/2)/cosh(ln r + h/2).
    middle = log_r + h / 2
    with np.errstate(over="ignore"):
        tangent = np.exp(h / 2 - np.abs(middle)) * -np.expm1(-h) / (1 + np.exp(-2 * np.abs(middle)))
    angle = np.arctan(tangent)
    scale = np.exp((log_of(a + tiny) + log_of(b + tiny) - h) / 2)
    found = np.where(tangent < 1e300, scale * angle, scale * np.pi / 2)
    return np.where((a > 0) & (b > 0), found, 0.0)


def _spread(points: FloatArray, prior: FloatArray, eps: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight, weight times mean distance, and weight times variance of all that is not after each point.

    Blocks are joined by doubling; each knows the mean distance from both of its ends, so that the distance
    of two means is a sum.
    """
    weight = np.array(prior, dtype=np.float64)
    behind, ahead, spread = np.zeros_like(weight), np.zeros_like(weight), np.zeros_like(weight)
    span, size = 1, len(points)
    while span < size:
        length = points[span:] - points[:-span]
        decay = np.exp(-eps * length)
        if not decay.any():
            break
        first = [part[:-span].copy() for part in (weight, behind, ahead, spread)]
        # The block of i begins after i - span; the one before it ends there, and begins at `start`.
        index = np.arange(span, size)
        start = np.maximum(index - 2 * span + 1, 0)
        step = points[index - span + 1] - points[index - span]
        scaled = decay * first[0]
        apart = _ratio(first[1], first[0]) + step + _ratio(ahead[span:], weight[span:])
        spread[span:] += decay * first[3] + _harmonic(scaled, weight[span:]) * apart**2
        ahead[span:] = (
            decay * first[2] + ahead[span:] + weight[span:] * (points[index - span + 1] - points[start])
        )
        behind[span:] += decay * (first[1] + length * first[0])
        weight[span:] += scaled
        span *= 2
    return weight, behind, spread


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _harmonic(a: FloatArray, b: FloatArray) -> FloatArray:
    """a·b/(a + b), without underflow."""
    return _ratio(np.minimum(a, b), 1 + _ratio(np.minimum(a, b), np.maximum(a, b)))


def _geometric_weights(gaps: FloatArray) -> FloatArray:
    """c_i of the irregular geometric: the mean of tanh(ε·gap/2) on both sides, 1 beyond the ends."""
    sides = np.concatenate([[1.0], np.tanh(gaps / 2), [1.0]])
    return np.asarray((sides[:-1] + sides[1:]) / 2)


def _summed(values: FloatArray) -> float:
    """The sum, pairwise."""
    return float(values.sum())


# ── Bayes risk: everything but the likeliest point ──────────────────────────────────────────────────────────


@both_losses.register
def _of_cells(loss: Cells, belief: Belief) -> tuple[float, float]:
    if loss.cells is not None:
        raise GainError(
            "loss: cells of points need an interval; give a table [action, point] or the interval"
        )
    points, prior, eps, gaps = belief.points, belief.prior, belief.eps, belief.gaps
    size = len(points)
    if size == 1:
        return 0.0, 0.0
    below, above = belief.below, belief.above
    logs = log_of(prior)
    best = _leaders(logs + eps * (points - points[0]))
    other = size - 1 - _leaders((logs - eps * (points - points[-1]))[::-1])[::-1]
    # What is left on either side without the leader.
    lower = _without(belief, below, best)
    mirrored = Belief(-points[::-1], prior[::-1], eps)
    upper = _without(mirrored, mirrored.below, size - 1 - other[::-1])[::-1]
    lead = logs[best] - eps * (points - points[best])
    trail = logs[other] - eps * (points[other] - points)
    decay = np.exp(-gaps)
    weights = _geometric_weights(gaps)
    strict = np.concatenate([decay * above[1:], [0.0]])
    behind = np.concatenate([[0.0], decay * below[:-1]])
    geometric = weights * np.where(lead >= trail, lower + strict, behind + upper)
    s = np.clip((lead[:-1] - trail[1:] + gaps) / 2, 0.0, gaps)
    s = np.where(np.isnan(s), 0.0, s)
    first, last = -np.expm1(-s), np.exp(-s) * -np.expm1(-(gaps - s))
    early, late = np.exp(-(gaps - s)) * -np.expm1(-s), -np.expm1(-(gaps - s))
    laplace = (lower[:-1] * first + above[1:] * early + below[:-1] * last + upper[1:] * late) / 2
    ends = (upper[0] + lower[-1]) / 2
    return _summed(geometric), _summed(laplace) + float(ends)


def _leaders(values: FloatArray) -> IndexArray:
    """Where the largest so far is, the latest of equals."""
    largest = np.maximum.accumulate(values)
    index = np.where(values >= largest, np.arange(len(values)), 0)
    return np.maximum.accumulate(index)


def _without(belief: Belief, below: FloatArray, leader: IndexArray) -> FloatArray:
    """Σ over points not after i, but for its leader."""
    points, eps = belief.points, belief.eps
    index = np.arange(len(points))
    distance = np.abs(points - points[leader - 1])
    earlier = np.where(leader > 0, below[leader - 1] * np.exp(-eps * distance), 0.0)
    return earlier + _windows(belief.prior, points, eps, leader + 1, index + 1)


# ── Any table: the lower envelope of lines ──────────────────────────────────────────────────────────────────


def _of_table(table: FloatArray, belief: Belief) -> tuple[float, float]:
    shift = min(0.0, float(table.min()))
    costs = (table - shift) * belief.prior
    points, eps, gaps = belief.points, belief.eps, belief.gaps
    below = decayed(costs, points, eps)
    above = decayed(costs[:, ::-1], -points[::-1], eps)[:, ::-1]
    strict = np.concatenate([np.exp(-gaps) * above[:, 1:], np.zeros((len(costs), 1))], axis=1)
    geometric = _summed(_geometric_weights(gaps) * (below + strict).min(axis=0))
    laplace = _summed(_envelope(below[:, :-1], above[:, 1:], gaps)) / 2
    laplace += float(above[:, 0].min() + below[:, -1].min()) / 2
    return geometric + shift, laplace + shift


def _envelope(left: FloatArray, right: FloatArray, h: FloatArray) -> FloatArray:
    """∫_0^h min_w (left_w·e^-s + right_w·e^-(h-s)) ds for each segment; lines in e^(2s)."""
    found, place = np.zeros(len(h)), np.zeros(len(h))
    if not len(h):
        return found
    index = np.arange(len(h))
    start = left + right * np.exp(-h)
    # Of equals at the start, the one that falls away first.
    current = np.where(start <= start.min(axis=0), right, np.inf).argmin(axis=0)
    active = np.ones(len(h), dtype=bool)
    while active.any():
        rise, fall = left - left[current, index], right[current, index] - right
        with np.errstate(divide="ignore", invalid="ignore"):
            at = np.where(fall > 0, (np.log(np.maximum(rise, 0.0)) - np.log(fall) + h) / 2, np.inf)
        at = np.maximum(at, place)
        nearest = at.min(axis=0)
        # Of those that meet here, the lowest afterwards.
        chosen = np.where(at <= nearest, right, np.inf).argmin(axis=0)
        end = np.where(nearest < h, nearest, h)
        piece = left[current, index] * np.exp(-place) * -np.expm1(-(end - place))
        piece += right[current, index] * np.exp(-(h - end)) * -np.expm1(-(end - place))
        found += np.where(active, piece, 0.0)
        active &= nearest < h
        current, place = np.where(active, chosen, current), np.where(active, end, place)
    return found
