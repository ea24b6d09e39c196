"""Chernoff information: how fast repeated observations tell two secrets apart.

C(p, q) = -min over λ in [0, 1] of log2 Σ p^λ q^(1-λ) over the common support. The sum is log-convex in λ, so
the minimum is where the expected log-ratio vanishes, or at an end point when the supports differ. The error
of telling p from q by n observations falls like 2^(-n·C).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sievert.arrays import BoolArray, FloatArray, IndexArray
from sievert.channels import Channel, finite_channel
from sievert.channels.priors import paired_distributions
from sievert.errors import ChannelError
from sievert.numerics import exp_excess, log_matmul, log_sum, mean_gap
from sievert.results import Result, guarded
from sievert.spaces import Labels, worded

__all__ = ["ChernoffPairs", "chernoff_information", "chernoff_pairs"]
LN2 = float(np.log(2))
BLOCK_ENTRIES = 4_000_000
STEPS = 60
# Beyond this many (pair, output) entries matrix products come first.
LARGEST_DIRECT = 200_000
# Share of positive entries below which rows are compared on their own outputs only.
SPARSE = 0.15
# Spacing of λ at which the rest is gone through pair by pair.
MOST_STEPS = 128
# Relative agreement of polynomials of degree 6 and 8, the second being better by some digits; what rounding
# does to the logarithm of a sum near 1; and the least information that a product of matrices may settle.
AGREEMENT, ROUNDING, LEAST = 1e-12, 1e-15, 1e-4


@dataclass(frozen=True, eq=False)
class ChernoffPairs(Result):
    """Chernoff information, in bits, of every pair of rows.

    Attributes
    ----------
    bits : array [n, n]; 0 for identical rows, inf for rows with disjoint supports
    inputs : labels of the rows
    """

    bits: FloatArray
    inputs: Labels

    def hardest(self) -> tuple[Any, Any, float]:
        """The two different rows that take longest to tell apart, and their information."""
        return self._extreme(np.where(self.bits > 0, self.bits, np.inf).argmin())

    def easiest(self) -> tuple[Any, Any, float]:
        """The two rows that are told apart fastest, and their information."""
        return self._extreme(self.bits.argmax())

    def _extreme(self, position: Any) -> tuple[Any, Any, float]:
        i, j = divmod(int(position), len(self.bits))
        return self.inputs[i], self.inputs[j], float(self.bits[i, j])

    def __str__(self) -> str:
        first, second, value = self.easiest()
        slow, other, least = self.hardest()
        return (
            f"{worded(first)} and {worded(second)} are easiest to tell apart ({value:.4g} bits an "
            f"observation), {worded(slow)} and {worded(other)} hardest ({least:.4g} bits)"
        )


@guarded
def chernoff_information(p: object, q: object) -> float:
    """Chernoff information of two distributions, in bits; inf when they have nothing in common.

    Parameters
    ----------
    p, q : the distributions, in the same order or by label

    Returns
    -------
    float
        In bits: how fast the error of telling them apart falls with more observations.

    Notes
    -----
    Cost: a search in one dimension, O(outputs) a step.

    Examples
    --------
    >>> round(chernoff_information([0.6, 0.4], [0.4, 0.6]), 6)
    0.029447
    """
    pair = paired_distributions(p, q)
    exact = all(row.dtype == object for row in pair)
    rows = np.array([row if exact else row.astype(np.float64) for row in pair])
    channel = Channel.trusted(rows, "exact" if exact else "float")
    return float(_direct(channel, np.array([[0, 1]]))[0] / LN2)


def chernoff_pairs(channel: Channel) -> ChernoffPairs:
    """Chernoff information of all pairs of rows, vectorised in the log domain.

    Parameters
    ----------
    channel : Channel

    Returns
    -------
    ChernoffPairs
        `bits` for each pair; `hardest()` is the pair that is told apart most slowly.

    Notes
    -----
    Cost: O(n²·outputs) a step of the search, for n inputs.

    Examples
    --------
    >>> from sievert.channels._channel import Channel
    >>> chernoff_pairs(Channel([["1/2", "1/2"], ["1/2", "1/2"]])).bits.tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    finite = finite_channel(channel)
    logs = finite.log_matrix
    size = len(logs)
    if size < 2:
        raise ChannelError("channel has one input; Chernoff information compares two")
    rows, columns = np.triu_indices(size, 1)
    pairs = np.column_stack([rows, columns])
    values = np.full(len(pairs), np.nan)
    dense = not np.isneginf(logs).mean() > 1 - SPARSE
    if dense and len(pairs) * logs.shape[1] > LARGEST_DIRECT:
        values = _by_products(logs, pairs)
    rest = np.flatnonzero(np.isnan(values))
    values[rest] = _direct(finite, pairs[rest])
    bits = np.zeros((size, size))
    bits[rows, columns] = values / LN2
    bits[columns, rows] = values / LN2
    return ChernoffPairs(bits, finite.inputs)


