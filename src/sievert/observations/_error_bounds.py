"""Certified bounds on how often two secrets are confused after many observations of many outputs.

The error Σ min(w P, w' Q) over all sequences is e^f(λ)·E[min(e^((1-λ)U), e^(-λU))], where U is the
log-ratio of the sequence plus log w/w' and the expectation is under the tilted distribution ∝ p^λ q^(1-λ);
f(λ) = λ log w + (1-λ) log w' + n·log Σ p^λ q^(1-λ) is least at the Chernoff point. The expectation is at
most 1 (Chernoff's bound). Its distribution is found on a grid by Fourier transforms: every log-ratio is
rounded down, and what rounding, the grid's finite width and floating point can change is added to one
bound and taken from the other (Hoeffding's and Bernstein's inequalities). Very many observations of nearly
equal rows are beyond any grid; there the normal distribution is close, by a known bound (Berry and Esseen).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, log_ndtr

from sievert.arrays import FloatArray, IntArray
from sievert.numerics import generator_of, log_difference, log_matmul, log_of, log_sum, mean_gap
from sievert.observations._types import RowClasses

__all__ = [
    "PairPart",
    "affinities",
    "chernoff_bounds",
    "confusion_bounds",
    "log_total",
    "mean_interval",
    "share_interval",
    "simulated_likelihoods",
    "simulated_success",
]
# Logarithms of the probabilities of the outputs for either secret, and the number of observations.
PairPart = tuple[FloatArray, FloatArray, int]

# Probability with which each of the two tail inequalities may fail; it is charged to the bounds.
FAILURE = 1e-12
STEPS = 80
# Berry and Esseen's constant for independent, differently distributed summands (Shevtsova 2010).
BERRY_ESSEEN = 0.56
# Where the normal distribution is this close, no grid is needed.
CLOSE = 1e-5
# Beyond this many observations rounding makes the Fourier transform useless.
MOST_OBSERVATIONS = 10**12
BLOCK_ENTRIES = 1_000_000
# Affinities closer to 1 than this are taken from their difference to 1.
NEAR = 1e-3


def confusion_bounds(
    parts: list[PairPart],
    log_first: float,
    log_second: float,
    grid: int = 1 << 16,
    log_ratios: list[FloatArray] | None = None,
) -> tuple[float, float]:
    """Logarithms of a lower and an upper bound on Σ min(w P, w' Q); both -inf when nothing is confused.

    `log_ratios` are log P/Q of each part where they are known better than by the difference.

    >>> import numpy as np
    >>> coin = np.log([0.6, 0.4])
    >>> low, high = confusion_bounds([(coin, coin[::-1], 25)], np.log(0.5), np.log(0.5))
    >>> bool(np.exp(low) <= 0.153768 <= np.exp(high)), round(float(np.exp(high) - np.exp(low)), 3)
    (True, 0.0)
    """
    ratios_of = [log_difference(p, q) for p, q, _ in parts] if log_ratios is None else log_ratios
    common = []
    for (first, second, times), ratios in zip(parts, ratios_of, strict=True):
        both = ~(np.isneginf(first) | np.isneginf(second))
        if times > 0 and not both.any():
            return -math.inf, -math.inf
        if times > 0:
            common.append((first, second, ratios, both, times))
    shift = log_first - log_second
    point = _chernoff_point([(q[both], r[both], times) for _, q, r, both, times in common], shift)
    exponent = point * log_first + (1 - point) * log_second
    tilted = []
    rounding = 0.0
    for first, second, ratios, both, times in common:
        logs = point * first[both] + (1 - point) * second[both]
        size, error = _log_affinity(first, second, ratios, both, point)
        exponent += times * size
        rounding += times * error
        tilted.append((np.exp(logs - float(log_sum(logs, axis=0))), ratios[both], times))
    low, high = _normal_expectation(tilted, shift, point)
    if high - low > CLOSE:
        least, most = _expectation(tilted, shift, point, grid)
        low, high = max(low, least), min(high, most)
    high = min(1.0, high)
    return exponent - rounding + _log(low), exponent + rounding + _log(high)


def _log_affinity(
    first: FloatArray, second: FloatArray, ratios: FloatArray, both: NDArray[np.bool_], point: float
) -> tuple[float, float]:
    """log Σ p^λ q^(1-λ), and what rounding may have done to it."""
    logs = point * first[both] + (1 - point) * second[both]
    gap = float(mean_gap(first, second, ratios, np.asarray(point)).sum())
    weights = np.exp(logs)
    # Every logarithm is off by its last digit; near 1 only as far as it changes a ratio of the two rows.
    digit = 4e-16 * (2 + np.abs(logs))
    if gap < NEAR:
        return math.log1p(-gap), float(weights @ (digit * np.abs(ratios[both]))) + 1e-14 * gap
    return float(log_sum(logs, axis=0)), float(weights @ digit / weights.sum())


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


def _chernoff_point(parts: list[PairPart], shift: float) -> float:
    """For parts (log q, log p/q, n): where λ·shift + Σ n log Σ p^λ q^(1-λ) is least in [0, 1].

    By halving: it is convex.
    """
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        slope = shift
        for second, ratios, times in parts:
            logs = second + middle * ratios
            weights = np.exp(logs - logs.max())
            slope += times * float(weights @ ratios) / float(weights.sum())
        low, high = (low, middle) if slope > 0 else (middle, high)
        if high - low < 1e-12:
            break
    return (low + high) / 2


def _expectation(
    tilted: list[tuple[FloatArray, FloatArray, int]], shift: float, point: float, grid: int
) -> tuple[float, float]:
    """Bounds on E[min(e^((1-λ)U), e^(-λU))] for U = shift + the sum of the log-ratios."""
    observations = sum(times for _, _, times in tilted)
    # log-ratios are observed times `count`; a constant one only moves the sum.
    mean = shift + sum(times * float(weights @ ratios) for weights, ratios, times in tilted)
    width = _half_width(tilted)
    if width == 0.0:
        value = float(_tent(np.array([mean]), point)[0])
        return value * (1 - 1e-12), value * (1 + 1e-12)
    if observations > MOST_OBSERVATIONS:
        return 0.0, 1.0
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
    rounding = 4e-16 * (observations + 2) * math.log2(grid)
    rounding *= math.sqrt(_dot(masses, masses) * _dot(peak, peak))
    slack = 2 * FAILURE + rounding
    return max(0.0, _dot(masses, np.minimum(*ends)) - slack), _dot(masses, peak) + slack


def _dot(first: FloatArray, second: FloatArray) -> float:
    """Σ first·second; BLAS wakes its threads for vectors of this length, a thousand times the work itself."""
    return float((first * second).sum())


def _normal_expectation(
    tilted: list[tuple[FloatArray, FloatArray, int]], shift: float, point: float
) -> tuple[float, float]:
    """The same by the normal distribution; the tent rises to 1 and falls, so twice the distance counts."""
    mean, variance, third, rounding = shift, 0.0, 0.0, 1e-12
    for weights, ratios, times in tilted:
        own = float(weights @ ratios)
        mean += times * own
        variance += times * float(weights @ (ratios - own) ** 2)
        third += times * float(weights @ np.abs(ratios - own) ** 3)
        rounding += times * 1e-15 * float(weights @ np.abs(ratios))
    if not variance > 0:
        return 0.0, 1.0
    deviation = math.sqrt(variance)
    rising, falling = 1 - point, point
    left = rising * mean + rising**2 * variance / 2 + log_ndtr(-(mean + rising * variance) / deviation)
    right = -falling * mean + falling**2 * variance / 2 + log_ndtr((mean - falling * variance) / deviation)
    value = math.exp(min(left, 0.0)) + math.exp(min(right, 0.0))
    slack = 2 * BERRY_ESSEEN * third / deviation**3 + rounding + 1e-15 * (variance + abs(mean))
    return max(0.0, value - slack), value + slack


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


def affinities(logs: FloatArray, relative: FloatArray) -> FloatArray:
    """[λ, class, class]: log Σ p^λ q^(1-λ) for all pairs of rows, on a grid of λ from 0 to 1.

    For each λ all pairs are one product of matrices; those near 0 are summed again with their digits.
    """
    points = np.linspace(0.0, 1.0, 21 if len(logs) <= 300 else 7)
    found = np.array([log_matmul(_scaled(logs, x), _scaled(logs, 1 - x).T) for x in points])
    i, j = np.nonzero(np.triu(found[len(points) // 2] > -NEAR, 1))
    step = max(1, BLOCK_ENTRIES // logs.shape[1])
    for start in range(0, len(i), step):
        rows = i[start : start + step], j[start : start + step]
        ratio = log_difference(relative[rows[0]], relative[rows[1]])
        for k, point in enumerate(points):
            gap = mean_gap(logs[rows[0]], logs[rows[1]], ratio, point).sum(axis=1)
            found[k, rows[0], rows[1]] = np.log1p(-gap)
            found[len(points) - 1 - k, rows[1], rows[0]] = np.log1p(-gap)
    return found


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


# ── Simulated attacks with an interval that holds with 99.9 % probability ───────────────────────────────────
# Secrets and observations are drawn, and the attacker's posterior is averaged rather than single hits
# counted. Averages of numbers between 0 and 1 get the interval of Maurer and Pontil (2009, Thm 4), shares
# of hits that of Clopper and Pearson; both hold for every sample size.
Random = int | np.random.Generator | None

# Simulated attackers: fewer where there are many classes.
SAMPLES, LEAST_SAMPLES = 20_000, 4_000
RISK = 1e-3
SIMULATED_ENTRIES = 4_000_000


def simulated_likelihoods(
    classes: RowClasses, times_of: list[int], drawn: NDArray[np.intp], generator: np.random.Generator
) -> FloatArray:
    """[sample, class]: log-likelihoods of the classes for observations drawn from the sample's own class.

    Each sample's are known up to a number of their own, which no posterior depends on.
    """
    total = np.zeros((len(drawn), len(classes)))
    for logs, relative, times in zip(classes.parts, classes.relative, times_of, strict=True):
        if not times:
            continue
        zero = np.isneginf(logs)
        finite = np.where(zero, 0.0, relative)
        probabilities = np.exp(logs)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        step = max(1, SIMULATED_ENTRIES // logs.shape[1])
        for start in range(0, len(drawn), step):
            counts = generator.multinomial(times, probabilities[drawn[start : start + step]])
            total[start : start + step] += counts @ finite.T
            if zero.any():
                impossible = counts @ zero.T.astype(np.float64) > 0
                total[start : start + step][impossible] = -np.inf
    return total


def simulated_success(
    classes: RowClasses, times_of: list[int], rng: Random, samples: int = SAMPLES
) -> tuple[float, float]:
    """An interval for the probability of a right guess."""
    generator = generator_of(rng)
    samples = int(np.clip(SIMULATED_ENTRIES // len(classes), LEAST_SAMPLES, samples))
    drawn = generator.choice(len(classes), size=samples, p=classes.total / classes.total.sum())
    logs = simulated_likelihoods(classes, times_of, drawn, generator)
    best = (logs + log_of(classes.likeliest)).max(axis=1)
    return mean_interval(np.exp(best - log_sum(logs + log_of(classes.total), axis=1)))


def mean_interval(
    values: FloatArray, least: float = 0.0, most: float = 1.0, risk: float = RISK
) -> tuple[float, float]:
    """Interval for the mean of independent values between `least` and `most` (Maurer and Pontil, Thm 4)."""
    size, log = len(values), math.log(4 / risk)
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    margin = math.sqrt(2 * variance * log / size) + 7 * (most - least) * log / (3 * (size - 1))
    return max(least, mean - margin), min(most, mean + margin)


def share_interval(hits: IntArray, samples: int, risk: float = RISK) -> tuple[FloatArray, FloatArray]:
    """Intervals for probabilities of which so many of the samples were hits (Clopper and Pearson)."""
    with np.errstate(invalid="ignore"):
        lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1), samples - hits + 1.0, risk / 2), 0.0)
        upper = np.where(
            hits < samples, betaincinv(hits + 1.0, np.maximum(samples - hits, 1), 1 - risk / 2), 1.0
        )
    return lower, upper
