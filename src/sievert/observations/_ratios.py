"""The likelihood ratio that one cell with noise shows after several releases.

Somebody knows all other records and subtracts them. Where a record adds c steps to a cell, the odds of "it is
there" against "nobody is" change by p(z - c)/p(z) for noise z, in every release independently. The law of
the logarithm of the product, under "nobody", is all that guesses need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from sievert.arrays import FloatArray
from sievert.channels import GaussianLaw, GeometricLaw, NoiseLaw, StaircaseLaw
from sievert.errors import MechanismError, TooLargeError
from sievert.numerics import log_binomial, log_sum, require_size

__all__ = [
    "LikelihoodRatioLaw",
    "by_fourier",
    "coarsely_repeated",
    "likelihood_ratio_law",
    "likelihood_ratio_upper",
    "log_affinity",
]

# Atoms of the law of one ratio, and products of two atoms in one convolution: a second.
LARGEST_LAW = 4_000_000
LARGEST_PRODUCTS = 100_000_000
# Beyond this width of its logarithms a law underflows on one side; and what Fourier transforms lose.
LARGEST_LOG, LOST = 600.0, 1e-14
# ln of a probability that no guess notices, though every cell of a million had it.
NOTHING = -70.0
# σ² from which a sum of discrete Gaussians is one, up to rounding.
SMOOTH = 4.0
# Values of one ratio and releases together that are followed as they are, and values that a coarse one has.
LARGEST_FINE, COARSE = 20_000, 64
# Log-ratios that agree to so many of their largest are equal.
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class LikelihoodRatioLaw:
    """The law of a log-likelihood ratio after some releases.

    Attributes
    ----------
    logs : the values it takes, increasing; finite
    log_pmf : ln of their probabilities under "nobody"
    hidden : probability under "nobody" that the record is shown not to be there
    """

    logs: FloatArray
    log_pmf: FloatArray
    hidden: float = 0.0

    @property
    def log_shown(self) -> FloatArray:
        """ln of the probabilities where the record is there."""
        return np.asarray(self.log_pmf + self.logs)

    @property
    def shown(self) -> float:
        """Probability that a record which is there is shown for certain; by symmetry that of `hidden`."""
        return self.hidden

    def log_lower(self) -> FloatArray:
        """ln P(ratio ≤ each value) under "nobody", with its digits at both ends."""
        start = math.log(self.hidden) if self.hidden else -math.inf
        below = np.logaddexp.accumulate(np.concatenate([[start], self.log_pmf]))[1:]
        above = np.concatenate([self.log_upper()[1:], [-math.inf]])
        with np.errstate(divide="ignore"):
            from_above = np.log1p(-np.minimum(np.exp(above), 1.0))
        return np.asarray(np.where(above < math.log(0.5), from_above, below))

    def log_upper(self) -> FloatArray:
        """ln P(ratio ≥ each value) under "nobody", with its digits far out."""
        return np.asarray(np.logaddexp.accumulate(self.log_pmf[::-1])[::-1])

    def trimmed(self, nothing: float = NOTHING) -> LikelihoodRatioLaw:
        """Without the values that are never seen, whether the record is there or not.

        What lies below under "nobody", or above where the record is there, has a probability below
        e^nothing; it is added to the nearest value that is kept, and changes no guess by more than that.
        """
        below = np.logaddexp.accumulate(self.log_pmf)
        above = np.logaddexp.accumulate(self.log_shown[::-1])[::-1]
        first = int(np.searchsorted(below, nothing))
        last = len(above) - int(np.searchsorted(above[::-1], nothing))
        if last <= first + 1 or (first == 0 and last == len(self.logs)):
            return self
        log_pmf = self.log_pmf[first:last].copy()
        if first:
            log_pmf[0] = np.logaddexp(log_pmf[0], below[first - 1])
        if last < len(self.logs):
            log_pmf[-1] = np.logaddexp(log_pmf[-1], above[last] - self.logs[last - 1])
        return LikelihoodRatioLaw(self.logs[first:last], log_pmf, self.hidden)


def likelihood_ratio_law(law: NoiseLaw, steps: int, releases: int) -> LikelihoodRatioLaw:
    """The ratio of a record that adds so many steps to one cell, after independent releases."""
    return _ratios(law, abs(steps), releases)


def likelihood_ratio_upper(law: NoiseLaw, steps: int, releases: int) -> LikelihoodRatioLaw:
    """The same, or a law with few values under which no convex function of the ratio is less on average.

    Each value of one release is split between the two nearest of equally spaced logarithms so that its mean
    stays; ratios of independent releases multiply, and what is convex in each of them grows (Jensen).
    """
    once = likelihood_ratio_law(law, steps, 1)
    if len(once.logs) * releases <= LARGEST_FINE or len(once.logs) <= COARSE:
        return likelihood_ratio_law(law, steps, releases)
    return coarsely_repeated(once, releases)


def coarsely_repeated(once: LikelihoodRatioLaw, releases: int) -> LikelihoodRatioLaw:
    """Independent draws of one ratio, each of few values: larger in convex order.

    See `likelihood_ratio_upper`.
    """
    first, step = float(once.logs[0]), float(once.logs[-1] - once.logs[0]) / (COARSE - 1)
    place = np.minimum(((once.logs - first) / step).astype(np.int64), COARSE - 2)
    above = once.logs - (first + step * place)
    share = np.clip(np.expm1(above) / math.expm1(step), 0.0, 1.0)
    chances = np.exp(once.log_pmf)
    found = np.bincount(place, chances * (1 - share), COARSE)
    found += np.bincount(place + 1, chances * share, COARSE)
    with np.errstate(divide="ignore"):
        coarse = LikelihoodRatioLaw(
            np.asarray(first + step * np.arange(float(COARSE)), dtype=np.float64), np.log(found)
        )
    certain = -math.expm1(releases * math.log1p(-once.hidden)) if once.hidden else 0.0
    return _powers(coarse, step, releases, certain)


@singledispatch
def _ratios(law: NoiseLaw, steps: int, releases: int) -> LikelihoodRatioLaw:
    return _by_convolution(law, steps, releases)


def _by_convolution(law: NoiseLaw, steps: int, releases: int) -> LikelihoodRatioLaw:
    """Any law whose log-ratios are whole multiples of one number, as all of ours are, by convolutions.

    Noise beyond the reach kept has a probability below e^-70 in every release.
    """
    reach = law.beyond(NOTHING) if math.isinf(law.reach) else int(law.reach)
    require_size(reach + steps, LARGEST_LAW, "the law of the ratio", "use less noise or larger steps")
    noise = np.arange(-float(reach), reach + steps + 1)
    there, nobody = law.log_pmf(noise - steps), law.log_pmf(noise)
    both = np.isfinite(there) & np.isfinite(nobody)
    hidden = float(np.exp(nobody[np.isfinite(nobody) & ~both]).sum())
    logs, log_pmf = there[both] - nobody[both], nobody[both]
    order = np.argsort(logs, kind="stable")
    logs, log_pmf = logs[order], log_pmf[order]
    starts = np.flatnonzero(np.concatenate([[True], np.diff(logs) > SAME * max(1.0, np.abs(logs).max())]))
    once = LikelihoodRatioLaw(logs[starts], np.logaddexp.reduceat(log_pmf, starts), hidden)
    return once if releases == 1 else _repeated(once, releases)


def _repeated(once: LikelihoodRatioLaw, releases: int) -> LikelihoodRatioLaw:
    """The sum of independent draws of one law on equally spaced values."""
    logs, size = once.logs, len(once.logs)
    certain = -math.expm1(releases * math.log1p(-once.hidden)) if once.hidden else 0.0
    if size == 1:
        return LikelihoodRatioLaw(releases * logs, releases * once.log_pmf, certain)
    step = float(np.diff(logs).min())
    place = np.rint((logs - logs[0]) / step)
    if np.abs(logs - logs[0] - step * place).max() > SAME * max(1.0, np.abs(logs).max()):
        raise TooLargeError(
            "after several releases the likelihood ratios of this noise take too many values to list; "
            "ask about one release",
            size=size**releases,
        )
    # The step is known best over the whole width.
    step = float((logs[-1] - logs[0]) / place[-1])
    law = np.full(int(place[-1]) + 1, -math.inf)
    law[place.astype(np.intp)] = once.log_pmf
    start = LikelihoodRatioLaw(logs[0] + step * np.arange(len(law)), law, 0.0)
    return _powers(start, step, releases, certain)


def _powers(once: LikelihoodRatioLaw, step: float, count: int, hidden: float) -> LikelihoodRatioLaw:
    """By convolutions of positive numbers, which lose no digits, without what is never seen."""
    result: LikelihoodRatioLaw | None = None
    square = once
    while True:
        if count & 1:
            result = square if result is None else _added(result, square, step)
        count >>= 1
        if not count:
            assert result is not None
            kept = np.isfinite(result.log_pmf)
            return LikelihoodRatioLaw(result.logs[kept], result.log_pmf[kept], hidden)
        square = _added(square, square, step)


def _added(first: LikelihoodRatioLaw, second: LikelihoodRatioLaw, step: float) -> LikelihoodRatioLaw:
    """The law of a sum. What underflows under "nobody" may not where the record is there, or half way."""
    size = len(first.logs) + len(second.logs) - 1
    require_size(size, LARGEST_LAW, "the law of the ratio", "ask for fewer releases")
    logs = first.logs[0] + second.logs[0] + step * np.arange(size)
    far = len(first.logs) * len(second.logs) > LARGEST_PRODUCTS
    tilts = (0.5,) if far or logs[-1] - logs[0] < LARGEST_LOG else (0.0, 0.5, 1.0)
    found = [_convolved(first, second, tilt, far) - tilt * logs for tilt in tilts]
    return LikelihoodRatioLaw(logs, np.max(found, axis=0)).trimmed()


def _convolved(first: LikelihoodRatioLaw, second: LikelihoodRatioLaw, tilt: float, far: bool) -> FloatArray:
    """ln of the convolution of both laws times e^(tilt·log-ratio).

    Long ones are multiplied as Fourier transforms: what is below 10^-14 of the largest is then lost. Half way
    that is what neither law is confused with.
    """
    logs = [part.log_pmf + tilt * part.logs for part in (first, second)]
    tops = [float(part.max()) for part in logs]
    weights = [np.exp(part - top) for part, top in zip(logs, tops, strict=True)]
    found = by_fourier(*weights) if far else np.convolve(weights[0], weights[1])
    if far:
        found = np.where(found > LOST * found.max(), found, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(found) + sum(tops))


@_ratios.register
def _geometric(law: GeometricLaw, steps: int, releases: int) -> LikelihoodRatioLaw:
    """|z| - |z - c| runs from -c to c in twos; for one step it is ±1, and their number is binomial."""
    eps = law.level.eps
    if steps == 0 or eps == 0:
        return LikelihoodRatioLaw(np.zeros(1), np.zeros(1))
    require_size(releases * steps, LARGEST_LAW, "the law of the ratio", "ask for fewer releases")
    _require_floats(eps, 2 * eps * steps * releases, releases)
    if steps == 1:
        hits = np.arange(releases + 1, dtype=np.float64)
        return LikelihoodRatioLaw(
            np.asarray(eps * (2 * hits - releases), dtype=np.float64), log_binomial(releases, -eps)
        )
    # Noise z strictly between 0 and c shows 2z - c, noise at or beyond an end shows the end.
    ends = law.log_upper(np.array([0.0, steps]))
    once = np.concatenate([ends[:1], law.log_pmf(np.arange(1.0, steps)), ends[1:]])
    start = LikelihoodRatioLaw(eps * (2 * np.arange(steps + 1.0) - steps), once)
    return _powers(start, 2 * eps, releases, 0.0)


def _require_floats(eps: float, nats: float, releases: int) -> None:
    """Refuse an ε so large that the logarithm of a ratio is no float."""
    if math.isinf(nats):
        raise MechanismError(
            f"eps is {eps:g}: ratios of {releases} releases are beyond floating-point numbers; at ε = 1000 "
            "next to nothing is hidden already"
        )


@_ratios.register
def _staircase(law: StaircaseLaw, steps: int, releases: int) -> LikelihoodRatioLaw:
    """Up to Δ steps cross one edge at most, so the log-ratio is -ε, 0 or ε.

    (e^ε - 1)·P(ε) is the total variation of the two laws, which is the noise nearest to 0, so many of it; and
    P(-ε) is e^ε·P(ε), since noise is symmetric.
    """
    eps = float(law.eps)
    if steps == 0 or eps == 0:
        return LikelihoodRatioLaw(np.zeros(1), np.zeros(1))
    if steps > law.sensitivity:
        return _by_convolution(law, steps, releases)
    _require_floats(eps, 2 * eps * releases, releases)
    on_top = 1 + min((steps - 1) // 2, law.top - 1) + min(steps // 2, law.top - 1)
    near = float(law.log_pmf(np.zeros(1))[0]) + math.log(on_top + (steps - on_top) * math.exp(-eps))
    up = near - eps - math.log(-math.expm1(-eps))
    rest = 1 - math.exp(up) - math.exp(up + eps)
    with np.errstate(divide="ignore"):
        once = np.array([up + eps, float(np.log(max(rest, 0.0))), up])
    return _powers(LikelihoodRatioLaw(eps * np.arange(-1.0, 2.0), once), eps, releases, 0.0)


@_ratios.register
def _gaussian(law: GaussianLaw, steps: int, releases: int) -> LikelihoodRatioLaw:
    """The log-ratio is (2c·S - n·c²)/2σ² with S the sum of n draws.

    P(S = s) is e^(-s²/2nσ²) times a sum over the lattice of noise that adds up to 0, moved by s. By Poisson's
    formula moving it changes that sum by Σ e^(-2π²σ²|w|²) at most, over the dual lattice, which is A*_{n-1}:
    its w ≠ 0 have |w|² = j(n-j)/n in C(n, j) ways and more, at least 1/2. From σ = 2 on that is below 10^-16.
    """
    if steps == 0:
        return LikelihoodRatioLaw(np.zeros(1), np.zeros(1))
    if law.squared < SMOOTH and releases > 1:
        return _by_convolution(law, steps, releases)
    variance = law.squared * releases
    reach = math.ceil(math.sqrt(-2 * NOTHING * variance)) + 1
    require_size(2 * reach + steps * releases, LARGEST_LAW, "the law of the ratio", "ask for fewer releases")
    total = np.arange(-float(reach), reach + steps * releases + 1)
    weights = -total * total / (2 * variance)
    logs = (2 * total - releases * steps) * (steps / (2 * law.squared))
    return LikelihoodRatioLaw(logs, weights - log_sum(weights, axis=0))


def log_affinity(law: NoiseLaw, steps: int) -> float:
    """ln Σ_z √(p(z)·p(z - c)), which is 0 only where c is: the Bhattacharyya affinity, to full precision.

    1 - Σ = ½ Σ (√p(z) - √p(z - c))² keeps its digits where it is small.
    """
    once = likelihood_ratio_law(law, steps, 1)
    missed = 0.5 * float(np.exp(once.log_pmf) @ np.expm1(once.logs / 2) ** 2) + once.hidden
    if missed < 0.5:
        return math.log1p(-missed)
    return float(log_sum(once.log_pmf + once.logs / 2, axis=0))


def by_fourier(first: FloatArray, second: FloatArray) -> FloatArray:
    """The convolution of two rows."""
    from scipy.signal import fftconvolve

    return np.asarray(fftconvolve(first, second), dtype=np.float64)