def _by_products(logs: FloatArray, pairs: IndexArray) -> FloatArray:
    """Chernoff information in nats of many pairs by matrix products, NaN where they do not settle it.

    log Σ p^λ q^(1-λ) of all pairs at one λ is one product of matrices. It is smooth and convex in λ, so its
    least value is that of the polynomial through nine equally spaced nodes around the least node, kept where
    polynomials through seven of them say the same. The spacing is halved for pairs that need it, as
    long as that is cheaper than going through them one by one.
    """
    result = np.full(len(pairs), np.nan)
    outside = np.isneginf(logs)
    support = (~outside).astype(np.float64)
    if outside.any():
        disjoint = (support @ support.T == 0)[pairs[:, 0], pairs[:, 1]]
        result[disjoint] = np.inf
    first = _first_equal(logs)
    result[first[pairs[:, 0]] == first[pairs[:, 1]]] = 0.0
    rest = np.flatnonzero(np.isnan(result))
    steps, start = 8, np.zeros(len(rest), dtype=np.intp)
    window = np.array([_affinity(logs, k / steps, pairs[rest]) for k in range(9)])
    while len(rest):
        found = _least_interpolated(window, start == 0, start == steps - 8)
        settled = ~np.isnan(found)
        result[rest[settled]] = np.where(-found[settled] > LEAST, -found[settled], np.nan)
        rest, window, start = rest[~settled], window[:, ~settled], start[~settled]
        # A product for all pairs costs about as much as going through 1 in 300 of them.
        if len(rest) * 300 < len(pairs) * steps or steps >= MOST_STEPS:
            break
        steps *= 2
        start, window = _halved(logs, pairs[rest], window, start, steps)
    return result


def _halved(
    logs: FloatArray, pairs: IndexArray, window: FloatArray, start: IndexArray, steps: int
) -> tuple[IndexArray, FloatArray]:
    """Nine nodes at half the spacing around each pair's least node: every other one is known."""
    least = start + window.argmin(axis=0)
    new_start = np.clip(2 * least - 4, 0, steps - 8)
    nodes = new_start + np.arange(9)[:, None]
    known = np.clip(nodes // 2 - start, 0, 8)
    found = np.where(nodes % 2 == 0, np.take_along_axis(window, known, axis=0), np.nan)
    for node in range(1, steps, 2):
        place = node - new_start
        chosen = np.flatnonzero((place >= 0) & (place <= 8))
        if len(chosen):
            found[place[chosen], chosen] = _affinity(logs, node / steps, pairs[chosen])
    return new_start, found


def _first_equal(logs: FloatArray) -> IndexArray:
    """For each row the first one equal to it."""
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(row.tobytes(), i) for i, row in enumerate(logs)], dtype=np.intp)


def _affinity(logs: FloatArray, point: float, pairs: IndexArray) -> FloatArray:
    """log Σ p^λ q^(1-λ) over the common support, at one λ."""
    outside = np.isneginf(logs)
    finite = np.where(outside, 0.0, logs)
    left, right = (np.where(outside, -np.inf, factor * finite) for factor in (point, 1 - point))
    return log_matmul(left, right.T)[pairs[:, 0], pairs[:, 1]]


