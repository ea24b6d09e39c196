"""The mean of any function of the true values, from noisy reports: unbiased, with its interval.

Means, and shares of groups of values, are known far better than single probabilities: errors of neighbouring
values cancel. With R the inverse of the channel and g = R·x, the mean of g over the reports is unbiased
for the mean of x over the true values, and its variance is that of g over the reports, divided by their
number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sievert.channels.channel import Channel
from sievert.errors import EstimationError
from sievert.estimation.intervals import checked_confidence
from sievert.estimation.inversion import inverses
from sievert.estimation.reports import read_reports
from sievert.numerics.checks import brief
from sievert.results import Result
from sievert.spaces.labels import Labels, shown
from sievert.spaces.tabular import by_label, floats

__all__ = ["Mean", "estimate_mean"]

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Mean(Result):
    """An unbiased mean, its standard error, and its interval at confidence `level`."""

    value: float
    standard_error: float
    interval: tuple[float, float]
    level: float
    reports: float

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, high = self.interval
        return f"mean {self.value:.6g} ({low:.6g} to {high:.6g} at {self.level:.0%} confidence)"


def estimate_mean(
    counts: Any, channel: Channel | Sequence[Channel], weights: Any = None, *, level: float = 0.95
) -> Mean:
    """The mean over the true values, from counts of noisy reports as in `sv.estimate`.

    `weights` is what each value counts for: a list in the order of the inputs or a mapping (others count
    0); without it the values themselves, which must be numbers. Weights of 0 and 1 give the share of a
    group of values.

    >>> from sievert.mechanisms import randomised_response
    >>> channel = randomised_response(["never", "once", "often"], alpha="1/3")
    >>> print(estimate_mean([4800, 3100, 2100], channel, {"once": 1, "often": 1}))
    mean 0.3 (0.27552 to 0.32448 at 95% confidence)
    """
    level = checked_confidence(level, "level")
    reports = read_reports(counts, channel)
    x = _weights(weights, reports.inputs)
    total = reports.total
    value = variance = 0.0
    for inverse, group in zip(inverses(reports), reports.groups, strict=True):
        size = float(group.counts.sum())
        worth = inverse.weigh(x)
        mean = float(group.counts @ worth) / size
        value += mean * size / total
        seen = float(group.counts @ (worth - mean) ** 2) / size
        # Reports vary at least as much as the noise alone, even where few of them happen to agree.
        noise = float((group.channel.matvec(worth**2) - x**2).min())
        variance += size / total**2 * max(seen, noise)
    error = float(np.sqrt(variance))
    reach = float(ndtri((1 + level) / 2)) * error
    return Mean(value, error, (value - reach, value + reach), level, total)


def _weights(weights: Any, inputs: Labels) -> FloatArray:
    weights = Counter(weights) if isinstance(weights, Mapping) else weights
    given = list(inputs) if weights is None else by_label(weights, inputs, "weights", EstimationError)
    rule = f"it must be {len(inputs)} finite numbers, one for each of the values {shown(inputs)}"
    x = floats(given, "weights", EstimationError, rule)
    if x.shape != (len(inputs),) or not np.isfinite(x).all():
        raise EstimationError(f"weights is {brief(given)}; {rule}")
    return x
