"""Chernoff information: how fast repeated observations tell two secrets apart.

C(p, q) = -min over λ in [0, 1] of log2 Σ p^λ q^(1-λ) over the common support. The sum is log-convex in λ, so
the minimum is where the expected log-ratio vanishes, or at an end point when the supports differ. The error
of telling p from q by n observations falls like 2^(-n·C).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sievert.channels.channel import Channel
from sievert.channels.priors import as_prior
from sievert.errors import ChannelError
from sievert.numerics.logs import log_of
from sievert.results import Result
from sievert.spaces.labels import Labels

__all__ = ["ChernoffPairs", "chernoff_information", "chernoff_pairs"]

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
LN2 = float(np.log(2))
BLOCK_ENTRIES = 4_000_000
STEPS = 60
# Beyond this many (pair, output) entries matrix products come first.
LARGEST_DIRECT = 20_000_000
ORDER = 7


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
            f"{first!r} and {second!r} are easiest to tell apart ({value:.4g} bits an observation), "
            f"{slow!r} and {other!r} hardest ({least:.4g} bits)"
        )


def chernoff_information(p: object, q: object) -> float:
    """Chernoff information of two distributions, in bits; inf when they have nothing in common.

    >>> round(chernoff_information([0.6, 0.4], [0.4, 0.6]), 6)
    0.029447
    """
    size = len(list(p))  # type: ignore[call-overload]
    rows = np.array([as_prior(item, size).astype(np.float64) for item in (p, q)])
    return float(_direct(log_of(rows), np.array([[0, 1]]))[0] / LN2)


def chernoff_pairs(channel: Channel) -> ChernoffPairs:
    """Chernoff information of all pairs of rows, vectorised in the log domain; O(n² m) a step.

    >>> from sievert.channels.channel import Channel
    >>> chernoff_pairs(Channel([["1/2", "1/2"], ["1/2", "1/2"]])).bits.tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """
    finite = channel.finite()
    logs = finite.log_matrix
    size = len(logs)
    if size < 2:
        raise ChannelError("channel has one input; Chernoff information compares two")
    rows, columns = np.triu_indices(size, 1)
    values = np.full(len(rows), np.nan)
    if len(rows) * logs.shape[1] > LARGEST_DIRECT:
        values = _by_cumulants(logs)[rows, columns]
    rest = np.flatnonzero(np.isnan(values))
    values[rest] = _direct(logs, np.column_stack([rows[rest], columns[rest]]))
    bits = np.zeros((size, size))
    bits[rows, columns] = values / LN2
    bits[columns, rows] = values / LN2
    return ChernoffPairs(bits, finite.inputs)


def _by_cumulants(logs: FloatArray) -> FloatArray:
    """All pairs at once by matrix products, NaN where they do not settle the last digits.

    At λ = ½ the k-th moment of the log-ratio under the tilted distribution is a sum of k+1 products of
    matrices √p·(ln p)^j, so log Σ p^λ q^(1-λ) is known there with seven derivatives. Its Taylor
    polynomial is minimised by Newton's method and kept where the term after the last is below rounding.
    """
    finite = np.where(np.isneginf(logs), 0.0, logs)
    root = np.where(np.isneginf(logs), 0.0, np.exp(logs / 2))
    # Subtracting a common reference from the logarithms of a column changes no ratio and keeps powers small.
    centred = finite - finite.mean(axis=0)
    powers = [root * centred**j for j in range(ORDER + 1)]
    moments = []
    for k in range(ORDER + 1):
        total = np.zeros((len(logs), len(logs)))
        for j in range(k + 1):
            total += comb(k, j) * (-1) ** j * (powers[k - j] @ powers[j].T)
        moments.append(total)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = [moment / moments[0] for moment in moments]
        derivatives = _cumulants(mean)
        shift = -derivatives[0] / derivatives[1]
        for _ in range(4):
            slope, curve = _taylor(derivatives, shift, 1), _taylor(derivatives, shift, 2)
            shift = shift - slope / curve
        value = np.log(moments[0]) + _taylor(derivatives, shift, 0)
        last = np.abs(derivatives[-1] * shift**ORDER) / factorial(ORDER)
        # The next term is smaller again by about the size of the shift.
        settled = (
            (np.abs(shift) < 0.2) & (8 * last * np.abs(shift) < 1e-13 * np.abs(value)) & np.isfinite(value)
        )
    return np.where(settled, np.maximum(-value, 0.0), np.nan)


def _cumulants(moments: list[FloatArray]) -> list[FloatArray]:
    """Cumulants κ_1… from raw moments, by the standard recursion."""
    found: list[FloatArray] = []
    for k in range(1, ORDER + 1):
        value = moments[k].copy()
        for j in range(1, k):
            value -= comb(k - 1, j - 1) * found[j - 1] * moments[k - j]
        found.append(value)
    return found


def _taylor(derivatives: list[FloatArray], shift: FloatArray, order: int) -> FloatArray:
    """The `order`-th derivative of Σ_k κ_k·shift^k/k!."""
    total = np.zeros_like(shift)
    for k in range(max(order, 1), ORDER + 1):
        total += derivatives[k - 1] * shift ** (k - order) / factorial(k - order)
    return total


def _direct(logs: FloatArray, pairs: IndexArray) -> FloatArray:
    """Chernoff information in nats of the given pairs, a block of pairs at a time."""
    result = np.empty(len(pairs))
    step = max(1, BLOCK_ENTRIES // logs.shape[1])
    for start in range(0, len(pairs), step):
        block = pairs[start : start + step]
        result[start : start + step] = _minimised(logs[block[:, 0]], logs[block[:, 1]])
    return result


def _minimised(first: FloatArray, second: FloatArray) -> FloatArray:
    """-min over λ of log Σ exp(λ·a + (1-λ)·b), by Newton steps kept inside a shrinking bracket."""
    outside = np.isneginf(first) | np.isneginf(second)
    base = np.where(outside, -np.inf, second)
    ratio = np.where(outside, 0.0, first - np.where(outside, 0.0, second))
    disjoint = outside.all(axis=1)
    low, high = np.zeros(len(first)), np.ones(len(first))
    point = np.full(len(first), 0.5)
    active = np.flatnonzero(~disjoint)
    best = np.full(len(first), -np.inf)
    best[~disjoint] = np.minimum(_value(base, ratio, 0.0)[~disjoint], _value(base, ratio, 1.0)[~disjoint])
    for _ in range(STEPS):
        if not len(active):
            break
        exponents = base[active] + point[active, None] * ratio[active]
        top = exponents.max(axis=1, keepdims=True)
        weights = np.exp(exponents - top)
        total = weights.sum(axis=1)
        best[active] = np.minimum(best[active], top[:, 0] + np.log(total))
        slope = (weights * ratio[active]).sum(axis=1) / total
        curve = (weights * ratio[active] ** 2).sum(axis=1) / total - slope**2
        rising = slope > 0
        high[active] = np.where(rising, point[active], high[active])
        low[active] = np.where(rising, low[active], point[active])
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = point[active] - slope / curve
        middle = (low[active] + high[active]) / 2
        usable = np.isfinite(newton) & (newton > low[active]) & (newton < high[active])
        following = np.where(usable, newton, middle)
        moved = np.abs(following - point[active])
        point[active] = following
        # At the minimum the value is flat: a step of 1e-9 changes it by less than 1e-17 of the curvature.
        active = active[moved > 1e-9]
    information = -best
    identical = ~outside.any(axis=1) & (np.abs(ratio).max(axis=1) == 0)
    return np.where(disjoint, np.inf, np.where(identical, 0.0, np.maximum(information, 0.0)))


def _value(base: FloatArray, ratio: FloatArray, point: float) -> FloatArray:
    exponents = base + point * ratio
    top = exponents.max(axis=1)
    safe = np.where(np.isneginf(top), 0.0, top)
    return np.asarray(safe + log_of(np.exp(exponents - safe[:, None]).sum(axis=1)))
