"""The mean that a noisy sum and a noisy number of records tell, with an interval for it.

For any μ the sum less μ times the number shows nothing but noise: Z_S - μ·Z_N. So the means that the noisy
pair does not reject are those with |S' - μ·N'| within the quantile of that noise (Fieller 1954, with the
exact law of the noise in place of a normal one). Where even very large |μ| is not rejected, nothing is known
but the range. A rectangle of two intervals at half the error each is wider, and needs no joint law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sievert.channels import NoiseLaw
from sievert.results import Result

__all__ = ["NoisyMean", "noisy_mean", "rectangle"]

# Noise in the number of records beyond this chance is not followed; its chance is added to the tail.
NOTHING = 1e-15
# Places between an end of the range and the estimate that are looked at from outside, and bisections then.
PLACES, HALVINGS = 64, 60


@dataclass(frozen=True)
class NoisyMean(Result):
    """A mean from a noisy sum and a noisy number of records.

    Attributes
    ----------
    value : the quotient, cut to the range; slightly biased, for a quotient of two noisy numbers is
    low, high : the means that the noisy pair does not reject, their hull, cut to the range
    sd : standard deviation of the noise in the quotient, to first order; inf where the number is not above 0
    """

    value: float
    low: float
    high: float
    sd: float


def noisy_mean(
    total: Fraction,
    count: int,
    laws: tuple[NoiseLaw, NoiseLaw],
    step: Fraction,
    limits: tuple[Fraction, Fraction],
    confidence: float,
    middle: Fraction = Fraction(0),
) -> NoisyMean:
    """The mean and its interval.

    Parameters
    ----------
    total : the noisy sum of the values less `middle`
    count : the noisy number of records
    laws : of the noise in the sum, in steps, and in the number
    step : of the sum
    limits : least and greatest value
    confidence : probability of the interval
    middle : what was taken from every value before it was added

    Returns
    -------
    NoisyMean

    Notes
    -----
    Cost: some hundred sums over the noise of the number.

    Examples
    --------
    >>> from sievert.channels import GeometricLaw
    >>> from sievert.mechanisms import privacy
    >>> laws = GeometricLaw(privacy(0.01, None)), GeometricLaw(privacy(0.5, None))
    >>> found = noisy_mean(Fraction(-2310), 1004, laws, Fraction(1), (0, 100), 0.95, Fraction(50))
    >>> round(found.value, 6), round(found.low, 6), round(found.high, 6), round(found.sd, 6)
    (47.699203, 47.400596, 47.998006, 0.141003)
    """
    least, greatest = float(limits[0] - middle), float(limits[1] - middle)
    shift = float(middle)
    beta = 1 - confidence
    centre = min(max(float(total) / count, least), greatest) if count > 0 else (least + greatest) / 2
    tail = _Tail(float(total / step), float(count), laws, float(step), beta)
    spread = math.hypot(float(step) * laws[0].deviation, centre * laws[1].deviation)
    sd = spread / count if count > 0 else math.inf
    if tail.unbounded() or not tail.holds(centre):
        return NoisyMean(centre + shift, least + shift, greatest + shift, sd)
    low = _furthest(tail, centre, least)
    high = _furthest(tail, centre, greatest)
    return NoisyMean(centre + shift, low + shift, high + shift, sd)


@dataclass
class _Tail:
    """Whether a mean is rejected: whether noise at least as large as what it leaves is too rare."""

    total: float
    count: float
    laws: tuple[NoiseLaw, NoiseLaw]
    step: float
    beta: float

    def __post_init__(self) -> None:
        reach = self.laws[1].beyond(math.log(NOTHING))
        self.noise = np.arange(-reach, reach + 1, dtype=np.float64)
        self.chance = np.exp(self.laws[1].log_pmf(self.noise))

    def unbounded(self) -> bool:
        """Whether means of any size are kept: the number of records may be none."""
        away = abs(self.count)
        return bool(math.exp(self.laws[1].log_upper(np.array([away]))[0]) * (2 if away else 1) > self.beta)

    def holds(self, mean: float) -> bool:
        """Whether the mean is kept: P(|Z_S - μ·Z_N| ≥ |S' - μ·N'|) is above β."""
        slope = mean / self.step
        left = abs(self.total - slope * self.count)
        moved = slope * self.noise
        # A sum of floats may miss a whole number by rounding; then the larger tail is taken.
        over = self.laws[0].log_upper(np.ceil(left + moved - 1e-9))
        under = self.laws[0].log_upper(np.ceil(left - moved - 1e-9))
        found = float((self.chance * (np.exp(over) + np.exp(under))).sum()) + NOTHING
        return left == 0 or found > self.beta


def _furthest(tail: _Tail, inside: float, end: float) -> float:
    """The outermost mean towards an end of the range that is kept."""
    if tail.holds(end):
        return end
    places = np.linspace(end, inside, PLACES)
    outer = end
    for place in places[1:].tolist():
        if tail.holds(place):
            inside = place
            break
        outer = place
    for _ in range(HALVINGS):
        middle = (outer + inside) / 2
        if tail.holds(middle):
            inside = middle
        else:
            outer = middle
    return inside


def rectangle(
    total: Fraction,
    count: int,
    laws: tuple[NoiseLaw, NoiseLaw],
    step: Fraction,
    limits: tuple[Fraction, Fraction],
    confidence: float,
    middle: Fraction = Fraction(0),
) -> tuple[Fraction, Fraction]:
    """The wider interval of a sum and a number that are each off by half of the error.

    >>> from sievert.channels import GeometricLaw
    >>> from sievert.mechanisms import privacy
    >>> laws = GeometricLaw(privacy(0.01, None)), GeometricLaw(privacy(0.5, None))
    >>> found = rectangle(Fraction(-2310), 1004, laws, Fraction(1), (0, 100), 0.95, Fraction(50))
    >>> [round(float(end), 6) for end in found]
    [47.312939, 48.080119]
    """
    half = (1 + confidence) / 2
    off, away = laws[0].radius(half) * step, laws[1].radius(half)
    if count - away <= 0:
        return limits
    numbers = count - away, count + away
    ends = [sum_ / number for sum_ in (total - off, total + off) for number in numbers]
    low, high = min(ends) + middle, max(ends) + middle
    return min(max(low, limits[0]), limits[1]), max(min(high, limits[1]), limits[0])