def _least_interpolated(window: FloatArray, leftmost: BoolArray, rightmost: BoolArray) -> FloatArray:
    """The least value of each column's function, given at nine equally spaced nodes; NaN where unsure.

    `leftmost` and `rightmost` say whether the first node is λ = 0 and the last λ = 1.
    """
    best = window.argmin(axis=0)
    fine = _COEFFICIENTS[0] @ window
    place = best.astype(np.float64)
    low, high = np.maximum(best - 1, 0), np.minimum(best + 1, 8)
    slope, curve = _derivative(fine), _derivative(_derivative(fine))
    for _ in range(8):
        with np.errstate(divide="ignore", invalid="ignore"):
            step = _polynomial(slope, place) / _polynomial(curve, place)
        place = np.clip(place - np.where(np.isfinite(step), step, 0.0), low, high)
    found = _polynomial(fine, place)
    # Two of the three polynomials through seven nodes, those that do not reach far beyond their nodes.
    unused = np.where(best <= 2, 3, np.where(best >= 6, 1, 2))
    apart = np.zeros(window.shape[1])
    for k in (1, 2, 3):
        other = _polynomial(_COEFFICIENTS[k] @ window[k - 1 : k + 6], place)
        apart = np.maximum(apart, np.where(unused == k, 0.0, np.abs(other - found)))
    same = apart <= AGREEMENT * np.abs(found) + ROUNDING
    inside = np.abs(_polynomial(slope, place)) <= 1e-6 * np.abs(found)
    at_end = (leftmost & (place == 0)) | (rightmost & (place == 8))
    return np.where(same & (inside | at_end), found, np.nan)


def _polynomial(coefficients: FloatArray, place: FloatArray) -> FloatArray:
    """Σ c_k (t-4)^k for each column."""
    total = np.zeros_like(place)
    for row in coefficients[::-1]:
        total = total * (place - 4) + row
    return total


def _derivative(coefficients: FloatArray) -> FloatArray:
    return coefficients[1:] * np.arange(1, len(coefficients))[:, None]


# Values at nodes 0…8, 0…6, 1…7 and 2…8 → coefficients of the polynomial in t-4.
_COEFFICIENTS = tuple(
    np.linalg.inv(np.vander(np.arange(first, end) - 4.0, increasing=True))
    for first, end in ((0, 9), (0, 7), (1, 8), (2, 9))
)


