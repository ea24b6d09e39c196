"""Simulated attacks with an interval that holds with 99.9 % probability.

Secrets and observations are drawn, and the attacker's posterior is averaged rather than single hits
counted. Averages of numbers between 0 and 1 get the interval of Maurer and Pontil (2009, Thm 4), shares
of hits that of Clopper and Pearson; both hold for every sample size.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from sievert.leakage.row_classes import RowClasses
from sievert.numerics.logs import log_of, log_sum
from sievert.numerics.randomness import generator_of

__all__ = ["mean_interval", "share_interval", "simulated_likelihoods", "simulated_success"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Random = int | np.random.Generator | None

# Simulated attackers: fewer where there are many classes.
SAMPLES, LEAST_SAMPLES = 20_000, 4_000
RISK = 1e-3
BLOCK_ENTRIES = 4_000_000


def simulated_likelihoods(
    parts: list[tuple[FloatArray, int]], drawn: NDArray[np.intp], generator: np.random.Generator
) -> FloatArray:
    """[sample, class]: log-likelihood of each class for observations drawn from the sample's own class."""
    classes = len(parts[0][0])
    total = np.zeros((len(drawn), classes))
    for logs, times in parts:
        if not times:
            continue
        zero = np.isneginf(logs)
        finite = np.where(zero, 0.0, logs)
        probabilities = np.exp(logs)
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        step = max(1, BLOCK_ENTRIES // logs.shape[1])
        for start in range(0, len(drawn), step):
            counts = generator.multinomial(times, probabilities[drawn[start : start + step]])
            total[start : start + step] += counts @ finite.T
            if zero.any():
                impossible = counts @ zero.T.astype(np.float64) > 0
                total[start : start + step][impossible] = -np.inf
    return total


def simulated_success(
    parts: list[tuple[FloatArray, int]], classes: RowClasses, rng: Random, samples: int = SAMPLES
) -> tuple[float, float]:
    """An interval for the probability of a right guess."""
    generator = generator_of(rng)
    samples = int(np.clip(BLOCK_ENTRIES // len(classes), LEAST_SAMPLES, samples))
    drawn = generator.choice(len(classes), size=samples, p=classes.total / classes.total.sum())
    logs = simulated_likelihoods(parts, drawn, generator)
    best = (logs + log_of(classes.likeliest)).max(axis=1)
    return mean_interval(np.exp(best - log_sum(logs + log_of(classes.total), axis=1)))


def mean_interval(values: FloatArray, least: float = 0.0, most: float = 1.0) -> tuple[float, float]:
    """Interval for the mean of independent values between `least` and `most` (Maurer and Pontil, Thm 4)."""
    size, log = len(values), math.log(4 / RISK)
    mean, variance = float(values.mean()), float(values.var(ddof=1))
    margin = math.sqrt(2 * variance * log / size) + 7 * (most - least) * log / (3 * (size - 1))
    return max(least, mean - margin), min(most, mean + margin)


def share_interval(hits: IntArray, samples: int) -> tuple[FloatArray, FloatArray]:
    """Intervals for probabilities of which so many of the samples were hits (Clopper and Pearson)."""
    with np.errstate(invalid="ignore"):
        lower = np.where(hits > 0, betaincinv(np.maximum(hits, 1), samples - hits + 1.0, RISK / 2), 0.0)
        upper = np.where(
            hits < samples, betaincinv(hits + 1.0, np.maximum(samples - hits, 1), 1 - RISK / 2), 1.0
        )
    return lower, upper
