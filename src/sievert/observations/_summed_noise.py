"""Noise of which the sum of all releases tells everything: n releases are one with the noise of their sum.

Π_i e^(-(y_i - x)²/2σ²) depends on x through Σ y_i alone, so that for discrete Gaussian noise the sum is
sufficient (Fisher and Neyman), and a value that adds x to each release adds n·x to the sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, singledispatch
from typing import ClassVar

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import GaussianLaw, NoiseLaw
from sievert.observations._ratios import SMOOTH, likelihood_ratio_law

__all__ = ["law_of_sum"]


@singledispatch
def law_of_sum(law: NoiseLaw, releases: int) -> NoiseLaw | None:
    """The law of the sum of independent draws, where outputs tell nothing beyond their sum; else None."""
    return None


@law_of_sum.register
def _gaussian(law: GaussianLaw, releases: int) -> NoiseLaw:
    """Again a discrete Gaussian but for rounding, unless σ is small: see `_ratios._gaussian`."""
    if law.squared >= SMOOTH:
        return GaussianLaw.of_variance(releases * law.variance)
    # The log-ratio of one step is (2·S - n)/2σ², so that its law is that of the sum S.
    found = likelihood_ratio_law(law, 1, releases)
    sums = np.rint((found.logs * 2 * law.squared + releases) / 2).astype(np.int64)
    logs = np.full(int(np.abs(sums).max()) + 1, -math.inf)
    # Draws are symmetric; the ends of the list gather what is never seen.
    logs[np.abs(sums)] = found.log_pmf
    return ListedLaw(law, releases, logs)


@dataclass(frozen=True, eq=False)
class ListedLaw(NoiseLaw):
    """The sum of independent log-concave draws by its probabilities; it is log-concave again.

    Attributes
    ----------
    once, releases : what is drawn, and how often
    logs : ln P(sum = z) for z = 0, 1, 2, …
    """

    once: NoiseLaw
    releases: int
    logs: FloatArray
    is_log_concave: ClassVar[bool] = True

    def log_pmf(self, z: FloatArray) -> FloatArray:
        place = np.minimum(np.abs(np.asarray(z, dtype=np.float64)), len(self.logs)).astype(np.int64)
        return np.asarray(np.append(self.logs, -math.inf)[place])

    def log_upper(self, k: FloatArray) -> FloatArray:
        at = np.asarray(k, dtype=np.float64)
        mirrored = np.where(at > 0, at, 1 - at)
        tail = self._tails[np.minimum(mirrored, len(self.logs)).astype(np.int64)]
        with np.errstate(divide="ignore"):
            return np.where(at > 0, tail, np.log1p(-np.exp(np.minimum(tail, 0.0))))

    @cached_property
    def _tails(self) -> FloatArray:
        return np.append(np.logaddexp.accumulate(self.logs[::-1])[::-1], -math.inf)

    @property
    def reach(self) -> float:
        return float(len(self.logs) - 1)

    def eps_of(self, steps: Fraction) -> Fraction | None:
        return self.once.eps_of(steps)

    def simulated(self, generator: np.random.Generator, count: int) -> FloatArray:
        draws = self.once.simulated(generator, self.releases * count)
        return np.asarray(draws.reshape(self.releases, count).sum(axis=0))

    def words(self) -> str:
        return f"the sum of {self.releases} draws of {self.once.words()}"

    @property
    def written(self) -> tuple[str, Fraction]:
        return self.once.written

    @property
    def deviation(self) -> float:
        return self.once.deviation * math.sqrt(self.releases)

    @cached_property
    def mean_error(self) -> float:
        return 2 * float(np.arange(float(len(self.logs))) @ np.exp(self.logs))