def _direct(channel: Channel, pairs: IndexArray) -> FloatArray:
    """Chernoff information in nats of the given pairs, a block of pairs at a time."""
    logs, relative = channel.log_matrix, channel.relative_logs
    result = np.empty(len(pairs))
    support = ~np.isneginf(logs)
    if support.mean() < SPARSE:
        # Only outputs that either row can give count: all pairs of a row together.
        order = np.argsort(pairs[:, 0], kind="stable")
        edges = np.flatnonzero(np.diff(pairs[order, 0])) + 1
        groups = np.split(order, edges) if len(pairs) else []
        blocks = [
            (places, np.flatnonzero(support[np.unique(pairs[places])].any(axis=0))) for places in groups
        ]
    else:
        blocks = [(np.arange(len(pairs)), np.arange(logs.shape[1]))]
    for places, columns in blocks:
        step = max(1, BLOCK_ENTRIES // len(columns))
        for start in range(0, len(places), step):
            chosen = places[start : start + step]
            first, second = (pairs[chosen, side][:, None] for side in (0, 1))
            with np.errstate(invalid="ignore"):
                ratio = relative[first, columns] - relative[second, columns]
            result[chosen] = _minimised(logs[first, columns], logs[second, columns], ratio)
    equal = _first_equal(relative)
    result[equal[pairs[:, 0]] == equal[pairs[:, 1]]] = 0.0
    return result


def _minimised(first: FloatArray, second: FloatArray, ratio: FloatArray) -> FloatArray:
    """-min over λ of log Σ exp(λ·a + (1-λ)·b), by Newton steps kept inside a shrinking bracket."""
    outside = np.isneginf(first) | np.isneginf(second)
    base = np.where(outside, -np.inf, second)
    ratio = np.where(outside, 0.0, ratio)
    low, high = np.zeros(len(first)), np.ones(len(first))
    falls, rises = _end_slopes(first, second, ratio, outside)
    # It is convex: unless it falls at 0 and rises at 1, an end point is the minimum.
    inner = ~outside.all(axis=1) & (falls < 0) & (rises > 0)
    point = np.where(inner, 0.5, np.where(falls >= 0, 0.0, 1.0))
    active = np.flatnonzero(inner)
    near = np.asarray((np.abs(ratio) < 0.5).all(axis=1) & ~outside.any(axis=1))
    for _ in range(STEPS):
        if not len(active):
            break
        exponents = base[active] + point[active, None] * ratio[active]
        weights = np.exp(exponents - exponents.max(axis=1, keepdims=True))
        total = weights.sum(axis=1)
        slope = (weights * ratio[active]).sum(axis=1) / total
        close = np.flatnonzero(near[active])
        if len(close):
            slope[close] = _close_slopes(second[active[close]], ratio[active[close]], point[active[close]])
        curve = (weights * ratio[active] ** 2).sum(axis=1) / total - slope**2
        rising = slope > 0
        high[active] = np.where(rising, point[active], high[active])
        low[active] = np.where(rising, low[active], point[active])
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = point[active] - slope / curve
        middle = (low[active] + high[active]) / 2
        usable = np.isfinite(newton) & (newton >= low[active]) & (newton <= high[active])
        following = np.where(usable, newton, middle)
        moved = np.abs(following - point[active])
        point[active] = following
        # At the minimum the value is flat: a step of 1e-9 changes it by less than 1e-17 of the curvature.
        active = active[moved > 1e-9]
    return np.maximum(_information(first, second, ratio, point[:, None]), 0.0)


def _close_slopes(second: FloatArray, ratio: FloatArray, point: FloatArray) -> FloatArray:
    """Σ p^λ q^(1-λ)·L = Σ q·(L·(e^(λL) - 1) - (e^L - 1 - L)), since Σ p = Σ q: no term is of first order."""
    growth = ratio * np.expm1(point[:, None] * ratio)
    return np.asarray((np.exp(second) * (growth - exp_excess(ratio))).sum(axis=1))


def _end_slopes(
    first: FloatArray, second: FloatArray, ratio: FloatArray, outside: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Slopes of Σ p^λ q^(1-λ) at 0 and at 1: Σ q·L and Σ p·L over the common support, L = ln p/q.

    Σ q·(e^L - 1 - L) and Σ p·(e^-L - 1 + L) are sums of positive terms.
    """
    p, q = np.exp(first), np.exp(second)
    near = ~outside & (np.abs(ratio) < 0.5)
    small = np.where(near, ratio, 0.0)
    upward = np.where(near, q * exp_excess(small), np.where(outside, 0.0, p - q - q * ratio))
    downward = np.where(near, p * exp_excess(-small), np.where(outside, 0.0, q - p + p * ratio))
    alone = np.where(outside, q - p, 0.0).sum(axis=1)
    return alone - upward.sum(axis=1), alone + downward.sum(axis=1)


def _information(first: FloatArray, second: FloatArray, ratio: FloatArray, point: FloatArray) -> FloatArray:
    """-log Σ p^λ q^(1-λ): from 1 - Σ where that is small, else from the sum itself."""
    gap = mean_gap(first, second, ratio, point).sum(axis=1)
    outside = np.isneginf(first) | np.isneginf(second)
    exponents = np.where(outside, -np.inf, np.where(outside, 0.0, second) + point * ratio)
    near = gap < 0.5
    return np.where(near, -np.log1p(-np.where(near, gap, 0.0)), -log_sum(exponents, axis=1))
