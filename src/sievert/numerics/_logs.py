"""Arithmetic on logarithms, where a structural zero is -inf and (-inf) - (-inf) is 0."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sievert.arrays import FloatArray

__all__ = [
    "entropy_excess",
    "exp_excess",
    "exp_or_infinity",
    "log_binomial",
    "log_difference",
    "log_fraction",
    "log_matmul",
    "log_means",
    "log_of",
    "log_ratio",
    "log_sum",
    "mean_gap",
]
# e^709 is the last whole power that a float holds.
LARGEST_EXPONENT = 709.0


def log_of(values: FloatArray) -> FloatArray:
    """Natural logarithm with log 0 = -inf and no warning."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def log_difference(first: FloatArray, second: FloatArray) -> FloatArray:
    """first - second with (-inf) - (-inf) = 0: ±inf where one of them is impossible, 0 where both are."""
    both = np.isneginf(first) & np.isneginf(second)
    with np.errstate(invalid="ignore"):
        return np.where(both, 0.0, first - second)


def exp_or_infinity(exponent: float) -> float:
    """e^exponent; ∞ where a float cannot hold it."""
    return math.exp(exponent) if exponent < LARGEST_EXPONENT else math.inf


def exp_excess(values: FloatArray) -> FloatArray:
    """e^x - 1 - x to full relative precision: its Taylor series where the difference would cancel.

    >>> float(exp_excess(np.array(1e-9)) / 5e-19)
    1.0000000003333334
    """
    values = np.asarray(values, dtype=np.float64)
    small = np.where(np.abs(values) < 0.5, values, 0.0)
    term = small * small / 2
    series = term.copy()
    for k in range(3, 18):
        term = term * small / k
        series += term
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(np.abs(values) < 0.5, series, np.expm1(values) - values)


def entropy_excess(logs: FloatArray) -> FloatArray:
    """1 - r + r·ln r ≥ 0 from ln r, to full relative precision; 1 where r is 0.

    >>> float(entropy_excess(np.array(1e-9)) / 5e-19)
    1.0000000006666668
    """
    # Below e^-700, 1 is the nearest float.
    told = np.asarray(logs) > -700.0
    bounded = np.where(told, logs, 0.0)
    return np.where(told, np.exp(bounded) * exp_excess(-bounded), 1.0)


def mean_gap(first: FloatArray, second: FloatArray, ratio: FloatArray, weight: FloatArray) -> FloatArray:
    """λp + (1-λ)q - p^λ q^(1-λ) ≥ 0 from ln p, ln q and ln p/q, to full relative precision.

    Summed over two distributions it is 1 - Σ p^λ q^(1-λ). An impossible outcome is -inf.
    """
    p, q = np.exp(first), np.exp(second)
    outside = np.isneginf(first) | np.isneginf(second)
    with np.errstate(invalid="ignore"):
        near = (np.abs(ratio) < 0.5) & ~outside
        middle = np.where(outside, -np.inf, weight * first + (1 - weight) * second)
    small = np.where(near, ratio, 0.0)
    close = q * (weight * exp_excess(small) - exp_excess(weight * small))
    return np.where(near, close, weight * p + (1 - weight) * q - np.exp(middle))


def log_fraction(value: Fraction) -> float:
    """Natural logarithm of a non-negative rational of any size, correct to a few units in the last place.

    >>> log_fraction(Fraction(1, 2**2000)) / math.log(2)
    -2000.0
    """
    return log_ratio(value.numerator, value.denominator)


def log_ratio(above: int, below: int) -> float:
    """ln above/below of integers, above ≥ 0 and below > 0, as `log_fraction` without reducing them.

    >>> log_ratio(3 * 10**400, 10**400) == math.log(3)
    True
    """
    if above == 0:
        return -math.inf
    if above < 2 * below and below < 2 * above:
        return math.log1p((above - below) / below)
    # The ratio is 2^shift · rest with rest between 1/2 and 2, so that rest never overflows.
    shift = above.bit_length() - below.bit_length()
    if abs(shift) < 1000:
        return math.log(above / below)
    rest = above / (below << shift) if shift > 0 else (above << -shift) / below
    return math.log(rest) + shift * math.log(2)


def log_sum(log_values: FloatArray, axis: int) -> FloatArray:
    """log Σ exp along an axis; an axis of -inf gives -inf."""
    shift = _finite_maximum(log_values, axis)
    total = log_of(np.sum(np.exp(log_values - shift), axis=axis))
    return np.asarray(total + np.squeeze(shift, axis=axis), dtype=np.float64)


def log_means(relative: FloatArray, weights: FloatArray) -> FloatArray:
    """ln of the weighted mean of e^relative in each column; where it is near 1, from the differences to 1.

    A column that cannot occur has 0.
    """
    total = weights.sum()
    with np.errstate(over="ignore"):
        shift = weights @ np.expm1(relative) / total
    near = np.abs(shift) < 0.5
    direct = log_sum(log_of(weights)[:, None] + relative, axis=0) - math.log(total)
    found = np.where(near, np.log1p(np.where(near, shift, 0.0)), direct)
    return np.where(np.isneginf(found), 0.0, found)


def log_binomial(count: int, log_odds: float) -> FloatArray:
    """ln of the binomial probabilities of 0…count hits, from ln of the odds of one, each with its digits.

    >>> np.exp(log_binomial(2, 0.0)).tolist()
    [0.25, 0.5, 0.25]
    """
    if math.isinf(log_odds):
        certain = np.full(count + 1, -math.inf)
        certain[0 if log_odds < 0 else count] = 0.0
        return certain
    hits = np.arange(float(count))
    steps = np.log((count - hits) / (hits + 1)) + log_odds
    # Added up from the likeliest outwards, so that errors stay small where the mass is.
    top = int(np.searchsorted(-steps, 0.0))
    down = -np.cumsum(steps[:top][::-1])[::-1]
    up = np.cumsum(steps[top:])
    logs = np.concatenate([down, [0.0], up])
    return np.asarray(logs - log_sum(logs, axis=0))


def log_matmul(left: FloatArray, right: FloatArray) -> FloatArray:
    """log(exp(left) @ exp(right)) without underflow.

    Rows of `left` and columns of `right` are scaled to have maximum 1 and multiplied as floats; a
    product above 1e-250 has lost only terms below 1e-307 each, and the others are summed as logarithms.
    """
    row, column = _finite_maximum(left, 1), _finite_maximum(right, 0)
    product = np.exp(left - row) @ np.exp(right - column)
    result = log_of(product) + row + column
    tiny = product < 1e-250
    if tiny.any():
        # Where nothing is in common, 0 is exact.
        left_support, right_support = (~np.isneginf(side) for side in (left, right))
        tiny &= left_support.astype(np.float64) @ right_support.astype(np.float64) > 0
    for i in np.flatnonzero(tiny.any(axis=1)):
        small = tiny[i]
        result[i, small] = log_sum(left[i][:, None] + right[:, small], axis=0)
    return result


def _finite_maximum(log_values: FloatArray, axis: int) -> FloatArray:
    top = np.max(log_values, axis=axis, keepdims=True)
    return np.where(np.isneginf(top), 0.0, top)
