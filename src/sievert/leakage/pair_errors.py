"""Certified bounds on how often two secrets are confused after many observations of many outputs.

The error Σ min(w P, w' Q) over all sequences is e^f(λ)·E[min(e^((1-λ)U), e^(-λU))], where U is the
log-ratio of the sequence plus log w/w' and the expectation is under the tilted distribution ∝ p^λ q^(1-λ);
f(λ) = λ log w + (1-λ) log w' + n·log Σ p^λ q^(1-λ) is least at the Chernoff point. The expectation is at
most 1 (Chernoff's bound). Its distribution is found on a grid by Fourier transforms: every log-ratio is
rounded down, and what rounding, the grid's finite width and floating point can change is added to one
bound and taken from the other (Hoeffding's and Bernstein's inequalities).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sievert.numerics.logs import log_matmul, log_of, log_sum

__all__ = ["PairPart", "affinities", "chernoff_bounds", "confusion_bounds", "log_total"]

FloatArray = NDArray[np.float64]
# Logarithms of the probabilities of the outputs for either secret, and the number of observations.
PairPart = tuple[FloatArray, FloatArray, int]

# Probability with which each of the two tail inequalities may fail; it is charged to the bounds.
FAILURE = 1e-12
STEPS = 80


def confusion_bounds(
    parts: list[PairPart], log_first: float, log_second: float, grid: int = 1 << 16
) -> tuple[float, float]:
    """Logarithms of a lower and an upper bound on Σ min(w P, w' Q); both -inf when nothing is confused.

    >>> import numpy as np
    >>> coin = np.log([0.6, 0.4])
    >>> low, high = confusion_bounds([(coin, coin[::-1], 25)], np.log(0.5), np.log(0.5))
    >>> bool(np.exp(low) <= 0.153768 <= np.exp(high)), round(float(np.exp(high) - np.exp(low)), 3)
    (True, 0.0)
    """
    common = []
    for first, second, times in parts:
        both = ~(np.isneginf(first) | np.isneginf(second))
        if times > 0 and not both.any():
            return -math.inf, -math.inf
        if times > 0:
            common.append((first[both], second[both], times))
    shift = log_first - log_second
    point = _chernoff_point(common, shift)
    exponent = point * log_first + (1 - point) * log_second
    tilted = []
    rounding = 0.0
    for first, second, times in common:
        logs = point * first + (1 - point) * second
        size = float(log_sum(logs, axis=0))
        exponent += times * size
        weights = np.exp(logs - size)
        # Every logarithm is off by its last digit, and the sum by its own, once for each observation.
        rounding += times * 4e-16 * (2 + float(weights @ np.abs(logs)))
        tilted.append((weights, first - second, times))
    low, high = _expectation(tilted, shift, point, grid)
    return exponent - rounding + _log(low), exponent + rounding + _log(min(1.0, high))


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _chernoff_point(parts: list[PairPart], shift: float) -> float:
    """Where λ·shift + Σ n log Σ p^λ q^(1-λ) is least in [0, 1], by halving: it is convex."""
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        slope = shift
        for first, second, times in parts:
            logs = middle * first + (1 - middle) * second
            weights = np.exp(logs - logs.max())
            slope += times * float(weights @ (first - second)) / float(weights.sum())
        low, high = (low, middle) if slope > 0 else (middle, high)
        if high - low < 1e-12:
            break
    return (low + high) / 2


def _expectation(
    tilted: list[tuple[FloatArray, FloatArray, int]], shift: float, point: float, grid: int
) -> tuple[float, float]:
    """Bounds on E[min(e^((1-λ)U), e^(-λU))] for U = shift + the sum of the log-ratios."""
    # log-ratios are observed times `count`; a constant one only moves the sum.
    mean = shift + sum(times * float(weights @ ratios) for weights, ratios, times in tilted)
    width = _half_width(tilted)
    if width == 0.0:
        value = float(_tent(np.array([mean]), point)[0])
        return value * (1 - 1e-12), value * (1 + 1e-12)
    step = 2.2 * width / grid
    spectrum = np.ones(grid // 2 + 1, dtype=np.complex128)
    lost_mean = lost_most = lost_squares = base = 0.0
    for weights, ratios, times in tilted:
        cells = np.floor(ratios / step)
        middle = round(float(weights @ cells))
        lost = ratios - cells * step
        masses = np.zeros(grid)
        np.add.at(masses, (cells - middle).astype(np.int64) % grid, weights)
        spectrum *= np.fft.rfft(masses) ** times
        base += times * middle * step
        lost_mean += times * float(weights @ lost)
        lost_most += times * step
        lost_squares += times * step**2
    masses = np.clip(np.fft.irfft(spectrum, grid), 0.0, None)
    # Cell k stands for k or k - grid, whichever is nearer to the mean of the sum of cells.
    centre = (mean - shift - base - lost_mean) / step
    cells = np.arange(grid) - grid * np.round((np.arange(grid) - centre) / grid)
    spread = math.sqrt(lost_squares * math.log(2 / FAILURE) / 2)  # Hoeffding
    least = shift + base + cells * step + max(0.0, lost_mean - spread)
    most = shift + base + cells * step + min(lost_most, lost_mean + spread)
    ends = _tent(least, point), _tent(most, point)
    peak = np.where((least <= 0) & (most >= 0), 1.0, np.maximum(*ends))
    # Each factor of the spectrum is off by at most ε·log2(grid), so a power by times as much.
    observations = sum(times for _, _, times in tilted)
    rounding = 4e-16 * (observations + 2) * math.log2(grid)
    rounding *= math.sqrt(float(masses @ masses) * float(peak @ peak))
    slack = 2 * FAILURE + rounding
    return max(0.0, float(masses @ np.minimum(*ends)) - slack), float(masses @ peak) + slack


def _tent(values: FloatArray, point: float) -> FloatArray:
    return np.exp(np.minimum((1 - point) * values, -point * values))


def _half_width(tilted: list[tuple[FloatArray, FloatArray, int]]) -> float:
    """How far the sum strays from its mean: for certain, or but for the allowed failure."""
    certain = hoeffding = variance = range_ = 0.0
    for weights, ratios, times in tilted:
        reach = float(ratios.max() - ratios.min())
        certain += times * reach
        hoeffding += times * reach**2
        centred = ratios - float(weights @ ratios)
        variance += times * float(weights @ centred**2)
        range_ = max(range_, reach)
    likely = math.log(2 / FAILURE)
    bernstein = range_ * likely / 3
    bernstein += math.sqrt(bernstein**2 + 2 * variance * likely)
    return min(certain, math.sqrt(hoeffding * likely / 2), bernstein)


def affinities(logs: FloatArray) -> FloatArray:
    """[λ, class, class]: log Σ p^λ q^(1-λ) for all pairs of rows, on a grid of λ from 0 to 1.

    For each λ all pairs are one product of matrices.
    """
    points = np.linspace(0.0, 1.0, 21 if len(logs) <= 300 else 7)
    return np.array([log_matmul(_scaled(logs, x), _scaled(logs, 1 - x).T) for x in points])


def chernoff_bounds(parts: list[tuple[FloatArray, int]], log_weights: FloatArray) -> FloatArray:
    """[class, class]: logarithms of upper bounds on Σ min(w P, w' Q), from affinities and observations.

    Every λ gives a bound, so a grid of them is enough.
    """
    points = np.linspace(0.0, 1.0, len(parts[0][0]))[:, None, None]
    total = points * log_weights[:, None] + (1 - points) * log_weights[None, :]
    for sums, times in parts:
        if times:
            total = total + times * sums
    return np.asarray(total.min(axis=0))


def _scaled(logs: FloatArray, factor: float) -> FloatArray:
    """factor·log p, impossible outputs staying impossible at factor 0."""
    return np.where(np.isneginf(logs), -np.inf, factor * np.where(np.isneginf(logs), 0.0, logs))


def log_total(logs: FloatArray) -> float:
    """log Σ e^logs of a vector."""
    top = float(logs.max(initial=-np.inf))
    if top == -np.inf:
        return top
    return top + float(log_of(np.exp(logs - top).sum()))
